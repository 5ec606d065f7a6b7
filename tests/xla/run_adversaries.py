"""Child process for a framework, the first argument: functions before and after a fix, run on many inputs, and in what they differ.

Functions come in as JSON on stdin: `{name: [parameters, text, {kind of fix: fixed text}]}`. What is found of each is the last line that is
printed, as JSON: `{name: {"ran": times, "raised": error, "differences": {kind of fix: {kind of difference: what differs}}}}`. Kinds of
differences are "result", "gradient", "result, after the caller wrote into the arguments" and so on. Inputs on which the function raised
before are left out.

Numbers are small multiples of a half, so that sums have no rounding errors, and infinities, NaN and ties besides.
"""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

Array = Any
Observed = dict[str, Any]
Framework = Callable[[str, list["Parameter"]], Callable[[int], Observed]]

INPUTS = int(os.environ.get("XLALINT_INPUTS", "12"))  # more than these find what these do not
# What parameters of these names are: a kind of number, and a shape.
KINDS = {
    **dict.fromkeys(("x", "y", "z"), "f32[3,4]"),
    **dict.fromkeys(("v", "w"), "f32[4]"),
    **dict.fromkeys(("s", "t"), "f32[]"),
    **dict.fromkeys(("n", "p"), "i64[]"),
    "i": "i64[3]",
    "j": "i64[4]",
    "k": "i64[3,4]",
    "c": "b[]",
    "r": "b[3]",
    "b": "b[4]",
    "m": "b[3,4]",
    "o": "b[3,4]",
    "h": "f16[3,4]",
    "g": "bf16[3,4]",
    "d": "f64[3,4]",
    "e": "f32[0,4]",
    "a": "f32[2,3,4]",
    "u": "f32[1]",
    "l": "i32[3,4]",
}
WHOLE = ("i64", "i32")
PATTERN = re.compile(r"(\w+)(?::(\w+)\[([\d,]*)\])?")
SPECIAL = np.array([np.inf, -np.inf, np.nan, 0.0, -1.0, 2.0, 1.5])


class Parameter:
    """A parameter: its name, its kind of number, its shape."""

    def __init__(self, text: str) -> None:
        name, kind, shape = PATTERN.fullmatch(text).groups()  # type: ignore[union-attr]
        if not kind:
            _, kind, shape = PATTERN.fullmatch(f"{name}:{KINDS[name]}").groups()  # type: ignore[union-attr]
        self.name, self.kind, self.shape = name, kind, tuple(int(one) for one in shape.split(",") if one)

    def value(self, number: int, seed: int) -> np.ndarray[Any, Any]:
        """The value of one input, always the same."""
        rng = np.random.default_rng((number, seed))
        # The first inputs hold plain numbers; afterwards each parameter has a profile of its own.
        profile = 0 if number < 3 else int(rng.integers(10))
        if self.kind == "b":
            full = {1: np.ones, 2: np.zeros, 4: np.zeros}.get(profile)
            if full is not None:
                return full(self.shape, bool)
            made = rng.random(self.shape) < (0.15 if profile == 3 else 0.5)
            return np.asarray(made)
        if self.kind in WHOLE:
            high = 4 if not self.shape else 3
            return np.asarray(np.zeros(self.shape, int) if profile == 1 else rng.integers(0, high, self.shape))
        plain = rng.integers(-6, 7, self.shape) / 2
        made = {
            1: lambda: -np.abs(plain) - 0.5,
            2: lambda: np.abs(plain) + 0.5,
            3: lambda: np.zeros(self.shape),
            4: lambda: np.where(rng.random(self.shape) < 0.3, rng.choice(SPECIAL, self.shape), plain),
            5: lambda: np.ones(self.shape),
            6: lambda: np.full(self.shape, -np.inf),
            7: lambda: np.where(rng.random(self.shape) < 0.3, np.nan, plain),
            8: lambda: plain * 60000.0,
        }.get(profile, lambda: plain)()
        return np.asarray(made)


def same(before: Any, after: Any) -> bool:
    """Whether two numbers, arrays or trees of them are the same."""
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys() == after.keys() and all(same(before[key], after[key]) for key in before)
    if isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        return len(before) == len(after) and all(map(same, before, after))
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        if before.shape != after.shape or before.dtype != after.dtype:
            return False
        if before.dtype.kind != "f":
            return bool((before == after).all())
        return bool(
            np.allclose(before, after, rtol=1e-5 if before.dtype.itemsize > 2 else 1e-2, atol=1e-6, equal_nan=True)
        )
    if isinstance(before, float) and isinstance(after, float):
        return bool(np.isclose(before, after, rtol=1e-5, atol=1e-6, equal_nan=True))
    return type(before) is type(after) and bool(before == after)


def difference(before: Observed, after: Observed, layouts: Callable[[], list[Any]]) -> str:
    """The first kind of observation in which two runs differ, "" where they do not. Strides may be any of some."""
    if "raises" in after:
        return f"raises: {after['raises']}"
    for kind, value in before.items():
        if kind == "strides" and after.get(kind) != value and after.get(kind) in layouts():
            continue
        if not same(value, after.get(kind)):
            return f"{kind}: {brief(value)} → {brief(after.get(kind))}"
    return ""


def brief(value: Any) -> str:
    return " ".join(repr(value).split())[:160]


# ---------------------------------------------------------------------------------------------------------- PyTorch

MODES = ("plain", "learning", "frozen", "autocast", "leaves", "strided", "shared", "inference")


def torch_runs(text: str, parameters: list[Parameter]) -> Callable[[int], Observed]:
    """Runs of a module: `number` says which input, and which mode."""
    import torch

    space: dict[str, Any] = {}
    exec(compile(text, "<function>", "exec"), space)
    dtypes = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64, "b": torch.bool}
    dtypes |= {"i64": torch.int64, "i32": torch.int32}

    def tensors(number: int, mode: str) -> list[torch.Tensor]:
        made: list[torch.Tensor] = []
        for seed, one in enumerate(parameters):
            value = torch.from_numpy(np.array(one.value(number, seed))).to(dtypes[one.kind])
            if mode == "strided" and value.dim() > 1:
                value = value.transpose(0, 1).contiguous().transpose(0, 1)
            like = [other for other in made if other.shape == value.shape and other.dtype == value.dtype]
            made.append(like[0] if mode == "shared" and like else value)
        return made

    def plain(value: Any, flags: bool = False) -> Any:
        """A copy of a result as numbers and arrays; with flags, whether tensors require gradients too."""
        if isinstance(value, torch.Tensor):
            numbers = value.detach().clone()
            numbers = numbers.float() if numbers.dtype is torch.bfloat16 else numbers
            return (str(value.dtype), tuple(value.shape), flags and value.requires_grad, numbers.numpy())
        if isinstance(value, (list, tuple)):
            return [plain(one, flags) for one in value]
        if isinstance(value, dict):
            return {str(key): plain(one, flags) for key, one in value.items()}
        return value if isinstance(value, (int, float, bool, str, type(None))) else type(value).__name__

    def found(value: Any) -> list[torch.Tensor]:
        if isinstance(value, torch.Tensor):
            return [value]
        if isinstance(value, (list, tuple)):
            return [inner for one in value for inner in found(one)]
        return [inner for one in value.values() for inner in found(one)] if isinstance(value, dict) else []

    def call(number: int, mode: str) -> tuple[Any, Any, list[torch.Tensor], list[torch.Tensor]]:
        torch.manual_seed(0)
        model = space["Model"]()
        model.train(number % 2 == 0)
        torch.manual_seed(number)
        leaves = tensors(number, mode)
        given = leaves
        if mode in ("learning", "frozen", "autocast", "leaves"):
            leaves = [one.requires_grad_() if one.is_floating_point() else one for one in leaves]
            given = leaves if mode == "leaves" else [one * 1 if one.is_floating_point() else one for one in leaves]
        switch = {"frozen": torch.no_grad, "inference": torch.inference_mode}.get(mode, torch.enable_grad)
        with switch(), torch.autocast("cpu", torch.bfloat16, enabled=mode == "autocast"):
            return model(*given), model, given, leaves

    def gradients(result: Any, model: Any, leaves: list[torch.Tensor]) -> Observed:
        learned = [one for one in found(result) if one.requires_grad]
        targets = [one for one in leaves if one.requires_grad] + list(model.parameters())
        if not learned or not targets:
            return {}
        loss = sum((one.double() * (1 + torch.arange(one.numel()).reshape(one.shape) % 3)).sum() for one in learned)
        first = torch.autograd.grad(loss, targets, allow_unused=True, create_graph=True)
        seen: Observed = {"gradient": plain(first)}
        again = [one for one in first if one is not None and one.requires_grad]
        if again:
            twice = sum((one.double() ** 2).sum() for one in again)
            seen["second gradient"] = plain(torch.autograd.grad(twice, targets, allow_unused=True))
        return seen

    def overwrite(values: list[torch.Tensor]) -> None:
        for one in values:
            with torch.no_grad():
                one.detach().fill_(True if one.dtype is torch.bool else 7)

    def observe(number: int) -> Observed:
        mode = MODES[number % len(MODES)]
        seen: Observed = {}
        try:
            result, model, given, leaves = call(number, mode)
            state = torch.get_rng_state().numpy().copy()
            seen["result"] = plain(result, mode != "frozen")  # a copy of what needs a gradient has none under `no_grad`
            seen["strides"] = [one.stride() for one in found(result)]
            seen["arguments"] = plain(given)
            seen["buffers"] = plain([dict(model.state_dict()), model.kept, model.training])
            seen["random numbers"] = state
            if mode != "frozen":  # what is returned as it was given keeps its gradient, a copy has none
                seen |= gradients(result, model, leaves)
            for one in found(result):
                overwrite([one])
                seen.setdefault("arguments and buffers, after the caller wrote into the result", []).append(
                    plain([result, given, dict(model.state_dict()), model.kept])
                )
            result, model, given, _ = call(number, mode)
            for index in range(len(given)):
                overwrite(given[index : index + 1])
                seen.setdefault("result, after the caller wrote into the arguments", []).append(
                    plain([result, given, dict(model.state_dict()), model.kept])
                )
        except Exception as error:  # noqa: BLE001 (what it raised is an observation)
            return {"raises": f"{type(error).__name__}: {error}"}
        return seen

    return observe


# -------------------------------------------------------------------------------------------------------------- JAX


def jax_runs(text: str, parameters: list[Parameter]) -> Callable[[int], Observed]:
    """Runs of a function without `jit`, which would not let it read values, and its gradients."""
    import jax
    import jax.numpy as jnp

    space: dict[str, Any] = {}
    exec(compile(text.replace("@jax.jit\n", ""), "<function>", "exec"), space)
    dtypes = {
        "f32": jnp.float32,
        "f16": jnp.float16,
        "bf16": jnp.bfloat16,
        "b": jnp.bool_,
        "i64": jnp.int32,
        "i32": jnp.int32,
    }

    def plain(value: Any) -> Any:
        if isinstance(value, jax.Array):
            if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
                value = jax.random.key_data(value)
            numbers = np.asarray(value.astype(jnp.float32) if value.dtype == jnp.bfloat16 else value)
            return (str(value.dtype), value.weak_type, numbers)
        if isinstance(value, (list, tuple)):
            return [plain(one) for one in value]
        if isinstance(value, dict):
            return {str(key): plain(one) for key, one in value.items()}
        return value if isinstance(value, (int, float, bool, str, type(None))) else type(value).__name__

    def loss(*given: Any) -> Any:
        total = jnp.float32(0)
        for one in jax.tree_util.tree_leaves(space["f"](*given)):
            if isinstance(one, jax.Array) and jnp.issubdtype(one.dtype, jnp.floating):
                total += (one * (1 + jnp.arange(one.size).reshape(one.shape) % 3)).sum()
        return total

    def observe(number: int) -> Observed:
        given = [jnp.asarray(one.value(number, seed), dtypes[one.kind]) for seed, one in enumerate(parameters)]
        floats = tuple(index for index, one in enumerate(given) if jnp.issubdtype(one.dtype, jnp.floating))
        try:
            seen: Observed = {"result": plain(space["f"](*given))}
        except Exception as error:  # noqa: BLE001 (what it raised is an observation)
            return {"raises": f"{type(error).__name__}: {error}"}
        if floats and number % 3 == 0:
            try:
                seen["gradient"] = plain(jax.grad(loss, floats)(*given))
            except Exception:  # noqa: BLE001 (values that are read have no gradients)
                return seen
        return seen

    return observe


# ------------------------------------------------------------------------------------------------------- TensorFlow


def tensorflow_runs(text: str, parameters: list[Parameter]) -> Callable[[int], Observed]:
    """Runs of a function without its graph, and its gradients."""
    import linecache

    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    space: dict[str, Any] = {"__name__": "function"}
    name = f"<function {id(space)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), space)
    dtypes = {
        "f32": tf.float32,
        "f16": tf.float16,
        "bf16": tf.bfloat16,
        "f64": tf.float64,
        "b": tf.bool,
        "i64": tf.int64,
        "i32": tf.int32,
    }

    def plain(value: Any) -> Any:
        if isinstance(value, tf.IndexedSlices):
            value = tf.convert_to_tensor(value)
        if isinstance(value, (tf.Tensor, tf.Variable)):
            return (value.dtype.name, np.asarray(tf.cast(value, tf.float32) if value.dtype == tf.bfloat16 else value))
        if isinstance(value, (list, tuple)):
            return [plain(one) for one in value]
        if isinstance(value, dict):
            return {str(key): plain(one) for key, one in value.items()}
        return value if isinstance(value, (int, float, bool, str, type(None))) else type(value).__name__

    def observe(number: int) -> Observed:
        given = [tf.constant(one.value(number, seed), dtypes[one.kind]) for seed, one in enumerate(parameters)]
        floats = [one for one in given if one.dtype.is_floating]
        tf.random.set_seed(number)
        try:
            with tf.GradientTape() as tape:
                tape.watch(floats)
                result = space["f"](*given)
                learned = [
                    tf.reduce_sum(tf.cast(one, tf.float64))
                    for one in tf.nest.flatten(result)
                    if isinstance(one, tf.Tensor) and one.dtype.is_floating
                ]
            seen: Observed = {"result": plain(result)}
            if learned and floats:
                seen["gradient"] = plain(tape.gradient(learned, floats))
        except Exception as error:  # noqa: BLE001 (what it raised is an observation)
            return {"raises": f"{type(error).__name__}: {str(error)[:300]}"}
        return seen

    return observe


RUNS: dict[str, Framework] = {"torch": torch_runs, "jax": jax_runs, "tensorflow": tensorflow_runs}


def compare(runs: Framework, named: str, before: str, changed: dict[str, str]) -> Observed:
    """How often a function ran before, and for each text that it became the first difference of each kind."""
    parameters = [Parameter(one) for one in named.split()]
    differences: dict[str, dict[str, str]] = {name: {} for name in changed}
    old, new = runs(before, parameters), {name: runs(text, parameters) for name, text in changed.items()}
    seen = [old(number) for number in range(INPUTS)]
    for number, observed in enumerate(seen):
        if "raises" in observed:
            continue
        for name, run in new.items():
            found = difference(observed, run(number), partial(layouts, old, number))
            if found:
                mode = f" ({MODES[number % len(MODES)]})" if runs is torch_runs else ""
                differences[name].setdefault(found.partition(":")[0], f"input {number}{mode}: {found}")
    raised = [one["raises"] for one in seen if "raises" in one]
    return {"ran": len(seen) - len(raised), "raised": raised[0] if raised else "", "differences": differences}


def layouts(run: Callable[[int], Observed], number: int) -> list[Any]:
    """The strides of results of more inputs in one mode: where they depended on values before, each of them is as good."""
    return [run(number + len(MODES) * more).get("strides") for more in range(1, 9)]


def main() -> None:
    """Compare what stdin lists."""
    warnings.simplefilter("ignore")
    framework = sys.argv[1]
    import_module(framework)
    asked = json.load(sys.stdin)
    print(json.dumps({name: compare(RUNS[framework], *given) for name, given in asked.items()}))


if __name__ == "__main__":
    main()
