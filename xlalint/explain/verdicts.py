"""Says what became of the hazards at a place: they fired, or which fact silenced each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from xlalint.abstract.values import Tensor, members
from xlalint.analysis.collection import place_hazard
from xlalint.analysis.hazard import Confidence, Hazard
from xlalint.diagnostics.finding import Finding, Location
from xlalint.diagnostics.judge import (
    Hidden,
    LeftOut,
    finding_of,
    select_severity,
    severity_of,
    target_of_hazard,
    why_hidden,
)
from xlalint.explain.model import Status, Verdict
from xlalint.explain.replay import Replay
from xlalint.explain.scope import Scope
from xlalint.interpreter.context import Context, PendingHazard
from xlalint.interpreter.recording import Withheld
from xlalint.source.suppressions import Suppressions, apply

if TYPE_CHECKING:
    from xlalint.config import Settings
    from xlalint.rules import Rule

_EXCUSES = {
    "error path": "it stands in an error path (`except`), whose cost does not count",
    "apart": "it is put into a graph of its own, which the traced function does not run",
    "once": "it runs once, not at every turn of the loop that drives the device",
    "guarded": "the `try` around it catches what the tracer raises here",
}
_ORDER: dict[Status, int] = {"fired": 0, "suppressed": 1, "not-selected": 1, "ignored-in-file": 1}


class Verdicts:
    """Judges the hazards of one scope's site."""

    def __init__(
        self,
        scope: Scope,
        replay: Replay,
        rules: Mapping[str, Rule],
        settings: Settings,
        suppressions: Suppressions,
        reported: Sequence[Finding] | None,
    ) -> None:
        self.scope = scope
        self.replay = replay
        self.rules = rules
        self.settings = settings
        self.suppressions = suppressions
        self.reported = reported
        self.path = scope.module.path

    def tell(self) -> list[Verdict]:
        """All verdicts, what fired first, then by place."""
        hazards = self._here(self.replay.hazards)
        found = {(hazard.start, hazard.end, hazard.rule): self._judge(hazard) for hazard in hazards}
        found.update({key: verdict for verdict, key in self._reported_only(found)})
        for hazard in self._here(self._find_superseded()):
            reason = "seen only where the function is analysed by itself; the calls of it in traced code say otherwise"
            found.setdefault((hazard.start, hazard.end, hazard.rule), self._verdict(hazard, "superseded", reason))
        for verdict, key in self._find_unreached():
            found.setdefault(key, verdict)
        for verdict, key in self._withheld():
            found.setdefault(key, verdict)
        ordered = sorted(found.items(), key=lambda item: (_ORDER.get(item[1].status, 2), item[0]))
        return [verdict for _, verdict in ordered]

    def _here(self, hazards: Iterable[Hazard]) -> Iterator[Hazard]:
        site = self.scope.site
        for hazard in hazards:
            if hazard.path == self.path and hazard.rule in self.rules and site.covers(hazard.start, hazard.end):
                yield hazard

    # ------------------------------------------------------------------------------------------------- judging

    def _judge(self, hazard: Hazard) -> Verdict:
        """Judge a hazard by the settings and comments, in the order in which `check` asks."""
        _, left_out = select_severity(hazard, self.rules[hazard.rule], self.settings)
        if left_out:
            return self._verdict(hazard, left_out, self._left_out(hazard, left_out))
        finding = self._finding(hazard)
        comment = self._comment(finding)
        if comment:
            return self._verdict(hazard, "suppressed", comment)
        unseen = why_hidden(finding.severity, finding.confidence, self.settings)
        if unseen:
            return self._verdict(hazard, unseen, self._explain_hidden(finding, unseen))
        told = next((other for other in self.reported or () if _same(finding, other)), None)
        if told is not None:
            return _of_finding(told, "fired", "", told.severity)
        if self.reported is not None:
            reason = "the modules analysed for this answer show it; the whole program, as `check` sees it, does not"
            return self._verdict(hazard, "superseded", reason)
        return self._verdict(hazard, "fired", "")

    def _left_out(self, hazard: Hazard, why: LeftOut) -> str:
        if why == "off":
            target = target_of_hazard(hazard, self.settings)
            variant = f" ({hazard.variant})" if hazard.variant else ""
            return f"it is no problem for target {target} on {self.settings.device}{variant}"
        if why == "not-selected":
            return "`select` and `ignore` leave the rule out"
        return "`per-file-ignores` leaves the rule out in this file"

    def _explain_hidden(self, finding: Finding, why: Hidden) -> str:
        if why == "info-hidden":
            return "its severity is info, shown with `--show-info` only"
        return f"its confidence is {finding.confidence}, and `min-confidence` is {self.settings.min_confidence}"

    def _comment(self, finding: Finding) -> str:
        """The comment that silences a finding."""
        if self.settings.ignore_noqa:
            return ""
        names = {code: rule.name for code, rule in self.rules.items()}
        for directive in self.suppressions.directives:
            kept, _ = apply([finding], Suppressions((directive,)), names)
            if not kept:
                return f"the comment `{directive.text.strip()}` on {self.scope.text.describe_rows(directive.at)} silences it"
        return ""

    def _finding(self, hazard: Hazard) -> Finding:
        rule = self.rules[hazard.rule]
        severity = severity_of(hazard, rule, self.settings) or "info"
        target = target_of_hazard(hazard, self.settings)
        return finding_of(hazard, severity, rule, self.scope.text.data, self.scope.text.lines, target)

    def _verdict(self, hazard: Hazard, status: Status, reason: str) -> Verdict:
        finding = self._finding(hazard)
        severity = severity_of(hazard, self.rules[hazard.rule], self.settings)
        return _of_finding(msgspec.structs.replace(finding), status, reason, severity)

    def _reported_only(
        self, known: Mapping[tuple[int, int, str], Verdict]
    ) -> Iterator[tuple[Verdict, tuple[int, int, str]]]:
        """Yield verdicts of what `check` reports here and the replay did not meet."""
        fired = [verdict for verdict in known.values() if verdict.status == "fired"]
        for finding in self.reported or ():
            if finding.filename != self.path or any(_same(finding, verdict) for verdict in fired):
                continue
            start, end = self._offset(finding.location), self._offset(finding.end_location)
            if self.scope.site.covers(start, end):
                reason = (
                    "" if not finding.trace else f"as `{finding.trace[0].name}` ({finding.trace[0].why}) reaches it"
                )
                yield _of_finding(finding, "fired", reason, finding.severity), (start, end, finding.code)

    def _offset(self, place: Location) -> int:
        starts, data = self.scope.text.lines.starts, self.scope.text.data
        start = starts[min(place.row, len(starts)) - 1]
        end = starts[place.row] if place.row < len(starts) else len(data)
        return start + len(data[start:end].decode(errors="replace")[: place.column - 1].encode())

    # -------------------------------------------------------------------------------------- what never got so far

    def _find_superseded(self) -> Iterator[Hazard]:
        for found in self.replay.find_superseded():
            yield place_hazard(found, self.replay.program)

    def _find_unreached(self) -> Iterator[tuple[Verdict, tuple[int, int, str]]]:
        """Yield verdicts of what was seen in calls that nothing traced makes, and of what a tracer turns into graph operations."""
        for context, _ in self.scope.all:
            for sighting in context.sightings.values():
                at = sighting.at + self.scope.base
                start, end = at >> 32, at & 0xFFFFFFFF
                if sighting.rule not in self.rules or not self.scope.site.covers(start, end):
                    continue
                verdict = self.replay.decide(context, sighting)
                if verdict.reason == "converted":
                    reason = "AutoGraph turns it into a graph operation"
                    seen = self._judge_sighting(context, sighting, sighting.variant, "converted", reason)
                elif verdict.reason == "untraced":
                    seen = self._judge_sighting(
                        context, sighting, verdict.variant, "untraced", "this code is not traced"
                    )
                else:
                    continue
                yield seen, (start, end, sighting.rule)

    def _judge_sighting(
        self, context: Context, sighting: PendingHazard, variant: str, status: Status, reason: str
    ) -> Verdict:
        interpreter = self.replay.interpreter
        at = sighting.at + self.scope.base
        hazard = Hazard(
            self.path,
            at >> 32,
            at & 0xFFFFFFFF,
            sighting.statement + (self.scope.base & 0xFFFFFFFF),
            sighting.rule,
            sighting.framework or interpreter.annotations.framework(self.scope.module) or interpreter.libraries.default,
            sighting.confidence,
            sighting.subject,
            sighting.detail,
            variant,
            sighting.severity,
            context.name,
        )
        return self._verdict(hazard, status, reason)

    def _withheld(self) -> Iterator[tuple[Verdict, tuple[int, int, str]]]:
        for context, sight in self.scope.believed:
            for withheld in sight.withheld.values():
                at = withheld.at + self.scope.base
                start, end = at >> 32, at & 0xFFFFFFFF
                known = (withheld.rule, withheld.at) in context.sightings
                if known or withheld.rule not in self.rules or not self.scope.site.covers(start, end):
                    continue
                found = [m for m in members(withheld.value) if isinstance(m, Tensor)]
                sighting = PendingHazard(
                    withheld.rule, withheld.at, withheld.at >> 32, _framework(found), Confidence.LIKELY, ""
                )
                verdict = self._judge_sighting(context, sighting, "", "excused", _excuse(withheld, found))
                yield verdict, (start, end, withheld.rule)


def _framework(found: Sequence[Tensor]) -> str:
    named = [value.framework for value in found if value.framework != "numpy"]
    return named[0] if named else ""


def _excuse(withheld: Withheld, found: Sequence[Tensor]) -> str:
    if withheld.excuse != "host":
        return _EXCUSES[withheld.excuse]
    if any(value.framework == "numpy" for value in found):
        return "the value is a NumPy array, which is on the host already"
    if any(value.place == "cpu" for value in found):
        return "the tensor stays in host memory: it was made there, or copied there before"
    if any(value.static for value in found):
        return "the tensor's value is known while tracing"
    return "the value is no tensor on the device"


def _same(finding: Finding, other: Finding | Verdict) -> bool:
    return (finding.code, finding.location, finding.end_location) == (
        other.code,
        other.location,
        other.end_location,
    ) and (not isinstance(other, Finding) or finding.filename == other.filename)


def _of_finding(finding: Finding, status: Status, reason: str, severity: str | None) -> Verdict:
    return Verdict(
        finding.code,
        finding.name,
        status,
        finding.message,
        severity,  # type: ignore[arg-type]
        finding.confidence,
        finding.location,
        finding.end_location,
        reason,
    )
