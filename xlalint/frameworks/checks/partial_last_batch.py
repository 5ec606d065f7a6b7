"""XLA402, XLA407: batches of other sizes than the rest, each of which is another shape for the compiled step.

Measured with torch_xla 2.9.0, Keras 3.15 on TensorFlow 2.21, JAX 0.10.2 and transformers 5.23: the page says what each costs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xlalint.abstract.values import FALSE, Const, Function, Instance, LibraryInstance, Method, Value, members
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.base import Reach
from xlalint.frameworks.checks.call_site import ALL, INFORMATION, CallSite, asks_about, calls_any, consumer, surely
from xlalint.frameworks.checks.data_lengths import length_of, source_of
from xlalint.frameworks.checks.library_names import DATA_LOADER, TRAINING_ARGUMENTS
from xlalint.frameworks.checks.option_defaults import default_of
from xlalint.interpreter.device_loops import find_source, last_name
from xlalint.interpreter.drivers import is_under
from xlalint.interpreter.frame import body_of
from xlalint.interpreter.spelling import spelling
from xlalint.lowering import ir

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from xlalint.interpreter.frame import Frame

_ENDLESS = "tensorflow.python.data.ops.repeat_op._RepeatDataset"
_SHUFFLED = "tensorflow.python.data.ops.shuffle_op._ShuffleDataset"
_ITERABLE = ("torch.utils.data.IterableDataset", "torch.utils.data.dataset.IterableDataset")
# Samplers that give each example once, and how many arguments they have as long as they do.
_SAMPLING = {"RandomSampler": 1, "SequentialSampler": 1}
_HELD_BACK = frozenset(("val", "valid", "validation", "test", "testing", "eval", "evaluation", "dev", "holdout"))
_LOADER = re.compile("(data)?loader$")
_LAUNCHERS = frozenset(("spawn", "launch", "notebook_launcher"))


@asks_about(ALL, *DATA_LOADER, reach=Reach.COMPILED)
def check_data_loader(call: CallSite) -> None:
    """`DataLoader(dataset, batch_size=32, shuffle=True)`."""
    if not _may_leave_a_rest(call, "drop_last", 8) or not call.lacks("batch_sampler", 4):
        return
    size = call.value("batch_size", 1)
    if size is None or _is_one(size) or _is_one(default_of(call.frame, call.node_of("batch_size", 1))):
        return
    if call.lacks("batch_size", 1) or _iterable(call.value("dataset", 0)):
        return
    if not call.lacks("sampler", 3) and _never_ends(call.value("sampler", 3)):
        return
    count = length_of(call.frame, call.node_of("dataset", 0)) if _reads_all(call) else None
    if _divides(count, size) or _completed(call.frame) or _gives_one_batch(call) or _gives_whole_batches(call):
        return
    if _fills_up(call, call.node_of("batch_size", 1)):
        return
    confidence = Confidence.CERTAIN if count is not None else Confidence.LIKELY
    _report(call, "drop_last", _reads_for_training(call), confidence)


def _reads_all(call: CallSite) -> bool:
    """Return whether a loader gives each example of its data set once.

    A sampler may deal out a part of them.
    """
    if call.lacks("sampler", 3):
        return True
    sampler = source_of(call.frame, call.node_of("sampler", 3))
    return isinstance(sampler, ir.Call) and _SAMPLING.get(spelling(sampler.func).rpartition(".")[2]) == len(
        sampler.args
    )


def _reads_for_training(call: CallSite) -> bool:
    """Return whether a loader shuffles, or may, reads what is called the training data, or feeds a loop that takes gradients.

    A loader for evaluation reads other data, mostly in order: what is called the data to validate or test with trains nothing, shuffled or
    not.
    """
    examples = call.node_of("dataset", 0)
    if examples is not None and (_names_held_back(spelling(examples)) or _is_held_back(call.frame, examples)):
        return False
    if _feeds_training(call):
        return True
    if _is_named_for_held_back(call) or _feeds_inference(call):
        return False
    shuffle = call.value("shuffle", 2)
    if shuffle is not None and FALSE not in members(shuffle):
        return True
    if call.lacks("sampler", 3):
        return shuffle is None and examples is not None and "train" in spelling(examples).lower()
    sampler = source_of(call.frame, call.node_of("sampler", 3))
    in_order = isinstance(sampler, ir.Call) and (
        dict(sampler.keywords).get("shuffle") == ir.Const(False) or spelling(sampler.func).endswith("SequentialSampler")
    )
    return not in_order


def _feeds_training(call: CallSite) -> bool:
    """Return whether a loop beside a loader goes over it and takes gradients, whatever the order."""
    gradients = call.frame.interpreter.drivers.words.gradients
    return any(
        any(type(one) is ir.Call and last_name(one.func) in gradients for one in ir.walk(loop.body))
        for loop in _list_loops_over(call, body_of(call.frame))
    )


def _feeds_inference(call: CallSite) -> bool:
    """Return whether all loops beside a loader that go over it take no gradients, as a block around them says."""
    body = body_of(call.frame)
    loops = list(_list_loops_over(call, body))
    if not loops:
        return False
    words = call.frame.interpreter.drivers.words.without_gradients
    switched_off = [one.body for one in ir.walk(body) if is_under(one, words)]
    return len(loops) == sum(len(list(_list_loops_over(call, inner))) for inner in switched_off)


def _list_loops_over(call: CallSite, body: tuple[ir.Statement, ...]) -> Iterator[ir.For]:
    """List the loops of a body that go over a loader."""
    for loop in ir.walk(body):
        if type(loop) is ir.For and source_of(call.frame, find_source(loop)) == call.node:
            yield loop


def _gives_one_batch(call: CallSite) -> bool:
    """Return whether a loader is asked for its first batch, and for nothing else: `batch = next(iter(loader))`."""
    name = _name_of(call)
    nodes = list(ir.walk(body_of(call.frame)))
    taken = [one.args[0] for one in nodes if type(one) is ir.Call and last_name(one.func) == "next" and one.args]
    return _is_just(name, nodes, sum(_begins(one, name) for one in taken))


def _gives_whole_batches(call: CallSite) -> bool:
    """Return whether loops draw as many batches of a loader as it has whole ones: `for _ in range(count // size): next(batches)`."""
    name = _name_of(call)
    nodes = list(ir.walk(body_of(call.frame)))
    begun = [one for one in nodes if type(one) is ir.Assign and _begins(one.value, name)]
    drawn = {target.id for one in begun for target in one.targets if type(target) is ir.Name}
    loops = [one for one in nodes if type(one) is ir.For and _goes_over_whole(call.frame, one)]
    draws = sum(_draws(one, drawn) for one in nodes)
    within = sum(_draws(one, drawn) for loop in loops for one in ir.walk(loop.body))
    return 0 < draws <= within and _is_just(name, nodes, len(begun))


def _goes_over_whole(frame: Frame, loop: ir.For) -> bool:
    """Return whether a loop has as many turns as one number holds another: `range(a // b)`, with a progress bar around it or not."""
    named = loop.iterable.id if type(loop.iterable) is ir.Name else ""
    given = (one for one in ir.walk(body_of(frame)) if type(one) is ir.Assign)
    bars = [one.value for one in given if any(type(to) is ir.Name and to.id == named for to in one.targets)]
    return all(_counts_whole(frame, over) for over in bars or [loop.iterable])


def _counts_whole(frame: Frame, over: ir.Node | None) -> bool:
    while type(over) is ir.Call and last_name(over.func) != "range" and over.args:
        over = source_of(frame, over.args[0])
    turns = source_of(frame, over.args[-1]) if type(over) is ir.Call and len(over.args) in (1, 2) else None
    return type(turns) is ir.Bin and turns.op == "//"


def _draws(node: object, iterators: Collection[str]) -> bool:
    asked = node.args[0] if type(node) is ir.Call and last_name(node.func) == "next" and node.args else None
    return type(asked) is ir.Name and asked.id in iterators


def _begins(node: ir.Node, name: str) -> bool:
    """Return whether an expression is `iter(name)`."""
    over = node.args[:1] if type(node) is ir.Call and last_name(node.func) == "iter" else ()
    return any(type(one) is ir.Name and one.id == name for one in over)


def _name_of(call: CallSite) -> str:
    """The one name that a loader is given where it is made, "" where it has none or several."""
    given = [one for one in ir.walk(body_of(call.frame)) if type(one) is ir.Assign and one.value == call.node]
    targets = given[0].targets if len(given) == 1 else ()
    return targets[0].id if len(targets) == 1 and type(targets[0]) is ir.Name else ""


def _is_just(name: str, nodes: Collection[object], times: int) -> bool:
    """Return whether a name stands so many times in code, but for where it is given."""
    return times > 0 and sum(type(one) is ir.Name and one.id == name for one in nodes) == 1 + times


def _is_named_for_held_back(call: CallSite) -> bool:
    """Return whether a loader is given a name, or made by a function of one, that says it is for data held back from training:
    `val_loader = DataLoader(…)`, `def test_dataloader(self)`."""
    function = call.frame.function
    given = (one for one in ir.walk(body_of(call.frame)) if type(one) is ir.Assign and one.value == call.node)
    names = [spelling(target) for one in given for target in one.targets]
    return any(map(_names_held_back, names if function is None else [*names, function.name]))


def _names_held_back(spelled: str) -> bool:
    """Return whether an expression names data that is held back from training, or a loader of it: `val_set`, `self.test_data`,
    `splits["validation"]`, `testloader`."""
    words = {_LOADER.sub("", word) for word in re.split(r"[^a-z]+", spelled.lower())}
    return not _HELD_BACK.isdisjoint(words) and not any("train" in word for word in words)


def _is_held_back(frame: Frame, examples: ir.Node) -> bool:
    """Return whether a data set is made of what is held back from training: `CIFAR10(root, train=False)`, `Shapes("test")`."""
    made = source_of(frame, examples)
    if not isinstance(made, ir.Call):
        return False
    given = dict(made.keywords)
    texts = [one.value for one in (*made.args, *given.values()) if isinstance(one, ir.Const)]
    named = any(isinstance(text, str) and "/" not in text and _names_held_back(text) for text in texts)
    return named or given.get("train") == ir.Const(False)


@asks_about("tensorflow", methods=("batch", "padded_batch"), reach=Reach.COMPILED)
def check_batch(call: CallSite) -> None:
    """`dataset.shuffle(1000).batch(32)`."""
    index = 1 if call.last_name == "batch" else 3
    size = call.value("batch_size", 0)
    if size is None or _is_one(size) or not _may_leave_a_rest(call, "drop_remainder", index):
        return
    receiver = call.callee.receiver if isinstance(call.callee, Method) else None
    known = receiver.name if isinstance(receiver, LibraryInstance) else ""
    if known == _ENDLESS or (receiver is not None and not known.startswith("tensorflow.")):
        return
    steps = _chain(call)
    if not known and (any(step == "repeat" for step, _ in steps) or not _sizes_a_batch(call, size)):
        return
    source = steps[-1][1] if steps else None
    count = length_of(call.frame, source) if all(step in _KEEPING for step, _ in steps[:-1]) else None
    if _divides(count, size):
        return
    trains = known == _SHUFFLED or any(step == "shuffle" for step, _ in steps)
    _report(call, "drop_remainder", trains, Confidence.CERTAIN if count is not None else Confidence.LIKELY)


# Of a data set's methods, those that keep the number of its elements.
_KEEPING = frozenset(("map", "shuffle", "cache", "prefetch", "enumerate", "with_options", "batch", "padded_batch"))


def _chain(call: CallSite) -> list[tuple[str, ir.Node]]:
    """The calls that the receiver is made by, the last first: each with its name."""
    steps: list[tuple[str, ir.Node]] = []
    node = source_of(call.frame, call.node.func.value) if isinstance(call.node.func, ir.Attr) else None
    while isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and len(steps) < 12:
        steps.append((node.func.name, node))
        node = source_of(call.frame, node.func.value)
    return steps


def _sizes_a_batch(call: CallSite, size: Value) -> bool:
    """Return whether what a method of an unknown object is given is the size of a batch."""
    node = call.node_of("batch_size", 0)
    named = node is not None and "batch" in spelling(node).lower()
    return "batch_size" in call.arguments.keywords or named or (isinstance(size, Const) and type(size.value) is int)


@asks_about("torch", *TRAINING_ARGUMENTS)
def check_trainer(call: CallSite) -> None:
    """`TrainingArguments("out", per_device_train_batch_size=32)`: who says how large the batches are means to train."""
    size = call.value("per_device_train_batch_size")
    if size is None or _is_one(size):
        return
    if _may_leave_a_rest(call, "dataloader_drop_last", -1) and not _completed(call.frame):
        place = call.place("dataloader_drop_last")
        detail = "dataloader_drop_last=True"
        call.report("XLA402", "torch", call.last_name, detail, place, "trainer", INFORMATION, Confidence.LIKELY)


@asks_about("tensorflow", methods=("fit", "evaluate"), reach=Reach.COMPILED)
def check_fit(call: CallSite) -> None:
    """`model.fit(x, y, batch_size=32)` on arrays whose length is written out."""
    count = length_of(call.frame, call.node_of("x", 0))
    size = call.constant("batch_size", 2) if not call.lacks("batch_size", 2) else 32
    if count is None or not isinstance(size, int) or isinstance(size, bool) or size < 1 or count <= size:
        return
    rest = count % size
    if rest:
        detail = f"{count} examples in batches of {size}: the last batch has {rest}"
        severity = () if call.last_name == "fit" else INFORMATION
        call.report("XLA402", "tensorflow", call.spelled, detail, 0, "arrays", severity)


def _may_leave_a_rest(call: CallSite, keyword: str, index: int) -> bool:
    """Return whether the last batch is surely kept, as by default.

    A False that is given counts as well: it costs the same.
    """
    return call.lacks(keyword, index) or surely(call.value(keyword, index), FALSE)


def _is_one(size: Value | None) -> bool:
    return isinstance(size, Const) and size.value == 1


def _divides(count: int | None, size: Value) -> bool:
    known = isinstance(size, Const) and isinstance(size.value, int) and size.value > 0
    return count is not None and known and count % size.value == 0  # type: ignore[attr-defined]


def _iterable(dataset: Value | None) -> bool:
    """Return whether a data set has no length, as streams do."""
    for member in members(dataset) if dataset is not None else ():
        if isinstance(member, Instance):
            names = (base if isinstance(base, str) else base.dotted for base in member.klass.mro)
            if any(name in _ITERABLE for name in names):
                return True
    return False


def _never_ends(sampler: Value | None) -> bool:
    """Return whether a sampler of the program goes on for ever: it gives its examples in `while True`, so that no batch is the last."""
    made = [one for one in members(sampler) if isinstance(one, Instance)] if sampler is not None else []
    giving = [one.klass.method("__iter__") for one in made]
    return bool(giving) and all(info is not None and any(map(_is_endless, info.body)) for info in giving)


def _is_endless(statement: ir.Statement) -> bool:
    """Return whether a statement repeats something for ever: `while True:` that nothing leaves."""
    if type(statement) is not ir.While or type(statement.test) is not ir.Const or not statement.test.value:
        return False
    return not any(type(one) is ir.Return or (type(one) is ir.Jump and one.leaves) for one in ir.walk(statement.body))


def _fills_up(call: CallSite, size: ir.Node | None) -> bool:
    """Return whether the code around a loader has a function that pads, and tells it the size of a batch: `fill(batch, batch_size)`."""
    if not isinstance(size, (ir.Name, ir.Attr)):
        return False
    told = spelling(size)
    for one in ir.walk(body_of(call.frame)):
        if not isinstance(one, ir.Call) or one == call.node or not isinstance(one.func, (ir.Name, ir.Attr)):
            continue
        if told in map(spelling, (*one.args, *(value for _, value in one.keywords))):
            called = call.frame.eval(one.func)
            if type(called) is Function and any(name.startswith("pad") for name in called.info.ir.calls):
                return True
    return False


def _completed(frame: Frame) -> bool:
    """Return whether Accelerate deals the batches out to several processes, and fills the last ones up with the first examples."""
    module = frame.module
    imported = module.packages
    if not imported & {"accelerate", "transformers"}:
        return False
    prepared = "transformers" in imported or calls_any(module, {"prepare", "prepare_data_loader"})
    return prepared and ("_mp_fn" in module.unit.defs or calls_any(module, _LAUNCHERS))


def _report(call: CallSite, keyword: str, trains: bool, confidence: Confidence) -> None:
    framework = "tensorflow" if keyword == "drop_remainder" else consumer(call.frame)
    variant, severity = ("", ()) if trains else ("evaluation", INFORMATION)
    call.report("XLA402", framework, call.spelled, f"{keyword}=True", 0, variant, severity, confidence)
