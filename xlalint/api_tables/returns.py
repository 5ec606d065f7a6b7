"""The return language: what a library call gives back, as API tables write it.

    tensor  tensor[DT]  tensor[DT,RANK]   a new tensor; DT is b, i, f, c, n or ?; RANK a number or ?
    static[DT,RANK]                       a tensor whose value is known while tracing (`tf.shape(x)` under tf)
    like  like(p)  like[DT]               as the receiver or first tensor argument, or as argument p; other dtype
    promote  promote[DT]  promote(p, q)   the join of all tensor arguments (broadcast), or of those named
    scalar  scalar[DT]                    0-d, dtype of the first tensor argument unless given
    reduce  reduce[DT](dim, keepdim)      0-d without `dim`; rank less one, or as before with `keepdim`
    host  host[int|float|bool|str]        a host value that does not derive from a tensor's value
    read  read[int|float|bool|str]        a host value that was read from a tensor: it changes with the data
    draw  draw[int|float]                 a host number that is drawn at random: another one at each step
    const[V]                              True, False, None, a number or a quoted string
    shape                                 a tuple of host ints
    self                                  the receiver (in-place methods)
    hostlike                              as the receiver, but on the host (`x.cpu()`): reading it costs nothing more
    devicelike                            as the receiver, but on the device (`x.cuda()`)
    arg(p)  element(p)  result(p)         argument p; an element of p; what calling function p returns
    wraps(p)                              a function that calls p with its own arguments
    tree                                  a tensor, or a structure (dict, tuple, object) that holds nothing but tensors
    leaf(p)  mapped(p, f)                 a leaf of structure p; p with what f returned in place of its leaves
    given                                 what the call is given: one thing, or a tuple of several; what gives batches is no longer known
    arrays(p)                             structure p with NumPy arrays in place of its tensors
    list(R)  tuple(R, S)  tuple(R*)  tuple(values:R, indices:S)  dict(R)  dict(key:R, other:S)
    array  array[DT]                      a numpy array on the host
    dtype  dtype[DT]  device  none  unknown  module  callable  context  object(dotted.Name)

DT `n` is the dtype of the arguments, bools counted as ints (sums). In brackets DT may read `=p` or `=p:DT`: the dtype
that argument p names (or that p has, when p is a tensor), else DT; `=p|q` tries p, then q; `=*` is the dtype of the
receiver or first tensor argument. RANK may read `#p`: the number of sizes that argument p holds (a tuple, or varargs).
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import msgspec

ANY_RANK = -1
_TENSOR_KINDS = frozenset({"tensor", "static", "like", "promote", "scalar", "reduce", "array", "dtype"})
_HOST_KINDS = frozenset({"host", "read", "draw", "const"})
_NAMED_KINDS = frozenset(
    {"like", "promote", "reduce", "arg", "element", "result", "wraps", "object", "leaf", "mapped", "arrays"}
)
_NESTED_KINDS = frozenset({"list", "tuple", "dict"})
_OF_ONE_NAME = frozenset({"arg", "element", "result", "wraps", "object", "leaf", "arrays"})
_BARE_KINDS = frozenset(
    {
        "shape",
        "self",
        "device",
        "none",
        "unknown",
        "hostlike",
        "devicelike",
        "module",
        "callable",
        "context",
        "tree",
        "given",
    }
)
KINDS = _TENSOR_KINDS | _HOST_KINDS | _NAMED_KINDS | _NESTED_KINDS | _BARE_KINDS

_EXAMPLE = {"object": "package.Class", "result": "fn", "wraps": "fn"}

_TOKEN = re.compile(r"\s*([A-Za-z_][\w.]*|[*:(),]|\[[^\]]*\])")
_BRACKET = re.compile(
    r"^(?:=(?P<source>(?:\w+|\*)(?:\|(?:\w+|\*))*)(?::)?)?(?P<dtype>[bifcn?])?(?:,(?:(?P<rank>\d+|\?)|#(?P<sizes>\w+)))?$"
)


class ReturnError(ValueError):
    """A return that does not follow the language above."""


class Return(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """The result of a call; see the module's text for the kinds.

    `dtype` is one of b, i, f, c, or "" where it is not known or follows from the arguments; for `host` and `read` it is
    int, float, bool, str or "". `rank` is -1 where unknown. `items` are the parts of a list, tuple or dict;
    `many` says that a tuple's one item repeats. `names` are argument names, the dotted name of `object`, or the fields
    of a named tuple and the keys of a dict (as many as `items`, or none).
    `dtype_from` and `rank_from` name arguments that decide dtype and rank when they are known. `value` is
    the constant of `const`.
    """

    kind: str
    dtype: str = ""
    rank: int = ANY_RANK
    items: tuple[Return, ...] = ()
    many: bool = False
    names: tuple[str, ...] = ()
    dtype_from: str = ""
    rank_from: str = ""
    value: bool | int | float | str | None = None


class _Bracket(NamedTuple):
    dtype: str = ""
    rank: int = ANY_RANK
    dtype_from: str = ""
    rank_from: str = ""
    value: bool | int | float | str | None = None


@cache
def parse_return(text: str) -> Return:
    """Parse one return; raises ReturnError with the text that does not parse."""
    tokens = _tokens(text)
    result, rest = _parse(tokens, 0, text)
    if rest != len(tokens):
        raise ReturnError(f"unexpected {tokens[rest]!r} in return {text!r}")
    return result


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ReturnError(f"cannot read {text[at:]!r} in return {text!r}")
        tokens.append(match[1])
        at = match.end()
    return tokens


def _parse(tokens: list[str], at: int, text: str) -> tuple[Return, int]:
    kind = tokens[at] if at < len(tokens) else ""
    if kind not in KINDS:
        raise ReturnError(f"unknown kind {kind!r} in return {text!r}")
    at += 1
    bracket = _Bracket()
    if at < len(tokens) and tokens[at].startswith("["):
        bracket = _bracket(kind, tokens[at][1:-1], text)
        at += 1
    items: tuple[Return, ...] = ()
    names: tuple[str, ...] = ()
    many = False
    if at < len(tokens) and tokens[at] == "(":
        if kind in _NESTED_KINDS:
            items, names, many, at = _parse_items(tokens, at + 1, text)
        elif kind in _NAMED_KINDS:
            names, at = _parse_names(tokens, at + 1, text)
        else:
            raise ReturnError(f"{kind} takes nothing in parentheses: {text!r}")
    if kind in _OF_ONE_NAME and len(names) != 1:
        raise ReturnError(
            f"{kind} needs one name in parentheses, as in {kind}({_EXAMPLE.get(kind, 'input')}): {text!r}"
        )
    dtype, rank, dtype_from, rank_from, value = bracket
    return Return(kind, dtype, 0 if kind == "scalar" else rank, items, many, names, dtype_from, rank_from, value), at


def _parse_items(tokens: list[str], at: int, text: str) -> tuple[tuple[Return, ...], tuple[str, ...], bool, int]:
    items: list[Return] = []
    names: list[str] = []
    many = False
    while at < len(tokens) and tokens[at] != ")":
        if at + 1 < len(tokens) and tokens[at + 1] == ":":
            names.append(tokens[at])
            at += 2
        item, at = _parse(tokens, at, text)
        items.append(item)
        if at < len(tokens) and tokens[at] == "*":
            many, at = True, at + 1
        if at < len(tokens) and tokens[at] == ",":
            at += 1
    if names and len(names) != len(items):
        raise ReturnError(f"name all items or none in return {text!r}")
    return tuple(items), tuple(names), many, _close(tokens, at, text)


def _parse_names(tokens: list[str], at: int, text: str) -> tuple[tuple[str, ...], int]:
    names: list[str] = []
    while at < len(tokens) and tokens[at] != ")":
        if tokens[at] != ",":
            names.append(tokens[at])
        at += 1
    return tuple(names), _close(tokens, at, text)


def _close(tokens: list[str], at: int, text: str) -> int:
    if at >= len(tokens):
        raise ReturnError(f"a parenthesis is not closed in return {text!r}")
    return at + 1


def _bracket(kind: str, text: str, whole: str) -> _Bracket:
    if kind == "const":
        return _Bracket(value=_constant(text, whole))
    if kind in _HOST_KINDS:
        if text not in ("int", "float", "bool", "str", "complex", "bytes"):
            raise ReturnError(f"unknown host type {text!r} in return {whole!r}")
        return _Bracket(dtype=text)
    match = _BRACKET.match(text.replace(" ", "")) if kind in _TENSOR_KINDS else None
    if match is None:
        raise ReturnError(f"cannot read [{text}] in return {whole!r}")
    dtype = match["dtype"] or ""
    rank = int(match["rank"]) if match["rank"] and match["rank"] != "?" else ANY_RANK
    return _Bracket("" if dtype == "?" else dtype, rank, match["source"] or "", match["sizes"] or "")


def _constant(text: str, whole: str) -> bool | int | float | str | None:
    words: dict[str, bool | None] = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    try:
        return float(text) if any(c in text for c in ".einf") else int(text)
    except ValueError:
        raise ReturnError(f"cannot read constant {text!r} in return {whole!r}") from None
