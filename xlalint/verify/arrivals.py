"""Notices when a module has been imported, so that its meter can start before its first operation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def imported(name: str) -> bool:
    """Return whether a module's import has finished."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)


class Arrivals(MetaPathFinder):
    """While in `sys.meta_path`, calls `arrived(name)` each time that one of the `names` was imported.

    It finds nothing by itself: it asks the other finders, and has the loader that these name tell when it is done. The loader stays the
    same object, since modules find their data files by it.
    """

    def __init__(self, names: Collection[str], arrived: Callable[[str], None]) -> None:
        self.names = frozenset(names)
        self.arrived = arrived
        self._asking = False

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in self.names or self._asking:
            return None
        self._asking = True  # another of these may ask us in turn
        try:
            found = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
            spec = next((spec for spec in found if spec is not None), None)
        finally:
            self._asking = False
        if spec is not None and spec.loader is not None:
            self._follow(name, spec.loader)
        return spec

    def _follow(self, name: str, loader: object) -> None:
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def then_tell(module: ModuleType) -> None:
            vars(loader).pop("exec_module", None)
            execute(module)
            if self in sys.meta_path:
                self.arrived(name)

        try:
            loader.exec_module = then_tell  # type: ignore[attr-defined]
        except AttributeError:  # a loader that is a class, or has slots: noticed once the watch ends
            return
