"""Variances and standard deviations of what a mask selects."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import body, expect_fixed, outcome

_HEAD = "x = torch.relu(x.view(3, 4))\nm = x > 0.5\n"
_MEAN = "mean = torch.where(m, x, 0).sum() / m.sum()\ndistances = torch.where(m, x - mean, 0)\n"
_BOTH = "distances.square().sum() / (m.sum() - 1).clamp(min=0)"
_ALL = "distances.square().sum() / m.sum()"

UNSAFE = {
    "a deviation": ("return x[m].std()", f"{_MEAN}return ({_BOTH}).sqrt()", "deviation of 0"),
    "a variance": ("return x[m].var()", f"{_MEAN}return {_BOTH}", "order in which"),
    "told to be unbiased": ("return x[m].var(unbiased=True)", f"{_MEAN}return {_BOTH}", "order in which"),
    "biased": ("return x[m].var(unbiased=False)", f"{_MEAN}return {_ALL}", "order in which"),
    "biased, by place": ("return x[m].std(False)", f"{_MEAN}return ({_ALL}).sqrt()", "deviation of 0"),
    "a correction of 0": ("return x[m].var(correction=0)", f"{_MEAN}return {_ALL}", "no larger than the dtype"),
    "a correction of 1": ("return x[m].var(correction=1)", f"{_MEAN}return {_BOTH}", "order in which"),
    "a function": ("return torch.var(x[m])", f"{_MEAN}return {_BOTH}", "order in which"),
    "a divisor": ("return x / x[m].var()", f"{_MEAN}return x / ({_BOTH})", "order in which"),
    "a summand": ("return x + x[m].var()", f"{_MEAN}return x + {_BOTH}", "order in which"),
    "a name": ("v = x[m].var()\nreturn v", f"{_MEAN}v = {_BOTH}\nreturn v", "order in which"),
    "a mask without a name": (
        "return x[x > 1].var()",
        "mask = x > 1\nmean = torch.where(mask, x, 0).sum() / mask.sum()\n"
        "distances = torch.where(mask, x - mean, 0)\n"
        "return distances.square().sum() / (mask.sum() - 1).clamp(min=0)",
        "order in which",
    ),
    "names that are taken": (
        "mean = x.mean()\nreturn x[m].var() - mean",
        "mean = x.mean()\nmean_2 = torch.where(m, x, 0).sum() / m.sum()\n"
        f"distances = torch.where(m, x - mean_2, 0)\nreturn {_BOTH} - mean",
        "order in which",
    ),
    "a difference": (
        "return (x[m] - y[m]).var()",
        f"mean = torch.where(m, x - y, 0).sum() / m.sum()\ndistances = torch.where(m, x - y - mean, 0)\nreturn {_BOTH}",
        "order in which",
    ),
    "a mask of rows": (
        "k = x.sum(1) > 0\nreturn x[k].var()",
        "k = x.sum(1) > 0\nmask = k[:, None]\ncount = k[:, None].expand_as(x).sum()\n"
        "mean = torch.where(mask, x, 0).sum() / count\ndistances = torch.where(mask, x - mean, 0)\n"
        "return distances.square().sum() / (count - 1).clamp(min=0)",
        "order in which",
    ),
    "within a block": (
        "if self.training:\n    return x[m].var()\nreturn x",
        "if self.training:\n    mean = torch.where(m, x, 0).sum() / m.sum()\n"
        f"    distances = torch.where(m, x - mean, 0)\n    return {_BOTH}\nreturn x",
        "order in which",
    ),
}

LEFT_ALONE = {
    "along a dimension": "return x[m].var(0)",
    "along a dimension by name": "return x[m].var(dim=0)",
    "a dimension that is kept": "return x[m].std(keepdim=True)",
    "a correction that varies": "return x[m].var(correction=int(self.k))",
    "a correction of 2": "return x[m].var(correction=2)",
    "a correction below 0": "return x[m].var(correction=-1)",
    "two options": "return x[m].var(dim=None, correction=0)",
    "behind what keeps zeros": "return x[m].abs().std()",
    "behind what does not": "return x[m].exp().std()",
    "in a condition": "if x[m].std() > 1:\n    x = x + 1\nreturn x",
    "in a ternary": "return x[m].std() if self.training else x",
    "behind `and`": "return self.training and x[m].std()",
    "in a lambda": "f = lambda: x[m].std()\nreturn f()",
    "in a comprehension": "return [x[m].std() for _ in range(2)]",
    "in a `while`": "while x[m].std() > 1:\n    x = x * 0.5\nreturn x",
    "two statements on a line": "a = 1; b = x[m].std()\nreturn b",
    "a random mask": "return x[torch.rand_like(x) > 0.5].std()",
    "a mask that is named there": "return x[(k := x > 1)].std()",
    "places": "return x[m.nonzero()[0]].std()",
    "whole numbers": "i = x.long()\nreturn i[m].std()",
    "a median": "return x[m].median()",
}


@pytest.mark.parametrize(("before", "after", "assumed"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str, assumed: str) -> None:
    head = f"{_HEAD}y = x * 2.0\n" if "y[" in before else _HEAD
    expect_fixed(outcome(body(head + before), "XLA201"), body(head + after), "unsafe", assumed)


@pytest.mark.parametrize("before", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(before: str) -> None:
    text = body(_HEAD + before)
    assert "distances" not in outcome(text, "XLA201" if "nonzero" not in before else "XLA202").text
