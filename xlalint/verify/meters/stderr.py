"""Copies what the process writes to descriptor 2, without taking it from its reader: some frameworks count only there."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
import tempfile
from typing import IO, Any


class ErrorStream:
    """Reads what was written to descriptor 2 since the last time.

    Where that is a file, it is read in place. Elsewhere (a terminal, a pipe) a temporary file takes its place, and what it holds is passed
    on, less what `kept_back` picks out, each time that it is read; Python's own `sys.stderr` goes on writing to the real one.
    """

    def __init__(self) -> None:
        self._real = -1
        self._stderr: Any = None
        self._file: IO[bytes] = self._in_place() or self._redirect()
        self._at = os.fstat(self._file.fileno()).st_size

    def read(self) -> bytes:
        """Return what is new; takes a microsecond if nothing is."""
        size = os.fstat(self._file.fileno()).st_size
        if size < self._at:  # whoever owns the file has emptied it
            self._at = 0
        if size == self._at:
            return b""
        text = os.pread(self._file.fileno(), size - self._at, self._at)
        self._at += len(text)
        return text

    def pass_on(self, text: bytes) -> None:
        """Write to the real descriptor what was read and is for others; nothing where the file is read in place."""
        if self._real >= 0 and text:
            with contextlib.suppress(OSError):
                os.write(self._real, text)

    def close(self) -> None:
        """Put the descriptor back; read before."""
        if self._real >= 0:
            if sys.stderr is self._stderr[1]:
                sys.stderr.flush()
                sys.stderr = self._stderr[0]
            os.dup2(self._real, 2)
            os.close(self._real)
            self._real = -1
        self._file.close()

    def _in_place(self) -> IO[bytes] | None:
        try:
            if stat.S_ISREG(os.fstat(2).st_mode):
                return open("/proc/self/fd/2", "rb", buffering=0)  # noqa: PTH123 (an offset of its own)
        except OSError:
            pass
        return None

    def _redirect(self) -> IO[bytes]:
        file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        self._real = os.dup(2)
        os.dup2(file.fileno(), 2)
        os.set_inheritable(2, True)
        self._stderr = (sys.stderr, None)
        with contextlib.suppress(Exception):  # not every stand-in for stderr has a descriptor
            if sys.stderr.fileno() == 2:
                sys.stderr.flush()
                raw = io.FileIO(self._real, "w", closefd=False)
                writer = io.TextIOWrapper(
                    io.BufferedWriter(raw, 1), sys.stderr.encoding, sys.stderr.errors, write_through=True
                )
                self._stderr = (sys.stderr, writer)
                sys.stderr = writer
        return file
