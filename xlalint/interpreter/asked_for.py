"""Functions of a program that run only where something is asked for: all that names them stands where a condition by default does not lead.

It goes on from what `Uncalled` finds of functions that nothing names, and `Switches` of conditions: `if args.sample: draw(model)` names
`draw` where nobody comes without `--sample`, and what only `draw` names is named there as well. A branch that leads to the steps is what
its program is there for, whatever asks for it. Of two branches each is a way to do a thing (`if args.gru: model = GRU() else: …`), and what
stands behind a test that ends a run (`if args.data is None: return`) says that something has to be given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from xlalint.interpreter.uncalled import Holder, names_in
from xlalint.lowering import ir
from xlalint.program.dependencies import DependencySet
from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from xlalint.interpreter.drivers import Drivers
    from xlalint.interpreter.occasions import Occasions
    from xlalint.interpreter.switches import Switches
    from xlalint.program.linker import Program

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


class AskedFor:
    """Tells which functions of a program run only where something is asked for, and what, worked out once for it."""

    def __init__(self, program: Program, drivers: Drivers, occasions: Occasions, switches: Switches) -> None:
        self._program = program
        self._drivers = drivers
        self._occasions = occasions
        self._switches = switches
        self._named: dict[Holder, Mapping[str, str]] = {}
        self._found: dict[FunctionInfo, str] | None = None

    def after(
        self,
        module: ModuleInfo,
        functions: Collection[FunctionInfo],
        drivers: Drivers,
        occasions: Occasions,
        switches: Switches,
    ) -> AskedFor:
        """The same of the program with changed bodies of some functions: this, where all name what they named, wherever they did."""
        other = AskedFor(self._program, drivers, occasions, switches)
        if self._found is None or drivers is not self._drivers or switches is not self._switches:
            return other
        changed: set[Holder] = {module, *functions}
        other._named = {holder: named for holder, named in self._named.items() if holder not in changed}
        same = occasions is self._occasions and all(
            self._named[one] == other._names_off(one) for one in changed if one in self._named
        )
        return self if same else other

    def of(self, info: FunctionInfo) -> str:
        """Say in which runs alone a function is called, "" of those of which that is not known."""
        return self._find().get(info, "")

    def digest(self) -> bytes:
        """Digest all that was found: what was made of it holds as long as this is the same."""
        text = "\n".join(sorted([f"{info.key}\0{only}" for info, only in self._find().items()]))
        return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).digest()

    def _find(self) -> dict[FunctionInfo, str]:
        if self._found is None:
            with self._program.reader.reading(DependencySet()):  # `digest` speaks for it
                names_known = self._switches.knows_any()
                self._found = self._occasions.find_asked(self._names_off) if names_known else {}
        return self._found

    def _names_off(self, holder: Holder) -> Mapping[str, str]:
        """Return the names that a body names only where no run comes in which nothing is asked for, with what has to be."""
        known = self._named.get(holder)
        if known is None:
            known = self._named[holder] = _NONE if isinstance(holder, ClassInfo) else self._split(holder)
        return known

    def _split(self, holder: FunctionInfo | ModuleInfo) -> Mapping[str, str]:
        function = holder if isinstance(holder, FunctionInfo) else None
        module = holder.module if isinstance(holder, FunctionInfo) else holder
        parts = _Parts(lambda node: self._branch_off(node, function, module))
        parts.take(holder.body)
        if not parts.off:
            return _NONE
        on = names_in(parts.on)
        imports = [binding for one in parts.on if type(one) is ir.Import for binding in one.bindings]
        on.update(one.name for one in (*module.unit.imports, *imports) if one.local != one.name)
        return {name: only for body, only in reversed(parts.off) for name in names_in(body) - on}

    def _branch_off(self, node: ir.If, function: FunctionInfo | None, module: ModuleInfo) -> tuple[bool, str] | None:
        """Return how a condition comes out, and in which runs otherwise; None where both branches are what a program is there for."""
        found = self._switches.outcome(node.test, function, module)
        if found is None or self._drivers.is_there_for_steps(function, module, node, not found.holds):
            return None
        return found.holds, found.only


class _Parts:
    """The parts of a body: those that run in each run, and those that do not, with when they do."""

    def __init__(self, decide: Callable[[ir.If], tuple[bool, str] | None]) -> None:
        self._decide = decide
        self.on: list[object] = []
        self.off: list[tuple[tuple[ir.Statement, ...], str]] = []

    def take(self, body: tuple[ir.Statement, ...]) -> None:
        """Take a body apart that runs in each run."""
        for one in body:
            alone = type(one) is ir.If and not one.orelse  # else there are two ways to do a thing
            found = self._decide(one) if type(one) is ir.If and alone else None
            if found is not None and type(one) is ir.If and not found[0]:
                self.on.append(one.test)
                self.off.append((one.body, found[1]))
            else:
                self._take_whole(one)

    def _take_whole(self, one: ir.Statement) -> None:
        if type(one) is ir.If:
            self.on.append(one.test)
            self._take_each((one.body, one.orelse))
        elif type(one) is ir.For:
            self.on += (one.target, one.iterable)
            self._take_each((one.body, one.orelse))
        elif type(one) is ir.While:
            self.on.append(one.test)
            self._take_each((one.body, one.orelse))
        elif type(one) is ir.With:
            self.on.append(tuple(part for item in one.items for part in item if part is not None))
            self.take(one.body)
        elif type(one) is ir.Try:
            self._take_each((one.body, *(handler.body for handler in one.handlers), one.orelse, one.final))
        else:
            self.on.append(one)

    def _take_each(self, bodies: Iterable[tuple[ir.Statement, ...]]) -> None:
        for body in bodies:
            self.take(body)


__all__ = ["AskedFor"]
