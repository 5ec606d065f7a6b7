"""XLA506: float16 → bfloat16."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.text import with_argument

_FLAGS = {"fp16": "bf16", "fp16_full_eval": "bf16_full_eval"}
_WORDS = {"fp16": "bf16", "mixed_float16": "mixed_bfloat16"}
_ELSEWHERE = NoFix("the value comes from elsewhere: ask for bfloat16 there")
_OPTION = NoFix("a command-line option asks for it: change its default, or add one for bfloat16")
_SILENT = "bfloat16's eight bits of precision are enough, where everything was computed in float32"
_DIGITS = "bfloat16's eight bits of precision are enough, where float16 has eleven"


def name_bfloat16(site: Site) -> Rewrite | NoFix | None:
    """`torch.autocast("tpu")` → `torch.autocast("tpu", dtype=torch.bfloat16)`."""
    scene, node = site.scene, site.node
    if site.hazard.variant != "silent" or not isinstance(node, cst.Call) or "without" not in site.hazard.subject:
        return None
    imports = Imports(scene, node)
    added = with_argument(scene, node, f"dtype={imports.name('torch')}.bfloat16")
    return Rewrite("Use bfloat16", (added, *imports.needed), _DIGITS)


def halve(site: Site) -> Rewrite | NoFix | None:
    """`model.half()` → `model.bfloat16()`."""
    node = site.node
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or node.func.attr.value != "half":
        return None
    return Rewrite("Use bfloat16", (Replacement(*site.scene.span(node.func.attr), "bfloat16"),), _DIGITS)


def bfloat16(site: Site) -> Rewrite | NoFix | None:
    """`fp16=True` → `bf16=True`, `"fp16"` → `"bf16"`, `torch.float16` → `torch.bfloat16`, each where it is written out."""
    scene, node = site.scene, site.node
    if isinstance(node, cst.Call):
        words = [arg.value for arg in node.args if isinstance(arg.value, cst.SimpleString)]
        named = [word for word in words if word.raw_value in _WORDS]
        node = named[0] if len(named) == 1 else node
    if isinstance(node, cst.SimpleString) and node.raw_value in _WORDS:
        start, _ = scene.span(node)
        begin = start + len(node.prefix) + len(node.quote)
        word = Replacement(begin, begin + len(node.raw_value), _WORDS[node.raw_value])
        return Rewrite(f'Use "{word.text}"', (word,), _DIGITS if site.framework == "tensorflow" else "")
    if isinstance(node, cst.Attribute) and node.attr.value in ("float16", "half"):
        return Rewrite("Use bfloat16", (Replacement(*scene.span(node.attr), "bfloat16"),), _SILENT)
    if (
        isinstance(node, cst.Attribute)
        and node.attr.value in _FLAGS
        and isinstance(scene.parent(node), cst.AssignTarget)
    ):
        other = _FLAGS[node.attr.value]
        return Rewrite(f"Use `{other} = True`", (Replacement(*scene.span(node.attr), other),))
    arg = scene.parent(node)
    if isinstance(arg, cst.Arg) and isinstance(arg.value, cst.Attribute):
        return _OPTION
    if isinstance(arg, cst.Arg) and arg.keyword is not None and arg.keyword.value in _FLAGS:
        return _flag(scene, arg, arg.keyword)
    return _ELSEWHERE


def _flag(scene: FunctionSource, arg: cst.Arg, keyword: cst.Name) -> Rewrite | NoFix:
    """A flag of the Trainer's, whose other one is off unless it is given."""
    other = _FLAGS[keyword.value]
    holder = scene.nearest(arg, cst.Call)
    named = [one for one in holder.args if one.keyword is not None and one.keyword.value == other] if holder else []
    message = f"Use `{other}=True`"
    if not named:
        return Rewrite(message, (Replacement(*scene.span(keyword), other),))
    if not (
        isinstance(named[0].value, cst.Name) and named[0].value.value == "False" and scene.code(arg.value) == "True"
    ):
        return NoFix(f"`{other}` is set as well: remove one of the two")
    swapped = (Replacement(*scene.span(arg.value), "False"), Replacement(*scene.span(named[0].value), "True"))
    return Rewrite(message, swapped)
