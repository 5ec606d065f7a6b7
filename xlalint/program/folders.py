"""Modules by the folders that hold them.

A folder without an `__init__.py` is a package too (PEP 420), and what an import names depends on where Python looks: in the folder of the
script that was started, which lies around the importing file or beside it. Several folders may each have a module of one name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from xlalint.program.linker import ModuleInfo

_PYTHON: Final = ".py"  # how files end of which the names are modules'
_PACKAGE: Final = "__init__"


class ImportFolders:
    """Tells which module of a program an import finds from where it stands.

    `modules` are those on which that depends, by their dotted names from the outermost folder on: "project.lib.net" for
    `project/lib/net.py`. `by_name` has the others, and the first of several of one name.
    """

    def __init__(self, modules: Iterable[ModuleInfo], by_name: Mapping[str, ModuleInfo]) -> None:
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
        return dotted


def _holder(module: ModuleInfo) -> tuple[str, ...] | None:
    """Return the parts of the folder in which Python finds a module by its name; None of files whose names are no modules'."""
    path = os.path.abspath(module.path)  # noqa: PTH100
    if not path.endswith(_PYTHON):
        return None
    parts = tuple(path[: -len(_PYTHON)].split(os.sep))  # noqa: PTH206
    named = (*module.name.split("."), _PACKAGE) if module.unit.is_package else tuple(module.name.split("."))
    return parts[: -len(named)] if parts[-len(named) :] == named else None


def _common_folder(folders: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the parts of the folder around all of them."""
    if not folders:
        return ()
    first, last = min(folders), max(folders)
    same = (one == other for one, other in zip(first, last, strict=False))
    return first[: next((depth for depth, equal in enumerate(same) if not equal), min(len(first), len(last)))]


__all__ = ["ImportFolders"]
