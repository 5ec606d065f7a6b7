"""Python's own tracing of what runs: whoever follows frames puts back what followed them before."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

Follower = Callable[[FrameType, str, Any], Any]
"""Called as `sys.settrace` says, for each frame that is entered."""


@contextlib.contextmanager
def follow_frames(enter: Follower) -> Iterator[None]:
    """Follow what is run inside of the `with` block."""
    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)
