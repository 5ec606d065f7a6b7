"""XLA523: optimizers whose compiled step is to count on the device."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.text import last_name, with_argument
from xlalint.frameworks.torch.checks.compiled_optimizer import FUSED, OPTIMIZERS

_ELSEWHERE = NoFix("the optimizer is made elsewhere: give it `capturable=True` there")


def count_on_device(site: Site) -> Rewrite | NoFix | None:
    """`AdamW(parameters)` → `AdamW(parameters, fused=True)`."""
    made = _find_construction(site)
    if made is None:
        return _ELSEWHERE
    name = last_name(made.func)
    argument = "fused=True" if name in FUSED else "capturable=True"
    return Rewrite(f"Make `{name}` with `{argument}`", (with_argument(site.scene, made, argument),))


def _find_construction(site: Site) -> cst.Call | None:
    """The one call among the statements at hand that makes the optimizer whose step is compiled."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call):
        return None
    step = node.func if last_name(node.func) == "step" else node.args[0].value if node.args else None
    owner = step.value if isinstance(step, cst.Attribute) else None
    if isinstance(owner, cst.Call):
        return owner if last_name(owner.func) in OPTIMIZERS else None
    if not isinstance(owner, cst.Name):
        return None
    whole = [node, *scene.above(node)][-1]
    found = [
        one.value
        for one in scene.descend(whole, cst.Assign)
        if any(isinstance(each.target, cst.Name) and each.target.value == owner.value for each in one.targets)
    ]
    made = found[0] if len(found) == 1 else None
    return made if isinstance(made, cst.Call) and last_name(made.func) in OPTIMIZERS else None
