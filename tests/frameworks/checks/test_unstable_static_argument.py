"""XLA405: arguments that are a part of the program and change; and the larger half, of those that do not, left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frameworks.checks.rows import find
from xlalint.config import Settings
from xlalint.project import check_paths

JAX = """
import dataclasses
import random
from functools import partial
import jax
import jax.numpy as jnp
import numpy as np

@partial(jax.jit, static_argnums=(1,))
def step(x: jax.Array, k):
    return x

@jax.jit
def free(x, k=0):
    return x + k

class Plain:
    def __init__(self, k):
        self.k = k

class Compiled:
    @jax.jit
    def run(self, x):
        return x
    @partial(jax.jit, static_argnums=0)
    def fixed(self, x):
        return x
    @partial(jax.jit, static_argnames="self")
    def named(self, x):
        return x
    @staticmethod
    @jax.jit
    def apart(x):
        return x

@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Tree:
    w: jax.Array
    @jax.jit
    def run(self, x):
        return x * self.w

class Equal:
    def __init__(self, k):
        self.k = k
    def __eq__(self, other):
        return True
    def __hash__(self):
        return 1

@dataclasses.dataclass(frozen=True)
class Frozen:
    k: int

aliased = jax.jit(lambda x, k: x, static_argnames="k")
def plain(x, k):
    return x
named = jax.jit(plain, static_argnames="k")
x = jnp.ones(3)
"""
EQUINOX = """
import equinox as eqx
import jax.numpy as jnp
import numpy as np

@eqx.filter_jit
def step(x, k):
    return x * k
x = jnp.ones(3)
"""
KERAS = """
import random
import tensorflow as tf

@tf.function
def step(x, k):
    return x

@tf.function(input_signature=[tf.TensorSpec((3,)), tf.TensorSpec(())])
def signed(x, k):
    return x

def eager(x, k):
    return x
x = tf.ones(3)
"""


def found(text: str, head: str) -> list[str]:
    return [f"{one.location.row - head.count(chr(10))}:{one.severity}" for one in find(text, head, "XLA405")]


DECLARED = "def f(x: jax.Array, {}):\n    return x * n\ng = jax.jit(f, {})"
OPERAND = "def f(x: jax.Array, {}):\n    return {}\ng = jax.jit(f, {})"
SILENT = {
    "the numbers in an array of the host's": "w, h = np.array([3, 4])\nstep(x, w)",
    "the numbers in one of which nothing is known": "def run(size: np.ndarray):\n    w, h = size\n    step(x, w)",
    "an entry of one of which nothing is known": "def run(size: np.ndarray):\n    step(x, size[0])",
    "an array beside numbers that no parameter has": (
        "@partial(jax.jit, static_argnums=(2, 3))\ndef head(x, w):\n    return x @ w\n\nhead(x, jnp.ones((3, 3)))"
    ),
    "an array before the rest, of which some is static": (
        "@partial(jax.jit, static_argnums=(2,))\ndef head(x, *rest):\n    return x\n\nhead(x, x, 3)"
    ),
    "what is declared a sequence": "from typing import Sequence\ndef run(x: jax.Array, sizes: Sequence[int]):\n    return step(x, sizes)",
    "a sequence that an object holds": (
        "from typing import Sequence\n@dataclasses.dataclass\nclass Sampler:\n    sizes: Sequence[int]\n"
        "    def run(self, x: jax.Array):\n        return step(x, self.sizes)"
    ),
    "a condition of the turn, by a name": (
        "for i in range(99):\n    due = i % 9 == 0 or i == last\n    logs = verbose and due\n    step(jnp.ones(3), logs)"
    ),
    "a number that is declared one, of calls that are known": DECLARED.format("n: int", "static_argnums=1")
    + "\ng(x, 3)",
    "what is not declared, of calls that are known": (
        DECLARED.format("n", "static_argnums=(1,)") + "\ndef main(x):\n    return g(x, 3)"
    ),
    "a number that is a size as well": OPERAND.format("n", "x.reshape(n) * n", "static_argnums=1"),
    "a number by which the code chooses": OPERAND.format("n", "x * n if n > 2 else x", "static_argnums=1"),
    "a number that is passed on": OPERAND.format("n", "jnp.roll(x, n) * n", "static_argnums=1"),
    "a number that multiplies a size": OPERAND.format("n", "jnp.zeros(x.shape[0] * n)", "static_argnums=1"),
    "an exponent": OPERAND.format("n", "x**n", "static_argnums=1"),
    "a number that may divide another": OPERAND.format("n, k", "x * (n / k)", "static_argnums=1"),
    "a number that is not static": OPERAND.format("n", "x * n", "donate_argnums=0"),
    "a number with a default": OPERAND.format("n=2", "x * n", "static_argnums=1"),
    "a number in a function within": OPERAND.format("n", "jax.vmap(lambda y: y * n)(x) * n", "static_argnums=1"),
    "a number beside what is declared nothing": "def f(x, n):\n    return x * n\ng = jax.jit(f, static_argnums=1)",
    "a number of a function that is compiled in another": (
        "def f(x: jax.Array, n):\n    return x * n\ndef make():\n    g = jax.jit(f, static_argnums=1)\n    return g"
    ),
    "a text that chooses": OPERAND.format("n", "x * 2 if n == 'a' else x", "static_argnames='n'"),
    "an entry that is a size": OPERAND.format("n", "x.reshape(n[0])", "static_argnums=1"),
    "an array beside a static number": DECLARED.format("y: jax.Array, n: int = 2", "static_argnames='n'"),
    "an array that is not static": DECLARED.format("n: jax.Array", "donate_argnums=1"),
    "a method with a static self": "one = Compiled()\nfor i in range(99):\n    one.fixed(x)\n    one.named(x)\n    one.apart(x)",
    "a method of a structure": "Tree(x).run(x)",
    "a method of a fresh object, once": "Compiled().fixed(x)",
    "a method of what is not known": "def go(one):\n    for i in range(99):\n        one.run(x)",
    "what only its use makes an array": "def run(axis):\n    n = axis.size\n    return step(jnp.ones(n), axis)\n\nrun(Frozen(3))",
    "one value": "for i in range(99):\n    step(x, 3)",
    "a setting": "for i in range(99):\n    step(x, config.size)",
    "a tuple": "for i in range(99):\n    step(x, (1, 2))",
    "whether something is due": "for i in range(99):\n    step(x, i % 9 == 0)\n    due = i > 50\n    step(x, due)",
    "a dict that is frozen": "from flax.core import freeze\noptions = freeze({'a': 1})\nfor i in range(99):\n    step(x, options)",
    "a frozen set": "step(x, frozenset({'actor', 'critic'}))",
    "what is declared a frozen set": "def run(x, names: frozenset[str]):\n    return step(x, names)\n\nrun(x, frozenset())",
    "a function of the module": "for i in range(99):\n    step(x, jnp.tanh)",
    "what is not static": "for i in range(99):\n    free(x, i)\n    free(x, k=i * 0.5)",
    "an array that changes": "for i in range(99):\n    free(jnp.full(3, i), jnp.zeros(3))",
    "an entry of a list that is gone over again and again": (
        "for i in range(99):\n    for k in range(len(layers)):\n        step(x, layers[k])"
    ),
    "a few values": "for i in range(4):\n    step(x, i)\nfor k in (2, 4, 8):\n    step(x, k)",
    "once": "step(x, lambda y: y)",
    "in a function that runs once": "def main(x):\n    return step(x, partial(plain, k=3))\nmain(x)",
    "in a function that nobody calls": "def main(x):\n    return step(x, Plain(3))",
    "an equal object": "for i in range(99):\n    step(x, Equal(3))\n    step(x, Frozen(3))",
    "not compiled": "for i in range(99):\n    plain(x, i)\n    plain(x, [1, 2])",
    "within a trace": "@jax.jit\ndef outer(x):\n    for i in range(99):\n        x = step(x, i)\n    return x",
    "an array from the first": "total = jnp.zeros(())\nfor i in range(99):\n    total = free(total)",
    "a number to the last": "total = 0.0\nfor i in range(99):\n    y = free(x, total)",
    "arguments in a row": "for i in range(99):\n    step(*pair)",
}
FOUND = {
    "an array of the host's": ("step(x, np.array([3, 4]))", ["1:error"]),
    "an array of the host's, by its annotation": ("def run(size: np.ndarray):\n    step(x, size)", ["2:error"]),
    "what is declared an array": (DECLARED.format("n: jax.Array", "static_argnums=(1,)"), ["3:error"]),
    "what is declared an array, by name": (DECLARED.format("n: jnp.ndarray", "static_argnames=('n',)"), ["3:error"]),
    "what is declared an array, from the last": (DECLARED.format("n: jax.Array", "static_argnums=-1"), ["3:error"]),
    "a static number that is only computed with": (DECLARED.format("n: int", "static_argnums=1"), ["3:warning"]),
    "a static number or array that is only computed with": (
        DECLARED.format("n: jax.Array | int", "static_argnums=1"),
        ["3:warning"],
    ),
    "what is static and only computed with": (DECLARED.format("n", "static_argnums=(1,)"), ["3:warning"]),
    "a static divisor, by name": (OPERAND.format("n", "-x / n", "static_argnames='n'"), ["3:warning"]),
    "a static number in a sum": (OPERAND.format("n", "2 * x + n", "static_argnums=1"), ["3:warning"]),
    "entries of what is static": (OPERAND.format("n", "x * n[0] - n[1]", "static_argnums=1"), ["3:warning"]),
    "a method whose self is no array": ("Compiled().run(x)", ["1:error"]),
    "a method of a kept object": ("one = Compiled()\ndef main(x):\n    return one.run(x)\nmain(x)", ["3:error"]),
    "a method of a fresh object": ("for i in range(99):\n    Compiled().fixed(x)", ["2:warning"]),
    "a number that counts": ("for i in range(99):\n    step(x, i)", ["2:warning"]),
    "an entry that is a number": (
        "sizes = [n * 8 for n in range(99)]\nfor i in range(99):\n    step(x, sizes[i])",
        ["3:warning"],
    ),
    "of a number that counts": ("for i, y in enumerate(ys):\n    step(y, 2 * i + 1)", ["2:warning"]),
    "a counter": ("i = 0\nwhile True:\n    i += 1\n    x = step(x, i)", ["4:warning"]),
    "by keyword": ("for i in range(99):\n    step(x, k=i)", ["2:warning"]),
    "of another name": ("for i in range(99):\n    named(x, k=i)", ["2:warning"]),
    "a list": ("step(x, [1, 2])", ["1:error"]),
    "a set": ("step(x, {1, 2})", ["1:error"]),
    "what a set is made of": ("step(x, set(names))", ["1:error"]),
    "a dict": ("def f():\n    options = {'a': 1}\n    return step(x, options)", ["3:error"]),
    "an array": ("step(x, jnp.ones(3))", ["1:error"]),
    "an array of NumPy's": ("step(x, np.ones(3))", ["1:error"]),
    "a lambda": ("for i in range(99):\n    step(x, lambda y: y)", ["2:warning"]),
    "a partial": ("for y in ys:\n    step(y, partial(plain, k=3))", ["2:warning"]),
    "an object": ("for y in ys:\n    step(y, Plain(3))", ["2:warning"]),
    "in a function that is repeated": (
        "def go(y):\n    return step(y, lambda z: z)\nfor y in ys:\n    go(y)",
        ["2:warning"],
    ),
    "a number that becomes an array": ("total = 0.0\nfor i in range(99):\n    total = free(total, x)", ["3:info"]),
}
# Run with equinox 0.13 on JAX 0.10.2: compiled once, and five times in five turns.
EQUINOX_SILENT = {
    "an array": "for i in range(99):\n    step(x, jnp.asarray(0.1 * i))",
    "one number": "for i in range(99):\n    step(x, 0.5)",
    "a number of NumPy's": "for i in range(99):\n    step(x, np.float32(0.1 * i))",
    "a list": "for i in range(99):\n    step(x, [1.0, 2.0])",
    "a few": "for i in range(3):\n    step(x, i)",
    "what the loop gives, of which nothing is known": "for i, y in enumerate(ys):\n    step(y, 0.5)",
}
EQUINOX_FOUND = {
    "a number that counts": "for i in range(99):\n    step(x, i)",
    "a rate": "for i in range(99):\n    step(x, 0.1 / (i + 1))",
    "by keyword": "for i in range(99):\n    step(x, k=1.0 * i)",
}
KERAS_SILENT = {
    "a tensor": "for i in range(99):\n    step(x, tf.constant(i))",
    "a tensor of a range": "for i in tf.range(99):\n    step(x, i)",
    "a setting": "for i in range(99):\n    step(x, 0.5)\n    step(x, flags.rate)",
    "with a signature": "for i in range(99):\n    signed(x, i)",
    "eagerly": "for i in range(99):\n    eager(x, i)",
    "a few": "for i in range(3):\n    step(x, i)\nfor training in (True, False):\n    step(x, training)",
    "what is not known": "for k in ks:\n    step(x, k)",
    "within a trace": "@tf.function\ndef outer(x):\n    for i in range(99):\n        x = step(x, i)\n    return x",
    "one object": "o = object()\nfor i in range(99):\n    step(x, o)",
}
KERAS_FOUND = {
    "a number that counts": ("for i in range(99):\n    step(x, i)", ["2:warning"]),
    "a step": ("for i, batch in enumerate(dataset):\n    step(batch, i)", ["2:warning"]),
    "a number that is drawn": ("for y in ys:\n    step(y, random.random())", ["2:warning"]),
    "a method": (
        "class M:\n    @tf.function\n    def step(self, x, k):\n        return x\nm = M()\nfor i in range(99):\n    m.step(x, i)",
        ["7:warning"],
    ),
    "a lambda": ("for y in ys:\n    step(y, lambda z: z)", ["2:warning"]),
    "in a training loop": (
        "def main(ys):\n    for i, y in enumerate(ys):\n        step(y, float(i))",
        ["3:warning"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SILENT)
def test_silent(case: str) -> None:
    assert found(SILENT[case], JAX) == []


@pytest.mark.parametrize("case", FOUND)
def test_found(case: str) -> None:
    text, expected = FOUND[case]
    assert found(text, JAX) == expected


@pytest.mark.parametrize("case", KERAS_SILENT)
def test_silent_under_tensorflow(case: str) -> None:
    assert found(KERAS_SILENT[case], KERAS) == []


@pytest.mark.parametrize("case", KERAS_FOUND)
def test_found_under_tensorflow(case: str) -> None:
    text, expected = KERAS_FOUND[case]
    assert found(text, KERAS) == expected


@pytest.mark.parametrize("code", EQUINOX_SILENT.values(), ids=list(EQUINOX_SILENT))
def test_numbers_that_equinox_compiles_once_are_silent(code: str) -> None:
    assert found(code, EQUINOX) == []


@pytest.mark.parametrize("code", EQUINOX_FOUND.values(), ids=list(EQUINOX_FOUND))
def test_numbers_that_equinox_compiles_for_are_found(code: str) -> None:
    assert found(code, EQUINOX) == ["2:warning"]


SUMS = """
from functools import partial
import jax
import jax.numpy as jnp


@partial(jax.jit, static_argnums=1)
def one(x, k):
    return x[k:].sum()

{}
def all_of(x):
    total = 0.0
    for k in range(x.shape[0]):
        total += one(x, k)
    return total
"""
CALLER = (
    "import jax.numpy as jnp\nimport sums\n\n\ndef score(x, y, z):\n    return jnp.dot(x - y, z) + sums.all_of(z)\n"
)


@pytest.mark.parametrize(("decorator", "rows"), [("@jax.jit", []), ("", [15]), ("@jax.vmap", [15])])
def test_what_a_compiled_function_of_another_file_calls_is_a_part_of_it(
    decorator: str, rows: list[int], tmp_path: Path
) -> None:
    (tmp_path / "sums.py").write_text(SUMS.format(decorator))
    (tmp_path / "caller.py").write_text(CALLER)
    report = check_paths([tmp_path], Settings(root=str(tmp_path), jobs=1, python=None, select=("XLA405",)))
    assert [one.location.row for one in report.findings if one.severity != "info"] == rows
