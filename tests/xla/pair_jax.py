"""Child process for JAX: pairs of programs, run as plain Python on values."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Sequence
from typing import Any

from children import converse  # isort: skip
from run_jax import prepare  # isort: skip (it sets up the environment)

import jax
import jax.numpy as jnp
import numpy as np
from outcomes import Leaf, leaves
from pairs import Seen, cotangent, differences


def run(program: dict[str, Any], values: dict[str, Any], grad: bool) -> Seen:
    given = {k: jnp.asarray(v) if isinstance(v, np.ndarray) else v for k, v in values.items()}
    sources = {k: v for k, v in given.items() if isinstance(v, jax.Array) and jnp.issubdtype(v.dtype, jnp.floating)}
    out = io.StringIO()
    with jax.disable_jit(), contextlib.redirect_stdout(out):
        subject, _, module = prepare(program)
        results = jax.tree.leaves(subject(**given))
        jax.effects_barrier()
    kept = {k: v for k, v in vars(module).items() if not k.startswith("_") and type(v) in (list, dict, int, float)}
    generators = [hash(random.getstate()), np.random.get_state()[1].sum()]
    floating = [
        n for n, one in enumerate(results) if isinstance(one, jax.Array) and jnp.issubdtype(one.dtype, jnp.floating)
    ]

    def gradients(positions: Sequence[int]) -> list[Leaf]:
        def differentiable(inexact: dict[str, jax.Array]) -> list[jax.Array]:
            found = jax.tree.leaves(prepare(program)[0](**{**given, **inexact}))
            return [found[position] for position in positions]

        with jax.disable_jit(), contextlib.redirect_stdout(io.StringIO()):
            outputs, back = jax.vjp(differentiable, sources)
            shapes = zip(positions, outputs, strict=True)
            (found,) = back([jnp.asarray(cotangent(p, one.shape), one.dtype) for p, one in shapes])
        return leaves(found, np.asarray)

    return Seen(
        results=leaves(results, np.asarray),
        differentiable=floating if grad else [],
        arguments=[],
        state=leaves(jax.tree.leaves(kept), np.asarray),
        random=leaves(generators, np.asarray),
        printed=out.getvalue(),
        gradients=gradients,
    )


if __name__ == "__main__":
    converse(lambda question: differences(run, question))
