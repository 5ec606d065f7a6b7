"""An explanation in words, for terminals and pipes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xlalint.explain.model import Activation, Belief, Explanation, Kind, Origin, Verdict
from xlalint.report.printable import printable
from xlalint.report.view import SEVERITY_STYLE, View, width

_ORIGINS = 7
_HARMLESS = ("off", "converted", "excused")
_CONTEXTS = 3
_MODULES = 3
_DEEPEST = 99
_WIDEST_NAME = 28
_STATUS = {
    "fired": "reported",
    "suppressed": "suppressed",
    "not-selected": "not selected",
    "ignored-in-file": "ignored in this file",
    "low-confidence": "hidden",
    "info-hidden": "hidden",
    "off": "no problem here",
    "superseded": "dropped",
    "untraced": "would be reported if this were traced",
    "converted": "no problem here",
    "excused": "no problem here",
}


def render(said: Explanation, view: View, contexts: int = _CONTEXTS) -> str:
    """The whole answer; of analysed calls that differ, `contexts` are shown."""
    writer = _Writer(said, view, contexts)
    return "".join(f"{line}\n".replace(" \n", "\n") for line in writer.lines())


class _Writer:
    def __init__(self, said: Explanation, view: View, contexts: int) -> None:
        self.said = said
        self.view = view
        self.contexts = contexts

    def lines(self) -> Iterator[str]:
        yield from self._head()
        yield from self._rules()
        yield from self._write_trace()
        yield from self._values()
        yield from self._calls()
        yield from self._hints()
        yield from self._program()

    def _title(self, text: str) -> str:
        return self.view.paint(text, "bold", "blue")

    def _dim(self, text: str) -> str:
        return self.view.paint(text, "dim")

    def _place(self, filename: str | None, row: int | None, cell: int | None = None) -> str:
        if filename is None:
            return ""
        if filename == self.said.filename:
            inside = f" of cell {cell}" if cell != self.said.cell else ""
            return f"line {row}{inside}" if row else ""
        inside = f":cell {cell}" if cell is not None else ""
        return f"{self.view.path(filename)}{inside}:{row}" if row else self.view.path(filename)

    # ---------------------------------------------------------------------------------------------------- head

    def _head(self) -> Iterator[str]:
        said, paint = self.said, self.view.paint
        column = f":{said.column}" if said.column is not None else ""
        inside = "at module level" if said.function == "<module>" else f"in `{said.function}`"
        cell = f":cell {said.cell}" if said.cell is not None else ""
        yield f"{paint(f'{self.view.path(said.filename)}{cell}:{said.row}{column}', 'bold')} {inside}"
        first = said.first_row
        margin = len(str(first + len(said.source) - 1))
        bar = paint("|", "blue")
        for number, line in enumerate(said.source, first):
            shown = printable(line.replace("\t", "    "))
            yield f"{paint(f'{number:>{margin}}', 'blue')} {bar} {shown}"
            if said.column is not None and number == said.location.row:
                start = said.location.column - 1
                end = said.end_location.column - 1 if said.end_location.row == number else len(line)
                pad = width(line[:start].replace("\t", "    "))
                yield f"{' ' * margin} {bar} {' ' * pad}{paint('^' * max(width(line[start:end]), 1), 'bold', 'cyan')}"

    # --------------------------------------------------------------------------------------------------- rules

    def _rules(self) -> Iterator[str]:
        said = self.said
        yield ""
        fired = [verdict for verdict in said.rules if verdict.status == "fired"]
        if not said.rules and not said.questions:
            yield f"{self._title('Rules:')} nothing here asks for a tensor's value"
            return
        head = "" if fired else " nothing is reported here" if said.rules or said.questions else ""
        yield f"{self._title('Rules:')}{head}"
        for verdict in said.rules:
            yield from self._verdict(verdict)
        for question in said.questions:
            if not fired or question.silence != "host-value":
                yield f"  {printable(question.text)}"

    def _verdict(self, verdict: Verdict) -> Iterator[str]:
        style = SEVERITY_STYLE[verdict.severity] if verdict.severity else ("dim",)
        if verdict.status != "fired":
            style = ("dim",)
        code = self.view.paint(verdict.code, *style)
        if verdict.status in _HARMLESS:
            yield f"  {code} {verdict.name} ({_STATUS[verdict.status]}): {printable(verdict.reason)}"
            return
        facts = [_STATUS[verdict.status], *([verdict.severity] if verdict.severity else []), verdict.confidence]
        yield f"  {code} {verdict.name} ({', '.join(facts)}): {printable(verdict.message)}"
        if verdict.reason:
            yield f"    {printable(verdict.reason)}"

    # -------------------------------------------------------------------------------------------------- traced

    def _write_trace(self) -> Iterator[str]:
        traced = self.said.traced
        yield ""
        answer = "yes" if traced.traced else "no"
        sure = f", {traced.confidence}" if traced.confidence else ""
        yield f"{self._title('Traced:')} {answer}{sure}: {printable(traced.reason)}"
        for number, step in enumerate(traced.trace):
            place = self._place(step.filename, step.row, step.cell)
            why = f" ({step.why})" if number == 0 else ""
            if len(traced.trace) > 1:
                arrow = "→ " if number and not self.view.ascii_only else "-> " if number else ""
                yield f"  {'  ' * number}{arrow}{step.name}{why}{self._dim(f'  {place}')}"
        if traced.other_roots > 0:
            yield self._dim(f"  and from {traced.other_roots} more root{'s' * (traced.other_roots > 1)}")

    # -------------------------------------------------------------------------------------------------- values

    def _values(self) -> Iterator[str]:
        values = self.said.values
        if not values:
            return
        yield ""
        yield self._title("Values:")
        widest = min(max(width(belief.expression) for belief in values), _WIDEST_NAME)
        told: set[tuple[str, str | None, int | None, int | None]] = set()
        for belief in values:
            name = printable(belief.expression)
            pad = " " * max(widest - width(name), 0)
            yield f"  {self.view.paint(name, 'bold')}{pad}  {self._kind(belief.value)}"
            yield from self._origins(belief, told)
            yield from self._differing(belief)

    def _origins(self, belief: Belief, told: set[tuple[str, str | None, int | None, int | None]]) -> Iterator[str]:
        """The facts behind a value; what an earlier value had told already is not told down to its roots again."""
        cut = _DEEPEST
        for origin in belief.origins[:_ORIGINS]:
            if origin.depth > cut:
                continue
            key = (origin.text, origin.filename, origin.row, origin.cell)
            cut = origin.depth if key in told else _DEEPEST
            told.add(key)
            yield f"    {'  ' * origin.depth}{self._origin(origin)}"

    def _kind(self, kind: Kind) -> str:
        colour = {"tensor": "yellow", "unknown": "red", "never": "dim"}.get(kind.kind)
        text = printable(kind.text)
        return self.view.paint(text, colour) if colour else text

    def _origin(self, origin: Origin) -> str:
        arrow = "<-" if self.view.ascii_only else "←"
        # An API table's place is part of what is said.
        place = "" if origin.cause == "api" else self._place(origin.filename, origin.row, origin.cell)
        behind = f"  {self._dim(place)}" if place else ""
        return f"{self._dim(arrow)} {printable(origin.text)}{behind}"

    def _differing(self, belief: Belief) -> Iterator[str]:
        kinds: dict[str, list[int]] = {}
        for number, kind in zip(belief.contexts, belief.differing, strict=True):
            kinds.setdefault(kind.text, []).append(number)
        for shown, (text, numbers) in enumerate(kinds.items()):
            if shown == self.contexts:
                yield self._dim(f"    and {len(kinds) - shown} more kinds (--all shows them)")
                return
            listed = ", ".join(map(str, numbers[:6])) + (", …" if len(numbers) > 6 else "")
            yield f"    {self._dim(f'in call {listed}:')} {printable(text)}"

    # --------------------------------------------------------------------------------------------------- calls

    def _calls(self) -> Iterator[str]:
        calls = self.said.activations
        if len(calls) < 2:
            return
        yield ""
        yield f"{self._title('Analysed calls:')} {len(calls)}"
        for call in calls[: self.contexts]:
            yield f"  {call.number}. {self._call(call)}"
        if len(calls) > self.contexts:
            yield self._dim(f"  and {len(calls) - self.contexts} more (--all shows them)")

    def _call(self, call: Activation) -> str:
        place = self._place(call.filename, call.row, call.cell)
        arguments = ", ".join(f"{name}: {kind.text}" for name, kind in call.arguments)
        return f"{printable(call.caller)}{self._dim('  ' + place) if place else ''}  ({printable(arguments)})"

    def _hints(self) -> Iterator[str]:
        if self.said.hints:
            yield ""
        for hint in self.said.hints:
            yield f"{self._title('Wrong?')} {hint}"

    def _program(self) -> Iterator[str]:
        program, said = self.said.program, self.said
        paths = ", ".join(self.view.path(path) if path != self.view.folder else "." for path in program.paths)
        told = (
            f"{program.files:,} file{'s' * (program.files != 1)} in {paths}, target {said.target}, device {said.device}"
        )
        yield ""
        if program.complete:
            yield self._dim(f"Analysed: {told}.")
            return
        yield self._dim(f"Program: {told}; analysed for this answer: {_few(program.modules)}.")
        if program.checked:
            yield self._dim("What is reported is what the last `xlalint check` of these files said.")
        else:
            yield self._dim(
                "No result of `xlalint check` of these files is kept: calls from other files may change the answer (--whole)."
            )


def _few(names: Sequence[str]) -> str:
    """The shortest names, and how many more there are."""
    shown = sorted(names, key=lambda name: (len(name), name))[:_MODULES]
    more = f" and {len(names) - len(shown)} more modules" if len(names) > len(shown) else ""
    return ", ".join(shown) + more
