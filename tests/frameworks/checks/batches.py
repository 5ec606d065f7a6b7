"""Programs whose steps XLA compiles, and the findings of batches in them."""

from __future__ import annotations

from xlalint.config import Settings
from xlalint.project import check_text

TORCH = """
import torch
import torch_xla
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, IterableDataset, TensorDataset
from transformers import (
    AutoTokenizer, DataCollatorForLanguageModeling, DataCollatorForSeq2Seq, DataCollatorForTokenClassification,
    DataCollatorWithPadding, Trainer, TrainingArguments,
)
tokenizer = AutoTokenizer.from_pretrained("bert")
"""
KERAS = """
import keras
import numpy as np
import tensorflow as tf
model.compile(jit_compile=True)
"""
TORCH_ON_A_GPU = TORCH.replace("import torch_xla\n", "")
EAGER_KERAS = KERAS.replace("True", "False")
JAX = "import jax\nfrom torch.utils.data import DataLoader\n"


def found(text: str, *, codes: tuple[str, ...] = ("XLA401", "XLA402"), severities: bool = False) -> list[str]:
    """The codes that are found, in order of place."""
    report = check_text(text, "script.py", Settings(python=None, show_info=True, select=codes))
    assert not report.failures
    return [f"{one.code}:{one.severity}" if severities else one.code for one in report.findings]
