"""torch.compile on the CPU: where the graph breaks, what is compiled again and why, and what a whole graph refuses.

The code is captured as for any device; it runs eagerly on the CPU, so no C++ compiler is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from xlalint.verify import places
from xlalint.verify.backends import Options, Program, Result, torch_values
from xlalint.verify.backends.torch_capture import TracesGraphs, capture_step, capturing, eager, make_callable, on_cpu
from xlalint.verify.meters.torch_compile import TorchCompileMeter, headline_of
from xlalint.verify.model import Counts, Event, Step


class TorchCompile(TracesGraphs):
    """A `Backend`: `torch.compile` with graph breaks allowed. If the first step counts none, it tells what `fullgraph=True` says: Dynamo
    gives up on some functions (a break in a loop) without counting it.
    """

    name = "torch_compile"
    settings = torch_values.SETTINGS

    def __init__(self, compiler: str = "eager") -> None:
        self._compiler = compiler

    def run(
        self, program: Program, steps: Sequence[Mapping[str, Any]], options: Options
    ) -> Iterator[tuple[Step, Result]]:
        if options.mode == "eager":
            yield from eager(program, steps, options)
            return
        torch._dynamo.reset()
        subject = make_callable(program)
        build = program.builder()
        as_it_is = options.mode == "as-written" or hasattr(subject, "_torchdynamo_orig_callable")
        call = subject if as_it_is else torch.compile(subject, backend=self._compiler)
        meter = TorchCompileMeter()
        with capturing():
            refused = self.refusal(program, steps[0]) if steps and not as_it_is else None
        torch._dynamo.reset()
        for number, values in enumerate(steps):
            with capturing():
                step, result = capture_step(number, call, values, options, meter, build, subject)
            yield (step if number or step.counts.graph_breaks else _with(step, refused)), result

    def refusal(self, program: Program, values: Mapping[str, Any]) -> Event | None:
        """Why a program is no whole graph, None if it is: what `fullgraph=True` raises, at its line."""
        torch._dynamo.reset()
        call = torch.compile(make_callable(program), backend=self._compiler, fullgraph=True)
        try:
            torch_values.ProgramCall(call, on_cpu(values), build=program.builder()).forward()
        except torch._dynamo.exc.TorchDynamoException as error:
            return Event("graph-break", headline_of(str(error)), places.of_error(error, program.file))
        except Exception:  # noqa: BLE001 (what the program itself raises, its steps tell)
            return None
        return None


def _with(step: Step, event: Event | None) -> Step:
    if event is None:
        return step
    counts = step.counts + Counts(graph_breaks=1)
    return Step(step.number, counts, step.seconds, (*step.events, event), step.sizes)


def backend() -> TorchCompile:
    return TorchCompile()
