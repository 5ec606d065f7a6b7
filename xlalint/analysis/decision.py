"""Decides whether a hazard that was seen in a context counts, by how the context is reached and what the rule's policy says.

This is the only place where that is decided for the program. Before, `Frame.report` withholds what the code around a place excuses; after,
`diagnostics.judge` asks the user's settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from xlalint.abstract.values import Tensor
from xlalint.analysis.chains import Link, Reach, chains_of, hosts_of_replicas, tracer_at, walk_calls
from xlalint.analysis.costs import costs_of
from xlalint.analysis.hazard import Confidence, Frequency
from xlalint.frameworks.base import Platforms, reaches
from xlalint.frameworks.base import Reach as Extent
from xlalint.frameworks.platforms import around_compiled, needed_reach
from xlalint.frameworks.registry import frameworks, row_of
from xlalint.interpreter.context import HOST_TIER
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.rates import Cost, costliest
from xlalint.interpreter.tracer import UNTRACED
from xlalint.rules.policy import NO_POLICY, Policies, Policy
from xlalint.rules.variants import AGAIN, ANY_GRAPH, CALLED, COLLECTED, EAGER, LOOP, UNHASHABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xlalint.frameworks.base import Framework, LibraryRead
    from xlalint.interpreter.context import Context, PendingHazard, RootContext
    from xlalint.interpreter.tracer import Runner, Tracer

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


_IN_TEST = "in a test"
_IF_GIVEN = "only if it is given what is on the device"
_AT_EACH_TURN = frozenset((LOOP, COLLECTED, CALLED))
_KEYS = frozenset(("KeyArray", "PRNGKey", "PRNGKeyArray"))
_FAR = 2
"""Over how many calls what is known of values becomes too uncertain, if they lead through several files."""


class Verdict(NamedTuple):
    """Says whether a hazard counts, or why not (`reason`), which variant of it, and how surely.

    `of_host` says that the rule speaks of host code here, which no tracer has a say in. `runner` is what runs the graph, where only XLA
    minds the hazard.
    """

    reason: Reason
    variant: str
    confidence: Confidence
    of_host: bool = False
    runner: Runner = "compiler"

    @property
    def counts(self) -> bool:
        """Return whether the hazard counts."""
        return not self.reason


class Decisions:
    """Decides on the hazards in what the roots of one module lead to."""

    def __init__(
        self, roots: Sequence[RootContext], platforms: Platforms, policies: Policies, target: str = ""
    ) -> None:
        self._target = target
        self.roots = roots
        self.chains: dict[Reach, Link] = chains_of(roots)
        self._costs = costs_of(roots)
        self._platforms = platforms
        self._policies = policies
        self._frameworks: dict[str, Framework] = {framework.name: framework for framework in frameworks()}
        self._hosting = hosts_of_replicas(roots, self.chains)
        self._remote: dict[str, str | None] = {}
        self._traced = {context.function for (context, _), link in self.chains.items() if link.root.tier == 1}
        self._again: set[Context] | None = None
        self._called_again: set[Context] | None = None
        self._each_turn: set[Context] | None = None

    def decide_untraced(self, pending: PendingHazard) -> Verdict:
        """Decide on a hazard in a context that nothing leads to."""
        variant = self._variant(UNTRACED, pending, self._policies.get(pending.rule, NO_POLICY))
        return Verdict("other tracer" if variant is None else "untraced", variant or "", pending.confidence)

    def decide(self, pending: PendingHazard, reach: Reach) -> Verdict:
        """Decide whether a hazard of a context counts where that is reached this way."""
        policy = self._policies.get(pending.rule, NO_POLICY)
        if policy.counts_in(pending.framework) == "anywhere":
            return Verdict("", "", pending.confidence)
        root = self.chains[reach].root
        tracer = tracer_at(reach, root)
        variant = self._remote_variant(pending) if policy.tpu_node_only else self._variant(tracer, pending, policy)
        if variant is None:
            if policy.tpu_node_only:
                return Verdict("attached TPU", "", pending.confidence)
            reason: Reason = "converted" if self._rewritten(tracer, pending.framework) else "other tracer"
            return Verdict(reason, "", pending.confidence)
        extent = Extent.TRACED if variant in _AT_EACH_TURN else needed_reach(policy, pending.framework)
        reason = self._objection(pending.framework, policy, variant, extent, reach[0], root)
        if policy.only_repeated and not reason and variant != UNHASHABLE and self._is_of_model(reach):
            reason = "traced itself"
        confidence = pending.confidence
        if extent is None and root.tier == 2:
            variant, confidence = self._by_itself(pending, policy, variant, root)
            if variant == EAGER:
                reason = reason or self._object_to_eager(reach[0], root)
        elif extent is None and self._doubts(pending, policy, reach):
            confidence = Confidence.POSSIBLE
        elif pending.of_leaves and root.replaced and root.context is reach[0]:
            confidence = Confidence.CERTAIN
        return Verdict(reason, variant, confidence, extent is not None, self._runner(pending, policy, variant, tracer))

    def _object_to_eager(self, context: Context, root: RootContext) -> Reason:
        """Say what speaks against that code which nothing traces is compiled for one size after another."""
        if context.function in self._traced:  # the program does not call it eagerly
            return "traced itself"
        if context.module.testing:
            return "runs once"
        return "" if _computes(root, context) or context in self._find_repeated() else "runs once"

    def _is_far(self, pending: PendingHazard, reach: Reach) -> bool:
        """Return whether the values at a place come over several calls from other files, and a tracer would raise an exception there.

        Over each of these calls more is joined that reaches the place; and code of libraries has run under the tracer, without it. Of 13
        such findings that were drawn in published programs of JAX and TensorFlow none was right.
        """
        framework = self._frameworks.get(pending.framework)
        if framework is None or not framework.semantics.raises or self.chains[reach].depth < _FAR:
            return False
        calls, elsewhere = 0, False
        inner, caller = reach[0], self.chains[reach].caller
        while caller is not None:
            calls += not _stands_in(inner, caller[0])
            elsewhere = elsewhere or caller[0].module is not reach[0].module
            inner, caller = caller[0], self.chains[caller].caller
        return elsewhere and calls >= _FAR

    def _doubts(self, pending: PendingHazard, policy: Policy, reach: Reach) -> bool:
        """Return whether the values at a place, or the calls that lead there, leave doubt enough: a tracer would have refused."""
        if self._is_far(pending, reach) or (pending.given and self.chains[reach].root.of_base):
            return True
        return policy.tracer_raises and self._guesses(pending, reach)

    def _guesses(self, pending: PendingHazard, reach: Reach) -> bool:
        """Return whether a place is reached by an abstract method that several subclasses define, where a tracer would raise an exception.

        Which of them a program has trace its method is not known; one that cannot be traced is not among them.
        """
        framework = self._frameworks.get(pending.framework)
        if framework is None or not framework.semantics.raises:
            return False
        inner, caller = reach[0], self.chains[reach].caller
        while caller is not None:
            if inner in caller[0].guessed:
                return True
            inner, caller = caller[0], self.chains[caller].caller
        return False

    def _is_of_model(self, reach: Reach) -> bool:
        """Return whether a call of a library's kind of model leads to a place: the program traces that elsewhere, where it is compiled."""
        caller = self.chains[reach].caller
        while caller is not None:
            info = caller[0].function
            if info is not None and info.name == "__call__" and info.owner is not None and info.owner.library_bases():
                return True
            caller = self.chains[caller].caller
        return False

    def _runner(self, pending: PendingHazard, policy: Policy, variant: str, tracer: Tracer) -> Runner:
        """Return what runs the graph of a hazard that only XLA minds: its compiler, if the user's target says that the code is for that."""
        framework = self._frameworks.get(pending.framework)
        if framework is None or not (framework.semantics.compiles_if_asked and _only_compiler_minds(policy, variant)):
            return "compiler"
        if self._target in row_of(framework.name).targets:
            return "compiler"
        beside = tracer.runner == "training" and framework.runs_beside is not None and framework.runs_beside(pending)
        return "jit" if beside else tracer.runner

    def reaches(self) -> dict[str, Extent]:
        """How far the program that is started at the module reaches XLA, by framework, for those that compile if they are asked to."""
        found = {name: platform.reach for name, platform in self._platforms.items()}
        return {name: reach for name, reach in found.items() if self._frameworks[name].semantics.compiles_if_asked}

    def cost_of(self, pending: PendingHazard, reach: Reach, verdict: Verdict) -> Cost | None:
        """How often a hazard costs; None of what is no matter of how often code runs, or in which runs: a setting. Of what gives a batch
        its shape in host code the runs matter alone."""
        policy = self._policies.get(pending.rule, NO_POLICY)
        if verdict.variant in _AT_EACH_TURN:  # whatever leads to the loop that waits, unless its turns are few
            return pending.rate.of(Cost(Frequency.ONCE if self._runs_once(reach) else Frequency.STEP))
        if verdict.of_host or policy.counts_in(pending.framework) == "anywhere":
            only = pending.rate.only if policy.shapes_batches else _IN_TEST if reach[0].module.testing else ""
            return Cost(Frequency.ONCE, only=only) if only else None
        entered = self._costs.get(reach[0])
        if entered is None:
            return None
        cost = costliest([pending.rate.of(cost) for cost in entered])
        link = self.chains[reach]
        only_read = policy.reads_value and not policy.eager_recompiles
        if link.depth or not link.root.unreached or not only_read:
            return cost
        return cost._replace(only=cost.only or _IF_GIVEN)

    def _runs_once(self, reach: Reach) -> bool:
        """Return whether a script leads to a context, and no loop repeats that, as far as can be told."""
        return self.chains[reach].root.context.function is None and reach[0] not in self._find_repeated()

    def is_told_often(self, pending: PendingHazard, verdict: Verdict) -> bool:
        """Return whether it matters how often a hazard costs: not of a setting, nor of where a batch gets its shape."""
        setting = verdict.of_host and verdict.variant not in _AT_EACH_TURN
        return not setting and not self._policies.get(pending.rule, NO_POLICY).shapes_batches

    def framework_of(self, pending: PendingHazard, root: RootContext) -> str:
        """The framework that a hazard is of; that of the tracer, where it is a hazard under any."""
        return pending.framework or root.tracer.framework or next(iter(self._frameworks))

    def library_reads(self, context: Context) -> Iterator[LibraryRead]:
        """The calls into installed libraries, from a context of the user's code, that are hazards for what these read."""
        if context.outward:
            for framework in self._frameworks.values():
                if framework.library_reads is not None:
                    yield from framework.library_reads(context, self._policies)

    def _variant(self, tracer: Tracer, pending: PendingHazard, policy: Policy) -> str | None:
        """The variant of a hazard in code that the tracer runs; None where it is no hazard there."""
        if not pending.framework:  # of any tracer that runs the code once
            running = self._frameworks.get(tracer.framework)
            once = running is not None and running.semantics.replaces_arguments and not tracer.concrete
            return pending.variant if once else None
        framework = self._frameworks.get(pending.framework)
        if framework is None or framework.variant_under is None:
            return pending.variant
        return framework.variant_under(tracer, pending, policy)

    def _rewritten(self, tracer: Tracer, name: str) -> bool:
        framework = self._frameworks.get(name)
        return framework is not None and framework.rewrites is not None and framework.rewrites(tracer)

    def _remote_variant(self, pending: PendingHazard) -> str | None:
        """The variant of what is a hazard where the device is on another machine."""
        framework = self._frameworks.get(pending.framework)
        if framework is None or framework.remote_variant is None:
            return None
        if framework.name not in self._remote:
            self._remote[framework.name] = framework.remote_variant(context for context, _ in self.chains)
        return self._remote[framework.name]

    def _by_itself(
        self, pending: PendingHazard, policy: Policy, variant: str, root: RootContext
    ) -> tuple[str, Confidence]:
        """The variant and confidence of a hazard in what a library's function leads to, which may be traced or not.

        Under a tracer that raises, it would be an error: such a function is mostly given to none and runs eagerly. What raises an exception
        without a tracer, too, leaves that doubt out.
        """
        framework = self._frameworks.get(pending.framework)
        if framework is not None and framework.semantics.raises:
            if framework.semantics.compiles_eagerly and policy.eager_recompiles and pending.confidence:
                return EAGER, Confidence.LIKELY
            return variant, Confidence.POSSIBLE
        if policy.draws_at_random and not root.context.per_turn:
            return variant, Confidence.POSSIBLE
        return variant, pending.confidence if policy.raises_once else min(pending.confidence, Confidence.LIKELY)

    def _objection(
        self, framework: str, policy: Policy, variant: str, extent: Extent | None, context: Context, root: RootContext
    ) -> Reason:
        """Say what speaks against a hazard in a context. Of host code what speaks of it counts, where the program reaches XLA; of traced
        code, what stands in functions, and in the loops of a script that drives the device."""
        if extent is not None:
            platform = self._platforms.get(framework)
            if platform is None or not reaches(self._platforms, framework, extent):
                return "other platform"
            if (policy.needs_evidence and platform.told) or (variant in _AT_EACH_TURN and platform.at_hand):
                return "other platform"
        elif root.tier == HOST_TIER or (context.collates and root.tier != 1):
            return "untraced"
        elif context.function is None and not context.per_turn:
            return "module level"
        if (variant in _AT_EACH_TURN or around_compiled(policy, framework)) and context.function in self._traced:
            return "traced itself"
        if policy.only_repeated:
            if context.function is not None and context.function in self._traced:
                return "traced itself"
            if variant == AGAIN and not _computes(root, context) and context not in self._find_called_again():
                return "runs once"
        if variant in (*_AT_EACH_TURN, AGAIN) and root.context.module.testing:
            return "runs once"
        slow = variant in _AT_EACH_TURN or policy.shapes_batches or (policy.only_repeated and variant != UNHASHABLE)
        if context.module.testing and slow:
            return "runs once"  # what is slow in a test is the test
        if variant == CALLED and context not in self._find_called_at_turns():
            return "runs once"
        if _only_compiler_minds(policy, variant) and context in self._hosting:
            return "own runtime"
        return ""

    def _find_called_at_turns(self) -> set[Context]:
        """Find the contexts that an innermost loop calls at each turn, with those of functions that are defined in them.

        What else these call in turn is left out: the further a loop is from the read, the more its turns do besides. Of 30 such reads that
        were drawn in published programs two cost anything.
        """
        if self._each_turn is None:
            called = {inner for context, _ in self.chains for inner in context.each_turn}
            self._each_turn = called | {part for one in called for part in one.calls if _stands_in(part, one)}
        return self._each_turn

    def _find_repeated(self) -> set[Context]:
        """Find the contexts that a loop somewhere repeats, and what these call in turn."""
        if self._again is None:
            self._again = set(walk_calls(inner for context, _ in self.chains for inner in context.repeated))
        return self._again

    def _find_called_again(self) -> set[Context]:
        """Find the contexts that a loop somewhere repeats, and what these call over a few calls, but for what sets up an object.

        A sweep repeats whole programs: what these compile while they set themselves up costs little beside the rest.
        """
        if self._called_again is None:
            found = {inner for context, _ in self.chains for inner in context.repeated if not _constructs(inner)}
            level = found
            for _ in range(_FAR):
                level = {inner for context in level for inner in context.calls if not _constructs(inner)} - found
                found = found | level
            self._called_again = found
        return self._called_again


def _stands_in(inner: Context, outer: Context) -> bool:
    """Return whether a context's function is defined in that of another: it is a part of it, and no call away."""
    function, around = inner.function, outer.function
    if function is None or around is None or function.module is not around.module:
        return False
    return function.ir.outer == around.index


def _constructs(context: Context) -> bool:
    return context.function is not None and context.function.name == "__init__"


def _computes(root: RootContext, context: Context) -> bool:
    """Return whether a context is that of a library's function of arrays, which its users call again and again.

    What sets something up is a method, or is given no array but a key of random numbers.
    """
    function = context.function
    if root.tier != 2 or context is not root.context or function is None or function.owner is not None:
        return False
    given = [
        value
        for param, value in zip(function.params, context.args, strict=False)
        if param.default is None and (param.annotation is None or last_name(param.annotation) not in _KEYS)
    ]
    return any(isinstance(value, Tensor) and value.sure for value in given)


def _only_compiler_minds(policy: Policy, variant: str) -> bool:
    """Return whether a hazard is one for XLA's compiler alone, and none while the graph is recorded."""
    return policy.compiler_only and variant not in ANY_GRAPH
