"""Notebooks as modules, and modules as the notebooks that they were, byte for byte."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlalint.source.model import SourceError
from xlalint.source.notebook_json import place_of, read_document
from xlalint.source.notebooks import read_notebook, rewrite
from xlalint.source.reading import content_of, from_bytes, from_text, module_name, text_of


def code(source: str | list[str], **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source, **more}


def text(*cells: dict[str, Any] | str | list[str], form: int = 4, indent: int | None = 1, **metadata: Any) -> str:
    made = [cell if isinstance(cell, dict) else code(cell) for cell in cells]
    whole: dict[str, Any] = {"cells": made, "metadata": metadata, "nbformat": form, "nbformat_minor": 5}
    if form == 3:
        old = [{"input" if key == "source" else key: value for key, value in cell.items()} for cell in made]
        whole = {"metadata": metadata, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": old}]}
    return json.dumps(whole, indent=indent)


def module(*cells: dict[str, Any] | str | list[str], **how: Any) -> str:
    return read_notebook(text(*cells, **how)).text


# ---------------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("form", [3, 4])
def test_the_code_cells_make_a_module(form: int) -> None:
    markdown = {"cell_type": "markdown", "metadata": {}, "source": "x ="}
    found = read_notebook(text(markdown, "a = 1", ["b = 2\n", "c = 3\n"], "", form=form))
    assert found.text == "a = 1\n\nb = 2\nc = 3\n\n\n"
    assert [found.place(row) for row in range(1, 7)] == [(2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 1)]
    assert [found.row(2, 1), found.row(3, 2), found.row(1, 1), found.row(3, 9)] == [1, 4, None, None]


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param({"cell_type": "raw", "metadata": {}, "source": "x"}, id="raw"),
        pytest.param("%%bash\nls", id="bash"),
        pytest.param("%sql\nselect 1", id="hosted-language"),
        pytest.param(code("x = y", metadata={"vscode": {"languageId": "r"}}), id="language-of-the-cell"),
        pytest.param(code("x = y", language="julia"), id="language-in-format-3"),
    ],
)
def test_what_is_no_python_is_left_out(cell: Any) -> None:
    found = read_notebook(text("a = 1", cell))
    assert found.text.strip() == "a = 1"
    assert not found.problems


@pytest.mark.parametrize(
    ("metadata", "python"),
    [
        ({}, True),
        ({"kernelspec": {"name": "python3", "language": "python"}}, True),
        ({"kernelspec": {"name": "my-gpu-env"}}, True),
        ({"language_info": {"name": "pyspark"}, "kernelspec": {"language": "", "name": "pysparkkernel"}}, True),
        ({"kernelspec": {"name": "ir", "language": "R"}}, False),
        ({"kernelspec": {"name": "ir"}}, False),
        ({"kernelspec": {"name": "julia-1.9"}}, False),
        ({"language_info": {"name": "scala"}}, False),
        ({"language_info": {"name": "python"}, "kernelspec": {"language": "sage"}}, False),
        ({"kernelspec": "strange", "language_info": None}, True),
    ],
)
def test_only_kernels_of_python_are_read(metadata: dict[str, Any], python: bool) -> None:
    assert bool(module("x <- 1", **metadata)) is python


@pytest.mark.parametrize(
    ("raw", "message", "row"),
    [
        pytest.param(b"", "the file is empty", 1, id="empty"),
        pytest.param(b"{\n 1", "invalid JSON", 2, id="json"),
        pytest.param(b'{"cells": [', "invalid JSON", 1, id="cut-off"),
        pytest.param(b'{"cells": []} x', "invalid JSON", 1, id="extra"),
        pytest.param(b"[]", "not a JSON object", 1, id="list"),
        pytest.param(b"x = 1", "invalid JSON", 1, id="python"),
        pytest.param(b"{}", "has no `nbformat`", 1, id="no-format"),
        pytest.param(b'{"cells": [],\n"nbformat": 5}', "of format 5", 2, id="future"),
        pytest.param(b'{"worksheets": [],\n"nbformat": 2}', "of format 2", 2, id="ancient"),
        pytest.param(b'{"nbformat": 4}', "has no `cells`", 1, id="no-cells"),
        pytest.param(b'{"cells": {}, "nbformat": 4}', "expected `[`", 1, id="cells-object"),
        pytest.param(b'{"cells": [3], "nbformat": 4}', "expected `{`", 1, id="cell-number"),
        pytest.param(b'{"cells": [\n{}], "nbformat": 4}', "cell 1 has no `cell_type`", 2, id="no-type"),
        pytest.param(b'{"cells": [{"cell_type": "code"}], "nbformat": 4}', "cell 1 has no `source`", 1, id="no-source"),
        pytest.param(
            b'{"cells": [{"cell_type": "code",\n"source": 3}], "nbformat": 4}', "neither a string nor", 2, id="source"
        ),
        pytest.param(b"{\n<<<<<<< HEAD\n}", "merge conflict", 2, id="conflict"),
        pytest.param(b"version https://git-lfs.github.com/spec/v1\n", "Git LFS", 1, id="lfs"),
        pytest.param(b'{"cells": ' + b"[" * 100_000, "nested too deeply", 1, id="deep"),
        pytest.param(text("\0").encode(), "null byte", None, id="null"),
    ],
)
def test_no_notebook(raw: bytes, message: str, row: int | None) -> None:
    with pytest.raises(SourceError, match=message.replace("[", r"\[").replace("{", r"\{")) as caught:
        from_bytes("/a/b.ipynb", raw)
    assert caught.value.code == "XLA001"
    assert row is None or caught.value.row == row


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        pytest.param(text("x").encode("utf-16"), "UTF-16", id="utf-16"),
        pytest.param(b'{"\xff": 1}', "byte 0xff is not UTF-8", id="latin"),
        pytest.param(text("'\ud83d'").encode(), "lone surrogate", id="surrogate"),
    ],
)
def test_unreadable(raw: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        from_bytes("/a/b.ipynb", raw)
    assert caught.value.code == "XLA002"


@pytest.mark.parametrize(
    ("cells", "broken"),
    [
        pytest.param(["a = 1", "b = (", "c = 3"], [(2, 1)], id="bracket"),
        pytest.param(["if a:", "b = 1"], [(1, 1)], id="block-without-body"),
        pytest.param(["f(", ")"], [(1, 1), (2, 1)], id="call-over-two-cells"),
        pytest.param(["@dec", "def f(): pass"], [(1, 1)], id="decorator"),
        pytest.param(["if a:\n    b", "else:\n    c"], [(2, 1)], id="else"),
        pytest.param(["'''", "x", "'''"], [(1, 1), (3, 1)], id="string"),
        pytest.param(["print 'a'", "x = 1", "print 'b'"], [(1, 1), (3, 1)], id="python-2"),
    ],
)
def test_a_broken_cell_is_left_out_by_itself(cells: list[str], broken: list[tuple[int, int]]) -> None:
    found = read_notebook(text(*cells))
    assert [found.place(problem.row) for problem in found.problems] == broken
    assert {problem.code for problem in found.problems} == {"XLA001"}
    whole = [cell for number, cell in enumerate(cells, 1) if number not in dict(broken)]
    assert found.text.split() == " ".join(whole).split()


def test_an_indented_cell_stands() -> None:
    found = read_notebook(text("a = 1", "  b = 2\n  c = 3"))
    assert found.text == "a = 1\n\nif True:\n  b = 2\n  c = 3\n\n"
    assert found.place(4) == (2, 1)


def test_its_module_is_no_name_that_code_imports() -> None:
    assert module_name("/nowhere/model.ipynb") == ("model.ipynb", False)
    assert module_name("/nowhere/1. a.b.ipynb") == ("1_ a_b.ipynb", False)


def test_text_stands_for_a_notebook() -> None:
    assert from_text("/a/b.ipynb", "\ufeff" + text("x = 1")).text == "x = 1\n\n"


# ---------------------------------------------------------------------------------------------------------- writing


def edited(whole: str, old: str, new: str) -> str:
    """The notebook with the only `old` of its module replaced."""
    made = read_notebook(whole).text
    assert made.count(old) == 1
    start = made.index(old)
    return rewrite(whole, [(start, start + len(old), new)])


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        pytest.param(["a = 1\n", "b = 2"], "2", "3", ["a = 1\n", "b = 3"], id="character"),
        pytest.param(["a = 1\n", "b = 2"], "a = 1\n", "", ["b = 2"], id="first-line-away"),
        pytest.param(["a = 1\n", "b = 2"], "b = 2\n", "", ["a = 1"], id="last-line-away"),
        pytest.param(["a = 1\n", "b = 2\n"], "b = 2\n", "", ["a = 1\n"], id="last-ended-line-away"),
        pytest.param(["a = 1"], "a = 1\n", "", [], id="all-away"),
        pytest.param(["a = 1\n", "b = 2"], "b", "x\nb", ["a = 1\n", "x\n", "b = 2"], id="line-before"),
        pytest.param(["a = 1\n", "b = 2"], "2\n", "2\nc = 3\n", ["a = 1\n", "b = 2\n", "c = 3"], id="line-behind"),
        pytest.param(["a = 1"], "1\n", "1\nb = 2\n", ["a = 1\n", "b = 2"], id="line-behind-the-only"),
        pytest.param(["a = 1\n", "b\n"], "b\n", "b\nc\n", ["a = 1\n", "b\n", "c\n"], id="line-behind-an-end"),
        pytest.param(["f(\n", "  a,\n", ")"], "(\n  a,\n)", "(a)", ["f(a)"], id="lines-joined"),
        pytest.param("a = 1\nb = 2", "1\n", "1\nx = 3\n", "a = 1\nx = 3\nb = 2", id="one-string"),
        pytest.param(["a = 1\nb = 2\n", "c", " = 3"], "2", "4", ["a = 1\nb = 4\n", "c", " = 3"], id="odd-pieces"),
        pytest.param(["a = 1\nb\n", "", "c"], "c", "d", ["a = 1\nb\n", "", "d"], id="empty-piece"),
        pytest.param(["a = 1\r\n", "b = 2"], "a", "x\na", ["x\r\n", "a = 1\r\n", "b = 2"], id="carriage-returns"),
        pytest.param(["!ls\n", "a = 1"], "a", "b", ["!ls\n", "b = 1"], id="below-a-magic"),
    ],
)
@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("form", [3, 4])
def test_only_the_source_changes(before: Any, old: str, new: str, after: Any, indent: int | None, form: int) -> None:
    around = code("z = 0"), {"cell_type": "markdown", "metadata": {"é": [1, {}]}, "source": []}
    whole = text(*around, before, *around, form=form, indent=indent)
    changed = edited(whole, old, new)
    assert changed == text(*around, after, *around, form=form, indent=indent)


def test_what_is_put_between_cells_is_the_one_in_whose_rows_it_is() -> None:
    whole = text("a = 1", "b = 2")
    at = read_notebook(whole).text.index("b")
    assert rewrite(whole, [(at - 1, at - 1, "x = 1\n")]) == text(["a = 1\n", "x = 1"], "b = 2").replace(
        json.dumps(["a = 1\n", "x = 1"]), json.dumps("a = 1\nx = 1")
    ).replace('[\n    "a = 1\\n",\n    "x = 1"\n   ]', '"a = 1\\nx = 1"')
    assert rewrite(whole, [(at, at, "x = 1\n")]) == text("a = 1", "x = 1\nb = 2")


@pytest.mark.parametrize(
    ("escape", "literal", "new"),
    [
        pytest.param("\\u00e9", "", "\\u00fc", id="escaped"),
        pytest.param("é", "", "ü", id="as-they-are"),
        pytest.param("\\u00e9", "é", "ü", id="both"),
        pytest.param("e", "", "ü", id="none"),
        pytest.param("\\ud83d\\ude00", "", "\\u00fc", id="pair"),
        pytest.param("\\/\\u0041\\t", "", "ü", id="needless"),
    ],
)
def test_characters_are_escaped_as_they_were(escape: str, literal: str, new: str) -> None:
    raw = '{"nbformat": 4, "metadata": {"x": "%s"}, "cells": [{"source": "a = 1 # %s", "cell_type": "code"}]}'
    assert edited(raw % (literal, escape), "1", "'ü'") == raw.replace("1", f"'{new}'") % (literal, escape)


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        pytest.param("if x:\n    !ls\n    y = 1", "if x:\n    ___\n    y = 1", "y = 1", id="around-a-shell-command"),
        pytest.param("x = %who", "____", "1", id="a-magic"),
        pytest.param(">>> x = 1\n>>> y = 2", "x", "z", id="below-prompts"),
    ],
)
def test_what_is_hidden_is_never_changed(cell: str, old: str, new: str) -> None:
    with pytest.raises(SourceError, match=r"magic|prompts"):
        edited(text(cell), old, new)


def test_what_an_edit_leaves_as_it_is_counts_for_nothing() -> None:
    assert edited(text("if x:\n    !ls\n    y = 1"), "if x:\n    ___\n    y = 1", "if x:\n    ___\n    y = 2") == text(
        "if x:\n    !ls\n    y = 2"
    )


BLANK = st.text(" \t\r\n", max_size=2)
STRING = st.text(st.characters(codec="utf-8"), max_size=6)
SOURCE = st.lists(
    st.sampled_from(["x = 1", "!ls", "%time f(x)", "é = '😀'", "", "if x:", "    y", "%%time"]), max_size=4
)
OTHER = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | STRING,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRING, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def notebooks(draw: st.DrawFn) -> str:
    """JSON of notebooks in any layout: order of keys, blanks, escapes, sources as strings or lists, other members."""
    ascii_only = draw(st.booleans())

    def spelt(value: object) -> str:
        gap = draw(BLANK)
        match value:
            case dict():
                inside = f"{gap},{gap}".join(f"{spelt(key)}{gap}:{gap}{spelt(each)}" for key, each in value.items())
                return f"{{{gap}{inside}{gap}}}"
            case list():
                return f"[{gap}{f'{gap},{gap}'.join(map(spelt, value))}{gap}]"
            case _:
                return json.dumps(value, ensure_ascii=ascii_only)

    cells = []
    for _ in range(draw(st.integers(0, 4))):
        lines = draw(SOURCE)
        source: object = draw(st.sampled_from(["\n", "\r\n"])).join(lines)
        if draw(st.booleans()):
            source = str(source).splitlines(keepends=True)
        cell = {
            "cell_type": draw(st.sampled_from(["code", "code", "markdown"])),
            "source": source,
            "outputs": draw(OTHER),
        }
        cells.append({key: cell[key] for key in draw(st.permutations(list(cell)))})
    whole = {"nbformat": 4, "cells": cells, "metadata": {"kernelspec": draw(OTHER)}, "more": draw(OTHER)}
    order = draw(st.permutations(list(whole)))
    return draw(BLANK) + spelt({key: whole[key] for key in order}) + draw(BLANK)


@settings(max_examples=200, deadline=None)
@given(notebooks(), st.booleans())
def test_without_an_edit_no_byte_changes(whole: str, mark: bool) -> None:
    raw = (b"\xef\xbb\xbf" if mark else b"") + whole.encode()
    made = text_of("/a/b.ipynb", raw)
    assert content_of("/a/b.ipynb", raw, made, []) == raw
    assert content_of("/a/b.ipynb", raw, made, [(0, len(made), made)]) == raw


@settings(max_examples=200, deadline=None)
@given(notebooks(), st.data())
def test_with_an_edit_only_its_line_changes(whole: str, data: st.DataObject) -> None:
    found = read_notebook(whole)
    places = [at for at in range(len(found.text)) if found.text.startswith("x = 1", at)]
    if not places:
        return
    at = data.draw(st.sampled_from(places)) + 4
    changed = rewrite(whole, [(at, at + 1, "'ü'\nz")])
    after = read_notebook(changed)
    assert after.text == f"{found.text[:at]}'ü'\nz{found.text[at + 1 :]}".replace("\r", "") or "\r" in found.text
    first = next(n for n, (a, b) in enumerate(zip(whole, changed, strict=False)) if a != b)
    kept = len(whole) - first - 1
    assert changed[:first] == whole[:first]
    assert changed[len(changed) - kept :] == whole[first + 1 :]
    old, new = json.loads(whole), json.loads(changed)
    for before, cell in zip(old["cells"], new["cells"], strict=True):
        assert type(before.pop("source")) is type(cell.pop("source"))
    assert repr(old) == repr(new)


@settings(max_examples=200, deadline=None)
@given(notebooks())
def test_places_in_the_json_are_those_of_the_same_characters(whole: str) -> None:
    """Also where it spells them by escapes; what stands behind a source's end is its closing quote, or an empty list."""
    document = read_document(whole)
    offsets = [0, *(at + 1 for at, character in enumerate(whole) if character == "\n")]
    for cell in (cell for cell in document.cells if cell.kind == "code"):
        for row, line in enumerate(re.split(r"\r\n|\n|\r", cell.source), 1):
            for column, character in enumerate(line, 1):
                at = place_of(whole, cell, row, column)
                found = whole[offsets[at[0] - 1] + at[1] - 1 :]
                assert found.startswith((character, json.dumps(character)[1:-1]))
        end = place_of(whole, cell, 1_000, 1)
        assert whole[offsets[end[0] - 1] + end[1] - 1] in '"[]'
