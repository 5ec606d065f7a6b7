"""Files of scripts, plots and images, and the functions in them that say by themselves that their tensors are on a device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Findings
from xlalint.config import Settings
from xlalint.project import check_paths

SILENT = {
    "a function that says nothing of a device": ("pandas", "def f(x):\n    return x.sum().item()\n"),
    "a parameter that is an array": (
        "matplotlib.pyplot as plt",
        "def f(x: np.ndarray):\n    return torch.from_numpy(x).sum().item()\n",
    ),
    "a parameter that is a number": ("argparse", "def f(n: int):\n    return torch.ones(n).sum().item()\n"),
    "a method of a class of the host": (
        "pandas",
        "class Table:\n    def total(self, x):\n        return x.sum().item()\n",
    ),
    "an image": ("cv2", "def f(image):\n    return image.mean().item()\n"),
    "a function that plots": (
        "matplotlib.pyplot as plt",
        "def f(x: torch.Tensor):\n    plt.imshow(x.numpy())\n",
    ),
    "a function that tabulates": (
        "pandas",
        "def f(x: torch.Tensor):\n    return pandas.Series([x.sum().item()])\n",
    ),
    "a function that changes an image": (
        "cv2",
        "def f(x):\n    return cv2.resize(x.detach(), (x.sum().item(), 3))\n",
    ),
    "a method of a module that says nothing of a device": (
        "pandas",
        "class Loss(torch.nn.Module):\n    def of(self, x):\n        return x.sum().item()\n",
    ),
    "a function that writes a file": (
        "pandas",
        "def f(x: torch.Tensor, path):\n    with open(path) as file:\n        file.write(str(x.item()))\n",
    ),
    "a test of pytest": ("pytest", "@pytest.fixture\ndef check(x: torch.Tensor):\n    return x.sum().item()\n"),
    "a method of a class of tests": (
        "argparse",
        "class TestLoss:\n    def test_sum(self, x: torch.Tensor):\n        return x.sum().item()\n",
    ),
    "a test by its name": ("unittest", "def test_sum(x: torch.Tensor):\n    return x.sum().item()\n"),
    "a test of unittest": ("unittest", "@unittest.skip\ndef check(x):\n    return x.detach().sum().item()\n"),
    "a file of data sets": (
        "pandas",
        "class Rows(torch.utils.data.Dataset):\n    def __getitem__(self, i):\n        return i\n"
        "def f(x: torch.Tensor):\n    return x.sum().item()\n",
    ),
    "a method of another library's data set": (
        "monai.data",
        "class Rows(monai.data.CacheDataset):\n    def f(self, x: torch.Tensor):\n        return x.sum().item()\n",
    ),
    "a method of a data set of graphs": (
        "torch_geometric.data",
        "class Rows(torch_geometric.data.Dataset):\n    def f(self, x: torch.Tensor):\n        return x.sum().item()\n",
    ),
    "a function that collates": (
        "math",
        "def collate_lines(xs: list[torch.Tensor]):\n    return [x.sum().item() for x in xs]\n",
    ),
    "a function that is made to collate": (
        "math",
        "def padded(w: torch.Tensor):\n    def collate(x: torch.Tensor):\n        return (x * w).sum().item()\n    return collate\n",
    ),
    "a method that collates": (
        "math",
        "class Rows:\n    @staticmethod\n    def _collate_fn(xs: list[torch.Tensor]):\n        return [x.sum().item() for x in xs]\n",
    ),
    "a function that sets a model to evaluate": (
        "argparse",
        "def f(net, x):\n    net.eval()\n    return x.mean().item()\n",
    ),
    "a loop without gradients that runs nothing it is given": (
        "argparse",
        "def f(net, batches):\n    with torch.no_grad():\n        for x in batches:\n            show(x.mean().item())\n",
    ),
    "a class that reads files": (
        "pandas",
        "class Table:\n    def load(self, path):\n        return open(path)\n"
        "    def total(self, x: torch.Tensor):\n        return x.sum().item()\n",
    ),
}
FOUND = {
    "what imports a module for tests, and does nothing with it": (
        "unittest",
        "def check(x: torch.Tensor):\n    return x.sum().item()\n",
    ),
    "what imports a part of one": ("unittest.mock as mock", "def check(x: torch.Tensor):\n    return x.sum().item()\n"),
    "a loop that runs a model it is given, without gradients": (
        "argparse",
        "def f(net, x):\n    with torch.no_grad():\n        for _ in range(64):\n"
        "            x = net(x)\n            show(x.sum().item())\n",
    ),
    "a loop that hands on a model that is set to evaluate, by name": (
        "argparse",
        "def f(net, x):\n    net.eval()\n    open('x')\n    for _ in range(64):\n        x = denoise(torch.relu(x), model=net)\n"
        "        show(torch.relu(x).sum().item())\n",
    ),
    "a method of a class of a library of data sets that is none": (
        "monai.data",
        "class Rows(monai.data.MetaObj):\n    def f(self, x: torch.Tensor):\n        return x.sum().item()\n",
    ),
    "a function that is made for its caller": (
        "math",
        "def scaled(w: torch.Tensor):\n    def loss(x: torch.Tensor):\n        return (x * w).sum().item()\n    return loss\n",
    ),
    "a parameter that is declared": ("pandas", "def f(x: torch.Tensor):\n    return x.sum().item()\n"),
    "a method of a solver that has a test's name": (
        "argparse",
        "class Solver:\n    def test_all(self, x: torch.Tensor):\n        return x.sum().item()\n",
    ),
    "one that may be None": (
        "argparse",
        "def f(x: torch.Tensor | None):\n    return 0 if x is None else x.sum().item()\n",
    ),
    "several": ("click", "def f(xs: list[torch.Tensor]):\n    return [x.sum().item() for x in xs]\n"),
    "a parameter that is cut from its gradients": ("matplotlib", "def f(x):\n    return x.detach().sum().item()\n"),
    "a parameter that is moved": ("cv2", "def f(x, device):\n    return x.to(device).softmax(-1).amax().item()\n"),
    "a method": (
        "pandas",
        "class Loss:\n    def of(self, x: torch.Tensor):\n        return x.sum().item()\n",
    ),
    "a function whose name only has it within": (
        "math",
        "def uncollated(x: torch.Tensor):\n    return x.sum().item()\n",
    ),
    "a function that sets a model to evaluate, and calls it": (
        "argparse",
        "def f(net, x):\n    net.eval()\n    net(x)\n    return x.softmax(-1).amax().item()\n",
    ),
    "a function without gradients": ("tokenizers", "@torch.no_grad()\ndef f(x):\n    return x.sum().item()\n"),
}


def rules(folder: Path, imported: str, text: str) -> set[str]:
    path = folder / "m.py"
    path.write_text(f"import numpy as np\nimport torch\nimport {imported}\n{text}")
    report = check_paths([path], Settings(target="torch_xla"))
    assert not report.failures
    return {finding.code for finding in report.findings}


@pytest.mark.parametrize(("imported", "text"), SILENT.values(), ids=SILENT)
def test_functions_of_the_host(imported: str, text: str, tmp_path: Path) -> None:
    assert rules(tmp_path, imported, text) == set()


@pytest.mark.parametrize(("imported", "text"), FOUND.values(), ids=FOUND)
def test_functions_of_a_device(imported: str, text: str, tmp_path: Path) -> None:
    assert rules(tmp_path, imported, text) == {"XLA301"}


COLLATING = """
import functools
import torch
from torch import nn
from torch.utils.data import DataLoader
def pick(x, keep):
    return x[keep > 0]
def gather(batch: list[torch.Tensor], n=1):
    return [pick(x, x) for x in batch]
def main(data):
    net = nn.Linear(3, 4).cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        loader = DataLoader(data, {}, drop_last=True)
        for x in loader:
            loss = net({}).sum()
            loss.backward()
            opt.step()
main(load())
"""


@pytest.mark.parametrize(
    ("given", "taken", "codes"),
    [
        pytest.param("collate_fn=functools.partial(gather, n=2)", "x.cuda()", [], id="with arguments of its own"),
        pytest.param("collate_fn=gather", "x.cuda()", [], id="by itself"),
        pytest.param("4", "pick(x.cuda(), x)", ["XLA201"], id="not, but at each step"),
        pytest.param("collate_fn=gather", "torch.cat(gather(x.cuda()))", ["XLA201"], id="and at each step"),
    ],
)
def test_what_a_loader_has_make_its_batches_runs_on_the_host(
    given: str, taken: str, codes: list[str], findings: Findings
) -> None:
    found = [code for code, _ in findings(COLLATING.format(given, taken), "torch_xla")]
    assert [code for code in found if code == "XLA201"] == codes
