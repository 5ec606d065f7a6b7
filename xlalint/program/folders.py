"""Modules by the folders that hold them.

A folder without an `__init__.py` is a package too (PEP 420), and what an import names depends on where Python looks: in the folder of the
script that was started, which lies around the importing file or beside it, or in one that the program adds to `sys.path`. Several folders
may each have a module of one name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from xlalint.program.linker import ModuleInfo

_PYTHON: Final = ".py"  # how files end of which the names are modules'
_PACKAGE: Final = "__init__"
_STANDARD: Final = frozenset(sys.stdlib_module_names)


class ImportFolders:
    """Tells which module of a program an import finds from where it stands.

    `modules` are those on which that depends, by their dotted names from the outermost folder on: "project.lib.net" for
    `project/lib/net.py`. `by_name` has the others, and the first of several of one name. `libraries` are packages that lie in no folder of
    the program's, where it adds to those in which Python looks; None where it does not.
    """

    def __init__(
        self, modules: Iterable[ModuleInfo], by_name: Mapping[str, ModuleInfo], libraries: frozenset[str] | None = None
    ) -> None:
        self._libraries = libraries
        self.modules: dict[str, ModuleInfo] = {}
        self._by_name = by_name
        self._around: dict[int, tuple[str, ...]] = {}
        self._found: dict[tuple[tuple[str, ...], str, str], str] = {}
        holders = [(module, holder) for module in modules if (holder := _holder(module)) is not None]
        outermost = len(_common_folder([holder for _, holder in holders])[:-1])
        for module, holder in holders:
            around = self._around[module.index] = holder[outermost:]
            self.modules.setdefault(".".join((*around, module.name)), module)
        self._first = {name for around in self._around.values() for name in around}
        self._first.update([module.name.partition(".")[0] for module, _ in holders])

    def find(self, module: ModuleInfo, dotted: str, member: str) -> str:
        """Return a key of `by_name` for what an absolute import in `module` names: a module, or a folder that has its member as one.

        It is the dotted name itself where no folder around the importing module has such a module.
        """
        around = self._around.get(module.index)
        if not around or dotted.partition(".")[0] not in self._first:
            return dotted
        key = around, dotted, member
        known = self._found.get(key)
        if known is None:
            known = self._found[key] = self._search(around, dotted, member)
        return known

    def _search(self, around: tuple[str, ...], dotted: str, member: str) -> str:
        for depth in range(len(around), -1, -1):
            name = ".".join((*around[:depth], dotted))
            for end in ("", f".{member}") if member else ("",):
                found = self.modules.get(name + end)
                if found is not None:
                    return dotted if self._by_name.get(dotted + end) is found else name
        if (
            self._libraries is None
            or dotted in self._by_name
            or dotted.partition(".")[0] in self._libraries | _STANDARD
        ):
            return dotted
        return self._find_nearest(around, dotted, member) or dotted

    def _find_nearest(self, around: tuple[str, ...], dotted: str, member: str) -> str:
        """Return the name of the module, or else of the folder with its member, that lies nearest to a folder; "" where two lie as near."""
        for end in ("", f".{member}") if member else ("",):
            tail = f".{dotted}{end}"
            found = [(_depth_of_common(around, name.split(".")), name) for name in self.modules if name.endswith(tail)]
            if found:
                found.sort(reverse=True)
                clear = len(found) == 1 or found[0][0] > found[1][0]
                return found[0][1][: len(found[0][1]) - len(end)] if clear else ""
        return ""


def _holder(module: ModuleInfo) -> tuple[str, ...] | None:
    """Return the parts of the folder in which Python finds a module by its name; None of files whose names are no modules'."""
    path = os.path.abspath(module.path)  # noqa: PTH100
    if not path.endswith(_PYTHON):
        return None
    parts = tuple(path[: -len(_PYTHON)].split(os.sep))  # noqa: PTH206
    named = (*module.name.split("."), _PACKAGE) if module.unit.is_package else tuple(module.name.split("."))
    return parts[: -len(named)] if parts[-len(named) :] == named else None


def _depth_of_common(folder: Sequence[str], other: Sequence[str]) -> int:
    """Return how many of the first parts of two folders are the same."""
    same = (one == other for one, other in zip(folder, other, strict=False))
    return next((depth for depth, equal in enumerate(same) if not equal), min(len(folder), len(other)))


def _common_folder(folders: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the parts of the folder around all of them."""
    if not folders:
        return ()
    first, last = min(folders), max(folders)
    return first[: _depth_of_common(first, last)]


__all__ = ["ImportFolders"]
