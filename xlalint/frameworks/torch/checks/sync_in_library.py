"""XLA305: calls of installed libraries that hand over tensors and whose code surely reads the value of one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from xlalint.abstract.values import tensors
from xlalint.analysis.hazard import Confidence, Frequency
from xlalint.frameworks.base import LibraryRead
from xlalint.interpreter.context import PendingHazard
from xlalint.interpreter.frame import device_tensor
from xlalint.interpreter.rates import ALWAYS
from xlalint.rules.policy import NO_POLICY, Policies

if TYPE_CHECKING:
    from xlalint.abstract.values import Value
    from xlalint.interpreter.context import Context


def library_reads(context: Context, policies: Policies) -> Iterator[LibraryRead]:
    """Yield the calls from here whose callee reads a tensor's value."""
    for (at, callee), statement in context.outward.items():
        place = _read_inside(callee, policies) if any(map(_on_device, callee.args)) else None
        if place is not None:
            rate = context.rates.get(callee, ALWAYS)
            call = PendingHazard("XLA305", at, statement, "torch", Confidence.LIKELY, "", variant="followed", rate=rate)
            yield LibraryRead(call, *place)


def _read_inside(callee: Context, policies: Policies) -> tuple[Context, int] | None:
    """Find the place nearest to the call where a library's code reads the value of one of torch's tensors.

    What the user's own code does that the library calls back is told there.
    """
    seen = {callee: None}
    todo = deque(seen)
    while todo:
        context = todo.popleft()
        reads = [pending for pending in context.sightings.values() if _reads(pending, policies)]
        if reads and context.function is not None:
            return context, min(reads, key=lambda read: (read.at, read.rule)).at
        for inner in context.inward:
            if inner not in seen:
                seen[inner] = None
                todo.append(inner)
    return None


def _reads(pending: PendingHazard, policies: Policies) -> bool:
    if pending.framework != "torch" or pending.forked or pending.confidence < Confidence.LIKELY:
        return False
    harmless = pending.rate.ceiling <= Frequency.NTH_STEP or any(
        target == "torch_xla" and severity in ("off", "info") for target, severity in pending.severity
    )
    return policies.get(pending.rule, NO_POLICY).reads_value and not harmless


def _on_device(value: Value) -> bool:
    return any(device_tensor(tensor) is not None for tensor in tensors(value)) or device_tensor(value) is not None
