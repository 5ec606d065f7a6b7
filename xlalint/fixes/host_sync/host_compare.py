"""XLA304: comparisons of whole tensors that give a Python bool → ones that give a tensor."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.consumers import Consumer, consumers
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.operations import arguments_of, operation
from xlalint.fixes.toolkit.shapes import Types
from xlalint.fixes.toolkit.text import atom, bare_extent, stands_alone

_REFUSED = {
    Consumer.TEST: "a condition needs the result on the host: choose with `torch.where`, or compare what the host knows anyway",
    Consumer.STORED_TEST: "a condition reads the result by its name: choose with `torch.where` there",
    Consumer.OTHER: "the code that uses the result may need a Python bool: write `(a == b).all()` if a tensor works too",
}


def whole_comparison(site: Site) -> Rewrite | NoFix | None:
    """`torch.equal(a, b)` → `(a == b).all()`, `torch.allclose(a, b)` → `torch.isclose(a, b).all()`, `torch.is_nonzero(a)` → `a != 0`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call):
        return None
    write = _WRITERS.get(operation(scene, node))
    if write is None:
        return None
    takers = consumers(scene, node)
    for consumer, why in _REFUSED.items():
        if consumer in takers:
            return NoFix(why)
    return write(scene, node)


def _equal(scene: FunctionSource, node: cst.Call) -> Rewrite | NoFix | None:
    operands = arguments_of(scene, node)
    if len(operands) != 2 or len(node.args) + values.callee(scene.value(node.func)).startswith(".") != 2:
        return None
    one, other = operands
    types = Types(scene, "torch")
    assumed = []
    if not types.of(one).shape or types.of(one).shape != types.of(other).shape:
        assumed.append(f"`{scene.code(one)}` and `{scene.code(other)}` have one shape")
    if {values.dtype_of(scene.value(one)), values.dtype_of(scene.value(other))} - {"i", "b"}:
        assumed.append("they are two tensors")  # of one with NaN, `equal` says that it equals itself
    text = f"({atom(scene, one)} == {atom(scene, other)}).all()"
    return Rewrite("Use `==` and `all`", (Replacement(*scene.span(node), text),), all_of(assumed))


def _allclose(scene: FunctionSource, node: cst.Call) -> Rewrite | NoFix | None:
    if not isinstance(node.func, cst.Attribute):
        return NoFix("`allclose` was imported by its name: write `torch.isclose(…).all()`")
    name, end = scene.span(node.func.attr), scene.span(node)[1]
    return Rewrite("Use `isclose` and `all`", (Replacement(*name, "isclose"), Replacement(end, end, ".all()")))


def _is_nonzero(scene: FunctionSource, node: cst.Call) -> Rewrite | NoFix | None:
    operands = arguments_of(scene, node)
    if len(operands) != 1:
        return None
    [operand] = operands
    value = scene.value(operand)
    assumed = f"`{scene.code(operand)}` has no dimensions" if values.rank_of(value) != 0 else ""
    if values.is_bool(value):
        return Rewrite("Use the tensor", (Replacement(*scene.span(node), atom(scene, operand)),), assumed)
    text = f"{atom(scene, operand)} != 0"
    alone = stands_alone(scene, node)
    extent = scene.span(node) if alone else bare_extent(scene, node)
    return Rewrite("Compare with 0", (Replacement(*extent, text if alone else f"({text})"),), assumed)


_WRITERS = {"equal": _equal, "allclose": _allclose, "is_nonzero": _is_nonzero}
