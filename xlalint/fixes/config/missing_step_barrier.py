"""XLA511: orders to run, where a training loop gives none, and gradients added up over the replicas."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.frameworks.torch.checks.missing_step_barrier import AND_NEVER_RUN

_XM = "torch_xla.core.xla_model"
_EACH_STEP = "the device should run after each step"
_REPLICAS = "every replica should take the same steps"


def insert_sync(site: Site) -> Rewrite | NoFix | None:
    """`optimizer.step()` → `optimizer.step()`, `torch_xla.sync()`."""
    scene, node = site.scene, site.node
    if site.hazard.variant != "step":
        return None
    statement = scene.statement(node)
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return NoFix("the step is part of another statement, or shares its line: call `torch_xla.sync()` after it")
    if isinstance(statement.body[0], (cst.Return, cst.Raise)):
        return NoFix("the function ends with the step: call `torch_xla.sync()` where it is called")
    imports = Imports(scene, node)
    end = scene.span(statement)[1]
    line_end = scene.document.text.find("\n", end)
    place = len(scene.document.text) if line_end < 0 else line_end
    if scene.document.text[place - 1 : place] == "\r":
        place -= 1
    text = f"\n{scene.indent(statement)}{imports.name('torch_xla')}.sync()"
    return Rewrite("Run the step", (Replacement(place, place, text), *imports.needed), _EACH_STEP)


def with_barrier(site: Site) -> Rewrite | NoFix | None:
    """`xm.optimizer_step(optimizer)` → `xm.optimizer_step(optimizer, barrier=True)`."""
    scene, node = site.scene, site.node
    if site.hazard.variant != "barrier" or not isinstance(node, cst.Call):
        return None
    named = [arg for arg in node.args if arg.keyword is not None and arg.keyword.value == "barrier"]
    if named:
        return Rewrite("Run the step", (Replacement(*scene.span(named[0].value), "True"),), _EACH_STEP)
    if len(node.args) != 1 or node.args[0].star:
        return NoFix("give `barrier=True`")
    place = scene.whole(node.args[0].value)[1]
    return Rewrite("Run the step", (Replacement(place, place, ", barrier=True"),), _EACH_STEP)


def use_optimizer_step(site: Site) -> Rewrite | NoFix | None:
    """`optimizer.step()` → `xm.optimizer_step(optimizer)`."""
    scene, node = site.scene, site.node
    if site.hazard.variant != "unreduced" or not isinstance(node, cst.Call):
        return None
    if not isinstance(node.func, cst.Attribute) or node.args:
        return NoFix("the step happens elsewhere: call `xm.optimizer_step` there")
    imports = Imports(scene, node)
    barrier = ", barrier=True" if site.hazard.detail.endswith(AND_NEVER_RUN) else ""
    text = f"{imports.name(_XM)}.optimizer_step({scene.code(node.func.value)}{barrier})"
    return Rewrite("Add up the gradients first", (Replacement(*scene.span(node), text), *imports.needed), _REPLICAS)
