"""Loops that end by `break` on a value of the graph, in JAX and in TensorFlow."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import append_indented, expect_fixed, expect_left_alone, outcome


def jax_program(code: str) -> str:
    return append_indented(
        "import jax\nimport jax.numpy as jnp\nimport numpy as np\n\nSEEN = []\n\n\n"
        "def work(x: jax.Array) -> jax.Array:\n    return jnp.tanh(x) * 0.5\n\n\n"
        "@jax.jit\ndef run(x: jax.Array, y: jax.Array) -> jax.Array:\n",
        code,
    )


def tensorflow_program(code: str, options: str = "autograph=False") -> str:
    return append_indented(
        f"import tensorflow as tf\n\n\n@tf.function({options})\ndef run(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:\n",
        code,
    )


JAX = {
    "last": (
        "while True:\n    x = work(x)\n    if x.sum() < 1:\n        break\nreturn x",
        "def body(carry):\n    x, _ = carry\n    x = work(x)\n    return x, x.sum() < 1\n\n"
        "x, _ = jax.lax.while_loop(lambda carry: ~carry[-1], body, (x, False))\nreturn x",
    ),
    "first": (
        "while True:\n    if x.sum() < 1:\n        break\n    x = x * 0.5\nreturn x",
        "x = jax.lax.while_loop(lambda x: ~(x.sum() < 1), lambda x: x * 0.5, x)\nreturn x",
    ),
    "first, not": (
        "while True:\n    if not x.sum() > 1:\n        break\n    x = x * 0.5\nreturn x",
        "x = jax.lax.while_loop(lambda x: x.sum() > 1, lambda x: x * 0.5, x)\nreturn x",
    ),
    "first, on two names": (
        "while True:\n    if (x < y).all():\n        break\n    x = x * 0.5\n    y = y + x\nreturn x + y",
        "def going(carry):\n    x, y = carry\n    return ~((x < y).all())\n\n"
        "def body(carry):\n    x, y = carry\n    x = x * 0.5\n    y = y + x\n    return x, y\n\n"
        "x, y = jax.lax.while_loop(going, body, (x, y))\nreturn x + y",
    ),
    "not": (
        "while 1:\n    x = work(x)\n    if not x.sum() > 1:\n        # small\n        break\nreturn x",
        "def body(carry):\n    x, _ = carry\n    x = work(x)\n    # small\n    return x, x.sum() > 1\n\n"
        "x, _ = jax.lax.while_loop(lambda carry: carry[-1], body, (x, True))\nreturn x",
    ),
    "what only the condition reads": (
        "while True:\n    new = work(x)  # next\n    change = jnp.abs(new - x).max()\n    x = new\n"
        "    if change < 0.1:\n        break\nreturn x",
        "def body(carry):\n    x, _ = carry\n    new = work(x)  # next\n    change = jnp.abs(new - x).max()\n    x = new\n"
        "    return x, change < 0.1\n\n"
        "x, _ = jax.lax.while_loop(lambda carry: ~carry[-1], body, (x, False))\nreturn x",
    ),
    "a range": (
        "for i in range(1, 9):\n    x = x / i\n    y = y + x\n    if x.sum() < 1:\n        break\nreturn x + y",
        "def body(carry):\n    i, x, y, _ = carry\n    x = x / i\n    y = y + x\n    return i + 1, x, y, x.sum() < 1\n\n"
        "_, x, y, _ = jax.lax.while_loop(\n    lambda carry: (carry[0] < 9) & ~carry[-1],\n    body,\n"
        "    (1, x, y, False),\n)\nreturn x + y",
    ),
    "a range that is not counted with": (
        "for _ in range(9):\n    x = work(x)\n    if x.sum() < 1:\n        break\nreturn x",
        "def body(carry):\n    i, x, _ = carry\n    x = work(x)\n    return i + 1, x, x.sum() < 1\n\n"
        "_, x, _ = jax.lax.while_loop(\n    lambda carry: (carry[0] < 9) & ~carry[-1],\n    body,\n"
        "    (0, x, False),\n)\nreturn x",
    ),
}

LEFT_ALONE = {
    "an else": "while True:\n    x = work(x)\n    if x.sum() < 1:\n        break\n    else:\n        y = y + 1\nreturn x + y",
    "the loop's else": (
        "for _ in range(3):\n    x = work(x)\n    if x.sum() < 1:\n        break\nelse:\n    x = y\nreturn x"
    ),
    "more than a break": ("while True:\n    x = work(x)\n    if x.sum() < 1:\n        x = y\n        break\nreturn x"),
    "in the middle": "while True:\n    x = work(x)\n    if x.sum() < 1:\n        break\n    x = x + 1\nreturn x",
    "two breaks": (
        "while True:\n    if y.sum() < 1:\n        break\n    x = work(x)\n    if x.sum() < 1:\n        break\nreturn x"
    ),
    "a continue": (
        "while True:\n    x = work(x)\n    if SEEN:\n        continue\n    if x.sum() < 1:\n        break\nreturn x"
    ),
    "another condition": "while len(SEEN) < 3:\n    x = work(x)\n    if x.sum() < 1:\n        break\nreturn x",
    "a loop over what is there": "for z in SEEN:\n    x = x + z\n    if x.sum() < 1:\n        break\nreturn x",
    "a step": "for i in range(0, 9, 2):\n    x = x / 2\n    if x.sum() < 1:\n        break\nreturn x",
    "the number of the last turn": (
        "for i in range(9):\n    x = x / 2\n    if x.sum() < 1:\n        break\nreturn x * i"
    ),
    "a number as a size": (
        "for i in range(1, 9):\n    x = x + jnp.ones(i).sum()\n    if x.sum() < 1:\n        break\nreturn x"
    ),
    "first, in a range": "for i in range(9):\n    if x.sum() < 1:\n        break\n    x = x / 2\nreturn x",
    "a part that the host knows": (
        "while True:\n    x = work(x)\n    if len(SEEN) > 3 and x.sum() < 1:\n        break\nreturn x"
    ),
    "or a part that the host knows": (
        "while True:\n    x = work(x)\n    if len(SEEN) > 3 or x.sum() < 1:\n        break\nreturn x"
    ),
    "a walrus": "while True:\n    x = work(x)\n    if (z := x.sum()) < 1:\n        break\nreturn x + z",
    "a read": "while True:\n    x = work(x)\n    if x.sum().item() < 1:\n        break\nreturn x",
    "an effect": "while True:\n    x = work(x)\n    SEEN.append(1)\n    if x.sum() < 1:\n        break\nreturn x",
    "a print": "while True:\n    x = work(x)\n    print(x)\n    if x.sum() < 1:\n        break\nreturn x",
    "an attribute": "while True:\n    work.last = work(x)\n    if work.last.sum() < 1:\n        break\nreturn x",
    "a name that begins unset": "while True:\n    z = work(x)\n    if z.sum() < 1:\n        break\nreturn z",
    "a number that becomes an array": (
        "z = 0\nwhile True:\n    z = z + x.sum()\n    if z > 9:\n        break\nreturn z"
    ),
    "random numbers of the host": (
        "while True:\n    x = x * np.random.rand()\n    if x.sum() < 1:\n        break\nreturn x"
    ),
    "nothing": "while True:\n    if x.sum() < 1:\n        break\nreturn x",
    "a return": "while True:\n    x = work(x)\n    if x.sum() < 1:\n        return x",
}

TENSORFLOW = {
    "last": (
        "while True:\n    x = x / 2\n    if tf.reduce_sum(x) < 1:\n        break\nreturn x",
        "def body(x, _):\n    x = x / 2\n    return x, tf.reduce_sum(x) < 1\n\n"
        "x, _ = tf.while_loop(lambda x, done: ~done, body, (x, False))\nreturn x",
    ),
    "first": (
        "while True:\n    if tf.reduce_sum(x) < 1:\n        break\n    x = x / 2\nreturn x",
        "def body(x):\n    x = x / 2\n    return (x,)\n\n"
        "x = tf.while_loop(lambda x: ~(tf.reduce_sum(x) < 1), body, (x,))[0]\nreturn x",
    ),
}


@pytest.mark.parametrize(("before", "after"), JAX.values(), ids=JAX)
def test_jax(before: str, after: str) -> None:
    code = "XLA101" if before.startswith("for") else "XLA102"
    expect_fixed(
        outcome(jax_program(before), code, target="jax"),
        jax_program(after),
        "unsafe",
        "no gradient is taken in reverse",
    )


@pytest.mark.parametrize("before", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(before: str) -> None:
    code = next(code for code in ("XLA101", "XLA102", "XLA301") if _is_found(jax_program(before), code))
    assert "while_loop" not in outcome(jax_program(before), code, target="jax").text


def _is_found(text: str, code: str) -> bool:
    try:
        outcome(text, code, target="jax")
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("options", ["autograph=False", ""])
@pytest.mark.parametrize(("before", "after"), TENSORFLOW.values(), ids=TENSORFLOW)
def test_tensorflow(before: str, after: str, options: str) -> None:
    made = outcome(tensorflow_program(before, options), "XLA102", target="tf")
    assert made.text == tensorflow_program(after, options)
    assert "maximum_iterations" in made.message


def test_a_range_bounds_the_turns() -> None:
    before = "for _ in range(9):\n    x = x / 2\n    if tf.reduce_sum(x) < 1:\n        break\nreturn x"
    made = outcome(tensorflow_program(before), "XLA101", target="tf")
    assert "(lambda x, done: ~done, body, (x, False), maximum_iterations=9)" in " ".join(made.text.split()).replace(
        "( ", "("
    ).replace(", )", ")")
    assert "gradient" not in made.message


def test_a_name_that_stands_for_something_is_not_taken() -> None:
    before = "from gettext import gettext as _\n\nwhile True:\n    x = work(x)\n    if x.sum() < 1:\n        break\n_('done')\nreturn x"
    made = outcome(jax_program(before), "XLA102", target="jax")
    assert "x, done = carry" in made.text
    assert "x, done = jax.lax.while_loop(" in made.text


@pytest.mark.parametrize("test", ["x.sum() < 1", "x.sum() < 1 or k >= 9"])
def test_torch_has_no_loop_of_the_graph(test: str) -> None:
    text = (
        "import torch\n\n\n@torch.compile\ndef run(x: torch.Tensor) -> torch.Tensor:\n    k = 0\n    while True:\n"
        f"        x = x / 2\n        k += 1\n        if {test}:\n            break\n    return x\n"
    )
    expect_left_alone(outcome(text, "XLA102"), "loop up to one")
