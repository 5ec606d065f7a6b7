"""The interpreter: functions entered with abstract arguments, each context once.

A function is analysed anew for each tuple of abstract arguments that reaches it (a context), up to a limit past which
constants are forgotten. Hazards are kept in the context in which they were seen; which contexts count, and why, is
decided from the roots afterwards (`analysis.collection`).
"""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Callable, Iterable
from collections.abc import Mapping as AnyMapping
from collections.abc import Set as AnySet
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from xlalint.abstract.lattice import join, join_all, widen
from xlalint.abstract.structures import map_leaves
from xlalint.abstract.values import (
    ARRAYS,
    NEVER,
    NONE,
    UNKNOWN,
    UPDATED,
    Answer,
    Class,
    Const,
    Function,
    Host,
    Instance,
    LibraryInstance,
    LibrarySymbol,
    Mapping,
    Method,
    Partial,
    Sequence,
    Tensor,
    Union,
    Value,
    answer,
    class_value,
    external,
    function,
    host,
    instance,
    members,
    place_of,
    rank_frameworks,
    record_fields,
    sequence,
    tensor,
    tensors,
)
from xlalint.interpreter import statements
from xlalint.interpreter.annotations import Annotations
from xlalint.interpreter.arguments import Arguments, as_guess, bind_parameters, evaluate_arguments, takes
from xlalint.interpreter.asked_for import AskedFor
from xlalint.interpreter.attributes import REGISTERED, AttributeTables, attribute_of, on_device
from xlalint.interpreter.budget import CutOff, Share, tell_calls, tell_depth, tell_work
from xlalint.interpreter.builtin_calls import container_method, element_of, is_container, is_text, report_braces
from xlalint.interpreter.comparisons import names_compared, names_joined
from xlalint.interpreter.context import Context, RootContext
from xlalint.interpreter.decorators import Carried, Decorators, passes_on
from xlalint.interpreter.device_loops import entering, last_name
from xlalint.interpreter.dispatch_loops import (
    calls_steps,
    compiled_by,
    computed_with,
    handed_on,
    keeps_numbers,
    leads_to,
    loops_over_steps,
    mark_of,
    mark_result,
    of_earlier_turn,
    takes_many_steps,
    takes_no_turns,
    unrolls_steps,
    without_twins,
)
from xlalint.interpreter.drivers import Drivers
from xlalint.interpreter.frame import Env, Frame, body_of
from xlalint.interpreter.guards import attribute_assigned
from xlalint.interpreter.library_calls import LibraryCall, module_value_of
from xlalint.interpreter.library_functions import call_external
from xlalint.interpreter.mapped_functions import forget_rank, is_mapped
from xlalint.interpreter.occasions import Occasions
from xlalint.interpreter.passed_values import passed_values
from xlalint.interpreter.spelling import path_of
from xlalint.interpreter.switches import Switches
from xlalint.interpreter.targets import Targets
from xlalint.interpreter.traced_arguments import (
    arguments_of_method,
    as_carried,
    as_known,
    as_recorded,
    as_returned,
    as_traced,
    binds_itself,
    chooses,
    is_choice,
    is_number,
    is_shape,
    is_structure,
    replace_unknown,
    static_arguments,
    static_places,
)
from xlalint.interpreter.tracer import HandOver
from xlalint.interpreter.tracing import hand_over, tracer_of
from xlalint.interpreter.uncalled import keeps_unread
from xlalint.lowering import ir
from xlalint.program.facts import Facts
from xlalint.program.hints import NOTHING_TAUGHT, UserHints
from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo, Program

if TYPE_CHECKING:
    from xlalint.api_tables.lookup import Apis
    from xlalint.interpreter.recording import Recorder
    from xlalint.interpreter.semantics import Libraries
    from xlalint.rules.policy import Policies

T = TypeVar("T")
Counts = defaultdict[tuple[FunctionInfo | None, ClassInfo | None], int]
Asked = Literal["", "number", "flag"]
Closure = tuple[tuple[str, Value], ...]

MAX_CONTEXTS: Final = 256
MAX_DEPTH: Final = 32
_MOST_KEPT: Final = 16  # attributes of one object
TABLE_DEPTH: Final = 2
_BUILTINS: Final = frozenset(dir(builtins))
_PROTOCOLS: Final = frozenset(("typing.Protocol", "typing_extensions.Protocol"))
_DUNDERS: Final = {
    "+": "__add__",
    "-": "__sub__",
    "*": "__mul__",
    "/": "__truediv__",
    "@": "__matmul__",
    "==": "__eq__",
    "<": "__lt__",
    ">": "__gt__",
    "<=": "__le__",
    ">=": "__ge__",
}

# What compiles functions by itself, with a language in which names of tensors stand for pointers, tiles or arrays of NumPy.
_COMPILERS_OF_THEIR_OWN: Final = frozenset(
    ("cupy", "cupyx", "cutlass", "numba", "taichi", "tilelang", "triton", "tvm", "warp")
)
_MAKING_KERNELS: Final = frozenset(
    [
        "autotune",
        "cfunc",
        "func",
        "fuse",
        "generated_jit",
        "guvectorize",
        "heuristics",
        "jit",
        "kernel",
        "njit",
        "overload",
        "prim_func",
        "rawkernel",
        "stencil",
        "vectorize",
    ]
)


class Interpreter:
    """Analyses functions of one program.

    `libraries` says what the frameworks add to Python. `targets` are the targets that API tables may ask for, where `taught` says of a file
    no others. `scope` is the state around the code that runs (`semantics.Surroundings`).
    """

    def __init__(
        self,
        program: Program,
        apis: Apis,
        policies: Policies,
        libraries: Libraries,
        targets: tuple[str, ...],
        taught: UserHints = NOTHING_TAUGHT,
    ) -> None:
        self.program = program
        self.reader = program.reader
        self.apis = apis
        self.policies = policies
        self.libraries = libraries
        rank_frameworks(libraries.names)
        self.teaches = bool(taught)
        whole = UserHints(
            taught.static,
            taught.tensor,
            taught.target,
            targets,
            requirements=taught.requirements,
            release=taught.release,
        )
        for module in program.modules:
            own = taught if module.followed else taught.of(module.path)
            module.taught = whole if own is taught else own
        self.shown_targets = Targets(libraries.show_targets, program)
        self.shown_targets.choose()
        for module in program.modules:
            module.taught.tracks_place = libraries.tracks_place(module.taught.targets)
        self.annotations = Annotations(program, apis, libraries)
        self.tables = AttributeTables(self)
        self._converted: dict[FunctionInfo, bool] = {}
        self.drivers = Drivers(libraries.steps, program)
        self.occasions = Occasions(program, self.drivers, self.tables.kind, self._is_step_of_framework)
        self.switches = Switches(program, self.occasions.uncalled)
        self.asked_for = AskedFor(program, self.drivers, self.occasions, self.switches)
        self.decorators = Decorators(self)
        self.contexts: dict[tuple[object, ...], Context] = {}
        self._begun: dict[Context, int] = {}  # at which place each recursion began that left something behind
        self.entered_by: Counts = defaultdict(int)
        self._shared: dict[tuple[object, ...], Context] = {}
        self._loose: dict[tuple[object, ...], Context] = {}  # what is shared where recursions left the same behind
        self._of_tables: dict[tuple[object, ...], Context] = {}
        self.in_tables = False  # under way: what a class stores
        self.share = Share()
        self.max_depth = MAX_DEPTH
        self.stack: list[Context] = []
        self.roots: list[RootContext] = []
        self.differentiating = 0
        self.scope = ""
        self.collating = 0  # functions under way that make a batch of examples
        self.tracing = ""  # the framework whose tracer runs what is under way, if that records what is known as well
        self.mapping = ""  # the framework of which a tracer runs at once what does not depend on its arguments
        self.fails = False  # whether there was an internal error: what is remembered may lack something
        self.staged: set[FunctionInfo] = set()  # what tracers are given, from the moment on when they are
        self.observer: Recorder | None = None
        self.pulse: Callable[[], None] | None = (
            None  # told of each function that is run; may end it all by an exception
        )
        self.compared = self._facts("compared", lambda info: frozenset(), names_compared)
        self.joined = self._facts("joined", lambda info: frozenset(), names_joined)
        self.handed = self._facts("handed", _nothing_handed, self._find_handed)
        self.compiled = self._facts("compiled", lambda info: "", self._find_compiled)
        self.mapped = self._facts("mapped", lambda info: False, self._is_mapped)
        self.rewritten = self._facts("rewritten", lambda info: False, self._is_rewritten)
        self.jitted = self._facts("jitted", lambda info: "", self._find_jitted)
        self.kernels = self._facts("kernel", lambda info: False, self._is_kernel)
        self.default_values = self._facts("defaults", lambda info: (UNKNOWN,) * len(info.params), self._find_defaults)
        self.asked = self._facts("asked", _nothing_asked, self._find_asked)
        self.unmoved = self._facts("unmoved", _nothing_unmoved, self._find_unmoved)
        self.some_module: Facts[Callable[[ModuleInfo], bool], bool] = Facts(
            self.reader, program.progress, "some module", _name_of, lambda asked: False, self._ask_modules
        )
        self.globals: Facts[int, Env] = Facts(
            self.reader, program.progress, "globals", lambda index: f"{index:08}", lambda index: {}, self._run_module
        )
        self.module_contexts: dict[int, Context] = {}
        self._module_roots: dict[int, list[RootContext]] = {}
        self.attach()

    def _facts(
        self, name: str, begin: Callable[[FunctionInfo], T], work: Callable[[FunctionInfo], T]
    ) -> Facts[FunctionInfo, T]:
        return Facts(self.reader, self.program.progress, name, place_of, begin, work)

    def attach(self) -> None:
        """Answer what the program asks while names are resolved; the interpreter that was attached last does."""
        self.program.evaluate = self.evaluate_global
        self.program.decorate = self.decorators.apply

    # ------------------------------------------------------------------------------------------- contexts

    def enter(
        self,
        info: FunctionInfo,
        args: tuple[Value, ...],
        closure: tuple[tuple[str, Value], ...] = (),
        per_turn: bool = False,
    ) -> Context:
        """The context of a function for these arguments, analysed now if it is new; `per_turn` as `Context` says."""
        if self.in_tables and len(self.stack) >= self.max_depth:
            return self._not_entered(info, args)
        if info.ir.decorators and self.kernels.of(info):
            return self._left_closed(info, args)
        key = self._key(info, args, closure, per_turn)
        running = None if closure else self._running(info, key)
        if running is not None:
            wider = tuple([forget_constants(value) for value in args])
            if wider != args:
                self.stack[-1].lean_on(running)
                args = wider
                key = self._key(info, args, closure, per_turn)
        found = self._find_context(key)
        if found is not None:
            return found
        context = Context(info, info.module, args)
        count = self.entered_by[context.group]
        if count >= MAX_CONTEXTS and not closure:
            widening = widen if count >= 2 * MAX_CONTEXTS else forget_constants
            wider = tuple([widening(value) for value in args])
            if wider != args:
                self._cut()
                args = wider
                key = self._key(info, args, closure, per_turn)
                found = self._find_context(key)
                if found is not None:
                    return found
                context = Context(info, info.module, args)
        context.key = key
        context.per_turn = per_turn
        context.collates = self.collating > 0
        context.converts = self._converts(info)
        replacing = _find_replacing(info)
        if replacing is not None:
            context.functions.append(replacing)
        context.restarts = (bool(info.ir.decorators) or replacing is not None) and self.rewritten.of(info)
        if not self.stack:
            self.share.begin_root(len(self.contexts))
        spent = not self.in_tables and self.share.is_spent(len(self.contexts))
        if spent and self.stack:
            tell_calls(self.stack[0], self.share)
        if spent or len(self.stack) >= self.max_depth or count > 4 * MAX_CONTEXTS:
            return self._not_entered(info, args)
        context.most = _most_of(args, closure)
        self.entered_by[context.group] += 1
        context.place = len(self.contexts)
        self.contexts[context.key] = context
        self._run(context, info, closure)
        return context

    def _is_step_of_framework(self, info: FunctionInfo) -> bool:
        """Return whether a framework calls a method at each step of its own loop."""
        return info.owner is not None and self.apis.hook(info.owner.library_bases(), info.name) == "step"

    def _converts(self, info: FunctionInfo) -> bool:
        """Return whether each tracer that rewrites control flow rewrites that of a function."""
        found = self._converted.get(info)
        if found is None:
            found = self._converted[info] = all(converts(self, info) for converts in self.libraries.converts)
        return found

    def _not_entered(self, info: FunctionInfo, args: tuple[Value, ...]) -> Context:
        """A context past a limit: of it is known what the function says that it returns."""
        self._cut()
        return self._left_closed(info, args)

    def _left_closed(self, info: FunctionInfo, args: tuple[Value, ...]) -> Context:
        context = Context(info, info.module, args)
        context.returns = self._return_declared(info)
        context.done = True
        return context

    def _is_kernel(self, info: FunctionInfo) -> bool:
        """Return whether another compiler than XLA makes a function of its text, with types of its own."""
        for one in info.ir.decorators:
            made = self.program.resolve(info.module, one.func if type(one) is ir.Call else one)
            package, _, name = made.name.rpartition(".") if isinstance(made, LibrarySymbol) else ("", "", "")
            if name in _MAKING_KERNELS and package.partition(".")[0] in _COMPILERS_OF_THEIR_OWN:
                return True
        return False

    def _running(self, info: FunctionInfo, key: tuple[object, ...]) -> Context | None:
        """The innermost context of a function that is under way: what it calls in turn is entered with wider arguments.

        None where that context's key is under way as well: the function is then called with what it was called with before.
        """
        found = None
        for context in self.stack:
            if context.function is info:
                if context.key == key:
                    return None
                found = context
        return found

    def begin(self) -> None:
        """Forget what was entered so far: what is entered next is found as if nothing had been, only faster."""
        self.stack = []
        self.contexts = {}
        self._begun = {}
        self.entered_by = defaultdict(int)
        self.share = Share()
        self.roots = []
        self.staged = set()
        self.differentiating = self.collating = 0
        self.scope = self.tracing = self.mapping = ""

    def _key(
        self,
        info: FunctionInfo,
        args: tuple[Value, ...],
        closure: tuple[tuple[str, Value], ...],
        per_turn: bool,
    ) -> tuple[object, ...]:
        if self.in_tables:
            return (info, args, closure, per_turn, len(self.stack))
        if per_turn or self.differentiating or self.scope or self.collating or self.tracing or self.mapping:
            states = self.differentiating > 0, self.scope, self.collating > 0, self.tracing, self.mapping
            return (info, args, closure, per_turn, *states)
        return (info, args, closure)

    def _find_context(self, key: tuple[object, ...]) -> Context | None:
        """The context kept under a key, used by what runs now."""
        found = self.contexts.get(key)
        if found is None:
            known = (self._of_tables if self.in_tables else self._shared).get(key)
            if known is not None:
                found = self._adopt(known)
            if found is None and not self.in_tables:
                known = self._loose.get(key)
                if known is not None and all(self.contexts.get(began.key) is began for began in known.loose):
                    found = self._adopt(known)
        if found is not None:
            if self.stack:
                self._rely(self.stack[-1], found)
            self.reader.use(found)
        return found

    def _adopt(self, context: Context) -> Context | None:
        """Take over a context that was worked out before `begin`, with all that it entered.

        None where working it out now would give something else: where contexts that it entered were worked out under other limits
        since, would now exceed a limit, or would find themselves under way. So what is found does not depend on what is remembered.
        """
        if self.stack and not self.in_tables and self.share.is_spent(len(self.contexts)):
            return None
        taken: dict[Context, None] = {}
        todo: list[tuple[Context, int]] = [(context, len(self.stack))]
        counts: Counts = defaultdict(int)
        least: dict[tuple[FunctionInfo | None, ClassInfo | None], int] = {}
        running = {one.function for one in self.stack}
        while (
            todo
        ):  # in the order in which the contexts would be entered: so each is reached at the depth that it would have
            current, depth = todo.pop()
            if current in taken:
                continue
            counts[current.group] += 1
            most = least[current.group] = min(current.most, least.get(current.group, current.most))
            if self.entered_by[current.group] + counts[current.group] > most or self._differs(current, depth, running):
                return None
            taken[current] = None
            inner: list[tuple[Context, int]] = []
            for part in current.parts:
                if isinstance(part, Context) and part.key and part not in taken:
                    known = self.contexts.get(part.key)
                    if known is None:
                        inner.append((part, depth + 1))
                    elif known is not part:
                        return None
            inner.reverse()
            todo += inner
            if not self.in_tables and not self.share.has_room(len(self.contexts) + len(taken)):
                return None
        loose = sum(bool(current.loose) for current in taken)
        if loose and not self.in_tables and not self.share.takes_cut(loose):
            return None
        begun = len(self.contexts)
        for current in taken:
            self.contexts[current.key] = current
            self.entered_by[current.group] += 1
            if current.leans_on is not None:
                self._begun.setdefault(current.leans_on, begun)
            self.roots.extend(current.roots)
            self.staged.update(current.staged)
        return context

    def _differs(self, context: Context, depth: int, running: set[FunctionInfo | None]) -> bool:
        """Return whether working a context out at a depth, beneath the functions that run, might give something else than it did."""
        if context.function in running and not context.key[2]:
            return True
        return not self.in_tables and depth >= self.max_depth - 2  # `instantiate` looks ahead

    def _rely(self, user: Context, other: Context) -> None:
        """Note that a context used the result of another, and take over what limits it.

        What a recursion leaves behind, contexts that used what was not finished, depends on where it began. Whoever uses such a one is
        `loose`, up to the context within which the recursion began: that gives the same wherever it is worked out.
        """
        user.parts[other] = None
        if not other.done:
            user.lean_on(other)
            return
        user.cut |= other.cut
        began = other.leans_on
        if began is not None:
            if began is user:
                self._begun[user] = user.place
            elif not began.done:
                user.lean_on(began)
            elif began in self._begun and began.leans_on is None:
                user.loose |= {began}
            else:  # it is within another, which may be done or not
                user.cut = True
        if other.loose:
            user.loose |= other.loose

    def _cut(self) -> None:
        """Note that a limit shows in the result of what runs now."""
        if self.stack:
            self.stack[-1].cut = True

    def add_root(self, frame: Frame, root: RootContext) -> None:
        """Enter a root that running a body made known."""
        self.roots.append(root)
        frame.context.roots.append(root)

    def _run(self, context: Context, info: FunctionInfo, closure: tuple[tuple[str, Value], ...]) -> None:
        if self.pulse is not None:
            self.pulse()
        env: Env = {param.name: value for param, value in zip(info.params, context.args, strict=True)}
        frame = Frame(self, context, env, dict(closure))
        frame.scope.declared = {param.name: param.annotation for param in info.params if param.annotation is not None}
        if info.ir.owner >= 0 and info.params and not info.decorated("staticmethod"):
            frame.scope.receiver_name = info.params[0].name
        context.depth = len(self.stack)
        context.of_table = self.in_tables
        leaning = self.program.progress.leaning
        self.stack.append(context)
        outer, self.reader.current = self.reader.current, context
        scope, differentiating, collating = self.scope, self.differentiating, self.collating
        tracing, mapping = self.tracing, self.mapping
        if differentiating and self._ends_gradients(info):
            self.differentiating = 0
        try:
            if frame.exec(info.body):
                context.returns = join(context.returns, NONE)
                frame.settle_returns()
        except CutOff:
            context.returns = UNKNOWN
            tell_work(context)
        except Exception as error:  # noqa: BLE001 - an internal error costs the function, not what calls it
            self.fail(context, error)
        finally:
            self.stack.pop()
            self.scope, self.tracing, self.mapping = scope, tracing, mapping
            self.differentiating, self.collating = differentiating, collating
            self.reader.current = outer
            outer.parts[context] = None
        try:
            self._finish(context, info)
        except Exception as error:  # noqa: BLE001 - as above
            self.fail(context, error)
        context.done = True
        if context.loose:
            context.loose = frozenset([one for one in context.loose if self._begun.get(one, -1) < context.place])
        if context.leans_on is context:
            context.leans_on = None
            self._begun[context] = context.place
        steady = self.program.progress.leaning == leaning
        if not steady:
            context.cut = True
        if self.stack:
            self._rely(self.stack[-1], context)
        if not self.in_tables:
            self.share.cut += context.cut or bool(context.loose)
        if context.leans_on is not None:
            return
        if not self.in_tables:
            if not context.cut:
                (self._loose if context.loose else self._shared)[context.key] = context
        elif steady and context.depth == self.max_depth - 1:  # it enters nothing
            self._of_tables[context.key] = context

    def fail(self, context: Context, error: Exception) -> None:
        """Note an internal error in what a context runs, and take what that gives for unknown."""
        context.returns = UNKNOWN
        self.lacks(context, error)

    def lacks(self, context: Context, error: Exception) -> None:
        """Note that an internal error, or nesting too deep to be followed, left something out of a context."""
        context.cut = True
        self.fails = True
        if isinstance(error, RecursionError):
            tell_depth(context)
        else:
            self.reader.current.fail(context.module.path, context.name, error)

    def _finish(self, context: Context, info: FunctionInfo) -> None:
        """Settle what the context returns: generators, annotations where nothing is known."""
        if info.ir.is_generator:
            if info.decorated("contextmanager", "asynccontextmanager"):
                context.returns = context.yields
            else:
                context.returns = sequence("iter", None, context.yields)
        elif context.returns is NONE and _is_stub(info):
            context.returns = self._return_declared(info)
        elif UNKNOWN in members(context.returns) or context.returns is NEVER:
            declared = self._return_declared(info)
            if declared is not UNKNOWN and declared is not NONE and context.returns is not NEVER:
                known = [m for m in members(context.returns) if m is not UNKNOWN]
                context.returns = join_all([declared, *known])
        if info.ir.decorators and context.key:
            passes_on(context)

    def afresh(self) -> Apart:
        """Analyse apart from what is being analysed: what a class is does not depend on who asks.

        Tables of classes may need each other while they are half done, so what is seen meanwhile is kept apart, and calls are
        followed a few steps only: enough to find what they store. What a call gives depends on how many steps are left alone.
        """
        return Apart(self, tables=True)

    def apart(self) -> Apart:
        """Analyse apart from what is being analysed, as after `begin`; gives the roots that become known."""
        return Apart(self, tables=False)

    def put_aside(self, *, tables: bool) -> None:
        """Begin anew, or go on with the analysis of what classes are."""
        self.begin()
        self.in_tables = tables
        self.max_depth = TABLE_DEPTH if tables else MAX_DEPTH

    def standalone(
        self,
        info: FunctionInfo,
        traced_by: str = "",
        static: tuple[object, ...] = (),
        only: frozenset[int] | None = None,
    ) -> tuple[Value, ...]:
        """The arguments of a function of whose calls nothing is known.

        `traced_by` names the framework whose tracer replaces every argument, "" for none, but those that `static`
        names or numbers; or just those that `only` numbers, if that is given.
        """
        defaults = self.defaults(info)
        kept = static_places(info, static) if static else frozenset()
        values: list[Value] = []
        for position, param in enumerate(info.params):
            if position == 0 and info.ir.owner >= 0 and not info.decorated("staticmethod"):
                receiver = self.receiver_of(info)
                values.append(self.as_closed_over(receiver, traced_by) if 0 in kept and traced_by else receiver)
                continue
            value = self.parameter(info, position, defaults[position])
            default = defaults[position]
            replaced = param.kind in ("", "/", "k") and position not in kept and (only is None or position in only)
            replaced = replaced and not binds_itself(info, param)
            if traced_by and default is not None and (is_shape(default) or (replaced and is_choice(default))):
                value = default  # a tracer replaces what is passed; nothing says that this is
            values.append(self.as_argument(value, traced_by) if traced_by and replaced else value)
        return static_arguments(tuple(values), kept) if kept else tuple(values)

    def with_passed(
        self, info: FunctionInfo, args: tuple[Value, ...], module: ModuleInfo, framework: str
    ) -> tuple[Value, ...]:
        """The arguments, with what a module's calls pass for those that a framework's tracer leaves as they are."""
        if not framework or not self.libraries.of(framework).keeps_numbers:
            return args
        passed = passed_values(info, module)
        return tuple([passed.get(position, value) for position, value in enumerate(args)]) if passed else args

    def arguments_of_method(self, info: FunctionInfo, framework: str) -> tuple[Value, ...]:
        """The arguments of a method that a framework calls on what it traces."""
        args = self.standalone(info)
        replaced = self.replacing(framework)
        if not replaced or info.owner is None:
            return args
        entries = [self.apis.class_method(base, "__call__") for base in info.owner.library_bases()]
        known = max([len(entry.params) for entry in entries if entry is not None], default=0)
        return arguments_of_method(info, args, replaced, max(known, 1))

    def as_argument(self, value: Value, framework: str) -> Value:
        """Return what a framework's tracer passes on for an argument."""
        semantics = self.libraries.of(framework)
        of_record = semantics.of_record
        take_apart = None if of_record is None else lambda record: of_record(self, record)
        return replace_unknown(value, framework, take_apart)

    def as_closed_over(self, value: Value, framework: str) -> Value:
        """Return an object that traced code does not get as an argument: the arrays that it keeps were made before, and are known.

        That is so of the `self` of a bound method that is handed over, and of a static one. Modules are left as they are.
        """
        if type(value) is not Instance or not self.libraries.of(framework).records_known:
            return value
        if self.tracing or self.in_tables or self.tables.kind(value.klass):
            return value
        if value.fields:
            return as_known(value, framework)
        kept: dict[str, Value] = {}
        for base in value.klass.mro:
            if type(base) is ClassInfo:
                for name in self.tables.find_stores(base):
                    stored = self.tables.find_assigned(value.klass, name)
                    if stored is not None and any(tensors(stored)):
                        kept[name] = as_known(stored, framework)
        return instance(value.klass, tuple(sorted(kept.items(), key=lambda item: item[0]))[:_MOST_KEPT], value.made)

    def replacing(self, framework: str) -> str:
        """The framework, if its tracer replaces every argument; "" of others."""
        return framework if self.libraries.of(framework).replaces_arguments else ""

    def replaces_all(self, framework: str, tracer: str) -> bool:
        """Return whether a tracer of that name makes tracers of all that it passes on, and records all that is computed with them."""
        semantics = self.libraries.of(framework)
        seen = semantics.runs_known | semantics.filters | semantics.flagged
        return semantics.records_known and tracer not in seen and not tracer.startswith(semantics.changed or "\0")

    def find_replaced(self, info: FunctionInfo, framework: str, tracer: str) -> frozenset[int] | None:
        """Number the parameters that a tracer of that name may replace, where it leaves alone what is no array, or a flag; None: all."""
        semantics = self.libraries.of(framework)
        if tracer in semantics.flagged:
            return frozenset([i for i, param in enumerate(info.params) if not chooses(info, param.name)])
        if tracer not in semantics.filters:
            return None
        return frozenset(
            [
                position
                for position, param in enumerate(info.params)
                if not is_number(info, param.name) and not is_structure(info, param.name)
            ]
        )

    def parameter(self, info: FunctionInfo, position: int, default: Value | None) -> Value:
        """Return what a parameter holds when nothing is known of what is passed."""
        name = info.params[position].name
        value = self.annotations.parameter(info, position, default)
        if info.owner is not None and UNKNOWN in members(value):
            value = self._of_class(info, name, value)
        return self._with_element(info, name, self._before_it_moves(info, name, value))

    def _before_it_moves(self, info: FunctionInfo, name: str, value: Value) -> Value:
        """Return what a parameter is that the function itself moves, wholly or in part."""
        if self.drivers.words.places.isdisjoint(info.ir.calls):
            return value
        kind = self.unmoved.of(info).get(name)
        return value if kind is None else join_all([_as_unmoved(one, kind) for one in members(value)])

    def _find_unmoved(self, info: FunctionInfo) -> AnyMapping[str, Value]:
        find = self.libraries.of(self.annotations.framework(info.module)).unmoved
        return find(self, info) if find is not None else {}

    def _of_class(self, info: FunctionInfo, name: str, value: Value) -> Value:
        """Return what a parameter is by the class of its method, else the value that is known to be one of several."""
        tell = self.libraries.of(self.annotations.framework(info.module)).parameter_of
        told = tell(self, info, name) if tell is not None else None
        return value if told is None else join_all([told if one is UNKNOWN else one for one in members(value)])

    def _with_element(self, info: FunctionInfo, name: str, value: Value) -> Value:
        """A number that may be an element of what its class keeps: `step(t)` of an object that keeps a tensor `ts`.

        Who steps through `self.timesteps` passes 0-d tensors where the annotation says `int`.
        """
        kept = info.owner is not None and not self.in_tables
        if not kept or not all(type(m) is Host or m is NONE or m is UNKNOWN for m in members(value)):
            return value
        held = self.tables.find_assigned(info.owner, f"{name}s")  # type: ignore[arg-type]
        found = [m for m in members(held) if type(m) is Tensor and m.rank in (-1, 1)] if held is not None else []
        return join_all([value, *(tensor(m.framework, m.dtype, 0, m.place, sure=False) for m in found)])

    def receiver_of(self, info: FunctionInfo) -> Value:
        """Return what `self` or `cls` is in a method analysed by itself."""
        owner = info.owner
        if owner is None:
            return UNKNOWN
        return class_value(owner) if info.decorated("classmethod") else instance(owner)

    def defaults(self, info: FunctionInfo) -> tuple[Value | None, ...]:
        """The values of the parameters' defaults, None where there is none."""
        return self.default_values.of(info)

    def _find_defaults(self, info: FunctionInfo) -> tuple[Value | None, ...]:
        with self.apart():
            frame = self.module_frame(info.module)
            return tuple([None if param.default is None else frame.eval(param.default) for param in info.params])

    def asked_kinds(self, info: FunctionInfo) -> tuple[Asked, ...]:
        """Per parameter: whether its annotation asks for a number (`int`, `float | None`), for a flag (`bool`), or for neither."""
        return self.asked.of(info)

    def _ask_modules(self, asked: Callable[[ModuleInfo], bool]) -> bool:
        """Return whether something holds of a module of the program's own."""
        own = self.program.modules[: self.program.linted]
        for module in own:
            self.reader.current.modules |= module.bit
        return any(map(asked, own))

    def makes_on_host(self, framework: str) -> bool:
        """Return whether a framework's tensors are made in host memory where nothing says where, as far as the program says."""
        sets = self.libraries.of(framework).sets_default_device
        return sets is None or not self.some_module.of(sets)

    def _find_asked(self, info: FunctionInfo) -> tuple[Asked, ...]:
        declared = [self.annotations.value(info.module, param.annotation) for param in info.params]
        return tuple([_kind_asked(value) for value in declared])

    # -------------------------------------------------------------------------------------------- globals

    def global_name(self, module: ModuleInfo, name: str) -> Value:
        """The value of a module-level or built-in name."""
        value = self.program.global_value(module, name)
        if value is not None:
            if type(value) is LibrarySymbol:
                # `from math import inf`; of an object its methods are known by its name, `jax.config.update`.
                held = self.constant_of_library(value.name)
                value = held if type(held) is Const else value
            running = self.tracing or self.mapping
            return as_known(value, running) if running else value
        return external(f"builtins.{name}") if name in _BUILTINS else UNKNOWN

    def constant_of_library(self, dotted: str) -> Value | None:
        """The value that a table says a library's module-level name holds, None where none does."""
        what = self.apis.value(dotted)
        return None if what is None else module_value_of(what, self.apis.framework(dotted) or "")

    def module_frame(self, module: ModuleInfo) -> Frame:
        """A frame that evaluates expressions at module level."""
        return Frame(self, Context(None, module, ()), {}, {})

    def evaluate_global(self, module: ModuleInfo, name: str) -> Value | None:
        """The value that module level's statements give a name; one that stands for what functions are to give it says nothing."""
        value = self.globals.of(module.index).get(name)
        return UNKNOWN if value is NONE and name in module.unit.rebound else value

    def module_roots(self, module: ModuleInfo) -> list[RootContext]:
        """The roots that running the module's top-level statements makes known."""
        self.evaluate_global(module, "")
        return self._module_roots.get(module.index, [])

    def _run_module(self, index: int) -> Env:
        """Run a module's top-level statements; the environment that they leave."""
        module = self.program.modules[index]
        context = Context(None, module, ())
        frame = Frame(self, context, self.globals.so_far(index), {})
        self.module_contexts[index] = context
        self._module_roots.pop(index, None)
        with self.reader.reading(context), self.apart() as roots:
            self.stack.append(context)
            surroundings = self.libraries.surroundings
            self.scope = surroundings.of_module(module, self.program) if surroundings is not None else ""
            self._exec_module(frame)
        context.done = True
        self._module_roots[index] = roots
        return frame.env

    def drive_module(self, module: ModuleInfo) -> Context:
        """Run a module's top-level statements as those of a script that drives the device: what its loops repeat counts."""
        context = Context(None, module, ())
        context.per_turn = True
        with self.reader.reading(context):
            self.stack.append(context)
            self._exec_module(Frame(self, context, {}, {}))
            self.stack.pop()
        context.done = True
        return context

    def _exec_module(self, frame: Frame) -> None:
        unit = frame.module.unit
        scope, differentiating, collating = self.scope, self.differentiating, self.collating
        for statement, start in zip(ir.decode_body(unit.body), unit.starts, strict=False):
            if type(statement) not in _DEFINITIONS:
                frame.base = start << 32 | start
                try:
                    if not frame.exec((statement,)):
                        return
                except CutOff:
                    tell_work(frame.context)
                    return
                except Exception as error:  # noqa: BLE001 - an internal error costs the statement
                    self.lacks(frame.context, error)
                    self.scope, self.differentiating, self.collating = scope, differentiating, collating
                    if isinstance(error, RecursionError):
                        return

    # ---------------------------------------------------------------------------------------------- calls

    def call(self, frame: Frame, node: ir.Call) -> Value:
        """Evaluate a call expression."""
        func = frame.eval(node.func)
        arguments = evaluate_arguments(frame, node)
        found = callees(func)
        for asked in self.libraries.on_call:
            asked(frame, node, found, arguments)
        doubt = len(found) > 1
        if doubt and not all(self._takes(member, arguments) for member in found):
            # Some of them are called with other arguments: these may be meant for others, too.
            arguments = arguments.each(as_guess)
        overridden = doubt and type(node.func) is ir.Attr and node.func.at in frame.paths.left_open
        frame.paths.ambiguous_callee += doubt
        frame.paths.overridden += overridden
        results = [self._call_one(frame, member, arguments, node) for member in found]
        frame.paths.overridden -= overridden
        frame.paths.ambiguous_callee -= doubt
        result = results[0] if len(results) == 1 else join_all(results) if results else UNKNOWN
        surroundings = self.libraries.surroundings if self.scope else None
        return result if surroundings is None else surroundings.made(frame, node, found, arguments, result)

    def _takes(self, func: Value, arguments: Arguments) -> bool:
        """Return whether a call's arguments fit what may be called, as far as its signature is known."""
        if type(func) is Function:
            return takes(func.info, func.receiver is not None, arguments)
        info = func.klass.method("forward") or func.klass.method("call") if type(func) is Instance else None
        return info is None or takes(info, True, arguments)

    def call_value(
        self, frame: Frame, func: Value, args: list[Value], keywords: tuple[tuple[str, Value], ...], node: ir.Call
    ) -> Value:
        """Call a value with values."""
        arguments = Arguments(list(args), dict(keywords))
        results = [self._call_one(frame, member, arguments, node) for member in members(func) if member is not NONE]
        return join_all(results) if results else UNKNOWN

    def _call_one(self, frame: Frame, func: Value, arguments: Arguments, node: ir.Call) -> Value:
        if isinstance(func, Function):
            return self.call_function(frame, func, arguments, node.at, node.func)
        if isinstance(func, Method):
            return self._call_method(frame, func, arguments, node)
        if isinstance(func, LibrarySymbol):
            made = call_external(self, frame, func.name, arguments, node)
            return self._made_on_host(frame, arguments) if made is UNKNOWN else made
        if isinstance(func, Class):
            return self.instantiate(frame, func.info, arguments, node.at)
        if isinstance(func, Instance):
            return self._call_object(frame, func, arguments, node)
        if isinstance(func, Sequence):
            return self._call_modules(frame, func, arguments, node)
        if isinstance(func, Partial):
            bound = Arguments(
                [*func.args, *arguments.args],
                {**dict(func.keywords), **arguments.keywords},
                arguments.rest,
                arguments.extra,
            )
            return self.run_each(frame, func.func, bound, node)
        if isinstance(func, Answer):
            return func.value
        if func is UNKNOWN or type(func) is Host:
            for taken in self.libraries.on_unknown_call:
                result = taken(frame, arguments, node)
                if result is not None:
                    return result
            return self._made_on_host(frame, arguments) if func is UNKNOWN else UNKNOWN
        if isinstance(func, LibraryInstance):
            entry = self.apis.class_method(func.name, "__call__")
            if entry is not None:
                called = LibraryCall(frame, entry, None, arguments.args, arguments.pairs(), node).run()
                if self.drivers.names_no_device(frame.module) and self._has_parameters(func):
                    called = on_device(called)  # where its parameters will be once the program is ported
                given = self.libraries.results.get(func.name) if called is UNKNOWN else None
                return called if given is None else given(arguments)
        return UNKNOWN

    def _made_on_host(self, frame: Frame, arguments: Arguments) -> Value:
        """Return what a call of something unknown gives for tensors in host memory alone: what that computes with is there as well.

        A module that names no device is yet to be ported: then they will be on it.
        """
        if arguments.rest is not None or arguments.extra is not None:
            return UNKNOWN
        given = [*arguments.args, *arguments.keywords.values()]
        held = (one for value in given for one in members(value))
        found = [one for one in held if isinstance(one, Tensor) and one.framework != ARRAYS]
        if not found or any(one.place != "cpu" for one in found):
            return UNKNOWN
        if any(UNKNOWN in members(value) for value in given) or self.drivers.names_no_device(frame.module):
            return UNKNOWN
        return tensor(found[0].framework, place="cpu", sure=False)

    def _has_parameters(self, module: LibraryInstance) -> bool:
        return self.apis.class_attribute(module.name, "weight") is not None

    def run_each(self, frame: Frame, func: Value, arguments: Arguments, node: ir.Call) -> Value:
        """Call each of a value's alternatives."""
        return join_all(self._call_one(frame, member, arguments, node) for member in members(func))

    def call_function(
        self, frame: Frame, func: Function, arguments: Arguments, at: int, callee: ir.Node | None = None
    ) -> Value:
        """Enter a function of the program, which is written as `callee`."""
        if is_mapped(func) or (func.info.ir.decorators and self.mapped.of(func.info)):
            return forget_rank(self._call_plainly(frame, func, arguments.each(forget_rank), at, callee))
        return self._call_plainly(frame, func, arguments, at, callee)

    def _call_plainly(
        self, frame: Frame, func: Function, arguments: Arguments, at: int, callee: ir.Node | None = None
    ) -> Value:
        info = func.info
        if isinstance(func.receiver, Instance) and func.receiver.klass.method(info.name) is info:
            overrides = func.receiver.klass.overrides(info.name)
            if overrides:
                return self._call_overrides(frame, func, func.receiver, overrides, arguments, at)
        if info.ir.outer >= 0 and func.closure:
            carried = self.decorators.find_carried(func)
            if carried is not None:
                return self._call_through(frame, func, carried, arguments, at)
        args = bind_parameters(self, info, func.receiver, arguments)
        mark = ""
        if frame.loops.dispatches:
            mark = mark_of(args)
            traced = bool(compiled_by(func))  # a tracer reads nothing that is being computed
            args = tuple(
                [
                    of_earlier_turn(value) if traced else handed_on(value, 0, within=frame.loops.lasting)
                    for value in args
                ]
            )
        traced_by = self.jitted.of(info) if info.ir.decorators else ""
        if traced_by:
            args = self._leave_static(info, tuple([as_traced(value, traced_by) for value in args]))
        elif (framework := compiled_by(func)) and self.libraries.of(framework).converts_arrays:
            args = tuple([as_traced(value, framework) for value in args])
        if self.scope and (frame.paths.tests or frame.paths.suppressed):
            context = self._enter_from_branch(frame, info, args, func.closure)
        elif traced_by:
            context = self.enter_traced(info, args, func.closure, traced_by)
        else:
            paced = frame.context.per_turn and not frame.loops.depth
            context = self.enter(info, args, func.closure, paced and self.drivers.counts_turns(info))
        if not any(skips(frame, info) for skips in self.libraries.skips):
            frame.enters(context, at)
        if context.steps or context.claims:
            for returned in self.libraries.on_return:
                returned(frame, context)
        if context.stores and func.receiver is not None and func.receiver is frame.env.get(frame.scope.receiver_name):
            frame.adopt(context.stores)
        elif context.stores and isinstance(func.receiver, Instance) and type(callee) is ir.Attr:
            _change_object(frame, callee.value, func.receiver, context.stores)
        if not context.done:
            return context.returns if context.returns is not NEVER else self._return_declared(info)
        if context.returns is NONE and _is_of_protocol(info):
            return UNKNOWN if info.promises_nothing() else self._return_declared(info)
        if info.ir.decorators and info.decorated(*self.libraries.with_gradient):
            pair = context.returns
            return pair.items[0] if isinstance(pair, Sequence) and pair.items else UNKNOWN
        return context.returns if self.tracing else self._dispatch(frame, func, context, mark)

    def _call_overrides(
        self,
        frame: Frame,
        func: Function,
        receiver: Instance,
        overrides: list[FunctionInfo],
        arguments: Arguments,
        at: int,
    ) -> Value:
        """Enter what subclasses make of an abstract method: it promises what is returned, or they say it."""
        results: list[Value] = []
        several = len(overrides) > 1
        frame.paths.overridden += several
        for override in overrides:
            owner = receiver if override.owner is None else instance(override.owner, receiver.fields)
            bound = self.bind_method(override, owner)
            if isinstance(bound, Function):
                results.append(self.call_function(frame, bound, arguments, at))
        frame.paths.overridden -= several
        return join_all(results) if func.info.promises_nothing() else self._return_declared(func.info)

    def _dispatch(self, frame: Frame, func: Function, context: Context, mark: str) -> Value:
        """Return what a function gives to code of the host: if it is compiled, tensors that are being computed."""
        framework = compiled_by(func) or (self.compiled.of(func.info) if func.info.ir.decorators else "")
        depth = frame.loops.lasting
        if not framework:
            if not context.dispatches:
                return self._give_computed(frame, context, mark)
            frame.dispatches()
            if takes_many_steps(context) or not takes_no_turns(func.info):
                frame.takes_many()
            return handed_on(context.returns, depth)
        many = takes_many_steps(context) or func.info.answers(unrolls_steps) or calls_steps(func.info, context)
        if many:
            frame.takes_many()
        semantics = self.libraries.of(framework)
        trains = self._trains(frame, context, semantics.training) if semantics.training else not many
        steps = not many and not loops_over_steps(func.info, semantics.training)
        returned = context.returns
        if semantics.of_record is not None and not self._keeps_numbers(func, semantics.filters):
            returned = as_returned(returned, framework, partial(semantics.of_record, self))
        elif semantics.gives_tensors:
            returned = as_carried(returned, framework)
        return self._mark_dispatched(frame, returned, framework, trains=trains, steps=steps)

    def _give_computed(self, frame: Frame, context: Context, mark: str) -> Value:
        """Return what a function gives that calls nothing compiled, behind the step of a loop that calls it."""
        given = computed_with(context.returns, mark)
        return frame.computes(given) if context.computes else given

    def _keeps_numbers(self, func: Function, filters: AnySet[str]) -> bool:
        """Return whether a compiled function leaves what it gives as it is, where that is no array."""
        return keeps_numbers(func) or any(
            given is not None and given.name in filters for given in self.handed.of(func.info)
        )

    def call_compiled(self, frame: Frame, framework: str, arguments: Arguments, node: ir.Call) -> Value:
        """Call what a framework compiled, the first argument, which is no function of the program."""
        given = Arguments(arguments.args[1:], arguments.keywords, arguments.rest, arguments.extra)
        returned = self.run_each(frame, arguments.args[0], given, node)
        return returned if self.tracing else self._mark_dispatched(frame, returned, framework)

    def _mark_dispatched(
        self, frame: Frame, returned: Value, framework: str, *, trains: bool = True, steps: bool = True
    ) -> Value:
        """Return what a compiled call gives to code of the host, as being computed; `steps`: the loop around takes a step by it."""
        depth = frame.loops.lasting
        if not depth and (frame.function is None or self.in_tables or not takes_no_turns(frame.function)):
            return returned
        frame.dispatches()
        if steps and frame.loops.turn is not None:
            frame.loops.stepping = frame.loops.turn.loop
        return mark_result(returned, framework, depth, whole=True, trains=trains)

    def _trains(self, frame: Frame, step: Context, names: frozenset[str]) -> bool:
        """Return whether a step that a loop takes changes what is trained, or the loops around it do with what it gave."""
        if frame.loops.turn is not None:
            around: Iterable[str] = frame.loops.turn.list_calls()
        else:
            around = frame.function.ir.calls if frame.function is not None else frame.module.unit.calls
        return not names.isdisjoint(around) or leads_to(step, names)

    def _enter_from_branch(
        self, frame: Frame, info: FunctionInfo, args: tuple[Value, ...], closure: tuple[tuple[str, Value], ...]
    ) -> Context:
        """Enter a function from a branch or a handler, where less may be known of what surrounds the code."""
        scope, surroundings = self.scope, self.libraries.surroundings
        if surroundings is not None:
            self.scope = surroundings.in_branch(frame)
        context = self.enter(info, args, closure)
        self.scope = scope
        return context

    def _find_handed(self, info: FunctionInfo) -> tuple[HandOver | None, ...]:
        """Return what each decorator of a function says of tracing, as its module knows it."""
        frame = self.module_frame(info.module)
        return tuple([hand_over(frame, decorator) for decorator in info.ir.decorators])

    def _find_jitted(self, info: FunctionInfo) -> str:
        """The framework whose tensors a function is run on, whatever arrays its calls pass; "" of others."""
        tracers = [one.tracer.framework for one in self.handed.of(info) if one is not None]
        return next((name for name in tracers if self.libraries.of(name).converts_arrays), "")

    def _leave_static(self, info: FunctionInfo, args: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return the arguments of a call of a decorated function: what its decorators call static is the host's, whatever the call passes.

        Of values that are passed in a row, `f(*xs, flag)`, which one goes where is not known.
        """
        for given in self.handed.of(info):
            if given is not None and given.static:
                args = static_arguments(args, static_places(info, given.static))
        return args

    def _ends_gradients(self, info: FunctionInfo) -> bool:
        """Return whether a function says itself what its gradient is, or where one stops in it."""
        ending = self.libraries.ends_gradients
        if not ending.isdisjoint(info.ir.calls) or info.decorated(*ending):
            return True
        completed = (arg for one in info.ir.decorators if type(one) is ir.Call for arg in one.args)
        return any(last_name(arg) in ending for arg in completed)  # `@partial(jax.custom_vjp, …)`

    def _find_compiled(self, info: FunctionInfo) -> str:
        """The framework that compiles a function which a decorator hands over, and dispatches its calls; "" of others."""
        for given in self.handed.of(info):
            if given is not None and self.dispatches(given.tracer.framework, given.name):
                return given.tracer.framework
        return ""

    def _is_mapped(self, info: FunctionInfo) -> bool:
        """Return whether a decorator has a function run for each row of what it is passed."""
        handed = [given for given in self.handed.of(info) if given is not None]
        return any(given.name in self.libraries.of(given.tracer.framework).mapping for given in handed)

    def dispatches(self, framework: str, tracer: str) -> bool:
        """Return whether calls of what a tracer of this name makes are run by the device while the host goes on."""
        semantics = self.libraries.of(framework)
        return semantics.raises and tracer not in semantics.runs_known

    def _is_rewritten(self, info: FunctionInfo) -> bool:
        """Return whether a decorator hands a function to a tracer that turns its loops into operations.

        A wrapper of the program's own that is told so does, too: `self.run = function(self.run, autograph=True)`.
        """
        if any(map(_asks_for_rewriting, info.ir.decorators)):
            return True
        replacing = _find_replacing(info)
        if replacing is not None:
            self.reader.current.functions.append(replacing)
            if any(map(_asks_for_rewriting, attribute_assigned(replacing, info.name))):
                return True
        tracers = [one.tracer for one in self.handed.of(info) if one is not None]
        return any(one.autograph and self.libraries.of(one.framework).stages_loops for one in tracers)

    def _call_through(self, frame: Frame, func: Function, carried: Carried, arguments: Arguments, at: int) -> Value:
        """Call a function that hands all that it gets to another: the other one gets just that.

        The wrapper's own body then runs on what the other one gave back, which it is taken to give back itself where it may.
        """
        inner = (
            carried.func if func.receiver is None else function(carried.func.info, func.receiver, carried.func.closure)
        )
        if not isinstance(inner, Function):
            return UNKNOWN
        result = self.call_function(frame, inner, arguments, at)
        closure = tuple([(name, answer(result) if name == carried.name else value) for name, value in func.closure])
        names = [param.name for param in func.info.params]
        named = {name: value for name, value in arguments.keywords.items() if name in names}
        # A wrapper serves any class and any keywords: of these it knows nothing, and it is entered once for all.
        known = Arguments(arguments.args, named, arguments.rest, UNKNOWN)
        receiver = UNKNOWN if func.receiver is not None else None
        bound = tuple([_any_of(value) for value in bind_parameters(self, func.info, receiver, known)])
        context = self.enter(func.info, bound, closure)
        frame.enters(context, at)
        given = members(context.returns)
        if not context.done or UNKNOWN in given or all(member in given for member in members(result)):
            return result
        return context.returns

    def bind_method(self, info: FunctionInfo, receiver: Value | None) -> Value:
        """A function of a module or class as the program sees it, after its decorators, bound to a receiver (or not)."""
        if not info.ir.decorators:
            return function(info, receiver)
        value = self.decorators.apply(info)
        if receiver is None or not isinstance(value, Function):
            return value
        return function(value.info, receiver, value.closure)

    def _return_declared(self, info: FunctionInfo) -> Value:
        """Return what a function says that it gives: under a tracer that may be a tracer where it says an array of NumPy's."""
        declared = self.annotations.value(info.module, info.ir.returns) or UNKNOWN
        return map_leaves(declared, _unless_array) if self.tracing or self.mapping else declared

    def invoke(
        self,
        frame: Frame,
        info: FunctionInfo,
        receiver: Value | None,
        args: list[Value],
        keywords: tuple[tuple[str, Value], ...],
        at: int,
    ) -> Value:
        """Call a method of the program with values."""
        func = self.bind_method(info, None if info.decorated("staticmethod") else receiver)
        if not isinstance(func, Function):
            return UNKNOWN
        return self.call_function(frame, func, Arguments(args, dict(keywords)), at)

    def _call_method(self, frame: Frame, func: Method, arguments: Arguments, node: ir.Call) -> Value:
        receiver, name = func.receiver, func.name
        if isinstance(receiver, Tensor):
            if name == UPDATED:
                return as_recorded(receiver, self.tracing) if self.tracing else receiver
            entry = self.apis.method(receiver.framework, name)
            if entry is None or (arguments.args and not entry.params and not receiver.sure):
                return UNKNOWN  # what is given more than a tensor's method takes is another's: `np.isnan(x)` of a library imported whole
            return LibraryCall(frame, entry, receiver, arguments.args, arguments.pairs(), node).run()
        if isinstance(receiver, Sequence) and receiver.kind in ("modules", "chain"):
            entry = self.apis.class_method(self.libraries.containers[receiver.kind][0], name)
            if entry is not None:
                return LibraryCall(frame, entry, None, arguments.args, arguments.pairs(), node, receiver).run()
        if is_container(receiver):
            if name == "format" and is_text(receiver):
                report_braces(frame, receiver, arguments, node)
            return container_method(frame, receiver, name, arguments.args, node)
        if isinstance(receiver, Instance):
            return self._call_inherited(frame, receiver, receiver.klass.library_bases(), name, arguments, node)
        if isinstance(receiver, LibraryInstance):
            return self._call_inherited(frame, receiver, [receiver.name], name, arguments, node)
        return UNKNOWN

    def _call_inherited(
        self, frame: Frame, receiver: Value, bases: list[str], name: str, arguments: Arguments, node: ir.Call
    ) -> Value:
        """Call a method that a library class gives to the receiver."""
        if name in REGISTERED:
            args, keywords = arguments.args, arguments.keywords
            key = args[0] if args else keywords.get("name")
            value = args[1] if len(args) > 1 else keywords.get(REGISTERED[name])
            stored = key.value if isinstance(key, Const) else None
            if isinstance(stored, str) and value is not None and type(node.func) is ir.Attr:
                self.store_attribute(frame, node.func.value, stored, on_device(value))
                return NONE
        for base in bases:
            entry = self.apis.class_method(base, name)
            if entry is not None:
                return LibraryCall(frame, entry, None, arguments.args, arguments.pairs(), node, receiver).run()
        return UNKNOWN

    def _call_object(self, frame: Frame, func: Instance, arguments: Arguments, node: ir.Call) -> Value:
        if frame.loops.step_depth and self.tables.kind(func.klass) == "module":
            arguments = _entering(arguments)
        for name in ("__call__", "forward", "call"):
            info = func.klass.method(name)
            if info is not None and (
                name != "__call__" or self.tables.kind(info.owner) != "module" or not func.klass.method("forward")
            ):
                bound = self.bind_method(info, func)
                return self.call_function(frame, bound, arguments, node.at) if isinstance(bound, Function) else UNKNOWN
        for base in func.klass.library_bases():
            entry = self.apis.class_method(base, "__call__")
            if entry is not None:
                return LibraryCall(frame, entry, None, arguments.args, arguments.pairs(), node).run()
        below = func.klass.method_below("forward") or func.klass.method_below("__call__")
        if below is not None:
            bound = self.bind_method(below, func)
            return self.call_function(frame, bound, arguments, node.at) if isinstance(bound, Function) else UNKNOWN
        return UNKNOWN

    def _call_modules(self, frame: Frame, func: Sequence, arguments: Arguments, node: ir.Call) -> Value:
        """Call an `nn.Sequential`: each module on what the one before returned."""
        if func.kind != "chain":
            return UNKNOWN
        if func.items is not None:
            value: Value = arguments.args[0] if arguments.args else UNKNOWN
            for item in func.items:
                value = self.run_each(frame, item, Arguments([value], {}), node)
            return value
        once = self.run_each(frame, func.element, arguments, node)
        again = self.run_each(frame, func.element, Arguments([once], {}), node)
        return join(once, again)

    def call_back(
        self,
        frame: Frame,
        func: Value,
        args: list[Value],
        keywords: dict[str, Value],
        traced: bool,
        any_number: bool,
        call: LibraryCall,
    ) -> Value:
        """A library calls a function that it was given; `traced`: under its tracer, which makes it a root."""
        result: Value = NEVER
        if len(members(func)) > 1 and call.name in self.libraries.of(call.entry.framework).runs_known:
            traced = False  # which one it maps is not known, nor what that one is passed
        if traced and not any_number and self.replaces_all(call.entry.framework, call.name):
            args = [as_carried(value, call.entry.framework) for value in args]
        derived_from = self.libraries.of(call.entry.framework).derived_from if any_number else None
        for member in members(func):
            if derived_from is not None and isinstance(member, Partial):
                member = derived_from(member)
            if isinstance(member, Partial):
                func_args = Arguments([*member.args, *args], {**dict(member.keywords), **keywords})
                member = member.func
            else:
                func_args = Arguments(list(args), dict(keywords))
            if isinstance(member, Instance):
                info = find_call_method(member.klass)
                member = self.bind_method(info, member) if info is not None else member
            if not isinstance(member, Function):
                node = _called_back(call.node)
                result = join(result, self._call_one(frame, member, func_args, node) if args else UNKNOWN)
                continue
            result = join(result, self._call_traced(frame, member, func_args, traced, any_number, call))
        return result if result is not NEVER else UNKNOWN

    def _call_traced(
        self, frame: Frame, func: Function, arguments: Arguments, traced: bool, any_number: bool, call: LibraryCall
    ) -> Value:
        info = func.info
        framework = call.entry.framework
        mark = ""
        if any_number:
            semantics = self.libraries.of(framework)
            given, named = arguments.args, arguments.keywords
            if semantics.records_known and not self.tracing:  # bound before the tracing begins
                given = [as_known(value, framework) for value in given]
                named = {name: as_known(value, framework) for name, value in named.items()}
            receiver = func.receiver
            if receiver is not None and call.name not in semantics.filters:
                receiver = self.as_closed_over(receiver, framework)
            bound = [receiver, *given] if receiver is not None else given
            static = semantics.static(call, len(bound)) if semantics.static is not None else ()
            traced_alone = semantics.traces(call, len(bound)) if semantics.traces is not None else None
            only = self.find_replaced(info, framework, call.name) if traced_alone is None else traced_alone
            args = self.standalone(info, self.replacing(framework), static, only)
            args = self.with_passed(info, args, frame.module, framework) if traced else args
            args = (*bound, *args[len(bound) :])[: len(args)]
            args = tuple(named.get(p.name, v) for p, v in zip(info.params, args, strict=True))
            if traced_alone is not None and call.name in semantics.concrete:
                args = self._with_defaults(info, args, traced_alone, len(bound))
            if traced_alone is not None and semantics.records_known and not self.tracing:
                args = tuple([v if i in traced_alone else as_known(v, framework) for i, v in enumerate(args)])
        else:
            args = bind_parameters(self, info, func.receiver, arguments)
            if frame.loops.dispatches:
                mark = mark_of(args)
                args = tuple([handed_on(value, 0, within=frame.loops.lasting) for value in args])
            if traced and self.libraries.of(framework).converts_arrays:  # so are carries, whatever a loop began with
                args = tuple([as_traced(value, framework) for value in args])
        differentiates = call.name in self.libraries.differentiates
        self.differentiating += differentiates
        inner = self.tracing != ""
        if traced and any_number and keeps_unread(frame.module, body_of(frame), call.node):
            traced = False
        if traced:
            self.staged.add(info)
            frame.context.staged.append(info)
            context = self.enter_traced(info, args, func.closure, framework, call.name)
        else:
            context = self.enter(info, args, func.closure)
        self.differentiating -= differentiates
        frame.enters(context, call.node.at)
        if traced and not inner:  # else the code around it is traced, and leads there
            why = statements_name(call.node)
            settings = ("autograph", "jit_compile", "fullgraph")
            tracer = tracer_of(frame, call.name, call.entry, {name: call.argument(name) for name in settings})
            noted = call.name in self.libraries.of(framework).flagged  # whoever calls what it gives may trace it
            self.add_root(
                frame,
                RootContext(
                    context,
                    f"given to `{why}`",
                    1,
                    tracer,
                    of_base=noted,
                    replaced=self.replaces_all(framework, call.name),
                ),
            )
        return computed_with(context.returns, mark) if context.done else UNKNOWN

    def _with_defaults(
        self, info: FunctionInfo, args: tuple[Value, ...], traced: frozenset[int], first: int
    ) -> tuple[Value, ...]:
        """Return the arguments of a function that is differentiated, with its defaults for what a gradient does not trace.

        Those keep the values of the call, which is run by itself with what it passes.
        """
        defaults = self.defaults(info)
        return tuple(
            default if place >= first and place not in traced and isinstance(default, Const) else value
            for place, (value, default) in enumerate(zip(args, defaults, strict=True))
        )

    def enter_traced(
        self, info: FunctionInfo, args: tuple[Value, ...], closure: Closure, framework: str, tracer: str = ""
    ) -> Context:
        """The context of a function that a framework's tracer of that name runs."""
        semantics = self.libraries.of(framework)
        if not semantics.records_known or self.tracing:
            return self.enter(info, args, closure)
        known = tuple([(name, self.as_closed_over(as_known(value, framework), framework)) for name, value in closure])
        mapping = self.mapping
        if tracer in semantics.runs_known:
            self.mapping = framework
        else:
            self.tracing = framework
        context = self.enter(info, args, known)
        self.tracing, self.mapping = "", mapping
        return context

    # -------------------------------------------------------------------------------------------- objects

    def instantiate(self, frame: Frame, klass: ClassInfo, arguments: Arguments, at: int) -> Value:
        """An instance; what its `__init__` stores on it is known of it where it is a tensor or holds one."""
        kind = self.tables.kind(klass)
        if kind == "module":
            return instance(klass)
        init = klass.method("__init__")
        if init is None or klass.makes_record():
            return instance(klass, self._record_fields(klass, arguments))
        bound = function(init, instance(klass))
        if not isinstance(bound, Function):
            return instance(klass)
        if len(self.stack) > self.max_depth - 2:
            self._cut()
            return instance(klass)
        args = bind_parameters(self, init, bound.receiver, arguments)
        context = self.enter(init, args)
        frame.enters(context, at)
        fields = tuple(sorted((name, value) for name, value in context.stores.items() if any(tensors(value))))
        return instance(klass, fields[:16])

    def _record_fields(self, klass: ClassInfo, arguments: Arguments) -> tuple[tuple[str, Value], ...]:
        """The fields of a dataclass-like instance: arguments by the order of the class's annotated names."""
        names = self.tables.record_names(klass)
        if not names:
            return ()
        given = dict(zip(names, arguments.args, strict=False))
        given.update({name: value for name, value in arguments.keywords.items() if name in names})
        unsure = arguments.rest is not None or arguments.extra is not None
        defaults = {} if unsure else self.tables.record_defaults(klass)
        return record_fields({**defaults, **given})

    def attribute(self, frame: Frame, value: Value, name: str, at: int) -> Value:
        """The value of `value.name`."""
        if type(value) is Union:
            found = [attribute_of(self, frame, m, name, at) for m in value.members if m is not NONE]
            return join_all(found) if found else UNKNOWN
        return attribute_of(self, frame, value, name, at)

    def store_attribute(self, frame: Frame, node: ir.Node, name: str, value: Value) -> None:
        """`setattr(owner, name, value)`, with the owner written as `node`."""
        if type(node) is ir.Name and node.id == frame.scope.receiver_name:
            receiver = frame.env.get(node.id)
            if isinstance(receiver, Instance) and receiver.klass.method("_apply") is not None:
                value = on_device(value)  # a module that says itself what moves with it
            frame.store(name, value)
            frame.refine(f"{node.id}.{name}", value)

    def overload(self, frame: Frame, op: str, a: Value, b: Value, at: int) -> Value | None:
        """An operator that a class of the program defines."""
        name = _DUNDERS.get(op)
        if name is None:
            return None
        for receiver, other, method_name in ((a, b, name), (b, a, "__r" + name[2:])):
            if isinstance(receiver, Instance):
                info = receiver.klass.method(method_name)
                if info is not None:
                    return self.invoke(frame, info, receiver, [other], (), at)
        return None

    def open_with(self, frame: Frame, value: Value) -> Value:
        """Return what `with value as x` binds."""
        if isinstance(value, Instance):
            info = value.klass.method("__enter__")
            return self.invoke(frame, info, value, [], (), 0) if info is not None else value
        return value if not isinstance(value, (LibraryInstance, Function)) else UNKNOWN

    def iterate(self, frame: Frame, value: Instance, at: int) -> Value:
        """Return what iterating over an object gives."""
        info = value.klass.method("__iter__")
        if info is not None:
            given = self.invoke(frame, info, value, [], (), at)
            following = given.klass.method("__next__") if isinstance(given, Instance) else None
            if following is not None:
                return self.invoke(frame, following, given, [], (), at)
            return UNKNOWN if isinstance(given, (Instance, Union)) else element_of(frame, given, at)
        info = value.klass.method("__getitem__")
        if info is not None:
            return self.invoke(frame, info, value, [host("int")], (), at)
        if value.fields:
            return join_all(item for _, item in value.fields)
        return UNKNOWN

    def kept_item(self, frame: Frame, key: str) -> Value | None:
        """Return what an optimizer keeps under a key of its state or its groups."""
        receiver = frame.env.get(frame.scope.receiver_name)
        if isinstance(receiver, Instance) and self.optimizes(frame):
            return self.tables.items(receiver.klass).get(key)
        return None

    def optimizes(self, frame: Frame) -> bool:
        """Return whether the code is an optimizer's method.

        What an optimizer keeps for each parameter is a dict, found by the parameter.
        """
        receiver = frame.env.get(frame.scope.receiver_name)
        return isinstance(receiver, Instance) and self.tables.kind(receiver.klass) == "optimizer"

    def named_tuple(self, names: tuple[str, ...], items: tuple[Value, ...]) -> Value:
        """A named tuple as libraries return them (`x.max(dim)`)."""
        return sequence("named:" + ",".join(names), items, join_all(items))

    def decorate_nested(self, frame: Frame, info: FunctionInfo, value: Value) -> Value:
        """A nested function after its decorators: itself, and a root where a decorator traces it."""
        closure = value.closure if isinstance(value, Function) else ()
        for decorator in info.ir.decorators:
            given = hand_over(frame, decorator)
            if given is not None:
                framework = given.tracer.framework
                args = self.standalone(
                    info, self.replacing(framework), given.static, self.find_replaced(info, framework, given.name)
                )
                args = self.with_passed(info, args, info.module, framework)
                context = self.enter_traced(info, args, closure, framework, given.name)
                why, replaced = f"decorated with `{given.name}`", self.replaces_all(framework, given.name)
                self.add_root(frame, RootContext(context, why, 1, given.tracer, replaced=replaced))
        return self.decorators.applied_in(frame, info, value) if info.ir.decorators else value

    def bind(self, frame: Frame, target: ir.Node, value: Value) -> None:
        """Assign a value to a target."""
        statements.bind_target(frame, target, value)


class Apart:
    """A `with` block for which an interpreter puts aside what it analyses."""

    def __init__(self, interpreter: Interpreter, *, tables: bool) -> None:
        self._interpreter = one = interpreter
        self._tables = tables
        self._outer = one.stack, one.contexts, one._begun, one.entered_by, one.roots, one.staged
        self._limits = one.in_tables, one.share, one.max_depth
        self._state = one.scope, one.differentiating, one.collating, one.tracing, one.mapping

    def __enter__(self) -> list[RootContext]:
        self._interpreter.put_aside(tables=self._tables)
        return self._interpreter.roots

    def __exit__(self, *_: object) -> None:
        one = self._interpreter
        one.stack, one.contexts, one._begun, one.entered_by, one.roots, one.staged = self._outer
        one.in_tables, one.share, one.max_depth = self._limits
        one.scope, one.differentiating, one.collating, one.tracing, one.mapping = self._state


def _unless_array(leaf: Value) -> Value:
    return UNKNOWN if type(leaf) is Tensor and leaf.framework == ARRAYS else leaf


def _called_back(node: ir.Call) -> ir.Call:
    """Write the call of a function that is passed first, with what is passed beside it: `f(x)` of `map(f, x)`."""
    given = node.args[:1]
    if len(given) != 1 or not isinstance(given[0], (ir.Name, ir.Attr)):
        return node
    return ir.Call(given[0], node.args[1:], (), node.at)


def _is_of_protocol(info: FunctionInfo) -> bool:
    """Return whether a method says only how others are called: it has no body, and its class is a protocol."""
    owner = info.owner
    return owner is not None and info.is_abstract() and not _PROTOCOLS.isdisjoint(owner.library_bases())


def _change_object(frame: Frame, node: ir.Node, receiver: Instance, stores: dict[str, Value]) -> None:
    """Join what is known of an object, which is written as `node`, with what a method that was called on it has assigned.

    A loop's tensors are known to be in an object that it only keeps them in: `top1.update(accuracy(…))`.
    """
    path = path_of(node)
    if not path or frame.env.get(path) is not receiver:
        return
    fields = {name: join(value, stores.get(name, NEVER)) for name, value in receiver.fields}
    if frame.loops.lasting and not frame.interpreter.tables.kind(receiver.klass):
        for name, value in sorted(stores.items()):
            if name not in fields and len(fields) < _MOST_KEPT and any(tensors(value)):
                fields[name] = value
    changed = tuple(sorted(fields.items(), key=lambda item: item[0]))
    if changed != receiver.fields:
        frame.refine(path, instance(receiver.klass, changed, receiver.made))


def _entering(arguments: Arguments) -> Arguments:
    """The arguments of a module that a loop calls which drives a device: what the loop counts is now a number in the graph."""
    return Arguments(
        [entering(value) for value in arguments.args],
        {name: entering(value) for name, value in arguments.keywords.items()},
        arguments.rest,
        arguments.extra,
    )


def callees(func: Value) -> tuple[Value, ...]:
    """Return what a call may run.

    Of a framework's function and the host's of the same use, picked by the kind of array, that is the framework's. Of a function as it is
    and compiled, picked by an option, it is the compiled one: what costs time there is what people run.
    """
    found = without_twins(tuple(member for member in members(func) if member is not NONE))
    if len(found) > 1 and all(isinstance(member, LibrarySymbol) for member in found):
        return (
            tuple(m for m in found if not (isinstance(m, LibrarySymbol) and m.name.startswith(f"{ARRAYS}."))) or found
        )
    return found


def find_call_method(klass: ClassInfo) -> FunctionInfo | None:
    """The method of the program that calling an instance runs."""
    return klass.method("__call__") or klass.method("forward") or klass.method("call")


_DEFINITIONS: Final = (ir.Define, ir.DefineClass)


def statements_name(node: ir.Call) -> str:
    """How the source spells what it calls."""
    from xlalint.interpreter.spelling import spelling

    return spelling(node.func)


def _any_of(value: Value) -> Value:
    """Arguments in a row: which of them a place that is not known means is not known, where they differ in kind."""
    if isinstance(value, Sequence) and value.items is not None and len({type(item) for item in value.items}) > 1:
        return sequence(value.kind, value.items, UNKNOWN)
    return value


def _find_replacing(info: FunctionInfo) -> FunctionInfo | None:
    """Find the constructor of a method's class, where it assigns the attribute of the method's name."""
    made = info.owner.ir.methods.get("__init__") if info.owner is not None else None
    constructor = info.module.functions[made] if made is not None else None
    return constructor if constructor is not None and info.name in constructor.ir.stores else None


def _asks_for_rewriting(node: ir.Node) -> bool:
    return type(node) is ir.Call and ("autograph", ir.Const(True)) in node.keywords


def _is_stub(info: FunctionInfo) -> bool:
    """Return whether a method is there to be overridden: it is abstract, and its body does nothing."""
    return not info.body and info.decorated("abstractmethod", "abstractproperty")


_NOTHING: Final[Asked] = ""


def _nothing_unmoved(info: FunctionInfo) -> AnyMapping[str, Value]:
    return {}


def _as_unmoved(value: Value, kind: Value) -> Value:
    """Return what may be anything as the table or list that a function moves parts of, and a tensor as one of the host's memory.

    What is moved as a whole may be a model."""
    if type(value) is Tensor and value.framework != ARRAYS:
        return tensor(value.framework, value.dtype, value.rank, "cpu", value.sure, value.static)
    open_table = type(value) is Mapping and type(kind) is Mapping and not value.items
    return kind if open_table or (value is UNKNOWN and type(kind) is not Tensor) else value


def _nothing_asked(info: FunctionInfo) -> tuple[Asked, ...]:
    return tuple([_NOTHING for _ in info.params])


def _name_of(asked: Callable[[ModuleInfo], bool]) -> str:
    return asked.__qualname__


def _nothing_handed(info: FunctionInfo) -> tuple[HandOver | None, ...]:
    return (None,) * len(info.ir.decorators)


def _kind_asked(declared: Value | None) -> Asked:
    """Return "number" or "flag" for a declared value that is one, None aside; "" for others."""
    found = [m for m in members(declared) if m is not NONE] if declared is not None else []
    if not found or not all(isinstance(m, Host) for m in found):
        return ""
    types = {m.type for m in found if isinstance(m, Host)}
    return "number" if types <= {"int", "float"} else "flag" if types == {"bool"} else ""


def _most_of(args: tuple[Value, ...], closure: tuple[tuple[str, Value], ...]) -> int:
    """How many contexts of its group there may be for these arguments to be entered as they are, and not widened."""
    if closure:
        return 4 * MAX_CONTEXTS
    for value in args:
        if forget_constants(value) is not value:
            return MAX_CONTEXTS
    for value in args:
        if widen(value) is not value:
            return 2 * MAX_CONTEXTS
    return 4 * MAX_CONTEXTS


def forget_constants(value: Value) -> Value:
    """The value with constants widened to their types; flags stay, since they choose what a function is."""
    if isinstance(value, Const) and value.value is not None and not isinstance(value.value, bool):
        return host(type(value.value).__name__)
    if isinstance(value, Sequence) and value.items is not None:
        return sequence(value.kind, None, join_all(forget_constants(item) for item in value.items))
    if isinstance(value, Instance) and value.fields:
        return instance(value.klass)
    return value
