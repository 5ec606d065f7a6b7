"""A program in memory: after any changes its findings are those of a check of the same texts from nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xlalint.cache import Cache
from xlalint.config import Settings, load_settings
from xlalint.diagnostics import Finding
from xlalint.diagnostics.finding import Location
from xlalint.project import check_paths
from xlalint.project.analysis import Analysis, ModuleOutcome
from xlalint.project.session import Session

from .programs import functions, modules
from .test_incremental import CHANGES, FILES

UNHURRIED = settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))
AllocationSite = Callable[[Mapping[str, str]], Session]


@pytest.fixture(scope="module")
def everything() -> Settings:
    """Settings that hide no finding."""
    return load_settings([], isolated=True, options={"show_info": True, "min_confidence": "possible", "python": ""})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path / "package", FILES)


def written(folder: Path, files: Mapping[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(dedent(text))
    return folder


def session_of(folder: Path, options: Settings) -> Session:
    session = Session([folder], options)
    session.load()
    session.report()
    return session


def plain(findings: list[Finding]) -> list[Finding]:
    """Findings without their fixes, which a check of a small program shows unasked."""
    import msgspec

    return [msgspec.structs.replace(one, fix=None, no_fix="") if one.framework else one for one in findings]


def fresh(folder: Path, options: Settings, contents: Mapping[str, str] = {}) -> list[Finding]:
    given = {str(folder / name): text.encode() for name, text in contents.items()}
    report = check_paths([folder], options, contents=given)
    assert not report.failures
    return plain(report.findings)


def settled(session: Session) -> list[Finding]:
    report = session.report()
    assert not report.failures
    return report.findings


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are analysed from now on."""
    names: list[str] = []
    run = Analysis.run

    def noted(self: Analysis, indexes: list[int]) -> list[ModuleOutcome]:
        names.extend(Path(self.program.modules[index].path).name for index in indexes)
        return run(self, indexes)

    monkeypatch.setattr(Analysis, "run", noted)
    return names


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_only_what_depends_on_a_change_is_analysed_again(
    folder: Path, everything: Settings, analysed: list[str], change: tuple[str, str, str, set[str]]
) -> None:
    name, old, new, expected = change
    session = session_of(folder, everything)
    text = (folder / name).read_text().replace(old, new)
    analysed.clear()
    session.change(str(folder / name), text.encode())
    found = settled(session)
    assert set(analysed) <= expected | {name}
    assert found == fresh(folder, everything, {name: text})
    session.change(str(folder / name), None)
    assert settled(session) == fresh(folder, everything)


def test_findings_of_the_changed_file_come_before_the_rest_is_done(folder: Path, everything: Settings) -> None:
    session = session_of(folder, everything)
    name, old, new, _ = CHANGES["a body that nobody calls"]
    before = session.findings(str(folder / name))
    session.change(str(folder / name), (folder / name).read_text().replace(old, new).encode())
    assert session.findings(str(folder / name)) != before


def test_a_text_that_does_not_parse_leaves_the_others_alone(folder: Path, everything: Settings) -> None:
    session = session_of(folder, everything)
    before = settled(session)
    help_py = str(folder / "help.py")
    session.change(help_py, (folder / "help.py").read_bytes() + b"\ndef (:\n")
    after = settled(session)
    assert [one for one in after if one.filename != help_py] == [one for one in before if one.filename != help_py]
    assert [one.code for one in after if one.filename == help_py] == ["XLA001"]
    session.change(help_py, None)
    assert settled(session) == before


def test_a_syntax_error_is_where_it_is_in_the_text_whatever_is_on_the_disk(folder: Path, everything: Settings) -> None:
    session = session_of(folder, everything)
    (folder / "help.py").write_text("\n")
    session.change(str(folder / "help.py"), "é = 1\ndef grow(x):\n    é = (x x\n".encode())
    (found,) = session.findings(str(folder / "help.py"))
    assert (found.code, found.location) == ("XLA001", Location(3, 9))


def test_a_fix_knows_of_the_calls_from_other_files(tmp_path: Path, everything: Settings) -> None:
    used = "import torch\n\n\ndef clipped(x):\n    if x > 1:\n        return x\n    return -x\n"
    model = (
        "import torch\nfrom package.used import clipped\n\n\n"
        "class Model(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n        return {}\n"
    )
    files = {"__init__.py": "", "used.py": used, "model.py": model.format("clipped(x.sum())")}
    folder = written(tmp_path / "package", files)
    path = str(folder / "used.py")
    assert [one.fix is not None for one in session_of(folder, everything).proposals(path)] == [True]
    written(folder, {"scaled.py": model.format("x * clipped(3)")})
    (found,) = session_of(folder, everything).proposals(path)
    assert found.fix is None
    assert found.no_fix


def test_files_come_and_go(folder: Path, everything: Settings) -> None:
    session = session_of(folder, everything)
    for name, text in (
        ("aaa.py", "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.item()\n"),
        ("help.py", None),
        ("zzz.py", "from .model import *\n"),
        ("help.py", FILES["help.py"]),
        ("aaa.py", None),
    ):
        if text is None:
            (folder / name).unlink()
        else:
            (folder / name).write_text(dedent(text))
        session.rediscover()
        assert settled(session) == fresh(folder, everything)


def test_folders_become_packages_and_are_none_any_more(folder: Path, everything: Settings) -> None:
    """An import finds the module by the folder's name either way."""
    text = (
        "import torch\nfrom package.help import grow\n\n\ndef f(x: torch.Tensor):\n    return 1 if grow(x) > 0 else 0\n"
    )
    (folder / "user.py").write_text(text)
    (folder / "__init__.py").rename(folder / "kept")
    session = session_of(folder, everything)
    assert (single := settled(session)) == fresh(folder, everything)
    (folder / "kept").rename(folder / "__init__.py")
    session.rediscover()
    assert settled(session) == fresh(folder, everything) == single
    (folder / "__init__.py").unlink()
    session.rediscover()
    assert settled(session) == single


def test_what_is_kept_serves_the_next_session(folder: Path, everything: Settings, analysed: list[str]) -> None:
    with Cache(folder.parent / "cache") as cache:
        session = Session([folder], everything, cache)
        session.load()
        first = settled(session)
        session.keep()
        analysed.clear()
        again = Session([folder], everything, cache)
        again.load()
        assert settled(again) == first
        assert analysed == []


HEAD = "import torch\nfrom torch import nn\nfrom . import help, other\nfrom .help import *\nfrom .base import Base, LIMIT\n"
NAMES = ["model.py", "help.py", "other.py", "new.py"]
TEXTS = st.one_of(
    modules(),
    modules().map(lambda text: HEAD + text),
    st.lists(st.sampled_from(["grow", "shrink", "decide", "forward"]).flatmap(functions), max_size=2).map(
        lambda parts: "import torch\n" + "".join(parts)
    ),
    st.sampled_from([FILES["help.py"], FILES["model.py"], FILES["other.py"], "x = (", ""]).map(dedent),
)
EDITS = st.lists(st.tuples(st.sampled_from(NAMES), st.none() | TEXTS), min_size=1, max_size=6)


def last_good(text: str, before: str | None) -> str | None:
    from xlalint.source.model import SourceError
    from xlalint.source.syntax import parse

    try:
        parse(text)
    except SourceError:
        return before
    return text


@UNHURRIED
@given(edits=EDITS)
def test_any_edits(
    edits: list[tuple[str, str | None]], everything: Settings, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = written(tmp_path_factory.mktemp("any") / "package", FILES)
    session = session_of(folder, everything)
    good: dict[str, str | None] = {name: dedent(text) for name, text in FILES.items()}
    now: dict[str, str] = {}
    for name, text in edits:
        path = str(folder / name)
        if text is None:
            session.change(path, None)
            now.pop(name, None)
            good[name] = dedent(FILES[name]) if name in FILES else None
        else:
            session.change(path, text.encode())
            now[name] = text
            good[name] = last_good(text, good.get(name))
        broken = {other for other, given in now.items() if good[other] != given}
        contents = {other: good[other] or "" if other in broken else given for other, given in now.items()}
        absent = {other for other in broken if good[other] is None}
        if name == "new.py" and "new.py" not in now:
            (folder / "new.py").unlink(missing_ok=True)
            session.reread([path])
        if "new.py" in now and "new.py" not in absent:
            (folder / "new.py").touch()
        if "new.py" in absent:
            (folder / "new.py").unlink(missing_ok=True)
        found = [one for one in settled(session) if Path(one.filename).name not in broken]
        expected = fresh(folder, everything, {k: v for k, v in contents.items() if k not in absent})
        assert found == [one for one in expected if Path(one.filename).name not in broken]


def test_what_is_too_large_is_told_in_an_editor_too(folder: Path, everything: Settings) -> None:
    import msgspec

    options = msgspec.structs.replace(everything, max_file_size=2_000)
    name = min(FILES)
    path = str(folder / name)
    session = session_of(folder, options)
    small = settled(session)
    large = f"{dedent(FILES[name])}#{'-' * 2_000}\n"
    session.change(path, large.encode())
    assert [one.code for one in settled(session) if one.filename == path] == ["XLA004"]
    (folder / name).write_text(large)
    session.change(path, None)
    assert [one.code for one in settled(session) if one.filename == path] == ["XLA004"]
    (folder / name).write_text(dedent(FILES[name]))
    session.reread([path])
    assert settled(session) == small
