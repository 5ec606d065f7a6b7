"""XLA510: options of the Trainer's, as an XLA device takes them."""

from __future__ import annotations

import re

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.arguments import ELSEWHERE, left_out
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.frameworks.torch.checks.trainer_xla_options import FUSED

NEAREST = re.compile(r": `(\w+)` is$")
_CHOICE = NoFix("which optimizer replaces it is the author's choice: `adamw_torch` runs on every device")


def repair_option(site: Site) -> Rewrite | NoFix | None:
    """`optim="adamw_torch_fused"` → `optim="adamw_torch"`; `tpu_num_cores=8` goes; a misspelt key is spelt as the nearest known one."""
    scene, node, hazard = site.scene, site.node, site.hazard
    assigned = scene.nearest(node, cst.Assign) if isinstance(node, cst.Attribute) else None
    if assigned is not None and isinstance(assigned.value, cst.SimpleString):
        node = assigned.value
    nearest = NEAREST.search(hazard.detail)
    if nearest is not None:
        return _correct_spelling(scene, node, hazard.subject, nearest[1])
    if hazard.subject.startswith(("tpu_num_cores", "torch_compile")):
        return left_out(scene, node)
    if not isinstance(node, cst.SimpleString):
        return (
            NoFix("`optim` has to be set, for example to `adamw_torch`") if hazard.variant == "default" else ELSEWHERE
        )
    if hazard.variant == "debug" and assigned is not None:
        return ELSEWHERE
    if hazard.variant == "debug":
        return (
            left_out(scene, node)
            if node.raw_value == "tpu_metrics_debug"
            else _without(scene, node, "tpu_metrics_debug")
        )
    if node.raw_value in FUSED:
        return Rewrite('Use "adamw_torch"', (_word(scene, node, "adamw_torch"),))
    return _CHOICE


def _word(scene: FunctionSource, node: cst.SimpleString, text: str) -> Replacement:
    """Other text between a string's quotes."""
    begin = scene.span(node)[0] + len(node.prefix) + len(node.quote)
    return Replacement(begin, begin + len(node.raw_value), text)


def _correct_spelling(scene: FunctionSource, node: cst.CSTNode, subject: str, nearest: str) -> Rewrite | NoFix:
    wrong = subject.rpartition("=")[2].strip('"')
    found = [one for one in scene.descend(node, cst.SimpleString) if one.raw_value == wrong]
    if len(found) != 1:
        return ELSEWHERE
    return Rewrite(f"Spell it `{nearest}`", (_word(scene, found[0], nearest),), f"`{nearest}` is meant")


def _without(scene: FunctionSource, node: cst.SimpleString, word: str) -> Rewrite:
    rest = " ".join(one for one in node.raw_value.split() if one != word)
    return Rewrite(f"Leave `{word}` out", (_word(scene, node, rest),))
