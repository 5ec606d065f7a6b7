"""XLA102 in TensorFlow where AutoGraph is off: `while c(x): x = f(x)` → `x = tf.while_loop(lambda x: c(x), lambda x: (f(x),), (x,))[0]`.

A bound beside the condition, `and n < 6`, becomes `maximum_iterations=6`, which is what XLA needs for the gradient.
"""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.control_flow.bounded_loops import Bound, bound_of
from xlalint.fixes.control_flow.graph_loops import Writer, list_names, read_assignment, turn_of
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import reads
from xlalint.fixes.toolkit.function_source import Replacement
from xlalint.fixes.toolkit.speculation import speculate
from xlalint.fixes.toolkit.text import argument, atom, block, call, width_of


def conditional(site: Site) -> Rewrite | NoFix | None:
    """The loop whose condition the finding is."""
    scene = site.scene
    loop = scene.nearest(site.node, cst.While)
    if site.framework != "tensorflow" or site.hazard.variant != "no-autograph" or loop is None:
        return None
    if site.node is not loop.test and loop.test not in scene.above(site.node):
        return None
    bound = bound_of(scene, loop)
    if isinstance(bound, NoFix):
        return bound
    test = loop.test if bound is None else bound.rest
    if isinstance(test, cst.BooleanOperation) or not values.is_bool(scene.value(test)):
        return NoFix(
            f"`{scene.code(test)}` is not one tensor of bools: write the condition as a function for `tf.while_loop`"
        )
    turn = turn_of(scene, loop, reads(scene, test), "", "tensorflow", bound.raised_by if bound is not None else None)
    if isinstance(turn, NoFix):
        return turn
    barrier = speculate(scene, [test, *turn.lines], "tensorflow").barrier
    if barrier:
        return NoFix(f"{barrier}, which `tf.while_loop` does once for all iterations")
    if bound is not None and any(bound.counter in reads(scene, line) for line in turn.lines):
        return NoFix(f"`{bound.counter}` is read in the loop: carry it as a tensor, for `tf.while_loop`")
    return _Writer(site, loop, turn).rewrite(test, bound)


class _Writer(Writer):
    """Writes the call; the functions take the carried values one by one and give a tuple."""

    @property
    def state(self) -> str:
        return f"({self.turn.carried[0]},)" if self.single else f"({', '.join(self.turn.carried)})"

    def rewrite(self, test: cst.BaseExpression, bound: Bound | None) -> Rewrite:
        """The whole."""
        scene = self.scene
        functions = [self._going(test), self._body()]
        name = self._name()
        given = [*functions, self.state, *([f"maximum_iterations={self._turns(bound)}"] if bound is not None else [])]
        returned = self.find_return()
        lead = "return " if returned is not None else f"{', '.join(self.turn.carried)} = "
        text = lead + call(name, given, len(self.indent) + len(lead), self.indent, 3 * self.single, width_of(scene))
        text = "".join(f"{one}\n\n{self.indent}" for one in self.before) + text + "[0]" * self.single
        joined = bound is not None and self._directly_above(bound.set_by)
        start, end = scene.span(bound.set_by if bound is not None and joined else self.node)[0], self.end(returned)
        if self.before and self._needs_blank(start):
            start, text = start - len(self.indent), f"\n{self.indent}{text}"
        made = [Replacement(start, end, text), *self.imports.needed]
        assumed = [f"{list_names(self.turn.carried)} keep{'s' if self.single else ''} shape and dtype"]
        if bound is None:
            assumed.append("no gradient is taken through the loop, for which XLA needs `maximum_iterations`")
        elif not joined:
            made.append(Replacement(*scene.lines(bound.set_by), ""))
        return Rewrite(f"Use `{name}`", tuple(made), all_of(assumed))

    def _name(self) -> str:
        bound = {(one.module, one.name) for one in self.scene.document.unit.imports}
        if ("keras", "") in bound and ("tensorflow", "") not in bound:
            return f"{self.imports.name('keras')}.ops.while_loop"
        return f"{self.imports.name('tensorflow')}.while_loop"

    def _directly_above(self, line: cst.CSTNode) -> bool:
        """Return whether a line stands directly above the loop, without a comment between."""
        siblings, index = self.scene.siblings(self.node)
        between = self.scene.document.text[self.scene.span(line)[1] : self.scene.span(self.node)[0]]
        return siblings[index - 1] is line and not between.strip()

    def _needs_blank(self, start: int) -> bool:
        """Return whether code of the same block stands directly above."""
        above = self.scene.document.text[:start].split("\n")[-2:-1]
        return bool(above and above[0].strip() and not above[0].rstrip().endswith(":"))

    def _turns(self, bound: Bound) -> str:
        if bound.first == "0":
            return bound.last
        if bound.last.isdigit():
            return str(int(bound.last) - int(bound.first, 0))
        return f"{bound.last if bound.last.isidentifier() else f'({bound.last})'} - {bound.first}"

    def _body(self) -> str:
        """The turn, as a lambda where it is one assignment, else as a function that is defined before."""
        step = read_assignment(self.scene, self.turn.lines[0])
        assert step is not None
        comments = any(self.scene.descend(self.node.body, cst.Comment))
        if self.single and len(self.turn.lines) == 1 and not comments:
            code = f"{step.name} {step.sign} {atom(self.scene, step.value)}" if step.sign else self._code(step.value)
            if "\n" not in code:
                return f"lambda {self.turn.carried[0]}: ({code},)"
        name = self.scene.fresh("body")
        inner = f"{self.indent}    "
        lines = block(self.scene, self.turn.lines, inner).rstrip()
        given = f"({self.turn.carried[0]},)" if self.single else ", ".join(self.turn.carried)
        self.before.append(f"def {name}({', '.join(self.turn.carried)}):\n{lines}\n{inner}return {given}")
        return name

    def _going(self, test: cst.BaseExpression) -> str:
        """The test of a `while`."""
        return f"lambda {', '.join(self.turn.carried)}: {self._code(test)}"

    def _code(self, node: cst.BaseExpression) -> str:
        return argument(self.scene, node)
