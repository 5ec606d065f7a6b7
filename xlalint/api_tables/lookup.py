"""Look up library APIs by dotted name in `rules/apis/*.toml`, merged.

Tables are read in the order of their file names, `*_generated.toml` first, so that what was written by hand overrides
what was derived; tables of the user come last. Parsing TOML costs seconds per megabyte, so the parsed tables are kept as
one file in the user's cache folder, named by the content of the tables; when it cannot be read or written the TOML is
parsed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Literal, TypeVar

import msgspec

from xlalint.api_tables.entries import ClassSpec, Entry, Spec
from xlalint.api_tables.loading import Compiled, load_compiled
from xlalint.api_tables.returns import Return, parse_return

__all__ = ["Apis", "ClassSpec", "Entry", "Return", "Spec", "api_table", "parse_return"]

_Value = TypeVar("_Value")
_entry: Final = msgspec.msgpack.Decoder(Entry)
_klass: Final = msgspec.msgpack.Decoder(ClassSpec)


class Apis:
    """All tables, merged. Lookups take canonical dotted names ("torch.nn.functional.softmax") or re-exports of them."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._functions: dict[str, Entry | None] = {}
        self._breaks: dict[str, Entry | None] = {}
        self._methods: dict[tuple[str, str], Entry | None] = {}
        self._classes: dict[str, ClassSpec | None] = {}
        self._names: dict[str, str] = {}
        self._ancestors: dict[str, list[str]] = {}
        self._attributes: dict[tuple[str, str], Return | None] = {}
        self._types: dict[str, Return | None] = {}
        self._values: dict[str, Return | None] = {}
        self._frameworks: dict[str, str | None] = {}
        self._patterns: dict[str, list[tuple[str, msgspec.Raw]]] | None = None

    def function(self, dotted: str) -> Entry | None:
        """The library function of that name: its own entry, or the nearest "package.*" that speaks for all others."""
        if dotted not in self._functions:
            raw = self._find(self._compiled.functions, dotted) or self._wildcard(self._compiled.functions, dotted)
            self._functions[dotted] = None if raw is None else _entry.decode(raw)
        return self._functions[dotted]

    def graph_break(self, dotted: str) -> Entry | None:
        """The cases in which a call of that name ends the graph of a tracer that goes on behind it; names are as of `function`, and methods
        bear that of their class: `torch.Tensor.data_ptr`."""
        if dotted not in self._breaks:
            raw = self._find(self._compiled.graph_breaks, dotted) or self._wildcard(self._compiled.graph_breaks, dotted)
            self._breaks[dotted] = None if raw is None else _entry.decode(raw)
        return self._breaks[dotted]

    def method(self, framework: str, name: str) -> Entry | None:
        """The method of that framework's tensors ("numpy" for arrays)."""
        key = (framework, name)
        if key not in self._methods:
            raw = self._compiled.methods.get(framework, {}).get(name)
            self._methods[key] = None if raw is None else _entry.decode(raw)
        return self._methods[key]

    def attribute(self, framework: str, name: str) -> Return | None:
        """Return what reading the attribute of a tensor gives, or None where no table says."""
        key = (framework, name)
        if key not in self._attributes:
            text = self._compiled.attributes.get(framework, {}).get(name)
            self._attributes[key] = None if text is None else parse_return(text)
        return self._attributes[key]

    def type(self, dotted: str) -> Return | None:
        """The tensor that a type stands for in annotations, `isinstance` and constructors."""
        if dotted not in self._types:
            text = self._find(self._compiled.types, dotted)
            self._types[dotted] = None if text is None else parse_return(text)
        return self._types[dotted]

    def value(self, dotted: str) -> Return | None:
        """Return what a library's module-level name ("torch.float32", "math.pi") holds, or None where no table says."""
        if dotted not in self._values:
            text = self._find(self._compiled.values, dotted)
            self._values[dotted] = None if text is None else parse_return(text)
        return self._values[dotted]

    def klass(self, dotted: str) -> ClassSpec | None:
        """The library class of that name."""
        if dotted not in self._classes:
            raw = self._find(self._compiled.classes, dotted) or self._class_wildcard(dotted)
            self._classes[dotted] = None if raw is None else _klass.decode(raw)
        return self._classes[dotted]

    def hook(self, bases: Iterable[str], name: str) -> str:
        """Return how often a framework calls the method of a name on what derives from its classes; "" where it is no hook of theirs."""
        for base in bases:
            for ancestor in self.ancestors(base):
                spec = self.klass(ancestor)
                if spec is not None and name in spec.hooks:
                    return spec.hooks[name]
        return ""

    def ancestors(self, dotted: str) -> list[str]:
        """The class and its library bases, nearest first, each once."""
        known = self._ancestors.get(dotted)
        if known is not None:
            return known
        order = self._ancestors[dotted] = []
        queue = [self.canonical(dotted)]
        while queue:
            name = queue.pop(0)
            spec = self.klass(name)
            if name not in order and spec is not None:
                order.append(name)
                queue.extend(self.canonical(base) for base in spec.bases)
        return order

    def class_method(self, dotted: str, name: str) -> Entry | None:
        """The method of a library class or of its library bases; "__init__" and "__call__" included."""
        for ancestor in self.ancestors(dotted):
            spec = self.klass(ancestor)
            found = spec and {"__init__": spec.init, "__call__": spec.call}.get(name, spec.methods.get(name))
            if found:
                return found
        return None

    def class_attribute(self, dotted: str, name: str) -> Return | None:
        """The attribute of a library class or of its library bases."""
        for ancestor in self.ancestors(dotted):
            spec = self.klass(ancestor)
            if spec is not None and name in spec.attributes:
                return spec.attributes[name]
        return None

    def class_framework(self, dotted: str) -> str:
        """The framework whose tensors the objects of a library class hold."""
        spec = self.klass(dotted)
        return self.framework(dotted) or (spec.framework if spec is not None else "")

    def framework(self, dotted: str) -> str | None:
        """The framework whose package (torch, torchvision, keras, flax, …) the name lives in; None for others."""
        if dotted not in self._frameworks:
            self._frameworks[dotted] = self._package(dotted)
        return self._frameworks[dotted]

    def _package(self, dotted: str) -> str | None:
        prefix = self.canonical(dotted)
        while prefix:
            if prefix in self._compiled.packages:
                return self._compiled.packages[prefix]
            prefix = prefix.rpartition(".")[0]
        return None

    def describes(self, dotted: str) -> bool:
        """Return whether a table says what the function, class, type or value of that name is."""
        return (
            self.function(dotted) is not None
            or self.klass(dotted) is not None
            or self._find(self._compiled.types, dotted) is not None
            or self._find(self._compiled.values, dotted) is not None
        )

    def packages_of(self, frameworks: Container[str]) -> frozenset[str]:
        """List the packages of some frameworks."""
        return frozenset(package for package, name in self._compiled.packages.items() if name in frameworks)

    def described_packages(self) -> frozenset[str]:
        """The top-level packages that tables speak for as a whole: frameworks of which they list members, and what a "package.*" covers."""
        names = [*self._compiled.functions, *self._compiled.classes]
        listed = {name.partition(".")[0] for name in names}
        whole = {name[:-2] for name in names if name.endswith(".*")}
        return frozenset(listed.intersection(self._compiled.packages)) | {name for name in whole if "." not in name}

    def canonical(self, dotted: str) -> str:
        """The name under which tables list a re-exported name: its longest alias prefix is replaced, until none is."""
        if dotted not in self._names:
            self._names[dotted] = self._resolve(dotted)
        return self._names[dotted]

    def _resolve(self, dotted: str) -> str:
        for _ in range(8):
            prefix = dotted
            while prefix and prefix not in self._compiled.aliases:
                prefix = prefix.rpartition(".")[0]
            if not prefix:
                return dotted
            dotted = self._compiled.aliases[prefix] + dotted[len(prefix) :]
        return dotted

    def _find(self, table: dict[str, _Value], dotted: str) -> _Value | None:
        found = table.get(dotted)
        return found if found is not None else table.get(self.canonical(dotted))

    def _class_wildcard(self, dotted: str) -> msgspec.Raw | None:
        """A "package.*" of classes speaks for the capitalised names of that very package; of others with a star, "package.*Model", the
        first that fits speaks for those of all modules of the package."""
        package, _, name = self.canonical(dotted).rpartition(".")
        if not name[:1].isupper():
            return None
        whole = self._compiled.classes.get(f"{package}.*")
        if whole is not None:
            return whole
        if self._patterns is None:
            self._patterns = _patterns_of(self._compiled.classes)
        patterns = self._patterns.get(package.partition(".")[0], ())
        return next((raw for pattern, raw in patterns if fnmatchcase(name, pattern)), None)

    def _wildcard(self, table: dict[str, _Value], dotted: str) -> _Value | None:
        prefix = self.canonical(dotted).rpartition(".")[0]
        while prefix:
            if f"{prefix}.*" in table:
                return table[f"{prefix}.*"]
            prefix = prefix.rpartition(".")[0]
        return None

    def names(self, table: Literal["functions", "classes", "types", "values"] = "functions") -> Iterable[str]:
        """The canonical names of one table, "package.*" entries included."""
        tables: dict[str, dict[str, msgspec.Raw] | dict[str, str]] = {
            "functions": self._compiled.functions,
            "classes": self._compiled.classes,
            "types": self._compiled.types,
            "values": self._compiled.values,
        }
        return tables[table].keys()


def _patterns_of(classes: dict[str, msgspec.Raw]) -> dict[str, list[tuple[str, msgspec.Raw]]]:
    """The classes whose names have a star in them, by package, in order."""
    found: dict[str, list[tuple[str, msgspec.Raw]]] = {}
    for dotted, raw in classes.items():
        package, _, name = dotted.rpartition(".")
        if "*" in name and name != "*":
            found.setdefault(package, []).append((name, raw))
    return found


def api_table(extra: Sequence[Path] = (), cache: Path | None = None) -> Apis:
    """The tables that ship with xlalint and the user's own (`extend-rules`: files, or folders that hold *.toml)."""
    return Apis(load_compiled(extra, cache))
