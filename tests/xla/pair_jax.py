"""Child process for JAX: pairs of programs, run as plain Python on values."""

from __future__ import annotations

from children import converse
from paired import runner
from pairs import differences
from run_jax import BACKEND

if __name__ == "__main__":
    run = runner(BACKEND)
    converse(lambda question: differences(run, question))
