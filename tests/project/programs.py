"""Random programs: any Python that the grammar below can spell, about tensors or not, sensible or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["x", "y", "mask", "self", "torch", "F", "np", "tf", "jnp", "i", "out"])
ATTRIBUTES = st.sampled_from(
    [
        "shape",
        "sum",
        "item",
        "any",
        "size",
        "weight",
        "T",
        "nonzero",
        "dim",
        "training",
        "nn",
        "max",
        "forward",
        "append",
    ]
)
OPERATORS = st.sampled_from(
    ["+", "-", "*", "/", "//", "%", "**", "@", "<", "==", "in", "is", "is not", "and", "or", "&"]
)
LITERALS = st.sampled_from(
    ["(0)", "(-1)", "(2.5)", "None", "True", "'s'", "b''", "...", "()", "[]", "{}", "(1j)", "f'{x}'"]
)


def _join(*parts: Any) -> Any:
    return st.tuples(*(part if isinstance(part, st.SearchStrategy) else st.just(part) for part in parts)).map("".join)


def _listed(items: Any, most: int = 3) -> Any:
    return st.lists(items, max_size=most).map(", ".join)


def _compound(inner: Any) -> Any:
    return st.one_of(
        _join("(", inner, " ", OPERATORS, " ", inner, ")"),
        _join(inner, ".", ATTRIBUTES),
        _join(inner, ".", ATTRIBUTES, "(", _listed(inner), ")"),
        _join(NAMES, "(", inner, ", *", inner, ", **", inner, ")"),
        _join(NAMES, "(", inner, ", dim=", inner, ")"),
        _join(inner, "[", inner, "]"),
        _join(inner, "[", inner, ":", inner, ", None, ...]"),
        _join("(not ", inner, ")"),
        _join("(-", inner, ")"),
        _join("(", inner, " if ", inner, " else ", inner, ")"),
        _join("(", NAMES, " := ", inner, ")"),
        _join("(lambda x, *y, **z: ", inner, ")"),
        _join("[", inner, " for ", NAMES, " in ", inner, " if ", inner, "]"),
        _join("{", inner, ": ", inner, " for ", NAMES, ", i in ", inner, "}"),
        _join("(", inner, " < ", inner, " <= ", inner, ")"),
        _join("(yield ", inner, ")"),
        _join("{'a': ", inner, ", **", inner, "}"),
        _join("[*", inner, ", ", inner, "]"),
    )


_SIMPLE = st.one_of(NAMES, LITERALS)
EXPRESSIONS = st.recursive(_SIMPLE, _compound, max_leaves=6).map(lambda text: text.replace("'", '"'))
TARGETS = st.one_of(
    NAMES,
    _join(NAMES, ".", ATTRIBUTES),
    _join(NAMES, "[", _SIMPLE, "]"),
    _join(NAMES, ", *", NAMES),
    _join("[", NAMES, "]"),
)
LINES = st.one_of(
    _join(TARGETS, " = ", EXPRESSIONS),
    _join(NAMES, " += ", EXPRESSIONS),
    _join("y: torch.Tensor = ", EXPRESSIONS),
    EXPRESSIONS,
    _join("return ", EXPRESSIONS),
    _join("assert ", EXPRESSIONS, ", ", EXPRESSIONS),
    _join("raise ", EXPRESSIONS),
    _join("del ", NAMES),
    st.sampled_from(["pass", "import torch as np", "from torch import nn as x", "global y"]),
)
HEADS = st.one_of(
    _join("if ", EXPRESSIONS),
    _join("while ", EXPRESSIONS),
    _join("for ", NAMES, " in ", EXPRESSIONS),
    _join("with ", EXPRESSIONS, " as ", NAMES),
    _join("for ", NAMES, ", *", NAMES, " in ", EXPRESSIONS),
    st.sampled_from(["def inner(x, *y, z=1)", "class Inner", "async def later(x)", "if True"]),
)


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _nested(inner: Any) -> Any:
    blocks = st.lists(inner, min_size=1, max_size=3).map(lambda parts: [line for part in parts for line in part])
    return st.one_of(
        st.tuples(HEADS, blocks).map(lambda two: [two[0] + ":", *_indented(two[1])]),
        st.tuples(HEADS, blocks, blocks).map(
            lambda three: (
                [three[0] + ":", *_indented(three[1])]
                + (["else:", *_indented(three[2])] if three[0].startswith(("if", "while", "for")) else three[2])
            )
        ),
        st.tuples(blocks, blocks).map(
            lambda two: ["try:", *_indented(two[0]), "except x as y:", *_indented(two[1]), "finally:", "    pass"]
        ),
        st.tuples(EXPRESSIONS, blocks).map(
            lambda two: [f"match {two[0]}:", "    case 1 | None if x:", *_indented(_indented(two[1]))]
        ),
    )


BLOCKS: st.SearchStrategy[list[str]] = st.recursive(LINES.map(lambda line: [line]), _nested, max_leaves=8)


@st.composite
def functions(draw: Callable[..., Any], name: str) -> str:
    """A function of that name."""
    body = draw(st.lists(BLOCKS, min_size=1, max_size=5))
    head = draw(
        st.sampled_from(["x", "x: torch.Tensor, mask=None", "self, x, *y, i=0, **out", "x, /, y: 'tf.Tensor', *, mask"])
    )
    return f"def {name}({head}):\n" + "".join(f"    {line}\n" for block in body for line in block)


@st.composite
def modules(draw: Callable[..., Any]) -> str:
    """A module that holds a torch module with a random `forward`, and random code around it."""
    before = draw(st.lists(BLOCKS, max_size=2))
    method = draw(functions("forward")).replace("(x", "(self, x", 1).replace("(self, self", "(self", 1)
    text = "import torch, numpy as np\nimport torch.nn.functional as F\n"
    text += "".join(f"{line}\n" for block in before for line in block)
    text += "class Model(torch.nn.Module):\n" + "".join(f"    {line}\n" for line in method.splitlines())
    return text + draw(functions("helper"))
