"""Say what changes where `torch.compile` makes graphs: for TorchTPU's compiler, and where it is told to make one of all (`fullgraph=True`).

What would end the graph is an error then; and from torch 2.10 on, of what was run, Dynamo makes reads of values and sizes that depend on
them a part of the graph, at which it ends the graph otherwise. Run on torch 2.9.1, which does not, and on 2.10.0 to 2.14.1. TorchTPU's
compiler (0.2.0 with torch 2.14.1) takes no such graph: it raises at each of them; and, whatever it is told, at copies between the host and
the device, assignments through masks and the operators of control flow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import TRUE
from xlalint.rules.variants import COMPILED, FULLGRAPH, REFUSED

if TYPE_CHECKING:
    from xlalint.abstract.values import Value
    from xlalint.interpreter.context import PendingHazard
    from xlalint.interpreter.tracer import Tracer
    from xlalint.program.linker import ModuleInfo
    from xlalint.rules.policy import Policy

_TARGET: Final = "torch_compile"
_TPU: Final = "torch_tpu"
_OF_TORCH: Final = frozenset((_TARGET, _TPU, "torch_xla"))
_CAPTURES_SINCE: Final = (2, 10)
_CAPTURES_NOTHING: Final = (0,)
_COMPILERS: Final = frozenset(("torch.compile", "torch.compiler.compile"))
_REFUSED: Final = frozenset(("augmented", "operator", "values"))
"""Variants of what TorchTPU runs by itself, and cannot compile."""


def whole_graph(module: ModuleInfo, asked: Value | None) -> tuple[int, ...]:
    """Return the release for which a module is judged, where it asks for one graph of all."""
    if asked is not TRUE:
        return ()
    judged = _OF_TORCH.intersection(module.taught.targets)
    if judged == {_TPU}:
        return _CAPTURES_NOTHING
    return module.taught.release if judged == {_TARGET} else ()


def refuses_copies(module: ModuleInfo, name: str) -> bool:
    """Return whether a tracer is `torch.compile` in code that is judged for TorchTPU alone."""
    return name in _COMPILERS and _OF_TORCH.intersection(module.taught.targets) == {_TPU}


def variant_under(tracer: Tracer, pending: PendingHazard, policy: Policy) -> str | None:
    """Return the variant of a hazard in code that the tracer runs; None where that makes it a part of the graph."""
    if tracer.refuses and (pending.variant in _REFUSED or (policy.compiler_refuses and not pending.variant)):
        return COMPILED
    if policy.compiled_only:
        return None
    if tracer.whole and pending.variant == REFUSED:
        return FULLGRAPH
    if not tracer.whole or pending.variant:
        return pending.variant
    if policy.whole_captures and tracer.whole >= _CAPTURES_SINCE:
        return None
    return FULLGRAPH if policy.whole_raises else ""
