"""The advice of guides to XLA devices, as tables: a program that ignores it is found, its fix follows it, one that follows it is silent.

Each guide is a TOML file beside this one, with `guide`, where it is found (`source`), and an `[[advice]]` for each thing that it tells its
reader to do or to avoid:

| key | |
| --- | --- |
| `id`, `says` | a name, and the advice in our own words |
| `ignored`, `found` | a program that ignores it; what is found there, as "CODE severity: line", in order of place, and nothing else |
| `fixed` | the program after `--fix --unsafe-fixes`; left out where nothing is fixed |
| `followed` | a program that follows it: silent; `fixed` stands for it where it is left out |
| `target` | how the programs reach XLA, where that is not told by their imports |
| `beyond` | instead of programs: why none shows whether it is followed |
| `outdated` | instead of `found`: since when the advice is no longer true; then the program that ignores it is silent |

A program's `info` findings, which are shown only when asked for, do not count, unless `found` names one. `beside` lists codes that are
other advice's, and are left out of what is found and fixed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.fixes.fixing import PATH
from xlalint.config import Settings
from xlalint.diagnostics import Finding
from xlalint.project import check_text
from xlalint.project.fixing import fix
from xlalint.project.rewriting import Memory
from xlalint.source.reading import decode

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent


class Advice(NamedTuple):
    """One thing that a guide tells its reader."""

    id: str
    says: str
    ignored: str = ""
    found: tuple[str, ...] = ()
    fixed: str = ""
    followed: str = ""
    target: str = ""
    beyond: str = ""
    outdated: str = ""
    beside: tuple[str, ...] = ()

    @property
    def settings(self) -> Settings:
        return Settings(target=self.target or None, ignore=self.beside, python=None, show_info=True)  # type: ignore[arg-type]

    def in_(self, program: str) -> tuple[Finding, ...]:
        """What is found in a program."""
        report = check_text(program, PATH, self.settings)
        assert not report.failures
        return report.findings

    def loud(self, program: str) -> list[str]:
        """What of that is shown unasked, as a table writes it."""
        return [told(one, program) for one in self.in_(program) if one.severity != "info"]


def told(finding: Finding, program: str) -> str:
    """A finding as a table writes it."""
    line = program.splitlines()[finding.location.row - 1].strip()
    return f"{finding.code} {finding.severity}: {line}"


def guides() -> dict[str, list[Advice]]:
    """The advice of each guide, by its name."""
    read: dict[str, list[Advice]] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        table: dict[str, Any] = tomllib.loads(path.read_text())
        assert set(table) == {"guide", "source", "advice"}, path.name
        read[table["guide"]] = [
            Advice(**{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()})
            for row in table["advice"]
        ]
    return read


GUIDES = guides()


def rows(*keys: str) -> list[object]:
    """The advice for which one of these keys is given."""
    return [
        pytest.param(advice, id=f"{guide}: {advice.id}")
        for guide, advices in GUIDES.items()
        for advice in advices
        if any(getattr(advice, key) for key in keys)
    ]


@pytest.mark.parametrize("guide", GUIDES)
def test_a_row_says_what_becomes_of_the_advice(guide: str) -> None:
    assert len({advice.id for advice in GUIDES[guide]}) == len(GUIDES[guide])
    for advice in GUIDES[guide]:
        assert bool(advice.found) + bool(advice.beyond) + bool(advice.outdated) == 1, advice.id
        assert bool(advice.ignored) is not bool(advice.beyond), advice.id
        assert not advice.found or advice.fixed or advice.followed, advice.id


@pytest.mark.parametrize("advice", rows("found"))
def test_what_ignores_it_is_found(advice: Advice) -> None:
    report = advice.in_(advice.ignored)
    lines = [told(one, advice.ignored) for one in report]
    asked = [line for one, line in zip(report, lines, strict=True) if one.severity != "info" or line in advice.found]
    assert asked == list(advice.found)


@pytest.mark.parametrize("advice", rows("outdated"))
def test_what_ignores_advice_of_old_is_left_alone(advice: Advice) -> None:
    assert advice.loud(advice.ignored) == []


@pytest.mark.parametrize("advice", rows("found"))
def test_the_fix_follows_it(advice: Advice) -> None:
    def check(contents: Any, memory: Memory) -> Any:
        text = decode(contents[PATH]) if PATH in contents else advice.ignored
        return check_text(text, PATH, advice.settings, fixes=memory)

    done = fix(check, lambda _: advice.ignored.encode(), unsafe=True)
    assert not done.troubles
    assert (decode(done.files[PATH].after) if done.files else "") == advice.fixed


@pytest.mark.parametrize("advice", rows("followed", "fixed"))
def test_what_follows_it_is_silent(advice: Advice) -> None:
    assert advice.loud(advice.followed or advice.fixed) == []
