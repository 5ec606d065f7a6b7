"""`# xlalint: static[x]`: what it says of which name, through a whole check, and what is told of one that says nothing."""

from __future__ import annotations

from textwrap import dedent

import pytest

from xlalint.config import Settings
from xlalint.project import check_text


def found(text: str) -> list[tuple[str, int]]:
    report = check_text(dedent(text).lstrip(), "model.py", Settings())
    assert not report.failures
    return [(finding.code, finding.location.row) for finding in report.findings]


HEAD = "import torch\nimport jax\n\n\n@jax.jit\n"

LEFT_ALONE = {
    "another parameter of the line": (
        "def f(n, x):  # xlalint: static[n]\n    return x if x > 0 else n\n",
        [("XLA105", 7)],
    ),
    "another target": (
        "def f(x):\n    a, b = x + 1, x + 2  # xlalint: static[a]\n    return a if b > 0 else b\n",
        [("XLA105", 8)],
    ),
    "a name that is longer": ("def f(n, nn):  # xlalint: static[n]\n    return n if nn > 0 else n\n", [("XLA105", 7)]),
    "the next statement": (
        "def f(x):\n    a = x + 1  # xlalint: static[a]\n    a = x + 2\n    return a if a > 0 else x\n",
        [("XLA105", 9)],
    ),
    "a use": (
        "def f(x):\n    return x if x > 0 else -x  # xlalint: static[x]\n",
        [("XLA105", 7), ("XLA003", 7)],
    ),
    "a name that is not there": (
        "def f(n, x):  # xlalint: static[m]\n    return n if n > 0 else x\n",
        [("XLA003", 6), ("XLA105", 7)],
    ),
    "no name": ("def f(n, x):  # xlalint: static[]\n    return n if n > 0 else x\n", [("XLA003", 6), ("XLA105", 7)]),
    "a list without its end": (
        "def f(n, x):  # xlalint: static[n\n    return n if n > 0 else x\n",
        [("XLA003", 6), ("XLA105", 7)],
    ),
    "a decorator's line": (
        "@jax.jit  # xlalint: static[n]\ndef f(n, x):\n    return n if n > 0 else x\n",
        [("XLA003", 6), ("XLA105", 8)],
    ),
}


@pytest.mark.parametrize(("body", "expected"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_not_named_stays_what_it_is(body: str, expected: list[tuple[str, int]]) -> None:
    assert found(HEAD + body) == expected


TAUGHT = {
    "parameter": "def f(n, x):  # xlalint: static[n]\n    return x if n > 0 else -x\n",
    "several": "def f(n, m, x):  # xlalint: static[n, m]\n    return x if n > m else -x\n",
    "two comments": "def f(n, m, x):  # xlalint: static[n]  # xlalint: static[m]\n    return x if n > m else -x\n",
    "of several lines, behind the last": "def f(\n    n,\n    x,\n):  # xlalint: static[n]\n    return x if n > 0 else -x\n",
    "in a row of its own, above": "def f(\n    # xlalint: static[n]\n    n,\n    x,\n):\n    return x if n > 0 else -x\n",
    "keyword": "def f(x, *, n):  # xlalint: static[n] why\n    return x if n > 0 else -x\n",
    "assignment": "def f(x):\n    n = x.sum()  # xlalint: static[n]\n    return x if n > 0 else -x\n",
    "annotated": "def f(x):\n    n: object = x.sum()  # xlalint: static[n]\n    return x if n > 0 else -x\n",
    "target among others": "def f(x):\n    n, y = x.sum(), x  # xlalint: static[n]\n    return y if n > 0 else -y\n",
    "starred target": "def f(x):\n    (n, *y), z = (x.sum(), x), x  # xlalint: static[n]\n    return z if n > 0 else -z\n",
    "chain": "def f(x):\n    n = y = x.sum()  # xlalint: static[n]\n    return y if n > 0 else -y\n",
    "augmented": "def f(x):\n    n = x\n    n += 1  # xlalint: static[n]\n    return x if n > 0 else -x\n",
    "walrus": "def f(x):\n    if (n := x.sum()) > 0:  # xlalint: static[n]\n        return x\n    return n\n",
    "loop": "def f(x):\n    for n, y in ((x.sum(), x),):  # xlalint: static[n]\n        x = y if n > 0 else -y\n    return x\n",
}


@pytest.mark.parametrize("body", TAUGHT.values(), ids=TAUGHT)
def test_what_is_named_is_taught(body: str) -> None:
    assert found(HEAD + body) == []
    untaught = found(HEAD + body.replace("xlalint: static", "static"))
    assert [code for code, _ in untaught if code in ("XLA101", "XLA105")], "nothing is taught: the test says nothing"


def test_an_attribute() -> None:
    text = """
    import torch

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.n, y = x.sum(), x  # xlalint: static[self.n]
            return y if self.n > 0 else -y
    """
    assert found(text) == []
    assert found(text.replace("[self.n]", "[self.m]")) == [("XLA003", 5), ("XLA105", 6)]


def test_tensors_are_taught_too() -> None:
    text = "import torch\nfrom x import make\n\n\nclass M(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n"
    text += "        a, b = make(x)  # xlalint: tensor[b]\n        if a:\n            return x\n        return x if b else -x\n"
    assert found(text) == [("XLA105", 10)]


@pytest.mark.parametrize(
    ("comment", "says"),
    [
        (
            "static[limt]",
            "has no effect on `limt`: this statement neither assigns it nor has a parameter of that name; did you mean `limit`?",
        ),
        ("static[]", "it names no value"),
        ("static[limit", "it names no value"),
        ("static[limit]  # xlalint: tensor[limit]", "`limit`: another comment says what it is"),
    ],
)
def test_what_teaches_nothing_is_told(comment: str, says: str) -> None:
    report = check_text(f"limit = 1  # xlalint: {comment}\n", "model.py", Settings())
    (finding,) = report.findings
    assert finding.code == "XLA003"
    assert says in finding.message
    assert finding.fix is None
