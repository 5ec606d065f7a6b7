"""Batches of which a loop over steps, or a function that is given them, moves a part: what it has not moved yet is in host memory, where
a loader has put it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import (
    Function,
    Instance,
    LibraryInstance,
    Unknown,
    Value,
    constant,
    host,
    mapping,
    members,
    sequence,
    tensor,
)
from xlalint.frameworks.checks.library_names import DATA_LOADER
from xlalint.interpreter.device_loops import find_source, last_name
from xlalint.interpreter.frame import body_of
from xlalint.interpreter.library_calls import dtype_of
from xlalint.interpreter.loop_names import names_bound
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.arguments import Arguments
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.program.linker import FunctionInfo, ModuleInfo

_Body = tuple[ir.Statement, ...]
_MOVES: Final = frozenset(("to", "cuda"))
_MOVING_LOADERS: Final = frozenset(("accelerate",))  # of a loader that they prepare, batches are on the device
_PREPARING: Final = _MOVING_LOADERS | {"lightning", "pytorch_lightning"}  # these move what they give to methods
_OF_TABLES: Final = frozenset(("items", "keys", "values", "get", "pop"))
_HOST_TENSOR: Final = tensor("torch", place="cpu", sure=False)
_WRAPPER: Final = "Variable"  # what it gives is what it is given, since torch 0.4
_LOOKING: Final = frozenset(("len", "tuple", "list", "dict", "isinstance", "type", "print"))
_MODELS: Final = (Unknown, Instance, LibraryInstance)
_GIVEN: Final = ("", "/", "k")  # kinds of parameters that stand for one argument
_PLAIN: Final = (ir.Name, ir.Attr, ir.Const)


def find_unmoved(frame: Frame, loop: ir.For, iterable: Value, steps: bool) -> dict[str, Value]:
    """Find the names to which a loop binds what is in host memory, where nothing else tells: it moves a part of that itself.

    That is so of loops over `steps`, and of those over what surely is a loader of the host's.
    """
    module = frame.module
    if not module.taught.tracks_place or _may_prepare(module):
        return {}
    if not steps and not _loads_on_host(frame, loop, iterable):
        return {}
    if frame.interpreter.annotations.framework(module) != "torch":
        return {}
    bound, body = names_bound(loop.target), loop.body
    own = bound | _find_parts(bound, body)
    if own.isdisjoint(_find_moved(frame, body)) and not _hands_to_mover(frame, own, body):
        return {}
    left = bound.difference(_find_changed(frame, body), _find_fed(frame, body).difference(_find_moved(frame, body)))
    kinds = {name: _kind_of(name, body) for name in left}
    if len(bound) > 1:
        kinds = {name: kind or _HOST_TENSOR for name, kind in kinds.items()}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _loads_on_host(frame: Frame, loop: ir.For, iterable: Value) -> bool:
    """Return whether a loop goes over what surely is a loader that leaves its batches where they are, or counts these: none that a library
    has prepared."""
    source = find_source(loop)
    loader = frame.eval(source) if source is not loop.iterable and type(source) in (ir.Name, ir.Attr) else iterable
    loads = isinstance(loader, LibraryInstance) and loader.name in DATA_LOADER
    return loads and not frame.interpreter.some_module.of(_may_prepare)


def _may_prepare(module: ModuleInfo) -> bool:
    """Return whether a module imports what moves the batches of loaders to a device, once it has prepared these."""
    return not _MOVING_LOADERS.isdisjoint(module.packages)


def find_unmoved_parameters(interpreter: Interpreter, info: FunctionInfo) -> dict[str, Value]:
    """Find the parameters of which a function moves what it is given, or a part of that: `step(self, batch)`, whoever calls it."""
    module, body = info.module, info.body
    if not module.taught.tracks_place or not _PREPARING.isdisjoint(module.packages):
        return {}
    params = [param for param in info.params[info.owner is not None :] if param.kind in _GIVEN]
    if not _may_move(info, {one.name for one in params}) or interpreter.annotations.framework(module) != "torch":
        return {}
    frame = interpreter.module_frame(module)
    assigned = [target for one in ir.walk_statements(body) if type(one) is ir.Assign for target in one.targets]
    used = (one.name for one in params if interpreter.annotations.telling_use(info, one))
    tensors = set(used).union(*map(names_bound, assigned))
    moved = set(_find_moved(frame, body, tensors))
    own = [one.name for one in params if not moved.isdisjoint({one.name} | _find_parts({one.name}, body))]
    changed = set(_find_changed(frame, body)) if own else ()
    kinds = {name: _kind_of(name, body) for name in own if name not in changed}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _may_move(info: FunctionInfo, names: set[str]) -> bool:
    """Return whether a body may move what some names stand for, or a part of it. Few do: the others cost little."""
    if _MOVES.isdisjoint(info.ir.calls):
        return False
    nodes = ir.walk(info.body)
    calls = [one for one in nodes if type(one) is ir.Call and type(one.func) is ir.Attr and one.func.name in _MOVES]
    moved = {_root_of(one.func.value) for one in calls if type(one.func) is ir.Attr}
    if not moved.isdisjoint(names) or any(map(_moves_each, nodes)):
        return True
    return not (moved - {"self", ""}).isdisjoint(_find_parts(names, info.body))


def encode(frame: Frame, arguments: Arguments, node: ir.Call) -> Value | None:
    """Run `processor(text, return_tensors="pt")` of what is not known: it gives tensors in host memory, by names or one alone."""
    if arguments.keywords.get("return_tensors") is not constant("pt") or not frame.module.taught.tracks_place:
        return None
    moved = [one.value.func for one in ir.walk(body_of(frame)) if type(one) is ir.Eval and type(one.value) is ir.Call]
    if any(type(func) is ir.Attr and func.name in _MOVES for func in moved):
        return None  # what is moved in place may be just this
    return _HOST_TENSOR


def _find_parts(bound: set[str], body: _Body) -> set[str]:
    """Find the names to which a body gives a part of what these stand for: `x, y = batch[0], batch[1]`, `for key, x in batch.items()`."""
    nodes = ir.walk(body)
    given = (one for one in nodes if type(one) is ir.Assign and type(one.value) is not ir.Call)
    pairs = [pair for one in given for target in one.targets for pair in _pair_up(target, one.value)]
    pairs += [(one.target, one.iterable) for one in nodes if type(one) is ir.For]
    return {name for target, value in pairs if _root_of(value) in bound for name in names_bound(target)}


def _pair_up(target: ir.Node, value: ir.Node) -> list[tuple[ir.Node, ir.Node]]:
    """Pair what an assignment names with what it gives: each item of `x, y = batch[0], batch[1]`."""
    if type(target) is ir.Display and type(value) is ir.Display and len(target.items) == len(value.items):
        return list(zip(target.items, value.items, strict=True))
    return [(target, value)]


def _hands_to_mover(frame: Frame, names: set[str], body: _Body) -> bool:
    """Return whether a loop gives one of these names to a function of the program that moves something, and works with it there."""
    calls = [one for one in ir.walk(body) if type(one) is ir.Call]
    given = [one for one in calls if any(type(arg) is ir.Name and arg.id in names for arg in one.args)]
    return any(_moves(frame, one) for one in given)


def _kind_of(name: str, body: _Body) -> Value | None:
    """Return what a batch is by how a loop uses it: a table, a list, or a tensor; None where that does not tell."""
    used = list(_list_uses(name, body))
    calls = [one for one in used if type(one) is ir.Call]
    if any(name in map(path_of, one.args) for one in calls if path_of(one.func) not in _LOOKING):
        return None  # what is handed all of it may move it
    of_name = [one for one in used if (type(one) is ir.Attr or type(one) is ir.Sub) and path_of(one.value) == name]
    keys = [one.index.value for one in of_name if type(one) is ir.Sub and type(one.index) is ir.Const]
    attributes = {one.name for one in of_name if type(one) is ir.Attr}
    if any(isinstance(key, str) for key in keys) or not attributes.isdisjoint(_OF_TABLES):
        return mapping((), _HOST_TENSOR)
    if not attributes.isdisjoint(_MOVES):
        return _HOST_TENSOR
    return sequence("list", None, _HOST_TENSOR) if keys or any(_takes_apart(one, name) for one in used) else None


def _list_uses(name: str, body: _Body) -> Iterator[object]:
    """The parts of a body up to where a name is given to something else."""
    given = [one for one in ir.walk_statements(body) if type(one) is ir.Assign and name in map(path_of, one.targets)]
    first = min(given, key=lambda one: one.at, default=None)
    for one in ir.walk(body):
        if first is None or getattr(one, "at", first.at) < first.at:
            yield one
    if first is not None:
        yield from ir.walk((first.value,))


def _takes_apart(node: object, name: str) -> bool:
    """Return whether a statement, or a comprehension, goes over what a name stands for: `x, y = batch`."""
    if type(node) is ir.Assign:
        return path_of(node.value) == name and any(type(target) is ir.Display for target in node.targets)
    return type(node) is ir.Comprehension and path_of(node.generators[0].iterable) == name


def _moves_each(node: object) -> bool:
    """Return whether a part of a body is `[x.cuda() for x in batch]`."""
    return type(node) is ir.Comprehension and type(node.element) is ir.Call and last_name(node.element.func) in _MOVES


def _find_moved(frame: Frame, body: _Body, tensors: Collection[str] | None = None) -> Iterator[str]:
    """The names of which a body moves what they stand for, or a part of it: `x.cuda()`, `batch["x"].to(device)`, `x, y = to_cuda(x, y)`.

    What is moved to one of the `tensors`, or where that is, counts for nothing, if these are given: `mask.to(x.device)` is for any device.
    """
    for one in ir.walk(body):
        if type(one) is ir.Comprehension and _moves_each(one):
            yield from [_root_of(generator.iterable) for generator in one.generators[:1]]
        elif type(one) is ir.Call and type(one.func) is ir.Attr and one.func.name in _MOVES:
            given = [*one.args, *(value for key, value in one.keywords if key == "device")]
            follows = tensors is not None and any(_is_place_of(arg, tensors) for arg in given)
            stays = one.func.name == "to" and not given
            if not (stays or follows or any(type(arg) in _PLAIN and _stays(frame, arg) for arg in given)):
                yield _root_of(one.func.value)
        elif type(one) is ir.Assign and type(one.value) is ir.Call and _moves(frame, one.value):
            bound = {name for target in one.targets for name in names_bound(target)}
            yield from bound.intersection(map(_root_of, one.value.args))


def _stays(frame: Frame, node: ir.Node) -> bool:
    """Return whether `x.to` moves nothing to a device: it is given a dtype, as `y.dtype` is whatever `y` is, or the host."""
    if path_of(node).endswith("dtype"):
        return True
    given = frame.eval(node)
    return bool(dtype_of(given)) or given is constant("cpu") or given is host("device:cpu")


def _is_place_of(node: ir.Node, tensors: Collection[str]) -> bool:
    """Return whether an expression is, or may be, where a tensor is: `x.device`, `x`, `torch.zeros(3)`."""
    place = node.value if type(node) is ir.Attr and node.name == "device" else node
    return type(node) not in _PLAIN or path_of(place) in tensors


def _find_changed(frame: Frame, body: _Body) -> Iterator[str]:
    """The names whose values a loop changes in place: `batch["x"] = batch["x"].cuda()`, `batch.to(device)`, `move(batch)`."""
    for one in ir.walk(body):
        if type(one) is ir.Assign:
            yield from [_root_of(target) for target in one.targets if type(target) is not ir.Name]
        elif type(one) is ir.Eval and type(one.value) is ir.Call:
            call = one.value
            if type(call.func) is ir.Attr and call.func.name in _MOVES:
                yield _root_of(call.func.value)
            elif _moves(frame, call):
                yield from map(_root_of, call.args)


def _find_fed(frame: Frame, body: _Body) -> set[str]:
    """Find the names that a loop hands to what may be a model, before anything else: `nn.DataParallel` moves what it is given."""
    calls = [one for one in ir.walk(body) if type(one) is ir.Call and one.args and type(one.func) in _PLAIN]
    fed = [one for one in calls if type(one.args[0]) is ir.Name]
    return {
        path_of(one.args[0])
        for one in fed
        if any(isinstance(member, _MODELS) for member in members(frame.eval(one.func)))
    }


def _moves(frame: Frame, call: ir.Call) -> bool:
    """Return whether a function of the program is called that moves something to a device."""
    if not call.args or type(call.func) not in _PLAIN:
        return False
    called = [one.info for one in members(frame.eval(call.func)) if isinstance(one, Function)]
    return any(not _MOVES.isdisjoint(info.ir.calls) for info in called)


def _root_of(node: ir.Node) -> str:
    """The name that an expression is, or of which it takes a part."""
    while type(node) is ir.Attr or type(node) is ir.Sub or type(node) is ir.Call:
        node = _source_of(node) if type(node) is ir.Call else node.value
    return node.id if type(node) is ir.Name else ""


def _source_of(call: ir.Call) -> ir.Node:
    return call.args[0] if call.args and last_name(call.func) == _WRAPPER else call.func


__all__ = ["encode", "find_unmoved", "find_unmoved_parameters"]
