"""The start of programs whose settings come from classes of arguments or from options of the command line."""

from __future__ import annotations

START = (
    "import argparse\nimport click\nimport torch_xla\nfrom absl import flags\nfrom accelerate import Accelerator\n"
    "from dataclasses import dataclass, field\n"
    "from transformers import HfArgumentParser, Seq2SeqTrainingArguments, TrainingArguments\n"
)
