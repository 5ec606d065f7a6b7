"""`xlalint check`: options, exit codes, what goes to which stream."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from xlalint.cli import main

BAD = "if t:\n    pass\n"


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.py"
    path.write_text(BAD)
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.py"
    path.write_text("x = 1\n")
    return path


def test_exit_codes(run: Any, bad: Path, good: Path, pipeline: Any) -> None:
    assert run("check", "good.py").code == 0
    assert run("check", "bad.py").code == 1
    assert run("check", "bad.py", "--exit-zero").code == 0
    pipeline.failures = ["bad.py: RuntimeError: no"]
    done = run("check", "bad.py", "--exit-zero")
    assert (done.code, done.err) == (2, "xlalint: internal error: bad.py: RuntimeError: no\n")
    assert "XLA101" in done.out


def test_the_target_and_its_release(run: Any, good: Path, pipeline: Any) -> None:
    run("check", "good.py", "--target", "torch_compile", "--target-version", "torch2.9")
    settings = pipeline.calls[-1]["settings"]
    assert (settings.target, settings.target_version) == ("torch_compile", "torch2.9")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(("check", "gone.py"), "`gone.py`: no such file or folder", id="path"),
        pytest.param(("check", "--select", "XLA1O1"), "--select: no rule has the code", id="code"),
        pytest.param(("check", "--ignore", "tensor-iff"), "did you mean `tensor-if`", id="name"),
        pytest.param(
            ("check", "--target", "torch_xlaa"),
            "--target: unknown value `torch_xlaa`; did you mean `torch_xla`",
            id="target",
        ),
        pytest.param(("check", "--per-file-ignores", "XLA1"), "`XLA1` is not PATTERN:RULE", id="per-file"),
        pytest.param(("check", "--isolated", "--config", "a.toml"), "exclude each other", id="config"),
        pytest.param(("check", "-", "a.py"), "cannot be checked together", id="stdin-and-paths"),
        pytest.param(("check", "--output-format", "xml"), "xml", id="format"),
        pytest.param(("check", "--statistics", "--output-format", "sarif"), "not sarif", id="statistics"),
        pytest.param(("check", "--watch", "-"), "`--watch` works on files", id="watch-stdin"),
        pytest.param(("check", "--jobs", "-1"), "jobs", id="jobs"),
        pytest.param(("check", "--slect", "X"), "--slect", id="option"),
        pytest.param(("check", "--statistic"), "--statistics", id="option-near"),
        pytest.param(("chekc",), "did you mean `check`", id="command"),
        pytest.param((".",), "unknown command `.`; did you mean `xlalint check .`?", id="a-path"),
        pytest.param(("version",), "did you mean `--version`?", id="an-option"),
        pytest.param(("linter",), "did you mean `rules`?", id="command-of-ruff"),
        pytest.param(("format",), "unknown command `format`; one of check, ", id="command-like-none"),
        pytest.param(("rule", "XLA1O1"), "did you mean", id="rule"),
    ],
)
def test_wrong_usage_is_exit_code_2(run: Any, arguments: tuple[str, ...], says: str) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert says in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


def test_no_option_is_suggested_that_is_unlike(run: Any) -> None:
    done = run("check", "--line-length", "88")
    assert (done.code, "mean" in done.err) == (2, False)


@pytest.mark.parametrize("form", ["json-lines", "sarif", "github", "gitlab", "junit", "rdjson", "markdown"])
def test_formats_for_programs_have_nothing_around_them(run: Any, bad: Path, form: str) -> None:
    done = run("check", "bad.py", "--output-format", form)
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith(("{", "[", "<", "::", "###"))
    assert "Found 1" not in done.out


def test_a_page_asks_for_what_it_needs(run: Any, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xlalint.cli.packages.find_spec", lambda _: None)
    done = run("check", "bad.py", "--output-format", "html")
    assert (done.code, done.out) == (2, "")
    assert "pip install 'xlalint[report]'" in done.err


def test_trouble_inside_is_one_line(run: Any, good: Path, pipeline: Any) -> None:
    pipeline.raises = RuntimeError("boom")
    done = run("check")
    assert (done.code, done.out) == (2, "")
    assert done.err == "xlalint: internal error: RuntimeError: boom (set XLALINT_DEBUG=1 to see where)\n"


def test_interrupted(run: Any, good: Path, pipeline: Any) -> None:
    pipeline.raises = KeyboardInterrupt()
    done = run("check")
    assert (done.code, done.out, done.err.strip()) == (130, "", "xlalint: interrupted")


def test_formats(run: Any, bad: Path) -> None:
    assert run("check", "--output-format", "concise").out == (
        "bad.py:1:4: XLA101 `if` needs `t`\nFound 1 error in 1 file (1 checked).\n"
    )
    assert "1 | if t:\n  |    ^\n" in run("check").out
    [entry] = json.loads(run("check", "--output-format", "json").out)
    assert entry["filename"] == str(bad)


def test_json_of_a_clean_tree_is_an_array(run: Any, good: Path) -> None:
    assert run("check", "--output-format", "json").out == "[]\n"


def test_statistics(run: Any, bad: Path) -> None:
    done = run("check", "--statistics")
    assert done.out == "1  XLA101  tensor-if  error\nFound 1 error in 1 file (1 checked).\n"
    assert json.loads(run("check", "--statistics", "--output-format", "json").out)[0]["count"] == 1


def test_output_file(run: Any, bad: Path, tmp_path: Path) -> None:
    done = run("check", "--output-format", "json", "--output-file", "out.json")
    assert (done.code, done.out) == (1, "")
    assert json.loads((tmp_path / "out.json").read_text())[0]["code"] == "XLA101"
    done = run("check", "--output-file", "no/such/folder")
    assert done.code == 2
    assert "cannot be written" in done.err


def test_colours(run: Any, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in run("check").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run("check").out
    run("check", "--output-file", "out.txt")
    assert "\x1b" not in Path("out.txt").read_text()


def test_stdin(run: Any, tmp_path: Path, pipeline: Any) -> None:
    done = run("check", "-", stdin=BAD.encode())
    assert done.code == 1
    assert "--> -:1:4" in done.out
    assert "1 | if t:" in done.out
    done = run(
        "check", "--stdin-filename", "pkg/m.py", "--output-format", "concise", stdin=b"\xef\xbb\xbf" + BAD.encode()
    )
    assert done.out.startswith("pkg/m.py:1:4: XLA101")
    assert pipeline.calls[-1]["filename"] == str(tmp_path / "pkg/m.py")
    assert run("check", "-", stdin=b"x = 1\n").code == 0


def test_stdin_that_is_excluded(run: Any, tmp_path: Path) -> None:
    """Editors and hooks hand on whatever there is."""
    (tmp_path / "xlalint.toml").write_text('extend-exclude = ["vendor"]\nforce-exclude = true\n')
    command = ("check", "--output-format", "json", "--stdin-filename", "vendor/a.py", "-")
    assert run(*command, stdin=BAD.encode())[:2] == (0, "[]\n")
    assert run(*command, "--no-force-exclude", stdin=BAD.encode()).code == 1


def test_stdin_that_cannot_be_decoded(run: Any) -> None:
    done = run("check", "-", stdin=b"\xff\n")
    assert done.code == 2
    assert "standard input: byte 0xff is not UTF-8" in done.err


def test_show_files(run: Any, bad: Path, good: Path, tmp_path: Path) -> None:
    (tmp_path / ".xlalint_cache").mkdir()
    (tmp_path / ".xlalint_cache/a.py").touch()
    assert run("check", "--show-files").out == f"{bad}\n{good}\n"
    assert run("check", "--show-files", "--extend-exclude", "bad.py,x").out == f"{good}\n"


def test_show_settings(run: Any, tmp_path: Path) -> None:
    out = run(
        "check",
        "--show-settings",
        "--select",
        "item,XLA1",
        "--per-file-ignores",
        "a/*:XLA1,XLA2",
        "--per-file-ignores",
        "b:XLA3",
    ).out
    assert f"# root: {tmp_path}\n" in out
    assert 'select = ["XLA301","XLA1"]\n' in out
    assert 'device = "tpu"\n' in out
    assert 'select = ["ALL"]\n' in run("check", "--show-settings").out
    assert '[per-file-ignores]\n"a/*" = ["XLA1","XLA2"]\n"b" = ["XLA3"]\n' in out


def test_options_become_settings(run: Any, good: Path, pipeline: Any, tmp_path: Path) -> None:
    (tmp_path / "xlalint.toml").write_text("show-info = true\ndevice = 'gpu'\njobs = 3\n")
    run("check")
    settings = pipeline.calls[-1]["settings"]
    assert (settings.show_info, settings.device, settings.target) == (True, "gpu", None)
    assert pipeline.calls[-1]["jobs"] == 3
    run(
        "check",
        "--no-show-info",
        "--device",
        "cpu",
        "--target",
        "tf",
        "--min-confidence",
        "possible",
        "-j",
        "1",
        "--no-cache",
    )
    settings = pipeline.calls[-1]["settings"]
    assert (settings.show_info, settings.device, settings.target, settings.min_confidence) == (
        False,
        "cpu",
        "tf",
        "possible",
    )
    assert pipeline.calls[-1]["jobs"] == 1
    run("check", "--isolated")
    assert pipeline.calls[-1]["settings"].device == "tpu"
    assert pipeline.calls[-1]["jobs"] >= 1


def test_nothing_to_check_is_said(run: Any) -> None:
    done = run("check")
    assert done.code == 0
    assert done.err == "xlalint: warning: no Python files found under the given paths\n"
    assert "0 files checked" in done.out


@pytest.mark.parametrize(
    ("arguments", "environ", "config", "folder"),
    [
        pytest.param((), None, "", ".xlalint_cache", id="default"),
        pytest.param((), None, "cache-dir = 'c'", "c", id="file"),
        pytest.param((), "e", "cache-dir = 'c'", "e", id="environment-over-file"),
        pytest.param(("--cache-dir", "o"), "e", "", "o", id="option-over-environment"),
        pytest.param(("--no-cache",), "e", "cache-dir = 'c'", None, id="none"),
    ],
)
def test_where_the_cache_is(
    run: Any,
    good: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    environ: str | None,
    config: str,
    folder: str | None,
) -> None:
    Path("xlalint.toml").write_text(config)
    if environ:
        monkeypatch.setenv("XLALINT_CACHE_DIR", environ)
    run("check", *arguments)
    made = {path.parent.name for path in Path().rglob("xlalint-*.db")}
    assert made == ({folder} if folder else set())


def test_an_impossible_cache_is_a_warning(run: Any, bad: Path) -> None:
    done = run("check", "--cache-dir", "bad.py")
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "warning: no cache" in done.err


def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    code = "import sys; from xlalint.cli import main; sys.exit(main(['rules', '--isolated']))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""


INTERRUPTED = """
import os, signal, sys, types
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs this in the background ignores it
fake = types.ModuleType("xlalint.project")
def check_paths(paths, settings, *, cache, **told):
    cache.put_units([("kept", b"x")])
    os.kill(os.getpid(), signal.SIGINT)
    while True: pass
fake.check_paths = check_paths
sys.modules["xlalint.project"] = fake
from xlalint.cli import main
sys.exit(main(["check", "--cache-dir", "c"]))
"""


def test_ctrl_c(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], cwd=tmp_path, capture_output=True, timeout=30, check=False
    )
    assert done.returncode == 130
    assert done.stderr == b"xlalint: interrupted\n"
    assert done.stdout == b""
    from xlalint.cache import Cache

    with Cache(tmp_path / "c") as cache:
        assert cache.units(["kept"]) == {"kept": b"x"}


LOOP = """import torch
import torch_xla


def train(model, optimizer, batches):
    for i, x in enumerate(batches):
        loss = model(x.to(torch_xla.device())).sum()
        if i % 4 == 0:
            print(loss.item())
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        total = loss.item()
"""


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ((), [13, 9]),
        (("--sort", "cost"), [13, 9]),
        (("--sort", "file"), [9, 13]),
        (("--output-format", "concise"), [9, 13]),
        (("--output-format", "concise", "--sort", "cost"), [13, 9]),
    ],
)
def test_the_order_of_findings(
    options: tuple[str, ...], rows: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(LOOP)
    assert main(["check", "--isolated", "--no-cache", "--target", "torch_xla", *options, str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert [int(row) for row in re.findall(r"train\.py:(\d+):", said)] == rows
    assert "Per training step: 1 read.\n" in said


@pytest.mark.parametrize("form", ["json", "sarif", "markdown", "html"])
def test_only_text_has_an_order(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--sort", "cost", "--output-format", form]) == 2
    assert "`--sort` has the formats full, concise" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------ how much is said


def test_quiet_has_findings_and_nothing_else(run: Any, bad: Path) -> None:
    done = run("check", "-q", "--output-format", "concise")
    assert (done.code, done.out, done.err) == (1, "bad.py:1:4: XLA101 `if` needs `t`\n", "")
    bad.unlink()
    done = run("check", "--quiet")  # no warning that there is nothing to check
    assert (done.code, done.out, done.err) == (0, "", "")


def test_silent_tells_by_its_exit_code(run: Any, bad: Path, pipeline: Any) -> None:
    done = run("check", "--silent")
    assert (done.code, done.out, done.err) == (1, "", "")
    assert run("check", "-s", "--output-format", "json", "--output-file", "r.json").code == 1
    assert len(json.loads((bad.parent / "r.json").read_text())) == 1
    pipeline.failures = ["bad.py: RuntimeError: no"]
    done = run("check", "--silent")
    assert (done.code, done.out, done.err) == (2, "", "xlalint: internal error: bad.py: RuntimeError: no\n")


def test_verbose_tells_what_was_found_and_what_takes_how_long(run: Any, bad: Path) -> None:
    plain, done = run("check"), run("check", "--verbose")
    assert (done.code, done.out) == (plain.code, plain.out)
    assert re.search(r"^xlalint: configuration: none$", done.err, re.MULTILINE)
    assert re.search(r"^xlalint: +\d+\.\d{3} s  configuration and files$", done.err, re.MULTILINE)


def test_how_much_is_said_is_one_choice(run: Any, bad: Path) -> None:
    done = run("check", "-q", "-v")
    assert (done.code, done.out) == (2, "")
    assert "exclude each other" in done.err


def test_colours_are_as_chosen(run: Any, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" in run("check", "--color", "always").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run("check", "--color", "auto").out
    assert "\x1b[" not in run("check", "--color", "never").out
    assert run("check", "--color", "sometimes").code == 2


def test_comments_that_silence_give_a_reason(run: Any, bad: Path) -> None:
    done = run("check", "--add-ignore", "--reason", "older than the linter")
    assert (done.code, done.out) == (0, "Silenced 1 finding.\n")
    assert bad.read_text() == "if t:  # xlalint: ignore[XLA101] older than the linter\n    pass\n"
    assert "`--reason` needs `--add-ignore`" in run("check", "--reason", "x").err
    assert "one line" in run("check", "--add-ignore", "--reason", "a\nb").err
