"""One activation under interpretation: its variables, and the evaluation and execution of its body."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Literal

from xlalint.abstract.lattice import join
from xlalint.abstract.values import (
    ARRAYS,
    DISCRETE,
    NEVER,
    NO_GRADIENT,
    NONE,
    UNKNOWN,
    Class,
    Const,
    Function,
    Host,
    Instance,
    LibraryInstance,
    LibrarySymbol,
    Module,
    Tensor,
    Value,
    is_leaf,
    members,
    tensor,
    tensors,
)
from xlalint.analysis.hazard import Confidence, Frequency
from xlalint.interpreter.budget import MAX_WORK, CutOff
from xlalint.interpreter.context import Context, PendingHazard
from xlalint.interpreter.device_loops import count_turns, names_added_to, names_bounded
from xlalint.interpreter.dispatch_loops import (
    computed_in_turn,
    goes_over_table,
    is_collected,
    is_of_call,
    is_of_innermost,
    is_of_turn,
    leads_to,
    mark_at,
    mark_of,
    of_earlier_turn,
    of_ended_loop,
    takes_no_turns,
    takes_step,
    turns_beyond,
)
from xlalint.interpreter.drawing import draws
from xlalint.interpreter.frame_state import Loops, LoopTurns, Paths, Scope
from xlalint.interpreter.guards import (
    Counting,
    Written,
    asks_clock,
    asks_flag,
    asks_object,
    asks_when,
    assigned_once,
    attribute_filled_once,
    begins_count_anew,
    decides_by,
    ends_loop,
    fills_once,
    find_ending,
    find_written,
    guard_of,
    keeps_attribute,
    keeps_what_it_compares,
    lets_first_in,
    may_guard,
    may_guard_entered,
    name_assigned,
    name_guards,
    sets_what_it_asks_for,
    spell_out,
    tests_equality,
    without_last,
)
from xlalint.interpreter.rates import ALWAYS, Rate
from xlalint.interpreter.spelling import calls_within, position, spelling
from xlalint.interpreter.step_sequence import Pace
from xlalint.interpreter.switches import NAMESPACES
from xlalint.interpreter.traced_arguments import is_gone_over, is_structure
from xlalint.interpreter.traced_leaves import is_of_leaves
from xlalint.interpreter.turn_flow import (
    LEARNING,
    AskedOfCalls,
    AskedOfState,
    adds_up,
    carries_state,
    ends_generator,
    ends_loop_by,
    feeds_next_turn,
    find_stored,
    given_with,
    gives_state,
    gives_to_next_turn,
    goes_to_its_source,
    is_needed_by_host,
    plays_episode,
    reads_at_end,
    teaches,
    writes_what_it_reads,
)
from xlalint.lowering import ir
from xlalint.rules.codes import BRANCH_MISMATCH, GROWING_TENSOR, ITEM, PRINT_TENSOR, TO_HOST
from xlalint.rules.policy import NO_POLICY, Policy
from xlalint.rules.variants import ASSERT, CALLED, COLLECTED, HOST_ASSERT, LOOP

if TYPE_CHECKING:
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.interpreter.switches import DefaultOutcome
    from xlalint.program.linker import FunctionInfo, ModuleInfo

Env = dict[str, Value]
Excuse = Literal["", "host", "apart", "error path", "once", "guarded"]
"""Why a hazard does not count where it is met, "" if it does: the value is on the host, the code fills a graph of its own, is an error
path, runs once, or catches what the tracer raises."""

# What copies values of the host's to the device: that runs beside its operations.
_COPYING: Final = frozenset(("array", "asarray"))
_USED: Final = (Class, Function, LibrarySymbol, Module)
_BATCH_HOOKS: Final = ("_step", "_batch_start", "_batch_end")
_FEW_READS: Final = 10  # of a call, which cost a run nothing where it makes one
_NO_NAMES: Final[frozenset[str]] = frozenset()
_ASKING_MODEL: Final = frozenset((ir.Attr, ir.Not, ir.Bool))


class Frame:
    """The interpreter's state inside one context.

    `env` maps names to values; a key "x.attr" holds what is known of an attribute of the value now in `x`, flow-sensitively.
    `statement` is the byte offset of the statement being executed; `base` is added to positions (packed as `at` is), outside of
    functions where each statement counts from its own start. `scope`, `loops` and `paths` hold what is known of names, of the loops around
    the code, and of how it is reached. `asked` is the tensor whose truth was last asked for, `drawn` the comparison, in the test under way,
    of a number that the host draws. `within_calls` counts the calls whose tests this frame stands for. `half_returns` are tensor tests of
    which one branch returns (place, statement, tensor, test). `of_checks` is what checks remember of the code so far, each under a name of
    its own.
    """

    def __init__(self, interpreter: Interpreter, context: Context, env: Env, closure: Env) -> None:
        self.interpreter = interpreter
        self.program = interpreter.program
        self.apis = interpreter.apis
        self.libraries = interpreter.libraries
        self.context = context
        self.module: ModuleInfo = context.module
        self.function: FunctionInfo | None = context.function
        self.env = env
        self.closure = closure
        self.statement = 0
        self.base = 0
        self.scope = Scope()
        self.loops = Loops()
        self.paths = Paths()
        self.asked: Tensor | None = None
        self.drawn: ir.Node | None = None
        self.within_calls = 0
        self._looks_ahead = False
        self._stepping: frozenset[int] | None = None
        self.half_returns: list[tuple[int, int, Tensor, ir.Node]] = []
        self.of_checks: dict[str, Any] = {}

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
        frame.paths.suppressed = 1
        frame.within_calls = self.within_calls + 1
        return frame

    def rates_of(self, condition: ir.Node) -> tuple[Rate, Rate]:
        """Return how often the code runs that is reached where a condition comes out true, and where it comes out false."""
        counts = bool(self.loops.depth) and self.context.per_turn
        if counts or self.function is not None:
            condition = spell_out(condition, self._named_guards)
        counters = self.loops.counters | self._counters_told()
        if not (
            (may_guard(condition) if counts or counters else may_guard_entered(condition))
            or asks_flag(condition, self.env)
        ):
            return self.loops.rate, self.loops.rate
        params = tuple(param.name for param in self.function.params) if self.function is not None else ()
        around = Counting(self.eval, counters, params, self._find_written, self.context.per_turn, self._by_default)
        return self._rate_where(condition, True, around), self._rate_where(condition, False, around)

    def is_due(self, condition: ir.Node) -> bool:
        """Return whether a condition holds at every n-th step: what it is given as says so wherever it is asked, `log=i % n == 0`."""
        return self.rates_of(condition)[0] is not self.loops.rate

    def _counters_told(self) -> frozenset[str]:
        """The parameter by which a framework's loop tells its hook at which batch it is: `training_step(self, batch, batch_idx)`."""
        function = self.function
        if function is None or function.owner is None or not function.name.endswith(_BATCH_HOOKS):
            return _NO_NAMES
        place = 3 if function.name.endswith("_end") else 2
        if len(function.params) <= place or not self.apis.hook(function.owner.library_bases(), function.name):
            return _NO_NAMES
        return frozenset((function.params[place].name,))

    def rates_unless_off(self, condition: ir.Node, reached: tuple[Rate, Rate] | None = None) -> tuple[Rate, Rate]:
        """Return `rates_of` a condition of which the value is not known; what runs only where something is switched on says so."""
        if reached is None:
            reached = self.rates_of(condition)
        switches = self.interpreter.switches
        if switches.none:
            return reached
        found = self._by_default(condition)
        if found is None or not all(map(self._may_be_switch, found.deciding)):
            return reached
        only = found.only
        return (reached[0], reached[1].in_runs(only)) if found.holds else (reached[0].in_runs(only), reached[1])

    def _by_default(self, condition: ir.Node) -> DefaultOutcome | None:
        return self.interpreter.switches.outcome(condition, self.function, self.module)

    def _may_be_switch(self, node: ir.Node) -> bool:
        """Return whether what a condition reads is no library's own attribute, and no tensor, which only has the name of a switch."""
        if not isinstance(node, (ir.Attr, ir.Name)):
            return True
        holder = self.eval(node.value if isinstance(node, ir.Attr) else node)
        return not any(map(_is_of_library, members(holder) if isinstance(node, ir.Attr) else (holder,)))

    def rates_at(self, node: ir.If) -> tuple[Rate, Rate]:
        """Return how often the two branches run: the one that takes the steps runs at every step, whatever asks for it."""
        turn = self.loops.turn
        test = node.test if turn is None else without_last(node.test, self._find_ending)
        if test is None:
            return self.loops.rate.under(Frequency.EPOCH), self.loops.rate
        reached = self._rates_if_trained(test, self.rates_of(test))
        rate = self.loops.rate
        stepping = rate.floor >= Frequency.EVALUATION and not rate.looped
        if turn is not None and stepping and ends_loop(node, turn.loop.body):
            return reached[0].under(Frequency.EPOCH), reached[1]
        if turn is not None and fills_once(node, turn.loop.body):
            return reached[0].under(Frequency.NTH_STEP), reached[1]
        if self.scope.receiver_name and self._fills_attribute_once(node):
            return reached[0].under(Frequency.ONCE), reached[1]
        if sets_what_it_asks_for(node, lambda: body_of(self)):
            return reached[0].under(Frequency.ONCE), reached[1]
        if turn is not None and keeps_what_it_compares(node):
            reached = reached[0].under(Frequency.FEW_STEPS), reached[1]
        if begins_count_anew(node, self._find_written):
            reached = reached[0].under(Frequency.NTH_STEP), reached[1]
        if reached[0] is self.loops.rate:
            return reached
        if self._stepping is None:
            body = self.interpreter.drivers.within(self.function, self.module)
            self._stepping = body.find_stepping_branches()
        return (self.loops.rate, reached[1]) if node.at in self._stepping else reached

    def _rates_if_trained(self, test: ir.Node, reached: tuple[Rate, Rate]) -> tuple[Rate, Rate]:
        """Return how often the two branches run: that of a model which runs where it is not trained, in evaluations."""
        receiver = self.scope.receiver_name
        if type(test) not in _ASKING_MODEL or not receiver or self.function is None:
            return reached
        paths = [f"{receiver}.{name}" for name in self.interpreter.drivers.words.trains]
        found = decides_by(test, paths, wanted=False)
        if found is None or self.interpreter.tables.kind(self.function.owner) != "module":
            return reached
        evaluation = reached[not found].under(Frequency.EVALUATION)
        return (evaluation, reached[1]) if found else (reached[0], evaluation)

    def _fills_attribute_once(self, node: ir.If) -> bool:
        """Return whether a branch of a method sets up an attribute of its object, which no method but constructors takes back."""
        receiver = self.scope.receiver_name
        name = attribute_filled_once(node, receiver)
        owner = self.function.owner if name and self.function is not None else None
        return owner is not None and keeps_attribute(owner, name, receiver)

    def rates_asked(self, node: ir.If, reached: tuple[Rate, Rate]) -> tuple[Rate, Rate]:
        """Return how often the two branches run of a test of which the value is not known: `reached`, where nothing has to be asked for.

        A branch that leads to the steps is what a program is there for: that it has to be asked for says nothing.
        """
        found = self.rates_unless_off(node.test, reached)
        if found is reached:
            return found
        drivers = self.interpreter.drivers
        asked = found[0] is not reached[0]
        return reached if drivers.is_there_for_steps(self.function, self.module, node, asked) else found

    def _named_guards(self) -> dict[str, ir.Node]:
        """Return the conditions that the code keeps under names and that ask for a remainder."""
        return (
            self.function.answers(_guards_of) if self.function is not None else self.module.answers(_guards_of_module)
        )

    def _find_written(self) -> Written:
        """Return what the code gives values to."""
        if self.function is not None:
            return self.function.answers(_writes_of)
        return find_written(body_of(self))

    def _find_ending(self) -> frozenset[str]:
        """Return the conditions under which the loops of the code are left."""
        return self.function.answers(_ends_of) if self.function is not None else self.module.answers(_ends_of_module)

    def _rate_where(self, condition: ir.Node, wanted: bool, around: Counting) -> Rate:
        guard = guard_of(condition, wanted, around)
        return self.loops.rate if guard is None else self.loops.rate.under(guard)

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
        if value is UNKNOWN and name in self.scope.declared:
            value = self.interpreter.annotations.value(self.module, self.scope.declared[name]) or UNKNOWN
        self.env[name] = value
        if name in self.scope.owners:
            self.forget(name)

    def refine(self, path: str, value: Value) -> None:
        """Keep what is known of the value at a name or attribute path."""
        self.env[path] = value
        if "." in path:
            self.scope.owners.add(path.partition(".")[0])

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
            path = f"{self.scope.receiver_name}.{name}"
            if path in self.env:
                del self.env[path]

    def inner(self, offset: int) -> FunctionInfo:
        """The function that a `def` or lambda here makes, by its index counted from this one."""
        return self.module.functions[offset + (self.function.index if self.function is not None else 0)]

    def enters(self, context: Context, at: int) -> None:
        """Note that the code here calls into a context."""
        if self.interpreter.observer is not None:
            self.interpreter.observer.note_entered(self, context, at)
        if not self.paths.separate_graph and (context.per_turn or self._runs_again()):
            evaluates = context.function is not None and self.interpreter.drivers.evaluates(context.function)
            rate = self.loops.rate
            self._calls_at(context, at, rate.under(Frequency.EVALUATION) if evaluates else rate)
            if self.loops.lasting and self._runs_at_each_turn(whole=False):
                self.context.repeated[context] = None
                turn = self.loops.turn
                if turn is not None and turn.is_innermost:
                    turn.called.setdefault(context, at)
            if context.pace is not None and context.pace is not self.context.pace:
                self._keeps_pace(context, context.pace, at)
            if context.module.followed and at and not self.paths.suppressed and not self.paths.ambiguous_callee:
                self._enters_library(context, at)

    def _calls_at(self, callee: Context, at: int, rate: Rate) -> None:
        """Note a call, and how often it is made."""
        calls, rates = self.context.calls, self.context.rates
        if not self.paths.overridden:
            self.context.guessed.pop(callee, None)
        elif callee not in calls:
            self.context.guessed[callee] = None
        if callee not in calls:
            calls[callee] = at
            if rate is not ALWAYS:
                rates[callee] = rate
        elif rate is not ALWAYS or callee in rates:
            rates[callee] = rates.get(callee, ALWAYS).join(rate)

    def _keeps_pace(self, callee: Context, pace: Pace, at: int) -> None:
        """Note what a function that is called here does of a training loop's step."""
        if self.context.pace is None:
            self.context.pace = Pace()
        statement = self.statement + (self.base & 0xFFFFFFFF)
        spelled = f"{callee.function.name}(…)" if callee.function is not None else ""
        self.context.pace.join(pace, at + self.base, statement, spelled)

    def _enters_library(self, context: Context, at: int) -> None:
        """Note a call into an installed library: from the user's code, or from one that surely goes on."""
        if not self.module.followed:
            self.context.outward.setdefault((at + self.base, context), self.statement + (self.base & 0xFFFFFFFF))
        elif not self.paths.branch_depth:
            self.context.inward[context] = None

    def merge(self, others: list[Env]) -> None:
        """Join environments into the current one; attributes are kept where all paths know them."""
        for other in others:
            join_into(self.env, other, bool(self.scope.owners))

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
            for look in self.libraries.on_array_read:
                look(self, rule, at - self.base, value, node, variant)
            self._withhold(rule, at, value, "host")
            return
        policy = self.interpreter.policies.get(rule, NO_POLICY)
        asked = culprit if culprit.place else self._computed_by_call(culprit, node)
        if (
            asked is not None
            and (policy.reads_value or rule == PRINT_TENSOR)
            and not policy.eager_recompiles
            and not severity
            and at_most > Confidence.POSSIBLE
            and variant not in (ASSERT, HOST_ASSERT)  # who checks results at each turn waits for them on purpose
        ):
            self.read_in_turn(at - self.base, asked, node, copies=rule == TO_HOST)
        raises = self.interpreter.libraries.of(culprit.framework).raises
        excuse = self._excuse(policy)
        if not excuse and self.paths.try_depth and raises and policy.tracer_raises:
            excuse = "guarded"
        if excuse:
            self._withhold(rule, at, value, excuse)
            return
        sure = culprit.sure and value is culprit and not self.paths.ambiguous_callee
        confidence = min(Confidence.CERTAIN if sure else Confidence.LIKELY, at_most)
        refused_here = raises and policy.tracer_refuses
        refused = policy.tracer_refuses and any(_is_of_host(member) for member in members(value))
        holds_settings = self.interpreter.libraries.of(culprit.framework).part_of is not None
        if raises and (refused or (holds_settings and policy.reads_value and UNKNOWN in members(value))):
            # A tracer would have refused: code that lets the host's alternatives through has been run with those.
            confidence = Confidence.POSSIBLE
        if policy.free_for_arrays and any(type(m) is Tensor and m.framework == ARRAYS for m in members(value)):
            confidence = Confidence.POSSIBLE
        known = self.context.sightings.get((rule, at))
        if known is not None:
            known.rate = self.loops.rate  # values are wider by now: what the guards around it test is known better
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
                self.paths.branch_depth > 0,
                self.loops.rate,
                culprit.dtype in DISCRETE or culprit.place == NO_GRADIENT,
                refused_here and not sure and self._is_given(node),
                confidence == Confidence.LIKELY and at_most > confidence and self._is_of_leaves(rule, node),
            )

    def _is_of_leaves(self, rule: str, node: ir.Node | None) -> bool:
        """Return whether an expression is a tracer in a function of which a tracer replaces all arguments."""
        if node is None or self.function is None or not self.interpreter.tracing or self.paths.ambiguous_callee:
            return False
        return is_of_leaves(self.context, self.function, rule, node)

    def _is_given(self, node: ir.Node | None) -> bool:
        """Return whether an expression is a parameter as it is given."""
        if type(node) is not ir.Name or self.function is None:
            return False
        return any(param.name == node.id for param in self.function.params)

    def read_in_turn(self, at: int, value: Tensor, node: ir.Node | None, *, copies: bool = False) -> None:
        """Record that the host reads what it dispatched in the same turn of a loop, if it did; `copies`: as a whole array."""
        if self._looks_ahead or not value.place or self._excuse():
            return
        if self.function is not None and self.function.name == "__init__":
            return  # what sets an object up waits once
        lasting = self.loops.lasting
        called = is_of_call(value)
        if not called and not is_of_turn(value, lasting):
            return
        if not self._runs_at_each_turn(whole=called or not is_of_innermost(value, lasting)):
            return
        if (called and is_collected(value)) or draws(self.module, self.function, None if called else self.loops.turn):
            return
        turn = self._turn_of(value)
        if called and node is not None and self.function is not None and goes_to_its_source(self.function.body, node):
            return
        if not called and node is not None and turn is not None and self._is_needed_by_host(turn, value, node):
            turn.plays = True
            for name in given_with(turn.loop, node) & self.env.keys():
                self.env[name] = of_earlier_turn(self.env[name])
            return
        if turn is not None and node is not None and self.paths.tests and reads_at_end(turn.loop, node):
            return
        if turn is not None and goes_over_table(turn.loop) and self._is_entered_seldom(turn):
            return  # what each of a few things comes to, at every n-th step of a loop around
        # What a script collects behind its training, numbers too, it does once.
        collects = copies or self.function is None
        collected = is_collected(value) or (collects and not called and self._is_collected(value, node))
        if turn is not None and node is not None and not called:
            collected = collected or ends_generator(turn.loop, node) or self._evaluates(turn, value, node)
            collected = collected or self._writes(turn.loop, node, value.framework)
            collected = collected or self._searches(turn.loop, node, value.framework)
        variant = CALLED if called else COLLECTED if collected else LOOP
        at += self.base
        statement = self.statement + (self.base & 0xFFFFFFFF)
        spelled = spelling(node) if node is not None else ""
        confidence = Confidence.CERTAIN if value.sure else Confidence.LIKELY
        rate = ALWAYS.in_steps(Frequency.EVALUATION if variant == COLLECTED else Frequency.STEP)
        if variant == LOOP and turn is not None and self._takes_few_turns(turn):
            rate = ALWAYS  # as often as the function is entered
        if self.loops.rate.only:
            rate = rate.in_runs(self.loops.rate.only)
        read = PendingHazard(ITEM, at, statement, value.framework, confidence, spelled, "", variant, rate=rate)
        read = self.context.sightings.setdefault((f"{ITEM}:{LOOP}", at), read)
        if variant == LOOP and turn is not None:
            turn.reads.append(read)
            if node is not None and not gives_state(turn.loop, node):
                turn.aside.append(read)
        self.context.reads_numbers |= called and not copies
        self._has_read(node)

    def _computed_by_call(self, value: Tensor, node: ir.Node | None) -> Tensor | None:
        """Return a tensor as what each call of a function computes, if an operation gives it in one that has no loop; else None."""
        made = self._assigned_once(node) if node is not None else None
        if type(made) is not ir.Call or self.loops.lasting or self.function is None:
            return None
        if value.framework not in self.libraries.queued or not takes_no_turns(self.function):
            return None
        called = self._look_at(made.func)
        runs = type(called) is LibrarySymbol and runs_at_once(self, value.framework, called.name)
        return tensor(value.framework, value.dtype, value.rank, mark_at(0), value.sure) if runs else None

    def _evaluates(self, turn: LoopTurns, value: Tensor, node: ir.Node) -> bool:
        """Return whether the turns of a loop are those of an evaluation at every n-th step of a loop around: what each computes for
        itself is read once in many steps, and added up."""
        seldom = turn.around is not None and self._is_entered_seldom(turn)
        return seldom and not self._carries_state(turn.loop, node, value.framework)

    def _writes(self, loop: ir.For | ir.While, node: ir.Node, framework: str) -> bool:
        """Return whether a loop writes files of what its turns compute, and hands nothing of that on."""
        if not writes_what_it_reads(loop, node):
            return False
        state = self._asks_of_state(framework)._replace(counts=lambda name: not mark_of((self.env.get(name, UNKNOWN),)))
        return not carries_state(loop, node, state)

    def _searches(self, loop: ir.For | ir.While, node: ir.Node, framework: str) -> bool:
        """Return whether the turns of a loop each try something else, of the same beginning, until what is read fits: a line search."""
        return ends_loop_by(loop, node) and not self._carries_state(loop, node, framework)

    def _takes_few_turns(self, turn: LoopTurns) -> bool:
        """Return whether a loop, and those around it, turn a few times and end: what is read there are a few values of a call."""
        turns = 1
        around: LoopTurns | None = turn
        while around is not None and turns <= _FEW_READS:
            counted = count_turns(around.loop, self._look_at)
            turns = turns * counted if counted is not None else _FEW_READS + 1
            around = around.around
        return turns <= _FEW_READS

    def _turn_of(self, value: Tensor) -> LoopTurns | None:
        """Return the loop that makes a tensor at each turn: `for k, v in metrics.items()` only goes over what the one around it made."""
        turn, beyond = self.loops.turn, turns_beyond(value, self.loops.lasting)
        while turn is not None and turn.around is not None and beyond:
            turn, beyond = turn.around, beyond - 1
        return turn

    def dispatches(self) -> None:
        """Note that the device computes something for what is called here, while the host goes on."""
        self.context.dispatches = self.loops.dispatches = True
        if self.loops.turn is not None:
            self.loops.turn.dispatches = True

    def computes(self, given: Value) -> Value:
        """Return what the device is asked for here by operations: in a loop that takes a step in each turn, it is computed behind that."""
        self.context.computes = True
        return computed_in_turn(given, self.loops.lasting, self.libraries.queued) if self.loops.follow_step() else given

    def takes_many(self) -> None:
        """Note that the device takes many steps at each turn of the loop around, if the code runs at each."""
        if self.loops.turn is not None and self._runs_at_each_turn(whole=False):
            self.loops.turn.takes_many = True

    def settle_turns(self, turn: LoopTurns) -> None:
        """Say of what was read and called in the turns of a loop what that costs, now that the whole of a turn is known."""
        self.context.dispatches_often |= turn.dispatches
        growing = dict(turn.lengthened) if turn.dispatches else {}
        if turn.joined and self._is_read_within(turn.loop):
            growing |= turn.joined
        for at, (statement, value, name) in growing.items():
            self.statement = statement
            self.report(GROWING_TENSOR, at, value, name)
        many = turn.takes_many and not takes_step(turn.loop)
        if many or (turn.reads and plays_episode(turn.loop, body_of(self))):
            _collect(turn.reads, Frequency.EPOCH if many else Frequency.EVALUATION)
            return
        if turn.plays and turn.aside and not self._may_teach(turn):
            _collect(turn.aside, Frequency.EVALUATION)  # each turn waits for what the simulation does next, in any case
        if not turn.dispatches:
            return  # what it calls reads what was computed before
        if turn.called and draws(self.module, self.function, turn):
            return  # people wait for a picture in each turn
        for context, at in turn.called.items():
            if not _reads_what_it_got(context) or not self._is_handed_over(turn, context, at):
                self.context.each_turn[context] = None

    def _may_teach(self, turn: LoopTurns) -> bool:
        """Return whether something may be trained in the turns of a loop, or in those around it."""
        return teaches(turn.list_calls()) or any(leads_to(context, LEARNING) for context in turn.called)

    def _is_handed_over(self, turn: LoopTurns, context: Context, at: int) -> bool:
        """Return whether the host takes what a call in a loop reads, and the loop is there for that or cannot go on without it."""
        framework = _framework_of_reads(context) or self.interpreter.annotations.framework(context.module)
        calls = [one for one in ir.walk(turn.loop.body) if isinstance(one, ir.Call) and one.at == at]
        if any(gives_to_next_turn(turn.loop, one, self._asks_of_called(framework)) for one in calls):
            return True
        if any(self._needs_all_given(turn, one, framework) for one in calls):
            return True
        copies = bool(calls) and context.done and not context.reads_numbers
        return copies and all(self._collects(turn.loop, one, framework) for one in calls)

    def _needs_all_given(self, turn: LoopTurns, call: ir.Call, framework: str) -> bool:
        """Return whether the host needs all that a turn computed of what a call is passed, before the next turn: `env.step(action)` takes
        what `memory.store(state, action)` keeps."""
        given = [arg for arg in (*call.args, *dict(call.keywords).values()) if isinstance(arg, ir.Name)]
        return self._needs_all(turn, given, self._asks_of_called(framework))

    def _needs_all(self, turn: LoopTurns, names: Iterable[ir.Name], called: AskedOfCalls) -> bool:
        computed = [name for name in names if device_tensor(self._look_at(name)) is not None]
        return bool(computed) and all(is_needed_by_host(turn.loop, name, called) for name in computed)

    def ends_turns(self) -> None:
        """Take what the turns of a loop that ended computed for what lies ready: the turns of the next loop compute none of it."""
        depth = self.loops.lasting
        for name, value in self.env.items():
            self.env[name] = of_ended_loop(value, depth)

    def _is_read_within(self, loop: ir.For | ir.While) -> bool:
        """Return whether the host reads what is on the device in a loop: each of its turns is a program of its own then."""
        places = [at for one in ir.walk(loop.body) if (at := getattr(one, "at", 0))]
        first, last = min(places, default=0) + self.base, max(places, default=0) + self.base
        policies = self.interpreter.policies
        return any(
            first <= one.at <= last and policies.get(one.rule, NO_POLICY).reads_value
            for one in self.context.sightings.values()
        )

    def _is_needed_by_host(self, turn: LoopTurns, value: Tensor, node: ir.Node) -> bool:
        """Return whether code of the host makes what the next turn begins with of what it reads: it cannot read that later."""
        called = self._asks_of_called(value.framework)
        stored = find_stored(turn.loop, node) if type(node) is ir.Sub else ()
        return feeds_next_turn(turn.loop, node, called) or self._needs_all(turn, stored, called)

    def _asks_of_called(self, framework: str) -> AskedOfCalls:
        return AskedOfCalls(lambda func: self._is_of_host(func, framework), self._is_of_arrays)

    def _is_collected(self, value: Tensor, node: ir.Node | None) -> bool:
        """Return whether the turns of the loop compute what is copied each for itself: the copies are what the loop is there for.

        A number that the host adds up is none: the device would add it up as well.
        A framework that trains by changing variables shows nothing of the state in the loop.
        """
        turn = self._turn_of(value)
        return turn is not None and node is not None and self._collects(turn.loop, node, value.framework)

    def _collects(self, loop: ir.For | ir.While, read: ir.Node, framework: str) -> bool:
        """Return whether the turns of a loop compute what an expression reads each for itself, and no number adds it up."""
        return not (adds_up(loop, read) or self._carries_state(loop, read, framework))

    def _carries_state(self, loop: ir.For | ir.While, read: ir.Node, framework: str) -> bool:
        """Return whether what an expression reads in a loop is computed of what an earlier turn gave, as far as can be told."""
        return bool(self.libraries.of(framework).training) or carries_state(loop, read, self._asks_of_state(framework))

    def _asks_of_state(self, framework: str) -> AskedOfState:
        library = self.libraries.of(framework)
        return AskedOfState(
            self._may_hold_state,
            lambda given: self._is_changed(given, library.changed),
            lambda func: self._draws(func, library.draws),
            self._is_number_of_host,
        )

    def _is_number_of_host(self, name: str) -> bool:
        """Return whether a name is that of numbers or texts of the host's alone: a count tells nothing of what was computed."""
        held = members(self.env.get(name, UNKNOWN))
        return all(type(one) is Const or (type(one) is Host and one.origin != "data") for one in held)

    def _draws(self, func: ir.Node, packages: tuple[str, ...]) -> bool:
        """Return whether what is called draws random numbers by a key, or gives the next key."""
        if not packages or not isinstance(func, (ir.Name, ir.Attr)):
            return False
        called = self._look_at(func)
        return type(called) is LibrarySymbol and called.name.startswith(packages)

    def _is_changed(self, node: ir.Node, packages: tuple[str, ...]) -> bool:
        """Return whether an argument is an object of classes that compiled functions change: a model, or its optimizer."""
        if not packages or not isinstance(node, (ir.Name, ir.Attr)):
            return False
        held = self._look_at(node)
        if isinstance(held, LibraryInstance):
            return held.name.startswith(packages)
        return isinstance(held, Instance) and any(base.startswith(packages) for base in held.klass.library_bases())

    def _may_hold_state(self, called: ir.Attr) -> bool:
        """Return whether what is called may be a method that changes its object: a function that this keeps is none."""
        owner = self._look_at(called.value)
        if isinstance(owner, Instance):
            method = owner.klass.method(called.name)
            return _may_change(method) if method is not None else bool(owner.klass.library_bases())
        return not isinstance(owner, (Const, Host, LibrarySymbol, Module, Tensor))

    def _is_of_host(self, func: ir.Node, framework: str) -> bool:
        """Return whether what is called is neither the framework's nor of a module that uses it, or may be so.

        A function of such a module that names nothing of a library's, and nothing else that is called there, is none of the framework's.
        """
        if not isinstance(func, (ir.Name, ir.Attr)):
            return False
        called = self._look_at(func)
        return any(
            self.interpreter.annotations.framework(one.info.module) != framework or self._names_nothing(one.info)
            if type(one) is Function
            else one is UNKNOWN
            for one in members(called)
        )

    def _names_nothing(self, info: FunctionInfo) -> bool:
        """Return whether the names that a function's body uses are Python's, its own, or of the module's constants."""
        program = self.interpreter.program
        named = [program.resolve(info.module, one) for one in info.answers(_names_in)]
        return not info.ir.decorators and not any(isinstance(one, _USED) for one in named)

    def _is_of_arrays(self, func: ir.Node) -> bool:
        """Return whether what is called is a function of a library of the host's arrays."""
        called = self._look_at(func) if isinstance(func, (ir.Name, ir.Attr)) else UNKNOWN
        return type(called) is LibrarySymbol and self.interpreter.apis.framework(called.name) == ARRAYS

    def _look_at(self, node: ir.Node) -> Value:
        """Return what an expression is while another one is reported: what it reads itself is told in its own place."""
        before, self._looks_ahead = self._looks_ahead, True
        try:
            return self.eval(node)
        finally:
            self._looks_ahead = before

    def _has_read(self, node: ir.Node | None) -> None:
        """Take names for computed that the host has read, by themselves or in a comparison: it waits for them once."""
        sides = (node.left, *node.rights) if type(node) is ir.Compare else (node,)
        for side in sides:
            if type(side) is ir.Name and side.id in self.env:
                self.env[side.id] = of_earlier_turn(self.env[side.id])

    def _runs_at_each_turn(self, *, whole: bool) -> bool:
        """Return whether code runs whenever the innermost lasting loop turns; as a `whole`, whenever all around it do.

        An evaluation that a guard lets run at every n-th step reads in each of its own turns.
        """
        rate = self.loops.rate
        if rate.ceiling < Frequency.STEP and (whole or not rate.looped):
            return False
        turn = self.loops.turn
        before = turn.tests_before if turn is not None else 0
        tests = self.paths.tests if whole else self.paths.tests[before:]
        return not tests or not self._ask_which_turn(tests, turn)

    def _is_entered_seldom(self, turn: LoopTurns) -> bool:
        """Return whether a condition around a loop lets it run at some turns alone of the loops around it."""
        return turn.tests_before > 0 and self._ask_which_turn(self.paths.tests[: turn.tests_before], turn)

    def _ask_which_turn(self, tests: list[ir.Node], turn: LoopTurns | None) -> bool:
        """Return whether one of the conditions lets code run at some turns alone of the loops around it."""
        asked = [spell_out(self._assigned_once(test), self._named_guards) for test in tests]
        counters = self.loops.counted
        if turn is not None and any(map(tests_equality, asked)):  # nothing else needs to know what the loop adds to
            if turn.added is None:
                turn.added = names_added_to(turn.loop.body)
            counters |= turn.added
        around = Counting(self.eval, counters, (), Written, drives=False, by_default=self._by_default)
        if any(asks_when(one, around) or lets_first_in(one, counters) for one in asked):
            return True
        bounded = around if turn is None else around._replace(counters=counters | names_bounded(turn.loop))
        if any(asks_object(one, self._assigned_once, bounded) for one in asked):
            return True
        body = body_of(self)
        return any(asks_clock(test, body) for test in tests)

    def _assigned_once(self, node: ir.Node) -> ir.Node:
        """Return what a name is assigned, if just one statement of the code does that; else the expression itself."""
        if type(node) is not ir.Name:
            return node
        function = self.function
        named = function.answers(_assigned_of) if function is not None else self.module.answers(_assigned_of_module)
        return named.get(node.id, node)

    def _withhold(self, rule: str, at: int, value: Value, excuse: Excuse) -> None:
        """Tell who watches of a hazard that does not count."""
        if self.interpreter.observer is not None:
            self.interpreter.observer.withheld(self, rule, at, value, excuse)

    def _excuse(self, policy: Policy = NO_POLICY) -> Excuse:
        """Say why no hazard of a rule counts in the code under way, "" if hazards do."""
        if self.paths.separate_graph:
            return "apart"
        if self.paths.suppressed:
            return "error path"
        if policy.raises_once and self.interpreter.drivers.runs_at_once(self.module):
            return ""
        return "" if self._runs_again() else "once"

    def _runs_again(self) -> bool:
        """Return whether something repeats the code: in a function that drives a device, its loop over steps or the one over epochs."""
        return not self.context.per_turn or self.loops.depth > 0 or self.loops.rate.floor >= Frequency.EPOCH

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
        if not self._excuse(self.interpreter.policies.get(rule, NO_POLICY)):
            at += self.base
            statement = self.statement + (self.base & 0xFFFFFFFF)
            self.context.sightings.setdefault(
                (rule, at),
                PendingHazard(
                    rule, at, statement, framework, confidence, subject, detail, variant, severity, rate=self.loops.rate
                ),
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
        """Return whether the name is the module's, so that what is kept there lives on after the function."""
        if self.function is None or name in self.closure:
            return False
        return name in self.scope.outer_names or name not in self.env

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
        """Run a test; return what it gives, and the tensor whose truth it asked for."""
        self.forget_asked()
        outcome = test()
        return outcome, self.asked

    def forget_asked(self) -> None:
        """Begin to watch for a tensor whose truth is asked for, and for a number that is drawn."""
        self.asked = None
        self.drawn = None

    def needs_bool(self, value: Value, node: ir.Node, rule: str, *, variant: str = "", at: int = 0) -> None:
        """Report where Python tests the truth of a tensor: at a place, that of the expression where none is given."""
        if type(value) is Host:
            if value.origin == "drawn":
                for look in self.libraries.on_drawn_test:
                    look(self, node, rule, at or position(node))
        elif any(type(member) is Tensor for member in members(value)):
            at = at or position(node)
            if self._may_be_missing(value, node):
                self._withhold(rule, at + self.base, value, "host")
                return
            at_most = Confidence.POSSIBLE if self._may_be_structure(value, node) else Confidence.CERTAIN
            self.report(rule, at, value, node, variant=variant, at_most=at_most)
            self.asked = device_tensor(value)

    def _may_be_missing(self, value: Value, node: ir.Node) -> bool:
        """Return whether a test asks whether there is something yet of which a compiled function gives a structure: `if metrics:`.

        What may be None is one, and so is what the code takes apart.
        """
        if type(node) is not ir.Name:
            return False
        if not all(bool(one.place) and is_leaf(one) for one in members(value) if type(one) is Tensor):
            return False
        return NONE in members(value) or (self.function is not None and _has_parts(self.function, node.id))

    def _may_be_structure(self, value: Value, node: ir.Node) -> bool:
        """Return whether a bare name may hold a part of what a tracer passes that is a structure itself, or None: these have a truth."""
        found = [member for member in members(value) if member is not NONE]
        if type(node) is not ir.Name or not all(isinstance(one, Tensor) and is_leaf(one) for one in found):
            return False
        culprit = device_tensor(value)
        if culprit is None or not self.interpreter.replacing(culprit.framework) or self.function is None:
            return False
        return all(param.name != node.id for param in self.function.params) or _has_parts(self.function, node.id)


def _has_parts(info: FunctionInfo, name: str) -> bool:
    return is_gone_over(info, name) or is_structure(info, name)


def _collect(reads: Iterable[PendingHazard], often: Frequency) -> None:
    """Say of reads in the turns of a loop that these are there for what is read."""
    for read in reads:
        read.variant = COLLECTED
        read.rate = ALWAYS.in_steps(often)


def _reads_what_it_got(context: Context) -> bool:
    """Return whether a function that a loop calls reads what it was handed in the turn, as far as that is known."""
    return not context.done or any(one.variant == CALLED for one in context.sightings.values())


def _framework_of_reads(context: Context) -> str:
    """The framework whose tensors a function reads that it was handed in the turn, "" where none is seen."""
    return next((one.framework for one in context.sightings.values() if one.variant == CALLED), "")


def _may_change(method: FunctionInfo) -> bool:
    """Return whether a method may change its object: it assigns to a part of it, or calls something there."""
    if not method.params or method.decorated("classmethod", "staticmethod"):
        return False
    receiver = method.params[0].name
    return any(
        type(inner) is ir.Name and inner.id == receiver
        for one in ir.walk(method.body)
        if isinstance(one, (ir.Assign, ir.AugAssign, ir.Call))
        for part in _parts_changed(one)
        for inner in ir.walk(part)
    )


def _parts_changed(node: ir.Assign | ir.AugAssign | ir.Call) -> tuple[ir.Node, ...]:
    if isinstance(node, ir.Call):
        return (node.func,)
    return node.targets if isinstance(node, ir.Assign) else (node.target,)


def _is_of_library(value: Value) -> bool:
    """Return whether what is asked for an attribute is a library's, or its instance: but for one that holds the options of a program."""
    if type(value) is Tensor:
        return value.sure
    return isinstance(value, (LibrarySymbol, LibraryInstance)) and value.name not in NAMESPACES


def _names_in(info: FunctionInfo) -> tuple[ir.Name, ...]:
    return tuple([one for one in ir.walk(info.body) if type(one) is ir.Name])


def _is_of_host(value: Value) -> bool:
    """Return whether an alternative is no tensor of a framework: Python can ask for its truth, and count by it."""
    return (type(value) is not Tensor and value is not NONE) or (type(value) is Tensor and value.framework == ARRAYS)


def device_tensor(value: Value) -> Tensor | None:
    """The tensor among the alternatives whose elements live on the device, or None."""
    for member in members(value):
        if type(member) is Tensor and member.framework != ARRAYS and member.place != "cpu" and not member.static:
            return member
    return None


def runs_at_once(frame: Frame, framework: str, name: str) -> bool:
    """Return whether the device computes what a call of a library's function gives, behind all that it was asked for before.

    What only copies values of the host's to the device waits for nothing.
    """
    operations = frame.libraries.of(framework).operations if not frame.interpreter.tracing else ()
    return bool(operations) and name.startswith(operations) and name.rpartition(".")[2] not in _COPYING


def is_on_host(value: Value) -> bool:
    """Return whether what a value may be are tensors in host memory alone."""
    held = list(tensors(value))
    return bool(held) and UNKNOWN not in members(value) and all(one.place == "cpu" for one in held)


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


def _writes_of(info: FunctionInfo) -> Written:
    return find_written(info.body)


def _ends_of(info: FunctionInfo) -> frozenset[str]:
    return find_ending(info.body)


def _guards_of(info: FunctionInfo) -> dict[str, ir.Node]:
    return name_guards(info.body)


def _assigned_of(info: FunctionInfo) -> dict[str, ir.Node]:
    return name_assigned(info.body)


def _assigned_of_module(module: ModuleInfo) -> dict[str, ir.Node]:
    return name_assigned(module.body)


def _guards_of_module(module: ModuleInfo) -> dict[str, ir.Node]:
    return name_guards(module.body)


def _ends_of_module(module: ModuleInfo) -> frozenset[str]:
    return find_ending(module.body)


def body_of(frame: Frame) -> tuple[ir.Statement, ...]:
    """The statements of a frame's function, or of its module."""
    return frame.function.body if frame.function is not None else ir.decode_body(frame.module.unit.body)


def made_by(frame: Frame, node: ir.Node) -> ir.Node:
    """Return the expression of which the result is known by a name: what one statement of the function, or of the module, assigns."""
    made = assigned_once(node, body_of(frame))
    return frame.module.assignment(made.id) or made if type(made) is ir.Name else made


_EVAL: Final[dict[type[ir.Expr], Callable[[Frame, Any], Value]]] = {}
_EXEC: Final[dict[type[ir.Stmt], Callable[[Frame, Any], bool]]] = {}

__all__ = [
    "NEVER",
    "UNKNOWN",
    "Env",
    "Frame",
    "device_tensor",
    "is_on_host",
    "join_into",
]
