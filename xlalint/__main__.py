"""`python -m xlalint`.

`-m` puts the working directory in front of the path of modules: what lies there must not take the place of what is imported from here on.
Python's own start and `xlalint/__init__.py` come before; `xlalint`, or `python -I -m xlalint`, has no such gap.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    try:
        here = os.getcwd()  # noqa: PTH109
    except OSError:  # it was removed
        here = ""
    if sys.path and sys.path[0] in ("", here):
        del sys.path[0]

from xlalint.start import run

if __name__ == "__main__":
    run()
