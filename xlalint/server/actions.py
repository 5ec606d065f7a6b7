"""Code actions: a finding's fix, a comment that silences it, a comment that teaches the analysis otherwise, and all safe fixes at once."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator, Mapping

from lsprotocol import types

from xlalint.diagnostics.finding import Finding, Location
from xlalint.explain import explain_in
from xlalint.explain.model import Explanation
from xlalint.explain.place import Place, PlaceError
from xlalint.fixes.ignore_comments import silencing
from xlalint.project.fixing import fix
from xlalint.project.report import Report
from xlalint.project.session import Session
from xlalint.report.cells import Cells
from xlalint.server.answers import Answer, Answers
from xlalint.server.diagnostics import Diagnostics
from xlalint.server.documents import Snapshot
from xlalint.server.edits import Edits, between, of_fix, of_spans, workspace_edit
from xlalint.server.teaching import is_tensor_by_annotation, parameter_row, teaching
from xlalint.source.directives import HintKind
from xlalint.source.model import SourceFile
from xlalint.source.reading import text_of

QUICK_FIX = types.CodeActionKind.QuickFix
FIX_ALL = "source.fixAll.xlalint"
NOTEBOOK_FIX_ALL = "notebook.source.fixAll.xlalint"
KINDS = [QUICK_FIX, FIX_ALL, NOTEBOOK_FIX_ALL]
_READING = ("XLA001", "XLA002", "XLA004")  # what no comment silences
_COMMENT = "XLA003"
_TELLING = ("annotation", "assignment", "default", "use", "loop", "context-manager", "call-site", "taught")
_PASSED = ("call-site", "default")


class Actions:
    """The actions for one open document. `cell` is that of a notebook which the client asks about."""

    def __init__(
        self,
        session: Session,
        snapshot: Snapshot,
        diagnostics: Diagnostics,
        cell: int | None,
        answers: Answers,
        *,
        unsafe: bool,
    ) -> None:
        self.session = session
        self.answers = answers
        self.snapshot = snapshot
        self.path = snapshot.path
        self.diagnostics = diagnostics
        self.cell = cell
        self.unsafe = unsafe
        self.source: SourceFile = session.source(self.path)

    def at(self, extent: types.Range, *, by_hand: bool = True) -> Iterator[types.CodeAction]:
        """The quick fixes for what touches an extent; to teach is offered where the user asks, as it takes an explanation."""
        own = [finding for finding in self.session.findings(self.path) if self._touches(finding, extent)]
        if not own:
            return
        places = {(one.code, one.location, one.end_location) for one in own}
        made: list[types.CodeAction] = []
        for finding in self.proposals():
            if (finding.code, finding.location, finding.end_location) not in places:
                continue
            if finding.fix is not None:
                made.append(self._fixing(finding))
            if finding.code not in (*_READING, _COMMENT):
                made.append(self._ignoring(finding))
                made += self._teach(finding) if by_hand else ()
        yield from _merge(made)

    def proposals(self) -> list[Finding]:
        """List the document's findings with their fixes."""
        return self._recall("proposals", lambda: self.session.proposals(self.path))

    def _teach(self, finding: Finding) -> list[types.CodeAction]:
        question = "teach", self.cell, finding.code, finding.location, finding.end_location
        made = self._recall(question, lambda: list(self._teaching(finding, "static")))
        return list(map(copy.copy, made))  # what is merged is changed

    def _recall(self, question: Hashable, work_out: Callable[[], Answer]) -> Answer:
        return self.answers.recall(self.session, self.snapshot, question, work_out)

    def offer_on_request(self, extent: types.Range) -> Iterator[types.CodeAction]:
        """Yield actions that are offered only where the user asks for them: to say that an unknown value is a tensor."""
        place = self._row(self.diagnostics.split_lines(self.path, self.cell).location(extent.start))
        try:
            said = explain_in(self.session, Place(self.path, place.row, None))
        except PlaceError:
            return
        if any(question.silence == "unknown-value" for question in said.questions):
            yield from self._taught(said, "tensor", None)

    def everything(self, kind: str) -> types.CodeAction | None:
        """All fixes that go without asking; None where there are none."""
        edits = self.all_fixes()
        if not edits:
            return None
        what = "all fixes" if self.unsafe else "all safe fixes"
        return types.CodeAction(f"xlalint: apply {what}", kind=kind, edit=workspace_edit(edits))

    def all_fixes(self) -> list[Edits]:
        """List the edits that the rounds of fixing make in the document."""
        return self._recall(("all", self.unsafe), self._fix_everything)

    def _fix_everything(self) -> list[Edits]:
        before = self.snapshot.content
        own = Report(self.proposals(), 1, self.session.failures.get(self.path, []))

        def check(contents: Mapping[str, bytes], _: object) -> Report:
            if self.path not in contents:
                return own
            self.session.change(self.path, contents[self.path])
            self.session.settle()
            return Report(self.session.proposals(self.path), 1, self.session.failures.get(self.path, []))

        try:
            fixed = fix(check, lambda _: before, unsafe=self.unsafe)
        finally:
            self.session.change(self.path, before)
        self.session.settle()  # or the answer would be one about a program that is still at work
        made = fixed.files.get(self.path)
        return between(self.snapshot, made.after, self.diagnostics) if made is not None else []

    # ------------------------------------------------------------------------------------------------------ one

    def _touches(self, finding: Finding, extent: types.Range) -> bool:
        located = Cells(lambda _: self.snapshot.content).locate([finding])[0]
        if located.cell != self.cell:
            return False
        lined = self.diagnostics.split_lines(self.path, self.cell)
        start, end = lined.position(located.location), lined.position(located.end_location)
        return _place(start) <= _place(extent.end) and _place(extent.start) <= _place(end)

    def _diagnostic(self, finding: Finding) -> types.Diagnostic:
        return self.diagnostics.one(Cells(lambda _: self.snapshot.content).locate([finding])[0])

    def _fixing(self, finding: Finding) -> types.CodeAction:
        assert finding.fix is not None
        safe = finding.fix.applicability == "safe"
        title = finding.fix.message if safe else f"{finding.fix.message} [unsafe]"
        return types.CodeAction(
            f"xlalint: {title}",
            kind=QUICK_FIX,
            diagnostics=[self._diagnostic(finding)],
            is_preferred=safe or None,
            edit=workspace_edit(of_fix(finding, self.diagnostics, self.snapshot)),
            data={"code": finding.code, "applicability": finding.fix.applicability},
        )

    def _ignoring(self, finding: Finding) -> types.CodeAction:
        spans = silencing(text_of(self.path, self.snapshot.content), [finding])
        return types.CodeAction(
            f"xlalint: ignore {finding.code} on this line",
            kind=QUICK_FIX,
            diagnostics=[self._diagnostic(finding)],
            edit=workspace_edit(of_spans(spans, self.diagnostics, self.snapshot)),
            data={"code": finding.code, "ignore": True},
        )

    def _teaching(self, finding: Finding, word: HintKind) -> Iterator[types.CodeAction]:
        """Say of a value that the finding is about that it is none of the device's."""
        if finding.framework is None:
            return
        try:
            said = explain_in(self.session, Place(self.path, finding.location.row, finding.location.column))
        except PlaceError:
            return
        yield from self._taught(said, word, finding)

    def _taught(self, said: Explanation, word: HintKind, finding: Finding | None) -> Iterator[types.CodeAction]:
        """For each value a comment where it comes from; none of one that an annotation says to be a tensor."""
        for row, name in _sources(said, self.path, self.source):
            if word == "static" and is_tensor_by_annotation(self.source, row, name):
                continue
            spans = teaching(self.source, row, name, word)
            if not spans:
                continue
            meaning = "static, a host value" if word == "static" else "a tensor"
            yield types.CodeAction(
                f"xlalint: teach that `{name}` (line {self._show(row)}) is {meaning}",
                kind=QUICK_FIX,
                diagnostics=[self._diagnostic(finding)] if finding is not None else None,
                edit=workspace_edit(of_spans(spans, self.diagnostics, self.snapshot)),
                data={"teach": word},
            )

    def _show(self, row: int) -> str:
        cell, shown = Cells(lambda _: self.snapshot.content).place(self.path, row)
        return str(shown) if cell is None else f"{shown} of cell {cell}"

    def _row(self, place: Location) -> Location:
        return row_in_module(self.source, self.cell, place)


def row_in_module(source: SourceFile, cell: int | None, place: Location) -> Location:
    """A place in a cell as one in the module that all cells make."""
    found = next((one for one in source.cells if one.number == cell), None)
    return place if found is None else Location(found.first + place.row - 1, place.column)


def _sources(said: Explanation, path: str, source: SourceFile) -> Iterator[tuple[int, str]]:
    """The rows that make the values what they are, nearest first: of each name the row that a comment would teach."""
    told: set[tuple[int, str]] = set()
    names = sorted(said.values, key=lambda belief: not belief.expression.isidentifier())
    for belief in names[:3]:
        name = belief.expression
        if not name.replace(".", "").isidentifier():
            continue
        for origin in belief.origins:
            if origin.row is not None and origin.filename == path and origin.cause in _TELLING and origin.depth == 0:
                # What calls pass is taught where it arrives.
                row = parameter_row(source, said.location.row, name) if origin.cause in _PASSED else origin.row
                if row is not None and (row, name) not in told:
                    told.add((row, name))
                    yield row, name
                break


def _merge(actions: list[types.CodeAction]) -> Iterator[types.CodeAction]:
    """Each action once: what several findings call for is for all of them."""
    known: dict[tuple[str, str], types.CodeAction] = {}
    for action in actions:
        key = action.title, repr(action.edit)
        if key in known:
            known[key].diagnostics = [*(known[key].diagnostics or ()), *(action.diagnostics or ())]
        else:
            known[key] = action
    yield from known.values()


def _place(position: types.Position) -> tuple[int, int]:
    return position.line, position.character
