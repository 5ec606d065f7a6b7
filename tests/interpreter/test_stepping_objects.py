"""Steps that an object takes which is called: loops that call it are loops over steps, whatever it is handed to under its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.config import Settings
from xlalint.project import check_paths

SCALER = """import torch


class Scaler:
    def __init__(self):
        self.scaler = torch.amp.GradScaler()

    def __call__(self, loss, optimizer):
        self.scaler.scale(loss).backward()
        self.scaler.step(optimizer)
"""
ENGINE = """import torch


def train(model, loader, optimizer, device, scale):
    for x in loader:
        loss = model(x.to(device))
        seen = loss.item()
        scale(loss, optimizer)
"""
MAIN = """from part import Scaler
from engine import train


def main(model, loader, optimizer, device):
    scale = Scaler()
    train(model, loader, optimizer, device, scale)
"""
OF_CLASS = ENGINE.replace("def train(", "class Engine:\n  def train(self, ").replace("scale(loss", "self.scale(loss")
STEPS = {
    "of a class of the program": {"part.py": SCALER, "engine.py": ENGINE, "main.py": MAIN},
    "of a class by another name": {
        "part.py": SCALER,
        "engine.py": ENGINE,
        "main.py": MAIN.replace("import Scaler", "import Scaler as Own").replace("= Scaler", "= Own"),
    },
    "of a library's class": {
        "engine.py": ENGINE,
        "main.py": MAIN.replace("from part import", "from timm.utils import NativeScaler as"),
    },
    "of what an object keeps": {
        "part.py": SCALER,
        "engine.py": OF_CLASS,
        "main.py": "from part import Scaler\ndef main(engine):\n    engine.scale = Scaler()\n    engine.train()\n",
    },
    "of an object beside the loop": {"main.py": SCALER + "scale = Scaler()\n" + ENGINE},
}
NO_STEPS = {
    "of an object that only scales": {
        "part.py": SCALER.replace(
            "        self.scaler.scale(loss).backward()\n        self.scaler.step(optimizer)\n",
            "        return loss * 2\n",
        ),
        "engine.py": ENGINE,
        "main.py": MAIN,
    },
    "of an object by another name": {
        "part.py": SCALER,
        "engine.py": ENGINE,
        "main.py": MAIN.replace("scale = ", "other = ").replace(", scale)", ", len)"),
    },
    "of nothing that is known": {"engine.py": ENGINE},
    "of another library's class": {"engine.py": ENGINE, "main.py": MAIN.replace("from part", "from some.utils")},
    "of a function of that name": {
        "part.py": SCALER,
        "engine.py": ENGINE + "def scale(loss, optimizer):\n    pass\n",
        "main.py": MAIN,
    },
}


def check(folder: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        (folder / name).write_text(text)
    report = check_paths([folder], Settings(target="torch_xla", show_info=True))
    assert not report.failures
    return [str(one.frequency) for one in report.findings if one.code == "XLA301"]


@pytest.mark.parametrize("name", NO_STEPS)
def test_a_loop_that_takes_no_steps(name: str, tmp_path: Path) -> None:
    assert "step" not in check(tmp_path, NO_STEPS[name])


@pytest.mark.parametrize("name", STEPS)
def test_a_loop_that_steps_by_an_object(name: str, tmp_path: Path) -> None:
    assert check(tmp_path, STEPS[name]) == ["step"]
