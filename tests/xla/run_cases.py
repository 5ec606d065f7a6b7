"""Child process for one backend, the first argument: runs the programs that stdin lists, and writes their steps to the file that the second
names: {ident: {"compiles": [per step], "events": [[step, kind, line, what]], "error": [line, what] | None, "outputs": [digest per step]}}.
"""

from __future__ import annotations

import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from xlalint.verify import places
from xlalint.verify.backends import Options, backend_of
from xlalint.verify.inputs.draws import draw
from xlalint.verify.inputs.marks import marks
from xlalint.verify.inputs.spec import sizes_of
from xlalint.verify.loading import load
from xlalint.verify.model import Subject

STEPS = 4


def observe(backend: Any, program: dict[str, Any]) -> dict[str, Any]:
    file = Path(program["file"])
    file.write_text(program["code"], encoding="utf-8")
    mark = marks(program["code"], str(file))[0]
    seen: dict[str, Any] = {"compiles": [], "transfers": 0, "executions": [], "events": [], "error": None}
    steps = [draw(mark.specs, n, sizes_of(mark.specs, n, tuple(program["vary"]))) for n in range(STEPS)]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            loaded = load(Subject(file.stem, mark.name, str(file)))
            for step, _ in backend.run(loaded, steps, Options(mode=program["mode"])):
                seen["compiles"].append(step.counts.compilations)
                seen["executions"].append(step.counts.executions)
                seen["transfers"] += step.counts.transfers
                for event in step.events:
                    line = event.place.line if event.place and event.place.file == str(file) else None
                    seen["events"].append([step.number, event.kind, line, event.what, event.count])
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what was observed)
        place = places.of_error(error, str(file))
        seen["error"] = [place.line if place is not None else None, places.headline(error)]
    return seen


def main() -> None:
    name, answer = sys.argv[1:]
    backend = backend_of(name)
    programs = json.load(sys.stdin)
    Path(answer).write_text(json.dumps({one["ident"]: observe(backend, one) for one in programs}), encoding="utf-8")


if __name__ == "__main__":
    main()
