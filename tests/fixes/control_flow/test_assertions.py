"""Checks of values: what stays, what goes, and what is said of it."""

from __future__ import annotations

import pytest

from tests.fixes.control_flow.programs import module
from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

LEFT_ALONE = {
    "a check of what is no tensor in some calls": (
        "z = x.sum() if ok else 3\nassert z > 0\nreturn x",
        "XLA103",
        "not a tensor in every call",
    ),
    "a check that the host decides on": ("assert ok or (x > 0).all()\nreturn x", "XLA103", "decides on the host"),
    "a value that is named": (
        "if (bad := torch.isnan(x).any()):\n    raise ValueError('NaN')\nreturn x * bad",
        "XLA103",
        "no rewrite",
    ),
    "an assertion with words": ("assert (x > 0).all(), 'positive'\nreturn x", "XLA103", "for people to read"),
    "a raise with words": (
        "if (x < 0).any():\n    raise ValueError('negative')\nreturn x",
        "XLA103",
        "for people to read",
    ),
    "an assertion against NaN": ("assert not torch.isnan(x).any()\nreturn x", "XLA103", "is not finite"),
    "an assertion of finite numbers": ("assert x.isfinite().all()\nreturn x", "XLA103", "is not finite"),
    "a raise at NaN": ("if torch.isnan(x).any():\n    raise RuntimeError\nreturn x", "XLA103", "is not finite"),
    "a warning": (
        "import warnings\nif torch.isnan(x).any():\n    warnings.warn('NaN')\nreturn x",
        "XLA101",
        "warns of what is wrong",
    ),
    "a warning or an exception": (
        "import warnings\nif (x < 0).any():\n    if ok:\n        raise ValueError('negative')\n    else:\n"
        "        warnings.warn('negative')\nreturn x",
        "XLA101",
        "for people to read",
    ),
    "two statements on a line": ("x = x + 1; assert (x > 0).all()\nreturn x", "XLA103", "a line of its own"),
    "a warning with an else": (
        "if torch.isnan(x).any():\n    raise ValueError('NaN')\nelse:\n    x = x * 2.0\nreturn x",
        "XLA101",
        "the branch raises",
    ),
}

DROPPED = {
    "an assertion": ("assert (x > 0).all()\nreturn x", "return x"),
    "an assertion that the host makes in part": (
        "assert x.ndim == 2 and (x > 0).all()\nreturn x",
        "assert x.ndim == 2\nreturn x",
    ),
    "a raise": ("# why\nif (x < 0).any():\n    raise ValueError\nreturn x", "return x"),
    "a raise that the host decides on in part": (
        "if x.ndim != 2 or (x < 0).any():\n    raise ValueError\nreturn x",
        "if x.ndim != 2:\n    raise ValueError\nreturn x",
    ),
    "a raise under what the host knows": (
        "if ok and (x < 0).any():\n    raise ValueError\nreturn x",
        "return x",
    ),
    "a raise behind another": (
        "if x.ndim != 2:\n    raise ValueError('rank')\nelif (x < 0).any():\n    raise ValueError\nreturn x",
        "if x.ndim != 2:\n    raise ValueError('rank')\nreturn x",
    ),
    "all that an if does": ("if ok:\n    assert (x > 0).all()\nreturn x", "return x"),
    "all that an if does, with what is computed for it": (
        "if ok:\n    # sums\n    s = x.sum()\n    assert s > 0\nreturn x",
        "return x",
    ),
    "all that an if does before an else, with what is computed for it": (
        "if ok:\n    s = x.sum()\n    assert s > 0\nelse:\n    x = x - 1\nreturn x",
        "if ok:\n    pass\nelse:\n    x = x - 1\nreturn x",
    ),
    "all that an else does, with what is computed for it": (
        "if ok:\n    x = x + 1\nelse:\n    s = x.sum()\n    assert s > 0\nreturn x",
        "if ok:\n    x = x + 1\nreturn x",
    ),
    "all that a loop does": ("for _ in range(2):\n    assert (x > 0).all()\nreturn x", "return x"),
    "all that a loop does whose variable a later loop binds anew": (
        "for i in range(2):\n    assert (x > i).all()\nfor i in range(2):\n    x = x * i\nreturn x",
        "for i in range(2):\n    x = x * i\nreturn x",
    ),
    "all that a loop does whose variable a later loop goes over": (
        "for i in range(2):\n    assert (x > i).all()\nfor i in range(i):\n    x = x * 2\nreturn x",
        "for i in range(2):\n    pass\nfor i in range(i):\n    x = x * 2\nreturn x",
    ),
    "all that a loop does that leaves something": (
        "for i in range(2):\n    assert (x > i).all()\nreturn x * i",
        "for i in range(2):\n    pass\nreturn x * i",
    ),
    "all that a loop over something that is used up does": (
        "for i in iter(ok):\n    assert (x > i).all()\nreturn x",
        "for i in iter(ok):\n    pass\nreturn x",
    ),
    "all that an else does": (
        "if ok:\n    x = x + 1\nelse:\n    # why\n    assert (x > 0).all()\nreturn x",
        "if ok:\n    x = x + 1\nreturn x",
    ),
    "all that an elif does": (
        "if ok:\n    x = x + 1\nelif x.ndim == 2:\n    assert (x > 0).all()\nelse:\n    x = x - 1\nreturn x",
        "if ok:\n    x = x + 1\nelif x.ndim == 2:\n    pass\nelse:\n    x = x - 1\nreturn x",
    ),
    "a call that checks": ("torch._assert((x > 0).all(), 'positive')\nreturn x", "return x"),
    "a paragraph of checks": (
        "y = x\n\nassert (x > 0).all()\nassert (x < 9).all()\nif (x == 5).any():\n    raise ValueError\n\nreturn y",
        "y = x\n\nreturn y",
    ),
    "blank lines around": ("y = x\n\nassert (x > 0).all()\n\nreturn y", "y = x\n\nreturn y"),
    "comments of a paragraph above": (
        "y = x\n# about it all\n\n# why\n# so\nassert (x > 0).all()\nreturn y",
        "y = x\n# about it all\n\nreturn y",
    ),
    "the end of a block": (
        "if ok:\n    y = x\n\n    assert (x > 0).all()\n\nreturn y",
        "if ok:\n    y = x\n\nreturn y",
    ),
}

TOLD = {
    "a print": ("if torch.isnan(x).any():\n    print('NaN')\nreturn x", "return x"),
    "a note": (
        "import logging\nlogger = logging.getLogger()\nif (x < 0).any():\n    logger.debug('negative')\nreturn x",
        "import logging\nlogger = logging.getLogger()\nreturn x",
    ),
}


def computing(body: str) -> str:
    """Make a module that checks what it computed, not what it was given."""
    return module(f"x = x * 2.0\n{body}")


@pytest.mark.parametrize(("before", "code", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(before: str, code: str, why: str) -> None:
    expect_left_alone(outcome(computing(before), code), why)


@pytest.mark.parametrize(("before", "after"), DROPPED.values(), ids=DROPPED)
def test_dropped_unsafely(before: str, after: str) -> None:
    expect_fixed(outcome(computing(before), "XLA103"), computing(after), "unsafe", "nothing checks any more")


@pytest.mark.parametrize(("before", "after"), TOLD.values(), ids=TOLD)
def test_what_only_tells_of_values_goes(before: str, after: str) -> None:
    expect_fixed(outcome(computing(before), "XLA101"), computing(after), "unsafe")


def test_asynchronous_under_torch_compile() -> None:
    before = "if torch.isnan(x).any():\n    raise ValueError('NaN')\nreturn x"
    made = outcome(computing(before), "XLA103", target="torch_compile")
    assert made.text == computing("torch._assert_async(~torch.isnan(x).any(), 'NaN')\nreturn x")
    assert "RuntimeError" in made.message
