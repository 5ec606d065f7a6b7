"""Whole scripts ported to TorchTPU: the page shows what the fixes make of them, text for text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.fixes.fixing import expect_settled

PAGE = (Path(__file__).parents[2] / "docs" / "torchtpu.md").read_text()
SCRIPTS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PAIRS = list(zip(SCRIPTS[::2], SCRIPTS[1::2], strict=True))


def test_the_page_has_scripts() -> None:
    assert len(PAIRS) == 2


@pytest.mark.parametrize(("before", "after"), PAIRS, ids=["torch_xla", "CUDA"])
def test_the_fixes_port_a_script(before: str, after: str) -> None:
    expect_settled(before, after, target="torch_tpu")
