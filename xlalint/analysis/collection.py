"""From contexts to hazards: which contexts XLA traces, by which chain, and how sure that is."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from xlalint.abstract.values import tensors
from xlalint.analysis.hazard import Confidence, Hazard, Inside, Step
from xlalint.frameworks.base import NOWHERE, Platforms, reaches
from xlalint.frameworks.checks.jit_per_call import AGAIN
from xlalint.frameworks.platforms import around_compiled, needed
from xlalint.frameworks.tensorflow.checks.local_path_on_tpu import OF_NODES
from xlalint.frameworks.tensorflow.checks.tpu_initialisation import REMOTE_NAMES, RESOLVED
from xlalint.frameworks.tensorflow.conversion import variant_under
from xlalint.frameworks.torch.checks.missing_step_barrier import UNREDUCED
from xlalint.interpreter.context import HOST_TIER, PendingHazard
from xlalint.interpreter.frame import device_tensor
from xlalint.interpreter.tracer import NO_AUTOGRAPH, Tracer
from xlalint.rules.codes import ANALYSIS_CUT_OFF as CUT_OFF

if TYPE_CHECKING:
    from xlalint.abstract.values import Value
    from xlalint.interpreter.context import Context, RootContext
    from xlalint.program.linker import FunctionInfo, Program


Reach = tuple["Context", bool]  # a context, and whether AutoGraph rewrites it as it is reached
# Under these frameworks' tracers a hazard is an error: a function that holds one and is given to no tracer runs eagerly.
_RAISING = ("jax", "tensorflow")
# That a program does not do what torch_xla asks of it says nothing where it shows no sign of being written for that.
_WITHOUT_ORDERS = "XLA511"
# What costs only where the code around it runs again and again, and nothing while that is traced.
_MADE = frozenset(("XLA404", "XLA405"))
# What a call costs that reads tensors inside of an installed library, and the rules by which those reads are known.
_LIBRARY = "XLA305"
_READING = frozenset(
    [f"XLA10{number}" for number in range(1, 8)]
    + [f"XLA20{number}" for number in (1, 2, 3, 4, 6, 7, 8)]
    + ["XLA301", "XLA302", "XLA304", "XLA305"]
)
# What JAX runs eagerly all the same, with a compilation for each new size.
_EAGER = frozenset(("XLA201", "XLA202", "XLA203", "XLA204"))
# What only a compiler minds: TensorFlow's own runtime has loops of any length, shapes of any size, and all of its operations.
_COMPILED = ("XLA101", "XLA102", "XLA104", "XLA105", "XLA107", "XLA2", "XLA6")
# What a function that may be called from anywhere draws at random is mostly an augmentation, and that is the host's.
_DRAWN = "XLA403"


class Link(NamedTuple):
    """How a context is reached: from which root, by which caller (None: it is the root), over how many calls."""

    root: RootContext
    caller: Reach | None
    depth: int


Key = tuple[int, int]
"""A function: its module's index, and its own or -1 for module level."""


class _Repeated:
    """What a loop somewhere repeats: the contexts that it calls, and what these call in turn. Worked out when it is first asked for."""

    def __init__(self, chains: dict[Reach, Link]) -> None:
        self._chains = chains
        self._again: set[Context] | None = None
        self._traced: set[FunctionInfo | None] = set()

    def counts(self, context: Context, variant: str) -> bool:
        """Whether what is made anew in a context costs: nothing while it is traced, which is once, nor where it runs once."""
        if self._again is None:
            self._again = set(_called_from([inner for reach in self._chains for inner in reach[0].repeated]))
            self._traced = {reach[0].function for reach, link in self._chains.items() if link.root.tier == 1} - {None}
        return context.function not in self._traced and (variant != AGAIN or context in self._again)


def _called_from(contexts: list[Context]) -> Iterator[Context]:
    """Contexts with all that they call, each once."""
    seen = set(contexts)
    todo = list(seen)
    while todo:
        context = todo.pop()
        yield context
        new = [inner for inner in context.calls if inner not in seen]
        seen.update(new)
        todo += new


class FunctionHazard(msgspec.Struct, frozen=True, array_like=True):
    """A hazard, told by the function that holds it: it stays true when the function moves. Other fields as in `Hazard`.

    `start`, `end` and `statement` count from the function's start. `chain` leads from a root to the function, each link with why it is
    traced. `tier` is the root's, and `is_root` says that the function is that root itself. `inside` is where a library's code that is
    called there meets the hazard: a function, and a byte offset from its start.
    """

    function: Key
    start: int
    end: int
    statement: int
    rule: str
    framework: str
    confidence: Confidence
    subject: str
    detail: str
    variant: str
    severity: tuple[tuple[str, str], ...]
    chain: tuple[tuple[Key, str], ...]
    tier: int
    is_root: bool
    inside: tuple[Key, int] | None = None


class ModuleResult(msgspec.Struct, frozen=True, array_like=True):
    """What one batch of roots gave: hazards, the functions that were entered by a call from traced code, and those that only host code
    calls."""

    found: list[FunctionHazard]
    called: list[Key]
    hosted: list[Key]


def harvest(roots: Iterable[RootContext], platforms: Platforms = NOWHERE) -> ModuleResult:
    """The hazards of all contexts that the roots reach, each with its shortest chain."""
    known = list(roots)
    chains = chains_of(known)
    hosting = hosts_of_replicas(known, chains)
    repeated = _Repeated(chains)
    traced = {context.function for (context, _), link in chains.items() if link.root.tier == 1}
    node = _tpu_node(chains)
    found: list[FunctionHazard] = []
    called: set[Key] = set()
    hosted: set[Key] = set()
    for reach, link in chains.items():
        context, root = reach[0], link.root
        itself = context.function is root.context.function  # that it calls itself says nothing of its callers
        if link.depth and context.function is not None and not itself:
            (called if root.tier != HOST_TIER else hosted).add(context.function.key)
        if context.module.followed:
            continue
        chain = _chain(reach, chains) if context.sightings or context.outward else ()
        if context.outward and root.tier != HOST_TIER and (context.function is not None or context.per_turn):
            found.extend(_paid(context, link, chain))
        for sighting in context.sightings.values():
            if sighting.rule == CUT_OFF:
                found.append(_found(context, sighting, link, "", chain))
                continue
            variant = variant_under(_tracer(reach, root), sighting)
            if sighting.rule in OF_NODES:
                variant = node
            if variant is None or not _counts(sighting, context, root, platforms):
                continue
            if around_compiled(sighting.rule, sighting.framework) and context.function in traced:
                continue
            if sighting.rule in _MADE and not repeated.counts(context, variant):
                continue
            if context in hosting and variant != NO_AUTOGRAPH and sighting.rule.startswith(_COMPILED):
                continue
            found.append(_found(context, sighting, link, variant, chain))
    return ModuleResult(found, sorted(called), sorted(hosted))


def _tpu_node(chains: Mapping[Reach, Link]) -> str | None:
    """The variant of what only a TPU node cannot do: "" where the TPU is surely on another machine than the program, None where it is on
    the same."""
    named = {
        step.removeprefix(RESOLVED) for context, _ in chains for step in context.steps if step.startswith(RESOLVED)
    }
    if named == {"local"}:
        return None
    return "" if named and named <= REMOTE_NAMES else "unknown"


def _paid(context: Context, link: Link, chain: tuple[tuple[Key, str], ...]) -> Iterator[FunctionHazard]:
    """What calls into installed libraries cost: each call that hands over tensors, and whose callee surely reads one's value."""
    for (at, callee), statement in context.outward.items():
        read = _read_inside(callee) if any(_on_device(value) for value in callee.args) else None
        if read is not None:
            holder, sighting = read
            call = PendingHazard(_LIBRARY, at, statement, "torch", Confidence.LIKELY, "", variant="followed")
            yield _found(context, call, link, call.variant, chain, (_key(holder), sighting.at >> 32))


def _read_inside(callee: Context) -> tuple[Context, PendingHazard] | None:
    """The place nearest to the call where a library's code reads the value of one of torch's tensors; None where it does not.

    What the user's own code does that the library calls back is told there.
    """
    seen = {callee: None}
    todo = deque(seen)
    while todo:
        context = todo.popleft()
        reads = [sighting for sighting in context.sightings.values() if _reads(sighting)]
        if reads and context.function is not None:
            return context, min(reads, key=lambda sighting: (sighting.at, sighting.rule))
        for inner in context.inward:
            if inner not in seen:
                seen[inner] = None
                todo.append(inner)
    return None


def _reads(sighting: PendingHazard) -> bool:
    if sighting.framework != "torch" or sighting.forked or sighting.confidence < Confidence.LIKELY:
        return False
    harmless = any(target == "torch_xla" and severity in ("off", "info") for target, severity in sighting.severity)
    return sighting.rule in _READING and not harmless


def _on_device(value: Value) -> bool:
    return any(device_tensor(tensor) is not None for tensor in tensors(value)) or device_tensor(value) is not None


def _tracer(reach: Reach, root: RootContext) -> Tracer:
    return (
        root.tracer if reach[1] is root.tracer.autograph else msgspec.structs.replace(root.tracer, autograph=reach[1])
    )


def _counts(sighting: PendingHazard, context: Context, root: RootContext, platforms: Platforms) -> bool:
    """Of host code what speaks of it counts, where the program reaches XLA; of traced code, what stands in functions,
    and in the loops of a script that drives the device."""
    reach = needed(sighting.rule, sighting.framework)
    if reach is not None:
        without_orders = sighting.rule == _WITHOUT_ORDERS and sighting.framework in platforms
        told = without_orders and platforms[sighting.framework].told
        return reaches(platforms, sighting.framework, reach) and not told
    return root.tier != HOST_TIER and (context.function is not None or context.per_turn)


def hosts_of_replicas(roots: Iterable[RootContext], chains: Iterable[Reach]) -> set[Context]:
    """The contexts that only serve functions which give others to a strategy.

    The strategy compiles those others, and the function around them is TensorFlow's own graph, which knows loops of any length and
    shapes of any size: `for _ in tf.range(steps): strategy.run(step_fn)`.
    """
    hosting = _leading_to_replicas({context for context, _ in chains})
    if not hosting:
        return hosting
    compiled: set[Context] = set()
    todo = [root.context for root in roots if root.context not in hosting]
    while todo:
        context = todo.pop()
        if context not in compiled:
            compiled.add(context)
            todo.extend(callee for callee in context.calls if callee not in hosting)
    return {context for context, _ in chains if context not in compiled}


def _leading_to_replicas(contexts: set[Context]) -> set[Context]:
    found = {context for context in contexts if context.replicates}
    callers: dict[Context, list[Context]] = {}
    if found:
        for context in contexts:
            for callee in context.calls:
                callers.setdefault(callee, []).append(context)
    todo = list(found)
    while todo:
        for caller in callers.get(todo.pop(), ()):
            if caller not in found:
                found.add(caller)
                todo.append(caller)
    return found


def merge(harvests: Iterable[ModuleResult], program: Program) -> list[Hazard]:
    """The hazards of all batches, each place and rule once, the surest and shortest explained, as they stand in the program's files.

    A library function that traced code calls is judged by those calls: what its analysis with unknown arguments saw on top is dropped. So
    is one that host code calls, as to how that sets it up.
    """
    harvested = list(harvests)
    called = {key for batch in harvested for key in batch.called}
    hosted = {key for batch in harvested for key in batch.hosted}
    return merged((found for batch in harvested for found in batch.found), called, hosted, program)


def merged(
    founds: Iterable[FunctionHazard], called: Container[Key], hosted: Container[Key], program: Program
) -> list[Hazard]:
    """`merge` of what was found, with the functions that traced code calls, and those that host code does."""
    best: dict[tuple[Key, int, int, str], FunctionHazard] = {}
    for found in founds:
        judged = hosted if needed(found.rule, found.framework) is not None else ()
        if found.tier == 2 and found.is_root and (found.function in called or found.function in judged):
            continue
        key = (found.function, found.start, found.end, found.rule)
        known = best.get(key)
        if known is None or _preference(found) < _preference(known):
            best[key] = found
    return sorted((placed(found, program) for found in best.values()), key=lambda h: (h.path, h.start, h.end, h.rule))


def _preference(found: FunctionHazard) -> tuple[bool, int, int, tuple[tuple[Key, str], ...], str]:
    foremost = found.variant in (NO_AUTOGRAPH, UNREDUCED)  # what gives wrong results comes before what is slow
    return (not foremost, -found.confidence, len(found.chain), found.chain, found.subject)


def placed(found: FunctionHazard, program: Program) -> Hazard:
    """The hazard where the function stands now."""
    module, function = found.function
    info = program.modules[module].functions[function] if function >= 0 else None
    base = info.ir.start if info is not None else 0
    return Hazard(
        program.modules[module].path,
        base + found.start,
        base + found.end,
        base + found.statement,
        found.rule,
        found.framework,
        found.confidence,
        found.subject,
        found.detail,
        found.variant,
        found.severity,
        info.ir.qualname if info is not None else "<module>",
        tuple(_step(key, why, program) for key, why in found.chain),
        _inside(found.inside, program) if found.inside is not None else None,
    )


def _inside(place: tuple[Key, int], program: Program) -> Inside:
    (module, function), start = place
    home = program.modules[module]
    info = home.functions[function].ir
    file = f"{home.name.replace('.', '/')}{'/__init__' if home.unit.is_package else ''}.py"
    return Inside(home.path, file, f"{home.name}.{info.qualname}", info.start + start)


def trace_of(reach: Reach, chains: dict[Reach, Link], program: Program) -> tuple[Step, ...]:
    """The chain of functions that leads from a root to a context."""
    return tuple(_step(key, why, program) for key, why in _chain(reach, chains))


def _step(key: Key, why: str, program: Program) -> Step:
    module = program.modules[key[0]]
    if key[1] < 0:
        return Step(module.path, 1, "<module>", why)
    function = module.functions[key[1]].ir
    return Step(module.path, function.row, function.qualname, why)


def _root_order(root: RootContext) -> tuple[int, bool, int, int, str]:
    function = root.context.function
    return (
        root.tier,
        not root.tracer.compiles,
        root.context.module.index,
        function.index if function is not None else -1,
        root.why,
    )


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


def _chain(reach: Reach, chains: dict[Reach, Link]) -> tuple[tuple[Key, str], ...]:
    links: list[tuple[Key, str]] = []
    current: Reach | None = reach
    while current is not None:
        link = chains[current]
        why = link.root.why if link.caller is None else f"called from {link.caller[0].name}"
        links.append((_key(current[0]), why))
        current = link.caller
    return tuple(reversed(links))


def _key(context: Context) -> Key:
    return context.function.key if context.function is not None else (context.module.index, -1)


def _found(
    context: Context,
    sighting: PendingHazard,
    link: Link,
    variant: str,
    chain: tuple[tuple[Key, str], ...],
    inside: tuple[Key, int] | None = None,
) -> FunctionHazard:
    root = link.root
    confidence = sighting.confidence
    if sighting.rule == CUT_OFF or needed(sighting.rule, sighting.framework) is not None:
        pass  # no tracer has a say in it
    elif root.tier == 2 and sighting.framework in _RAISING:
        confidence = Confidence.POSSIBLE
        if sighting.framework == "jax" and sighting.rule in _EAGER and sighting.confidence:
            confidence = Confidence.LIKELY
            variant = "eager"
    elif root.tier == 2 and sighting.rule == _DRAWN and not root.context.per_turn:
        confidence = Confidence.POSSIBLE
    elif root.tier == 2 and confidence is Confidence.CERTAIN:
        confidence = Confidence.LIKELY
    return FunctionHazard(
        _key(context),
        sighting.at >> 32,
        sighting.at & 0xFFFFFFFF,
        sighting.statement,
        sighting.rule,
        sighting.framework or root.tracer.framework or "torch",
        confidence,
        sighting.subject,
        sighting.detail,
        variant,
        sighting.severity,
        chain,
        root.tier,
        link.depth == 0,
        inside,
    )
