"""JAX's table: every public function of jax.numpy, lax, nn, random and scipy, seen through abstract evaluation."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from api_tables.probing import SHAPES, observe, signature
from api_tables.relations import Array, Group, Host, Names, relation
from api_tables.writing import Line, table

MODULES = (
    "jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.lax", "jax.lax.linalg", "jax.nn", "jax.random", "jax.image",
    "jax.scipy.special", "jax.scipy.linalg", "jax.scipy.signal", "jax.scipy.ndimage", "jax.scipy.fft",
    "jax.scipy.stats.norm", "jax.scipy.stats.bernoulli", "jax.scipy.stats.beta", "jax.scipy.stats.gamma",
    "jax.scipy.stats.multivariate_normal", "jax.scipy.stats.uniform", "jax.scipy.stats.poisson",
)  # fmt: skip


def generate() -> str:
    """The text of jax_generated.toml."""
    warnings.simplefilter("ignore")
    import jax

    functions: dict[str, Line | str] = {}
    values: dict[str, Line | str] = {}
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in sorted(n for n in dir(module) if not n.startswith("_")):
            value = getattr(module, name)
            full = f"{module_name}.{name}"
            if _is_dtype(value):
                values[full] = f"dtype[{letter(value)}]"
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                values[full] = "host[float]"
            elif callable(value) and not inspect.isclass(value) and not inspect.ismodule(value):
                functions[full] = _line(value)
    methods = {name: _method(name) for name in dir(jax.Array) if not name.startswith("_")}
    sections: dict[str, dict[str, Line | str]] = {
        "functions": functions,
        "values": values,
        "methods": {n: m for n, m in methods.items() if m},
    }
    return table("JAX's functions and array methods", "jax", jax.__version__, sections)


def _line(function: Callable[..., Any]) -> Line:
    samples = list(observe(function, _make, _run))
    positional, _, _ = signature(function)
    required = signature(function)[1]
    broadcasts = required in (("x", "y"), ("x1", "x2"))
    returns = relation(samples, Names("axis", "keepdims", broadcasts)) if samples else None
    return Line(returns or "unknown" if samples else "tensor", positional)


def _method(name: str) -> Line | None:
    """A method returns what the function of its name returns for arrays."""
    import jax
    import jax.numpy as jnp

    if not callable(getattr(jax.Array, name, None)):
        return None
    samples = list(observe(lambda x, **kw: getattr(x, name)(**kw), _make, _run)) if name != "view" else []
    positional, _, _ = signature(getattr(jax.Array, name))
    function = getattr(jnp, name, None)
    if callable(function) and not samples:
        samples = list(observe(function, _make, _run))
    returns = relation(samples, Names("axis", "keepdims")) if samples else "unknown"
    return Line(returns or "unknown", tuple(p for p in positional if p != "self"))


def letter(dtype: Any) -> str:
    """The table language's letter for a JAX dtype."""
    import jax.numpy as jnp

    for kind, found in ((jnp.bool_, "b"), (jnp.integer, "i"), (jnp.floating, "f"), (jnp.complexfloating, "c")):
        if jnp.issubdtype(dtype, kind):
            return found
    return "?"


def _is_dtype(value: Any) -> bool:
    import jax.numpy as jnp

    return isinstance(value, type(jnp.float32)) and letter(value) != "?"


def _make(dtype: str, rank: int) -> Any:
    import jax
    import jax.numpy as jnp

    if dtype == "key":
        return jax.random.key(0)
    return jax.ShapeDtypeStruct(SHAPES[rank], {"f": jnp.float32, "i": jnp.int32, "b": jnp.bool_}[dtype])


def _run(function: Callable[..., Any], arguments: list[Any], extra: Mapping[str, Any]) -> Any:
    import jax

    flat, tree = jax.tree.flatten(arguments)
    traced = [i for i, leaf in enumerate(flat) if hasattr(leaf, "shape")]
    kept: list[Any] = []

    def call(*tensors: Any) -> Any:
        leaves = list(flat)
        for i, tensor in zip(traced, tensors, strict=True):
            leaves[i] = tensor
        result = function(*jax.tree.unflatten(tree, leaves), **extra)
        kept.append(_abstract(result))
        return ()

    jax.eval_shape(call, *(flat[i] for i in traced))
    return kept[-1]


def _abstract(value: Any) -> Any:
    import jax

    if isinstance(value, (jax.core.Tracer, jax.Array)):
        return Array(letter(value.dtype), value.ndim) if letter(value.dtype) != "?" else Host("unknown")
    if isinstance(value, (list, tuple)):
        fields = tuple(getattr(value, "_fields", ()))
        if isinstance(value, tuple) and value and all(isinstance(v, int) for v in value):
            return Host("shape")
        return Group("list" if isinstance(value, list) else "tuple", tuple(_abstract(v) for v in value), fields)
    if isinstance(value, (bool, int, float, str)):
        return Host(f"host[{type(value).__name__}]")
    return Host("none" if value is None else "unknown")
