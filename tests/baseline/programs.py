"""Programs whose findings are the calls of `bad`, so that what is new can be tried without analysing anything."""

from __future__ import annotations

import re
from collections.abc import Mapping

from xlalint.baseline.identity import Texts
from xlalint.diagnostics.finding import Finding, Location

_BAD = re.compile(r"bad\([^)]*\)")


def findings(filename: str, text: str, cell: int | None = None, code: str = "XLA301") -> list[Finding]:
    """One for each call of `bad`, in order."""
    found = []
    for match in _BAD.finditer(text):
        start, end = (_place(text, at) for at in match.span())
        told = ("item", "host-sync", "warning", "certain", "m", filename, cell, start, end, (), "torch", None, "")
        found.append(Finding(code, *told))  # type: ignore[arg-type]
    return found


def texts(files: Mapping[str, str]) -> Texts:
    return Texts(files.get, lambda _: {})


def _place(text: str, at: int) -> Location:
    return Location(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
