"""`--add-noqa`: where the comments go, and that they silence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlalint.config import Settings
from xlalint.fixes.edits import Change
from xlalint.fixes.noqa import silencing
from xlalint.project import check_text

NAME = "module.py"
HEAD = "import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:\n"

PLACED = {
    "behind a header": (
        "    if x.sum() > 0:\n        x = x * 2\n",
        "    if x.sum() > 0:  # noqa: XLA101\n        x = x * 2\n",
    ),
    "behind a statement of several lines": (
        "    x = (\n        x * x.sum().item()\n    )\n",
        "    x = (\n        x * x.sum().item()\n    )  # noqa: XLA301\n",
    ),
    "behind another comment": (
        "    x = x * x.sum().item()  # why\n",
        "    x = x * x.sum().item()  # why  # noqa: XLA301\n",
    ),
    "in a noqa of another tool": (
        "    x = x * x.sum().item()  # noqa: E501\n",
        "    x = x * x.sum().item()  # noqa: E501, XLA301\n",
    ),
    "in a directive of our own": (
        "    x = x[y > 0] * x.sum().item()  # xlalint: ignore[XLA201] known\n",
        "    x = x[y > 0] * x.sum().item()  # xlalint: ignore[XLA201, XLA301] known\n",
    ),
    "two rules": ("    x = x[y > 0] * x.sum().item()\n", "    x = x[y > 0] * x.sum().item()  # noqa: XLA201, XLA301\n"),
    "other line ends": ("    x = x * x.sum().item()\r\n", "    x = x * x.sum().item()  # noqa: XLA301\r\n"),
    "nothing found": ("    x = x * 2\n", "    x = x * 2\n"),
}


def silenced(text: str) -> str:
    return Change((), tuple(silencing(text, check_text(text, NAME, Settings()).findings))).apply(text)


@pytest.mark.parametrize("name", PLACED)
def test_placed(name: str) -> None:
    before, after = (f"{HEAD}{body}    return x\n" for body in PLACED[name])
    assert silenced(before) == after
    assert not check_text(after, NAME, Settings()).findings


@given(
    st.lists(
        st.sampled_from(
            [before for before, _ in PLACED.values()] + ["    s = '''\n'''; x = x[y > 0]\n", "\f\n", "    # é\n"]
        ),
        max_size=6,
    )
)
def test_nothing_is_found_any_more(bodies: list[str]) -> None:
    text = f"{HEAD}{''.join(bodies)}    return x\n"
    after = silenced(text)
    assert not check_text(after, NAME, Settings()).findings
    assert after.replace("  # noqa", "").count("\n") == text.count("\n")
