"""A baseline knows its findings again after edits elsewhere, and no others."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.baseline.programs import findings, texts
from xlalint.baseline.identity import fingerprints, identities
from xlalint.baseline.recorded import Baseline, BaselineError, read
from xlalint.diagnostics.finding import Location

BEFORE = """
    import torch

    class Model:
        def forward(self, x):
            y = bad(x)
            return y + bad(y)

    def other(x):
        return bad(x)
"""


def _new(before: str, after: str, folder: Path, *, code: str = "XLA301", name: str = "a.py") -> list[str]:
    """The text of the lines whose findings are new in a text, where those of another were recorded."""
    old, new = textwrap.dedent(before), textwrap.dedent(after)
    recorded, path = str(folder / "a.py"), str(folder / name)
    baseline = Baseline(folder / "base.json").update(
        findings(recorded, old, code=code), texts({recorded: old}), lambda _: True
    )
    (folder / name).write_text(new)
    found = findings(path, new, code=code)
    compared = baseline.compare(found, texts({path: new}))
    lines = new.split("\n")
    return [lines[one.location.row - 1].strip() for one, is_new in zip(found, compared.new, strict=True) if is_new]


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(BEFORE, id="the-same"),
        pytest.param("    # above\n" * 30 + BEFORE, id="moved-lines"),
        pytest.param(BEFORE.replace("y = bad(x)", "y = 2 * bad(x) + 1  # now"), id="edits-on-the-line"),
        pytest.param(BEFORE.replace("bad(x)", "bad(\n        x,\n    )"), id="another-layout"),
        pytest.param(BEFORE.replace("return y + bad(y)", "if y:\n                return bad(y)"), id="another-block"),
        pytest.param(BEFORE.replace("forward", "call").replace("Model", "Net"), id="renamed-function"),
        pytest.param(BEFORE.replace("            y = bad(x)\n", ""), id="one-is-mended"),
        pytest.param(
            BEFORE.replace("def other(x)", "async def other(x: Tensor, *, flag=None)"), id="another-signature"
        ),
    ],
)
def test_what_was_recorded_stays_known(after: str, tmp_path: Path) -> None:
    assert _new(BEFORE, after, tmp_path) == []


@pytest.mark.parametrize(
    ("after", "new"),
    [
        pytest.param(BEFORE.replace("bad(y)", "bad(y + 1)"), ["return y + bad(y + 1)"], id="another-text"),
        pytest.param(BEFORE + "    z = bad(x)\n", ["z = bad(x)"], id="top-of-the-module"),
        pytest.param(
            BEFORE.replace("return bad(x)", "bad(x)\n        return bad(x)"), ["return bad(x)"], id="one-more"
        ),
        pytest.param(
            BEFORE.replace("y = bad(x)", "y = x") + "\n    def third(x):\n        bad(x)\n",
            ["bad(x)"],
            id="mended-and-new",
        ),
        pytest.param(
            BEFORE.replace("other", "third") + "    bad(x); bad(x)\n", ["bad(x); bad(x)"] * 2, id="renamed-and-new"
        ),
    ],
)
def test_what_was_not_recorded_is_new(after: str, new: list[str], tmp_path: Path) -> None:
    assert _new(BEFORE, after, tmp_path) == new


def test_a_file_that_moved_is_known_and_a_copy_is_not(tmp_path: Path) -> None:
    assert _new(BEFORE, BEFORE, tmp_path, name="b.py") == []
    (tmp_path / "a.py").write_text(textwrap.dedent(BEFORE))
    assert len(_new(BEFORE, BEFORE, tmp_path, name="b.py")) == 3


def test_files_that_cannot_be_read_are_never_known(tmp_path: Path) -> None:
    assert len(_new(BEFORE, BEFORE, tmp_path, code="XLA001")) == 3


def test_what_is_gone_is_told(tmp_path: Path) -> None:
    path = str(tmp_path / "a.py")
    text = "def f():\n    bad(1)\n    bad(1)\n    bad(2)\n"
    baseline = Baseline(tmp_path / "b.json").update(findings(path, text), texts({path: text}), lambda _: True)
    after = "def f():\n    bad(1)\n"
    gone = baseline.compare(findings(path, after), texts({path: after})).gone
    assert {identity.source: number for identity, number in gone.items()} == {"bad(1)": 1, "bad(2)": 1}


def test_an_update_keeps_what_was_not_checked(tmp_path: Path) -> None:
    here, there, lost = (str(tmp_path / name) for name in ("a.py", "b.py", "lost.py"))
    Path(there).write_text("bad(2)\n")
    files = {here: "bad(1)\n", there: "bad(2)\n", lost: "bad(3)\n"}
    everything = [one for path, text in files.items() for one in findings(path, text)]
    baseline = Baseline(tmp_path / "x.json").update(everything, texts(files), lambda _: True)
    after = baseline.update([], texts(files), lambda path: path == here)
    assert [identity.path for identity in after.known] == ["b.py"]


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = str(tmp_path / "sub" / "é 1.py")
    text = f"def f():\n    bad({'x' * 300})\n    bad('é')\n    bad('é')\n"
    baseline = Baseline(tmp_path / "x.json").update(findings(path, text), texts({path: text}), lambda _: True)
    baseline.file.write_text(baseline.render(), encoding="utf-8")
    assert read(baseline.file).known == baseline.known
    entries = json.loads(baseline.render())["findings"]
    assert [entry.get("count", 1) for entry in entries] == [2, 1]
    assert {entry["path"] for entry in entries} == {"sub/é 1.py"}
    assert max(len(entry["source"]) for entry in entries) < 100
    assert baseline.render().count("\n") == len(entries) + 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(None, "no such baseline; `xlalint baseline update", id="missing"),
        pytest.param("", "not a baseline", id="empty"),
        pytest.param('{"version": 1, "findings": [\n<<<<<<< ours\n', "not a baseline", id="conflict"),
        pytest.param('{"version": 1, "findings": [{"path": 1, "code": ""}]}', "not a baseline", id="foreign"),
        pytest.param('{"version": 2, "findings": []}', "version 2", id="newer"),
    ],
)
def test_a_baseline_that_cannot_be_read(text: str | None, says: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(BaselineError, match=says) as caught:
        read(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        pytest.param("bad(1)", "", id="module"),
        pytest.param("class A:\n    x = bad(1)", "A", id="class"),
        pytest.param("def f(\n    x=bad(1),\n):\n    pass", "f", id="default"),
        pytest.param("def f():\n    pass\nbad(1)", "", id="after"),
        pytest.param("def f():\n    def g():\n        pass\n    bad(1)", "f", id="after-an-inner-one"),
        pytest.param("if x:\n    def f():\n\t    bad(1)", "f", id="in-a-block"),
        pytest.param("def f(): return bad(1)", "f", id="one-line"),
    ],
)
def test_scopes(text: str, scope: str) -> None:
    [identity] = identities(findings("/p/a.py", text), "/p", texts({"/p/a.py": text}))
    assert identity.scope == scope


@pytest.mark.parametrize("known", [{}, {"/p/a.py": ""}], ids=["gone", "shorter"])
def test_places_outside_of_a_text_have_identities(known: dict[str, str]) -> None:
    [identity] = identities(findings("/p/a.py", "\n\nbad(1)"), "/p", texts(known))
    assert (identity.scope, identity.source) == ("", "")


def test_an_empty_place_is_told_by_its_line() -> None:
    [one] = findings("/p/a.py", "x = bad(1)")
    empty = msgspec.structs.replace(one, location=Location(1, 9), end_location=Location(1, 9))
    [identity] = identities([empty], "/p", texts({"/p/a.py": "x = bad(1)"}))
    assert identity.source == "x=bad(1)"


LINES = st.lists(
    st.sampled_from(
        ["    x = 1", "    y = bad(1)", "    bad(2)", "", "    # note", "def f():", "def g():", "class A:"]
    ),
    max_size=12,
)


@given(LINES, LINES)
def test_lines_that_are_put_in_change_nothing_that_was_known(before: list[str], blanks: list[str]) -> None:
    """Comments between the lines of a program move its findings; they stay known, and their fingerprints distinct."""
    old = "\n".join(before)
    new = "\n".join(
        line for pair in zip(before, [*blanks, *["#"] * 12], strict=False) for line in ("# " + pair[1], pair[0])
    )
    baseline = Baseline(Path("/p/x.json")).update(findings("/p/a.py", old), texts({"/p/a.py": old}), lambda _: True)
    moved = findings("/p/a.py", new)
    moved = [one for one in moved if not new.split("\n")[one.location.row - 1].startswith("#")]
    compared = baseline.compare(moved, texts({"/p/a.py": new}))
    assert not any(compared.new)
    assert not compared.gone
    marks = fingerprints(moved, "/p", texts({"/p/a.py": new}))
    assert len(set(marks)) == len(marks)
    assert marks == fingerprints(findings("/p/a.py", old), "/p", texts({"/p/a.py": old}))
