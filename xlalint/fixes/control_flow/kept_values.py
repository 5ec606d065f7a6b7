"""XLA101: branches that only write attributes → one `where` for each: `self.low = torch.where(t, x, self.low)`.

Running extrema, statistics that begin with their first batch, best losses: what an object keeps from step to step is chosen on the device.
A chain may end in branches that the host chooses between; these stay, and each chooses between its own value and that of the first branch.
What is written in one branch alone is read by the condition, so that it surely is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Union

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.conditions import Condition, condition, holder_of, holds_tensor
from xlalint.fixes.toolkit.dataflow import definition
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.gradients import FLAT, Slopes
from xlalint.fixes.toolkit.operations import makes_new
from xlalint.fixes.toolkit.selection import Chooser, side_of
from xlalint.fixes.toolkit.shapes import Types
from xlalint.fixes.toolkit.speculation import assume_computable, speculate
from xlalint.fixes.toolkit.text import block, brief, call, lift_block, movable, width_of


class _Write(NamedTuple):
    """`self.name = value`, as the code of its target and the value."""

    target: str
    value: cst.BaseExpression
    line: cst.SimpleStatementLine


_Writes = dict[str, _Write]
_Tail = Union[cst.If, cst.Else, None]


def choose_kept(site: Site) -> Rewrite | NoFix | None:
    """An `if` whose branches write the same attributes, or that has one branch."""
    scene = site.scene
    node = holder_of(scene, site.node)
    if site.framework != "torch" or not isinstance(node, cst.If) or isinstance(scene.parent(node), cst.If):
        return None
    taken = _read_writes(scene, node.body)
    tails = [_read_writes(scene, body) for body in _list_tails(scene, node.orelse)]
    if not taken or any(one is None or one.keys() != taken.keys() for one in tails) or (node.orelse and not tails):
        return None
    others = [one for one in tails if one is not None]
    if any(_reads_written(scene, one, list(order)) for order in others or [taken] for one in (taken, *others)):
        return NoFix("one attribute is computed of another that was just written: give that a name")
    chooser = Chooser(scene, node, site.framework)
    asked = condition(scene, node.test, site.framework, chooser.imports)
    if isinstance(asked, NoFix):
        return asked
    if asked.static and others:
        return NoFix("a part of the condition is known on the host, and decides on an `else` too: nest the `if`")
    if not others and not all(_find_tested(scene, node, target) for target in taken):
        return None
    if not movable(scene, [line for one in (taken, *others) for line in (write.line for write in one.values())]):
        return None
    return _Kept(site, node, asked, chooser).rewrite(taken, others)


def _list_tails(scene: FunctionSource, tail: _Tail) -> list[cst.BaseSuite]:
    """The branches behind the first, of which the host chooses one; none where a tensor has a say, or where there may be no branch."""
    found: list[cst.BaseSuite] = []
    while isinstance(tail, cst.If):
        if holds_tensor(scene, tail.test) or speculate(scene, [tail.test], "torch").barrier:
            return []
        found.append(tail.body)
        tail = tail.orelse
    return [*found, tail.body] if tail is not None else []


def _read_writes(scene: FunctionSource, body: cst.BaseSuite) -> _Writes | None:
    """The writes of a block, in order, where it does nothing but write attributes of a name, each once."""
    found: _Writes = {}
    for line in body.body:
        one = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        if not isinstance(line, cst.SimpleStatementLine) or not isinstance(one, cst.Assign) or len(one.targets) != 1:
            return None
        target = one.targets[0].target
        if not isinstance(target, cst.Attribute) or not isinstance(target.value, cst.Name):
            return None
        if scene.code(target) in found:
            return None
        found[scene.code(target)] = _Write(scene.code(target), one.value, line)
    return found


def _reads_written(scene: FunctionSource, writes: _Writes, order: list[str]) -> bool:
    """Return whether a value reads an attribute that is written in front of it, in some order of the writes."""
    return any(
        order.index(scene.code(read)) < order.index(one.target)
        for one in writes.values()
        for read in scene.descend(one.value, cst.Attribute)
        if scene.code(read) in order
    )


def _find_tested(scene: FunctionSource, node: cst.If, target: str) -> cst.Attribute | None:
    """Where a condition compares or calls what an attribute holds, which is then a tensor and not None."""
    for read in scene.descend(node.test, cst.Attribute):
        around = scene.parent(read)
        asked = isinstance(around, (cst.Comparison, cst.ComparisonTarget, cst.Attribute, cst.BinaryOperation))
        if scene.code(read) == target and asked and values.is_tensor(scene.value(read), "torch"):
            return read
    return None


class _Kept:
    """One `if` on its way to choices of attributes."""

    def __init__(self, site: Site, node: cst.If, asked: Condition, chooser: Chooser) -> None:
        self._scene = site.scene
        self._framework = site.framework
        self._node = node
        self._asked = asked
        self._chooser = chooser
        self._types = Types(site.scene, site.framework)
        self._slopes = Slopes(site.scene, site.framework)

    def rewrite(self, taken: _Writes, others: list[_Writes]) -> Rewrite | NoFix:
        """Write each attribute's choice, in the branches that stay."""
        computed = [write.value for one in (taken, *others) for write in one.values()]
        found = speculate(self._scene, computed, self._framework, [self._node.test])
        if found.barrier:
            return NoFix(found.barrier)
        learning = next(filter(None, (_find_learning(self._scene, one) for one in computed)), "")
        if self._chooser.learns and learning:
            return NoFix(
                f"a graph may be kept from step to step: detach `{learning}`, of which the branch keeps something"
            )
        name = self._name_condition(taken)
        edits: list[Replacement] = []
        for write in _list_writes(taken, others):
            made = self._choose(taken[write.target], write if others else None)
            if isinstance(made, NoFix):
                return made
            edits.append(Replacement(*self._scene.whole(write.value), made))
        self._assume_kept(taken, computed, alone=not others)
        self._chooser.assume(self._asked.assumes)
        self._chooser.assume(assume_computable(found.risks))
        edits = self._write_else(name, edits) if others else self._write_alone(name, edits)
        made_of = (*edits, *self._chooser.imports.needed)
        return Rewrite(f"Use `{self._chooser.function}`", made_of, all_of(_shorten(self._chooser.assumes, taken)))

    def _name_condition(self, taken: _Writes) -> str:
        """The line that gives the condition a name, where several choices ask it; "" for one choice."""
        if len(taken) == 1 and (self._node.orelse is None or isinstance(self._node.orelse, cst.Else)):
            return ""
        text = self._asked.text
        name = self._scene.fresh("condition")
        self._asked = self._asked._replace(text=name)
        self._chooser.tested = text
        return f"{name} = {text}"

    def _choose(self, taken: _Write, other: _Write | None) -> str | NoFix:
        """The value of an attribute: of the first branch, or of another one or what the attribute is."""
        scene, line = self._scene, (other or taken).line
        kept = other.value if other is not None else _find_tested(scene, self._node, taken.target)
        assert kept is not None
        sides = [side_of(scene, one, self._types, self._slopes)._replace(slope=FLAT) for one in (taken.value, kept)]
        arguments = self._chooser.choose(self._asked, *sides)
        if isinstance(arguments, NoFix):
            return arguments
        indent = scene.indent(line)
        column = len(indent) + len(taken.target) + 3
        return call(self._chooser.function, arguments, column, indent, width=width_of(scene))

    def _assume_kept(self, taken: _Writes, computed: list[cst.BaseExpression], *, alone: bool) -> None:
        """Assume what the choices themselves do not tell of what is kept."""
        scene, told = self._scene, " and ".join(f"`{target}`" for target in taken)
        read = [
            one for value in computed for one in scene.descend(value, cst.Attribute) if scene.code(one) not in taken
        ]
        if self._chooser.learns and any(values.dtype_of(scene.value(one)) == "f" for one in read):
            self._chooser.assume([f"what is written into {told} needs no gradient"])
        self._chooser.assume(
            f"`{brief(scene.code(one))}` is not written into afterwards"
            for one in computed
            if not makes_new(scene, one)
        )
        if alone:
            self._chooser.assume([f"nothing else holds the tensor of {told}, which is no property"])

    def _write_alone(self, name: str, edits: list[Replacement]) -> list[Replacement]:
        first = self._node.body.body[0]
        if name:
            start, indent = self._scene.span(first)[0], self._scene.indent(first)
            edits = [Replacement(start, start, f"{name}\n{indent}"), *edits]
        return [*lift_block(self._scene, self._node, self._asked.static, edits)]

    def _write_else(self, name: str, edits: list[Replacement]) -> list[Replacement]:
        """The branches behind the first, by themselves; what is said of them stands above them."""
        scene, node, tail = self._scene, self._node, self._node.orelse
        assert tail is not None
        text, indent = scene.document.text, scene.indent(node)
        start, keyword = scene.span(node)[0], "elif" if isinstance(tail, cst.If) else "else"
        at = text.index(keyword, scene.whole(node.body)[1])
        said = [one.value for one in scene.descend(node, cst.Comment) if start <= scene.span(one)[0] < at]
        head = "".join(f"{line}\n{indent}" for line in (*([name] if name else []), *said))
        if isinstance(tail, cst.If):
            return [Replacement(start, at + len(keyword), f"{head}if"), *edits]
        end = scene.span(node)[0] + len(text[slice(*scene.span(node))].rstrip())
        body = block(scene, tail.body.body, indent, edits).strip("\n")
        return [Replacement(start, end, f"{head}{body[len(indent) :]}")]


def _shorten(assumes: list[str], taken: _Writes) -> list[str]:
    """Say of many pairs of values at once that they are alike."""
    pairs = [one for one in assumes if one.endswith(_ALIKE)]
    if len(pairs) < _FEW:
        return assumes
    told = f"all values of {' and '.join(f'`{target}`' for target in taken)}{_ALIKE}"
    return [told, *(one for one in assumes if one not in pairs)]


_ALIKE = " have the same shape and dtype"
_FEW = 3


def _list_writes(taken: _Writes, others: list[_Writes]) -> Iterator[_Write]:
    """The writes that stay: those of the other branches, or of the only one."""
    for one in others or [taken]:
        yield from one.values()


_CUT = frozenset(("data", "detach"))
_DEPTH = 4  # assignments that a value is followed through


def _find_learning(scene: FunctionSource, node: cst.BaseExpression, depth: int = _DEPTH) -> str:
    """The name of a tensor, among those that a value is computed of, that may need a gradient; "" without."""
    for name in scene.descend(node, cst.Name):
        value = scene.value(name)
        if not values.tensors_only(value) or values.dtype_of(value) in ("b", "i"):
            continue
        made = definition(scene, name)
        if made is None or not depth:
            return name.value
        cut = any(one.attr.value in _CUT for one in scene.descend(made.value, cst.Attribute))
        if not cut and _find_learning(scene, made.value, depth - 1):
            return name.value
    return ""
