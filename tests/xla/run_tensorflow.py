"""Child process for TensorFlow: each example under `tf.function(jit_compile=True)`, against the same code run eagerly."""

from __future__ import annotations

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"
os.environ["TF_CPP_VMODULE"] = "device_compilation_profiler=1"  # one "Compiled <function> N times" line per compilation
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

import random
import re
import tempfile
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from children import load, marked, serve
from lines import lines_of_error
from outcomes import Leaf, brief, effects, leaves, unlike

from xlalint.verify.inputs import STEPS
from xlalint.verify.inputs.draws import draw
from xlalint.verify.model import Specs

_COMPILED = re.compile(rb"Compiled \S+ \d+ times")


class CompileLog:
    """Counts the lines that XLA's profiler writes to file descriptor 2."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 (it takes the place of stderr)
        self.real = os.dup(2)
        os.dup2(self.file.fileno(), 2)
        self.at = 0

    def new(self) -> int:
        """How many compilations were logged since the last call."""
        self.file.seek(self.at)
        text = self.file.read()
        self.at += len(text)
        self.file.seek(0, os.SEEK_END)
        return len(_COMPILED.findall(text))


log = CompileLog()


def prepare(example: dict[str, Any], jitted: bool) -> tuple[Callable[..., Any], Specs, Any]:
    random.seed(0)
    np.random.seed(0)
    keras.utils.set_random_seed(0)
    module = load(example)
    name, wanted = marked(example["code"])
    subject = getattr(module, name)
    if isinstance(subject, type):
        return _keras_call(subject(), jitted), wanted, module
    if jitted:
        subject = _compiled(subject)
    return subject, wanted, module


def _compiled(function: Any) -> Any:
    """The function under XLA; one that is a `tf.function` already keeps its own options."""
    if getattr(function, "_jit_compile", None):
        return function
    return tf.function(getattr(function, "python_function", function), jit_compile=True)


def _keras_call(thing: Any, jitted: bool) -> Callable[..., Any]:
    """What Keras does with a layer or model: `train_step` through `train_on_batch`, `call` under `tf.function`."""
    if isinstance(thing, keras.Model) and "train_step" in vars(type(thing)):
        thing.compile(optimizer="sgd", loss="mse", jit_compile=jitted, run_eagerly=not jitted)
        return lambda x, y: thing.train_on_batch(x, y)
    if not jitted:
        return thing
    return tf.function(lambda **arguments: thing(**arguments), jit_compile=True)


def arguments(wanted: Specs, step: int) -> dict[str, Any]:
    return {k: tf.convert_to_tensor(v) if isinstance(v, np.ndarray) else v for k, v in draw(wanted, step).items()}


def to_array(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else value


def run(example: dict[str, Any], jitted: bool) -> tuple[dict[str, Any], list[list[Leaf]], dict[str, Any]]:
    seen: dict[str, Any] = {"error": None, "compiles": [], "differs": None}
    results: list[list[Leaf]] = []
    happened: dict[str, Any] = {}
    tf.config.run_functions_eagerly(not jitted)
    try:
        subject, wanted, module = prepare(example, jitted)
        with effects(module) as happened:
            for step in range(STEPS):
                log.new()
                result = subject(**arguments(wanted, step))
                seen["compiles"].append(log.new())
                results.append(leaves(tf.nest.flatten(result), to_array))
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what was observed)
        seen["error"] = brief(error)
        seen["lines"] = lines_of_error(error, example["file"])
    finally:
        tf.config.run_functions_eagerly(False)
    return seen, results, happened


def observe(example: dict[str, Any], repaired: dict[str, Any] | None) -> dict[str, Any]:
    seen, results, happened = run(example, jitted=True)
    eager, eager_results, eager_happened = run(example, jitted=False)
    if seen["error"] is None:
        seen["differs"] = unlike(results, eager_results, happened, eager_happened, eager["error"])
    unequal = None
    if repaired is not None:
        bad, bad_results, _ = run(repaired, jitted=False)
        unequal = bad["error"] or unlike(results, bad_results)
    return {"runs": {"tf": seen}, "unequal": unequal}


if __name__ == "__main__":
    serve(observe)
