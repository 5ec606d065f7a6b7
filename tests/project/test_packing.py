"""What goes to other processes and into the cache comes back as it was, whatever files are called."""

from __future__ import annotations

import msgspec
import pytest

from xlalint.project.packing import Decoder, encode


class Leaf(msgspec.Struct, frozen=True, array_like=True, tag=1):
    path: str
    raw: bytes = b""
    counts: dict[str, int] = {}
    rows: tuple[int, ...] = ()


class Tree(msgspec.Struct, frozen=True, array_like=True, tag=2):
    left: Leaf | Tree | None = None
    right: Leaf | Tree | None = None
    value: float | str | None = None


decoder: Decoder[Tree] = Decoder(Tree)

VALUES = {
    "plain": Tree(Leaf("/a.py", b"\xff", {"k": 1}, (1, 2)), None, 2.5),
    "not-utf8": Tree(Leaf("/\udcff.py", b"\xff\x00", {"k": 1}, (1,)), Tree(value="\udc80"), 2.5),
    "keys": Tree(Leaf("/a.py", b"", {"\udcff": 1, "k": 2})),
    "lone": Tree(value="\ud800x\udfff"),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_what_is_encoded_comes_back(value: Tree) -> None:
    assert decoder.decode(encode(value)) == value


def test_names_in_utf8_cost_nothing() -> None:
    assert encode(VALUES["plain"]) == msgspec.msgpack.encode(VALUES["plain"])


BAD = {
    "empty": b"",
    "cut": encode(VALUES["plain"])[:-3],
    "another": encode([1, 2, 3]),
    "extension-of-others": b"\xd4\x09a",
    "not-a-table": b"\xd4\x02\x01",
    "not-utf8": b"\xa1\xff",
    "deep": b"\x91" * 100_000,
}


@pytest.mark.parametrize("blob", BAD.values(), ids=BAD)
def test_what_is_none_is_a_miss(blob: bytes) -> None:
    assert decoder.decode_or_none(blob) is None
    assert decoder.decode_or_none(None) is None
