"""`xlalint explain`, as users run it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import msgspec
import pytest

from tests.e2e.conftest import COMMAND
from xlalint.explain import Explanation
from xlalint.rules import rules_folder

GOLDEN = Path(__file__).parent / "explain.json"


class Done(NamedTuple):
    code: int
    out: str
    err: str


def run(folder: Path, *arguments: str) -> Done:
    done = subprocess.run([COMMAND, "explain", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def folder(tmp_path: Path, model: str) -> Path:
    (tmp_path / "model.py").write_text(model)
    return tmp_path


def test_a_finding(folder: Path) -> None:
    done = run(folder, "model.py:7", "--isolated")
    assert (done.code, done.err) == (0, "")
    assert "\x1b" not in done.out
    assert done.out.startswith("model.py:7 in `Model.forward`\n7 |         if x.sum() > 0:\n")
    for said in (
        "XLA101 tensor-if",
        "yes, certain",
        "Module.forward",
        "annotated `torch.Tensor`",
        "rules/apis/torch.toml",
    ):
        assert said in done.out


def test_what_check_prints_can_be_pasted(folder: Path) -> None:
    checked = subprocess.run(
        [COMMAND, "check", "--isolated", "--output-format", "concise"], cwd=folder, capture_output=True, text=True
    )
    line = checked.stdout.splitlines()[0]
    assert "XLA101 tensor-if (reported" in run(folder, line, "--isolated").out


def test_colours_on_a_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run(folder, "model.py:7", "--isolated").out


def test_ascii_where_the_terminal_has_no_more(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert run(folder, "model.py:7", "--isolated").out.isascii()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["model.py:99"], "there is no line 99: the file has 9 lines"),
        (["model.py:4"], "there is no code on line 4; the nearest statement is on line"),
        (["model.py:7:99"], "line 7 has 23 columns, not 99"),
        (["gone.py:1"], "`gone.py`: no such file"),
        (["model.py"], "say which line, as in `model.py:12`"),
        (["XLA999"], "no rule has the code"),
        (["model.py:7", "--target", "gpu"], "unknown value `gpu`"),
        (["model.py:7", "--project", "gone"], "`gone`: no such file or folder"),
    ],
)
def test_complaints_are_one_line(arguments: list[str], said: str, folder: Path) -> None:
    done = run(folder, *arguments, "--isolated")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_rule_shows_its_page(folder: Path) -> None:
    page = subprocess.run([COMMAND, "rule", "XLA101"], cwd=folder, capture_output=True, text=True).stdout
    assert page
    assert run(folder, "XLA101").out == page
    assert run(folder, "tensor-if").out == page


def test_settings_of_the_configuration_and_the_command_line(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.xlalint]\nignore = ["XLA101"]\n')
    assert "not selected" in run(folder, "model.py:7").out
    assert "error" in run(folder, "model.py:7", "--isolated", "--target", "torch_compile").out


def test_large_programs_are_analysed_in_part(folder: Path) -> None:
    """With the result of a check at hand that result is what counts; without, the answer says that it may be partial."""
    package = folder / "pkg"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "model.py").write_text((folder / "model.py").read_text())
    filler = "\n".join(f"def f{i}(a, b):\n    return [a + b * {i}, a - b, (a, b, {i})]\n" for i in range(9000))
    (package / "filler.py").write_text(filler)
    (package / "user.py").write_text(
        "import torch\nfrom pkg.model import Model\n\n\ndef g(x):\n    return Model().forward(x)\n"
    )
    part = run(folder, "pkg/model.py:7", "--isolated").out
    assert "analysed for this answer" in part
    assert "No result of `xlalint check`" in part
    subprocess.run([COMMAND, "check", "--isolated"], cwd=folder, capture_output=True, check=False)
    checked = run(folder, "pkg/model.py:7", "--isolated").out
    assert "what the last `xlalint check` of these files said" in checked
    whole = run(folder, "pkg/model.py:7", "--isolated", "--whole").out
    assert "Analysed: 4 files in pkg" in run(folder, "pkg/model.py:7", "--isolated", "--whole", "--project", "pkg").out
    for said in (part, checked, whole):
        assert "XLA101 tensor-if (reported, warning, certain)" in said


def answer(folder: Path) -> dict[str, Any]:
    done = run(folder, "model.py:7", "--isolated", "--output-format", "json")
    assert (done.code, done.err) == (0, "")
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_the_json_is_that_of_the_golden_file(folder: Path) -> None:
    text = json.dumps(answer(folder))
    places = ((json.dumps(str(rules_folder()))[1:-1], "RULES"), (json.dumps(str(folder))[1:-1], "FOLDER"))
    for place, name in places:
        text = text.replace(place, name)
    found = json.loads(text)
    for belief in found["values"]:
        for origin in belief["origins"]:
            if origin["cause"] == "api":  # tables grow
                origin["row"] = 0
                origin["text"] = origin["text"].rpartition(":")[0]
    if not GOLDEN.exists():
        GOLDEN.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(GOLDEN.read_text())


def test_the_json_follows_its_schema(folder: Path) -> None:
    jsonschema.validate(answer(folder), msgspec.json.schema(Explanation))
