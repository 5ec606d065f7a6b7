"""`xlalint.watch` around a torch_xla program that reads, falls back, and clears torch_xla's counters itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.xla.conftest import LIMIT, require

PROGRAM = """
import json
import os

os.environ.setdefault("PJRT_DEVICE", "CPU")

import torch
import torch_xla
import torch_xla.debug.metrics as met

import xlalint

x = torch.ones(8, 4).to(torch_xla.device())


def step(number):
    y = (x * 2)[x.long()[:, 0] * 0].to(torch.bfloat16).float()
    y.median()  # LINE fallback host-sync
    if number == 3:
        met.clear_all()
    y[y > 0]  # LINE fallback host-sync
    y.sum().item()  # LINE host-sync
    torch_xla.sync()


def closure_step():
    torch_xla.core.xla_model.add_step_closure(lambda y: float(y), args=(x.sum(),), run_async=True)
    torch_xla.sync()


with xlalint.watch() as seen:
    for number in range(6):
        step(number)
with xlalint.watch() as clean:
    for number in range(6):
        closure_step()
methods = [name for name in ("item", "to", "__getitem__", "__bool__") if name in vars(torch.Tensor)]
told = [[e.kind, e.what, e.place.line if e.place else 0, e.count] for e in seen.events]
print(json.dumps([seen.syncs, seen.fallbacks, clean.syncs, clean.fallbacks, told, methods]))
"""


@pytest.mark.torch_xla
def test_watch(tmp_path: Path) -> None:
    require("torch")
    file = tmp_path / "train.py"
    file.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr[-4000:]
    syncs, fallbacks, clean_syncs, clean_fallbacks, told, left = json.loads(done.stdout.splitlines()[-1])
    assert (syncs, fallbacks, clean_syncs, clean_fallbacks) == (18, 12, 0, 0)
    assert left == [], "what was wrapped is as it was"
    marked = ((n, line.partition("# LINE ")[2].split()) for n, line in enumerate(PROGRAM.splitlines(), start=1))
    wanted = {(n, kind) for n, kinds in marked for kind in kinds}
    assert {(line, kind) for kind, _, line, _ in told if line and kind != "compilation"} == wanted
    unknown = [(kind, what, count) for kind, what, line, count in told if not line and kind != "compilation"]
    assert unknown == [
        ("fallback", "aten::median", 1),
        ("host-sync", "aten::median", 1),
    ]  # before its line was looked for
