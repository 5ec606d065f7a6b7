"""Narrowing: what a condition that came out true (or false) says of the names in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from xlalint.abstract.lattice import join, join_all, when_truth, without_none
from xlalint.abstract.values import (
    ARRAYS,
    NONE,
    UNKNOWN,
    Class,
    Const,
    Function,
    Host,
    Instance,
    LibraryInstance,
    LibrarySymbol,
    Mapping,
    Partial,
    Sequence,
    Tensor,
    Union,
    Value,
    constant,
    host,
    instance,
    mapping,
    members,
    partial,
    sequence,
    tensor,
    tensors,
)
from xlalint.interpreter.arguments import parameters_of
from xlalint.interpreter.dispatch_loops import of_earlier_turn
from xlalint.interpreter.guards import assigned_once
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from xlalint.interpreter.frame import Frame
    from xlalint.program.linker import FunctionInfo


_SIGNATURES: Final = ("signature", "getfullargspec")
_OF_ANY_ARRAY: Final = ("dtype", "shape")
"""Attributes of which one that is missing tells that something is no array, of whatever framework."""


def assume(frame: Frame, node: ir.Node, wanted: bool) -> None:
    """Refine the environment, given that the condition came out as `wanted`."""
    handler = _ASSUMING.get(type(node))
    if handler is not None:
        handler(frame, node, wanted)


def _assume_not(frame: Frame, node: ir.Not, wanted: bool) -> None:
    assume(frame, node.value, not wanted)


def _assume_chain(frame: Frame, node: ir.Bool, wanted: bool) -> None:
    if node.is_and is wanted:
        for operand in node.values:
            assume(frame, operand, wanted)
    elif all(type(operand) is ir.Call for operand in node.values):
        _assume_any(frame, node.values, wanted)


def _assume_walrus(frame: Frame, node: ir.Walrus, wanted: bool) -> None:
    _refine(frame, ir.Name(node.name, 0), lambda value: when_truth(value, wanted))


def _assume_truth(frame: Frame, node: ir.Node, wanted: bool) -> None:
    _refine(frame, node, lambda value: when_truth(value, wanted))


def _assume_name(frame: Frame, node: ir.Name, wanted: bool) -> None:
    if not wanted:
        _assume_empty(frame, node)
    _assume_truth(frame, node, wanted)


def _assume_empty(frame: Frame, node: ir.Node) -> None:
    """Refine `xs`, and what it was made of, given that `[x for x in xs if isinstance(x, T)]` is empty."""
    if frame.function is None or "isinstance" not in frame.function.ir.calls or type(node) is not ir.Name:
        return
    if node.id not in frame.function.answers(_name_filtered) or not isinstance(frame.eval(node), Sequence):
        return
    made = assigned_once(node, frame.function.body, frame.statement)
    asked = _find_filter(made)
    if asked is None:
        return
    types = frame.eval(asked.args[1])
    while type(made) is ir.Comprehension:
        _refine(frame, made.generators[0].iterable, lambda value: _drop_instances(frame, value, types))
        made = assigned_once(made.generators[0].iterable, frame.function.body, frame.statement)
        if type(made) is not ir.Comprehension or path_of(made.element) != path_of(made.generators[-1].target):
            return


def _name_filtered(info: FunctionInfo) -> frozenset[str]:
    """The names to which a function assigns lists of what is of some types: most have none, and are asked at each test."""
    made = [
        one for one in ir.walk_statements(info.body) if type(one) is ir.Assign and _find_filter(one.value) is not None
    ]
    return frozenset([target.id for one in made for target in one.targets if type(target) is ir.Name])


def _find_filter(made: ir.Node) -> ir.Call | None:
    """Return the question of `[x for x in xs if isinstance(x, T)]`; None of other expressions."""
    if type(made) is not ir.Comprehension or len(made.generators) != 1 or len(made.generators[0].conditions) != 1:
        return None
    picked, asked = made.generators[0].target, made.generators[0].conditions[0]
    if type(asked) is not ir.Call or path_of(asked.func) != "isinstance" or len(asked.args) != 2:
        return None
    return asked if path_of(picked) and path_of(picked) == path_of(asked.args[0]) else None


def _drop_instances(frame: Frame, value: Value, types: Value) -> Value:
    """The value without the alternatives that are of these types, also of what it holds in lists."""
    if not isinstance(value, Sequence):
        return narrow_to(frame, value, types, False)
    if value.items is None:
        return sequence(value.kind, None, _drop_instances(frame, value.element, types))
    items = tuple([_drop_instances(frame, item, types) for item in value.items])
    return sequence(value.kind, items, join_all(items))


def _assume_any(frame: Frame, operands: tuple[ir.Node, ...], wanted: bool) -> None:
    """Refine the environment by what each of several conditions would say, of which one came out as `wanted`: `isinstance(x, A) or …`."""
    before, found = frame.env, []
    for operand in operands:
        frame.env = dict(before)
        assume(frame, operand, wanted)
        found.append(frame.env)
    frame.env = before
    for path in [path for path, value in found[0].items() if value is not before.get(path)]:
        if all(path in env and env[path] is not before.get(path) for env in found):
            frame.refine(path, join_all([env[path] for env in found]))


def _refine(frame: Frame, node: ir.Node, narrowed: Callable[[Value], Value]) -> None:
    path = path_of(node)
    if not path:
        return
    old = frame.eval(node)
    new = narrowed(old)
    if new is not old:
        frame.refine(path, new)


def _assume_comparison(frame: Frame, node: ir.Compare, wanted: bool) -> None:
    if len(node.ops) != 1:
        return
    op, right = node.ops[0], node.rights[0]
    left: ir.Node = ir.Name(node.left.name, 0) if type(node.left) is ir.Walrus else node.left
    if op in ("is not", "!="):
        op, wanted = ("is" if op == "is not" else "=="), not wanted
    if op == "==" and _assume_number(frame, left, right, wanted):
        return
    if op in ("is", "==") and wanted and _assume_property(frame, left, right):
        return
    if op in ("in", "not in") and type(left) is ir.Const:
        _assume_parameter(frame, left.value, right, wanted is (op == "in"))
        return
    if type(right) is not ir.Const:
        return
    if op == "is" and right.value is None:
        _refine(frame, left, (lambda value: _only_none(value)) if wanted else without_none)
    elif op == "==" and wanted and right.value == 0 and type(left) is ir.Call and path_of(left.func) == "len":
        _assume_empty(frame, left.args[0])
    elif op == "==" and wanted and isinstance(right.value, (str, bool)):
        _refine(frame, left, lambda value: constant(right.value) if isinstance(value, Host) else value)


def _assume_number(frame: Frame, left: ir.Node, right: ir.Node, wanted: bool) -> bool:
    """Refine `x` by `x.shape == ()`; return False where the comparison is another one.

    What a step gives to be logged is a number where nothing says more: the branch for other shapes reads none of it.
    """
    subject = _subject(left, ("shape",), ("size",))
    if subject is None or type(right) is not ir.Display or right.items:
        return False
    _refine(frame, subject, lambda value: _retype(value, "", 0) if wanted else _as_ready(value))
    return True


def _as_ready(value: Value) -> Value:
    """Return what has no dimension, as far as is known, as what lies ready."""
    return of_earlier_turn(value) if all(one.rank <= 0 for one in tensors(value)) else value


def _assume_property(frame: Frame, left: ir.Node, right: ir.Node) -> bool:
    """Refine `x` by `x.dtype == torch.bool`, `x.ndim == 2` or `type(x) is T`; return False where the comparison is none of these."""
    subject = _subject(left, ("dtype",), ())
    if subject is not None:
        named = frame.eval(right)
        if isinstance(named, Host) and named.type.startswith("dtype:"):
            _refine(frame, subject, lambda value: _retype(value, named.type[6:], -1))
        return True
    subject = _subject_of_rank(left)
    if subject is not None:
        count = frame.eval(right)
        if isinstance(count, Const) and type(count.value) is int:
            rank = count.value
            _refine(frame, subject, lambda value: _retype(value, "", rank))
        return True
    if type(left) is ir.Call and path_of(left.func) == "type" and len(left.args) == 1:
        types = frame.eval(right)
        _refine(frame, left.args[0], lambda value: narrow_to(frame, value, types, True))
        return True
    return False


def _assume_parameter(frame: Frame, name: object, node: ir.Node, wanted: bool) -> None:
    """Refine `f` by `"rng" in inspect.signature(f).parameters`: of several functions it is one that has such a parameter."""
    call = node.value if type(node) is ir.Attr and node.name in ("parameters", "args") else None
    if type(call) is not ir.Call or len(call.args) != 1 or path_of(call.func).rpartition(".")[2] not in _SIGNATURES:
        return

    def may_be(value: Value) -> bool:
        params = parameters_of(value)
        return params is None or any(param.name == name for param in params) is wanted

    def keep(value: Value) -> Value:
        kept = [one for one in _single_functions(value) if may_be(one)]
        return join_all(kept) if kept else value

    _refine(frame, call.args[0], keep)


def _single_functions(value: Value) -> Iterator[Value]:
    for one in members(value):
        if type(one) is Partial:
            yield from (partial(func, one.args, one.keywords) for func in members(one.func))
        else:
            yield one


def _subject(node: ir.Node, attributes: tuple[str, ...], methods: tuple[str, ...]) -> ir.Node | None:
    """`x` in `x.attribute` or `x.method()`."""
    if type(node) is ir.Attr and node.name in attributes:
        return node.value
    if type(node) is ir.Call and type(node.func) is ir.Attr and node.func.name in methods and not node.args:
        return node.func.value
    return None


def _subject_of_rank(node: ir.Node) -> ir.Node | None:
    """`x` where the expression is its rank: `x.ndim`, `x.dim()`, `len(x.shape)`."""
    if type(node) is ir.Call and path_of(node.func) == "len" and len(node.args) == 1:
        return _subject(node.args[0], ("shape",), ("size",))
    return _subject(node, ("ndim",), ("dim", "ndimension"))


def _retype(value: Value, dtype: str, rank: int) -> Value:
    """The value, its tensors of the dtype or rank that a test has shown."""
    return join_all(
        tensor(m.framework, dtype or m.dtype, rank if rank >= 0 else m.rank, m.place, m.sure, m.static)
        if isinstance(m, Tensor)
        else m
        for m in members(value)
    )


def unpack_shape(frame: Frame, source: ir.Node, count: int) -> None:
    """Refine `x` by `a, b, c = x.shape`: it has three dimensions, else the unpacking fails."""
    subject = _subject(source, ("shape",), ("size",))
    if subject is not None:
        _refine(frame, subject, lambda value: _with_rank(value, count))


def _with_rank(value: Value, rank: int) -> Value:
    unknown = [m for m in members(value) if isinstance(m, Tensor) and m.rank < 0]
    return _retype(value, "", rank) if len(unknown) == len(members(value)) else value


def _only_none(value: Value) -> Value:
    return NONE if value is UNKNOWN or any(member is NONE for member in members(value)) else value


def _assume_call(frame: Frame, node: ir.Call, wanted: bool) -> None:
    name = path_of(node.func)
    last = name.rpartition(".")[2]
    if last == "isinstance" and len(node.args) == 2:
        types = frame.eval(node.args[1])
        _refine(frame, node.args[0], lambda value: narrow_to(frame, value, types, wanted))
    elif last in frame.libraries.tests and len(node.args) == 1:
        framework = frame.libraries.tests[last]
        _refine(frame, node.args[0], lambda value: _tensors_only(value, framework, wanted))
    elif (last == "isscalar" and len(node.args) == 1 and wanted) or (not wanted and _asks_for_array(node)):
        _refine(frame, node.args[0], lambda value: _tensors_only(value, "", False))
    elif name in ("all", "any") and len(node.args) == 1 and (name == "all") is wanted:
        _assume_each(frame, node.args[0], wanted)
    elif name and not node.keywords:
        _assume_guard(frame, node, wanted)


def _asks_for_array(node: ir.Call) -> bool:
    """Return whether a call asks for what any array has: `hasattr(x, "dtype")`."""
    if path_of(node.func) != "hasattr" or len(node.args) != 2:
        return False
    asked = node.args[1]
    return type(asked) is ir.Const and asked.value in _OF_ANY_ARRAY


def _assume_each(frame: Frame, node: ir.Node, wanted: bool) -> None:
    """`all(isinstance(x, T) for x in xs)`: what holds of each element."""
    if type(node) is not ir.Comprehension or len(node.generators) != 1:
        return
    generator = node.generators[0]
    if generator.conditions or type(generator.target) is not ir.Name:
        return
    name = generator.target.id

    def narrow_items(value: Value) -> Value:
        if not isinstance(value, Sequence):
            return value
        items = None if value.items is None else tuple(element(item) for item in value.items)
        return sequence(value.kind, items, join_all(items) if items else element(value.element))

    def element(value: Value) -> Value:
        outer = frame.env
        frame.env = {**outer, name: value}
        assume(frame, node.element, wanted)
        found = frame.env[name]
        frame.env = outer
        return found

    _refine(frame, generator.iterable, lambda value: join_all(narrow_items(member) for member in members(value)))


def _assume_guard(frame: Frame, node: ir.Call, wanted: bool) -> None:
    """A call of a function that only tests its parameters (`def exists(x): return x is not None`)."""
    if frame.within_calls == _DEEPEST_GUARD:  # tests that call each other, or themselves
        return
    func = frame.eval(node.func)
    if not isinstance(func, Function) or len(node.args) > len(func.info.params):
        return
    tests = _find_returned_tests(func.info.body)
    params = func.info.params[1:] if func.receiver is not None else func.info.params
    paths = {param.name: path_of(arg) for param, arg in zip(params, node.args, strict=False) if path_of(arg)}
    given = {param.name: frame.eval(arg) for param, arg in zip(params, node.args, strict=False)}
    if not tests:
        for name, path in paths.items():
            if type(given[name]) in (Sequence, Mapping) and _asks_for_type(func.info.body, name):
                # The function may tell structures from what they hold: which of them comes here is not known.
                frame.refine(path, join(given[name], UNKNOWN))
        return
    outcomes = []
    for test in tests:
        inner = frame.within(func, dict(given))
        assume(inner, test, wanted)
        outcomes.append(inner.env)
    for name, path in paths.items():
        found = join_all(env[name] for env in outcomes)
        if found is not given[name]:
            frame.refine(path, found)


def _asks_for_type(body: tuple[ir.Statement, ...], name: str) -> bool:
    """Return whether a body asks of which type a bare name is."""
    calls = (one for one in ir.walk(body) if type(one) is ir.Call and one.args)
    asked = (one.args[0] for one in calls if path_of(one.func) in ("isinstance", "type"))
    return any(type(one) is ir.Name and one.id == name for one in asked)


def _find_returned_tests(body: tuple[ir.Statement, ...]) -> list[ir.Node]:
    """Return the tests that a function returns, where it does nothing but test; empty where it does more."""
    found: list[ir.Node] = []
    for statement in body[:_LONGEST_GUARD]:
        if type(statement) is ir.If:
            inner = _find_returned_tests(statement.body), _find_returned_tests(statement.orelse)
            if not inner[0] or (statement.orelse and not inner[1]):
                return []
            found += [*inner[0], *inner[1]]
        elif type(statement) is ir.Return and isinstance(statement.value, _TESTS):
            found.append(statement.value)
        else:
            return []
    return found if len(body) <= _LONGEST_GUARD else []


_LONGEST_GUARD: Final = 3
_DEEPEST_GUARD: Final = 4
_TESTS: Final = (ir.Compare, ir.Call, ir.Not, ir.Bool)


def _tensors_only(value: Value, framework: str, wanted: bool) -> Value:
    kept = [m for m in members(value) if isinstance(m, Tensor) is wanted and (wanted or m is not UNKNOWN)]
    if kept:
        return join_all(kept)
    if not wanted:
        return UNKNOWN
    return tensor(framework) if _may_be_tensor(value) else value


def _may_be_tensor(value: Value) -> bool:
    return any(m is UNKNOWN or (isinstance(m, Host) and not m.type) for m in members(value))


def narrow_to(frame: Frame, value: Value, types: Value, wanted: bool) -> Value:
    """The alternatives for which `isinstance(value, types)` is as wanted."""
    kept = [member for member in members(value) if is_instance(frame, member, types) is not (not wanted)]
    if wanted and (value is UNKNOWN or any(member is UNKNOWN for member in kept)):
        known = [member for member in kept if member is not UNKNOWN]
        described = [describe(frame, kind) for kind in _each(types)]
        return join_all([*known, *described]) if described else value
    if not kept:
        described = [describe(frame, kind) for kind in _each(types)] if wanted else []
        return join_all(described) if described else value if wanted else UNKNOWN
    return join_all(kept)


def _each(types: Value) -> list[Value]:
    """The classes in the second argument of `isinstance`."""
    found: list[Value] = []
    for member in members(types):
        if isinstance(member, Sequence):
            found.extend(kind for item in (member.items or (member.element,)) for kind in _each(item))
        else:
            found.append(member)
    return found


_HOST_TYPES: Final = frozenset(("int", "float", "bool", "str", "bytes", "complex"))
_CONTAINERS: Final = frozenset(("list", "tuple", "set", "frozenset", "dict"))


def describe(frame: Frame, kind: Value) -> Value:
    """An instance of a class value."""
    if isinstance(kind, Class):
        return instance(kind.info)
    if isinstance(kind, LibrarySymbol):
        last = kind.name.removeprefix("builtins.")
        if last in _HOST_TYPES:
            return host(last)
        if last in ("list", "tuple", "set", "frozenset"):
            return sequence(last, None, UNKNOWN)
        if last == "dict":
            return mapping((), UNKNOWN)
        return frame.interpreter.annotations.external(kind.name) or UNKNOWN
    return UNKNOWN


def is_instance(frame: Frame, value: Value, types: Value) -> bool | None:
    """Return what `isinstance(value, types)` gives, or None where that is not known."""
    outcomes = [_is_instance(frame, value, kind) for kind in _each(types)]
    if any(outcome is True for outcome in outcomes):
        return True
    return False if outcomes and all(outcome is False for outcome in outcomes) else None


def _is_instance(frame: Frame, value: Value, kind: Value) -> bool | None:
    if isinstance(value, Union):
        outcomes = {_is_instance(frame, member, kind) for member in value.members}
        return outcomes.pop() if len(outcomes) == 1 else None
    if value is UNKNOWN or isinstance(value, LibrarySymbol):
        return None
    if isinstance(kind, Class):
        if isinstance(value, Instance):
            if kind.info in value.klass.mro:
                return True
            return None if value.klass in kind.info.mro or "?" in value.klass.mro else False
        return None if isinstance(value, LibraryInstance) or (isinstance(value, Host) and not value.type) else False
    if isinstance(kind, Host) and kind.type.startswith("dtype:"):  # `np.int64`
        return False if isinstance(value, Tensor) and value.framework != ARRAYS else None
    if not isinstance(kind, LibrarySymbol):
        return None
    return _is_library_instance(frame, value, kind.name)


def _is_array_type(frame: Frame, name: str) -> bool:
    """Return whether a library's class is one of tensors or arrays, of which no list or dict is an instance."""
    known = frame.apis.type(name)
    return known is not None and known.kind in ("tensor", "array")


# Library classes of which no tensor is an instance.
_NO_TENSORS: Final = (
    "collections.ChainMap",
    "collections.Counter",
    "collections.OrderedDict",
    "collections.UserDict",
    "collections.abc.Callable",
    "collections.abc.Mapping",
    "collections.abc.Mutable",
    "collections.abc.Sequence",
    "collections.abc.Set",
    "collections.defaultdict",
    "collections.deque",
    "enum.",
    "numbers.",
    "pathlib.",
    "PIL.",
    "accimage.",
)


def _is_library_instance(frame: Frame, value: Value, name: str) -> bool | None:
    short = name.removeprefix("builtins.")
    if isinstance(value, Tensor):
        if short.startswith(frame.libraries.not_tensors):
            return False
        known = frame.apis.type(name)
        if known is not None and known.kind in ("tensor", "array"):
            owner = ARRAYS if known.kind == "array" else frame.apis.framework(name)
            if owner != value.framework:
                return False
            return True if not known.dtype or known.dtype == value.dtype else None
        apart = (
            (name.startswith("builtins.") and short != "object")  # `slice`, `range`, `frozenset` as `int` and `list`
            or short.startswith(_NO_TENSORS)
            or (value.framework != ARRAYS and short.startswith(f"{ARRAYS}."))  # its numbers
        )
        return False if apart else None
    if isinstance(value, (Const, Host)):
        own = type(value.value).__name__ if isinstance(value, Const) else value.type
        if not own:
            return None
        if short in _HOST_TYPES:
            return own == short or (own == "bool" and short == "int")
        if short in ("numbers.Number", "numbers.Real"):
            return own in ("int", "float", "bool")
        return own == "NoneType" and short.endswith("NoneType")
    if isinstance(value, (Sequence, Mapping)) and (short in _HOST_TYPES or _is_array_type(frame, name)):
        return False
    if isinstance(value, Sequence):
        if value.kind in ("list", "tuple", "set", "frozenset"):
            if short in _CONTAINERS:
                return value.kind == short
            return None if "Sequence" in short or "Iterable" in short or "typing" in short else False
        if value.kind in ("modules", "chain"):
            return short in frame.libraries.containers[value.kind] or None
        return None
    if isinstance(value, Mapping):
        return (
            True
            if short in ("dict", "collections.abc.Mapping", "typing.Mapping")
            else False
            if short in _CONTAINERS
            else None
        )
    if isinstance(value, Instance):
        bases = value.klass.library_bases()
        if name in bases:
            return True
        return False if short in _HOST_TYPES or (frame.apis.type(name) is not None and "?" not in bases) else None
    if isinstance(value, LibraryInstance):
        if name == value.name or name in frame.apis.ancestors(value.name):
            return True
        return False if short in _HOST_TYPES or short in _CONTAINERS else None
    if isinstance(value, (Function, Class)):
        return False if short in _HOST_TYPES or short in _CONTAINERS or frame.apis.type(name) is not None else None
    return None


_ASSUMING: Final[dict[type[ir.Expr], Callable[[Frame, Any, bool], None]]] = {
    ir.Not: _assume_not,
    ir.Bool: _assume_chain,
    ir.Walrus: _assume_walrus,
    ir.Name: _assume_name,
    ir.Attr: _assume_truth,
    ir.Compare: _assume_comparison,
    ir.Call: _assume_call,
}
