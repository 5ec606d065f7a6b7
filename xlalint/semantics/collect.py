"""From contexts to hazards: which contexts XLA traces, by which chain, and how sure that is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from xlalint.semantics.context import HOST_TIER
from xlalint.semantics.hazard import Confidence, Hazard, Step
from xlalint.semantics.tracing import NO_AUTOGRAPH, Tracer, variant_under

if TYPE_CHECKING:
    from xlalint.semantics.context import Context, RootContext, Sighting


Reach = tuple["Context", bool]  # a context, and whether AutoGraph rewrites it as it is reached
_CONFIGURATION = "XLA5"
# Under these frameworks' tracers a hazard is an error: a function that holds one and is given to no tracer runs eagerly.
_RAISING = ("jax", "tensorflow")
# What JAX runs eagerly all the same, with a compilation for each new size.
_EAGER = frozenset(("XLA201", "XLA202", "XLA203", "XLA204"))


class Link(NamedTuple):
    """How a context is reached: from which root, by which caller (None: it is the root), over how many calls."""

    root: RootContext
    caller: Reach | None
    depth: int


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
    chains = chains_of(roots)
    found: list[Found] = []
    called: set[tuple[int, int]] = set()
    for reach, link in chains.items():
        context, root = reach[0], link.root
        if link.depth and context.function is not None and root.tier != HOST_TIER:
            called.add(context.function.key)
        touched |= context.touched
        trace = trace_of(reach, chains)
        for sighting in context.sightings.values():
            variant = variant_under(_tracer(reach, root), sighting)
            if variant is None or not _counts(sighting, context, root):
                continue
            hazard = _hazard(context, sighting, root, variant, trace)
            key = context.function.key if context.function is not None else (context.module.index, -1)
            found.append(Found(hazard, key, Reached(root.tier, link.depth == 0)))
    return Harvest(found, sorted(called), touched.to_bytes((touched.bit_length() + 7) // 8, "little"))


def _tracer(reach: Reach, root: RootContext) -> Tracer:
    return root.tracer if reach[1] is root.tracer.autograph else Tracer(root.tracer.framework, reach[1])


def _counts(sighting: Sighting, context: Context, root: RootContext) -> bool:
    """Of host code only the configuration counts; of traced code, what stands in functions."""
    if sighting.rule.startswith(_CONFIGURATION):
        return True
    return root.tier != HOST_TIER and context.function is not None


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


def _preference(hazard: Hazard) -> tuple[bool, int, int, tuple[tuple[str, int, str], ...], str]:
    trace = tuple((step.path, step.row, step.name) for step in hazard.trace)
    return (hazard.variant != NO_AUTOGRAPH, -hazard.confidence, len(trace), trace, hazard.subject)


def _root_order(root: RootContext) -> tuple[int, int, int, str]:
    function = root.context.function
    return (root.tier, root.context.module.index, function.index if function is not None else -1, root.why)


def chains_of(unordered: Iterable[RootContext]) -> dict[Reach, Link]:
    """Breadth first from the roots, sure ones first: each context with its root, its caller, its distance."""
    roots = sorted(unordered, key=_root_order)
    chains: dict[Reach, Link] = {}
    for tier in (1, 2, HOST_TIER):
        queue: deque[Reach] = deque()
        for root in roots:
            reach = root.context, root.tracer.autograph and root.context.converts
            if root.tier == tier and reach not in chains:
                chains[reach] = Link(root, None, 0)
                queue.append(reach)
        while queue:
            reach = queue.popleft()
            link = chains[reach]
            for callee in reach[0].calls:
                inner = callee, reach[1] and callee.converts
                if inner not in chains:
                    chains[inner] = Link(link.root, reach, link.depth + 1)
                    queue.append(inner)
    return chains


def trace_of(reach: Reach, chains: dict[Reach, Link]) -> tuple[Step, ...]:
    """The chain of functions that leads from a root to a context."""
    steps: list[Step] = []
    current: Reach | None = reach
    while current is not None:
        context, link = current[0], chains[current]
        row = context.function.ir.row if context.function is not None else 1
        why = link.root.why if link.caller is None else f"called from {link.caller[0].name}"
        steps.append(Step(context.module.path, row, context.name, why))
        current = link.caller
    return tuple(reversed(steps))


def _hazard(context: Context, sighting: Sighting, root: RootContext, variant: str, trace: tuple[Step, ...]) -> Hazard:
    confidence = sighting.confidence
    if root.tier == 2 and sighting.framework in _RAISING:
        confidence = Confidence.POSSIBLE
        if sighting.framework == "jax" and sighting.rule in _EAGER and sighting.confidence:
            confidence = Confidence.LIKELY
            variant = "eager"
    elif root.tier == 2 and confidence is Confidence.CERTAIN:
        confidence = Confidence.LIKELY
    return Hazard(
        context.module.path,
        sighting.at >> 32,
        sighting.at & 0xFFFFFFFF,
        sighting.statement,
        sighting.rule,
        sighting.framework or root.tracer.framework,  # type: ignore[arg-type]
        confidence,
        sighting.subject,
        sighting.detail,
        variant,
        sighting.severity,
        context.name,
        trace,
    )
