"""Child process: every marked program of a file on a backend, `run_programs.py BACKEND FILE ANSWER`; steps go out as JSON, by program."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

import msgspec

from xlalint.verify.backends import Options, backend_of
from xlalint.verify.inputs import STEPS
from xlalint.verify.inputs.draws import draw
from xlalint.verify.inputs.marks import marks
from xlalint.verify.loading import load
from xlalint.verify.model import Step, Subject


def observe(backend: Any, file: Path) -> dict[str, list[Step]]:
    seen = {}
    for mark in marks(file.read_text(encoding="utf-8"), str(file)):
        program = load(Subject("", mark.name, str(file)))
        with contextlib.redirect_stdout(io.StringIO()):
            steps = backend.run(program, [draw(mark.specs, step) for step in range(STEPS)], Options())
            seen[mark.name] = [step for step, _ in steps]
    return seen


if __name__ == "__main__":
    name, file, answer = sys.argv[1:]
    Path(answer).write_bytes(msgspec.json.encode(observe(backend_of(name), Path(file))))
