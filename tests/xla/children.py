"""The frames of a child process. `serve`: examples come in as JSON on stdin, observations go out as JSON in a file; `converse`: a question
a line, and a line for the answer, until stdin ends.

One process serves a whole backend, since importing a framework takes longer than most examples. What is observed of an example:

    {"runs": {target: {"error": str | None, "compiles": [per step], "syncs": int, "breaks": int, "fallbacks": [op],
                       "differs": str | None, "lines": [of the error, or of the syncs and breaks]}},
     "unequal": str | None}          # `fixed` only: how its results differ from those of `bad`, run eagerly on the CPU
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xlalint.verify.inputs.marks import marks
from xlalint.verify.model import Specs

Observe = Callable[[dict[str, Any], dict[str, Any] | None], dict[str, Any]]


numbers = itertools.count()


def written(example: dict[str, Any]) -> Path:
    """A file of its own for an example, since AutoGraph and tracebacks read sources."""
    path = Path(example["folder"]) / f"example_{next(numbers)}.py"
    path.write_text(example["code"], encoding="utf-8")
    return path


def marked(code: str) -> tuple[str, Specs]:
    """The name that an example asks to run and the inputs it asks for: its first mark's."""
    mark = marks(code, "example")[0]
    return mark.name, mark.specs


def serve(observe: Observe, answer: str) -> None:
    """Observe every example that stdin lists and write the observations to a file; `answer.at` names the one that is being observed."""
    examples = json.load(sys.stdin)
    by_ident = {example["ident"]: example for example in examples}
    results: dict[str, Any] = {}
    for example in examples:
        Path(f"{answer}.at").write_text(example["ident"], encoding="utf-8")
        try:
            results[example["ident"]] = observe(example, by_ident.get(example["of"]))
        except Exception:  # noqa: BLE001 (one broken example leaves the others)
            results[example["ident"]] = {"broken": traceback.format_exc()}
        Path(answer).write_text(json.dumps(results), encoding="utf-8")


def converse(answer: Callable[[dict[str, Any]], Any]) -> None:
    """Answer the questions on stdin one by one; what the code under test writes to stdout goes to stderr."""
    questions, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    for line in questions:
        try:
            said = {"answer": answer(json.loads(line))}
        except Exception:  # noqa: BLE001 (the next question may have an answer)
            said = {"broken": traceback.format_exc()}
        print(json.dumps(said), file=answers, flush=True)
