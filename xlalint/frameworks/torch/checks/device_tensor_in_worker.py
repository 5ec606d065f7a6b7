"""XLA525: data that is on the TPU before the loader's workers hand it over (torch_tpu 0.2.0)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xlalint.abstract.values import Function, Instance, members
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.checks.call_site import CallSite, asks_about
from xlalint.frameworks.torch.named_device import TPU, body_names
from xlalint.interpreter.frame import made_by
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.program.linker import FunctionInfo

_GIVES = ("__getitem__", "__getitems__", "__iter__")
_FORKS = "fork"


@asks_about("torch", "torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
def check_loader(call: CallSite) -> None:
    """`DataLoader(data, num_workers=2)` of a data set that moves its examples to the TPU."""
    workers = call.constant("num_workers", 5)
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        return
    if not call.lacks("multiprocessing_context", 10) and call.constant("multiprocessing_context", 10) != _FORKS:
        return
    for info in _find_in_workers(call):
        if body_names(info.module, info.body, TPU):
            _report(call, f"`{info.ir.qualname}`")
            return
    given = call.node_of("dataset", 0)
    made = made_by(call.frame, given) if given is not None else None
    if isinstance(made, ir.Call) and body_names(call.frame.module, (ir.Eval(made, 0),), TPU):
        _report(call, "the data set")


def _find_in_workers(call: CallSite) -> Iterator[FunctionInfo]:
    """The functions of the program that the workers call: those of the data set that give examples, and what makes batches of them."""
    given = call.value("dataset", 0)
    for member in members(given) if given is not None else ():
        if isinstance(member, Instance):
            yield from filter(None, map(member.klass.method, _GIVES))
    for keyword, index in (("collate_fn", 6), ("worker_init_fn", 9)):
        called = call.value(keyword, index)
        if isinstance(called, Function):
            yield called.info


def _report(call: CallSite, who: str) -> None:
    detail = f"{who} puts tensors on the TPU in a forked worker, which raises an exception"
    call.report("XLA525", "torch", call.spelled, detail, at_most=Confidence.LIKELY)
