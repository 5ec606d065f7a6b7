"""XLA517 and XLA518: arrays that are given away, and state that is not."""

from __future__ import annotations

import pytest

from tests.conftest import Findings
from tests.frameworks.selecting import keep_rules

START = """\
import copy
from functools import partial
import jax
import jax.numpy as jnp
import numpy as np
@partial(jax.jit, donate_argnums=0)
def step(state, batch):
    return state + batch
@partial(jax.jit, donate_argnames=("opt", "state"))
def update(state, opt, batch):
    return state + batch, opt
@jax.jit
def loss(state, batch):
    return (state - batch).sum()
@partial(jax.jit, donate_argnums=(0, 1))
def early(state, batch):
    value = batch.sum()
    return state + value, value
def train(state, opt, batches, batch):
"""

IN_ORDER = {
    "a model's parameters": "run = jax.jit(model.apply, donate_argnums=0)\nfor b in batches:\n    out = run(state, b)\nreturn out",
    "replaced": "for b in batches:\n    state = step(state, b)\nreturn state",
    "two replaced": "for b in batches:\n    state, opt = update(state, opt, b)\nreturn state, opt",
    "the new one": "new = step(state, batch)\nreturn new",
    "used before": "old = loss(state, batch)\nnew = step(state, batch)\nreturn new, old",
    "another place": "new = step(state, batch)\nreturn batch + 1",
    "its shape": "new = step(state, batch)\nprint(state.shape, state.dtype, state.ndim)",
    "bound again": "new = step(state, batch)\nstate = jnp.zeros(3)\nreturn state + 1",
    "a copy": "new = step(jnp.copy(state), batch)\nreturn state + new",
    "of NumPy": "state = np.zeros(3)\nnew = step(state, batch)\nreturn state + new",
    "taken to the host": "kept = jax.device_get(state)\nnew = step(kept, batch)\nreturn kept",
    "another function's": "new = loss(state, batch)\nreturn state + new",
    "one way or the other": "if batch is None:\n    new = step(state, opt)\nelse:\n    new = state + 1\nreturn new",
    "left before": "if batch is None:\n    return step(state, opt)\nreturn state + 1",
    "the loop is left": "for b in batches:\n    new = step(state, b)\n    break\nreturn new",
    "deleted by hand": "new = step(state, batch)\ndel state\nreturn new",
    "bound by the loop": "for state in batches:\n    new = step(state, batch)\nreturn new",
    "a field that is replaced": "self.state = step(self.state, batch)\nreturn self.state",
    "not told": "fast = jax.jit(loss, donate_argnums=places)\nnew = fast(state, batch)\nreturn state",
    "of another library": "import other\nfast = other.jit(loss, donate_argnums=0)\nnew = fast(state, batch)\nreturn state",
    "deleted by its method": "new = step(state, batch)\nstate.delete()\nreturn new",
    "shadowed": "def inner(state):\n    return state + 1\nnew = step(state, batch)\nreturn new",
}
DELETED = {
    "by another method": "run = jax.jit(model.step, donate_argnums=0)\nnew = run(state, batch)\nreturn state",
    "afterwards": "new = step(state, batch)\nreturn state + new",
    "returned": "new = step(state, batch)\nreturn new, state",
    "passed on": "new = step(state, batch)\nreturn loss(state, batch)",
    "in the same expression": "new = step(state, batch)\nreturn jnp.stack([new, state])",
    "in the next turn": "for b in batches:\n    new = step(state, b)\nreturn new",
    "twice at once": "new = step(state, state)\nreturn new",
    "by name": "new, opt = update(state, opt, batch)\nreturn state",
    "by keyword": "new, opt = update(state, opt=opt, batch=batch)\nreturn state",
    "on one way": "new = batch\nif batch is None:\n    new = step(state, opt)\nreturn state",
    "a field": "new = step(self.state, batch)\nreturn self.state",
    "under a name": "fast = jax.jit(lambda s: s + 1, donate_argnums=(0,))\nnew = fast(state)\nreturn state",
    "in a condition": "new = step(state, batch)\nif state.sum() > 0:\n    return new",
    "a state that is returned": "new, value = early(state, batch)\nreturn state",
    "an element": "new = step(state, batch)\nreturn state[0]",
}
# What is donated beside what a result replaces: none may be left that takes its memory.
UNTAKEN = {
    "leaves twice at once, for what has another shape": (
        "stack = jax.jit(lambda a, b: jax.tree.map(lambda x, y: jnp.stack([x, y]), a, b), donate_argnums=(0, 1))\n"
        "return stack(state, state)"
    ),
    "twice at once, for what has another shape": (
        "stack = jax.jit(lambda a, b: jnp.concatenate([a, b]), donate_argnums=(0, 1))\nreturn stack(state, state)"
    ),
    "a batch": "state, value = early(state, batch)\nreturn state, batch",
    "a batch beside the first": "new, value = early(state, batch)\nreturn batch",
    "in a loop": "for b in batches:\n    state, value = early(state, b)\n    print(b.sum())\nreturn state",
    "of what is not known": "fast = jax.jit(model.step, donate_argnums=(0, 1))\nstate, value = fast(state, batch)\nreturn batch",
}
# What is kept otherwise must not be given away, and what no loop repeats is made once.
DONATED_OR_KEPT = {
    "given away": "for b in batches:\n    state = step(state, b)",
    "no loop": "state = loss(state, batch)",
    "not replaced": "for b in batches:\n    new = loss(state, b)",
    "kept": "for b in batches:\n    best = state\n    state = loss(state, b)",
    "collected": "for b in batches:\n    seen.append(state)\n    state = loss(state, b)",
    "elements": "for b in batches:\n    seen[0] = loss(state, b)",
    "of another library": "import other\nfast = other.jit(loss)\nfor b in batches:\n    state = fast(state, b)",
    "in an expression": "for b in batches:\n    state = 0.9 * loss(state, b)",
    "in a row": "for b in batches:\n    state = loss(*state)",
}
HELD_TWICE = {
    "a state": "for b in batches:\n    state = loss(state, b)",
    "while": "while True:\n    state = loss(state, batch)",
    "with more": "for b in batches:\n    state, value = loss(state, b)",
    "under a name": "fast = jax.jit(lambda s: s)\nfor b in batches:\n    state = fast(state)",
    "a field": "for b in batches:\n    self.state = loss(self.state, b)",
}


def _indented(code: str) -> str:
    return START + "".join(f"    {line}\n" for line in code.splitlines())


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_in_order(code: str, findings: Findings) -> None:
    assert keep_rules(findings(_indented(code), ""), "XLA517") == []


@pytest.mark.parametrize("code", DELETED.values(), ids=DELETED)
def test_deleted(code: str, findings: Findings) -> None:
    assert keep_rules(findings(_indented(code), ""), "XLA517") == [("XLA517", "error")]


@pytest.mark.parametrize("code", UNTAKEN.values(), ids=UNTAKEN)
def test_perhaps_untaken(code: str, findings: Findings) -> None:
    assert keep_rules(findings(_indented(code), ""), "XLA517") == [("XLA517", "warning")]


@pytest.mark.parametrize("code", DONATED_OR_KEPT.values(), ids=DONATED_OR_KEPT)
def test_donated_or_kept(code: str, findings: Findings) -> None:
    assert keep_rules(findings(_indented(code), ""), "XLA518") == []


def test_the_state_of_tests_is_small(findings: Findings) -> None:
    assert findings(f"import pytest\n{_indented(HELD_TWICE['a state'])}", "") == []


@pytest.mark.parametrize("code", HELD_TWICE.values(), ids=HELD_TWICE)
def test_held_twice(code: str, findings: Findings) -> None:
    assert keep_rules(findings(_indented(code), ""), "XLA518") == [("XLA518", "info")]
