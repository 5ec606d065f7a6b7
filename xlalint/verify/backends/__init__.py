"""The frameworks that can run a subject, each behind `Backend`; a module is imported only in the child process that needs it.

Each is made by the function `backend` of a module here, whose import sets the environment that the framework reads at its own import:

    def backend() -> Backend

Arrays come as NumPy arrays, of `ml_dtypes.bfloat16` where a spec says bf16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from xlalint.verify.model import Step

Leaf = tuple[str, Any]  # dtype ("python" for a Python scalar, "none" for None and strings), NumPy array


class Result(NamedTuple):
    """One step computed these: outputs, flattened in order; gradients of a fixed scalar of them, per floating argument and parameter.

    `effects` is what it left behind, by name, as far as the backend tells: "arguments" that were changed, "state" (buffers, parameters,
    variables, public globals), "random" (the generators). Gradients come from the outputs at `ends`; there are none where the framework
    cannot differentiate: it says why in `refused`.
    """

    outputs: list[Leaf]
    gradients: list[Leaf]
    effects: Mapping[str, list[Leaf]] = MappingProxyType({})
    ends: tuple[int, ...] = ()
    refused: str = ""


class Program(NamedTuple):
    """A subject that was loaded: `make()` gives a fresh callable (same weights each time), `file` is where its lines lie."""

    make: Callable[[], Callable[..., Any]]
    file: str


Mode = Literal["compiled", "as-written", "eager"]


class Options(NamedTuple):
    """`gradients`: also differentiate. `programs`: a folder for the StableHLO of each compiled program, "" for none.

    `mode`: "compiled" compiles the subject whole, unless it is compiled already (backends that always trace do nothing about it);
    "as-written" calls it as it stands, for loops around compiled steps; "eager" compiles nothing: what the Python says, as a reference.
    `ends`: for each step, the positions of the outputs that gradients come from, where not from all that have some.
    """

    gradients: bool = False
    programs: str = ""
    mode: Mode = "compiled"
    ends: Sequence[Sequence[int]] | None = None

    def ends_of(self, step: int) -> Sequence[int] | None:
        """The outputs of a step that gradients come from; None for all that have some."""
        return self.ends[step] if self.ends is not None else None


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


class Needs(NamedTuple):
    """Lists what a backend needs installed: packages by their import names, and the extra of xlalint that has them."""

    packages: tuple[str, ...]
    extra: str


NEEDS = MappingProxyType(
    {
        "torch_xla": Needs(("torch", "torch_xla"), "torch"),
        "torch_compile": Needs(("torch",), "torch"),
        "torch_export": Needs(("torch",), "torch"),
        "tensorflow": Needs(("tensorflow",), "tensorflow"),
        "jax": Needs(("jax",), "jax"),
    }
)
"""The backends by name; what all of them need is in `SHARED`."""
SHARED = ("numpy", "psutil", "ml_dtypes")


class MissingPackageError(Exception):
    """A backend cannot run for want of packages; the message names them, and the one command that installs them."""


def require(name: str) -> None:
    """Raise `MissingPackageError` where a backend's packages are not installed; imports none of them."""
    needs = NEEDS.get(name, Needs((), "torch"))
    missing = [package for package in (*needs.packages, *SHARED) if find_spec(package) is None]
    if missing:
        names = ", ".join(f"`{package}`" for package in missing)
        verb = "is" if len(missing) == 1 else "are"
        raise MissingPackageError(
            f"backend {name}: {names} {verb} not installed here; install: pip install 'xlalint[{needs.extra}]'"
        )


def backend_of(name: str) -> Backend:
    """The backend of a name of `NEEDS`, or of a module of one's own (a dotted name) that has a function `backend`."""
    made: Backend = import_module(name if "." in name else f"{__name__}.{name}").backend()
    return made
