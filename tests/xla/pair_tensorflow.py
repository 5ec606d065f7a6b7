"""Child process for TensorFlow: pairs of programs, run eagerly on the CPU."""

from __future__ import annotations

from children import converse
from paired import runner
from pairs import differences
from run_tensorflow import BACKEND

if __name__ == "__main__":
    run = runner(BACKEND)
    converse(lambda question: differences(run, question))
