"""XLA201, XLA204: the variance, or standard deviation, of what a mask selects → of the whole, with distances of 0 where the mask is false.

PyTorch divides by the number of elements less one, but never by less than 0: of none, and of one, it gives NaN. A correction of more than 1
is left as it is: of no more elements than that, PyTorch's gradients are infinite where those of the rewrite would be NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import Const
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.operations import arguments_of
from xlalint.fixes.toolkit.text import WIDTH

_FITS = "the sum of the squares is no larger than the dtype allows"
_LATE = (cst.Lambda, cst.IfExp, cst.BooleanOperation, cst.CompFor, cst.GeneratorExp, cst.BaseComp, cst.NamedExpr)


class MaskedPart(NamedTuple):
    """Describes a selection as code: the mask, the number of its true values, and what it selects from."""

    mask: str
    number: str
    whole: str


def correction(scene: FunctionSource, call: cst.Call) -> str:
    """By how much the number of elements is diminished to divide by, as code; "" where that is not told by a literal alone."""
    options: dict[str, cst.BaseExpression] = {arg.keyword.value: arg.value for arg in call.args if arg.keyword}
    given = arguments_of(scene, call)[1:]
    if len(given) == 1 and not options and type(scene.value(given[0])) is Const:
        options = {"unbiased": given[0]}
    elif given:
        return ""
    if not options:
        return "1"
    (name, value), *more = options.items()
    known = scene.value(value)
    if more or type(known) is not Const:
        return ""
    if name == "unbiased" and type(known.value) is bool:
        return "1" if known.value else "0"
    return str(known.value) if name == "correction" and type(known.value) is int and known.value in (0, 1) else ""


def spread(site: Site, call: cst.Call, name: str, masked: MaskedPart) -> Rewrite | NoFix:
    """The lines that work out mean and distances in front of a statement, and what takes the place of the call in it."""
    scene = site.scene
    line = scene.statement(call)
    late = any(isinstance(one, _LATE) for one in scene.above(call) if line in scene.above(one))
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or late:
        return NoFix(f"`{name}` of a part needs its mean first: give it a line of its own")
    imports = Imports(scene, call)
    where = f"{imports.name('torch')}.where"
    lines: list[str] = []
    mask, count, whole = masked
    if not mask.isidentifier():
        made = scene.fresh("mask")
        lines.append(f"{made} = {mask}")
        count = f"{made}.sum()" if count in (f"{mask}.sum()", f"({mask}).sum()") else count
        mask = made
    if count != f"{mask}.sum()":
        lines.append(f"{(number := scene.fresh('count'))} = {count}")
        count = number
    mean, distances = scene.fresh("mean"), scene.fresh("distances")
    lines.append(f"{mean} = {where}({mask}, {whole}, 0).sum() / {count}")
    lines.append(f"{distances} = {where}({mask}, {whole} - {mean}, 0)")
    lost = correction(scene, call)
    text = f"{distances}.square().sum() / {count if lost == '0' else f'({count} - {lost}).clamp(min=0)'}"
    text = f"({text}).sqrt()" if name == "std" else quotient(scene, call, text)
    indent = scene.indent(line)
    if any(len(indent) + len(one) > WIDTH + 32 for one in lines):
        return NoFix(f"`{name}` of a part: write the mean, then the mean of the squared distances, each with `where`")
    at = scene.span(line)[0]
    head = "".join(f"{one}\n{indent}" for one in lines)
    assumed = [_FITS, *(["no gradient is taken of a deviation of 0"] if name == "std" else [])]
    edits = (Replacement(at, at, head), Replacement(*scene.span(call), text), *imports.needed)
    return Rewrite("Use `where`", edits, all_of(assumed))


def quotient(scene: FunctionSource, call: cst.Call, text: str) -> str:
    """A quotient in the place of a call, in parentheses where what is around binds closer."""
    holder = scene.parent(call)
    loose = (cst.Add, cst.Subtract)
    if isinstance(holder, cst.BinaryOperation) and isinstance(holder.operator, loose):
        return text
    if isinstance(holder, (cst.BinaryOperation, cst.UnaryOperation, cst.Attribute, cst.Subscript, cst.Await)):
        return text if call.lpar else f"({text})"
    return text
