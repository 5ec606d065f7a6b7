"""Traced roots: which functions XLA traces, and why."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, NamedTuple

from xlalint.abstract.values import ARRAYS, Function, Host, Sequence, Tensor, Value, members, tensors
from xlalint.analysis.handing import HandingOver
from xlalint.analysis.hazard import DRIVES_STEPS, EVALUATES, TAKES_STEP, TAKES_TENSORS, Frequency
from xlalint.frameworks.base import NOWHERE, Platform, Platforms, Reach, reaches
from xlalint.frameworks.loading import hosts_of, platforms_of
from xlalint.frameworks.registry import ROWS, frameworks
from xlalint.interpreter.arguments import Arguments, bind_parameters
from xlalint.interpreter.context import HOST_TIER, MODULE_LEVEL, Context, RootContext
from xlalint.interpreter.drivers import Drivers, Role
from xlalint.interpreter.frame import Frame
from xlalint.interpreter.occasions import NO_GRADIENT, Occasion
from xlalint.interpreter.tracer import UNTRACED, HandOver, Tracer
from xlalint.lowering import ir
from xlalint.program.dependencies import DependencySet
from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from xlalint.interpreter.interpreter import Interpreter

# Objects that steps make of tensors, and kinds whose methods compute with tensors of their own.
_MADE_AT_STEPS: Final = frozenset(("distribution",))
_ON_DEVICE: Final = _MADE_AT_STEPS | {"module", "optimizer"}
# The kind of which each call of a method is a part of a step, also where it takes several.
_CALLED_AT_STEPS: Final = "optimizer"
_HOST_KINDS: Final = frozenset(("dataset", "config", "host"))
_COLLATE: Final = "collate"
_HOST_CALLS: Final = frozenset(
    [
        "open",
        "savefig",
        "imshow",
        "subplots",
        "from_pretrained",
        "save_pretrained",
        "load_state_dict",
        "parse_args",
        "add_argument",
        "imread",
        "imwrite",
        "urlopen",
        "makedirs",
        "mkdir",
        "listdir",
        "glob",
        "load_dataset",
        "tokenize",
        "DataLoader",
    ]
)
_HOST_IMPORTS: Final = frozenset(
    ("argparse", "click", "typer", "fire", "tokenizers", "sentencepiece", "matplotlib", "pandas")
)
# What imports them has images in host memory.
_IMAGES: Final = frozenset(("cv2", "skimage", "albumentations", "imgaug"))
_HOST_LIBRARIES: Final = _HOST_IMPORTS | _IMAGES | {"PIL"}
# What a body does to a parameter whose values are on a device.
_MOVED: Final = frozenset((".cpu", ".cuda", ".detach", ".is_cuda", ".to"))
_FILES: Final = frozenset(
    ("open", "read_text", "write_text", "read_bytes", "write_bytes", "savefig", "imread", "imwrite", "urlopen")
)
_TOKENS: Final = frozenset(
    (
        "tokenize",
        "get_special_tokens_mask",
        "convert_tokens_to_ids",
        "convert_ids_to_tokens",
        "encode_plus",
        "batch_encode_plus",
    )
)
_OF_HOST: Final = frozenset(("from_numpy",))  # makes tensors of the host's arrays
_HOOKS: Final = {
    "run": Frequency.ONCE,
    "epoch": Frequency.EPOCH,
    "evaluation": Frequency.EVALUATION,
    "step": Frequency.STEP,
}
_UNCALLED: Final = "in code that nothing in this program calls"
_PORTED: Final = "trains in a loop: what it does is judged as if its device were the target's"


class Called:
    """The functions that traced code of one module calls: their calls say more of them than their signatures."""

    def __init__(self) -> None:
        self.functions: set[FunctionInfo] = set()
        self._seen: set[Context] = set()

    def add(self, root: Context) -> None:
        """Take in what a root reaches."""
        todo = [root]
        while todo:
            for context in todo.pop().calls:
                if context not in self._seen:
                    self._seen.add(context)
                    todo.append(context)
                    if context.function is not None:
                        self.functions.add(context.function)


class Candidate(NamedTuple):
    """A function that may be a root, with why it is traced, how sure that is, by which tracer, and what decorates it.

    `drives`: it makes a device take steps, whatever it is given; `per_turn`: it holds their loop. `of_base`: the framework itself calls it,
    as a method that its class overrides.
    """

    info: FunctionInfo
    why: str
    tier: int
    tracer: Tracer = UNTRACED
    given: HandOver | None = None
    per_turn: bool = False
    drives: bool = False
    of_base: bool = False


class Roots:
    """Finds the roots of a program's modules and enters them."""

    def __init__(self, interpreter: Interpreter, extra: tuple[str, ...] = ()) -> None:
        self.interpreter = interpreter
        self.apis = interpreter.apis
        self.extra = extra
        self.frameworks = {framework.name: framework for framework in frameworks()}
        self.handing = HandingOver(interpreter)
        self._host_modules: dict[int, str] = {}
        self.platforms: Platforms = NOWHERE

    def enter(self, module: ModuleInfo) -> list[RootContext]:
        """Analyse a module's roots, and the host functions that hand functions to a tracer.

        What is found does not depend on the modules that were entered before. What it depends on is in the `DependencySet` that the
        program's reader leaves current, with the internal errors that kept some of it from being found. `platforms` is then where a
        program runs that is started at the module.
        """
        interpreter = self.interpreter
        interpreter.begin()
        interpreter.reader.current = DependencySet()
        interpreter.reader.current.modules = module.bit
        self.platforms = NOWHERE
        with self._contain(module, MODULE_LEVEL):
            return self._enter_roots(module)
        return interpreter.roots

    def _enter_roots(self, module: ModuleInfo) -> list[RootContext]:
        interpreter = self.interpreter
        for known in self.frameworks.values():
            root = known.root_of_data(module) if known.root_of_data is not None else None
            if root is not None:
                self.platforms = platforms_of(module, interpreter.program)
                return [root]
        framework = interpreter.annotations.framework(module)
        if not framework and not any(binding.module for binding in module.unit.imports):
            return []
        self.platforms = self._find_platforms(module)
        if any(
            one.module_first and reaches(self.platforms, one.name, Reach.DEVICE) for one in self.frameworks.values()
        ):
            interpreter.evaluate_global(module, "")  # functions read from it what it made, while it runs them
        called = Called()
        # What stands last in a module uses what stands before it: whole models first, sure roots before likely ones.
        # What nothing calls comes last, so that it says nothing of what it calls.
        found = sorted(
            self._functions(module, framework),
            key=lambda root: (self._only(root), root.tier, -root.info.index),
        )
        driving = self._tier_of_drivers(module, framework)
        for candidate in found:
            with self._contain(module, candidate.info.ir.qualname):
                self._enter(candidate, called, driving)
        if interpreter.drivers.drives_module(module):
            context = interpreter.drive_module(module)
            why = EVALUATES if interpreter.drivers.only_evaluates(None, module) else DRIVES_STEPS
            interpreter.roots.append(RootContext(context, why, self._tier_of_drivers(module, framework)))
            called.add(context)
        if framework:
            if self.handing.names.intersection(module.unit.calls):
                interpreter.roots.extend(interpreter.module_roots(module))
            self._hand_overs(module)
        if self.platforms:
            self._set_up(module, called)
        return interpreter.roots

    def _find_platforms(self, module: ModuleInfo) -> Platforms:
        """Where the program runs that is started at a module: also one that trains, itself or by a framework's loop, and is yet to be
        ported."""
        found = dict(platforms_of(module, self.interpreter.program, module.taught.target))
        ported = [
            framework.name
            for framework in self.frameworks.values()
            if framework.semantics.steps is not None
            and framework.name not in found
            and not framework.semantics.steps.ported.isdisjoint(module.at_hand)
        ]
        if ported and self._may_train(module):
            found.update((name, Platform(name, _PORTED, Reach.COMPILED)) for name in ported)
        return found

    def _may_train(self, module: ModuleInfo) -> bool:
        """Return whether a module holds training: its own loop, one in a function, or what a framework's loop calls at each step."""
        drivers = self.interpreter.drivers
        if drivers.drives_module(module) or any(drivers.role(info) is Role.LOOPS for info in module.functions):
            return True
        return any(self._find_hook(info) is Frequency.STEP for info in module.functions if info.owner is not None)

    def _enter(self, candidate: Candidate, called: Called, driving: int) -> None:
        """Enter a root, if it is one. `driving` is the tier of those that drive a device."""
        interpreter = self.interpreter
        info, given = candidate.info, candidate.given
        tier = driving if candidate.drives else candidate.tier
        if info in called.functions and not self._made_at_steps(info):
            return
        traced_by = given.tracer.framework if given is not None else ""
        static = given.static if given is not None else ()
        only = interpreter.find_replaced(info, traced_by, given.name) if given is not None else None
        args = (
            interpreter.arguments_of_method(info, candidate.tracer.framework)
            if candidate.of_base
            else interpreter.standalone(info, interpreter.replacing(traced_by), static, only)
        )
        args = interpreter.with_passed(info, args, info.module, traced_by)
        if candidate.tier == 2 and not candidate.drives and not self._meets_tensors(info, args):
            return
        # An object that is called is called again and again, all of it: a pipeline for each image.
        per_turn = candidate.per_turn and info.name != "__call__"
        traced = candidate.tier == 1 and not per_turn
        context = (
            interpreter.enter_traced(
                info, args, (), candidate.tracer.framework, given.name if given is not None else ""
            )
            if traced
            else interpreter.enter(info, args, per_turn=per_turn)
        )
        often, where = self._frequency(candidate), self._only(candidate)
        unreached = candidate.why == TAKES_TENSORS and info.owner is None and interpreter.occasions.shows_calls(info)
        if_led = not where and self._if_led(candidate, often)
        interpreter.roots.append(
            RootContext(
                context,
                candidate.why,
                tier,
                candidate.tracer,
                often,
                where,
                unreached,
                if_led,
                candidate.of_base,
                given is not None and interpreter.replaces_all(candidate.tracer.framework, given.name),
            )
        )
        called.add(context)
        if candidate.tier == 2 and not candidate.drives:
            self._enter_returned(context, called, where)
        for wrapper in self._wrappers(info, args, per_turn) if info.ir.decorators else ():
            if wrapper is not context:
                why = f"wraps `{info.name}`: {candidate.why}"
                interpreter.roots.append(RootContext(wrapper, why, tier, candidate.tracer, often, where))
                called.add(wrapper)

    def _frequency(self, candidate: Candidate) -> Frequency:
        """Return how often a root runs: an optimizer's methods do at every step, functions that only set something up once, hooks of a
        framework as often as its loop comes to them, and others at each call, unless the program says how often it calls them."""
        often = self._find_hook(candidate.info)
        if often is not None:
            return often
        if candidate.why == EVALUATES:
            return Frequency.EVALUATION
        if candidate.why != TAKES_TENSORS or self.interpreter.tables.kind(candidate.info.owner) == _CALLED_AT_STEPS:
            return Frequency.STEP
        occasions = self.interpreter.occasions
        if occasions.of(candidate.info) in (Occasion.SCRIPT, Occasion.SET_UP):
            return Frequency.ONCE
        told = occasions.often(candidate.info)
        return Frequency.CALL if told is None else told

    def _find_hook(self, info: FunctionInfo) -> Frequency | None:
        """Return how often a framework calls a method, where it is a hook."""
        often = self.apis.hook(info.owner.library_bases(), info.name) if info.owner is not None else ""
        return _HOOKS[often] if often else None

    def _only(self, candidate: Candidate) -> str:
        """Return where a root runs, in words, if no run of the program calls it; "" of others."""
        if candidate.given is not None or self._configured(candidate.info):
            return ""
        if self.interpreter.occasions.of(candidate.info) is Occasion.NEVER:
            return _UNCALLED
        return self.interpreter.asked_for.of(candidate.info)

    def _if_led(self, candidate: Candidate, often: Frequency) -> bool:
        """Return whether a root counts only where steps lead to it: nothing else speaks for it, and the program has steps."""
        takes = candidate.why == TAKES_TENSORS and often is Frequency.CALL
        return takes and self.interpreter.occasions.leads_to_steps(candidate.info.module)

    def _enter_returned(self, outer: Context, called: Called, only: str) -> None:
        """Enter the functions that a library's function makes and returns, alone or several: who gets them calls them."""
        for made in _functions_in(outer.returns):
            info = made.info
            if info.ir.owner >= 0 or info in called.functions or info.module is not outer.module or _collates(info):
                continue
            args = self.interpreter.standalone(info)
            if self._meets_tensors(info, args):
                context = self.interpreter.enter(info, args, made.closure)
                why = f"returned by `{outer.name}`"
                self.interpreter.roots.append(RootContext(context, why, 2, frequency=Frequency.CALL, only=only))
                called.add(context)

    def find_leading(self, module: ModuleInfo) -> Drivers | None:
        """Return what says which functions drive a device, where the program has steps that may lead to functions of a module."""
        return self.interpreter.drivers if self.interpreter.occasions.leads_to_steps(module) else None

    def _contain(self, module: ModuleInfo, name: str) -> Contained:
        """Open a `with` block in which an internal error costs the root of that name, and what of the block was to come."""
        return Contained(self.interpreter, module, name)

    def _wrappers(self, info: FunctionInfo, args: tuple[Value, ...], per_turn: bool) -> tuple[Context, ...]:
        """Return the contexts that a call of a root with these arguments enters through its decorators; `per_turn` as `Context` says."""
        value = self.interpreter.decorators.apply(info)
        if not isinstance(value, Function) or value.info is info:
            return ()
        given = Arguments([], {})
        for param, arg in zip(info.params, args, strict=True):
            if param.kind in ("", "/"):
                given.args.append(arg)
            elif param.kind == "k":
                given.keywords[param.name] = arg
        frame = self.interpreter.module_frame(info.module)
        frame.context.per_turn = per_turn
        self.interpreter.call_function(frame, value, given, 0)
        return tuple(frame.context.calls)

    def _set_up(self, module: ModuleInfo, called: Called) -> None:
        """Run the host code that sets an XLA device up: what the program starts with, and the functions that nothing here calls."""
        interpreter = self.interpreter
        why = "; ".join(platform.why for platform in self.platforms.values())
        for name in self.platforms:
            host_roots = self.frameworks[name].host_roots
            if host_roots is not None:
                interpreter.roots.extend(RootContext(context, why, HOST_TIER) for context in host_roots(module))
        hosts = hosts_of(module, interpreter.program, self.platforms)
        for source in hosts.modules:
            interpreter.evaluate_global(source, "")
            top = interpreter.module_contexts[source.index]
            interpreter.roots.append(RootContext(top, why, HOST_TIER))
            called.add(top)
        for info in hosts.decorated:
            frame = Frame(interpreter, interpreter.module_contexts[module.index], {}, {})
            frame.base = info.ir.start << 32 | info.ir.start
            with self._contain(module, info.ir.qualname):
                for decorator in info.ir.decorators:
                    if type(decorator) is ir.Call:
                        frame.eval(decorator)
        for info in hosts.functions:
            if info not in called.functions:
                with self._contain(module, info.ir.qualname):
                    receiver = interpreter.receiver_of(info) if info.owner is not None else None
                    args = bind_parameters(interpreter, info, receiver, Arguments([], {}))
                    context = interpreter.enter(info, args)
                    interpreter.roots.append(RootContext(context, why, HOST_TIER))
                    called.add(context)

    def _tier_of_drivers(self, module: ModuleInfo, framework: str) -> int:
        """Return the tier of what drives a device: host code around what is compiled, where a script says what that is."""
        return HOST_TIER if self._says_what_is_compiled(module, framework) else 2

    def _says_what_is_compiled(self, module: ModuleInfo, framework: str) -> bool:
        told = self.interpreter.libraries.of(framework).says_what_is_compiled
        return told is not None and told(module, self.interpreter.program)

    def _functions(self, module: ModuleInfo, framework: str) -> list[Candidate]:
        found: list[Candidate] = []
        if self._says_what_is_compiled(module, framework):
            framework = ""  # what takes tensors is no root for that
        for klass in module.classes:
            with self._contain(module, klass.ir.qualname):
                found.extend(self._methods(klass, framework))
        for info in module.functions:
            if info.ir.owner < 0 and info.name != "<lambda>":
                with self._contain(module, info.ir.qualname):
                    found.extend(self._function(info, framework) if info.ir.outer < 0 else self._list_nested(info))
        return found

    def _list_nested(self, info: FunctionInfo) -> Iterator[Candidate]:
        """A function that another holds, and hands to what takes the steps: `Engine(update)`."""
        drivers = self.interpreter.drivers
        why = TAKES_STEP if drivers.takes_step(info) else EVALUATES if drivers.infers(info) else ""
        if why and drivers.may_drive(info.module) and _is_handed_on(info):
            yield Candidate(info, why, 2, drives=True)

    def _function(self, info: FunctionInfo, framework: str) -> Iterator[Candidate]:
        given = self._find_hand_over(info)
        if self._configured(info):
            yield Candidate(info, "named by `roots` in the configuration", 1)
        elif why := self._drives(info):
            whole = why == TAKES_STEP or self.interpreter.drivers.is_repeated(info)
            yield Candidate(info, why, 2, per_turn=not whole, drives=True)
        elif self._feeds_data(info, given):
            return
        elif given is not None:
            yield Candidate(info, f"decorated with `{given.name}`", 1, given.tracer, given)
        elif framework and self._called(info) and not self._host_side(info):
            yield Candidate(info, TAKES_TENSORS, 2)

    def _methods(self, klass: ClassInfo, framework: str) -> Iterator[Candidate]:
        kind = self.interpreter.tables.kind(klass)
        prepares_data = self.frameworks[framework].prepares_data if framework else None
        if prepares_data is not None and prepares_data(klass):
            return
        trains_eagerly = self.frameworks[framework].trains_eagerly if framework else None
        eager = trains_eagerly is not None and trains_eagerly(klass)
        traced = {} if eager else self._traced_methods(klass)
        for name, index in klass.ir.methods.items():
            info = klass.module.functions[index]
            given = self._find_hand_over(info)
            if self._configured(info):
                yield Candidate(info, "named by `roots` in the configuration", 1)
            elif (name not in traced or self._trains_others(info, kind)) and (why := self._drives(info)):
                repeated = kind == _CALLED_AT_STEPS or self.interpreter.drivers.is_repeated(info)
                whole = why == TAKES_STEP or repeated
                yield Candidate(info, why, 2, per_turn=not whole, drives=True)
            elif name in traced:
                base, tracer = traced[name]
                if given is not None and given.tracer.strict:
                    tracer = given.tracer
                # Metrics are updated by a compiled step, or by the host's code between steps: nothing in the class says which.
                sure = kind != "metric" or not self.interpreter.libraries.of(tracer.framework).compiles_if_asked
                yield Candidate(info, f"{base}.{name}", 1 if sure else 2, tracer, of_base=kind == "module")
            elif self._feeds_data(info, given):
                continue
            elif given is not None:
                yield Candidate(info, f"decorated with `{given.name}`", 1, given.tracer, given)
            elif framework and kind not in _HOST_KINDS and self._called(info) and not self._host_side(info):
                yield Candidate(info, TAKES_TENSORS, 2)

    def _trains_others(self, info: FunctionInfo, kind: str) -> bool:
        """Return whether a module's method trains modules in a loop of its own, and is no model: a trainer that derives from one for what
        it offers. Where ordinary code is recorded its turns are the steps."""
        drivers = self.interpreter.drivers
        if kind != "module" or drivers.words.targets.isdisjoint(info.module.taught.targets):
            return False
        return self._find_hook(info) is None and drivers.trains_in_loop(info)

    def _traced_methods(self, klass: ClassInfo) -> dict[str, tuple[str, Tracer]]:
        """Names of the methods that a library base traces, with the base's short name and the tracer."""
        found: dict[str, tuple[str, Tracer]] = {}
        for base in klass.library_bases():
            for ancestor in self.apis.ancestors(base):
                spec = self.apis.klass(ancestor)
                for name in spec.traced if spec is not None else ():
                    tracer = self._tracer_of_base(klass, base, self.apis.framework(ancestor) or "")
                    found.setdefault(name, (ancestor.rpartition(".")[2], tracer))
        return found

    def _tracer_of_base(self, klass: ClassInfo, base: str, framework: str) -> Tracer:
        """The tracer of the methods that a framework calls on a class, as a base of its says."""
        known = self.frameworks.get(framework)
        runner_of = known.runner_of if known is not None else None
        return (
            Tracer(framework)
            if runner_of is None
            else Tracer(framework, runner=runner_of(klass, base, self.interpreter.program))
        )

    def _find_hand_over(self, info: FunctionInfo) -> HandOver | None:
        """The decorator that hands the function to a tracer."""
        if not info.ir.decorators:
            return None
        found = self.interpreter.handed.of(info)
        return next((given for given in found if given is not None), None)

    def _feeds_data(self, info: FunctionInfo, given: HandOver | None) -> bool:
        """Return whether a function that is handed to a tracer prepares data, and the program does not say that XLA compiles it."""
        if given is None or given.tracer.compiles:
            return False
        framework = self.frameworks.get(given.tracer.framework)
        return framework is not None and framework.feeds_data is not None and framework.feeds_data(info)

    def _configured(self, info: FunctionInfo) -> bool:
        """Return whether the user's `roots` name the function."""
        if not self.extra:
            return False
        dotted = f"{info.module.name}.{info.ir.qualname}"
        return any(fnmatchcase(dotted, pattern) for pattern in self.extra)

    def _drives(self, info: FunctionInfo) -> str:
        """Why a function is one of a program that drives an XLA device: by its loops, or as what they call; "" where it is not."""
        drivers = self.interpreter.drivers
        if drivers.role(info) is Role.LOOPS:
            return DRIVES_STEPS
        if drivers.takes_step(info):
            return TAKES_STEP
        return EVALUATES if drivers.evaluates(info) else ""

    def _meets_tensors(self, info: FunctionInfo, args: tuple[Value, ...]) -> bool:
        """Return whether something shows that a function takes tensors, or has them from elsewhere."""
        given = any(map(_has_tensor, args)) or any(map(_is_device, args))
        return given or self._on_device(info) or self._computes(info) or self._keeps(info)

    def _on_device(self, info: FunctionInfo) -> bool:
        """Return whether a function runs on tensors whatever its parameters are.

        Methods of modules, optimizers and distributions do, and functions that switch gradients on or off.
        """
        return self.interpreter.tables.kind(info.owner) in _ON_DEVICE or info.decorated(*NO_GRADIENT)

    def _computes(self, info: FunctionInfo) -> bool:
        """Return whether a function calls methods that only tensors have, wherever it has the tensors from.

        It counts where ordinary code is recorded. A function that sets models up, or calls what trains them, drives the device: of it only
        loops over steps count.
        """
        drivers = self.interpreter.drivers
        words, libraries = drivers.words, self.interpreter.libraries
        if words.targets.isdisjoint(info.module.taught.targets):
            return False
        computing = libraries.of(self.interpreter.annotations.framework(info.module)).computing
        if info.owner is None:
            driving = words.models | words.steps | _OF_HOST
            if drivers.role(info) is not Role.NONE or not driving.isdisjoint(info.ir.calls):
                return False
            computing -= libraries.shared_names
        if not computing.isdisjoint(info.ir.calls):
            return True
        return any(not computing.isdisjoint(inner.ir.calls) for inner in info.nested)

    def _keeps(self, info: FunctionInfo) -> bool:
        """Return whether a method uses tensors that its object keeps: a solver's stages, a buffer of what was seen.

        As in `_computes`, that counts where ordinary code is recorded. What was made in host memory stays there.
        """
        drivers, owner = self.interpreter.drivers, info.owner
        if owner is None or not info.params or info.decorated("staticmethod", "classmethod"):
            return False
        if drivers.words.targets.isdisjoint(info.module.taught.targets) or drivers.role(info) is not Role.NONE:
            return False
        if self.interpreter.tables.kind(owner):
            return False
        used = [use[1:] for use in info.params[0].uses if use.startswith(".")]
        return any(self._is_kept_tensor(owner, name) for name in used)

    def _is_kept_tensor(self, klass: ClassInfo, name: str) -> bool:
        kept = self.interpreter.tables.find_assigned(klass, name)
        found = members(kept) if kept is not None else ()
        return any(isinstance(one, Tensor) and one.framework != ARRAYS and one.sure and not one.place for one in found)

    def _called(self, info: FunctionInfo) -> bool:
        """Return whether steps may call a function: a public one, or the constructor of what they make anew each time."""
        return self._made_at_steps(info) or not info.name.startswith("__") or info.name == "__call__"

    def _made_at_steps(self, info: FunctionInfo) -> bool:
        """Return whether a function is the constructor of what steps make anew each time.

        What it is called with here, by `expand` say, tells little: others call it with arguments of their own.
        """
        return info.name == "__init__" and self.interpreter.tables.kind(info.owner) in _MADE_AT_STEPS

    def _host_side(self, info: FunctionInfo) -> bool:
        """Return whether something shows that a function lives on the host.

        Its own calls may, its class, or its module.
        """
        return bool(self.host_reason(info))

    def host_reason(self, info: FunctionInfo) -> str:
        """Say what shows that a function lives on the host; return "" where nothing does."""
        called = sorted(_HOST_CALLS.intersection(info.ir.calls))
        if called:
            return f"it calls `{called[0]}`, as only code on the host does"
        if self.interpreter.occasions.of(info) is Occasion.DATA:
            return "only data sets call it, as the program has it"
        if _collates(info):
            return "data loaders have it collate a batch, which is done on the host"
        reason = self._host_class(info.owner) or self._host_module(info.module)
        if reason:
            return reason
        imported = self._find_host_import(info.module)
        return imported if imported and not self._handles_device(info) else ""

    def _handles_device(self, info: FunctionInfo) -> bool:
        """Return whether a function says by itself that its tensors are on a device, whatever else its file is for.

        A parameter that is declared a tensor says so, and one that the body moves, or cuts from its gradients, as nobody does on the host,
        and a model that it sets to evaluate and calls.
        What uses the very libraries for which the file is one of the host draws, reads or tabulates on the host all the same.
        """
        annotations, module = self.interpreter.annotations, info.module
        self.interpreter.reader.current.functions.append(info)
        if self.interpreter.drivers.infers(info):
            return True
        if any(not _MOVED.isdisjoint(param.uses) for param in info.params) or info.decorated(*NO_GRADIENT):
            return not _uses_host_library(info)
        declared = [annotations.value(module, param.annotation) for param in info.params if param.annotation]
        if any(value is not None and any(tensors(value)) for value in declared):
            return not _uses_host_library(info)
        return False

    def _host_class(self, klass: ClassInfo | None) -> str:
        """Say what shows that a class lives on the host: a method of it reads or writes files, or works with a tokenizer.

        Return "" where none does, and for classes of a known library kind.
        """
        if klass is None or self.interpreter.tables.kind(klass):
            return ""
        for method in klass.own_methods:
            called = sorted(_FILES.intersection(method.ir.calls))
            if called:
                return f"its class reads or writes files (`{method.name}` calls `{called[0]}`)"
            called = sorted(_TOKENS.intersection(method.ir.calls))
            if called:
                return f"its class works with a tokenizer (`{method.name}` calls `{called[0]}`)"
        return ""

    def _host_module(self, module: ModuleInfo) -> str:
        """A command-line script, a test, or a module of host classes (tokenizers, datasets, processors) only."""
        found = self._host_modules.get(module.index)
        if found is None:
            found = self._host_modules[module.index] = self._module_reason(module)
        return found

    def _module_reason(self, module: ModuleInfo) -> str:
        kinds = {self.interpreter.tables.kind(klass): klass.name for klass in module.classes}
        hosts = sorted(_HOST_KINDS.intersection(kinds))
        if hosts and "module" not in kinds:
            return f"its file is one of host code (`{kinds[hosts[0]]}` is a {hosts[0]} class)"
        augmenting = self.interpreter.libraries.of(self.interpreter.annotations.framework(module)).augmenting
        if augmenting and "module" not in kinds:
            imported = {one.dotted for one in module.unit.imports}
            found = sorted(augmenting & imported)
            if found:
                return f"its file changes examples of data by `{found[0]}`, which is done on the host"
        tests = [info.name for info in module.functions if _is_test(info)]
        if tests:
            return f"its file is one of tests (`{tests[0]}`)"
        return f"its file imports `{module.testing}`, as tests do" if module.testing else ""

    def _find_host_import(self, module: ModuleInfo) -> str:
        """Say which import of a module shows that its functions mostly work on the host; return "" where none does."""
        scripts = sorted(_HOST_IMPORTS & module.packages)
        if scripts:
            return f"its file imports `{scripts[0]}`, as scripts do"
        images = sorted(_IMAGES & module.packages)
        if any(self.interpreter.tables.kind(klass) == "module" for klass in module.classes):
            images = []
        return f"its file imports `{images[0]}`, as code does that has images on the host" if images else ""

    def why_not(self, info: FunctionInfo) -> str:
        """Why a function is no root."""
        kind = self.interpreter.tables.kind(info.owner)
        if info.ir.outer >= 0 and info.ir.owner < 0:
            return "it is nested, and the function around it neither calls it nor passes it to a tracer"
        if info.name == "__init__" and kind not in _MADE_AT_STEPS:
            return "constructors run before anything is traced"
        if not self.interpreter.annotations.framework(info.module):
            return f"its file imports neither {' nor '.join(row.title for row in ROWS)}"
        if kind in _HOST_KINDS:
            return f"its class is a {kind} class, which lives on the host"
        if not self._called(info):
            return "special methods are traced only where traced code calls them"
        reason = self.host_reason(info)
        if reason:
            return reason
        args = self.interpreter.standalone(info)
        if not self._meets_tensors(info, args):
            return "nothing shows that it takes tensors (no annotation, default or use of a parameter says so) or computes with others"
        return ""

    def _hand_overs(self, module: ModuleInfo) -> None:
        """Run host functions that call a tracer, so that what they pass it becomes a root."""
        interpreter = self.interpreter
        for info in self.handing.find(module):
            with self._contain(module, info.ir.qualname):
                interpreter.enter(info, interpreter.standalone(info))


class Contained:
    """Open a `with` block in which an internal error in what makes a root ends the block and nothing else."""

    def __init__(self, interpreter: Interpreter, module: ModuleInfo, name: str) -> None:
        self._interpreter = interpreter
        self._module = module
        self._name = name
        self._reads = interpreter.reader.current

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: object, _traceback: object) -> bool:
        if not isinstance(error, Exception):
            return False
        interpreter = self._interpreter
        interpreter.stack.clear()
        interpreter.scope = interpreter.tracing = interpreter.mapping = ""
        interpreter.differentiating = interpreter.collating = 0
        interpreter.reader.current = self._reads
        interpreter.fails = True
        self._reads.fail(self._module.path, self._name, error)
        return True


def _is_test(info: FunctionInfo) -> bool:
    """Return whether a test runner collects a function by its name; a method of a solver that evaluates may have such a name, too."""
    if not info.name.startswith("test_") or info.ir.outer >= 0:
        return False
    owner = info.owner
    return owner is None or "test" in owner.name.lower() or any("TestCase" in base for base in owner.library_bases())


def _collates(info: FunctionInfo) -> bool:
    """Return whether a function is called as those are that data loaders have make a batch."""
    return _COLLATE in info.name.lower().split("_")


def _is_handed_on(info: FunctionInfo) -> bool:
    """Return whether the functions around one call it nowhere, and give it to what they call."""
    calls = [one for outer in info.enclosing() for one in ir.walk(outer.body) if type(one) is ir.Call]
    given = (part for one in calls for part in (*one.args, *[value for _, value in one.keywords]))
    handed = any(type(part) is ir.Name and part.id == info.name for part in given)
    return handed and not any(type(one.func) is ir.Name and one.func.id == info.name for one in calls)


def _uses_host_library(info: FunctionInfo) -> bool:
    """Return whether a function's body names what its module imports from a library of the host."""
    bound = info.module.unit.imports
    names = {one.local for one in bound if one.module.partition(".")[0] in _HOST_LIBRARIES and not one.level}
    return any(type(node) is ir.Name and node.id in names for node in ir.walk(info.body))


def _functions_in(value: Value) -> Iterator[Function]:
    """The nested functions that a value is, or that a tuple or list of them holds."""
    for member in members(value):
        if isinstance(member, Function) and member.receiver is None and member.info.ir.outer >= 0:
            yield member
        elif isinstance(member, Sequence):
            for item in member.items or ():
                yield from _functions_in(item)


def _is_device(value: Value) -> bool:
    return any(isinstance(member, Host) and member.type.startswith("device") for member in members(value))


def _has_tensor(value: Value) -> bool:
    return any(isinstance(member, Tensor) for member in members(value)) or any(tensors(value))


__all__ = ["Roots"]
