"""A first check of a large folder, in a process of its own that leaves everything in the cache.

It uses all cores, and what it needs in memory is gone when it ends. Standard input says what to check; standard output tells how far it is.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from xlalint.config import Settings
from xlalint.processes import isolated_command
from xlalint.project.packing import Decoder, encode


class _Order(msgspec.Struct, frozen=True):
    paths: list[str]
    settings: Settings
    cache: str
    jobs: int


class Warming:
    """The process. `done` and `total` tell how far it is."""

    def __init__(self, paths: Sequence[Path], settings: Settings, cache: Path, jobs: int) -> None:
        order = encode(_Order([str(path) for path in paths], settings, str(cache), jobs))
        self._process = subprocess.Popen(
            isolated_command("xlalint.server.warming"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.done = self.total = 0
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(order)
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """End it, finished or not."""
        if self.running:
            self._process.terminate()
        self._process.wait()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            done, _, total = line.partition(b" ")
            if done.isdigit() and total.strip().isdigit():
                self.done, self.total = int(done), int(total)


def main() -> int:
    """Do what standard input orders."""
    from xlalint.cache import Cache
    from xlalint.project import check_paths

    order: _Order = Decoder[_Order](_Order).decode(sys.stdin.buffer.read())

    def tell(done: int, total: int) -> None:
        sys.stdout.write(f"{done} {total}\n")
        sys.stdout.flush()

    with Cache(Path(order.cache), order.settings.root) as cache:
        check_paths([Path(path) for path in order.paths], order.settings, cache=cache, jobs=order.jobs, progress=tell)
    return 0
