"""XLA105: `a if t else b` → `where(t, a, b)`; a filter in a `sum` of a generator → a choice between the element and zero."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit.conditions import condition, holder_of
from xlalint.fixes.toolkit.function_source import Replacement
from xlalint.fixes.toolkit.gradients import Slopes
from xlalint.fixes.toolkit.selection import Chooser, assigned_name, host_use, number_as_tensor, side_of
from xlalint.fixes.toolkit.shapes import Types
from xlalint.fixes.toolkit.speculation import assume_computable, speculate
from xlalint.fixes.toolkit.text import call, width_of


def rewrite(site: Site) -> Rewrite | NoFix | None:
    """The conditional expression that the finding is in as a `where`."""
    scene, framework = site.scene, site.framework
    node = holder_of(scene, site.node)
    if not isinstance(node, cst.IfExp):
        return None
    if node.body.deep_equals(node.orelse):
        return NoFix("both sides are the same: leave the condition out")
    chooser = Chooser(scene, node, framework)
    asked = condition(scene, node.test, framework, chooser.imports)
    if isinstance(asked, NoFix):
        return asked
    found = speculate(scene, [node.body, node.orelse], framework, [node.test])
    if found.barrier:
        return NoFix(found.barrier)
    chooser.assume(assume_computable(found.risks))
    types, slopes = Types(scene, framework), Slopes(scene, framework)
    sides = side_of(scene, node.body, types, slopes), side_of(scene, node.orelse, types, slopes)
    if any(side.type.number for side in sides):
        name = assigned_name(scene, node)
        use = host_use(scene, scene.statement(node), name) if name else ""
        if use:
            return NoFix(f"`{name}` is used as a Python number: `{' '.join(use.split())}`")
        if all(side.type.number for side in sides):
            chooser.assume([number_as_tensor(framework, sides)])
    arguments = chooser.choose(asked, *sides)
    if isinstance(arguments, NoFix):
        return arguments
    chooser.copy(scene.statement(node), assigned_name(scene, node) or node, [node.body, node.orelse])
    chooser.assume(asked.assumes)
    start, end = scene.whole(node)
    column = start - (scene.document.text.rfind("\n", 0, start) + 1)
    line_end = scene.document.text.find("\n", end)
    tail = max(line_end, end) - end
    line = scene.document.text[start - column : start]
    indent = line[: len(line) - len(line.lstrip())]
    made = call(chooser.function, arguments, column, indent, tail, width=width_of(scene))
    if asked.static:
        made = f"{made} if {asked.static} else {sides[1].text}"
        if end - start > scene.span(node)[1] - scene.span(node)[0]:
            made = f"({made})"
    replacements = (Replacement(start, end, made), *chooser.imports.needed)
    return Rewrite(f"Use `{chooser.function}`", replacements, all_of(chooser.assumes))


def filtered_sum(site: Site) -> Rewrite | NoFix | None:
    """`sum(f(x) for x in xs if t(x))` → `sum(where(t(x), f(x), 0.0) for x in xs)`."""
    scene, framework = site.scene, site.framework
    node = holder_of(scene, site.node)
    if not isinstance(node, cst.CompIf):
        return None
    loop = scene.parent(node)
    generator = scene.parent(loop)
    if not isinstance(generator, cst.GeneratorExp) or not isinstance(loop, cst.CompFor):
        return NoFix("the filter decides how many elements there are: keep all of them, and mask those that it drops")
    holder = scene.parent(scene.parent(generator))
    summed = isinstance(holder, cst.Call) and scene.code(holder.func) == "sum" and len(holder.args) == 1
    if not summed or "sum" in scene.document.unit.defs or len(loop.ifs) != 1 or loop.inner_for_in is not None:
        return NoFix("the filter decides how many elements there are: keep all of them, and mask those that it drops")
    chooser = Chooser(scene, node, framework)
    asked = condition(scene, node.test, framework, chooser.imports)
    if isinstance(asked, NoFix):
        return asked
    if asked.static:
        return NoFix("a part of the filter is known on the host: write it as a filter of its own")
    found = speculate(scene, [generator.elt], framework, [node.test])
    if found.barrier:
        return NoFix(found.barrier)
    types, slopes = Types(scene, framework), Slopes(scene, framework)
    element = side_of(scene, generator.elt, types, slopes)
    zero = element._replace(text="0.0")
    arguments = chooser.choose(asked, element, zero)
    if isinstance(arguments, NoFix):
        return arguments
    if element.type.kind != "f":
        chooser.assume([f"`{element.text}` is a tensor of floats"])
    chooser.assume(
        [f"the gradient of `{element.text}` is finite where it is not summed", "the filter keeps some element"]
    )
    chooser.assume(assume_computable(found.risks))
    start, _ = scene.whole(generator.elt)
    made = call(chooser.function, arguments, start, "", width=10_000)
    replacements = (
        Replacement(*scene.whole(generator.elt), made),
        Replacement(scene.whole(node)[0], scene.whole(node)[1], ""),
        *chooser.imports.needed,
    )
    return Rewrite(f"Use `{chooser.function}`", replacements, all_of(chooser.assumes))
