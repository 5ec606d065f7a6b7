"""Steps on PyTorch's CPU device: eager ones, and what those of torch.compile and torch.export share."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from xlalint.verify.backends import Options, Program, Result, Setting, torch_values
from xlalint.verify.inputs.containers import Build
from xlalint.verify.meters.torch_compile import TorchCompileMeter
from xlalint.verify.model import Step
from xlalint.verify.numbering import Numbering, Traced

_CPU = torch.device("cpu")
_EMPTY = (
    torch.empty,
    torch.empty_like,
    torch.empty_strided,
    torch.Tensor.new_empty,
    torch.Tensor.new_empty_strided,
)


class _Filled(TorchFunctionMode):  # type: ignore[misc]
    """Fills memory that nobody has written to, so that what a program leaves of it is the same each time."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        made = function(*args, **(kwargs or {}))
        if function in _EMPTY:
            _fill(made.detach())
        return made


def _fill(made: torch.Tensor) -> None:
    """Fill a tensor with what no program counts on: NaN, else the largest value."""
    if made.is_floating_point() or made.is_complex():
        made.fill_(float("nan"))
    else:
        made.fill_(True if made.dtype == torch.bool else torch.iinfo(made.dtype).max)


class TracesGraphs:
    """Traces programs as graphs, on the CPU: a base of the backends of PyTorch."""

    traces = "FX graph"

    def trace(self, program: Program, given: Mapping[str, Any], numbering: Numbering) -> Traced:
        """Number what a call computes."""
        from xlalint.verify.backends.torch_graphs import trace  # sympy comes with it, for seconds

        return trace(program, given, numbering)


def eager(program: Program, steps: Sequence[Mapping[str, Any]], options: Options) -> Iterator[tuple[Step, Result]]:
    """The steps as PyTorch runs them on the CPU, with nothing compiled."""
    call, meter = make_callable(program, options.setting), TorchCompileMeter()
    build = program.builder()
    earlier: list[Any] = []
    with capturing(), _Filled():  # once for all steps: what is logged is asked of every logger again each time
        for number, values in enumerate(steps):
            yield capture_step(number, call, values, options, meter, build, earlier=earlier)


def make_callable(program: Program, setting: Setting = torch_values.ORDINARY) -> Callable[..., Any]:
    """Make the program's callable, for the CPU."""
    with capturing():
        return torch_values.make_callable(program, _CPU, setting)


def on_cpu(values: Mapping[str, Any], differentiable: bool = False, apart: bool = False) -> dict[str, Any]:
    return {name: torch_values.tensor(value, _CPU, differentiable, apart) for name, value in values.items()}


def capture_step(
    number: int,
    call: Callable[..., Any],
    values: Mapping[str, Any],
    options: Options,
    meter: TorchCompileMeter,
    build: Build,
    subject: Any = None,
    earlier: list[Any] | None = None,
) -> tuple[Step, Result]:
    """Run one step of a callable that was captured from `subject`; `earlier` holds what the step before gave."""
    torch_values.seed_cpu(number + 1)
    setting = options.setting
    given = on_cpu(values, options.gradients and not setting.detached, setting.layout)
    run = torch_values.ProgramCall(call, given, subject, setting, options.effects, build, earlier)
    meter.start()
    began = time.perf_counter()
    run.forward()
    if options.gradients:
        run.backward(options.ends_of(number))
    seconds = time.perf_counter() - began
    return Step(number, meter.read(), seconds, meter.events()), run.result()


@contextmanager
def capturing() -> Iterator[None]:
    """Silence torch's logs, whose contents are events or errors here. Code that asks torch_xla for its device gets the CPU."""
    loggers = {name: logging.getLogger(name) for name in ("torch._dynamo", "torch.export", "torch.fx")}
    levels = {name: logger.level for name, logger in loggers.items()}
    for logger in loggers.values():
        logger.setLevel(logging.CRITICAL)
    xla: Any = sys.modules.get("torch_xla")
    device = getattr(xla, "device", None)
    if device is not None:
        xla.device = lambda *args: _CPU
    try:
        yield
    finally:
        for name, logger in loggers.items():
            logger.setLevel(levels[name])
        if device is not None:
            xla.device = device
