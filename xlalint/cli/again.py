"""xlalint in a process of its own, for commands that go on while others come and go."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

# Without the working directory in front of the path: a project may have modules of the names of ours.
_BOOT = """\
import sys
sys.path[:] = [*filter(None, sys.path), sys.argv.pop(1)]
from xlalint.cli import main
sys.exit(main())
"""


def again(arguments: Iterable[str]) -> list[str]:
    """The command that runs this very xlalint with some arguments."""
    return [sys.executable, "-c", _BOOT, str(Path(__file__).parents[2]), *arguments]
