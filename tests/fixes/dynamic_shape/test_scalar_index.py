"""XLA208: what becomes of an index that is a 0-d tensor."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import fixed

HEAD = "import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:\n    n = y.argmax()\n"

LEFT = {
    "a tensor for each row": "x[:, n] = y",
    "a tensor that is added": "x[n] += y",
    "a number behind": "return x[n, 0] + 1",
    "a dimension that is new": "return x[None, n] + 1",
    "all dimensions before": "return x[..., n] + 1",
    "another tensor besides": "return x[n, y.long()] + 1",
    "perhaps a number": "n = n if x.ndim > 2 else 3\n    return x[n] + 1",
    "a list": "return [x, y][n]",
    "a number": "return x[k] + 1",
    "an element of a tensor that a loop goes through": "for n in y.argsort():\n        k = n + 1\n        x[k] = 0",
    "with dimensions": "return x[n[None]] + 1",
    "beside a list": "rows = [x, y]\n    z = x[n] * 2\n    return z + rows[n]",
    "beside what is not known": "z = x[n] * 2\n    w = k.weights[n]\n    return z + w",
}


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_left_alone(body: str) -> None:
    text = f"{HEAD}    {body}\n"
    assert fixed(text)[0] == text


CHANGED = {
    "beside a list that another index picks of": (
        "rows = [x, y]\n    return x[n] * 2 + rows[k]",
        "rows = [x, y]\n    return x[n[None]].squeeze(0) * 2 + rows[k]",
        "safe",
    ),
    "an operand": ("return x[n] * 2", "return x[n[None]].squeeze(0) * 2", "safe"),
    "an element of a vector": (
        "v = x.sum(1)[:, 0]\n    return v[n] * 2",
        "v = x.sum(1)[:, 0]\n    return v[n[None]].squeeze(0) * 2",
        "safe",
    ),
    "an element of a known vector": (
        "v = torch.linspace(0, 1, 9)\n    return v[n] * 2",
        "v = torch.linspace(0, 1, 9)\n    return v.take(n) * 2",
        "safe",
    ),
    "a row of a vector": (
        "v = torch.linspace(0, 1, 9)\n    return v[n].unsqueeze(0) * 2",
        "v = torch.linspace(0, 1, 9)\n    return v[n[None]] * 2",
        "safe",
    ),
    "an element by a sum": (
        "v = torch.linspace(0, 1, 9)\n    return v[n + 1] * 2",
        "v = torch.linspace(0, 1, 9)\n    return v.take(n + 1) * 2",
        "safe",
    ),
    "behind slices": ("return x[:, 1:, n] * 2", "return x[:, 1:, n[None]].squeeze(2) * 2", "safe"),
    "before slices": ("return x[n, 1:] * 2", "return x[n[None], 1:].squeeze(0) * 2", "safe"),
    "a sum": ("return x[n].sum()", "return x[n[None]].squeeze(0).sum()", "safe"),
    "arithmetic": ("return x[n + 1] * 2", "return x[(n + 1)[None]].squeeze(0) * 2", "safe"),
    "widened again": ("return x[n].unsqueeze(0) * 2", "return x[n[None]] * 2", "safe"),
    "widened by a function": (
        "return torch.cat((x, torch.unsqueeze(x[n], 0)))",
        "return torch.cat((x, x[n[None]]))",
        "safe",
    ),
    "widened elsewhere": ("return x[n].unsqueeze(1) * 2", "return x[n[None]].squeeze(0).unsqueeze(1) * 2", "safe"),
    "kept": ("return x[n]", "return x[n[None]].squeeze(0)", "unsafe"),
    "what may be the same dtype": ("return x[n].float().sum()", "return x[n[None]].squeeze(0).float().sum()", "safe"),
    "what is cast and written": (
        "row = x[n].half()\n    row[0] = 5\n    return x",
        "row = x[n[None]].squeeze(0).half()\n    row[0] = 5\n    return x",
        "unsafe",
    ),
    "whole numbers as floats": (
        "x = x.long()\n    return x[n].float()",
        "x = x.long()\n    return x[n[None]].squeeze(0).float()",
        "safe",
    ),
    "a number assigned": ("x[n] = 0", "x[n[None]] = 0", "safe"),
    "a number added": ("x[:, n] += 1", "x[:, n[None]] += 1", "safe"),
    "a tensor of perhaps another dtype": ("x[n] = y", "x[n[None]] = y", "unsafe"),
    "a tensor of the same dtype": ("x[n] = y.to(x.dtype)", "x[n[None]] = y.to(x.dtype)", "safe"),
    "bools or integers": (
        "n = y.max()\n    return x[n] * 2",
        "n = y.max()\n    return x[n[None]].squeeze(0) * 2",
        "unsafe",
    ),
}


@pytest.mark.parametrize(("before", "after", "applicability"), CHANGED.values(), ids=CHANGED)
def test_changed(before: str, after: str, applicability: str) -> None:
    text, done = fixed(f"{HEAD}    {before}\n")
    assert text == f"{HEAD}    {after}\n"
    assert [finding.fix.applicability for finding in done.findings if finding.fix] == [applicability]
    assert fixed(text)[0] == text
