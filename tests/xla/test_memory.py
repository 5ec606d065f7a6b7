"""Operations that are said to give tensors of their own do, in torch; views do not."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.xla.conftest import HERE, LIMIT, require
from xlalint.fixes.toolkit.operations import NEW

SHARING = (
    "chunk",
    "detach",
    "einsum",
    "expand",
    "flatten",
    "permute",
    "positive",
    "ravel",
    "reshape",
    "squeeze",
    "swapaxes",
    "view",
)


@pytest.mark.torch_xla
def test_operations_give_tensors_of_their_own() -> None:
    require("torch")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "run_memory.py")],
        input=json.dumps([*sorted(NEW), *SHARING]),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
    )
    seen = json.loads(done.stdout.splitlines()[-1])
    assert {name for name in NEW if seen[name] == "shares"} == set()
    assert {name for name in SHARING if seen[name] == "new"} == set()
    assert sum(seen[name] == "new" for name in NEW) > 0.8 * len(NEW)
