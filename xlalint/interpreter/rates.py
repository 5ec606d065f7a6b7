"""How often code runs: its place in a function says how often it does each time that is entered, the calls from the root say the rest.

A `Rate` is known while a function is interpreted, whoever calls it. A `Cost` is known once the calls are: `analysis/costs.py` carries it
along them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from xlalint.analysis.hazard import Frequency


class Cost(NamedTuple):
    """How often code runs; `looped` that there, a loop of its own repeats it. `only` says in words where it does, if not in every run."""

    frequency: Frequency
    looped: bool = False
    only: str = ""


def costliest(costs: Iterable[Cost]) -> Cost:
    """Return of several costs what counts: what every run pays before what only some do, and then the most frequent."""
    return max(costs, key=lambda cost: (not cost.only, cost.frequency, cost.looped, cost.only))


class Rate(NamedTuple):
    """How often code runs in a function that is entered now and then: at least so often as `floor` says, since a loop around it takes the
    steps, at most so often as `ceiling` says, since a guard lets it run at every n-th step. `looped`: a loop within these repeats it.
    `only` as of `Cost`."""

    floor: Frequency = Frequency.ONCE
    ceiling: Frequency = Frequency.STEP
    looped: bool = False
    only: str = ""

    def of(self, entered: Cost) -> Cost:
        """Return how often the code runs where its function is entered so often."""
        frequency = min(max(entered.frequency, self.floor), self.ceiling)
        only = entered.only or self.only
        if frequency >= Frequency.CALL:
            return Cost(frequency, only=only)
        looped = self.looped or (entered.looped and frequency is entered.frequency)
        return Cost(frequency, looped, only)

    def join(self, other: Rate) -> Rate:
        """Return how often what both speak of runs."""
        if self == other:
            return self
        only = min(self.only, other.only)  # "", if one of the two asks for nothing
        return Rate(max(self.floor, other.floor), max(self.ceiling, other.ceiling), self.looped or other.looped, only)

    def in_steps(self, frequency: Frequency) -> Rate:
        """Return the rate in a loop whose turns are steps."""
        return Rate(frequency, frequency, only=self.only)

    def in_epochs(self) -> Rate:
        """Return the rate in a loop around such a loop."""
        return self._replace(floor=max(self.floor, min(Frequency.EPOCH, self.ceiling)))

    def in_loop(self) -> Rate:
        """Return the rate in any other loop."""
        return self if self.looped else self._replace(looped=True)

    def under(self, guard: Frequency) -> Rate:
        """Return the rate under a guard that lets code run so often."""
        return self if self.ceiling <= guard else Rate(min(self.floor, guard), guard, only=self.only)

    def in_runs(self, only: str) -> Rate:
        """Return the rate of what runs only where something is asked for."""
        return self if self.only else self._replace(only=only)


ALWAYS = Rate()
"""The rate of what stands in no loop and under no guard."""
