"""Hazards → findings: what a rule says of a hazard on the target, in words, at a row and column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from xlalint.addresses import rule_address
from xlalint.analysis.hazard import Confidence, Hazard, Inside
from xlalint.config import Settings
from xlalint.diagnostics.finding import ConfidenceName, Finding, Location, Severity, TraceStep
from xlalint.diagnostics.frequency import NAMES, describe_frequency, is_occasional
from xlalint.frameworks.registry import row_of
from xlalint.program.failures import describe_failure, in_function
from xlalint.rules import Rule
from xlalint.rules.catalogue import rules_folder
from xlalint.rules.policy import OCCASIONAL
from xlalint.source.data_files import is_data
from xlalint.source.lines import Lines
from xlalint.source.model import SourceError, SourceFile
from xlalint.source.reading import read_source

if TYPE_CHECKING:
    from xlalint.diagnostics.anchor import Anchors

LeftOut = Literal["", "off", "not-selected", "ignored-in-file"]
Hidden = Literal["", "low-confidence", "info-hidden"]

_CONFIDENCES: dict[int, ConfidenceName] = {0: "possible", 1: "likely", 2: "certain"}
_SEVERITIES = ("info", "warning", "error")
_OF_VALUES = frozenset(("control-flow", "dynamic-shape", "host-sync", "unsupported"))
_LONGEST_SUBJECT = 60


class Judged(NamedTuple):
    """All findings of enabled rules, hidden ones too, in order; and what went wrong inside xlalint."""

    findings: list[Finding]
    failures: list[str]


def judge(
    hazards: Iterable[Hazard],
    sources: Mapping[str, SourceFile],
    rules: Mapping[str, Rule],
    settings: Settings,
    anchors: Anchors | None = None,
) -> Judged:
    """Make findings of the hazards that hold on the target and whose rules are enabled for their file.

    Of hazards with one rule and one extent the surest stays. Hidden findings (`visible` says which) are kept, because
    a comment may suppress them and would else be called unused; they are not anchored. `anchors` that are given remember what they parse.
    """
    by_path: defaultdict[str, list[tuple[Hazard, Severity]]] = defaultdict(list)
    pageless: set[str] = set()
    for hazard in hazards:
        rule = rules.get(hazard.rule)
        if rule is None:
            pageless.add(hazard.rule)
            continue
        severity, left_out = select_severity(hazard, rule, settings.of(hazard.path))
        if severity is not None and not left_out:
            by_path[hazard.path].append((hazard, severity))
    from xlalint.diagnostics.anchor import Anchors  # libcst, which takes a quarter of a second to import

    anchors = anchors or Anchors()
    files = [_judge_file(sources[path], by_path[path], rules, settings.of(path), anchors) for path in sorted(by_path)]
    return Judged(
        list(chain.from_iterable(judged.findings for judged in files)),
        [f"{code}: a hazard of a rule without a page" for code in sorted(pageless)]
        + list(chain.from_iterable(judged.failures for judged in files)),
    )


def visible(findings: Iterable[Finding], settings: Settings) -> list[Finding]:
    """The findings that the user asked to see."""
    return [one for one in findings if not why_hidden(one.severity, one.confidence, settings.of(one.filename))]


def select_severity(hazard: Hazard, rule: Rule, settings: Settings) -> tuple[Severity | None, LeftOut]:
    """Return the severity of a hazard by the settings of its file, and why they leave it out, "" if they do not."""
    severity = severity_of(hazard, rule, settings)
    if severity is None:
        return None, "off"
    if not settings.enabled(hazard.rule):
        return severity, "not-selected"
    return severity, "" if settings.enabled(hazard.rule, hazard.path) else "ignored-in-file"


def why_hidden(severity: str, confidence: str, settings: Settings) -> Hidden:
    """Return why the settings of its file do not show a finding, "" if they do."""
    if Confidence[confidence.upper()] < Confidence[settings.min_confidence.upper()]:
        return "low-confidence"
    return "info-hidden" if severity == "info" and not settings.show_info else ""


def target_of(framework: str, settings: Settings, shown: str = "") -> str:
    """How code of a framework reaches XLA: as the settings of its file say, where they speak of that framework, else as its file shows."""
    targets = row_of(framework).targets
    if settings.target in targets:
        return settings.target
    return shown if shown in targets else targets[0]


def severity_of(hazard: Hazard, rule: Rule, settings: Settings) -> Severity | None:
    """How bad a hazard is on the target and device that the settings of its file say; None where it is none.

    What the called API says comes before what the rule says, and the variant before the device before the rest. What only
    tensors are refused, or lacks a kernel, is an error where the value is certain to be one: of 19 such errors that were likely, drawn in
    published programs of JAX and TensorFlow, none was right. Where
    another module asks for the compiler that minds it, it is a warning: not all that it leads to is compiled. What not every run of the
    program pays is information.
    """
    severity = _severity_told(hazard, rule, settings)
    if hazard.only and severity is not None:
        return "info"
    doubtful = rule.kind in _OF_VALUES and hazard.confidence < Confidence.CERTAIN
    return "warning" if severity == "error" and (doubtful or hazard.elsewhere) else severity


def _severity_told(hazard: Hazard, rule: Rule, settings: Settings) -> Severity | None:
    target = target_of_hazard(hazard, settings)
    called = dict(OCCASIONAL if is_occasional(hazard, rule, target) else hazard.severity)
    for key in (f"{target}:{hazard.variant}", f"{target}:{settings.device}", target):
        if key in called:
            return _severity(called[key])
    on_device = rule.severity.get(f"{target}:{settings.device}")
    own = rule.severity.get(f"{target}:{hazard.variant}") or on_device or rule.severity_for(target, hazard.variant)
    return _severity(own)


def _severity(word: str | None) -> Severity | None:
    return cast("Severity", word) if word in _SEVERITIES else None


def _judge_file(
    source: SourceFile,
    hazards: list[tuple[Hazard, Severity]],
    rules: Mapping[str, Rule],
    settings: Settings,
    anchors: Anchors,
) -> Judged:
    data = source.text.encode()
    lines = Lines(data)
    findings: list[Finding] = []
    failures: list[str] = []
    for hazard, severity in _surest(hazards):
        try:
            rule = rules[hazard.rule]
            finding = finding_of(hazard, severity, rule, data, lines, target_of_hazard(hazard, settings))
            findings.append(finding)
            if is_data(source.path) or rule.kind == "tool" or why_hidden(severity, finding.confidence, settings):
                continue
            if not anchors.confirms(data, hazard.start, hazard.end, hazard.statement):
                failures.append(f"{source.describe_row(finding.location.row)}: {finding.code} could not be anchored")
        except Exception as error:  # noqa: BLE001 - an internal error costs the finding, or its place in the tree
            failures.append(describe_failure(f"{in_function(source.path, hazard.function)}: {hazard.rule}", error))
    return Judged(findings, failures)


def _surest(hazards: list[tuple[Hazard, Severity]]) -> list[tuple[Hazard, Severity]]:
    """One hazard for each rule and extent, in order of place: the surest, then the worst, then that with the shortest trace."""
    best: dict[tuple[int, int, str], tuple[Hazard, Severity]] = {}
    for hazard, severity in hazards:
        key = hazard.start, hazard.end, hazard.rule
        known = best.get(key)
        if known is None or _rank(hazard, severity) > _rank(*known):
            best[key] = hazard, severity
    return [best[key] for key in sorted(best)]


def _rank(hazard: Hazard, severity: Severity) -> tuple[int, int, int]:
    return hazard.confidence, _SEVERITIES.index(severity), -len(hazard.trace)


def target_of_hazard(hazard: Hazard, settings: Settings) -> str:
    """Return the target for which a hazard is judged."""
    return target_of(hazard.framework, settings, hazard.target)


def finding_of(hazard: Hazard, severity: Severity, rule: Rule, data: bytes, lines: Lines, target: str = "") -> Finding:
    """Make the finding of a hazard, whether it is shown or not, in the words for a target."""
    subject = _one_line(hazard.subject or data[hazard.start : hazard.end].decode(errors="replace"))
    detail = _place_inside(hazard.inside) if hazard.inside is not None else hazard.detail
    whole = rule.kind == "tool"  # speaks of a function, and shows where that begins
    message = rule.message_for(hazard.framework, hazard.variant, target).format(
        subject=subject, detail=detail, often=describe_frequency(hazard)
    )
    if hazard.only not in message:
        message += f" ({hazard.only})"
    return Finding(
        code=rule.code,
        name=rule.name,
        kind=rule.kind,
        severity=severity,
        confidence=_CONFIDENCES[hazard.confidence],
        message=" ".join(message.split()),
        filename=hazard.path,
        cell=None,
        location=Location(*lines.place(hazard.start)),
        end_location=Location(*lines.place(max(hazard.end, _line_end(data, hazard.start) if whole else 0))),
        trace=tuple(TraceStep(step.path, step.row, step.name, step.why) for step in hazard.trace),
        framework=None if rule.kind == "tool" else hazard.framework,
        fix=None,
        url=_url(rule.path),
        help=rule.help_for(hazard.framework, target),
        frequency=NAMES[hazard.frequency] if hazard.frequency is not None else None,
        copy_key=hazard.copy_key,
        target=None if rule.kind == "tool" else target or None,
    )


def _line_end(data: bytes, start: int) -> int:
    """Where the line ends on which a place is."""
    end = data.find(b"\n", start)
    return len(data) if end < 0 else end - data[start:end].endswith(b"\r")


def _place_inside(inside: Inside) -> str:
    """A function of a library, with the file and line where it reads a value."""
    try:
        text = read_source(inside.path).text.encode()
    except SourceError:
        return f"`{inside.name}`"
    row, _ = Lines(text).place(inside.start)
    return f"`{inside.name}` ({inside.file}:{row})"


def _one_line(source: str) -> str:
    """Source text short enough for a message."""
    line = " ".join(source.split())
    return line if len(line) <= _LONGEST_SUBJECT else line[: _LONGEST_SUBJECT - 1] + "…"


@cache
def _url(page: Path) -> str:
    return rule_address(page, rules_folder())
