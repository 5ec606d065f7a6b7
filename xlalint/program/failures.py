"""Internal errors: what of one is told, and what it costs.

An error in the analysis of a function costs that function: what it gives counts as unknown, and the rest goes on. The computation that was
under way notes it (`DependencySet.failures`), so that all that used the computation is known to lack something, whichever was first.
"""

from __future__ import annotations

import os
import traceback
from pathlib import Path

_DEBUG = "XLALINT_DEBUG"
_OURS = Path(__file__).resolve().parents[1]
# Where these come up, and what they say, depends on how deep or full a process was before.
_ANYWHERE = (RecursionError, MemoryError)


def describe_failure(where: str, error: BaseException) -> str:
    """Describe an internal error in one line that is the same in whatever process it came up.

    With `XLALINT_DEBUG` in the environment its traceback is printed as well.
    """
    if os.environ.get(_DEBUG):
        traceback.print_exception(error)
    if isinstance(error, _ANYWHERE):
        return f"{where}: {type(error).__name__}"
    said = " ".join(str(error).split())
    return f"{where}: {type(error).__name__}{': ' if said else ''}{said}{_place(error)}"


def in_function(path: str, name: str) -> str:
    """Where a function is, for `describe_failure`: without its row, which edits elsewhere in the file change."""
    return f"{path}: in `{name}`"


def _place(error: BaseException) -> str:
    """The line of xlalint where an error came up: whoever reads a report of it looks there first."""
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        file = Path(frame.filename)
        if not file.is_absolute():  # a compiled module's
            return f" ({file.as_posix()}:{frame.lineno})" if file.parts[:1] == (_OURS.name,) else ""
        if file.is_relative_to(_OURS):
            return f" ({file.relative_to(_OURS.parent).as_posix()}:{frame.lineno})"
    return ""
