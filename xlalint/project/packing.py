"""Values between processes, and in the cache: MessagePack, which has no form for the names of files that are not UTF-8.

Python has such names with lone surrogates in them. A value that holds one is encoded a second time, with each such text marked; reading
notices that a text is not where it should be, and does the same. So names as they should be cost nothing.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")

# MessagePack's extension types: a text that is not UTF-8, and a table with such a key, which no extension can be.
_TEXT, _TABLE = 1, 2
_encoder = msgspec.msgpack.Encoder()


def encode(value: Any) -> bytes:
    """The encoded form of a value that msgspec knows."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_mark(msgspec.to_builtins(value, builtin_types=(bytes, bytearray))))


class Decoder(Generic[T]):
    """Reads what `encode` made of values of one type."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(kind)

    def decode(self, blob: bytes) -> T:
        """The value; raises `msgspec.MsgspecError` for what is none."""
        try:
            return self._decoder.decode(blob)
        except msgspec.ValidationError:
            return self._mark(blob)

    def _mark(self, blob: bytes) -> T:
        try:
            plain = msgspec.msgpack.decode(blob, ext_hook=_unmark)
        except (TypeError, ValueError) as error:  # a key that cannot be one, an extension of others
            raise msgspec.DecodeError(str(error)) from error
        made: T = msgspec.convert(plain, self._kind, builtin_types=(bytes, bytearray))
        return made

    def decode_or_none(self, blob: bytes | None) -> T | None:
        """The value; None where there is none, or what there is cannot be read: the cache may hold anything."""
        try:
            return self.decode(blob) if blob is not None else None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None


def _mark(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return msgspec.msgpack.Ext(_TEXT, value.encode("utf-8", "surrogatepass"))
        return value
    if isinstance(value, dict):
        items = [(_mark(key), _mark(item)) for key, item in value.items()]
        marked = any(isinstance(key, msgspec.msgpack.Ext) for key, _ in items)
        return msgspec.msgpack.Ext(_TABLE, _encoder.encode(items)) if marked else dict(items)
    if isinstance(value, (list, tuple)):
        return [_mark(item) for item in value]
    return value


def _unmark(code: int, data: memoryview) -> Any:
    if code == _TEXT:
        return bytes(data).decode("utf-8", "surrogatepass")
    if code == _TABLE:
        return dict(msgspec.msgpack.decode(data, ext_hook=_unmark))
    raise ValueError(f"extension {code} of others")
