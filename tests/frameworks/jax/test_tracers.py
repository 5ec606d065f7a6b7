"""What is surely a tracer in code that `jax.jit` runs, so that to ask for its value is an error, and what may be a setting or a tree."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.conftest import Findings

CODE = """
import jax
import jax.numpy as jnp
import numpy as np

TABLE = np.ones(3)

@jax.jit
def step(x, batch, state, n=3):
    {0}
    return x
"""
# Some of them raise an exception with JAX 0.10.2, some do not, by what is passed.
DOUBTFUL = {
    "the truth of an argument": "if x:\n        x = None",
    "the truth of an entry": "if batch['mask']:\n        pass",
    "a field, which may be a setting": "if state.scale > 0:\n        pass",
    "an entry of a field": "if state.scales[0] > 0:\n        pass",
    "what a method of trees gives": "if batch.get('mask'):\n        pass",
    "a name that is bound twice": "y = batch['x']\n    if n:\n        y = state.scale\n    if y > 0:\n        pass",
    "a field that goes through a function of trees": "if jax.lax.stop_gradient(state.scale) > 0:\n        pass",
}
SURE = {
    "an operation on an argument": "if jnp.mean(x) > 0:\n        pass",
    "an operation on an entry": "if jnp.exp(batch['x']).sum() > 0:\n        pass",
    "an operation on a field": "if jnp.sum(state.params['w']) > 0:\n        pass",
    "an operation on an array of NumPy's": "if jnp.mean(TABLE) > 0:\n        pass",
    "an operation of another module": "if jax.nn.relu(state.scale) > 0:\n        pass",
    "the truth of an operation's result": "if jnp.any(x):\n        pass",
    "a comparison of an argument": "if x > 0:\n        pass",
    "a comparison of an entry with a number": "if batch['kind'] == 3:\n        pass",
    "a method of arrays": "if batch['x'].sum() > 0:\n        pass",
    "arithmetic": "if -x[0] / 2 > 0:\n        pass",
    "under a name": "y = batch['x'] * 2\n    if y.mean() > 0:\n        pass",
    "taken apart": "image, label = batch['pair']\n    if label > 0:\n        pass",
    "a number of an entry": "for _ in range(x[0]):\n        pass",
    "an array of an entry": "np.asarray(batch['x'])",
}
# The same functions, called by what a tracer runs, may be given settings.
HELPERS = {
    "a number that a caller gives": (
        "import jax\n\ndef scale(x, n):\n    if n > 3:\n        return x * 2\n    return x\n\n"
        "@jax.jit\ndef step(x, state):\n    return scale(x, state.n)"
    ),
    "a number that a partial binds": (
        "import functools\nimport jax\n\ndef body(i, c, n):\n    if n > 3:\n        return c * 2\n    return c\n\n"
        "def run(x):\n    return jax.lax.fori_loop(0, 9, functools.partial(body, n=4), x)"
    ),
    "a default that nothing replaces": (
        "import jax\n\ndef body(x, double=False):\n    if double:\n        return x * 2\n    return x\n\n"
        "def run(x):\n    return jax.lax.cond(x[0] > 0, body, lambda x: x, x)"
    ),
    "a static argument": (
        "import functools\nimport jax\n\n@functools.partial(jax.jit, static_argnums=1)\ndef step(x, n):\n"
        "    if n > 3:\n        return x * 2\n    return x"
    ),
    "a flag with a default": "import jax\n\n@jax.jit\ndef step(x, n=3):\n    if n > 3:\n        return x * 2\n    return x",
    "what equinox leaves as it is": (
        "import equinox as eqx\n\n@eqx.filter_jit\ndef step(x, n):\n    if n[0] > 3:\n        return x * 2\n    return x"
    ),
}
# JAX 0.10.2 asks no tracer whether it equals None, or a text.
SOUGHT = {
    "where None is": "[x.sum(), None].index(None)",
    "how often a text is there": "[x.sum(), 'a'].count('a')",
    "whether None is there": "None in [x.sum(), 1]",
}
CARRIES = {
    "of a scan": (
        "def run(xs):\n    def body(c, x):\n        if c > 3:\n            return c, x\n        return c + 1, x\n\n"
        "    return jax.lax.scan(body, 0, xs)"
    ),
    "of a loop that counts": (
        "def run(x):\n    def body(i, c):\n        if c > 3:\n            return c\n        return c + 1\n\n"
        "    return jax.lax.fori_loop(0, 10, body, 0)"
    ),
    "a part of one": (
        "def run(x):\n    def body(c):\n        if c[1] > 3:\n            return c\n        return c[0] + 1, c[1]\n\n"
        "    return jax.lax.while_loop(lambda c: c[0] < 3, body, (0, 1.0))"
    ),
}


@pytest.mark.parametrize("lines", DOUBTFUL.values(), ids=DOUBTFUL)
def test_what_may_be_no_array_is_no_error(lines: str, findings: Findings) -> None:
    assert "error" not in [severity for _, severity in findings(CODE.format(lines), "jax")]


@pytest.mark.parametrize("code", HELPERS.values(), ids=HELPERS)
def test_what_a_tracer_may_leave_is_no_error(code: str, findings: Findings) -> None:
    assert "error" not in [severity for _, severity in findings(code, "jax")]


@pytest.mark.parametrize("line", SOUGHT.values(), ids=SOUGHT)
def test_no_tracer_is_asked_for_what_none_equals(line: str, findings: Findings) -> None:
    assert findings(CODE.format(line), "jax") == []


def test_a_tracer_is_asked_for_a_number(findings: Findings) -> None:
    assert findings(CODE.format("[jnp.sum(x), jnp.max(x)].index(2)"), "jax") == [("XLA106", "error")]


@pytest.mark.parametrize("lines", SURE.values(), ids=SURE)
def test_tracers_are_known(lines: str, findings: Findings) -> None:
    found = [
        severity for code, severity in findings(CODE.format(lines), "jax") if code in ("XLA101", "XLA107", "XLA302")
    ]
    assert found == ["error"]


@pytest.mark.parametrize("code", CARRIES.values(), ids=CARRIES)
def test_carries_are_tracers_whatever_a_loop_begins_with(code: str, findings: Findings) -> None:
    assert findings(dedent("import jax\n\n" + code), "jax") == [("XLA101", "error")]
