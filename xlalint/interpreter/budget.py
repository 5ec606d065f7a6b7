"""How much work the analysis of one function may take before it is cut off.

What is counted is work, never time: the statements that run in a context, each turn of its loops anew, and the contexts that a root leads
to. Both follow from the program alone: contexts that were worked out before are counted as if they were worked out now, so neither what a
process analysed earlier nor how many processes share the work changes what is cut off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.analysis.hazard import Confidence
from xlalint.interpreter.context import PendingHazard
from xlalint.rules.codes import ANALYSIS_CUT_OFF

if TYPE_CHECKING:
    from xlalint.interpreter.context import Context

MAX_WORK = 100_000
"""The statements that may run in one context. A loop's body runs up to three times, so only loops within loops get there."""

MAX_ENTERED = 20_000
"""The contexts that the roots of one module may lead to."""

MAX_CUT = 300
"""Those of them that a limit shows in: these hold for the roots of that module alone, and are worked out anew for those of each other."""

LEAST = 4
"""The contexts of either kind that each root may lead to all the same."""


class CutOff(Exception):  # noqa: N818 - it ends the analysis of a function, and is no error
    """A function has taken more than its share: what it gives counts as unknown."""


class Share:
    """A record of what the roots of one module may still lead to.

    `cut` counts the contexts that a limit shows in, `told` says that a root was told.
    """

    def __init__(self) -> None:
        self.cut = 0
        self.told = False
        self._entered = MAX_ENTERED
        self._cut = MAX_CUT

    def begin_root(self, entered: int) -> None:
        """Begin a root of the module, where so many contexts were entered already."""
        self._entered = max(MAX_ENTERED, entered + LEAST)
        self._cut = max(MAX_CUT, self.cut + LEAST)

    def is_spent(self, entered: int) -> bool:
        """Return whether the module's roots may enter no more, where so many contexts were entered already."""
        return entered >= self._entered or self.cut >= self._cut

    def takes_cut(self, more: int) -> bool:
        """Take so many contexts more that a limit shows in, if the module's roots may enter them."""
        if self.cut + more >= self._cut:
            return False
        self.cut += more
        return True

    def has_room(self, entered: int) -> bool:
        """Return whether so many contexts may be entered in all."""
        return entered <= self._entered


def tell_work(context: Context) -> None:
    """Note that a context was cut off within its loops."""
    _tell(context, f"its nested loops take more than {MAX_WORK:,} steps to analyse, so its result counts as unknown")


def tell_depth(context: Context) -> None:
    """Note that the expressions or statements of a context are nested more deeply than they can be followed."""
    _tell(context, "its expressions or statements are nested too deeply, and what it gives counts as unknown")


def tell_calls(context: Context, share: Share) -> None:
    """Note that the calls that a module's roots lead to are followed no further, at the first root that this shows in."""
    if not share.told:
        share.told = True
        _tell(
            context,
            "it leads to more calls with different arguments than are followed; the results of the others count as unknown, here and in "
            "the other functions of the file",
        )


def _tell(context: Context, why: str) -> None:
    name = f"`{context.name}`" if context.function is not None else "the top level"
    context.sightings.setdefault(
        (ANALYSIS_CUT_OFF, 0), PendingHazard(ANALYSIS_CUT_OFF, 0, 0, "", Confidence.CERTAIN, name, why)
    )
