"""Looks up library calls and names in the API tables, with the file and line of the entry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xlalint.abstract.values import UNKNOWN, Instance, LibraryInstance, LibrarySymbol, Method, Tensor, Value
from xlalint.api_tables.lookup import Apis, Entry
from xlalint.explain.model import Origin
from xlalint.explain.tables import TablePlace, Tables
from xlalint.explain.wording import Wording, format_return
from xlalint.interpreter.recording import Applied


class LibraryFacts:
    """Explains what comes from libraries."""

    def __init__(self, apis: Apis, tables: Tables, wording: Wording) -> None:
        self.apis = apis
        self.tables = tables
        self.wording = wording

    def call(self, func: Value, applied: Sequence[Applied], result: Value | None, depth: int) -> Origin:
        """Describe the result of calling a library's function, class or method, with its entry."""
        name, place = self._entry(func)
        entry = self._looked_up(func)
        applied = [case for case in applied if entry is None or case.entry is entry]
        said = [format_return(case.spec.returns) for case in applied if case.spec is not None]
        if place is not None and said:
            return _at(place, f"`{name}` returns `{'` or `'.join(dict.fromkeys(said))}`", depth)
        if place is not None and applied:
            return _at(place, f"no case of `{name}` fits these arguments, so the result is not known", depth)
        if place is not None:
            return _at(place, f"`{name}`", depth)
        if result is None or result is UNKNOWN:
            return Origin("unknown", f"no API table says what `{name}` returns", depth)
        if name.startswith("builtins."):
            return Origin("builtin", f"Python's `{name[9:]}`", depth)
        return Origin("api", f"the analysis knows `{name}` by itself", depth)

    def _looked_up(self, func: Value) -> Entry | None:
        """The entry that the analysis applies to a call of this value, where that is plain."""
        if isinstance(func, LibrarySymbol):
            return self.apis.function(func.name)
        if isinstance(func, LibraryInstance):
            return self.apis.class_method(func.name, "__call__")
        if isinstance(func, Method) and isinstance(func.receiver, Tensor):
            return self.apis.method(func.receiver.framework, func.name)
        return None

    def _entry(self, func: Value) -> tuple[str, TablePlace | None]:
        if isinstance(func, Method):
            return self._method(func.receiver, func.name)
        if isinstance(func, LibraryInstance):
            return f"{func.name}()", self._class(func.name)
        name = func.name if isinstance(func, LibrarySymbol) else self.wording.text(func)
        canonical = self.apis.canonical(name)
        for candidate in (name, canonical, *_wildcards(canonical)):
            place = self.tables.find("functions", candidate)
            if place is not None:
                return name, place
        return name, self._class(name) or self.tables.find("types", canonical)

    def _method(self, receiver: Value, name: str) -> tuple[str, TablePlace | None]:
        if isinstance(receiver, Tensor):
            owner = "ndarray" if receiver.framework == "numpy" else "Tensor"
            return f"{owner}.{name}", self.tables.find("methods", name, receiver.framework)
        bases: Iterable[str] = ()
        if isinstance(receiver, LibraryInstance):
            bases = self.apis.ancestors(receiver.name)
        elif isinstance(receiver, Instance):
            bases = [one for base in receiver.klass.library_bases() for one in self.apis.ancestors(base)]
        for base in bases:
            spec = self.apis.klass(base)
            if spec is not None and name in spec.methods:
                return f"{base}.{name}", self._class(base)
        return f"{self.wording.text(receiver)}.{name}", None

    def _class(self, name: str) -> TablePlace | None:
        canonical = self.apis.canonical(name)
        package, _, last = canonical.rpartition(".")
        found = self.tables.find("classes", name) or self.tables.find("classes", canonical)
        return found or (self.tables.find("classes", f"{package}.*") if last[:1].isupper() else None)

    def instance_call(self, bases: Sequence[str], depth: int) -> Origin:
        """Describe the result of calling an instance whose class inherits that from a library's."""
        for base in bases:
            place = self._class(base)
            if place is not None:
                return _at(place, f"what calling a `{base}` returns", depth)
        return Origin("unknown", "its class defines neither `forward` nor `__call__`", depth)

    def attribute(self, framework: str, name: str, depth: int) -> Origin:
        """An attribute of a tensor."""
        place = self.tables.find("attributes", name, framework)
        what = self.apis.attribute(framework, name)
        if place is not None and what is not None:
            return _at(place, f"attribute `{name}` of a tensor is `{format_return(what)}`", depth)
        if self.apis.method(framework, name) is not None:
            return Origin("api", f"the method `{name}` of tensors", depth)
        return Origin("unknown", f"no API table knows the attribute `{name}` of a tensor", depth)

    def member(self, owner: str, name: str, depth: int) -> Origin:
        """An attribute of an instance of a library's class."""
        what = self.apis.class_attribute(owner, name)
        place = self._class(owner)
        if what is not None and place is not None:
            return _at(place, f"attribute `{name}` of `{owner}` is `{format_return(what)}`", depth)
        if self.apis.class_method(owner, name) is not None and place is not None:
            return _at(place, f"the method `{name}` of `{owner}`", depth)
        return Origin("unknown", f"no API table knows `{name}` of `{owner}`", depth)

    def name(self, dotted: str, depth: int) -> Origin:
        """A library's module-level name."""
        for section in ("values", "functions", "classes", "types"):
            place = self.tables.find(section, dotted) or self.tables.find(section, self.apis.canonical(dotted))
            if place is not None:
                return _at(place, f"`{dotted}`", depth)
        return Origin("import", f"the library's `{dotted}`", depth)


def _wildcards(dotted: str) -> list[str]:
    parts = dotted.split(".")
    return [".".join([*parts[:count], "*"]) for count in range(len(parts) - 1, 0, -1)]


def _at(place: TablePlace, said: str, depth: int) -> Origin:
    return Origin("api", f"{said} ({place.name}:{place.row})", depth, place.path, place.row)
