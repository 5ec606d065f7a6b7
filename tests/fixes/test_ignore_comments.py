"""`--add-ignore`: where the comments go, and that they silence."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlalint.config import Settings
from xlalint.fixes.ignore_comments import silencing
from xlalint.fixes.toolkit.edits import Change
from xlalint.project import check_text

NAME = "module.py"
HEAD = "import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:\n"

PLACED = {
    "behind a header": (
        "    if x.sum() > 0:\n        x = x * 2\n",
        "    if x.sum() > 0:  # xlalint: ignore[XLA101]\n        x = x * 2\n",
    ),
    "behind a statement of several lines": (
        "    x = (\n        x * x.sum().item()\n    )\n",
        "    x = (\n        x * x.sum().item()\n    )  # xlalint: ignore[XLA301]\n",
    ),
    "behind another comment": (
        "    x = x * x.sum().item()  # why\n",
        "    x = x * x.sum().item()  # why  # xlalint: ignore[XLA301]\n",
    ),
    "beside a noqa": (
        "    x = x * x.sum().item()  # noqa: E501\n",
        "    x = x * x.sum().item()  # noqa: E501  # xlalint: ignore[XLA301]\n",
    ),
    "in a directive of our own": (
        "    x = x[y > 0] * x.sum().item()  # xlalint: ignore[XLA201] known\n",
        "    x = x[y > 0] * x.sum().item()  # xlalint: ignore[XLA201, XLA301] known\n",
    ),
    "two rules": (
        "    x = x[y > 0] * x.sum().item()\n",
        "    x = x[y > 0] * x.sum().item()  # xlalint: ignore[XLA201, XLA301]\n",
    ),
    "other line ends": ("    x = x * x.sum().item()\r\n", "    x = x * x.sum().item()  # xlalint: ignore[XLA301]\r\n"),
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
    assert after.count("\n") == text.count("\n")


RUFF_KEEPS = {
    "alone": "    return x * x.sum().item()\n",
    "beside a noqa that Ruff needs": "    return x * x.sum().item() * lambda_  # noqa: F821\n",
    "beside a noqa that Ruff does not need": "    return x * x.sum().item()  # noqa: F821\n",
    "behind a type comment": "    return x * x.sum().item()  # type: ignore\n",
    "a line that Ruff splits": f"    return x[y > 0] * x.sum().item() * {' * '.join(['x.shape[0]'] * 6)}\n",
    "a header that Ruff splits": f"    if x.sum() > 0 and {' and '.join(['x.shape[0] > 1'] * 6)}:\n        return x\n    return y\n",
}


@pytest.mark.parametrize("name", RUFF_KEEPS)
def test_ruff_leaves_it(name: str, tmp_path: Path) -> None:
    """Neither its removal of unused and unknown codes nor its formatter takes away what a comment silences."""
    pytest.importorskip("ruff")
    file = tmp_path / "module.py"
    file.write_text(silenced(HEAD + RUFF_KEEPS[name]))
    written = re.findall(r"# xlalint: ignore\[.*?\]", file.read_text())
    assert written
    ruff(file, "check", "--fix", "--preview", "--select", "F821,RUF100,RUF102")
    ruff(file, "format")
    after = file.read_text()
    assert re.findall(r"# xlalint: ignore\[.*?\]", after) == written
    assert not check_text(after, NAME, Settings()).findings


@pytest.mark.parametrize("external", [True, False])
def test_ruff_takes_a_noqa_unless_it_is_told(tmp_path: Path, external: bool) -> None:
    """Why it is not a `# noqa`, and what those who keep theirs tell Ruff."""
    pytest.importorskip("ruff")
    file = tmp_path / "module.py"
    text = f"{HEAD}    return x * x.sum().item()  # noqa: XLA301\n"
    file.write_text(text)
    told = ["--config", 'lint.external = ["XLA"]'] if external else []
    ruff(file, "check", "--fix", "--preview", "--select", "RUF100,RUF102", *told)
    assert (file.read_text() == text) is external


def ruff(file: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "ruff", *arguments, "--isolated", "--no-cache", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in (0, 1), done.stderr
