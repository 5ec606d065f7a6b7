"""Child process for JAX: each example under `jax.jit`, against the same code run eagerly."""

from __future__ import annotations

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

import random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from children import load, marked, serve
from lines import lines_of_error
from outcomes import Leaf, brief, effects, leaves, unlike

from xlalint.verify.inputs import STEPS
from xlalint.verify.inputs.draws import draw
from xlalint.verify.model import Specs

compilations = 0


def count(event: str, _: float, **__: Any) -> None:
    global compilations
    compilations += event == "/jax/core/compile/backend_compile_duration"


jax.monitoring.register_event_duration_secs_listener(count)


def prepare(example: dict[str, Any]) -> tuple[Any, Specs, Any]:
    random.seed(0)
    np.random.seed(0)
    module = load(example)
    name, wanted = marked(example["code"])
    subject = getattr(module, name)
    return (subject() if isinstance(subject, type) else subject), wanted, module


def arguments(wanted: Specs, step: int) -> dict[str, Any]:
    return {k: jnp.asarray(v) if isinstance(v, np.ndarray) else v for k, v in draw(wanted, step).items()}


def run(
    example: dict[str, Any], jitted: bool, op_by_op: bool = False
) -> tuple[dict[str, Any], list[list[Leaf]], dict[str, Any]]:
    """Run an example under `jax.jit`, as plain Python on values, or as it stands: each operation compiled by itself."""
    seen: dict[str, Any] = {"error": None, "compiles": [], "differs": None}
    results: list[list[Leaf]] = []
    happened: dict[str, Any] = {}
    try:
        with jax.disable_jit(not jitted):
            subject, wanted, module = prepare(example)
            if jitted and not op_by_op and not hasattr(subject, "lower"):
                subject = jax.jit(subject)
            with effects(module) as happened:
                for step in range(STEPS):
                    ready = arguments(wanted, step)
                    before = compilations
                    result = jax.block_until_ready(subject(**ready))
                    seen["compiles"].append(compilations - before)
                    results.append(leaves(jax.tree.leaves(result), np.asarray))
                jax.effects_barrier()
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what was observed)
        seen["error"] = brief(error)
        seen["lines"] = lines_of_error(error, example["file"])
    return seen, results, happened


def observe(example: dict[str, Any], repaired: dict[str, Any] | None) -> dict[str, Any]:
    seen, results, happened = run(example, jitted=True, op_by_op="eager" in example["variants"])
    eager, eager_results, eager_happened = run(example, jitted=False)
    if seen["error"] is None:
        seen["differs"] = unlike(results, eager_results, happened, eager_happened, eager["error"])
    unequal = None
    if repaired is not None:
        bad, bad_results, _ = run(repaired, jitted=False)
        unequal = bad["error"] or unlike(results, bad_results)
    return {"runs": {"jax": seen}, "unequal": unequal}


if __name__ == "__main__":
    serve(observe)
