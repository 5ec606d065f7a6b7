"""XLA407: one compiled step that gets batches of two sizes, each of which it is compiled for.

Measured with torch_xla 2.9.0, Keras 3.15 and JAX 0.10.2: training and evaluation are programs of their own, whatever their batch sizes are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.base import Reach
from xlalint.frameworks.checks.call_site import ALL, CallSite, asks_about, consumer
from xlalint.frameworks.checks.data_lengths import source_of
from xlalint.frameworks.checks.library_names import DATA_LOADER
from xlalint.frameworks.checks.surrounding_loops import whole_body_of
from xlalint.interpreter.spelling import spelling
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame

# Where Keras' methods take a batch size by its place.
_PLACES = {"fit": 2, "evaluate": 2, "predict": 1}


@asks_about("tensorflow", methods=tuple(_PLACES), reach=Reach.COMPILED)
def check_keras_evaluation(call: CallSite) -> None:
    """`model.evaluate(x, y, batch_size=64)` after `model.evaluate(x, y, batch_size=32)`."""
    if not isinstance(call.node.func, ir.Attr):
        return
    size = call.constant("batch_size", _PLACES[call.last_name])
    for other in _calls(call.frame):
        if other is call.node or other == call.node:
            return
        same = isinstance(other.func, ir.Attr) and spelling(other.func.value) == spelling(call.node.func.value)
        before = _size_in_keras(other, call.last_name) if same else None
        if before is not None and isinstance(size, int) and before != size:
            detail = f"{size}, after batches of {before}"
            call.report("XLA407", "tensorflow", call.spelled, detail, call.place("batch_size"))
            return


def _size_in_keras(node: ir.Call, method: str) -> int | None:
    """The batch size that a call gives to the step that a method runs: `fit` validates by the step of `evaluate`."""
    name = node.func.name if isinstance(node.func, ir.Attr) else ""
    keywords = dict(node.keywords)
    if name == "fit" and method == "evaluate":
        validates = "validation_data" in keywords or "validation_split" in keywords
        return _constant(keywords.get("validation_batch_size", keywords.get("batch_size"))) if validates else None
    if name != method:
        return None
    place = _PLACES[name]
    return _constant(keywords.get("batch_size", node.args[place] if place < len(node.args) else None))


@asks_about(ALL, *DATA_LOADER, reach=Reach.COMPILED)
def check_data_loader(call: CallSite) -> None:
    """Two loaders of two batch sizes that one function of the program gets, one after the other."""
    size = call.constant("batch_size", 1)
    frame = call.frame
    name = _name_of(frame, call.node)
    if not name or not isinstance(size, int):
        return
    users = {spelling(one.func) for one in _calls(frame) if name in _loaders(one)}
    for other in _calls(frame):
        if spelling(other.func) not in users or name in _loaders(other) or "prepare" in spelling(other.func):
            continue
        for given in _loaders(other):
            before = _loader_size(frame, given)
            if before is not None and before != size and _stands_before(frame, given, name):
                detail = f"{size}, and `{spelling(other.func)}` gets batches of {before} too"
                call.report("XLA407", consumer(frame), name, detail, 0, "", (), Confidence.LIKELY)
                return


def _calls(frame: Frame) -> Iterator[ir.Call]:
    """The calls around the one that is looked at, in order."""
    return (one for one in ir.walk(whole_body_of(frame)) if isinstance(one, ir.Call))


def _loaders(node: ir.Call) -> set[str]:
    return {one.id for one in (*node.args, *(value for _, value in node.keywords)) if isinstance(one, ir.Name)}


def _name_of(frame: Frame, node: ir.Call) -> str:
    for one in ir.walk(whole_body_of(frame)):
        if isinstance(one, ir.Assign) and one.value == node and isinstance(one.targets[0], ir.Name):
            return one.targets[0].id
    return ""


def _stands_before(frame: Frame, name: str, other: str) -> bool:
    """Return whether the first of two names is assigned first."""
    assigned = (one.targets[0] for one in ir.walk(whole_body_of(frame)) if isinstance(one, ir.Assign))
    order = [target.id for target in assigned if isinstance(target, ir.Name) and target.id in (name, other)]
    return order[:1] == [name]


def _loader_size(frame: Frame, name: str) -> int | None:
    """The batch size of a loader by its name."""
    made = source_of(frame, ir.Name(name, 0))
    if not isinstance(made, ir.Call) or not spelling(made.func).endswith("DataLoader"):
        return None
    return _constant(dict(made.keywords).get("batch_size", made.args[1] if len(made.args) > 1 else None))


def _constant(node: ir.Node | None) -> int | None:
    return node.value if isinstance(node, ir.Const) and type(node.value) is int else None
