"""Neovim, headless: it shows a file's diagnostics and applies a code action. Skipped where there is no `nvim` on the PATH."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls")

SCRIPT = Path(__file__).with_name("neovim.lua")
MODEL = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.item()\n\n\ndef g(x: torch.Tensor):\n    return x.tolist()\n"


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_neovim_shows_diagnostics_and_applies_an_action(tmp_path: Path) -> None:
    file, out = tmp_path / "model.py", tmp_path / "out.json"
    file.write_text(MODEL)
    environment = {
        **os.environ,
        "XLALINT_FILE": str(file),
        "XLALINT_OUT": str(out),
        "XLALINT_ACTION": "ignore XLA301",
        "XLALINT_SERVER": f"{sys.executable} -m xlalint server",
        "HOME": str(tmp_path),
    }
    command = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-c", f"luafile {SCRIPT}"]
    subprocess.run(command, env=environment, timeout=180, check=True, capture_output=True)
    seen = json.loads(out.read_text())
    assert [(one["code"], one["line"], one["source"]) for one in seen["before"]] == [
        ("XLA301", 5, "xlalint"),
        ("XLA302", 9, "xlalint"),
    ]
    assert seen["text"][4] == "    return x.item()  # noqa: XLA301"
    assert [(one["code"], one["line"]) for one in seen["after"]] == [("XLA302", 9)]
