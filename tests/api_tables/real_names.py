"""A child program: which names and parameters of the tables a framework does not have.

Arguments: the framework, and a file that holds {dotted name: positional parameters} as JSON. Prints a JSON object
{"absent": [...], "params": {name: [table's, framework's]}}. It imports nothing of xlalint.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import warnings
from pathlib import Path
from typing import Any


def resolve(dotted: str) -> Any:
    """The object of that name, modules imported on the way; AttributeError when there is none."""
    parts = dotted.split(".")
    found = importlib.import_module(parts[0])
    for position, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(".".join(parts[:position]))
            except ImportError:
                raise AttributeError(dotted) from None
    return found


def positional(function: Any) -> list[str] | None:
    """Positional parameters; None where Python does not know them, or where they are hidden behind varargs."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(p.kind is p.VAR_POSITIONAL for p in parameters) or inspect.isclass(function):
        return None
    return [p.name for p in parameters if p.kind in kinds]


def main() -> None:
    framework, path = sys.argv[1:]
    warnings.simplefilter("ignore")
    importlib.import_module(framework)
    absent: list[str] = []
    wrong: dict[str, list[list[str]]] = {}
    for dotted, params in json.loads(Path(path).read_text()).items():
        try:
            found = resolve(dotted)
        except (AttributeError, ImportError):
            absent.append(dotted)
            continue
        real = positional(found) if callable(found) else None
        listed = params[: params.index("*")] if "*" in params else params
        if real is not None and listed and not any(p.startswith("*") for p in listed) and real[: len(listed)] != listed:
            wrong[dotted] = [listed, real]
    print(json.dumps({"absent": absent, "params": wrong}))


if __name__ == "__main__":
    main()
