"""XLA303, XLA306: what is printed, and what happens once."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome
from tests.fixes.host_sync.programs import make_module


def jax(body: str) -> str:
    return f"import jax\n\n\n@jax.jit\ndef f(x: jax.Array, other) -> jax.Array:\n    {body}\n    return x\n"


LEFT_ALONE = {
    "a text that is kept": ("XLA303", make_module('other.append(f"{x}")'), "more than printing"),
    "a file without torch_xla": (
        "XLA303",
        make_module('print("x", x.mean())').replace("import torch_xla.core.xla_model as xm\n", ""),
        "if `torch_xla` is imported",
    ),
    "a long line": ("XLA303", make_module(f'print(f"{{x}} {"long " * 30}")'), "write a function"),
    "what may have changed": ("XLA303", make_module('print(f"{x} {other}")'), "`other` may have changed"),
    "a text in JAX": ("XLA303", jax('other.append(f"{x.sum():.2f}")'), "format it outside"),
    "options in JAX": ("XLA303", jax("print(x, flush=True)"), "options"),
    "a conversion in JAX": ("XLA303", jax('print(f"{x!r}")'), "does not know"),
    "an unknown value in JAX": ("XLA303", jax("print(x, open)"), "not known to be an array"),
    "a print in TensorFlow": (
        "XLA303",
        "import tensorflow as tf\n\n\n@tf.function(jit_compile=True)\ndef f(x: tf.Tensor):\n    tf.print(x)\n    return x\n",
        "no kernel",
    ),
    "a random number": (
        "XLA306",
        "import random\nimport jax\n\n\n@jax.jit\ndef f(x: jax.Array):\n    return x * random.random()\n",
        "only the author knows",
    ),
}

FIXED = {
    "a print": (
        "XLA303",
        make_module('print("x", x.mean())'),
        make_module('xm.add_step_closure(print, args=("x", x.mean()), run_async=True)'),
        "unsafe",
    ),
    "an f-string": (
        "XLA303",
        make_module('print(f"{x}")'),
        make_module('xm.add_step_closure(lambda x: print(f"{x}"), args=(x,), run_async=True)'),
        "unsafe",
    ),
    "JAX": ("XLA303", jax('print("x {}", x)'), jax('jax.debug.print("x {{}} {x}", x=x)'), "safe"),
    "JAX, an f-string": (
        "XLA303",
        jax('print(f"{x.sum():>8.3f} \\"é\\" {{}}", 3)'),
        jax('jax.debug.print("{:>8.3f} \\"é\\" {{}} {}", x.sum(), 3)'),
        "safe",
    ),
    "JAX, a host value": (
        "XLA303",
        jax("print(x.shape, x)"),
        jax('jax.debug.print("{} {x}", str(x.shape), x=x)'),
        "safe",
    ),
}


@pytest.mark.parametrize(("code", "text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(code: str, text: str, why: str) -> None:
    expect_left_alone(outcome(text, code), why)


@pytest.mark.parametrize(("code", "text", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(code: str, text: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(text, code), after, applicability)
