"""Fixes are run before they are applied: each becomes a job for a child process, and its verdict a proof.

First the function around a fix is run as it is and as rewritten; where that cannot be, the rewritten lines alone are.
"""

from __future__ import annotations

import ast
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import msgspec

from xlalint.config import Settings
from xlalint.config.settings import VerifyEntry
from xlalint.diagnostics.finding import Finding, Proof
from xlalint.fixes.toolkit.edits import Offsets, together
from xlalint.project.fixing import Answer, Proposed
from xlalint.source.syntax import parse
from xlalint.verify import proofs
from xlalint.verify.guesses import Guessed, guess_inputs, subjects_of
from xlalint.verify.inputs import SpecError, fill_sizes
from xlalint.verify.inputs.believed import Believed, analyse_text
from xlalint.verify.inputs.inferred import infer
from xlalint.verify.isolation import LIMITS, Limits
from xlalint.verify.kept_proofs import ImportDigests, KeptProofs, key_of
from xlalint.verify.model import Place, Specs, Subject
from xlalint.verify.modules import name_and_root
from xlalint.verify.regions import NAME, RegionError, Side, region
from xlalint.verify.requests import Job, Way
from xlalint.verify.rewrites import Around, Rows, around, counterpart, find_named, rows_of, run_of, to_the_end
from xlalint.verify.targets import Module, TargetError, find_declared, specs_of
from xlalint.verify.whole_models import models_of

_ALONE = "the rewritten lines alone"

Hear = Callable[[Proposed, Proof], None]


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
    ) -> None:
        self._settings = settings
        self._kept = kept or KeptProofs()
        self._imports = ImportDigests()
        self._declared = msgspec.json.encode(settings.verify).decode("utf-8", "surrogateescape")
        self._allowed = ("proven", "unverified") if allow_unverified else ("proven",)
        self._limits = limits
        self._hear = hear
        self._budget = budget
        self._until = math.inf
        self._known: dict[str, Proof] = {}
        self._first: dict[tuple[str, str], str] = {}  # texts before any fix, by file and function
        self._believed: dict[tuple[str, str], Believed] = {}

    def __call__(self, asked: Sequence[Proposed]) -> list[Answer]:
        """Raises: MissingPackageError, CannotRunError, isolation.IsolationError."""
        if self._until == math.inf:
            self._until = time.monotonic() + self._budget
        keys = [_key(one) for one in asked]
        fresh = {key: one for key, one in zip(keys, asked, strict=True) if key not in self._known}
        by_backend: defaultdict[str, list[tuple[str, Job]]] = defaultdict(list)
        contents = {key: self._content(one) for key, one in fresh.items() if self._backend(one.finding)}
        known = self._kept.find(contents.values())
        for number, (key, one) in enumerate(fresh.items()):
            if _is_same(one):
                self._keep(key, one, Proof("proven", "the code is the same"))
            elif key not in contents:
                self._keep(key, one, Proof("unverified", "it belongs to no framework"))
            elif contents[key] in known:
                self._note(contents[key], one, known[contents[key]])
                self._keep(key, one, known[contents[key]])
            elif (job := self._job(number, one)).ways:
                by_backend[self._backend(one.finding)].append((key, job))
            else:
                self._learn(key, contents[key], one, Proof("unverified", "; ".join(job.reasons)))
        for backend, jobs in by_backend.items():
            self._prove(backend, jobs, fresh, contents)
        self._prove_together(asked, keys)
        return [
            Answer(self._allows(one, self._known[key]), self._known[key]) for key, one in zip(keys, asked, strict=True)
        ]

    def _allows(self, one: Proposed, proof: Proof) -> bool:
        unsafe = one.finding.fix is not None and one.finding.fix.applicability == "unsafe"
        return proof.verdict in self._allowed or (proof.verdict == "proven-except-check" and unsafe)

    def _prove(
        self, backend: str, jobs: Sequence[tuple[str, Job]], fresh: dict[str, Proposed], contents: dict[str, str]
    ) -> None:
        by_number = {job.number: key for key, job in jobs}

        def hear(number: int, shown: proofs.Shown) -> None:
            key = by_number[number]
            self._learn(key, contents[key], fresh[key], _proof_of(shown))

        proofs.prove_all([job for _, job in jobs], backend, self._limits, hear, self._until)

    def _prove_together(self, asked: Sequence[Proposed], keys: Sequence[str]) -> None:
        """Prove what is made of a function, and of a model, by all its fixes, those of earlier rounds too; where that is refuted, none of
        the new ones is.

        Each was proven alone. Two of them may change what the other one rests on.
        """
        allowed = [(one, key) for one, key in zip(asked, keys, strict=True) if self._allows(one, self._known[key])]
        by_function: defaultdict[tuple[str, str], list[tuple[Proposed, str]]] = defaultdict(list)
        for one, key in allowed:
            place = around(ast.parse(one.before), one.finding.location.row)
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
            elif (job := self._joint_job(whole, name)).ways:
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

    def _joint_job(self, one: Proposed, name: str) -> Job:
        """The function before any fix and after all of them, as a whole: lines alone prove nothing of what is between them."""
        before, after = ast.parse(one.before), ast.parse(one.after)
        places = find_named(before, name), find_named(after, name)
        if places[0] is None or places[1] is None:
            return Job(0, ())
        rows = [(place.node.lineno, place.node.end_lineno or 0) for place in places if place is not None]
        ways = self._whole(one, before, places[0], (rows[0], rows[1]), [])
        return Job(0, tuple(ways))

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
        target = self._settings.of(finding.filename).target
        torch = target if target in ("torch_tpu", "torch_compile") else "torch_xla"
        return {"torch": torch, "tensorflow": "tensorflow", "jax": "jax"}.get(finding.framework or "", "")

    # ------------------------------------------------------------------------------------------------ jobs

    def _job(self, number: int, one: Proposed) -> Job:
        before, after = ast.parse(one.before), ast.parse(one.after)
        place = around(before, one.finding.location.row)
        rewritten = find_named(after, place.name) if place is not None else None
        if place is None or rewritten is None:
            return Job(number, (), ("it is in no function",))
        assert one.finding.fix is not None
        run = run_of(place.node, [rows_of(edit) for edit in one.finding.fix.edits])
        other = counterpart(rewritten.node, run) if run is not None else None
        reasons: list[str] = []
        ways: list[Way] = []
        rows = run.rows if run is not None else (place.node.lineno, place.node.end_lineno or 0)
        after_rows = other.rows if other is not None else (rewritten.node.lineno, rewritten.node.end_lineno or 0)
        ways += self._whole(one, before, place, (rows, after_rows), reasons)
        if run is None or other is None:
            reasons.append("its edits are no lines of a function")
        else:
            sides = Side(one.before, before, place, run), Side(one.after, after, rewritten, other)
            ways += self._alone(one, *sides, reasons)
            longer = (
                Side(one.before, before, place, to_the_end(run)),
                Side(one.after, after, rewritten, to_the_end(other)),
            )
            if longer[0].run != run:
                ways += self._alone(one, *longer, reasons)
        others = tuple(row for row in one.others if place.node.lineno <= row <= (place.node.end_lineno or 0))
        return Job(number, tuple(ways), tuple(reasons), one.finding.kind, others)

    def _whole(
        self, one: Proposed, tree: ast.Module, place: Around, rows: tuple[Rows, Rows], reasons: list[str]
    ) -> Iterable[Way]:
        entry = find_declared(self._settings.verify, one.path, place.name)
        before = Subject("", place.name, one.path, entry.factory if entry else "", one.before)
        kinds = self._believe(one).parameters.get(place.name, {})
        try:
            specs = _find_declared(one, tree, place, entry)
        except SpecError as error:
            reasons.append(str(error))
            return
        if specs is not None:
            found = Guessed(subjects_of(place, before), (specs,))
        else:
            found = guess_inputs(place, before, kinds, one.finding.framework or "")
        if found.subjects and found.candidates:
            pairs = tuple((own, msgspec.structs.replace(own, text=one.after)) for own in found.subjects)
            yield Way(pairs, tuple(fill_sizes(specs) for specs in found.candidates), *rows)
        else:
            reasons.append(found.reason or "nothing says how its class is made")

    def _alone(self, one: Proposed, before: Side, after: Side, reasons: list[str]) -> Iterable[Way]:
        try:
            found = region(one.path, before, after, self._believe(one))
        except RegionError as error:
            reasons.append(f"{_ALONE}: {error}")
            return
        inference = infer(found.parameters, one.finding.framework or "")
        if not inference.candidates:
            reasons.append(f"{_ALONE}: {inference.reason}")
            return
        subjects = tuple(
            Subject("", NAME, _FILE, "", side.text, _roots(one.path)) for side in (found.before, found.after)
        )
        names = ", ".join(f"`{name.replace('_', '.', 1)}`" for name in found.stand_ins)
        note = f"{_ALONE}, with stand-ins for {names}" if names else _ALONE
        partial = bool(before.run.path) or before.run.last < len(before.run.statements) - 1
        yield Way(
            ((subjects[0], subjects[1]),),
            tuple(fill_sizes(specs) for specs in inference.candidates),
            found.before.rows,
            found.after.rows,
            note,
            found.before.source,
            partial,
            names,
        )

    def _believe(self, one: Proposed) -> Believed:
        key = one.path, one.before
        if key not in self._believed:
            self._believed = {key: analyse_text(one.path, one.before, self._settings)}
        return self._believed[key]


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
        for model in list(models_of(ast.parse(text), rewritten)):
            by_function[path, model.called] = [
                one for name in rewritten if name in model.functions for one in by_function[path, name]
            ]


def _proof_of(shown: proofs.Shown) -> Proof:
    told = shown.verdict
    return Proof(told.kind, told.reason, told.counterexample, round(shown.seconds, 3), told.coverage)


_FILE = "/xlalint_rewritten/rewritten.py"


def _roots(path: str) -> tuple[str, ...]:
    return (name_and_root(Path(path))[1],)


def _find_declared(one: Proposed, tree: ast.Module, place: Around, entry: VerifyEntry | None) -> Specs | None:
    """The inputs that are declared for a function; None where they are not."""
    module = Module(one.path, one.before, tree)
    said = [entry.inputs] if entry else []
    try:
        found = specs_of(module, place.name, place.node, Place(one.path, place.node.lineno, place.name), said)
    except TargetError:
        return None
    return found if found.arguments else None


def _is_same(one: Proposed) -> bool:
    """Return whether a fix changes only comments and layout."""
    before, after = (ast.dump(parse(text)) for text in (one.before, one.after))
    return before == after


def _key(one: Proposed) -> str:
    """Return a key of what a proof depends on: the code of the file with and without the fix."""
    state = blake2b(f"{one.path}\0{one.finding.code}\0{one.before}\0{one.after}".encode(), digest_size=16)
    return state.hexdigest()
