"""Refuses rewrites that gain nothing, that give another type than a function is annotated to, or that lie where a value is no tensor.

These hold whatever the rewrite is, so they are asked of each once it is made. What a rewrite would leave out of the text is asked here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.consumers import in_test
from xlalint.fixes.toolkit.dataflow import binds, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.operations import MAKERS, SIZED, arguments_of, names, operation
from xlalint.fixes.toolkit.text import brief

# Rules that warn of a value that is read and of nothing else: where it is read all the same, nothing is gained.
_READ_ONLY = frozenset(("XLA104", "XLA105", "XLA106", "XLA208", "XLA301"))
_READING_METHODS = frozenset(("item", "numpy", "tolist"))
_READING_BUILTINS = frozenset(
    f"builtins.{name}" for name in ("bool", "float", "int", "list", "print", "range", "round", "str")
)
_NUMBERS = frozenset(("bool", "complex", "float", "int", "str", "Number"))
_HOLDERS = names("Dict Iterable List Mapping None Optional Sequence Tuple Union dict list numbers t tuple typing")
# What copies the elements of a list to the host, one after another.
_COPYING = frozenset(
    [f"torch.{kind}Tensor" for kind in ("", "Bool", "Byte", "Double", "Float", "Half", "Int", "Long", "Short")]
    + ["numpy.array", "numpy.asarray"]
)
# What tensors have and NumPy's arrays do not.
_OF_TENSORS = names(
    "bool clamp cpu cuda detach dim expand expand_as float gather is_cuda long masked_fill masked_fill_ new_ones new_zeros numel permute"
    " requires_grad to type_as unsqueeze view where"
)
_WORD = re.compile(r"\w+").findall
_READS = re.compile(r"^(?:bool|float|int)\(|\.item\(\)$|^import ")
_OTHER_CLASSES = re.compile(r"\b(?:_?Number|bool|dict|float|int|list|Integral|Real|str|tuple)\b")
_TENSORS = re.compile(r"Tensor|Array|Variable|ndarray|Parameter")


def refusal(site: Site, made: Rewrite) -> NoFix | None:
    """Return why a rewrite is not offered."""
    for replacement in made.replacements:
        if replacement.start == replacement.end or _READS.search(replacement.text):
            continue
        returned = _find_contradicted(site.scene, replacement)
        if returned:
            return NoFix(f"the function is annotated to return `{returned}`, which a tensor is not")
    told = _find_annotated(site)
    if told:
        return told
    if site.hazard.rule in _READ_ONLY and isinstance(site.node, cst.BaseExpression):
        reader = _find_reader(site.scene, _find_replaced(site, made))
        if reader:
            return NoFix(f"`{brief(reader)}` needs the value on the host all the same")
    if site.hazard.rule == "XLA106" and site.framework == "torch" and _is_compared_in_test(site.scene, site.node):
        return NoFix("a condition needs the value on the host all the same")
    if site.hazard.rule == "XLA208" and _is_compared_in_test(site.scene, site.node):
        return NoFix("a condition needs the value on the host all the same")
    copying = _find_copying(site)
    if copying:
        return NoFix(f"`{copying}` reads each element on the host all the same: use `torch.stack`")
    return _find_narrowing(site)


def keep_comments(site: Site, made: Rewrite) -> Rewrite:
    """Return a rewrite that says so if it leaves out comments of what it writes anew; what only goes takes its comments along."""
    scene = site.scene
    written = "".join(one.text for one in made.replacements)
    spans = [(scene.span(one), one.value) for one in scene.descend(scene.root, cst.Comment)]
    gone = [
        comment
        for (start, end), comment in spans
        if any(one.text and one.start <= start and end <= one.end for one in made.replacements)
        and comment not in written
    ]
    said = [f"the comment `{brief(one)}` is not needed" for one in gone]
    return made._replace(assumes=all_of(filter(None, (made.assumes, *said)))) if gone else made


def mark_guess(site: Site, made: Rewrite) -> Rewrite | NoFix:
    """Return a rewrite of what is taken for a tensor by uses that NumPy's arrays share as one that assumes so.

    It is none where the function does nothing at all that only tensors can.
    """
    scene = site.scene
    if site.framework != "torch" or not _imports_arrays(scene):
        return made
    guessed = _find_guessed(scene, made)
    if not guessed:
        return made
    if not _works_on_tensors(scene):
        return NoFix(f"`{guessed}` may be an array of NumPy's: annotate it as a tensor if it is one")
    return made if made.assumes else made._replace(assumes=f"`{guessed}` is a tensor")


def _find_guessed(scene: FunctionSource, made: Rewrite) -> str:
    """The name in what a rewrite replaces that is taken for a tensor by its uses alone; "" without."""
    spans = [(one.start, one.end) for one in made.replacements]
    for name in scene.descend(scene.root, cst.Name):
        at, _ = scene.span(name)
        inside = any(start <= at < end for start, end in spans)
        if inside and any(not one.sure for one in values.tensors_only(scene.value(name))):
            return name.value
    return ""


def _works_on_tensors(scene: FunctionSource) -> bool:
    """Return whether a function calls something of PyTorch's, uses what arrays do not have, or has a tensor for sure."""
    if any(one.attr.value in _OF_TENSORS for one in scene.descend(scene.root, cst.Attribute)):
        return True
    if any(values.callee(scene.value(one.func)).startswith("torch.") for one in scene.descend(scene.root, cst.Call)):
        return True
    return any(
        one.sure for name in scene.descend(scene.root, cst.Name) for one in values.tensors_only(scene.value(name))
    )


def _imports_arrays(scene: FunctionSource) -> bool:
    """Return whether a module imports NumPy, whose arrays have much in common with tensors."""
    return any(one.module.partition(".")[0] == "numpy" for one in scene.document.unit.imports)


# ---------------------------------------------------------------------------------------------------------- returns


def _find_contradicted(scene: FunctionSource, replacement: Replacement) -> str:
    """The annotation of a function that returns numbers, if a replacement makes what it returns; "" without."""
    for one in scene.descend(scene.root, cst.FunctionDef):
        start, end = scene.span(one.body)
        if not start <= replacement.start < end or one.returns is None:
            continue
        annotated = scene.code(one.returns.annotation)
        if _are_numbers(annotated) and any(_makes(scene, line, replacement) for line in _returns(scene, one)):
            return annotated
    return ""


def _find_annotated(site: Site) -> NoFix | None:
    """Where a parameter that is annotated as a number is a tensor in the calls that are known."""
    scene = site.scene
    function = scene.function(site.node)
    if site.framework != "torch" or function is None:
        return None
    numbers = {
        param.name.value
        for param in scene.descend(function.params, cst.Param)
        if param.annotation is not None and scene.code(param.annotation.annotation) in _NUMBERS
    }
    for name in scene.descend(site.node, cst.Name) if numbers else ():
        if name.value in numbers and values.tensors_only(scene.value(name)):
            return NoFix(f"`{name.value}` is annotated as a number: annotate it as a tensor if it is one")
    return None


def _are_numbers(annotated: str) -> bool:
    """Return whether an annotation is that of a number, or of what holds numbers."""
    words = set(_WORD(annotated))
    return not _NUMBERS.isdisjoint(words) and words <= _NUMBERS | _HOLDERS


def _returns(scene: FunctionSource, function: cst.FunctionDef) -> Iterator[cst.Return]:
    return (one for one in scene.descend(function.body, cst.Return) if scene.function(one) is function)


def _makes(scene: FunctionSource, line: cst.Return, replacement: Replacement) -> bool:
    """Return whether a replacement makes what a line returns: it is in it, around it, or in what assigns the name that it returns."""
    if line.value is None:
        return False
    start, end = scene.span(line)
    if replacement.start <= start and end <= replacement.end:
        return True
    if start <= replacement.start < end:
        return not any(first < replacement.start < last for first, last in _read_spans(scene, line.value))
    parts = [one.value for one in line.value.elements] if isinstance(line.value, cst.Tuple) else [line.value]
    returned = {one.value for one in parts if isinstance(one, cst.Name)}
    for assign in scene.descend(scene.function(line) or scene.root, cst.Assign) if returned else ():
        first, last = scene.span(assign)
        if first <= replacement.start < last and returned & binds(scene, assign):
            return not any(begin < replacement.start < stop for begin, stop in _read_spans(scene, assign.value))
    return False


def _read_spans(scene: FunctionSource, node: cst.BaseExpression) -> Iterator[tuple[int, int]]:
    """Where an expression makes numbers of tensors: `x.item()`, `float(x)`."""
    for call in scene.descend(node, cst.Call):
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        if method in _READING_METHODS or values.callee(scene.value(call.func)) in _READING_BUILTINS:
            first, last = scene.span(call)
            yield first - 1, last


# ------------------------------------------------------------------------------------------------------------ reads


def _find_replaced(site: Site, made: Rewrite) -> cst.CSTNode:
    """The expression that a rewrite replaces; the finding's own where it replaces none as a whole."""
    places = [(one.start, one.end) for one in made.replacements]
    around = (one for one in (site.node, *site.scene.above(site.node)) if isinstance(one, cst.BaseExpression))
    found = (one for one in around if site.scene.span(one) in places or site.scene.whole(one) in places)
    return next(found, site.node)


def _find_reader(scene: FunctionSource, node: cst.CSTNode) -> str:
    """The code of what reads an expression's value at once; "" where nothing does."""
    holder = scene.parent(node)
    if isinstance(holder, cst.Attribute) and holder.attr.value in _READING_METHODS:
        return scene.code(holder)
    if isinstance(holder, cst.Arg):
        call = scene.parent(holder)
        name = values.callee(scene.value(call.func)) if isinstance(call, cst.Call) else ""
        if name in _READING_BUILTINS or name.startswith("numpy."):
            return scene.code(call)
    if isinstance(holder, (cst.Assign, cst.BinaryOperation)):
        return _find_reader_by_name(scene, holder)
    if isinstance(holder, cst.FormattedStringExpression):
        return scene.code(holder)
    if isinstance(holder, cst.Slice):
        return scene.code(holder)
    if isinstance(holder, cst.Index):
        element = scene.parent(holder)
        subscript = scene.parent(element)
        listed = isinstance(subscript, cst.Subscript) and not values.tensors_only(scene.value(subscript.value))
        return scene.code(subscript) if listed else ""
    return ""


def _is_compared_in_test(scene: FunctionSource, node: cst.CSTNode) -> bool:
    """Return whether an element decides a condition by a comparison: `x[n] > 0`."""
    holder = scene.parent(node)
    comparison = scene.parent(holder) if isinstance(holder, cst.ComparisonTarget) else holder
    return isinstance(comparison, cst.Comparison) and in_test(scene, comparison)


def _find_copying(site: Site) -> str:
    """The name of the constructor that copies the list which a finding is in; "" without."""
    scene, inside = site.scene, False
    for holder in scene.above(site.node):
        if isinstance(holder, cst.BaseSmallStatement):
            return ""
        inside = inside or isinstance(holder, (cst.List, cst.ListComp, cst.GeneratorExp))
        if inside and isinstance(holder, cst.Call) and values.callee(scene.value(holder.func)) in _COPYING:
            return scene.code(holder.func)
    return ""


def _find_reader_by_name(scene: FunctionSource, holder: cst.CSTNode) -> str:
    """The code of the first read, where all uses of the name that a value is assigned to, perhaps computed with, are reads."""
    while isinstance(holder, cst.BinaryOperation):
        holder = scene.parent(holder)
    target = holder.targets[0].target if isinstance(holder, cst.Assign) and len(holder.targets) == 1 else None
    if not isinstance(target, cst.Name):
        return ""
    read = list(uses(scene, scene.function(holder) or scene.root, target.value))
    # `max(lengths)` reads each element: reading the largest alone is a gain even for a size.
    made = holder.value if isinstance(holder, cst.Assign) else None
    if not isinstance(made, cst.Call) or len(made.args) != 1:
        later = (use for use in read if scene.span(use)[0] > scene.span(holder)[0])
        sized = next(filter(None, (_find_sized(scene, use) for use in later)), "")
        if sized:
            return sized
    found = [_reader_around(scene, use) for use in read]
    return found[0] if found and all(found) else ""


def _find_sized(scene: FunctionSource, use: cst.Name) -> str:
    """The code of the operation that takes a name for a size or a dimension, which the host must know; "" for another use."""
    arg = scene.parent(use)
    call = scene.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(arg, cst.Arg) or not isinstance(call, cst.Call):
        return ""
    name, given = operation(scene, call), arguments_of(scene, call)
    told = arg.keyword.value if arg.keyword is not None else ""
    sizes = given if name in MAKERS else given[1:]
    return scene.code(call) if (name in SIZED and use in sizes) or (name and told in ("axis", "dim")) else ""


def _reader_around(scene: FunctionSource, use: cst.Name) -> str:
    """The code of the call around a use, in its statement, that makes a number of what it is given."""
    for holder in scene.above(use):
        if isinstance(holder, cst.BaseSmallStatement):
            return ""
        if isinstance(holder, cst.Call) and values.callee(scene.value(holder.func)) in _READING_BUILTINS - {
            "builtins.print"
        }:
            return scene.code(holder)
    return ""


# -------------------------------------------------------------------------------------------------------- narrowing


def _find_narrowing(site: Site) -> NoFix | None:
    """Where `isinstance` says that a value is a number or a list, whatever else is known of it."""
    scene = site.scene
    for holder in scene.above(site.node):
        if isinstance(holder, (cst.FunctionDef, cst.Module)):
            return None
        if not isinstance(holder, cst.If) or not isinstance(holder.test, cst.Call):
            continue
        called = holder.test
        if values.callee(scene.value(called.func)) != "builtins.isinstance" or len(called.args) != 2:
            continue
        subject, classes = scene.code(called.args[0].value), scene.code(called.args[1].value)
        inside = scene.holds(holder.body, site.node)
        if (
            inside
            and _OTHER_CLASSES.search(classes)
            and not _TENSORS.search(classes)
            and _reads(scene, site.node, subject)
        ):
            return NoFix(f"`{subject}` is `{brief(classes)}` here, and no tensor")
    return None


def _reads(scene: FunctionSource, node: cst.CSTNode, code: str) -> bool:
    if code.isidentifier():
        return bool(uses(scene, scene.statement(node), code))
    return any(scene.code(one) == code for one in scene.descend(scene.statement(node), cst.Attribute))
