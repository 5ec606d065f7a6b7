"""Child process for torch: each example on torch_xla's CPU device, then under `torch.compile(fullgraph=True)`."""

from __future__ import annotations

import os

os.environ.setdefault("PJRT_DEVICE", "CPU")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

import contextlib
import logging
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.debug.metrics as met
from children import load, serve
from inputs import STEPS, marked, step_inputs
from lines import lines_of_error, lines_that_move
from outcomes import Leaf, brief, difference, effects, leaves

warnings.simplefilter("ignore")
logging.getLogger("torch._dynamo").setLevel(logging.CRITICAL)
XLA = torch_xla.device()
CPU = torch.device("cpu")
real_device = torch_xla.device


@contextlib.contextmanager
def code_sees(device: torch.device) -> Iterator[None]:
    """Let `torch_xla.device()` in the example mean this device, so that the same text also runs eagerly on the CPU."""
    torch_xla.device = lambda *args: device
    try:
        yield
    finally:
        torch_xla.device = real_device


def prepare(example: dict[str, Any], device: torch.device) -> tuple[Callable[..., Any], dict[str, Any], Any]:
    """The callable of an example on a device, with the same weights on every device."""
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    torch.distributions.Distribution.set_default_validate_args(__debug__)  # torch.compile switches it off for good
    with code_sees(device):
        module = load(example)
        name, wanted = marked(example["code"])
        subject = getattr(module, name)
        if isinstance(subject, type):
            subject = subject().to(device)
    return subject, wanted, module


def to_device(value: Any, device: torch.device) -> Any:
    """The input as a tensor; a scalar is made on the device, as the result of a computation would be.

    A 0-d tensor that is uploaded shares its buffer with any equal Python scalar of the program, which makes another graph.
    """
    if not isinstance(value, np.ndarray):
        return value
    tensor = torch.from_numpy(np.array(value, ndmin=1)).to(device)
    return tensor if value.ndim else tensor[0]


def to_array(value: Any) -> Any:
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value


def syncs() -> int:
    """How many values the host has read since the metrics were cleared."""
    return int((met.metric_data("TransferFromDeviceTime") or [0])[0])


def closures_done() -> None:
    """Wait for the step closures that run in a thread of their own."""
    handler = getattr(xm._get_device_context(), "async_closure_handler", None)
    if handler is not None:
        handler._closure_queue.join()


def on_xla(example: dict[str, Any]) -> tuple[dict[str, Any], list[list[Leaf]]]:
    run: dict[str, Any] = {"error": None, "compiles": [], "syncs": 0, "fallbacks": [], "lines": []}
    results: list[list[Leaf]] = []
    try:
        subject, wanted, module = prepare(example, XLA)
        with code_sees(XLA), effects(module):
            for step in range(STEPS):
                arguments = {k: to_device(v, XLA) for k, v in step_inputs(wanted, step).items()}
                torch_xla.sync()
                xm.wait_device_ops()
                closures_done()
                met.clear_all()
                with lines_that_move(syncs, example["file"]) as lines:
                    result = subject(**arguments)
                # Before the step ends: what a step closure reads, it reads then, in a thread of its own.
                run["syncs"] += syncs()
                run["fallbacks"] = sorted({*run["fallbacks"], *met.executed_fallback_ops()})
                torch_xla.sync()
                xm.wait_device_ops()
                run["compiles"].append(met.counter_value("UncachedCompile") or 0)
                run["lines"] = sorted({*run["lines"], *lines})
                results.append(leaves(result, to_array))
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what was observed)
        run["error"] = brief(error)
        run["lines"] = lines_of_error(error, example["file"])
    return run, results


def compiled(example: dict[str, Any]) -> dict[str, Any]:
    run: dict[str, Any] = {"error": None}
    torch._dynamo.reset()
    try:
        subject, wanted, module = prepare(example, CPU)
        traced = torch.compile(subject, backend="eager", fullgraph=True)
        with code_sees(CPU), effects(module):
            for step in range(2):
                traced(**{k: to_device(v, CPU) for k, v in step_inputs(wanted, step).items()})
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what was observed)
        run["error"] = brief(error)
        run["lines"] = lines_of_error(error, example["file"])
    return run


def eager(example: dict[str, Any]) -> list[list[Leaf]]:
    subject, wanted, module = prepare(example, CPU)
    with code_sees(CPU), effects(module):
        return [
            leaves(subject(**{k: to_device(v, CPU) for k, v in step_inputs(wanted, step).items()}), to_array)
            for step in range(STEPS)
        ]


def observe(example: dict[str, Any], repaired: dict[str, Any] | None) -> dict[str, Any]:
    runs: dict[str, Any] = {}
    results: list[list[Leaf]] = []
    if "torch_xla" in example["targets"]:
        runs["torch_xla"], results = on_xla(example)
    if "torch_compile" in example["targets"]:
        runs["torch_compile"] = compiled(example)
    unequal = None
    if repaired is not None:
        pairs = zip(results or eager(example), eager(repaired), strict=True)
        unequal = next((f"step {n}: {why}" for n, (a, b) in enumerate(pairs) if (why := difference(a, b))), None)
    return {"runs": runs, "unequal": unequal}


if __name__ == "__main__":
    serve(observe)
