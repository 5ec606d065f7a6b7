"""Tests of a mask that only take a shortcut where it masks nothing."""

from __future__ import annotations

import pytest

from tests.fixes.control_flow.programs import module
from tests.fixes.fixing import PATH, append_indented, expect_fixed, outcome
from xlalint.config import Settings
from xlalint.project import check_text
from xlalint.project.rewriting import Memory


def program(code: str) -> str:
    return append_indented(
        "import torch\n\nSEEN = []\n\n\n@torch.compile\n"
        "def run(x: torch.Tensor, mask: torch.Tensor, n: int = 6) -> torch.Tensor | None:\n",
        code,
    )


RETURNED = {
    "the mask": ("if mask.all():\n    return None\nreturn mask", "return mask"),
    "a part of it": (
        "if torch.all(mask == 1):\n    return None\nreturn mask[:, -n:].contiguous()",
        "return mask[:, -n:].contiguous()",
    ),
    "with what the host knows": ("if n > 1 and mask.all():\n    return None\nreturn mask.bool()", "return mask.bool()"),
    "code in front": ("mask = mask > 0\nif mask.all():\n    return None\nreturn mask", "mask = mask > 0\nreturn mask"),
}

LEFT_ALONE = {
    "another mask": "if (x > 0).all():\n    return None\nreturn mask",
    "a part that is asked": "if mask[:, -1].all():\n    return None\nreturn mask",
    "any": "if mask.any():\n    return None\nreturn mask",
    "not all": "if not mask.all():\n    return None\nreturn mask",
    "along a dimension": "if mask.all(0).any():\n    return None\nreturn mask",
    "something else than None": "if mask.all():\n    return x\nreturn mask",
    "something made of it": "if mask.all():\n    return None\nreturn x * mask",
    "its count": "if mask.all():\n    return None\nreturn mask.sum()",
    "the mask turned": "if mask.all():\n    return None\nreturn ~mask",
    "no mask": "if x.all():\n    return None\nreturn x",
    "code behind": "if mask.all():\n    return None\nmask = mask * 2\nreturn mask",
    "nothing behind": "if mask.all():\n    return None",
    "an else": "if mask.all():\n    return None\nelse:\n    mask = mask * 2\nreturn mask",
    "more than a return": "if mask.all():\n    SEEN.append(1)\n    return None\nreturn mask",
    "or what the host knows": "if n > 1 or mask.all():\n    return None\nreturn mask",
}


@pytest.mark.parametrize(("before", "after"), RETURNED.values(), ids=RETURNED)
def test_the_mask_is_returned(before: str, after: str) -> None:
    expect_fixed(
        outcome(program(before), "XLA101"),
        program(after),
        "unsafe",
        "the caller treats `mask` that is true everywhere like None",
    )


@pytest.mark.parametrize("before", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(before: str) -> None:
    assert "Return `mask`" not in outcome(program(before), "XLA101").message


def test_what_the_host_knows_beside_a_tensor() -> None:
    code = "if n > 1 and (n < 4 or mask.all()):\n    x = x * 2\nreturn x"
    made = outcome(program(code), "XLA101")
    assert "the host knows `n < 4`, and a tensor decides as well" in made.reason


def test_a_mask_that_masks_nothing_is_kept() -> None:
    body = "mask = x > 0\nif ok and mask.all():\n    mask = None\nreturn x, mask"
    expect_fixed(
        outcome(module(body), "XLA101"), module("mask = x > 0\nreturn x, mask"), "unsafe", "gives what None gives"
    )


HELPER = """import torch


def fast_all(tensor: torch.Tensor) -> torch.Tensor:
    \"\"\"Faster than `tensor.all()`.\"\"\"
    return tensor.sum() == tensor.numel()


def most(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.sum() > 3


"""
CALLER = """

@torch.compile
def run(x: torch.Tensor, mask: torch.Tensor | None, n: int):
    if skips(mask, n):
        return x
    return x.masked_fill(~mask, 0.0)
"""


def with_helper(code: str) -> str:
    """A function of the program that says whether there is anything to mask, and its caller."""
    head = f"{HELPER}def skips(mask: torch.Tensor | None, n: int) -> bool:\n"
    return append_indented(head, code).rstrip() + "\n" + CALLER


GENERAL = {
    "a mask that masks nothing": (
        "if mask is None or mask.all():\n    return True\nreturn False",
        "if mask is None:\n    return True\nreturn False",
    ),
    "a helper": (
        "if (n == 1 or n == 4) and (mask is None or fast_all(mask)):\n    return True\nreturn False",
        "if (n == 1 or n == 4) and mask is None:\n    return True\nreturn False",
    ),
    "between what the host knows": (
        "if n > 1 and (mask is None or mask.all()) and n < 9:\n    return True\nreturn False",
        "if n > 1 and mask is None and n < 9:\n    return True\nreturn False",
    ),
    "more that the host knows": (
        "if n > 1 or mask is None or mask.all():\n    return True\nreturn False",
        "if n > 1 or mask is None:\n    return True\nreturn False",
    ),
    "compared": (
        "if mask is None or (mask == 1).all():\n    return True\nreturn False",
        "if mask is None:\n    return True\nreturn False",
    ),
    "turned": (
        "if mask is not None and not mask.all():\n    return False\nreturn True",
        "if mask is not None:\n    return False\nreturn True",
    ),
    "within more of the host's": (
        "if n > 1 and (mask is not None and not mask.all()):\n    return False\nreturn True",
        "if n > 1 and mask is not None:\n    return False\nreturn True",
    ),
}

PARTS = {
    "by a helper": (
        "if n == 0 and (mask is None or (fast_all(mask[:, :n]) and fast_all(~mask[:, n:]))):\n    return True\nreturn False",
        "if n == 0 and mask is None:\n    return True\nreturn False",
    ),
    "by methods": (
        "if mask is None or (mask[:, :n].all() and (~mask[:, n:]).all()):\n    return True\nreturn False",
        "if mask is None:\n    return True\nreturn False",
    ),
}

NO_SHORTCUT = {
    "a part of it, behind the host's": "if mask is None or (n > 1 and mask[:, :n].all()):\n    return True\nreturn False",
    "a part or another": "if mask is None or (mask[:, :n].all() or mask[:, n:].all()):\n    return True\nreturn False",
    "a part and any": "if mask is None or (mask[:, :n].all() and mask[:, n:].any()):\n    return True\nreturn False",
    "an element and a part": "if mask is None or (mask[0, 0].all() and mask[:, n:].all()):\n    return True\nreturn False",
    "without a question for None": "if mask.all():\n    return True\nreturn False",
    "any": "if mask is None or mask.any():\n    return True\nreturn False",
    "none at all": "if mask is None or not mask.any():\n    return True\nreturn False",
    "not all": "if mask is None or not mask.all():\n    return True\nreturn False",
    "and all": "if mask is not None and mask.all():\n    return True\nreturn False",
    "another helper": "if mask is None or most(mask):\n    return True\nreturn False",
    "a part of it": "if mask is None or mask[:, -1].all():\n    return True\nreturn False",
    "along a dimension": "if mask is None or mask.all(0)[0]:\n    return True\nreturn False",
    "compared with something else": "if mask is None or (mask == 2).all():\n    return True\nreturn False",
    "it raises": "if mask is None or mask.all():\n    raise ValueError(n)\nreturn False",
    "it does something": "if mask is None or mask.all():\n    print(n)\n    return True\nreturn False",
    "it computes": "if mask is None or mask.all():\n    return n + 1\nreturn False",
    "it is asserted": "assert mask is None or mask.all()\nreturn False",
    "it is negated as a whole": "if not (mask is None or mask.all()):\n    return False\nreturn True",
    "it is kept": "whole = mask is None or mask.all()\nreturn whole",
    "the other order": "if mask.all() or mask is None:\n    return True\nreturn False",
}


@pytest.mark.parametrize(("before", "after"), GENERAL.values(), ids=GENERAL)
def test_the_general_path_is_taken(before: str, after: str) -> None:
    expect_fixed(
        outcome(with_helper(before), "XLA101"),
        with_helper(after),
        "unsafe",
        "what runs for any other `mask` gives the same for one that is true everywhere",
    )


@pytest.mark.parametrize(("before", "after"), PARTS.values(), ids=PARTS)
def test_the_general_path_is_taken_where_parts_are_asked(before: str, after: str) -> None:
    made = outcome(with_helper(before), "XLA101")
    expect_fixed(made, with_helper(after), "unsafe", "what runs for any other `mask` gives the same for one of which")


@pytest.mark.parametrize("before", NO_SHORTCUT.values(), ids=NO_SHORTCUT)
def test_no_shortcut(before: str) -> None:
    settings = Settings(target="torch_xla", python=None, show_info=True)
    report = check_text(with_helper(before), PATH, settings, fixes=Memory())
    said = [finding.fix.message for finding in report.findings if finding.fix is not None]
    assert report.findings
    assert not any("shortcut" in message for message in said)


COUNT = "mask = (x[:, :-1] != 1).cumsum(-1)\n"
PACKED = {
    "a running count": (
        f"{COUNT}if (mask[:, -1] == 0).all():\n    return None\nreturn mask",
        f"{COUNT}return mask",
    ),
    "with what the host knows": (
        f"{COUNT}if n > 1 and (mask[..., -1] == 0).all():\n    return None\nreturn mask",
        f"{COUNT}return mask",
    ),
}
NOT_PACKED = {
    "a sum that may fall": "mask = x.cumsum(-1)\nif (mask[:, -1] == 0).all():\n    return None\nreturn mask",
    "its first element": f"{COUNT}if (mask[:, 0] == 0).all():\n    return None\nreturn mask",
    "another number": f"{COUNT}if (mask[:, -1] == 1).all():\n    return None\nreturn mask",
    "along the rows": "mask = (x > 1).cumsum(0)\nif (mask[:, -1] == 0).all():\n    return None\nreturn mask",
    "no count": "if (mask[:, -1] == 0).all():\n    return None\nreturn mask",
    "any": f"{COUNT}if (mask[:, -1] == 0).any():\n    return None\nreturn mask",
}


@pytest.mark.parametrize(("before", "after"), PACKED.values(), ids=PACKED)
def test_a_count_of_nothing_is_returned(before: str, after: str) -> None:
    made = outcome(program(before), "XLA101")
    expect_fixed(made, program(after), "unsafe", "the caller treats `mask` that is zero everywhere like None")


@pytest.mark.parametrize("before", NOT_PACKED.values(), ids=NOT_PACKED)
def test_other_counts_are_left_alone(before: str) -> None:
    assert "Return `mask`" not in outcome(program(before), "XLA101").message


JOINED = """import numpy as np
import torch


def skips(mask, n: int) -> bool:
    if mask is None or mask.{asked}:
        return True
    return False


@torch.compile
def run(x: torch.Tensor, mask: torch.Tensor, made, n: int):
    mask = mask if n > 4 else made(n) if n > 2 else np.ones(4, bool)
    return x if skips(mask, n) else x * 2
"""


def test_a_mask_that_callers_of_all_kinds_give() -> None:
    expect_fixed(
        outcome(JOINED.format(asked="all()"), "XLA101"),
        JOINED.format(asked="all()").replace(" or mask.all()", ""),
        "unsafe",
        "gives the same for one that is true everywhere",
    )


@pytest.mark.parametrize("asked", ["any()", "all(0)[0]", "all(dim=0)", "sum()", "every()"])
def test_another_question_of_such_a_mask_stays(asked: str) -> None:
    settings = Settings(target="torch_xla", python=None, show_info=True)
    report = check_text(JOINED.format(asked=asked), PATH, settings, fixes=Memory())
    said = [finding.fix.message for finding in report.findings if finding.fix is not None]
    assert not any("shortcut" in message for message in said)
