"""torch.export on the CPU: one whole graph, or the error at the user's line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from xlalint.verify.backends import Options, Program, Result, torch_values
from xlalint.verify.backends.torch_capture import TracesGraphs, capture_step, capturing, eager, make_callable, on_cpu
from xlalint.verify.backends.values import split
from xlalint.verify.inputs.containers import Build
from xlalint.verify.meters.torch_compile import TorchCompileMeter
from xlalint.verify.model import Step


class TorchExport(TracesGraphs):
    """A `Backend`: `torch.export`, which captures one whole graph for the first step's shapes; a later step that needs another raises."""

    name = "torch_export"
    settings = torch_values.SETTINGS

    def run(
        self, program: Program, steps: Sequence[Mapping[str, Any]], options: Options
    ) -> Iterator[tuple[Step, Result]]:
        if options.mode == "eager":
            yield from eager(program, steps, options)
            return
        torch._dynamo.reset()
        call = make_callable(program)
        build = program.builder()
        module = torch_values.module_of(call)
        whole = module if module is not None and module is call else _Whole(call, module)
        exported: Callable[..., Any] | None = None
        meter = TorchCompileMeter()
        for number, values in enumerate(steps):
            with capturing():
                if exported is None:
                    exported = _export(whole, values, build)
                step, result = capture_step(number, exported, values, options, meter, build)
            yield step, result


class _Whole(torch.nn.Module):  # type: ignore[misc]
    """A function, or a method with the module it belongs to, as a module of its own: what `torch.export` takes."""

    def __init__(self, call: Callable[..., Any], owner: torch.nn.Module | None) -> None:
        super().__init__()
        self._call = call
        self.owner = owner

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)


def _export(module: torch.nn.Module, values: Mapping[str, Any], build: Build) -> Callable[..., Any]:
    positional, named = split(on_cpu(values), build)
    call: Callable[..., Any] = torch.export.export(module, positional, named).module()
    return call


def backend() -> TorchExport:
    return TorchExport()
