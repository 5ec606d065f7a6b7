"""Messages on a stream: a header that says how long the body is, a blank line, the body.

What does not keep to that is told once, and what follows is searched for the next header: a client that errs is answered, and goes on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import BinaryIO, Protocol

_PIECE = 1 << 20
_LONGEST_LINE = 1 << 16
_ABSURD = 8  # times the largest message: no length, but rubbish
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*$", re.IGNORECASE)
_FIELD = re.compile(rb"(?!content-length)[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*:", re.IGNORECASE)
_BEGINS = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z\s-]")
# JSON has no line ends in its strings and no such words outside of them: where this is in a body, its length was wrong.
_NEXT = re.compile(rb"Content-Length: ?\d{1,18}\r?\n(?:[Cc]ontent-[Tt]ype:[^\r\n]{0,99}\r?\n)?\r?\n")
_LONGEST_NEXT = 256


class Stream(Protocol):
    """A source of bytes, which gives them as soon as there are some."""

    def read1(self, size: int = -1, /) -> bytes: ...


class FrameError(ValueError):
    """The received bytes are not a message."""


def messages(stream: Stream, largest: int) -> Iterator[bytes | FrameError]:
    """The bodies of the messages on a stream, until it ends; in place of what is none, or is too large, an error."""
    return _Frames(stream, largest).read()


class _Frames:
    """Reads one stream. `_data` are the bytes that came and were not used."""

    def __init__(self, stream: Stream, largest: int) -> None:
        self._stream = stream
        self._largest = largest
        self._data = bytearray()
        self._lost = False

    def read(self) -> Iterator[bytes | FrameError]:
        """The bodies, and what is wrong with those that are none."""
        length: int | None = None
        while (line := self._line()) is not None:
            if not line and length is not None:
                yield from self._body(length)
                length = None
            elif line:
                found = _LENGTH.search(line)
                if found is None and _FIELD.match(line):
                    continue
                if found is None or found.start() > 0:
                    yield from self._rubbish(line)
                if found is not None:
                    length = int(found[1])
        if self._data:
            yield FrameError("the client left in the middle of a message")

    def _rubbish(self, line: bytes) -> Iterator[FrameError]:
        """Tell of what is no header, once until there is one again."""
        if not self._lost:
            self._lost = True
            shown = line[:40].decode("ascii", "backslashreplace")
            yield FrameError(f"a message begins with `Content-Length: N` and a blank line, not with {shown!r}")

    def _line(self) -> bytes | None:
        """The next line without its end, or the beginning of what shows at once that it is none of a header; None at the end."""
        seen = 0
        while (end := self._data.find(b"\n", seen)) < 0:
            seen = len(self._data)
            if seen > _LONGEST_LINE:
                return self._take(seen - _LONGEST_NEXT)  # what is left may hold the beginning of a header
            if seen and not self._lost and not _BEGINS.match(self._data):
                return bytes(self._data)
            if not self._more():
                return None
        return self._take(end + 1).strip()

    def _body(self, length: int) -> Iterator[bytes | FrameError]:
        if length > _ABSURD * self._largest:
            yield from self._rubbish(b"Content-Length: %d" % length)
            return
        if length > self._largest:
            yield FrameError(f"it has {length:,} bytes, more than {self._largest:,}")
            self._skip(length)
            return
        self._lost = False
        searched = 0
        while True:
            following = _NEXT.search(self._data, searched, length + _LONGEST_NEXT)
            if following is not None and following.start() < length:
                yield FrameError(f"it has {following.start():,} bytes, not {length:,} as its header says")
                del self._data[: following.start()]
                return
            searched = max(len(self._data) - _LONGEST_NEXT, 0)
            if len(self._data) >= length:
                yield self._take(length)
                return
            if not self._more():
                return

    def _skip(self, length: int) -> None:
        """Pass over the body of a message that is too large, or to the next header in it."""
        while True:
            if (following := _NEXT.search(self._data, 0, length)) is not None:
                length = following.start()
            passed = min(length, len(self._data))
            if passed < length:
                passed = max(passed - _LONGEST_NEXT, 0)
            del self._data[:passed]
            length -= passed
            if not length or (len(self._data) < length and not self._more()):
                return

    def _take(self, count: int) -> bytes:
        taken = bytes(self._data[:count])
        del self._data[:count]
        return taken

    def _more(self) -> bool:
        """Read more; return whether anything came before the end."""
        came = self._stream.read1(_PIECE)
        self._data += came
        return bool(came)


class Writer:
    """Sends to the client; `gone` is called once it is seen not to listen any more."""

    def __init__(self, stream: BinaryIO, gone: Callable[[], object]) -> None:
        self._stream = stream
        self._gone = gone

    def write(self, data: bytes) -> None:
        """Send bytes."""
        try:
            self._stream.write(data)
            self._stream.flush()
        except (OSError, ValueError):  # a stream that was closed is a ValueError
            self._gone()

    def close(self) -> None:
        """Send no more."""
        with suppress(OSError, ValueError):
            self._stream.close()
