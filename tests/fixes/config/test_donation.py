"""XLA517 and XLA518: what becomes of functions whose state is not given away."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

STEP = "def step(state, batch):\n    return state + batch\n\n\n"
LOOP = "def train(state, batches):\n    for batch in batches:\n        state = step(state, batch)\n"
FIXED = {
    "decorated": (
        f"import functools\nimport jax\n\n\n@jax.jit\n{STEP}{LOOP}",
        f"import functools\nimport jax\n\n\n@functools.partial(jax.jit, donate_argnums=(0,))\n{STEP}{LOOP}",
    ),
    "decorated, by name": (
        f"import functools\nfrom jax import jit\n\n\n@jit\n{STEP}{LOOP}",
        f"import functools\nfrom jax import jit\n\n\n@functools.partial(jit, donate_argnums=(0,))\n{STEP}{LOOP}",
    ),
    "partial": (
        f"from functools import partial\nimport jax\n\n\n@partial(jax.jit, inline=True)\n{STEP}{LOOP}",
        f"from functools import partial\nimport jax\n\n\n@partial(jax.jit, inline=True, donate_argnums=(0,))\n{STEP}{LOOP}",
    ),
    "called": (
        f"import jax\n\n\n{STEP}fast = jax.jit(step)\n\n\n{LOOP.replace('step', 'fast')}",
        f"import jax\n\n\n{STEP}fast = jax.jit(step, donate_argnums=(0,))\n\n\n{LOOP.replace('step', 'fast')}",
    ),
    "called where it is used": (
        "import jax\n\n\ndef train(fun, a, b):\n    run = jax.jit(fun)\n    while True:\n        a, b = run(a, b)\n",
        "import jax\n\n\ndef train(fun, a, b):\n    run = jax.jit(fun, donate_argnums=(0, 1))\n    while True:\n        a, b = run(a, b)\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED)
def test_state_is_given_away(before: str, after: str) -> None:
    expect_fixed(outcome(before, "XLA518"), after, "unsafe")


def test_what_was_given_away_has_no_fix() -> None:
    expect_left_alone(
        outcome(
            f"import jax\n\n\n{STEP}fast = jax.jit(step, donate_argnums=0)\nnew = fast(old, 1)\nprint(old)\n", "XLA517"
        ),
        "what the call returned",
    )
