"""`python -m xlalint`."""

from __future__ import annotations

import sys

from xlalint.cli import main

if __name__ == "__main__":
    sys.exit(main())
