"""What a computation read of the program: what its result depends on.

Everything that is computed once and used again (a context, a class's table, a module's names) notes what it read, and takes
over what it used of others as parts. What a result depends on is the closure over the parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xlalint.semantics.program import ClassInfo, FunctionInfo, ModuleInfo


class Reads:
    """What one computation read: `modules`, a bit set by index, of which it read more than function bodies; the `functions` whose
    bodies it read; the `classes` whose direct subclasses it asked for. `parts` are computations whose results it used."""

    __slots__ = ("classes", "functions", "modules", "parts")

    def __init__(self) -> None:
        self.modules = 0
        self.functions: list[FunctionInfo] = []
        self.classes: list[ClassInfo] = []
        self.parts: dict[Reads, None] = {}

    def closure(self) -> tuple[int, set[FunctionInfo], set[ClassInfo]]:
        """All that the computation and its parts read."""
        modules = 0
        functions: set[FunctionInfo] = set()
        classes: set[ClassInfo] = set()
        seen: set[Reads] = {self}
        todo: list[Reads] = [self]
        while todo:
            reads = todo.pop()
            modules |= reads.modules
            functions.update(reads.functions)
            if reads.classes:
                classes.update(reads.classes)
            for part in reads.parts:
                if part not in seen:
                    seen.add(part)
                    todo.append(part)
        return modules, functions, classes


def stale(computations: Iterable[Reads], functions: set[FunctionInfo]) -> set[Reads]:
    """Which of some computations, and of their parts, read the body of one of these functions, themselves or through a part."""
    users: dict[Reads, list[Reads]] = {}
    seen: set[Reads] = set(computations)
    todo: list[Reads] = list(seen)
    found: list[Reads] = []
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
    result: set[Reads] = set(found)
    while found:
        for using_it in users.get(found.pop(), ()):
            if using_it not in result:
                result.add(using_it)
                found.append(using_it)
    return result


class Reader:
    """Who reads now. One for a program. `overridden` are the classes of which it is remembered what overrides their methods."""

    def __init__(self) -> None:
        self.current = Reads()
        self.overridden: list[ClassInfo] = []

    def use(self, reads: Reads) -> None:
        """Note that the current computation uses another's result."""
        self.current.parts[reads] = None

    def read_whole(self, module: ModuleInfo) -> None:
        """Note that all of a module is read."""
        self.current.modules |= module.bit
        self.current.functions.extend(module.functions)

    def reading(self, reads: Reads) -> Reading:
        """Note what is read in the `with` block in `reads`, which becomes a part of the current computation."""
        return Reading(self, reads)


class Reading:
    """The `with` block of a computation that is a part of another."""

    def __init__(self, reader: Reader, reads: Reads) -> None:
        self._reader = reader
        self._reads = reads
        self._outer = reader.current

    def __enter__(self) -> None:
        self._reader.current = self._reads

    def __exit__(self, *_: object) -> None:
        self._reader.current = self._outer
        self._outer.parts[self._reads] = None
