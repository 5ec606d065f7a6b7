"""Subjects become callables: from files, packages, names and texts; what cannot be loaded says why and where."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from xlalint.verify.loading import LoadError, load
from xlalint.verify.model import Subject

MODULE = """\
import random

WEIGHT = random.random()
CALLS = []


def double(x):
    CALLS.append(x)
    return 2 * x


class Scale:
    def __init__(self, by=3):
        self.by = by
        self.noise = random.random()

    def __call__(self, x):
        return self.by * x

    def plus(self, x, y=1):
        return self.by * x + y

    @staticmethod
    def zero():
        return 0

    def __twice(self, x):
        return 2 * self.by * x

    class Inner:
        def __call__(self, x):
            return -x


class Derived(Scale):
    pass


def __hidden(x):
    return -x


class Needy:
    def __init__(self, size):
        self.size = size

    def grow(self, x):
        return x + self.size


def make():
    return Scale(5)


number = 4
"""


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "some_module_to_load.py"
    path.write_text(MODULE)
    return str(path)


@pytest.mark.parametrize(
    ("name", "factory", "result"),
    [
        ("double", "", 14),
        ("Scale", "", 21),
        ("Scale", "Scale(10)", 70),
        ("Scale", "make()", 35),
        ("Scale.plus", "", 22),
        ("Scale.plus", "Scale(by=2)", 15),
        ("Scale.Inner", "", -7),
        ("Scale.__twice", "", 42),
        ("Derived.__twice", "Derived(2)", 28),
        ("__hidden", "", -7),
        ("Needy.grow", "Needy(size=1)", 8),
        ("", "make()", 35),
        ("", "some_module_to_load:make", 35),
    ],
)
def test_loads(file: str, name: str, factory: str, result: int) -> None:
    assert load(Subject("", name, file, factory)).make()(7) == result


@pytest.mark.parametrize(
    ("name", "factory", "message"),
    [
        ("duoble", "", "no `duoble` in .*some_module_to_load.py; did you mean `double`?"),
        ("Scale.plsu", "", "no `plsu` in `Scale`; did you mean `plus`?"),
        ("Needy", "", r"`Needy` is made with arguments .*; say how: --factory 'Needy\(...\)'"),
        ("number", "", "`number` is a int, which cannot be called"),
        ("double", "make()", "is neither a class"),
        ("Scale", "1 / 0", "factory `1 / 0` raises ZeroDivisionError: division by zero"),
        ("Scale", "unknown()", "factory `unknown\\(\\)` raises NameError"),
    ],
)
def test_refuses(file: str, name: str, factory: str, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        load(Subject("", name, file, factory)).make()


def test_weights_are_the_same_each_time_and_globals_fresh(file: str) -> None:
    program = load(Subject("", "Scale", file))
    first, second = program.make(), program.make()
    assert first.noise == second.noise
    program = load(Subject("", "double", file))
    first, second = program.make(), program.make()
    first(1)
    assert first.__globals__["CALLS"] == [1]
    assert second.__globals__["CALLS"] == []


def test_text_takes_the_place_of_the_files(file: str) -> None:
    program = load(Subject("", "double", file, text=MODULE.replace("2 * x", "20 * x")))
    called: Any = program.make()
    assert called(1) == 20
    assert "20 * x" in inspect.getsource(called)
    assert called.__globals__["__file__"] == file
    assert program.file != file
    assert "return 2 * x" in Path(file).read_text()


def test_a_file_is_loaded_after_an_earlier_text_of_it(file: str) -> None:
    before, now = Subject("", "double", file, text=MODULE.replace("2 * x", "20 * x")), Subject("", "double", file)
    assert [load(one).make()(1) for one in (before, now, before, now, now)] == [20, 2, 20, 2, 2]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    inner = tmp_path / "some_package" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "some_package" / "__init__.py").write_text("")
    (tmp_path / "some_package" / "base.py").write_text("STEP = 3\n")
    (inner / "__init__.py").write_text("from .walk import walk\n")
    (inner / "walk.py").write_text("from ..base import STEP\n\n\ndef walk(x):\n    return x + STEP\n")
    return tmp_path


def test_a_file_of_a_package_is_loaded_as_part_of_it(package: Path) -> None:
    program = load(Subject("", "walk", str(package / "some_package" / "inner" / "walk.py")))
    assert program.make()(1) == program.make()(1) == 4
    program = load(Subject("", "walk", str(package / "some_package" / "inner" / "__init__.py")))
    assert program.make()(1) == program.make()(1) == 4


def test_a_module_is_loaded_by_name(package: Path) -> None:
    subject = Subject("some_package.inner.walk", "walk", path=(str(package),))
    assert load(subject).make()(1) == 4
    text = "from ..base import STEP\n\n\ndef walk(x):\n    return x - STEP\n"
    assert load(Subject(subject.module, "walk", text=text, path=subject.path)).make()(4) == 1
    assert load(subject).make()(1) == 4


def test_a_file_with_the_name_of_a_library_module_leaves_that_alone(tmp_path: Path) -> None:
    path = tmp_path / "subprocess.py"
    path.write_text("def run():\n    return 'mine'\n")
    assert load(Subject("", "run", str(path))).make()() == "mine"
    assert sys.modules["subprocess"] is subprocess


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("import os\nimport no_such_package\n", "ModuleNotFoundError: No module named 'no_such_package'", 2),
        ("x = 1\n\nx.y\n", "AttributeError", 3),
        ("def f(:\n    pass\n", "SyntaxError", 1),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3", 2),
    ],
)
def test_what_raises_on_import_is_told_with_its_line(tmp_path: Path, text: str, message: str, line: int) -> None:
    path = tmp_path / "module_that_raises.py"
    path.write_text(text)
    with pytest.raises(LoadError, match=message) as caught:
        load(Subject("", "f", str(path)))
    assert caught.value.place is not None
    assert (caught.value.place.file, caught.value.place.line) == (str(path), line)
    assert "module_that_raises" not in sys.modules


def test_what_cannot_be_executed_twice_is_used_again(tmp_path: Path) -> None:
    path = tmp_path / "module_that_registers.py"
    path.write_text("import sys\nassert not hasattr(sys, '_once')\nsys._once = True\n\n\ndef f():\n    return 1\n")
    try:
        program = load(Subject("", "f", str(path)))
        assert program.make()() == program.make()() == 1
    finally:
        del sys._once


@pytest.mark.parametrize("module", ["no_such_module_at_all", "os.no_such_module"])
def test_a_module_that_is_not_there(module: str) -> None:
    with pytest.raises(LoadError, match="no module"):
        load(Subject(module, "f"))
