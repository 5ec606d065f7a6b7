"""Why code counts as traced, or why it does not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from xlalint.analysis.chains import Reach
from xlalint.analysis.hazard import TAKES_TENSORS
from xlalint.diagnostics.finding import TraceStep
from xlalint.explain.model import Activation, Tracedness
from xlalint.explain.parameters import ParameterFacts
from xlalint.explain.replay import Replay
from xlalint.explain.scope import Scope
from xlalint.explain.wording import Wording
from xlalint.interpreter.context import HOST_TIER, Context
from xlalint.program.linker import FunctionInfo


class Tracing:
    """Answers for one scope."""

    def __init__(self, scope: Scope, replay: Replay, wording: Wording, parameters: ParameterFacts) -> None:
        self.scope = scope
        self.text = scope.text
        self.replay = replay
        self.wording = wording
        self.parameters = parameters

    def tell(self) -> Tracedness:
        """Say whether the statement is traced, and why."""
        info = self.scope.info
        if info is None and not self._repeated():
            return Tracedness(False, None, "module level runs once, when the file is imported, on the host")
        ways = [way for context, _ in self.scope.believed if (way := self.replay.reach(context)) is not None]
        if not ways:
            return Tracedness(False, None, self._why_not(info) if info is not None else _STEPS_NOTHING)
        best = min(ways, key=lambda way: self.replay.rank(self.replay.chains[way]))
        steps = tuple(TraceStep(s.path, s.row, s.name, s.why) for s in self.replay.trace(best))
        roots = {id(self.replay.chains[way].root.context) for way in ways}
        dead = self.dead(self.scope.site.statement)
        if dead:
            return Tracedness(False, None, dead, steps, len(roots) - 1)
        return Tracedness(True, self._sureness(best), self._reason(best), steps, len(roots) - 1)

    def _repeated(self) -> bool:
        """Return whether the statement stands in a loop."""
        return any(isinstance(outer, (ast.For, ast.While)) for outer in self.text.around(self.scope.site.statement))

    def _sureness(self, way: Reach) -> Literal["certain", "likely"]:
        return "certain" if self.replay.chains[way].root.tier == 1 else "likely"

    def _reason(self, way: Reach) -> str:
        link = self.replay.chains[way]
        name, why = link.root.context.name, link.root.why
        if link.root.tier == 2 and why == TAKES_TENSORS:
            why += ", and nothing shows that it stays on the host"
        start = f"`{name}` is a root: {why}"
        return start if link.depth == 0 else f"{start}; it leads here in {link.depth} call{'s' * (link.depth > 1)}"

    # ------------------------------------------------------------------------------------------------ why not

    def _why_not(self, info: FunctionInfo) -> str:
        hosts = [c for c, _ in self.scope.all if any(key[0] is c for key in self.replay.chains)]
        if hosts and any(link.root.tier == HOST_TIER for (c, _), link in self.replay.chains.items() if c in hosts):
            return "only host code that sets the compiler up runs it"
        callers = [site for site, _ in self.parameters.call_sites()]
        outer = self._untraced_outer(info)
        reason = outer or self.replay.roots.why_not(info)
        if callers and not outer:
            names = ", ".join(f"`{name}`" for name in dict.fromkeys(site.caller.name for site in callers[:3]))
            reason = f"only code that is not traced calls it ({names})" + (
                f"; and by itself: {reason}" if reason else ""
            )
        if not reason:
            reason = "no traced code reaches it"
        count = len(self.replay.entered)
        return reason if self.replay.complete else f"{reason} (seen from {count} module{'s' * (count > 1)}, see below)"

    def _untraced_outer(self, info: FunctionInfo) -> str:
        """For a nested function: that the function around it is not traced."""
        if info.ir.outer < 0 or info.name == "<lambda>":
            return ""
        outer = info.module.functions[info.ir.outer]
        reached = [key for key in self.replay.chains if key[0].function is outer]
        if reached:
            return ""
        why = self.replay.roots.why_not(outer)
        return f"it is nested in `{outer.ir.qualname}`, which is not traced" + (f": {why}" if why else "")

    # ------------------------------------------------------------------------------------------------ dead code

    def dead(self, statement: ast.stmt) -> str:
        """Why a statement is never reached, "" where it is."""
        node: ast.AST = statement
        if self.scope.ran(statement) and not isinstance(statement, _UNNOTED):
            return ""
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and self.scope.node is statement:
            return ""
        for outer in self.text.around(statement):
            if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                break
            if isinstance(outer, (ast.If, ast.While)) and node is not outer.test and self.scope.ran(outer):
                truth = self.scope.truth_of(outer.test)
                if truth is not None and (node in outer.body) is not truth:
                    at = self.text.describe_rows(outer.lineno)
                    return f"dead branch: `{_cut(self.text.code(outer.test))}` ({at}) is always {truth} here"
            if isinstance(outer, ast.stmt) and not self.scope.ran(outer):
                node = outer
                continue
            left = self._find_leaving(outer, node)
            if left is not None and not self.scope.ran(statement):
                return f"never reached: control leaves at {self.text.describe_rows(left)}"
            node = outer
        left = self._find_leaving(self.scope.node, node) if isinstance(self.scope.node, _FUNCTIONS) else None
        if left is not None and not self.scope.ran(statement):
            return f"never reached: control leaves at {self.text.describe_rows(left)}"
        return "" if self.scope.ran(statement) else "never reached in the analysed calls"

    def _find_leaving(self, holder: ast.AST | None, inner: ast.AST) -> int | None:
        """The row of the statement before an unreached one, at which control leaves their block."""
        for name in ("body", "orelse", "finalbody"):
            block = getattr(holder, name, None)
            if isinstance(block, list) and inner in block:
                reached = [one for one in block[: block.index(inner)] if self.scope.ran(one)]
                if reached and not self.scope.ran(inner):  # type: ignore[arg-type]
                    return int(reached[-1].lineno)
        return None

    # ---------------------------------------------------------------------------------------------- activations

    def activations(self) -> Iterator[Activation]:
        """The analysed calls of the function, those that count and are surest first."""
        sites = self.parameters.call_sites()
        for number, context in enumerate(self.order_contexts(), 1):
            site = next((site for site, entered in sites if entered is context), None)
            way = self.replay.reach(context)
            if site is not None:
                caller = site.caller.name
            elif way is not None:
                caller = f"as a root: {self.replay.chains[way].root.why}"
            else:
                caller = "by itself"
            params = context.function.params if context.function is not None else ()
            given = list(zip(params, context.args, strict=False))[self._receivers() :]
            arguments = tuple((param.name, self.wording.kind(value)) for param, value in given)
            path, row = (site.path, site.row) if site is not None else (None, None)
            yield Activation(number, caller, arguments, way is not None, path, row)

    def _receivers(self) -> int:
        """How many of the parameters are receivers."""
        info = self.scope.info
        return int(info is not None and info.ir.owner >= 0 and not info.decorated("staticmethod"))

    def order_contexts(self) -> list[Context]:
        """List the believed contexts, those of the surest and shortest chains first."""

        def rank(context: Context) -> tuple[int, bool, int]:
            way = self.replay.reach(context)
            return self.replay.rank(self.replay.chains[way]) if way is not None else (9, True, 0)

        return sorted((context for context, _ in self.scope.believed), key=rank)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_STEPS_NOTHING = "no loop of this file's module level steps an XLA device"
_UNNOTED = (ast.Pass, ast.Break, ast.Continue, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import)


def _cut(code: str) -> str:
    return code if len(code) <= 60 else f"{code[:59]}…"
