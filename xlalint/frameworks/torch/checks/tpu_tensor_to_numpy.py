"""XLA528: an array of a tensor that is on a TPU (torch_tpu 0.2.0)."""

from __future__ import annotations

from xlalint.abstract.values import Tensor, members
from xlalint.frameworks.checks.call_site import CallSite, asks_about
from xlalint.frameworks.torch.tpu_tensors import is_on_tpu
from xlalint.interpreter.spelling import spelling
from xlalint.lowering import ir


@asks_about("torch", methods=("numpy",), beside="tpu")
def check_method(call: CallSite) -> None:
    """Report `x.numpy()`; `x.numpy(force=True)` copies it."""
    func = call.node.func
    if type(func) is ir.Attr and not call.node.args and not call.node.keywords:
        _check(call, func.value)


@asks_about("torch", "numpy.array", "numpy.asarray", beside="tpu")
def check_function(call: CallSite) -> None:
    """Report `np.asarray(x)`."""
    if call.node.args:
        _check(call, call.node.args[0])


def _check(call: CallSite, node: ir.Node) -> None:
    found = list(members(call.frame.eval(node)))
    on_device = found and all(type(one) is Tensor and one.framework == "torch" and one.place != "cpu" for one in found)
    if on_device and is_on_tpu(call.frame, node):
        call.report("XLA528", "torch", spelling(node))
