#!/usr/bin/env python3
"""How many wrong rewrites does the prover call proven?

The files below tests/xla/sabotage hold rewrites of this project's own kinds, each with a condition of its legality
negated. A wrong rewrite that is `proven` is a defect of the prover; what its proof rests on is printed beside it.

usage: score_sabotage.py [--only torch,tensorflow,jax] [--match TEXT] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.xla.sabotage import BACKENDS, Sabotage, job, sabotages  # noqa: E402
from xlalint.verify.isolation import Limits  # noqa: E402
from xlalint.verify.proofs import prove_all  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(BACKENDS))
    parser.add_argument("--match", default="", help="only those whose name holds this")
    parser.add_argument("--json", type=Path, help="write all verdicts to this file")
    args = parser.parse_args()
    total: Counter[str] = Counter()
    told: list[dict[str, object]] = []
    seconds: list[float] = []
    for framework in args.only.split(","):
        own = [one for one in sabotages(framework) if args.match in one.ident]
        for one, verdict, took in shown(framework, own):
            total[verdict["kind"]] += 1
            seconds.append(took)
            told.append({"framework": framework, "ident": one.ident, "seconds": took, **verdict})
            if verdict["kind"] != "refuted":
                print(f"{framework:10} {one.ident}: {verdict['kind']}: {verdict['reason']}")
    print(dict(total), "of", sum(total.values()))
    if seconds:
        ordered = sorted(seconds)
        print(
            f"seconds each: median {statistics.median(ordered):.2f}, 95th {ordered[int(len(ordered) * 0.95) - 1]:.2f}"
        )
    if args.json:
        args.json.write_text(json.dumps(told, indent=1))


def shown(framework: str, own: list[Sabotage]) -> list[tuple[Sabotage, dict[str, str], float]]:
    """The verdicts on some wrong rewrites, of one child process."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = [job(number, one, Path(folder)) for number, one in enumerate(own)]
        proofs = prove_all(jobs, BACKENDS[framework], Limits(seconds=300.0))
    return [
        (one, {"kind": proofs[n].verdict.kind, "reason": proofs[n].verdict.reason}, proofs[n].seconds)
        for n, one in enumerate(own)
    ]


if __name__ == "__main__":
    main()
