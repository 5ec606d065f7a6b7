"""`# xlalint: inputs(...)`: what it stands above, and what is wrong with one that cannot be read."""

from __future__ import annotations

import ast
import textwrap

import pytest

from xlalint.verify.inputs import SpecError, parse_inputs
from xlalint.verify.inputs.marks import Mark, MarkError, callables, definition, marks, read_marks

TEXT = '''
import jax

# xlalint: inputs(x="f32[8]")
def first(x):
    text = """
# xlalint: inputs(x="f32[9]")
def none(x): ...
"""
    return x


# What it does.
#   xlalint:inputs( x = "f32[2,3]",  n=4 )
# And why.
@jax.jit
# inside
@other(
    1,
)
async def second(x, n):
    return x


class Model:
    """Its mark is on the method."""

    # xlalint: inputs(x="f32[4]", mode="a)b",
    #                 y={"k": (1, 2)})
    def forward(self, x, mode, y):
        return x

# xlalint: inputs(x="f32[5]")  # with a word
class Other(Model):
    pass


if True:
    # xlalint: inputs()
    def third(): pass
'''


def test_marks_are_found_with_what_they_stand_above() -> None:
    found = marks(TEXT, "model.py")
    assert [(mark.name, mark.line) for mark in found] == [
        ("first", 4),
        ("second", 14),
        ("Model.forward", 28),
        ("Other", 33),
        ("third", 39),
    ]
    wanted = ['x="f32[8]"', 'x="f32[2,3]", n=4', 'x="f32[4]", mode="a)b", y={"k": (1, 2)}', 'x="f32[5]"', ""]
    assert [mark.specs for mark in found] == [parse_inputs(text) for text in wanted]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("# xlalint: input(x=1)\ndef f(x): ...", 1, "unknown mark `input"),
        ("# xlalint: inputs(x=1)\nx = 1", 1, "stands above no function"),
        ("def f(x): ...\n# xlalint: inputs(x=1)", 2, "stands above no function"),
        ("def f(x): ...  # xlalint: inputs(x=1)", 1, "belongs on a line of its own"),
        ("# xlalint: inputs(x=1\ndef f(x): ...", 1, "the parenthesis is never closed"),
        ("\n# xlalint: inputs(x=1) and more\ndef f(x): ...", 2, "`and more` after the closing parenthesis"),
        ("# xlalint: inputs(x='f31[8]')\ndef f(x): ...", 1, "unknown dtype `f31`; write `f32`"),
        ("def g():\n    # xlalint: inputs(x=1)\n    def f(x): ...", 2, "`g.f` is inside a function"),
        ("# xlalint: inputs(x=1)\ndef f(x:", 2, "not Python"),
    ],
)
def test_what_cannot_be_read_names_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        marks(text, "model.py")
    assert str(caught.value).startswith(f"model.py:{line}: ")


def test_what_can_be_read_is_kept_beside_what_cannot() -> None:
    text = "# xlalint: inputs(x='f32[8]')\ndef f(x): ...\n# xlalint: inputs(x=thing)\ndef g(x): ...\n# xlalint: input(x=1)\nx = 1\n"
    first, second, third = read_marks(text, "model.py")
    assert isinstance(first, Mark) and first.name == "f"
    assert isinstance(second, MarkError) and second.name == "g" and str(second).startswith("model.py:3: input `x`")
    assert isinstance(third, MarkError) and third.name == ""


@pytest.mark.parametrize("text", ["", "def f(:", "# xlalint: ignore[XLA101]\nx = 1", "# xlalint: noqa (all)\nx"])
def test_other_files_have_none(text: str) -> None:
    assert marks(text, "model.py") == []


def test_what_can_be_called_is_known_by_its_qualified_name() -> None:
    tree = ast.parse(textwrap.dedent(TEXT))
    assert set(callables(tree)) == {"first", "second", "third", "Model", "Model.forward", "Other"}
    found = definition(tree, "Model.forward")
    assert found is not None
    assert found.lineno == 30
    assert definition(tree, "Model.backward") is None
