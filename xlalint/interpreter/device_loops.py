"""Loops of host code that drive a device: which of them take its steps, and which go over epochs around those.

What such a loop repeats costs at each step. What a loop over epochs does beside the loop in it (it logs an accuracy, saves a checkpoint)
costs once an epoch, which is nothing. Statements are all that is looked at: which call steps the device is told by its name.

What they count changes from step to step. Handed to a module it enters the graph, where it may cost a compilation: until then it is a
number that the host uses to slice its own data, to log, to save.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, Union

from xlalint.abstract.lattice import join_all
from xlalint.abstract.values import Const, Host, Sequence, Value, host, sequence
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.program.linker import FunctionInfo

Loop = Union[ir.For, ir.While]

_ONE: Final = ir.Const(1)
_BELOW: Final = frozenset(("<", "<="))
_FEW: Final = 4  # TensorFlow warns of retracing from the fifth trace on
_RANGES: Final = frozenset(("range", "xrange", "trange"))
_COUNTING: Final = _RANGES | {"count"}
# What gives the turns of what it is given: `tqdm(range(n))`.
_SHOWING: Final = frozenset(("tqdm", "track", "list", "iter", "reversed"))
_GOING_OVER: Final = _SHOWING | {"enumerate"}
CALLED_AS_OBJECTS: Final = frozenset(("forward", "__call__"))
"""Methods that a call of their object enters."""
MOVING: Final = "cpu"
"""A method by which tensors are copied to the host, and models moved there."""
_OF_MODELS: Final = frozenset(
    ("state_dict", "load_state_dict", "parameters", "named_parameters", "modules", "eval", "train", "zero_grad")
)
NAMED: Final = _SHOWING | _COUNTING | {"enumerate"}
"""What is called to make what a loop counts by, if that has a name of its own."""


class DeviceSteps(NamedTuple):
    """The words by which loops that drive a device are known.

    `steps` are methods that make the device take a step, or a part of one; `gradients` are those of them that make only a part.
    `packages` are imported by modules that drive an XLA device today. `ported` are those whose modules will, whatever device they name,
    where one of `targets` is compiled for: it records what ordinary code does. `models` are methods by whose calls a model is known, and
    `evaluates` those of them that set a model to evaluate. `clears` are those by which an optimizer is known that begins new gradients.
    `places` are called by what says where tensors are to be. `at_once` are targets whose device runs each operation at once: in a script
    for one of these the turns of any loop are its steps. `objects` are classes of libraries whose objects take a step where they are
    called. `loaders` make what gives batches. `without_gradients` keep none of what is computed under them: a model is run for its
    results. `keeping` are methods of any model that run nothing of it. `trains` are attributes of a model that say whether it is
    trained.
    """

    steps: frozenset[str] = frozenset()
    gradients: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    evaluates: frozenset[str] = frozenset()
    clears: frozenset[str] = frozenset()
    ported: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    at_once: frozenset[str] = frozenset()
    objects: frozenset[str] = frozenset()
    loaders: frozenset[str] = frozenset()
    keeping: frozenset[str] = frozenset()
    without_gradients: frozenset[str] = frozenset()
    trains: frozenset[str] = frozenset()


_WITH_BLOCKS: Final = frozenset((ir.For, ir.While, ir.If, ir.With, ir.Try, ir.Match))


def loops(statements: Iterable[ir.Statement]) -> Iterator[Loop]:
    """The outermost loops among statements."""
    for statement in statements:
        if type(statement) is ir.For or type(statement) is ir.While:
            yield statement
        elif type(statement) in _WITH_BLOCKS:
            yield from loops(blocks(statement))


def blocks(statement: ir.Statement) -> tuple[ir.Statement, ...]:
    """The statements of a statement's blocks."""
    if type(statement) not in _WITH_BLOCKS:
        return ()
    if type(statement) is ir.If or type(statement) is ir.For or type(statement) is ir.While:
        return statement.body + statement.orelse
    if type(statement) is ir.With:
        return statement.body
    if type(statement) is ir.Try:
        handled = tuple(inner for handler in statement.handlers for inner in handler.body)
        return statement.body + handled + statement.orelse + statement.final
    if type(statement) is ir.Match:
        return tuple(inner for case in statement.cases for inner in case.body)
    return ()


def leaves(block: tuple[ir.Statement, ...]) -> bool:
    """Return whether a block ends by leaving the loop around it."""
    end = block[-1] if block else None
    return type(end) is ir.Return or (type(end) is ir.Jump and end.leaves)


def count_turns(loop: Loop, evaluate: Callable[[ir.Node], Value]) -> int | None:
    """Return how many turns a loop over numbers that are counted, or over what is written out, takes at most; None where that is not
    known."""
    over = _shown_in(loop.iterable) if type(loop) is ir.For else None
    if type(over) is ir.Display:
        return len(over.items)
    if type(over) is not ir.Call or last_name(over.func) not in _RANGES or not over.args:
        return None
    last = evaluate(over.args[min(len(over.args) - 1, 1)])
    return last.value if type(last) is Const and type(last.value) is int else None


def is_long(loop: Loop) -> bool:
    """Return whether a loop may take many turns: not one over a few things that are written out, nor one that ends with its first."""
    if leaves(loop.body):
        return False
    if type(loop) is ir.While:
        return True
    over = loop.iterable
    while type(over) is ir.Call and type(over.func) is ir.Name and over.func.id in ("enumerate", "zip", "reversed"):
        over = over.args[0] if over.args else ir.Const(None)
    if type(over) is ir.Call and type(over.func) is ir.Name and over.func.id == "range":
        last = over.args[min(len(over.args) - 1, 1)] if over.args else None
        return not (type(last) is ir.Const and isinstance(last.value, (int, float)) and last.value <= _FEW)
    return not isinstance(over, (ir.Display, ir.DictDisplay, ir.Const, ir.Literal))


def counts_to_few(end: Value) -> bool:
    """Return whether a loop that counts to a value takes a few turns only."""
    return type(end) is Const and isinstance(end.value, int) and end.value <= _FEW


# ------------------------------------------------------------------------------------------ what a loop counts


def values_of_turn(node: ir.For, element: Value) -> Value:
    """Return what a loop that drives a device binds in each turn: the numbers that it counts are told from others."""
    counter = _shown_in(node.iterable)
    if type(counter) is not ir.Call:
        return element
    if last_name(counter.func) in _COUNTING:
        return mark_counted(element)
    if last_name(counter.func) == "enumerate" and isinstance(element, Sequence) and element.items:
        counted = len(element.items) if _counts(counter.args) else 1
        items = *map(mark_counted, element.items[:counted]), *element.items[counted:]
        return sequence(element.kind, items, element.element)
    return element


def _shown_in(node: ir.Node) -> ir.Node:
    """Return what gives the turns that are shown: `range(n)` of `tqdm(range(n))`, and of `(bar := tqdm(range(n)))`."""
    while type(node) is ir.Walrus or (type(node) is ir.Call and last_name(node.func) in _SHOWING and node.args):
        node = node.value if type(node) is ir.Walrus else node.args[0]
    return node


def _counts(over: tuple[ir.Node, ...]) -> bool:
    """Return whether what is enumerated are numbers that are counted."""
    first = _shown_in(over[0]) if over else None
    return type(first) is ir.Call and last_name(first.func) in _COUNTING


def names_counted(node: Loop) -> frozenset[str]:
    """Return the names under which a loop gives the numbers of its turns: of what it counts or enumerates, what a `while` adds to."""
    if type(node) is ir.While:
        return names_added_to(node.body)
    return _names_counted_by(node.target, node.iterable)


def _names_counted_by(target: ir.Node, counter: ir.Node) -> frozenset[str]:
    counter = _shown_in(counter)
    if type(counter) is not ir.Call:
        return frozenset()
    called = last_name(counter.func)
    if called == "zip" and type(target) is ir.Display:
        pairs = zip(target.items, counter.args, strict=False)
        return frozenset().union(*[_names_counted_by(part, arg) for part, arg in pairs])
    if called == "enumerate" and type(target) is ir.Display and target.items:
        enumerated = [_names_counted_by(part, arg) for part, arg in zip(target.items[1:2], counter.args, strict=False)]
        return _name_of(target.items[0]).union(*enumerated)
    return _name_of(target) if called in _COUNTING else frozenset()


def find_shown(name: str, body: tuple[ir.Statement, ...]) -> ir.Node | None:
    """Return what shows the progress of a loop under this name, `with tqdm(range(n)) as bar`; None where not just one thing does."""
    opened = [item for one in ir.walk_statements(body) if type(one) is ir.With for item in one.items]
    found = [made for made, to in opened if type(to) is ir.Name and to.id == name]
    shown = [made for made in found if type(made) is ir.Call and last_name(made.func) in NAMED]
    return shown[0] if len(found) == len(shown) == 1 else None


def find_counted(node: ir.For, body: tuple[ir.Statement, ...]) -> ir.Node | None:
    """Return what a loop goes over by a name, where all that a body assigns the name counts the turns alike: `bar = enumerate(data)` in one
    branch, `bar = tqdm(enumerate(data))` in the other; None where it does not."""
    name = _name_of(node.iterable)
    assigned = [one for one in ir.walk_statements(body) if type(one) is ir.Assign]
    given = [one for one in assigned if any(_name_of(to) == name for to in one.targets)]
    over = [one.value for one in given if _name_of(_shown_in(one.value)) != name]
    counted = {_names_counted_by(node.target, one) for one in over}
    return over[0] if len(counted) == 1 and frozenset() not in counted else None


def find_source(loop: ir.For) -> ir.Node:
    """Return what a loop goes over, without what counts its turns or shows them: `loader` of `enumerate(tqdm(loader))`."""
    over = loop.iterable
    while type(over) is ir.Call and last_name(over.func) in _GOING_OVER and over.args:
        over = over.args[0]
    return over


def goes_over_data(loop: Loop) -> bool:
    """Return whether a loop goes over what something holds or gives, not over numbers that it counts."""
    if type(loop) is ir.While:
        return False
    source = find_source(loop)
    return type(source) is not ir.Call or last_name(source.func) not in _COUNTING


def _name_of(target: ir.Node) -> frozenset[str]:
    return frozenset((target.id,)) if type(target) is ir.Name else frozenset()


def names_added_to(body: tuple[ir.Statement, ...]) -> frozenset[str]:
    """Return the names to which statements add numbers: `n += 1`, `n = n + 1`."""
    found: set[str] = set()
    for one in ir.walk_statements(body):
        if type(one) is ir.AugAssign and one.op == "+" and type(one.target) is ir.Name:
            found.add(one.target.id)
        elif type(one) is ir.Assign and type(one.value) is ir.Bin and one.value.op == "+":
            sides = [side.id for side in (one.value.left, one.value.right) if type(side) is ir.Name]
            found.update(target.id for target in one.targets if type(target) is ir.Name and target.id in sides)
    return frozenset(found)


def names_bounded(loop: Loop) -> frozenset[str]:
    """Return the names by which a `while` says that it goes on below a bound: `step` of `while step < n`."""
    test = loop.test if type(loop) is ir.While else None
    if type(test) is not ir.Compare or len(test.ops) != 1 or test.ops[0] not in _BELOW:
        return frozenset()
    return _name_of(test.left)


def names_counting(body: tuple[ir.Statement, ...]) -> frozenset[str]:
    """Return the names to which a loop adds one at a time, and gives nothing else: they count its turns, or some of these."""
    added: set[str] = set()
    others: set[str] = set()
    for one in ir.walk_statements(body):
        if type(one) is ir.AugAssign and type(one.target) is ir.Name:
            (added if one.op == "+" and one.value == _ONE else others).add(one.target.id)
        elif type(one) is ir.Assign:
            for target in one.targets:
                if type(target) is ir.Name:
                    (added if _adds_one(one.value, target.id) else others).add(target.id)
    return frozenset(added - others)


def _adds_one(value: ir.Node, name: str) -> bool:
    if type(value) is not ir.Bin or value.op != "+" or value.right != _ONE:
        return False
    return type(value.left) is ir.Name and value.left.id == name


def find_owners(body: tuple[ir.Statement, ...], methods: frozenset[str]) -> set[str]:
    """Find whose methods of these names a body calls: `model` of `model.eval()`."""
    found = (
        path_of(one.func.value)
        for one in ir.walk(body)
        if type(one) is ir.Call and type(one.func) is ir.Attr and one.func.name in methods
    )
    return {path for path in found if path}


def find_models(body: tuple[ir.Statement, ...]) -> frozenset[str]:
    """Find what a body takes for a model, and no tensor: it calls it, or asks it for what models alone have, before or after it moved it
    (`net.cpu().state_dict()`)."""
    found: set[str] = set()
    for one in ir.walk(body):
        if type(one) is ir.Call:
            found.add(path_of(one.func))
            if type(one.func) is ir.Attr and one.func.name in _OF_MODELS:
                found |= {path_of(one.func.value), _name_moved(one.func.value)}
    return frozenset(found - {""})


def _name_moved(node: ir.Node) -> str:
    """Return the name of what an expression moves to the host, "" of other expressions."""
    if type(node) is not ir.Call or type(node.func) is not ir.Attr or node.func.name != MOVING:
        return ""
    return path_of(node.func.value)


def models_of(info: FunctionInfo) -> frozenset[str]:
    """Answer what a function takes for models."""
    return find_models(info.body)


def last_name(func: ir.Node) -> str:
    """The last part of the name that is called, "" where it has none."""
    return func.name if type(func) is ir.Attr else func.id if type(func) is ir.Name else ""


def mark_counted(value: Value) -> Value:
    """Mark a number as one that a loop which drives a device counts."""
    return host("int", "turn") if type(value) is Host and value.type in ("int", "") else value


def entering(value: Value) -> Value:
    """Mark what such a loop counts, in an argument of a module that it calls, as a number in the graph."""
    if type(value) is Host and value.origin == "turn":
        return host(value.type, "counted")
    if type(value) is Sequence and value.items:
        items = tuple(map(entering, value.items))
        return value if items == value.items else sequence(value.kind, items, join_all(items))
    return value


__all__ = [
    "CALLED_AS_OBJECTS",
    "DeviceSteps",
    "Loop",
    "blocks",
    "count_turns",
    "counts_to_few",
    "entering",
    "find_counted",
    "find_owners",
    "find_shown",
    "find_source",
    "is_long",
    "last_name",
    "loops",
    "mark_counted",
    "names_added_to",
    "names_bounded",
    "names_counted",
    "names_counting",
    "values_of_turn",
]
