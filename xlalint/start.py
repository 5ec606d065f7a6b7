"""The command `xlalint`: heeds signals before it loads the rest, which takes longer than people need to change their minds."""

from __future__ import annotations

from typing import NoReturn

from xlalint import interrupts


def run() -> NoReturn:
    """Run the command that the arguments name, as a process."""
    interrupts.heed()
    try:
        from xlalint import cli

        cli.run()
    except KeyboardInterrupt:
        interrupts.leave()


main = run
"""`run` by the name that `xlalint.processes` starts."""
