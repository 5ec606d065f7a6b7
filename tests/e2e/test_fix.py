"""`check --fix` as users run it: what is written, what is printed where, and how it ends."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

IDLE = "x = 1  # xlalint: ignore\ny = 2\r\n"
FIXED = "x = 1\ny = 2\r\n"
MISSPELT = "z = 3  # xlalint: ingore\n"
DIFF = "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n-x = 1  # xlalint: ignore\n+x = 1\n y = 2\r\n"


class Done(NamedTuple):
    """How the command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, command: list[str]) -> Run:
    def call(*arguments: str, stdin: str = "", form: str = "concise") -> Done:
        done = subprocess.run(
            [*command[:-1], form, *arguments], cwd=tmp_path, input=stdin.encode(), capture_output=True, timeout=120
        )
        assert b"Traceback" not in done.stderr
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "a.py", IDLE)


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def read(path: Path) -> str:
    return path.read_bytes().decode()


def test_what_could_be_fixed_is_marked(run: Run, file: Path) -> None:
    done = run()
    assert done == (
        1,
        "a.py:1:8: XLA003 [*] `# xlalint: ignore` suppresses nothing\n"
        "Found 1 warning in 1 file (1 checked).\n[*] 1 fixable with --fix.\n",
        "",
    )
    assert read(file) == IDLE


def test_fix(run: Run, file: Path) -> None:
    assert run("--fix") == (0, "Fixed 1 warning.\nAll clear: 1 file checked.\n", "")
    assert read(file) == FIXED
    before = file.stat()
    assert run("--fix") == (0, "All clear: 1 file checked.\n", "")
    assert file.stat() == before


def test_what_is_left_is_reported(run: Run, tmp_path: Path, file: Path, model: str) -> None:
    model = model.replace("return x + x\n", "self.seen = x\n", 1)
    write(tmp_path / "b.py", "# xlalint: ignore-file[item]\n" + model + MISSPELT)
    done = run("--fix")
    assert done.code == 1
    assert done.out.startswith("Fixed 2 warnings.\nb.py:7:12: XLA101 ")
    assert "b.py:10:8: XLA003 unknown directive" in done.out
    assert read(tmp_path / "b.py") == model + MISSPELT


def test_the_frames_show_the_text_as_it_is_now(run: Run, file: Path) -> None:
    write(file, "# xlalint: ignore-file\n" + MISSPELT)
    done = run("--fix", form="full")
    assert "1 | z = 3  # xlalint: ingore\n" in done.out
    assert "= no fix: only its author knows" in done.out


@pytest.mark.parametrize(
    ("text", "arguments", "code"),
    [
        pytest.param(FIXED, ["--fix", "--exit-non-zero-on-fix"], 0, id="nothing-fixed"),
        pytest.param(IDLE, ["--fix", "--exit-non-zero-on-fix"], 1, id="fixed"),
        pytest.param(IDLE, ["--fix", "--exit-non-zero-on-fix", "--exit-zero"], 0, id="exit-zero"),
        pytest.param(IDLE, ["--fix-only"], 0, id="only"),
        pytest.param(IDLE, ["--fix-only", "--exit-non-zero-on-fix"], 1, id="only-and-told"),
        pytest.param(MISSPELT, ["--fix-only"], 0, id="only-and-something-is-left"),
        pytest.param(MISSPELT, ["--fix"], 1, id="something-is-left"),
        pytest.param(IDLE, ["--diff"], 1, id="diff"),
        pytest.param(IDLE, ["--diff", "--exit-zero"], 0, id="diff-exit-zero"),
        pytest.param(MISSPELT, ["--diff"], 0, id="diff-of-nothing"),
    ],
)
def test_exit_codes(run: Run, file: Path, text: str, arguments: list[str], code: int) -> None:
    write(file, text)
    assert run(*arguments).code == code


def test_fix_only_says_no_more(run: Run, tmp_path: Path, file: Path) -> None:
    write(tmp_path / "b.py", MISSPELT)
    assert run("--fix-only") == (0, "Fixed 1 warning.\n", "")
    assert run("--fix-only") == (0, "Nothing to fix.\n", "")


def test_show_fixes(run: Run, tmp_path: Path, file: Path) -> None:
    (tmp_path / "p").mkdir()
    write(tmp_path / "p" / "b.py", "# xlalint: ignore-file\n" + IDLE)
    done = run("--fix", "--show-fixes")
    assert done.out == (
        "Fixed 3 warnings:\n- a.py:\n    1 × XLA003 (unused-suppression)\n- p/b.py:\n    2 × XLA003 (unused-suppression)\n"
        "All clear: 2 files checked.\n"
    )


def test_diff_writes_nothing(run: Run, file: Path) -> None:
    assert run("--diff") == (1, DIFF, "Would fix 1 warning.\n")
    assert run("--fix", "--diff") == (1, DIFF, "Would fix 1 warning.\n")
    assert read(file) == IDLE
    write(file, FIXED)
    assert run("--diff") == (0, "", "Nothing to fix.\n")


def test_diff_is_a_patch(run: Run, tmp_path: Path, file: Path) -> None:
    write(tmp_path / "b.py", "é = '\u2028'\x0c\n\r\nx = 1 # noqa: XLA101")
    patch = run("--diff").out
    subprocess.run(["patch", "-p0", "--binary"], cwd=tmp_path, input=patch.encode(), check=True, capture_output=True)
    assert (read(file), read(tmp_path / "b.py")) == (FIXED, "é = '\u2028'\x0c\n\r\nx = 1")


def test_diff_takes_no_output_file(run: Run, file: Path) -> None:
    assert run("--diff", "--output-file", "out").code == 2


def test_colours(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[31m-x = 1  # xlalint: ignore\x1b[0m\n\x1b[32m+x = 1\x1b[0m\n y = 2\n" in run("--diff").out


def test_stdin(run: Run, tmp_path: Path) -> None:
    text = "\ufeff" + IDLE + MISSPELT
    done = run("--fix", "-", stdin=text)
    assert (done.code, done.out) == (1, "\ufeff" + FIXED + MISSPELT)
    assert done.err.startswith("Fixed 1 warning.\n-:3:8: XLA003 unknown directive")
    assert run("--fix-only", "-", stdin=text) == (0, "\ufeff" + FIXED + MISSPELT, "Fixed 1 warning.\n")
    assert run("--fix", "-", stdin=FIXED) == (0, FIXED, "All clear: 1 file checked.\n")
    assert run("--diff", "--stdin-filename", "a.py", stdin=IDLE) == (1, DIFF, "Would fix 1 warning.\n")
    assert list(tmp_path.iterdir()) == []


def test_stdin_that_does_not_parse_comes_back(run: Run) -> None:
    done = run("--fix", "-", stdin="x = (\n")
    assert (done.code, done.out) == (1, "x = (\n")


def test_json(run: Run, file: Path) -> None:
    [found] = json.loads(run(form="json").out)
    place = {"row": 1, "column": 6}, {"row": 1, "column": 25}
    edit = {"content": "", "location": place[0], "end_location": place[1]}
    assert found["fix"] == {"applicability": "safe", "message": "Remove the comment", "edits": [edit]}
    assert run("--fix", form="json") == (0, "[]\n", "")
    assert read(file) == FIXED


def test_what_was_not_asked_for_is_not_fixed(run: Run, tmp_path: Path, file: Path) -> None:
    other = write(tmp_path / "b.py", IDLE)
    run("--fix", "--select", "XLA1")
    run("--fix", "--ignore", "XLA003")
    run("--fix", "--per-file-ignores", "*.py:XLA003")
    run("--fix", "--exclude", "b.py", "--unsafe-fixes")
    assert (read(file), read(other)) == (FIXED, IDLE)


def test_a_suppression_that_another_file_needs(run: Run, tmp_path: Path, model: str) -> None:
    write(tmp_path / "a.py", "def positive(x):\n    return bool(x)  # xlalint: ignore\n")
    write(tmp_path / "b.py", "from a import positive\n" + model.replace("x.sum() > 0", "positive(x.sum() > 0)"))
    assert run("--fix").out.count("XLA003") == 0
    assert "xlalint: ignore" in read(tmp_path / "a.py")


def test_a_link_out_of_the_project(run: Run, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = write(tmp_path_factory.mktemp("outside") / "a.py", IDLE)
    (tmp_path / "link.py").symlink_to(outside)
    write(tmp_path / "b.py", IDLE)
    done = run("--fix")
    assert done.code == 2
    assert done.out.startswith("Fixed 1 warning.\n")
    assert "is not fixed: it is reached by a link out of the project" in done.err
    assert (read(outside), read(tmp_path / "b.py")) == (IDLE, FIXED)


@pytest.mark.parametrize("cached", [True, False])
def test_a_run_after_a_fix_is_that_of_a_fresh_start(run: Run, file: Path, cached: bool) -> None:
    write(file, "# xlalint: ignore-file[XLA1]\n" + MISSPELT)
    arguments = [] if cached else ["--no-cache"]
    after_fix = run("--fix", *arguments).out.partition("\n")[2]
    assert run(*arguments).out == run("--no-cache").out == after_fix


def test_killed_at_any_time_each_file_is_old_or_new(tmp_path: Path, command: list[str]) -> None:
    chance = random.Random(1)
    files = [write(tmp_path / f"m{i}.py", "") for i in range(40)]
    told = [*command, "--fix", "--jobs", "1"]

    def start() -> subprocess.Popen[bytes]:
        for file in files:
            write(file, IDLE)
        return subprocess.Popen(told, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    start().wait()
    began = time.monotonic()
    start().wait()
    whole = time.monotonic() - began
    assert {read(file) for file in files} == {FIXED}
    for _ in range(12):
        process = start()
        time.sleep(whole * (0.4 + 0.6 * chance.random()))
        process.kill()
        process.wait()
        assert {read(file) for file in files} <= {IDLE, FIXED}


@pytest.mark.parametrize("option", ["--add-ignore", "--add-noqa"])
def test_add_ignore(run: Run, tmp_path: Path, option: str) -> None:
    path = write(tmp_path / "a.py", "import torch\n\n\ndef f(x: torch.Tensor):\n    return x * x.sum().item()\n")
    assert run(option) == (0, "Silenced 1 finding.\n", "")
    assert read(path).endswith("    return x * x.sum().item()  # xlalint: ignore[XLA301]\n")
    assert run(option) == (0, "Silenced 0 findings.\n", "")
    assert run().code == 0


def test_add_ignore_says_what_no_comment_silences(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "broken.py", "x = (\n")
    done = run("--add-ignore", str(tmp_path / "broken.py"))
    assert (done.code, read(tmp_path / "broken.py")) == (0, "x = (\n")
    assert done.out.startswith("Silenced 0 findings.\n1 more cannot be silenced by a comment")


@pytest.mark.parametrize("other", ["--fix", "--diff", "-"])
def test_add_ignore_is_given_alone(run: Run, file: Path, other: str) -> None:
    done = run("--add-ignore", other)
    assert done.code == 2
    assert "fix first" in done.err
    assert read(file) == IDLE


def test_a_number_in_a_call_from_another_file_is_left_alone(run: Run, tmp_path: Path) -> None:
    """No finding leads from that file to the function: `3 > 1` is no tensor."""
    used = "import torch\n\n\ndef clipped(x):\n    if x > 1:\n        return x + x\n    return -x\n"
    model = (
        "import torch\nfrom used import clipped\n\n\n"
        "class {}(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n        return {}\n"
    )
    write(tmp_path / "used.py", used)
    write(tmp_path / "model.py", model.format("Model", "clipped(x.sum())"))
    assert "torch.where(x > 1, x + x, -x)" in run("--diff", str(tmp_path)).out
    write(tmp_path / "scaled.py", model.format("Scaled", "x * clipped(3)"))
    assert "torch.where" not in run("--diff", "--unsafe-fixes", str(tmp_path)).out
