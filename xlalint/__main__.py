"""`python -m xlalint`."""

from __future__ import annotations

from xlalint.cli import run

if __name__ == "__main__":
    run()
