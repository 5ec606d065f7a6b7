"""Observes examples by the backends of `xlalint.verify`: as they are compiled, and against the same code run eagerly."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from children import marked, written

from xlalint.verify import places
from xlalint.verify.backends import Backend, Leaf, Mode, Options, Program
from xlalint.verify.closeness import difference
from xlalint.verify.inputs import STEPS
from xlalint.verify.inputs.draws import draw
from xlalint.verify.loading import load
from xlalint.verify.model import Step, Subject

_LOOSE = 2e-5  # part of the largest element: XLA fuses, and adds in an order of its own


class Run(NamedTuple):
    """What was seen of one run, as `children` describes it, what it returned, and what it left behind."""

    seen: dict[str, Any]
    results: list[list[Leaf]]
    happened: dict[str, Any]


class Observer:
    """Answers what `children.serve` asks, for backends by the targets that they are for; any of them runs code eagerly.

    `repeats`: a compiled run must do what the eager one does, too; torch_xla draws other random numbers than the CPU.
    """

    def __init__(self, backends: Mapping[str, Backend], *, repeats: bool = True) -> None:
        self.backends = backends
        self.repeats = repeats

    def __call__(self, example: dict[str, Any], repaired: dict[str, Any] | None) -> dict[str, Any]:
        mode: Mode = "as-written" if "eager" in example["variants"] else "compiled"
        wanted = {target: one for target, one in self.backends.items() if target in example["targets"]}
        runs = {target: observed(one, example, mode, example["programs"]) for target, one in wanted.items()}
        if self.repeats:
            eager = self.eager(example)
            for ran in runs.values():
                if ran.seen["error"] is None:
                    effects = (
                        None if ran.happened == eager.happened else f"effects {ran.happened} against {eager.happened}"
                    )
                    ran.seen["differs"] = unlike(ran, eager) or effects
        unequal = None
        if repaired is not None:
            unequal = unlike(next(iter(runs.values()), None) or self.eager(example), self.eager(repaired))
        return {"runs": {target: ran.seen for target, ran in runs.items()}, "unequal": unequal}

    def eager(self, example: dict[str, Any]) -> Run:
        return observed(next(reversed(self.backends.values())), example, "eager")


def observed(backend: Backend, example: dict[str, Any], mode: Mode, programs: str = "") -> Run:
    """A run of an example."""
    file, modules, program = loaded(example)
    specs = marked(example["code"])[1]
    steps: list[Step] = []
    results: list[list[Leaf]] = []
    failed: dict[str, Any] = {"error": None}
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            given = [draw(specs, step) for step in range(STEPS)]
            for step, result in backend.run(program, given, Options(programs=programs, mode=mode)):
                steps.append(step)
                results.append(list(result.outputs.leaves))
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what was observed)
        place = places.of_error(error, file)
        failed = {"error": places.headline(error), "lines": [place.line] if place and place.file == file else []}
    seen = {**counted(steps), "lines": lines_of(steps, file, example["code"]), **failed}
    return Run(seen, results, {"printed": len(out.getvalue().splitlines()), **kept(modules[0])})


def counted(steps: Sequence[Step]) -> dict[str, Any]:
    """What steps suffered."""
    return {
        "compiles": [step.counts.compilations for step in steps],
        "syncs": sum(step.counts.transfers for step in steps),
        "breaks": sum(step.counts.graph_breaks for step in steps),
        "fallbacks": sorted({event.what for step in steps for event in step.events if event.kind == "fallback"}),
        "differs": None,
    }


def lines_of(steps: Sequence[Step], file: str, code: str) -> list[int]:
    """The lines of a file that read on the host, or where the graph breaks, and those that call the function of such a line."""
    events = (event for step in steps for event in step.events if event.kind in ("host-sync", "graph-break"))
    there = {event.place for event in events if event.place and event.place.file == file}
    functions = {place.function for place in there}
    calls = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    callers = {node.lineno for node in calls if ast.unparse(node.func).rpartition(".")[2] in functions}
    return sorted({place.line for place in there} | callers)


def unlike(one: Run, eager: Run) -> str | None:
    """How what a run returned differs from what an eager one did."""
    if eager.seen["error"]:
        return f"eager raises {eager.seen['error']}"
    for step, (a, b) in enumerate(zip(one.results, eager.results, strict=one.seen["error"] is None)):
        if why := difference(b, a, loose=_LOOSE, signs=False):
            return f"step {step}: {why}"
    return None


def loaded(example: dict[str, Any]) -> tuple[str, list[ModuleType], Program]:
    """An example's file, the modules that the program's callables are of, as they are made, and the program."""
    file = written(example)
    program = load(Subject(file.stem, marked(example["code"])[0], str(file)))
    modules: list[ModuleType] = []

    def make() -> Any:
        call = program.make()
        modules.append(sys.modules[file.stem])
        return call

    return str(file), modules, Program(make, program.file)


def kept(module: ModuleType) -> dict[str, Any]:
    """What a module's globals hold: lengths of containers, and numbers."""
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    sizes = {name: len(value) for name, value in public.items() if type(value) in (list, dict, set)}
    return {**sizes, **{name: value for name, value in public.items() if type(value) in (int, float)}}
