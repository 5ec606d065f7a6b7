"""What IPython would rewrite in a cell is hidden, and all else stays as it is."""

from __future__ import annotations

import ast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from xlalint.source.magics import mask_magics


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param("x = 1\n", id="plain"),
        pytest.param("", id="empty"),
        pytest.param("# %time\n# !ls\n", id="comments"),
        pytest.param("x = 5 % y\nx %= 2\n", id="modulo"),
        pytest.param("f(a,\n  %b)", id="modulo-in-brackets"),
        pytest.param("s = '''\n%foo\n!bar\n?baz\n'''", id="text"),
        pytest.param("s = 'a?'", id="question-in-text"),
        pytest.param("x = a \\\n  % b", id="continued-modulo"),
        pytest.param("x != y", id="unequal"),
        pytest.param("x: int = 1; f(a=2)", id="equals-signs"),
        pytest.param("await f()\nasync with a as b:\n    pass", id="await"),
        pytest.param("x = 1  # really?", id="question-in-comment"),
        pytest.param("ls", id="name-of-a-command"),
        pytest.param("time = 3", id="assigned-name-of-a-magic"),
        pytest.param("x = 1\npip = 2", id="more-than-a-line"),
    ],
)
def test_left_alone(cell: str) -> None:
    assert mask_magics(cell) == (cell, (), False, False)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        pytest.param("%matplotlib inline\nx = 1", "__________________\nx = 1", id="line-magic"),
        pytest.param("!pip install 'x\ny", "_______________\ny", id="shell-with-quote"),
        pytest.param("!a \\\n  b\nx", "____\n   \nx", id="continued-shell"),
        pytest.param("if x:\n    !ls\n", "if x:\n    ___\n", id="in-a-block"),
        pytest.param("!!ls", "____", id="two-bangs"),
        pytest.param("?f", "__", id="help-before"),
        pytest.param("f.g?\nx", "____\nx", id="help-behind"),
        pytest.param("f??", "___", id="source-behind"),
        pytest.param("x = f?", "______", id="help-of-an-assignment"),
        pytest.param("%time?", "______", id="help-of-a-magic"),
        pytest.param(",f a b", "______", id="quoted-call"),
        pytest.param("/f a", "____", id="called"),
        pytest.param("a = !ls", "a = ___", id="assigned-shell"),
        pytest.param("a, b = !ls 'x", "a, b = ______", id="unpacked-shell"),
        pytest.param("d['k'] = !ls\ny", "d['k'] = ___\ny", id="item-shell"),
        pytest.param("a = %who", "a = ____", id="assigned-magic"),
        pytest.param("a = %time f(x)", "a =       f(x)", id="assigned-time"),
        pytest.param("%time x = f()", "0    ;x = f()", id="time"),
        pytest.param("%timeit -n 10 -q f()", "0               ;f()", id="timeit-with-options"),
        pytest.param("%time for i in x: f(i)", "______________________", id="time-of-a-loop"),
        pytest.param("%time 1 +", "_________", id="time-of-nothing"),
        pytest.param("%%time\nx = 1", "      \nx = 1", id="cell-time"),
        pytest.param("%%capture out\n%%time\n!ls\nx", "             \n      \n___\nx", id="nested-cell-magics"),
        pytest.param("\n# title\n%%time\nx", "\n# title\n      \nx", id="cell-magic-below-a-comment"),
        pytest.param("x = 1\n%%bash\ny = 2", "x = 1\n______\ny = 2", id="cell-magic-below-code"),
        pytest.param("pip install x", "_____________", id="automagic"),
        pytest.param("%cd\r\nx", "___\r\nx", id="carriage-return"),
        pytest.param("!é😀", "___", id="wide-characters"),
    ],
)
def test_hidden(cell: str, text: str) -> None:
    found = mask_magics(cell)
    assert found is not None
    assert found.text == text
    for start, end in found.hidden:
        assert text[start:end] != cell[start:end]


@pytest.mark.parametrize(
    "cell",
    [
        "%%bash\nls",
        "%%html\n<a>",
        "%%writefile a.py\nx = 1",
        "%%javascript\n1",
        "%%cython\ncdef int x",
        "%%unheard_of\n",
    ],
)
def test_no_python(cell: str) -> None:
    assert mask_magics(cell) is None


@pytest.mark.parametrize(
    ("cell", "text", "prompted"),
    [
        pytest.param("  x = 1\n  y = 2", "  x = 1\n  y = 2", False, id="indented"),
        pytest.param(">>> x = 1\n>>> if x:\n...     y", "    x = 1\n    if x:\n        y", True, id="classic"),
        pytest.param("In [3]: x = 1\n   ...: y = 2", "        x = 1\n        y = 2", True, id="ipython"),
    ],
)
def test_indented_as_a_whole(cell: str, text: str, prompted: bool) -> None:
    found = mask_magics(cell)
    assert found is not None
    assert (found.text, found.indented, found.prompted) == (text, True, prompted)


PIECES = [
    "%time ",
    "!ls",
    "?",
    "x = ",
    "f(",
    ")",
    "'",
    '"""',
    "\\\n",
    "\n",
    "\r\n",
    "%%time\n",
    "    ",
    ">>> ",
    "# a",
    "é",
    "%",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=40))
@example("%%time\n%%time")
@example("'''\n!")
def test_every_place_stays_where_it_is(cell: str) -> None:
    found = mask_magics(cell)
    if found is None:
        return
    assert len(found.text) == len(cell)
    assert [c for c in found.text if c in "\r\n"] == [c for c in cell if c in "\r\n"]
    hidden = {at for start, end in found.hidden for at in range(start, end)}
    assert all(found.text[at] == cell[at] for at in range(len(cell)) if at not in hidden)


def test_what_is_hidden_binds_nothing() -> None:
    found = mask_magics("%time x = f()\na = !ls\n!b\nc?")
    assert found is not None
    names = {node.id for node in ast.walk(ast.parse(found.text)) if isinstance(node, ast.Name)}
    assert {name for name in names if name.strip("_")} == {"x", "f", "a"}


MAGICS = {
    "%env PJRT_DEVICE=TPU": "_env.PJRT_DEVICE=TPU",
    "%env XLA_USE_BF16=1": "_env.XLA_USE_BF16=1",
    "%env XLA_USE_BF16 1": "_env.XLA_USE_BF16=1",
    "%set_env TPU_NAME=local": "_set_env.TPU_NAME=local",
    "%env XRT_TPU_CONFIG=localservice;0;localhost:51011": "_env.XRT_TPU_CONFIG=" + "_" * 30,
    "%env  A = b ": "_env_.A=  b ",
    "%env A=01": "_env.A=__",
    "%env A=if": "_env.A=__",
    "%env": "____",
    "%env PATH": "_________",
    "%environ A=1": "____________",
}


@pytest.mark.parametrize(("cell", "python"), MAGICS.items(), ids=MAGICS)
def test_variables_that_notebooks_set(cell: str, python: str) -> None:
    mask = mask_magics(cell)
    assert mask is not None
    assert mask.text == python
    assert mask.hidden == ((0, len(cell)),)
