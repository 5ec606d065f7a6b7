"""Child process for TensorFlow: pairs of programs, run eagerly on the CPU."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from children import converse  # isort: skip
from run_tensorflow import prepare, to_array  # isort: skip (it sets up the environment)

import numpy as np
import tensorflow as tf
from outcomes import Leaf, leaves
from pairs import Seen, cotangent, differences


def state_of(subject: Any, module: ModuleType) -> list[Leaf]:
    """What the program keeps between calls: its variables, and the lists, dicts and numbers of its module."""
    own = [variable.numpy() for variable in getattr(subject, "variables", ())]
    kept = {
        name: value.numpy() if isinstance(value, tf.Variable) else value
        for name, value in vars(module).items()
        if not name.startswith("_") and (type(value) in (list, dict, int, float) or isinstance(value, tf.Variable))
    }
    return leaves(tf.nest.flatten([own, kept]), to_array)


def run(program: dict[str, Any], values: dict[str, Any], grad: bool) -> Seen:
    tf.config.run_functions_eagerly(True)
    try:
        subject, _, module = prepare(program, False)
        given = {k: tf.convert_to_tensor(v) if isinstance(v, np.ndarray) else v for k, v in values.items()}
        sources = [one for one in given.values() if isinstance(one, tf.Tensor) and one.dtype.is_floating]
        out = io.StringIO()
        tape = tf.GradientTape(persistent=True)
        with contextlib.redirect_stdout(out), tape if grad else contextlib.nullcontext():
            if grad:
                tape.watch(sources)
            tf.random.set_seed(1)
            results = tf.nest.flatten(subject(**given))
    finally:
        tf.config.run_functions_eagerly(False)
    wanted = [*sources, *getattr(subject, "trainable_variables", ())]

    def gradients(positions: Sequence[int]) -> list[Leaf]:
        outputs = [results[p] for p in positions]
        back = [tf.cast(cotangent(p, tuple(results[p].shape)), results[p].dtype) for p in positions]
        found = tape.gradient(outputs, wanted, back, unconnected_gradients="zero")
        return leaves([tf.convert_to_tensor(one) for one in found], to_array)

    differentiable = [n for n, one in enumerate(results) if isinstance(one, tf.Tensor) and one.dtype.is_floating]
    return Seen(
        results=leaves(results, to_array),
        differentiable=differentiable,
        arguments=[],
        state=state_of(subject, module),
        random=leaves([hash(random.getstate()), np.random.get_state()[1].sum()], np.asarray),
        printed=out.getvalue(),
        gradients=gradients,
    )


if __name__ == "__main__":
    converse(lambda question: differences(run, question))
