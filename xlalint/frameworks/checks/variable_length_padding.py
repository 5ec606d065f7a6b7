"""XLA401: batches as long as their longest example, each length of which is another shape for the compiled step.

Measured with transformers 5.23 and torch_xla 2.9.0, TensorFlow 2.21: the page says what each way to pad costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import (
    NONE,
    TRUE,
    UNKNOWN,
    Class,
    Const,
    Function,
    Instance,
    Module,
    Partial,
    Value,
    members,
)
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.base import Reach
from xlalint.frameworks.checks.call_site import ALL, INFORMATION, CallSite, asks_about, consumer, report
from xlalint.frameworks.checks.library_names import DATA_LOADER
from xlalint.interpreter.device_loops import CALLED_AS_OBJECTS
from xlalint.interpreter.guards import assigned_once
from xlalint.interpreter.spelling import spelling
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.program.linker import FunctionInfo, ModuleInfo

# Whose tensors a tokenizer makes that is asked for them.
_MADE: Final = {"pt": "torch", "tf": "tensorflow", "jax": "jax"}
# A multiple this large leaves few lengths.
_COARSE: Final = 32
_TOKENIZER_WORDS: Final = ("return_tensors", "truncation", "max_length", "text_target", "return_attention_mask")


def _collators(*names: str) -> tuple[str, ...]:
    return tuple(f"{home}.{name}" for name in names for home in ("transformers", "transformers.data.data_collator"))


_PADDED: Final = _collators(
    "DataCollatorWithPadding", "DataCollatorForTokenClassification", "DataCollatorForMultipleChoice"
)
_SEQ2SEQ: Final = _collators("DataCollatorForSeq2Seq")
_LANGUAGE: Final = _collators("DataCollatorForLanguageModeling", "DataCollatorForWholeWordMask")


@asks_about(ALL, *_PADDED, *_SEQ2SEQ, reach=Reach.COMPILED)
def check_collator(call: CallSite) -> None:
    """`DataCollatorWithPadding(tokenizer)`: its `padding` is True unless it is said to be something else."""
    index = 2 if call.name in _SEQ2SEQ else 1
    given = call.value("padding", index)
    if given is None and (call.arguments.extra is not None or call.arguments.rest is not None):
        return
    if (given is None or _is_longest(given)) and not _pads_texts(call.frame) and _collates(call):
        _report(call, call.last_name, call.value("pad_to_multiple_of", index + 2), call.place("padding", index))


@asks_about(ALL, *_LANGUAGE, reach=Reach.COMPILED)
def check_language_collator(call: CallSite) -> None:
    """`DataCollatorForLanguageModeling(tokenizer)`, unless what it gets was cut into pieces of one length."""
    if call.arguments.extra is None and not (_pads_texts(call.frame) or _cuts_texts(call.frame)) and _collates(call):
        multiple = call.arguments.keywords.get("pad_to_multiple_of")
        _report(call, call.last_name, multiple, 0, Confidence.LIKELY)


# What collates a batch, of a collator's methods: others mask the tokens of batches that were made elsewhere.
_COLLATING: Final = frozenset(("__call__", "torch_call", "tf_call", "numpy_call"))


def _collates(call: CallSite) -> bool:
    """Return whether a collator may be given batches to make.

    It is given none where only other methods of it are called.
    """
    for node in _nodes(call.frame, call.last_name.encode()):
        if type(node) is ir.Assign and node.value == call.node and len(node.targets) == 1:
            held = spelling(node.targets[0])
            used = [one for one in _nodes(call.frame, held.rpartition(".")[2].encode()) if _is(one, held)]
            methods = [
                one.name
                for one in _nodes(call.frame, held.rpartition(".")[2].encode())
                if type(one) is ir.Attr and _is(one.value, held)
            ]
            # One use is the assignment itself.
            return len(methods) < len(used) - 1 or not methods or not _COLLATING.isdisjoint(methods)
    return True


def _is(node: object, held: str) -> bool:
    return isinstance(node, (ir.Name, ir.Attr)) and spelling(node) == held


@asks_about(ALL, "transformers.Trainer", "transformers.trainer.Trainer", reach=Reach.COMPILED)
def check_trainer(call: CallSite) -> None:
    """`Trainer(model, args, processing_class=tokenizer)`, whose collator is then `DataCollatorWithPadding`."""
    given = call.value("processing_class", 5) or call.arguments.keywords.get("tokenizer")
    if given is None or given is NONE or not call.lacks("data_collator", 2) or _pads_texts(call.frame):
        return
    node = call.node_of("processing_class") or call.node_of("tokenizer")
    if node is not None and "token" in spelling(node).lower() and not _cuts_texts(call.frame):
        call.report("XLA401", consumer(call.frame), call.last_name, "", 0, "default", (), Confidence.LIKELY)


@asks_about(ALL, methods=("tokenizer", "_tokenizer"), reach=Reach.COMPILED)
def check_tokenizer(call: CallSite) -> None:
    """`tokenizer(texts, padding=True)` for each batch: in a collate function, a mapped one, or a loop."""
    keywords = call.arguments.keywords
    named = spelling(call.node.func).lower()
    if not ("token" in named or any(word in keywords for word in _TOKENIZER_WORDS)) or not _again(call.frame):
        return
    asked = keywords.get("return_tensors")
    if type(asked) is Const and _MADE.get(str(asked.value), consumer(call.frame)) != consumer(call.frame):
        return  # another framework computes with that
    given = keywords.get("padding")
    if given is not None and _is_longest(given):
        multiple = keywords.get("pad_to_multiple_of")
        _report(call, f"padding={_describe(given)}", multiple, call.place("padding"), _confidence(call.frame))
        return
    unpadded = given is None and call.arguments.extra is None and keywords.get("return_tensors", NONE) is not NONE
    if unpadded and call.frame.loops.depth and "token" in named and not _makes_lists(call):
        call.report("XLA401", consumer(call.frame), call.spelled, "", 0, "unpadded", (), Confidence.LIKELY)


def _makes_lists(call: CallSite) -> bool:
    """Return whether nothing is done with the tokens of a text but to make lists of them, and to count them: no step gets their length."""
    function = call.frame.function
    if function is None:
        return False
    nodes = ir.walk(function.body)
    given = [pair for one in nodes if type(one) is ir.Assign for pair in _list_pairs(one)]
    held = {target.id for target, value in given if type(target) is ir.Name and value == call.node}
    if not held:
        return False
    settled: set[int] = set()
    for target, value in given:  # in the order of the statements
        if type(target) is ir.Name and _root_of(value) in held:
            held.add(target.id)
            settled.update(map(id, ir.walk(value)))
        settled.update(map(id, ir.walk(target)))
    for one in nodes:
        if type(one) is ir.Call and _lists(one):
            settled.update(map(id, ir.walk(one)))
    return all(id(one) in settled for one in nodes if type(one) is ir.Name and one.id in held)


def _list_pairs(statement: ir.Assign) -> Iterator[tuple[ir.Node, ir.Node]]:
    """Pair the targets of an assignment with what they are given, one by one where both sides show that."""
    value = statement.value
    for target in statement.targets:
        if type(target) is ir.Display and type(value) is ir.Display and len(target.items) == len(value.items):
            yield from zip(target.items, value.items, strict=True)
        else:
            yield target, value


def _root_of(node: ir.Node) -> str:
    """Return the name of what an expression is a part of: `x` of `x["ids"][0]`."""
    while type(node) is ir.Sub or type(node) is ir.Attr:
        node = node.value
    return node.id if type(node) is ir.Name else ""


def _lists(call: ir.Call) -> bool:
    """Return whether a call makes a list of something, or counts it: `x.tolist()`, `len(x)`."""
    if type(call.func) is ir.Name:
        return call.func.id == "len"
    return type(call.func) is ir.Attr and call.func.name == "tolist" and not call.args


@asks_about(ALL, methods=("pad",), reach=Reach.COMPILED, leads=False)
def check_pad(call: CallSite) -> None:
    """`tokenizer.pad(features)`: to the longest unless it is said otherwise."""
    if type(call.node.func) is not ir.Attr or "token" not in spelling(call.node.func.value).lower():
        return
    given = call.value("padding", 1)
    if _again(call.frame) and call.arguments.extra is None and (given is None or _is_longest(given)):
        _report(call, call.spelled, call.value("pad_to_multiple_of", 3), call.place("padding", 1))


@asks_about(ALL, *DATA_LOADER, reach=Reach.COMPILED)
def check_data_loader(call: CallSite) -> None:
    """`DataLoader(dataset, collate_fn=collate)`: what the function does is done for each batch."""
    _enter(call, call.value("collate_fn", 6))


@asks_about(ALL, methods=("map",), reach=Reach.COMPILED, leads=False)
def check_map(call: CallSite) -> None:
    """`dataset.map(tokenize, batched=True)`: the function gets a thousand texts at a time, and pads each thousand for itself."""
    if "batched" in call.arguments.keywords:
        _enter(call, call.value("function", 0))


def _enter(call: CallSite, function: Value | None) -> None:
    interpreter = call.frame.interpreter
    for member in members(function) if function is not None else ():
        if isinstance(member, (Function, Instance, Partial)):
            interpreter.collating += 1
            interpreter.call_value(call.frame, member, [UNKNOWN], (), call.node)
            interpreter.collating -= 1


_PAD_SEQUENCE: Final = ("torch.nn.utils.rnn.pad_sequence", "torch.nn.utils.rnn.pack_sequence")


@asks_about("torch", *_PAD_SEQUENCE, reach=Reach.COMPILED, leads=False)
def check_pad_sequence(call: CallSite) -> None:
    """`pad_sequence(batch)` in a collate function, unless that pads further, to a length of its own."""
    function = call.frame.function
    if call.frame.interpreter.collating and function is not None and "pad" not in function.ir.calls:
        if call.node.args and _adds_longest(call.node.args[0], function):
            return
        framework = consumer(call.frame)
        call.report("XLA401", framework, call.spelled, "", 0, "", (), _confidence(call.frame))


def _adds_longest(batch: ir.Node, function: FunctionInfo) -> bool:
    """Return whether a tensor of a length of its own is put beside the examples: all are padded to that."""
    source = assigned_once(batch, function.body)
    sides = (source.left, source.right) if isinstance(source, ir.Bin) and source.op == "+" else ()
    return any(isinstance(side, ir.Display) and any(isinstance(one, ir.Call) for one in side.items) for side in sides)


@asks_about("torch", "builtins.max", reach=Reach.COMPILED, leads=False)
def check_longest(call: CallSite) -> None:
    """`max(len(x) for x in batch)` in a collate function, also of lengths that have a name, unless it is rounded up."""
    frame = call.frame
    if not frame.interpreter.collating or frame.function is None or not _measures(call.node, frame.function):
        return
    if not _rounds(frame.function):
        framework = consumer(frame)
        call.report("XLA401", framework, "", "", 0, "", (), Confidence.LIKELY)


_TEXT_ITERATORS: Final = tuple(
    f"torchtext.{home}.{name}{made}"
    for home in ("data", "legacy.data")
    for name in ("BucketIterator", "Iterator")
    for made in ("", ".splits")
)


@asks_about("torch", *_TEXT_ITERATORS, reach=Reach.COMPILED)
def check_text_iterator(call: CallSite) -> None:
    """`BucketIterator(dataset, …)`, whose fields pad to the longest of each batch unless one has a `fix_length`."""
    fixed = (
        type(node) is ir.Call and any(name == "fix_length" for name, _ in node.keywords)
        for node in _nodes(call.frame, b"fix_length")
    )
    if not any(fixed):
        call.report("XLA401", consumer(call.frame), call.spelled, "", 0, "", (), Confidence.LIKELY)


@asks_about("tensorflow", methods=("padded_batch",), reach=Reach.COMPILED)
def check_padded_batch(call: CallSite) -> None:
    """`dataset.padded_batch(32)`, or with `padded_shapes` that leave a size open."""
    shapes = call.node_of("padded_shapes", 1)
    given = call.value("padded_shapes", 1)
    open_ended = shapes is not None and any(one in (ir.Const(None), _MINUS_ONE) for one in ir.walk(shapes))
    written = shapes is not None and not isinstance(shapes, (ir.Name, ir.Attr, ir.Call))
    if call.lacks("padded_shapes", 1) or (written and open_ended and given is not None):
        call.report("XLA401", "tensorflow", call.spelled, "padded_shapes", 0, "dataset")


@asks_about("tensorflow", methods=("bucket_by_sequence_length",), reach=Reach.COMPILED)
def check_bucket(call: CallSite) -> None:
    """`dataset.bucket_by_sequence_length(…)`, which pads to the longest of a batch, not to its bucket's bound."""
    given = call.value("pad_to_bucket_boundary", 6)
    if given is None and call.arguments.extra is None and call.arguments.rest is None:
        call.report("XLA401", "tensorflow", call.spelled, "pad_to_bucket_boundary=True", 0, "dataset")


_MINUS_ONE: Final = ir.Unary("-", ir.Const(1), 0)


def _is_longest(value: Value) -> bool:
    found = members(value)
    return all(one is TRUE or (isinstance(one, Const) and one.value == "longest") for one in found)


def _describe(value: Value) -> str:
    return '"longest"' if isinstance(value, Const) and value.value == "longest" else "True"


def _again(frame: Frame) -> bool:
    """Return whether what runs now runs for each batch: a model that has the tokenizer is given the texts of one."""
    if frame.interpreter.collating or frame.loops.depth:
        return True
    function = frame.function
    return (
        function is not None
        and function.name in CALLED_AS_OBJECTS
        and frame.interpreter.tables.kind(function.owner) == "module"
    )


def _confidence(frame: Frame) -> Confidence:
    return Confidence.CERTAIN if frame.interpreter.collating else Confidence.LIKELY


def _report(
    call: CallSite, subject: str, multiple: Value | None, at: int, confidence: Confidence = Confidence.CERTAIN
) -> None:
    """Report padding to the longest, by what it is rounded up to."""
    variant = detail = ""
    severity: tuple[tuple[str, str], ...] = ()
    if multiple is not None and multiple is not NONE:
        number = multiple.value if isinstance(multiple, Const) else None
        if not isinstance(number, int):
            return
        variant, detail = "multiple", str(number)
        severity = INFORMATION if number >= _COARSE else ()
    report(
        call.frame, "XLA401", consumer(call.frame), subject, detail, at or call.node.at, variant, severity, confidence
    )


def _pads_texts(frame: Frame) -> bool:
    """Return whether the module, or one that it imports of the program, pads what it tokenizes to one length.

    What is collated then has that length already.
    """
    return any(
        type(node) is ir.Call and ("padding", _MAX_LENGTH) in node.keywords and "Collator" not in spelling(node.func)
        for module in _list_modules(frame)
        for node in _nodes_of(module, b"max_length")
    )


def _list_modules(frame: Frame) -> Iterator[ModuleInfo]:
    """List the module of the code, and those of the program of which it imports something."""
    yield frame.module
    program = frame.interpreter.program
    for binding in frame.module.unit.imports:
        held = program.resolve_import(frame.module, binding)
        found = (
            held.info.module if isinstance(held, (Class, Function)) else held.info if isinstance(held, Module) else None
        )
        if found is not None and not found.followed:
            yield found


_MAX_LENGTH: Final = ir.Const("max_length")


def _cuts_texts(frame: Frame) -> bool:
    """Return whether the module cuts texts into pieces of one length: `tokens[i : i + size]`."""
    return any(
        type(node) is ir.Slice and type(node.upper) is ir.Bin and node.upper.op == "+" and node.lower is not None
        and spelling(node.lower) == spelling(node.upper.left)
        for node in _nodes(frame, b"+")
    )  # fmt: skip


def _nodes(frame: Frame, text: bytes) -> list[object]:
    return _nodes_of(frame.module, text)


def _nodes_of(module: ModuleInfo, text: bytes) -> list[object]:
    """All that a module's bodies hold that have some bytes in their encoded form."""
    module.reader.read_whole(module)
    bodies = [ir.decode_body(module.unit.body)] if text in module.unit.body else []
    bodies += [info.body for info in module.functions if text in info.ir.body]
    return [node for body in bodies for node in ir.walk(body)]


def _measures(node: ir.Call, function: FunctionInfo) -> bool:
    """Return whether a call asks for the largest of lengths."""
    if len(node.args) != 1:
        return False
    for one in ir.walk(assigned_once(node.args[0], function.body)):
        if type(one) is ir.Call and type(one.func) is ir.Name and one.func.id == "len":
            return True
        if type(one) is ir.Attr and one.name in ("shape", "size"):
            return True
    return False


def _rounds(info: FunctionInfo) -> bool:
    """Return whether a function rounds a length up to a multiple, or to one of a few."""
    return any(
        (type(node) is ir.Bin and node.op in ("//", "%"))
        or (type(node) is ir.Call and spelling(node.func).rpartition(".")[2] in ("ceil", "next", "bisect", "bisect_left"))
        for node in ir.walk(info.body)
    )  # fmt: skip


def tokenizes(node: ir.Call) -> bool:
    """Return whether what is called, of which nothing is known, is given what tokenizers are."""
    return any(name in ("padding", "return_tensors") for name, _ in node.keywords)
