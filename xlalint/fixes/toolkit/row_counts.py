"""Tells whether a number, as the program writes it, is the number of a tensor's rows: whether a loop goes over all of them."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import definition, unchanged, unpacking
from xlalint.fixes.toolkit.function_source import FunctionSource

_MAKERS = ("torch.empty", "torch.full", "torch.ones", "torch.zeros")


def made_by(scene: FunctionSource, out: cst.Name) -> cst.Call | None:
    """The call that surely made what a name holds, of a function that is told the size."""
    made = definition(scene, out)
    value = made.value if made is not None else None
    if not isinstance(value, cst.Call):
        return None
    name = values.callee(scene.value(value.func))
    return value if name in _MAKERS or name in [f"{maker}_like" for maker in _MAKERS] else None


def has_rows(scene: FunctionSource, out: cst.Name, count: str) -> bool:
    """Return whether a tensor surely has as many rows as a number says: it is asked for them, or was made with them."""
    if count in row_counts(out.value):
        return True
    made = made_by(scene, out)
    if made is None or not made.args:
        return False
    first = made.args[0].value
    if values.callee(scene.value(made.func)).endswith("_like"):
        return count in row_counts(scene.code(first))
    if isinstance(first, (cst.Tuple, cst.List)) and first.elements:
        first = first.elements[0].value
    return scene.code(first) == count


def row_counts(code: str) -> tuple[str, ...]:
    """The forms in which a program asks for the number of a tensor's rows."""
    return f"{code}.shape[0]", f"{code}.size(0)", f"len({code})"


def written_out(scene: FunctionSource, count: cst.BaseExpression) -> str:
    """A number as the program writes it: of a name, what it was surely made by, `x.shape[0]` of the `b` of `b, n = x.shape`."""
    if not isinstance(count, cst.Name):
        return scene.code(count)
    made = definition(scene, count)
    code = scene.code(made.value) if made is not None else ""
    if made is None:
        made = unpacking(scene, count)
        names = made.targets[0].target if made is not None else None
        first = names.elements[0] if isinstance(names, cst.Tuple) else None
        if made is None or not isinstance(first, cst.Element) or scene.code(first) != count.value:
            return count.value
        whole, _, asked = scene.code(made.value).rpartition(".")
        code = f"{whole}.shape[0]" if asked in ("shape", "size()") else ""
    read = {name.value for name in scene.descend(made.value, cst.Name)}
    same = all(unchanged(scene, name, scene.span(made)[1], count) for name in read)
    return code if code and same else count.value


def take_first(count: str) -> str:
    """The slice that takes as many rows as a number says: ":n", ": x.shape[0]"."""
    return f": {count}" if "." in count or "(" in count else f":{count}"
