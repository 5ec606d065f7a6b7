"""XLA101: branches → `jax.lax.cond`; `tf.cond`, where AutoGraph is off; `torch.cond`, where `torch.compile` compiles.

They compute one side only. So they are taken where `where` would run what may fail or cost much, would let NaN into gradients, or may not
be used at all because a side calls a function of the program's. Where `where` gives the same for sure, it is cheaper; `torch.cond` asks so
much of its branches (see `torch_conds`) that any `where` is better.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import libcst as cst

from xlalint.abstract.values import Function, members
from xlalint.fixes.control_flow import branches, early_returns
from xlalint.fixes.control_flow.early_returns import Chain, chain_of, head_of
from xlalint.fixes.control_flow.graph_loops import Assigned, read_assignment
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import torch_conds, values
from xlalint.fixes.toolkit.aliasing import is_written
from xlalint.fixes.toolkit.bindings import value_before
from xlalint.fixes.toolkit.conditions import Condition, condition, holder_of
from xlalint.fixes.toolkit.dataflow import live_after, reads
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.gradients import FLAT, Slopes, without_gradient
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.selection import Side, keep_value, side_of
from xlalint.fixes.toolkit.shapes import Type, Types, alike, apart
from xlalint.fixes.toolkit.speculation import assignments, barrier_of
from xlalint.fixes.toolkit.text import argument, atom, block, brief, call, movable, width_of

_NAMES = {
    "jax": ("true_fun", "false_fun"),
    "tensorflow": ("true_fn", "false_fn"),
    "torch": ("true_fn", "false_fn"),
}  # as the parameters are called

_OWN = {"torch": "compiles without a graph break and gives a new tensor"}
# torch 2.9.1: Inductor gives zeros for the gradient of `torch.cond(p, f, g, (x,)) - x`.
_NO_GRADIENT = "no gradient is taken through `torch.cond`"
# It raises where one branch keeps the strides of a transposed argument, as `clone` does, and the other gives its own, as `@` does.
_ONE_LAYOUT = "both branches give the same strides"

_NO_COND: Final = {
    "torch_tpu": "`torch.cond` reads the condition as well, and inside torch.compile raises an exception"
}


class _Made(NamedTuple):
    """A rewrite, and what it assumes one by one."""

    rewrite: Rewrite
    assumes: list[str]


class _UnfitError(Exception):
    """The branches are not such that functions can take their place."""


def rewrite(site: Site) -> Rewrite | NoFix | None:
    """The `if` that the finding is in as a `cond`, where that assumes less than a `where` does."""
    if site.framework == "tensorflow" and site.hazard.variant != "no-autograph":
        return None
    node = holder_of(site.scene, site.node)
    if not isinstance(node, cst.If):
        return None
    chosen = branches.rewrite(site) or early_returns.rewrite(site)
    site.scene.begin()
    if isinstance(chosen, Rewrite) and (site.framework == "torch" or not chosen.assumes):
        return None
    try:
        made = _Returns(site, node).make() if _returns(node) else _Assignments(site, node).make()
    except _UnfitError:
        return None
    if site.framework == "torch" and site.target != "torch_compile":
        why = _NO_COND.get(site.target, "`torch.cond` would read the condition anyway")
        return NoFix(f"{chosen.text}; {why}" if isinstance(chosen, NoFix) else why)
    if not isinstance(chosen, Rewrite):
        return made.rewrite
    less = len(made.rewrite.assumes) < len(chosen.assumes) and all(one in chosen.assumes for one in made.assumes)
    return made.rewrite if less else None


def _returns(node: cst.If) -> bool:
    line = node.body.body[-1] if node.body.body else None
    last = line.body[-1] if isinstance(line, cst.SimpleStatementLine) else line
    return isinstance(last, cst.Return)


class _Cond:
    """Holds what the two forms share: the condition, the assumptions, and the functions that are defined above the call."""

    def __init__(self, site: Site, node: cst.If) -> None:
        self.scene, self.node, self.framework = site.scene, node, site.framework
        self.imports = Imports(site.scene, node)
        self.assumes: list[str] = []
        self.defined: list[str] = []
        self.computed: list[cst.CSTNode] = []
        self.views: list[str] = []  # what may share memory
        self.moved: list[tuple[int, int]] = []  # what goes into those with its comments
        self.elif_ = isinstance(site.scene.parent(node), cst.If)
        self.indent = site.scene.indent(node) + "    " * self.elif_
        function = site.scene.function(node)
        if function is None or any(site.scene.descend(function, cst.Global, cst.Nonlocal)):
            raise _UnfitError
        if self.framework == "torch" and not torch_conds.is_traced(self.scene, function):
            raise _UnfitError

    @property
    def name(self) -> str:
        """Return the function to call: "jax.lax.cond"."""
        if self.framework != "tensorflow":
            return f"{self.imports.name({'jax': 'jax.lax', 'torch': 'torch'}[self.framework])}.cond"
        bound = {(one.module, one.name) for one in self.scene.document.unit.imports}
        if ("keras", "") in bound and ("tensorflow", "") not in bound:
            return f"{self.imports.name('keras')}.ops.cond"
        return f"{self.imports.name('tensorflow')}.cond"

    def split_condition(self, test: cst.BaseExpression) -> Condition:
        """Take apart the condition on a tensor."""
        found = condition(self.scene, test, self.framework, self.imports)
        if isinstance(found, NoFix) or found.static:
            raise _UnfitError
        if found.rank != 0:
            self.assume([f"`{brief(found.text)}` has no dimensions"])
        self.assume(found.assumes)
        return found

    def assume(self, texts: Iterable[str]) -> None:
        """Note what has to hold for the result to be the same."""
        self.assumes += [text for text in texts if text not in self.assumes]

    def compute(self, nodes: Iterable[cst.CSTNode]) -> None:
        """Note what has to hold for code to run within a function that is traced, whether or not it is chosen."""
        nodes = list(nodes)
        if self.framework == "torch":
            self._share_nothing(nodes)
        kinds = (cst.Call, cst.NamedExpr, cst.Yield, cst.Await, cst.IfExp, cst.BooleanOperation, cst.Lambda)
        for part in (part for node in nodes for part in self.scene.descend(node, *kinds)):
            if isinstance(part, cst.Lambda) and not self._is_branch(part):
                raise _UnfitError
            barrier = barrier_of(self.scene, part, self.framework)
            if isinstance(part, cst.Call) and barrier and self._is_own(part):
                told = _OWN.get(self.framework, "does nothing but compute")
                self.assume([f"`{self.scene.code(part.func)}` {told}"])
            elif barrier and not self._draws_with_key(part):
                raise _UnfitError

    def _share_nothing(self, nodes: Sequence[cst.CSTNode]) -> None:
        """Note what has to hold for branches to be traced by `torch.cond`, which allows no two views of one tensor."""
        self.computed += nodes
        found = torch_conds.views(self.scene, self.node, self.computed)
        if found is None or any(torch_conds.breaks(self.scene, one) for one in nodes):
            raise _UnfitError
        self.views = found

    def _is_branch(self, node: cst.Lambda) -> bool:
        """Return whether a lambda is one side of another `cond`."""
        holder = self.scene.nearest(node, cst.Call)
        return holder is not None and values.callee(self.scene.value(holder.func)).endswith(".cond")

    def _is_own(self, node: cst.Call) -> bool:
        """Return whether a call is of one of the program's functions. Layers of JAX and Keras are excluded: they keep state."""
        found = members(self.scene.value(node.func))
        return bool(found) and all(
            type(one) is Function and (one.receiver is None or self.framework == "torch") for one in found
        )

    def _draws_with_key(self, node: cst.CSTNode) -> bool:
        """Return whether a node draws random numbers with a key, so that each run draws the same."""
        return isinstance(node, cst.Call) and values.callee(self.scene.value(node.func)).startswith("jax.random.")

    def compare(self, first: Side, second: Side) -> None:
        """Note what has to hold for both sides to be of one type."""
        for side in (first, second):
            if side.type.number or not values.is_tensor(side.value, self.framework):
                raise _UnfitError
        if apart(first.type, second.type):
            raise _UnfitError
        if not alike(first.type, second.type):
            told = "the same shape, dtype and strides" if self.framework == "torch" else "the same shape and dtype"
            self.assume([f"`{brief(first.text)}` and `{brief(second.text)}` have {told}"])

    def define(self, wish: str, parameters: Sequence[str], lines: Sequence[cst.CSTNode], result: str) -> str:
        """A function of some statements, to be written in front of the call; its name."""
        if not movable(self.scene, lines):
            raise _UnfitError
        name = self.scene.fresh(wish)
        inner = f"{self.indent}    "
        body = block(self.scene, lines, inner).rstrip()
        head = f"{self.indent}def {name}({', '.join(parameters)}):"
        self.defined.append("\n".join([head, body, f"{inner}return {result}"]))
        self.moved.append((self.scene.whole(lines[0])[0], self.scene.whole(lines[-1])[1]))
        return name

    def write(self, text: str, replaced: Sequence[cst.CSTNode]) -> _Made:
        """The whole, in the place of some statements, with the comments in them that did not move."""
        start, end = self.scene.span(replaced[0])[0], self.end(replaced[-1])
        found = [one for statement in replaced for one in self.scene.descend(statement, cst.Comment)]
        kept = [one.value for one in found if self._stays(self.scene.span(one)[0], start)]
        lines = [*kept, text]
        if self.defined:
            own = [textwrap.dedent(one) for one in self.defined]
            lines = ["\n\n".join([*own, ""]), *lines]
        code = textwrap.indent("\n".join(lines).replace("\n\n\n", "\n\n"), self.indent)[len(self.indent) :]
        if self.elif_:
            code = f"else:\n{self.indent}{code}"
        elif self.defined and self._follows_code(start):
            start, code = start - len(self.indent), f"\n{self.indent}{code}"
        made = (Replacement(start, end, code), *self.imports.needed)
        if self.framework == "torch":
            self.assume([f"{' and '.join(f'`{one}`' for one in self.views)} share no memory"] if self.views[1:] else [])
            self.assume([] if without_gradient(self.scene, self.node) else [_NO_GRADIENT])
            self.assume([_ONE_LAYOUT])
        return _Made(Rewrite(f"Use `{self.name}`", made, all_of(self.assumes)), self.assumes)

    def _stays(self, at: int, start: int) -> bool:
        """Return whether a comment at an offset lies within what is replaced, but in no function that is defined."""
        return at >= start and not any(first <= at < last for first, last in self.moved)

    def _follows_code(self, start: int) -> bool:
        """Return whether a statement stands directly above, in the same block."""
        _, index = self.scene.siblings(self.node)
        above = self.scene.document.text[:start].split("\n")[-2:-1]
        return bool(index and above and above[0].strip())

    def end(self, statement: cst.CSTNode) -> int:
        """Where a statement ends, the line end left out."""
        start, end = self.scene.span(statement)
        return start + len(self.scene.document.text[start:end].rstrip())


# ------------------------------------------------------------------------------------------------ assignments


class _Body:
    """The assignments of one branch, in order."""

    def __init__(self, cond: _Cond, body: cst.BaseSuite | None) -> None:
        scene = cond.scene
        self.lines = [line for line in body.body if not _is_pass(line)] if body is not None else []
        steps = [read_assignment(scene, line) for line in self.lines]
        self.steps: list[Assigned] = [step for step in steps if step is not None]
        if len(self.steps) != len(self.lines):
            raise _UnfitError
        cond.compute(step.value for step in self.steps)
        self.names = list(dict.fromkeys(step.name for step in self.steps))
        self.outer: set[str] = set()  # the names that it reads as they were
        bound: set[str] = set()
        for step in self.steps:
            self.outer |= (reads(scene, step.value) | ({step.name} if step.sign else set())) - bound
            bound.add(step.name)

    def step(self, name: str) -> Assigned | None:
        """The assignment that a name leaves the branch with."""
        return next((step for step in reversed(self.steps) if step.name == name), None)

    def is_flat(self, scene: FunctionSource, live: Sequence[str]) -> bool:
        """Return whether all assignments could be made at once."""
        read = {name for step in self.steps[1:] for name in reads(scene, step.value)}
        alone = len(self.names) == len(self.steps) and set(self.names) <= set(live)
        return alone and not read & set(self.names[:-1]) and all("\n" not in scene.code(s.value) for s in self.steps)


class _Assignments(_Cond):
    """`if t: x = f(x)` → `x = jax.lax.cond(t, lambda x: f(x), lambda x: x, x)`."""

    def make(self) -> _Made:
        """The rewrite."""
        scene, node = self.scene, self.node
        if isinstance(node.orelse, cst.If):  # which has to be rewritten first
            raise _UnfitError
        asked = self.split_condition(node.test)
        bodies = [_Body(self, node.body), _Body(self, node.orelse.body if node.orelse is not None else None)]
        bound = list(dict.fromkeys(name for body in bodies for name in body.names))
        live = [name for name in bound if live_after(scene, node, name)]
        if not live:
            raise _UnfitError
        if self.framework == "torch":
            self._change_nothing(bodies, live)
        for name in live:
            self.compare(*(self._side(body, name) for body in bodies))
        operands = [name for name in bound if any(self._needs(body, name, live) for body in bodies)]
        if not all(values.is_tensor(value_before(scene, node, name), self.framework) for name in operands):
            raise _UnfitError
        functions = [
            self._function(body, wish, operands, live)
            for body, wish in zip(bodies, _NAMES[self.framework], strict=True)
        ]
        if asked.turned:
            functions.reverse()
        lead = f"{', '.join(live)} = "
        given = [asked.text, *functions, *self._operands(operands)]
        text = lead + call(self.name, given, len(self.indent) + len(lead), "", width=width_of(scene))
        return self.write(text, [node])

    def _change_nothing(self, bodies: Iterable[_Body], live: Iterable[str]) -> None:
        """Refuse what is changed in place: in the branches, or behind them where the name held on to a tensor."""
        inside = any(step.sign for body in bodies for step in body.steps)
        if inside or any(is_written(self.scene, self.node, name) for name in live):
            raise _UnfitError

    def _operands(self, names: Sequence[str]) -> Sequence[str]:
        """List the operands of the functions, which follow them as arguments."""
        if self.framework == "torch":
            return (f"({', '.join(names)}{',' * (len(names) == 1)})",)
        return names if self.framework == "jax" else ()

    def _needs(self, body: _Body, name: str, live: Sequence[str]) -> bool:
        """Return whether a branch reads the old value of a variable that the branches assign."""
        return name in body.outer or (name in live and name not in body.names)

    def _side(self, body: _Body, name: str) -> Side:
        scene = self.scene
        step = body.step(name)
        if step is None:
            return keep_value(name, value_before(scene, self.node, name))
        if step.sign:
            line = body.lines[body.steps.index(step)]
            target = next(one for one in scene.descend(line, cst.Name) if one.value == name)
            return Side(f"{name} {step.sign} {atom(scene, step.value)}", scene.value(target), Type(), FLAT)
        types, slopes = Types(scene, self.framework), Slopes(scene, self.framework)
        for one in body.steps[: body.steps.index(step)]:
            if not one.sign:
                types.assign(one.name, one.value)
            elif one.name in reads(scene, step.value):
                return side_of(scene, step.value, types, slopes)._replace(type=Type())
        return side_of(scene, step.value, types, slopes)

    def _function(self, body: _Body, wish: str, operands: Sequence[str], live: Sequence[str]) -> str:
        """A branch as code for a function: a lambda where one expression does, else the name of one that is defined."""
        scene = self.scene
        parameters = ", ".join(operands)
        traced = self.framework != "tensorflow"
        if body.is_flat(scene, live):
            own = [self._code(body.step(name), name) for name in live]
            if traced and len(live) == 1 and (name := _called_with(scene, body.step(live[0]), operands)):
                return name
            result = own[0] if len(live) == 1 else f"({', '.join(own)})"
            return f"lambda {parameters}: {result}" if traced and operands else f"lambda: {result}"
        needed = list(operands) if traced else [name for name in operands if name in body.outer & set(body.names)]
        result = ", ".join(self._copy_name(body, name) for name in live)
        name = self.define(wish, needed, body.lines, result)
        return name if traced or not needed else f"lambda: {name}({', '.join(needed)})"

    def _copy_name(self, body: _Body, name: str) -> str:
        """A name as what a branch that is defined gives."""
        step = body.step(name)
        fresh = self.framework != "torch" or (step is not None and torch_conds.is_new(self.scene, step.value))
        return name if fresh else f"{name}.clone()"

    def _code(self, step: Assigned | None, name: str) -> str:
        if self.framework == "torch":
            return f"{name}.clone()" if step is None else torch_conds.new(self.scene, step.value)
        if step is None:
            return name
        if step.sign:
            return f"{name} {step.sign} {atom(self.scene, step.value)}"
        return argument(self.scene, step.value)


# ---------------------------------------------------------------------------------------------------- returns


class _Returns(_Cond):
    """`if t: return a` with a `return b` behind it → `return jax.lax.cond(t, lambda: a, lambda: b)`."""

    def __init__(self, site: Site, node: cst.If) -> None:
        super().__init__(site, head_of(site.scene, node))

    def make(self) -> _Made:
        """The rewrite."""
        scene = self.scene
        chain = chain_of(scene, self.node)
        if isinstance(chain, NoFix):
            raise _UnfitError
        asked = [self.split_condition(test) for test, _ in chain.cases]
        self.compute([test for test, _ in chain.cases[1:]])
        self.compute([*(value for _, value in chain.cases), *chain.between, chain.otherwise])
        self._compare(chain)
        inner = self._last(chain)
        column, indent = len(self.indent) + len("return "), ""
        for one, (_, value) in reversed(list(zip(asked, chain.cases, strict=True))):
            taken = self._lambda(value)
            pair = [inner, taken] if one.turned else [taken, inner]
            given = [one.text, *pair, *(["()"] if self.framework == "torch" else [])]
            made = call(self.name, given, column, indent, width=width_of(scene))
            inner = f"lambda: {made}"
        replaced = [*chain.conditions, *chain.between, *([chain.last] if chain.last is not None else [])]
        return self.write(f"return {made}", replaced)

    def _compare(self, chain: Chain) -> None:
        types, slopes = Types(self.scene, self.framework), Slopes(self.scene, self.framework)
        taken = [[side_of(self.scene, part, types, slopes) for part in _parts(value)] for _, value in chain.cases]
        for line in chain.between:
            if read_assignment(self.scene, line) is None:
                raise _UnfitError
            for name, value in assignments(line):
                types.assign(name, value)
        last = [side_of(self.scene, part, types, slopes) for part in _parts(chain.otherwise)]
        for sides in reversed(taken):
            if len(sides) != len(last):
                raise _UnfitError
            for one, other in zip(sides, last, strict=True):
                self.compare(one, other)

    def _lambda(self, value: cst.BaseExpression) -> str:
        return f"lambda: {self._result(value)}"

    def _result(self, value: cst.BaseExpression) -> str:
        if self.framework != "torch":
            return argument(self.scene, value)
        parts = [torch_conds.new(self.scene, one) for one in _parts(value)]
        return f"({', '.join(parts)})" if isinstance(value, cst.Tuple) else parts[0]

    def _last(self, chain: Chain) -> str:
        """Return the function of the last alternative: its result, and what is computed for it."""
        if not chain.between:
            return self._lambda(chain.otherwise)
        bound: set[str] = set()
        outer: list[str] = []
        steps = [step for line in chain.between if (step := read_assignment(self.scene, line)) is not None]
        for step in steps:
            outer += sorted((reads(self.scene, step.value) | ({step.name} if step.sign else set())) - bound)
            bound.add(step.name)
        needed = [name for name in dict.fromkeys(outer) if name in bound]
        result = self.scene.code(chain.otherwise)
        made = next((step.value for step in reversed(steps) if step.name == result), None)
        if self.framework == "torch" and (made is None or not torch_conds.is_new(self.scene, made)):
            result = self._result(chain.otherwise)
        if "\n" in result:
            raise _UnfitError
        name = self.define(_NAMES[self.framework][1], needed, chain.between, result)
        return f"lambda: {name}({', '.join(needed)})" if needed else name


def _parts(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The elements of a tuple that is written out, or the one expression."""
    return [one.value for one in node.elements] if isinstance(node, cst.Tuple) else [node]


def _called_with(scene: FunctionSource, step: Assigned | None, operands: Sequence[str]) -> str:
    """The function that an assignment calls with some names and nothing else; "" if it does not."""
    if step is None or step.sign or not operands or not isinstance(step.value, cst.Call):
        return ""
    call, args = step.value, step.value.args
    plain = isinstance(call.func, cst.Name) and all(arg.keyword is None and not arg.star for arg in args)
    return scene.code(call.func) if plain and [scene.code(arg.value) for arg in args] == list(operands) else ""


def _is_pass(line: cst.CSTNode) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and all(isinstance(one, cst.Pass) for one in line.body)
