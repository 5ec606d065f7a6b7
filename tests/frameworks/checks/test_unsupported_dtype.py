"""XLA603: dtypes that a TPU has no arithmetic for, in traced code; and the larger half, elsewhere or otherwise, left alone."""

from __future__ import annotations

from textwrap import dedent

import pytest

from xlalint.config import Settings
from xlalint.project import check_text

TORCH = """
import numpy as np
import torch
from torch import Tensor, nn

class M(nn.Module):
    def forward(self, x: Tensor, y: Tensor):
{}
"""
JAX = """
import jax
import jax.numpy as jnp
import numpy as np

@jax.jit
def f(x: jax.Array):
{}
"""
KERAS = """
import tensorflow as tf

@tf.function(jit_compile=True)
def f(x: tf.Tensor):
{}
"""


def found(head: str, body: str, **settings: str) -> list[str]:
    return [severity for severity, _ in told(head, body, **settings)]


def told(head: str, body: str, **settings: str) -> list[tuple[str, bool]]:
    """The severity of each finding, and whether it speaks of a TPU that emulates the arithmetic."""
    indent = " " * 8 if head is TORCH else " " * 4
    text = head.format("\n".join(indent + line for line in dedent(body).strip().splitlines()))
    chosen = Settings(python=None, show_info=True, select=("XLA603",), **settings)  # type: ignore[arg-type]
    report = check_text(text, "model.py", chosen)
    assert not report.failures
    return [(one.severity, "emulates" in one.message) for one in report.findings]


SILENT = {
    "a comparison": "return x * 2 if x.dtype == torch.float64 else x",
    "its limits": "return x.clamp(max=torch.finfo(torch.float64).max)",
    "narrower ones": "return x.float() + x.to(torch.bfloat16) + x.to(torch.complex64).abs()",
    "in host memory": "table = torch.arange(8, dtype=torch.float64)\nreturn x * 2",
    "on the host": "return x + np.zeros(3, dtype=np.float64).shape[0]",
    "another's dtype": "return x.to(y.dtype)",
    "a text": "name = 'float64'\nreturn x * len(name)",
    "another thing of that name": "return self.double(x)",
}
FOUND = {
    "a cast": "return x.double()",
    "a move": "return x.to(torch.float64)",
    "a move by keyword": "return x.to(dtype=torch.double)",
    "a type": "return x.type(torch.float64)",
    "a sum": "return x.sum(dtype=torch.float64)",
    "like another": "return torch.zeros_like(x, dtype=torch.float64)",
    "on the device": "return torch.zeros(3, dtype=torch.float64, device=x.device) + x",
    "complex numbers": "return x.to(torch.complex128).abs()",
}
JAX_SILENT = {
    "narrower ones": "return x.astype(jnp.float32) + x.astype('bfloat16')",
    "Python's": "return x.astype(float)",
    "a comparison": "return x * 2 if x.dtype == jnp.float64 else x",
    "NumPy's": "return x + np.zeros(3, np.float64)",
}
JAX_FOUND = {
    "a cast": "return x.astype(jnp.float64)",
    "a text": "return jnp.zeros_like(x, dtype='float64')",
    "made": "return x + jnp.zeros(3, jnp.float64)",
    "complex numbers": "return x.astype(jnp.complex128).real",
}


@pytest.mark.parametrize("case", SILENT)
def test_silent(case: str) -> None:
    assert found(TORCH, SILENT[case], target="torch_xla") == []


@pytest.mark.parametrize("case", FOUND)
def test_found(case: str) -> None:
    assert found(TORCH, FOUND[case], target="torch_xla") == ["warning"]


@pytest.mark.parametrize("device", ["gpu", "cpu"])
@pytest.mark.parametrize("case", FOUND)
def test_other_devices_have_the_arithmetic(case: str, device: str) -> None:
    assert found(TORCH, FOUND[case], target="torch_xla", device=device) == []


@pytest.mark.parametrize("case", JAX_SILENT)
def test_silent_under_jax(case: str) -> None:
    assert found(JAX, JAX_SILENT[case]) == []


@pytest.mark.parametrize("case", JAX_FOUND)
def test_jax_gives_half_of_it(case: str) -> None:
    assert told(JAX, JAX_FOUND[case]) == [("info", False)]


@pytest.mark.parametrize("case", JAX_FOUND)
def test_jax_with_64_bits(case: str) -> None:
    enabled = JAX.replace("@jax.jit", 'jax.config.update("jax_enable_x64", True)\n@jax.jit')
    assert told(enabled, JAX_FOUND[case]) == [("info", True)]
    assert found(enabled, JAX_FOUND[case], device="cpu") == []


@pytest.mark.parametrize(
    ("line", "enabled"),
    [
        ("DTYPE = jnp.float64 if jax.config.jax_enable_x64 else jnp.float32", False),
        ("DTYPE = jax.config.read('jax_enable_x64')", False),
        ("NAMES = ('jax_enable_x64',)", False),
        ("jax.config.jax_enable_x64 = True", True),
        ("import os; os.environ['JAX_ENABLE_X64'] = '1'", True),
        ("jax.config.update('jax_enable_x64', FLAGS.x64)", True),
        ("with jax.experimental.enable_x64(): pass", True),
    ],
)
def test_what_switches_64_bits_on(line: str, enabled: bool) -> None:
    assert told(JAX.replace("@jax.jit", line + "\n@jax.jit"), JAX_FOUND["a cast"]) == [("info", enabled)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return tf.cast(x, tf.float32)", []),
        ("return x * 2 if x.dtype == tf.float64 else x", []),
        ("return tf.cast(x, tf.complex64)", []),
        ("return tf.cast(x, tf.float64)", ["warning"]),
        ("return tf.zeros_like(x, dtype='float64')", ["warning"]),
        ("return tf.cast(x, tf.complex128)", ["error"]),
    ],
)
def test_tensorflow(body: str, expected: list[str]) -> None:
    assert found(KERAS, body) == expected


PRODUCTS = {
    "floats": ("x @ y", []),
    "integers added": ("ids + ids", []),
    "integers and floats": ("torch.outer(ids, ids)", []),
    "integers": ("ids @ ids", ["XLA603"]),
    "of a function": ("torch.mm(ids.view(2, 4), ids.view(4, 2))", ["XLA603"]),
    "of a method": ("ids.view(2, 4).matmul(ids.view(4, 2))", ["XLA603"]),
    "by what takes nothing else": ("F.one_hot(y), torch.bincount(y), y @ y", ["XLA603"]),
    "of what is not counted": ("F.one_hot(y), x @ x", []),
    "cast": ("ids.float() @ ids.float()", []),
    "in host memory": ("torch.arange(3) @ torch.arange(3)", []),
}


@pytest.mark.parametrize(("code", "expected"), PRODUCTS.values(), ids=PRODUCTS)
def test_torchtpu_has_no_products_of_integers(code: str, expected: list[str]) -> None:
    text = "import torch\nimport torch.nn.functional as F\nfrom torch import Tensor\n\n\n"
    text += "def f(x: Tensor, y: Tensor):\n    ids = torch.arange(8, device='tpu')\n"
    text += f"    return {code}\n"
    report = check_text(text, "f.py", Settings(target="torch_tpu"))
    assert [one.code for one in report.findings if one.code == "XLA603"] == expected
    assert "XLA603" not in {one.code for one in check_text(text, "f.py", Settings(target="torch_xla")).findings}
