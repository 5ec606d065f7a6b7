"""XLA511: training loops in which nothing tells torch_xla to run, and replicas whose gradients are never added up (torch_xla 2.9).

A step of an optimizer is noted where it is taken (`step_sequence`). A loop that computes gradients and takes steps is judged as it ends:
it is in order where anything in it may give the device its orders, or where the loader does that it goes over. Of a loader of which
nothing is known that is taken for granted, unless the loop moves what it gets to the device itself, as only a plain loader's batches need.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, Union

from xlalint.abstract.values import INT, TRUE, UNKNOWN, Function, Host, LibraryInstance, Method, Sequence, Value
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.checks.call_site import CallSite, asks_about, asks_for_device
from xlalint.frameworks.torch.checks.device_before_launch import LAUNCH, one_process
from xlalint.frameworks.torch.checks.obsolete_xla_api import SPAWN, XM
from xlalint.interpreter.arguments import Arguments, bind_parameters
from xlalint.interpreter.context import Context, PendingHazard
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.frame import body_of
from xlalint.interpreter.spelling import path_of
from xlalint.interpreter.step_sequence import OptimizerStep, Pace
from xlalint.lowering import ir
from xlalint.rules.variants import UNREDUCED

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.program.linker import ModuleInfo

_RULE = "XLA511"
_ORDERS = ("torch_xla.sync", "torch_xla.step", f"{XM}.mark_step", f"{XM}.unlazy", "torch_xla._XLAC._xla_step_marker")
_OPTIMIZER_STEP = f"{XM}.optimizer_step"
# What hands out one batch a step, and gives the order in between.
DEVICE_LOADERS = (
    "torch_xla.distributed.parallel_loader.MpDeviceLoader",
    "torch_xla.distributed.parallel_loader.PerDeviceLoader",
)
_PLAIN_LOADER = "torch.utils.data.DataLoader"
# Calls that pass on what their first argument gives, a batch at a time.
_PASSING = frozenset(("enumerate", "tqdm", "iter", "zip", "islice", "cycle", "track", "progress_bar"))
_MOVING = frozenset(("to", "send_to_device", "send_cpu_data_to_device"))
# What compiles or runs each step by itself.
_RUNNING = frozenset(("torch_xla.compile", "torch.compile", "torch_xla.experimental.eager_mode"))
# What adds up gradients over the replicas, or makes one program of them, by the names by which it is called.
_REDUCING = frozenset(
    (
        "reduce_gradients",
        "optimizer_step",
        "all_reduce",
        "all_reduce_bucketized_gradients",
        "reduce_scatter",
        "mesh_reduce",
        "DistributedDataParallel",
        "DDP",
        "FullyShardedDataParallel",
        "XlaFullyShardedDataParallel",
        "SpmdFullyShardedDataParallel",
        "FSDP",
        "FSDPv2",
        "fully_shard",
        "mark_sharding",
        "prepare",
        "setup",
        "register_comm_hook",
    )
)
_NEVER_RUN = "runs in a loop that never makes the device execute: the graph grows with each iteration, and each read compiles it again"
_APART = "runs in several processes, and nothing combines their gradients: each trains its own model"
AND_NEVER_RUN = ", and the device is never made to run it"


class Begun(NamedTuple):
    """The state that a loop found as it began."""

    orders: int
    gradients: int
    pending: frozenset[int]


_NOTHING_YET = Begun(0, 0, frozenset())
Loop = Union[ir.For, ir.While]


# ------------------------------------------------------------------------------------------------- what is seen


def _pace(frame: Frame) -> Pace:
    pace = frame.context.pace
    if pace is None:
        pace = frame.context.pace = Pace()
    return pace


@asks_about("torch", *_ORDERS, methods=("mark_step", "sync", "optimizer_step", "_xla_step_marker"))
def note_order(call: CallSite) -> None:
    """`torch_xla.sync()`."""
    _pace(call.frame).runs()


@asks_about("torch", _OPTIMIZER_STEP)
def check_optimizer_step(call: CallSite) -> None:
    """`xm.optimizer_step(optimizer)`, which gives the order only if it is asked to."""
    barrier = call.value("barrier", 1)
    _take_step(call, reduces=True)
    off = barrier is not None and barrier is not TRUE and barrier is not UNKNOWN and call.arguments.extra is None
    if not off and not call.lacks("barrier", 1):
        _pace(call.frame).runs()


@asks_about("torch", methods=("backward",))
def note_backward(call: CallSite) -> None:
    """`loss.backward()`; who is given the loss to do it steps the device as well: `accelerator.backward(loss)`."""
    pace = _pace(call.frame)
    pace.gradients += 1
    if call.arguments.args or call.arguments.rest is not None:
        pace.runs()


@asks_about("torch", methods=("step",))
def check_step(call: CallSite) -> None:
    """`optimizer.step()`."""
    if _is_optimizer(call) and not call.arguments.args:
        _take_step(call, reduces=False)


def _take_step(call: CallSite, reduces: bool) -> None:
    frame = call.frame
    if asks_for_device(frame):
        _pace(frame).runs()  # another branch is for the XLA device
        return
    statement = frame.statement + (frame.base & 0xFFFFFFFF)
    sure = not (frame.paths.branch_depth or frame.paths.ambiguous_callee)
    spelled = f"{call.spelled}(…)" if reduces else f"{call.spelled}()"
    if not frame.paths.suppressed and not frame.paths.separate_graph:
        _pace(frame).takes(OptimizerStep(call.node.at + frame.base, statement, spelled, reduces, sure))


def _is_optimizer(call: CallSite) -> bool:
    """Return whether what steps is an optimizer.

    Its type decides, or, where that is not known, its name.
    """
    receiver = call.callee.receiver if isinstance(call.callee, Method) else UNKNOWN
    if isinstance(receiver, LibraryInstance):
        known = call.frame.apis.klass(receiver.name)
        return known is not None and known.base == "optimizer"
    func = call.node.func
    name = path_of(func.value).rpartition(".")[2].lower() if isinstance(func, ir.Attr) else ""
    return receiver is UNKNOWN and ("optim" in name or name == "opt") and "sched" not in name


# ------------------------------------------------------------------------------------------------- loops


def begin_loop(frame: Frame) -> Begun:
    """Return the state as a loop begins."""
    pace = frame.context.pace
    return _NOTHING_YET if pace is None else Begun(pace.orders, pace.gradients, frozenset(pace.pending))


def end_loop(frame: Frame, node: Loop, begun: object) -> None:
    """Judge a loop that was run."""
    assert isinstance(begun, Begun)
    pace = frame.context.pace
    if pace is None:
        return
    if isinstance(node, ir.For) and _gives_orders(frame, node.iterable):
        pace.runs()
    taken = [step for at, step in pace.pending.items() if at not in begun.pending]
    if not taken or pace.gradients == begun.gradients:
        return  # a loop around this one may be the one that trains
    if pace.orders == begun.orders and _host_fed(frame, node) and not _runs_by_itself(frame.module):
        for step in taken:
            _report(frame.context, step, _NEVER_RUN, "step" if not step.reduces else "barrier")
    for step in taken:
        pace.pending.pop(step.at, None)


def _report(context: Context, step: OptimizerStep, detail: str, variant: str) -> None:
    confidence = Confidence.CERTAIN if step.sure else Confidence.LIKELY
    context.sightings[_RULE, step.at] = PendingHazard(
        _RULE, step.at, step.statement, "torch", confidence, step.spelled, detail, variant
    )


def _source(frame: Frame, node: ir.Node) -> tuple[ir.Node, Value]:
    """Return what a loop's iterable goes over in the end, and its value: `loader` of `enumerate(tqdm(loader))`."""
    renamed: set[str] = set()
    while True:
        if isinstance(node, ir.Call):
            if not node.args or last_name(node.func) not in _PASSING:
                return node, UNKNOWN
            node = node.args[0]
        elif isinstance(node, ir.Name) and node.id in renamed:
            return node, _argument_of(frame, node.id)
        else:
            given = _find_passing_call(frame, node.id) if isinstance(node, ir.Name) else None
            if given is None:
                return node, _value_of(frame, node)
            renamed.add(node.id)  # type: ignore[union-attr]
            node = given


def _find_passing_call(frame: Frame, name: str) -> ir.Call | None:
    """The call that passes on batches which is all that a name is ever assigned: `batches = enumerate(loader)`."""
    found = [
        one for one in ir.walk_statements(body_of(frame)) if isinstance(one, ir.Assign) and name in _names(one.targets)
    ]
    value = found[0].value if len(found) == 1 and isinstance(found[0].targets[0], ir.Name) else None
    return value if isinstance(value, ir.Call) and value.args and last_name(value.func) in _PASSING else None


def _argument_of(frame: Frame, name: str) -> Value:
    """Return what a parameter was given, before it was assigned."""
    params = frame.function.params if frame.function is not None else ()
    given = (value for param, value in zip(params, frame.context.args, strict=False) if param.name == name)
    return next(given, UNKNOWN)


def _value_of(frame: Frame, node: ir.Node) -> Value:
    """Return what a name or attribute holds, found without running anything again."""
    path = path_of(node)
    if isinstance(node, ir.Name):
        return frame.lookup(node.id)
    known = frame.env.get(path) if path else None
    if known is None and isinstance(node, ir.Attr) and path:
        return frame.interpreter.attribute(frame, _value_of(frame, node.value), node.name, 0)
    return known or UNKNOWN


def _gives_orders(frame: Frame, iterable: ir.Node) -> bool:
    source, value = _source(frame, iterable)
    if isinstance(source, ir.Call):
        return last_name(source.func) in ("MpDeviceLoader", "per_device_loader")
    return isinstance(value, LibraryInstance) and value.name in DEVICE_LOADERS


def _host_fed(frame: Frame, node: Loop) -> bool:
    """Return whether what the loop works on is surely not given out by what steps the device."""
    if isinstance(node, ir.For):
        source, value = _source(frame, node.iterable)
        if isinstance(value, LibraryInstance) and value.name == _PLAIN_LOADER:
            return True
        if isinstance(source, ir.Call) and last_name(source.func) == "DataLoader":
            return True
        if (_is_written_out(source) or _is_known(value)) and not _draws(node):
            return True
    elif not _draws(node):
        return True
    return any(_find_moves(node))


def _is_known(value: Value) -> bool:
    """Return whether a value holds what the host has, such as numbers or a list.

    A list that may just go over something else does not count.
    """
    return isinstance(value, Host) or (
        isinstance(value, Sequence) and (value.items is not None or value.element is not UNKNOWN)
    )


def _is_written_out(source: ir.Node) -> bool:
    """Return whether the loop goes over numbers, or a list that is written out."""
    if isinstance(source, ir.Call):
        return last_name(source.func) in ("range", "trange", "count")
    return isinstance(source, (ir.Display, ir.Comprehension))


def _draws(node: Loop) -> bool:
    """Return whether the loop's body takes batches from somewhere else: `next(batches)`."""
    return any(isinstance(one, ir.Call) and last_name(one.func) in ("next", "__next__") for one in ir.walk(node.body))


def _find_moves(node: Loop) -> Iterator[ir.Call]:
    """The calls that move what the loop is given, or makes, to a device."""
    bound = set(_names(node.target)) if isinstance(node, ir.For) else set()
    for one in ir.walk(node.body):
        if isinstance(one, ir.Assign):
            bound.update(name for target in one.targets for name in _names(target))
        elif isinstance(one, ir.Generator):
            bound.update(_names(one.target))
    for one in ir.walk(node.body):
        if isinstance(one, ir.Call) and one.args and last_name(one.func) in _MOVING:
            moved = one.func.value if isinstance(one.func, ir.Attr) and one.func.name == "to" else one.args[0]
            if not bound.isdisjoint(_names(moved)) or (isinstance(moved, ir.Call) and last_name(moved.func) == "next"):
                yield one


def _names(node: object) -> Iterator[str]:
    return (one.id for one in ir.walk(node) if isinstance(one, ir.Name))


def _runs_by_itself(module: ModuleInfo) -> bool:
    """Return whether the module's code has steps compiled as functions, or runs eagerly."""
    module.reader.read_whole(module)
    bodies = [ir.decode_body(module.unit.body), *(info.body for info in module.functions)]
    imported = {binding.local for binding in module.unit.imports if binding.name in ("compile", "eager_mode")}
    for one in ir.walk(tuple(bodies)):
        if isinstance(one, ir.Call) and (
            path_of(one.func) in _RUNNING or last_name(one.func) in ("eager_mode", *imported)
        ):
            return True
    decorators = (decorator for info in module.functions for decorator in info.ir.decorators)
    return any(path_of(one.func if isinstance(one, ir.Call) else one) in _RUNNING for one in decorators)


# ------------------------------------------------------------------------------------------------- replicas


@asks_about("torch", LAUNCH, SPAWN)
def check_replicas(call: CallSite) -> None:
    """`torch_xla.launch(train)`: what runs in each process, and whether it adds up the gradients."""
    frame, started = call.frame, call.value("fn", 0)
    if not isinstance(started, Function) or one_process(call) or asks_for_device(frame):
        return
    given = call.value("args", 1)
    more = list(given.items) if isinstance(given, Sequence) and given.items is not None else []
    rest = None if given is None or more or (isinstance(given, Sequence) and given.items == ()) else UNKNOWN
    bound = bind_parameters(frame.interpreter, started.info, started.receiver, Arguments([INT, *more], {}, rest))
    context = frame.interpreter.enter(started.info, bound, started.closure)
    frame.enters(context, call.node.at)
    reached = list(_find_contexts(context))
    if any(_reduces(one) for one in reached):
        return
    for one in reached:
        for step in one.pace.steps.values() if one.pace is not None else ():
            known = one.sightings.get((_RULE, step.at))
            _report(one, step, _APART + (AND_NEVER_RUN if known is not None else ""), UNREDUCED)


def _find_contexts(context: Context) -> Iterator[Context]:
    seen = {context}
    todo = [context]
    while todo:
        one = todo.pop()
        if not one.module.followed:
            yield one
        fresh = [callee for callee in one.calls if callee not in seen]
        seen.update(fresh)
        todo.extend(fresh)


def _reduces(context: Context) -> bool:
    return context.function is not None and not _REDUCING.isdisjoint(context.function.ir.calls)
