"""XLA206: loops that fill each row of a matrix up to a bound of its own → one comparison with `arange`."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import Const
from xlalint.fixes.dynamic_shape.slices import Cut, assigned_cut, fitting, is_full, places, write_bound
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import definition, live_after, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.row_counts import has_rows, made_by, row_counts, take_first, written_out
from xlalint.fixes.toolkit.text import argument, atom, call_at


class Loop(NamedTuple):
    """`for row in range(stop)` or `for row, length in enumerate(lengths)`: `stop` is None in the second form, the others in the first."""

    node: cst.For
    row: cst.Name
    length: cst.Name | None
    lengths: cst.BaseExpression | None
    stop: cst.BaseExpression | None


def prefix_loop(site: Site) -> Rewrite | NoFix | None:
    """`for i, n in enumerate(lengths): x[i, :n] = c` → `x.masked_fill_(torch.arange(x.shape[1]) < lengths[:, None], c)`."""
    scene = site.scene
    found = assigned_cut(site)
    if found is None:
        return None
    cut, assign = found
    loop = _loop_of(scene, assign)
    if loop is None or not _is_matrix_of_rows(scene, cut, loop):
        return None
    if values.rank_of(scene.value(cut.whole)) != 2 or not values.is_tensor(scene.value(cut.whole), "torch"):
        return None
    if not values.is_number(scene.value(assign.value)):
        return None
    names = [loop.row.value, *([loop.length.value] if loop.length is not None else [])]
    if any(live_after(scene, loop.node, name) for name in names) or any(scene.descend(loop.node, cst.Comment)):
        return None
    given = cut.lower if cut.upper is None else cut.upper
    if given is None or (cut.lower is not None and cut.upper is not None):
        return None
    lengths = _find_lengths(scene, given, loop)
    if lengths is None or type(scene.value(assign.value)) is not Const or not _is_repeatable(scene, loop.stop):
        return None
    if _is_apart(scene, cut, lengths):
        return NoFix(
            f"`{scene.code(cut.whole)}` lies where tensors are made by default: give it the `device` of its lengths"
        )
    taken = _taken_rows(scene, cut, loop, lengths)
    column = _column(scene, given, loop, f"[{taken.of_lengths}, None]")
    return _rewrite(site, cut, loop, assign, lengths, taken, column) if column else None


def _is_apart(scene: FunctionSource, cut: Cut, lengths: cst.BaseExpression) -> bool:
    """Return whether a matrix is made without a device, and its lengths came from elsewhere: a slice takes them from any device."""
    made = made_by(scene, cut.whole) if isinstance(cut.whole, cst.Name) else None
    if made is None or values.callee(scene.value(made.func)).endswith("_like"):
        return False
    if any(arg.keyword is not None and arg.keyword.value == "device" for arg in made.args):
        return False
    source = definition(scene, lengths) if isinstance(lengths, cst.Name) else None
    call = source.value if source is not None else None
    named = values.callee(scene.value(call.func)) if isinstance(call, cst.Call) else ""
    return named not in ("torch.as_tensor", "torch.LongTensor", "torch.tensor") or "device" in scene.code(
        call or lengths
    )


def _loop_of(scene: FunctionSource, assign: cst.Assign) -> Loop | None:
    """The loop whose body is this assignment alone."""
    line = scene.statement(assign)
    loop = scene.nearest(scene.parent(line), cst.For)
    alone = loop is not None and isinstance(loop.body, cst.IndentedBlock) and list(loop.body.body) == [line]
    return loop_around(scene, loop) if loop is not None and alone else None


def loop_around(scene: FunctionSource, loop: cst.For) -> Loop | None:
    """The names of a loop over rows; None for another loop."""
    if loop.orelse is not None or loop.asynchronous is not None:
        return None
    if not isinstance(loop.iter, cst.Call) or any(arg.keyword is not None or arg.star for arg in loop.iter.args):
        return None
    name, operand = values.callee(scene.value(loop.iter.func)), loop.iter.args[0].value if loop.iter.args else None
    if name == "builtins.range" and len(loop.iter.args) == 1 and isinstance(loop.target, cst.Name):
        return Loop(loop, loop.target, None, None, operand)
    if (
        name != "builtins.enumerate"
        or operand is None
        or len(loop.iter.args) != 1
        or not isinstance(loop.target, cst.Tuple)
    ):
        return None
    both = [one.value for one in loop.target.elements]
    if len(both) != 2 or not isinstance(both[0], cst.Name) or not isinstance(both[1], cst.Name):
        return None
    return Loop(loop, both[0], both[1], operand, None)


def _is_matrix_of_rows(scene: FunctionSource, cut: Cut, loop: Loop) -> bool:
    """Return whether the subscript is `whole[row, …:…]`."""
    if len(cut.before) != 1 or cut.after or not isinstance(cut.before[0], cst.Index):
        return False
    index = cut.before[0].value
    return isinstance(index, cst.Name) and index.value == loop.row.value and not is_full(cut.before[0])


def _column(scene: FunctionSource, given: cst.BaseExpression, loop: Loop, every: str) -> str:
    """A row's bound, written for all rows at once: `lengths[:, None]` of `lengths[row]`; "" if that cannot be done."""
    if isinstance(given, cst.BinaryOperation) and isinstance(given.operator, (cst.Add, cst.Subtract)):
        left, right = _column(scene, given.left, loop, every), _column(scene, given.right, loop, every)
        return f"{left} {scene.code(given.operator)} {right}" if left and right else ""
    lengths = _lengths_of(scene, given, loop)
    if lengths is not None:
        fits = values.is_tensor(scene.value(lengths), "torch") and values.rank_of(scene.value(lengths)) <= 1
        return f"{atom(scene, lengths)}{every}" if fits else ""
    free = not any(list(uses(scene, given, name.value)) for name in (loop.row, loop.length) if name is not None)
    return write_bound(scene, given) if free and type(scene.value(given)) is Const else ""


def _lengths_of(scene: FunctionSource, given: cst.BaseExpression, loop: Loop) -> cst.BaseExpression | None:
    """`lengths` of `lengths[row]`, or of the name that `enumerate(lengths)` gives one of them."""
    if isinstance(given, cst.Name) and loop.length is not None and given.value == loop.length.value:
        return loop.lengths
    if isinstance(given, cst.Subscript) and len(given.slice) == 1 and isinstance(given.slice[0].slice, cst.Index):
        index = given.slice[0].slice.value
        return given.value if isinstance(index, cst.Name) and index.value == loop.row.value else None
    return None


def _find_lengths(scene: FunctionSource, given: cst.BaseExpression, loop: Loop) -> cst.BaseExpression | None:
    """The first lengths, one a row, in a row's bound."""
    parts = [given, *scene.descend(given, cst.Name, cst.Subscript)]
    return next((found for part in parts if (found := _lengths_of(scene, part, loop)) is not None), None)


class _Taken(NamedTuple):
    """The rows that a loop goes over, as a slice of the matrix and of the lengths: ":" for all of them."""

    of_whole: str
    of_lengths: str


def _taken_rows(scene: FunctionSource, cut: Cut, loop: Loop, lengths: cst.BaseExpression) -> _Taken:
    """A loop over the lengths, or over what asks for their number, is taken to be one over all rows; `range(6)` is one over six."""
    if loop.stop is None:
        return _Taken(":", ":")
    counts = {scene.code(loop.stop), written_out(scene, loop.stop)}
    part = take_first(scene.code(loop.stop))
    if counts & set(row_counts(scene.code(lengths))):
        return _Taken(":", ":")
    if not isinstance(cut.whole, cst.Name) or not any(has_rows(scene, cut.whole, count) for count in counts):
        return _Taken(part, part)
    return _Taken(":", part if type(scene.value(loop.stop)) is Const else ":")


def _is_repeatable(scene: FunctionSource, stop: cst.BaseExpression | None) -> bool:
    """Return whether a loop's end is a number that may be written twice."""
    return stop is None or (
        values.is_number(scene.value(stop)) and not any(scene.descend(stop, cst.NamedExpr, cst.Await))
    )


def _rewrite(
    site: Site,
    cut: Cut,
    loop: Loop,
    assign: cst.Assign,
    lengths: cst.BaseExpression,
    taken: _Taken,
    column: str,
) -> Rewrite:
    scene = site.scene
    imports = Imports(scene, assign)
    whole = scene.code(cut.whole)
    rows = f"`{whole}`" if taken.of_whole == ":" else f"`{whole}[{taken.of_whole}]`"
    assumed = [f"`{scene.code(lengths)}` has a length for each row of {rows}, not negative, and is on its device"]
    lower, upper = ("", column) if cut.lower is None else (column, "")
    creation = _zeros_before(scene, cut, loop) if upper and taken.of_whole == ":" else None
    if creation is not None and scene.value(assign.value).value is True:  # type: ignore[attr-defined]
        statement, size, device = creation
        text = f"{whole} = {imports.name('torch')}.arange({size}{device}) < {column}"
        extent = scene.span(statement)[0], scene.span(assign)[1]
        return Rewrite(
            "Compare `torch.arange` with the lengths", (Replacement(*extent, text), *imports.needed), all_of(assumed)
        )
    mask = places(site, cut, imports, lower, upper, tail="")
    filled = atom(scene, cut.whole) + ("" if taken.of_whole == ":" else f"[{taken.of_whole}]")
    text = call_at(scene, loop.node, f"{filled}.masked_fill_", [mask, argument(scene, assign.value)])
    assumed += fitting(scene, cut.whole, assign.value)
    made = (Replacement(scene.span(loop.node)[0], scene.span(assign)[1], text), *imports.needed)
    return Rewrite("Use `masked_fill_` for all rows at once", made, all_of(assumed))


def _zeros_before(scene: FunctionSource, cut: Cut, loop: Loop) -> tuple[cst.BaseStatement, str, str] | None:
    """The statement before the loop if it is `whole = torch.zeros(rows, size, dtype=torch.bool)`, the size, and its `device=`."""
    siblings, index = scene.siblings(loop.node)
    line = siblings[index - 1] if index else None
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or not isinstance(line.body[0], cst.Assign):
        return None
    assign, call = line.body[0], line.body[0].value
    named = isinstance(cut.whole, cst.Name) and len(assign.targets) == 1
    if not named or scene.code(assign.targets[0].target) != scene.code(cut.whole) or not isinstance(call, cst.Call):
        return None
    if values.callee(scene.value(call.func)) != "torch.zeros" or any(arg.star for arg in call.args):
        return None
    between = scene.document.text[scene.span(line)[1] : scene.span(loop.node)[0]]
    keywords = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    sizes = [arg.value for arg in call.args if arg.keyword is None]
    if len(sizes) == 1 and isinstance(sizes[0], (cst.Tuple, cst.List)):
        sizes = [one.value for one in sizes[0].elements]
    if (
        between.strip()
        or any(scene.descend(line, cst.Comment))
        or len(sizes) != 2
        or set(keywords) - {"dtype", "device"}
    ):
        return None
    if "dtype" not in keywords or scene.code(keywords["dtype"]) not in ("torch.bool", "bool"):
        return None
    device = f", device={scene.code(keywords['device'])}" if "device" in keywords else ""
    return line, argument(scene, sizes[1]), device
