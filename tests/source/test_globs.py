"""Patterns of `exclude` and `per-file-ignores`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlalint.source.globs import Globs


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        pytest.param("tests", "/p/src/tests.py", id="name-is-whole"),
        pytest.param("test", "/p/tests/a.py", id="name-is-not-a-prefix"),
        pytest.param("*.pyi", "/p/a.py", id="extension"),
        pytest.param("tests/*", "/p/src/tests/a.py", id="path-starts-at-the-root"),
        pytest.param("src/*.py", "/p/src/a/b.py", id="star-stays-within-a-name"),
        pytest.param("src/?.py", "/p/src/ab.py", id="one-character"),
        pytest.param("src/[!a].py", "/p/src/a.py", id="negated-set"),
        pytest.param("src/a", "/p/src/ab", id="path-is-whole"),
        pytest.param("/other/*", "/p/src/a.py", id="absolute-elsewhere"),
        pytest.param("p", "/p/src/a.py", id="folder-above-the-root"),
        pytest.param("a+b", "/p/aab.py", id="no-regular-expression"),
        pytest.param("", "/p/a.py", id="empty"),
        pytest.param("/", "/p/a.py", id="only-a-slash"),
    ],
)
def test_no_match(pattern: str, path: str) -> None:
    assert not Globs([pattern], "/p").match(path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        pytest.param("a.py", "/p/x/a.py", id="name"),
        pytest.param("tests", "/p/x/tests/y/a.py", id="folder-by-name"),
        pytest.param("tests/", "/p/tests/a.py", id="folder-with-slash"),
        pytest.param("test_*", "/p/x/test_a.py", id="wild-name"),
        pytest.param("test_*", "/p/test_x/a.py", id="wild-folder"),
        pytest.param("tests/*", "/p/tests/a.py", id="path"),
        pytest.param("tests/*", "/p/tests/x/a.py", id="folder-below-a-path"),
        pytest.param("./src/a.py", "/p/src/a.py", id="dot-slash"),
        pytest.param("src/**/a.py", "/p/src/x/y/a.py", id="stars-span-folders"),
        pytest.param("src/**/a.py", "/p/src/a.py", id="stars-span-none"),
        pytest.param("**/gen/*.py", "/p/x/gen/a.py", id="stars-first"),
        pytest.param("src/**", "/p/src/x/a.py", id="stars-last"),
        pytest.param("src/[a-c].py", "/p/src/b.py", id="set"),
        pytest.param("src/[", "/p/src/[", id="lone-bracket"),
        pytest.param("/other/*.py", "/other/a.py", id="absolute"),
        pytest.param("src\\a.py", "/p/src/a.py", id="backslash"),
    ],
)
def test_match(pattern: str, path: str) -> None:
    assert Globs([pattern], "/p").match(path)


@pytest.mark.parametrize("pattern", ["build", "build/", "/p/build", "b*", "**/build", "*"])
def test_an_entry_matches_by_itself_only(pattern: str) -> None:
    globs = Globs([pattern], "/p")
    assert globs.match_entry("/p/build", "build")
    assert pattern == "*" or not globs.match_entry("/p/build/a.py", "a.py")


def test_without_drops_what_means_a_named_folder() -> None:
    globs = Globs(["**/build/**", "build/x", "build/x/*", "*.gen.py"], "/p").without("/p/build/x")
    assert not globs.match_entry("/p/build/x/a.py", "a.py")
    assert globs.match_entry("/p/build/x/a.gen.py", "a.gen.py")


@pytest.mark.parametrize("pattern", ["[z-a]", "[[-?]", "[!z-a]", "x[9-0].py"])
def test_a_range_that_runs_backwards_matches_nothing(pattern: str) -> None:
    globs = Globs([pattern], "/a")
    assert not any(globs.match(f"/a/{name}") for name in ("a", "z", "[", "?", "x9.py", "x5.py"))


@given(st.text(st.sampled_from("ab/*?[]!-^\\.{}|&~")), st.text(st.sampled_from("ab/.-]")))
def test_any_pattern(pattern: str, path: str) -> None:
    globs = Globs([pattern], "/a")
    globs.match(f"/{path}")
    globs.match_entry(f"/{path}", path)
