"""Findings that need more than one file: imports, re-exports, classes and calls across modules."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from xlalint.config import Settings
from xlalint.project import check_paths

BLOCK = """
    import torch
    from torch import nn

    class Block(nn.Module):
        def gate(self, x):
            return x
        def forward(self, x: torch.Tensor):
            return self.gate(x)

    def busy(mask):
        return mask.any()

    FLAG = True
    Alias = Block
"""

FOUND = {
    "a relative import": ("from .block import busy", "busy(x > 0)", "XLA101"),
    "a module that is imported whole": ("from pkg import block", "block.busy(x > 0)", "XLA101"),
    "an import under another name": ("import pkg.block as b", "b.busy(x > 0)", "XLA101"),
    "a re-export": ("from pkg import busy", "busy(x > 0)", "XLA101"),
    "a star": ("from pkg.everything import *", "busy(x > 0)", "XLA101"),
    "an import in the body": ("import torch", "__import_busy(x > 0)", "XLA101"),
}

SILENT = {
    "a constant of another module": ("from pkg.block import FLAG", "FLAG"),
    "what is not there": ("from pkg.missing import busy", "busy(x.shape)"),
    "a circle of imports": ("from pkg.circle import busy", "busy is not None"),
    "a module's name": ("from pkg import block", "block.FLAG"),
    "a class": ("from pkg.block import Alias", "isinstance(x, Alias)"),
    "a host function of another module": ("from pkg.block import busy", "busy is busy"),
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "pkg"
    folder.mkdir()
    (folder / "__init__.py").write_text("from .block import Block, busy\n")
    (folder / "block.py").write_text(dedent(BLOCK))
    (folder / "everything.py").write_text("from .block import *\n")
    (folder / "circle.py").write_text("from pkg.model import busy\n")
    return folder


def found(package: Path, imports: str, test: str) -> list[str]:
    """The codes found in a module of the package whose `forward` branches on a test."""
    inner = "from pkg.block import busy as __import_busy" if "__import_busy" in test else "pass"
    (package / "model.py").write_text(
        f"import torch\nfrom torch import nn\n{imports}\n\n"
        "class Model(nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        f"        {inner}\n        if {test}:\n            x = x + 1\n        return x\n"
    )
    report = check_paths([package], Settings())
    assert not report.failures
    return [finding.code for finding in report.findings if finding.filename.endswith("model.py")]


@pytest.mark.parametrize(("imports", "test"), SILENT.values(), ids=SILENT)
def test_silent_across_files(package: Path, imports: str, test: str) -> None:
    assert found(package, imports, test) == []


@pytest.mark.parametrize(("imports", "test", "code"), FOUND.values(), ids=FOUND)
def test_found_across_files(package: Path, imports: str, test: str, code: str) -> None:
    assert found(package, imports, test) == [code]


def test_a_method_that_a_subclass_elsewhere_overrides(package: Path) -> None:
    (package / "model.py").write_text(
        "from pkg.block import Block\n\nclass Model(Block):\n    def gate(self, x):\n        return x.item()\n"
        "    def forward(self, x):\n        return super().forward(x)\n"
    )
    report = check_paths([package], Settings())
    assert [(finding.code, [step.name for step in finding.trace]) for finding in report.findings] == [
        ("XLA301", ["Model.forward", "Block.forward", "Model.gate"])
    ]


def test_roots_and_names_of_the_configuration(package: Path) -> None:
    (package / "model.py").write_text(
        "import torch\n\n\ndef rate(level, table):\n    return table[1] if level > 0 else level\n"
    )
    plain = check_paths([package], Settings())
    told = check_paths([package], Settings(roots=("pkg.model.rate",), tensor=("level",)))
    stayed = check_paths([package], Settings(roots=("pkg.model.rate",), tensor=("level",), static=("level",)))
    assert [[finding.code for finding in report.findings] for report in (plain, told, stayed)] == [[], ["XLA105"], []]


NET = """
    import torch

    def head(x):
        return x[x > 0]
"""

QUIET = """
    def head(x):
        return x
"""

ADDS = """
    import os, sys
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
"""

IMPORTING = {
    "a folder without __init__.py": ({"models/net.py": NET}, "main.py", "from models.net import head"),
    "a module of such a folder": ({"models/net.py": NET}, "main.py", "from models import net\nhead = net.head"),
    "a module of such a folder under another name": (
        {"models/net.py": NET},
        "main.py",
        "import models.net as net\nhead = net.head",
    ),
    "a package in such a folder": (
        {"lib/models/__init__.py": "", "lib/models/net.py": NET},
        "lib/core/main.py",
        "from lib.models.net import head",
    ),
    "the module beside it, of several of one name": (
        {"a/net.py": QUIET, "b/net.py": NET, "c/net.py": QUIET},
        "b/main.py",
        "from net import head",
    ),
    "the same, through the module": (
        {"a/net.py": QUIET, "b/net.py": NET, "c/net.py": QUIET},
        "b/main.py",
        "import net\nhead = net.head",
    ),
    "a module of the folder around": ({"a/net.py": QUIET, "net.py": NET}, "b/main.py", "from net import head"),
    "a folder that another module adds": (
        {"lib/core/net.py": NET, "tools/paths.py": ADDS},
        "tools/main.py",
        "import paths\nfrom core.net import head",
    ),
    "the nearest such folder": (
        {"a/lib/core/net.py": NET, "b/lib/core/net.py": QUIET, "a/tools/paths.py": ADDS},
        "a/tools/main.py",
        "import paths\nfrom core import net\nhead = net.head",
    ),
}

NOT_IMPORTING = {
    "a module of another folder, of two": (
        {"a/models/net.py": NET, "b/models/net.py": NET},
        "main.py",
        "from models.net import head",
    ),
    "a module beside it, before one of another folder": (
        {"a/net.py": NET, "b/net.py": QUIET},
        "b/main.py",
        "from net import head",
    ),
    "a module of another folder, to which nothing leads": (
        {"lib/core/net.py": NET},
        "tools/main.py",
        "from core.net import head",
    ),
    "a module of a folder that is added, of two": (
        {"a/core/net.py": NET, "b/core/net.py": NET, "tools/paths.py": ADDS},
        "tools/main.py",
        "from core.net import head",
    ),
    "a library, of a folder that is added": (
        {"lib/jax/net.py": NET, "tools/paths.py": ADDS},
        "tools/main.py",
        "from jax.net import head",
    ),
    "a library, beside a folder of its name": (
        {"torch/net.py": NET},
        "main.py",
        "import torch\nfrom torch.net import gone as head",
    ),
    "a member that the module has not": ({"models/net.py": NET}, "main.py", "from models.net import tail as head"),
}


def leads_to_nets(folder: Path, files: dict[str, str], main: str, imports: str) -> bool:
    """Return whether the `head` that a model's forward calls is one that reads a mask."""
    forward = "class Model(nn.Module):\n    def forward(self, x):\n        return head(torch.relu(x))\n"
    for name, text in {**files, main: f"import torch\nfrom torch import nn\n{imports}\n{forward}"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text))
    traces = [[step.name for step in one.trace] for one in check_paths([folder], Settings()).findings]
    return ["Model.forward", "head"] in traces


@pytest.mark.parametrize(("files", "main", "imports"), NOT_IMPORTING.values(), ids=NOT_IMPORTING.keys())
def test_what_folders_do_not_lead_to(tmp_path: Path, files: dict[str, str], main: str, imports: str) -> None:
    assert not leads_to_nets(tmp_path, files, main, imports)


@pytest.mark.parametrize(("files", "main", "imports"), IMPORTING.values(), ids=IMPORTING.keys())
def test_what_folders_lead_to(tmp_path: Path, files: dict[str, str], main: str, imports: str) -> None:
    assert leads_to_nets(tmp_path, files, main, imports)
