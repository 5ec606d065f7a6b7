"""Loops that pick from each row by an index of its own."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import body, expect_fixed, outcome

_RANKED = "x = torch.relu(x.view(4, 5, 6))\nn = x.sum(-1).argmax(1)\n"
_LOOP = "for i in range(x.shape[0]):\n    "
_EVERY = "torch.arange(x.shape[0], device=x.device)"

FIXED = {
    "a stack": (
        "XLA208",
        f"{_RANKED}return torch.stack([x[i, n[i]] for i in range(x.shape[0])])",
        f"{_RANKED}return x[{_EVERY}, n]",
    ),
    "a stack along dimension 0": (
        "XLA208",
        f"{_RANKED}return torch.stack([x[i, n[i], :3] for i in range(len(x))], dim=0) + 1",
        f"{_RANKED}return x[torch.arange(len(x), device=x.device), n, :3] + 1",
    ),
    "behind a slice": (
        "XLA208",
        f"{_RANKED}return torch.stack([x[i, :, n[i]] for i in range(len(n))])",
        f"{_RANKED}return x[torch.arange(len(n), device=x.device), :, n]",
    ),
    "a number before": (
        "XLA301",
        "return torch.stack([x[i, n[i].item() - 1] for i in range(x.shape[0])])",
        f"return x[{_EVERY}, n - 1]",
    ),
    "a row, then its element": (
        "XLA301",
        "return torch.stack([x[i][int(n[i])] for i in range(x.shape[0])])",
        f"return x[{_EVERY}, n]",
    ),
    "a list of numbers": (
        "XLA302",
        "return torch.stack([x[i, k - 1] for i, k in enumerate(n.tolist())])",
        "return x[torch.arange(n.shape[0], device=x.device), n - 1]",
    ),
    "rows and numbers": (
        "XLA302",
        "return torch.stack([row[k] for row, k in zip(x, n.tolist())])",
        f"return x[{_EVERY}, n]",
    ),
    "rows that are appended": (
        "XLA301",
        f"rows = []\n{_LOOP}rows.append(x[i, n[i].item()])\nreturn torch.stack(rows)",
        f"return x[{_EVERY}, n]",
    ),
    "with a name for the place": (
        "XLA301",
        f"y = x * 2\nrows = []\n{_LOOP}k = int(n[i]) - 1\n    rows.append(y[i, k])\nz = torch.stack(rows)\nreturn z + 1",
        "y = x * 2\nz = y[torch.arange(x.shape[0], device=y.device), n - 1]\nreturn z + 1",
    ),
    "what is written": (
        "XLA301",
        f"y = torch.zeros_like(x)\n{_LOOP}y[i] = x[i, n[i].item()]\nreturn y",
        f"y = torch.zeros_like(x)\ny[:] = x[{_EVERY}, n]\nreturn y",
    ),
    "what is written into a part": (
        "XLA301",
        f"{_LOOP}t[i] = x[i, n[i].item()]\nreturn t",
        f"t[: x.shape[0]] = x[{_EVERY}, n]\nreturn t",
    ),
    "rows of a new tensor": (
        "XLA208",
        f"{_RANKED}b = x.shape[0]\ny = torch.empty(b, 6)\nfor i in range(b):\n    y[i] = x[i, n[i]]\nreturn y",
        f"{_RANKED}b = x.shape[0]\ny = torch.empty(b, 6)\ny[:] = x[torch.arange(b, device=x.device), n]\nreturn y",
    ),
}

LEFT_ALONE = {
    "more in a turn": ("XLA301", f"{_LOOP}print(i)\n    t[i] = x[i, n[i].item()]\nreturn t"),
    "a branch in a turn": ("XLA301", f"{_LOOP}if i:\n        t[i] = x[i, n[i].item()]\nreturn t"),
    "a number behind the loop": ("XLA301", f"{_LOOP}t[i] = x[i, n[i].item()]\nreturn t + i"),
    "a place behind the loop": ("XLA301", f"{_LOOP}k = n[i].item()\n    t[i] = x[i, k]\nreturn t + k"),
    "an `else`": ("XLA301", f"{_LOOP}t[i] = x[i, n[i].item()]\nelse:\n    t = t + 1\nreturn t"),
    "two places": ("XLA301", f"{_LOOP}t[i] = x[i, n[i].item(), n[i].item()]\nreturn t"),
    "another row": ("XLA301", f"{_LOOP}t[i] = x[i + 1, n[i].item()]\nreturn t"),
    "another row's place": ("XLA301", f"{_LOOP}t[i] = x[i, n[i + 1].item()]\nreturn t"),
    "another row that is written": ("XLA301", f"{_LOOP}t[i + 1] = x[i, n[i].item()]\nreturn t"),
    "a part of a row that is written": ("XLA301", f"{_LOOP}t[i, 0] = x[i, n[i].item()]\nreturn t"),
    "what is read is written": ("XLA301", f"{_LOOP}x[i] = x[i, n[i].item()]\nreturn x"),
    "what it gives is worked on": ("XLA301", f"{_LOOP}t[i] = x[i, n[i].item()] * 2\nreturn t"),
    "what is added to": ("XLA301", f"{_LOOP}t[i] += x[i, n[i].item()]\nreturn t"),
    "a place that is scaled": ("XLA301", f"{_LOOP}t[i] = x[i, n[i].item() * 2]\nreturn t"),
    "a place that is moved by the number": ("XLA301", f"{_LOOP}t[i] = x[i, n[i].item() + i]\nreturn t"),
    "a slice by the number": ("XLA301", f"{_LOOP}t[i] = x[i, n[i].item(), :i]\nreturn t"),
    "floats as places": ("XLA301", f"n = n.float()\n{_LOOP}t[i] = x[i, int(n[i])]\nreturn t"),
    "rows from 1 on": ("XLA301", "for i in range(1, 4):\n    t[i] = x[i, n[i].item()]\nreturn t"),
    "every second row": ("XLA301", "for i in range(0, 4, 2):\n    t[i] = x[i, n[i].item()]\nreturn t"),
    "a computed tensor": ("XLA301", f"{_LOOP}t[i] = x.exp()[i, n[i].item()]\nreturn t"),
    "a stack along another dimension": ("XLA301", "return torch.stack([x[i, n[i].item()] for i in range(4)], dim=1)"),
    "a concatenation": ("XLA301", "return torch.cat([x[i, n[i].item()] for i in range(4)])"),
    "a list": ("XLA301", "return [x[i, n[i].item()] for i in range(4)]"),
    "some rows": ("XLA301", "return torch.stack([x[i, n[i].item()] for i in range(4) if i])"),
    "two loops": ("XLA301", "return torch.stack([x[i, n[i].item()] for i in range(4) for j in range(2)])"),
    "rows that are used again": (
        "XLA301",
        f"rows = []\n{_LOOP}rows.append(x[i, n[i].item()])\nreturn torch.stack(rows), rows",
    ),
    "rows behind others": (
        "XLA301",
        f"rows = [t]\n{_LOOP}rows.append(x[i, n[i].item()])\nreturn torch.stack(rows)",
    ),
    "rows that are stacked later": (
        "XLA301",
        f"rows = []\n{_LOOP}rows.append(x[i, n[i].item()])\nx += 1\nreturn torch.stack(rows)",
    ),
    "an enumeration from 1 on": ("XLA302", "return torch.stack([x[i, k] for i, k in enumerate(n.tolist(), 1)])"),
}


@pytest.mark.parametrize(("code", "before", "after"), FIXED.values(), ids=FIXED)
def test_unsafe(code: str, before: str, after: str) -> None:
    expect_fixed(outcome(body(before), code), body(after), "unsafe", "within it")


@pytest.mark.parametrize(("code", "before"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(code: str, before: str) -> None:
    made = outcome(body(before), code)
    assert "torch.arange" not in made.text
    assert made.fix is None


def test_what_is_assumed() -> None:
    made = outcome(body(f"{_LOOP}t[i] = x[i, n[i].item()]\nreturn t"), "XLA301")
    for assumed in (
        "has one dimension",
        "one element for each iteration",
        "shares no memory",
        "a row of `t` has the shape",
    ):
        assert assumed in made.message
    made = outcome(body(f"{_RANKED}return torch.stack([x[i, n[i]] for i in range(len(n))])"), "XLA208")
    assert "one dimension" not in made.message
    assert "for each iteration" not in made.message
