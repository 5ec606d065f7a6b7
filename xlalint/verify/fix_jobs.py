"""Makes jobs of fixes: the function around it as it is and as rewritten, and the rewritten lines alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import msgspec

from xlalint.config import Settings
from xlalint.config.settings import VerifyEntry
from xlalint.project.fixing import Proposed
from xlalint.verify.guesses import Guessed, guess_inputs, subjects_of
from xlalint.verify.inputs import SpecError, fill_sizes
from xlalint.verify.inputs.believed import Believed, analyse_text
from xlalint.verify.inputs.inferred import infer
from xlalint.verify.model import Place, Specs, Subject
from xlalint.verify.modules import name_and_root
from xlalint.verify.regions import NAME, RegionError, Side, region
from xlalint.verify.requests import Job, Way
from xlalint.verify.rewrites import (
    Around,
    Rows,
    around,
    counterpart,
    find_named,
    parse_once,
    rows_of,
    run_of,
    to_the_end,
)
from xlalint.verify.targets import Module, TargetError, find_declared, specs_of

_ALONE = "the rewritten lines alone"
_COPIES = {"torch": "clone"}  # elsewhere tensors are values
_DONATION = "donate_argnums="
_FILE = "/xlalint_rewritten/rewritten.py"


class JobMaker:
    """Makes the jobs of fixes. Of the texts that were analysed for it the last is remembered: fixes of one file come together."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._believed: dict[tuple[str, str], Believed] = {}

    def make(self, number: int, one: Proposed) -> Job:
        """The ways to prove a fix, and why there are no more."""
        before, after = parse_once(one.before), parse_once(one.after)
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
        return Job(number, tuple(ways), tuple(reasons), one.finding.kind, others, _gives_away(one))

    def make_joint(self, one: Proposed, name: str) -> Job:
        """The function before any fix and after all of them, as a whole: lines alone prove nothing of what is between them."""
        before, after = parse_once(one.before), parse_once(one.after)
        places = find_named(before, name), find_named(after, name)
        if places[0] is None or places[1] is None:
            return Job(0, ())
        rows = [(place.node.lineno, place.node.end_lineno or 0) for place in places if place is not None]
        ways = self._whole(one, before, places[0], (rows[0], rows[1]), [])
        return Job(0, tuple(ways), gives_away=_gives_away(one))

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
            copy_by = _COPIES.get(one.finding.framework or "", "")
            found = region(one.path, before, after, self._believe(one), copy_by)
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
            found.borrowed,
        )

    def _believe(self, one: Proposed) -> Believed:
        key = one.path, one.before
        if key not in self._believed:
            self._believed = {key: analyse_text(one.path, one.before, self._settings)}
        return self._believed[key]


def _gives_away(one: Proposed) -> bool:
    """Return whether a fix gives arguments away, as it does only where nothing uses them afterwards."""
    return one.after.count(_DONATION) > one.before.count(_DONATION)


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
