"""xlalint finds Python that XLA cannot compile well.

The data goes one way, one sub-package a stage:

    source -> lowering -> program -> interpreter -> analysis -> diagnostics -> report

`xlalint.project` runs the stages over a set of paths, `xlalint.cli` is the command line; ARCHITECTURE.md has the map. `xlalint.watch`
counts what XLA does while the user's own code runs; it is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xlalint.verify.seen import LimitExceededError as LimitExceededError
    from xlalint.verify.watch import Seen as Seen
    from xlalint.verify.watch import watch as watch

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in ("LimitExceededError", "Seen", "watch"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from xlalint.verify import watch

    return getattr(watch, name)
