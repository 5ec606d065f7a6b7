"""Findings → fixed texts, in rounds: make what fixes go together, check the program again, until there is nothing left to fix.

Nothing is written here. A round's result of a file is taken if it parses and shows none of the findings that it fixed; else the fixes to
blame are dropped, and the file is as it was before the round.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from xlalint.diagnostics.finding import Finding, Proof
from xlalint.fixes.toolkit.edits import Change, Offsets, together
from xlalint.fixes.toolkit.leftover_imports import LEFT_BY, leftover_imports
from xlalint.project.report import Report
from xlalint.project.rewriting import Memory
from xlalint.source.data_files import is_data
from xlalint.source.model import SourceError
from xlalint.source.reading import content_of, from_bytes, text_of
from xlalint.source.syntax import parse

MOST_ROUNDS = 100
_DEF = re.compile(r"^[ \t]*(?:async[ \t]+)?def\b", re.MULTILINE)

Check = Callable[[Mapping[str, bytes], Memory | None], Report]
"""Checks the program and, with a memory, finds fixes; the files that the mapping names are read as it says, the memory lasts over all
rounds.
"""


class Proposed(NamedTuple):
    """One fix that would be applied: a file's text before it, and after it alone; `others` are the rows of the file's other findings."""

    path: str
    before: str
    after: str
    finding: Finding
    others: tuple[int, ...] = ()


class Answer(NamedTuple):
    """The answer whether a proposed fix may be applied, and its proof."""

    taken: bool
    proof: Proof


Accept = Callable[[Sequence[Proposed]], Sequence[Answer]]
"""Asked before fixes are applied, once for those of a round; one that it does not take is left alone."""

Choose = Callable[[Sequence[Finding], Mapping[str, bytes]], Sequence[Finding]]
"""Takes of findings those that are to be fixed; the files that the mapping names are read as it says."""


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


def fix(
    check: Check,
    read: Callable[[str], bytes],
    *,
    unsafe: bool,
    accept: Accept | None = None,
    choose: Choose | None = None,
) -> Fixed:
    """Fix all that can be fixed in what `check` checks; `read` gives a file's content on the disk. Raises `SourceError` for
    a file that can no longer be read.

    What goes wrong inside xlalint costs what it says it does: a result that makes more go wrong is not taken, and the report tells of all
    that did in some round. With `accept`, only fixes that it takes are applied, and what it shows of them is in the fixes of the findings,
    both those made and those left. Findings that
    `choose` leaves out are in the report all the same; where it leaves out all, no fixes are looked for.
    """
    return _Rounds(check, read, unsafe=unsafe, accept=accept, choose=choose).run()


def propose_fixes(path: str, text: str, findings: Iterable[Finding], everything: Iterable[Finding]) -> list[Proposed]:
    """Propose the fixes of a file's findings, each alone; those that give no Python are left out. `everything` is all that was found."""
    offsets = Offsets(text)
    found = []
    beside = [one for one in everything if one.filename == path and one.framework is not None]
    for finding in findings:
        after = together([finding], offsets).apply(text)
        try:
            parse(after)
        except SourceError:
            continue
        others = tuple(one.location.row for one in beside if one is not finding)
        found.append(Proposed(path, text, after, finding, others))
    return found


def with_proof(finding: Finding, proof: Proof | None) -> Finding:
    """A finding whose fix tells what was shown of it."""
    if proof is None or finding.fix is None:
        return finding
    return msgspec.structs.replace(finding, fix=msgspec.structs.replace(finding.fix, proof=proof))


class _Rounds:
    """The files as they are after some rounds, and the fixes that were dropped: by file, code and offset in its text."""

    def __init__(
        self, check: Check, read: Callable[[str], bytes], *, unsafe: bool, accept: Accept | None, choose: Choose | None
    ) -> None:
        self._check = check
        self._read = read
        self._unsafe = unsafe
        self._accept = accept
        self._choose = choose
        self._proofs: defaultdict[str, dict[tuple[str, int], Proof]] = defaultdict(dict)
        self._memory = Memory()
        self._before: dict[str, bytes] = {}
        self._contents: dict[str, bytes] = {}
        self._dropped: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
        self._fixed: list[Finding] = []
        self._tidied: set[str] = set()
        self._troubles: list[str] = []
        self._failures: dict[str, None] = {}

    def run(self) -> Fixed:
        if self._choose is not None:
            # Of the files of a commit most have nothing to fix, which a check without fixes says sooner.
            report = self._check_round({}, None)
            if not self._choose(report.findings, {}):
                return self._finish(report)
        report = self._check_round({}, self._memory)
        for _ in range(MOST_ROUNDS):
            proposals = dict(self._propose(report))
            if proposals:
                report = self._judge(report, proposals)
                continue
            leftovers = dict(self._find_leftovers())
            if not leftovers:
                return self._finish(report)
            report = self._judge(report, leftovers)
        left = sorted({finding.code for finding in self._fixable(report)})
        if left:
            self._troubles.append(f"after {MOST_ROUNDS} rounds there is still something to fix: {', '.join(left)}")
        return self._finish(report)

    def _check_round(self, contents: Mapping[str, bytes], memory: Memory | None) -> Report:
        report = self._check(contents, memory)
        self._failures.update(dict.fromkeys(report.failures))
        return report

    def _finish(self, report: Report) -> Fixed:
        report = self._attach_proofs(msgspec.structs.replace(report, failures=list(self._failures)))
        files = {path: Rewritten(self._before[path], content) for path, content in sorted(self._contents.items())}
        return Fixed(report, self._fixed, files, self._troubles)

    def _attach_proofs(self, report: Report) -> Report:
        """The report whose findings' fixes tell what was shown of them."""
        if not any(self._proofs.values()):
            return report
        found = {path: Offsets(text_of(path, self._content(path))) for path, known in self._proofs.items() if known}
        findings = [
            with_proof(one, self._proofs[one.filename].get((one.code, found[one.filename].at(one.location))))
            if one.filename in found
            else one
            for one in report.findings
        ]
        return msgspec.structs.replace(report, findings=findings)

    def _content(self, path: str) -> bytes:
        return self._contents[path] if path in self._contents else self._read(path)

    # --------------------------------------------------------------------------------------------- one round

    def _ask(self, by_path: Mapping[str, list[Finding]], everything: list[Finding]) -> None:
        """Have fixes judged that were not yet; those that are not taken are dropped."""
        asked: list[Proposed] = []
        for path, findings in by_path.items():
            text = text_of(path, self._content(path))
            offsets = Offsets(text)
            if is_data(path):  # nothing that could be run
                self._dropped[path].update((one.code, offsets.at(one.location)) for one in findings)
                continue
            fresh = [one for one in findings if (one.code, offsets.at(one.location)) not in self._dropped[path]]
            asked += propose_fixes(path, text, fresh, everything)
        assert self._accept is not None
        for one, answer in zip(asked, self._accept(asked) if asked else (), strict=True):
            place = one.finding.code, Offsets(one.before).at(one.finding.location)
            self._proofs[one.path][place] = answer.proof
            if not answer.taken:
                self._dropped[one.path].add(place)

    def _fixable(self, report: Report) -> list[Finding]:
        chosen = report.findings if self._choose is None else self._choose(report.findings, self._contents)
        return [finding for finding in chosen if finding.fixable(unsafe=self._unsafe)]

    def _propose(self, report: Report) -> Iterator[tuple[str, _Proposal]]:
        by_path: defaultdict[str, list[Finding]] = defaultdict(list)
        for finding in self._fixable(report):
            by_path[finding.filename].append(finding)
        if self._accept is not None:
            self._ask(by_path, report.findings)
        for path, findings in by_path.items():
            raw = self._content(path)
            text = text_of(path, raw)
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
                content = _apply(path, change, raw, text)
            except SourceError as error:
                alone = [f for f in change.findings if not _applies(path, [f], raw, offsets)]
                self._drop(path, alone, offsets, f"its result cannot be read: {error.message}")
                wanted = (
                    [f for f in wanted if f not in alone] if alone else _fitting(path, change.findings, raw, offsets)
                )
            else:
                return _Proposal(text, change, content)
        return None

    def _find_leftovers(self) -> Iterator[tuple[str, _Proposal]]:
        """The files whose fixes left imports without use, and what becomes of them."""
        for path, raw in self._contents.items():
            packages = {LEFT_BY[one.code] for one in self._fixed if one.filename == path and one.code in LEFT_BY}
            if not packages or is_data(path) or path in self._tidied:
                continue
            text = text_of(path, raw)
            change = Change((), leftover_imports(text, packages))
            if change.spans:
                self._tidied.add(path)
                yield path, _Proposal(text, change, _apply(path, change, raw, text))

    def _judge(self, report: Report, proposals: Mapping[str, _Proposal]) -> Report:
        """Take the results of a round that are good; the report on the program as it then is."""
        contents = {path: proposal.content for path, proposal in proposals.items()}
        known = set(self._failures)
        after = self._check_round({**self._contents, **contents}, self._memory)
        blamed = _find_blamed(proposals, [line for line in after.failures if line not in known])
        bad = False
        for path, made in proposals.items():
            compared = _Compared(path, made, report, after)
            if path in blamed:
                self._drop(path, made.change.findings, Offsets(made.text), "its result causes an internal error")
            elif shown := compared.still_shown():
                self._drop(path, shown, Offsets(made.text), "its result still shows the finding")
            elif idle := compared.idle():
                self._drop(path, idle, Offsets(made.text), "its result has as many findings, of other rules")
            else:
                self._take(path, made)
                continue
            bad = True
        return self._check_round(self._contents, self._memory) if bad else after

    def _take(self, path: str, made: _Proposal) -> None:
        self._contents[path] = made.content
        offsets = Offsets(made.text)
        proofs = self._proofs[path]
        self._fixed += [
            with_proof(one, proofs.get((one.code, offsets.at(one.location)))) for one in made.change.findings
        ]
        self._dropped[path] = {(code, made.change.move(offset)) for code, offset in self._dropped[path]}
        self._proofs[path] = {(code, made.change.move(offset)): proof for (code, offset), proof in proofs.items()}

    def _drop(self, path: str, findings: Iterable[Finding], offsets: Offsets, why: str) -> None:
        for finding in findings:
            self._dropped[path].add((finding.code, offsets.at(finding.location)))
            source = from_bytes(path, self._content(path))
            self._troubles.append(
                f"{source.describe_row(finding.location.row)}: the fix of {finding.code} was dropped: {why}"
            )


def _find_blamed(changed: Collection[str], failures: Sequence[str]) -> set[str]:
    """The files whose change internal errors come of: those that the errors name, all where they name others."""
    named = {path for path in changed if any(line.startswith(f"{path}:") for line in failures)}
    return named or set(changed if failures else ())


def _apply(path: str, change: Change, raw: bytes, text: str) -> bytes:
    """A file's content after a change. Raises `SourceError` where that is not Python."""
    content = content_of(path, raw, text, change.spans)
    after = from_bytes(path, content)
    if is_data(path):
        return content
    if len(after.problems) > len(from_bytes(path, raw).problems):
        raise SourceError(*after.problems[0])
    parse(after.text)
    return content


def _applies(path: str, findings: list[Finding], raw: bytes, offsets: Offsets) -> bool:
    """Return whether the fixes of some findings, made at once, give Python."""
    try:
        _apply(path, together(findings, offsets), raw, offsets.text)
    except SourceError:
        return False
    return True


def _fitting(path: str, findings: Sequence[Finding], raw: bytes, offsets: Offsets) -> list[Finding]:
    """Of fixes that each give Python and together do not, as when they leave a block empty: the first ones, up to one that does not go with
    those before it. The others wait for the next round."""
    fits, fails = 1, len(findings)
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if _applies(path, list(findings[:middle]), raw, offsets):
            fits = middle
        else:
            fails = middle
    return list(findings[:fits])


_Placed = list[tuple[Finding, int]]
"""Findings of one file, and where in its text after a round they stand."""


class _Compared:
    """The findings of one file before and after a round. Places before it are given as what they are after it."""

    def __init__(self, path: str, made: _Proposal, before: Report, after: Report) -> None:
        old, new = Offsets(made.text), Offsets(text_of(path, made.content))
        self.change = change = made.change
        self._spans = {id(f): [old.span(edit) for edit in f.fix.edits] for f in change.findings if f.fix is not None}
        self._start = {id(f): change.move(old.at(f.location)) for f in before.findings if f.filename == path}
        self._before = [(f, self._start[id(f)]) for f in before.findings if f.filename == path]
        self._after = [(f, new.at(f.location)) for f in after.findings if f.filename == path]
        self._functions = [match.start() for match in _DEF.finditer(new.text)]

    def still_shown(self) -> list[Finding]:
        """The fixed findings whose like is found where they were, and was not there before."""
        appeared = {information: self._find_new(information) for information in (False, True)}
        return [
            finding
            for finding in self.change.findings
            if any(
                code == finding.code and self._holds(finding, offset)
                for code, offset in appeared[finding.severity == "info"]
            )
        ]

    def _find_new(self, information: bool) -> list[tuple[str, int]]:
        """List the codes and places that are found now and were not before, but for what was fixed there."""
        before, after = (Counter((f.code, at) for f, at in found) for found in self._select_counting(information))
        after.subtract(before - Counter((f.code, self._start[id(f)]) for f in self.change.findings))
        return [place for place, number in after.items() if number > 0]

    def idle(self) -> list[Finding]:
        """The fixed findings where as much is found as before: in their edits, or in the function that these are in."""
        return [f for f in self.change.findings if f.framework is not None and self._leaves_as_much(f)]

    def _leaves_as_much(self, finding: Finding) -> bool:
        counted = self._select_counting(finding.severity == "info")
        before, after = ([at for _, at in found] for found in counted)
        if not self._is_idle(finding, before, after):
            return False
        if finding.kind != "dynamic-shape":
            return True
        # Of what is no mere wait for the device, which costs least: a graph is the same whatever it gives.
        before, after = ([at for f, at in found if f.kind != "host-sync"] for found in counted)
        return self._is_idle(finding, before, after)

    def _select_counting(self, information: bool) -> tuple[_Placed, _Placed]:
        """Return the findings before and after that count for one that is mere information, or is more.

        That only information is left of what was more is progress.
        """
        before, after = (
            [(f, at) for f, at in found if information or f.severity != "info"] for found in (self._before, self._after)
        )
        return before, after

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
        """Return whether a place is the finding's, or lies in one of its edits."""
        return offset == self._start[id(finding)] or any(
            self.change.holds(span, offset) for span in self._spans[id(finding)]
        )

    def _function(self, offset: int) -> int:
        """Find roughly the function of a place: the last that begins before it."""
        return bisect_right(self._functions, offset)
