"""After a change, only what depends on it is analysed again, and the outcome is that of a run from nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xlalint.cache import Cache
from xlalint.config import load_settings
from xlalint.project import analysis, check_paths
from xlalint.project.analysis import Analysis, ModuleOutcome

BASE = """
    import torch
    from torch import nn

    LIMIT = 3


    class Base(nn.Module):
        def scale(self, x):
            return x * 2

        def limit(self, x):
            return LIMIT
    """
HELP = """
    def shrink(x):
        return x.shape[0]


    def grow(x):
        return x + 1


    def passing(fn):
        def wrapper(self, *args, **kwargs):
            return fn(self, *args, **kwargs)

        return wrapper
    """
MODEL = """
    import torch

    from .base import Base
    from .help import grow, passing, shrink


    class Model(Base):
        @passing
        def forward(self, x: torch.Tensor):
            if shrink(x) > 2:
                return self.scale(x)
            if self.limit(x):
                return x
            return grow(x)
    """
OTHER = """
    import torch
    from torch import nn


    class Other(nn.Module):
        def forward(self, x: torch.Tensor):
            if x.sum() > 0:
                return x
            return -x
    """
HOST = """
    import json


    def load(path):
        return json.loads(path.read_text())
    """
FILES = {"__init__.py": "", "base.py": BASE, "help.py": HELP, "model.py": MODEL, "other.py": OTHER, "host.py": HOST}

# (file, what is replaced, by what, the modules that must be analysed again)
CHANGES = {
    "a comment": ("base.py", "LIMIT = 3", "LIMIT = 3  # three", set()),
    "a line above": ("base.py", "import torch", "# first\nimport torch", set()),
    "lines between functions": ("help.py", "def grow", "\n\n\ndef grow", set()),
    "the wrapper that a decorator puts around a root": (
        "help.py",
        "return fn(self",
        "assert args[0].sum() > 0\n        return fn(self",
        {"help.py", "model.py"},
    ),
    "a body that others call": ("help.py", "x.shape[0]", "x.sum()", {"help.py", "model.py"}),
    "a method of a base": ("base.py", "return LIMIT", "return x.max()", {"base.py", "model.py"}),
    "a constant that others read": ("base.py", "LIMIT = 3", "LIMIT = torch.ones(3)", {"base.py", "model.py"}),
    "a body that nobody calls": ("other.py", "x.sum() > 0", "x.ndim > 2", {"other.py"}),
    "a new function": ("host.py", "def load", "def save(path):\n    path.touch()\n\n\ndef load", {"host.py"}),
    "another base": ("base.py", "class Base(nn.Module)", "class Base(object)", {"base.py", "model.py"}),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(dedent(text))
    return folder


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are analysed from now on."""
    names: list[str] = []
    run = Analysis.run

    def noted(self: Analysis, modules: Sequence[int]) -> list[ModuleOutcome]:
        names.extend(Path(self.program.modules[index].path).name for index in modules)
        return run(self, modules)

    monkeypatch.setattr(analysis.Analysis, "run", noted)
    return names


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_only_what_depends_on_a_change_is_analysed_again(
    project: Path, analysed: list[str], change: tuple[str, str, str, set[str]]
) -> None:
    name, old, new, expected = change
    options = load_settings([project], isolated=True)
    with Cache(project.parent / "cache") as cache:
        check_paths([project], options, cache=cache)
        assert sorted(analysed) == sorted(FILES)
        analysed.clear()
        file = project / name
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))
        again = check_paths([project], options, cache=cache)
    assert set(analysed) == expected
    assert again.findings == check_paths([project], options).findings


def test_a_subclass_that_appears_elsewhere_counts(project: Path, analysed: list[str]) -> None:
    options = load_settings([project], isolated=True)
    (project / "base.py").write_text(
        dedent(
            """
            import torch
            from torch import nn


            class Base(nn.Module):
                def forward(self, x: torch.Tensor):
                    return 1 if self.decide(x) else 2
            """
        )
    )
    derived = "from .base import Base\n\n\nclass Derived(Base):\n    def decide(self, x):\n        return x.sum() > 0\n"
    with Cache(project.parent / "cache") as cache:
        before = check_paths([project], options, cache=cache).findings
        analysed.clear()
        (project / "host.py").write_text(derived)
        after = check_paths([project], options, cache=cache).findings
    assert {"base.py", "host.py"} <= set(analysed)
    assert len(after) > len(before)
    assert after == check_paths([project], options).findings


LINES = st.sampled_from(["    y = x.sum()", "    if x.max() > 0:\n        x = x + 1", "    z = len(x)", "    print(x)"])
FUNCTION = st.builds(
    lambda name, lines: f"def {name}(x):\n" + "\n".join(lines) + "\n    return x\n\n\n",
    st.sampled_from(["grow", "shrink", "extra"]),
    st.lists(LINES, max_size=3),
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(st.lists(FUNCTION, max_size=3), min_size=1, max_size=3))
def test_any_edit_gives_what_a_run_from_nothing_gives(project: Path, edits: list[list[str]]) -> None:
    options = load_settings([project], isolated=True)
    with Cache(project.parent / "cache") as cache:
        check_paths([project], options, cache=cache)
        for functions in edits:
            (project / "help.py").write_text("".join(functions) + dedent(HELP))
            found = check_paths([project], options, cache=cache).findings
            assert found == check_paths([project], options).findings


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_contents_given_count_and_not_those_on_the_disk(
    project: Path, change: tuple[str, str, str, set[str]], cached: bool
) -> None:
    name, old, new, _ = change
    options = load_settings([project], isolated=True)
    file = project / name
    changed = file.read_text().replace(old, new)
    with Cache(project.parent / "cache" if cached else None) as cache:
        before = check_paths([project], options, cache=cache)
        given = check_paths([project], options, cache=cache, contents={str(file): changed.encode()})
        assert check_paths([project], options, cache=cache) == before
        file.write_text(changed)
        assert check_paths([project], options, cache=cache) == given
    assert check_paths([project], options) == given


def test_contents_that_do_not_parse(project: Path) -> None:
    options = load_settings([project], isolated=True)
    found = check_paths([project], options, contents={str(project / "host.py"): b"x = ("})
    assert "XLA001" in {finding.code for finding in found.findings if finding.filename.endswith("host.py")}
