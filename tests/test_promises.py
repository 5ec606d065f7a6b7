"""Each section of the pages that users read names the tests that execute what it promises, or says that it is not tried."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PROMISES: dict[str, dict[str, list[str]]] = tomllib.loads(
    (ROOT / "tests" / "promises.toml").read_text(encoding="utf-8")
)
READ = ("README.md", "SECURITY.md", "docs/*.md", "editors/README.md", "editors/vscode/README.md")
PAGES = [page.relative_to(ROOT).as_posix() for pattern in READ for page in sorted(ROOT.glob(pattern))]
_FENCED = re.compile(r"^```.*?^```[ \t]*$", re.DOTALL | re.MULTILINE)


def sections(page: str) -> list[str]:
    """The headings of a page's sections; "" is what stands before the first."""
    text = _FENCED.sub("", (ROOT / page).read_text(encoding="utf-8"))
    return ["", *re.findall(r"^## (.+)$", text, re.MULTILINE)]


def untried() -> set[str]:
    """What the page of benchmarks says is not tried."""
    _, _, table = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8").partition("## What is not tried")
    return {line.split("|")[1].strip() for line in table.splitlines() if line.startswith("|")} - {"promise", "---"}


@cache
def names_of_tests(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


@pytest.mark.parametrize("page", PAGES)
def test_each_section_is_executed_or_said_not_to_be(page: str) -> None:
    assert list(PROMISES.get(page, {})) == sections(page)
    assert all(PROMISES[page].values())


def test_no_page_is_gone() -> None:
    # A source distribution has no extension.
    assert {page for page in PROMISES if (ROOT / page).is_file() or not page.startswith("editors/vscode/")} == set(
        PAGES
    )


WITNESSES = sorted({witness for told in PROMISES.values() for names in told.values() for witness in names})


@pytest.mark.parametrize("witness", [witness for witness in WITNESSES if "::" in witness])
def test_what_is_named_is_a_test(witness: str) -> None:
    file, _, name = witness.partition("::")
    assert names_of_tests(file) if name == "*" else name in names_of_tests(file)


def test_what_is_not_tried_is_said_on_the_page_of_benchmarks() -> None:
    named = {witness.removeprefix("untried: ") for witness in WITNESSES if witness.startswith("untried: ")}
    assert named <= untried()
    assert {witness for witness in WITNESSES if "::" not in witness and not witness.startswith("untried: ")} == {
        "prose"
    }
