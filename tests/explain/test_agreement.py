"""`explain` agrees with `check` on the same files, and has an answer for every line."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.config import Settings
from xlalint.diagnostics.finding import Finding
from xlalint.explain import Explanation, PlaceError
from xlalint.explain.answer import Explainer
from xlalint.explain.place import Place
from xlalint.explain.text import render
from xlalint.project import Report, check_paths
from xlalint.report import Cells, View
from xlalint.source.reading import read_bytes

FIXTURES = Path(__file__).parents[2] / "fixtures"
FILES = sorted(FIXTURES.rglob("*.py"))
SETTINGS = {
    "default": Settings(),
    "compiled": Settings(target="torch_compile"),
    "everything": Settings(show_info=True, min_confidence="possible"),
}
VIEW = View(folder=str(FIXTURES), colour=False, text_of=lambda _: None)


@pytest.fixture(scope="module", params=SETTINGS)
def settings(request: pytest.FixtureRequest) -> Settings:
    return SETTINGS[request.param]


@pytest.fixture(scope="module")
def report(settings: Settings) -> Report:
    return check_paths([FIXTURES], settings)


@pytest.fixture(scope="module")
def shown(report: Report) -> list[Finding]:
    """The findings as they are printed: those of notebooks in their cells."""
    return Cells(read_bytes).locate(report.findings)


@pytest.fixture(scope="module")
def explainer(settings: Settings) -> Explainer:
    return Explainer([FIXTURES], settings)


def fired(said: Explanation) -> set[tuple[str, str, object, object]]:
    return {(v.code, v.message, v.location, v.end_location) for v in said.rules if v.status == "fired"}


def test_every_finding_is_explained(shown: list[Finding], explainer: Explainer) -> None:
    assert len(shown) > 20
    assert any(finding.cell for finding in shown)
    for finding in shown:
        place = finding.location
        wanted = (finding.code, finding.message, place, finding.end_location)
        for column in (None, place.column):
            assert wanted in fired(explainer.explain(Place(finding.filename, place.row, column, finding.cell))), finding


@pytest.mark.parametrize("settings", ["everything"], indirect=True)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_line_has_an_answer(path: Path, report: Report, explainer: Explainer) -> None:
    reported = {
        (f.code, f.message, f.location, f.end_location) for f in report.findings if f.filename == str(path.absolute())
    }
    for row in range(1, len(path.read_text().splitlines()) + 1):
        try:
            said = explainer.explain(Place(str(path), row, None))
        except PlaceError as error:
            assert "there is no code on line" in str(error)
            continue
        assert fired(said) <= reported
        assert f"{path.name}:{row}" in render(said, VIEW, 99)


@pytest.mark.parametrize("settings", ["default"], indirect=True)
def test_every_column_has_an_answer(settings: Settings, explainer: Explainer) -> None:
    path = FIXTURES / "torch" / "moe_decoder.py"
    lines = path.read_text().splitlines()
    for row in range(54, 66):
        for column in range(1, len(lines[row - 1]) + 1):
            try:
                explainer.explain(Place(str(path), row, column))
            except PlaceError as error:
                assert "there is no code on line" in str(error)


def test_a_watched_run_leaves_nothing_behind(report: Report, settings: Settings, explainer: Explainer) -> None:
    finding = next(finding for finding in report.findings if finding.filename.endswith(".py"))
    explainer.explain(Place(finding.filename, finding.location.row, None))
    assert check_paths([FIXTURES], settings) == report
