"""XLA206: loops that pool the first elements of each row."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import body, expect_fixed, outcome

LOOP = "for i, k in enumerate(n.sum(1)):\n"
MEAN = "    a.append(x[i, :k].mean(dim=0))\n"
STD = "    b.append(x[i, :k].std(dim=0))\n"
LEFT_ALONE = {
    "a list that is not stacked": f"a = []\n{LOOP}{MEAN}return a",
    "a list that holds something": f"a = [x[0, 0]]\n{LOOP}{MEAN}a = torch.stack(a)\nreturn a",
    "stacked along another dimension": f"a = []\n{LOOP}{MEAN}a = torch.stack(a, 1)\nreturn a",
    "a mean of everything": f"a = []\n{LOOP}    a.append(x[i, :k].mean())\na = torch.stack(a)\nreturn a",
    "a mean along another dimension": f"a = []\n{LOOP}    a.append(x[i, :k].mean(dim=1))\na = torch.stack(a)\nreturn a",
    "elements from the length on": f"a = []\n{LOOP}    a.append(x[i, k:].mean(dim=0))\na = torch.stack(a)\nreturn a",
    "a row that is used afterwards": f"a = []\n{LOOP}{MEAN}a = torch.stack(a)\nreturn a, i",
    "another row": f"a = []\n{LOOP}    a.append(x[i + 1, :k].mean(dim=0))\na = torch.stack(a)\nreturn a",
    "more in the loop": f"a = []\n{LOOP}{MEAN}    x = x * 2\na = torch.stack(a)\nreturn a",
    "of two tensors": (
        f"a = []\nb = []\n{LOOP}{MEAN}    b.append(t[i, :k].mean(dim=0))\na = torch.stack(a)\nb = torch.stack(b)\nreturn a, b"
    ),
    "something between": f"a = []\n{LOOP}{MEAN}x = x * len(a)\na = torch.stack(a)\nreturn a, x",
}
WITHIN = "within = torch.arange(x.shape[1], device=x.device) < n.sum(1)[:, None]\ncount = within.sum(1, keepdim=True)\n"
SUM = "torch.where(within[..., None], x, 0).sum(1) / count\n"
UNSAFE = {
    "a mean": (f"a = []\n{LOOP}{MEAN}a = torch.stack(a)\nreturn a", f"{WITHIN}a = {SUM}return a"),
    "a mean and a deviation": (
        f"a = []\nb = []\n{LOOP}{MEAN}{STD}a = torch.stack(a)\nb = torch.stack(b, dim=0)\nreturn a, b",
        f"{WITHIN}a = {SUM}b = (torch.where(within[..., None], x - a[:, None], 0).square().sum(1) / (count - 1)).sqrt()\n"
        "return a, b",
    ),
    "a deviation alone": (
        f"b = []\n{LOOP}{STD}b = torch.stack(b)\nreturn b",
        f"{WITHIN}mean = {SUM}b = (torch.where(within[..., None], x - mean[:, None], 0).square().sum(1) / (count - 1)).sqrt()\n"
        "return b",
    ),
}


@pytest.mark.parametrize("code", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(code: str) -> None:
    assert outcome(body(code), "XLA206").text == body(code)


@pytest.mark.parametrize(("before", "after"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str) -> None:
    expect_fixed(outcome(body(before), "XLA206"), body(after), "unsafe", "a length for each row")
