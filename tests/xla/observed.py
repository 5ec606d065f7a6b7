"""Observes examples by a backend of `xlalint.verify`: as they are compiled, and against the same code run eagerly."""

from __future__ import annotations

import contextlib
import io
import sys
from types import ModuleType
from typing import Any, NamedTuple

from children import marked, written
from outcomes import Leaf, kept, unlike

from xlalint.verify import places
from xlalint.verify.backends import Backend, Mode, Options, Program
from xlalint.verify.inputs import STEPS
from xlalint.verify.inputs.draws import draw
from xlalint.verify.loading import load
from xlalint.verify.model import Subject


class Run(NamedTuple):
    """What was seen of one run, as `children` describes it, what it returned, and what it left behind."""

    seen: dict[str, Any]
    results: list[list[Leaf]]
    happened: dict[str, Any]


class Observer:
    """Answers what `children.serve` asks, for one backend."""

    def __init__(self, backend: Backend, target: str) -> None:
        self.backend = backend
        self.target = target

    def __call__(self, example: dict[str, Any], repaired: dict[str, Any] | None) -> dict[str, Any]:
        mode: Mode = "as-written" if "eager" in example["variants"] else "compiled"
        ran, eager = self.run(example, mode, programs=example.get("programs", "")), self.run(example, "eager")
        if ran.seen["error"] is None:
            ran.seen["differs"] = unlike(ran.results, eager.results, ran.happened, eager.happened, eager.seen["error"])
        unequal = None
        if repaired is not None:
            bad = self.run(repaired, "eager")
            unequal = bad.seen["error"] or unlike(ran.results, bad.results)
        return {"runs": {self.target: ran.seen}, "unequal": unequal}

    def run(self, example: dict[str, Any], mode: Mode, programs: str = "") -> Run:
        file, modules, program = loaded(example)
        _, specs = marked(example["code"])
        seen: dict[str, Any] = {"error": None, "compiles": [], "syncs": 0, "differs": None, "lines": []}
        results: list[list[Leaf]] = []
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                steps = [draw(specs, step) for step in range(STEPS)]
                for step, result in self.backend.run(program, steps, Options(programs=programs, mode=mode)):
                    seen["compiles"].append(step.counts.compilations)
                    seen["syncs"] += step.counts.transfers
                    read = {one.place.line for one in step.events if one.kind == "host-sync" and one.place}
                    seen["lines"] = sorted({*seen["lines"], *read})
                    results.append(result.outputs)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is what was observed)
            place = places.of_error(error, file)
            seen["error"] = places.headline(error)
            seen["lines"] = [place.line] if place is not None and place.file == file else []
        return Run(seen, results, {"printed": len(out.getvalue().splitlines()), **kept(modules[0])})


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
