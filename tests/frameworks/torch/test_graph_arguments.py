"""Tensors where a function takes a number, under torch.compile: what the graph computes ends it, its arguments do not."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.torch.test_whole_graphs import WHOLE, found_in, made

ROOT = Path(__file__).parents[3]
TABLE = ROOT / "rules" / "apis" / "graph_arguments_generated.toml"
SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "api_tables" / "from_graph_arguments.py"))
QUIET = {
    "an argument as a size": "x = x.topk(n).values",
    "an argument of a function": "x = torch.arange(n) + x",
    "an argument as an axis": "x = torch.cat([x, x], n)",
    "an argument as an index": "x = x.select(0, n)",
    "an element up to an argument": "x = torch.narrow(x, 0, n, 2)",
    "bounds of what is drawn": "x = x + torch.linspace(0.0, n.max(), 5)",
    "positions of a known number": "x = x[: x.shape[0] // 2]",
    "a number": "x = torch.randint(0, x.shape[0], (3,))",
}
FOUND = {
    "a size": ("x = x.topk(n.max()).values", "XLA206"),
    "a size by a name": ("k = n + 1\n    x = torch.zeros(k) + x.sum()", "XLA206"),
    "an axis": ("x = torch.cat([x, x], n - 1)", "XLA206"),
    "an index": ("x = x.select(0, n.max())", "XLA208"),
    "the bounds of a draw": (
        "c = torch.randint(0, 9, (1,))[0]\n    x = torch.randint(c - 1, c + 1, (1,)) + x",
        "XLA301",
    ),
    "a number that fills": ("x = torch.full_like(x, n.sum())", "XLA301"),
    "a probability that is passed": ("x = torch.nn.functional.dropout(x, n)", "XLA301"),
    "a part": ("x = x[: n.max()]", "XLA206"),
    "a part up to an argument": ("x = x[:n]", "XLA206"),
    "parts": ("x = x[:, n.min() : n.max()]", "XLA206"),
    "a part that is assigned": ("x = x.clone()\n    x[: n.max()] = 0.0", "XLA206"),
}
WHOLE_FOUND = {
    "the start of a range": ("x = torch.arange(n.max(), 9) + x.sum()", "torch2.14"),
    "an axis": ("x = torch.cat([x, x], n - 1)", "torch2.14"),
    "the length of a range": ("x = torch.arange(n.max()) + x.sum()", "torch2.12"),
}


@pytest.mark.parametrize("body", QUIET.values(), ids=QUIET)
def test_quiet(body: str) -> None:
    assert found_in(made(body, "@torch.compile")) == {}


@pytest.mark.parametrize(("body", "code"), FOUND.values(), ids=FOUND)
def test_found(body: str, code: str) -> None:
    assert code in found_in(made(body, "@torch.compile"))


@pytest.mark.parametrize(("body", "release"), WHOLE_FOUND.values(), ids=WHOLE_FOUND)
def test_raises_in_one_graph(body: str, release: str) -> None:
    assert "raises an exception" in found_in(made(body, WHOLE), release)["XLA206"]


@pytest.mark.parametrize("body", ["x = torch.arange(n.max()) + x.sum()", "x = x.topk(n.max()).values", "x = x[:n]"])
def test_captured_in_one_graph(body: str) -> None:
    assert found_in(made(body, WHOLE)) == {}


def test_the_table_says_what_was_measured() -> None:
    outcomes = json.loads(SCRIPT["OUTCOMES"].read_text(encoding="utf-8"))
    assert list(outcomes) == list(SCRIPT["CALLS"])
    assert TABLE.read_text(encoding="utf-8") == SCRIPT["table"](outcomes)
