"""Fixes are run before they are applied: each becomes a job for a child process, and its verdict a proof.

First the function around a fix is run as it is and as rewritten; where that cannot be, the rewritten lines alone are.
"""

from __future__ import annotations

import ast
import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from xlalint.config import Settings
from xlalint.diagnostics.finding import Finding, Proof
from xlalint.fixes.toolkit.edits import Offsets, together
from xlalint.frameworks.registry import row_of
from xlalint.project.fixing import Answer, Proposed
from xlalint.source.syntax import parse
from xlalint.verify import proofs
from xlalint.verify.backends import USUAL, choose_installed
from xlalint.verify.import_digests import ImportDigests
from xlalint.verify.isolation import LIMITS, Limits
from xlalint.verify.kept_proofs import KeptProofs, key_of
from xlalint.verify.modules import name_and_root
from xlalint.verify.requests import Job
from xlalint.verify.rewrites import around, parse_once
from xlalint.verify.whole_models import models_of

if TYPE_CHECKING:
    from xlalint.verify.fix_jobs import JobMaker

Hear = Callable[[Proposed, Proof], None]
_PREPARED = 5.0  # seconds of making jobs after which proving begins: about what a process needs to start
_FOR_TOGETHER = 0.2  # of the time that is left, for the fixes of one function together


class Prover:
    """Answers whether fixes may be applied: those proven, and with `allow_unverified` those of which nothing was shown. A fix that takes a
    check away may be where it is `unsafe`, since it was asked for then.

    What is in `kept` is not run again. What is not proven within `budget` seconds of the first question is unverified.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        allow_unverified: bool = False,
        limits: Limits = LIMITS,
        hear: Hear = lambda one, proof: None,
        budget: float = math.inf,
        kept: KeptProofs | None = None,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._settings = settings
        self._kept = kept or KeptProofs()
        self._imports = ImportDigests()
        self._declared = msgspec.json.encode(settings.verify).decode("utf-8", "surrogateescape")
        self._allowed = ("proven", "unverified") if allow_unverified else ("proven",)
        self._limits = limits
        self._hear = hear
        self._tell = tell
        self._chosen: dict[str, str] = {}  # the backends for targets that nobody named
        self._budget = budget
        self._until = math.inf
        self._known: dict[str, Proof] = {}
        self._first: dict[tuple[str, str], str] = {}  # texts before any fix, by file and function
        self._waiting: list[_Waiting] = []
        self._prepared = 0.0  # seconds that making the jobs that wait took

    def __call__(self, asked: Sequence[Proposed]) -> list[Answer]:
        """Raises: MissingPackageError, CannotRunError, isolation.IsolationError."""
        if self._until == math.inf:
            self._until = time.monotonic() + self._budget
        keys = [_key(one) for one in asked]
        fresh = {key: one for key, one in zip(keys, asked, strict=True) if key not in self._known}
        contents = {key: self._content(one) for key, one in fresh.items() if self._backend(one.finding)}
        known = self._kept.find(contents.values())
        turn: list[tuple[Proposed, str]] = []
        for _, own in groupby(zip(asked, keys, strict=True), key=lambda pair: pair[0].path):
            file = list(own)
            for one, key in file:
                if key in fresh and key not in self._known:
                    self._prepare(key, one, contents, known)
            turn += file
            if self._prepared > _PREPARED:
                self._prove_turn(turn)
                turn = []
        self._prove_turn(turn)
        return [
            Answer(self._allows(one, self._known[key]), self._known[key]) for key, one in zip(keys, asked, strict=True)
        ]

    def _prepare(self, key: str, one: Proposed, contents: Mapping[str, str], known: Mapping[str, Proof]) -> None:
        """Answer of a fix what needs no running; else make its job. Those that wait are proved where making them took long enough."""
        if _is_same(one):
            self._keep(key, one, Proof("proven", "the code is the same"))
        elif key not in contents:
            self._keep(key, one, Proof("unverified", "it belongs to no framework"))
        elif contents[key] in known:
            self._note(contents[key], one, known[contents[key]])
            self._keep(key, one, known[contents[key]])
        elif time.monotonic() > self._until:
            self._learn(key, contents[key], one, Proof("unverified", proofs.NO_TIME))
        else:
            began = time.monotonic()
            job = self._jobs.make(len(self._waiting), one)
            self._prepared += time.monotonic() - began
            if job.ways:
                self._waiting.append(_Waiting(job, one, key, contents[key]))
            else:
                self._learn(key, contents[key], one, Proof("unverified", "; ".join(job.reasons)))
            if self._prepared > 2 * _PREPARED:  # within a file of many fixes
                self._prove_waiting(self._until)

    def _prove_turn(self, turn: Sequence[tuple[Proposed, str]]) -> None:
        """Prove what waits, then together what is of one function: where a file has several fixes, some time is left for that."""
        now = time.monotonic()
        share = _FOR_TOGETHER if len(turn) > len({one.path for one, _ in turn}) else 0.0
        self._prove_waiting(now + (1 - share) * (self._until - now))
        self._prove_together([one for one, _ in turn], [key for _, key in turn])

    @cached_property
    def _jobs(self) -> JobMaker:
        """The maker of jobs; where all proofs are kept, nobody asks, and the analysis is not imported for it."""
        from xlalint.verify.fix_jobs import JobMaker

        return JobMaker(self._settings)

    def _allows(self, one: Proposed, proof: Proof) -> bool:
        unsafe = one.finding.fix is not None and one.finding.fix.applicability == "unsafe"
        return proof.verdict in self._allowed or (proof.verdict == "proven-except-check" and unsafe)

    def _prove_waiting(self, until: float) -> None:
        """Prove what waits, by backend."""
        by_backend: defaultdict[str, list[_Waiting]] = defaultdict(list)
        for waiting in self._waiting:
            by_backend[self._backend(waiting.one.finding)].append(waiting)
        self._waiting, self._prepared = [], 0.0
        for backend, own in by_backend.items():
            by_number = {waiting.job.number: waiting for waiting in own}

            def hear(number: int, shown: proofs.Shown, by_number: Mapping[int, _Waiting] = by_number) -> None:
                waiting = by_number[number]
                self._learn(waiting.key, waiting.content, waiting.one, _proof_of(shown))

            proofs.prove_all([waiting.job for waiting in own], backend, self._limits, hear, until)

    def _prove_together(self, asked: Sequence[Proposed], keys: Sequence[str]) -> None:
        """Prove what is made of a function, and of a model, by all its fixes, those of earlier rounds too; where that is refuted, none of
        the new ones is.

        Each was proven alone. Two of them may change what the other one rests on.
        """
        allowed = [(one, key) for one, key in zip(asked, keys, strict=True) if self._allows(one, self._known[key])]
        by_function: defaultdict[tuple[str, str], list[tuple[Proposed, str]]] = defaultdict(list)
        for one, key in allowed:
            place = around(parse_once(one.before), one.finding.location.row)
            if place is not None and self._backend(one.finding):
                by_function[one.path, place.name].append((one, key))
        _add_models(by_function)
        by_backend: defaultdict[str, list[tuple[Job, _Joint]]] = defaultdict(list)
        for (path, name), own in by_function.items():
            first = self._first.setdefault((path, name), own[0][0].before)
            fixes = [one.finding for one, _ in own]
            after = together(fixes, Offsets(own[0][0].before)).apply(own[0][0].before)
            if len(own) < 2 and first == own[0][0].before:
                continue
            whole = own[0][0]._replace(before=first, after=after)
            content = self._content(whole, name)
            known = self._kept.find((content,)).get(content)
            if known is not None:
                self._note(content, whole, known, fixes)
                self._withdraw(own, known)
            elif (job := self._jobs.make_joint(whole, name)).ways:
                by_backend[self._backend(fixes[0])].append((job, _Joint(own, whole, content)))
        for backend, jobs in by_backend.items():
            numbered = [msgspec.structs.replace(job, number=number) for number, (job, _) in enumerate(jobs)]
            shown = proofs.prove_all(numbered, backend, self._limits, until=self._until)
            for number, (_, joint) in enumerate(jobs):
                proof = _proof_of(shown[number])
                self._kept.keep(joint.content, proof)
                self._note(joint.content, joint.whole, proof, [one.finding for one, _ in joint.own])
                self._withdraw(joint.own, proof)

    def _withdraw(self, own: Sequence[tuple[Proposed, str]], told: Proof) -> None:
        """Take back what was proven of fixes that, made together, are refuted, or that there was no time to prove together."""
        if told.verdict != "refuted" and told.reason != proofs.NO_TIME:
            return
        for one, key in own:
            proof = Proof(told.verdict, f"together with the function's other fixes: {told.reason}", told.counterexample)
            self._keep(key, one, proof)

    def _keep(self, key: str, one: Proposed, proof: Proof) -> None:
        self._known[key] = proof
        self._hear(one, proof)

    def _learn(self, key: str, content: str, one: Proposed, proof: Proof) -> None:
        """Keep what was shown of a fix, for this run and for later ones."""
        self._kept.keep(content, proof)
        self._note(content, one, proof)
        self._keep(key, one, proof)

    def _note(self, content: str, one: Proposed, proof: Proof, fixes: Sequence[Finding] = ()) -> None:
        """Enter a proof in the log, of several fixes of a function under their codes."""
        codes = "+".join(sorted({finding.code for finding in fixes})) or one.finding.code
        row = min((finding.location.row for finding in fixes), default=one.finding.location.row)
        self._kept.note(content, one.path, row, codes, self._backend(one.finding), proof)

    def _content(self, one: Proposed, function: str = "") -> str:
        """The key of all that the proof of a fix depends on, of all fixes of a function where that is named."""
        finding, (name, _) = one.finding, name_and_root(Path(one.path))
        what = function or f"{finding.code}\0{finding.kind}\0{finding.location.row}\0{one.others}"
        around = [self._imports.digest(one.path, text) for text in (one.before, one.after)]
        parts = (name, what, one.before, one.after, self._declared, f"{self._limits}", *around)
        return key_of(parts, self._backend(finding))

    def _backend(self, finding: Finding) -> str:
        if finding.framework != "torch":
            return finding.framework if finding.framework in ("tensorflow", "jax") else ""
        named = self._settings.of(finding.filename).target
        return named if named in row_of("torch").targets else self._choose(finding.target or USUAL)

    def _choose(self, shown: str) -> str:
        """The backend for code that shows a target; of one that is not installed it is told once what takes its place."""
        if shown not in self._chosen:
            self._chosen[shown], line = choose_installed(shown)
            if line:
                self._tell(line)
        return self._chosen[shown]


class _Waiting(NamedTuple):
    """A fix whose job is made, with its key and that of its proof."""

    job: Job
    one: Proposed
    key: str
    content: str


class _Joint(NamedTuple):
    """The fixes of a function that are proved together, with their keys; what they make of its file; the key of the proof."""

    own: list[tuple[Proposed, str]]
    whole: Proposed
    content: str


def _add_models(by_function: dict[tuple[str, str], list[tuple[Proposed, str]]]) -> None:
    """Have the fixes of all that a model uses of its file stand with the method by which it is called."""
    texts = {path: own[0][0].before for (path, _), own in by_function.items()}
    for path, text in texts.items():
        rewritten = [name for file, name in by_function if file == path]
        for model in list(models_of(parse_once(text), rewritten)):
            by_function[path, model.called] = [
                one for name in rewritten if name in model.functions for one in by_function[path, name]
            ]


def _proof_of(shown: proofs.Shown) -> Proof:
    told = shown.verdict
    return Proof(told.kind, told.reason, told.counterexample, round(shown.seconds, 3), told.coverage)


def _is_same(one: Proposed) -> bool:
    """Return whether a fix changes only comments and layout."""
    before, after = (ast.dump(parse(text)) for text in (one.before, one.after))
    return before == after


def _key(one: Proposed) -> str:
    """Return a key of what a proof depends on: the code of the file with and without the fix."""
    state = blake2b(f"{one.path}\0{one.finding.code}\0{one.before}\0{one.after}".encode(), digest_size=16)
    return state.hexdigest()
