"""The last selected element of each row becomes a gather: what is rewritten, and what is left."""

from __future__ import annotations

import textwrap

import pytest

from tests.fixes.fixing import append_indented, expect_settled, fixed

HEAD = """
import torch


def check(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def classify(hidden: torch.Tensor, tokens: torch.Tensor, end: int) -> torch.Tensor:
    mask = tokens.eq(end)
"""

GATHER = """
    last = (mask * torch.arange(mask.shape[1], device=mask.device)).argmax(1)
    rows = hidden[torch.arange(hidden.shape[0], device=hidden.device), last]
    return rows * 2
"""

REWRITTEN = {
    "at once": """
        rows = hidden[mask, :].view(hidden.size(0), -1, hidden.size(-1))[:, -1, :]
        return rows * 2
        """,
    "by a name that is checked": """
        selected = hidden[mask, :]
        check(selected.shape[0] // hidden.shape[0] >= 1, "one at least")
        rows = selected.view(hidden.size(0), -1, hidden.size(-1))[:, -1, :]
        return rows * 2
        """,
    "by other words": """
        rows = hidden[mask].reshape(hidden.shape[0], -1, 8)[:, -1]
        return rows * 2
        """,
}

LEFT = {
    "the first": "rows = hidden[mask, :].view(hidden.size(0), -1, hidden.size(-1))[:, 0, :]\nreturn rows",
    "all of them": "rows = hidden[mask, :].view(hidden.size(0), -1, hidden.size(-1))\nreturn rows",
    "another view": "rows = hidden[mask, :].view(-1, 2, hidden.size(-1))[:, -1, :]\nreturn rows",
    "the name is used": "selected = hidden[mask, :]\n"
    "rows = selected.view(hidden.size(0), -1, hidden.size(-1))[:, -1, :]\nreturn rows, selected",
    "the mask changes": "selected = hidden[mask, :]\nmask = ~mask\n"
    "rows = selected.view(hidden.size(0), -1, hidden.size(-1))[:, -1, :]\nreturn rows * mask",
    "one column": "rows = hidden[mask, 0].view(hidden.size(0), -1, 1)[:, -1, :]\nreturn rows",
}


UNKNOWN = "hidden = hidden * 2 if end else unknown(tokens)\n"
OTHER = "hidden = hidden * 2 if end else [tokens]\n"
ARRAY = "hidden = hidden * 2 if end else jnp.ones((2, 3, 4))\n"
ROWS = "rows = hidden[mask, :].view(hidden.size(0), -1, hidden.size(-1))[:, -1, :]\nreturn rows * 2"


def program(body: str) -> str:
    return append_indented(HEAD.lstrip(), textwrap.dedent(body).strip())


@pytest.mark.parametrize("name", REWRITTEN)
def test_rewritten(name: str) -> None:
    expect_settled(program(REWRITTEN[name]), f"{HEAD.strip()}\n{GATHER.strip(chr(10))}\n")
    assert fixed(program(REWRITTEN[name]), unsafe=False)[0] == program(REWRITTEN[name])


@pytest.mark.parametrize("name", LEFT)
def test_left(name: str) -> None:
    assert "argmax" not in fixed(program(LEFT[name]))[0]


def test_of_what_may_be_anything() -> None:
    text, done = fixed(program(UNKNOWN + ROWS))
    assert text == f"{HEAD.strip()}\n    {UNKNOWN}{GATHER.strip(chr(10))}\n"
    assert "`hidden` is a tensor" in done.findings[0].fix.message  # type: ignore[union-attr]


def test_of_what_no_list_is_indexed_by() -> None:
    text, done = fixed(program(OTHER + ROWS))
    assert text == f"{HEAD.strip()}\n    {OTHER}{GATHER.strip(chr(10))}\n"
    assert "`hidden` is a tensor" in done.findings[0].fix.message  # type: ignore[union-attr]


def test_not_of_what_may_be_a_list() -> None:
    assert "argmax" not in fixed(program(OTHER + ROWS.replace("[mask, :]", "[mask]")))[0]


def test_not_of_what_may_be_an_array_of_another_framework() -> None:
    text = program(ARRAY + ROWS).replace("import torch\n", "import jax.numpy as jnp\nimport torch\n", 1)
    assert "argmax" not in fixed(text)[0]
