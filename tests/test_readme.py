"""What README.md and the pages of docs/ say is so: their commands work, their tables and examples are those of this version."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import click
import msgspec
import pytest

from tests.screens import shows
from xlalint.config import load_settings
from xlalint.diagnostics import Finding
from xlalint.report import FORMATS
from xlalint.rules import rules
from xlalint.verify.inputs.marks import marks

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
DOCS = {page.stem: page.read_text() for page in sorted((ROOT / "docs").glob("*.md"))}
LETTERS = {"torch": "t", "tensorflow": "f", "jax": "j"}


def _blocks(language: str, page: str = "") -> list[str]:
    """The fenced blocks of a language in README.md, or in a page of docs/."""
    text = DOCS[page] if page else README
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


SUPPRESSED = _blocks("python", "configuration")[0]
"""The program that the pages speak of."""


def _run(arguments: list[str], folder: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).parent / "xlalint"
    return subprocess.run([command, *arguments], cwd=folder, input=text, capture_output=True, text=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("src/model.py", "tests/test_model.py", "model.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(SUPPRESSED)
    return tmp_path


USES = [line for line in _blocks("bash")[2].splitlines() if line.strip()]


@pytest.mark.parametrize("line", USES)
def test_each_use_works(line: str, project: Path) -> None:
    before, _, command = line.rpartition("| ")
    arguments = shlex.split(command, comments=True)
    assert arguments[0] == "xlalint"
    done = _run(arguments[1:], project, (project / "model.py").read_text() if before else "")
    assert done.returncode in ((0, 1) if arguments[1] == "check" else (0,)), done.stderr
    assert not done.stderr


def _commands(page: str, words: str) -> list[str]:
    """The commands in a page's bash blocks that begin with some words."""
    lines = [line for block in _blocks("bash", page) for line in block.splitlines()]
    return [line for line in lines if line.startswith(words)]


@pytest.mark.parametrize("line", _commands("output", "xlalint check --output-format"))
def test_reports_are_written(line: str, project: Path) -> None:
    if "html" in line and find_spec("jinja2") is None:
        pytest.skip("jinja2 is not installed")
    arguments = shlex.split(line, comments=True)
    done = _run(arguments[1:], project)
    assert done.returncode == 0, done.stderr
    assert (project / arguments[arguments.index("--output-file") + 1]).stat().st_size > 100


def test_a_project_begins_with_new_code(project: Path) -> None:
    """The commands of the section on adoption, in a repository; what watches is tested where it can be ended."""
    model = project / "src" / "model.py"
    model.write_text(re.sub(r"  # .*", "", model.read_text()))
    (project / ".gitignore").write_text(".xlalint_cache\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"], ["branch", "origin/main"]):
        subprocess.run([*git, *command], cwd=project, check=True)
    assert _run(["check", "src"], project).returncode == 1
    lines = [
        line
        for words in ("baseline", "check --baseline", "check --diff-base", "config")
        for line in _commands("adoption", f"xlalint {words}")
    ]
    assert len(lines) == 4
    for line in lines:
        done = _run(shlex.split(line, comments=True)[1:], project)
        assert done.returncode == 0, done.stdout + done.stderr
    assert _commands("adoption", "xlalint check --watch")


def test_the_files_for_hooks_and_ci_have_what_is_used(project: Path) -> None:
    yaml = pytest.importorskip("ruamel.yaml")
    hooks, *workflows, component = (yaml.YAML(typ="safe").load(block) for block in _blocks("yaml", "adoption")[:4])
    (hook,) = hooks["repos"][0]["hooks"]
    known = yaml.YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())[0]
    assert hook["entry"].startswith(known["entry"])
    assert {name: hook[name] for name in ("types_or", "require_serial")} == {
        name: known[name] for name in ("types_or", "require_serial")
    }
    assert _run([*shlex.split(hook["entry"])[1:], "src/model.py"], project).returncode == 0
    lines = [
        step["run"] for workflow in workflows for step in workflow["steps"] if "xlalint check" in step.get("run", "")
    ]
    assert len(lines) == 3
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"], ["branch", "origin/main"]):
        subprocess.run([*git, *command], cwd=project, check=True)
    for line in lines:
        arguments = shlex.split(line.removeprefix("pipx run ").partition(" >> ")[0])
        assert _run(arguments[1:], project).returncode == 0
    spec = next(yaml.YAML(typ="safe").load_all((ROOT / component["include"][0]["local"]).read_text()))
    assert set(component["include"][0]["inputs"]) <= set(spec["spec"]["inputs"])


BESIDES = {"--verify", "--allow-unverified", "--time-budget", "--log", "--sort", "--show-copies"} | {
    f"--no-{name}" for name in ("unsafe-fixes", "show-info", "force-exclude", "respect-gitignore")
}
"""Options for which there is nothing to compare, and the other sides of those that the page names."""


def test_the_table_beside_ruff_names_all_that_there_is() -> None:
    """And nothing else: "the same" stands for the options of the first cell."""
    from xlalint.cli.check import command
    from xlalint.config.options import OPTIONS

    options, _, keys = (_rows(part) for part in DOCS["ruff"].split("\n## ")[1:])
    told = " ".join(first if second == "the same" else second for first, second, *_ in options)
    named = set(re.findall(r"--[a-z-]+", told))
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts) if name.startswith("--")}
    assert known - named == BESIDES
    assert named <= known
    second = " ".join(row[1] for row in keys)
    assert set(re.findall(r"`([a-z-]+)`", second)) == {name.replace("_", "-") for name in OPTIONS}


def test_the_commands_beside_ruff_are_those_that_there_are() -> None:
    from xlalint.cli import commands

    _, rows, _ = (_rows(part) for part in DOCS["ruff"].split("\n## ")[1:])
    told = " ".join(first if second == "the same" else second for first, second in rows)
    named = set(re.findall(r"`([a-z-]+)`", told))
    known = set(commands.list_commands(click.Context(commands)))
    assert named == known | {"--version", "--help"}


def _rows(text: str) -> list[list[str]]:
    """The cells of a table's rows."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_agents_are_served_as_the_readme_says() -> None:
    server = json.loads(_blocks("json", "agents")[0])["mcpServers"]["xlalint"]
    assert server == {"command": "xlalint", "args": ["mcp"]}
    if find_spec("mcp") is None:
        pytest.skip("mcp is not installed")
    from xlalint.agents import tools

    named = set(re.findall(r"`(\w+_\w+)`", DOCS["agents"]))
    assert all(callable(getattr(tools, name)) for name in named)
    assert len(named) == 6


def test_the_table_of_formats_is_complete() -> None:
    table, _, _ = DOCS["output"].partition("## JSON")
    cells = re.findall(r"^\| (`[a-z].*?) \|", table, re.MULTILINE)
    assert tuple(re.findall(r"`(.*?)`", " ".join(cells))) == FORMATS


def test_checking_the_fixtures_finds_something() -> None:
    command = shlex.split(_blocks("bash")[0])[-3:]
    assert command[0] == ".venv/bin/xlalint"
    done = _run([*command[1:], "--no-cache"], ROOT)
    assert done.returncode == 1, done.stderr
    assert "XLA201" in done.stdout


@pytest.mark.skipif(not (ROOT / ".ci").is_dir(), reason="a source distribution has no .ci")
def test_continuous_integration_runs_the_tests_as_the_readme_does() -> None:
    """With the same extras, but then of the wheel that is built there."""
    install, tests = _blocks("bash")[1].strip().split(" && ")[-2:]
    script = (ROOT / ".ci" / "run").read_text().splitlines()
    assert tests in script
    extras = install.removeprefix("pip install '.").removesuffix("'")
    assert any(line.endswith(f"pip\" install --quiet --no-compile '.{extras}'") for line in script)
    assert 'pip install --quiet --no-deps --force-reinstall "$folder"/dist/*.whl' in script


def test_the_table_of_rules_is_complete() -> None:
    rows = [
        f"| {r.code} | {r.name} | {''.join(LETTERS[f] for f in r.frameworks)} | {r.summary} |" for r in rules().values()
    ]
    assert re.findall(r"^\| XLA\d{3} \|.*$", DOCS["rules"], re.MULTILINE) == rows


def test_the_configuration_is_valid(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(_blocks("toml", "configuration")[0])
    (tmp_path / "lint" / "rules").mkdir(parents=True)
    (tmp_path / ".venv/lib/python3.12/site-packages").mkdir(parents=True)
    settings = load_settings([tmp_path])
    assert settings.target == "torch_xla"
    assert settings.roots == ("mypackage.sampling.*",)


def test_the_suppressions_suppress(project: Path) -> None:
    done = _run(["check", "--isolated", "--no-cache", "model.py"], project)
    assert done.returncode == 0, done.stdout
    bare = re.sub(r"  # .*", "", (project / "model.py").read_text())
    (project / "model.py").write_text(bare)
    assert _run(["check", "--isolated", "--no-cache", "model.py"], project).returncode == 1


def test_the_json_is_a_finding() -> None:
    finding = msgspec.json.decode(_blocks("json", "output")[0].encode(), type=Finding)
    assert finding.code == "XLA101"
    assert set(msgspec.json.decode(_blocks("json", "output")[0])) == set(Finding.__struct_fields__)


@pytest.mark.slow
def test_the_screen_is_what_is_found_in_a_published_package(tmp_path: Path) -> None:
    """The commands of the first screen, download included."""
    fetch, *typed = re.split(r"^\$ ", _blocks("console")[0], flags=re.MULTILINE)[1:]
    download, unpack = (shlex.split(command) for command in fetch.split(" && "))
    fetched = subprocess.run([sys.executable, "-m", *download], cwd=tmp_path, capture_output=True, text=True)
    if fetched.returncode and re.search(r"No matching distribution|resolution|onnection", fetched.stderr):
        pytest.skip("the package index is out of reach")
    subprocess.run([sys.executable, *unpack[1:]], cwd=tmp_path, check=True)
    for one in typed:
        command, _, screen = one.partition("\n")
        printed = _run(shlex.split(command)[1:], tmp_path).stdout
        assert shows(screen.rstrip("\n") + "\n", printed.rstrip("\n") + "\n"), printed
    assert len(typed) == 2


def test_the_explanation_is_what_explain_says(project: Path) -> None:
    command, _, screen = _blocks("console", "explain")[0].partition("\n")
    (project / "src" / "model.py").unlink()
    (project / "tests" / "test_model.py").unlink()
    done = _run([*shlex.split(command)[2:], "--isolated"], project)
    row_of_a_table = re.compile(r"\.toml:\d+")
    assert row_of_a_table.sub("", done.stdout) == row_of_a_table.sub("", screen)


def test_the_screen_of_a_notebook_is_what_check_says(tmp_path: Path) -> None:
    first, _, rest = _blocks("console", "notebooks")[0].partition("\n")
    screen, _, second = rest.partition("\n\n$ ")
    before = [line[1:] for line in screen.splitlines()[3:-1] if line[0] != "+"]
    cells = [
        {"cell_type": "markdown", "source": ""},
        {"cell_type": "code", "source": "import torch\nfrom torch import nn"},
    ]
    notebook = {"cells": [*cells, {"cell_type": "code", "source": "\n".join(before)}], "nbformat": 4, "metadata": {}}
    (tmp_path / "train.ipynb").write_text(msgspec.json.encode(notebook).decode())
    done = _run([*shlex.split(first)[2:], "--isolated", "--no-cache"], tmp_path)
    assert f"{done.stdout}{done.stderr.strip()}" == screen
    told = _run(shlex.split(second.partition("\n")[0])[1:], tmp_path)
    assert told.returncode == 0, told.stderr
    assert "XLA101" in told.stdout


@pytest.mark.torch_xla
def test_the_verdict_is_what_verify_says(project: Path) -> None:
    if not all(map(find_spec, ("torch_xla", "psutil", "ml_dtypes"))):
        pytest.skip("torch_xla is not installed")
    command, _, screen = _blocks("console", "verification")[0].partition("\n")
    done = _run([*shlex.split(command)[2:], "--isolated"], project)
    time = re.compile(r" +([\d.]+ m?s|time)$", re.MULTILINE)
    assert time.sub("", done.stdout) == time.sub("", screen)
    assert done.returncode == 1


def test_the_declared_target_is_valid(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(_blocks("toml", "verification")[0])
    (entry,) = load_settings([tmp_path]).verify
    assert entry.target == f"{tmp_path}/src/model.py:Model"
    assert entry.inputs == "x='f32[B=8,128]', mask='bool[B]'"


def test_the_mark_can_be_read() -> None:
    (mark,) = marks(f"{_blocks('text', 'verification')[0]}def f(): ...\n", "README.md")
    assert list(mark.specs.arguments) == ["x", "mask", "lengths", "scale", "n"]


def test_the_first_page_is_short() -> None:
    assert len(README.splitlines()) < 250


LINKS = [
    (page, link)
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
]


@pytest.mark.parametrize(("page", "link"), [pytest.param(page, link, id=f"{page.name}:{link}") for page, link in LINKS])
def test_links_lead_somewhere(page: Path, link: str) -> None:
    assert (page.parent / link).exists()


def test_every_page_is_reached_from_the_first() -> None:
    assert {f"docs/{name}.md" for name in DOCS} <= {link for page, link in LINKS if page.name == "README.md"}
