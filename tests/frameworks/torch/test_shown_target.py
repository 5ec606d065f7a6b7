"""For which target a program's files are judged: what they show, what the project pins, and what holds where nothing tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.config import Settings, load_settings
from xlalint.project import check_paths
from xlalint.project.session import Session

LOOP = (
    "import torch\nmodel = torch.nn.Linear(2, 2)\nopt = torch.optim.SGD(model.parameters())\n"
    "for x in torch.ones(9, 4, 2):\n    model(x).sum().backward()\n    opt.step()\n"
)
NOT_CALLED = "def f(x: torch.Tensor):\n    return x\n"

UNKNOWN = {
    "nothing": LOOP,
    "a GPU": f"{LOOP}model.to('cuda')\n",
    "a word": f"{LOOP}name = 'xla'\n",
    "a word among others": f"{LOOP}KINDS = ('cpu', 'xla')\n",
    "a comparison": f"{LOOP}if model.device.type == 'xla':\n    pass\n",
    "a comparison with TorchTPU's": f"{LOOP}if model.device.type == 'tpu':\n    pass\n",
    "a compiler of that name": f"{LOOP}model = torch.compile(model, backend='xla')\n",
    "another trainer's accelerator": f"{LOOP}trainer = Trainer(accelerator='tpu')\n",
    "a trainer on what there is": f"import lightning\n{LOOP}trainer = lightning.Trainer(accelerator='auto')\n",
    "another library's device": f"from jax import devices\n{LOOP}devices('tpu')\n",
    "another library's keyword": f"import keras\n{LOOP}keras.load(device='tpu')\n",
    "under a condition": f"{LOOP}if flag:\n    model.to('xla')\n",
    "TorchTPU's under a condition": f"{LOOP}if flag:\n    model.to('tpu')\n",
    "where it can be": f"{LOOP}try:\n    model.to('tpu')\nexcept RuntimeError:\n    pass\n",
    "imported where it can be": f"try:\n    import torch_tpu\nexcept ImportError:\n    pass\n{LOOP}",
    "where torch has it": f"{LOOP}there = hasattr(torch, 'tpu') and torch.tpu.is_initialized()\n",
    "an attribute of another": f"{LOOP}strategy.tpu.run()\n",
    "a match": f"{LOOP}match name:\n    case 'xla':\n        model.to('xla')\n",
}
OF_TORCH_XLA = {
    "imported": f"import torch_xla\n{LOOP}",
    "imported where it can be": f"try:\n    import torch_xla.core.xla_model as xm\nexcept ImportError:\n    xm = None\n{LOOP}",
    "for Neuron": f"import torch_neuronx\n{LOOP}",
    "its device": f"{LOOP}model.to('xla')\n",
    "its device by a variable": f"{LOOP}device = torch.device('xla:0')\nmodel.to(device)\n",
    "its runtime's variable": f"import os\nos.environ['PJRT_DEVICE'] = 'TPU'\n{LOOP}",
    "a trainer of Lightning's": f"import lightning\n{LOOP}trainer = lightning.Trainer(accelerator='tpu')\n",
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


def chosen(
    folder: Path, *, target: str | None = None, target_version: str | None = None, script: str
) -> list[tuple[str, str]]:
    """The target for which a script is judged, and what tells, as its report says."""
    (folder / "script.py").write_text(script)
    options = {"target": target, "target_version": target_version}
    settings = load_settings([folder], isolated=True, options={key: told for key, told in options.items() if told})
    return check_paths([folder / "script.py"], settings).targets


MASK = "import torch\ndef f(x: torch.Tensor):\n    x[x > 0] = 0\n    return x\nused = f\n"
"""What costs with torch_xla, and nothing with TorchTPU."""


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_nothing_tells(text: str, tmp_path: Path) -> None:
    assert chosen(tmp_path, script=text) == [("torch_tpu", "")]


@pytest.mark.parametrize(
    ("imports", "told"),
    [
        pytest.param("from torch.utils.tensorboard import SummaryWriter", [], id="summaries"),
        pytest.param("from torch.utils.data import DataLoader, Dataset", [], id="batches"),
        pytest.param("import torch.utils.data as data", [], id="batches by a name of their own"),
        pytest.param("import jax.numpy as jnp", [], id="another framework"),
        pytest.param("from torch.utils.checkpoint import checkpoint", [("torch_tpu", "")], id="another package"),
        pytest.param("import torch.utils.data", [("torch_tpu", "")], id="torch itself"),
        pytest.param(
            "import torch\nfrom torch.utils.data import DataLoader", [("torch_tpu", "")], id="torch and batches"
        ),
    ],
)
def test_what_other_frameworks_use_too_asks_for_no_target(
    imports: str, told: list[tuple[str, str]], tmp_path: Path
) -> None:
    assert chosen(tmp_path, script=f"import jax\n{imports}\n") == told


@pytest.mark.parametrize("text", OF_TORCH_XLA.values(), ids=OF_TORCH_XLA)
def test_what_is_for_torch_xla(text: str, tmp_path: Path) -> None:
    assert chosen(tmp_path, script=text) == [("torch_xla", "code")]
    assert "XLA205" in judged(tmp_path, script=f"{text}{MASK}")["script"]


@pytest.mark.parametrize("text", THERE.values(), ids=THERE)
def test_what_is_for_torchtpu(text: str, tmp_path: Path) -> None:
    assert chosen(tmp_path, script=text) == [("torch_tpu", "code")]
    found = judged(tmp_path, script=f"{text}{MASK}")["script"]
    assert "XLA205" not in found
    assert found.isdisjoint(BARRIER)


PINS = {
    "nothing": ("requirements.txt", "numpy\n", ("torch_tpu", "")),
    "any torch": ("requirements.txt", "torch\n", ("torch_tpu", "")),
    "from below": ("requirements.txt", "torch>=1.13\n", ("torch_tpu", "")),
    "a newer torch": ("requirements.txt", "torch==2.11.0\n", ("torch_tpu", "")),
    "a package with such a name": ("requirements.txt", "torch-xla-tools\n", ("torch_tpu", "")),
    "an older torch": ("requirements.txt", "torch==2.10.0\n", ("torch_xla", "pins")),
    "bounded from above": ("pyproject.toml", '[project]\ndependencies = ["torch<2.9"]\n', ("torch_xla", "pins")),
    "torch_xla": ("requirements.txt", "torch_xla[tpu]\n", ("torch_xla", "pins")),
    "torch_xla in a release": ("requirements.txt", "torch-xla~=2.9.0\n", ("torch_xla", "pins")),
    "torch_xla by an address": ("requirements.txt", "torch_xla @ https://example.org/a.whl\n", ("torch_xla", "pins")),
    "of a lock file": ("uv.lock", '[[package]]\nname = "torch-tpu"\nversion = "0.2.0"\n', ("torch_tpu", "pins")),
    "TorchTPU": ("pyproject.toml", '[project]\ndependencies = ["torch-tpu"]\n', ("torch_tpu", "pins")),
    "both": ("requirements.txt", "torch_xla\ntorch_tpu\n", ("torch_tpu", "pins")),
}


@pytest.mark.parametrize(("name", "text", "wanted"), PINS.values(), ids=PINS)
def test_what_the_project_pins(name: str, text: str, wanted: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert chosen(tmp_path, script=LOOP) == [wanted]


def test_what_accelerate_starts_on_xla_devices(tmp_path: Path) -> None:
    (tmp_path / "tpu.yaml").write_text("distributed_type: XLA\nnum_processes: 4\n")
    assert judged(tmp_path, script=f"import accelerate\n{MASK}")["script"] == {"XLA205"}


def test_code_comes_before_pins(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch_xla==2.9.0\n")
    assert chosen(tmp_path, script=f"{LOOP}model.to('tpu')\n") == [("torch_tpu", "code")]


def test_the_release_that_the_user_names(tmp_path: Path) -> None:
    assert chosen(tmp_path, target_version="torch2.9", script=LOOP) == [("torch_xla", "pins")]


def test_the_user_s_target_comes_first(tmp_path: Path) -> None:
    text = f"{LOOP}model.to('tpu')\n{MASK}"
    assert "XLA205" in judged(tmp_path, "torch_xla", script=text)["script"]
    assert "XLA205" not in judged(tmp_path, "torch_tpu", script=LOOP + MASK)["script"]


def test_a_model_beside_the_script_that_runs_it_there(tmp_path: Path) -> None:
    assert judged(tmp_path, model=MASK) == {"model": set()}
    assert judged(tmp_path, model=MASK, train="import torch\nx = torch.zeros(2, device='xla')\n")["model"] == {"XLA205"}


def test_a_model_beside_scripts_of_several_targets(tmp_path: Path) -> None:
    found = judged(tmp_path, model=MASK, old=f"import torch_xla\n{MASK}", new=f"{MASK}y = torch.ones(2).to('tpu')\n")
    assert found == {"model": set(), "old": {"XLA205"}, "new": set()}


def test_a_target_changes_while_a_program_is_edited(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(f"{MASK}y = torch.ones(2).to('xla')\n")
    session = Session([tmp_path], Settings(root=str(tmp_path), jobs=1, python=None))
    session.load()
    assert {one.code for one in session.findings(str(path))} == {"XLA205"}
    session.change(str(path), f"{MASK}y = torch.ones(2).to('tpu')\n".encode())
    assert session.findings(str(path)) == []


def test_files_without_torch_have_no_target_of_its(tmp_path: Path) -> None:
    assert chosen(tmp_path, script="import jax\n") == []


def test_who_names_a_target_is_told_of_none(tmp_path: Path) -> None:
    assert chosen(tmp_path, target="torch_tpu", script=f"{LOOP}model.to('xla')\n") == []
