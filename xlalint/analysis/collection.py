"""From contexts to hazards: those that count, each with the chain by which XLA reaches it, once for each place and rule."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from xlalint.analysis.chains import Key, Link, Reach, chain_to, key_of, steps_of
from xlalint.analysis.compiled_parts import CompiledParts, Started
from xlalint.analysis.decision import Decisions, Verdict
from xlalint.analysis.hazard import Confidence, Frequency, Hazard, Inside
from xlalint.analysis.led import find_led, list_leads, runs_at_steps
from xlalint.frameworks.base import Reach as Extent
from xlalint.frameworks.registry import row_of
from xlalint.interpreter.context import HOST_TIER
from xlalint.interpreter.rates import Cost, costliest
from xlalint.interpreter.tracer import Runner
from xlalint.rules.variants import WRONG_RESULTS

if TYPE_CHECKING:
    from xlalint.interpreter.context import Context, PendingHazard
    from xlalint.interpreter.drivers import Drivers
    from xlalint.interpreter.occasions import Occasions
    from xlalint.lowering.ir import Function
    from xlalint.program.linker import ModuleInfo, Program


_APART: Final = "in code to which no step of this program leads"


class FunctionHazard(msgspec.Struct, frozen=True, array_like=True):
    """A hazard, told by the function that holds it: it stays true when the function moves. Other fields as in `Hazard`.

    `start`, `end` and `statement` count from the function's start. `chain` leads from a root to the function, each link with why it is
    traced. `yields_to` says which calls of the function speak better of it than this, which was seen with unknown arguments: those in
    traced code, or all. `inside` is where a library's code that is called there meets the hazard: a function, and a byte offset from its
    start. `frequency` and `looped` say how often it costs by the roots of one module, `only` in which runs. `runner` is what runs the
    graph, where only XLA minds the hazard. One `if_led` counts in runs whose steps lead to its function.
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
    yields_to: Literal["", "traced", "all"] = ""
    inside: tuple[Key, int] | None = None
    frequency: Frequency | None = None
    looped: bool = False
    runner: Runner = "compiler"
    only: str = ""
    elsewhere: bool = False
    if_led: bool = False


class ModuleResult(msgspec.Struct, frozen=True, array_like=True):
    """The result of one batch of roots.

    `found` are its hazards. `called` are the functions that traced code calls, `hosted` those that host code calls, `entered` those that
    are roots of traced code themselves. `reaches` says, by framework and with the module, how far the program
    that is started at the module reaches XLA, if XLA compiles any of it, where another program of that framework may not.
    `stepping` are the functions that are known to run at steps, `leads` says what each function calls there; both are empty in programs
    without steps.
    """

    found: list[FunctionHazard]
    called: list[Key]
    hosted: list[Key]
    entered: list[Key] = []
    reaches: list[Started] = []
    stepping: list[Key] = []
    leads: list[tuple[Key, list[Key]]] = []


def harvest(decisions: Decisions, home: ModuleInfo, drivers: Drivers | None = None) -> ModuleResult:
    """The hazards that count in all contexts which the roots of a module reach, each with its shortest chain.

    `drivers` are given where the program has steps, and it matters to what these lead.
    """
    chains = decisions.chains
    found: list[FunctionHazard] = []
    called: set[Key] = set()
    hosted: set[Key] = set()
    entered: set[Key] = set()
    for reach, link in chains.items():
        context, root = reach[0], link.root
        itself = context.function is root.context.function  # that it calls itself says nothing of its callers
        calls = link.depth > 0 and not root.only  # what nothing calls says nothing of what it calls
        if calls and context.function is not None and not itself and not _copies_itself(context, link):
            (called if root.tier != HOST_TIER else hosted).add(context.function.key)
        if not link.depth and context.function is not None and root.tier != HOST_TIER:
            entered.add(context.function.key)
        if context.module.followed or not (context.sightings or context.outward):
            continue
        chain = chain_to(reach, chains)
        for read in decisions.library_reads(context) if root.tier != HOST_TIER else ():
            verdict = decisions.decide(read.call, reach)
            if verdict.counts:
                inside = key_of(read.context), read.at >> 32
                found.append(_make_hazard(read.call, verdict, decisions, reach, chain, inside))
        for pending in context.sightings.values():
            verdict = decisions.decide(pending, reach)
            if verdict.counts:
                found.append(_make_hazard(pending, verdict, decisions, reach, chain))
    reached = [
        (name, reach, home.index) for name, reach in sorted(decisions.reaches().items()) if reach >= Extent.COMPILED
    ]
    result = ModuleResult(found, sorted(called), sorted(hosted), sorted(entered), reached)
    if drivers is None:
        return result
    stepping = sorted({key_of(root.context) for root in decisions.roots if runs_at_steps(root)})
    return msgspec.structs.replace(result, stepping=stepping, leads=list_leads(chains, drivers))


def _copies_itself(context: Context, link: Link) -> bool:
    """Return whether a method makes another object of its own class, as `expand` does: that says nothing of what others make one with."""
    info, caller = context.function, link.caller[0].function if link.caller is not None else None
    made = info is not None and info.name == "__init__" and info.owner is not None
    return made and info is not None and caller is not None and caller.owner is info.owner


def _make_hazard(
    pending: PendingHazard,
    verdict: Verdict,
    decisions: Decisions,
    reach: Reach,
    chain: tuple[tuple[Key, str], ...],
    inside: tuple[Key, int] | None = None,
) -> FunctionHazard:
    link = decisions.chains[reach]
    cost = decisions.cost_of(pending, reach, verdict)
    often = cost is not None and decisions.is_told_often(pending, verdict)
    alone = link.root.tier == 2 and link.depth == 0
    return FunctionHazard(
        key_of(reach[0]),
        pending.at >> 32,
        pending.at & 0xFFFFFFFF,
        pending.statement,
        pending.rule,
        decisions.framework_of(pending, link.root),
        verdict.confidence,
        pending.subject,
        pending.detail,
        verdict.variant,
        pending.severity,
        chain,
        ("all" if verdict.of_host else "traced") if alone else "",
        inside,
        cost.frequency if cost is not None and often else None,
        cost is not None and often and cost.looped,
        verdict.runner,
        cost.only if cost is not None else "",
        if_led=cost is not None and link.root.if_led,
    )


def merge(harvests: Iterable[ModuleResult], program: Program, occasions: Occasions) -> list[Hazard]:
    """The hazards of all batches, each place and rule once, the surest and shortest explained, as they stand in the program's files.

    A library function that traced code calls is judged by those calls: what its analysis with unknown arguments saw on top is dropped. So
    is one that host code calls, as to how that sets it up. Of one that a package exports the program's own calls do not say all.
    """
    harvested = list(harvests)
    called = {key for batch in harvested for key in batch.called}
    hosted = {key for batch in harvested for key in batch.hosted}
    compiled = CompiledParts({one for batch in harvested for one in batch.reaches}, program)
    led = find_led_by(harvested, program, occasions)
    return merge_placed((found for batch in harvested for found in batch.found), called, hosted, compiled, led, program)


def find_led_by(harvests: Collection[ModuleResult], program: Program, occasions: Occasions) -> Container[Key]:
    """Return the functions to which steps of a program lead, as far as anything hangs on that."""
    if not any(found.if_led for batch in harvests for found in batch.found):
        return ()
    stepping = (key for batch in harvests for key in batch.stepping)
    leads = (lead for batch in harvests for lead in batch.leads)
    return find_led(stepping, leads, occasions.find_unseen(), occasions.list_called_names, program)


def merge_placed(
    founds: Iterable[FunctionHazard],
    called: Container[Key],
    hosted: Container[Key],
    compiled: CompiledParts,
    led: Container[Key],
    program: Program,
) -> list[Hazard]:
    """`merge` of what was found, with the functions that traced code calls, and those that host code does.

    `compiled` says which modules XLA may compile. What only XLA minds is information where it never compiles the code. `led` are the
    functions to which steps of the program lead.
    """
    best: dict[tuple[Key, int, int, str], FunctionHazard] = {}
    costs: dict[tuple[Key, int, int, str], Cost] = {}
    paid: set[tuple[Key, int, int, str]] = set()
    for seen in founds:
        if is_superseded(seen, called, hosted, program.exported):
            continue
        found = _as_asked(seen, compiled) if _compiles(seen, compiled) else _as_information(seen)
        if found.if_led and found.function not in led:
            found = msgspec.structs.replace(found, only=_APART)
        key = (found.function, found.start, found.end, found.rule)
        known = best.get(key)
        if known is None or _preference(found) < _preference(known):
            best[key] = found
        if found.frequency is not None:
            cost = Cost(found.frequency, found.looped, found.only)
            costs[key] = costliest((costs.get(key, cost), cost))
        if not found.only:
            paid.add(key)
    hazards = [place_hazard(_costing(found, costs.get(key), key in paid), program) for key, found in best.items()]
    return sorted(hazards, key=lambda h: (h.path, h.start, h.end, h.rule))


def _compiles(found: FunctionHazard, compiled: CompiledParts) -> bool:
    """Return whether XLA compiles the code of a hazard: always, or since a module that leads there asks for it."""
    if found.runner in ("compiler", "framework"):
        return found.runner == "compiler"
    index = _root_of(found)
    if found.runner in ("training", "jit") and compiled.hold(found.framework, Extent.COMPILED, index):
        return True
    return found.runner != "jit" and compiled.hold(found.framework, Extent.DEVICE, index)


def _as_asked(found: FunctionHazard, compiled: CompiledParts) -> FunctionHazard:
    """The hazard with whether only another module asks for the compiler that minds it."""
    asked = found.runner in ("compiler", "framework") or compiled.asks(found.framework, _root_of(found))
    return found if asked else msgspec.structs.replace(found, elsewhere=True)


def _root_of(found: FunctionHazard) -> int:
    """Return the module of the root that leads to a hazard."""
    return found.chain[0][0][0] if found.chain else found.function[0]


def _as_information(found: FunctionHazard) -> FunctionHazard:
    """The hazard as information, on all targets of its framework."""
    severity = tuple([(target, "info") for target in row_of(found.framework).targets])
    return msgspec.structs.replace(found, severity=severity, runner="framework")


def _costing(found: FunctionHazard, cost: Cost | None, paid: bool) -> FunctionHazard:
    """The hazard as often as by the costliest of the ways by which it is reached; `paid`: by one of these, in every run."""
    only = "" if paid else found.only
    if cost is None:
        return found if only == found.only else msgspec.structs.replace(found, only=only)
    if (*cost[:2], only) == (found.frequency, found.looped, found.only):
        return found
    return msgspec.structs.replace(found, frequency=cost.frequency, looped=cost.looped, only=only)


def is_superseded(
    found: FunctionHazard, called: Container[Key], hosted: Container[Key], exported: Container[Key]
) -> bool:
    """Decide whether calls of the function say better what happens there."""
    if not found.yields_to:
        return False
    if found.yields_to == "all" and found.function in hosted:
        return True
    return found.function in called and found.function not in exported


def _preference(found: FunctionHazard) -> tuple[bool, bool, int, int, tuple[tuple[Key, str], ...], str]:
    return (
        found.runner == "framework",
        found.variant not in WRONG_RESULTS,
        -found.confidence,
        len(found.chain),
        found.chain,
        found.subject,
    )


def place_hazard(found: FunctionHazard, program: Program) -> Hazard:
    """Place a hazard where its function stands now."""
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
        tuple(steps_of(found.chain, program)),
        _inside(found.inside, program) if found.inside is not None else None,
        found.frequency,
        found.looped,
        _copy_key(found, info.ir) if info is not None else "",
        _target(found, program),
        found.only,
        found.elsewhere,
    )


def _target(found: FunctionHazard, program: Program) -> str:
    """Return the target for which the file of a hazard is judged."""
    return program.modules[found.function[0]].taught.target_among(row_of(found.framework).targets)


def _copy_key(found: FunctionHazard, function: Function) -> str:
    """Return what a hazard has in common with those in copies of its function: what the function does, the place in it, the rule."""
    state = blake2b(function.digest, digest_size=8)
    state.update(f"{found.rule}\0{found.start}\0{found.end}".encode())
    return state.hexdigest()


def _inside(place: tuple[Key, int], program: Program) -> Inside:
    (module, function), start = place
    home = program.modules[module]
    info = home.functions[function].ir
    file = f"{home.name.replace('.', '/')}{'/__init__' if home.unit.is_package else ''}.py"
    return Inside(home.path, file, f"{home.name}.{info.qualname}", info.start + start)
