"""TorchTPU: a program on its device "tpu", by the plugin that forwards to the CPU where there is no TPU.

Importing this module sets, before it imports torch, what TorchTPU reads from its environment; it is for child processes.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from xlalint.verify import environment, plugin

os.environ.update(environment.for_torch_tpu())

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch_tpu._loader as loader
from torch.overrides import TorchFunctionMode

from xlalint.verify.backends import Options, Program, Result, torch_capture, torch_values, values
from xlalint.verify.meters.torch_tpu import TorchTpuMeter
from xlalint.verify.model import Step
from xlalint.verify.numbering import Numbering, Traced
from xlalint.verify.places import definition
from xlalint.verify.plugin.device import switch_on

switch_on(loader)
_DEVICE = "tpu"


class TorchTpu(torch_capture.TracesGraphs):
    """A `Backend`. A step is: the call, gradients if asked for, and the wait for them. TorchTPU runs operation by operation what the code
    does not compile itself, so nothing else is compiled whole.
    """

    name = "torch_tpu"
    settings = torch_values.SETTINGS

    def trace(self, program: Program, given: Mapping[str, Any], numbering: Numbering) -> Traced:
        """Number what a call computes on the CPU."""
        with _on_cpu():
            return super().trace(program, given, numbering)

    def run(
        self, program: Program, steps: Sequence[Mapping[str, Any]], options: Options
    ) -> Iterator[tuple[Step, Result]]:
        if options.mode == "eager":
            with _on_cpu():
                yield from torch_capture.eager(program, steps, options)
            return
        torch._dynamo.reset()
        device = torch.device(_DEVICE)
        call = torch_values.make_callable(program, device, options.setting)
        meter = TorchTpuMeter(thorough=True, breaks=True)
        programs = values.Programs(options.programs, self.name)
        for number, given in enumerate(steps):
            torch_values.seed(number + 1)
            setting = options.setting
            wanted = options.gradients and not setting.detached
            arguments = {n: torch_values.tensor(one, device, wanted, setting.layout) for n, one in given.items()}
            run = torch_values.ProgramCall(call, arguments, None, setting, options.effects)
            with _take_programs(programs):
                step = _step(number, run, options, meter)
            yield values.fill_places(step, definition(call)), run.result()


def _step(number: int, run: torch_values.ProgramCall, options: Options, meter: TorchTpuMeter) -> Step:
    meter.start()
    try:
        began = time.perf_counter()
        run.forward()
        if options.gradients:
            run.backward(options.ends_of(number))
        counts = meter.read()
        seconds = time.perf_counter() - began
    finally:
        meter.stop()
    return Step(number, counts, seconds, meter.events())


@contextmanager
def _take_programs(programs: values.Programs) -> Iterator[None]:
    """Take the programs that are compiled meanwhile, if they are wanted."""
    if not programs.wanted or not plugin.is_used():
        yield
        return
    with TemporaryDirectory(prefix="xlalint-programs-") as folder:
        plugin.write_programs(folder)
        try:
            yield
        finally:
            plugin.write_programs("")
        for file in sorted(Path(folder).iterdir()):
            programs.write(file.read_bytes())


class _Moved(TorchFunctionMode):  # type: ignore[misc]
    """Runs on the CPU what names the TPU."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if getattr(function, "__name__", "") == f"wrap_tensor_{_DEVICE}":
            return args[0]
        named = {name: _on_cpu_too(one) for name, one in (kwargs or {}).items()}
        return function(*map(_on_cpu_too, args), **named)


def _on_cpu_too(value: Any) -> Any:
    if isinstance(value, str):
        return "cpu" if value.partition(":")[0] == _DEVICE else value
    return torch.device("cpu") if isinstance(value, torch.device) and value.type == _DEVICE else value


@contextmanager
def _on_cpu() -> Iterator[None]:
    """Run on the CPU what asks for the TPU, and compile nothing: what the Python says."""
    with torch.compiler.set_stance("force_eager"), _Moved():
        yield


def backend() -> TorchTpu:
    return TorchTpu()
