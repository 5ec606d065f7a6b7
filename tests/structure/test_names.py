"""What belongs to a rule is found by the name of its page: `rules/XLA513-cuda-on-xla.md`, `cuda_on_xla.py`."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import pytest

from xlalint.rules import codes

from .tree import HERE, ROOT, imports, load, modules, pages, rewriters, text_of

NAMES = load("names.json")
PAGES = {page.module: page for page in pages().values()}
CHECKS = [m for m in modules() if re.fullmatch(r"frameworks/(\w+/)?checks/(?!__init__)\w+\.py", m)]
FIXES = [m for m in modules() if re.fullmatch(r"fixes/(?!toolkit/)\w+/(?!__init__)\w+\.py", m)]
LISTED = [(table, module) for table, entries in NAMES.items() for module in entries if table != "folders of tests"]
TESTS = ROOT / "tests"
MIRRORED = re.compile(r"(fixes/\w+|frameworks/(\w+/)?checks)/test_\w+\.py")
MIRRORS = sorted(m for path in TESTS.rglob("test_*.py") if MIRRORED.fullmatch(m := path.relative_to(TESTS).as_posix()))


def stem(module: str) -> str:
    return PurePosixPath(module).stem


def home_of_test(module: str) -> Path:
    """Return the file that tests a module: it lies in the folder of the same name below `tests`."""
    return TESTS / PurePosixPath(module).with_name(f"test_{stem(module)}.py")


@pytest.mark.parametrize("module", CHECKS)
def test_check_is_named_after_a_page(module: str) -> None:
    page = PAGES.get(stem(module))
    if page is None:
        assert module in NAMES["checks"], "name it after its rule's page, or list it in names.json with a reason"
        return
    assert module not in NAMES["checks"], "it is named after a page: take it off the list"
    assert page.code in text_of(module), f"it never speaks of {page.code}, after whose page it is named"


@pytest.mark.parametrize("module", [m for m in CHECKS if stem(m) in PAGES])
def test_check_lies_with_its_framework(module: str) -> None:
    """A rule of one framework has its check in that framework's folder; one of several has it in `frameworks/checks`."""
    frameworks = PAGES[stem(module)].frameworks
    home = PurePosixPath(module).parts[1]
    assert (home,) == frameworks if home != "checks" else len(frameworks) > 1


@pytest.mark.parametrize("module", CHECKS)
def test_check_is_imported(module: str) -> None:
    """A check enters itself into a table when it is imported: one that nothing imports finds nothing."""
    assert any(edge.imported == module and not edge.typing_only for edge in imports())


@pytest.mark.parametrize("module", FIXES)
def test_fix_is_registered(module: str) -> None:
    served = [code for code, homes in rewriters().items() if module in homes]
    if not served:
        assert module in NAMES["fixes that serve no rule of their own"]
        return
    kinds = {pages()[code].kind.replace("-", "_") for code in served}
    assert PurePosixPath(module).parts[1] in kinds, f"it serves {served}: move it to the folder of one of {kinds}"


@pytest.mark.parametrize("module", [m for m in FIXES if stem(m) in PAGES])
def test_fix_named_after_a_page_serves_it(module: str) -> None:
    assert module in rewriters().get(PAGES[stem(module)].code, ())


def test_the_only_fix_of_one_rule_is_named_after_its_page() -> None:
    """One of several is named after what it rewrites."""
    homes = rewriters()
    uses = [module for served in homes.values() for module in served]
    alone = {served[0]: code for code, served in homes.items() if len(served) == 1 and uses.count(served[0]) == 1}
    misnamed = {module for module, code in alone.items() if stem(module) != pages()[code].module}
    assert sorted(misnamed) == []


@pytest.mark.parametrize(("table", "module"), LISTED, ids=[module for _, module in LISTED])
def test_every_exception_is_there_and_says_why(table: str, module: str) -> None:
    assert module in modules()
    assert len(NAMES[table][module]) >= 20


def test_the_engine_names_rules_as_their_pages_do() -> None:
    """`TENSOR_IF` of `rules/codes.py` is the code of the page `XLA101-tensor-if.md`."""
    named = {name.lower(): code for name, code in vars(codes).items() if name.isupper()}
    assert named == {page.module: page.code for page in pages().values() if page.module in named}


def test_every_rule_is_tested() -> None:
    """Pages' examples and fixtures run by themselves; besides, some test speaks of each rule by its code."""
    tests = (path for path in (ROOT / "tests").rglob("*.py") if HERE not in path.parents)
    named = {code for path in tests for code in re.findall(r"XLA\d{3}", Path(path).read_text(encoding="utf-8"))}
    assert sorted(pages().keys() - named) == []


@pytest.mark.parametrize("module", [m for m in CHECKS if stem(m) in PAGES])
def test_check_has_its_test(module: str) -> None:
    home = home_of_test(module)
    assert home.is_file(), f"test it in {home.relative_to(ROOT)}"
    assert PAGES[stem(module)].code in home.read_text(encoding="utf-8")


@pytest.mark.parametrize("module", FIXES)
def test_fix_has_its_test(module: str) -> None:
    assert home_of_test(module).is_file(), f"test it in {home_of_test(module).relative_to(ROOT)}"


@pytest.mark.parametrize("test", MIRRORS)
def test_tests_of_checks_and_fixes_have_their_subject(test: str) -> None:
    place = PurePosixPath(test)
    subject = place.with_name(place.name.removeprefix("test_")).as_posix()
    assert subject in modules(), (
        "name it after the check or fix that it tests, and put it into a folder of the same name"
    )


def test_folders_of_tests_are_those_of_the_package() -> None:
    folders = {path.relative_to(TESTS).parts[0] for path in TESTS.rglob("*.py") if path.parent != TESTS}
    code = {PurePosixPath(module).parts[0] for module in modules()}
    assert sorted(folders - code) == sorted(NAMES["folders of tests"])
    assert [folder for folder, why in NAMES["folders of tests"].items() if len(why) < 20] == []
