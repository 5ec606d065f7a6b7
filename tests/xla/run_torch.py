"""Child process for torch: each example on the backends of xlalint, torch_xla's CPU device and `torch.compile`."""

from __future__ import annotations

import os

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

import ast
import contextlib
import io
import warnings
from collections.abc import Callable
from typing import Any

from children import load, marked, serve
from lines import lines_of_error
from outcomes import Leaf, brief, difference

from xlalint.verify.backends import Backend, Options, Program, backend_of
from xlalint.verify.inputs import STEPS
from xlalint.verify.inputs.draws import draw
from xlalint.verify.model import Step

# The backend sets the environment that torch_xla reads, so it comes first.
BACKENDS: dict[str, Backend] = {name: backend_of(name) for name in ("torch_xla", "torch_compile")}

import torch  # noqa: E402

from xlalint.verify.backends import torch_values  # noqa: E402

warnings.simplefilter("ignore")


def made(example: dict[str, Any]) -> tuple[Callable[..., Any], Any]:
    """The callable of an example, with the same weights each time, and its module."""
    torch_values.seed(0)
    torch.distributions.Distribution.set_default_validate_args(__debug__)  # torch.compile switches it off for good
    module = load(example)
    subject = getattr(module, marked(example["code"])[0])
    return (subject() if isinstance(subject, type) else subject), module


def lines_of(step: Step, example: dict[str, Any]) -> set[int]:
    """The lines of an example that read on the host, or where the graph breaks, and those that call the function of such a line."""
    events = (event for event in step.events if event.kind in ("host-sync", "graph-break"))
    there = {event.place for event in events if event.place and event.place.file == example["file"]}
    functions = {place.function for place in there}
    calls = (node for node in ast.walk(ast.parse(example["code"])) if isinstance(node, ast.Call))
    callers = {node.lineno for node in calls if ast.unparse(node.func).rpartition(".")[2] in functions}
    return {place.line for place in there} | callers


def program_of(example: dict[str, Any]) -> Program:
    return Program(lambda: made(example)[0], "")


def steps_of(example: dict[str, Any]) -> list[dict[str, Any]]:
    return [draw(marked(example["code"])[1], step) for step in range(STEPS)]


def observed(example: dict[str, Any], backend: Backend) -> tuple[dict[str, Any], list[list[Leaf]]]:
    """What a backend saw of an example, and the results of its steps."""
    run: dict[str, Any] = {"error": None, "compiles": [], "syncs": 0, "fallbacks": [], "breaks": 0, "lines": []}
    results: list[list[Leaf]] = []
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            for step, result in backend.run(program_of(example), steps_of(example), Options()):
                run["compiles"].append(step.counts.compilations)
                run["syncs"] += step.counts.transfers
                run["breaks"] += step.counts.graph_breaks
                run["fallbacks"] = sorted({*run["fallbacks"], *(e.what for e in step.events if e.kind == "fallback")})
                run["lines"] = sorted({*run["lines"], *lines_of(step, example)})
                results.append(result.outputs)
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what was observed)
        run["error"] = brief(error)
        run["lines"] = lines_of_error(error, example["file"])
    return run, results


def eager(example: dict[str, Any]) -> list[list[Leaf]]:
    with contextlib.redirect_stdout(io.StringIO()):
        steps = BACKENDS["torch_compile"].run(program_of(example), steps_of(example), Options(mode="eager"))
        return [result.outputs for _, result in steps]


def observe(example: dict[str, Any], repaired: dict[str, Any] | None) -> dict[str, Any]:
    runs: dict[str, Any] = {}
    results: list[list[Leaf]] = []
    for name, backend in BACKENDS.items():
        if name in example["targets"]:
            runs[name], seen = observed(example, backend)
            results = results or seen
    unequal = None
    if repaired is not None:
        pairs = zip(results or eager(example), eager(repaired), strict=True)
        unequal = next((f"step {n}: {why}" for n, (a, b) in enumerate(pairs) if (why := difference(a, b))), None)
    return {"runs": runs, "unequal": unequal}


if __name__ == "__main__":
    serve(observe)
