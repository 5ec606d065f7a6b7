#!/usr/bin/env python3
"""How many right fixes does the prover prove?

The `bad` examples of all rule pages that have a fix are laid out as files, and `xlalint check --unsafe-fixes --verify` tries their fixes,
which are right for the inputs that the pages show. One that is refuted or unverified is printed with its reason: a refuted fix is wrong for
some inputs, which its message then has to exclude.

usage: score_pages.py [--only torch_xla,tf,jax] [--match XLA2] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from xlalint.fixes.registry import REWRITES  # noqa: E402
from xlalint.rules import Example, rules  # noqa: E402

FRAMEWORKS = {"torch_xla": "torch", "tf": "tensorflow", "jax": "jax"}


def examples(framework: str, match: str) -> list[Example]:
    """The pages' examples of a framework whose hazard has a fix."""
    return [
        example
        for rule in rules().values()
        if rule.code in REWRITES and match in rule.code
        for example in rule.examples
        if example.framework == framework and any(other.of == example.ident for other in rule.examples)
    ]


def proofs(target: str, match: str) -> list[dict[str, object]]:
    """The proofs of all fixes of a framework's examples, each with the file and the rule that it is for."""
    with tempfile.TemporaryDirectory() as folder:
        for example in examples(FRAMEWORKS[target], match):
            name = "".join(letter if letter.isalnum() else "_" for letter in example.ident)
            (Path(folder) / f"{name}.py").write_text(example.code, encoding="utf-8")
        options = [
            "--no-cache",
            "--isolated",
            "--verify",
            "--unsafe-fixes",
            "--target",
            target,
            "--output-format",
            "json",
        ]
        command = [sys.executable, "-m", "xlalint", "check", *options, "--show-info", "."]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"{target}: {done.stderr}")
        return [
            {
                "target": target,
                "file": Path(finding["filename"]).stem,
                "code": finding["code"],
                **finding["fix"]["proof"],
            }
            for finding in json.loads(done.stdout)
            if finding["fix"] and finding["fix"].get("proof")
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(FRAMEWORKS))
    parser.add_argument("--match", default="", help="only rules whose code holds this")
    parser.add_argument("--json", type=Path, help="write all proofs to this file")
    args = parser.parse_args()
    told = [proof for target in args.only.split(",") for proof in proofs(target, args.match)]
    for proof in told:
        if not str(proof["verdict"]).startswith("proven"):
            print(f"{proof['target']:10} {proof['file']} {proof['code']}: {proof['verdict']}: {proof['reason']}")
    print(dict(Counter(str(proof["verdict"]) for proof in told)), "of", len(told))
    seconds = sorted(float(str(proof["seconds"])) for proof in told if "seconds" in proof)
    if seconds:
        print(
            f"seconds each: median {statistics.median(seconds):.2f}, 95th {seconds[int(len(seconds) * 0.95) - 1]:.2f}"
        )
    if args.json:
        args.json.write_text(json.dumps(told, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
