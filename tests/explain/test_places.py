"""How a place is written, and what is said of one that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.explain.conftest import Explain
from xlalint.config import Settings
from xlalint.explain import PlaceError, explain, parse_place
from xlalint.explain.place import Place

CODE = '''\
"""A module."""

import torch


def f(
    x: torch.Tensor,
):
    # a remark
    y = torch.where(
        x > 0,
        x,
        -x,
    )

    return y
'''


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a.py:3", Place("a.py", 3, None)),
        ("a.py:3:7", Place("a.py", 3, 7)),
        ("a b/c.py:3:", Place("a b/c.py", 3, None)),
        ("a.py:3:7: XLA101 `if` needs: the value", Place("a.py", 3, 7)),
        ("C:/a.py:3:7", Place("C:/a.py", 3, 7)),
    ],
)
def test_places(text: str, place: Place) -> None:
    assert parse_place(text) == place


@pytest.mark.parametrize("text", ["a.py", "a.py:", "a.py:x", ":3", ""])
def test_no_places(text: str) -> None:
    with pytest.raises(PlaceError, match="is not FILE:LINE"):
        parse_place(text)


def complaint(path: Path, place: str) -> str:
    with pytest.raises(PlaceError) as raised:
        explain(f"{path}:{place}", [path.parent], Settings(root=str(path.parent)))
    message = str(raised.value)
    assert "\n" not in message
    return message


def test_complaints(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(CODE)
    assert "there is no line 17: the file has 16 lines" in complaint(path, "17")
    assert "there is no line 0" in complaint(path, "0")
    assert "line 16 has 12 columns, not 40" in complaint(path, "16:40")
    assert "no code on line 9; the nearest statement is on line 10" in complaint(path, "9")
    assert "no code on line 1;" in complaint(path, "1")
    assert "no such file" in complaint(tmp_path / "other.py", "1")
    broken = tmp_path / "broken.py"
    broken.write_text("def f(:\n")
    assert "broken.py" in complaint(broken, "1")
    empty = tmp_path / "empty.py"
    empty.write_text("")
    assert "there is no line 1: the file has 0 lines" in complaint(empty, "1")


@pytest.mark.parametrize("row", [10, 11, 12, 13, 14])
def test_every_line_of_a_statement_is_it(row: int, tell: Explain) -> None:
    assert tell(CODE, row=row).location.row == 10


@pytest.mark.parametrize("row", [6, 7, 8])
def test_every_line_of_a_header_is_it(row: int, tell: Explain) -> None:
    said = tell(CODE, row=row)
    assert (said.location.row, said.function) == (6, "f")
