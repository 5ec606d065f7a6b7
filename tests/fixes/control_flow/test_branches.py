"""XLA101: branches as `where`: what is left alone, what is rewritten, and on which conditions."""

from __future__ import annotations

import pytest

from tests.fixes.control_flow.programs import module
from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

LEFT_ALONE = {
    "a write to an attribute": ("if x.any():\n    self.seen = x\nreturn x", "writes `self.seen`"),
    "a call for its effect": ("if x.any():\n    self.tell(x)\nreturn x", "is evaluated for its side effect"),
    "a print among assignments": ("if x.any():\n    z = print(x)\n    x = x * 2.0\nreturn x", "writes"),
    "an append": ("out = []\nif x.any():\n    out.append(x)\nreturn x, out", "is evaluated for its side effect"),
    "random numbers": ("if x.any():\n    x = x + torch.randn_like(x)\nreturn x", "draws random numbers"),
    "dropout": ("if x.any():\n    x = nn.functional.dropout(x)\nreturn x", "draws random numbers"),
    "a change in place": ("if x.any():\n    x += 1.0\nreturn x", "in place"),
    "a method in place": ("if x.any():\n    x = x.mul_(2.0)\nreturn x", "changes a tensor in place"),
    "a store": ("if x.any():\n    x[0] = y[0]\nreturn x", "not just a sequence of assignments"),
    "a call that is not known": ("if x.any():\n    x = self.net(x)\nreturn x", "it is not known what"),
    "a value that the host reads": ("if x.any():\n    x = x * x.sum().item()\nreturn x", "reads a tensor on the host"),
    "what is NaN where it is not chosen": (
        "s = y.var()\nif torch.isnan(s):\n    s = 0.0\nreturn x.sum() + s",
        "its gradient would be NaN even if it is not chosen",
    ),
    "what is not chosen where all is finite": (
        "if not torch.isfinite(x).all():\n    x = torch.zeros_like(x)\nreturn x",
        "its gradient would be NaN even if it is not chosen",
    ),
    "the like by a name": (
        "s = y.log()\nbad = s.isinf().any()\nif bad:\n    s = x\nreturn x + s",
        "its gradient would be NaN even if it is not chosen",
    ),
    "what is joined, and a part of that": (
        "if y.any():\n    x = torch.cat((x, y))\nelse:\n    x = torch.cat((x[-2:], y))\nreturn x",
        "differ in size",
    ),
    "one row in place of all": (
        "if y.any():\n    x = torch.zeros(1, x.size(1))\nreturn x",
        "differ in size",
    ),
    "one column in place of all, by its shape": (
        "if y.any():\n    x = x.new_zeros((x.shape[0], 1))\nreturn x",
        "differ in size",
    ),
    "None on one side": ("if y.all():\n    y = None\nreturn x, y", "may be None on one side"),
    "None before": ("z = None\nif y.all():\n    z = y * 2.0\nreturn x, z", "may be None on one side"),
    "a name that is not set": ("if y.all():\n    z = y * 2.0\nreturn x * z", "where the branch is not taken"),
    "no tensor": ("if y.all():\n    net = self.a\nelse:\n    net = self.b\nreturn net", "is a tensor in every call"),
    "a number that sizes": ("n = 2\nif y.all():\n    n = 3\nreturn x[:n]", "used as a Python number"),
    "a number that counts": (
        "n = 2\nif y.all():\n    n = 3\nfor _ in range(n):\n    x = x * 2.0\nreturn x",
        "Python number",
    ),
    "whole numbers that are divided": (
        "n = y.long().sum()\nif n > 0:\n    x = (x.long() // n).float()\nreturn x",
        "fails where a divisor is 0",
    ),
    "an element that may not be there": (
        "i = y.argmax()\nif i > 0:\n    x = x + y[i - 1]\nreturn x",
        "`y[i - 1]` may be out of range where the condition does not hold",
    ),
    "an element that an attribute's test guards": (
        "self.at = y.argmax()\nif self.at < 5:\n    x = x + y[self.at + 1]\nreturn x",
        "may be out of range",
    ),
    "a part that the host decides on": (
        "if ok or y.all():\n    x = x * 2.0\nreturn x",
        "a part of the condition is not a tensor",
    ),
    "a size": (
        "in_size = y.long().sum()\nif in_size == 3:\n    x = x * 2.0\nreturn x",
        "may be a size, which the host knows",
    ),
    "a loop within": (
        "if y.all():\n    for _ in range(2):\n        x = x * 2.0\nreturn x",
        "not just a sequence of assignments",
    ),
    "other ranks": ("x = x.sum()\nif x > 0:\n    x = torch.zeros(2, 3)\nreturn x", "differ in rank"),
    "other dtypes": ("z = x > 0\nif z.any():\n    z = x * 2.0\nreturn z", "differ in dtype"),
    "another shape": ("if y.any():\n    x = x[1:]\nreturn x", "differ in shape"),
    "a longer one": ("if y.any():\n    x = torch.cat([x, y])\nreturn x", "differ in shape"),
    "a padded one": ("if y.any():\n    x = nn.functional.pad(x, (0, 2))\nreturn x", "differ in shape"),
    "a shape that a value decides": (
        "n = y.long().sum()\nif n > 0:\n    x = nn.functional.pad(x, (0, n))\nreturn x",
        "depends on a tensor's value",
    ),
    "a slice that a value decides": (
        "n = y.long().sum()\nif n > 0:\n    y = x[:n]\nreturn y",
        "depends on a tensor's value",
    ),
    "names that go round": (
        "if y.all():\n    x, y = y, x\nreturn x + y",
        "not just a sequence of assignments",
    ),
    "an inner branch": (
        "if y.all():\n    if x.any():\n        self.n = 1\n    x = x * 2.0\nreturn x",
        "not just a sequence of assignments",
    ),
    "a condition with an effect": (
        "if y.all() and torch.rand(()) > 0:\n    x = x * 2.0\nreturn x",
        "draws random numbers",
    ),
}

SAFE = {
    "what is replaced by what was made of it": (
        "x = x * 2.0\nif x.isnan().any():\n    x = torch.nan_to_num(x)\nreturn x",
        "x = x * 2.0\nx = torch.where(x.isnan().any(), torch.nan_to_num(x), x)\nreturn x",
    ),
    "a factor": ("if y.all():\n    x = x * 2.0\nreturn x", "x = torch.where(y.all(), x * 2.0, x)\nreturn x"),
    "two factors": (
        "if y.all():\n    x = x * 2.0\nelse:\n    x = x / 2.0\nreturn x",
        "x = torch.where(y.all(), x * 2.0, x / 2.0)\nreturn x",
    ),
    "not": ("if not y.all():\n    x = x * 2.0\nreturn x", "x = torch.where(y.all(), x, x * 2.0)\nreturn x"),
    "a number as condition": (
        "if y.sum():\n    x = x * 2.0\nreturn x",
        "x = torch.where(y.sum() != 0, x * 2.0, x)\nreturn x",
    ),
    "and": (
        "if y.all() and (x > 0).any():\n    x = -x\nreturn x",
        "x = torch.where(y.all() & (x > 0).any(), -x, x)\nreturn x",
    ),
    "neither nor": (
        "if not (y.all() or x.sum() > 1):\n    x = -x\nreturn x",
        "x = torch.where(y.all() | (x.sum() > 1), x, -x)\nreturn x",
    ),
    "a chained comparison": (
        "if 0 < x.sum() < 9 and y.all():\n    x = x * 2.0\nreturn x",
        "x = torch.where(((0 < x.sum()) & (x.sum() < 9)) & y.all(), x * 2.0, x)\nreturn x",
    ),
    "the host's part stays": (
        "if ok and y.all():\n    x = x * 2.0\nreturn x",
        "if ok:\n    x = torch.where(y.all(), x * 2.0, x)\nreturn x",
    ),
    "the host's part stays, with an else": (
        "if ok and y.all():\n    x = x * 2.0\nelse:\n    x = -x\nreturn x",
        "if ok:\n    x = torch.where(y.all(), x * 2.0, -x)\nelse:\n    x = -x\nreturn x",
    ),
    "a clamp that overflow calls for": (
        "if not torch.isfinite(x).all():\n    limit = torch.finfo(x.dtype).max - 1000\n"
        "    x = torch.clamp(x, min=-limit, max=limit)\nreturn x",
        "limit = torch.finfo(x.dtype).max - 1000\n"
        "x = torch.where(\n    torch.isfinite(x).all(),\n    x,\n    torch.clamp(x, min=-limit, max=limit),\n)\nreturn x",
    ),
    "a clamp for one dtype": (
        "if x.dtype == torch.float16 and torch.isinf(x).any():\n    limit = torch.finfo(x.dtype).max - 1000\n"
        "    x = torch.clamp(x, min=-limit, max=limit)\nreturn x",
        "if x.dtype == torch.float16:\n    limit = torch.finfo(x.dtype).max - 1000\n"
        "    x = torch.where(\n        torch.isinf(x).any(),\n        torch.clamp(x, min=-limit, max=limit),\n        x,\n    )\nreturn x",
    ),
    "comments": (
        "# above\nif y.all():  # why\n    # how\n    x = x * 2.0  # twice\n# below\nreturn x",
        "# above\n# why\n# how\n# twice\nx = torch.where(y.all(), x * 2.0, x)\n# below\nreturn x",
    ),
    "an elif behind the host's": (
        "if ok:\n    x = x * 2.0\nelif y.any():\n    x = x * 3.0\nreturn -x",
        "if ok:\n    x = x * 2.0\nelse:\n    x = torch.where(y.any(), x * 3.0, x)\nreturn -x",
    ),
    "two names": (
        "if y.all():\n    x = x * 2.0\n    y = y * 3.0\nreturn x + y",
        "condition = y.all()\nx = torch.where(condition, x * 2.0, x)\ny = torch.where(condition, y * 3.0, y)\nreturn x + y",
    ),
    "one name twice": (
        "if y.all():\n    x = x * 2.0\n    x = x + 1.0\nreturn x",
        "x = torch.where(y.all(), (x * 2.0) + 1.0, x)\nreturn x",
    ),
    "what is computed on the way": (
        "if y.all():\n    z = x * 2.0\n    x = z + 1.0\nreturn x",
        "z = x * 2.0\nx = torch.where(y.all(), z + 1.0, x)\nreturn x",
    ),
    "a name for what is computed on the way, used again": (
        "if y.all():\n    z = x * 2.0\n    x = z + 1.0\nif ok:\n    z = x * 3.0\n    x = z + 1.0\nreturn x",
        "z = x * 2.0\nx = torch.where(y.all(), z + 1.0, x)\nif ok:\n    z = x * 3.0\n    x = z + 1.0\nreturn x",
    ),
    "minus infinity": (
        "mask = x > 0\nif mask.any():\n    x = x.masked_fill(mask, float('-inf'))\nreturn x",
        "mask = x > 0\nx = x.masked_fill(mask, float('-inf'))\nreturn x",
    ),
    "a condition that is assigned": (
        "if x.sum() > 0:\n    x = x * 2.0\nreturn x",
        "x = torch.where(x.sum() > 0, x * 2.0, x)\nreturn x",
    ),
}

UNSAFE = {
    "a division on the way": (
        "n = y.sum()\nif n > 0:\n    z = x / n\n    x = z + 1.0\nreturn x",
        "n = y.sum()\nz = x / torch.where(n > 0, n, 1)\nx = torch.where(n > 0, z + 1.0, x)\nreturn x",
        "assumes",
    ),
    "a division by what a mask was made of": (
        "n = y.sum()\nk = n != 0\nif k.any():\n    x = x / n + 1.0\nreturn x",
        "n = y.sum()\nk = n != 0\nx = torch.where(k.any(), x / torch.where(k.any(), n, 1) + 1.0, x)\nreturn x",
        "assumes",
    ),
    "a division where it is meant to be infinite": (
        "n = (y > 0).float().sum()\nif n == 0:\n    z = x.sum() / n\nelse:\n    z = x.sum()\nreturn z",
        "n = (y > 0).float().sum()\nz = torch.where(n == 0, x.sum() / n, x.sum())\nreturn z",
        "is finite",
    ),
    "divisions by what names were made by": (
        "a = x.std()\nb = y.std()\nif a != 0 and b != 0:\n    x = x / x.std()\n    y = y / b\nreturn x, y",
        "a = x.std()\nb = y.std()\ncondition = (a != 0) & (b != 0)\n"
        "x = x / torch.where(condition, x.std(), 1)\ny = y / torch.where(condition, b, 1)\nreturn x, y",
        "is finite",
    ),
    "a division by what is zero where it is not chosen": (
        "n = (y > 0).float().sum()\nif n == 0:\n    z = x.sum()\nelse:\n    z = x.sum() / n\nreturn z",
        "n = (y > 0).float().sum()\nz = torch.where(n == 0, x.sum(), x.sum() / torch.where(n == 0, 1, n))\nreturn z",
        "the gradient of `x.sum() / n` is finite",
    ),
    "values that cross": (
        "if y.all():\n    z = x\n    x = y\n    y = z\nreturn x - y",
        "condition = y.all()\nz = x\nx = torch.where(condition, y, x)\ny = torch.where(condition, z, y)\nreturn x - y",
        "have the same shape and dtype",
    ),
    "a quotient whose derivative is not finite": (
        "norm = y.sum()\nif norm > 1.0:\n    x = x / norm\nreturn x",
        "norm = y.sum()\nx = x / torch.where(norm > 1.0, norm, 1)\nreturn x",
        "the gradient of `x / norm` is finite",
    ),
    "a new value of all sizes": (
        "if y.any():\n    x = torch.zeros(x.size(0), x.size(1))\nreturn x",
        "x = torch.where(y.any(), torch.zeros(x.size(0), x.size(1)), x)\nreturn x",
        "have the same shape and dtype",
    ),
    "a new value of another's size": (
        "z = y * 2.0\nif y.any():\n    z = torch.zeros(1, x.size(1))\nreturn z",
        "z = y * 2.0\nz = torch.where(y.any(), torch.zeros(1, x.size(1)), z)\nreturn z",
        "have the same shape and dtype",
    ),
    "parts of one size": (
        "if y.any():\n    z = x[1:]\nelse:\n    z = x[:-1]\nreturn z",
        "z = torch.where(y.any(), x[1:], x[:-1])\nreturn z",
        "have the same shape and dtype",
    ),
    "joined of others": (
        "if y.any():\n    z = torch.cat((x, y))\nelse:\n    z = torch.cat((y, x))\nreturn z",
        "z = torch.where(y.any(), torch.cat((x, y)), torch.cat((y, x)))\nreturn z",
        "have the same shape and dtype",
    ),
    "shapes that are not known": (
        "if x.any():\n    x = y\nreturn x",
        "x = torch.where(x.any(), y, x)\nreturn x",
        "have the same shape and dtype",
    ),
    "a product": (
        "if x.any():\n    x = x @ y\nreturn x",
        "x = torch.where(x.any(), x @ y, x)\nreturn x",
        "can be computed",
    ),
    "an index": (
        "if x.any():\n    x = x * y[3]\nreturn x",
        "x = x * torch.where(x.any(), y[3], 1)\nreturn x",
        "can be computed",
    ),
    "a chained comparison of two tensors": (
        "if 0 < x.sum() < y:\n    x = x * 2.0\nreturn x",
        "x = torch.where((0 < x.sum()) & (x.sum() < y), x * 2.0, x)\nreturn x",
        "has no dimensions",
    ),
    "a condition with dimensions": (
        "if x > 0:\n    x = x * 2.0\nreturn x",
        "x = torch.where(x > 0, x * 2.0, x)\nreturn x",
        "`x > 0` has no dimensions",
    ),
    "numbers": (
        "scale = 1.0\nif x.any():\n    scale = 2.0\nreturn x * scale",
        "scale = 1.0\nscale = torch.where(x.any(), 2.0, scale)\nreturn x * scale",
        "a tensor works where this was a Python number",
    ),
    "a number or a tensor": (
        "norm = y.sum()\nif norm > 1.0:\n    clip = 1.0 / norm\nelse:\n    clip = 1.0\nreturn x * clip",
        "norm = y.sum()\nclip = torch.where(norm > 1.0, 1.0 / norm, 1.0)\nreturn x * clip",
        "may become a tensor",
    ),
    "what is changed in place later": (
        "z = x\nif y.any():\n    x = x * 2.0\nx.add_(1.0)\nreturn x * z",
        "z = x\nx = torch.where(y.any(), x * 2.0, x)\nx.add_(1.0)\nreturn x * z",
        "nothing else holds the tensor `x`",
    ),
}


# The first finding waits for a later one.
IN_ROUNDS = {
    "an elif": (
        "if y.all():\n    x = x * 2.0\nelif y.any():\n    x = x * 3.0\nreturn x",
        "x = torch.where(y.all(), x * 2.0, torch.where(y.any(), x * 3.0, x))\nreturn x",
    ),
}


@pytest.mark.parametrize(("before", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(before: str, why: str) -> None:
    expect_left_alone(outcome(module(before), "XLA101"), why)


@pytest.mark.parametrize(("before", "after"), SAFE.values(), ids=SAFE)
def test_safe(before: str, after: str) -> None:
    expect_fixed(outcome(module(before), "XLA101"), module(after), "safe")


@pytest.mark.parametrize(("before", "after", "assumed"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str, assumed: str) -> None:
    expect_fixed(outcome(module(before), "XLA101"), module(after), "unsafe", assumed)


@pytest.mark.parametrize(("before", "after"), IN_ROUNDS.values(), ids=IN_ROUNDS)
def test_fixed_in_several_rounds(before: str, after: str) -> None:
    assert outcome(module(before), "XLA101").text == module(after)
