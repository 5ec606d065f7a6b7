"""The class of frameworks: what the interpreter asks of it, where its programs run, what XLA traces of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from xlalint.interpreter.context import Context, PendingHazard, RootContext
    from xlalint.interpreter.semantics import Semantics
    from xlalint.interpreter.tracer import Runner, Tracer
    from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo, Program
    from xlalint.rules.policy import Policies, Policy


class Reach(IntEnum):
    """How much of a program is XLA's: it traces functions; some of them are compiled by XLA; all runs on an XLA device."""

    TRACED = 0
    COMPILED = 1
    DEVICE = 2


class Platform(NamedTuple):
    """A framework that reaches XLA in a program, how far, and why, as a sentence without its end. `told`: nothing but the user's target
    says so. `at_hand`: it computes in the memory of the host, who reads what it gives at no cost."""

    framework: str
    why: str
    reach: Reach = Reach.DEVICE
    told: bool = False
    at_hand: bool = False


Platforms = Mapping[str, Platform]
NOWHERE: Platforms = {}
ON_DEVICE = "runs on an XLA device: "


def reaches(platforms: Platforms, framework: str, reach: Reach) -> bool:
    """Return whether a program reaches XLA that far by a framework."""
    return framework in platforms and platforms[framework].reach >= reach


class LibraryRead(NamedTuple):
    """A call into an installed library whose code reads a tensor's value: the hazard, and the context and extent in which it reads."""

    call: PendingHazard
    context: Context
    at: int


class Framework:
    """One framework, as its folder gives it to the registry (`FRAMEWORK` in `framework.py`).

    - `semantics`: what the interpreter asks of it.
    - `platform(module, program, target)`: how far a program that is started at a module reaches XLA, None where it does not.
    - `tracers`: last names of functions that trace what they are given. Host functions that call one of them are entered.
      `tracing_methods`: those among them that are methods of the framework's objects, known by their name alone where nothing says whose.
    - `host_roots(module)`: contexts of host code, besides what leads to a check; `root_of_data(module)`: the root that a data file is.
    - `prepares_data(klass)`: whether a class belongs into the input pipeline, which is not compiled.
    - `feeds_data(info)`: whether a function that a tracer is handed is one of an input pipeline all the same.
    - `trains_eagerly(klass)`: whether what the framework calls on a class is run as it stands: its module trains it so, and traces nothing.
    - `module_first`: on a device, the module's top level is run before its functions, which read what it made.
    - `variant_under(tracer, pending, policy)`: the variant of a hazard of its tensors in code that the tracer runs, None where it is none.
      `rewrites(tracer)`: whether the tracer turns control flow into operations of the graph.
    - `runner_of(klass, base, program)`: what runs the methods that the framework calls on a class, by the base that the framework knows.
    - `runs_beside(pending)`: whether the host of a device runs what a hazard is about, beside the graph of a program for that device.
    - `remote_variant(contexts)`: the variant of what is a hazard where the device is on another machine, None where it is on the same.
    - `library_reads(context, policies)`: the calls into installed libraries, from a context, whose code reads a tensor's value.
    - `checks`: the modules of its checks, which register themselves.
    """

    def __init__(
        self,
        semantics: Semantics,
        *,
        platform: Callable[[ModuleInfo, Program, str], Platform | None] | None = None,
        tracers: frozenset[str] = frozenset(),
        tracing_methods: frozenset[str] = frozenset(),
        host_roots: Callable[[ModuleInfo], Iterable[Context]] | None = None,
        root_of_data: Callable[[ModuleInfo], RootContext | None] | None = None,
        prepares_data: Callable[[ClassInfo], bool] | None = None,
        feeds_data: Callable[[FunctionInfo], bool] | None = None,
        trains_eagerly: Callable[[ClassInfo], bool] | None = None,
        module_first: bool = False,
        variant_under: Callable[[Tracer, PendingHazard, Policy], str | None] | None = None,
        rewrites: Callable[[Tracer], bool] | None = None,
        runner_of: Callable[[ClassInfo, str, Program], Runner] | None = None,
        runs_beside: Callable[[PendingHazard], bool] | None = None,
        remote_variant: Callable[[Iterable[Context]], str | None] | None = None,
        library_reads: Callable[[Context, Policies], Iterable[LibraryRead]] | None = None,
        checks: tuple[ModuleType, ...] = (),
    ) -> None:
        self.name = semantics.name
        self.semantics = semantics
        self.platform = platform
        self.tracers = tracers
        self.tracing_methods = tracing_methods
        self.host_roots = host_roots
        self.root_of_data = root_of_data
        self.prepares_data = prepares_data
        self.feeds_data = feeds_data
        self.trains_eagerly = trains_eagerly
        self.module_first = module_first
        self.variant_under = variant_under
        self.rewrites = rewrites
        self.runner_of = runner_of
        self.runs_beside = runs_beside
        self.remote_variant = remote_variant
        self.library_reads = library_reads
        self.checks = checks
