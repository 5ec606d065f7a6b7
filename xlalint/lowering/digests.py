"""Digests of what a file says, by part: what a change of the file's text leaves the same.

Rows and offsets are not part of them: a function that moves stays the same function.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from xlalint.lowering.ir import Binding, Class, Function

_SIZE = 8

_encode = msgspec.msgpack.Encoder().encode


def with_digests(functions: Sequence[Function]) -> tuple[Function, ...]:
    """The functions of a file, in order, each with the digest of what it does, its inner functions included."""
    inner: defaultdict[int, list[bytes]] = defaultdict(list)
    digests: list[bytes] = [b""] * len(functions)
    for index in range(len(functions) - 1, -1, -1):
        function = functions[index]
        state = blake2b(function.body, digest_size=_SIZE)
        state.update(_encode((function.calls, function.free, [param.uses for param in function.params])))
        for digest in inner.pop(index, ()):
            state.update(digest)
        digests[index] = state.digest()
        if function.outer >= 0:
            state.update(_encode(_header(function)))
            inner[function.outer].append(state.digest())
    return tuple(msgspec.structs.replace(f, digest=digest) for f, digest in zip(functions, digests, strict=True))


def interface(
    imports: Sequence[Binding],
    functions: Sequence[Function],
    classes: Sequence[Class],
    definitions: dict[str, int],
    assigned: Sequence[str],
    calls: Sequence[str],
    body: bytes,
    rebound: Sequence[str] = (),
    configured: Sequence[str] = (),
    searched: bool = False,
) -> bytes:
    """The digest of what others may read of a file without reading a function's body."""
    headers = [_header(function) if function.outer < 0 else function.qualname for function in functions]
    kinds = [(c.qualname, c.outer, c.bases, c.keywords, c.decorators, c.methods, c.body) for c in classes]
    encoded = _encode((imports, headers, kinds, definitions, assigned, calls, body, rebound, configured, searched))
    return blake2b(encoded, digest_size=_SIZE).digest()


def _header(function: Function) -> tuple[object, ...]:
    params = [(param.name, param.kind, param.annotation, param.default) for param in function.params]
    return (
        function.qualname,
        function.owner,
        params,
        function.returns,
        function.decorators,
        function.is_async,
        function.is_generator,
        function.stores,
    )
