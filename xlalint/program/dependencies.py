"""Track what of the program a computation read, and so what its result depends on.

Everything that is computed once and used again (a context, a class's table, a module's names) notes what it read, and takes
over what it used of others as parts. What a result depends on is the closure over the parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from xlalint.program.failures import describe_failure, in_function

if TYPE_CHECKING:
    from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo


_traversals = 0


class Closure(NamedTuple):
    """All that a computation and its parts read; `modules` and `occasions` are bit sets of modules by index."""

    modules: int
    functions: set[FunctionInfo]
    classes: set[ClassInfo]
    occasions: int


class DependencySet:
    """The parts of the program that one computation read.

    `modules` is a bit set by index of the modules of which it read more than function bodies. `functions` are those whose bodies it read,
    `classes` those whose direct subclasses it asked for. `occasions` is a bit set of the modules of which it asked when their functions are
    called. `parts` are computations whose results it used. `failures` are internal errors that cut it short, a line each by the module's
    path and the function's name; None where there were none. `traversal` is the number of the last walk over parts that came by.
    """

    __slots__ = ("classes", "failures", "functions", "modules", "occasions", "parts", "traversal")

    def __init__(self) -> None:
        self.modules = 0
        self.occasions = 0
        self.traversal = 0
        self.functions: list[FunctionInfo] = []
        self.classes: list[ClassInfo] = []
        self.parts: dict[DependencySet, None] = {}
        self.failures: dict[tuple[str, str], str] | None = None

    def is_plain(self) -> bool:
        """Return whether the computation read nothing but modules: then who uses it reads these, and need not know of it."""
        return not (self.functions or self.parts or self.classes or self.occasions) and self.failures is None

    def fail(self, path: str, name: str, error: Exception) -> None:
        """Note an internal error in a function of the module at `path`."""
        if self.failures is None:
            self.failures = {}
        self.failures.setdefault((path, name), describe_failure(in_function(path, name), error))

    def all_failures(self) -> dict[tuple[str, str], str]:
        """The internal errors that cut the computation or one of its parts short, by path and function."""
        found: dict[tuple[str, str], str] = {}
        for reads in self.all_parts():
            if reads.failures is not None:
                for place, text in reads.failures.items():
                    found[place] = min(text, found.get(place, text))
        return dict(sorted(found.items()))

    def all_parts(self) -> list[DependencySet]:
        """The computation and those whose results it used, directly or through others, in an order that follows from them alone."""
        seen: dict[DependencySet, None] = {self: None}
        todo: list[DependencySet] = [self]
        while todo:
            new = [part for part in todo.pop().parts if part not in seen]
            for part in new:
                seen[part] = None
            todo += new
        return list(seen)

    def closure(self) -> Closure:
        """All that the computation and its parts read."""
        global _traversals
        _traversals += 1
        traversal = _traversals
        modules = occasions = 0
        functions: set[FunctionInfo] = set()
        classes: set[ClassInfo] = set()
        self.traversal = traversal
        todo: list[DependencySet] = [self]
        while todo:
            reads = todo.pop()
            modules |= reads.modules
            occasions |= reads.occasions
            if reads.functions:
                functions.update(reads.functions)
            if reads.classes:
                classes.update(reads.classes)
            for part in reads.parts:
                if part.traversal != traversal:
                    part.traversal = traversal
                    todo.append(part)
        return Closure(modules, functions, classes, occasions)


def stale(computations: Iterable[DependencySet], functions: set[FunctionInfo]) -> set[DependencySet]:
    """Return those of some computations, and of their parts, that read the body of one of these functions, themselves or through a part."""
    users: dict[DependencySet, list[DependencySet]] = {}
    seen: set[DependencySet] = set(computations)
    todo: list[DependencySet] = list(seen)
    found: list[DependencySet] = []
    while todo:
        reads = todo.pop()
        if not functions.isdisjoint(reads.functions):
            found.append(reads)
        for part in reads.parts:
            using = users.get(part)
            if using is None:
                users[part] = [reads]
            else:
                using.append(reads)
            if part not in seen:
                seen.add(part)
                todo.append(part)
    result: set[DependencySet] = set(found)
    while found:
        for using_it in users.get(found.pop(), ()):
            if using_it not in result:
                result.add(using_it)
                found.append(using_it)
    return result


class DependencyTracker:
    """Who reads now. One for a program. `overridden` are the classes of which it is remembered what overrides their methods."""

    def __init__(self) -> None:
        self.current = DependencySet()
        self.overridden: list[ClassInfo] = []

    def use(self, reads: DependencySet) -> None:
        """Note that the current computation uses another's result."""
        self.current.parts[reads] = None

    def read(self, function: FunctionInfo) -> None:
        """Note that a function's body is read: mostly several times in a row."""
        functions = self.current.functions
        if not functions or functions[-1] is not function:
            functions.append(function)

    def read_whole(self, module: ModuleInfo) -> None:
        """Note that all of a module is read."""
        self.current.modules |= module.bit
        self.current.functions.extend(module.functions)

    def reading(self, reads: DependencySet) -> Reading:
        """Note what is read in the `with` block in `reads`, which becomes a part of the current computation."""
        return Reading(self, reads)


class Reading:
    """The `with` block of a computation that is a part of another."""

    def __init__(self, reader: DependencyTracker, reads: DependencySet) -> None:
        self._reader = reader
        self._reads = reads
        self._outer = reader.current

    def __enter__(self) -> None:
        self._reader.current = self._reads

    def __exit__(self, *_: object) -> None:
        self._reader.current = self._outer
        self._outer.parts[self._reads] = None
