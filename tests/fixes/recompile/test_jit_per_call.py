"""XLA404: what is compiled in each turn of a loop, compiled before it."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_unchanged, outcome

HEAD = "import jax\nfrom functools import partial\ndef f(x, k=1):\n    return x\n"
LEFT = {
    "what changes": ("for x in xs:\n    jax.jit(lambda y: x + y)(x)\n", "`x` changes in each iteration"),
    "a name of the loop": (
        "for x in xs:\n    k = 2 * x\n    jax.jit(partial(f, k=k))(x)\n",
        "`k` changes in each iteration",
    ),
    "what is counted": (
        "k = 0\nfor x in xs:\n    k += 1\n    jax.jit(partial(f, k=k))(x)\n",
        "`k` changes in each iteration",
    ),
    "a function of the loop": (
        "def main(xs):\n    for x in xs:\n        def g(y):\n            return x\n        jax.jit(g)(x)\n",
        "`g` changes in each iteration",
    ),
    "in a function": ("def g(x):\n    return jax.jit(lambda x: x)(x)\nfor x in xs:\n    g(x)\n", "outside this one"),
    "a line of several": ("for x in xs:\n    g = jax.jit(lambda x: x); g(x)\n", "outside this one"),
}
FIXED = {
    "a gradient": (
        "for x in xs:\n    y = jax.jit(jax.grad(f))(x)\n",
        "grad_f = jax.jit(jax.grad(f))\nfor x in xs:\n    y = grad_f(x)\n",
        "safe",
    ),
    "in a function, in a branch": (
        "def main(xs):\n    if xs:\n        for x in xs:\n            jax.jit(partial(f, k=2))(x)\n",
        "def main(xs):\n    if xs:\n        f_2 = jax.jit(partial(f, k=2))\n        for x in xs:\n            f_2(x)\n",
        "safe",
    ),
    "an assignment": (
        "k = 3\nfor x in xs:\n    g = jax.jit(lambda x: x * k)\n    g(x)\n",
        "k = 3\ng = jax.jit(lambda x: x * k)\nfor x in xs:\n    g(x)\n",
        "unsafe",
    ),
    "a method": (
        "class N:\n    def f(self, x):\n        return x\nn = N()\nwhile True:\n    jax.jit(n.f)(x)\n",
        "class N:\n    def f(self, x):\n        return x\nn = N()\nf_2 = jax.jit(n.f)\nwhile True:\n    f_2(x)\n",
        "unsafe",
    ),
}


@pytest.mark.parametrize("case", LEFT)
def test_left(case: str) -> None:
    text, reason = LEFT[case]
    expect_unchanged(HEAD + text, "XLA404", reason, target="jax")


@pytest.mark.parametrize("case", FIXED)
def test_fixed(case: str) -> None:
    before, after, applicability = FIXED[case]
    expect_fixed(outcome(HEAD + before, "XLA404", target="jax"), HEAD + after, applicability)
