"""What code takes grows with the code: calls are counted, over shapes of code of which each is doubled, and no time is measured.

`scripts/growth.py` holds the same shapes to CPU time.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from xlalint.config import Settings
from xlalint.project import check_text
from xlalint.project.rewriting import Memory

SCRIPT = Path(__file__).parents[2] / "scripts" / "growth.py"
SETTINGS = Settings(python=None, show_info=True)
MOST = 3.0  # what grows with the square has 4


def _script() -> Any:
    spec = spec_from_file_location("growth", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["growth"] = module
    spec.loader.exec_module(module)
    return module


SHAPES: dict[str, Any] = _script().SHAPES


def _check(text: str) -> None:
    report = check_text(text, "/project/module.py", SETTINGS, fixes=Memory())
    assert not report.failures


def _calls(work: Callable[[], None]) -> int:
    """How many functions of Python's are called while something is done, in threads that it starts as well."""
    count = 0

    def counted(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call"

    threading.setprofile(counted)
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return count


@pytest.fixture(scope="module", autouse=True)
def _read_once() -> None:
    """Tables and modules, which are read when they are first needed."""
    for shape in SHAPES.values():
        _check(shape.make(1))


@pytest.mark.parametrize("name", SHAPES)
def test_twice_the_code_takes_twice_the_calls(name: str) -> None:
    shape = SHAPES[name]
    size = min(2 * shape.start, shape.most // 2)
    least, once, twice = (_calls(lambda n=n: _check(shape.make(n))) for n in (1, size, 2 * size))  # type: ignore[misc]
    assert once > least
    assert (twice - least) / (once - least) < MOST


def test_nested_loops_are_cut_off() -> None:
    """Each of these loops runs three times until what it hands on is known: without a budget, 3 ** 16 turns."""
    once, twice = (_calls(lambda n=n: _check(handing_on(n))) for n in (9, 18))  # type: ignore[misc]
    assert twice / once < MOST


def handing_on(depth: int) -> str:
    """Loops within each other, each of which hands on a part of what the one around it computed."""
    lines = [
        "import torch",
        "from torch import nn",
        "class Model(nn.Module):",
        "    def forward(self, x: torch.Tensor):",
    ]
    lines += [f"        v{i} = 0" for i in range(depth + 2)]
    for i in range(depth):
        lines.append(f"{' ' * (8 + i)}for i{i} in ((1, 2), (3, 4), (5, 6)):")
        lines.append(f"{' ' * (9 + i)}v{i + 1}, v{i + 2} = v{i}, [v{i + 1}]")
    return "\n".join([*lines, "        return v3", ""])


def test_a_chain_that_libcst_would_take_seconds_for_is_checked_all_the_same() -> None:
    text = "import torch\nfrom torch import nn\n\n\nclass Model(nn.Module):\n    def forward(self, x: torch.Tensor):\n"
    text += f"        return x[x > 0]{' + x' * 2_000}\n"
    report = check_text(text, "/project/module.py", SETTINGS, fixes=Memory())
    assert not report.failures
    assert [(one.code, one.no_fix.partition(" of ")[0]) for one in report.findings] == [
        ("XLA201", "the function contains a chain")
    ]


def test_rewrites_of_one_function_share_a_budget() -> None:
    """Each of these could become one nested `where` of all that follows: the square of the function's length."""
    report = check_text(SHAPES["early returns"].make(96), "/project/module.py", SETTINGS, fixes=Memory())
    assert not report.failures
    waiting = ["too many findings" in one.no_fix for one in report.findings]
    assert any(waiting)
    assert not waiting[0]
    assert waiting == sorted(waiting), "in the order of the text"
