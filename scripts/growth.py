"""Fails where what code takes grows faster than the code: doubles each of some 30 shapes of code and measures CPU time.

python scripts/growth.py [--most 3] [--from 0.3] [--work check,fix,explain] [SHAPE …]

Each shape is checked with the fixes of its findings, fixed in rounds, and explained at its last line. It is doubled until that takes
`--from` seconds of CPU time; one more doubling may then take `--most` times as long. A second try has to bear out what looks too slow,
since other load on a machine costs CPU time as well. Exit code 1 where a shape fails, and the table says which.

`tests/project/test_growth.py` holds the same shapes to counts of calls, which no machine's load changes.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from xlalint.config import Settings
from xlalint.explain import explain
from xlalint.explain.place import PlaceError
from xlalint.project import check_text
from xlalint.project.fixing import fix
from xlalint.project.report import Report
from xlalint.project.rewriting import Memory
from xlalint.source.reading import decode

Maker = Callable[[int], str]

_TORCH = "import torch\nfrom torch import nn\n\n\n"
_FORWARD = "class Model(nn.Module):\n    def forward(self, x: torch.Tensor, y: torch.Tensor):\n"


class Shape(NamedTuple):
    """A kind of code: `make(n)` is a module that holds `n` of what it is about; `start` is where doubling begins, `most` where it
    ends at the latest: Python's own parser does not take more."""

    make: Maker
    start: int
    most: int = 1 << 20


def _forward(*lines: str) -> str:
    """A module's `forward` with these lines for a body."""
    body = "".join(f"        {line}\n" for line in lines)
    return f"{_TORCH}{_FORWARD}{body}        return x[x > 0]\n"


def _repeated(*lines: str) -> Maker:
    """`forward` with lines repeated; `{i}` is the number of the turn."""
    return lambda n: _forward(*(line.replace("{i}", str(i)) for i in range(n) for line in lines))


def _joined(operand: str, operator: str, before: str, after: str = "") -> Maker:
    """`forward` with one expression: an operand repeated, with an operator between."""
    return lambda n: _forward(before + operator.join(operand.replace("{i}", str(i)) for i in range(n)) + after)


def _nested(head: str, leaf: str, tail: str = "") -> Maker:
    """Blocks within each other, each one deeper: `head` has the room for its index, `tail` stands behind the block."""

    def make(n: int) -> str:
        lines = [" " * i + head.replace("{i}", str(i)) for i in range(n)]
        ends = [" " * i + tail.replace("{i}", str(i)) for i in reversed(range(n))] if tail else []
        return _forward(*lines, " " * n + leaf, *ends)

    return make


def _branches(n: int) -> str:
    ends = (f"elif x.sum() > {i}:\n            x = x + {i}" for i in range(n))
    return _forward("if x.any():", "    x = x * 2", *ends)


def _callers(n: int) -> str:
    """Functions that call each other: a graph that is one circle with chords."""
    functions = (
        f"def f{i}(x):\n    if x.sum() > {i}:\n        return f{(i + 1) % n}(x)\n    return f{(7 * i + 3) % n}(x + 1)\n\n\n"
        for i in range(n)
    )
    return _TORCH + "".join(functions) + _FORWARD + "        return f0(x)\n"


def _hierarchy(n: int) -> str:
    """One line of classes, each with a method of its own and one that calls its base's."""
    classes = (
        f"class C{i}({f'C{i - 1}' if i else 'nn.Module'}):\n    def forward(self, x):\n"
        f"        return {f'super().forward(x) + self.own{i}(x)' if i else 'x'}\n\n"
        f"    def own{i}(self, x):\n        return x[x > {i}]\n\n\n"
        for i in range(n)
    )
    return _TORCH + "".join(classes)


def _family(n: int) -> str:
    """Many classes of one base that leaves a method to them."""
    base = "class Base(nn.Module):\n    def step(self, x):\n        raise NotImplementedError\n\n"
    base += "    def forward(self, x):\n        return self.step(x)\n\n\n"
    classes = (f"class C{i}(Base):\n    def step(self, x):\n        return x[x > {i}]\n\n\n" for i in range(n))
    return _TORCH + base + "".join(classes)


def _decorated(n: int) -> str:
    wrap = "def wrap(f):\n    def inner(*args, **kwargs):\n        return f(*args, **kwargs)\n    return inner\n\n\n"
    return _TORCH + wrap + "@wrap\n" * n + "def f(x):\n    return x[x > 0]\n\n\n" + _FORWARD + "        return f(x)\n"


def _globals(n: int) -> str:
    names = "".join(f"A{i} = {f'A{i - 1} + 1' if i else 0}\n" for i in range(n))
    return _TORCH + names + _FORWARD + f"        return x[x > A{n - 1}]\n"


def _arguments(n: int) -> str:
    """One function that is called with ever other constants."""
    calls = "".join(f"        x = f(x, {i}, mode='m{i}')\n" for i in range(n))
    return f"{_TORCH}def f(x, n, mode):\n    if n > 3:\n        return x[x > n]\n    return x\n\n\n{_FORWARD}{calls}        return x\n"


def _loops(n: int) -> str:
    """Loops in a row, each over what it changes."""
    return _forward(*(line for i in range(n) for line in (f"for i in range({i + 2}):", "    x = x[x > i]")))


def _methods(n: int) -> str:
    """A class with many methods that set and read attributes."""
    methods = "".join(
        f"    def m{i}(self, x):\n        self.a{i} = x\n        return self.a{i - 1 if i else 0}\n\n" for i in range(n)
    )
    return f"{_TORCH}{_FORWARD}        return self.m{n - 1}(x)\n\n{methods}"


def _unions(n: int) -> str:
    """A value that may be ever more things."""
    classes = "".join(f"class K{i}:\n    def go(self, x):\n        return x[x > {i}]\n\n\n" for i in range(n))
    picks = "".join(f"        if flag == {i}:\n            k = K{i}()\n" for i in range(n))
    return f"{_TORCH}{classes}{_FORWARD}        k, flag = None, len(y)\n{picks}        return k.go(x)\n"


SHAPES: Mapping[str, Shape] = {
    "statements": Shape(_repeated("x = x + {i}"), 64),
    "findings": Shape(_repeated("x = x[x > {i}]"), 16),
    "tensor ifs": Shape(_repeated("if x.sum() > {i}:", "    x = x + 1"), 8),
    "early returns": Shape(_repeated("if x.sum() > {i}:", "    return x + {i}"), 32),
    "loops": Shape(_loops, 8),
    "while loops": Shape(_repeated("while x.sum() > {i}:", "    x = x / 2"), 8),
    "nested loops": Shape(_nested("for i{i} in range(3):", "x = x[x > 0]"), 2, 16),
    "nested ifs": Shape(_nested("if x.sum() > {i}:", "x = x + 1"), 8, 64),
    "elif chain": Shape(_branches, 8, 256),
    "sum": Shape(_joined("x", " + ", "x = "), 64),
    "sum of calls": Shape(_joined("x.sum()", " + ", "x = "), 64),
    "and of tests": Shape(_joined("x.any()", " and ", "if ", ": pass"), 16),
    "and of numbers": Shape(_joined("len(x) > {i}", " and ", "flag = "), 64),
    "comparison chain": Shape(_joined("x.sum()", " < ", "if ", ": pass"), 16),
    "attribute chain": Shape(lambda n: _forward("x = x" + ".T" * n), 64),
    "method chain": Shape(lambda n: _forward("x = x" + ".abs()" * n), 64),
    "subscript chain": Shape(lambda n: _forward("x = x" + "[x > 0]" * n), 16),
    "nested calls": Shape(lambda n: _forward("x = " + "torch.abs(" * n + "x" + ")" * n), 8, 64),
    "parentheses": Shape(lambda n: _forward("x = " + "(1 + " * n + "x" + ")" * n), 8, 64),
    "ternaries": Shape(_joined("x if x.sum() > {i}", " else ", "x = ", " else y"), 8, 64),
    "f-string": Shape(lambda n: _forward('s = f"' + "{x.sum()} " * n + '"'), 32),
    "string concatenation": Shape(_joined("'part {i}'", " + ", "s = "), 64),
    "list display": Shape(_joined("x[x > {i}]", ", ", "z = [", "]"), 16),
    "dict display": Shape(_joined("'k{i}': x.sum()", ", ", "z = {", "}"), 64),
    "comprehension": Shape(lambda n: _forward("z = [x" + " for i in y if x.any()" * n + "]"), 8),
    "try": Shape(_nested("try:", "x = x[x > 0]", "finally: x = x + {i}"), 2, 16),
    "nested functions": Shape(_nested("def f{i}(a{i}):", "return x[x > 0]", " return f{i}"), 2, 64),
    "functions in a circle": Shape(_callers, 32),
    "line of classes": Shape(_hierarchy, 16),
    "family of classes": Shape(_family, 16),
    "decorators": Shape(_decorated, 8),
    "globals": Shape(_globals, 64),
    "contexts": Shape(_arguments, 32),
    "methods": Shape(_methods, 32),
    "union": Shape(_unions, 16),
}

# ----------------------------------------------------------------------------------------------------- measuring

SETTINGS = Settings(python=None, show_info=True)
PATH = "/project/module.py"


def check_work(text: str) -> int:
    """Check a text, and find the fixes of all findings. Raises `RuntimeError` where something goes wrong inside xlalint."""
    _good(check_text(text, PATH, SETTINGS, fixes=Memory()))
    return 1


def fix_work(text: str) -> int:
    """Fix a text in rounds, unsafe fixes too, and return how many there were."""
    rounds = 0

    def check(contents: Mapping[str, bytes], memory: Memory | None) -> Report:
        nonlocal rounds
        rounds += 1
        given = contents.get(PATH)
        return check_text(text if given is None else decode(given), PATH, SETTINGS, fixes=memory)

    _good(fix(check, lambda _: text.encode(), unsafe=True).report)
    return rounds


def explain_work(text: str) -> int:
    """Explain the last line of a text."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "module.py")
        file.write_text(text)
        with suppress(PlaceError):  # what is nested too deeply to be parsed is refused at once
            explain(f"{file}:{text.count(chr(10))}", [Path(folder)], SETTINGS)
    return 1


WORKS: Mapping[str, Callable[[str], int]] = {"check": check_work, "fix": fix_work, "explain": explain_work}


def _good(report: Report) -> None:
    if report.failures:
        raise RuntimeError(report.failures[0])


class Taken(NamedTuple):
    """The CPU time that some work on a text took, and its rounds.

    Fixes that read what others bind are made one after the other, with a check between, so a function of such has as many rounds as fixes.
    That does not go on: after `MOST_ROUNDS` the rest is left, and the user is told. So it is the time of a round that may not grow.
    """

    seconds: float
    rounds: int


def taken(work: Callable[[str], int], text: str) -> Taken:
    """Do some work on a text, with Python's collector at rest: what it takes comes in jumps, not with the code."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        rounds = work(text)
        return Taken(time.process_time() - start, rounds)
    finally:
        gc.enable()


class Grown(NamedTuple):
    """What a shape took at a size, and at twice that."""

    size: int
    once: Taken
    twice: Taken

    @property
    def factor(self) -> float:
        """How often the time of the smaller one's round the larger one's took."""
        return self.twice.seconds / self.twice.rounds * self.once.rounds / self.once.seconds


def grown(shape: Shape, work: Callable[[str], int], begin: float) -> Grown | None:
    """How a shape grows where it begins to take time; None where it cannot be made so large."""
    size = shape.start
    once = taken(work, shape.make(size))
    while 2 * size <= shape.most:
        twice = taken(work, shape.make(2 * size))
        if once.seconds >= begin:
            return Grown(size, once, twice)
        size, once = 2 * size, twice
    return None


def _told(found: Grown) -> str:
    once, twice = found.once, found.twice
    rounds = f" in {once.rounds} and {twice.rounds} rounds" if twice.rounds > 1 else ""
    return f"{once.seconds:.2f} → {twice.seconds:.2f} s{rounds}, {found.factor:.1f} times"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help="shapes to measure (default: all)")
    parser.add_argument("--most", type=float, default=3.0, help="times as long that twice the code may take")
    parser.add_argument("--from", dest="begin", type=float, default=0.3, help="seconds from which on growth counts")
    parser.add_argument("--work", default=",".join(WORKS), help="what to measure, with commas between")
    options = parser.parse_args()
    for work in WORKS.values():
        work(SHAPES["findings"].make(2))  # what is imported and read once
    failed = []
    for name in options.shapes or SHAPES:
        for kind in options.work.split(","):
            found = grown(SHAPES[name], WORKS[kind], options.begin)
            if found is not None and found.factor > options.most:
                found = grown(SHAPES[name], WORKS[kind], options.begin)
            told = "never takes that long" if found is None else f"{found.size} → {2 * found.size}: "
            told += "" if found is None else _told(found)
            print(f"{name:24}{kind:9}{told}", flush=True)
            if found is not None and found.factor > options.most:
                failed.append(f"{name} ({kind})")
    if failed:
        print(f"grows too fast: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
