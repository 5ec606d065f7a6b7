"""XLA205: what becomes of assignments through a mask, and what is left alone."""

from __future__ import annotations

import textwrap

import pytest

from tests.fixes.fixing import expect_settled, fixed


def program(body: str, *, head: str = "x: torch.Tensor, y: torch.Tensor, m: torch.BoolTensor, n: int = 1") -> str:
    text = textwrap.dedent(body).strip("\n")
    return f"import torch\n\n\ndef f({head}) -> torch.Tensor:\n{textwrap.indent(text, '    ')}\n    return x\n"


FLAT = "batch, width = x.shape\n"  # what shows that x has two dimensions

LEFT = {
    "an index called one": ("x[idx] = 0", "x: torch.Tensor, idx: torch.Tensor"),
    "perhaps positions, to which rows go": ("x[y] = torch.arange(9.0)", None),
    "positions": ("x[x.argmax(0)] = 0", None),
    "an integer mask": ("x[m.int()] = 0", None),
    "a slice": ("x[1:2] = 0", None),
    "a value of unknown shape": ("x[m] = y", None),
    "a value of unknown kind": ("x[m] = z", "x: torch.Tensor, m: torch.BoolTensor, z"),
    "perhaps an array": (
        "if flag:\n    x = np.zeros(3)\nx[x > 0] = 0",
        "x: torch.Tensor, flag: bool",
    ),
    "two targets": ("y = x[x > 0] = 0", None),
    "a power, whose gradient is infinite at zero": ("x[x > 0] **= 0.5", None),
    "a tensor for each place": ("x[x > 0] += y", None),
    "a divisor that may be zero": ("x[x > 0] /= d", "x: torch.Tensor, d: float"),
    "an infinite factor": ("x[x > 0] *= float('inf')", None),
    "a function of what is picked": ("x[m] = y[m].exp()", None),
    "what has as many rows as the mask has true elements": (FLAT + "k = x[:, 0] > 0\nx[k] = x[k].cumsum(0)", None),
    "such by a name": (FLAT + "k = x[:, 0] > 0\nz = x[k]\nx[k] = z / z.sum()", None),
    "numbers as many as the mask has true elements": (FLAT + "k = x[:, 0] > 0\nx[k] = torch.arange(k.sum())", None),
    "picked by another mask": ("x[m] = y[~m]", None),
    "picked by a mask of fewer dimensions, and repeated": (
        "o = y.abs().sum(-1, keepdim=True) > 1\nx[o.repeat(1, 3)] = y[o.squeeze(-1)].repeat(1, 3)",
        None,
    ),
    "a mask of unknown rank and numbers": ("x[m, 0] = 1", None),
    "two tensors in the index": ("x[m, m] = 1", None),
}


@pytest.mark.parametrize(("body", "head"), LEFT.values(), ids=LEFT)
def test_left_alone(body: str, head: str | None) -> None:
    text = "import numpy as np\n" + (program(body) if head is None else program(body, head=head))
    assert fixed(text)[0] == text


CHANGED = {
    "a number": (FLAT + "x[x > 0] = 0", FLAT + "x.masked_fill_(x > 0, 0)"),
    "a mask of unknown rank": ("x[m] = 0", "x.masked_fill_(m[(...,) + (None,) * (x.ndim - m.ndim)], 0)"),
    "a negated one": ("x[~m] = 0", "x.masked_fill_((~m)[(...,) + (None,) * (x.ndim - m.ndim)], 0)"),
    "made of the tensor, by name": ("k = ~(x == 1)\nx[k] = 0", "k = ~(x == 1)\nx.masked_fill_(k, 0)"),
    "read off the tensor, which was bound twice": (
        "if n > 1:\n    x = x * 2\nx[x == 0] = 1",
        "if n > 1:\n    x = x * 2\nx.masked_fill_(x == 0, 1)",
    ),
    "made of what filled places were made of": (
        "k = (x > 3) & (y > x - 1)\nz = x.clone()\nz = z.masked_fill(~k, 0)\nz[k] = 1\nreturn z",
        "k = (x > 3) & (y > x - 1)\nz = x.clone()\nz = z.masked_fill(~k, 0)\nz.masked_fill_(k, 1)\nreturn z",
    ),
    "into a copy of which positions were picked": (
        "k = x > 0\nz = x.clone()\nr = z[torch.arange(3)]\nz[k] = x[k]\nreturn z, r",
        "k = x > 0\nz = x.clone()\nr = z[torch.arange(3)]\nz = torch.where(k, x, z)\nreturn z, r",
    ),
    "made of the tensor, which is another now": (
        "k = x > 1\nx = y\nx[k] = 0",
        "k = x > 1\nx = y\nx.masked_fill_(k[(...,) + (None,) * (x.ndim - k.ndim)], 0)",
    ),
    "like another tensor": (
        "x = torch.zeros_like(y)\nx[y > 0] = 1",
        "x = torch.zeros_like(y)\nx.masked_fill_(y > 0, 1)",
    ),
    "leading dimensions": (
        FLAT + "x[x[:, 0] > 0] = 0",
        FLAT + "x.masked_fill_((x[:, 0] > 0)[:, None], 0)",
    ),
    "trailing dimensions": (FLAT + "x[:, x[0] > 0] = 0", FLAT + "x.masked_fill_(x[0] > 0, 0)"),
    "the last dimensions": ("x[..., m] = 0", "x.masked_fill_(m, 0)"),
    "a column": (FLAT + "x[x[:, 0] > 0, 1] = 0", FLAT + "x[:, 1].masked_fill_(x[:, 0] > 0, 0)"),
    "columns": (FLAT + "x[x[:, 0] > 0, 1:] = 0", FLAT + "x[:, 1:].masked_fill_((x[:, 0] > 0)[:, None], 0)"),
    "full slices behind": (FLAT + "x[x[:, 0] > 0, :] = 0", FLAT + "x.masked_fill_((x[:, 0] > 0)[:, None], 0)"),
    "0-d": ("x[x > 0] = y.max()", "x.masked_fill_(x > 0, y.max())"),
    "an addition to what others may see": (
        "x[x > 0] += 1",
        "x.copy_(torch.where(x > 0, x + 1, x))",
    ),
    "an addition to a copy": (
        "x = x.clone()\nx[x > 0] += 1",
        "x = x.clone()\nx = torch.where(x > 0, x + 1, x)",
    ),
    "an addition to what positions pick": (
        "i = torch.arange(3)\nk = x[..., i]\nk[k > 0] += 1\nreturn k",
        "i = torch.arange(3)\nk = x[..., i]\nk = torch.where(k > 0, k + 1, k)\nreturn k",
    ),
    "an addition to a part": (
        "k = x[1:, ...]\nk[k > 0] += 1\nreturn k",
        "k = x[1:, ...]\nk.copy_(torch.where(k > 0, k + 1, k))\nreturn k",
    ),
    "a copy that has a view": (
        "x = x.clone()\nv = x.view(-1)\nx[x > 0] += 1",
        "x = x.clone()\nv = x.view(-1)\nx.copy_(torch.where(x > 0, x + 1, x))",
    ),
    "a copy that was kept": (
        "x = x.clone()\nkeep(x)\nx[x > 0] += 1",
        "x = x.clone()\nkeep(x)\nx.copy_(torch.where(x > 0, x + 1, x))",
    ),
    "a copy made before a loop": (
        "x = x.clone()\nfor _ in range(3):\n    x[x > 0] += 1\n    y = x",
        "x = x.clone()\nfor _ in range(3):\n    x.copy_(torch.where(x > 0, x + 1, x))\n    y = x",
    ),
    "values picked alike": (
        "k = x > 0\ny = x * 2\nx[k] = y[k] - 1",
        "k = x > 0\ny = x * 2\nx.copy_(torch.where(k, y - 1, x))",
    ),
    "values of what a copy was made like": (
        "k = torch.zeros_like(x)\nk[x > 0] = x[x > 0]\nreturn k",
        "k = torch.zeros_like(x)\nk = torch.where(x > 0, x, k)\nreturn k",
    ),
    "whole numbers into int64 that an earlier return gave away": (
        "n = x.int()\nk = torch.zeros_like(x, dtype=torch.long)\nif x.ndim > 3:\n    return keep(k)\nk[x > 0] = n[x > 0] + 1\nreturn k",
        "n = x.int()\nk = torch.zeros_like(x, dtype=torch.long)\nif x.ndim > 3:\n    return keep(k)\n"
        "k = torch.where(x > 0, n + 1, k)\nreturn k",
    ),
    "a cast of what has no name": (
        "k = x.floor().long()\nk[(x > 0) * (k > 1)] -= 1\nreturn k",
        "k = x.floor().long()\nk = torch.where((x > 0) * (k > 1), k - 1, k)\nreturn k",
    ),
    "a cast of what has a name": (
        "f = x.floor()\nk = f.float()\nk[x > 0] -= 1\nreturn k, f",
        "f = x.floor()\nk = f.float()\nk.copy_(torch.where(x > 0, k - 1, k))\nreturn k, f",
    ),
    "floats into int64": (
        "k = torch.zeros_like(x, dtype=torch.long)\nk[x > 0] = x[x > 0] * 2\nreturn k",
        "k = torch.zeros_like(x, dtype=torch.long)\nk.copy_(torch.where(x > 0, x * 2, k))\nreturn k",
    ),
    "values of what was like it, and is another now": (
        "k = torch.zeros_like(x)\nx = x.double()\nk[k > 0] = x[k > 0]\nreturn k",
        "k = torch.zeros_like(x)\nx = x.double()\nk.copy_(torch.where(k > 0, x, k))\nreturn k",
    ),
    "a comment behind": ("x[x > 0] = 0  # why", "x.masked_fill_(x > 0, 0)  # why"),
}


@pytest.mark.parametrize(("before", "after"), CHANGED.values(), ids=CHANGED)
def test_safe(before: str, after: str) -> None:
    expect_settled(program(before), program(after), unsafe=False)


UNSAFE = {
    "values of another dtype for all that is known, into a copy": (
        "k = x > 0\nz = x.clone()\nw = k / 2\nz[k] = w[k] + 1\nreturn z",
        "k = x > 0\nz = x.clone()\nw = k / 2\nz = torch.where(k, w + 1, z)\nreturn z",
        "`w + 1` has the dtype of `z`",
    ),
    "what is multiplied by zero": ("x[x > 0] *= 0", "x.masked_fill_(x > 0, 0)", "`x` is finite"),
    "values picked alike from what may have fewer dimensions": (
        "k = x > 0\nx[k] = y[k] - 1",
        "k = x > 0\nx.copy_(torch.where(k, y - 1, x))",
        "`y` has as many dimensions as `x`",
    ),
    "a large number": ("x[x > 0] = -1e9", "x.masked_fill_(x > 0, -1e9)", "is not float16"),
    "perhaps a mask": (
        "x[w] = 0",
        "x.masked_fill_(w[(...,) + (None,) * (x.ndim - w.ndim)], 0)",
        "is a tensor of bools",
    ),
    "a product of picked values": (
        "k = x > 0\nx[k] = y[k] * x[k]",
        "k = x > 0\nx.copy_(torch.where(k, y * x, x))",
        "what `k` leaves out is finite",
    ),
    "one value for each place": (
        "k = x > 0\nx[k] = torch.arange(9.0)",
        "k = x > 0\nx.masked_scatter_(k, torch.arange(9.0))",
        "as many rows",
    ),
    "a setting": ("x[x == 1] = self.config.pad_id", "x.masked_fill_(x == 1, self.config.pad_id)", "is a number"),
}


@pytest.mark.parametrize(("before", "after", "assumption"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str, assumption: str) -> None:
    head = "self, x: torch.Tensor, y: torch.Tensor, w: torch.Tensor"
    text, done = fixed(program(before, head=head))
    assert text == program(after, head=head)
    assert [finding.fix.applicability for finding in done.findings if finding.fix] == ["unsafe"]
    assert all(finding.fix and assumption in finding.fix.message for finding in done.findings)
    assert fixed(text)[0] == text


def test_into_what_a_layer_of_the_program_gave() -> None:
    head = (
        "import torch\nfrom torch import nn\n\n\nclass Body(nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        "        return x.relu()\n\n\nclass Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.body = Body()\n\n    def forward(self, x: torch.Tensor):\n        y = self.body(x)\n        k = y > 0\n"
    )
    text, done = fixed(f"{head}        y[k] = x[k]\n        return y\n")
    assert text == f"{head}        y = torch.where(k, x, y)\n        return y\n"
    assert any(one.fix and "nothing else holds `y`" in one.fix.message for one in done.findings)


def test_a_long_call_is_broken() -> None:
    name = "a_name_that_is_as_long_as_names_come"
    text, _ = fixed(program(f"{name} = x > 0\nx[{name}] = {name}_two", head=f"x: torch.Tensor, {name}_two: int"))
    assert f"    x.masked_fill_(\n        {name},\n        {name}_two,\n    )\n" in text


def test_a_parameter_is_one_row_for_all_places() -> None:
    lines = [
        "import torch\nfrom torch import nn\n\n\nclass Model(nn.Module):",
        "    def __init__(self, n: int) -> None:",
        "        super().__init__()",
        "        self.row = nn.Parameter(torch.zeros(n))\n",
        "    def forward(self, x: torch.Tensor, m: torch.BoolTensor) -> torch.Tensor:",
    ]
    head = "\n".join(lines)
    text, done = fixed(f"{head}\n        x[m] = self.row.to(x.dtype)\n        return x\n")
    copied = "        x.copy_(torch.where(m[..., None], self.row.to(x.dtype), x))\n"
    assert text == f"{head}\n{copied}        return x\n"
    assert all(finding.fix and "one row for all positions" in finding.fix.message for finding in done.findings)
