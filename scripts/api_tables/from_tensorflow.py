"""TensorFlow's table: public functions of tf and keras.ops, called eagerly with small tensors; re-exports become aliases."""

from __future__ import annotations

import importlib
import inspect
import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from api_tables.probing import SHAPES, observe, signature
from api_tables.relations import Array, Group, Host, Names, relation
from api_tables.writing import Line, table

MODULES = (
    "tensorflow", "tensorflow.math", "tensorflow.linalg", "tensorflow.nn", "tensorflow.image", "tensorflow.signal",
    "tensorflow.random", "tensorflow.sets", "tensorflow.bitwise", "tensorflow.dtypes", "tensorflow.experimental.numpy",
    "keras.ops", "tensorflow.keras.losses", "tensorflow.keras.activations", "tensorflow.keras.metrics",
)  # fmt: skip
SKIPPED = frozenset(
    {"tensorflow.py_function", "tensorflow.numpy_function", "tensorflow.print", "tensorflow.load_op_library"}
)


def generate() -> str:
    """The text of tensorflow_generated.toml."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    warnings.simplefilter("ignore")
    import tensorflow as tf

    functions: dict[str, Line | str] = {}
    values: dict[str, Line | str] = {}
    aliases: dict[str, Line | str] = {}
    seen: dict[int, str] = {}
    for module_name in MODULES:
        module = importlib.import_module(module_name.replace("tensorflow.keras", "keras"))
        for name in sorted(n for n in dir(module) if not n.startswith("_")):
            value = getattr(module, name)
            full = f"{module_name}.{name}"
            if isinstance(value, tf.DType):
                values[full] = f"dtype[{letter(value)}]" if letter(value) != "?" else "dtype"
            elif callable(value) and not inspect.isclass(value) and not inspect.ismodule(value) and full not in SKIPPED:
                if id(value) in seen:
                    aliases[full] = seen[id(value)]
                    continue
                seen[id(value)] = full
                functions[full] = _line(value)
    return table(
        "TensorFlow's functions",
        "tensorflow",
        tf.__version__,
        {"aliases": aliases, "functions": functions, "values": values},
    )


def _line(function: Callable[..., Any]) -> Line:
    samples = list(observe(function, _make, _run))
    positional, required, _ = signature(function)
    broadcasts = list(required) in (["x", "y"], ["x1", "x2"])
    returns = relation(samples, Names("axis", "keepdims", broadcasts)) if samples else None
    return Line(returns or "unknown" if samples else "tensor", positional)


def letter(dtype: Any) -> str:
    """The table language's letter for a TensorFlow dtype."""
    if dtype.is_bool:
        return "b"
    if dtype.is_complex:
        return "c"
    return "f" if dtype.is_floating else "i" if dtype.is_integer else "?"


def _make(dtype: str, rank: int) -> Any:
    import tensorflow as tf

    if dtype == "key":
        return tf.constant([1, 2])
    return tf.ones(SHAPES[rank], {"f": tf.float32, "i": tf.int32, "b": tf.bool}[dtype])


def _run(function: Callable[..., Any], arguments: list[Any], extra: Mapping[str, Any]) -> Any:
    return _abstract(function(*arguments, **extra))


def _abstract(value: Any) -> Any:
    import tensorflow as tf

    if tf.is_tensor(value) and isinstance(value, tf.Tensor):
        return Array(letter(value.dtype), len(value.shape)) if letter(value.dtype) != "?" else Host("tensor")
    if isinstance(value, (list, tuple)) and not isinstance(value, tf.TensorShape):
        fields = tuple(getattr(value, "_fields", ()))
        return Group("list" if isinstance(value, list) else "tuple", tuple(_abstract(v) for v in value), fields)
    if isinstance(value, tf.TensorShape):
        return Host("shape")
    if isinstance(value, tf.DType):
        return Host("dtype")
    if isinstance(value, (bool, int, float, str)):
        return Host(f"host[{type(value).__name__}]")
    return Host("none" if value is None else "unknown")
