"""Checks, fixes and reports programs made by chance: no internal error, fixed text that is Python with nothing left to fix, true diffs.

    python scripts/generated_programs.py --mutated 40000 --hypothesmith 10000 -j 2 --out /tmp/found

Programs are made in batches of a hundred, each from a seed of its own, so that a batch can be made again by itself: by `--seed`, which the
names of files have. What is wrong goes to `--out`, a file for each program, and the exit code is then 1. `mutated` are the fixtures and
examples with parts of them replaced (`tests/project/generated.py`), `hypothesmith` the programs of that package: any Python, seldom with a
tensor in it.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.project.generated import looked_at, program

_BATCH = 100


class Batch(NamedTuple):
    """Some programs of one kind."""

    kind: str
    seed: int
    size: int


class Told(NamedTuple):
    """What came of a batch; `wrong` are programs with what is wrong about them."""

    batch: Batch
    findings: int
    fixes: int
    with_findings: int
    dropped: Counter[str]
    wrong: list[tuple[str, list[str]]]
    seconds: float


def main() -> int:
    """Run the batches and tell what came of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mutated", type=int, default=1000, help="programs made of fixtures and examples")
    parser.add_argument("--hypothesmith", type=int, default=0, help="programs made by hypothesmith")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first batch; the others follow")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing after that long")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a folder for programs that something is wrong about")
    options = parser.parse_args()
    batches = [
        *_batches("mutated", options.mutated, options.seed),
        *_batches("hypothesmith", options.hypothesmith, options.seed),
    ]
    batches.sort(key=lambda batch: batch.seed)
    failed, began = 0, time.monotonic()
    total: dict[str, Counter[str]] = {}
    dropped: Counter[str] = Counter()
    with get_context("spawn").Pool(options.jobs) as workers:
        for told in workers.imap_unordered(_run, batches):
            failed += len(told.wrong)
            dropped += told.dropped
            counts = total.setdefault(told.batch.kind, Counter())
            counts["programs"] += told.batch.size
            counts["with findings"] += told.with_findings
            counts["findings"] += told.findings
            counts["fixes"] += told.fixes
            counts["wrong"] += len(told.wrong)
            counts["seconds"] += round(told.seconds)
            for text, lines in told.wrong:
                _tell(told.batch, text, lines, options.out)
            if time.monotonic() - began > 60 * options.minutes:
                workers.terminate()
                break
    for kind, counts in total.items():
        print(f"{kind}: " + ", ".join(f"{number:,} {what}" for what, number in counts.items()))
    for what, number in dropped.most_common():
        print(f"dropped {number:,} x {what}")
    return 1 if failed else 0


def _batches(kind: str, programs: int, seed: int) -> Iterator[Batch]:
    for number in range(0, programs, _BATCH):
        yield Batch(kind, seed + number // _BATCH, min(_BATCH, programs - number))


def _tell(batch: Batch, text: str, lines: list[str], out: Path | None) -> None:
    name = f"{batch.kind}-{batch.seed}-{blake2b(text.encode('utf-8', 'replace'), digest_size=4).hexdigest()}.py"
    for line in lines:
        print(f"{name}: {line}", flush=True)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        Path(out, name).write_bytes(text.encode("utf-8", "replace"))


def _run(batch: Batch) -> Told:
    warnings.simplefilter("ignore")  # of what the programs say
    began = time.process_time()
    findings = fixes = with_findings = 0
    dropped: Counter[str] = Counter()
    wrong: list[tuple[str, list[str]]] = []
    for text in _mutated(batch) if batch.kind == "mutated" else _hypothesmith(batch):
        try:
            looked = looked_at(text)
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            wrong.append((text, [f"crash: {_place(error)}{type(error).__name__}: {error}"]))
            continue
        findings += looked.findings
        fixes += looked.fixes
        with_findings += looked.findings > 0
        dropped += looked.dropped
        if looked.wrong:
            wrong.append((text, looked.wrong))
    return Told(batch, findings, fixes, with_findings, dropped, wrong, time.process_time() - began)


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}: " if trace is not None else ""


def _mutated(batch: Batch) -> Iterator[str]:
    random = Random(batch.seed)
    for _ in range(batch.size):
        yield program(random)


def _hypothesmith(batch: Batch) -> list[str]:
    import hypothesmith
    from hypothesis import HealthCheck, Phase, given, seed, settings

    made: list[str] = []

    @seed(batch.seed)
    @settings(
        max_examples=batch.size,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(hypothesmith.from_grammar())
    def collect(text: str) -> None:
        made.append(text)

    collect()
    return made


if __name__ == "__main__":
    sys.exit(main())
