"""Which requirements of a project bound versions, and which releases they leave room for."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.config import load_settings
from xlalint.config.requirements import admits, find_requirements, least_of

QUIET = {
    "no bound": ("requirements.txt", "tensorflow\nkeras\n"),
    "a comment": ("requirements.txt", "# tensorflow==2.11\n"),
    "what is not to be": ("requirements.txt", "tensorflow!=2.11\n"),
    "another list of texts": (
        "setup.py",
        "from setuptools import setup\nsetup(name='tensorflow', description='for tensorflow')\n",
    ),
    "what cannot be parsed": ("setup.py", "setup(install_requires=['tensorflow==2.11'"),
    "an entry point": ("setup.py", "ENTRY = 'a-tool=package.module:main'\n"),
    "what a lock file names besides": ("poetry.lock", '[[package]]\nname = "numpy"\nversion = "2.1.0"\n'),
    "a lock file's own version": ("uv.lock", 'version = 1\nrequires-python = ">=3.10"\n'),
    "a package named like one that brings a device": ("requirements.txt", "torch-xla-tools\ntorch_xlator\n"),
    "a device in a sentence": ("setup.py", "setup(description='torch_xla for everyone')\n"),
    "no files": ("train.py", "import tensorflow\n"),
}
FOUND = {
    "a version": ("requirements.txt", "tensorflow==2.11.1\n", ("tensorflow==2.11.1",)),
    "from below": ("requirements.txt", "keras>=2.0\n", ("keras>=2.0",)),
    "a range": ("requirements.txt", "Keras >= 2.4, < 3  # as it was\n", ("keras>=2.4,<3",)),
    "with extras and a marker": (
        "requirements.txt",
        'tensorflow[and-cuda]<2.16; python_version < "3.12"\n',
        ("tensorflow<2.16",),
    ),
    "of setuptools": (
        "setup.py",
        "setup(install_requires=['tensorflow-gpu==2.7.0', 'numpy'])\n",
        ("tensorflow-gpu==2.7.0",),
    ),
    "of a configuration": ("setup.cfg", "[options]\ninstall_requires =\n    tensorflow~=2.11\n", ("tensorflow~=2.11",)),
    "of uv's lock file": (
        "uv.lock",
        'version = 1\n[[package]]\nname = "Torch"\nversion = "2.9.1+cpu"\nsource = { registry = "…" }\n',
        ("torch==2.9.1",),
    ),
    "a device without a version": ("requirements.txt", "torch_xla[tpu]  # from torch 2.5\n", ("torch-xla",)),
    "a device by an address": ("requirements.txt", "torch_xla @ https://example.org/a.whl\n", ("torch-xla",)),
    "a device of a conda environment": ("environment.yml", "dependencies:\n  - torch_tpu\n", ("torch-tpu",)),
    "a device of a lock file": (
        "uv.lock",
        '[[package]]\nname = "torch-xla"\nversion = "2.9.0"\n',
        ("torch-xla==2.9.0",),
    ),
    "of a project": (
        "pyproject.toml",
        '[project]\ndependencies = ["tf_keras<2.17", "numpy>=1"]\n',
        ("numpy>=1", "tf-keras<2.17"),
    ),
}


@pytest.mark.parametrize(("name", "text"), QUIET.values(), ids=list(QUIET))
def test_nothing_is_bound(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert find_requirements(tmp_path) == ()


@pytest.mark.parametrize(("name", "text", "wanted"), FOUND.values(), ids=list(FOUND))
def test_bounds_are_found(tmp_path: Path, name: str, text: str, wanted: tuple[str, ...]) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "package").mkdir()
    assert find_requirements(tmp_path / "package") == wanted


@pytest.mark.parametrize("isolated", [False, True])
def test_they_are_settings(tmp_path: Path, isolated: bool) -> None:
    (tmp_path / "requirements.txt").write_text("keras<3\n")
    before = load_settings([tmp_path], isolated=isolated)
    assert before.requirements == ("keras<3",)
    (tmp_path / "requirements.txt").write_text("keras<4\n")
    assert load_settings([tmp_path], isolated=isolated).fingerprint() != before.fingerprint()


@pytest.mark.parametrize(
    ("clauses", "room"),
    [
        (">=2.4", True),
        ("<3", True),
        ("==2.16.1", True),
        ("<=2.16", True),
        ("~=2.11", True),
        ("==2.17", True),
        ("<2.16", False),
        ("==2.11.1", False),
        ("<=2.15.1", False),
        ("~=2.11.0", False),
        (">=2.4,<2.12", False),
        ("==1.15", False),
    ],
)
def test_room_for_a_release(clauses: str, room: bool) -> None:
    assert admits(clauses, (2, 16)) is room


@pytest.mark.parametrize(
    ("clauses", "least"),
    [(">=2.4", (2, 4)), ("<3,>=2.16.1", (2, 16, 1)), (">2", (2,)), ("<3", None), ("==2.4", None), ("", None)],
)
def test_the_lowest_release(clauses: str, least: tuple[int, ...] | None) -> None:
    assert least_of(clauses) == least
