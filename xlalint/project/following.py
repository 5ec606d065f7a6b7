"""Find the modules of installed packages that belong to a program: those that its imported names lead to.

A name that linted code imports is looked up in the package's source: through re-exports, star imports and submodules, to the module
that defines it. Of that module the imports that its code uses are looked up in turn, a few modules deep. So of a large package only
what is used is read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from xlalint.api_tables.lookup import Apis
from xlalint.frameworks.registry import names
from xlalint.lowering.ir import Attr, Name, Unit, decode_body
from xlalint.program.linker import absolute_name, package_of
from xlalint.source.environment import Installed, ModuleFile

# A search ends where it has gone through so many modules that define names, or looked at so many files, or followed so much code: what
# lies farther away is not known, as if it were not installed. Half a second for two megabytes on two cores, once.
MAX_DEPTH = 3
MAX_FILES = 400
MAX_BYTES = 2_000_000
MAX_STARS = 8  # what collects the names of hundreds of modules leads everywhere
_BATCH = 24
_SHORTEST_STR8 = 32

Load = Callable[[Sequence[ModuleFile], bytes], list["Unit | None"]]
_encoder = msgspec.msgpack.Encoder()


class Need(NamedTuple):
    """A name that is needed of a module; with "" the module itself.

    Of a module the attributes are needed that the code of `user` reads: those of its own name `local`, behind what it read already.
    """

    module: str
    name: str
    user: str
    local: str
    read: tuple[str, ...] = ()


class Following:
    """The search for what a program needs of installed packages.

    `load` gives the units of modules, None for those that are not worth following or cannot be; its second argument is a pattern: the
    import of a framework.
    """

    def __init__(self, linted: Sequence[Unit], installed: Installed, apis: Apis, load: Load) -> None:
        self.installed = installed
        self.apis = apis
        self.load = load
        self._imports = rb"(?m)^[ \t]*(?:import|from)[ \t]+(?:%s)\b" % b"|".join(
            sorted(name.encode() for name in apis.packages_of(names()))
        )
        # Of a package that is linted, whole or in part, nothing is followed: what is installed may be another version of it.
        own = {unit.module.partition(".")[0] for unit in linted}
        self._left_out = own | apis.described_packages() | sys.stdlib_module_names
        self._linted = {unit.path: unit for unit in linted}
        self._found: dict[str, Unit | None] = {}
        self._files = 0
        self._bytes = 0
        self._paths: dict[tuple[str, str], set[tuple[str, ...]]] = {}
        self._seen: set[Need] = set()
        self._defining: dict[str, bool] = {}  # by module, whether its own imports were looked at

    def units(self) -> list[Unit]:
        """The units of all modules that are needed, by dotted name: the same for the same files, in whatever order they come."""
        needs = [need for path, unit in self._linted.items() for need in self._needs_of(unit, path)]
        for _ in range(MAX_DEPTH):
            self._resolve(needs)
            needs = [need for module in sorted(self._defining) for need in self._inner_needs(module)]
        return [unit for _, unit in sorted(self._found.items()) if unit is not None]

    # ------------------------------------------------------------------------------------------------ needs

    def _inner_needs(self, module: str) -> Iterator[Need]:
        unit = self._found[module]
        if unit is not None and not self._defining[module]:
            self._defining[module] = True
            yield from self._needs_of(unit, module)

    def _needs_of(self, unit: Unit, key: str) -> Iterator[Need]:
        """Yield what a unit's imports need, as far as its code uses them."""
        package = package_of(unit)
        named = [(binding, absolute_name(package, binding)) for binding in unit.imports]
        outside = [(binding, source) for binding, source in named if self._may_follow(source)]
        code = _code(unit) if outside else b""
        for binding, source in outside:
            if binding.local == "*" or _encode(binding.local) in code:
                yield Need(source, "" if binding.local == "*" else binding.name, key, binding.local)

    def _may_follow(self, module: str) -> bool:
        package = module.partition(".")[0]
        return package not in self._left_out and self.installed.has(package)

    # ---------------------------------------------------------------------------------------------- resolving

    def _resolve(self, needs: Iterable[Need]) -> None:
        """Look names up until each is found or not; modules on the way are loaded in batches."""
        todo = list(needs)
        while todo:
            waiting: list[Need] = []
            while todo:
                need = todo.pop()
                if need in self._seen or not self._may_follow(need.module):
                    continue
                if need.module in self._found:
                    self._seen.add(need)
                    todo.extend(self._steps(need))
                else:
                    waiting.append(need)
            self._load({need.module for need in waiting})
            todo = waiting

    def _load(self, modules: set[str]) -> None:
        """Load modules, in the order of their names, as long as there is room."""
        self._found.update(dict.fromkeys(modules))
        files = [file for module in sorted(modules) if (file := self.installed.find(module)) is not None]
        for start in range(0, len(files), _BATCH):
            if self._files >= MAX_FILES or self._bytes >= MAX_BYTES:
                return
            batch = files[start : start + _BATCH]
            self._files += len(batch)
            for file, unit in zip(batch, self.load(batch, self._imports), strict=True):
                self._found[file.module] = unit
                self._bytes += self.installed.size(file) if unit is not None else 0

    def _steps(self, need: Need) -> Iterable[Need]:
        """Where a name leads next: nowhere from the module that defines it, and from what a table describes."""
        unit = self._found[need.module]
        if not need.name:
            return self._attributes_read(need)
        if self.apis.describes(f"{need.module}.{need.name}"):
            return ()
        module = need._replace(module=f"{need.module}.{need.name}", name="")
        if unit is None:
            return (module,)
        if need.name in unit.defs or need.name in unit.assigned:
            self._defining.setdefault(need.module, False)
            return ()
        package = package_of(unit)
        named = [binding for binding in unit.imports if binding.local in (need.name, "*")]
        led = [need._replace(module=absolute_name(package, b), name=b.name) for b in named if b.local == need.name]
        if led:  # `from . import name`, in the package itself, leads to a module
            return [module] if led[-1] == need else led[-1:]
        stars = named if len(named) <= MAX_STARS else []
        return [*(need._replace(module=absolute_name(package, star)) for star in stars), module]

    def _attributes_read(self, need: Need) -> Iterator[Need]:
        """Yield what a module's user reads of it."""
        done = len(need.read)
        paths = self._paths_of(need.user, need.local)
        for name in sorted({path[done] for path in paths if len(path) > done and path[:done] == need.read}):
            yield need._replace(name=name, read=(*need.read, name))

    def _paths_of(self, key: str, local: str) -> set[tuple[str, ...]]:
        """The attribute paths that a unit's code reads from a name."""
        found = self._paths.get((key, local))
        if found is None:
            found = self._paths[key, local] = set()
            unit = self._linted.get(key) or self._found[key]
            if unit is not None:
                spelled = _encode(local)
                bodies = [body for body in _bodies(unit) if spelled in body]
                _collect_paths([(unit.functions, unit.classes), *map(decode_body, bodies)], local, found)
        return found


def _encode(name: str) -> bytes:
    """A name as it stands in encoded code."""
    raw = name.encode("utf-8", "surrogateescape")
    return (bytes((0xA0 | len(raw),)) if len(raw) < _SHORTEST_STR8 else bytes((0xD9, len(raw) & 0xFF))) + raw


def _bodies(unit: Unit) -> Iterator[bytes]:
    yield unit.body
    yield from (function.body for function in unit.functions)
    yield from (klass.body for klass in unit.classes)


def _collect_paths(nodes: Iterable[object], local: str, found: set[tuple[str, ...]]) -> None:
    """Collect the attribute paths that code reads from a name."""
    todo = list(nodes)
    while todo:
        node = todo.pop()
        names: list[str] = []
        while isinstance(node, Attr):
            names.append(node.name)
            node = node.value
        if names and isinstance(node, Name) and node.id == local:
            found.add(tuple(reversed(names)))
        elif isinstance(node, tuple):
            todo.extend(node)
        elif isinstance(node, Struct):
            todo.extend(getattr(node, field) for field in node.__struct_fields__)


def _code(unit: Unit) -> bytes:
    """The encoded code of a unit, in which each name stands as a string. That a package lists a name in `__all__` is no use of it."""
    headers_and_bodies = _encoder.encode((unit.functions, unit.classes))
    return headers_and_bodies if "__all__" in unit.assigned else headers_and_bodies + unit.body
