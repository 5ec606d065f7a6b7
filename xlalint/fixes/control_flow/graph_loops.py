"""XLA102, XLA107 in JAX: loops over traced values → `jax.lax.fori_loop` and `jax.lax.while_loop`.

What a turn assigns and a later turn, the condition or the code behind the loop reads is carried. The rest lives and dies within a turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import binds, live_after, reads, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.selection import host_use
from xlalint.fixes.toolkit.speculation import ACTS, barrier_of, speculate
from xlalint.fixes.toolkit.text import argument, atom, block, call, movable, width_of

_GRAPHS = {"jax": "jax.lax", "tensorflow": "tf.while_loop"}
_ARRAYS = {"jax": "an array", "tensorflow": "a tensor"}
_HOST_RANDOM = ("numpy.random.", "random.")
_MORE_THAN_ASSIGNMENTS = "does more than assign names: write the loop's body as a function of what it changes"


class Turn(NamedTuple):
    """Describes one turn of a loop: its statements, and the names that it carries on, in the order of their assignments."""

    lines: list[cst.SimpleStatementLine]
    carried: list[str]


class Assigned(NamedTuple):
    """`name = value`; or `name operator= value`, with the operator's sign."""

    name: str
    value: cst.BaseExpression
    sign: str


def use_fori_loop(site: Site) -> Rewrite | NoFix | None:
    """`for i in range(n): x = f(x)` → `x = jax.lax.fori_loop(0, n, lambda i, x: f(x), x)`."""
    scene = site.scene
    loop = scene.nearest(site.node, cst.For)
    if site.framework != "jax" or loop is None or not _is_within(scene, site.node, loop.iter):
        return None
    bounds = bounds_of(scene, loop)
    if isinstance(bounds, NoFix):
        return bounds
    if not isinstance(loop.target, cst.Name):
        return None
    turn = turn_of(scene, loop, set(), loop.target.value)
    if isinstance(turn, NoFix):
        return turn
    index = loop.target.value
    odd = next((one for one in uses(scene, loop.body, index) if not takes_arrays(scene, one)), None)
    if odd is not None:
        return NoFix(f"`{index}` would be an array, which `{scene.code(scene.statement(odd)).strip()}` may not take")
    made = Writer(site, loop, turn)
    return made.loop("fori_loop", [*bounds, made.function("body", index)])


def conditional(site: Site) -> Rewrite | NoFix | None:
    """`while c(x): x = f(x)` → `x = jax.lax.while_loop(lambda x: c(x), lambda x: f(x), x)`."""
    scene = site.scene
    loop = scene.nearest(site.node, cst.While)
    if site.framework != "jax" or loop is None or not _is_within(scene, site.node, loop.test):
        return None
    if any(scene.descend(loop.test, cst.NamedExpr)):
        return NoFix(f"the condition {_MORE_THAN_ASSIGNMENTS}")
    test = _test(scene, loop)
    if not test:
        return NoFix(
            f"`{scene.code(loop.test)}` is not one array of bools: write the condition as a function for `jax.lax.while_loop`"
        )
    turn = turn_of(scene, loop, reads(scene, loop.test), "")
    if isinstance(turn, NoFix):
        return turn
    made = Writer(site, loop, turn)
    return made.loop("while_loop", [], test)


def _test(scene: FunctionSource, loop: cst.While) -> str:
    """A loop's condition as an array of bools, in code: parts that stand in an `and`, such as a bound of a counter, are joined by `&`.

    "" where that is not sure to be the same, or to run.
    """
    parts = list(_conjuncts(loop.test))
    alone = len(parts) == 1
    bools = [one for one in parts if values.is_bool(scene.value(one))]
    bounds = [one for one in parts if isinstance(one, cst.Comparison) and _is_bound(scene, one)]
    if not bools or len(bools) + len(bounds) != len(parts) or speculate(scene, parts[1:], "jax").barrier:
        return ""
    return argument(scene, loop.test) if alone else " & ".join(atom(scene, one) for one in parts)


def _conjuncts(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.And):
        yield from _conjuncts(node.left)
        yield from _conjuncts(node.right)
    else:
        yield node


def _is_bound(scene: FunctionSource, node: cst.Comparison) -> bool:
    """Return whether a comparison is of two numbers that the host knows."""
    sides = [node.left, *(one.comparator for one in node.comparisons)]
    return len(sides) == 2 and all(values.is_number(scene.value(one)) for one in sides)


def _is_within(scene: FunctionSource, node: cst.CSTNode, whole: cst.CSTNode) -> bool:
    return node is whole or whole in scene.above(node)


def bounds_of(scene: FunctionSource, loop: cst.For, framework: str = "jax") -> list[str] | NoFix:
    """Where the counting begins and ends, as code; `int(n)` gives `n`."""
    if not isinstance(loop.iter, cst.Call) or values.callee(scene.value(loop.iter.func)) != "builtins.range":
        return NoFix("the loop does not run over a `range`: write it with `jax.lax.scan`, or over a `range` of a shape")
    args = loop.iter.args
    if not 0 < len(args) < 3 or any(arg.star or arg.keyword is not None for arg in args):
        return NoFix("the `range` has a step: count the iterations from 0, and compute the position from the count")
    found = []
    for arg in args:
        inner = arg.value
        if (
            isinstance(inner, cst.Call)
            and values.callee(scene.value(inner.func)) == "builtins.int"
            and len(inner.args) == 1
        ):
            inner = inner.args[0].value
        if not values.is_number(scene.value(inner)) and not values.is_tensor(scene.value(inner), framework):
            return NoFix(f"`{scene.code(inner)}` is not known to be an array or a number in every call")
        found.append(argument(scene, inner))
    return found if len(found) == 2 else ["0", *found]


def takes_arrays(scene: FunctionSource, use: cst.Name) -> bool:
    """Return whether a use of the counter also takes an array: it is an index of an array, or in arithmetic with one."""
    holder = scene.parent(use)
    if isinstance(holder, cst.Index):
        subscript = scene.nearest(holder, cst.Subscript)
        assert subscript is not None
        whole = subscript.value
        if isinstance(whole, cst.Attribute) and whole.attr.value == "at":
            whole = whole.value
        return values.is_tensor(scene.value(whole), "jax")
    if isinstance(holder, cst.BinaryOperation):
        other = holder.right if holder.left is use else holder.left
        return values.is_tensor(scene.value(other), "jax")
    return False


# ----------------------------------------------------------------------------------------------------- the turn


def read_assignment(scene: FunctionSource, line: cst.CSTNode) -> Assigned | None:
    """The one name that a line assigns; None if it does anything else."""
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    one = line.body[0]
    if isinstance(one, cst.Assign) and len(one.targets) == 1 and isinstance(one.targets[0].target, cst.Name):
        return Assigned(one.targets[0].target.value, one.value, "")
    if isinstance(one, cst.AugAssign) and isinstance(one.target, cst.Name):
        return Assigned(one.target.value, one.value, scene.code(one.operator).removesuffix("="))
    return None


def turn_of(
    scene: FunctionSource,
    loop: cst.For | cst.While,
    asked: set[str],
    counter: str,
    framework: str = "jax",
    without: cst.CSTNode | None = None,
) -> Turn | NoFix:
    """Read one turn, `without` one of its lines, if a function can do the same."""
    graph = _GRAPHS[framework]
    if loop.orelse is not None or not isinstance(loop.body, cst.IndentedBlock) or scene.function(loop) is None:
        return NoFix(f"the loop {_MORE_THAN_ASSIGNMENTS}")
    body = [line for line in loop.body.body if line is not without]
    lines = [line for line in body if isinstance(line, cst.SimpleStatementLine)]
    done = [read_assignment(scene, line) for line in body]
    if len(lines) != len(done) or None in done or not movable(scene, lines):
        return NoFix(f"the loop {_MORE_THAN_ASSIGNMENTS}, for `{graph}`")
    if counter and (live_after(scene, loop, counter) or counter in binds(scene, loop.body)):
        return NoFix(f"`{counter}` is read after the loop, or set in it: count in a separate variable")
    carried = carried_by(scene, loop, [one for one in done if one is not None], asked)
    if not carried:
        return NoFix("nothing that the loop computes is used")
    for name in carried:
        refused = _refusal(scene, loop, name, framework)
        if refused:
            return NoFix(refused)
    barrier = _barrier(scene, lines, framework)
    if barrier:
        return NoFix(f"{barrier}, which `{graph}` does once for all iterations")
    return Turn(lines, carried)


def _barrier(scene: FunctionSource, lines: Sequence[cst.CSTNode], framework: str) -> str:
    """Name what every turn does and a traced function would do only once; "" for nothing. The program's functions are trusted."""
    for part in (part for line in lines for part in scene.descend(line, *ACTS)):
        barrier = barrier_of(scene, part, framework)
        of_host = isinstance(part, cst.Call) and values.callee(scene.value(part.func)).startswith(_HOST_RANDOM)
        trusted = barrier.startswith("it is not known") or "random" in barrier or "in place" in barrier
        if barrier and (of_host or not trusted):
            return f"`{scene.code(part)}` draws random numbers" if of_host else barrier
    return ""


def carried_by(
    scene: FunctionSource, loop: cst.For | cst.While, done: Sequence[Assigned], asked: set[str]
) -> list[str]:
    """The names that a turn assigns and that a later turn, the condition (which reads those `asked`) or the code behind reads."""
    bound: set[str] = set()
    early = set(asked)
    for one in done:
        read = reads(scene, one.value) | ({one.name} if one.sign else set())
        early |= read - bound
        bound.add(one.name)
    names = dict.fromkeys(one.name for one in done)
    return [name for name in names if name in early or live_after(scene, loop, name)]


def _refusal(scene: FunctionSource, loop: cst.For | cst.While, name: str, framework: str) -> str:
    """Why a name cannot be carried; "" if it can."""
    function = scene.function(loop)
    assert function is not None
    start, _ = scene.span(loop)
    if not is_set_before(scene, function, start, name):
        return f"`{name}` may be unset before the first iteration: give it a value of its shape and dtype"
    seen = [scene.value(one) for one in scene.descend(loop, cst.Name) if one.value == name]
    if framework == "jax" and _counts(scene, loop, name):
        return ""
    if not all(values.is_tensor(one, framework) for one in seen):
        return f"`{name}` is not {_ARRAYS[framework]} in every iteration: begin with one of the shape and dtype that it ends with"
    return ""


def _counts(scene: FunctionSource, loop: cst.For | cst.While, name: str) -> bool:
    """Return whether a name is a whole number that turns only add to, and whose readers also take an array."""
    steps = [
        step for line in loop.body.body if (step := read_assignment(scene, line)) is not None and step.name == name
    ]
    found = [scene.value(one) for one in scene.descend(loop, cst.Name) if one.value == name]
    if not steps or not found or not all(values.is_whole(one) for one in found) or host_use(scene, loop, name):
        return False
    for step in steps:
        added = step.value if step.sign in ("+", "-") else _find_added(step)
        if added is None or not isinstance(added, cst.Integer):
            return False
    own = {one for step in steps for one in scene.descend(step.value, cst.Name)}
    read = [
        one
        for one in uses(scene, loop.body, name)
        if one not in own and not isinstance(scene.parent(one), cst.AugAssign)
    ]
    return all(takes_arrays(scene, one) for one in read)


def _find_added(step: Assigned) -> cst.BaseExpression | None:
    """Return the expression that `name = name + …` adds."""
    value = step.value
    if not isinstance(value, cst.BinaryOperation) or not isinstance(value.operator, (cst.Add, cst.Subtract)):
        return None
    return value.right if isinstance(value.left, cst.Name) and value.left.value == step.name else None


def is_set_before(scene: FunctionSource, function: cst.FunctionDef, start: int, name: str) -> bool:
    """Return whether a parameter, or an assignment that surely ran, gives a name its first value."""
    if any(param.name.value == name for param in scene.descend(function.params, cst.Param)):
        return True
    lines = function.body.body
    return any(scene.span(line)[1] <= start and name in _sure(scene, line) for line in lines)


def _sure(scene: FunctionSource, line: cst.CSTNode) -> set[str]:
    return binds(scene, line) if isinstance(line, (cst.SimpleStatementLine, cst.With)) else set()


# -------------------------------------------------------------------------------------------------- new code


class Writer:
    """Writes a loop as a call, and functions before it where a lambda does not do."""

    def __init__(self, site: Site, loop: cst.For | cst.While, turn: Turn) -> None:
        self.site, self.scene, self.node, self.turn = site, site.scene, loop, turn
        self.imports = Imports(site.scene, loop)
        self.indent = site.scene.indent(loop)
        self.before: list[str] = []
        self.single = len(turn.carried) == 1

    @property
    def state(self) -> str:
        """The carried values, as code."""
        return self.turn.carried[0] if self.single else f"({', '.join(self.turn.carried)})"

    def function(self, wish: str, index: str = "") -> str:
        """The turn, as a lambda where it is one assignment, else as a function that is defined before."""
        last = read_assignment(self.scene, self.turn.lines[0])
        assert last is not None
        leading = f"{index}, " if index else ""
        comments = any(self.scene.descend(self.node.body, cst.Comment))
        if self.single and len(self.turn.lines) == 1 and not comments:
            code = (
                f"{last.name} {last.sign} {atom(self.scene, last.value)}" if last.sign else self.scene.code(last.value)
            )
            if "\n" not in code and not isinstance(last.value, cst.Tuple):
                return f"lambda {leading}{self.state}: {code}"
        name = self.scene.fresh(wish)
        lines = block(self.scene, self.turn.lines, f"{self.indent}    ").rstrip()
        self._define(name, leading, lines, f"return {', '.join(self.turn.carried)}")
        return name

    def condition(self, code: str) -> str:
        """The test of a `while`."""
        if self.single and "\n" not in code:
            return f"lambda {self.state}: {code}"
        name = self.scene.fresh("going")
        self._define(name, "", "", f"return {code}")
        return name

    def _define(self, name: str, leading: str, lines: str, last: str) -> None:
        inner = f"{self.indent}    "
        carry = self.state if self.single else "carry" if "carry" not in self.scene.names else self.scene.fresh("carry")
        head = [f"def {name}({leading}{carry}):"]
        if not self.single:
            head.append(f"{inner}{', '.join(self.turn.carried)} = {carry}")
        self.before.append("\n".join([*head, *([lines] if lines else []), f"{inner}{last}"]))

    def loop(self, short: str, arguments: list[str], test: str = "") -> Rewrite:
        """The whole."""
        name = f"{self.imports.name('jax.lax')}.{short}"
        if test:
            arguments = [self.condition(test), self.function("body")]
        returned = self.find_return()
        lead = "return " if returned is not None else f"{', '.join(self.turn.carried)} = "
        column = len(self.indent) + len(lead)
        text = lead + call(name, [*arguments, self.state], column, self.indent, width=width_of(self.scene))
        text = "".join(f"{one}\n\n{self.indent}" for one in self.before) + text
        start, end = self.scene.span(self.node)[0], self.end(returned)
        if self.before and self.follows_code(start):
            start, text = start - len(self.indent), f"\n{self.indent}{text}"
        assumed = [
            f"{list_names(self.turn.carried)} keep{'s' if self.single else ''} shape and dtype",
            "no gradient is taken in reverse through the loop",
        ]
        numbers = [name for name in self.turn.carried if _counts(self.scene, self.node, name)]
        told = [name for name in numbers if live_after(self.scene, self.node, name)]
        assumed += [f"{list_names(told)} may be {'arrays' if told[1:] else 'an array'} after the loop"] if told else []
        made = (Replacement(start, end, text), *self.imports.needed)
        return Rewrite(f"Use `{name}`", made, all_of(assumed))

    def end(self, returned: cst.CSTNode | None) -> int:
        """Where what is replaced ends, with a comment behind the last line but without the line end."""
        if returned is not None:
            return self.scene.span(returned)[1]
        last = self.node.body.body[-1]
        start, end = self.scene.span(last)[0], self.scene.whole(last)[1]
        return start + len(self.scene.document.text[start:end].rstrip())

    def follows_code(self, start: int) -> bool:
        """Return whether a statement stands directly above, in the same block."""
        _, index = self.scene.siblings(self.node)
        above = self.scene.document.text[:start].split("\n")[-2:-1]
        return bool(index and above and above[0].strip())

    def find_return(self) -> cst.CSTNode | None:
        """A `return` of the carried name alone that directly follows."""
        siblings, index = self.scene.siblings(self.node)
        after = siblings[index + 1] if index + 1 < len(siblings) else None
        plain = self.single and isinstance(after, cst.SimpleStatementLine) and len(after.body) == 1
        if not plain or any(self.scene.descend(after, cst.Comment)):  # type: ignore[arg-type]
            return None
        last = after.body[0]  # type: ignore[union-attr]
        held = isinstance(last, cst.Return) and isinstance(last.value, cst.Name)
        return last if held and last.value.value == self.turn.carried[0] else None


def list_names(names: Sequence[str]) -> str:
    """Names for a message."""
    return " and ".join(f"`{name}`" for name in names)


# ------------------------------------------------------------------------------------------------ what is left


def counted_elsewhere(site: Site) -> NoFix | None:
    """Loops over a tensor's value in the frameworks in which the number of turns must be a constant."""
    if site.framework == "jax":
        return None
    return NoFix(
        "no bound on the number of iterations is known: loop up to one, and keep finished values with "
        + ("`torch.where`" if site.framework == "torch" else "`tf.where`, or use `tf.while_loop`")
    )


def conditional_elsewhere(site: Site) -> NoFix | None:
    """`while` loops in the frameworks in which the number of turns must be a constant, or is to be chosen."""
    if site.framework == "jax":
        return NoFix("the loop ends by `break`, or by more than its condition: write it with `jax.lax.while_loop`")
    if site.framework == "tensorflow":
        return NoFix(
            "for a gradient `tf.while_loop` needs the largest number of iterations, which only the author knows"
        )
    return NoFix(
        "no bound on the number of iterations is known: loop up to one, and keep finished values with `torch.where`"
    )
