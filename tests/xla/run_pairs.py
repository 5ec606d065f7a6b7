"""Child process for a framework, the first argument: pairs of programs, run eagerly on the CPU and compared as xlalint does."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

from children import converse, marked, written

from xlalint.verify.backends import Backend, Program, backend_of
from xlalint.verify.comparison import Pair, compare
from xlalint.verify.loading import load
from xlalint.verify.model import Subject

BACKENDS = {"torch": "torch_xla", "tensorflow": "tensorflow", "jax": "jax"}
BUDGET = 1.5  # seconds for the draws at edges: JAX compiles each operation anew for each shape
LONGEST = 10.0  # seconds that a call may take; a loop that waits for a NaN to become small never ends


def program(question: dict[str, Any], which: str) -> Program:
    file = written({**question, "code": question[which]})
    return load(Subject(file.stem, marked(question["before"])[0], str(file)))


def differences(backend: Backend, question: dict[str, Any]) -> list[str]:
    """In what `after` differs from `before`, with inputs that show it."""
    programs = program(question, "before"), program(question, "after")
    name, specs = marked(question["before"])
    pair = Pair(backend, *programs, question["exact"], tuple(question["unlike"]), LONGEST, "eager", budget=BUDGET)
    verdict = compare(pair, specs, name, lambda step: None, lambda step: None)
    return [f"{verdict.reason}\n{verdict.counterexample}"] if verdict.kind == "refuted" else []


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    backend = backend_of(BACKENDS[sys.argv[1]])
    converse(lambda question: differences(backend, question))
