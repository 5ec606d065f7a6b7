"""Find the frameworks that a project's files import, and propose the files that it could begin with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from xlalint.frameworks.registry import ROWS
from xlalint.source.files import read_file

_MOST_READ = 2_000  # files: more would not change what is proposed
_HEAD = 256 * 1024
_IMPORT = re.compile(rb"^[ \t]*(?:import|from)[ \t]+(\w+)", re.MULTILINE)
_ROOTS = {
    "torch": ("torch", "torch_xla", "torch_tpu", "torchvision", "lightning", "pytorch_lightning"),
    "tensorflow": ("tensorflow", "keras"),
    "jax": ("jax", "flax", "equinox", "haiku", "optax"),
}
_CHOICES = {"torch": ("torch_tpu", "torch_xla", "torch_compile")}  # the usual one first
_SHOWN = {"torch_tpu": "torch_tpu", "torch_xla": "torch_xla", "torch_neuronx": "torch_xla"}
_HOOK = {
    "id": "xlalint",
    "name": "xlalint",
    "entry": "xlalint check --force-exclude",
    "language": "system",
    "types_or": ["python", "pyi", "jupyter"],
    "require_serial": True,
}
_WORKFLOW = """\
name: xlalint
on:
  pull_request:
  push:
    branches: [main, master]
permissions:
  contents: read
jobs:
  xlalint:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install xlalint
      - run: xlalint check --output-format github
"""


class Proposal(NamedTuple):
    """A file as it is (None: there is none) and as it would be; or why it is left alone."""

    path: Path
    before: str | None
    after: str
    left: str = ""


def count_frameworks(files: Sequence[Path]) -> dict[str, int]:
    """Count the files that import each framework, by the framework's name."""
    by_root = {root: name for name, roots in _ROOTS.items() for root in roots}
    counts: Counter[str] = Counter()
    for roots in _imports(files):
        counts.update({by_root[root] for root in roots if root in by_root})
    return {row.name: counts[row.name] for row in ROWS if counts[row.name]}


def find_target(files: Sequence[Path]) -> str:
    """Return the target that the imports of a project's files show, the newest of them; "" where they show none."""
    shown = {_SHOWN[root] for roots in _imports(files) for root in roots if root in _SHOWN}
    return next((target for choices in _CHOICES.values() for target in choices if target in shown), "")


def _imports(files: Sequence[Path]) -> Iterator[set[str]]:
    """The packages that each file imports."""
    for file in files[:_MOST_READ]:
        try:
            text = read_file(file, _HEAD)
        except OSError:
            continue
        yield {match[1].decode() for match in _IMPORT.finditer(text)}


def propose(root: Path, frameworks: Mapping[str, int], target: str = "") -> Iterator[Proposal]:
    """Propose the configuration, the commit hook and, for a repository on GitHub, the workflow of a project whose files show a target."""
    yield _propose_configuration(root, frameworks, target)
    if (root / ".git").exists():
        yield _propose_hook(root / ".pre-commit-config.yaml")
        if _is_on_github(root):
            yield _propose_workflow(root / ".github" / "workflows" / "xlalint.yml")


def _propose_configuration(root: Path, frameworks: Mapping[str, int], target: str) -> Proposal:
    own, project = root / "xlalint.toml", root / "pyproject.toml"
    text = _text(project)
    if own.exists():
        return Proposal(own, None, "", "it is there already")
    if text is not None and re.search(r"^\s*\[\[?\s*tool\.xlalint\b", text, re.MULTILINE):
        return Proposal(project, text, text, "it has [tool.xlalint] already")
    titles = {row.name: row.title for row in ROWS}
    found = ", ".join(f"{titles[name]} (files: {number:,})" for name, number in frameworks.items())
    lines = [f"# {found or 'no framework was found'}; `xlalint config` lists all keys.\n"]
    lines += [_choice(titles[name], _CHOICES[name], target) for name in frameworks if name in _CHOICES]
    lines.append('min-confidence = "likely"\n')
    if text is None:
        return Proposal(own, None, "".join(lines))
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return Proposal(project, text, f"{text}{gap}[tool.xlalint]\n{''.join(lines)}")


def _choice(title: str, targets: Sequence[str], shown: str) -> str:
    """A line that names the target by which a framework's code is judged, and the others."""
    why = "as the code shows" if shown else "the usual one"
    others = " or ".join(one for one in targets if one != (shown or targets[0]))
    return f'# target = "{shown or targets[0]}"  # of {title}, {why}; else {others}\n'


def _propose_hook(path: Path) -> Proposal:
    """A hook that runs the xlalint which is installed; it is appended, so that comments and layout stay."""
    text = _text(path)
    entry = {"repo": "local", "hooks": [_HOOK]}
    if text is None:
        return Proposal(path, None, _yaml({"repos": [entry]}))
    if "xlalint" in text:
        return Proposal(path, text, text, "it speaks of xlalint already")
    try:
        before = yaml.safe_load(text)
        for indent in ("", "  ", "    "):
            after = text.rstrip("\n") + "\n" + "".join(f"{indent}{line}\n" for line in _yaml([entry]).splitlines())
            if _loads_as(after, {**before, "repos": [*before["repos"], entry]}):
                return Proposal(path, text, after)
    except (yaml.YAMLError, TypeError, KeyError):
        pass
    return Proposal(path, text, text, "its `repos` are not at its end: add the hook by hand")


def _propose_workflow(path: Path) -> Proposal:
    text = _text(path)
    return Proposal(path, text, _WORKFLOW, "it is there already" if text is not None else "")


def _loads_as(text: str, expected: object) -> bool:
    try:
        return bool(yaml.safe_load(text) == expected)
    except yaml.YAMLError:
        return False


def _yaml(value: object) -> str:
    return str(yaml.safe_dump(value, sort_keys=False))


def _is_on_github(root: Path) -> bool:
    return (root / ".github").is_dir() or "github.com" in (_text(root / ".git" / "config") or "")


def _text(path: Path) -> str | None:
    """The text of a file, None where there is none that can be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
