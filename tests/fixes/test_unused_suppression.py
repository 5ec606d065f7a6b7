"""XLA003 through the engine: what becomes of comments, and of everything that is not an idle one of ours."""

from __future__ import annotations

import ast
import io
import tokenize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlalint.config import Settings
from xlalint.project import check_text
from xlalint.project.fixing import Fixed, fix
from xlalint.source.model import SourceError
from xlalint.source.reading import decode
from xlalint.source.syntax import parse

NAME = "/nowhere/model.py"
USED = """\
import torch


def f(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:  {}
        return x
    return -x
"""


def fixed(raw: bytes) -> Fixed:
    return fix(
        lambda contents, _: check_text(decode(contents.get(NAME, raw)), NAME, Settings()), lambda _: raw, unsafe=False
    )


def after(raw: bytes) -> bytes:
    done = fixed(raw)
    assert done.troubles == []
    return done.files[NAME].after if done.files else raw


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x = 1  # noqa\n", id="bare-noqa"),
        pytest.param("x = 1  # noqa: E501\n", id="codes-of-others"),
        pytest.param("x = 1  # noqa:E501,W605 # pylint: disable=all\n", id="comments-of-others"),
        pytest.param("x = 1  # xlalint: ingore[XLA101]\n", id="misspelt"),
        pytest.param("x = f()  # xlalint: static\n", id="static"),
        pytest.param("# xlalint: tensor\nx = f()\n", id="tensor"),
        pytest.param("x = '# xlalint: ignore'\n", id="string"),
        pytest.param('"""\n# xlalint: ignore-file\n"""\n', id="docstring"),
        pytest.param("x = f'{1}  # noqa: XLA101'\n", id="f-string"),
        pytest.param("# see xlalint, and noqa\nx = 1\n", id="prose"),
        pytest.param("x = 1  # xlalint: ignore[XLA003]\n", id="itself"),
        pytest.param("x = 1  # xlalint: ignore[unused-suppression, XLA101]\n", id="itself-by-name"),
        pytest.param("x = (  # xlalint: ignore\n", id="does-not-parse"),
        pytest.param(USED.format("# noqa: XLA101"), id="used-noqa"),
        pytest.param(USED.format("# xlalint: ignore"), id="used-blanket"),
        pytest.param(USED.format("# xlalint: ignore[tensor-if] said so"), id="used-name"),
        pytest.param(USED.format("# xlalint: ignore[XLA1]"), id="used-prefix"),
        pytest.param("# xlalint: ignore-file[XLA101]\n" + USED.format(""), id="used-file"),
        pytest.param("", id="empty"),
    ],
)
def test_left_alone(text: str) -> None:
    assert after(text.encode()) == text.encode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("x = 1  # noqa: XLA101\n", "x = 1\n", id="comment"),
        pytest.param("x = 1\t# xlalint: ignore", "x = 1", id="no-end-of-line"),
        pytest.param("x = 1  # xlalint: ignore\r\ny = 2\r\n", "x = 1\r\ny = 2\r\n", id="crlf"),
        pytest.param("x = 1\r# xlalint: ignore\ry = 2\r", "x = 1\ry = 2\r", id="cr"),
        pytest.param("a\n\x0c\nx = 1  # xlalint: ignore\n", "a\n\x0c\nx = 1\n", id="form-feed"),
        pytest.param("x = 'é𝔸'  # xlalint: ignore\n", "x = 'é𝔸'\n", id="wide"),
        pytest.param("# xlalint: ignore-file", "", id="nothing-is-left"),
        pytest.param("x = [\n    # xlalint: ignore\n    1,\n]\n", "x = [\n    1,\n]\n", id="line-in-brackets"),
        pytest.param("x = 1  # noqa: E501, XLA101, W605 long\n", "x = 1  # noqa: E501, W605 long\n", id="others-stay"),
        pytest.param(
            "x = 1  # xlalint: ignore # xlalint: ignore # xlalint: ignore\n", "x = 1\n", id="overlapping-in-rounds"
        ),
        pytest.param("\ufeffx = 1  # xlalint: ignore\r\n", "\ufeffx = 1\r\n", id="byte-order-mark"),
        pytest.param(
            USED.format("# xlalint: ignore[XLA101, XLA301]"), USED.format("# xlalint: ignore[XLA101]"), id="used-stays"
        ),
    ],
)
def test_removed(text: str, expected: str) -> None:
    assert after(text.encode()) == expected.encode()
    assert fixed(expected.encode()).findings == []


def test_other_encodings_are_kept() -> None:
    raw = "# coding: latin-1\nx = 'é'  # xlalint: ignore\n".encode("latin-1")
    assert after(raw) == "# coding: latin-1\nx = 'é'\n".encode("latin-1")


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param("# xlalint: ignore coding: latin-1\nx = 'é'\n".encode("latin-1"), id="declared-in-the-comment"),
        pytest.param(b"# a\n# xlalint: ignore\n# coding: utf-16\nx = 1\n", id="a-later-line-becomes-a-declaration"),
        pytest.param(b"# coding: utf-7\nx = '+AOk-'  # xlalint: ignore\ny = '+AOkA6Q-+AOk-'\n", id="more-than-one-way"),
    ],
)
def test_a_fix_that_would_change_how_the_file_decodes_is_dropped(raw: bytes) -> None:
    done = fixed(raw)
    assert done.files == {}
    [trouble] = done.troubles
    assert "the fix of XLA003 was dropped" in trouble
    assert [finding.code for finding in done.report.findings] == ["XLA003"]


def test_why_there_is_no_fix_is_said() -> None:
    [finding] = fixed(b"x = 1  # xlalint: ingore\n").report.findings
    assert finding.fix is None
    assert finding.no_fix == "only its author knows which directive was meant"


PIECES = st.sampled_from(
    [
        "x = 1", "if x:", "    pass", "y = [", "]", "'''", "'", "\\", "\t", "  ", "\n", "\r\n", "\r", "\x0c", "é", "#",
        "# noqa", ": XLA101", ", E501", " XLA9", "# xlalint: ignore", "# xlalint: ignore-file", "[XLA1, tensor-if]", "[",
        "# xlalint: noqa", "# type: ignore", "# xlalint: static", "# xlalint: ingore", " why ", "coding: ascii",
    ]
)  # fmt: skip
LINES = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["x = 1", "x = (1, ", "2)", "", "    ", "if x: y"]),
    st.sampled_from(["", "  ", "\t"]),
    st.lists(
        PIECES.filter(lambda piece: "\n" not in piece and "\r" not in piece and piece not in ("'''", "'", "\\"))
    ).map("".join),
    st.sampled_from(["\n", "\r\n", "\r"]),
)


@settings(deadline=None, max_examples=150)
@given(st.one_of(st.lists(PIECES).map("".join), st.lists(LINES).map("".join)))
def test_any_text_with_comments(text: str) -> None:
    raw = text.encode()
    try:
        tree = ast.dump(parse(decode(raw)))
    except SourceError as error:
        assert error.code == "XLA002" or fixed(raw).files == {}
        return
    done = fixed(raw)
    assert not done.report.failures
    result = done.files[NAME].after if done.files else raw
    assert ast.dump(parse(decode(result))) == tree
    assert _without_comments(decode(result)) == _without_comments(text)
    again = fixed(result)
    assert again.files == {}
    assert len(done.findings) + len(done.report.findings) >= len(again.report.findings)


def _without_comments(text: str) -> list[tuple[int, str]]:
    """The tokens but for comments and the empty lines that they leave."""
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER)
    lines = io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n"))
    return [
        (token.type, token.string) for token in tokenize.generate_tokens(lines.readline) if token.type not in skipped
    ]
