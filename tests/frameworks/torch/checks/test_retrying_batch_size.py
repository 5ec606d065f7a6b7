"""XLA409: batch sizes that are tried until one fits."""

from __future__ import annotations

import pytest

from xlalint.config import Settings
from xlalint.project import check_text

TRIES = """
from accelerate.utils import find_executable_batch_size
from transformers import TrainingArguments
arguments = TrainingArguments("out", auto_find_batch_size={tries})

@find_executable_batch_size(starting_batch_size={start})
def train(batch_size):
    pass
"""


@pytest.mark.parametrize(
    ("head", "tries", "expected"),
    [
        pytest.param("import torch_xla\n", "True", [5, 7], id="on an XLA device"),
        pytest.param("import torch_xla\n", "False", [7], id="switched off"),
        pytest.param("import torch\n", "True", [], id="on a GPU"),
    ],
)
def test_batch_sizes_that_are_tried(head: str, tries: str, expected: list[int]) -> None:
    report = check_text(head + TRIES.format(tries=tries, start=64), "train.py", Settings(select=("XLA409",)))
    assert [finding.location.row for finding in report.findings] == expected
