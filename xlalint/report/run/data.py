"""A run for programs."""

from __future__ import annotations

from typing import Any

from xlalint.report.json import encode
from xlalint.verify.joined import Joined, Line, after_warmup


def render(joined: Joined, script: str, *, ascii_only: bool = False) -> str:
    """One JSON object on one line, ending in a newline."""
    recording = joined.recording
    measured = {step.number for step in after_warmup(recording.steps, joined.warmup)}
    told = {
        "script": script,
        "main": recording.main,
        "exit_code": recording.exit_code,
        "ended": recording.ended,
        "seconds": recording.seconds,
        "frameworks": recording.frameworks,
        "warmup": joined.warmup,
        "steps": [{"warm": step.number not in measured, "step": step} for step in recording.steps],
        "counts": joined.counts,
        "counts_of_warmup": joined.warm,
        "predicted_and_observed": [_line(line) for line in joined.predicted],
        "observed_only": [_line(line) for line in joined.observed_only],
        "predicted_only": joined.predicted_only,
        "not_run": joined.unrun,
    }
    return f"{encode(told, ascii_only=ascii_only)}\n"


def _line(line: Line) -> dict[str, Any]:
    place = line.place if line.place.file else None
    told = {"kind": line.kind, "place": place, "count": line.count, "seconds": line.seconds, "steps": line.steps}
    return {**told, "causes": line.causes, "findings": line.findings}
