"""The whole-program stages over lowered units: link once, interpret roots in batches, in forked processes where there are several."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor

import msgspec

from xlalint.lowering.ir import Unit
from xlalint.semantics.apis import Apis, api_table
from xlalint.semantics.collect import Harvest, harvest, merge
from xlalint.semantics.hazard import Hazard
from xlalint.semantics.interpreter import Interpreter
from xlalint.semantics.program import Program, link
from xlalint.semantics.roots import Roots

_BATCH_BYTES = 400_000
_SMALLEST_SHARED = 3_000_000
_RECURSION_LIMIT = 20_000
_decoder = msgspec.msgpack.Decoder(Harvest)
_encoder = msgspec.msgpack.Encoder()


class Analysis:
    """A linked program under interpretation, batch by batch."""

    def __init__(
        self, units: Sequence[Unit], apis: Apis, targets: tuple[str, ...], extra_roots: tuple[str, ...]
    ) -> None:
        self.program: Program = link(units)
        self.interpreter = Interpreter(self.program, apis, targets)
        self.roots = Roots(self.interpreter, extra_roots)
        self.failures: list[str] = []

    def batches(self) -> list[tuple[int, int]]:
        """Ranges of module indexes, of about the same amount of code each."""
        ranges: list[tuple[int, int]] = []
        first, size = 0, 0
        for index, module in enumerate(self.program.modules):
            size += sum(len(function.body) for function in module.unit.functions)
            if size >= _BATCH_BYTES:
                ranges.append((first, index + 1))
                first, size = index + 1, 0
        if first < len(self.program.modules):
            ranges.append((first, len(self.program.modules)))
        return ranges

    def run(self, first: int, last: int) -> Harvest:
        """Analyse the roots of some modules."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
        roots = []
        try:
            for module in self.program.modules[first:last]:
                try:
                    roots += self.roots.enter(module)
                except Exception as error:  # noqa: BLE001 - an internal error names the file and lets the others go on
                    self.interpreter.stack.clear()
                    self.failures.append(f"{module.path}: {type(error).__name__}: {error}")
        finally:
            sys.setrecursionlimit(limit)
        for module in self.program.modules[first:last]:
            for function in module.functions:
                function.forget()
        return harvest(roots)


_shared: Analysis | None = None


def _run_shared(batch: tuple[int, int]) -> tuple[bytes, list[str]]:
    """Run a batch in a forked process, on the program that the parent linked."""
    if _shared is None:
        raise RuntimeError("no program to analyse in this process")
    _shared.failures = []
    return _encoder.encode(_shared.run(*batch)), _shared.failures


def analyse(
    units: Sequence[Unit],
    targets: tuple[str, ...],
    extra_roots: tuple[str, ...] = (),
    tables: Sequence[str] = (),
    jobs: int = 1,
    done: Callable[[int], None] | None = None,
) -> tuple[list[Hazard], list[str]]:
    """The hazards of a program made of these units, and internal errors.

    `targets` are the targets that API tables may ask for; `tables` are paths of the user's own API tables.
    """
    global _shared
    from pathlib import Path

    analysis = Analysis(units, api_table(tuple(Path(table) for table in tables)), targets, extra_roots)
    batches = analysis.batches()
    size = sum(len(function.body) for unit in units for function in unit.functions)
    if jobs < 2 or len(batches) < 2 or size < _SMALLEST_SHARED or "fork" not in multiprocessing.get_all_start_methods():
        return merge(analysis.run(*batch) for batch in batches), analysis.failures
    _shared = analysis
    try:
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(min(jobs, len(batches)), mp_context=context) as pool:
            results = list(pool.map(_run_shared, batches))
    finally:
        _shared = None
    failures = [failure for _, lines in results for failure in lines]
    return merge(_decoder.decode(blob) for blob, _ in results), failures
