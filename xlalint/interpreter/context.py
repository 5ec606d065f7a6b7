"""Contexts: one function analysed for one tuple of abstract arguments, and what was seen there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import NEVER, AllocationSite, Instance, Value
from xlalint.analysis.hazard import Confidence, Frequency
from xlalint.interpreter.rates import ALWAYS, Rate
from xlalint.interpreter.tracer import UNTRACED, Tracer
from xlalint.program.dependencies import DependencySet

if TYPE_CHECKING:
    from xlalint.interpreter.step_sequence import Pace
    from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo

MODULE_LEVEL: Final = "<module>"
"""What a module's own statements are called."""


TIGHT: Final[frozenset[Context]] = frozenset()


class PendingHazard:
    """A hazard seen in a context, before it is known how the context is reached. Fields as in `Hazard`.

    `framework` is "" for what is a hazard under any tracer that runs the code once (`tracing.variant_under`). `forked`: in a branch that
    may not be taken. `rate` is how often the place is reached where the context is entered now and then. `discrete`: the value is a
    truth or a whole number, of which there is no derivative. `given`: it is a parameter as it is given, which no tracer lets pass if it is
    a tensor. `of_leaves`: it is a tracer if one replaced all that the function is given.
    """

    __slots__ = (
        "at",
        "confidence",
        "detail",
        "discrete",
        "forked",
        "framework",
        "given",
        "of_leaves",
        "rate",
        "rule",
        "severity",
        "statement",
        "subject",
        "variant",
    )

    def __init__(
        self,
        rule: str,
        at: int,
        statement: int,
        framework: str,
        confidence: Confidence,
        subject: str,
        detail: str = "",
        variant: str = "",
        severity: tuple[tuple[str, str], ...] = (),
        forked: bool = False,
        rate: Rate = ALWAYS,
        discrete: bool = False,
        given: bool = False,
        of_leaves: bool = False,
    ) -> None:
        self.rule = rule
        self.at = at
        self.statement = statement
        self.framework = framework
        self.confidence = confidence
        self.subject = subject
        self.detail = detail
        self.variant = variant
        self.severity = severity
        self.forked = forked
        self.rate = rate
        self.discrete = discrete
        self.given = given
        self.of_leaves = of_leaves


class Context(DependencySet):
    """One activation: `args` are the parameters' values in order, `returns` what calls give back.

    `sightings` are the hazards in the function's own body, keyed by rule and place; `calls` are the contexts that it enters,
    each with the byte offset of a call; `guessed` are those of them that are entered for what subclasses may make of an abstract method,
    one of several; `rates` say how often, of those that do not run once whenever this one does; `stores` are
    attributes assigned on the receiver, `items` what is stored in dicts under known keys; `yields` joins what a generator yields. `outward`
    are the contexts of installed libraries that the user's code enters, by the extent of each call, with the byte offset of the statement
    that calls; `inward` those that a library's code surely enters in turn. `repeated` are those of `calls` that a loop here repeats, not at
    some of its turns alone, `each_turn` those of them that an innermost loop calls at each turn. What it `dispatches` and returns is being
    computed by the device; one that `computes` asks the device for operations one by one. One that `reads_numbers` reads more of what it is
    handed than whole arrays, which it copies. One that `takes_steps` has the device take many steps by a loop of its graph, one that
    `dispatches_often` by a loop of its own, of many turns.
    `converts` is false where AutoGraph leaves the function as it is, however it is reached; `restarts` is true where it rewrites the
    function whatever calls it, since a decorator asks for it.
    In a `per_turn` context only what a loop repeats counts: it is host code that drives the device. One that `collates` makes a batch of
    examples for a loader, in host memory. One that `replicates` gives a function
    to a strategy, which compiles that one: what it does itself runs on the host.
    `steps` are what it, and what it calls, does to set a TPU up, in order; `claims` are values that were made elsewhere and that it uses in
    a way that makes their making a hazard, with what to say of that (`frameworks.tensorflow.checks.outside_strategy_scope`).

    What another computation may rely on: `key` is under what the interpreter keeps the context, `depth` its place on the stack, `place`
    that among all that were entered. `leans_on` is the outermost context, still under way, whose unfinished result this one used
    (recursion): until that one is done, this one is part of its computation. `cut` says that a limit showed in the result (depth, number
    of contexts), so that it holds only where it was computed. It is `loose` where it used what recursions had left behind that began
    before it did, with these contexts: it holds where they did so, too. `of_table` says that it was entered to learn what a class stores,
    with few calls followed. `most` is how many contexts its group may have for its arguments not to be widened. `work` counts the
    statements that ran in it (`budget`). `roots` are the roots that running the body made known, `staged` the functions that it gave to
    tracers, `pace` is what of a training loop's step was met here, None where nothing was.
    """

    __slots__ = (
        "args",
        "calls",
        "claims",
        "collates",
        "computes",
        "converts",
        "cut",
        "depth",
        "dispatches",
        "dispatches_often",
        "done",
        "each_turn",
        "function",
        "guessed",
        "inward",
        "items",
        "key",
        "leans_on",
        "loose",
        "module",
        "most",
        "of_table",
        "outward",
        "pace",
        "per_turn",
        "place",
        "rates",
        "reads_numbers",
        "repeated",
        "replicates",
        "restarts",
        "returns",
        "roots",
        "sightings",
        "staged",
        "steps",
        "stores",
        "takes_steps",
        "work",
        "yields",
    )

    def __init__(self, function: FunctionInfo | None, module: ModuleInfo, args: tuple[Value, ...]) -> None:
        super().__init__()
        self.modules = module.bit
        self.function = function
        self.module = module
        self.args = args
        self.returns: Value = NEVER
        self.yields: Value = NEVER
        self.sightings: dict[tuple[str, int], PendingHazard] = {}
        self.calls: dict[Context, int] = {}
        self.guessed: dict[Context, None] = {}
        self.rates: dict[Context, Rate] = {}
        self.outward: dict[tuple[int, Context], int] = {}
        self.inward: dict[Context, None] = {}
        self.repeated: dict[Context, None] = {}
        self.each_turn: dict[Context, None] = {}
        self.dispatches = self.dispatches_often = self.takes_steps = self.reads_numbers = self.computes = False
        self.stores: dict[str, Value] = {}
        self.items: dict[str, Value] = {}
        self.steps: list[str] = []
        self.claims: dict[tuple[AllocationSite, str], str] = {}
        self.converts = True
        self.restarts = False
        self.done = False
        self.per_turn = self.collates = False
        self.replicates = False
        self.most = 0
        self.work = 0
        self.pace: Pace | None = None
        self.key: tuple[object, ...] = ()
        self.depth = self.place = 0
        self.leans_on: Context | None = None
        self.cut = False
        self.loose: frozenset[Context] = TIGHT
        self.of_table = False
        self.roots: list[RootContext] = []
        self.staged: list[FunctionInfo] = []

    @property
    def group(self) -> tuple[FunctionInfo | None, ClassInfo | None]:
        """The function, and the class of its first argument, whose contexts share a limit on their number."""
        first = self.args[0] if self.args else None
        return self.function, first.klass if isinstance(first, Instance) else None

    def lean_on(self, other: Context) -> None:
        """Note that this context used what `other`, on the stack, had worked out so far."""
        if self.leans_on is None or self.leans_on.done or other.depth < self.leans_on.depth:
            self.leans_on = other

    @property
    def name(self) -> str:
        """The qualified name of the function, or "<module>"."""
        return self.function.ir.qualname if self.function is not None else MODULE_LEVEL


class RootContext:
    """A context that XLA traces: `why` says which fact makes it a root; `tier` 1 is sure, 2 is a library's function.

    Tier 3 (`HOST_TIER`) is host code that sets the compiler up: of it only hazards of configuration count. `frequency` says how often it
    runs, `only` in words where, if not in every run. `unreached`: the program shows all calls of the function, and nothing that drives a
    device was seen to lead there. `if_led`: it counts where calls lead there from what a step runs, since nothing but the tensors that it
    takes makes it a root. `of_base`: it is a method of a class of a framework's that the framework calls, with what is not known.
    `replaced`: its tracer made tracers of all arguments.
    """

    __slots__ = ("context", "frequency", "if_led", "of_base", "only", "replaced", "tier", "tracer", "unreached", "why")

    def __init__(
        self,
        context: Context,
        why: str,
        tier: int,
        tracer: Tracer = UNTRACED,
        frequency: Frequency = Frequency.STEP,
        only: str = "",
        unreached: bool = False,
        if_led: bool = False,
        of_base: bool = False,
        replaced: bool = False,
    ) -> None:
        self.context = context
        self.of_base = of_base
        self.replaced = replaced
        self.unreached = unreached
        self.if_led = if_led
        self.why = why
        self.tier = tier
        self.tracer = tracer
        self.frequency = Frequency.ONCE if context.per_turn else frequency
        self.only = only


HOST_TIER: Final = 3
