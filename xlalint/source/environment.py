"""Python environments on disk: which folder holds the installed packages, and where in it a module's source lies.

Nothing is imported and no interpreter is started: folders are listed and files are looked at. What is not a `.py` file in a
`site-packages` folder is not found: zipped and compiled packages, and those that a `.pth` file or an import hook adds (editable installs).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

# The last name in a path to an interpreter, with the version that its packages' folder may be named by.
_INTERPRETER = re.compile(r"(?:python|pypy)(\d+(?:\.\d+)?)?t?(?:\.exe)?", re.IGNORECASE)
_LIBRARY = re.compile(r"(?:python|pypy)(\d+)(?:\.(\d+))?t?")
_FOLDERS = ("site-packages", "dist-packages")


def environment_of(project: Path | None, variables: Mapping[str, str]) -> str | None:
    """The environment that a project runs in, as far as it can be seen: the active one, its own `.venv`, conda's.

    The interpreter that runs xlalint is none of these: how xlalint was installed says nothing of the project.
    """
    own = str(project / ".venv") if project is not None else None
    for place in (variables.get("VIRTUAL_ENV"), own, variables.get("CONDA_PREFIX")):
        if place and installed_packages(place) is not None:
            return os.path.abspath(place)  # noqa: PTH100
    return None


def installed_packages(python: str) -> str | None:
    """The folder of the packages that are installed for an interpreter or in an environment's folder; None where there is none."""
    place = Path(python)
    if place.name in _FOLDERS:
        return str(place) if place.is_dir() else None
    version = ""
    if not place.is_dir():
        match = _INTERPRETER.fullmatch(place.name)
        if match is None or not place.is_file():
            return None
        # Of a virtual environment's interpreter, which is a link to another's, the environment is what surrounds the link.
        version, place = (
            match[1] or "",
            place.parent.parent if place.parent.name in ("bin", "Scripts") else place.parent,
        )
    return next((str(folder) for folder in _candidates(place, version) if folder.is_dir()), None)


def _candidates(root: Path, version: str) -> list[Path]:
    """Where an environment may keep its packages, the newest Python first, or the one that is asked for."""
    found = [root / "Lib" / name for name in _FOLDERS[:1]]
    for library in (root / "lib", root / "lib64", root / "local" / "lib"):
        versions: list[tuple[bool, int, int, str]] = []
        for name in _list(str(library)):
            match = _LIBRARY.fullmatch(name)
            if match is not None:
                asked = bool(version) and (f"{match[1]}.{match[2]}" == version or match[1] == version)
                versions.append((asked, int(match[1]), int(match[2] or 0), name))
        found += [library / name / folder for *_, name in sorted(versions, reverse=True) for folder in _FOLDERS]
    return found


class ModuleFile(NamedTuple):
    """Where an installed module's source lies."""

    module: str
    path: str
    is_package: bool


class Installed:
    """The modules under one folder of packages. `listed` holds the folders that were looked into: what is found depends on these."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.listed: dict[str, frozenset[str]] = {}

    def has(self, package: str) -> bool:
        """Return whether there is something of that name at the top."""
        names = self._names(self.folder)
        return package in names or f"{package}.py" in names

    def size(self, file: ModuleFile) -> int:
        """The size of a module's file."""
        try:
            return os.stat(file.path).st_size  # noqa: PTH116
        except OSError:
            return 0

    def find(self, module: str) -> ModuleFile | None:
        """The source of a module by its dotted name; None for what is not there or has no source, a namespace package included."""
        package, _, name = module.rpartition(".")
        own, outer = self._folder_of(module), self._folder_of(package)
        if own is not None and "__init__.py" in self._names(own):
            return ModuleFile(module, f"{own}/__init__.py", True)
        if outer is not None and f"{name}.py" in self._names(outer):
            return ModuleFile(module, f"{outer}/{name}.py", False)
        return None

    def _folder_of(self, module: str) -> str | None:
        """The folder that a package's modules lie in ("": the top); None where there is none of its name."""
        folder = self.folder
        for name in module.split(".") if module else ():
            if name not in self._names(folder):
                return None
            folder = f"{folder}/{name}"
        return folder

    def _names(self, folder: str) -> frozenset[str]:
        known = self.listed.get(folder)
        if known is None:
            known = self.listed[folder] = _list(folder)
        return known


def _list(folder: str) -> frozenset[str]:
    """The names in a folder; none where it cannot be read."""
    try:
        return frozenset(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return frozenset()
