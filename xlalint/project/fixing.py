"""Findings → fixed texts, in rounds: make what fixes go together, check the program again, until there is nothing left to fix.

Nothing is written here. A round's result of a file is taken if it parses and shows none of the findings that it fixed; else the fixes to
blame are dropped, and the file is as it was before the round.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from xlalint.checks.finding import Finding
from xlalint.fixes.edits import Change, Offsets, together
from xlalint.project.report import Report
from xlalint.project.rewriting import Memory
from xlalint.source.model import SourceError
from xlalint.source.reading import decode, encode
from xlalint.source.syntax import parse

MOST_ROUNDS = 100
_DEF = re.compile(r"^[ \t]*(?:async[ \t]+)?def\b", re.MULTILINE)

Check = Callable[[Mapping[str, bytes], Memory], Report]
"""Checks the program and finds fixes; the files that the mapping names are read as it says, the memory lasts over all rounds."""


class Rewritten(NamedTuple):
    """A file's content before and after its fixes."""

    before: bytes
    after: bytes


class Fixed(NamedTuple):
    """`report` is what is left, `findings` what was fixed, in order; `troubles` says what was not as it should be, a line each."""

    report: Report
    findings: list[Finding]
    files: dict[str, Rewritten]
    troubles: list[str]


class _Proposal(NamedTuple):
    """A file's text in a round, and what becomes of it."""

    text: str
    change: Change
    content: bytes


def fix(check: Check, read: Callable[[str], bytes], *, unsafe: bool) -> Fixed:
    """Fix all that can be fixed in what `check` checks; `read` gives a file's content on the disk. Raises `SourceError` for
    a file that can no longer be read.

    What went wrong inside xlalint may hide findings, so a program where something did is left alone.
    """
    return _Rounds(check, read, unsafe=unsafe).run()


class _Rounds:
    """The files as they are after some rounds, and the fixes that were dropped: by file, code and offset in its text."""

    def __init__(self, check: Check, read: Callable[[str], bytes], *, unsafe: bool) -> None:
        self._check = check
        self._read = read
        self._unsafe = unsafe
        self._memory = Memory()
        self._before: dict[str, bytes] = {}
        self._contents: dict[str, bytes] = {}
        self._dropped: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
        self._fixed: list[Finding] = []
        self._troubles: list[str] = []

    def run(self) -> Fixed:
        report = self._check({}, self._memory)
        for _ in range(MOST_ROUNDS):
            if report.failures:
                return self._done(report)
            proposals = dict(self._propose(report))
            if not proposals:
                return self._done(report)
            report = self._judge(report, proposals)
        left = sorted({finding.code for finding in report.findings if finding.fixable(unsafe=self._unsafe)})
        if left:
            self._troubles.append(f"after {MOST_ROUNDS} rounds there is still something to fix: {', '.join(left)}")
        return self._done(report)

    def _done(self, report: Report) -> Fixed:
        files = {path: Rewritten(self._before[path], content) for path, content in sorted(self._contents.items())}
        return Fixed(report, self._fixed, files, self._troubles)

    # --------------------------------------------------------------------------------------------- one round

    def _propose(self, report: Report) -> Iterator[tuple[str, _Proposal]]:
        by_path: defaultdict[str, list[Finding]] = defaultdict(list)
        for finding in report.findings:
            if finding.fixable(unsafe=self._unsafe):
                by_path[finding.filename].append(finding)
        for path, findings in by_path.items():
            raw = self._contents[path] if path in self._contents else self._read(path)
            text = decode(raw)
            proposal = self._proposal(path, raw, text, findings)
            if proposal is not None:
                self._before.setdefault(path, raw)
                yield path, proposal

    def _proposal(self, path: str, raw: bytes, text: str, findings: list[Finding]) -> _Proposal | None:
        """The fixes of a file that can be made now and give Python; those that cannot even by themselves are dropped."""
        offsets = Offsets(text)
        wanted = [f for f in findings if (f.code, offsets.at(f.location)) not in self._dropped[path]]
        while wanted:
            change = together(wanted, offsets)
            if not change.findings:
                self._drop(path, wanted, offsets, "its edits overlap")
                return None
            try:
                content = _made(change, raw, text)
            except SourceError as error:
                alone = [f for f in change.findings if not _applies([f], raw, text, offsets)]
                self._drop(path, alone, offsets, f"its result cannot be read: {error.message}")
                wanted = (
                    [f for f in wanted if f not in alone] if alone else _fitting(change.findings, raw, text, offsets)
                )
            else:
                return _Proposal(text, change, content)
        return None

    def _judge(self, report: Report, proposals: Mapping[str, _Proposal]) -> Report:
        """Take the results of a round that are good; the report on the program as it then is."""
        contents = {path: proposal.content for path, proposal in proposals.items()}
        after = self._check({**self._contents, **contents}, self._memory)
        if after.failures:
            return Report(report.findings, report.files, after.failures)
        bad = False
        for path, made in proposals.items():
            compared = _Compared(path, made, report, after)
            if shown := compared.still_shown():
                self._drop(path, shown, Offsets(made.text), "its result still shows the finding")
            elif idle := compared.idle():
                self._drop(path, idle, Offsets(made.text), "its result shows as many findings, of other rules")
            else:
                self._take(path, made)
                continue
            bad = True
        return self._check(self._contents, self._memory) if bad else after

    def _take(self, path: str, made: _Proposal) -> None:
        self._contents[path] = made.content
        self._fixed += made.change.findings
        self._dropped[path] = {(code, made.change.moved(offset)) for code, offset in self._dropped[path]}

    def _drop(self, path: str, findings: Iterable[Finding], offsets: Offsets, why: str) -> None:
        for finding in findings:
            self._dropped[path].add((finding.code, offsets.at(finding.location)))
            self._troubles.append(f"{path}:{finding.location.row}: the fix of {finding.code} was dropped: {why}")


def _made(change: Change, raw: bytes, text: str) -> bytes:
    """A file's content after a change. Raises `SourceError` where that is not Python."""
    content = encode(change.apply(text), raw)
    parse(decode(content))
    return content


def _applies(findings: list[Finding], raw: bytes, text: str, offsets: Offsets) -> bool:
    """Whether the fixes of some findings, made at once, give Python."""
    try:
        _made(together(findings, offsets), raw, text)
    except SourceError:
        return False
    return True


def _fitting(findings: Sequence[Finding], raw: bytes, text: str, offsets: Offsets) -> list[Finding]:
    """Of fixes that each give Python and together do not, as when they leave a block empty: the first ones, up to one that does not go with
    those before it. The others wait for the next round."""
    fits, fails = 1, len(findings)
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if _applies(list(findings[:middle]), raw, text, offsets):
            fits = middle
        else:
            fails = middle
    return list(findings[:fits])


class _Compared:
    """The findings of one file before and after a round. Places before it are given as what they are after it."""

    def __init__(self, path: str, made: _Proposal, before: Report, after: Report) -> None:
        old, new = Offsets(made.text), Offsets(decode(made.content))
        self.change = change = made.change
        self._spans = {id(f): [old.span(edit) for edit in f.fix.edits] for f in change.findings if f.fix is not None}
        self._start = {id(f): change.moved(old.at(f.location)) for f in before.findings if f.filename == path}
        # That only information is left of what was more is progress.
        information = any(f.severity == "info" for f in change.findings)
        counted = [
            [f for f in report.findings if f.filename == path and (information or f.severity != "info")]
            for report in (before, after)
        ]
        self.before = [(f.code, self._start[id(f)]) for f in counted[0]]
        self.after = [(f.code, new.at(f.location)) for f in counted[1]]
        # Of what is no mere wait for the device, which costs least: a graph is the same whatever it gives.
        self._decisive = (
            [self._start[id(f)] for f in counted[0] if f.kind != "host-sync"],
            [new.at(f.location) for f in counted[1] if f.kind != "host-sync"],
        )
        text = new.text
        self._functions = [match.start() for match in _DEF.finditer(text)]

    def still_shown(self) -> list[Finding]:
        """The fixed findings whose like is found where they were, and was not there before."""
        fixed = Counter((f.code, self._start[id(f)]) for f in self.change.findings)
        found = Counter(self.after)
        found.subtract(Counter(self.before) - fixed)
        appeared = [place for place, number in found.items() if number > 0]
        return [
            finding
            for finding in self.change.findings
            if any(code == finding.code and self._holds(finding, offset) for code, offset in appeared)
        ]

    def idle(self) -> list[Finding]:
        """The fixed findings where as much is found as before: in their edits, or in the function that these are in."""
        everything = [offset for _, offset in self.before], [offset for _, offset in self.after]
        return [
            finding
            for finding in self.change.findings
            if finding.framework is not None
            and self._is_idle(finding, *everything)
            and (finding.kind != "dynamic-shape" or self._is_idle(finding, *self._decisive))
        ]

    def _is_idle(self, finding: Finding, before: list[int], after: list[int]) -> bool:
        return self._gains_nothing(finding, before, after) or self._moves(finding, before, after)

    def _gains_nothing(self, finding: Finding, before: list[int], after: list[int]) -> bool:
        left = sum(self._holds(finding, offset) for offset in after)
        return bool(left) and left >= sum(self._holds(finding, offset) for offset in before)

    def _moves(self, finding: Finding, before: list[int], after: list[int]) -> bool:
        function = self._function(self._start[id(finding)])
        left, right = ([self._function(offset) for offset in offsets].count(function) for offsets in (before, after))
        return right >= left

    def _holds(self, finding: Finding, offset: int) -> bool:
        """Whether a place is the finding's, or lies in one of its edits."""
        return offset == self._start[id(finding)] or any(
            self.change.holds(span, offset) for span in self._spans[id(finding)]
        )

    def _function(self, offset: int) -> int:
        """Which of the file's functions a place is in, roughly: the last that begins before it."""
        return bisect_right(self._functions, offset)
