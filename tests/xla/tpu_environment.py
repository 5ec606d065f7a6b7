"""TorchTPU's environment: the extra `torch-tpu` of this repository, and what the rule pages' examples import."""

from __future__ import annotations

import shutil
import sys

import pytest

from tests.environments import REPOSITORY, require_environment

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PINS = ("torch==2.14.1", "scipy")  # what the pages state was measured with


def requirements() -> list[str]:
    """What the extra asks for, with xlalint's own dependencies."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["torch-tpu"], *PINS]


def require_torch_tpu() -> str:
    """Return the Python of an environment with TorchTPU; skip the test where it cannot be had."""
    if sys.version_info < (3, 11):
        pytest.skip("torch_tpu needs Python 3.11")
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler builds the PJRT plugin")
    return require_environment("torch-tpu", requirements())
