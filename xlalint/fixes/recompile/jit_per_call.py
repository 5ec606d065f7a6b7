"""XLA404: a compiled function that is made in each turn of a loop → one that is made before it."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.dataflow import binds
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.text import last_name

_IN_FUNCTION = NoFix("compile a module-level function outside this one, and pass it what changes as arguments")
_KEPT = "what the compiled function closes over does not change"


def hoist(site: Site) -> Rewrite | NoFix | None:
    """`for …: jax.jit(jax.grad(f))(x)` → `grad_f = jax.jit(jax.grad(f))` in front of the loop."""
    scene, node = site.scene, site.node
    loop = scene.nearest(node, cst.For, cst.While)
    if not isinstance(node, cst.Call) or loop is None or scene.function(loop) is not scene.function(node):
        return _IN_FUNCTION
    own = {param.name.value for param in scene.descend(node, cst.Param)}
    read = {name.value for name in scene.descend(node, cst.Name)} - own
    changed = binds(scene, loop)
    if read & changed:
        return NoFix(
            f"`{min(read & changed)}` changes in each iteration: pass it to one compiled function as an argument"
        )
    assumes = "" if _is_fixed(scene, node) else _KEPT
    above = scene.lines(loop)[0]
    indent = scene.indent(loop)
    holder = scene.parent(node)
    assigned = holder if isinstance(holder, cst.Assign) else None
    if assigned is not None:
        return _move(scene, assigned, above, indent, assumes)
    name = scene.fresh(_name(node))
    made = Replacement(above, above, f"{indent}{name} = {scene.code(node)}\n")
    return Rewrite(f"Compile `{name}` once, before the loop", (made, Replacement(*scene.span(node), name)), assumes)


def _move(scene: FunctionSource, assigned: cst.Assign, above: int, indent: str, assumes: str) -> Rewrite | NoFix:
    """The assignment as it stands, in front of the loop."""
    line = scene.statement(assigned)
    siblings, _ = scene.siblings(line)
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or len(siblings) == 1:
        return _IN_FUNCTION
    made = Replacement(above, above, f"{indent}{scene.code(assigned)}\n")
    name = scene.code(assigned.targets[0].target)
    return Rewrite(f"Compile `{name}` once, before the loop", (made, Replacement(*scene.lines(line), "")), assumes)


def _is_fixed(scene: FunctionSource, node: cst.Call) -> bool:
    """Return whether all names that are read are functions and modules, and nothing is closed over."""
    if any(True for _ in scene.descend(node, cst.Lambda)):
        return False
    return not any(isinstance(arg.value, cst.Attribute) for arg in node.args)


def _name(node: cst.Call) -> str:
    """Choose a name for the compiled function, after the functions that it is made of."""
    words: list[str] = []
    inner: cst.BaseExpression = node
    while isinstance(inner, cst.Call) and inner.args:
        inner = inner.args[0].value
        func = inner.func if isinstance(inner, cst.Call) else inner
        word = last_name(func)
        words.append(word)
    return "_".join(word for word in words if word and word != "partial") or "compiled"
