"""Branches as `jax.lax.cond` and `tf.cond`."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import append_indented, expect_fixed, fixed, outcome


def jax_program(code: str) -> str:
    return append_indented(
        "import flax.linen as nn\nimport jax\nimport jax.numpy as jnp\nimport numpy as np\n\nSEEN = []\n\n\n"
        "def heavy(x: jax.Array) -> jax.Array:\n    return jnp.linalg.inv(x @ x.T + 1.0) @ x\n\n\n"
        "@jax.jit\ndef run(x: jax.Array, y: jax.Array, key: jax.Array) -> jax.Array:\n",
        code,
    )


def keras_program(code: str, base: str = "keras.layers.Layer") -> str:
    return append_indented(
        "import keras\nimport tensorflow as tf\n\n\n"
        "def settle(x: tf.Tensor) -> tf.Tensor:\n    return x / tf.norm(x)\n\n\n"
        f"class Gate({base}):\n    def call(self, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:\n",
        code,
        8,
    )


JAX = {
    "one name": (
        "if x.sum() > 0:\n    x = heavy(x)\nreturn x",
        "x = jax.lax.cond(x.sum() > 0, heavy, lambda x: x, x)\nreturn x",
    ),
    "two calls": (
        "if x.sum() > 0:\n    x = heavy(heavy(x))\nelse:\n    x = heavy(-x)\nreturn x",
        "x = jax.lax.cond(x.sum() > 0, lambda x: heavy(heavy(x)), lambda x: heavy(-x), x)\nreturn x",
    ),
    "an operation on a call": (
        "if x.sum() > 0:\n    x = jnp.sin(heavy(x))\nreturn x",
        "x = jax.lax.cond(x.sum() > 0, lambda x: jnp.sin(heavy(x)), lambda x: x, x)\nreturn x",
    ),
    "a new name": (
        "if x.sum() > 0:\n    z = heavy(x)\nelse:\n    z = jnp.sin(y)\nreturn z",
        "z = jax.lax.cond(x.sum() > 0, lambda: heavy(x), lambda: jnp.sin(y))\nreturn z",
    ),
    "not": (
        "if not x.sum() > 0:\n    x = heavy(x)\nreturn x",
        "x = jax.lax.cond(x.sum() > 0, lambda x: x, heavy, x)\nreturn x",
    ),
    "two names": (
        "if x.sum() > 0:\n    x = heavy(x)\n    y = y * 2\nreturn x + y",
        "x, y = jax.lax.cond(\n    x.sum() > 0,\n"
        "    lambda x, y: (heavy(x), y * 2),\n    lambda x, y: (x, y),\n    x,\n    y,\n)\nreturn x + y",
    ),
    "names that need each other": (
        "z = x + y\nif x.sum() > 0:\n    x = heavy(x)\n    y = y + x  # more\nelse:\n    # less\n    y = y - 1\nreturn x + y",
        "z = x + y\n\ndef true_fun(x, y):\n    x = heavy(x)\n    y = y + x  # more\n    return x, y\n\n# less\n"
        "x, y = jax.lax.cond(x.sum() > 0, true_fun, lambda x, y: (x, y - 1), x, y)\nreturn x + y",
    ),
    "what is computed on the way": (
        "if x.sum() > 0:\n    z = heavy(x)\n    y = y + z\nreturn y",
        "def true_fun(y):\n    z = heavy(x)\n    y = y + z\n    return y\n\n"
        "y = jax.lax.cond(x.sum() > 0, true_fun, lambda y: y, y)\nreturn y",
    ),
    "an operation in place": (
        "if x.sum() > 0:\n    x += heavy(y)\nreturn x",
        "x = jax.lax.cond(x.sum() > 0, lambda x: x + heavy(y), lambda x: x, x)\nreturn x",
    ),
    "random numbers with a key": (
        "if x.sum() > 0:\n    x = x + jax.random.normal(key, x.shape)\nreturn x",
        "x = jax.lax.cond(\n    x.sum() > 0,\n    lambda x: x + jax.random.normal(key, x.shape),\n    lambda x: x,\n    x,\n)\nreturn x",
    ),
    "a return": (
        "if x.sum() > 0:\n    return heavy(x)\nreturn x",
        "return jax.lax.cond(x.sum() > 0, lambda: heavy(x), lambda: x)",
    ),
    "returns": (
        "if x.sum() > 0:\n    # one\n    return heavy(x)\nelif y.sum() > 1:\n    return heavy(y)\nx = x + 1\nreturn x / y",
        "def false_fun(x):\n    x = x + 1\n    return x / y\n\n# one\nreturn jax.lax.cond(\n    x.sum() > 0,\n    lambda: heavy(x),\n"
        "    lambda: jax.lax.cond(y.sum() > 1, lambda: heavy(y), lambda: false_fun(x)),\n)",
    ),
    "tuples": (
        "if x.sum() > 0:\n    return heavy(x), y\nelse:\n    return x, heavy(y)",
        "return jax.lax.cond(x.sum() > 0, lambda: (heavy(x), y), lambda: (x, heavy(y)))",
    ),
}

ELIF = (
    "if x.sum() > 0:\n    y = heavy(x)\nelif y.sum() > 0:\n    y = heavy(y)\nelse:\n    y = y + 1\nreturn y",
    "y = jax.lax.cond(\n    x.sum() > 0,\n    lambda y: heavy(x),\n"
    "    lambda y: jax.lax.cond(y.sum() > 0, heavy, lambda y: y + 1, y),\n    y,\n)\nreturn y",
)

SAFE = {
    "a gradient that is not finite": (
        "norm = jnp.float32(1.0) * x.sum()\nif norm > 1.0:\n    x = x * x\nreturn x",
        "norm = jnp.float32(1.0) * x.sum()\nx = jax.lax.cond(norm > 1.0, lambda x: x * x, lambda x: x, x)\nreturn x",
    ),
}

NOT_COND = {
    "what `where` does for sure": "if x.sum() > 0:\n    x = -x\nreturn x",
    "an effect": "if x.sum() > 0:\n    x = heavy(x)\n    SEEN.append(x)\nreturn x",
    "what is printed": "if x.sum() > 0:\n    print('more')\n    x = heavy(x)\nreturn x",
    "an attribute": "if x.sum() > 0:\n    heavy.last = heavy(x)\nreturn x",
    "an element": "z = [x]\nif x.sum() > 0:\n    z[0] = heavy(x)\nreturn z[0]",
    "a layer": "if x.sum() > 0:\n    x = nn.Dense(3)(x)\nreturn x",
    "what is not known": "from elsewhere import work\n\nif x.sum() > 0:\n    x = work(x)\nreturn x",
    "random numbers of the host": "if x.sum() > 0:\n    x = heavy(x) + np.random.rand()\nreturn x",
    "a read": "if x.sum() > 0:\n    x = heavy(x) * x.max().item()\nreturn x",
    "a number on one side": "if x.sum() > 0:\n    z = heavy(x)\nelse:\n    z = 0\nreturn z",
    "None on one side": "z = None\nif x.sum() > 0:\n    z = heavy(x)\nreturn z",
    "an unset name": "if x.sum() > 0:\n    z = heavy(x)\nreturn z",
    "ranks that differ": "if x.sum() > 0:\n    z = jnp.sum(heavy(x))\nelse:\n    z = jnp.ones((3, 3))\nreturn z",
    "a global name": "global z\nif x.sum() > 0:\n    z = heavy(x)\nelse:\n    z = x\nreturn z",
    "tuples of other lengths": "if x.sum() > 0:\n    return heavy(x), y\nreturn x, y, y",
    "a tuple and one": "if x.sum() > 0:\n    return heavy(x), y\nreturn x",
    "a branch that returns or not": "if x.sum() > 0:\n    y = heavy(x)\n    return y\nelse:\n    x = x + 1\nreturn x",
    "nothing behind": "if x.sum() > 0:\n    return heavy(x)",
    "a break": "for _ in range(3):\n    x = x + 1\n    if x.sum() > 0:\n        break\nreturn x",
    "a loop in the branch": "if x.sum() > 0:\n    for _ in range(3):\n        x = heavy(x)\nreturn x",
    "a loop behind": "if x.sum() > 0:\n    return heavy(x)\nfor _ in range(3):\n    x = x + 1\nreturn x",
    "a lambda that stays": "if x.sum() > 0:\n    x = jax.tree.map(lambda z: heavy(z), x)\nreturn x",
    "a part that the host knows": "flag = len(SEEN) > 1\nif flag and x.sum() > 0:\n    x = heavy(x)\nreturn x",
    "a comprehension's walrus": "if x.sum() > 0:\n    x = heavy(z := x)\nreturn x",
}

KERAS = {
    "one name": (
        "if tf.reduce_mean(x) > 0:\n    x = settle(x)\nreturn x",
        "x = tf.cond(tf.reduce_mean(x) > 0, lambda: settle(x), lambda: x)\nreturn x",
    ),
    "names that need each other": (
        "if tf.reduce_mean(x) > 0:\n    x = settle(x)\n    y = x + y\nreturn x + y",
        "def true_fn(x, y):\n    x = settle(x)\n    y = x + y\n    return x, y\n\n"
        "x, y = tf.cond(tf.reduce_mean(x) > 0, lambda: true_fn(x, y), lambda: (x, y))\nreturn x + y",
    ),
    "a return": (
        "if tf.reduce_mean(x) > 0:\n    return settle(x)\nx = x + y\nreturn x * 2.0",
        "def false_fn(x):\n    x = x + y\n    return x * 2.0\n\n"
        "return tf.cond(tf.reduce_mean(x) > 0, lambda: settle(x), lambda: false_fn(x))",
    ),
}


@pytest.mark.parametrize(("before", "after"), JAX.values(), ids=JAX)
def test_jax(before: str, after: str) -> None:
    expect_fixed(outcome(jax_program(before), "XLA101", target="jax"), jax_program(after), "unsafe")


@pytest.mark.parametrize(("before", "after"), SAFE.values(), ids=SAFE)
def test_safe_where_a_choice_is_not(before: str, after: str) -> None:
    expect_fixed(outcome(jax_program(before), "XLA101", target="jax"), jax_program(after), "safe")


@pytest.mark.parametrize("before", NOT_COND.values(), ids=NOT_COND)
def test_no_cond(before: str) -> None:
    made = outcome(jax_program(before), "XLA101", target="jax")
    assert "cond(" not in made.text


@pytest.mark.parametrize(("before", "after"), KERAS.values(), ids=KERAS)
def test_keras(before: str, after: str) -> None:
    made = outcome(keras_program(before), "XLA101", target="tf")
    assert made.text == keras_program(after)
    assert "`settle` does nothing but compute" in made.message


def test_autograph_writes_its_own() -> None:
    text = (
        "import tensorflow as tf\n\n\ndef settle(x: tf.Tensor) -> tf.Tensor:\n    return x / tf.norm(x)\n\n\n"
        "@tf.function(jit_compile=True)\ndef run(x: tf.Tensor) -> tf.Tensor:\n"
        "    if tf.reduce_mean(x) > 0:\n        x = settle(x)\n    return x\n"
    )
    assert "tf.cond" not in fixed(text, target="tf")[0]


def test_elif_from_the_inside_out() -> None:
    before, after = ELIF
    assert outcome(jax_program(before), "XLA101", target="jax").text == jax_program(after)
