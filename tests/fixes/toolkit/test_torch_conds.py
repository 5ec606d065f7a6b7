"""Branches as `torch.cond`, for `torch.compile`."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import append_indented, expect_left_alone, outcome


def program(code: str, decorator: str = "@torch.no_grad()") -> str:
    return append_indented(
        "import torch\nfrom torch import nn\n\nSEEN = []\n\n\n"
        "def settle(x: torch.Tensor) -> torch.Tensor:\n    return x / x.norm()\n\n\n"
        "class Model(nn.Module):\n    def slow(self, x: torch.Tensor) -> torch.Tensor:\n        return x @ x.t() @ x\n\n"
        f"    {decorator}\n    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:\n",
        code,
        8,
    )


IF = "if x.mean() > 0:\n    "

CHOSEN = {
    "a function": (
        f"{IF}x = settle(x)\nreturn x",
        "x = torch.cond(x.mean() > 0, settle, lambda x: x.clone(), (x,))\nreturn x",
    ),
    "a method": (
        f"{IF}x = self.slow(x)\nelse:\n    x = settle(x)\nreturn x",
        "x = torch.cond(x.mean() > 0, lambda x: self.slow(x), settle, (x,))\nreturn x",
    ),
    "not": (
        "if not x.mean() > 0:\n    x = settle(x)\nreturn x",
        "x = torch.cond(x.mean() > 0, lambda x: x.clone(), settle, (x,))\nreturn x",
    ),
    "a new name": (
        f"{IF}z = settle(x)\nelse:\n    z = x.contiguous()\nreturn z",
        "z = torch.cond(\n    x.mean() > 0,\n    lambda: settle(x),\n    lambda: x.contiguous().clone(),\n    (),\n)\nreturn z",
    ),
    "two names": (
        f"{IF}x = settle(x)\n    y = y * 2\nreturn x + y",
        "x, y = torch.cond(\n    x.mean() > 0,\n    lambda x, y: (settle(x), y * 2),\n"
        "    lambda x, y: (x.clone(), y.clone()),\n    (x, y),\n)\nreturn x + y",
    ),
    "what is computed on the way": (
        f"{IF}z = settle(x)\n    x = z * z\nreturn x",
        "def true_fn(x):\n    z = settle(x)\n    x = z * z\n    return x\n\n"
        "x = torch.cond(x.mean() > 0, true_fn, lambda x: x.clone(), (x,))\nreturn x",
    ),
    "a view in the end": (
        f"{IF}z = settle(x)\n    x = z.t()\nelse:\n    x = settle(x).t()\nreturn x",
        "def true_fn(x):\n    z = settle(x)\n    x = z.t()\n    return x.clone()\n\n"
        "x = torch.cond(x.mean() > 0, true_fn, lambda x: settle(x).t().clone(), (x,))\nreturn x",
    ),
    "returns": (
        f"{IF}return settle(x)\nreturn x",
        "return torch.cond(x.mean() > 0, lambda: settle(x), lambda: x.clone(), ())",
    ),
    "returns with code between": (
        f"{IF}return settle(x)\nelif x.sum() > 4:\n    return self.slow(x)\nx = x + 1\nreturn x",
        "def false_fn(x):\n    x = x + 1\n    return x\n\nreturn torch.cond(\n    x.mean() > 0,\n    lambda: settle(x),\n"
        "    lambda: torch.cond(x.sum() > 4, lambda: self.slow(x), lambda: false_fn(x), ()),\n    (),\n)",
    ),
}

NOT_COND = {
    "what `where` does": f"{IF}x = x * 2\nreturn x",
    "what `where` does at a cost": f"{IF}x = torch.linalg.inv(x)\nreturn x",
    "in place": f"{IF}x = settle(x)\n    x += 1\nreturn x",
    "a method in place": f"{IF}x = settle(x).add_(1)\nreturn x",
    "an element": f"{IF}x = settle(x)\n    x[0] = 1\nreturn x",
    "changed in place behind": f"{IF}x = settle(x)\nx += 1\nreturn x",
    "written into behind": f"{IF}x = settle(x)\nx[0] = 1\nreturn x",
    "random numbers": f"{IF}x = settle(x) + torch.rand_like(x)\nreturn x",
    "a read": f"{IF}x = settle(x) * x.max().item()\nreturn x",
    "another condition": f"{IF}x = settle(x) if y.sum() > 0 else x * 2\nreturn x",
    "an attribute that is a view": f"{IF}x = settle(x) @ x.T\nreturn x",
    "a view of what is read": f"z = x[0]\n{IF}x = settle(x) * z\nreturn x",
    "two views of one": f"p, q = y.chunk(2)\n{IF}x = settle(p)\nelse:\n    x = q * 2\nreturn x",
    "another name for it": f"z = x\n{IF}x = settle(z) * x\nreturn x",
    "an effect": f"{IF}x = settle(x)\n    SEEN.append(x)\nreturn x",
    "a print": f"{IF}print('more')\n    x = settle(x)\nreturn x",
    "an attribute": f"{IF}self.last = settle(x)\nreturn x",
    "None on one side": f"z = None\n{IF}z = settle(x)\nreturn z",
    "a number on one side": f"{IF}z = settle(x)\nelse:\n    z = 0\nreturn z",
    "an unset name": f"{IF}z = settle(x)\nreturn z",
    "ranks that differ": f"{IF}z = settle(x).sum()\nelse:\n    z = torch.ones(3, 3)\nreturn z",
    "dtypes that differ": f"{IF}z = settle(x) > 0\nelse:\n    z = torch.ones(3, 3)\nreturn z",
    "what is not known": f"from elsewhere import work\n\n{IF}x = work(x)\nreturn x",
    "tuples of other lengths": f"{IF}return settle(x), y\nreturn x, y, y",
    "a part that the host knows": "if len(SEEN) > 1 and x.mean() > 0:\n    x = settle(x)\nreturn x",
    "a loop in the branch": f"{IF}for _ in range(3):\n        x = settle(x)\nreturn x",
    "a break": "for _ in range(3):\n    x = settle(x)\n    if x.sum() > 0:\n        break\nreturn x",
    "a lambda that stays": f"{IF}x = settle(max([x], key=lambda one: one.ndim))\nreturn x",
    "a global name": f"global z\n{IF}z = settle(x)\nelse:\n    z = x\nreturn z",
}

ASSUMED = {
    "the function": (
        f"{IF}x = self.slow(x)\nreturn x",
        "`self.slow` compiles without a graph break and gives a new tensor",
    ),
    "types": (f"{IF}x = settle(x)\nreturn x", "`settle(x)` and `x` have the same shape, dtype and strides"),
    "memory": (f"{IF}x = settle(x) * y\nreturn x", "`x` and `y` share no memory"),
}


@pytest.mark.parametrize(("before", "after"), CHOSEN.values(), ids=CHOSEN)
def test_chosen(before: str, after: str) -> None:
    made = outcome(program(before), "XLA101", target="torch_compile")
    assert made.text == program(after)
    assert made.applicability in ("unsafe", "")  # an `elif` is taken with what is above it


@pytest.mark.parametrize("before", NOT_COND.values(), ids=NOT_COND)
def test_no_cond(before: str) -> None:
    assert "torch.cond(" not in outcome(program(before), "XLA101", target="torch_compile").text


@pytest.mark.parametrize(("before", "assumed"), ASSUMED.values(), ids=ASSUMED)
def test_what_is_assumed(before: str, assumed: str) -> None:
    made = outcome(program(before), "XLA101", target="torch_compile")
    assert made.applicability == "unsafe"
    assert assumed in made.message


def test_new_tensors_share_no_memory() -> None:
    text = program(f"z = y * 2\n{IF}x = settle(x) * z\nreturn x")
    made = outcome(text, "XLA101", target="torch_compile")
    assert "share no memory" not in made.message


@pytest.mark.parametrize(("decorator", "told"), [("@torch.no_grad()", False), ("@torch.compile", True)])
def test_gradients(decorator: str, told: bool) -> None:
    made = outcome(program(f"{IF}x = settle(x)\nreturn x", decorator), "XLA101", target="torch_compile")
    assert ("no gradient is taken through `torch.cond`" in made.message) is told


def test_torchscript_knows_no_cond() -> None:
    made = outcome(
        program(f"{IF}x = settle(x)\nreturn x", "@torch.jit.script_method"), "XLA101", target="torch_compile"
    )
    assert made.fix is None


@pytest.mark.parametrize(
    "code",
    [
        f"{IF}x = settle(x)\nreturn x",
        "if x.mean() > 0:\n    z = settle(x)\nelse:\n    z = x * 2\nreturn z",
        f"{IF}return settle(x)\nreturn x.clone()",
    ],
)
@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("torch_xla", "`torch.cond` would read the condition anyway"),
        ("torch_tpu", "`torch.cond` reads the condition as well, and inside torch.compile raises an exception"),
    ],
)
def test_no_way_out_on_a_device_of_xla(code: str, target: str, why: str) -> None:
    expect_left_alone(outcome(program(code), "XLA101", target=target), why)
