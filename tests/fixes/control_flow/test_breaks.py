"""Loops that end early on a tensor's value, and whose further turns would change nothing."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import append_indented, expect_fixed, outcome


def program(code: str) -> str:
    return append_indented(
        "import torch\n\nSEEN = []\n\n\n@torch.compile\n"
        "def run(x: torch.Tensor, y: torch.Tensor, done: torch.Tensor, n: int = 6) -> torch.Tensor:\n",
        code,
    )


def loop(turn: str, before: str = "", behind: str = "return x", over: str = "range(n)") -> str:
    lines = turn.replace("\n", "\n    ")
    return f"{before}for i in {over}:\n    {lines}\n{behind}"


STOP = "if not mask.any():\n    break\n"
FINISHED = "\nif done.all():\n    break"

# Each is what a turn does, with the `break` where `@` stands.
DROPPED = {
    "a mask that is worked out anew": ("mask = x > 3\n@x = torch.where(mask, x * 0.5, x)", STOP),
    "masked_fill": ("mask = x > 3\n@x = x.masked_fill(mask, 0.0)", STOP),
    "a sum": ("mask = x > 3\n@y = y + x * mask\nx = torch.where(mask, x * 0.5, x)", STOP),
    "a sum in place": (
        "z = x * 2\nmask = torch.where(z > 3, 1.0, 0.0)\n@o: int = i * 3\ny += (z + o) * mask\nx = torch.where(mask == 1, y, x)",
        "if mask.sum() == 0:\n    break\n",
    ),
    "a mask that is carried": (
        "z = x * 2 + i\nx = torch.where(done, x, z)\ndone = done | (x > 3)@",
        FINISHED,
    ),
    "a mask that only loses members": (
        "x = torch.where(mask, x * 2, x)\nmask = mask & (x < 3)\n@y = y - mask * x",
        STOP,
    ),
}

KEPT = {
    "an update that is not masked": loop(f"mask = x > 3\n{STOP}x = x * 0.5"),
    "an update in front of the break": loop(f"x = x - 1\nmask = x > 3\n{STOP}y = torch.where(mask, x, y)"),
    "another mask": loop(f"mask = x > 3\n{STOP}x = torch.where(y > 3, x * 0.5, x)"),
    "the mask turned": loop(f"mask = x > 3\n{STOP}x = torch.where(mask, x, x * 0.5)"),
    "a mask of the turn's number": loop(f"mask = x > i\n{STOP}x = torch.where(mask, x * 0.5, x)"),
    "a mask that may be true again": loop(
        f"x = torch.where(mask, x * 2, x)\nmask = mask | (x < 3)\n{STOP}y = y - mask * x", before="mask = x > 0\n"
    ),
    "a mask that is set anew behind": loop(f"mask = x > 3\n{STOP}x = torch.where(mask, x * 0.5, x)\nmask = y > 3"),
    "a mask from outside": loop(f"x = torch.where(mask, x * 2, x)\n{STOP}", before="mask = x > 0\n"),
    "random numbers": loop(f"mask = x > torch.rand(3)\n{STOP}x = torch.where(mask, x * 0.5, x)"),
    "what is not known": loop(
        f"mask = x > 3\n{STOP}z = other(x)\nx = torch.where(mask, x * 0.5, x)", before="from m import other\n"
    ),
    "a list": loop(f"mask = x > 3\n{STOP}x = torch.where(mask, x * 0.5, x)\nSEEN.append(i)"),
    "an element": loop(f"mask = x > 3\n{STOP}x[i] = 0"),
    "a counter": loop(f"mask = x > 3\n{STOP}x = torch.where(mask, x * 0.5, x)\nk = k + 1", "k = 0\n", "return x * k"),
    "the number of the turn": loop(f"mask = x > 3\n{STOP}x = torch.where(mask, x * 0.5, x)", behind="return x + i"),
    "the mask that is read behind": loop(
        f"mask = x > 3\n{STOP}x = torch.where(mask, x * 0.5, x)", behind="return x * mask"
    ),
    "a loop over what is there": loop(f"mask = x > 3\n{STOP}x = torch.where(mask, x * 0.5, x)", over="SEEN"),
    "an else": loop(f"mask = x > 3\n{STOP}x = torch.where(mask, x * 0.5, x)", behind="else:\n    x = y\nreturn x"),
    "more than a break": loop(
        "mask = x > 3\nif not mask.any():\n    SEEN.append(i)\n    break\nx = torch.where(mask, x * 0.5, x)"
    ),
    "an if with an else": loop(
        "mask = x > 3\nif not mask.any():\n    break\nelse:\n    y = y + 1\nx = torch.where(mask, x * 0.5, x)"
    ),
    "a part that the host knows": loop(
        "mask = x > 3\nif n > 2 and not mask.any():\n    break\nx = torch.where(mask, x * 0.5, x)"
    ),
    "any": loop("mask = x > 3\nif mask.any():\n    break\nx = torch.where(mask, x * 0.5, x)"),
    "a tolerance": loop("z = x * 0.5\nif (z - x).abs().max() < 0.1:\n    break\nx = z"),
    "a list of what is finished": loop(f"x = torch.where(done, x, x + 1)\ndone = done & (x > 3){FINISHED}"),
    "a branch in the turn": loop(f"mask = x > 3\n{STOP}if n:\n    x = torch.where(mask, x * 0.5, x)"),
    "a change in place of something else": loop(f"mask = x > 3\n{STOP}x *= mask"),
}


@pytest.mark.parametrize(("turn", "stop"), DROPPED.values(), ids=DROPPED)
def test_dropped(turn: str, stop: str) -> None:
    before = "mask = x > 0\ndone = x > 9\n"
    expect_fixed(
        outcome(program(loop(turn.replace("@", stop), before, "return x + y")), "XLA101"),
        program(loop(turn.replace("@", ""), before, "return x + y")),
        "unsafe",
        "needlessly",
    )


@pytest.mark.parametrize("code", KEPT.values(), ids=KEPT)
def test_kept_with_a_reason(code: str) -> None:
    made = outcome(program(code), "XLA101")
    assert made.fix is None
    assert made.reason
