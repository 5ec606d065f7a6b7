"""Comments are found where Python's own tokenizer finds them, on any text without a crash."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import xlalint
from xlalint.source.comments import comments

ANY = re.compile("#")
PACKAGE = sorted(Path(xlalint.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("x = '# no'\n", [], id="string"),
        pytest.param('x = """\n# no\n"""\n', [], id="triple-quoted"),
        pytest.param('x = """a " b "" # no"""\n', [], id="quotes-inside-triple-quotes"),
        pytest.param("x = 'a\\' # no'\n", [], id="escaped-quote"),
        pytest.param("x = 'a\\\n# no'\n", [], id="string-over-a-joined-line"),
        pytest.param("x = r'\\' # no'\n", [], id="raw-string"),
        pytest.param("x = f'{a}# no'\n", [], id="f-string"),
        pytest.param("x = b'# no' '# no'\n", [], id="neighbouring-strings"),
        pytest.param("x  # a\n", [("# a", 1, 4, False, 1, 1, 1)], id="trailing"),
        pytest.param("'''\n''' # a\n", [("# a", 2, 5, False, 2, 1, 2)], id="after-a-long-string"),
        pytest.param("f(\n  x, # a\n)\n", [("# a", 2, 6, False, 2, 1, 3)], id="in-brackets"),
        pytest.param("f(\n  # a\n  x)\n", [("# a", 2, 3, True, 3, 1, 3)], id="alone-in-brackets"),
        pytest.param("x = 1 + \\\n  2 # a\n", [("# a", 2, 5, False, 2, 1, 2)], id="joined-lines"),
        pytest.param(
            "# a\n\n# b\nx\n", [("# a", 1, 1, True, 4, 4, 4), ("# b", 3, 1, True, 4, 4, 4)], id="above-a-line"
        ),
        pytest.param("  # a\nf(\n)\n", [("# a", 1, 3, True, 2, 2, 3)], id="above-a-long-line"),
        pytest.param("y\n# a", [("# a", 2, 1, True, 2, 2, 2)], id="at-the-end"),
        pytest.param("x # a\r\ny # b\r\n", [("# a", 1, 3, False, 1, 1, 1), ("# b", 2, 3, False, 2, 2, 2)], id="crlf"),
        pytest.param("x # a\ry # b\r", [("# a", 1, 3, False, 1, 1, 1), ("# b", 2, 3, False, 2, 2, 2)], id="old-mac"),
        pytest.param("é # a\n", [("# a", 1, 3, False, 1, 1, 1)], id="columns-in-code-points"),
        pytest.param("x = ')' # a\ny\n", [("# a", 1, 9, False, 1, 1, 1)], id="bracket-in-a-string"),
        pytest.param(
            ") # a\nx # b\n", [("# a", 1, 3, False, 1, 1, 1), ("# b", 2, 3, False, 2, 2, 2)], id="stray-bracket"
        ),
    ],
)
def test_comments(text: str, found: list[tuple[object, ...]]) -> None:
    assert [tuple(comment)[:-1] for comment in comments(text, ANY)] == found


@pytest.mark.parametrize("path", PACKAGE, ids=[path.name for path in PACKAGE])
def test_as_the_tokenizer_has_them(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    expected = [(t.string, t.start[0], t.start[1] + 1) for t in tokens if t.type == tokenize.COMMENT]
    assert [(c.text, c.row, c.column) for c in comments(text, ANY)] == expected


@given(st.text(st.sampled_from("#'\"\\()[]{}\n\r\f\tx =é:")))
def test_any_text(text: str) -> None:
    for comment in comments(text, ANY):
        rows = re.split(r"\r\n?|\n", text)
        assert rows[comment.row - 1][comment.column - 1 :] == comment.text
        assert comment.first <= comment.last


def test_time_is_linear_in_unclosed_quotes() -> None:
    for opening in ("'''", '"""', "'", '"', "(", "\\\n", '"\\"'):
        assert list(comments(opening * 50_000, ANY)) == []
