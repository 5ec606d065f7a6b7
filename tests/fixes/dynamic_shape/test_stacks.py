"""XLA208: parts that are picked one by one and stacked become one index."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import fixed

HEAD = """import torch


def f(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    t = y.view(-1).argsort()
    z = x.view(3, 4)
"""

LEFT = {
    "stacked elsewhere": "return torch.stack([z[:, t[i]] for i in range(k)])",
    "stacked in front": "return torch.stack([x[:, t[i]] for i in range(k)], dim=0)",
    "stacked last, of any rank": "return torch.stack([x[:, t[i]] for i in range(k)], dim=-1)",
    "stacked along what is not known": "return torch.stack([z[t[i]] for i in range(k)], dim=k)",
    "concatenated": "return torch.cat([z[t[i]] for i in range(k)])",
    "some of them": "return torch.stack([z[t[i]] for i in range(k) if i > 1])",
    "from another start": "return torch.stack([z[t[i]] for i in range(1, k)])",
    "in steps": "return torch.stack([z[t[i]] for i in range(0, k, 2)])",
    "another element": "return torch.stack([z[t[i + 1]] for i in range(k)])",
    "changed on the way": "return torch.stack([z[t[i]] * i for i in range(k)])",
    "of each turn's own tensor": "return torch.stack([z[i][t[i]] for i in range(k)])",
    "a window of each turn": "return torch.stack([z[t[i], i:] for i in range(k)])",
    "beside a number": "return torch.stack([z[0, t[i]] for i in range(k)])",
    "of a list": "rows = [x, y]\n    return torch.stack([rows[t[i]] for i in range(k)])",
    "a list": "return [z[t[i]] for i in range(k)]",
    "by numbers": "return torch.stack([z[:, i] for i in range(k)], dim=1)",
    "by a mask": "return torch.stack([z[t[i] > 0] for i in range(k)])",
    "twice over": "return torch.stack([z[t[i]] for i in range(k) for _ in range(2)])",
}

CHANGED = {
    "rows": ("torch.stack([x[t[i]] for i in range(k)])", "x[t[:k]]", "`t` has `k` elements or more"),
    "rows, dimension told": ("torch.stack([x[t[i]] for i in range(k)], dim=0)", "x[t[:k]]", "or more"),
    "columns": ("torch.stack([x[:, t[i]] for i in range(k)], 1)", "x[:, t[:k]]", "or more"),
    "last columns": ("torch.stack([z[:, t[i]] for i in range(k)], dim=-1)", "z[:, t[:k]]", "at least one"),
    "parts of rows": ("torch.stack([x[t[i], 1:] for i in range(k)])", "x[t[:k], 1:]", "or more"),
    "all of them": ("torch.stack([x[t[i]] for i in range(len(t))])", "x[t]", "`t` is not empty"),
    "all of them by the shape": ("torch.stack([x[t[i]] for i in range(t.shape[0])])", "x[t]", "not empty"),
    "gone through": ("torch.stack([x[:, j] for j in t], dim=1)", "x[:, t]", "`t` is not empty"),
    "a number of them": ("torch.stack([x[t[i]] for i in range(3)]) * 2", "x[t[:3]] * 2", "`t` has `3` elements"),
}


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_left_alone(body: str) -> None:
    before = f"{HEAD}    {body}\n"
    assert "t[:k]" not in fixed(before)[0]


@pytest.mark.parametrize(("before", "after", "assumed"), CHANGED.values(), ids=CHANGED)
def test_changed(before: str, after: str, assumed: str) -> None:
    text, done = fixed(f"{HEAD}    return {before}\n")
    assert text == f"{HEAD}    return {after}\n"
    assert [finding.fix.applicability for finding in done.findings if finding.fix] == ["unsafe"]
    assert assumed in done.findings[0].fix.message  # type: ignore[union-attr]
    assert fixed(text)[0] == text
