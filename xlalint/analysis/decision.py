"""Decides whether a hazard that was seen in a context counts, by how the context is reached and what the rule's policy says.

This is the only place where that is decided for the program. Before, `Frame.report` withholds what the code around a place excuses; after,
`diagnostics.judge` asks the user's settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from xlalint.analysis.chains import Link, Reach, called_from, chains_of, hosts_of_replicas, tracer_at
from xlalint.frameworks.checks.jit_per_call import AGAIN
from xlalint.frameworks.platforms import Platforms, around_compiled, needed, reaches
from xlalint.frameworks.platforms import Reach as Extent
from xlalint.frameworks.tensorflow.checks.tpu_initialisation import node_variant
from xlalint.frameworks.tracing import NO_AUTOGRAPH, UNTRACED, given_to_no_tracer, under_autograph, variant_under
from xlalint.interpreter.context import HOST_TIER
from xlalint.rules import NO_POLICY, Policies, Policy

if TYPE_CHECKING:
    from xlalint.analysis.hazard import Confidence
    from xlalint.interpreter.context import Context, PendingHazard, RootContext

Reason = Literal[
    "",
    "untraced",
    "module level",
    "converted",
    "other tracer",
    "attached TPU",
    "other platform",
    "traced itself",
    "runs once",
    "own runtime",
]
"""Why a hazard does not count, "" if it does: no tracer runs the code; it runs once, when the file
is imported; AutoGraph makes a graph operation of it; it is none under this
tracer; the TPU is on the program's machine; the program does not run where the rule speaks of; the code is part of a traced program;
nothing repeats it; it runs in TensorFlow's own runtime."""


class Verdict(NamedTuple):
    """Says whether a hazard counts, or why not (`reason`), which variant of it, and how surely.

    `of_host` says that the rule speaks of host code here, which no tracer has a say in.
    """

    reason: Reason
    variant: str
    confidence: Confidence
    of_host: bool = False

    @property
    def counts(self) -> bool:
        """Return whether the hazard counts."""
        return not self.reason


def decide_untraced(pending: PendingHazard, policies: Policies) -> Verdict:
    """Decide on a hazard in a context that nothing leads to."""
    variant = variant_under(UNTRACED, pending, policies.get(pending.rule, NO_POLICY))
    return Verdict("other tracer" if variant is None else "untraced", variant or "", pending.confidence)


class Decisions:
    """Decides on the hazards in what the roots of one module lead to."""

    def __init__(self, roots: Sequence[RootContext], platforms: Platforms, policies: Policies) -> None:
        self.chains: dict[Reach, Link] = chains_of(roots)
        self._platforms = platforms
        self.policies = policies
        self._hosting = hosts_of_replicas(roots, self.chains)
        self._node = node_variant(context for context, _ in self.chains)
        self._traced = {context.function for (context, _), link in self.chains.items() if link.root.tier == 1}
        self._again: set[Context] | None = None

    def decide(self, pending: PendingHazard, reach: Reach) -> Verdict:
        """Decide whether a hazard of a context counts where that is reached this way."""
        policy = self.policies.get(pending.rule, NO_POLICY)
        if policy.counts_in(pending.framework) == "anywhere":
            return Verdict("", "", pending.confidence)
        root = self.chains[reach].root
        tracer = tracer_at(reach, root)
        variant = self._node if policy.tpu_node_only else variant_under(tracer, pending, policy)
        if variant is None:
            if policy.tpu_node_only:
                return Verdict("attached TPU", "", pending.confidence)
            reason: Reason = "converted" if under_autograph(tracer, pending) else "other tracer"
            return Verdict(reason, "", pending.confidence)
        extent = needed(policy, pending.framework)
        reason = self._objection(pending.framework, policy, variant, extent, reach[0], root)
        confidence = pending.confidence
        if extent is None and root.tier == 2:
            variant, confidence = given_to_no_tracer(pending, policy, variant, root.context.per_turn)
        return Verdict(reason, variant, confidence, extent is not None)

    def _objection(
        self, framework: str, policy: Policy, variant: str, extent: Extent | None, context: Context, root: RootContext
    ) -> Reason:
        """Say what speaks against a hazard in a context. Of host code what speaks of it counts, where the program reaches XLA; of traced
        code, what stands in functions, and in the loops of a script that drives the device."""
        if extent is not None:
            told = policy.needs_evidence and framework in self._platforms and self._platforms[framework].told
            if told or not reaches(self._platforms, framework, extent):
                return "other platform"
        elif root.tier == HOST_TIER:
            return "untraced"
        elif context.function is None and not context.per_turn:
            return "module level"
        if around_compiled(policy, framework) and context.function in self._traced:
            return "traced itself"
        if policy.only_repeated:
            if context.function is not None and context.function in self._traced:
                return "traced itself"
            if variant == AGAIN and context not in self._repeated():
                return "runs once"
        if policy.compiler_only and variant != NO_AUTOGRAPH and context in self._hosting:
            return "own runtime"
        return ""

    def _repeated(self) -> set[Context]:
        """The contexts that a loop somewhere repeats, and what these call in turn."""
        if self._again is None:
            self._again = set(called_from(inner for context, _ in self.chains for inner in context.repeated))
        return self._again
