"""Questions of the interpreter to frameworks: facts about their tensors, and functions to call at points of the interpretation.

The interpreter knows Python. A framework says the rest in one `Semantics`; `Libraries` has those of all. Facts are looked up where a
tensor is met in a place that speaks of it. Functions are called at the statement, call or index that they were given for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Union

from xlalint.interpreter.device_loops import DeviceSteps
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.abstract.values import Instance, Partial, Tensor, Value
    from xlalint.api_tables.entries import Spec
    from xlalint.interpreter.arguments import Arguments
    from xlalint.interpreter.context import Context
    from xlalint.interpreter.frame import Env, Frame
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.interpreter.library_calls import LibraryCall
    from xlalint.interpreter.targets import TargetFinder
    from xlalint.program.linker import FunctionInfo, ModuleInfo, Program

Special = Callable[["Interpreter", "Frame", "Arguments", ir.Call], "Value"]
"""Runs a call of a library function that API tables cannot express."""
Operand = tuple["Value", ir.Node]


class Surroundings(NamedTuple):
    """A state around the code that runs, by which contexts are kept apart ("" where nothing is known).

    `of_module` is that of a module's top level, `within` that in the block of a `with`, `in_branch` that of what is called from a branch or
    a handler. `made` sees what a call gives while there is a state.
    """

    of_module: Callable[[ModuleInfo, Program], str]
    within: Callable[[Frame, ir.Node, Value], str]
    in_branch: Callable[[Frame], str]
    made: Callable[[Frame, ir.Call, tuple[Value, ...], Arguments, Value], Value]


class LoopWatch(NamedTuple):
    """Called as a loop begins, and as it ends, with what the first call gave."""

    begins: Callable[[Frame], object]
    ends: Callable[[Frame, Union[ir.For, ir.While], object], None]


class Branch(NamedTuple):
    """An `if` on a tensor that was run: the environments behind its branches, and whether each falls out of its end."""

    node: ir.If
    asked: Tensor
    taken: Env
    other: Env
    falls: bool
    other_falls: bool


class Semantics:
    """Facts and functions of one framework. All that is not given does not hold.

    Facts about its tensors, by `Tensor.framework`:

    - `tensor_class` is what `type(x)` gives. `telling` are attributes that only its tensors have, in code that imports it;
      `of_unknown` are those that give a known value even of an object that is not known.
      `computing` are names of calls that show a function to compute with tensors, wherever it has them from.
      `augmenting` are modules of the library that change examples before they make a batch: what imports them does so on the host.
    - `takes_tensors` are methods of tensors whose first argument is a tensor too. `host_arrays` are packages whose arrays stay on the host.
    - `parameter_of(interpreter, info, name)` is what a parameter of a method is where neither its annotation nor its use tells, but its
      class does; None where that does not, either.
    - `replaces_arguments`: its tracer replaces every argument by a tensor. `raises`: it raises where the host asks for a value.
      `compiles_eagerly`: each operation is compiled by itself in code that no tracer runs. `compiles_if_asked`: XLA compiles a graph
      that its tracers record only where the program says so; the framework's own runtime runs the others. `layers` are classes that
      make a layer of a function, which runs as a model's layers do.
      `converts_arrays`: it makes its own tensors of the host's arrays. `gives_tensors`: what it traced gives these of numbers and arrays.
      `refuses_arrays`: its tensors on a device do not compute with them. `splits_graphs`: it goes on behind what it cannot trace.
    - `hashable`. `immutable`: none of its elements can be assigned. `kernels`: packages whose functions are given references, which
      elements can be assigned to, in the place of tensors. `defers_equality`: to what a tensor is compared with.
      `accepts_numbers`: its functions take numbers for tensors. `takes_lists`: so does its arithmetic lists, which no tensor repeats.
      `passed_as_numbers`: its tensors of one element are passed where numbers are asked for. `host_memory`: its tensors may be there.
    - `reads_scalar_index`: an index of one element is read on the host. `unclear_masks`: an index of which nothing is known is
      reported as a mask. `indexer` is the attribute that gives functional updates (`x.at[i]`). `slice_severity` is that of a tensor as the
      bound of a slice.
    - `of_argument(call, spec, node)` is a case as it is for the expression that is passed: an argument of the graph, or what it computes.
    - `withholds(call, spec)` is true of a call that the program has set not to do what a table says of it.
    - `part_of(interpreter, name)` is what an attribute of a tensor gives that no tensor has: the tracer passes objects that hold tensors.
    - `is_setting(interpreter, name)` says whether an attribute of what a compiled function gave is none of its tensors.
      `of_record(interpreter, object)` is an object of a class of the program's as the tracer passes it.
    - `records_known`: its tracers record each operation, also on what is known while they run; those that `runs_known` names do not.
      `operations` are beginnings of names of functions that are such operations: under those tracers they give nothing but tracers.
      Of these, what `concrete` ones pass has values that Python may ask for.
      `derived_from(made)` is the function of which a transformation made one that takes the same arguments, else what is given.
      `filters` are tracers that replace arrays alone, and leave all else as it is. `mapping` run a function on one row of what is passed,
      and stack what it gives: in it ranks are others than around it. `flagged` are those that leave it to later calls
      which arguments are static. `keeps_numbers`: all of its tracers replace arrays alone, and what is passed to what they trace is
      taken from the calls. Objects of `configured` classes have settings for fields, arrays too: these are there before a tracer begins.
    - `training` are last names of calls that change what is trained. A compiled function that leads to none of them takes no training step;
      empty where functions are pure, and nothing tells. `adds_up` are methods and attributes of its objects that give what those add up
      over steps. `told_by_call` are the classes of objects that nothing else tells, by a method that is called of them somewhere.
      `changed` are beginnings of names of classes whose objects compiled functions change that are given them, `draws` those of functions
      that draw random numbers by a key, and give the next key.
    - `stages_loops`: `while` and `for` on its tensors become loops of the graph, which Python's own iteration cannot be.
    - `formatted(frame, value, node, at, specified)` reports a tensor that becomes text. `branched(frame, branch)` looks at an `if`
      on a tensor. Each of `indexed` looks at each part of an index
      (`(frame, base, part, node, at, detail)`). `static(call, bound)` gives the parameters, by name or number, that a tracer
      leaves as they are; `traces(call, bound)` numbers those that it replaces, None for all others.
      `whole_graph(module, asked)` is the release of the tracer where it is asked for one graph of all, else nothing.
      `refuses_copies(module, name)`: what compiles the graphs of the tracer of that name takes no copy from or to the host in them.

    How its code reaches XLA:

    - `shows_target` finds the target that a module is written for, where there are several.

    Names that are looked up, of all frameworks together:

    - `functions` run calls that tables cannot express, by dotted name. `results` say what calling an object gives where the table does
      not know. `annotated` is what annotations stand for. `factories` make a tensor of host values, `elementwise` keep an array's shape,
      `of_tensors` take nothing but tensors, of the dtype that is named, if one is. `folded` give what a compiler knows where it knows
      what they are given.
    - `containers` are the classes of each kind of module container, the class of their methods first. `not_tensors` are (beginnings of)
      classes of which no tensor is an instance. `tests` are functions that ask whether something is a tensor.
    - `tapes` and `graphs` are the context managers that record for a gradient, and under which a separate graph is filled. Under
      `eager_blocks` a tracer runs at once what depends on none of its arguments.
      `differentiates` are the functions that differentiate in reverse mode. What calls one of `ends_gradients`, by its last name, says
      itself where gradients stop or what they are: none may go through what it leads to. What one of `with_gradient` decorates, by its
      last name, returns its gradient as well, which callers do not get.
    - `shared_names` are attributes of its tensors that other objects have as well. `device_uses` show a parameter not to be an array
      of the host. `makers` are last names of functions whose arguments need not be tensors. `options` are attributes whose assignment
      is looked at. On `placeless_targets` it does not matter where a tensor is.

    Functions to call, in order:

    - `on_call`, before a call; `on_library_call`, after one that a table describes; `on_callbacks`, after a library called back.
    - `on_assign`, `on_augmented` (whose value, if any, replaces the result), `on_attribute`, `on_own_attribute`, `on_item`: assignments.
    - `on_random_branch`, `on_drawn_test` (of a number that the host draws; with the rule for a tensor's, and the place), `on_array_read`
      (of what is no tensor on the device, where a tensor would meet a rule: with that, the place, the variant), `on_for`,
      `on_loop`, `on_define` (of a nested function that a tracer gets), `on_return` (of a call).
    - `batches(frame, loop, iterable, steps)` says what the names are that a loop binds, over steps or not, where the loader does not tell.
      `sets_default_device(module)`: code of the module has tensors made on a device where nothing says where.
      `unmoved(interpreter, info)` says so of the parameters of which a function moves a part itself.
    - `asks_for_device(frame, test)` is true of a condition that holds where there is a device.
    - `skips(frame, info)` is true of a function of the program that the tracer of the code which calls it does not enter.
    - `says_what_is_compiled(module, program)` is true of a script that names what it has compiled, and of what belongs to it: no other
      function of it is a root for taking tensors, and no optimizer's step for being one.
    - `on_operands`, by operator. `on_unknown_call`, of what is not known. `converts(interpreter, info)` is false for functions that
      the tracer leaves as they are; `bounds_loop(body)` says that a loop's body bounds its turns.
    """

    def __init__(
        self,
        name: str,
        *,
        tensor_class: str = "",
        telling: frozenset[str] = frozenset(),
        computing: frozenset[str] = frozenset(),
        augmenting: frozenset[str] = frozenset(),
        of_unknown: Mapping[str, Callable[[], Value]] = MappingProxyType({}),
        takes_tensors: frozenset[str] = frozenset(),
        host_arrays: frozenset[str] = frozenset(),
        parameter_of: Callable[[Interpreter, FunctionInfo, str], Value | None] | None = None,
        replaces_arguments: bool = False,
        raises: bool = False,
        compiles_eagerly: bool = False,
        compiles_if_asked: bool = False,
        layers: frozenset[str] = frozenset(),
        converts_arrays: bool = False,
        gives_tensors: bool = False,
        refuses_arrays: bool = False,
        splits_graphs: bool = False,
        hashable: bool = True,
        immutable: bool = False,
        kernels: tuple[str, ...] = (),
        defers_equality: bool = False,
        accepts_numbers: bool = False,
        takes_lists: bool = False,
        passed_as_numbers: bool = False,
        host_memory: bool = False,
        reads_scalar_index: bool = False,
        unclear_masks: bool = False,
        indexer: str = "",
        slice_severity: tuple[tuple[str, str], ...] = (),
        stages_loops: bool = False,
        withholds: Callable[[LibraryCall, Spec], bool] | None = None,
        of_argument: Callable[[LibraryCall, Spec, ir.Node], Spec] | None = None,
        part_of: Callable[[Interpreter, str], Value] | None = None,
        is_setting: Callable[[Interpreter, str], bool] | None = None,
        of_record: Callable[[Interpreter, Instance], Value] | None = None,
        formatted: Callable[[Frame, Value, ir.Node, int, bool], None] | None = None,
        branched: Callable[[Frame, Branch], None] | None = None,
        indexed: tuple[Callable[[Frame, Tensor, Value, ir.Node, int, str], None], ...] = (),
        static: Callable[[LibraryCall, int], tuple[object, ...]] | None = None,
        traces: Callable[[LibraryCall, int], frozenset[int] | None] | None = None,
        whole_graph: Callable[[ModuleInfo, Value | None], tuple[int, ...]] | None = None,
        refuses_copies: Callable[[ModuleInfo, str], bool] | None = None,
        records_known: bool = False,
        operations: tuple[str, ...] = (),
        runs_known: frozenset[str] = frozenset(),
        concrete: frozenset[str] = frozenset(),
        derived_from: Callable[[Partial], Value] | None = None,
        filters: frozenset[str] = frozenset(),
        mapping: frozenset[str] = frozenset(),
        flagged: frozenset[str] = frozenset(),
        keeps_numbers: bool = False,
        configured: frozenset[str] = frozenset(),
        training: frozenset[str] = frozenset(),
        changed: tuple[str, ...] = (),
        draws: tuple[str, ...] = (),
        adds_up: frozenset[str] = frozenset(),
        told_by_call: Mapping[str, str] = MappingProxyType({}),
        functions: Mapping[str, Special] = MappingProxyType({}),
        results: Mapping[str, Callable[[Arguments], Value]] = MappingProxyType({}),
        annotated: Mapping[str, Callable[[], Value]] = MappingProxyType({}),
        factories: frozenset[str] = frozenset(),
        elementwise: frozenset[str] = frozenset(),
        of_tensors: Mapping[str, str] = MappingProxyType({}),
        folded: frozenset[str] = frozenset(),
        containers: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
        not_tensors: tuple[str, ...] = (),
        tests: frozenset[str] = frozenset(),
        tapes: frozenset[str] = frozenset(),
        graphs: frozenset[str] = frozenset(),
        eager_blocks: frozenset[str] = frozenset(),
        differentiates: frozenset[str] = frozenset(),
        ends_gradients: frozenset[str] = frozenset(),
        with_gradient: frozenset[str] = frozenset(),
        shared_names: frozenset[str] = frozenset(),
        device_uses: frozenset[str] = frozenset(),
        makers: frozenset[str] = frozenset(),
        options: frozenset[str] = frozenset(),
        placeless_targets: frozenset[str] = frozenset(),
        shows_target: TargetFinder | None = None,
        steps: DeviceSteps | None = None,
        surroundings: Surroundings | None = None,
        on_call: tuple[Callable[[Frame, ir.Call, tuple[Value, ...], Arguments], None], ...] = (),
        on_library_call: tuple[Callable[[LibraryCall, Spec, Value], None], ...] = (),
        on_callbacks: tuple[Callable[[LibraryCall], None], ...] = (),
        on_unknown_call: tuple[Callable[[Frame, Arguments, ir.Call], Value | None], ...] = (),
        on_return: tuple[Callable[[Frame, Context], None], ...] = (),
        on_assign: tuple[Callable[[Frame, ir.Assign, Value], None], ...] = (),
        on_augmented: tuple[Callable[[Frame, ir.Node, Value, Value], Value | None], ...] = (),
        on_attribute: tuple[Callable[[Frame, ir.Attr, Value], None], ...] = (),
        on_own_attribute: tuple[Callable[[Frame, str], None], ...] = (),
        on_item: tuple[Callable[[Frame, ir.Sub, Value, Value], None], ...] = (),
        on_random_branch: tuple[Callable[[Frame, ir.If, ir.Node, tuple[Env, ...]], None], ...] = (),
        on_array_read: tuple[Callable[[Frame, str, int, Value, ir.Node | None, str], None], ...] = (),
        on_drawn_test: tuple[Callable[[Frame, ir.Node, str, int], None], ...] = (),
        on_for: tuple[Callable[[Frame, ir.For, Value], None], ...] = (),
        batches: Callable[[Frame, ir.For, Value, bool], Mapping[str, Value]] | None = None,
        unmoved: Callable[[Interpreter, FunctionInfo], Mapping[str, Value]] | None = None,
        sets_default_device: Callable[[ModuleInfo], bool] | None = None,
        on_loop: tuple[LoopWatch, ...] = (),
        on_define: tuple[Callable[[Frame, ir.Define, ir.Node, str], None], ...] = (),
        on_operands: Mapping[str, Callable[[Frame, str, int, Operand, Operand], None]] = MappingProxyType({}),
        says_what_is_compiled: Callable[[ModuleInfo, Program], bool] | None = None,
        asks_for_device: Callable[[Frame, ir.Node], bool] | None = None,
        skips: Callable[[Frame, FunctionInfo], bool] | None = None,
        converts: Callable[[Interpreter, FunctionInfo], bool] | None = None,
        bounds_loop: Callable[[tuple[ir.Statement, ...]], bool] | None = None,
    ) -> None:
        self.name = name
        self.tensor_class = tensor_class
        self.telling = telling
        self.computing = computing
        self.augmenting = augmenting
        self.of_unknown = of_unknown
        self.takes_tensors = takes_tensors
        self.host_arrays = host_arrays
        self.parameter_of = parameter_of
        self.replaces_arguments = replaces_arguments
        self.raises = raises
        self.compiles_eagerly = compiles_eagerly
        self.compiles_if_asked = compiles_if_asked
        self.layers = layers
        self.converts_arrays = converts_arrays
        self.gives_tensors = gives_tensors
        self.refuses_arrays = refuses_arrays
        self.splits_graphs = splits_graphs
        self.hashable = hashable
        self.immutable = immutable
        self.kernels = kernels
        self.defers_equality = defers_equality
        self.accepts_numbers = accepts_numbers
        self.takes_lists = takes_lists
        self.passed_as_numbers = passed_as_numbers
        self.host_memory = host_memory
        self.reads_scalar_index = reads_scalar_index
        self.unclear_masks = unclear_masks
        self.indexer = indexer
        self.slice_severity = slice_severity
        self.stages_loops = stages_loops
        self.withholds = withholds
        self.of_argument = of_argument
        self.part_of = part_of
        self.is_setting = is_setting
        self.of_record = of_record
        self.formatted = formatted
        self.branched = branched
        self.indexed = indexed
        self.static = static
        self.traces = traces
        self.whole_graph = whole_graph
        self.refuses_copies = refuses_copies
        self.records_known = records_known
        self.operations = operations
        self.runs_known = runs_known
        self.concrete = concrete
        self.derived_from = derived_from
        self.filters = filters
        self.mapping = mapping
        self.flagged = flagged
        self.keeps_numbers = keeps_numbers
        self.configured = configured
        self.training = training
        self.changed = changed
        self.draws = draws
        self.adds_up = adds_up
        self.told_by_call = told_by_call
        self.functions = functions
        self.results = results
        self.annotated = annotated
        self.factories = factories
        self.elementwise = elementwise
        self.of_tensors = of_tensors
        self.folded = folded
        self.containers = containers
        self.not_tensors = not_tensors
        self.tests = tests
        self.tapes = tapes
        self.graphs = graphs
        self.eager_blocks = eager_blocks
        self.differentiates = differentiates
        self.ends_gradients = ends_gradients
        self.with_gradient = with_gradient
        self.shared_names = shared_names
        self.device_uses = device_uses
        self.makers = makers
        self.options = options
        self.placeless_targets = placeless_targets
        self.shows_target = shows_target
        self.steps = steps
        self.surroundings = surroundings
        self.on_call = on_call
        self.on_library_call = on_library_call
        self.on_callbacks = on_callbacks
        self.on_unknown_call = on_unknown_call
        self.on_return = on_return
        self.on_assign = on_assign
        self.on_augmented = on_augmented
        self.on_attribute = on_attribute
        self.on_own_attribute = on_own_attribute
        self.on_item = on_item
        self.on_random_branch = on_random_branch
        self.on_array_read = on_array_read
        self.on_drawn_test = on_drawn_test
        self.on_for = on_for
        self.batches = batches
        self.unmoved = unmoved
        self.sets_default_device = sets_default_device
        self.on_loop = on_loop
        self.on_define = on_define
        self.on_operands = on_operands
        self.says_what_is_compiled = says_what_is_compiled
        self.asks_for_device = asks_for_device
        self.skips = skips
        self.converts = converts
        self.bounds_loop = bounds_loop


class Libraries:
    """The semantics of all frameworks, in the order of the registry.

    `installed` are the packages that are there wherever their arrays are met.
    `shared` are those of several frameworks, and of libraries that trace nothing. `default` names the framework of code that names none.
    """

    def __init__(self, frameworks: tuple[Semantics, ...], shared: tuple[Semantics, ...] = ()) -> None:
        everything = (*shared, *frameworks)
        self.names = tuple([one.name for one in frameworks])
        self.installed = frozenset(self.names)
        self.default = self.names[0] if self.names else ""
        self._known = {one.name: one for one in everything}
        self._plain = Semantics("")
        self.functions = {name: run for one in everything for name, run in one.functions.items()}
        self.results = {name: given for one in everything for name, given in one.results.items()}
        self.annotated = {name: value for one in everything for name, value in one.annotated.items()}
        self.factories = _union([one.factories for one in everything])
        self.elementwise = _union([one.elementwise for one in everything])
        self.folded = _union([one.folded for one in everything])
        self.of_tensors = {name: (one.name, dtype) for one in everything for name, dtype in one.of_tensors.items()}
        self.containers = {kind: names for one in everything for kind, names in one.containers.items()}
        self.not_tensors = tuple([name for one in everything for name in one.not_tensors])
        self.tests = {name: one.name for one in everything for name in one.tests}
        self.tapes = _union([one.tapes for one in everything])
        self.graphs = _union([one.graphs for one in everything])
        self.eager_blocks = tuple([(one.name, one.eager_blocks) for one in everything if one.eager_blocks])
        self.differentiates = _union([one.differentiates for one in everything])
        self.ends_gradients = _union([one.ends_gradients for one in everything])
        self.configured = {name: one.name for one in everything for name in one.configured}
        self.with_gradient = tuple(sorted(_union([one.with_gradient for one in everything])))
        self.shared_names = _union([one.shared_names for one in everything])
        self.device_uses = _union([one.device_uses for one in everything])
        self.of_host_arrays = _union([one.host_arrays for one in everything])
        self.makers = _union([one.makers for one in everything])
        self.options = _union([one.options for one in everything])
        self.of_told_by_call = _union([one.adds_up for one in everything if one.told_by_call])
        self.queued = frozenset([one.name for one in everything if one.operations])
        self.placeless_targets = _union([one.placeless_targets for one in everything])
        self.show_targets = tuple([one.shows_target for one in everything if one.shows_target is not None])
        words = [one.steps for one in everything if one.steps is not None]
        self.steps = DeviceSteps(*map(_union, zip(*words, strict=True)))
        self.surroundings = next((one.surroundings for one in everything if one.surroundings is not None), None)
        self.on_call = tuple([hook for one in everything for hook in one.on_call])
        self.on_library_call = tuple([hook for one in everything for hook in one.on_library_call])
        self.on_callbacks = tuple([hook for one in everything for hook in one.on_callbacks])
        self.on_unknown_call = tuple([hook for one in everything for hook in one.on_unknown_call])
        self.on_return = tuple([hook for one in everything for hook in one.on_return])
        self.on_assign = tuple([hook for one in everything for hook in one.on_assign])
        self.on_augmented = tuple([hook for one in everything for hook in one.on_augmented])
        self.on_attribute = tuple([hook for one in everything for hook in one.on_attribute])
        self.on_own_attribute = tuple([hook for one in everything for hook in one.on_own_attribute])
        self.on_item = tuple([hook for one in everything for hook in one.on_item])
        self.on_random_branch = tuple([hook for one in everything for hook in one.on_random_branch])
        self.on_array_read = tuple([hook for one in everything for hook in one.on_array_read])
        self.on_drawn_test = tuple([hook for one in everything for hook in one.on_drawn_test])
        self.on_for = tuple([hook for one in everything for hook in one.on_for])
        self.batches = tuple([one.batches for one in everything if one.batches is not None])
        self.on_loop = tuple([watch for one in everything for watch in one.on_loop])
        self.on_define = tuple([hook for one in everything for hook in one.on_define])
        self.on_operands = {op: hook for one in everything for op, hook in one.on_operands.items()}
        self.asks_for_device = tuple([one.asks_for_device for one in everything if one.asks_for_device is not None])
        self.skips = tuple([one.skips for one in everything if one.skips is not None])
        self.converts = tuple([one.converts for one in everything if one.converts is not None])
        self.bounds_loop = tuple([one.bounds_loop for one in everything if one.bounds_loop is not None])

    def tracks_place(self, targets: tuple[str, ...]) -> bool:
        """Return whether on these targets it matters which tensors stay in host memory."""
        return self.placeless_targets.isdisjoint(targets)

    def of(self, framework: str) -> Semantics:
        """The semantics of a framework; those of one of which only an API table speaks say nothing."""
        return self._known.get(framework, self._plain)


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)
