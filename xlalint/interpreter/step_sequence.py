"""How training steps and the device's steps follow each other in a function: what a lazy device runs, and when.

torch_xla runs nothing of a program until it is told to, or asked for a value. A function's `Pace` says which steps of optimizers it takes
after the last order to run (`pending`), so that a loop around it, here or in a caller, can be told to give none.
"""

from __future__ import annotations

from typing import NamedTuple


class OptimizerStep(NamedTuple):
    """Where an optimizer takes a step: extent and statement as sightings have them, and how the source writes it. `reduces`: it is
    torch_xla's own, which first adds up the gradients of all replicas. `sure`: it stands in no branch."""

    at: int
    statement: int
    spelled: str
    reduces: bool
    sure: bool


class Pace:
    """`steps` are all steps of optimizers in the function's own body, `pending` those after the last order to run, in functions that it
    calls told by the call; `orders` counts orders to run, `gradients` backward passes."""

    __slots__ = ("gradients", "orders", "pending", "steps")

    def __init__(self) -> None:
        self.steps: dict[int, OptimizerStep] = {}
        self.pending: dict[int, OptimizerStep] = {}
        self.orders = 0
        self.gradients = 0

    def takes(self, step: OptimizerStep) -> None:
        """An optimizer takes a step."""
        self.steps[step.at] = self.pending[step.at] = step

    def runs(self) -> None:
        """The device is told to run what was recorded."""
        self.orders += 1
        self.pending.clear()

    def join(self, callee: Pace, at: int, statement: int, spelled: str) -> None:
        """A function is called that has a pace of its own."""
        self.gradients += callee.gradients
        if callee.orders:
            self.runs()
        for step in callee.pending.values():
            self.pending[at] = step._replace(at=at, statement=statement, spelled=spelled or step.spelled)
