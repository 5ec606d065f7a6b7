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
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from xlalint.verify.inputs.containers import Build, builder
from xlalint.verify.model import Step
from xlalint.verify.numbering import Numbering, Traced

Leaf = tuple[str, Any]  # dtype ("python" for a Python scalar, "none" for None and strings), NumPy array


class Content(NamedTuple):
    """Holds what is in a value, as arrays: `leaves` in order with their `paths`, and the containers around them by path.

    `opaque` names what cannot be compared. Values that were never in a container have neither paths nor parts.
    """

    leaves: Sequence[Leaf] = ()
    paths: Sequence[str] = ()
    parts: Sequence[tuple[str, str]] = ()
    opaque: Sequence[str] = ()


GIVEN_AWAY = "arguments given away"


class Result(NamedTuple):
    """One step computed these: outputs; gradients of a fixed scalar of them, per floating argument and parameter.

    `effects` is what it left behind, by name, as far as the backend tells: "arguments" that were changed or GIVEN_AWAY, "state" (what the
    instance, its module's globals and closures hold, as far as it changed), "random" (the generators), "layout" (of results in memory),
    "checkpoint" (what the instance saves), "settings" of the framework. Gradients come from the outputs at `ends`; there are none where
    the framework cannot differentiate: it says why in
    `refused`. `traced`: whether the framework itself tells from which outputs a gradient can come.
    """

    outputs: Content
    gradients: Sequence[Leaf] = ()
    effects: Mapping[str, Content] = MappingProxyType({})
    ends: tuple[int, ...] = ()
    refused: str = ""
    traced: bool = False


class Program(NamedTuple):
    """A subject that was loaded: `make()` gives a fresh callable (same weights each time), `file` is where its lines lie.

    `variants` are other ways to make it, by the arguments of its class that are not what they are by default ("p=0.5"). `builder()` gives
    what makes inputs that are of classes of its own: those of the callable that was made last.
    """

    make: Callable[[], Callable[..., Any]]
    file: str
    variants: Mapping[str, Callable[[], Callable[..., Any]]] = MappingProxyType({})
    builder: Callable[[], Build] = lambda: builder({})

    def made_with(self, arguments: str) -> Program:
        """The program, made with other arguments; as it is for ""."""
        return self._replace(make=self.variants[arguments]) if arguments else self


Mode = Literal["compiled", "as-written", "eager"]


class Setting(NamedTuple):
    """The circumstances of a call, beside its inputs; a backend has those that its `settings` name, the others are as if not asked for.

    `layout`: arguments are every second element of larger arrays. `evaluation`: an instance that has the mode is in it. `autocast`: within
    the framework's mixed precision. `weights`: parameters and buffers have other values than those they were made with. `detached`: no
    argument needs a gradient, and nothing is recorded for one. `wide`: arguments are of a wider dtype than the program is made for, and so
    is what an instance holds; no circumstance to try, but a way to tell rounding. `made_with`: one of a program's `variants`, which need
    nothing of a backend.
    """

    layout: bool = False
    evaluation: bool = False
    autocast: bool = False
    weights: bool = False
    detached: bool = False
    wide: bool = False
    made_with: str = ""

    @classmethod
    def of(cls, name: str) -> Setting:
        """The setting that one name of a backend's `settings` stands for."""
        changed: dict[str, Any] = {name: True}
        return cls(**changed)

    @property
    def text(self) -> str:
        """The setting in words, "" for the ordinary one."""
        told = [words for name, words in _SETTINGS.items() if getattr(self, name)]
        return ", ".join([*told, *([f"made with {self.made_with}"] if self.made_with else [])])


_SETTINGS = MappingProxyType(
    {
        "layout": "non-contiguous arguments",
        "evaluation": "evaluation mode",
        "autocast": "autocast",
        "weights": "other weights",
        "detached": "no gradients wanted",
    }
)


class Options(NamedTuple):
    """`gradients`: also differentiate. `programs`: a folder for the StableHLO of each compiled program, "" for none.

    `mode`: "compiled" compiles the subject whole, unless it is compiled already (backends that always trace do nothing about it);
    "as-written" calls it as it stands, for loops around compiled steps; "eager" compiles nothing: what the Python says, as a reference.
    `ends`: for each step, the positions of the outputs that gradients come from, None for all that have some. `setting`: the
    circumstances of all calls. `effects`: whether results tell of them.
    """

    gradients: bool = False
    programs: str = ""
    mode: Mode = "compiled"
    ends: Sequence[Sequence[int] | None] | None = None
    setting: Setting = Setting()
    effects: bool = False

    def ends_of(self, step: int) -> Sequence[int] | None:
        """The outputs of a step that gradients come from; None for all that have some."""
        return self.ends[step] if self.ends is not None else None


class Backend(Protocol):
    """One framework on one XLA device. `settings` are those of `Setting` that it can bring about."""

    name: str
    settings: tuple[str, ...]

    def run(
        self, program: Program, steps: Sequence[Mapping[str, Any]], options: Options
    ) -> Iterator[tuple[Step, Result]]:
        """Call the program once per step, with NumPy arrays placed on the device, and tell what each step did.

        Raises: what the program raises, after the steps before it were yielded.
        """
        ...


@runtime_checkable
class TracingBackend(Protocol):
    """A backend that can trace what a program computes with no values; `traces` is what the framework calls that."""

    traces: str

    def trace(self, program: Program, given: Mapping[str, Any], numbering: Numbering) -> Traced:
        """Number what a call computes of inputs like these.

        Raises: numbering.CannotTraceError; whatever the program, or the framework, raises for what cannot be traced.
        """
        ...


class Needs(NamedTuple):
    """Lists what a backend needs installed: packages by their import names, and the extra of xlalint that has them."""

    packages: tuple[str, ...]
    extra: str

    @property
    def command(self) -> str:
        """The command that installs them."""
        return f"pip install 'xlalint[{self.extra}]'"


NEEDS = MappingProxyType(
    {
        "torch_xla": Needs(("torch", "torch_xla"), "torch-xla"),
        "torch_tpu": Needs(("torch", "torch_tpu", "lammps_jax_pjrt_cpu"), "torch-tpu"),
        "torch_compile": Needs(("torch",), "torch"),
        "torch_export": Needs(("torch",), "torch"),
        "tensorflow": Needs(("tensorflow",), "tensorflow"),
        "jax": Needs(("jax",), "jax"),
    }
)
"""The backends by name; what all of them need is in `SHARED`."""
SHARED = ("numpy", "psutil", "ml_dtypes")
USUAL = "torch_tpu"
"""The backend for PyTorch code that shows none."""
_OTHER = MappingProxyType({"torch_tpu": "torch_xla", "torch_xla": "torch_tpu"})


class MissingPackageError(Exception):
    """A backend cannot run for want of packages; the message names them, and the one command that installs them."""


def require(name: str) -> None:
    """Raise `MissingPackageError` where a backend's packages are not installed; imports none of them."""
    needs = _needs(name)
    lacking = _find_missing(needs)
    if lacking:
        names = ", ".join(f"`{package}`" for package in lacking)
        verb = "is" if len(lacking) == 1 else "are"
        raise MissingPackageError(f"backend {name}: {names} {verb} not installed here; install: {needs.command}")


def choose_installed(wanted: str) -> tuple[str, str]:
    """Return the backend for code whose target nobody named: the one that the code shows. Where that is not installed, but PyTorch's other
    backend for XLA devices is, it is that one; then a line says so.
    """
    other = _OTHER.get(wanted)
    if other is None or not _find_missing(_needs(wanted)) or _find_missing(_needs(other)):
        return wanted, ""
    return other, f"PyTorch code is run on {other}: {wanted} is not installed here ({_needs(wanted).command})."


def _needs(name: str) -> Needs:
    return NEEDS.get(name, Needs((), "torch"))


def _find_missing(needs: Needs) -> list[str]:
    return [package for package in (*needs.packages, *SHARED) if find_spec(package) is None]


def backend_of(name: str) -> Backend:
    """The backend of a name of `NEEDS`, or of a module of one's own (a dotted name) that has a function `backend`."""
    made: Backend = import_module(name if "." in name else f"{__name__}.{name}").backend()
    return made
