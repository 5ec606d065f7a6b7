"""Libraries: functions that a package exports are judged by their own parameters too, whatever the program passes them."""

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
}
NOT_EXPORTING = {
    "an empty package": "",
    "another name of the module": "from .helper import torch\n",
    "the module": "from . import helper\n",
    "all of the module": "import lib.helper\n",
    "a module of the same name elsewhere": "from other.helper import longest\n",
    "a string": "__all__ = ['longest']\n",
}


def found(folder: Path, package: str) -> list[str]:
    """The codes that are found in a helper of which the only call gives it what lies in host memory."""
    lib = folder / "lib"
    lib.mkdir()
    (lib / "__init__.py").write_text(package)
    (lib / "helper.py").write_text(HELPER)
    (lib / "model.py").write_text(CALLER)
    report = check_paths([folder], Settings(target="torch_xla", show_info=True))
    assert not report.failures
    return [finding.code for finding in report.findings if finding.filename.endswith("helper.py")]


@pytest.mark.parametrize("package", EXPORTING.values(), ids=EXPORTING)
def test_users_of_a_library_call_what_it_exports(package: str, tmp_path: Path) -> None:
    assert found(tmp_path, package) == ["XLA201"]


@pytest.mark.parametrize("package", NOT_EXPORTING.values(), ids=NOT_EXPORTING)
def test_the_calls_of_the_program_are_all_of_what_it_does_not_export(package: str, tmp_path: Path) -> None:
    assert found(tmp_path, package) == []
