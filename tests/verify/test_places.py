"""Whose line it is that something belongs to."""

from __future__ import annotations

import sysconfig

import pytest

import xlalint
from xlalint.verify import places

SITE = "/home/me/venv/lib/python3.12/site-packages"


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (f"{SITE}/jax/_src/pjit.py", False),
        (f"{SITE}/typeguard.py", False),
        ("/usr/lib/python3/dist-packages/numpy/core.py", False),
        ("/tmp/__autograph_generated_filexy12.py", False),
        ("<frozen importlib._bootstrap>", False),
        ("<string>", False),
        (xlalint.__file__, False),
        (f"{sysconfig.get_path('stdlib')}/contextlib.py", False),
        (f"{SITE}/transformers/modeling.py", True),
        ("/home/me/jax/train.py", True),
        ("<ipython-input-3-abc>", True),
        (__file__, True),
    ],
)
def test_is_users(file: str, expected: bool) -> None:
    assert places.is_users(file) == expected


def test_calling_is_this_line() -> None:
    place = places.calling()
    assert place is not None
    assert (place.file, place.function) == (__file__, "test_calling_is_this_line")


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except type(error) as caught:
        return caught


def test_an_error_belongs_to_the_innermost_line_of_the_user() -> None:
    place = places.of_error(raised(ValueError("x")))
    assert place is not None and place.function == "raised"


def test_an_error_belongs_to_the_line_that_its_text_quotes() -> None:
    text = f"""in user code:

    File "/home/me/step.py", line 12, in step  *
        return g(x)
    File "/home/me/other.py", line 3, in g  *
        if x:
    File "{SITE}/keras/src/layer.py", line 9, in call

    TypeError: no"""
    assert [(p.file, p.line) for p in places.find_quoted(text)] == [("/home/me/step.py", 12), ("/home/me/other.py", 3)]
    place = places.of_error(raised(TypeError(text)), first="/home/me/step.py")
    assert place is not None and (place.line, place.function) == (12, "step")


def test_a_headline_leaves_out_colours_and_quoted_code() -> None:
    error = ValueError(
        'in user code:\n\n    File "x.py", line 1, in f\n        g(x)\n\n    \x1b[1mno such thing\x1b[0m\nmore'
    )
    assert places.headline(error) == "ValueError: no such thing"
    assert places.headline(KeyError()) == "KeyError"


def test_a_path_that_is_quoted_by_its_end_is_found() -> None:
    end = "/".join(__file__.split("/")[-3:])
    assert [p.file for p in places.find_quoted(f'File "{end}", line 7, in f')] == [__file__]
