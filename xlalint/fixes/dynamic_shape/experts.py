"""XLA202: the loop over experts that gathers the tokens routed to each → every expert on all tokens, what is not routed to it masked.

How many tokens an expert gets is decided by the data, so each batch compiles anew and each expert waits for the host. With static shapes
every expert sees all tokens, which costs (experts / experts per token) times the arithmetic; for large models a grouped matrix product is
the better, and larger, change. The form, in the order in which published mixtures of experts write it:

    hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()          # or none, and `for expert in range(n)`
    for expert in hit:
        expert = expert[0]
        position, token = torch.where(mask[expert])                   # mask: [experts, positions, tokens]
        out = f(x[token]) * weights[token, position, None]
        total.index_add_(0, token, out)

What is masked is selected by `where`, never multiplied by 0: an expert may overflow on tokens that are not its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import binds, definition, live_after, reads, uses, version
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.text import argument, atom, call, width_of

_ASSUMED = (
    "an expert treats each token by itself, tokens are finite, and {sentinel}running every expert on all tokens is affordable; "
    "a grouped matrix product costs less; experts without tokens get gradients of zeros in place of None, by which optimizers with "
    "weight decay or momentum move them, and dropout draws other numbers"
)
# What would see tokens that are not the expert's own: sizes, and what works along the tokens unless told otherwise.
_COUNTING = frozenset(("shape", "numel", "size", "T", "mT", "t", "transpose", "permute", "view_as"))
_REDUCING = frozenset(
    ("sum", "mean", "max", "min", "amax", "amin", "std", "var", "norm", "softmax", "cumsum", "sort", "argsort", "topk")
)
_WORD = re.compile(r"`?[^\W\d]\w*`?").findall


class _Routing(NamedTuple):
    """`token, position = torch.where(mask)`: the names, and whether the mask has tokens first. `lists` are names of `token.tolist()`."""

    statement: cst.SimpleStatementLine
    mask: cst.BaseExpression
    token: str
    position: str
    tokens_first: bool
    lists: dict[str, str]

    def parts(self, scene: FunctionSource, index: cst.Subscript) -> list[str]:
        """The parts of an index, with the names of lists taken for what they are lists of."""
        parts = [scene.code(element).rstrip(", ") for element in index.slice]
        return [self.lists.get(part, part) for part in parts]


class _Sum(NamedTuple):
    """A statement that adds what an expert gives of its tokens to the total."""

    statement: cst.CSTNode
    total: cst.BaseExpression
    value: cst.BaseExpression


class _Rows(NamedTuple):
    """Names: `picked` are all tokens themselves, `made` come of them."""

    picked: set[str]
    made: set[str]


class _Refused(Exception):  # noqa: N818 - control flow: carries the reason out of the walk
    """Why a loop cannot be rewritten."""


def dense_experts(site: Site) -> Rewrite | NoFix | None:
    """Rewrite the loop that a `nonzero` or a `torch.where(mask)` belongs to."""
    if site.framework != "torch" or not isinstance(site.node, cst.Call):
        return None
    loop = _loop(site.scene, site.node)
    routing = _routing(site.scene, loop) if loop is not None else None
    if loop is None or routing is None:
        return None
    try:
        return _Dense(site.scene, loop, routing).rewrite()
    except _Refused as refused:
        return NoFix(f"{refused}; by hand, give every expert a fixed capacity, or use a grouped matrix product")


def _loop(scene: FunctionSource, call: cst.Call) -> cst.For | None:
    """The loop that a call stands in, or that iterates over the name that the call's result is assigned to."""
    inside = scene.nearest(call, cst.For)
    if inside is not None and scene.nearest(call, cst.IndentedBlock, cst.For) is not inside:
        return inside
    assign = scene.nearest(call, cst.Assign)
    name = assign.targets[0].target if assign is not None and len(assign.targets) == 1 else None
    function = scene.function(call)
    if not isinstance(name, cst.Name) or function is None:
        return None
    return next((one for one in scene.descend(function, cst.For) if name.value in reads(scene, one.iter)), None)


def _routing(scene: FunctionSource, loop: cst.For) -> _Routing | None:
    """The statement in a loop that asks which tokens go to an expert."""
    for line in scene.descend(loop.body, cst.SimpleStatementLine):
        assign = line.body[0] if len(line.body) == 1 else None
        if not isinstance(assign, cst.Assign) or not isinstance(assign.value, cst.Call):
            continue
        call, target = assign.value, assign.targets[0].target
        if values.callee(scene.value(call.func)) != "torch.where" or len(call.args) != 1:
            continue
        if isinstance(target, cst.Tuple) and len(target.elements) == 2:
            first, second = (element.value for element in target.elements)
            if isinstance(first, cst.Name) and isinstance(second, cst.Name):
                return _order(scene, loop, line, call.args[0].value, first.value, second.value)
    return None


def _order(
    scene: FunctionSource,
    loop: cst.For,
    line: cst.SimpleStatementLine,
    mask: cst.BaseExpression,
    first: str,
    second: str,
) -> _Routing | None:
    """Find which of the two names counts tokens: it indexes alone, while the other one only follows it and weights."""
    lists = _lists(scene, loop, (first, second))
    for token, position in ((first, second), (second, first)):
        routing = _Routing(line, mask, token, position, token == first, lists)
        if any(routing.parts(scene, one)[:2] == [token, position] for one in scene.descend(loop.body, cst.Subscript)):
            return routing
    return None


def _lists(scene: FunctionSource, loop: cst.For, names: Sequence[str]) -> dict[str, str]:
    """Names that hold the same indices as Python lists."""
    made = {f"{name}.tolist()": name for name in names}
    lists: dict[str, str] = {}
    for assign in scene.descend(loop.body, cst.Assign):
        target = assign.targets[0].target
        if isinstance(target, cst.Name) and scene.code(assign.value) in made:
            lists[target.value] = made[scene.code(assign.value)]
    return lists


def _row_size(scene: FunctionSource, call: cst.Call) -> cst.BaseExpression | None:
    """The size of the rows that a tensor is cut into: `d` of `x.reshape(-1, d)`; None of another call."""
    sizes = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    alone = method in ("reshape", "view") and len(sizes) == len(call.args) == 2
    return sizes[1] if alone and scene.code(sizes[0]) == "-1" else None


class _Dense:
    """The rewrite of one loop."""

    def __init__(self, scene: FunctionSource, loop: cst.For, routing: _Routing) -> None:
        self.scene = scene
        self.loop = loop
        self.routing = routing
        self.imports = Imports(scene, loop)
        self.made: list[Replacement] = []
        self.done: set[cst.CSTNode] = set()
        self.sums: list[_Sum] = []
        self.removed: list[cst.CSTNode] = []
        self.sentinel = ""

    def rewrite(self) -> Rewrite:
        """All replacements; raises `_Refused`."""
        scene, routing = self.scene, self.routing
        if self.loop.orelse is not None or not isinstance(self.loop.target, cst.Name):
            raise _Refused("the loop over experts has an `else`, or unpacks")
        self._head(self.loop.target.value)
        self.routed = scene.fresh("routed")
        self._where()
        names = [routing.token, routing.position, *routing.lists]
        self._drop_lists()
        for name in names:
            self._rewrite_index(name)
        self._empty_tests()
        self._rest(names)
        assumed = _ASSUMED.format(sentinel=self.sentinel)
        message = f"Run every expert on all tokens, with `{scene.code(routing.mask)}` as a mask"
        return Rewrite(message, (*self.made, *self._removals(), *self.imports.needed), assumed)

    # ------------------------------------------------------------------------------------------------ the loop

    def _head(self, expert: str) -> None:
        """`for expert in hit` → `for expert in range(n)`; a loop that has a static range already stays."""
        if self._static_range():
            return
        hit = self._hit()
        count = self._count()
        self._unwrap(expert, self._rows_are_vectors(hit))
        count = self._drop_skip(expert, count)
        self._replace(self.loop.iter, f"range({count})")

    def _hit(self) -> cst.BaseExpression:
        """Return the expression that says which experts have tokens, where the loop goes over those. Its statement is removed."""
        scene, iterated = self.scene, self.loop.iter
        if not isinstance(iterated, cst.Name):
            if ".nonzero" not in scene.code(iterated):
                raise _Refused("it is not known which experts the loop visits")
            return iterated
        function = scene.function(self.loop) or scene.root
        assigned = self._assignments(iterated.value)
        if len(assigned) != 1 or len(list(uses(scene, function, iterated.value))) != 1:
            raise _Refused(f"`{iterated.value}` is used elsewhere too")
        if ".nonzero(" not in scene.code(assigned[0].value):
            raise _Refused("it is not known which experts the loop visits")
        self._remove(scene.statement(assigned[0]))
        return assigned[0].value

    def _assignments(self, name: str) -> list[cst.Assign]:
        """The assignments of the function that bind a name, and nothing else."""
        function = self.scene.function(self.loop) or self.scene.root
        return [
            one
            for one in self.scene.descend(function, cst.Assign)
            if [self.scene.code(target.target) for target in one.targets] == [name]
        ]

    def _rows_are_vectors(self, hit: cst.BaseExpression) -> bool:
        """Return whether a turn gets a vector of one index (as rows of `nonzero()` are), not the index itself."""
        return (
            not self.scene.code(hit)
            .replace(" ", "")
            .endswith(
                (".squeeze(-1)", ".squeeze(1)", ".squeeze()", ".flatten()", ".view(-1)", ".reshape(-1)", "[:,0]", "[0]")
            )
        )

    def _unwrap(self, expert: str, vector: bool) -> None:
        """`expert[0]` and `expert.item()` → `expert`; a statement that does nothing else goes."""
        scene = self.scene
        rebound = False
        for line in self.loop.body.body:
            if isinstance(line, cst.SimpleStatementLine) and scene.code(line.body[0]).replace(" ", "") in (
                f"{expert}={expert}[0]",
                f"{expert}={expert}.item()",
                f"{expert}=int({expert})",
            ):
                self._remove(line)
                rebound = True
        if rebound:
            return
        for use in uses(scene, self.loop.body, expert):
            holder = scene.parent(use)
            if isinstance(holder, cst.Subscript) and holder.value is use and scene.code(holder).endswith("[0]"):
                self._replace(holder, expert)
            elif vector and not self._is_mask_row(use):
                raise _Refused(f"`{expert}` is a vector of one index, and is used as such")

    def _is_mask_row(self, use: cst.Name) -> bool:
        """Return whether an expert's number picks the mask's row, whose first dimension is then squeezed: `mask[expert].squeeze(0)`."""
        scene = self.scene
        mask = self.routing.mask
        return use in set(scene.descend(mask, cst.Name)) and scene.code(mask).replace(" ", "").endswith(".squeeze(0)")

    def _row(self) -> cst.BaseExpression:
        """The mask of one expert: `mask[expert]`, with the `.squeeze(0)` gone that a vector of one index needed."""
        mask = self.routing.mask
        squeezed = self.scene.code(mask).replace(" ", "").endswith(".squeeze(0)") and not self._static_range()
        if squeezed and isinstance(mask, cst.Call) and isinstance(mask.func, cst.Attribute):
            return mask.func.value
        return mask

    def _static_range(self) -> bool:
        return (
            isinstance(self.loop.iter, cst.Call)
            and values.callee(self.scene.value(self.loop.iter.func)) == "builtins.range"
        )

    def _count(self) -> str:
        """How many experts the mask has rows for: the `num_classes` that it was made with, else its first size."""
        scene = self.scene
        mask = next((one for one in scene.descend(self.routing.mask, cst.Subscript)), None)
        if mask is None or not isinstance(mask.value, cst.Name):
            raise _Refused("the mask of an expert is not a row of a mask of all")
        name = mask.value.value
        assigned = [one.value for one in self._assignments(name)]
        made = [call for value in assigned for call in scene.descend(value, cst.Call)]
        hot = [call for call in made if values.callee(scene.value(call.func)) == "torch.nn.functional.one_hot"]
        classes = self._classes(hot[0]) if len(hot) == 1 and len(assigned) <= 2 else None
        return scene.code(classes) if classes is not None else f"{name}.shape[0]"

    def _classes(self, call: cst.Call) -> cst.BaseExpression | None:
        for number, arg in enumerate(call.args):
            if (arg.keyword is not None and arg.keyword.value == "num_classes") or (
                arg.keyword is None and number == 1
            ):
                return arg.value
        return None

    def _drop_skip(self, expert: str, count: str) -> str:
        """`if expert == n: continue` for the class past the last expert goes, with that class."""
        before = count.removesuffix("+ 1").rstrip()
        for line in self.loop.body.body:
            if self._skips(line, (f"{expert} == {before}", f"{expert} >= {before}")):
                self._remove(line)
                return before
        if before == count:
            return count
        self.sentinel = f"no token goes to the class past `{before}`, "
        return before

    # ------------------------------------------------------------------------------------------------ the body

    def _where(self) -> None:
        """`position, token = torch.where(mask[expert])` → `routed = mask[expert].bool()`."""
        row = self._row()
        known = values.is_bool(self.scene.value(self.routing.mask))
        made = self.scene.code(row) if known else f"{atom(self.scene, row)}.bool()"
        self._replace(self.routing.statement.body[0], f"{self.routed} = {made}")
        self.done.add(self.routing.statement)

    def _drop_lists(self) -> None:
        """The statements that make lists of the indices go."""
        scene = self.scene
        for assign in scene.descend(self.loop.body, cst.Assign):
            if scene.code(assign.targets[0].target) in self.routing.lists:
                self._remove(scene.statement(assign))

    def _rewrite_index(self, name: str) -> None:
        """Rewrite what is picked by token: `x[token]` → `x`, `weights[token, position, None]` → the expert's weight of each token."""
        for use in uses(self.scene, self.loop.body, name):
            if self._inside_done(use):
                continue
            index = self.scene.nearest(use, cst.Subscript)
            if index is not None and any(use in set(self.scene.descend(one, cst.Name)) for one in index.slice):
                self._pick(index)

    def _pick(self, index: cst.Subscript) -> None:
        scene, routing = self.scene, self.routing
        if index in self.done:
            return
        parts = routing.parts(scene, index)
        augmented = scene.parent(index)
        if isinstance(augmented, cst.AugAssign) and augmented.target is index and parts == [routing.token]:
            if not isinstance(augmented.operator, cst.AddAssign):
                raise _Refused("what an expert gives is not added up")
            self.sums.append(_Sum(augmented, index.value, augmented.value))
        elif parts == [routing.token]:
            self._replace(index, argument(scene, index.value))
        elif parts == ["None", routing.token]:
            flattened = self._find_flattening(index)
            if flattened is None:
                self._replace(index, f"{atom(scene, index.value)}[None]")
            else:
                self._replace(flattened, argument(scene, index.value))
        elif parts == [routing.token, routing.position, "None"]:
            mask = self.routed if routing.tokens_first else f"{self.routed}.T"
            self._replace(index, self._weight(index, f"{mask}, {scene.code(index.value)}, 0"))
        else:
            raise _Refused(f"`{scene.code(index)}` picks tokens in another way")
        self.done.add(index)

    def _find_flattening(self, index: cst.Subscript) -> cst.Call | None:
        """The call that makes rows of `x[None, token]` again, where `x` has such rows: `x[None, token].reshape(-1, d)`."""
        scene = self.scene
        call = scene.parent(scene.parent(index))
        rows = _row_size(scene, call) if isinstance(call, cst.Call) else None
        name = index.value
        made = definition(scene, name) if isinstance(name, cst.Name) else None
        size = _row_size(scene, made.value) if made is not None and isinstance(made.value, cst.Call) else None
        if not isinstance(call, cst.Call) or rows is None or size is None or scene.code(rows) != scene.code(size):
            return None
        kept = all(version(scene, one, size) == version(scene, one, rows) is not None for one in reads(scene, size))
        return call if kept else None

    def _weight(self, index: cst.Subscript, selected: str) -> str:
        """Each token's weight for the expert: the name of a statement above that one, which works it out, unless it has a name."""
        made = f"{self.imports.name('torch')}.where({selected}).sum(-1, keepdim=True)"
        if isinstance(self.scene.parent(index), cst.Assign):
            return made
        name = self.scene.fresh("weight")
        line = self.scene.statement(index)
        start, _ = self.scene.span(line)
        made = f"{name} = {made}"
        self.made.append(Replacement(start, start, f"{made}\n{self.scene.indent(line)}"))
        return name

    def _accumulate(self, statement: cst.CSTNode, total: cst.BaseExpression, value: cst.BaseExpression) -> None:
        """Add what the expert gives of its own tokens."""
        torch = self.imports.name("torch")
        mask = f"{self.routed}.any({1 if self.routing.tokens_first else 0})[:, None]"
        head = f"{self.scene.code(total)} += "
        indent = self.scene.indent(statement)
        selected = [mask, self._substitute(value), "0"]
        made = call(f"{torch}.where", selected, len(indent) + len(head), indent, width=width_of(self.scene))
        self._replace(statement, head + made)

    def _substitute(self, node: cst.BaseExpression) -> str:
        """The code of an expression with what was replaced in it so far."""
        start, end = self.scene.span(node)
        inside = sorted(one for one in self.made if start <= one.start and one.end <= end)
        self.made = [one for one in self.made if one not in inside]
        text, pieces = self.scene.document.text, []
        for one in inside:
            pieces += [text[start : one.start], one.text]
            start = one.end
        return "".join([*pieces, text[start:end]])

    def _empty_tests(self) -> None:
        """`if token.numel() == 0: continue` goes: an expert without tokens adds nothing."""
        tests = [f"{self.routing.token}{size} == 0" for size in (".numel()", ".shape[0]", ".size(0)")] + [
            f"len({self.routing.token}) == 0"
        ]
        for line in self.loop.body.body:
            if self._skips(line, tests):
                self._remove(line)

    def _skips(self, line: cst.CSTNode, tests: Sequence[str]) -> bool:
        """Return whether a statement is `if test: continue`, for one of some tests."""
        if not isinstance(line, cst.If) or line.orelse is not None or self.scene.code(line.test) not in tests:
            return False
        return [self.scene.code(one) for one in line.body.body] == ["continue"]

    def _rest(self, names: list[str]) -> None:
        """`total.index_add_(0, token, out)`, and nothing else, may still speak of single tokens."""
        scene = self.scene
        for added in scene.descend(self.loop.body, cst.Call):
            if values.callee(scene.value(added.func)) == ".index_add_" and isinstance(added.func, cst.Attribute):
                self._index_add(added, added.func.value)
        for name in names:
            left = [use for use in uses(scene, self.loop.body, name) if not self._inside_done(use)]
            if left:
                raise _Refused(f"`{name}` is used for more than to pick and to add up tokens")
        if not self.sums:
            raise _Refused("what an expert gives is not added up in the loop")
        self._aliases()
        for one in self.sums:
            self._accumulate(*one)

    def _index_add(self, call: cst.Call, total: cst.BaseExpression) -> None:
        scene = self.scene
        codes = [scene.code(arg.value) for arg in call.args]
        if len(codes) != 3 or codes[0] != "0" or codes[1] != self.routing.token or not self._is_statement(call):
            raise _Refused("what an expert gives is added up in another way")
        self.sums.append(_Sum(scene.parent(call), total, call.args[2].value))
        self.done.add(call.args[1].value)

    def _is_statement(self, call: cst.Call) -> bool:
        return isinstance(self.scene.parent(call), cst.Expr)

    def _aliases(self) -> None:
        """Check that what is no longer a copy is not changed in place, and that rows stay apart."""
        scene = self.scene
        rows = self._rows()
        for changed in scene.descend(self.loop.body, cst.AugAssign):
            if scene.code(changed.target) in rows.picked:
                raise _Refused(f"`{scene.code(changed.target)}` is changed in place")
        for one in scene.descend(self.loop.body, cst.Attribute):
            if isinstance(one.value, cst.Name) and one.value.value in rows.made and self._mixes(one, rows):
                raise _Refused(f"`{scene.code(one)}` sees all tokens at once")
        if self.scene.nearest(self.loop, cst.While) is not None:
            raise _Refused("the loop over experts stands in a loop")
        if any(live_after(scene, self.loop, name) for name in binds(scene, self.loop.body) - self._totals()):
            raise _Refused("what the last expert leaves behind is read after the loop")

    def _rows(self) -> _Rows:
        """The names that hold a row for each token: those that are a picked tensor itself, and all that come of one."""
        scene = self.scene
        picked: set[str] = set()
        made: set[str] = set()
        for assign in scene.descend(self.loop.body, cst.Assign):
            names = {name for target in assign.targets for name in binds(scene, target)}
            if assign.value in self.done:
                picked |= names
            picks = any(one in self.done for one in scene.descend(assign.value, cst.Subscript))
            if picks or reads(scene, assign.value) & made:
                made |= names
        return _Rows(picked, made - {self.routed})

    def _mixes(self, method: cst.Attribute, rows: _Rows) -> bool:
        """Return whether a method of rows works across them, changes what is picked in place, or counts them."""
        name = method.attr.value
        if name in _COUNTING or (name.endswith("_") and self.scene.code(method.value) in rows.picked):
            return True
        called = self.scene.parent(method)
        if name not in _REDUCING or not isinstance(called, cst.Call):
            return False
        return not any(self.scene.code(arg.value) in ("-1", "1", "-2", "2") for arg in called.args)

    def _totals(self) -> set[str]:
        return {name for one in self.sums for name in reads(self.scene, one.total)}

    # --------------------------------------------------------------------------------------------- replacements

    def _replace(self, node: cst.CSTNode, text: str) -> None:
        self.made.append(Replacement(*self.scene.span(node), text))
        self.done.add(node)

    def _remove(self, statement: cst.CSTNode) -> None:
        """Take a statement out, with the comments above it."""
        if len(self.scene.siblings(statement)[0]) == 1:
            raise _Refused("the loop would be left without a statement")
        self.removed.append(statement)
        self.done.add(statement)

    def _removals(self) -> Iterator[Replacement]:
        """Yield the removals. Consecutive statements are removed together, so that no two empty lines are left."""
        runs: list[list[cst.CSTNode]] = []
        for statement in sorted(self.removed, key=self.scene.span):
            siblings, index = self.scene.siblings(statement)
            if runs and index and siblings[index - 1] is runs[-1][-1]:
                runs[-1].append(statement)
            else:
                runs.append([statement])
        yield from (Replacement(*self.scene.lines(run[0], run[-1]), "") for run in runs)
        yield from self._stale_comments()

    def _stale_comments(self) -> Iterator[Replacement]:
        """Yield the removals of comments that speak of a name which is gone, as a name, above statements that stay."""
        scene, text = self.scene, self.scene.document.text
        names = {self.routing.token, self.routing.position, *self.routing.lists}
        gone = {f"`{name}`" for name in names} | {name for name in names if "_" in name}
        for line in self.loop.body.body:
            above = [one.comment for one in getattr(line, "leading_lines", ()) if one.comment is not None]
            words = {word for one in above for word in _WORD(one.value)}
            if line not in self.removed and words & gone:
                start = text.rfind("\n", 0, scene.span(above[0])[0]) + 1
                yield Replacement(start, text.find("\n", scene.span(above[-1])[1]) + 1, "")

    def _inside_done(self, node: cst.CSTNode) -> bool:
        return any(one in self.done for one in (node, *self._lineage(node)))

    def _lineage(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        for one in self.scene.above(node):
            if one is self.loop:
                return
            yield one
