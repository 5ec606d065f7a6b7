"""The site is made of what is in the repository, and its links lead to pages and headings that are there."""

from __future__ import annotations

import posixpath
import re
import runpy
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from xlalint.config.options import OPTIONS
from xlalint.rules import rules

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "mkdocs.yml").is_file(), reason="a source distribution has no site")
SITE = runpy.run_path(str(ROOT / "scripts" / "build_site.py")) if (ROOT / "mkdocs.yml").is_file() else {}
PAGES: dict[str, str] = SITE["lay_out"]() if SITE else {}
_FENCED = re.compile(r"^```.*?^```[ \t]*$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]\[]+\]\(([^)#\s]*)(#[^)\s]*)?\)")


def anchors(text: str) -> set[str]:
    """The anchors that headings get, as Python-Markdown makes them."""
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", text), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings)
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


@pytest.mark.parametrize("page", sorted(PAGES))
def test_links_lead_somewhere(page: str) -> None:
    for target, anchor in _LINK.findall(_FENCED.sub("", PAGES[page])):
        if re.match(r"[a-z]+:", target):
            continue
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else page
        assert place in PAGES, target
        assert not anchor or anchor[1:] in anchors(PAGES[place]), target + anchor


def test_every_rule_has_the_page_that_findings_point_to() -> None:
    for rule in rules().values():
        assert f"rules/{rule.path.name}" in PAGES
        assert f"[{rule.code}](rules/{rule.path.name})" in PAGES["rules.md"]


def test_every_key_of_the_configuration_is_there() -> None:
    keys = re.findall(r"^## (.+)$", PAGES["settings.md"], re.MULTILINE)
    assert keys == [name.replace("_", "-") for name in OPTIONS]


def test_every_page_is_reached() -> None:
    told = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    named = {page for entry in told for value in entry.values() for page in _flat(value)}
    assert named == {page for page in PAGES if not page.startswith("rules/")}


def _flat(value: object) -> list[str]:
    return [value] if isinstance(value, str) else [page for one in value for page in one.values()]  # type: ignore[attr-defined]


@pytest.mark.skipif(find_spec("zensical") is None, reason="zensical is not installed")
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    SITE["write"](tmp_path / "build" / "site-pages")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "build/site/rules/XLA101-tensor-if/index.html").is_file()
