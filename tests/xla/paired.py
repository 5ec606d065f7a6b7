"""Runs programs for `pairs`, eagerly, by a backend of `xlalint.verify`."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from observed import loaded
from outcomes import Leaf, leaves
from pairs import Run, Seen

from xlalint.verify.backends import Backend, Options, Result


def runner(backend: Backend) -> Run:
    """What runs a program once on a backend."""

    def run(program: dict[str, Any], values: dict[str, Any], grad: bool) -> Seen:
        out = io.StringIO()
        _, modules, made = loaded(program)

        def ran(gradients: bool) -> Result:
            ((_, result),) = backend.run(made, [values], Options(gradients=gradients, mode="eager"))
            return result

        def gradients(_: Sequence[int]) -> list[Leaf]:
            with contextlib.redirect_stdout(io.StringIO()):
                return ran(gradients=True).gradients

        with contextlib.redirect_stdout(out):
            result = ran(gradients=False)
        floating = [n for n, (_, array) in enumerate(result.outputs) if array.dtype.kind in "fcV"]  # V: bfloat16
        return Seen(
            results=result.outputs,
            differentiable=floating if grad else [],
            arguments=[],
            state=[*result.effects["state"], *globals_of(modules[0])],
            random=list(result.effects["random"]),
            printed=out.getvalue(),
            gradients=gradients,
        )

    return run


def globals_of(module: ModuleType) -> list[Leaf]:
    """What a module's globals hold: lists, dicts, numbers, and variables of TensorFlow."""
    held = {
        name: value.numpy() if hasattr(value, "assign_add") else value
        for name, value in vars(module).items()
        if not name.startswith("_") and (type(value) in (list, dict, int, float) or hasattr(value, "assign_add"))
    }
    return leaves(held, np.asarray)
