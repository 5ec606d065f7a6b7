"""Decides whether a check of tensors' values may be dropped: it costs where traced code repeats it, and guards everywhere else.

Someone wrote each check for a reason. A constructor's runs once, one at the entry of a library's function or of an object that holds
data protects those who call it, one of a shape is made on the host, whatever its annotation says, and one in a function that waits for
the device anyway costs little beside that: whoever rewrites the rest gets it offered then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from xlalint.abstract.values import Const, Instance, Never, members
from xlalint.analysis.hazard import DRIVES_STEPS, EVALUATES, TAKES_STEP, TAKES_TENSORS, Frequency
from xlalint.fixes.model import NoFix, Site
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.conditions import holds_tensor, names_size
from xlalint.fixes.toolkit.dataflow import binds, reads
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.operations import CASTS, READS, VIEWS, arguments_of, names, operation
from xlalint.fixes.toolkit.text import brief, last_name

# Roots of chains that are no tracers: code that anyone may call, loops that drive a device, and those of evaluations and tests.
_UNTRACED = frozenset((DRIVES_STEPS, EVALUATES, TAKES_STEP, TAKES_TENSORS))
_CONSTRUCTORS = frozenset(("__init__", "__new__", "__post_init__", "__setattr__", "__setstate__"))
_ARGUMENT_ERRORS = frozenset(("IndexError", "KeyError", "TypeError", "ValueError"))
# What holds layers: its methods are traced along with `forward`.
_LAYERS = re.compile(r"^(?:torch\.nn|keras|tensorflow|flax|equinox|haiku|pytorch_lightning|lightning|sonnet)\b").search
# What gives the elements of its first operand.
_PACKING = (
    VIEWS | names("as_tensor asarray clone contiguous convert_to_tensor detach flip from_numpy tensor") | set(CASTS)
)
_FINITE = frozenset(("isfinite", "isinf", "isnan"))
# Names of lengths, positions and counts, of which XLA checks none.
_OF_COUNTS = re.compile(
    r"(?:^|_)(?:cnt|counts?|idx|ids|index|indexes|indices|lens?|lengths?|num|offsets?|positions?|sizes?)(?:_|$)"
).search
# Options by which somebody asks for checks.
_OF_CHECKS = re.compile(
    r"(?:^|_)(?:assert\w*|check\w*|debug\w*|paranoid|sanity|strict|validat\w*|verify\w*)(?:_|$)", re.IGNORECASE
).search
_ORDERING = (cst.GreaterThan, cst.GreaterThanEqual, cst.LessThan, cst.LessThanEqual)
_INSTEAD = "check the data on the host, where it is loaded, or under a flag of the program's own"


def reason_to_keep(site: Site, statement: cst.CSTNode, tested: cst.CSTNode) -> NoFix | None:
    """Return why a check has to stay, if it does not cost at each step, or may not be about values."""
    hazard, scene = site.hazard, site.scene
    if _is_constructor(hazard.function):
        return NoFix("the check runs once, where the object is made")
    if any(_is_constructor(step.name) for step in hazard.trace):
        return NoFix("the check guards what an object is made of")
    if hazard.trace and hazard.trace[0].why in _UNTRACED:
        return NoFix(f"the check is not known to run in traced code: {_INSTEAD}")
    if hazard.frequency is not None and hazard.frequency < Frequency.FEW_STEPS:
        return NoFix("the check does not run at every step")
    if (
        _guards_entry(site, statement, tested)
        or _guards_data(site, statement, tested)
        or _tells_callers(site, statement, tested)
    ):
        return NoFix(f"the check guards the arguments of `{hazard.function}`: {_INSTEAD}")
    watched = _find_watched(site, statement, tested)
    if watched:
        return NoFix(f"the check ends a run in which `{watched}` is not finite: make it every n steps")
    shape = _find_shape(scene, tested)
    if shape:
        return NoFix(f"`{shape}` may be a shape, which the host knows: annotate it as a tuple or `torch.Size`")
    tied = _find_tie(scene, tested)
    if tied:
        return NoFix(f"`{tied}` ties a shape to values, on which what follows relies: {_INSTEAD}")
    indexing = _find_index(scene, statement, tested)
    if indexing:
        return NoFix(f"the check keeps `{indexing}` within what it indexes, which XLA does not check: {_INSTEAD}")
    asked = next(
        (one for one in scene.above(statement) if isinstance(one, cst.If) and _asks_for_checks(scene, one)), None
    )
    if asked is not None:
        return NoFix(f"the check is made only under `{brief(scene.code(asked.test))}`")
    return _reason_around(scene, statement)


def reason_to_keep_written(site: Site, statement: cst.CSTNode, tested: cst.CSTNode) -> NoFix | None:
    """Return why a check stays that the function makes itself. Where tensors are traced, none can be made, and it has to go."""
    kept = reason_to_keep(site, statement, tested)
    if kept is not None or site.framework != "torch":
        return kept
    scene = site.scene
    counted = _find_counted(scene, tested)
    if counted:
        return NoFix(f"`{counted}` is named as a size or a position is, on which what follows relies: {_INSTEAD}")
    bound = _find_bound(scene, tested)
    if bound:
        return NoFix(f"`{bound}` bounds what is a size or a position, which XLA does not check: {_INSTEAD}")
    function = scene.function(statement)
    if function is not None and _reads_given(scene, statement, tested, function):
        return NoFix(f"the check guards the arguments of `{site.hazard.function}`: {_INSTEAD}")
    if _has_words(scene, statement):
        return NoFix(f"the check says what is wrong, for people to read: {_INSTEAD}")
    return None


def _find_index(scene: FunctionSource, statement: cst.CSTNode, tested: cst.CSTNode) -> str:
    """The variable that a check holds between bounds, and by which what follows indexes; "" without."""
    function, end = scene.function(statement), scene.span(statement)[1]
    compared = {
        one.left.value
        for one in scene.descend(tested, cst.Comparison)
        if isinstance(one.left, cst.Name) and isinstance(one.comparisons[0].operator, _ORDERING)
    }
    for one in scene.descend(function, cst.Index) if compared and function is not None else ():
        no_positions = scene.span(one)[0] < end or any(scene.descend(one, cst.Comparison))
        found = set() if no_positions else compared & reads(scene, one)
        if found:
            return min(found)
    return ""


def _find_counted(scene: FunctionSource, tested: cst.CSTNode) -> str:
    """The code of a comparison of what is named as lengths, positions or counts are: `x["lengths"].min() > 0`; "" without."""
    for one in scene.descend(tested, cst.Comparison):
        words = {
            *(name.value for name in scene.descend(one, cst.Name)),
            *(text.raw_value for text in scene.descend(one, cst.SimpleString)),
        }
        if any(map(_OF_COUNTS, words)):
            return brief(scene.code(one))
    return ""


def _find_bound(scene: FunctionSource, tested: cst.CSTNode) -> str:
    """Return the comparison of a test that keeps whole numbers within a size that the host knows: `(lengths <= x.shape[1]).all()`; ""
    without.
    """
    for one in scene.descend(tested, cst.Comparison):
        target = one.comparisons[0]
        if not isinstance(target.operator, _ORDERING):
            continue
        for side, other in ((one.left, target.comparator), (target.comparator, one.left)):
            value = scene.value(side)
            size = values.is_whole(value) and not all(type(member) is Const for member in members(value))
            if size and holds_tensor(scene, other) and values.dtype_of(scene.value(other)) in ("", "i"):
                return brief(scene.code(one))
    return ""


def _asks_for_checks(scene: FunctionSource, node: cst.If) -> bool:
    """Return whether a condition asks whether somebody looks for errors: anomaly mode, or an option that is named so or off by default."""
    function = scene.function(node)
    given = scene.descend(function.params, cst.Param) if function is not None else ()
    defaults = [scene.code(one.default) for one in given if one.name.value == scene.code(node.test) and one.default]
    if "False" in defaults:
        return True
    named = node.test.attr if isinstance(node.test, cst.Attribute) else node.test
    if isinstance(named, cst.Name) and _OF_CHECKS(named.value) and "True" not in defaults:
        return True
    if any(_OF_CHECKS(text.raw_value) for text in scene.descend(node.test, cst.SimpleString)):
        return True
    asked = [values.callee(scene.value(one.func)) for one in scene.descend(node.test, cst.Call)]
    return "torch.is_anomaly_enabled" in asked or "torch.autograd.is_anomaly_enabled" in asked


def _find_tie(scene: FunctionSource, tested: cst.CSTNode) -> str:
    """Return the comparison of a test that holds if a tensor has as many elements as others say, such as the lengths of a batch's rows;
    "" without.
    """
    for one in scene.descend(tested, cst.Comparison):
        target = one.comparisons[0]
        if len(one.comparisons) == 1 and isinstance(target.operator, (cst.Equal, cst.NotEqual)):
            sides = one.left, target.comparator
            if any(_is_size(scene, side) and holds_tensor(scene, other) for side, other in (sides, sides[::-1])):
                return brief(scene.code(one))
    return ""


def _is_size(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether an expression is a tensor's size, as the host knows it: `x.shape[0]`, `x.size(0)`, `len(x)`."""
    if isinstance(node, cst.Subscript):
        return isinstance(node.value, cst.Attribute) and node.value.attr.value == "shape"
    if not isinstance(node, cst.Call):
        return False
    named = node.func.attr.value if isinstance(node.func, cst.Attribute) else scene.code(node.func)
    return named in ("len", "numel", "size") and values.is_number(scene.value(node))


def _is_constructor(name: str) -> bool:
    return any(part in _CONSTRUCTORS for part in name.split("."))


def _reason_around(scene: FunctionSource, statement: cst.CSTNode) -> NoFix | None:
    """Return why a check stays because of what stands around it."""
    function = scene.function(statement)
    if function is not None and _find_only_statement(function) is statement:
        return NoFix(f"`{function.name.value}` does nothing else: drop its calls")
    if any(
        isinstance(one, (cst.Try, cst.TryStar)) and scene.holds(one.body, statement) for one in scene.above(statement)
    ):
        return NoFix("the check is in a `try`, which may handle what it raises")
    if waits_next(scene, statement):
        return NoFix("the next line waits for the device anyway: the check costs nothing")
    waiting = _find_waiting(scene, statement)
    return NoFix(f"`{waiting}` waits for the device anyway: rewrite that first") if waiting else None


def _find_only_statement(function: cst.FunctionDef) -> cst.CSTNode | None:
    """The statement that a function consists of, its docstring and conditions that only return left out, and `with` around it; None for
    several.
    """
    lines = list(function.body.body)
    if len(lines) > 1 and isinstance(lines[0], cst.SimpleStatementLine):
        first = lines[0].body[0]
        text = isinstance(first, cst.Expr) and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString))
        lines = lines[1:] if text else lines
    lines = [one for one in lines if not _only_returns(one)]
    while len(lines) == 1 and isinstance(lines[0], cst.With):
        lines = list(lines[0].body.body)
    return lines[0] if len(lines) == 1 else None


def _only_returns(line: cst.CSTNode) -> bool:
    """Return whether a statement is `if …: return`."""
    if not isinstance(line, cst.If) or line.orelse is not None or len(line.body.body) != 1:
        return False
    inner = line.body.body[0]
    last = inner.body[0] if isinstance(inner, cst.SimpleStatementLine) else inner
    return isinstance(last, cst.Return) and last.value is None


def _find_watched(site: Site, statement: cst.CSTNode, tested: cst.CSTNode) -> str:
    """Return what a check ends the run for where it is not finite: `if torch.isnan(loss): raise …`; "" for another.

    With words or without, somebody wants it, and what is not finite shows nowhere else before the run is lost. JAX and TensorFlow make
    none of a tensor's elements.
    """
    scene = site.scene
    while isinstance(tested, cst.UnaryOperation):
        tested = tested.expression
    if isinstance(tested, cst.BooleanOperation):
        return _find_watched(site, statement, tested.left) or _find_watched(site, statement, tested.right)
    ends = isinstance(statement, cst.SimpleStatementLine) or any(scene.descend(statement, cst.Raise))
    if not isinstance(tested, cst.Call) or not ends:
        return ""
    reduced = arguments_of(scene, tested)[0] if operation(scene, tested) in ("all", "any") else None
    if isinstance(reduced, cst.UnaryOperation):
        reduced = reduced.expression
    asked = reduced if isinstance(reduced, cst.Call) else tested
    if site.framework != "torch" and (asked is not tested or not _has_words(scene, statement)):
        return ""
    return brief(scene.code(arguments_of(scene, asked)[0])) if operation(scene, asked) in _FINITE else ""


def _guards_entry(site: Site, statement: cst.CSTNode, tested: cst.CSTNode) -> bool:
    """Return whether a check tests what a public function was given, and traced code is but one of its callers."""
    scene, hazard = site.scene, site.hazard
    function = scene.function(statement)
    if function is None or function.decorators or "." in hazard.function or hazard.function.startswith("_"):
        return False
    if len(hazard.trace) < 2 or scene.function(function) is not None:
        return False
    given = {param.name.value for param in scene.descend(function.params, cst.Param)}
    for assign in scene.descend(function.body, cst.Assign):
        if scene.span(assign)[0] < scene.span(statement)[0] and _reads_locals(scene, assign.value, function) <= given:
            given |= {name for target in assign.targets for name in binds(scene, target)}
    return _reads_locals(scene, tested, function) <= given


def _tells_callers(site: Site, statement: cst.CSTNode, tested: cst.CSTNode) -> bool:
    """Return whether a check refuses just what its function was given, with words for who calls: `assert (x >= 0).all(), "…"`; or warns of
    it.
    """
    scene = site.scene
    function = scene.function(statement)
    if function is None or not _reads_given(scene, statement, tested, function):
        return False
    warns = (values.callee(scene.value(one.func)) == "warnings.warn" for one in scene.descend(statement, cst.Call))
    return _has_words(scene, statement) or any(warns)


def _reads_given(scene: FunctionSource, statement: cst.CSTNode, tested: cst.CSTNode, function: cst.FunctionDef) -> bool:
    """Return whether all that a test reads of a function's own are parameters, at most packed in front of it: `ids = torch.stack(ids)`,
    `sizes = shape.flip(0)`.
    """
    given = {param.name.value for param in scene.descend(function.params, cst.Param)}
    read, start = reads(scene, tested) & (binds(scene, function) | given), scene.span(statement)[0]
    for line in scene.descend(function.body, cst.Assign, cst.For):
        if scene.span(line)[0] < start:
            names, source = _read_binding(scene, line)
            packs = _packs(scene, source) or _is_shape(source)
            kept = packs and (names <= given or bool(reads(scene, source) & given))
            given = given | names if kept else given - names
    return bool(read) and read <= given


def _read_binding(scene: FunctionSource, line: cst.CSTNode) -> tuple[set[str], cst.BaseExpression]:
    """The names that an assignment or a loop binds, and what to or over."""
    if isinstance(line, cst.For):
        return binds(scene, line.target), line.iter
    assert isinstance(line, cst.Assign)
    return {name for target in line.targets for name in binds(scene, target)}, line.value


def _is_shape(node: cst.BaseExpression) -> bool:
    """Return whether an expression is a shape, or a size of it: `x.shape`, `x.shape[0]`, `x.size(1)`, `len(x)`."""
    if isinstance(node, cst.Subscript):
        node = node.value
    if isinstance(node, cst.Call):
        return last_name(node.func) in ("dim", "len", "numel", "size")
    return isinstance(node, cst.Attribute) and node.attr.value in ("ndim", "shape")


def _packs(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether an expression holds a name's elements, in another shape, dtype or place, or plus a number, or is never reached."""
    if type(scene.value(node)) is Never:
        return True
    while isinstance(node, (cst.BinaryOperation, cst.Call)):
        if isinstance(node, cst.BinaryOperation):
            shifted = isinstance(node.operator, (cst.Add, cst.Subtract)) and values.is_number(scene.value(node.right))
            operands = [node.left] if shifted else []
        else:
            operands = arguments_of(scene, node) if operation(scene, node) in _PACKING else []
        if not operands:
            return False
        node = operands[0]
    return isinstance(node, cst.Name)


def _guards_data(site: Site, statement: cst.CSTNode, tested: cst.CSTNode) -> bool:
    """Return whether a method of what holds data, not layers, refuses what it was given: `raise ValueError`, `assert ok, "…"`."""
    scene, hazard = site.scene, site.hazard
    function = scene.function(statement)
    if "." not in hazard.function or len(hazard.trace) < 2 or function is None:
        return False
    named = (scene.code(one.func if isinstance(one, cst.Call) else one) for one in _list_raised(scene, statement))
    refuses = any(name in _ARGUMENT_ERRORS for name in named) or (
        _has_words(scene, statement) and _reads_given(scene, statement, tested, function)
    )
    return refuses and not _is_of_layer(scene, statement)


def _list_raised(scene: FunctionSource, statement: cst.CSTNode) -> list[cst.BaseExpression]:
    return [one.exc for one in scene.descend(statement, cst.Raise) if one.exc is not None]


def _has_words(scene: FunctionSource, statement: cst.CSTNode) -> bool:
    """Return whether a check says what is wrong."""
    if any(one.msg is not None for one in scene.descend(statement, cst.Assert)):
        return True
    return any(isinstance(one, cst.Call) and bool(one.args) for one in _list_raised(scene, statement))


def _is_of_layer(scene: FunctionSource, statement: cst.CSTNode) -> bool:
    """Return whether a method is one of a layer's or a model's."""
    function = scene.function(statement)
    if function is None or not function.params.params:
        return False
    own = function.params.params[0].name.value
    uses = (one for one in scene.descend(function.body, cst.Name) if one.value == own)
    found = (one for use in uses for one in members(scene.value(use)))
    return any(type(one) is Instance and any(map(_LAYERS, one.klass.library_bases())) for one in found)


def _reads_locals(scene: FunctionSource, node: cst.CSTNode, function: cst.FunctionDef) -> set[str]:
    """The function's own names that a node reads."""
    return reads(scene, node) & binds(scene, function)


def _find_shape(scene: FunctionSource, tested: cst.CSTNode) -> str:
    """Return the variable of a test that is named like a shape and is taken for a tensor, say by its annotation; "" without."""
    found: list[cst.BaseExpression] = [*scene.descend(tested, cst.Name), *scene.descend(tested, cst.Attribute)]
    for one in found:
        holder = scene.parent(one)
        word = one.attr.value if isinstance(one, cst.Attribute) else scene.code(one)
        asked = isinstance(one, cst.Attribute) and word in ("dim", "ndim", "shape", "size")
        spelled = isinstance(holder, cst.Attribute) and holder.attr is one
        if names_size(word) and not asked and not spelled and holds_tensor(scene, one):
            return brief(scene.code(one))
    return ""


def waits_next(scene: FunctionSource, statement: cst.CSTNode) -> bool:
    """Return whether the statement behind another one reads a value itself, and is no check."""
    siblings, index = scene.siblings(statement)
    following = siblings[index + 1] if index + 1 < len(siblings) else None
    if following is None or isinstance(following, (cst.FunctionDef, cst.ClassDef)):
        return False
    if isinstance(following, cst.SimpleStatementLine) and any(isinstance(one, cst.Assert) for one in following.body):
        return False
    if isinstance(following, (cst.If, cst.While)):
        raises = any(isinstance(one, cst.Raise) for one in scene.descend(following.body, cst.Raise))
        return not raises and holds_tensor(scene, following.test)
    if not isinstance(following, cst.SimpleStatementLine):
        return False
    return any(operation(scene, call) in READS for call in scene.descend(following, cst.Call))


def _find_waiting(scene: FunctionSource, statement: cst.CSTNode) -> str:
    """The code of what surely waits for the device in the function, beside a statement; "" without.

    What a branch of its own holds may not run, and what only checks is a check as well.
    """
    function, current = scene.function(statement), statement
    while function is not None and current is not function:
        siblings, _ = scene.siblings(current)
        for one in siblings:
            found = "" if one is current else next(_waits(scene, one), "")
            if found:
                return found
        current = scene.parent(current)
    return ""


def _waits(scene: FunctionSource, node: cst.CSTNode) -> Iterator[str]:
    """Yield the code of what reads a value, or selects as many elements as a mask has, in a statement, branches left out."""
    if isinstance(node, (cst.For, cst.With)):
        for inner in node.body.body:
            yield from _waits(scene, inner)
    if isinstance(node, (cst.If, cst.While)) and _decides(scene, node):
        yield brief(scene.code(node.test))
    if not isinstance(node, cst.SimpleStatementLine) or _only_checks(scene, node):
        return
    for call in scene.descend(node, cst.Call):
        if operation(scene, call) in READS and _is_on_device(scene, call):
            yield brief(scene.code(call))
    for one in scene.descend(node, cst.Subscript):
        indices = [part.slice.value for part in one.slice if isinstance(part.slice, cst.Index)]
        stored = isinstance(scene.parent(one), (cst.AssignTarget, cst.AugAssign))
        if not stored and any(values.is_bool(scene.value(index)) and holds_tensor(scene, index) for index in indices):
            yield brief(scene.code(one))


def _decides(scene: FunctionSource, node: cst.If | cst.While) -> bool:
    """Return whether the host needs a tensor's elements to go on: it looks them up in what it holds, as in a set, and does not raise."""
    raises = any(scene.descend(node.body, cst.Raise))
    looked_up = (
        one.left
        for one in scene.descend(node.test, cst.Comparison)
        if isinstance(one.comparisons[0].operator, (cst.In, cst.NotIn))
    )
    return not raises and any(holds_tensor(scene, one) for one in looked_up)


def _is_on_device(scene: FunctionSource, call: cst.Call) -> bool:
    """Return whether a call is given a tensor, or is a method of one."""
    given = [arg.value for arg in call.args]
    held = [call.func.value, *given] if isinstance(call.func, cst.Attribute) else given
    return any(holds_tensor(scene, one) for one in held)


def _only_checks(scene: FunctionSource, line: cst.SimpleStatementLine) -> bool:
    """Return whether a line asserts, or is a call whose result nothing takes: a check perhaps."""
    return all(isinstance(one, (cst.Assert, cst.Expr, cst.Raise)) for one in line.body)
