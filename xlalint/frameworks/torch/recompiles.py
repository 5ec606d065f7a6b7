"""Find what makes torch's graph another one at each step: numbers of the host that change, and tensors that grow.

A Python number becomes a part of the graph where it says which elements or how many; torch_xla compiles for each value. Where it is only
added, multiplied or compared, it is passed to the graph like a tensor, and costs nothing.

TorchTPU runs each operation as a program of its own, of which a number that says which elements is a part too: a loop that indexes by its
counter compiles one program for each turn. What it passes to its programs as an operand is told by `_OPERANDS_ON_TPU`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import (
    ARRAYS,
    TRUE,
    UNKNOWN,
    Const,
    Function,
    Host,
    LibrarySymbol,
    Sequence,
    Tensor,
    Value,
    host,
    members,
    tensors,
)
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.torch.moved_parts import moves_cuts
from xlalint.interpreter.device_loops import blocks, last_name, loops
from xlalint.interpreter.frame import body_of, made_by
from xlalint.interpreter.loop_names import names_bound
from xlalint.interpreter.spelling import path_of, position, spelling
from xlalint.interpreter.subscripts import BOUND_IN_GRAPH
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.api_tables.entries import Spec
    from xlalint.interpreter.arguments import Arguments
    from xlalint.interpreter.frame import Env, Frame
    from xlalint.interpreter.library_calls import LibraryCall
    from xlalint.program.linker import FunctionInfo, ModuleInfo

_JOINS: Final = frozenset(("cat", "concat", "concatenate", "stack", "hstack", "vstack"))
# Operators whose number is no operand of the graph but a part of it.
CONSTANT_OPERANDS: Final = {"**": "an exponent", "<<": "a shift", ">>": "a shift"}
# What is a constant of torch_xla's graphs and an operand of TorchTPU's programs: counted with a new number in each of four calls (torch_tpu
# 0.2.0, XLA:CPU).
_OPERANDS_ON_TPU: Final = frozenset(
    (
        "float_power.exponent",
        "group_norm.eps",
        "logit.eps",
        "pad.value",
        "pow.exponent",
        "pow.input",
        "std.correction",
        "threshold.threshold",
        "threshold.value",
        "var.correction",
    )
)
_NOT_ON_TPU: Final = (("torch_tpu", "off"),)
_ON_TPU_ALONE: Final = (("torch_xla", "off"), ("torch_compile", "off"))
_NOT_COMPILED: Final = (("torch_compile", "off"),)
_TURN: Final = "turn"
# What makes numbers, lists and arrays of the host.
_ON_HOST: Final = frozenset(("builtins", "math", "numpy", "random"))
_COMPILE: Final = "compile"
_TPU: Final = "torch_tpu"
_RESHAPED_IN_PLACE: Final = frozenset(("squeeze_", "unsqueeze_"))
_ASSIGNED: Final = ".="  # behind a path: it was assigned since the function began


def changes(value: Value) -> bool:
    """Return whether a value is a number that the host draws or counts anew at each step, or a list of such."""
    if type(value) is Sequence:
        return any(changes(item) for item in value.items) if value.items is not None else changes(value.element)
    return any(type(member) is Host and member.origin in ("drawn", "counted") for member in members(value))


def note_assignment(frame: Frame, path: str) -> None:
    """Note that an attribute of the receiver was assigned: what is read of it from here on is this step's."""
    frame.refine(path + _ASSIGNED, TRUE)


def is_assigned(frame: Frame, path: str) -> bool:
    """Return whether an attribute of the receiver was assigned since the function began."""
    return path + _ASSIGNED in frame.env


def count(frame: Frame, target: ir.Node, old: Value, right: Value) -> Value | None:
    """Return what `self.step += 1` gives, where the attribute still has what the step before left.

    Return None where it does not.
    """
    path = path_of(target)
    if (
        type(target) is not ir.Attr
        or path.partition(".")[0] != frame.scope.receiver_name
        or not frame.scope.receiver_name
    ):
        return None
    if frame.function is None or frame.function.name == "__init__" or is_assigned(frame, path):
        return None
    number = isinstance(right, Const) and isinstance(right.value, int) and right.value != 0
    if not number or _sets_back(frame.function, target.name):
        return None
    whole = all(type(m) is Const or (type(m) is Host and m.type in ("int", "")) for m in members(old))
    return host("int", "counted") if whole else None


def _sets_back(method: FunctionInfo, name: str) -> bool:
    """Return whether another method of the class sets a counter to a number.

    An iterator does, which counts within a step.
    """
    if method.owner is None:
        return False
    for other in method.owner.own_methods:
        if other is method or other.name == "__init__":
            continue
        for target, value in (found for statement in other.body for found in _assignments(statement)):
            if type(target) is ir.Attr and target.name == name and type(value) is ir.Const:
                return True
    return False


def check_index(frame: Frame, base: Tensor, part: Value, node: ir.Node, at: int, detail: str) -> None:
    """Report an index or a bound that is another number at each step.

    Of what a function is given its loop's batches are cut by bounds; a single index may as well be of a list's example.
    """
    if base.framework != "torch" or base.place == "cpu":
        return
    if changes(part):
        frame.note("XLA403", at, "torch", spelling(node), detail)
    elif (frame.loops.lasting or detail is BOUND_IN_GRAPH) and _is_of_steps(frame, part):
        frame.note("XLA403", at, "torch", spelling(node), detail, "", _NOT_COMPILED, Confidence.LIKELY)
    elif _is_of_turn(frame, part, node) and not _moves_cuts(frame):
        _note_turn(frame, at, node)


def _is_of_turn(frame: Frame, value: Value, node: ir.Node) -> bool:
    """Return whether a number is another one in each turn of a loop of many: an expression of what the loop counts.

    Functions of a program that compiles some are left alone: a loop in a compiled one is part of a single program.
    """
    if not frame.loops.lasting or _TPU not in frame.module.taught.targets:
        return False
    if frame.function is not None and frame.interpreter.some_module.of(_compiles):
        return False
    return _is_counted(frame, value, node, ("int",))


def _is_of_steps(frame: Frame, value: Value) -> bool:
    """Return whether a number is another one at each step of the loop that takes these, here or where this function is called from.

    What is moved to a device when it was cut was cut in host memory.
    """
    if not any(type(one) is Host and one.origin == _TURN for one in members(value)):
        return False
    if _moves_cuts(frame) or (not frame.loops.lasting and frame.module.answers(_moves_results)):
        return False
    return not frame.interpreter.some_module.of(_compiles)


def _moves_cuts(frame: Frame) -> bool:
    if frame.function is None:
        return moves_cuts(body_of(frame))
    return frame.function.answers(_function_moves_cuts)


def _function_moves_cuts(info: FunctionInfo) -> bool:
    return moves_cuts(info.body)


def _moves_results(module: ModuleInfo) -> bool:
    """Return whether a module moves to a device what its own functions gave it."""
    bodies = [ir.decode_body(module.unit.body), *(info.body for info in module.functions)]
    own = module.unit.defs
    return any(
        moves_cuts(body, lambda one: type(one) is ir.Call and type(one.func) is ir.Name and one.func.id in own)
        for body in bodies
    )


def _is_counted(frame: Frame, value: Value, node: ir.Node, kinds: tuple[str, ...]) -> bool:
    """Return whether a value is a number of one of some kinds, made of what a loop of many turns counts."""
    if not frame.loops.lasting or not any(type(member) is Host and member.type in kinds for member in members(value)):
        return False
    return any(type(one) is ir.Name and one.id in frame.loops.counted for one in ir.walk(node))


def check_compiled_call(frame: Frame, node: ir.Call, callees: tuple[Value, ...], arguments: Arguments) -> None:
    """Report a number that a loop counts, given to what `torch.compile` made: TorchTPU's is compiled for each number."""
    if not frame.loops.lasting or _TPU not in frame.module.taught.targets or not _is_compiled(frame, node, callees):
        return
    given = [*zip(arguments.args, node.args, strict=False)]
    given += [(arguments.keywords[name], one) for name, one in node.keywords if name in arguments.keywords]
    for value, one in given:
        if _is_counted(frame, value, one, ("int", "float")):
            detail = "a compiled function is compiled for each number that it is given"
            frame.note("XLA403", node.at, "torch", spelling(one), detail, _TURN, _ON_TPU_ALONE, Confidence.LIKELY)
            return


def _is_compiled(frame: Frame, node: ir.Call, callees: tuple[Value, ...]) -> bool:
    """Return whether a call is one of what `torch.compile` made, by a decorator or by the one call that is assigned to the name."""
    if any(type(callee) is Function and callee.info.decorated(_COMPILE) for callee in callees):
        return True
    made = made_by(frame, node.func)
    return type(made) is ir.Call and path_of(made.func) == "torch.compile"


def _compiles(module: ModuleInfo) -> bool:
    """Return whether a module gives something to `torch.compile`, or compiles a model of its own."""
    calls = [module.unit.calls, *(info.ir.calls for info in module.functions)]
    if not any(_COMPILE in one for one in calls):
        return any(info.decorated(_COMPILE) for info in module.functions)
    bodies = [ir.decode_body(module.unit.body), *(info.body for info in module.functions)]
    found = (one.func for one in ir.walk(tuple(bodies)) if type(one) is ir.Call and last_name(one.func) == _COMPILE)
    return any(path_of(func) not in ("re.compile", "regex.compile", _COMPILE) for func in found)


def _note_turn(frame: Frame, at: int, node: ir.Node) -> None:
    """Note that a loop takes another part of a tensor in each turn, where each part is a program of its own.

    The programs are kept: in a function that is called at each step this costs in the first alone, and in a loop within the step.
    """
    within = 0 < frame.loops.step_depth < frame.loops.depth
    rare = frame.function is not None and (within or not frame.context.per_turn)
    severity = (*_ON_TPU_ALONE, ("torch_tpu", "info")) if rare else _ON_TPU_ALONE
    detail = "which elements are taken is a part of the program"
    likely = Confidence.LIKELY
    frame.note("XLA403", at, "torch", spelling(node), detail, _TURN, severity, likely)


def check_operands(frame: Frame, op: str, at: int, left: tuple[Value, ir.Node], right: tuple[Value, ir.Node]) -> None:
    """Report a power or a shift by a number that is another one at each step."""
    for (value, node), (other, _), said in ((right, left, CONSTANT_OPERANDS[op]), (left, right, "the base of a power")):
        if changes(value) and any(_on_device(member) for member in members(other)):
            detail = f"{said} is a constant in the graph"
            frame.note("XLA403", at, "torch", spelling(node), detail, severity=_NOT_ON_TPU)
            return


def _on_device(value: Value) -> bool:
    return type(value) is Tensor and value.framework == "torch" and value.place != "cpu"


def check_call(call: LibraryCall, spec: Spec, result: Value) -> None:
    """Report what a call of one of torch's functions makes of numbers and lists that change from step to step."""
    if call.entry.framework == "torch":
        if spec.rule is None:
            _check_sizes(call)
        _check_collected(call.frame, call.node, result)
        _reshape_in_place(call, result)


def _reshape_in_place(call: LibraryCall, result: Value) -> None:
    """Give a variable its new shape where a call changes it in place."""
    func = call.node.func
    if type(func) is ir.Attr and type(func.value) is ir.Name and func.name in _RESHAPED_IN_PLACE:
        before = call.frame.env.get(func.value.id)
        if type(before) is Tensor and type(result) is Tensor:
            call.frame.env[func.value.id] = result


def _check_sizes(call: LibraryCall) -> None:
    """Report a number that is another one at each step, where it is a constant in the graph: a size (a tensor as the size would be a
    hazard), or what the tables name."""
    if call.place() == "cpu":
        return
    if not any(map(changes, call.all())):
        _check_offsets(call)
        return
    for spec in call.entry.cases:
        if spec.rule == "XLA206":
            for value, node in call.select_arguments(spec.when.tensor):
                if changes(value):
                    detail = spec.detail if spec.detail.startswith("it ") else "it is a size in the graph"
                    call.frame.note("XLA403", call.node.at, "torch", spelling(node), detail)
                    return
    for name in call.entry.constants:
        for value, node in call.select_arguments((name,)):
            if changes(value):
                severity = _NOT_ON_TPU if f"{last_name(call.node.func)}.{name}" in _OPERANDS_ON_TPU else ()
                detail = "it is a constant in the graph"
                call.frame.note("XLA403", call.node.at, "torch", spelling(node), detail, severity=severity)
                return


def _check_offsets(call: LibraryCall) -> None:
    """Report a part of a tensor that a loop takes by what it counts: `x.narrow(0, i, n)`."""
    receiver = call.receiver
    if not call.frame.loops.lasting or type(receiver) is not Tensor or receiver.place == "cpu":
        return
    for spec in call.entry.cases:
        if spec.rule == "XLA206":
            for value, node in call.select_arguments(spec.when.tensor):
                if _is_of_turn(call.frame, value, node):
                    _note_turn(call.frame, call.node.at, node)
                    return


def check_turns(frame: Frame, node: ir.For, _over: Value) -> None:
    """Report a loop whose number of turns is another one at each step, where it does more than call something, and than count and draw
    numbers of the host."""
    counter = node.iterable
    if not (type(counter) is ir.Call and type(counter.func) is ir.Name and counter.func.id == "range"):
        return
    if all(isinstance(statement, (ir.Eval, ir.Raise)) or _fills_array(frame, statement) for statement in node.body):
        return
    for bound in counter.args:
        if isinstance(bound, (ir.Name, ir.Attr)) and changes(frame.eval(bound)):
            if _may_compute(frame, node):
                detail = "each iteration of the loop is part of the graph"
                frame.note("XLA403", position(bound), "torch", spelling(bound), detail)
            return


def _fills_array(frame: Frame, statement: ir.Statement) -> bool:
    """Return whether a statement gives elements of NumPy arrays their values: a tensor would be read for that, which is told there."""
    if type(statement) is not ir.Assign:
        return False
    filled = [frame.eval(to.value) if type(to) is ir.Sub else UNKNOWN for to in statement.targets]
    return all(type(value) is Tensor and value.framework == ARRAYS for value in filled)


def _may_compute(frame: Frame, loop: ir.For) -> bool:
    """Return whether a loop reads a name that may stand for more than numbers, texts and arrays of the host, and what makes these."""
    read = {one.id for one in ir.walk(loop.body) if type(one) is ir.Name}
    bound = _find_bound(loop.body) | names_bound(loop.target)
    return any(not _is_for_host(frame.lookup(name)) for name in sorted(read) if name in frame.env or name not in bound)


def _is_for_host(value: Value) -> bool:
    if type(value) is Sequence:
        return all(map(_is_for_host, value.items)) if value.items is not None else _is_for_host(value.element)
    if type(value) is LibrarySymbol:
        return value.name.partition(".")[0] in _ON_HOST
    if type(value) is Tensor:
        return value.framework == ARRAYS
    return all(
        type(one) is Host or type(one) is Const or (one is not value and _is_for_host(one)) for one in members(value)
    )


def check_choice(frame: Frame, node: ir.If, compared: ir.Node, after: tuple[Env, ...]) -> None:
    """Report a branch that is taken at random, where it leaves the block, or gives a tensor another value.

    `after` are the environments behind the branches that are not left. Host numbers that differ are found where they enter the graph.
    """
    if all(isinstance(statement, (ir.Eval, ir.Raise)) for statement in (*node.body, *node.orelse)):
        return
    if frame.interpreter.annotations.framework(frame.module) != "torch":
        return  # what other frameworks trace is drawn once
    given = (env.get(name, UNKNOWN) for env in after for name in _find_bound((*node.body, *node.orelse)))
    if len(after) < 2 or any(_on_device(one) for value in given for one in (value, *tensors(value))):
        frame.statement = node.at
        frame.note("XLA403", position(compared), "torch", spelling(compared), "", "choice", _NOT_ON_TPU)


def _find_bound(body: tuple[ir.Statement, ...]) -> set[str]:
    """The names and attributes that statements give a value, or elements."""
    found: set[str] = set()
    for one in ir.walk_statements(body):
        targets = one.targets if type(one) is ir.Assign else ()
        targets = (one.target,) if isinstance(one, (ir.AugAssign, ir.AnnAssign)) else targets
        for target in targets:
            parts = target.items if type(target) is ir.Display else (target,)
            found.update(path_of(part.value if type(part) is ir.Sub else part) for part in parts)
    return found


# ------------------------------------------------------------------------------------------------------- growth


def check_accumulation(frame: Frame, node: ir.Assign, value: Value) -> None:
    """Report `x = torch.cat([x, y])` where `x` lives from step to step."""
    branches = (node.value.body, node.value.orelse) if type(node.value) is ir.IfExp else (node.value,)
    for call in branches:
        if type(call) is not ir.Call or last_name(call.func) not in _JOINS or not call.args:
            continue
        joined = call.args[0]
        if type(joined) is not ir.Display or not any(_on_device(member) for member in members(value)):
            continue
        parts = {spelling(item) for item in joined.items}
        for target in node.targets:
            text = spelling(target)
            if text not in parts or "…" in text or len(joined.items) < 2:
                continue
            if _lives_on(frame, target):
                frame.report("XLA406", call.at, value, target)
                return
            turn = frame.loops.turn
            if turn is not None and type(target) is ir.Name and not _is_renewed(frame, target.id):
                turn.joined[call.at] = frame.statement, value, target


def _check_collected(frame: Frame, node: ir.Call, value: Value) -> None:
    """Report `torch.stack(self.rows)` where the same function appends to a list that lives from step to step."""
    holder = node.args[0] if node.args else None
    if last_name(node.func) not in _JOINS or not isinstance(holder, (ir.Name, ir.Attr)):
        return
    text = spelling(holder)
    if "…" in text or not appends(body_of(frame), text):
        return
    if _is_global(frame, holder) or _lives_on(frame, holder):
        frame.report("XLA406", node.at, value, holder)


def _is_global(frame: Frame, holder: ir.Node) -> bool:
    """Return whether a function means a name of its module."""
    if frame.function is None or type(holder) is not ir.Name or holder.id in frame.closure:
        return False
    if holder.id not in frame.module.assigned or any(param.name == holder.id for param in frame.function.params):
        return False
    bound = (spelling(target) for statement in frame.function.body for target, _ in _assignments(statement))
    return holder.id not in bound and frame.function.ir.outer < 0


def appends(statements: Iterable[ir.Statement], holder: str) -> bool:
    """Return whether a block appends to a list, and never empties it."""
    names = {name for statement in statements for name in _methods_called_on(statement, holder)}
    return bool(names & {"append", "extend"}) and names.isdisjoint(("clear", "pop"))


def _methods_called_on(statement: ir.Statement, holder: str) -> Iterator[str]:
    """The methods that a statement, or one within it, calls on what is spelled so."""
    if type(statement) is ir.Eval and type(statement.value) is ir.Call:
        func = statement.value.func
        if type(func) is ir.Attr and spelling(func.value) == holder:
            yield func.name
    for inner in blocks(statement):
        yield from _methods_called_on(inner, holder)


def _lives_on(frame: Frame, target: ir.Node) -> bool:
    """Return whether what is assigned is what the step before left.

    It may belong to the receiver, to the module, or to the loop that takes the steps.
    """
    holder = target
    while type(holder) is ir.Sub:
        holder = holder.value
    path = path_of(holder)
    if type(holder) is ir.Attr:
        if path.partition(".")[0] != frame.scope.receiver_name or not path or _is_record(frame, path):
            return False
        return frame.function is not None and frame.function.name != "__init__" and path + _ASSIGNED not in frame.env
    if type(holder) is not ir.Name:
        return False
    if holder.id in frame.scope.outer_names:
        return True
    return (
        type(target) is ir.Name
        and frame.context.per_turn
        and frame.loops.depth == 1
        and not _is_renewed(frame, holder.id)
    )


def _is_record(frame: Frame, path: str) -> bool:
    """Return whether a plain object is given what it keeps under a path by its maker: as a record of one step's results is."""
    owner = frame.function.owner if frame.function is not None else None
    maker = owner.method("__init__") if owner is not None else None
    if owner is None or maker is None or frame.interpreter.tables.kind(owner):
        return False
    given = {param.name for param in maker.params[1:] if param.default is None}
    kept = path.partition(".")[2]
    own = maker.params[0].name if maker.params else ""
    pairs = [pair for statement in maker.body for pair in _assignments(statement)]
    values = [value for target, value in pairs if path_of(target) == f"{own}.{kept}"]
    return len(values) == 1 and type(values[0]) is ir.Name and values[0].id in given


def _is_renewed(frame: Frame, name: str) -> bool:
    """Return whether a loop that takes steps gives a name a value of its own in each of them, as far as one function shows."""
    found = list(loops(body_of(frame)))
    turns = [one.target for one in ir.walk_statements(tuple(found)) if type(one) is ir.For]
    if any(type(one) is ir.Name and one.id == name for target in turns for one in ir.walk((target,))):
        return True
    inside = (assigned for loop in found for assigned in _assignments(loop))
    return any(spelling(target) == name and not _is_join(value) for target, value in inside)


def _is_join(value: ir.Node) -> bool:
    return type(value) is ir.Call and last_name(value.func) in _JOINS


def pairs(target: ir.Node, value: ir.Node) -> Iterator[tuple[ir.Node, ir.Node]]:
    """The targets that one stands for, each with what it is given, as far as the source shows."""
    if type(target) is not ir.Display:
        yield target, value
        return
    fits = type(value) is ir.Display and len(value.items) == len(target.items)
    for place, item in enumerate(target.items):
        yield from pairs(item, value.items[place] if fits and type(value) is ir.Display else value)


def _assignments(statement: ir.Statement) -> Iterator[tuple[ir.Node, ir.Node]]:
    if type(statement) is ir.Assign:
        for target in statement.targets:
            yield from pairs(target, statement.value)
    for inner in blocks(statement):
        yield from _assignments(inner)
