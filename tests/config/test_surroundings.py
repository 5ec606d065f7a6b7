"""The program around a file: where it begins, and how much is read of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from xlalint.config import surroundings
from xlalint.config.surroundings import ProgramFolder, list_candidates, survey_program
from xlalint.source.discovery import DiscoveryError, SearchLimit

CONFIGURED = "[tool.xlalint]\nshow-info = false\n"


def plant(root: Path, *names: str) -> None:
    """Make files; a name that ends with a slash is a folder. A configuration is `name=text`."""
    for name in names:
        path, _, text = name.partition("=")
        place = root / path
        (place if path.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
        if not path.endswith("/"):
            place.write_text(text)


@pytest.mark.parametrize(
    ("names", "file", "here", "expected"),
    [
        pytest.param(["r/.git/", "r/a/b/f.py"], "r/a/b/f.py", "", ["r"], id="repository"),
        pytest.param(
            ["r/.git/", "r/.git/HEAD", "o/f.py"], "o/f.py", "r", ["o"], id="not-that-of-the-working-directory"
        ),
        pytest.param(["r/.git/", "r/s/.git/", "r/s/f.py"], "r/s/f.py", "r", ["r/s"], id="repository-in-a-repository"),
        pytest.param(["r/.git/", "r/pyproject.toml=", "r/f.py"], "r/f.py", "", ["r"], id="both"),
        pytest.param(
            ["r/.git/", "r/d/setup.py", "r/d/f.py"], "r/d/f.py", "", ["r", "r/d"], id="distribution-in-repository"
        ),
        pytest.param(
            ["d/pyproject.toml=", "d/p/__init__.py", "d/p/f.py"], "d/p/f.py", "", ["d", "d/p"], id="distribution"
        ),
        pytest.param(
            ["d/e/setup.cfg=", "d/setup.cfg=", "d/e/f.py"], "d/e/f.py", "", ["d/e"], id="nearest-distribution"
        ),
        pytest.param(
            ["r/.git/", "r/setup.py", "r/a/xlalint.toml=", "r/a/f.py"], "r/a/f.py", "", ["r/a"], id="configured-part"
        ),
        pytest.param(
            ["r/.git/", f"r/pyproject.toml={CONFIGURED}", "r/a/xlalint.toml=", "r/a/f.py"],
            "r/a/f.py",
            "",
            ["r"],
            id="nested",
        ),
        pytest.param(
            ["xlalint.toml=", "r/.git/", "r/f.py"], "r/f.py", "", ["r"], id="configuration-above-the-repository"
        ),
        pytest.param(["r/.git/", "r/pyproject.toml=[", "r/f.py"], "r/f.py", "", ["r"], id="broken-configuration"),
        pytest.param(["p/__init__.py", "p/q/__init__.py", "p/q/f.py"], "p/q/f.py", "p/q", ["", "p"], id="package"),
        pytest.param(["d/f.py", "e/g.py"], "d/f.py", "e", ["d"], id="unmarked"),
        pytest.param(["d/m/f.py"], "d/m/f.py", "d", ["d", "d/m"], id="unmarked-below-the-working-directory"),
        pytest.param(
            ["r/.git/", "r/v/site-packages/p/__init__.py", "r/v/site-packages/p/f.py"],
            "r/v/site-packages/p/f.py",
            "",
            ["r/v/site-packages/p"],
            id="installed",
        ),
        pytest.param(["r/.git/", "r/f.py"], "r/gone/new.py", "", ["r"], id="not-saved-yet"),
        pytest.param(["d/f.py"], "gone/new.py", "d", [], id="in-a-folder-that-is-not-there"),
    ],
)
def test_where_a_program_begins(
    names: list[str], file: str, here: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The candidates, the widest first."""
    top = tmp_path / "top"
    plant(top, *names)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    found = [os.path.relpath(one.folder, top) for one in list_candidates(top / file, top / here)]
    assert found == [name or "." for name in expected]


def test_home_is_a_program_if_it_is_marked_and_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    plant(tmp_path, "f.py")
    assert list_candidates(tmp_path / "f.py", tmp_path) == ()
    plant(tmp_path, ".git/")
    [home] = list_candidates(tmp_path / "f.py", tmp_path)
    assert (home.folder, home.limit.files) == (tmp_path, 300)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    plant(tmp_path, ".git/", "p/__init__.py", "p/f.py", "p/g.py", "many/1.py", "many/2.py", "many/3.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(surroundings, "_MARKED", SearchLimit(4, 1_000))
    return tmp_path


def test_what_is_too_large_is_not_read_unasked(repository: Path) -> None:
    found = survey_program([Path("p/f.py")])
    assert found.around.too_large == (ProgramFolder(repository, SearchLimit(4, 1_000), marked=True),)
    assert found.around.folders == (repository / "p",)
    assert [path.name for path in found.survey.files] == ["__init__.py", "f.py", "g.py"]
    assert survey_program([Path("many/1.py")]).around.folders == ()


def test_each_of_several_programs_has_its_own_limit(repository: Path) -> None:
    plant(repository, "other/.git/", "other/a.py", "other/b.py")
    found = survey_program([Path("p/f.py"), Path("other/a.py")])
    assert found.around.folders == (repository / "p", repository / "other")
    assert len(found.survey.files) == 5


def test_folders_are_programs_as_they_stand(repository: Path) -> None:
    found = survey_program([Path("many")])
    assert (found.around.folders, len(found.survey.files)) == ((), 3)
    both = survey_program([Path("many"), Path("p/f.py")])
    assert both.around.folders == (repository / "p",)
    assert len(both.survey.files) == 6


def test_what_is_excluded_is_left_out_of_the_count(repository: Path) -> None:
    plant(repository, ".gitignore=many\n")
    assert survey_program([Path("p/f.py")]).around.folders == (repository,)
    # What is named is of the program all the same.
    assert [path.name for path in survey_program([Path("many/1.py")]).survey.files][:2] == ["1.py", "__init__.py"]


def test_only_what_is_allowed_is_looked_into(repository: Path) -> None:
    found = survey_program([Path("p/f.py")], allowed=lambda folder: folder != repository)
    assert (found.around.folders, found.around.too_large) == ((repository / "p",), ())


def test_what_is_not_saved_need_not_exist(repository: Path) -> None:
    assert len(survey_program([Path("p/new.py")], saved=False).survey.files) == 3
    with pytest.raises(DiscoveryError):
        survey_program([Path("p/new.py")])
