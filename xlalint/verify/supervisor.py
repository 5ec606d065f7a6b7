"""The process between xlalint and a child: holds the child to its limits, and ends every process that came of it.

On Linux what the child starts cannot get away: a process whose parent dies falls to the nearest "subreaper" above it, which is this one,
whatever session it is in. On macOS there is none: there, what was seen while the child ran (every `_TICK` seconds) is ended too, but a
process that a short-lived parent put into another session between two looks is missed.

The supervisor ends when the child does, when a limit is passed, or when the pipe to xlalint closes, that is also when xlalint is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

import psutil

from xlalint.verify.isolation import MESSAGES

_TICK = 0.1  # seconds between two looks at the memory
_ROUNDS = 200  # of ending what is left, a hundredth of a second each
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def main() -> None:
    """Run the command of the plan in the first argument, and report how it ended on the descriptor `status`."""
    plan = json.loads(sys.argv[1])
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="xlalint-", ignore_cleanup_errors=True) as folder:
        try:
            child = _start(plan, folder)
        except OSError as error:
            _report(plan, {"error": f"`{plan['command'][0]}` cannot be run in {plan['cwd']}: {error}"})
            return
        watch = _Watch(child)
        try:
            ended = watch.until_over(plan)
        finally:
            code = watch.end_all()
    _report(plan, {"ended": ended, "code": code})


def _start(plan: dict[str, Any], folder: str) -> subprocess.Popen[bytes]:
    named = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder)
    child = subprocess.Popen(
        plan["command"],
        cwd=plan["cwd"],
        env={**os.environ, **plan["env"], **named, MESSAGES: str(plan["messages"])},
        pass_fds=(plan["messages"],),
        start_new_session=True,
    )
    os.close(plan["messages"])
    return child


def _report(plan: dict[str, Any], told: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # xlalint may be gone
        os.write(plan["status"], json.dumps(told).encode())


class _Watch:
    """A child and all processes that were seen to come of it."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self.child = child
        self.seen: dict[int, psutil.Process] = {}
        # A descriptor that becomes readable when a child ends.
        self.bell, ring = os.pipe()
        os.set_blocking(ring, False)
        os.set_blocking(self.bell, False)
        signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)

    def until_over(self, plan: dict[str, Any]) -> str:
        """Wait for the child's end, a limit, or xlalint's end, and say which it was."""
        deadline = time.monotonic() + plan["seconds"]
        while self.child.poll() is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return "timed-out"
            if self.memory(plan["memory"]) > plan["memory"]:
                return "out-of-memory"
            ready, _, _ = select.select([plan["alive"], self.bell], [], [], min(left, _TICK))
            if plan["alive"] in ready:
                return "abandoned"
            if self.bell in ready:
                os.read(self.bell, 4096)
        return "ended"

    def memory(self, limit: int) -> int:
        """The resident memory of all processes in bytes; pages that they share count once where that decides and the system tells."""
        processes = self.alive()
        total = sum(_resident(process) for process in processes)
        return sum(_own_share(process) for process in processes) if total > limit and len(processes) > 1 else total

    def alive(self) -> list[psutil.Process]:
        """The processes that came of the child and have not ended."""
        for process in psutil.Process().children(recursive=True):
            self.seen.setdefault(process.pid, process)
        for pid, process in list(self.seen.items()):
            if not process.is_running() or _is_zombie(process):
                del self.seen[pid]
        return list(self.seen.values())

    def end_all(self) -> int:
        """Kill what is alive until nothing is, and give the child's exit code as `subprocess` does."""
        code = self.child.poll()
        for _ in range(_ROUNDS):
            left = self.alive()
            self.reap()
            if not left:
                break
            for act in (
                psutil.Process.suspend,
                psutil.Process.kill,
            ):  # a suspended one starts nothing while others are killed
                for process in left:
                    with contextlib.suppress(psutil.Error):
                        act(process)
            time.sleep(0.01)
            if code is None:
                code = self.child.poll()
        return self.child.wait() if code is None else code

    def reap(self) -> None:
        """Take leave of those that fell to this process; of the child, `subprocess` does."""
        for process in psutil.Process().children():
            if process.pid != self.child.pid and _is_zombie(process):
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return True


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _own_share(process: psutil.Process) -> int:
    try:
        full = process.memory_full_info()
    except psutil.Error:
        return _resident(process)
    return int(getattr(full, "pss", 0) or full.uss)
