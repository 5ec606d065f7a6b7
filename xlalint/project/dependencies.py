"""Record what the result of a module's analysis depends on, and check whether that is unchanged.

An outcome depends on the interfaces of modules, on functions that were read, and on which classes derive from some. It is kept with the
digest of all these together: with the same parts in the same state, the analysis would give the same again.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from itertools import compress
from operator import attrgetter

import msgspec

from xlalint.analysis.collection import ModuleResult
from xlalint.program.dependencies import DependencySet
from xlalint.program.linker import ClassInfo, ModuleInfo, Program

_SIZE = 16
FUNCTION_BITS = 20
_VALUES_OF_DIGITS = bytes.maketrans(b"01", b"\0\1")


class Dependencies(msgspec.Struct, frozen=True, array_like=True):
    """The dependencies of a result: module indexes, functions and classes (module index and own index packed into one number), and the
    module whose top-level statements must not have moved, or -1; last the indexes of the modules of which it was asked on which occasions
    their functions are called. `state` is the digest of all these."""

    modules: list[int]
    functions: list[int]
    classes: list[int]
    unmoved: int
    occasions: list[int]
    state: bytes


class States:
    """The states of a program's parts.

    `modules` is the digest of which modules there are, `common` that of what every result depends on. `occasions` tells on which occasions
    a module's functions are called. Interfaces are taken once: a module that has another makes another program.
    """

    def __init__(self, program: Program, common: bytes, occasions: Callable[[ModuleInfo], bytes]) -> None:
        self._program = program
        self.common = common
        self._occasions = occasions
        self._interfaces: list[bytes] = list(map(attrgetter("unit.interface"), program.modules))
        self._lineages: dict[int, int] = {}
        self._subclasses: dict[ClassInfo, bytes] = {}
        names = blake2b(digest_size=_SIZE)
        for module in program.modules:
            names.update(f"{module.path}\0{module.name}\0{module.unit.is_package}\0".encode("utf-8", "surrogateescape"))
        self.modules = names.hexdigest()

    def dependencies(self, module: ModuleInfo, reads: DependencySet, given: ModuleResult) -> Dependencies:
        """Return what the result of analysing a module depends on now: what was read for it, and the module itself."""
        bits, functions, classes, asked = reads.closure()
        for function in functions:
            bits |= function.module.bit
        for source in module.starred:
            bits |= source.bit
        modules = self._with_lineages(bits | module.bit)
        functions.update(module.functions)
        unmoved = module.index if any(found.function[1] < 0 for found in given.found) else -1
        read = sorted(function.module.index << FUNCTION_BITS | function.index for function in functions)
        derived = sorted(klass.module.index << FUNCTION_BITS | klass.index for klass in classes)
        parts = Dependencies(modules, read, derived, unmoved, _indexes(asked), b"")
        return msgspec.structs.replace(parts, state=self._state(parts))

    def hold(self, dependencies: Dependencies) -> bool:
        """Return whether all that an outcome depends on is as it was."""
        try:
            state = self._state(dependencies)
        except IndexError:
            return False
        return state == dependencies.state

    def _state(self, dependencies: Dependencies) -> bytes:
        program = self._program.modules
        mask = (1 << FUNCTION_BITS) - 1
        parts = [self.common, *map(self._interfaces.__getitem__, dependencies.modules)]
        parts += [program[key >> FUNCTION_BITS].unit.functions[key & mask].digest for key in dependencies.functions]
        parts += [
            self._digest_subclasses(program[key >> FUNCTION_BITS].classes[key & mask]) for key in dependencies.classes
        ]
        parts += [self._occasions(program[index]) for index in dependencies.occasions]
        if dependencies.unmoved >= 0:
            parts.append(repr(program[dependencies.unmoved].unit.starts).encode())
        return blake2b(b"".join(parts), digest_size=_SIZE).digest()

    def _digest_subclasses(self, klass: ClassInfo) -> bytes:
        """Digest the direct subclasses of a class and the methods that they define."""
        found = self._subclasses.get(klass)
        if found is None:
            told = "".join(f"{sub.dotted}:{sorted(sub.ir.methods)};" for sub in klass.subclasses)
            found = self._subclasses[klass] = blake2b(told.encode(), digest_size=_SIZE).digest()
        return found

    def _with_lineages(self, bits: int) -> list[int]:
        """The modules of a bit set, and those on which the ancestors of their classes depend."""
        todo, done = bits, 0
        while todo:
            more = 0
            for index in _indexes(todo):
                more |= self._lineage(index)
            done |= todo
            todo = more & ~done
        return _indexes(done)

    def _lineage(self, index: int) -> int:
        found = self._lineages.get(index)
        if found is None:
            lineages = DependencySet()
            for klass in self._program.modules[index].classes:
                lineages.parts[klass.lineage] = None
            found = self._lineages[index] = lineages.closure().modules
        return found


def _indexes(bits: int) -> list[int]:
    """The places of the ones of a bit set."""
    digits = f"{bits:b}"[::-1].encode().translate(_VALUES_OF_DIGITS)
    return list(compress(range(len(digits)), digits))
