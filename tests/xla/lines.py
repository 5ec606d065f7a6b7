"""Which lines of an example an observation belongs to."""

from __future__ import annotations

import re
import traceback


def lines_of_error(error: BaseException, file: str) -> list[int]:
    """The lines of a file that an exception came through, by its traceback or (AutoGraph) by its message."""
    lines = {frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file}
    lines |= {int(line) for line in re.findall(rf'File "{re.escape(file)}", line (\d+)', str(error))}
    cause = error.__cause__ or error.__context__
    if cause is not None:
        lines |= set(lines_of_error(cause, file))
    return sorted(line for line in lines if line)
