"""Messages on a stream: whole ones, rubbish, and how one gets from the one to the other, however the bytes come."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlalint.server.framing import FrameError, messages

MESSAGE = b"Content-Length: 2\r\n\r\n{}"
LARGEST = 1000


class Stream(io.BytesIO):
    """Bytes that come so many at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self.size = size

    def read1(self, size: int | None = -1, /) -> bytes:
        return self.read(self.size)


def read(data: bytes, size: int = LARGEST) -> list[bytes | FrameError]:
    return list(messages(Stream(data, size), LARGEST))


WHOLE = {
    "one": (MESSAGE, [b"{}"]),
    "several": (MESSAGE * 3, [b"{}"] * 3),
    "type": (b"Content-Length: 2\r\nContent-Type: x; charset=utf-8\r\n\r\n{}", [b"{}"]),
    "type-first": (b"Content-Type: x\r\nContent-Length: 2\r\n\r\n{}", [b"{}"]),
    "plain-line-ends": (b"content-length:2\n\n{}", [b"{}"]),
    "blank-lines-between": (MESSAGE + b"\r\n\r\n" + MESSAGE, [b"{}"] * 2),
    "empty": (b"Content-Length: 0\r\n\r\n", [b""]),
    "words-in-a-string": (b'Content-Length: 25\r\n\r\n"Content-Length: 2\\r\\n\\r"', [b'"Content-Length: 2\\r\\n\\r"']),
    "nothing": (b"", []),
}


@pytest.mark.parametrize("size", [1, 7, LARGEST])
@pytest.mark.parametrize(("data", "expected"), WHOLE.values(), ids=WHOLE)
def test_messages_are_read(data: bytes, expected: list[bytes], size: int) -> None:
    assert read(data, size) == expected


RUBBISH = {
    "negative": b"Content-Length: -5\r\n\r\n",
    "no-number": b"Content-Length: 3.5\r\n\r\nabc",
    "too-many-digits": b"Content-Length: 100000000000000000000\r\n\r\n",
    "absurd": b"Content-Length: 1000000000000\r\n\r\n",
    "too-large": b"Content-Length: 2000\r\n\r\n" + b" " * 2000,
    "too-large-and-not-there": b"Content-Length: 2000\r\n\r\n{}",
    "no-header": b'{"a": 1}',
    "no-blank-line": b'Content-Length: 8\r\n{"a": 1}',
    "too-long": b'Content-Length: 900\r\n\r\n{"a": 1}',
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "zeros": bytes(100),
    "a-long-line": b"x" * 200_000,
}


@pytest.mark.parametrize("size", [7, LARGEST, 1_000_000])
@pytest.mark.parametrize("data", RUBBISH.values(), ids=RUBBISH)
def test_rubbish_is_told_once_and_costs_no_message(data: bytes, size: int) -> None:
    told, *rest = read(data + MESSAGE * 2, size)
    assert isinstance(told, FrameError)
    assert rest == [b"{}"] * 2


def test_rubbish_is_told_before_anything_follows() -> None:
    """The client may wait for an answer."""

    class Waiting(Stream):
        def read1(self, size: int | None = -1, /) -> bytes:
            assert not self.getvalue() or self.tell() < len(self.getvalue()), "it waits"
            return super().read1(size)

    assert isinstance(next(messages(Waiting(b'{"a": 1}', LARGEST), LARGEST)), FrameError)


@given(
    st.lists(st.sampled_from([MESSAGE, *RUBBISH.values(), b"\r\n", b"{", b"Content-Length: 3"])), st.integers(1, 999)
)
def test_after_whatever_there_are_messages_again(pieces: list[bytes], size: int) -> None:
    assert read(b"".join(pieces) + b"\n" + MESSAGE * 3, size)[-1] == b"{}"
