"""Decides whether a check of tensors' values may be dropped: it costs where traced code repeats it, and guards everywhere else.

Someone wrote each check for a reason. A constructor's runs once, one at the entry of a library's function protects those who call it, one
in front of a line that waits for the device anyway costs nothing, and one of a shape is made on the host, whatever its annotation says.
"""

from __future__ import annotations

import re

import libcst as cst

from xlalint.analysis.hazard import DRIVES_STEPS, TAKES_STEP, TAKES_TENSORS, Frequency
from xlalint.fixes.model import NoFix, Site
from xlalint.fixes.toolkit.conditions import holds_tensor
from xlalint.fixes.toolkit.dataflow import binds, reads
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.operations import READS, operation
from xlalint.fixes.toolkit.text import brief

# Roots of chains that are no tracers: code that anyone may call, and loops that drive a device.
_UNTRACED = frozenset((DRIVES_STEPS, TAKES_STEP, TAKES_TENSORS))
_CONSTRUCTORS = frozenset(("__init__", "__new__", "__post_init__", "__setattr__", "__setstate__"))
_SHAPES = re.compile(r"(?:^|_)(?:dims?|ndim|resolutions?|shapes?|sizes?)$").search
_INSTEAD = "check the data on the host, where it is loaded, or under a flag of the program's own"


def reason_to_keep(site: Site, statement: cst.CSTNode, tested: cst.CSTNode) -> NoFix | None:
    """Return why a check has to stay, if it does not cost at each step, or may not be about values."""
    hazard, scene = site.hazard, site.scene
    if any(part in _CONSTRUCTORS for part in hazard.function.split(".")):
        return NoFix("the check runs once, where the object is made")
    if hazard.trace and hazard.trace[0].why in _UNTRACED:
        return NoFix(f"the check is not known to run in traced code: {_INSTEAD}")
    if hazard.frequency is not None and hazard.frequency < Frequency.FEW_STEPS:
        return NoFix("the check does not run at every step")
    if _guards_entry(site, statement, tested):
        return NoFix(f"the check guards the arguments of `{hazard.function}`: {_INSTEAD}")
    shape = _find_shape(scene, tested)
    if shape:
        return NoFix(f"`{shape}` may be a shape, which the host knows: annotate it as a tuple or `torch.Size`")
    if waits_next(scene, statement):
        return NoFix("the next line waits for the device anyway: the check costs nothing")
    return None


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
        if _SHAPES(word) and not asked and not spelled and holds_tensor(scene, one):
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
