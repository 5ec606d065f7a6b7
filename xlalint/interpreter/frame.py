"""One activation under interpretation: its variables, and the evaluation and execution of its body."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from xlalint.abstract.lattice import join
from xlalint.abstract.values import NEVER, NONE, UNKNOWN, AllocationSite, Function, Tensor, Value, members
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.step_sequence import Pace
from xlalint.interpreter.budget import MAX_WORK, CutOff
from xlalint.interpreter.context import Context, PendingHazard
from xlalint.lowering import ir
from xlalint.rules.codes import BRANCH_MISMATCH
from xlalint.rules.policy import NO_POLICY

if TYPE_CHECKING:
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.program.linker import FunctionInfo, ModuleInfo

Env = dict[str, Value]
LoopKind = Literal["", "for", "while", "endless"]  # "endless": `while` on what is known to be true
Excuse = Literal["", "host", "apart", "error path", "once", "guarded"]
"""Why a hazard does not count where it is met, "" if it does: the value is on the host, the code fills a graph of its own, is an error
path, runs once, or catches what the tracer raises."""

# What is read or printed once in a hundred steps costs next to nothing where that does not break the graph.
_OCCASIONAL = (("torch_xla", "info"), ("torch_tpu", "info"))


class Touch(NamedTuple):
    """A call that starts the runtime of a framework's device; `at`, `base` and `statement` as the frame had them."""

    framework: str
    at: int
    base: int
    statement: int
    spelled: str


class Frame:
    """The interpreter's state inside one context.

    `env` maps names to values; a key "x.attr" holds what is known of an attribute of the value now in `x`, flow-sensitively;
    `owners` are the names `x` of which such a key was ever made. `declared` holds the annotations of names, which still say what
    they are where a new value is not known.
    `statement` is the byte offset of the statement being executed; `base` is added to positions (packed as `at` is), outside of
    functions where each statement counts from its own start. `muted` counts enclosing places whose hazards do not count (what an
    error path formats), `turning` enclosing loops (in code that drives a device: those whose turns are its steps), `lasting` those of more
    than a few turns, `stepping` is how many there were where the innermost one began that drives the device (0: none).
    `asked` is the tensor whose truth was last asked for.
    `loop` is the kind of the innermost loop on host values, `staged` the names that were set before the innermost loop
    on a symbolic tensor, `taping` counts enclosing gradient tapes, `apart` blocks that fill a graph of their own, `guarded` enclosing
    `try` blocks that catch what tracers raise, `rare` enclosing branches that run once in several steps, `frequent` those of them that run
    in more than one of ten, `doubt` enclosing calls and indices of what may be something else, `forks` branches that may not be taken,
    `tests` the conditions of enclosing branches of which it is not known whether they are taken, `touched` the calls that started a
    device's runtime, `optimized` the models whose parameters an optimizer took (how it is spelled, what the model was, whether in a
    branch), `companions` the optimizers and metrics that models were compiled with which were made outside of a strategy's scope,
    `drawn` is the comparison, in the test under way, of a number that the host
    draws, `within_calls` the calls whose tests this frame stands for. `half_returns` are tensor tests of which one branch returns (place,
    statement, tensor, test), `remembers` is the table that the branch being run fills in once per key. `exits`
    and `repeats` collect the environments that leave or repeat the innermost loop.
    """

    def __init__(self, interpreter: Interpreter, context: Context, env: Env, closure: Env) -> None:
        self.interpreter = interpreter
        self.program = interpreter.program
        self.apis = interpreter.apis
        self.context = context
        self.module: ModuleInfo = context.module
        self.function: FunctionInfo | None = context.function
        self.env = env
        self.closure = closure
        self.statement = 0
        self.base = 0
        self.suppressed = 0
        self.exits: list[Env] = []
        self.repeats: list[Env] = []
        self.receiver_name = ""
        self.asked: Tensor | None = None
        self.loop: LoopKind = ""
        self.staged: frozenset[str] = frozenset()
        self.taping = 0
        self.apart = 0
        self.try_depth = 0
        self.rare = int(context.rare)
        self.frequent = 0
        self.ambiguous_callee = 0
        self.branch_depth = 0
        self.tests: list[ir.Node] = []
        self.touched: list[Touch] = []
        self.optimized: dict[str, tuple[str, Value | None, bool]] = {}
        self.companions: dict[AllocationSite, list[tuple[AllocationSite, str]]] = {}
        self.drawn: ir.Node | None = None
        self.remembers = ""
        self.within_calls = 0
        self.half_returns: list[tuple[int, int, Tensor, ir.Node]] = []
        self.turning = 0
        self.lasting = 0
        self.stepping = 0
        self.owners: set[str] = set()
        self.declared: dict[str, ir.Node] = {}
        self.outer_names: frozenset[str] = frozenset()

    # ---------------------------------------------------------------------------------------- evaluation

    def eval(self, node: ir.Node) -> Value:
        """The value of an expression; what it does to the environment is done."""
        return _EVAL[type(node)](self, node)

    def exec(self, statements: tuple[ir.Statement, ...]) -> bool:
        """Run a block. False: control does not fall out of its end."""
        self.context.work += len(statements)
        for statement in statements:  # noqa: SIM110 - a generator would cost a frame per block
            if not _EXEC[type(statement)](self, statement):
                return False
        return True

    def turn(self) -> None:
        """Begin another turn of a loop; `CutOff` where the function has taken more than its share of work."""
        if self.context.work > MAX_WORK:
            raise CutOff

    def within(self, func: Function, env: Env) -> Frame:
        """A frame that evaluates expressions of another function, of which nothing is reported."""
        frame = Frame(self.interpreter, Context(func.info, func.info.module, ()), env, dict(func.closure))
        frame.suppressed = 1
        frame.within_calls = self.within_calls + 1
        return frame

    # ---------------------------------------------------------------------------------------------- names

    def lookup(self, name: str) -> Value:
        """The value of a name: local, of an enclosing function, of the module, built in."""
        value = self.env.get(name)
        if value is not None:
            return value
        value = self.closure.get(name)
        if value is not None:
            return value
        return self.interpreter.global_name(self.module, name)

    def bind(self, name: str, value: Value) -> None:
        """Assign a local name; what was known of the old value's attributes is forgotten."""
        if value is UNKNOWN and name in self.declared:
            value = self.interpreter.annotations.value(self.module, self.declared[name]) or UNKNOWN
        self.env[name] = value
        if name in self.owners:
            self.forget(name)

    def refine(self, path: str, value: Value) -> None:
        """Keep what is known of the value at a name or attribute path."""
        self.env[path] = value
        if "." in path:
            self.owners.add(path.partition(".")[0])

    def forget(self, path: str) -> None:
        """Drop what is known of attributes of the value at `path`."""
        prefix = path + "."
        stale = [key for key in self.env if key.startswith(prefix)]
        for key in stale:
            del self.env[key]

    def store(self, name: str, value: Value) -> None:
        """Note that the receiver's attribute is assigned."""
        stores = self.context.stores
        stores[name] = join(stores.get(name, NEVER), value)

    def adopt(self, stores: dict[str, Value]) -> None:
        """Take over what a method called on the same receiver assigned to its attributes."""
        for name, value in stores.items():
            self.store(name, value)
            path = f"{self.receiver_name}.{name}"
            if path in self.env:
                del self.env[path]

    def inner(self, offset: int) -> FunctionInfo:
        """The function that a `def` or lambda here makes, by its index counted from this one."""
        return self.module.functions[offset + (self.function.index if self.function is not None else 0)]

    def enters(self, context: Context, at: int) -> None:
        """Note that the code here calls into a context."""
        if self.interpreter.observer is not None:
            self.interpreter.observer.entered(self, context, at)
        if not self.apart and (self.turning or context.per_turn or not self.context.per_turn):
            self.context.calls.setdefault(context, at)
            if self.lasting:
                self.context.repeated[context] = None
            if context.pace is not None and context.pace is not self.context.pace:
                self._keeps_pace(context, context.pace, at)
            if context.module.followed and at and not self.suppressed and not self.ambiguous_callee:
                self._enters_library(context, at)

    def touches(self, framework: str, at: int, spelled: str) -> None:
        """Note that a framework's runtime is started here."""
        self.touched.append(Touch(framework, at, self.base, self.statement, spelled))

    def _keeps_pace(self, callee: Context, pace: Pace, at: int) -> None:
        """Note what a function that is called here does of a training loop's step."""
        if self.context.pace is None:
            self.context.pace = Pace()
        statement = self.statement + (self.base & 0xFFFFFFFF)
        spelled = f"{callee.function.name}(…)" if callee.function is not None else ""
        self.context.pace.joined(pace, at + self.base, statement, spelled)

    def _enters_library(self, context: Context, at: int) -> None:
        """Note a call into an installed library: from the user's code, or from one that surely goes on."""
        if not self.module.followed:
            self.context.outward.setdefault((at + self.base, context), self.statement + (self.base & 0xFFFFFFFF))
        elif not self.branch_depth:
            self.context.inward[context] = None

    def merge(self, others: list[Env]) -> None:
        """Join environments into the current one; attributes are kept where all paths know them."""
        for other in others:
            join_into(self.env, other, bool(self.owners))

    # -------------------------------------------------------------------------------------------- hazards

    def report(
        self,
        rule: str,
        at: int,
        value: Value,
        node: ir.Node | None,
        detail: str = "",
        variant: str = "",
        severity: tuple[tuple[str, str], ...] = (),
        at_most: Confidence = Confidence.CERTAIN,
    ) -> None:
        """Record that `value`, written as `node`, meets a rule at `at`; nothing where it is no device tensor."""
        at += self.base
        culprit = device_tensor(value)
        if culprit is None:
            self._withhold(rule, at, value, "host")
            return
        policy = self.interpreter.policies.get(rule, NO_POLICY)
        excuse = self._excuse()
        if not excuse and self.try_depth and culprit.framework != "torch" and policy.tracer_raises:
            excuse = "guarded"
        if excuse:
            self._withhold(rule, at, value, excuse)
            return
        sure = culprit.sure and value is culprit and not self.ambiguous_callee
        confidence = min(Confidence.CERTAIN if sure else Confidence.LIKELY, at_most)
        others = policy.tracer_refuses and culprit.framework != "torch"
        if others and any(type(m) is not Tensor and m is not NONE for m in members(value)):
            # A tracer would have refused: code that lets the host's alternatives through has been run with those.
            confidence = Confidence.POSSIBLE
        if policy.free_for_arrays and any(type(m) is Tensor and m.framework == "numpy" for m in members(value)):
            confidence = Confidence.POSSIBLE
        if self.rare and not severity and (policy.cheap_if_rare or (policy.cheap_if_seldom and not self.frequent)):
            severity = _OCCASIONAL
        known = self.context.sightings.get((rule, at))
        if known is None or known.confidence < confidence:
            self.context.sightings[rule, at] = PendingHazard(
                rule,
                at,
                self.statement + (self.base & 0xFFFFFFFF),
                culprit.framework,
                confidence,
                spelling(node) if node is not None else "",
                detail,
                variant,
                severity,
                self.branch_depth > 0,
            )

    def _withhold(self, rule: str, at: int, value: Value, excuse: Excuse) -> None:
        """Tell who watches of a hazard that does not count."""
        if self.interpreter.observer is not None:
            self.interpreter.observer.withheld(self, rule, at, value, excuse)

    def _excuse(self) -> Excuse:
        """Say why no hazard counts in the code under way, "" if hazards do."""
        if self.apart:
            return "apart"
        if self.suppressed:
            return "error path"
        return "once" if self.context.per_turn and not self.turning else ""

    def note(
        self,
        rule: str,
        at: int,
        framework: str,
        subject: str,
        detail: str = "",
        variant: str = "",
        severity: tuple[tuple[str, str], ...] = (),
        confidence: Confidence = Confidence.CERTAIN,
    ) -> None:
        """Record a hazard that is not about one tensor; `framework` "" leaves it to the tracer that reaches the code."""
        if not self._excuse():
            at += self.base
            statement = self.statement + (self.base & 0xFFFFFFFF)
            self.context.sightings.setdefault(
                (rule, at),
                PendingHazard(rule, at, statement, framework, confidence, subject, detail, variant, severity),
            )

    def rename(self, rule: str, better: str, at: int) -> None:
        """Record what was seen at a place under the rule that says it better."""
        at += self.base
        known = self.context.sightings.pop((rule, at), None)
        if known is not None:
            known.rule = better
            self.context.sightings[better, at] = known

    def qualify(self, rule: str, at: int, variant: str) -> None:
        """Give what was seen at a place the variant that is known by now."""
        known = self.context.sightings.get((rule, at + self.base))
        if known is not None:
            known.variant = variant

    def confirm(self, rule: str, at: int) -> None:
        """Take what was possible at a place for likely."""
        known = self.context.sightings.get((rule, at))
        if known is not None and known.confidence < Confidence.LIKELY:
            known.confidence = Confidence.LIKELY

    def is_outer(self, name: str) -> bool:
        """Whether the name is the module's, and what is kept there lives on after the function."""
        if self.function is None or name in self.closure:
            return False
        return name in self.outer_names or name not in self.env

    def explain(self, rule: str, at: int, node: ir.Node, detail: str = "") -> None:
        """Record what a host value does that the expression `node` reads from a tensor; its own reads are the same hazard.

        Nothing where the value was read before: the hazard is at the read.
        """
        if not calls_within(node):
            return
        framework = ""
        for key in self._reads_within(position(node) + self.base):
            framework = self.context.sightings.pop(key).framework
        framework = framework or self.interpreter.annotations.framework(self.module)
        if framework:
            self.note(rule, at, framework, spelling(node), detail)

    def _reads_within(self, at: int) -> list[tuple[str, int]]:
        start, end = at >> 32, at & 0xFFFFFFFF
        policies = self.interpreter.policies
        return [
            (rule, place)
            for rule, place in self.context.sightings
            if policies.get(rule, NO_POLICY).told_by_use and start <= place >> 32 and place & 0xFFFFFFFF <= end
        ]

    def settle_returns(self) -> None:
        """At the end of a body that can be left without `return`: report tensor tests of which one branch returns."""
        for at, statement, asked, node in self.half_returns:
            self.statement = statement
            self.report(BRANCH_MISMATCH, at, asked, node, "only one branch returns")

    def asking(self, test: Callable[[], bool | None]) -> tuple[bool | None, Tensor | None]:
        """What a test gives, and the tensor whose truth it asked for."""
        self.forget_asked()
        outcome = test()
        return outcome, self.asked

    def forget_asked(self) -> None:
        """Begin to watch for a tensor whose truth is asked for, and for a number that is drawn."""
        self.asked = None
        self.drawn = None

    def needs_bool(self, value: Value, node: ir.Node, rule: str, at: int, variant: str = "") -> None:
        """Report where Python tests the truth of a tensor."""
        if any(type(member) is Tensor for member in members(value)):
            self.report(rule, at, value, node, variant=variant)
            self.asked = device_tensor(value)


def device_tensor(value: Value) -> Tensor | None:
    """The tensor among the alternatives whose elements live on the device, or None."""
    for member in members(value):
        if type(member) is Tensor and member.framework != "numpy" and member.place != "cpu" and not member.static:
            return member
    return None


def join_into(env: Env, other: Env, paths: bool = True) -> None:
    """Join `other` into `env`, name by name; `paths` says whether either may know attributes."""
    for name, value in other.items():
        mine = env.get(name)
        if mine is None:
            if "." not in name:
                env[name] = value
        elif mine is not value:
            env[name] = join(mine, value)
    if paths:
        for name in [name for name in env if name not in other and "." in name]:
            del env[name]


def position(node: ir.Node) -> int:
    """Where an expression stands, 0 for constants (which no hazard is about); of `name := value` and its like, the value."""
    at = getattr(node, "at", 0)
    inner = getattr(node, "value", None)
    if at or not isinstance(inner, ir.Expr):
        return at or 0
    return position(inner)  # type: ignore[arg-type]


def body_of(frame: Frame) -> tuple[ir.Statement, ...]:
    """The statements of a frame's function, or of its module."""
    return frame.function.body if frame.function is not None else ir.decode_body(frame.module.unit.body)


def path_of(node: ir.Node) -> str:
    """ "x" or "x.a.b" for names and attribute chains; "" for others."""
    if type(node) is ir.Name:
        return node.id
    if type(node) is ir.Attr:
        base = path_of(node.value)
        return f"{base}.{node.name}" if base else ""
    return ""


def calls_within(node: ir.Node) -> bool:
    """Whether an arithmetic expression, or a list of such, calls anything."""
    if isinstance(node, ir.Bin):
        return calls_within(node.left) or calls_within(node.right)
    if isinstance(node, ir.Display):
        return any(map(calls_within, node.items))
    return isinstance(node, ir.Call) or (isinstance(node, ir.Unary) and calls_within(node.value))


_BINDING = {"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "/": 6, "//": 6, "%": 6, "@": 6, "**": 8}
_UNARY, _PRIMARY = 7, 9


def _held(node: ir.Node, depth: int, binding: int = _PRIMARY) -> str:
    """An expression within one that binds so tightly: in parentheses where it would read otherwise."""
    own = _PRIMARY
    if isinstance(node, ir.Bin):
        own = _BINDING.get(node.op, 0)
    elif isinstance(node, ir.Unary):
        own = _UNARY
    elif isinstance(node, ir.Not | ir.Compare) or (isinstance(node, ir.Display) and node.kind == "tuple"):
        own = 0
    text = spelling(node, depth)
    return f"({text})" if own < binding and text != "…" else text


def spelling(node: ir.Node, depth: int = 3) -> str:
    """A short source-like text of an expression, for messages."""
    if isinstance(node, ir.Name):
        return node.id
    if depth == 0:
        return "…"
    if isinstance(node, ir.Attr):
        return f"{_held(node.value, depth)}.{node.name}"
    if isinstance(node, ir.Const):
        return repr(node.value)
    if isinstance(node, ir.Call):
        inner = ", ".join(spelling(arg, depth - 1) for arg in node.args[:2])
        more = ", …" if len(node.args) > 2 or (node.keywords and node.args) else "…" if node.keywords else ""
        return f"{_held(node.func, depth)}({inner}{more})"
    if isinstance(node, ir.Sub):
        return f"{_held(node.value, depth)}[{spelling(node.index, depth - 1)}]"
    if isinstance(node, ir.Slice):
        lower = spelling(node.lower, depth - 1) if node.lower is not None else ""
        upper = spelling(node.upper, depth - 1) if node.upper is not None else ""
        return f"{lower}:{upper}"
    if isinstance(node, ir.Bin):
        binding = _BINDING.get(node.op, 0)
        left = _held(node.left, depth - 1, binding + (node.op == "**"))
        return f"{left} {node.op} {_held(node.right, depth - 1, binding + (node.op != '**'))}"
    if isinstance(node, ir.Unary):
        return f"{node.op}{_held(node.value, depth - 1, _UNARY)}"
    if isinstance(node, ir.Not):
        return f"not {spelling(node.value, depth - 1)}"
    if isinstance(node, ir.Compare):
        rights = " ".join(f"{op} {_held(right, depth - 1, 1)}" for op, right in zip(node.ops, node.rights, strict=True))
        return f"{_held(node.left, depth - 1, 1)} {rights}"
    if isinstance(node, ir.Display) and node.kind in ("tuple", "list"):
        inner = ", ".join(spelling(item, depth - 1) for item in node.items)
        return inner if node.kind == "tuple" else f"[{inner}]"
    return "…"


_EVAL: dict[type[ir.Expr], Callable[[Frame, Any], Value]] = {}
_EXEC: dict[type[ir.Stmt], Callable[[Frame, Any], bool]] = {}

__all__ = [
    "NEVER",
    "UNKNOWN",
    "Env",
    "Frame",
    "device_tensor",
    "join_into",
    "path_of",
    "position",
    "spelling",
]
