"""From contexts to hazards: which contexts XLA traces, by which chain, and how sure that is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from xlalint.semantics.hazard import Confidence, Hazard, Step

if TYPE_CHECKING:
    from xlalint.semantics.context import Context, RootContext, Sighting


class Reached(msgspec.Struct, frozen=True, array_like=True):
    """How a hazard's context is reached: the root's tier, and whether the context is the root itself."""

    tier: int
    is_root: bool


class Found(msgspec.Struct, frozen=True, array_like=True):
    """A hazard with what merging needs: the function that holds it, and how its context is reached."""

    hazard: Hazard
    function: tuple[int, int]
    reached: Reached


class Harvest(msgspec.Struct, frozen=True, array_like=True):
    """What one batch of roots gave: hazards, and the functions that were entered by a call from traced code."""

    found: list[Found]
    called: list[tuple[int, int]]
    touched: bytes


def harvest(roots: Iterable[RootContext], touched: int = 0) -> Harvest:
    """The hazards of all contexts that the roots reach, each with its shortest chain."""
    chains = _chains(sorted(roots, key=_root_order))
    found: list[Found] = []
    called: set[tuple[int, int]] = set()
    for context, (root, _, depth) in chains.items():
        if context.function is None:
            continue
        if depth:
            called.add(context.function.key)
        touched |= context.touched
        trace = _trace(context, chains)
        for sighting in context.sightings.values():
            hazard = _hazard(context, sighting, root, trace)
            found.append(Found(hazard, context.function.key, Reached(root.tier, depth == 0)))
    return Harvest(found, sorted(called), touched.to_bytes((touched.bit_length() + 7) // 8, "little"))


def merge(harvests: Iterable[Harvest]) -> list[Hazard]:
    """The hazards of all batches, each place and rule once, the surest and shortest explained.

    A library function that traced code calls is judged by those calls: what its analysis with unknown arguments saw on top is dropped.
    """
    harvested = list(harvests)
    called = {key for batch in harvested for key in batch.called}
    best: dict[tuple[str, int, int, str], Hazard] = {}
    for batch in harvested:
        for found in batch.found:
            if found.reached.tier == 2 and found.reached.is_root and found.function in called:
                continue
            hazard = found.hazard
            key = (hazard.path, hazard.start, hazard.end, hazard.rule)
            known = best.get(key)
            if known is None or _preference(hazard) < _preference(known):
                best[key] = hazard
    return sorted(best.values(), key=lambda h: (h.path, h.start, h.end, h.rule))


def _preference(hazard: Hazard) -> tuple[int, int, tuple[tuple[str, int, str], ...], str]:
    trace = tuple((step.path, step.row, step.name) for step in hazard.trace)
    return (-hazard.confidence, len(trace), trace, hazard.subject)


def _root_order(root: RootContext) -> tuple[int, int, int, str]:
    function = root.context.function
    return (root.tier, root.context.module.index, function.index if function is not None else -1, root.why)


def _chains(roots: list[RootContext]) -> dict[Context, tuple[RootContext, Context | None, int]]:
    """Breadth first from the roots, sure ones first: each context with its root, its caller, its distance."""
    chains: dict[Context, tuple[RootContext, Context | None, int]] = {}
    for tier in (1, 2):
        queue: deque[Context] = deque()
        for root in roots:
            if root.tier == tier and root.context not in chains:
                chains[root.context] = (root, None, 0)
                queue.append(root.context)
        while queue:
            context = queue.popleft()
            root, _, depth = chains[context]
            for callee in context.calls:
                if callee not in chains:
                    chains[callee] = (root, context, depth + 1)
                    queue.append(callee)
    return chains


def _trace(context: Context, chains: dict[Context, tuple[RootContext, Context | None, int]]) -> tuple[Step, ...]:
    steps: list[Step] = []
    current: Context | None = context
    while current is not None:
        root, parent, _ = chains[current]
        row = current.function.ir.row if current.function is not None else 1
        why = root.why if parent is None else f"called from {parent.name}"
        steps.append(Step(current.module.path, row, current.name, why))
        current = parent
    return tuple(reversed(steps))


def _hazard(context: Context, sighting: Sighting, root: RootContext, trace: tuple[Step, ...]) -> Hazard:
    confidence = sighting.confidence
    if root.tier == 2 and confidence is Confidence.CERTAIN:
        confidence = Confidence.LIKELY
    return Hazard(
        context.module.path,
        sighting.at >> 32,
        sighting.at & 0xFFFFFFFF,
        sighting.statement,
        sighting.rule,
        sighting.framework,  # type: ignore[arg-type]
        confidence,
        sighting.subject,
        sighting.detail,
        sighting.variant,
        sighting.severity,
        context.name,
        trace,
    )
