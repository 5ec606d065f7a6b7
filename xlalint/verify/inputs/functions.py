"""The functions, dtypes and devices that can be given as arguments, `inputs(x="f32[8]", activation=relu)`, by names of our own."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple


class Spelled(NamedTuple):
    """Says where each framework has a function: a module and the name in it, parted by a colon."""

    torch: str
    tensorflow: str
    jax: str


FUNCTIONS: Mapping[str, Spelled] = MappingProxyType(
    {
        "relu": Spelled("torch:relu", "tensorflow:nn.relu", "jax:nn.relu"),
        "gelu": Spelled("torch.nn.functional:gelu", "tensorflow:nn.gelu", "jax:nn.gelu"),
        "silu": Spelled("torch.nn.functional:silu", "tensorflow:nn.silu", "jax:nn.silu"),
        "softplus": Spelled("torch.nn.functional:softplus", "tensorflow:nn.softplus", "jax:nn.softplus"),
        "sigmoid": Spelled("torch:sigmoid", "tensorflow:sigmoid", "jax:nn.sigmoid"),
        "tanh": Spelled("torch:tanh", "tensorflow:tanh", "jax.numpy:tanh"),
        "exp": Spelled("torch:exp", "tensorflow:exp", "jax.numpy:exp"),
        "sin": Spelled("torch:sin", "tensorflow:sin", "jax.numpy:sin"),
        "square": Spelled("torch:square", "tensorflow:square", "jax.numpy:square"),
        "identity": Spelled("torch:clone", "tensorflow:identity", "jax.numpy:copy"),
        "mean": Spelled("torch:mean", "tensorflow:reduce_mean", "jax.numpy:mean"),
        "sum": Spelled("torch:sum", "tensorflow:reduce_sum", "jax.numpy:sum"),
        "add": Spelled("torch:add", "tensorflow:add", "jax.numpy:add"),
        "multiply": Spelled("torch:mul", "tensorflow:multiply", "jax.numpy:multiply"),
        "maximum": Spelled("torch:maximum", "tensorflow:maximum", "jax.numpy:maximum"),
        "float32": Spelled("torch:float32", "tensorflow:float32", "jax.numpy:float32"),
        "int64": Spelled("torch:int64", "tensorflow:int64", "jax.numpy:int64"),
    }
)
"""Functions of one array, three of two, and dtypes."""

DEVICE = "device"
"""The name of the device that a program runs on."""

NAMED = frozenset((*FUNCTIONS, DEVICE))
"""All names that stand for something."""

_DEVICES = Spelled('torch.device("cpu")', '"/CPU:0"', "jax.devices()[0]")
_ALIASES = MappingProxyType({"tensorflow": "tf", "jax.numpy": "jnp"})


def function_of(name: str, framework: str) -> Any:
    """The function of a name, as a framework has it, which is imported. TensorFlow knows devices by texts."""
    if name == DEVICE:
        return import_module("jax").devices()[0] if framework == "jax" else ast.literal_eval(_DEVICES.tensorflow)
    module, _, path = getattr(FUNCTIONS[name], framework).partition(":")
    found: Any = import_module(module)
    for one in path.split("."):
        found = getattr(found, one)
    return found


def named_by(text: str) -> str | None:
    """The name of ours for a function that is written as Python text does, `torch.tanh`, `F.gelu` or `jax.nn.relu`; None for others."""
    return _WRITTEN.get(text)


def text_of(name: str, framework: str) -> str:
    """Write the function of a name as Python text does, with the usual names of modules."""
    if name == DEVICE:
        return str(getattr(_DEVICES, framework))
    module, _, path = getattr(FUNCTIONS[name], framework).partition(":")
    return f"{_ALIASES.get(module, module)}.{path}"


def _spellings(place: str) -> list[str]:
    module, _, path = place.partition(":")
    whole = f"{module}.{path}"
    short = [f"{_ALIASES[module]}.{path}"] if module in _ALIASES else []
    return [whole, *short, *(f"{one}.{path.rpartition('.')[2]}" for one in _SHORT.get(whole.rpartition(".")[0], ()))]


_SHORT = {"torch.nn.functional": ("F", "nn.functional"), "jax.nn": ("nn",)}
_WRITTEN = {text: name for name, places in FUNCTIONS.items() for place in places for text in _spellings(place)}
