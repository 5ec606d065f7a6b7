"""Inputs as Python text that can be pasted: arrays written out where they are small, else by the call that draws them again."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from xlalint.verify.inputs.containers import nest, write
from xlalint.verify.inputs.functions import text_of as function_text
from xlalint.verify.inputs.spec import format_inputs
from xlalint.verify.model import NamedFunction, Specs

if TYPE_CHECKING:
    from xlalint.verify.comparison import Draw

_LARGEST = 128  # elements of an array that is written out
_WIDTH = 110


class _Style(NamedTuple):
    """How a framework makes arrays: its import, the call around values with their dtype, the one around a NumPy array."""

    imports: str
    array: str
    empty: str
    drawn: str
    framework: str = "torch"


_TORCH = _Style(
    "import torch",
    "torch.tensor({values}, dtype=torch.{dtype})",
    "torch.zeros({shape}, dtype=torch.{dtype})",
    "torch.from_numpy",
)
_STYLES = MappingProxyType(
    {
        "torch_xla": _TORCH,
        "torch_tpu": _TORCH,
        "torch_compile": _TORCH,
        "tensorflow": _Style(
            "import tensorflow as tf",
            "tf.constant({values}, tf.{dtype})",
            "tf.zeros({shape}, tf.{dtype})",
            "tf.convert_to_tensor",
            "tensorflow",
        ),
        "jax": _Style(
            "import jax.numpy as jnp",
            "jnp.array({values}, jnp.{dtype})",
            "jnp.zeros({shape}, jnp.{dtype})",
            "jnp.asarray",
            "jax",
        ),
    }
)
_NUMPY = _Style("import numpy as np", "np.array({values}, np.{dtype})", "np.zeros({shape}, np.{dtype})", "")
_SPELT = MappingProxyType({("import jax.numpy as jnp", "bool"): "bool_", ("import numpy as np", "bool"): "bool_"})


def size_of(values: dict[str, Any]) -> int:
    """How many elements arrays have, all together."""
    return sum(value.size for value in values.values() if isinstance(value, np.ndarray))


def text_of(backend: str, name: str, specs: Specs, draw: Draw) -> str:
    """Python text that makes the inputs of a draw and calls `name` with them; positional arguments are named by their numbers."""
    style = _STYLES.get(backend, _NUMPY)
    values = draw.values
    arrays = {key: value for key, value in values.items() if isinstance(value, np.ndarray)}
    if draw.number >= 0 and any(array.size > _LARGEST for array in arrays.values()):
        return _write_draw(style, name, specs, draw)
    lines = [style.imports]
    if any(array.dtype.kind in "fcV" and not np.isfinite(array.astype(complex)).all() for array in arrays.values()):
        lines.append("from math import inf, nan")
    lines += [f"{_variable(key)} = {_array(array, style)}" for key, array in arrays.items()]
    given = nest({key: _variable(key) if key in arrays else _write(value, style) for key, value in values.items()})
    call = ", ".join(write(one) if key.isdigit() else f"{key}={write(one)}" for key, one in given.items())
    return "\n".join([*lines, f"{name}({call})"]) + "\n"


def _write(value: Any, style: _Style) -> str:
    return function_text(value.name, style.framework) if isinstance(value, NamedFunction) else repr(value)


def _write_draw(style: _Style, name: str, specs: Specs, draw: Draw) -> str:
    inputs = format_inputs(specs)
    made = f"{style.drawn}(value) if hasattr(value, 'dtype') else value" if style.drawn else "value"
    keyword = all(not key.isdigit() for key in draw.values)
    held = any(not key.isidentifier() and not key.isdigit() for key in draw.values)
    whole = "nest(inputs, builder(globals()))" if held else "inputs"
    call = f"**{whole}" if keyword else f"*{whole}.values()"
    nesting = "from xlalint.verify.inputs.containers import builder, nest\n" if held else ""
    functions = {key: _write(one, style) for key, one in draw.values.items() if isinstance(one, NamedFunction)}
    given = "".join(f"inputs[{key!r}] = {text}\n" for key, text in functions.items())
    return (
        f"{style.imports}\n{nesting}from xlalint.verify.inputs.edges import example\n"
        f"drawn = example({inputs!r}, {draw.edge!r}, {draw.number})\n"
        f"inputs = {{name: {made} for name, value in drawn.items()}}\n{given}{name}({call})\n"
    )


def _variable(name: str) -> str:
    """A name for an input that is one in Python: `batch_x` for `batch{x}`."""
    return f"argument_{name}" if name.isdigit() else re.sub(r"\W+", "_", name).strip("_")


def _array(array: Any, style: _Style) -> str:
    dtype = _SPELT.get((style.imports, array.dtype.name), array.dtype.name)
    if not array.size:
        return style.empty.format(shape=array.shape, dtype=dtype)
    return style.array.format(values=_write_nested(array), dtype=dtype)


def _write_nested(array: Any) -> str:
    if array.ndim == 0:
        return _number(array[()])
    inner = [_write_nested(one) for one in array]
    flat = f"[{', '.join(inner)}]"
    if len(flat) <= _WIDTH or array.ndim == 1:
        return flat
    return "[\n" + "".join(f"    {one},\n" for one in inner) + "]"


def _number(value: Any) -> str:
    """The shortest text of a number that gives it again in its dtype."""
    if value.dtype.kind == "b":
        return str(bool(value))
    if value.dtype.kind in "iu":
        return str(int(value))
    if value.dtype.kind == "c":
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    return str(float(str(value)))
