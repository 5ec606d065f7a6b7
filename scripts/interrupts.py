"""Interrupts xlalint at random moments: it is soon gone, with the right exit code, no process left, no file torn, and a cache that works.

    python scripts/interrupts.py FOLDER --moments 100

FOLDER is copied for the ways that write. The table says for each way how many runs were interrupted, how long the slowest took to end, and
what was wrong; the exit code is 1 if something was.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import psutil

_LIMIT = 2.0  # seconds from the signal to the end
_GIVEN_UP = 30.0
_XLALINT = [sys.executable, "-m", "xlalint"]
_WORDS = {"SIGINT": "interrupted", "SIGTERM": "ended by SIGTERM", "SIGHUP": "ended by SIGHUP"}


class Way(NamedTuple):
    """A command, the signal that ends it, and how. `group`: all processes get it, as from a terminal. `fixes`: files are written."""

    name: str
    arguments: list[str]
    signal: str = "SIGINT"
    group: bool = False
    twice: bool = False
    fixes: bool = False
    serves: bool = False
    watches: bool = False


class Trial(NamedTuple):
    """What came of an interrupt: None for one that came too late."""

    seconds: float | None
    wrong: list[str]


def main() -> int:
    """Run all ways and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--moments", type=int, default=100, help="of all ways together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="ways whose name holds this")
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory(prefix="interrupts-") as name:
        place = Path(name)
        shutil.copytree(options.folder, place / "tree")
        expected = _outcome(place)
        ways = [way for way in _ways() if not options.only or options.only in way.name]
        random = Random(options.seed)
        print(f"{'way':44} {'runs':>5} {'ended':>6} {'slowest':>8}  wrong", flush=True)
        for way in ways:
            failed |= _tried(way, max(options.moments // len(ways), 1), place, expected, random)
    return 1 if failed else 0


def _ways() -> list[Way]:
    check = ["check", "--isolated", "--output-format", "concise", "tree"]
    fix = [*check, "--fix", "--unsafe-fixes"]
    cold = [*check, "--no-cache"]
    return [
        Way("check -j 1", [*check, "-j", "1"]),
        Way("check -j 2", [*check, "-j", "2"]),
        Way("check -j 3, cold", [*cold, "-j", "3"]),
        Way("check -j 3, all processes", [*cold, "-j", "3"], group=True),
        Way("check -j 3, twice", [*cold, "-j", "3"], twice=True),
        Way("check -j 3, twice, all processes", [*cold, "-j", "3"], group=True, twice=True),
        Way("check -j 2, SIGTERM", [*cold, "-j", "2"], "SIGTERM"),
        Way("check -j 2, SIGHUP, all processes", [*cold, "-j", "2"], "SIGHUP", group=True),
        Way("check --fix -j 1", [*fix, "-j", "1"], fixes=True),
        Way("check --fix -j 2, all processes", [*fix, "-j", "2"], group=True, fixes=True),
        Way("check --watch", [*check, "--watch"], watches=True),
        Way("check --watch, all processes", [*check, "--watch"], group=True, watches=True),
        Way("server", ["server"], serves=True),
        Way("mcp", ["mcp"], serves=True),
    ]


class Outcome(NamedTuple):
    """What whole runs say and make of the tree, and how long they take."""

    report: str
    before: dict[str, bytes]
    after: dict[str, bytes]
    seconds: float
    fix_seconds: float


def _outcome(place: Path) -> Outcome:
    before = _files(place / "tree")
    began = time.monotonic()
    report = _report(place, "whole")
    seconds = time.monotonic() - began
    began = time.monotonic()
    fix = ["check", "--isolated", "--no-cache", "-j", "2", "--fix", "--unsafe-fixes", "tree"]
    subprocess.run([*_XLALINT, *fix], cwd=place, capture_output=True, check=False)
    fixing = time.monotonic() - began
    after = _files(place / "tree")
    _restore(place / "tree", before)
    return Outcome(report, before, after, seconds, fixing)


def _report(place: Path, cache: str) -> str:
    command = ["check", "--isolated", "--output-format", "concise", "--cache-dir", cache, "tree"]
    return subprocess.run([*_XLALINT, *command], cwd=place, capture_output=True, text=True, check=False).stdout


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _restore(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in _files(folder).items():
        if name not in files:
            (folder / name).unlink()
        elif files[name] != content:
            (folder / name).write_bytes(files[name])


# ---------------------------------------------------------------------------------------------------------- one way


def _tried(way: Way, times: int, place: Path, expected: Outcome, random: Random) -> bool:
    longest = expected.fix_seconds if way.fixes else expected.seconds
    cache = "cache"
    shutil.rmtree(place / cache, ignore_errors=True)
    took: list[float] = []
    wrong: Counter[str] = Counter()
    for _ in range(times):
        moment = random.uniform(0.05, 3.0 if way.serves else longest)
        trial = _interrupted(way, place, moment, cache)
        wrong.update(trial.wrong)
        if trial.seconds is None:
            shutil.rmtree(
                place / cache, ignore_errors=True
            )  # a whole run has filled it: the next one would be over in no time
        else:
            took.append(trial.seconds)
        wrong.update(_torn(place / "tree", expected))
        _restore(place / "tree", expected.before)
    if _report(place, cache) != expected.report:
        wrong["another report by the cache that was left"] += 1
    told = ", ".join(f"{number} x {what}" for what, number in wrong.items()) or "nothing"
    print(f"{way.name:44} {times:>5} {len(took):>6} {max(took, default=0.0):>7.2f}s  {told}", flush=True)
    return bool(wrong)


def _torn(folder: Path, expected: Outcome) -> list[str]:
    """Files that are neither as they were nor as they shall be, and files that were left."""
    found = []
    for name, content in _files(folder).items():
        if name not in expected.before:
            found.append(f"file left ({Path(name).suffix})")
        elif content not in (expected.before[name], expected.after[name]):
            found.append("torn file")
    return found


def _interrupted(way: Way, place: Path, moment: float, cache: str) -> Trial:
    """Run it, and interrupt it after some seconds."""
    environment = {**os.environ, "XLALINT_CACHE_DIR": str(place / cache)}
    number = getattr(signal, way.signal)
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [*_XLALINT, *way.arguments],
            cwd=place,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
            preexec_fn=_hears,
        )
        send: Callable[[int, int], None] = os.killpg if way.group else os.kill
        time.sleep(moment)
        if child.poll() is not None:
            return Trial(None, [])
        began = time.monotonic()
        send(child.pid, number)
        if way.twice:
            time.sleep(0.02)
            if child.poll() is None:
                send(child.pid, number)
        wrong = []
        try:
            code = child.wait(_GIVEN_UP)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return Trial(_GIVEN_UP, ["hung"])
        seconds = time.monotonic() - began
        errors.seek(0)
        said = errors.read().decode("utf-8", "replace")
    assert child.stdin is not None
    child.stdin.close()
    return Trial(seconds, [*wrong, *_ending(way, number, code, said, seconds), *_left(child.pid)])


def _ending(way: Way, number: int, code: int, said: str, seconds: float) -> list[str]:
    found = []
    if seconds > _LIMIT:
        found.append(f"took more than {_LIMIT:g} s")
    if code == -number:
        return [*found, "killed while Python was starting"]
    if way.watches and code in (0, 1) and said.endswith("xlalint: ended\n"):
        return found  # that is how a watch ends
    if code != 128 + number:
        found.append(f"exit code {code}")
    lines = said.splitlines()
    last = lines[-1:] if way.watches else [line for line in lines if not line.startswith("xlalint: warning: ")]
    if last != [f"xlalint: {_WORDS[way.signal]}"]:
        found.append(f"said {said[-300:]!r}")
    return found


def _left(session: int) -> list[str]:
    """The processes of a session that are still there; those that were killed may take a moment."""
    for _ in range(50):
        left = [process for process in psutil.process_iter() if _in_session(process, session)]
        if not left:
            return []
        time.sleep(0.01)
    for process in left:
        process.kill()
    return [f"{len(left)} processes left"]


def _in_session(process: psutil.Process, session: int) -> bool:
    try:
        return os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE
    except (OSError, psutil.Error):
        return False


def _hears() -> None:
    """In the child: a shell that runs this in the background has it ignore Ctrl-C."""
    for name in _WORDS:
        signal.signal(getattr(signal, name), signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
