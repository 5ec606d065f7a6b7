"""Where a path leads: to this machine's disk, or by a scheme (`gs://`) to somewhere that other machines reach as well.

Of a path that is put together the beginning decides, so it is known of text whose end is not: the `origin` of a host string is then
"local" or "remote".
"""

from __future__ import annotations

from xlalint.abstract.values import Const, Host, Value

LOCAL = "local"
REMOTE = "remote"


def leads_to(value: Value | None) -> str:
    """ "local" or "remote" of a path; "" where that is not known."""
    if isinstance(value, Const) and isinstance(value.value, str):
        return begins_at(value.value) or (LOCAL if value.value else "")
    return value.origin if isinstance(value, Host) and value.origin in (LOCAL, REMOTE) else ""


def begins_at(text: str) -> str:
    """The same of the beginning of a text, which is one of a path if it has a scheme or a slash."""
    return REMOTE if "://" in text and not text.startswith("file://") else LOCAL if "/" in text else ""


def prolong(value: Value) -> str:
    """Where a path leads that begins with a value and goes on; "python" where that is not known, as origins have it."""
    if isinstance(value, Const) and isinstance(value.value, str):
        return begins_at(value.value) or "python"
    return leads_to(value) or "python"
