"""Turns of a loop that a tensor's value skips."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import body, expect_fixed, expect_left_alone, outcome

_HEAD = "y = torch.zeros_like(x)\nfor i in range(4):\n"


def turn(code: str, before: str = "", after: str = "return y") -> str:
    """A `forward` with a loop of some lines."""
    lines = code.replace("\n", "\n    ")
    return body(f"{before}{_HEAD}    {lines}\n{after}")


SAFE = {
    "an update of what it was": (
        "if (x > i).any():\n    continue\nx = x + 1",
        "x = torch.where((x > i).any(), x, x + 1)",
    ),
    "a negation": (
        "if not (x > i).all():\n    continue\nx = x + 1",
        "x = torch.where((x > i).all(), x + 1, x)",
    ),
}

UNSAFE = {
    "a sum": (
        "if (x > i).any():\n    continue\ny = y + x",
        "y = torch.where((x > i).any(), y, y + x)",
        "same shape and dtype",
    ),
    "a sum in place": (
        "if x.sum() > i:\n    continue\ny += x[i]",
        "y += torch.where(x.sum() > i, 0, x[i])",
        "`x[i]` can be computed",
    ),
    "with what only the turn reads": (
        "if x.sum() > i:\n    continue\nz = x * i\ny = y + z.exp()",
        "z = x * i\ny = torch.where(x.sum() > i, y, y + z.exp())",
        "gradient of `y + z.exp()`",
    ),
    "two names": (
        "if x.sum() > i:\n    continue\ny = y + x\nx = x * 2",
        "skipped = x.sum() > i\ny = torch.where(skipped, y, y + x)\nx = torch.where(skipped, x, x * 2)",
        "same shape",
    ),
    "a product with what a gradient goes into": (
        "if x.sum() > i:\n    continue\nx = x * x",
        "x = x * torch.where(x.sum() > i, 1, x)",
        "finite where it is not chosen",
    ),
    "a product, where a negation leads": (
        "if not x.sum() > i:\n    continue\nx = y * x",
        "x = x * torch.where(x.sum() > i, y, 1)",
        "finite where it is not chosen",
    ),
    "a function of another": (
        "if x.sum() > i:\n    continue\nx = x + y.exp()",
        "x = torch.where(x.sum() > i, x, x + y.exp())",
        "finite where it is not chosen",
    ),
    "a product with a number": (
        "if x.sum() > i:\n    continue\nx = x * i",
        "x = torch.where(x.sum() > i, x, x * i)",
        "same shape and dtype",
    ),
    "comments": (
        "# above\nif x.sum() > i:  # beside\n    # within\n    continue\n# behind\ny = y + x",
        "# above\n# beside\n# within\n# behind\ny = torch.where(x.sum() > i, y, y + x)",
        "same shape",
    ),
    "lines in front": (
        "z = x * i\nif z.sum() > i:\n    continue\n\ny = y + z",
        "z = x * i\n\ny = torch.where(z.sum() > i, y, y + z)",
        "same shape",
    ),
    "a row": (
        "if x.sum() > i:\n    continue\ny[i] = x[i] * 2",
        "y[i] = torch.where(x.sum() > i, y[i], x[i] * 2)",
        "no gradient needs what `y[i]` held before",
    ),
    "a stretch of rows": (
        "if not x.any():\n    continue\ny[i : i + 2, 0] = 0.0",
        "y[i : i + 2, 0] = torch.where(x.any(), 0.0, y[i : i + 2, 0])",
        "`0.0` may become a tensor",
    ),
    "a condition that the turn changes": (
        "if y.sum() > i:\n    continue\ny[i] = x[i]\ny[0] = x[1]",
        "skipped = y.sum() > i\ny[i] = torch.where(skipped, y[i], x[i])\ny[0] = torch.where(skipped, y[0], x[1])",
        "can be computed",
    ),
}

LEFT_ALONE = {
    "something is appended": (
        "if x.sum() > i:\n    continue\nseen.append(x)",
        "more than assignments: `seen.append(x)`",
    ),
    "something is printed": ("if x.sum() > i:\n    continue\ny = y + x\nprint(i)", "more than assignments: `print(i)`"),
    "an attribute": ("if x.sum() > i:\n    continue\nself.y = y + x", "more than assignments"),
    "what grows from turn to turn": (
        "if x.sum() > i:\n    continue\nrow = x[0].exp()\nx = x + row",
        "`x + row` is computed from the last iteration's `x`",
    ),
    "a product with a function of itself": ("if x.sum() > i:\n    continue\nx = x * x.exp()", "may not be finite"),
    "rows that grow": ("if x.sum() > i:\n    continue\ny[0] = y[1].exp()", "the last iteration's `y`"),
    "two at once": ("if x.sum() > i:\n    continue\ny, z = x, x", "more than assignments"),
    "an inner loop": ("if x.sum() > i:\n    continue\nfor j in range(2):\n    y = y + x", "more than assignments"),
    "a branch": ("if x.sum() > i:\n    continue\nif i:\n    y = y + x", "more than assignments"),
    "a return": ("if x.sum() > i:\n    continue\nreturn y", "more than assignments: `return y`"),
    "a break": ("if x.sum() > i:\n    continue\nbreak", "more than assignments: `break`"),
    "two on a line": ("if x.sum() > i:\n    continue\ny = y + x; z = y", "more than assignments"),
    "more than `continue`": ("if x.sum() > i:\n    y = y + 1\n    continue\ny = y + x", "`continue` skips the rest"),
    "an `else`": ("if x.sum() > i:\n    continue\nelse:\n    y = y + 1\ny = y + x", "`continue` skips the rest"),
    "deeper": ("if i:\n    if x.sum() > i:\n        continue\ny = y + x", "`continue` skips the rest"),
    "random numbers": ("if x.sum() > i:\n    continue\ny = y + torch.rand_like(x)", "draws random numbers"),
    "dropout": ("if x.sum() > i:\n    continue\ny = y + torch.dropout(x, 0.1, True)", "random"),
    "a function that nobody knows": ("if x.sum() > i:\n    continue\ny = y + g(x)", "not known what `g(x)` does"),
    "a value that is read": ("if x.sum() > i:\n    continue\ny = y * x.max().item()", "on the host"),
    "a shape by value": ("if x.sum() > i:\n    continue\ny = y + x[: t[0]].sum()", "depends on a tensor's value"),
    "a change in place": ("if x.sum() > i:\n    continue\ny = y.add_(x)", "in place"),
    "a factor in place": ("if x.sum() > i:\n    continue\ny *= x", "may change a tensor in place"),
    "in place, for the turn": (
        "if x.sum() > i:\n    continue\nz = x[0]\nz += 1\ny = y + z",
        "may change a tensor in place",
    ),
    "a name twice": ("if x.sum() > i:\n    continue\ny = y + x\ny = y * 2", "assigned twice"),
    "a name that may be unset": ("if x.sum() > i:\n    continue\nlast = x", "not known what `last` is"),
    "a mask as index": ("if x.sum() > i:\n    continue\ny[x > 0] = 1.0", "indexed by more than numbers"),
    "places as index": ("if x.sum() > i:\n    continue\ny[t] = x", "indexed by more than numbers"),
    "a dictionary": ("if x.sum() > i:\n    continue\nkept[i] = x", "is a tensor in every call"),
    "on the host as well": ("if i and x.sum() > i:\n    continue\ny = y + x", "known on the host"),
    "None at first": ("if x.sum() > i:\n    continue\nbest = x", "may be None"),
    "a number that is an index": ("if x.sum() > i:\n    continue\nk += 1", "used as a Python number"),
}

BEFORE = {
    "something is appended": "seen = []\n",
    "a dictionary": "kept = {}\n",
    "None at first": "best = None\n",
    "a number that is an index": "k = 0\n",
}
AFTER = {
    "a name that may be unset": "return y + last",
    "None at first": "return best",
    "a number that is an index": "return x[k]",
}


@pytest.mark.parametrize(("before", "after"), SAFE.values(), ids=SAFE)
def test_safe(before: str, after: str) -> None:
    expect_fixed(
        outcome(turn(before, "x = x * 0.5\n", "return -x"), "XLA101"), turn(after, "x = x * 0.5\n", "return -x"), "safe"
    )


@pytest.mark.parametrize(("before", "after", "assumed"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str, assumed: str) -> None:
    end = "return y + x"
    expect_fixed(outcome(turn(before, after=end), "XLA101"), turn(after, after=end), "unsafe", assumed)


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_left_alone_with_a_reason(name: str) -> None:
    before, why = LEFT_ALONE[name]
    expect_left_alone(outcome(turn(before, BEFORE.get(name, ""), AFTER.get(name, "return y")), "XLA101"), why)


def test_what_grows_without_gradients() -> None:
    before = "with torch.no_grad():\n    y = x * 2\n    for i in range(4):\n        {}\nreturn y"
    made = outcome(body(before.format("if y.sum() > i:\n            continue\n        y = y.exp()")), "XLA101")
    assert made.text == body(before.format("y = torch.where(y.sum() > i, y, y.exp())"))


def test_a_number_that_becomes_a_tensor() -> None:
    before = "total, count = 0, 0\nfor i in range(4):\n    {}\nreturn total / count"
    made = outcome(
        body(before.format("if x[i].sum() > i:\n        continue\n    total = total + x[i]\n    count += 1")), "XLA101"
    )
    after = "skipped = x[i].sum() > i\n    total = torch.where(skipped, total, total + x[i])\n    count += torch.where(skipped, 0, 1)"
    assert made.text == body(before.format(after))
    assert "a tensor works where this was a Python number" in made.message


def test_one_after_the_other() -> None:
    before = "if x.sum() > i:\n    continue\nz = x * i\nif z.sum() > 2:\n    continue\ny = y + z"
    made = outcome(turn(before), "XLA101")
    assert "skips more" in made.reason
    assert "continue\nz" not in made.text.replace(" ", "")


def test_jax() -> None:
    program = (
        "import jax\nimport jax.numpy as jnp\n\n\n@jax.jit\ndef f(x: jax.Array) -> jax.Array:\n"
        "    y = jnp.zeros(3)\n    for i in range(4):\n        {}\n    return y\n"
    )
    made = outcome(
        program.format("if x[i].sum() > 0:\n            continue\n        y = y + x[i]"), "XLA101", target="jax"
    )
    assert made.text == program.format("y = jnp.where(x[i].sum() > 0, y, y + x[i])")
