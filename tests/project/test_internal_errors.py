"""An internal error costs the function that it comes up in: all else is found, fixed and the same however it is worked out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from xlalint.cache import Cache
from xlalint.config import Settings, load_settings
from xlalint.diagnostics import anchor
from xlalint.fixes import registry
from xlalint.frameworks.checks import call_site
from xlalint.interpreter import library_calls
from xlalint.project import Report, analysis, check_paths, check_text, rewriting
from xlalint.project.fixing import fix
from xlalint.project.rewriting import Memory
from xlalint.project.session import Session

GOOD = """
    import torch
    from torch import nn


    class Model{n}(nn.Module):
        def forward(self, x: torch.Tensor):
            x[x < 0] = 0
            if x.sum() > {n}:
                return x
            return -x
    """
# `boom.fail` is an entry of a table that the engine cannot use, as `broken` makes it.
BAD = """
    import boom
    import torch
    from torch import nn


    def used(x: torch.Tensor):
        return boom.fail(x)


    class Bad(nn.Module):
        def forward(self, x: torch.Tensor):
            x[x < 0] = 0
            y = used(x)
            x[x < 0] = 0
            return y

        def before(self, x: torch.Tensor):
            if x.sum() > 0:
                return x
            boom.fail(x)
            if x.min() > 0:
                return x
            return -x
    """
USER = """
    import torch
    from torch import nn

    from .bad import used


    class User(nn.Module):
        def forward(self, x: torch.Tensor):
            if x.max() > 0:
                return used(x)
            return x
    """
STATEMENTS = """
    import boom
    import torch

    boom.fail(1)
    LIMIT = torch.ones(3)

    @torch.compile
    def f(x: torch.Tensor):
        return x if x.sum() > 0 else x * LIMIT
    """
GRAPH = """
    import tensorflow as tf

    @tf.function
    def f(x):
        made = tf.Graph()
        for op in made.get_operations():
            print(op.name)
        return made.as_graph_def().node, x
    """


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for number in range(4):
        (package / f"good{number}.py").write_text(dedent(GOOD).format(n=number))
    (package / "bad.py").write_text(dedent(BAD))
    (package / "user.py").write_text(dedent(USER))
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "own.toml").write_text('framework = "torch"\n[functions]\n"boom.fail" = "context"\n')
    return tmp_path


@pytest.fixture
def settings(folder: Path) -> Settings:
    return load_settings([], isolated=True, options={"extend_rules": [str(folder / "tables")], "target": "torch_xla"})


Break = Callable[[BaseException], None]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Have the engine fail on the entry; forked processes do so as well."""

    def breaks(error: BaseException) -> None:
        def fail(*_: object) -> Any:
            raise error

        monkeypatch.setitem(library_calls._BUILDERS, "context", fail)

    return breaks


def _places(report: Report) -> list[tuple[str, str, int]]:
    return [(Path(one.filename).name, one.code, one.location.row) for one in report.findings]


def _check(folder: Path, settings: Settings, **options: Any) -> Report:
    return check_paths([folder / "pkg"], settings, **options)


@pytest.mark.parametrize(
    "error", [IndexError("tuple index out of range"), MemoryError(), ValueError("a\nb"), KeyError("x")], ids=repr
)
def test_it_costs_the_function(folder: Path, settings: Settings, broken: Break, error: Exception) -> None:
    whole = _check(folder, settings)
    assert whole.failures == []
    broken(error)
    report = _check(folder, settings)
    lost = set(_places(whole)) - set(_places(report))
    assert lost == {("bad.py", "XLA101", 22)}  # what stands after the call, in the function that makes it
    assert set(_places(report)) < set(_places(whole))
    bad = folder / "pkg" / "bad.py"
    assert [line.partition(f": {type(error).__name__}")[0] for line in report.failures] == [
        f"{bad}: in `Bad.before`",
        f"{bad}: in `used`",
    ]
    assert all("\n" not in line for line in report.failures)


def test_what_is_nested_too_deep_is_unknown_and_a_finding(folder: Path, settings: Settings, broken: Break) -> None:
    broken(RecursionError("maximum recursion depth exceeded"))
    report = _check(folder, settings)
    assert report.failures == []
    assert ("bad.py", "XLA101", 22) not in _places(report)
    assert ("bad.py", "XLA005") in {(name, code) for name, code, _ in _places(report)}


def test_an_interrupt_is_no_internal_error(folder: Path, settings: Settings, broken: Break) -> None:
    broken(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        _check(folder, settings)


def test_it_is_told_with_the_line_of_xlalint(folder: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(call: object, what: object) -> None:
        raise LookupError("no such thing")

    monkeypatch.setitem(library_calls._BUILDERS, "context", broken)
    first = _check(folder, settings).failures[0]
    assert "LookupError" in first
    assert first.endswith(")")
    assert "(xlalint/interpreter/library_calls.py" in first


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_all_processes_tell_the_same(
    folder: Path, settings: Settings, broken: Break, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    broken(IndexError("no"))
    expected = _check(folder, settings)
    monkeypatch.setattr(analysis, "_SMALLEST_SHARED", 0)
    monkeypatch.setattr(analysis, "_CHUNK_BYTES", 1)
    monkeypatch.setattr(rewriting, "_CHUNK", 1)
    assert _check(folder, settings, jobs=jobs) == expected


def test_runs_from_the_cache_tell_the_same(folder: Path, settings: Settings, broken: Break) -> None:
    broken(IndexError("no"))
    expected = _check(folder, settings)
    for _ in range(3):
        with Cache(folder / "cache") as cache:
            assert _check(folder, settings, cache=cache) == expected
    (folder / "pkg" / "good1.py").write_text(dedent(GOOD).format(n=7))
    with Cache(folder / "cache") as cache:
        assert _check(folder, settings, cache=cache) == _check(folder, settings)


def test_a_module_that_only_uses_the_function_is_not_kept_without_it(
    folder: Path, settings: Settings, broken: Break
) -> None:
    """Which module comes first, and notes the error, does not decide what is told of the others."""
    (folder / "pkg" / "a_user.py").write_text(dedent(USER))
    broken(IndexError("no"))
    alone = folder / "pkg" / "bad.py"
    with Cache(folder / "cache") as cache:
        _check(folder, settings, cache=cache)
    alone.write_text(alone.read_text().replace("def before(self, x: torch.Tensor)", "def before(self, x)"))
    expected = _check(folder, settings)
    with Cache(folder / "cache") as cache:
        assert _check(folder, settings, cache=cache) == expected


def test_a_session_tells_the_same(folder: Path, settings: Settings, broken: Break) -> None:
    broken(IndexError("no"))
    expected = _check(folder, settings)
    session = Session([folder / "pkg"], settings)
    session.load()
    told = session.report()
    assert (_places(told), told.failures) == (_places(expected), expected.failures)


def _fixed(folder: Path, settings: Settings, *, unsafe: bool = True) -> Any:
    def check(contents: Mapping[str, bytes], memory: Memory | None) -> Report:
        return _check(folder, settings, contents=contents, fixes=memory)

    return fix(check, lambda path: Path(path).read_bytes(), unsafe=unsafe)


def test_all_else_is_fixed(folder: Path, settings: Settings, broken: Break) -> None:
    whole = _fixed(folder, settings)
    broken(IndexError("no"))
    done = _fixed(folder, settings)
    bad = str(folder / "pkg" / "bad.py")
    assert {path: texts for path, texts in done.files.items() if path != bad} == {
        path: texts for path, texts in whole.files.items() if path != bad
    }
    assert len(done.files) >= 5
    assert len(done.report.failures) == 2
    # Of what follows the call nothing is known, so what comes before it is left as it is.
    [left] = [one for one in done.report.findings if one.filename == bad and one.code == "XLA101"]
    assert left.fix is None
    assert "internal error" in left.no_fix


@pytest.mark.parametrize(
    ("module", "name", "words"),
    [
        pytest.param(rewriting, "outcome_of", "the fix of XLA101", id="fix"),
        pytest.param(sys.modules["xlalint.diagnostics.judge"], "finding_of", "XLA101", id="finding"),
        pytest.param(anchor.Anchors, "anchor", "XLA101", id="anchor"),
        pytest.param(rewriting, "Document", "the fixes", id="document"),
    ],
)
def test_later_stages_cost_as_little(
    folder: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, words: str
) -> None:
    """Each fails at what stands in one file only."""
    original = getattr(module, name)
    text = (folder / "pkg" / "good2.py").read_text()

    def fail(*given: Any) -> Any:
        held = [getattr(one, "path", one) for one in given]
        if any(str(one).endswith("good2.py") or one in (text, text.encode()) for one in held):
            raise IndexError("no")
        return original(*given)

    whole = _check(folder, settings)
    monkeypatch.setattr(module, name, fail)
    report = _check(folder, settings)
    elsewhere = [one for one in report.findings if not one.filename.endswith("good2.py")]
    assert elsewhere == [one for one in whole.findings if not one.filename.endswith("good2.py")]
    assert any(words in line for line in report.failures)
    assert all("good2.py: " in line and "IndexError: no" in line for line in report.failures)


def test_what_is_nested_too_deeply_for_a_fix_is_no_error(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise RecursionError

    text = dedent(GOOD).format(n=0)
    whole = check_text(text, "m.py", settings)
    monkeypatch.setattr(rewriting, "outcome_of", fail)
    report = check_text(text, "m.py", settings)
    assert report.failures == []
    assert [one.code for one in report.findings] == [one.code for one in whole.findings]
    assert {(one.fix, one.no_fix) for one in report.findings} == {
        (None, "the code is nested too deeply to be rewritten")
    }


def test_a_check_of_the_set_up_costs_itself(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: call_site.CallSite) -> None:
        raise IndexError("no")

    monkeypatch.setitem(call_site.NAMES, "torch.relu", (fail,))
    report = check_text(dedent(GOOD).format(n=0).replace("return x\n", "return torch.relu(x)\n"), "m.py", settings)
    assert [one.code for one in report.findings] == ["XLA205", "XLA101"]
    [line] = report.failures
    assert "in `Model0.forward`: IndexError: no" in line


def test_statements_of_a_module_cost_themselves(settings: Settings, broken: Break) -> None:
    broken(IndexError("no"))
    report = check_text(dedent(STATEMENTS), "m.py", settings)
    [line] = report.failures
    assert "in `<module>`: IndexError: no" in line
    assert [(one.code, one.location.row) for one in report.findings] == [("XLA105", 10)]


def test_a_graphs_definition_in_traced_code() -> None:
    report = check_text(dedent(GRAPH), "m.py", load_settings([], isolated=True))
    assert report.failures == []


def test_every_rewrite_is_behind_the_same_guard() -> None:
    assert rewriting.outcome_of is registry.outcome_of
