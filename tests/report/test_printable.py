"""What a terminal or a CI job's log would act on does not get there: the functions, and every output of the command line."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import COMMAND, MODEL
from xlalint.report.printable import inert_json, printable, printable_lines, printable_path

ROOT = Path(__file__).parents[2]

HARMLESS = {
    "a path": "src/model.py",
    "other scripts": "modèle_模型.py",
    "brackets": "x[mask] #[1] # [x]",
    "colons": "a::b",
    "a heading": "## What it does",
    "a tab": "a\tb",
    "an emoji": "👍",
}


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_harmless_text_stays(text: str) -> None:
    assert printable(text) == printable_path(text) == printable_lines(text) == text
    assert inert_json(json.dumps(text, ensure_ascii=False)) == json.dumps(text, ensure_ascii=False)


# What a file may be called, but for the last ones, on Linux.
HOSTILE = {
    "a colour": "\x1b[31mred",
    "a title": "\x1b]0;owned\x07",
    "a hyperlink": "\x1b]8;;http://x\x1b\\",
    "eight bits": "\x9b31mred",
    "a bell": "\x07",
    "a backspace": "ok\x08\x08no",
    "a return": "shown\rhidden",
    "a new line": "a\n::error::b",
    "two new lines": "a\n\n  ::error::b",
    "deleted": "\x7f",
    "reordered": "\u202egpj.exe",
    "isolated": "\u2066x\u2069",
    "a command": "::error::a",
    "an indented command": "  ::add-mask::a",
    "an old command": "##[error]a",
    "an old command inside": "a ##[group]b",
    "Azure's": "##vso[task.setvariable variable=PATH]b",
    "Azure's in capitals": "##VSO[task.complete result=Failed;]",
}
# As the agents look for them in each line of a log.
_COMMANDS = re.compile(r"^\s*::[a-zA-Z-]|##\[|##vso\[", re.MULTILINE | re.IGNORECASE)
_ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def _inert(said: str, *, commands: bool = True) -> bool:
    return _ACTIVE.search(said) is None and not (commands and _COMMANDS.search(said))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_made_harmless(text: str) -> None:
    assert not _inert(text)
    assert "\n" not in printable(text)
    assert _inert(printable_path(text))
    assert _inert(printable_lines(text))
    assert _inert(f"xlalint: {printable(text)}")
    written = inert_json(json.dumps({"path": text}, ensure_ascii=False))
    assert _inert(written)
    assert json.loads(written) == {"path": text}


def _run(folder: Path, *arguments: str) -> str:
    told = {**os.environ, "XDG_CACHE_HOME": str(folder.parent)}
    done = subprocess.run([COMMAND, *arguments], cwd=folder, env=told, capture_output=True, timeout=300)
    assert done.returncode in (0, 1, 2)
    said = (done.stdout + b"\n" + done.stderr).decode("utf-8")
    assert "Traceback" not in said
    return said


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of hostile names that have findings, each also with its name in its text, and one that does not parse."""
    folder = tmp_path_factory.mktemp("names")
    for text in HOSTILE.values():
        quoted = text.replace("\n", " ").replace("\r", " ")
        (folder / f"{text}.py".replace("/", "_")).write_text(
            f"{MODEL}\n\ndef g(x: torch.Tensor):\n    return x.item()  # {quoted}\n"
        )
        (folder / f"{text} broken.py".replace("/", "_")).write_text(f"x = (  # {quoted}\n")
    return folder


_WITHOUT_CACHE = ("--isolated", "--no-cache")
_COMMAND_LINES = [
    *(
        ("check", *_WITHOUT_CACHE, "--output-format", form)
        for form in ("full", "concise", "json", "json-lines", "sarif", "gitlab", "junit", "rdjson", "markdown")
    ),
    ("check", *_WITHOUT_CACHE, "--show-files"),
    ("check", *_WITHOUT_CACHE, "--statistics"),
    ("check", *_WITHOUT_CACHE, "--show-fixes"),
]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", _COMMAND_LINES, ids=" ".join)
def test_names_of_files_in_reports(arguments: tuple[str, ...], project: Path) -> None:
    assert _inert(_run(project, *arguments))


@pytest.mark.slow
def test_annotations_are_the_only_commands(project: Path) -> None:
    """In GitHub's own format each line is a command, and none is anything but an annotation."""
    said = _run(project, "check", *_WITHOUT_CACHE, "--output-format", "github")
    assert _ACTIVE.search(said) is None
    lines = said.strip().splitlines()
    assert all(re.match(r"::(error|warning|notice) title=XLA\d{3} [a-z-]+,file=", line) for line in lines)
    assert not re.search(r"##\[|##vso\[", said, re.IGNORECASE)


_CONFIGURATIONS = {
    "an unknown key": "KEY = 1\n",
    "a value": 'target = "VALUE"\n',
    "a rule": 'select = ["VALUE"]\n',
    "a pattern's rule": 'per-file-ignores = { "VALUE" = ["VALUE"] }\n',
    "an environment": 'python = "VALUE"\n',
    "a baseline": 'baseline = "VALUE"\n',
    "rules of one's own": 'extend-rules = ["VALUE"]\n',
    "a target": '[[verify]]\ntarget = "VALUE"\nbackend = "VALUE"\n',
    "no TOML": "VALUE\n",
}


@pytest.mark.parametrize("written", _CONFIGURATIONS.values(), ids=_CONFIGURATIONS)
@pytest.mark.parametrize(
    "text", ["\x1b[31m\x9b\n::error::a ##[error]b", "\u202e ##vso[x]\r"], ids=["escape", "reordered"]
)
def test_values_of_the_configuration(written: str, text: str, tmp_path: Path) -> None:
    quoted = json.dumps(text)[1:-1]
    (tmp_path / "model.py").write_text(MODEL)
    if written != "VALUE\n":
        (tmp_path / "xlalint.toml").write_text(written.replace("VALUE", quoted).replace("KEY", f'"{quoted}"'))
    else:
        (tmp_path / "xlalint.toml").write_text(text, newline="")
    for arguments in (
        ("check", "--no-cache"),
        ("check", "--show-settings"),
        ("explain", "--no-cache", "model.py:7"),
        ("verify",),
    ):
        assert _inert(_run(tmp_path, *arguments))


_ARGUMENTS = (
    ("check", "TEXT"),
    ("check", "--config", "TEXT"),
    ("check", "--select", "TEXT"),
    ("check", "--target", "TEXT"),
    ("check", "--per-file-ignores", "TEXT"),
    ("check", "--baseline", "TEXT"),
    ("check", "--diff-base", "TEXT"),
    ("check", "--output-format", "TEXT"),
    ("check", "--TEXT"),
    ("explain", "TEXT"),
    ("explain", "TEXT:3"),
    ("rule", "TEXT"),
    ("config", "TEXT"),
    ("clean", "--cache-dir", "TEXT"),
    ("verify", "TEXT"),
    ("verify", "TEXT.py:f"),
    ("run", "TEXT"),
    ("server", "--tcp", "TEXT"),
    ("TEXT",),
)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", _ARGUMENTS, ids=" ".join)
def test_arguments_in_errors(arguments: tuple[str, ...], tmp_path: Path) -> None:
    text = "\x1b[31m\x9b\n::error::a ##[error]b"
    assert _inert(_run(tmp_path, *(argument.replace("TEXT", text) for argument in arguments)))


@pytest.mark.parametrize("arguments", [(), ("baseline",), ("explain",), ("check", "--output-format")], ids=str)
def test_what_click_says_on_several_lines_stays(arguments: tuple[str, ...], tmp_path: Path) -> None:
    said = _run(tmp_path, *arguments)
    assert "␊" not in said
    assert _inert(said)
    assert "Usage: " in said or "requires an argument" in said


_PAGE = """\
+++
code = "ABC001"
name = "odd"
kind = "config"
frameworks = ["torch"]
summary = "SUMMARY"
help = "SUMMARY"
fix = "none"
since = "1"
[severity]
"*" = "error"
+++

## What it does

TEXT
"""


@pytest.mark.parametrize(
    "command",
    ["rule ABC001", "rule ABC001 --output-format json", "rules", "rules --output-format json", "explain ABC001"],
)
def test_pages_of_rules_of_ones_own(command: str, tmp_path: Path) -> None:
    text = "\x1b[31m\x9b ##[error]b"
    (tmp_path / "lint").mkdir()
    page = _PAGE.replace("SUMMARY", json.dumps(text)[1:-1]).replace("TEXT", f"{text}\n::error::a\n  ::error::b")
    (tmp_path / "lint" / "ABC001-odd.md").write_text(page)
    (tmp_path / "xlalint.toml").write_text('extend-rules = ["lint"]\n')
    said = _run(tmp_path, *command.split())
    assert "ABC001" in said
    assert _inert(said)


_PRINTING = {"echo", "secho", "print", "write", "writelines"}
_PRINTERS = {  # modules that print what was made inert before, or nothing that anybody else wrote
    "cli/saying.py",
    "cli/output.py",
    "cli/rule.py",
    "cli/config.py",
    "cli/explain.py",
    "cli/verify.py",
    "cli/run.py",
    "cli/proving.py",
    "cli/fixing.py",
    "cli/baseline.py",
    "cli/doctor.py",
    "cli/init.py",
}


def test_messages_go_through_one_module() -> None:
    """Of all commands; others print reports, whose parts go through `printable`."""
    for path in sorted((ROOT / "xlalint" / "cli").glob("*.py")):
        name = path.relative_to(ROOT / "xlalint").as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and name != "cli/saying.py":
                called = ast.unparse(node.func)
                assert called.rpartition(".")[2] not in _PRINTING or name in _PRINTERS, (name, node.lineno)
                if called == "click.echo" and any(keyword.arg == "err" for keyword in node.keywords):
                    assert name == "cli/proving.py", (name, node.lineno)  # how far it is, on a terminal
