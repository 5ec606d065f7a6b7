"""The frameworks that can run a subject, each behind `Backend`; a module is imported only in the child process that needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from xlalint.verify.model import Step

Leaf = tuple[str, Any]  # dtype ("python" for a Python scalar, "none" for None and strings), NumPy array


class Result(NamedTuple):
    """One step computed these: outputs, flattened in order; gradients of a fixed scalar of them, per floating argument and parameter."""

    outputs: list[Leaf]
    gradients: list[Leaf]


class Program(NamedTuple):
    """A subject that was loaded: `make()` gives a fresh callable (same weights each time), `file` is where its lines lie."""

    make: Callable[[], Callable[..., Any]]
    file: str


class Options(NamedTuple):
    """`gradients`: also differentiate. `programs`: a folder for the StableHLO of each compiled program, "" for none."""

    gradients: bool = False
    programs: str = ""


class Backend(Protocol):
    """One framework on one XLA device."""

    name: str

    def run(
        self, program: Program, steps: Sequence[Mapping[str, Any]], options: Options
    ) -> Iterator[tuple[Step, Result]]:
        """Call the program once per step, with NumPy arrays placed on the device, and tell what each step did.

        Raises: what the program raises, after the steps before it were yielded.
        """
        ...
