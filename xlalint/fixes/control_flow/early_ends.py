"""XLA101, XLA102 in JAX, and in TensorFlow where AutoGraph is off or gives up: loops that end by `if t: break` → `while_loop`.

`while True: x = f(x); if t(x): break` carries whether `t` has come true: `x, _ = jax.lax.while_loop(lambda carry: ~carry[-1], body,
(x, False))`, with a body that gives `f(x), t(f(x))`. Where the `break` comes first, `t` turned is the condition. A `range` is counted with.
"""

from __future__ import annotations

from typing import Union

import libcst as cst

from xlalint.abstract.values import Const
from xlalint.fixes.control_flow.graph_loops import Writer, bounds_of, list_names, takes_arrays, turn_of
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit.conditions import Condition, condition, holder_of
from xlalint.fixes.toolkit.dataflow import reads, uses
from xlalint.fixes.toolkit.function_source import Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.speculation import speculate
from xlalint.fixes.toolkit.text import block, brief, call, width_of

Loop = Union[cst.For, cst.While]


def move_end_into_condition(site: Site) -> Rewrite | NoFix | None:
    """The loop that the finding ends."""
    scene = site.scene
    unseen = site.framework == "tensorflow" and site.hazard.variant in ("no-autograph", "break")
    graph = site.framework == "jax" or unseen
    node = holder_of(scene, site.node)
    if not graph or not isinstance(node, cst.If) or node.orelse is not None or not only_breaks(node):
        return None
    loop = scene.nearest(node, cst.For, cst.While)
    if (
        not isinstance(loop, (cst.For, cst.While))
        or loop.orelse is not None
        or node not in loop.body.body
        or len(loop.body.body) < 2
    ):
        return None
    first = node is loop.body.body[0]
    if not first and node is not loop.body.body[-1]:
        return NoFix(
            "the `break` is in the middle of the loop: move what precedes it in front of the loop and to its end"
        )
    bounds = _bounds(site, loop)
    if bounds is None or (first and isinstance(loop, cst.For)):
        return None
    asked = condition(scene, node.test, site.framework, Imports(scene, loop))
    if isinstance(asked, NoFix):
        return asked
    if asked.static:
        return NoFix("a part of the condition is known on the host: test it in an `if` around the loop")
    barrier = speculate(scene, [node.test], site.framework).barrier
    if barrier:
        return NoFix(f"{barrier}, which a loop in the graph does once for all iterations")
    counter = loop.target.value if isinstance(loop, cst.For) and isinstance(loop.target, cst.Name) else ""
    turn = turn_of(scene, loop, reads(scene, node.test) if first else set(), counter, site.framework, node)
    if isinstance(turn, NoFix):
        return turn
    return _Writer(site, loop, turn).rewrite(node, asked, bounds, first=first)


def only_breaks(node: cst.If) -> bool:
    """Return whether an `if` does nothing but leave the loop."""
    line = node.body.body[0] if len(node.body.body) == 1 else None
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else line
    return isinstance(small, cst.Break)


def _bounds(site: Site, loop: Loop) -> list[str] | None:
    """Where a loop's counting begins and ends, nothing for `while True`; None for a loop that cannot be written so."""
    scene = site.scene
    if isinstance(loop, cst.While):
        held = scene.value(loop.test)
        return [] if type(held) is Const and held.value in (True, 1) else None
    if not isinstance(loop.target, cst.Name):
        return None
    found = bounds_of(scene, loop, site.framework)
    odd = [use for use in uses(scene, loop.body, loop.target.value) if not takes_arrays(scene, use)]
    read = any(uses(scene, loop.body, loop.target.value))
    if isinstance(found, NoFix) or odd or (site.framework == "tensorflow" and (read or found[0] != "0")):
        return None
    return found


class _Writer(Writer):
    """Writes the loop with what ends it."""

    def rewrite(self, node: cst.If, asked: Condition, bounds: list[str], *, first: bool) -> Rewrite:
        """The whole."""
        scene = self.scene
        self._jax = self.site.framework == "jax"
        going, body, begins = self._ahead(asked) if first else self._behind(node, asked, bounds)
        carried = [name for name, _ in begins]
        initial = f"({', '.join(value for _, value in begins)}{',' * (len(begins) == 1)})"
        single = first and self.single and self._jax
        name = (
            f"{self.imports.name('jax.lax')}.while_loop"
            if self._jax
            else f"{self.imports.name('tensorflow')}.while_loop"
        )
        given = [going, body, carried[0] if single else initial]
        if bounds and not self._jax:
            given.append(f"maximum_iterations={bounds[1]}")
        lead = f"{', '.join(carried)} = "
        tail = "[0]" if len(carried) == 1 and not single else ""
        text = lead + call(name, given, len(self.indent) + len(lead), self.indent, len(tail), width_of(scene)) + tail
        text = "".join(f"{one}\n\n{self.indent}" for one in self.before) + text
        start, end = scene.span(self.node)[0], self.end(None)
        if self.before and self.follows_code(start):
            start, text = start - len(self.indent), f"\n{self.indent}{text}"
        made = (Replacement(start, end, text), *self.imports.needed)
        return Rewrite(f"Use `{name}`", made, all_of(self._list_assumptions(asked, bounds)))

    def _list_assumptions(self, asked: Condition, bounds: list[str]) -> list[str]:
        found = [*asked.assumes] if asked.rank == 0 else [f"`{brief(asked.text)}` has no dimensions", *asked.assumes]
        found.append(f"{list_names(self.turn.carried)} keep{'s' if self.single else ''} shape and dtype")
        if self._jax:
            found.append("no gradient is taken in reverse through the loop")
        elif not bounds:
            found.append("no gradient is taken through the loop, for which XLA needs `maximum_iterations`")
        return found

    def _ahead(self, asked: Condition) -> tuple[str, str, list[tuple[str, str]]]:
        """The functions where the condition comes first, and what is carried with its beginning."""
        carried = self.turn.carried
        begins = [(name, name) for name in carried]
        test = asked.text if asked.turned else _not(asked.text)
        if self.single and self._jax:
            return f"lambda {carried[0]}: {test}", self.function("body"), begins
        if not self._jax:
            return f"lambda {', '.join(carried)}: {test}", self._body(carried, carried, ""), begins
        name = self.scene.fresh("going")
        self._define(name, "", "", f"return {test}")
        return name, self.function("body"), begins

    def _behind(self, node: cst.If, asked: Condition, bounds: list[str]) -> tuple[str, str, list[tuple[str, str]]]:
        """The same where the condition comes last."""
        scene, carried = self.scene, self.turn.carried
        flag = scene.fresh("going" if asked.turned else "done")
        void = flag if any(uses(scene, scene.function(self.node) or scene.root, "_")) else "_"
        taken, given = [*carried, void], [*carried, asked.text]
        begins = [*((name, name) for name in carried), (void, str(asked.turned))]
        comments = [one.value for one in scene.descend(node, cst.Comment)]
        if not self._jax:
            going = f"lambda {', '.join([*carried, flag])}: {'' if asked.turned else '~'}{flag}"
            return going, self._body(taken, given, "\n".join(comments)), begins
        going = "carry[-1]" if asked.turned else "~carry[-1]"
        if bounds:
            assert isinstance(self.node, cst.For) and isinstance(self.node.target, cst.Name)
            index = self.node.target.value if self.node.target.value != "_" else scene.fresh("i")
            taken, given = [index, *taken], [f"{index} + 1", *given]
            begins.insert(0, (index if void == flag else "_", bounds[0]))
            going = f"(carry[0] < {bounds[1]}) & {going}"
        return f"lambda carry: {going}", self._body(taken, given, "\n".join(comments)), begins

    def _body(self, taken: list[str], given: list[str], comments: str) -> str:
        """The turn as a function that is defined before."""
        scene = self.scene
        name = scene.fresh("body")
        inner = f"{self.indent}    "
        head = (
            f"def {name}(carry):\n{inner}{', '.join(taken)} = carry"
            if self._jax
            else f"def {name}({', '.join(taken)}):"
        )
        lines = block(scene, self.turn.lines, inner).rstrip()
        told = [f"{inner}{one}" for one in comments.split("\n") if one]
        returned = f"({given[0]},)" if len(given) == 1 else ", ".join(given)
        self.before.append("\n".join([head, lines, *told, f"{inner}return {returned}"]))
        return name


def _not(text: str) -> str:
    plain = text.replace(".", "").replace("_", "").isalnum()
    return f"~{text}" if plain else f"~({text})"
