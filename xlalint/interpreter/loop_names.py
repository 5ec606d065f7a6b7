"""The names that one turn of a loop may take over from another: those that it may read before it assigns them.

A loop that leaves what was known before it as it was, and takes over none of the names that it assigns, is at its fixed point after one
turn. These are the upward exposed uses of the classic data-flow analyses (Aho, Lam, Sethi, Ullman: Compilers, 9.2.5), found along the
statements: a name is assigned after an `if` where both branches assign it, and never by what may run not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.device_loops import Loop

_LISTING: Final = frozenset(("list", "sorted", "tuple", "set"))
_OF_TABLES: Final = frozenset(("items", "keys"))


def names_taken_over(node: Loop) -> frozenset[str] | None:
    """Return the names that a turn may read before it assigns them; None where functions of the loop may read what they like."""
    uses = _follow(node)
    return frozenset(uses.exposed) if uses.told else None


def names_read_first(node: Loop) -> frozenset[str]:
    """Return the names that a turn's own statements may read before it assigns them."""
    return frozenset(_follow(node).exposed)


def targets_of(node: object) -> tuple[ir.Node, ...]:
    """Return the targets to which an assignment or a loop gives values."""
    if isinstance(node, ir.Assign):
        return node.targets
    return (node.target,) if isinstance(node, (ir.AnnAssign, ir.AugAssign, ir.For)) else ()


def names_bound(target: ir.Node) -> set[str]:
    """Return the names to which an assignment's target gives values."""
    bound: set[str] = set()
    _Uses().bind(target, bound)
    return bound


def table_rewritten(node: ir.For) -> str:
    """Return the name of a table to whose every key a loop over these gives a new value: `for key in table: table[key] = …`; "" of other
    loops."""
    key = node.target.items[0] if type(node.target) is ir.Display and node.target.items else node.target
    over = node.iterable
    while type(over) is ir.Call and type(over.func) is ir.Name and over.func.id in _LISTING and len(over.args) == 1:
        over = over.args[0]
    if type(over) is ir.Call and type(over.func) is ir.Attr and over.func.name in _OF_TABLES:
        over = over.func.value
    elif type(node.target) is ir.Display:
        return ""
    if type(key) is not ir.Name or type(over) is not ir.Name:
        return ""
    rewritten = any(
        type(target) is ir.Sub
        and type(target.value) is ir.Name
        and target.value.id == over.id
        and type(target.index) is ir.Name
        and target.index.id == key.id
        for one in node.body
        if type(one) is ir.Assign
        for target in one.targets
    )
    if not rewritten or any(type(one) is ir.Jump or type(one) is ir.Return for one in ir.walk_statements(node.body)):
        return ""
    return over.id


def _follow(node: Loop) -> _Uses:
    uses = _Uses()
    assigned: set[str] = set()
    if type(node) is ir.While:
        uses.read(node.test, assigned)
    else:
        uses.bind(node.target, assigned)
    uses.run(node.body, assigned)
    return uses


class _Uses:
    """A walk over statements; `exposed` are the names that were read before they were assigned, `told` is false where that is not all."""

    def __init__(self) -> None:
        self.exposed: set[str] = set()
        self.told = True

    def read(self, node: object, assigned: set[str]) -> None:
        """Note all names in expressions, and in targets that are no names."""
        for one in ir.walk(node):
            if type(one) is ir.Name:
                if one.id not in assigned:
                    self.exposed.add(one.id)
            elif type(one) is ir.Lambda:
                self.told = False

    def bind(self, target: ir.Node, assigned: set[str]) -> None:
        """Enter the names of an assignment's target."""
        if type(target) is ir.Name:
            assigned.add(target.id)
        elif type(target) is ir.Display:
            for item in target.items:
                self.bind(item, assigned)
        elif type(target) is ir.Star:
            self.bind(target.value, assigned)
        else:
            self.read(target, assigned)

    def run(self, body: tuple[ir.Statement, ...], assigned: set[str]) -> bool:
        """Follow statements, and enter in `assigned` what they surely assign; return whether what stands behind them is reached."""
        return all(self._step(statement, assigned) for statement in body)

    def _step(self, node: ir.Statement, assigned: set[str]) -> bool:
        if type(node) is ir.Assign:
            self.read(node.value, assigned)
            for target in node.targets:
                self.bind(target, assigned)
        elif type(node) is ir.If:
            return self._branch(node, assigned)
        elif type(node) is ir.For or type(node) is ir.While:
            self._loop(node, assigned)
        elif type(node) is ir.With:
            return self._with(node, assigned)
        elif type(node) is ir.Try:
            blocks = [node.body, *(handler.body for handler in node.handlers), node.orelse, node.final]
            self.read(tuple([handler.type for handler in node.handlers if handler.type is not None]), assigned)
            self._run_perhaps(blocks, assigned)
        elif type(node) is ir.Match:
            self.read(node.subject, assigned)
            self.read(tuple([case.guard for case in node.cases if case.guard is not None]), assigned)
            self._run_perhaps([case.body for case in node.cases], assigned)
        elif type(node) in (ir.Define, ir.DefineClass, ir.Outer, ir.TooDeep):
            self.told = False
        elif type(node) is ir.AnnAssign:
            if node.value is not None:
                self.read(node.value, assigned)
                self.bind(node.target, assigned)
        else:
            self.read(node, assigned)
            if type(node) is ir.Delete:
                assigned.difference_update(target.id for target in node.targets if type(target) is ir.Name)
        return type(node) not in (ir.Return, ir.Raise, ir.Jump)

    def _branch(self, node: ir.If, assigned: set[str]) -> bool:
        self.read(node.test, assigned)
        taken, other = set(assigned), set(assigned)
        falls, other_falls = self.run(node.body, taken), self.run(node.orelse, other)
        assigned |= taken & other if falls == other_falls else taken if falls else other
        return falls or other_falls

    def _loop(self, node: Loop, assigned: set[str]) -> None:
        inside = set(assigned)
        if type(node) is ir.While:
            self.read(node.test, inside)
        else:
            self.read(node.iterable, inside)
            self.bind(node.target, inside)
        self._run_perhaps([node.body], inside)
        self._run_perhaps([node.orelse], assigned)

    def _with(self, node: ir.With, assigned: set[str]) -> bool:
        for expression, target in node.items:
            self.read(expression, assigned)
            if target is not None:
                self.bind(target, assigned)
        return self.run(node.body, assigned)

    def _run_perhaps(self, blocks: list[tuple[ir.Statement, ...]], assigned: set[str]) -> None:
        """Follow blocks that may run not at all, or in part."""
        for block in blocks:
            self.run(block, set(assigned))
