"""torch_xla: a program on the device that `PJRT_DEVICE` names, or on a TPU if there is one, else on the CPU.

Importing this module sets, before it imports torch_xla, what that reads from its environment; it is for child processes.
"""

from __future__ import annotations

import gc
import os
import re
import tempfile

from xlalint.verify import environment

os.environ.update(environment.for_torch_xla(tempfile.mkdtemp(prefix=environment.OWN_GRAPHS)))

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
import torch_xla
import torch_xla.core.xla_model as xm

from xlalint.verify.backends import Options, Program, Result, torch_capture, torch_values, values
from xlalint.verify.meters.torch_xla import TorchXlaMeter
from xlalint.verify.model import Step
from xlalint.verify.places import definition


class TorchXla(torch_capture.TracesGraphs):
    """A `Backend`. A step is: the call, gradients if asked for, torch_xla's `sync` and the wait for it."""

    name = "torch_xla"
    settings = torch_values.SETTINGS

    def run(
        self, program: Program, steps: Sequence[Mapping[str, Any]], options: Options
    ) -> Iterator[tuple[Step, Result]]:
        if options.mode == "eager":
            yield from torch_capture.eager(program, steps, options)
            return
        device = torch_xla.device()
        call = torch_values.make_callable(program, device)
        build = program.builder()
        meter = TorchXlaMeter(thorough=True)
        programs = values.Programs(options.programs, self.name)
        for number, given in enumerate(steps):
            torch_values.seed(number + 1)
            arguments = {name: torch_values.tensor(value, device, options.gradients) for name, value in given.items()}
            run = torch_values.ProgramCall(call, arguments, effects=options.effects, build=build)
            _finish()
            step = _step(number, run, options, meter, programs)
            yield values.fill_places(step, definition(call)), run.result()


def _step(
    number: int, run: torch_values.ProgramCall, options: Options, meter: TorchXlaMeter, programs: values.Programs
) -> Step:
    """A step; of one that a host read cuts in two, the last part is the program that is written."""
    meter.start()
    try:
        began = time.perf_counter()
        run.forward()
        if options.gradients:
            run.backward(options.ends_of(number))
        before = meter.read(wait=False)
        code = xm.get_stablehlo_bytecode(_list_pending()) if programs.wanted else b""
        counts = meter.read()
        seconds = time.perf_counter() - began
    finally:
        meter.stop()
    if code and counts.executions > before.executions:  # compiled now, or for a program before that has the same graph
        programs.write(code)
    return Step(number, counts, seconds, meter.events())


def _list_pending() -> list[torch.Tensor]:
    """List the tensors that are still to be computed: what the program gives, and what it writes into. All others that live are none of
    its results, though torch_xla's own graph of a step has them as outputs.
    """
    alive = [one for one in gc.get_objects() if type(one) in _TENSORS and one.device.type == "xla"]
    return [one for one in alive if not _COMPUTED.search(torch_xla._XLAC._get_xla_tensor_debug_info(one))]


_COMPUTED = re.compile(r"^IR: (?:None$|\S* xla::device_data\b)", re.MULTILINE)
_TENSORS = (torch.Tensor, torch.nn.Parameter)


def _finish() -> None:
    """End torch_xla's step, and wait for all that it started: closures in threads of their own too."""
    torch_xla.sync()
    xm.wait_device_ops()
    handler = getattr(xm._get_device_context(), "async_closure_handler", None)
    queue = getattr(handler, "_closure_queue", None)
    if queue is not None:
        queue.join()


def backend() -> TorchXla:
    gc.freeze()  # a million objects of what was imported are no tensors of a program's: `_list_pending` looks through all others
    return TorchXla()
