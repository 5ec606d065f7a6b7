"""XLA301: numbers that are read from tensors; `x` is a tensor, `t` another, `s` one without dimensions."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import append_indented, expect_fixed, expect_left_alone, expect_unchanged, outcome


def forward(body: str) -> str:
    return append_indented(
        "import math\n\nimport torch\nfrom torch import nn\n\n\n"
        "class Model(nn.Module):\n"
        "    def forward(self, x: torch.Tensor, t: torch.Tensor, other) -> torch.Tensor:\n"
        "        s = x.mean()\n",
        body,
        8,
    )


def loop(body: str, end: str = "return total") -> str:
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    return (
        "import torch\nimport torch_xla\n\n\n"
        "def train(model, loader, writer):\n"
        "    total = 0.0\n    for step, (x, y) in enumerate(loader):\n"
        f"        loss = torch.nn.functional.mse_loss(model(x), y)\n{lines}        torch_xla.sync()\n    {end}\n"
    )


LEFT_ALONE = {
    "a list that is empty where it is copied": (
        "a = []\nfor row in x:\n    a.append(row.argmax())\nif len(a) > 0:\n    return torch.stack(a)\nreturn torch.tensor(a)",
        "may be empty there",
    ),
    "a comment that says why": ("# ``.item()`` keeps it a number\nreturn x / s.item()", "a comment says why"),
    "a list of what has a dimension": ("return torch.tensor([t.sum(0, keepdim=True).view(1)])", "has dimensions"),
    "a condition": ("if s.item() > 0:\n    return x\nreturn t", "a condition"),
    "a condition by a name": ("a = float(s)\nif a > 0:\n    return x\nreturn t", "a condition"),
    "an index": ("return x[int(t[0])]", "an index or a size"),
    "a slice": ("return x[: (x > 0).sum().item()]", "an index or a size"),
    "a text": ("return f'{s.item():.2f}', x", "text"),
    "a list": ("kept = []\nkept.append(s.item())\nreturn kept, x", "`kept` keeps the number"),
    "a list that is made": ("kept = [s.item()]\nreturn kept, x", "may need a number"),
    "an attribute": ("self.scale = s.item()\nreturn x", "`self.scale` keeps the number"),
    "a dictionary": ("other['scale'] = s.item()\nreturn x", "keeps the number"),
    "an unknown function": ("return other(s.item()) * x", "`other` may need a number"),
    "an unknown operand": ("return s.item() * other", "`other`, the other operand"),
    "incremented": ("a = s.item()\na += 1\nreturn x * a", "incremented"),
    "a bool in a difference": ("return x - bool(s > 0)", "bools"),
    "read by an inner function": ("a = s.item()\ndef f():\n    return a\nreturn f(), x", "a function within"),
    "a part that changes": ("a = x[0].item()\nx[0] = 2.0\nreturn x * a", "changed in place"),
    "a variable that changes": ("a = s.item()\ns.add_(1)\nreturn x * a", "changed in place"),
    "a view that changes": ("a = x.view(-1)[0].item()\nx += 1\nreturn x * a", "changed in place"),
    "a part that is returned": ("return x[0].item() / 2, x", "changed in place"),
    "a number for the caller": ("return s.item()", "callers get a number"),
    "a named number for the caller, beside others": ("n = s.item()\nreturn x, n", "what `item` makes for them"),
    "a number for the caller, beside others": ("return x, s.item()", "what `item` makes for them"),
    "a float for the caller, beside others": ("return x, float(s)", "what `float` makes for them"),
    "a named number for the caller": ("loss = s.item()\nreturn loss", "callers get a number"),
    "a computed number for the caller": ("return 1 - s.item()", "callers get a number"),
    "a list that is filled where a condition holds": (
        "a = []\nfor row in x:\n    if row is not None:\n        a.append(row.argmax())\nreturn torch.tensor(a)",
        "may be empty there",
    ),
    "a list that is filled while there is more": (
        "a = []\nwhile len(x) > 0:\n    a.append(x[0].argmax())\n    x = x[1:]\nreturn torch.tensor(a)",
        "may be empty there",
    ),
    "a comparison for the caller": ("return s.item() > 1.0", "callers get a number"),
    "a list that may be empty": (
        "a = []\nfor row in x:\n    a.append(row.argmax())\nreturn torch.stack(a) if a else torch.tensor(a)",
        "may be empty there",
    ),
    "a whole number that is returned": ("return x, (x > 0).sum().item()", "may be a size"),
    "a number of no known kind that is returned": ("return x, t.item()", "may be a size"),
    "a chain": ("return (0 < s.item() < x) * x", "chained"),
    "rounded": ("return x * round(s.item())", "`round` may need a number"),
    "a list of numbers as well": ("return torch.tensor([s, 1.0])", "not all that"),
    "a number that is kept as well": (
        "a = x * s.item()\nother['scale'] = s.item()\nreturn a",
        "reads the same number all the same",
    ),
    "a number that becomes text as well": ("return x * s.item(), f'{s.item()}'", "reads the same number all the same"),
    "not a tensor in every call": ("a = s if other else 1.0\nreturn x * float(a)", "not a tensor in every call"),
}

UNSAFE = {
    "item": ("return x * s.item()", "return x * s.detach()", "precision"),
    "float": ("return x / (float(s) + 1e-6)", "return x / (s.detach() + 1e-6)", "precision"),
    "of whole numbers": ("return x / (x > 0).sum().item()", "return x / (x > 0).sum()", "nothing needs the number"),
    "int of floats": ("return x * int(s)", "return x * s.detach().long()", "precision"),
    "a bool": ("return x * bool(s > 0)", "return x * (s > 0)", "nothing needs the number"),
    "math": ("return x * math.exp(s)", "return x * s.detach().exp()", "precision"),
    "math, by a name": (
        "a = s.item()\nreturn x * math.sqrt(a)",
        "a = s.detach()\nreturn x * a.sqrt()",
        "precision",
    ),
    "a tensor without gradient": (
        "a = x.detach().mean()\nreturn x * a.item()",
        "a = x.detach().mean()\nreturn x * a",
        "precision",
    ),
    "no gradients": (
        "with torch.no_grad():\n    a = s.item()\nreturn x * a",
        "with torch.no_grad():\n    a = s\nreturn x * a",
        "precision",
    ),
    "an operator": ("return x * (s + 1).item()", "return x * (s + 1).detach()", "precision"),
    "dimensions that are not known": ("return x * t.item()", "return x * t.detach()", "`t` has no dimensions"),
    "a name": ("a = s.item()\nreturn x * a, t + a", "a = s.detach()\nreturn x * a, t + a", "precision"),
    "compared": ("return x * (x > s.item())", "return x * (x > s)", "precision"),
    "compared by a name": ("a = float(s)\nreturn x * (x > a)", "a = s\nreturn x * (x > a)", "precision"),
    "compared, and computed with": (
        "a = s.item()\nreturn x * a * (x > a)",
        "a = s.detach()\nreturn x * a * (x > a)",
        "precision",
    ),
    "read again under a condition": (
        "y = x * s.item()\nif other:\n    print(s.item())\nreturn y",
        "y = x * s.detach()\nif other:\n    print(s.item())\nreturn y",
        "precision",
    ),
    "where": ("return torch.where(x > 0, x, s.item())", "return torch.where(x > 0, x, s.detach())", "precision"),
    "a list": ("return torch.tensor([s, t.sum()])", "return torch.stack([s, t.sum()]).detach()", "one dtype"),
    "a list without gradients": (
        "with torch.no_grad():\n    return torch.tensor([row.sum() for row in x])",
        "with torch.no_grad():\n    return torch.stack([row.sum() for row in x])",
        "one dtype",
    ),
    "a list that grows": (
        "a = []\nfor row in x:\n    a.append(row.argmax())\nreturn torch.tensor(a, device=x.device)",
        "a = []\nfor row in x:\n    a.append(row.argmax())\nreturn torch.stack(a).to(x.device)",
        "`a` is not empty",
    ),
    "a list of another dtype": (
        "return torch.tensor([s], dtype=torch.float64, device=x.device)",
        "return torch.stack([s]).detach().to(dtype=torch.float64, device=x.device)",
        "one dtype",
    ),
    "a list of another in each turn": (
        "return torch.tensor([row.sum() for row in x])",
        "return torch.stack([row.sum() for row in x]).detach()",
        "one dtype",
    ),
    "a list of what is computed with the turn": (
        "return torch.tensor([s * k for k in range(4)])",
        "return torch.stack([s * k for k in range(4)]).detach()",
        "one dtype",
    ),
    "a list of what is drawn in each turn": (
        "return torch.tensor([torch.rand(()) + s for _ in range(4)])",
        "return torch.stack([torch.rand(()) + s for _ in range(4)]).detach()",
        "one dtype",
    ),
    "a list of one tensor": (
        "return torch.tensor([s for _ in range(len(x))], device=x.device)",
        "return s.repeat(len(x)).detach().to(x.device)",
        "on the device where it is needed",
    ),
    "a list that is multiplied": (
        "return torch.tensor([t] * len(x))",
        "return t.repeat(len(x)).detach()",
        "`t` has no dimensions",
    ),
    "alpha": ("return torch.add(x, x, alpha=s)", "return torch.add(x, x * s.detach())", "round"),
    "filled": ("return torch.empty_like(x).fill_(t)", "return torch.empty_like(x).copy_(t)", "`t` has no dimensions"),
}

SAFE = {
    "filled": ("return torch.empty_like(x).fill_(s)", "return torch.empty_like(x).copy_(s)"),
}

SUMS_LEFT_ALONE = {
    "read at every step": ("total += loss.item()\nwriter(total / (step + 1))", "read at every step"),
    "not only summed up": ("total = max(total, 1.0)\ntotal += loss.item()", "not only summed up"),
    "beside what reads another number": (
        "total += loss.item()\nwriter((loss * 2).item())",
        "waits for the device in each turn",
    ),
    "beside what copies another tensor": (
        "total += loss.item()\nwriter((loss * 2).detach().cpu().numpy())",
        "in each turn",
    ),
    "beside what reads what is not known": ("total += loss.item()\nwriter(model.loss(x).item())", "in each turn"),
    "beside a branch by the same tensor": (
        "if torch.isnan(loss):\n    continue\ntotal += loss.item()",
        "waits for the device in each turn",
    ),
    "beside a count of what may be a tensor": (
        "total += loss.item()\nn = max(n, (x if step else model.mask).sum().item())",
        "waits for the device in each turn",
    ),
    "an attribute": ("model.total += loss.item()", "keeps the number"),
}

SUMS = {
    "in a program that may compute in half precision": (
        "model.half()\ntotal += loss.item()",
        "model.half()\ntotal += loss.detach().float()",
        "return total",
        "return float(total)",
    ),
    "beside what another block reads": (
        "total += loss.item()\nif step % 100 == 0:\n    writer((loss * 2).item())",
        "total += loss.detach()\nif step % 100 == 0:\n    writer((loss * 2).item())",
        "return total",
        "return float(total)",
    ),
    "read at the end": ("total += loss.item()", "total += loss.detach()", "return total", "return float(total)"),
    "of a loss of what is not known, against whole numbers": (
        "k = y.long()\nloss = torch.nn.functional.cross_entropy(model.other(x), k)\ntotal += loss.item()",
        "k = y.long()\nloss = torch.nn.functional.cross_entropy(model.other(x), k)\ntotal += loss.detach()",
        "return total",
        "return float(total)",
    ),
    "beside a branch by what the host knows": (
        "if step == 0:\n    continue\ntotal += loss.item()",
        "if step == 0:\n    continue\ntotal += loss.detach()",
        "return total",
        "return float(total)",
    ),
    "times the size": (
        "total += loss.item() * x.size(0)",
        "total += loss.detach() * x.size(0)",
        "return total / len(loader)",
        "return float(total) / len(loader)",
    ),
    "read every hundred steps": (
        "total += loss.item()\nif step % 100 == 0:\n    writer(total / 100)\n    total = 0.0",
        "total += loss.detach()\nif step % 100 == 0:\n    writer(float(total) / 100)\n    total = 0.0",
        "return None",
        "return None",
    ),
    "whole numbers": (
        "total += (loss > 0).sum().item()",
        "total += (loss > 0).sum()",
        "return total",
        "return int(total)",
    ),
    "an average that moves": (
        "total = 0.9 * total + 0.1 * loss.item()",
        "total = 0.9 * total + 0.1 * loss.detach()",
        "return total / 2",
        "return total / 2",
    ),
    "not read": ("total += float(loss)", "total += loss.detach()", "return None", "return None"),
}


@pytest.mark.parametrize(("body", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(body: str, why: str) -> None:
    expect_left_alone(outcome(forward(body), "XLA301"), why)


@pytest.mark.parametrize(("body", "after", "assumed"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(body: str, after: str, assumed: str) -> None:
    expect_fixed(outcome(forward(body), "XLA301"), forward(after), "unsafe", assumed)


@pytest.mark.parametrize(("body", "after"), SAFE.values(), ids=SAFE)
def test_safe(body: str, after: str) -> None:
    expect_fixed(outcome(forward(body), "XLA301"), forward(after), "safe")


@pytest.mark.parametrize(("body", "why"), SUMS_LEFT_ALONE.values(), ids=SUMS_LEFT_ALONE)
def test_sums_that_are_left_alone(body: str, why: str) -> None:
    expect_left_alone(outcome(loop(body), "XLA301"), why)


@pytest.mark.parametrize(("body", "after", "end", "read"), SUMS.values(), ids=SUMS)
def test_sums_over_steps_are_read_when_they_are_used(body: str, after: str, end: str, read: str) -> None:
    expect_fixed(outcome(loop(body, end), "XLA301"), loop(after, read), "unsafe")


EVALUATION = """import torch
import torch_xla


def evaluate(model, loader, device):
    model.eval()
    total = 0
    for x, y in loader:
        {moved}
        total += (torch.argmax(model(x), 1) == y).sum().item()
        {end}
    return total
"""


def test_a_read_that_alone_makes_the_device_run_is_kept() -> None:
    text = EVALUATION.format(moved="x = x.to(device)", end="print(len(x))")
    expect_unchanged(text, "XLA301", "nothing else makes the device run")


@pytest.mark.parametrize(
    ("moved", "end"),
    [("x = x.to(device)", "torch_xla.sync()"), ("x = x * 2", "print(len(x))"), ("model.to(device)", "print(len(x))")],
    ids=["with an order", "of a loader that gives orders", "what is moved is no batch"],
)
def test_others_of_an_evaluation_are_read_at_its_end(moved: str, end: str) -> None:
    found = outcome(EVALUATION.format(moved=moved, end=end), "XLA301")
    assert ".item()" not in found.text
    assert "return int(total)" in found.text


def test_a_device_that_runs_at_once_needs_no_order() -> None:
    text = EVALUATION.replace("import torch_xla\n", "").format(moved="x = x.to(device)", end="print(len(x))")
    found = outcome(text, "XLA301", target="torch_tpu")
    assert ".item()" not in found.text
    assert "return int(total)" in found.text
