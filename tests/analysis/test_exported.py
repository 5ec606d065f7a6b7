"""Libraries: what a package exports, functions and classes' methods, is judged by its own parameters too, whatever the program passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.config import Settings
from xlalint.project import check_paths

HELPER = """import torch


def longest(rows: torch.Tensor):
    return rows[rows > 0]
"""
CALLER = """import torch
from lib.helper import longest


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x * longest(torch.ones(3).cpu()).sum()
"""
EXPORTING = {
    "by its name": "from lib.helper import longest\n",
    "by another name": "from lib.helper import longest as pick\n",
    "relatively": "from .helper import longest\n",
    "among others": "from .helper import longest, torch\n",
    "with all that is public": "from .helper import *\n",
}
NOT_EXPORTING = {
    "an empty package": "",
    "another name of the module": "from .helper import torch\n",
    "the module": "from . import helper\n",
    "all of the module": "import lib.helper\n",
    "a module of the same name elsewhere": "from other.helper import longest\n",
    "a string": "__all__ = ['longest']\n",
    "all of another module": "from .model import *\n",
    "all of a module elsewhere": "from other.helper import *\n",
}
PRIVATE = ("longest", "_longest")
LISTED = ("import torch\n", "import torch\n\n__all__ = ['shortest']\n")


CLASSES = """import torch


class Base:
    def reset(self, rows: torch.Tensor):
        return rows[rows > 0]


class Scheduler(Base):
    def step(self, rows: torch.Tensor):
        return rows[rows > 0]

    def _step(self, rows: torch.Tensor):
        return rows[rows > 0]
"""
RUNNER = """import torch
from lib.helper import Scheduler


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x * Scheduler().METHOD(torch.ones(3).cpu()).sum()
"""
EXPORTING_CLASSES = {
    "a class": ("from .helper import Scheduler\n", "step"),
    "a base's method": ("from .helper import Scheduler\n", "reset"),
    "a class, where type checkers see it": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .helper import Scheduler\n",
        "step",
    ),
    "the base": ("from .helper import Base\n", "reset"),
}
NOT_EXPORTING_CLASSES = {
    "a private method": ("from .helper import Scheduler\n", "_step"),
    "a subclass's method": ("from .helper import Base\n", "step"),
    "an empty package": ("", "step"),
    "the module": ("from . import helper\n", "step"),
    "another name of the module": ("from .helper import torch\n", "reset"),
}


def found(folder: Path, package: str, helper: str = HELPER, caller: str = CALLER) -> list[str]:
    """The codes that are found in a helper of which the only call gives it what lies in host memory."""
    lib = folder / "lib"
    lib.mkdir()
    (lib / "__init__.py").write_text(package)
    (lib / "helper.py").write_text(helper)
    (lib / "model.py").write_text(caller)
    report = check_paths([folder], Settings(target="torch_xla", show_info=True))
    assert not report.failures
    return [finding.code for finding in report.findings if finding.filename.endswith("helper.py")]


@pytest.mark.parametrize("package", EXPORTING.values(), ids=EXPORTING)
def test_users_of_a_library_call_what_it_exports(package: str, tmp_path: Path) -> None:
    assert found(tmp_path, package) == ["XLA201"]


@pytest.mark.parametrize("package", NOT_EXPORTING.values(), ids=NOT_EXPORTING)
def test_the_calls_of_the_program_are_all_of_what_it_does_not_export(package: str, tmp_path: Path) -> None:
    assert found(tmp_path, package) == []


@pytest.mark.parametrize("change", [PRIVATE, LISTED], ids=["a private function", "a module that lists its names"])
def test_a_star_exports_neither_what_is_private_nor_what_is_not_listed(change: tuple[str, str], tmp_path: Path) -> None:
    assert (
        found(
            tmp_path,
            "from .helper import *\n",
            HELPER.replace(*change),
            CALLER.replace(*PRIVATE) if change is PRIVATE else CALLER,
        )
        == []
    )


@pytest.mark.parametrize(("package", "method"), EXPORTING_CLASSES.values(), ids=EXPORTING_CLASSES)
def test_users_of_a_library_call_methods_of_the_classes_that_it_exports(
    package: str, method: str, tmp_path: Path
) -> None:
    assert found(tmp_path, package, _only(method), RUNNER.replace("METHOD", method)) == ["XLA201"]


@pytest.mark.parametrize(("package", "method"), NOT_EXPORTING_CLASSES.values(), ids=NOT_EXPORTING_CLASSES)
def test_the_calls_of_the_program_are_all_of_other_methods(package: str, method: str, tmp_path: Path) -> None:
    assert found(tmp_path, package, _only(method), RUNNER.replace("METHOD", method)) == []


def _only(method: str) -> str:
    """The classes, with a mask in that method alone."""
    masked, quiet = "return rows[rows > 0]", "return rows * 2"
    before, definition, after = CLASSES.partition(f"def {method}(")
    return before.replace(masked, quiet) + definition + quiet.join(after.split(masked)).replace(quiet, masked, 1)
