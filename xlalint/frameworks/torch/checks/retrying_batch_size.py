"""XLA409: a search for the batch size by trial and error, each trial of which compiles all."""

from __future__ import annotations

from xlalint.abstract.values import TRUE
from xlalint.frameworks.checks.call_site import CallSite, asks_about, surely
from xlalint.frameworks.checks.library_names import TRAINING_ARGUMENTS

_FINDERS = (
    "accelerate.utils.find_executable_batch_size",
    "accelerate.utils.memory.find_executable_batch_size",
    "accelerate.memory_utils.find_executable_batch_size",
)


@asks_about("torch", *TRAINING_ARGUMENTS)
def check_trainer(call: CallSite) -> None:
    """`TrainingArguments(auto_find_batch_size=True)`."""
    if surely(call.asked_for("auto_find_batch_size"), TRUE):
        call.report("XLA409", "torch", "auto_find_batch_size=True", "", call.place("auto_find_batch_size"))


@asks_about("torch", *_FINDERS)
def check_finder(call: CallSite) -> None:
    """`find_executable_batch_size(…)`, as a decorator with arguments or called."""
    call.report("XLA409", "torch", "find_executable_batch_size")
