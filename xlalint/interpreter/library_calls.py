"""Calls into libraries: what the API tables say of them, applied to abstract arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from xlalint.abstract.lattice import join, join_all
from xlalint.abstract.structures import as_arrays, leaf_of, map_leaves
from xlalint.abstract.values import (
    ARRAYS,
    HOST,
    NEVER,
    NONE,
    NUMBER_KINDS,
    TRUE,
    UNKNOWN,
    Const,
    Function,
    Host,
    LibraryInstance,
    LibrarySymbol,
    Method,
    Sequence,
    Tensor,
    Union,
    Value,
    constant,
    external,
    field,
    foreign,
    host,
    kind_of_number,
    mapping,
    members,
    only_tensor,
    partial,
    sequence,
    tensor,
    tensors,
)
from xlalint.analysis.hazard import Confidence
from xlalint.api_tables.cases import choose
from xlalint.api_tables.entries import Callback, Constant, Entry, Spec
from xlalint.api_tables.returns import Return, parse_return
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.dispatch_loops import mark_compiled, mark_of, mark_result
from xlalint.interpreter.frame import body_of, device_tensor, is_on_host, runs_at_once
from xlalint.interpreter.guards import assigned_once
from xlalint.interpreter.mapped_functions import mark_mapped
from xlalint.interpreter.seeding import is_seeded
from xlalint.interpreter.spelling import calls_within, path_of, spelling
from xlalint.interpreter.traced_arguments import as_known, as_recorded
from xlalint.lowering import ir
from xlalint.rules.codes import (
    BOOLEAN_MASK_INDEX,
    DYNAMIC_TENSORARRAY,
    NO_KERNEL,
    PRINT_TENSOR,
    TENSOR_LOOP_BOUND,
    TRACE_TIME_EFFECT,
    VALUE_SIZED_SHAPE,
)
from xlalint.rules.variants import SEED

if TYPE_CHECKING:
    from xlalint.interpreter.arguments import Arguments
    from xlalint.interpreter.frame import Frame

_CPU: Final = host("device:cpu")
# Kinds of returns that are one array, which the call computes.
_COMPUTED: Final = frozenset(("like", "promote", "reduce", "scalar", "tensor"))
# What draws whole numbers, and so many of them that one is a seed.
_INTEGERS: Final = frozenset(("getrandbits", "integers", "randint", "randrange"))
_MANY: Final = 1 << 29
_DTYPE_BUILTINS: Final = {f"builtins.{name}": kind for name, kind in NUMBER_KINDS.items()}


class LibraryCall:
    """One call as API tables ask about it (the protocol `entries.Call`).

    `receiver` is the tensor whose method is called, `owner` the library object of another kind. `makes` says that the function makes
    a tensor of host values.
    """

    def __init__(
        self,
        frame: Frame,
        entry: Entry,
        receiver: Value | None,
        args: list[Value],
        keywords: tuple[tuple[str, Value], ...],
        node: ir.Call,
        owner: Value | None = None,
    ) -> None:
        self.frame = frame
        self.entry = entry
        self.receiver = receiver
        self.args = args
        self.keywords = keywords
        self.node = node
        self.makes = False
        self.name = ""
        self.results: dict[str, Value] = {}
        self.owner = owner
        self.starred = any(type(arg) is ir.Star for arg in node.args) or any(not name for name, _ in keywords)

    # ------------------------------------------------------------------------------------------- arguments

    def argument(self, name: str) -> Value | None:
        """The value of a parameter; the rest as a tuple for `*name`; None when it is not passed."""
        found = field(self.keywords, name)
        if found is not None:
            return found
        if name == "self":
            return self.receiver or self.owner
        for position, param in enumerate(self.entry.params):
            if param == name:
                return self.args[position] if position < len(self.args) else None
            if param.startswith("*"):
                if param[1:] == name:
                    rest = tuple(self.args[position:])
                    if len(rest) == 1 and isinstance(rest[0], Sequence):
                        return rest[0]
                    return sequence("tuple", rest, join_all(rest)) if rest else None
                break
        return None

    def all(self) -> list[Value]:
        return [*self.args, *(value for _, value in self.keywords)]

    def first(self) -> Value | None:
        """The receiver, or the first argument that is or holds a tensor."""
        if self.receiver is not None:
            return self.receiver
        for value in self.all():
            if only_tensor(value) is not None:
                return value
        for value in self.all():
            inner = next(iter(tensors(value)), None)
            if inner is not None:
                return inner
        return None

    def first_tensor(self) -> Tensor | None:
        found = self.first()
        return only_tensor(found) if found is not None else None

    def node_of(self, name: str) -> ir.Node | None:
        """The expression passed for a parameter."""
        for keyword, node in self.node.keywords:
            if keyword == name:
                return node
        for position, param in enumerate(self.entry.params):
            if param.lstrip("*") == name and position < len(self.node.args):
                return self.node.args[position]
        return None

    # -------------------------------------------------------------------------------------- the protocol

    def count(self) -> int:
        return -1 if self.starred else len(self.args) + len(self.keywords)

    def is_given(self, name: str) -> bool | None:
        value = self.argument(name)
        if value is None:
            return None if self.starred else False
        if value is NONE:
            return False
        return None if isinstance(value, Union) and NONE in value.members else True

    def none(self, name: str) -> bool:
        return self.argument(name) is NONE

    def _values_of(self, name: str) -> list[Value]:
        if name == "*":
            return self.all()
        value = self.first() if name == "" else self.argument(name)
        return [] if value is None else [value]

    def tensor(self, name: str) -> bool | None:
        found = [
            value
            for value in self._values_of(name)
            if any(t.place != "cpu" and not t.static for t in tensors(_without_doubt(value)))
        ]
        if found:
            return True
        return None if any(UNKNOWN in members(value) for value in self._values_of(name)) else False

    def items(self, name: str) -> bool | None:
        return any(
            isinstance(member, Sequence) and any(tensors(member))
            for v in self._values_of(name)
            for member in members(v)
        )

    def framework(self) -> str:
        found = self.first_tensor()
        return found.framework if found is not None else ""

    def boolean(self, name: str) -> bool | None:
        return any(t.dtype == "b" for value in self._values_of(name) for t in tensors(value, 1))

    def constant(self, name: str) -> tuple[Constant] | None:
        value = self.argument(name)
        if isinstance(value, Const):
            return (value.value,)
        node = self.node_of(name) if value is _CPU else None
        if node is not None and (_names_host(node) or self._is_passed(name)):
            return ("cpu",)
        return (None,) if value is None and not self.starred else None

    def symbol(self, name: str) -> str:
        value = self.argument(name)
        return value.name if isinstance(value, LibrarySymbol) else ""

    def dtype(self, name: str) -> str:
        value = self.first() if name == "" else self.argument(name)
        return dtype_of(value) if value is not None else ""

    def rank(self, name: str) -> int:
        value = self.first() if name == "" else self.argument(name)
        found = only_tensor(value) if value is not None else None
        return found.rank if found is not None else -1

    def release(self) -> tuple[int, ...]:
        return self.frame.module.taught.release

    # --------------------------------------------------------------------------------------------- effects

    def run(self) -> Value:
        """Report the call's hazard, call back its function arguments, and give what it returns."""
        for callback in self.entry.calls:
            self._call_back(callback)
        if self.results:
            for look in self.frame.libraries.on_callbacks:
                look(self)
        targets = self.frame.module.taught.targets
        spec = choose(self.entry.cases, self, targets)
        if self.frame.interpreter.observer is not None:
            self.frame.interpreter.observer.note_judged(self, spec)
        raises = bool(self.entry.unsupported) and self._check_support(spec, targets)
        if spec is None:
            return UNKNOWN
        if spec.rule is None and any(map(holds_data, self.all())):
            self._explain_size()
        if spec.rule is not None and not raises:
            self._report(spec)
        elif self.frame.loops.dispatches:
            self._read_printed()
        result = self.build(spec.returns)
        if self.entry.framework == ARRAYS and type(result) is Tensor and result.framework != ARRAYS:
            result = self._or_array(result)
        if self.frame.interpreter.tracing:
            result = as_recorded(result, self.frame.interpreter.tracing, sure=self._gives_tracers(spec.returns))
        elif self.frame.interpreter.mapping and all(map(_is_told, self.all())):
            result = as_known(result, self.frame.interpreter.mapping)
        elif self.name in self.frame.libraries.folded:
            if self._is_known():
                result = as_known(result, self.entry.framework)
            elif type(result) is Tensor and not self._holds_value():
                result = join(result, UNKNOWN)
        for see in self.frame.libraries.on_library_call:
            see(self, spec, result)
        if runs_at_once(self.frame, self.entry.framework, self.name):
            result = self.frame.computes(result)
        func = self.node.func
        if self.frame.loops.stepping is None or self.owner is None or type(func) is not ir.Attr:
            return result
        return added_up(self.frame, self.entry.framework, func.name, result)

    def _gives_tracers(self, what: Return) -> bool:
        """Return whether the call gives nothing but tracers to who traces it, whatever it is given: structures go through some of them."""
        operations = self.frame.libraries.of(self.entry.framework).operations
        return what.kind in _COMPUTED and self.receiver is None and self.name.startswith(operations or "\0")

    def _read_printed(self) -> None:
        """Note what the host writes of what it dispatched in the same turn of a loop, where that is a hazard for other frameworks alone."""
        if any(other.rule == PRINT_TENSOR and not other.severity for other in self.entry.cases):
            for value, node in self.select_arguments(("*",)):
                for one in tensors(value):
                    self.frame.read_in_turn(self.node.at, one, node)

    def _or_array(self, result: Tensor) -> Value:
        """Return what a function of the host's arrays gives, which may have been given none but such: then its result is one as well."""
        given = [value for value in self.all() if any(map(_is_device_tensor, members(value)))]
        if not given or not all(any(map(_is_array, members(value))) for value in given):
            return result
        return join(result, tensor(ARRAYS, result.dtype, result.rank))

    def _is_known(self) -> bool:
        """Return whether all that the call is given is known when the graph is compiled: tensors are, and what is the host's."""
        given = self.all()
        return bool(given) and all(map(_is_told, given)) and not any(map(holds_data, given))

    def _minds_sizes(self) -> bool:
        """Return whether what the framework computes with sizes alone is a value to it like any other."""
        return not self.frame.libraries.of(self.entry.framework).folded

    def _holds_value(self) -> bool:
        """Return whether something that the call is given is a tensor whose value is not known, or was read from one."""
        given = self.all()
        parts = [part for value in given if UNKNOWN not in members(value) for part in tensors(value)]
        return any(not part.static for part in parts) or any(map(holds_data, given))

    def hazard(self) -> Value | None:
        """Return what the call returns, its hazard reported; None where it is none."""
        spec = choose(self.entry.cases, self, self.frame.module.taught.targets)
        if spec is None or spec.rule is None:
            return None
        if self.frame.interpreter.observer is not None:
            self.frame.interpreter.observer.note_judged(self, spec)
        self._report(spec)
        return self.build(spec.returns)

    def _check_support(self, spec: Spec | None, targets: tuple[str, ...]) -> bool:
        """Report that the target has no kernel for this; what the call is reported for anyway is enough.

        Return whether the call raises for it: that is so on a target of which this is said by name. Then nothing else happens.
        """
        reported = spec is not None and spec.rule is not None
        severities = dict(spec.severity) if spec is not None else {}
        lacks = choose(self.entry.unsupported, self, targets)
        raises = lacks is not None and bool(lacks.when.target)
        if reported and not raises and not any(severities.get(target) == "off" for target in targets):
            return False
        if lacks is not None and lacks.rule is not None:
            self._report(lacks)
        return raises

    def _trace_time(self, spec: Spec) -> None:
        """Where what is printed is a tensor, that it happens once is a hazard as well."""
        for other in self.entry.cases:
            if other is not spec and other.rule == TRACE_TIME_EFFECT:
                self._report(other)

    def _breaks(self, spec: Spec) -> None:
        """Report what ends a graph, whatever it is given, where the tracer goes on behind it; elsewhere that it happens once."""
        framework = self.frame.interpreter.annotations.framework(self.frame.module)
        if self.frame.libraries.of(framework).splits_graphs:
            self.frame.note(PRINT_TENSOR, self.node.at, framework, spelling(self.node.func), spec.detail, spec.variant)
        else:
            self._trace_time(spec)

    def _explain_size(self) -> None:
        """Report a size that was read from a tensor where the tensor itself would be a hazard as the size."""
        for spec in self.entry.cases:
            if spec.rule not in (VALUE_SIZED_SHAPE, TENSOR_LOOP_BOUND):
                continue
            for value, node in self.select_arguments(spec.when.tensor):
                if reads_within(value, node):
                    self.frame.explain(spec.rule, self.node.at, node, spec.detail)
                    return

    def select_arguments(self, names: tuple[str, ...]) -> Iterator[tuple[Value, ir.Node]]:
        """The arguments of these names with their expressions; of "*": all."""
        if "*" in names and not self.starred:
            nodes = [*self.node.args, *(node for _, node in self.node.keywords)]
            yield from zip(self.all(), nodes, strict=False)
        for name in names:
            position = next((i for i, param in enumerate(self.entry.params) if param == f"*{name}"), -1)
            if position >= 0:
                if not self.starred:
                    yield from zip(self.args[position:], self.node.args[position:], strict=False)
                continue
            value, node = self.argument(name), self.node_of(name)
            if value is not None and node is not None:
                yield value, node

    def _draws_any_integer(self) -> bool:
        """Return whether a call draws one of as many integers as a machine has: that is a seed for what draws."""
        if last_name(self.node.func) not in _INTEGERS:
            return False
        given = (*self.args, *[value for _, value in self.keywords])
        if any(type(one) is Const and isinstance(one.value, int) and one.value >= _MANY for one in given):
            return True
        limits = (*self.node.args, *[value for _, value in self.node.keywords])
        return any(_is_limit(part) for one in limits for part in ir.walk(one))

    def _report(self, spec: Spec) -> None:
        withholds = self.frame.libraries.of(self._framework_of_tensors()).withholds
        if withholds is not None and withholds(self, spec):
            return
        if spec.rule == PRINT_TENSOR:
            self._trace_time(spec)
        if spec.rule == DYNAMIC_TENSORARRAY:
            self.frame.note(
                spec.rule, self.node.at, self.entry.framework, spelling(self.node), spec.detail, spec.variant
            )
            return
        if spec.rule == TRACE_TIME_EFFECT:
            if not spec.variant and self.frame.function is not None and is_seeded(self.frame.function, self.node):
                return
            variant = spec.variant or (SEED if self._draws_any_integer() else "")
            self.frame.note(spec.rule, self.node.at, "", spelling(self.node.func), spec.detail, variant, spec.severity)
            return
        if spec.variant == "break":
            self._breaks(spec)
            return
        if spec.variant == "call":
            self.frame.note(
                spec.rule or "",
                self.node.at,
                self.entry.framework,
                spelling(self.node.func),
                spec.detail,
                severity=spec.severity,
            )
            return
        value, node = self._culprit(spec)
        if spec.when.target and (value is None or self._device(value) is None):
            return  # it runs at once, wherever its arguments are
        if spec.rule == NO_KERNEL and (spec.variant or value is None or self._device(value) is None):
            # the operation is in the graph whatever it is given
            subject, variant = spelling(self.node.func), spec.variant or "operation"
            self.frame.note(spec.rule, self.node.at, self.entry.framework, subject, spec.detail, variant)
            return
        if value is None or spec.rule is None or (spec.variant == "number" and not isinstance(value, Tensor)):
            return  # what may be a number is one where a number is wanted
        if spec.returns.kind == "hostlike":
            # Who moves a tensor to the host believes that it may be elsewhere, unless it is made right there.
            if self._is_made_in_place() or self._was_copied():
                return
            if is_on_host(value):
                return
            value = join_all(
                tensor(m.framework, m.dtype, m.rank, "", m.sure and not m.place) if isinstance(m, Tensor) else m
                for m in members(value)
            )
        of_argument = self.frame.libraries.of(self._framework_of_tensors()).of_argument
        if self.entry.reads and of_argument is not None and node is not None:
            spec = of_argument(self, spec, node)
        at_most = Confidence.CERTAIN
        if spec.rule == VALUE_SIZED_SHAPE and (
            _may_be_number(value) or (UNKNOWN in members(value) and not self._minds_sizes())
        ):
            at_most = Confidence.POSSIBLE  # it may be made of sizes alone
        if self.entry.framework == ARRAYS and _is_number_too(value) and self._raises():
            at_most = Confidence.POSSIBLE  # a tracer refuses the tensor, and the code has been run: with the number
        self.frame.report(spec.rule or "", self.node.at, value, node, spec.detail, spec.variant, spec.severity, at_most)

    def _raises(self) -> bool:
        return self.frame.libraries.of(self._framework_of_tensors()).raises

    def _framework_of_tensors(self) -> str:
        """The framework whose tensors the call is about: of a function of arrays, that of what it is given."""
        if self.entry.framework != ARRAYS:
            return self.entry.framework
        given = (part.framework for value in self.all() for part in tensors(value))
        return next((name for name in given if name != ARRAYS), ARRAYS)

    def _culprit(self, spec: Spec) -> tuple[Value | None, ir.Node | None]:
        """The tensor that a hazard speaks of, with its expression."""
        named = (
            [spec.subject] if spec.subject else [n for n in (*spec.when.tensor, *spec.when.items) if n not in ("*", "")]
        )
        for name in named:
            value, node = self.argument(name), self.node_of(name)
            found = self._device(value) if value is not None else None
            if value is not None and found is not None:
                return found, self._find_size(name, value, node) if spec.rule == VALUE_SIZED_SHAPE else node
        if self.receiver is not None and self._device(self.receiver) is not None:
            func = self.node.func
            return self.receiver, func.value if type(func) is ir.Attr else None
        nodes: list[ir.Node | None] = [*self.node.args, *(node for _, node in self.node.keywords)]
        for position, value in enumerate(self.all()):
            found = self._device(value)
            if found is not None:
                return found, nodes[position] if position < len(nodes) else None
        func = self.node.func
        return self.receiver, func.value if self.receiver is not None and type(func) is ir.Attr else None

    def _find_size(self, name: str, value: Value, node: ir.Node | None) -> ir.Node | None:
        """Return the size that is a tensor, of several that a parameter is given: `most` of `x.view(n, most)`, of `zeros([n, most])`."""
        parts = list(self.select_arguments((name,)))
        if not parts and node is not None:
            parts = [(value, node)]
        if len(parts) == 1:
            whole, written = parts[0]
            items = whole.items if isinstance(whole, Sequence) else None
            if type(written) is ir.Display and items is not None and len(items) == len(written.items):
                parts = list(zip(items, written.items, strict=True))
        return next((written for part, written in parts if self._device(part) is not None), node)

    def _is_made_in_place(self) -> bool:
        """Return whether the receiver is a new tensor of the host's memory, which the very expression makes by functions of a library."""
        node = self.node.func.value if type(self.node.func) is ir.Attr else None
        if type(node) is not ir.Call or self._device(self.receiver or UNKNOWN) is not None:
            return False
        while type(node) is ir.Call and type(node.func) is ir.Attr:
            node = node.func.value
        return type(node) is ir.Name and isinstance(self.frame.eval(node), LibrarySymbol)

    def _was_copied(self) -> bool:
        """Return whether the receiver is, or is taken from, what the function's one assignment copied to the host: `y = x.cpu()`."""
        func = self.node.func
        node = func.value if type(func) is ir.Attr else None
        while type(node) is ir.Sub:
            node = node.value
        if type(func) is not ir.Attr or type(node) is not ir.Name or self._device(self.receiver or UNKNOWN) is not None:
            return False
        made = assigned_once(node, body_of(self.frame))
        return type(made) is ir.Call and type(made.func) is ir.Attr and made.func.name == func.name

    @staticmethod
    def _device(value: Value) -> Value | None:
        """The value where it is a device tensor, else one that it holds."""
        if any(isinstance(m, Tensor) and m.place != "cpu" and m.framework != ARRAYS for m in members(value)):
            return value
        if isinstance(value, Sequence):
            held = next((item for item in value.items or (value.element,) if device_tensor(item) is not None), None)
            if held is not None:
                return held
        inner = next((t for t in tensors(value) if t.place != "cpu"), None)
        if inner is None:
            return None
        # Of a list of tensors or an array, the array is what is expected where arrays are taken.
        return join_all([inner, *(m for m in members(value) if isinstance(m, Tensor) and m.framework == ARRAYS)])

    def _call_back(self, callback: Callback) -> None:
        func = self.argument(callback.fun)
        instead = self.argument(callback.unless) if callback.unless else None
        if func is None or func is NONE or instead is TRUE or isinstance(instead, (Function, Method)):
            return
        args: list[Value] = []
        keywords: dict[str, Value] = {}
        for text in callback.args:
            if text == "**":
                keywords = {name: value for name, value in self.keywords if name and name not in self.entry.params}
            else:
                args.extend(self._callback_argument(text))
        self.frame.context.replicates |= callback.apart
        result = self.frame.interpreter.call_back(
            self.frame, func, args, keywords, callback.traced, "*" in callback.args, self
        )
        self.results = {**self.results, callback.fun: result}

    def _callback_argument(self, text: str) -> list[Value]:
        if text == "*":
            return []
        if text.startswith("*$"):
            return self._spread(text[2:])
        if text.startswith("*leaf("):
            return [leaf_of(one) for one in self._spread(text[6:-1])]
        if text.startswith("$"):
            name = text[1:].removesuffix("[]")
            value = self.argument(name) or UNKNOWN
            return [self._element(value)] if text.endswith("[]") else [value]
        if text.startswith("@"):
            return [self.results.get(text[1:], UNKNOWN)]
        return [self.build(parse_return(text))]

    def _spread(self, name: str) -> list[Value]:
        """The elements of an argument that holds the rest of them."""
        rest = self.argument(name)
        if isinstance(rest, Sequence):
            return list(rest.items) if rest.items is not None else [rest.element]
        return [] if rest is None else [rest]

    def _element(self, value: Value) -> Value:
        from xlalint.interpreter.builtin_calls import element_of

        if isinstance(value, Sequence) and value.kind == "tuple" and value.items is not None:
            items = tuple(self._element(item) for item in value.items)
            return sequence("tuple", items, join_all(items))
        return element_of(self.frame, value)

    # --------------------------------------------------------------------------------------------- returns

    def build(self, what: Return) -> Value:
        """The abstract value that a return describes, for this call."""
        builder = _BUILDERS.get(what.kind)
        return builder(self, what) if builder is not None else UNKNOWN

    def _framework_name(self) -> str:
        found = self.first_tensor()
        if self.entry.framework and self.entry.framework != ARRAYS:
            return self.entry.framework
        return found.framework if found is not None else self.entry.framework or self.frame.libraries.default

    def _sure(self) -> bool:
        found = self.first_tensor()
        return self.receiver is None or found is None or found.sure

    def resolved_dtype(self, what: Return, otherwise: str) -> str:
        """The dtype of a return: what an argument names, what the table says, or what is given."""
        for source in what.dtype_from.split("|") if what.dtype_from else ():
            if source == "*":
                found = self.first_tensor()
                if found is not None and found.dtype and not self._begins_unknown():
                    return found.dtype
                continue
            value = self.argument(source)
            named = dtype_of(value) or kind_of_number(value) if value is not None else ""
            if named:
                return named
            if value is not None and _may_name_dtype(value):
                # Truths that numbers are made of can select nothing: who selects by them has truths.
                return "b" if otherwise == "b" else ""
        if what.dtype == "n":
            return "i" if otherwise == "b" else otherwise
        return what.dtype or otherwise

    def _begins_unknown(self) -> bool:
        """Return whether the first argument is not known, which may be the tensor whose dtype the result has: logits before labels."""
        return self.receiver is None and bool(self.args) and UNKNOWN in members(self.args[0])

    def place(self) -> str:
        """ "cpu" for what stays in host memory: made without a device, or from what is there; of a turn's results, their mark."""
        framework = self._framework_name()
        if not self.frame.libraries.of(framework).host_memory:
            return self._mark()
        if not self.frame.module.taught.tracks_place:
            return ""
        device = self.argument("device")
        if device is not None and device is not NONE:
            on_cpu = isinstance(device, Const) and device.value == "cpu"
            return "cpu" if on_cpu or device is _CPU else ""
        sources = [one for one in ([self.receiver] if self.receiver is not None else self.all()) if any(tensors(one))]
        if sources:
            return "cpu" if all(map(is_on_host, sources)) else ""
        return "cpu" if self.makes and self.frame.interpreter.makes_on_host(framework) else ""

    def _mark(self) -> str:
        """The mark of what the call computes with a turn's results."""
        if self.frame.interpreter.tracing or self.entry.framework == ARRAYS:
            return ""
        return mark_of(self.all() if self.receiver is None else [self.receiver, *self.all()])

    def tensor_return(self, what: Return) -> Value:
        rank = what.rank
        if what.rank_from:
            sizes = self.argument(what.rank_from)
            rank = len(sizes.items) if isinstance(sizes, Sequence) and sizes.items is not None else -1
            if isinstance(sizes, (Const, Host)) and sizes is not NONE:
                rank = 1
        static = what.kind == "static"
        return tensor(self._framework_name(), self.resolved_dtype(what, ""), rank, self.place(), self._sure(), static)

    def like(self, what: Return) -> Value:
        source = self.argument(what.names[0]) if what.names else self.first()
        if source is None:
            framework = self._framework_name()
            # Of numbers that are taken as well XLA knows the value.
            sure = not self.frame.libraries.of(framework).accepts_numbers
            return tensor(framework, what.dtype, -1, self.place(), sure)
        found = [m for m in members(source) if isinstance(m, Tensor)]
        if not found:
            held = next(iter(tensors(source)), None)
            if held is None:
                if self.entry.framework == ARRAYS:
                    return tensor(ARRAYS, what.dtype)
                return (
                    tensor(self._framework_name(), what.dtype, -1, self._mark(), sure=False)
                    if self.entry.framework
                    else UNKNOWN
                )
            found = [held]
        results = [self._retype(t, self.resolved_dtype(what, t.dtype), t.rank) for t in found]
        return join_all(results)

    def _retype(self, t: Tensor, dtype: str, rank: int) -> Tensor:
        framework = t.framework
        if self.entry.framework and self.entry.framework not in (ARRAYS, framework):
            framework = self.entry.framework
        device = self.argument("device")
        stays = device is None or device is NONE or self.receiver is None or _names_dtype(device)
        place = t.place if stays or device is None else self.place_named(device)
        return tensor(framework, dtype, rank, place, t.sure, t.static)

    def place_named(self, device: Value) -> str:
        if isinstance(device, Tensor):  # `x.to(other)`
            return device.place
        # Who moves a tensor to where another is believes that this may be elsewhere than in host memory.
        if isinstance(device, Const):
            return "cpu" if device.value == "cpu" else ""
        return "cpu" if device is _CPU and self._is_passed("device") else ""

    def _is_passed(self, name: str) -> bool:
        """Return whether an argument is a parameter of the function, as its caller, or its default, has it."""
        node, function = self.node_of(name), self.frame.function
        return (
            function is not None and type(node) is ir.Name and any(node.id == param.name for param in function.params)
        )

    def promote(self, what: Return) -> Value:
        sources = [self.argument(name) for name in what.names] if what.names else [self.receiver, *self.all()]
        held = [value for value in sources if value is not None and any(tensors(value))]
        found = [t for value in held for t in tensors(value)]
        if not found:
            return self.like(what)
        rank = max(t.rank for t in found) if all(t.rank >= 0 for t in found) else -1
        dtypes = {t.dtype for t in found}
        dtype = dtypes.pop() if len(dtypes) == 1 else "f" if "f" in dtypes else ""
        place = "cpu" if all(map(is_on_host, held)) else self._mark()
        sure = any(t.sure for t in found)
        framework = self.entry.framework if self.entry.framework not in ("", ARRAYS) else found[0].framework
        result = tensor(framework, self.resolved_dtype(what, dtype), rank, place, sure, all(t.static for t in found))
        # Python's own functions give numbers of numbers: of what may be one, they give what may be one.
        unclear = not self.entry.framework and any(UNKNOWN in members(value) for value in sources if value is not None)
        return join(result, UNKNOWN) if unclear else result

    def scalar(self, what: Return) -> Value:
        found = self.first_tensor() or next((t for value in self.all() for t in tensors(value)), None)
        dtype = self.resolved_dtype(what, found.dtype if found is not None else "")
        if found is None:
            return tensor(self._framework_name(), dtype, 0, self.place())
        return tensor(found.framework, dtype, 0, found.place, found.sure, found.static)

    def reduce(self, what: Return) -> Value:
        found = self.first_tensor()
        if found is None:
            return self.like(what)
        names = what.names or ("dim", "keepdim")
        axis = self.argument(names[0])
        keep = self.argument(names[1]) if len(names) > 1 else None
        dtype = self.resolved_dtype(what, found.dtype)
        if axis is None or axis is NONE:
            rank = 0 if not self.starred else -1
            source = self._source()
            if type(source) is ir.Sub:
                # Of rows that are looked up one by one, the sum over all is seldom wanted; of a selection it is.
                self.frame.confirm(BOOLEAN_MASK_INDEX, source.at)
        elif keep is not None and not (isinstance(keep, Const) and keep.value is False):
            rank = found.rank if isinstance(keep, Const) else -1
        else:
            removed = len(axis.items) if isinstance(axis, Sequence) and axis.items is not None else 1
            known = isinstance(axis, (Const, Host)) or (isinstance(axis, Sequence) and axis.items is not None)
            rank = max(found.rank - removed, 0) if found.rank >= 0 and known else -1
        return tensor(found.framework, dtype, rank, found.place, found.sure, found.static)

    def _source(self) -> ir.Node | None:
        """The expression of the receiver or first argument."""
        func = self.node.func
        if self.receiver is not None:
            return func.value if type(func) is ir.Attr else None
        return self.node.args[0] if self.node.args else None

    def read(self, what: Return) -> Value:
        return host(what.dtype, "data")

    def container(self, what: Return) -> Value:
        items = tuple(self.build(item) for item in what.items)
        if what.kind == "list":
            return sequence("list", None, items[0] if items else UNKNOWN)
        if what.kind == "dict":
            if what.names:
                return mapping(tuple(sorted(zip(what.names, items, strict=True), key=lambda item: item[0])))
            return mapping((), items[0] if items else UNKNOWN)
        if what.many:
            return sequence("tuple", None, items[0])
        if what.names:
            return self.frame.interpreter.named_tuple(what.names, items)
        return sequence("tuple", items, join_all(items))

    def result_of(self, what: Return) -> Value:
        return self.results.get(what.names[0], UNKNOWN) if what.names else UNKNOWN

    def named_argument(self, what: Return) -> Value:
        value = self.argument(what.names[0]) if what.names else None
        return value if value is not None else UNKNOWN

    def hand_back(self) -> Value:
        """Return what the call is given: one thing, or a tuple of several."""
        kept = tuple([UNKNOWN if self._gives_batches(value) else value for value in self.args])
        if self.starred or not kept:
            return UNKNOWN
        return kept[0] if len(kept) == 1 else sequence("tuple", kept, join_all(kept))

    def _gives_batches(self, value: Value) -> bool:
        spec = self.frame.apis.klass(value.name) if isinstance(value, LibraryInstance) else None
        return spec is not None and spec.base == "dataset"

    def wrap(self, what: Return) -> Value:
        """Return what a tracer makes of a function; where it is given none, what takes one: `tf.function(input_signature=s)(f)`."""
        if self.argument(what.names[0]) is None and self.keywords and not self.starred:
            return partial(external(self.name), (), self.keywords)
        value = self.named_argument(what)
        semantics = self.frame.libraries.of(self.entry.framework)
        if self.name in semantics.mapping:
            value = mark_mapped(value)
        traced = any(callback.traced for callback in self.entry.calls)
        if traced and self.frame.interpreter.dispatches(self.entry.framework, self.name):
            return mark_compiled(value, self.entry.framework, keeps=self.name in semantics.filters)
        return value

    def element(self, what: Return) -> Value:
        return self._element(self.named_argument(what))

    def tree(self, _: Return) -> Value:
        """A structure of tensors of which no more is known behaves as a tensor does, only less surely."""
        return tensor(self._framework_name(), sure=False)

    def leaf(self, what: Return) -> Value:
        found = leaf_of(self.named_argument(what))
        return found if found is not NEVER else UNKNOWN

    def map_tree(self, what: Return) -> Value:
        """The structure that the first name gives with the result of the function that the second names in place of each tensor.

        What else it holds may be a setting of one of its objects, which is no leaf.
        """
        result = self.results.get(what.names[1], UNKNOWN)
        tree = self.argument(what.names[0])
        return map_leaves(tree or UNKNOWN, lambda leaf: result if isinstance(leaf, Tensor) else leaf)

    def arrays(self, what: Return) -> Value:
        return as_arrays(self.named_argument(what))

    def hostlike(self, _: Return) -> Value:
        return self._at("cpu" if self.frame.module.taught.tracks_place else "")

    def devicelike(self, _: Return) -> Value:
        return self._at("")

    def _at(self, place: str) -> Value:
        found = self.first_tensor()
        return UNKNOWN if found is None else tensor(found.framework, found.dtype, found.rank, place, found.sure)

    def array(self, what: Return) -> Value:
        found = self.first_tensor()
        keeps = self.receiver is not None or self.name in self.frame.libraries.elementwise
        rank = what.rank if what.rank >= 0 else found.rank if found is not None and keeps else -1
        return tensor(ARRAYS, self.resolved_dtype(what, found.dtype if found is not None else ""), rank)


def added_up(frame: Frame, framework: str, name: str, given: Value) -> Value:
    """Return what an object gives that adds up what the steps of a loop compute: each turn of it computes that anew."""
    if name not in frame.libraries.of(framework).adds_up or not frame.loops.follow_step():
        return given
    return mark_result(given, framework, frame.loops.lasting, whole=False)


def _is_device_tensor(value: Value) -> bool:
    return type(value) is Tensor and value.framework != ARRAYS


def _is_array(value: Value) -> bool:
    return type(value) is Tensor and value.framework == ARRAYS


def run_function(frame: Frame, name: str, arguments: Arguments, node: ir.Call) -> Value:
    """Return what the tables say that a library's function gives, its hazards reported; unknown of one that they do not have."""
    entry = frame.apis.function(name)
    return UNKNOWN if entry is None else LibraryCall(frame, entry, None, arguments.args, arguments.pairs(), node).run()


def kind_of_data(value: Value, depth: int = 0) -> tuple[str, int, Value | None]:
    """The dtype and rank of an array made of host data, and the device tensor that the data holds, if any."""
    if isinstance(value, Sequence) and value.element is not NEVER:
        dtype, rank, held = kind_of_data(value.element, depth + 1)
        return dtype, rank + 1 if rank >= 0 else -1, held
    found = [member for member in members(value) if isinstance(member, Tensor)]
    if found:
        held = value if found[0].framework != ARRAYS else None
        return found[0].dtype, -1, held
    kind = kind_of_number(value)
    return kind, 0 if kind or isinstance(value, Const) else -1, None


def _names_host(node: ir.Node) -> bool:
    """Return whether a device that is the host's is so in any run: `torch.device("cpu")`, or what is named for it.

    A `device` that the program sets, and that of another tensor, may be any in another run.
    """
    return type(node) is ir.Call or "cpu" in path_of(node).rpartition(".")[2].lower()


def _may_name_dtype(value: Value) -> bool:
    """Return whether the value could be a dtype that is not known."""
    return value is UNKNOWN or (isinstance(value, Host) and value.type in ("", "dtype"))


def _without_doubt(value: Value) -> Value:
    """Return a list without the items that may be anything: one of numbers that is given for a shape is none of tensors."""
    if type(value) is not Sequence or value.items is None:
        return value
    kept = tuple([_without_doubt(item) for item in value.items if UNKNOWN not in members(item)])
    return sequence(value.kind, kept, join_all(kept))


def _is_told(value: Value) -> bool:
    """Return whether no part of a value is a tensor that a tracer passes, nor one of which that is not known."""
    return value is not UNKNOWN and all(part.static for part in tensors(value))


def _is_number_too(value: Value) -> bool:
    """Return whether a number that Python was given is among a value's alternatives, as `Union[tf.Tensor, float]` says of a setting."""
    return any(
        (type(one) is Host and one.type in ("int", "float") and one.origin == "python")
        or (type(one) is Const and type(one.value) in (int, float))
        for one in members(value)
    )


def _may_be_number(value: Value) -> bool:
    """Return whether a value may as well be a number of Python's, no element of a tensor, and nothing proves it a tensor."""
    found = members(value)
    return not any(type(one) is Tensor and one.sure for one in found) and any(
        (type(one) is Host and one.type == "int" and one.origin in ("python", "shape"))
        or (type(one) is Const and type(one.value) is int)
        for one in found
    )


def holds_data(value: Value) -> bool:
    """Return whether the value is a number that was read from a tensor, or a list of such."""
    if type(value) is Sequence:
        return holds_data(value.element)
    return type(value) is Host and value.origin == "data"


def reads_within(value: Value, node: ir.Node) -> bool:
    """Return whether an expression reads a number from a tensor, or one of the parts that it is written as does."""
    if type(node) is ir.Display and isinstance(value, Sequence) and len(value.items or ()) == len(node.items):
        return any(reads_within(part, inner) for part, inner in zip(value.items or (), node.items, strict=True))
    return holds_data(value) and calls_within(node)


def _names_dtype(value: Value) -> bool:
    """Return whether an argument that may be a device or a dtype is a dtype."""
    return only_tensor(value) is None and bool(dtype_of(value))


def dtype_of(value: Value) -> str:
    """The dtype kind that a value names or has, "" when it is not known."""
    if isinstance(value, Host) and value.type.startswith("dtype:"):
        return value.type[6:]
    found = only_tensor(value)
    if found is not None:
        return found.dtype
    if isinstance(value, Const) and isinstance(value.value, str):
        text = value.value
        return "f" if "float" in text else "b" if "bool" in text else "i" if "int" in text else ""
    name = getattr(value, "name", "")
    return _DTYPE_BUILTINS.get(name, "") if isinstance(name, str) else ""


def _is_limit(node: object) -> bool:
    """Return whether a part of an expression is the greatest of a machine's integers, or the power of two above it."""
    if type(node) is ir.Bin and node.op in ("**", "<<"):
        return type(node.right) is ir.Const and isinstance(node.right.value, int) and 1 << node.right.value >= _MANY
    return type(node) is ir.Attr and node.name in ("max", "maxsize")


_BUILDERS: Final[dict[str, Callable[[LibraryCall, Return], Value]]] = {
    "tensor": LibraryCall.tensor_return,
    "static": LibraryCall.tensor_return,
    "like": LibraryCall.like,
    "promote": LibraryCall.promote,
    "scalar": LibraryCall.scalar,
    "reduce": LibraryCall.reduce,
    "host": lambda call, what: host(what.dtype),
    "read": LibraryCall.read,
    "draw": lambda call, what: host(what.dtype, "drawn"),
    "const": lambda call, what: constant(what.value),
    "shape": lambda call, what: shape_value(call.first_tensor()),
    "self": lambda call, what: call.receiver or call.owner or call.first() or UNKNOWN,
    "hostlike": LibraryCall.hostlike,
    "devicelike": LibraryCall.devicelike,
    "arg": LibraryCall.named_argument,
    "element": LibraryCall.element,
    "tree": LibraryCall.tree,
    "leaf": LibraryCall.leaf,
    "mapped": LibraryCall.map_tree,
    "arrays": LibraryCall.arrays,
    "result": LibraryCall.result_of,
    "given": lambda call, what: call.hand_back(),
    "wraps": LibraryCall.wrap,
    "list": LibraryCall.container,
    "tuple": LibraryCall.container,
    "dict": LibraryCall.container,
    "array": LibraryCall.array,
    "dtype": lambda call, what: host(f"dtype:{what.dtype}" if what.dtype else "dtype"),
    "device": lambda call, what: host("device"),
    "none": lambda call, what: NONE,
    "object": lambda call, what: foreign(what.names[0]),
    "callable": lambda call, what: UNKNOWN,
    "module": lambda call, what: UNKNOWN,
    "context": lambda call, what: HOST,
}


def shape_value(t: Tensor | None) -> Value:
    """A tensor's shape: a tuple of host ints, as long as the rank where that is known."""
    dim = host("int", "shape")
    if t is not None and 0 <= t.rank <= 8:
        return sequence("tuple", (dim,) * t.rank, dim if t.rank else NEVER)
    return sequence("tuple", None, dim)


def attribute_value(t: Tensor, what: Return) -> Value:
    """Return what reading an attribute of a tensor gives."""
    if what.kind == "shape":
        return shape_value(t)
    if what.kind == "like":
        return tensor(t.framework, what.dtype or t.dtype, t.rank, t.place, t.sure, t.static)
    if what.kind == "dtype":
        return host(f"dtype:{t.dtype}" if t.dtype else "dtype")
    if what.kind == "device":
        return host("device:cpu" if t.place == "cpu" else "device")
    if what.kind in ("host", "read"):
        return host(what.dtype, "shape")
    if what.kind == "const":
        return constant(what.value)
    if what.kind in ("tensor", "scalar", "static", "reduce"):
        return tensor(t.framework, what.dtype or t.dtype, what.rank, t.place, t.sure, t.static or what.kind == "static")
    if what.kind == "self":
        return t
    if what.kind == "object":
        return foreign(what.names[0])
    if what.kind == "array":
        return tensor(ARRAYS, what.dtype or t.dtype, t.rank)
    return NONE if what.kind == "none" else UNKNOWN


def module_value_of(what: Return, framework: str) -> Value:
    """Return what a library's module-level name holds."""
    if what.kind == "dtype":
        return host(f"dtype:{what.dtype}" if what.dtype else "dtype")
    if what.kind == "device":
        return host("device")
    if what.kind in ("host", "read"):
        return host(what.dtype)
    if what.kind == "const":
        return constant(what.value)
    if what.kind == "tensor":
        return tensor(framework, what.dtype, what.rank)
    if what.kind == "object":
        return foreign(what.names[0])
    if what.kind == "shape":
        return shape_value(None)
    if what.kind == "dict" and what.items:
        parts = tuple(module_value_of(item, framework) for item in what.items)
        if not what.names:
            return mapping((), parts[0])
        return mapping(tuple(sorted(zip(what.names, parts, strict=True), key=lambda item: item[0])), UNKNOWN)
    if what.kind in ("tuple", "list") and what.items:
        parts = tuple(module_value_of(item, framework) for item in what.items)
        items = None if what.many or what.kind == "list" else parts
        return sequence(what.kind, items, join_all(parts))
    return UNKNOWN


__all__ = ["LibraryCall", "attribute_value", "dtype_of", "kind_of_data", "module_value_of", "shape_value"]
