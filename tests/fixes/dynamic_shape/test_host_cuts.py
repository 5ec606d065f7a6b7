"""Parts of a tensor, cut by the value of another, that are copied to the host."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import body, expect_fixed, expect_left_alone, outcome

SAFE = {
    "rows": ("return x[:n].cpu()", "return x.cpu()[:n]"),
    "rows from a place on": ("return x[n:].cpu()", "return x.cpu()[n:]"),
    "rows, all dimensions told": ("return x[:n, :, ...].cpu()", "return x.cpu()[:n, :, ...]"),
    "by the name of the device": ('return x[:n].to("cpu")', 'return x.to("cpu")[:n]'),
    "by keyword": ('return x[:n].to(device="cpu")', 'return x.to(device="cpu")[:n]'),
    "detached": ("return x[:n].detach().cpu()", "return x.detach().cpu()[:n]"),
    "as an array": ("return x[:n].detach().cpu().numpy()", "return x.detach().cpu()[:n].numpy()"),
    "as floats": ("return x[:n].float().cpu()", "return x.float().cpu()[:n]"),
    "as a list": ("return x[:, :n].cpu().tolist()", "return x.cpu()[:, :n].tolist()"),
    "as a list, by an array": ("return x[..., :n].cpu().numpy().tolist()", "return x.cpu()[..., :n].numpy().tolist()"),
    "of an attribute": ("return self.x.abs()[: n + 1].cpu()", "return self.x.abs().cpu()[: n + 1]"),
    "of an operation": ("return (x + t)[:n].cpu()", "return (x + t).cpu()[:n]"),
    "in parentheses": ("return (x[:n]).cpu()", "return x.cpu()[:n]"),
    "by a maximum": ("return x[: n.max()].cpu()", "return x.cpu()[: n.max()]"),
}

UNSAFE = {
    "columns": ("return x[:, :n].cpu()", "return x.cpu()[:, :n]"),
    "the last dimension": ("return x[..., :n].cpu()", "return x.cpu()[..., :n]"),
    "both": ("return x[:n, n:].cpu()", "return x.cpu()[:n, n:]"),
    "an array of columns": ("return x[:, :n].cpu().numpy()", "return x.cpu()[:, :n].numpy()"),
    "every second row": ("return x[: n : 2].cpu()", "return x.cpu()[: n : 2]"),
    "a comment": (
        "y = x[:, :n].cpu()  # what is shown\nreturn y",
        "y = x.cpu()[:, :n]  # what is shown\nreturn y",
    ),
}

LEFT_ALONE = {
    "stays on the device": ("return x[:, :n].exp()", "depends on the value"),
    "to a device that is not told": ("return x[:, :n].to(t.device)", "depends on the value"),
    "to another device": ('return x[:, :n].to("cuda")', "depends on the value"),
    "to another dtype": ("return x[:, :n].to(torch.float32)", "depends on the value"),
    "with options": ('return x[:, :n].to("cpu", non_blocking=True)', "depends on the value"),
    "what looks at all": ("return x[:, :n].softmax(-1).cpu()", "depends on the value"),
    "a layout": ("return x[:, :n].contiguous().cpu()", "depends on the value"),
    "a sum": ("return x[:n].sum().cpu()", "how many dimensions"),
    "a row of it": ("return x[0, :n].cpu()", "more than slices"),
    "rows by a mask": ("return x[t > 0, :n].cpu()", "more than slices"),
    "rows by their places": ("return x[:n, t].cpu()", "more than slices"),
    "a new dimension": ("return x[None, :n].cpu()", "more than slices"),
    "a bound of its own name": ("return x[: (k := n)].cpu()", "more than slices"),
    "a random bound": ("return x[: torch.randint(3, (), device=x.device)].cpu()", "does more than that"),
    "a bound that nobody knows": ("return x[: n + f(n)].cpu()", "does more than that"),
    "a bound that changes": ("return x[: n.add_(1)].cpu()", "does more than that"),
    "the method alone": ("f = x[:, :n].cpu\nreturn f()", "depends on the value"),
    "assigned": ("x[:, :n] = t[:, :n].exp()\nreturn x", "length of the slice"),
}


@pytest.mark.parametrize(("before", "after"), SAFE.values(), ids=SAFE)
def test_safe(before: str, after: str) -> None:
    expect_fixed(outcome(body(before), "XLA206"), body(after), "safe")


@pytest.mark.parametrize(("before", "after"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str) -> None:
    expect_fixed(outcome(body(before), "XLA206"), body(after), "unsafe", "contiguous")


@pytest.mark.parametrize(("before", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(before: str, why: str) -> None:
    expect_left_alone(outcome(body(before), "XLA206"), why)


def test_what_a_tensor_is_not() -> None:
    program = (
        "import torch\n\n\ndef f(x: torch.Tensor, n: torch.Tensor, early: bool):\n"
        "    if early:\n        x = [x, x]\n    return x[:n].cpu()\n"
    )
    assert "not a tensor in every call" in outcome(program, "XLA206").reason


def test_torch_compile_copies_what_it_did() -> None:
    made = outcome(body("return x[:, int(n.min()) : 3].cpu()"), "XLA302", target="torch_compile")
    assert made.fix is None


def test_a_bound_that_was_read_before() -> None:
    expect_left_alone(outcome(body("k = int(n)\nreturn x[:, :k].cpu()"), "XLA302"), "copy all of `x`")


def test_the_value_is_read_all_the_same() -> None:
    made = outcome(body("return x.cpu()[:n]"), "XLA301")
    assert made.fix is None


SELECTED = {
    "an array": ("return x[x > 0].detach().cpu().numpy()", "return x.detach().cpu()[(x > 0).cpu()].numpy()"),
    "by the name of the device": ('return x[x > 0].to("cpu")', 'return x.to("cpu")[(x > 0).cpu()]'),
    "rows of a part": (
        "m = t[:, 0] > 0\nreturn x[:, 1][m].float().cpu().tolist()",
        "m = t[:, 0] > 0\nreturn x[:, 1].float().cpu()[m.cpu()].tolist()",
    ),
}
SELECTED_THERE = {
    "computed with first": "return x[x > 0].exp().cpu()",
    "stays on the device": "return x[x > 0]",
    "of each row": "return [x[i][(x > 0)[i]].cpu() for i in range(3)]",
    "of another place as well": "return x[x[:, 0] > 0, 1:].cpu()",
}


@pytest.mark.parametrize(("before", "after"), SELECTED.values(), ids=SELECTED)
def test_what_a_mask_selects_for_the_host_is_selected_there(before: str, after: str) -> None:
    expect_fixed(outcome(body(before), "XLA201"), body(after), "unsafe", "not much more to copy")


@pytest.mark.parametrize("text", SELECTED_THERE.values(), ids=SELECTED_THERE)
def test_what_else_a_mask_selects_stays(text: str) -> None:
    expect_left_alone(outcome(body(text), "XLA201"), "may expect its shape")
