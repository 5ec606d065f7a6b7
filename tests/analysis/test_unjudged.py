"""Code that trains and that nothing judged is said; silence means that all of it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.test_report import finding, view
from xlalint.config import Settings
from xlalint.project import check_paths, check_text
from xlalint.report import Checked, render, summary

SETUP = "import argparse\nimport torch\nfrom torch import nn\n\n"
STEP = "    loss = model(x).sum()\n    loss.backward()\n    optimizer.step()\n"
LOOP = "for x in batches:\n" + STEP
ALONE = "def step(model, optimizer, x):\n" + STEP
HALF = ALONE.replace("    optimizer.step()\n", "")  # whose optimizer steps elsewhere
CLOSURE = """def train(model, optimizer, batches):
    for x in batches:
        def closure():
            loss = model(x).sum()
            loss.backward()
            return loss
        optimizer.step(closure)
"""
JUDGED = {
    "nothing that trains": "def load(path):\n    return open(path).read()\n",
    "a script's loop": LOOP,
    "a function's loop": "def train(model, optimizer, batches):\n    " + LOOP.replace("\n", "\n    "),
    "a step that nothing calls": ALONE,
    "half a step that a loop calls": HALF
    + "def train(model, optimizer, batches):\n    for x in batches:\n        optimizer.step()\n"
    "        step(model, optimizer, x)\n",
    "a step of a module": "class Net(nn.Module):\n    def forward(self, x):\n        loss = x.sum()\n        loss.backward()\n"
    "        return loss\n",
    "a step that takes tensors": "def step(x: torch.Tensor):\n    x.sum().backward()\n",
    "a closure of a loop": CLOSURE,
    "a test": "import pytest\n\npytest.importorskip('torch')\n" + HALF,
    "a test of the library's kind": "import unittest\n\nclass Case(unittest.TestCase):\n    pass\n" + HALF,
    "a method that is only named so": "def move(robot):\n    robot.backward\n",
}
UNJUDGED = {
    "half a step that nothing calls": (HALF, [5]),
    "half a step that a loop elsewhere calls": (
        HALF + "\ndef main(args):\n    for x in args:\n        other(x)\n",
        [5],
    ),
    "two": (HALF + "\n" + HALF.replace("step(model", "again(model"), [5, 9]),
}


def unjudged(code: str, target: str = "torch_xla") -> list[tuple[str, int]]:
    return check_text(code, "/p/train.py", Settings(target=target)).unjudged  # type: ignore[arg-type]


@pytest.mark.parametrize("name", JUDGED)
def test_what_is_judged_is_not_spoken_of(name: str) -> None:
    head = SETUP.replace("import argparse\n", "") if "tensors" in name else SETUP
    assert unjudged(head + JUDGED[name]) == []


@pytest.mark.parametrize("name", UNJUDGED)
def test_what_is_not_is_told(name: str) -> None:
    code, rows = UNJUDGED[name]
    assert unjudged(SETUP + code) == [("/p/train.py", row) for row in rows]


@pytest.mark.parametrize("target", ["torch_compile"])
def test_where_only_what_is_captured_is_compiled_loops_are_none_to_judge(target: str) -> None:
    assert unjudged(SETUP + HALF, target) == []


def test_what_another_module_calls_is_judged(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(SETUP + HALF)
    settings = Settings(target="torch_xla", root=str(tmp_path))
    assert check_paths([tmp_path], settings).unjudged == [(str(tmp_path / "steps.py"), 5)]
    driver = "import torch\nfrom steps import step\n\ndef train(model, optimizer, batches):\n    for x in batches:\n"
    (tmp_path / "train.py").write_text(driver + "        step(model, optimizer, x)\n        optimizer.step()\n")
    assert check_paths([tmp_path], settings).unjudged == []


PLACES = (("/p/train.py", 7), ("/p/other.py", 9))


@pytest.mark.parametrize(
    ("places", "found", "said"),
    [
        ((), [], "All clear: 3 files checked.\n"),
        (
            PLACES[:1],
            [],
            "Nothing found: 3 files checked.\n"
            "1 function that trains is not judged (train.py:7): `xlalint explain train.py:7` says why.\n",
        ),
        (
            PLACES,
            [finding()],
            "Found 1 error in 1 file (3 checked).\n"
            "2 functions that train are not judged (train.py:7, …): `xlalint explain train.py:7` says why.\n",
        ),
    ],
)
def test_the_summary(places: tuple[tuple[str, int], ...], found: list, said: str) -> None:  # type: ignore[type-arg]
    looked = view(checked=Checked(3, unjudged=places))
    assert summary(found, looked) == said
    markdown = render(found, "markdown", looked)
    assert ("all clear" in markdown) == (not places and not found)
    assert ("not judged (train.py:7" in markdown) == bool(places)
