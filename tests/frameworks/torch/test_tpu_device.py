"""Which modules are written for TorchTPU, and for which target a program's files are judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.config import Settings
from xlalint.project import check_paths
from xlalint.project.session import Session

LOOP = (
    "import torch\nmodel = torch.nn.Linear(2, 2)\nopt = torch.optim.SGD(model.parameters())\n"
    "for x in torch.ones(9, 4, 2):\n    model(x).sum().backward()\n    opt.step()\n"
)
NOT_CALLED = "def f(x: torch.Tensor):\n    return x\n"

ELSEWHERE = {
    "nothing": LOOP,
    "torch_xla": f"import torch_xla\n{LOOP}",
    "its device": f"{LOOP}model.to('xla')\n",
    "a GPU": f"{LOOP}model.to('cuda')\n",
    "a word": f"{LOOP}name = 'tpu'\n",
    "a word among others": f"{LOOP}KINDS = ('cpu', 'tpu')\n",
    "a comparison": f"{LOOP}if model.device.type == 'tpu':\n    pass\n",
    "a trainer's accelerator": f"{LOOP}trainer = Trainer(accelerator='tpu')\n",
    "another library's device": f"from jax import devices\n{LOOP}devices('tpu')\n",
    "another library's keyword": f"import keras\n{LOOP}keras.load(device='tpu')\n",
    "under a condition": f"{LOOP}if flag:\n    model.to('tpu')\n",
    "where it can be": f"{LOOP}try:\n    model.to('tpu')\nexcept RuntimeError:\n    pass\n",
    "imported where it can be": f"try:\n    import torch_tpu\nexcept ImportError:\n    pass\n{LOOP}",
    "where torch has it": f"{LOOP}there = hasattr(torch, 'tpu') and torch.tpu.is_initialized()\n",
    "an attribute of another": f"{LOOP}strategy.tpu.run()\n",
    "a match": f"{LOOP}match name:\n    case 'tpu':\n        model.to('tpu')\n",
}
THERE = {
    "a device": f"{LOOP}device = torch.device('tpu')\n",
    "a device of a name": f"from torch import device\n{LOOP}there = device('tpu')\n",
    "a device with a number": f"{LOOP}device = torch.device('tpu:0')\n",
    "moved": f"{LOOP}model.to('tpu')\n",
    "moved by keyword": f"{LOOP}model.to(device='tpu')\n",
    "moved by a method": f"{LOOP}model.tpu()\n",
    "by a variable": f"{LOOP}kind = 'tpu'\nmodel.to(kind)\n",
    "by a variable, in a function": f"{LOOP}kind = 'tpu'\ndef start():\n    model.to(kind)\n",
    "made there": f"{LOOP}torch.zeros(2, device='tpu')\n",
    "made there by a tensor": f"{LOOP}x.new_zeros(2, device='tpu')\n",
    "a mesh": f"from torch.distributed.device_mesh import init_device_mesh\n{LOOP}init_device_mesh('tpu', (4,))\n",
    "loaded there": f"{LOOP}torch.load('a.pt', map_location='tpu')\n",
    "the default": f"{LOOP}torch.set_default_device('tpu')\n",
    "its module": f"{LOOP}torch.tpu.manual_seed(1)\n",
    "wanted, or what there is": f"{LOOP}device = 'tpu' if torch.accelerator.is_available() else 'cpu'\nmodel.to(device)\n",
    "an option's default": f"{LOOP}parser.add_argument('--device', default='tpu')\n",
    "in a loop": f"{LOOP}for part in parts:\n    part.to('tpu')\n",
    "in a with": f"{LOOP}with torch.autocast('tpu'):\n    pass\n",
    "in a function": f"{LOOP}def start():\n    return model.to('tpu')\n",
    "of the main program": f"{LOOP}if __name__ == '__main__':\n    model.to('tpu')\n",
    "imported": f"import torch_tpu\n{LOOP}",
    "imported beside torch_xla": f"import torch_tpu\nimport torch_xla\n{LOOP}",
    "the device beside torch_xla": f"import torch_xla\n{LOOP}model.to('tpu')\n",
}

BARRIER = {"XLA511"}
"""The rule of torch_xla's that each of these loops breaks, if it is one of torch_xla."""


def judged(folder: Path, target: str | None = None, **files: str) -> dict[str, set[str]]:
    """The rules of configuration that each file of a program breaks, and `graph`, where words of torch_xla's graphs are used."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    settings = Settings(root=str(folder), jobs=1, python=None, target=target)  # type: ignore[arg-type]
    report = check_paths([folder], settings)
    assert not report.failures
    found: dict[str, set[str]] = {name: set() for name in files}
    for one in report.findings:
        found[Path(one.filename).stem].add(one.code)
    return found


MASK = "import torch\ndef f(x: torch.Tensor):\n    x[x > 0] = 0\n    return x\n"
"""What costs with torch_xla, and nothing with TorchTPU."""


@pytest.mark.parametrize("text", ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_is_not_for_torchtpu(text: str, tmp_path: Path) -> None:
    assert "XLA205" in judged(tmp_path, script=f"{text}{MASK}")["script"]


@pytest.mark.parametrize("text", THERE.values(), ids=THERE)
def test_what_is_for_torchtpu(text: str, tmp_path: Path) -> None:
    found = judged(tmp_path, script=f"{text}{MASK}")["script"]
    assert "XLA205" not in found
    assert found.isdisjoint(BARRIER)


def test_the_user_s_target_comes_first(tmp_path: Path) -> None:
    text = f"{LOOP}model.to('tpu')\n{MASK}"
    assert "XLA205" in judged(tmp_path, "torch_xla", script=text)["script"]
    assert "XLA205" not in judged(tmp_path, "torch_tpu", script=LOOP + MASK)["script"]


def test_a_model_beside_the_script_that_runs_it_there(tmp_path: Path) -> None:
    assert judged(tmp_path, model=MASK) == {"model": {"XLA205"}}
    assert judged(tmp_path, model=MASK, train="import torch\nx = torch.zeros(2, device='tpu')\n")["model"] == set()


def test_a_model_beside_scripts_of_several_targets(tmp_path: Path) -> None:
    found = judged(tmp_path, model=MASK, old=f"import torch_xla\n{MASK}", new=f"{MASK}y = torch.ones(2).to('tpu')\n")
    assert found == {"model": {"XLA205"}, "old": {"XLA205"}, "new": set()}


def test_a_target_changes_while_a_program_is_edited(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(f"{MASK}y = torch.ones(2).to('xla')\n")
    session = Session([tmp_path], Settings(root=str(tmp_path), jobs=1, python=None))
    session.load()
    assert {one.code for one in session.findings(str(path))} == {"XLA205"}
    session.change(str(path), f"{MASK}y = torch.ones(2).to('tpu')\n".encode())
    assert session.findings(str(path)) == []


def test_the_report_says_for_which_target_the_code_was_judged(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(f"{LOOP}model.to('xla')\n")
    (tmp_path / "new.py").write_text(f"{LOOP}model.to('tpu')\n")
    settings = Settings(root=str(tmp_path), jobs=1, python=None)
    assert check_paths([tmp_path / "old.py"], settings).targets == []
    assert check_paths([tmp_path / "new.py"], settings).targets == ["torch_tpu"]
    told = Settings(root=str(tmp_path), jobs=1, python=None, target="torch_tpu")
    assert check_paths([tmp_path / "new.py"], told).targets == []
