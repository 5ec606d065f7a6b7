"""Notebooks as users check and fix them: places in cells, and files of which nothing else changes."""

from __future__ import annotations

import ast
import difflib
import json
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

FIXTURES = Path(__file__).parents[2] / "fixtures"
COMMAND = str(Path(sys.executable).parent / "xlalint")
IMPORTS = "%%capture\n!pip install torch_xla\nimport torch\nfrom helpers import scale"
MODEL = """\
%matplotlib inline
class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:  # é
            x = x + 1
        return scale(x)"""
RUN = "%time y = Net()(torch.ones(3))\nawait display(y)\nNet?"
FIXED = "        # é\n        x = torch.where(x.sum() > 0, x + 1, x)\n"
DIFF = """\
--- nb.ipynb:cell 3
+++ nb.ipynb:cell 3
@@ -1,6 +1,6 @@
 %matplotlib inline
 class Net(torch.nn.Module):
     def forward(self, x: torch.Tensor) -> torch.Tensor:
-        if x.sum() > 0:  # é
-            x = x + 1
+        # é
+        x = torch.where(x.sum() > 0, x + 1, x)
         return scale(x)
"""


class Done(NamedTuple):
    """How the command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


def code(source: str, **more: Any) -> dict[str, Any]:
    output = {"output_type": "stream", "name": "stdout", "text": ["<b>é</b>\n"]}
    lines = source.splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": 7, "metadata": {}, "outputs": [output], "source": lines, **more}


def notebook(*sources: str, **how: Any) -> str:
    cells = [{"cell_type": "markdown", "metadata": {}, "source": ["# é"]}, *map(code, sources)]
    metadata = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}
    told = {"ensure_ascii": False, "indent": 1, **how}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, **told) + "\n"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def call(*arguments: str, stdin: str = "") -> Done:
        done = subprocess.run(
            [COMMAND, *arguments], cwd=tmp_path, input=stdin.encode(), capture_output=True, timeout=120
        )
        assert b"Traceback" not in done.stderr
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "helpers.py").write_text("def scale(t):\n    if t.max() > 1:\n        t = t / 2\n    return t\n")
    path = tmp_path / "nb.ipynb"
    path.write_bytes(notebook(IMPORTS, MODEL, RUN).encode())
    return path


def test_places_are_in_cells(run: Run, file: Path) -> None:
    done = run("check", "--output-format", "concise")
    assert done.code == 1
    assert "nb.ipynb:cell 3:4:12: XLA101 " in done.out
    full = run("check", "nb.ipynb").out
    assert " --> nb.ipynb:cell 3:4:12\n" in full
    assert "4 |         if x.sum() > 0:  # é\n  |            ^^^^^^^^^^^\n" in full
    found = json.loads(run("check", "--output-format", "json").out)
    own = next(finding for finding in found if finding["filename"] == str(file))
    assert (own["cell"], own["location"], own["end_location"]) == (
        3,
        {"row": 4, "column": 12},
        {"row": 4, "column": 23},
    )
    assert [edit["cell"] for edit in own["fix"]["edits"]] == [3]
    assert own["fix"]["edits"][0]["location"] == {"row": 4, "column": 9}
    assert [(step["cell"], step["row"]) for step in own["trace"]] == [(3, 3)]


def test_a_module_that_a_notebook_traces_says_from_which_cell(run: Run, file: Path) -> None:
    found = json.loads(run("check", "--output-format", "json").out)
    helper = next(finding for finding in found if finding["filename"].endswith("helpers.py"))
    assert helper["cell"] is None
    assert "cell" not in helper["fix"]["edits"][0]
    assert (helper["trace"][0]["filename"], helper["trace"][0]["cell"]) == (str(file), 3)


def test_a_second_run_says_the_same(run: Run, file: Path) -> None:
    first = run("check", "--output-format", "json")
    assert run("check", "--output-format", "json") == first
    assert run("check", "--output-format", "json", "--no-cache", "-j", "2") == first
    file.write_text(file.read_text().replace("%matplotlib inline\\n", '%matplotlib inline\\n",\n    "\\n'))
    moved = run("check", "--output-format", "concise")
    assert "nb.ipynb:cell 3:5:12: XLA101 " in moved.out


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({}, id="jupyter"),
        pytest.param({"indent": None}, id="one-line"),
        pytest.param({"indent": 4, "ensure_ascii": True}, id="escaped"),
        pytest.param({"indent": None, "separators": (",", ":"), "sort_keys": True}, id="compact"),
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n", ""])
def test_a_fix_changes_the_lines_that_it_fixes(run: Run, file: Path, how: dict[str, Any], ends: str) -> None:
    def told(model: str) -> bytes:
        whole = notebook(IMPORTS, model, RUN, **how)
        return (whole.rstrip("\n") if not ends else whole.replace("\n", ends)).encode()

    file.write_bytes(told(MODEL))
    done = run("check", "--fix", "--unsafe-fixes", "nb.ipynb")
    assert (done.code, done.err) == (0, "")
    after = MODEL.replace("        if x.sum() > 0:  # é\n            x = x + 1\n", FIXED)
    assert file.read_bytes() == told(after)
    run("check", "--fix", "--unsafe-fixes", "nb.ipynb")
    assert file.read_bytes() == told(after)


def test_a_diff_shows_cells_and_writes_nothing(run: Run, file: Path) -> None:
    before = file.read_bytes()
    done = run("check", "--diff", "--unsafe-fixes", "nb.ipynb")
    assert (done.code, done.out) == (1, DIFF)
    assert file.read_bytes() == before


def test_standard_input(run: Run, file: Path) -> None:
    whole = file.read_text()
    done = run("check", "--output-format", "concise", "--stdin-filename", "nb.ipynb", "-", stdin=whole)
    assert "nb.ipynb:cell 3:4:12: XLA101 " in done.out
    full = run("check", "--stdin-filename", "nb.ipynb", "-", stdin=whole)
    assert "4 |         if x.sum() > 0:  # é\n" in full.out
    fixed = run("check", "--fix", "--unsafe-fixes", "--stdin-filename", "nb.ipynb", "-", stdin=whole)
    lines = [line for line in difflib.ndiff(whole.splitlines(), fixed.out.splitlines()) if line[0] in "+-"]
    assert [line[0] for line in lines] == ["-", "-", "+", "+"]
    assert run("check", "--stdin-filename", "nb.ipynb", "-", stdin="{").code == 1


def test_comments_silence_within_their_cell(run: Run, file: Path) -> None:
    line = "        if x.sum() > 0:  # é"
    file.write_text(notebook(IMPORTS, MODEL.replace(line, f"{line} # xlalint: ignore[XLA101]"), RUN))
    assert run("check", "nb.ipynb").code == 0
    file.write_text(notebook(IMPORTS, "x = 1\n# xlalint: ignore", MODEL, RUN))
    done = run("check", "--output-format", "concise", "nb.ipynb")
    assert "nb.ipynb:cell 4:4:12: XLA101" in done.out
    assert "nb.ipynb:cell 3:2:1: XLA003 [*]" in done.out
    run("check", "--fix", "nb.ipynb")
    assert file.read_text() == notebook(IMPORTS, "x = 1", MODEL, RUN)


def test_findings_are_silenced_by_comments(run: Run, file: Path) -> None:
    assert run("check", "--add-ignore", "nb.ipynb").out == "Silenced 1 finding.\n"
    assert file.read_text() == notebook(IMPORTS, MODEL.replace("# é", "# é  # xlalint: ignore[XLA101]"), RUN)
    assert run("check", "nb.ipynb").code == 0


def test_explain(run: Run, file: Path) -> None:
    done = run("explain", "nb.ipynb:cell 3:4:12")
    assert done.code == 0, done.err
    assert done.out.startswith("nb.ipynb:cell 3:4:12 in `Net.forward`\n4 |         if x.sum() > 0:  # é\n")
    assert "XLA101" in done.out
    told = json.loads(run("explain", "nb.ipynb:cell 4:2", "--output-format", "json").out)
    assert (told["cell"], told["row"], told["first_row"], told["location"]["row"]) == (4, 2, 2, 2)
    assert told["source"] == ["await display(y)"]
    origin = next(origin for value in told["values"] for origin in value["origins"] if origin["row"])
    assert (origin["cell"], origin["row"]) == (4, 1)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("nb.ipynb:4", "say which cell"),
        ("nb.ipynb:cell 1:1", "cell 1 is not there, or holds no Python"),
        ("nb.ipynb:cell 3:9", "cell 3 has no line 9"),
        ("helpers.py:cell 3:1", "only notebooks have cells"),
    ],
)
def test_a_place_that_is_none(run: Run, file: Path, place: str, message: str) -> None:
    done = run("explain", place)
    assert done.code == 2
    assert message in done.err


def test_a_broken_cell_is_told_and_the_others_are_checked(run: Run, file: Path) -> None:
    file.write_text(notebook(IMPORTS, "model = (", MODEL))
    done = run("check", "--output-format", "concise", "nb.ipynb")
    assert [line.split(" XLA")[1][:3] for line in done.out.splitlines()[:2]] == ["001", "101"]
    assert "nb.ipynb:cell 3:1:9: XLA001 " in done.out
    assert "nb.ipynb:cell 4:4:12: XLA101 " in done.out


@pytest.mark.parametrize("content", ["", "{", "[]", '{"nbformat": 9, "cells": []}', "print('no JSON')\n"])
def test_no_notebook(run: Run, file: Path, content: str) -> None:
    file.write_text(content)
    done = run("check", "--output-format", "concise", "--fix", "nb.ipynb")
    assert done.code == 1
    assert "nb.ipynb:1:" in done.out
    assert "XLA001" in done.out
    assert file.read_text() == content


def test_what_is_discovered(run: Run, file: Path, tmp_path: Path) -> None:
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / ".ipynb_checkpoints" / "nb-checkpoint.ipynb").write_text(file.read_text())
    assert run("check", "--show-files").out.split() == [str(tmp_path / "helpers.py"), str(file)]
    assert run("check", "--show-files", "--include", "*.py").out.split() == [str(tmp_path / "helpers.py")]


def test_other_kernels_are_left_alone(run: Run, file: Path) -> None:
    whole = json.loads(notebook("x <- if (y) 1 else 2"))
    whole["metadata"] = {"kernelspec": {"name": "ir", "language": "R"}, "language_info": {"name": "R"}}
    file.write_text(json.dumps(whole))
    assert run("check", "nb.ipynb").code == 0


def test_a_program_is_found_and_fixed_in_cells_as_in_a_file(run: Run, tmp_path: Path) -> None:
    # One imports another, which no notebook can.
    files = sorted(path for path in FIXTURES.glob("[!h]*/*.py") if path.name != "train_on_tpu.py")
    for kind in ("files", "cells"):
        (tmp_path / kind).mkdir()
    for path in files:
        (tmp_path / "files" / path.name).write_text(path.read_text())
        (tmp_path / "cells" / f"{path.stem}.ipynb").write_text(notebook(*statements(path.read_text())))
    found = [
        sorted((Path(f["filename"]).stem, f["code"], f["message"], f["confidence"]) for f in json.loads(done.out))
        for done in (run("check", kind, "--output-format", "json", "--show-info") for kind in ("files", "cells"))
    ]
    assert found[0] == found[1]
    assert len(found[0]) > 25
    done = [run("check", kind, "--fix-only", "--unsafe-fixes") for kind in ("files", "cells")]
    assert done[0].out == done[1].out
    assert done[0].err.count("was dropped") == done[1].err.count("was dropped")
    changed = 0
    for path in files:
        fixed = (tmp_path / "files" / path.name).read_text()
        cells = json.loads((tmp_path / "cells" / f"{path.stem}.ipynb").read_text())["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells[1:])
        assert ast.unparse(ast.parse(text)) == ast.unparse(ast.parse(fixed))
        changed += fixed != path.read_text()
    assert changed >= 3


def statements(text: str) -> list[str]:
    """A program as cells of some statements each, with what stands before them."""
    rows = [
        min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))]) for node in ast.parse(text).body
    ]
    lines = text.splitlines(keepends=True)
    starts = [0, *(row - 1 for row in rows[1::2]), len(lines)]
    return ["".join(lines[start:end]).rstrip("\n") for start, end in pairwise(starts)]
