"""The frame of a child process: examples come in as JSON on stdin, observations go out as JSON in a file.

One process serves a whole backend, since importing a framework takes longer than most examples. What is observed of an example:

    {"runs": {target: {"error": str | None, "compiles": [per step], "syncs": int, "fallbacks": [op], "differs": str | None}},
     "unequal": str | None}          # `fixed` only: how its results differ from those of `bad`, run eagerly on the CPU
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

Observe = Callable[[dict[str, Any], dict[str, Any] | None], dict[str, Any]]


def load(example: dict[str, Any]) -> ModuleType:
    """Execute an example as a fresh module whose source frameworks can look up (AutoGraph reads it)."""
    folder = Path(example["folder"])
    load.count += 1  # type: ignore[attr-defined]
    name = f"example_{load.count}_" + example["ident"].replace("-", "_")  # type: ignore[attr-defined]
    path = folder / f"{name}.py"
    path.write_text(example["code"], encoding="utf-8")
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    exec(compile(example["code"], str(path), "exec"), module.__dict__)
    return module


load.count = 0  # type: ignore[attr-defined]


def serve(observe: Observe) -> None:
    """Observe every example that stdin lists and write the observations to the file named by the first argument."""
    examples = json.load(sys.stdin)
    by_ident = {example["ident"]: example for example in examples}
    results: dict[str, Any] = {}
    for example in examples:
        try:
            results[example["ident"]] = observe(example, by_ident.get(example["of"]))
        except Exception:
            results[example["ident"]] = {"broken": traceback.format_exc()}
    Path(sys.argv[1]).write_text(json.dumps(results), encoding="utf-8")
