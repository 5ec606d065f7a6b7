"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import fakexla
import pytest

@pytest.fixture
def model():
    fakexla.compile("the fixture's")

@pytest.mark.xla(max_compiles=1)
def test_once(model):
    fakexla.compile()

@pytest.mark.xla(max_compiles=1, max_syncs=0)
def test_often():
    for _ in range(3):
        fakexla.compile("x: f32[6] was f32[8]")
    fakexla.item()

@pytest.mark.xla(max_compiles=0)
def test_wrong():
    fakexla.compile()
    assert 1 == 2

def test_plain():
    fakexla.compile()

def test_idle():
    pass
"""

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, fakexla: Any) -> Run:
    installed = any(entry.value == "xlalint.pytest_plugin" for entry in entry_points(group="pytest11"))
    load = [] if installed else ["-p", "xlalint.pytest_plugin"]

    def run(text: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(text)
        return pytester.runpytest_inprocess(*load, *options)

    return run


def test_marker(run: Run) -> None:
    done = run(TESTS, "--strict-markers")
    done.assert_outcomes(passed=3, failed=2)
    done.stdout.fnmatch_lines(
        [
            "3 compilations, at most 1 allowed",
            "  test_marker.py:15 in test_often: 3 times x: f32?6? was f32?8?",
            "1 host sync, at most 0 allowed",
            "  test_marker.py:16 in test_often: aten::item",
            "*assert 1 == 2*",
        ]
    )
    done.stdout.no_fnmatch_line("*pytest_plugin.py*")
    done.stdout.no_fnmatch_line("*xlalint ===*")


def test_summary(run: Run) -> None:
    done = run(TESTS, "--xlalint-watch")
    done.stdout.fnmatch_lines(
        [
            "* xlalint *",
            "  compilations         syncs     fallbacks  graph breaks  test",
            "             3             1             0             0  test_summary.py::test_often",
            "             1             0             0             0  test_summary.py::test_*",
            "4 of 5 watched tests made XLA compile, or the host read",
        ]
    )
    done.stdout.no_fnmatch_line("*  test_summary.py::test_idle")


def test_summary_with_causes(run: Run) -> None:
    done = run(TESTS, "--xlalint-watch", "-vv")
    done.stdout.fnmatch_lines(
        ["*  3 compilations", "*    test_summary_with_causes.py:15 in test_often: 3 times x: f32?6? was *"]
    )


def test_fixture(run: Run) -> None:
    text = """
        import fakexla

        def test_counts(xla_watch):
            assert xla_watch.compilations == 0
            fakexla.compile()
            assert xla_watch.compilations == 1

        def test_another(xla_watch):
            assert xla_watch.compilations == 0

        def test_late(request):
            request.getfixturevalue("xla_watch")
        """
    done = run(text)
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["*`xla_watch` must be an argument of the test or of a fixture that it uses*"])


def test_fixture_with_marker(run: Run) -> None:
    text = """
        import fakexla
        import pytest

        @pytest.mark.xla(max_compiles=0, warmup=1)
        @pytest.mark.parametrize("again", [False, True])
        def test_steps(xla_watch, again):
            for step in range(3):
                if step == 0 or again:
                    fakexla.compile()
                xla_watch.step()
        """
    done = run(text)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["2 compilations, at most 0 allowed"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("max_compiles=-1", "@pytest.mark.xla: max_compiles must be a whole number from 0, not -1"),
        ("most=1", "@pytest.mark.xla: got an unexpected keyword argument 'most'"),
    ],
)
def test_wrong_marker(run: Run, arguments: str, message: str) -> None:
    done = run(f"import pytest\n@pytest.mark.xla({arguments})\ndef test(): pass\n")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines([f"*{message}"])


def test_skips_and_expected_failures_stay_so(run: Run) -> None:
    text = """
        import fakexla
        import pytest

        @pytest.mark.xla(max_compiles=0)
        def test_skipped():
            fakexla.compile()
            pytest.skip("not here")

        @pytest.mark.xfail(strict=True)
        @pytest.mark.xla(max_compiles=0)
        def test_known():
            fakexla.compile()
        """
    run(text).assert_outcomes(skipped=1, xfailed=1)


def test_reports_cross_processes(run: Run) -> None:
    pytest.importorskip("xdist")
    text = """
        import pytest
        @pytest.mark.xla(max_compiles=0)
        @pytest.mark.filterwarnings("ignore")
        def test(): pass
        """
    done = run(text, "--xlalint-watch", "-n1")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["0 of 1 watched tests made XLA compile, or the host read"])


def test_unused_it_imports_nothing() -> None:
    code = (
        "import sys, xlalint.pytest_plugin; print([m for m in sys.modules if m.startswith(('xlalint.v', 'msgspec'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
