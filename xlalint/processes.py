"""The commands that start Python processes. Every process of xlalint is started by one of them, so that none runs what lies in a folder.

`python -m` and `python -c` put the working directory in front of the path of modules, and a variable of the environment may do so too. In
a folder that somebody else wrote, a file called `json.py` would then be run by whatever imports `json`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_ROOT = str(Path(os.path.abspath(__file__)).parents[1])  # noqa: PTH100
# Isolated, Python begins with its own library and installed packages; what else this process imports from comes in the order it has here.
_ISOLATED = """\
import sys
given = {path}
sys.path[:] = [*given, *(entry for entry in sys.path if entry not in given)]
from {module} import main
sys.exit(main())
"""
# Nothing is imported before the working directory, which `-c` stands for, is off the path.
_HOSTING = """\
import sys
if sys.path and not sys.path[0]: del sys.path[0]
if {root} not in sys.path: sys.path.append({root})
from {module} import main
sys.exit(main())
"""


def interpreter() -> str:
    """Return the path of the Python that runs this process, and those that it starts."""
    return sys.executable


def isolated_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs `main` of a module of xlalint, for processes that do xlalint's own work.

    Modules come from where this process has them from, less the working directory, and neither the environment nor a user's folder of
    packages add to that. `main` finds the arguments in `sys.argv`.
    """
    boot = _ISOLATED.format(path=ascii(_own_path()), module=module)
    return [interpreter(), "-I", *_flags(), "-c", boot, *arguments]


def hosting(module: str, *arguments: str) -> list[str]:
    """The command that runs `main` of a module of xlalint, for processes that the user wants to run code of a project.

    The environment counts as it does for `python`, which that code may need. The working directory is off the path until `main` puts it
    there, so that what xlalint imports before is Python's and its own.
    """
    return [interpreter(), "-c", _HOSTING.format(root=ascii(_ROOT), module=module), *arguments]


def _own_path() -> list[str]:
    """Where this process imports from, without the working directory; at the end the folder that xlalint lies in."""
    try:
        here = os.path.realpath(os.getcwd())  # noqa: PTH109
    except OSError:  # it was removed
        here = ""
    path = [entry for entry in sys.path if Path(entry).is_absolute() and os.path.realpath(entry) != here]
    return path if _ROOT in path else [*path, _ROOT]


def _flags() -> list[str]:
    """Return the flags for the environment variables of Python that an isolated one ignores."""
    flags = ["-B"] if sys.dont_write_bytecode else []
    if sys.flags.utf8_mode:
        flags += ["-X", "utf8"]
    if sys.pycache_prefix:
        flags += ["-X", f"pycache_prefix={sys.pycache_prefix}"]
    return flags
