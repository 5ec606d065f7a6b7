"""The releases that a project asks for: what its `pyproject.toml`, `setup.py`, `setup.cfg`, requirement and lock files say of versions.

What bounds a version from above tells which of the releases that a framework's code may meet it does not meet; what bounds it from
below, for which of them it was written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from xlalint.source.files import MOST_TEXT, read_file

_FILES = ("pyproject.toml", "setup.cfg", "setup.py", "environment.yml")
_LISTS = ("requirements*.txt", "requirements/*.txt")
_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock")
_ROOTS = (*_FILES, "requirements.txt", *_LOCKS)
# Of all that a lock file names, that of which releases differ in what is said of code.
_OF_USE = frozenset(("jax", "keras", "tensorflow", "tf-keras", "torch"))
# Packages of which it counts that they are asked for, in whatever release.
_DEVICES = frozenset(("torch-neuronx", "torch-tpu", "torch-xla"))
_MOST_FILES = 20
# A package's name, extras aside, and clauses of which one bounds the version from above: `keras < 3`, `tensorflow~=2.11`.
_REQUIREMENT = re.compile(
    r"""^\s*-?\s*["']?(?P<name>[A-Za-z0-9][\w.-]*)(?:\[[\w., -]*\])?\s*\(?(?P<clauses>(?:==|~=|!=|>=|<=|<|>|=(?==))[^;#"')]*)"""
)
_NAME = re.compile(r"""^\s*-?\s*["']?(?P<name>[A-Za-z][\w.-]*)(?:\[[\w., -]*\])?\s*(?:$|[#;"'=~<>!@])""")
_BOUND = re.compile(r"(==|~=|<=|<)\s*(\d+(?:\.\d+)*)")
_LEAST = re.compile(r">=?\s*(\d+(?:\.\d+)*)")
_LOCKED = re.compile(r'^name = "([\w.-]+)"\nversion = "(\d[\w.]*)', re.MULTILINE)
_QUOTED = re.compile(r"""["']([^"'\n]+)["']""")


def find_requirements(place: Path) -> tuple[str, ...]:
    """List the requirements that bound versions, as `name<clauses>`, of the project that a folder or file belongs to, sorted.

    Packages that bring a device are listed without clauses, too.
    """
    project = next((one for one in (place, *place.parents) if any((one / name).is_file() for name in _ROOTS)), None)
    if project is None:
        return ()
    files = [project / name for name in _FILES]
    files += [file for pattern in _LISTS for file in sorted(project.glob(pattern))]
    found = {told for file in files[:_MOST_FILES] for told in _find_bounds(_lines(file))}
    found |= {told for name in _LOCKS for told in _find_locked(project / name)}
    return tuple(sorted(found))


def _find_locked(file: Path) -> Iterator[str]:
    """Give the versions that a lock file has chosen, as requirements; of a package for which it has several, the last."""
    try:
        text = read_file(file, MOST_TEXT).decode("utf-8", "replace")
    except OSError:
        return
    for name, version in dict(_LOCKED.findall(text)).items():
        if _normal(name) in _OF_USE | _DEVICES:
            yield f"{_normal(name)}=={version}"


def _find_bounds(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        match = _REQUIREMENT.match(line)
        if match is not None and (_BOUND.search(match["clauses"]) or _LEAST.search(match["clauses"])):
            yield _normal(match["name"]) + "".join(match["clauses"].split())
        elif (named := _NAME.match(line)) is not None and _normal(named["name"]) in _DEVICES:
            yield _normal(named["name"])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _lines(file: Path) -> Iterable[str]:
    """Read what may be requirements of a file; nothing of one that cannot be read."""
    try:
        text = read_file(file, MOST_TEXT).decode("utf-8", "replace")
    except OSError:
        return ()
    if file.suffix == ".py":
        return _texts(text)
    if file.suffix == ".toml":
        return _QUOTED.findall(text)
    return text.splitlines()


def _texts(text: str) -> list[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def name_of(requirement: str) -> str:
    """Return the name of the package that a requirement, as `find_requirements` lists them, is of."""
    return re.split("[=~!<>]", requirement, maxsplit=1)[0]


def admits(clauses: str, release: tuple[int, ...]) -> bool:
    """Return whether clauses that bound a version from above leave room for a release, or a later one."""
    for bound, written in _BOUND.findall(clauses):
        version = tuple(int(part) for part in written.split("."))
        if bound == "~=":
            version = (*version[:-2], version[-2] + 1) if len(version) > 1 else (version[0] + 1,)
        known = release[: len(version)]
        below = version <= known if bound in ("<", "~=") else version < known
        if below:
            return False
    return True


def least_of(clauses: str) -> tuple[int, ...] | None:
    """The lowest release that clauses admit, None where they name none."""
    written = _LEAST.search(clauses)
    return None if written is None else tuple(int(part) for part in written[1].split("."))


__all__ = ["admits", "find_requirements", "least_of", "name_of"]
