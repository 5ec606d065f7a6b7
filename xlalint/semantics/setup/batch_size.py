"""XLA409: a search for the batch size by trial and error, each trial of which compiles all."""

from __future__ import annotations

from xlalint.semantics.setup.calls import SetupCall, asked, surely
from xlalint.semantics.setup.names import TRAINING_ARGUMENTS
from xlalint.semantics.values import TRUE

_FINDERS = (
    "accelerate.utils.find_executable_batch_size",
    "accelerate.utils.memory.find_executable_batch_size",
    "accelerate.memory_utils.find_executable_batch_size",
)


@asked("torch", *TRAINING_ARGUMENTS)
def trainer(call: SetupCall) -> None:
    """`TrainingArguments(auto_find_batch_size=True)`."""
    if surely(call.asked_for("auto_find_batch_size"), TRUE):
        call.report("XLA409", "torch", "auto_find_batch_size=True", "", call.place("auto_find_batch_size"))


@asked("torch", *_FINDERS)
def finder(call: SetupCall) -> None:
    """`find_executable_batch_size(…)`, as a decorator with arguments or called."""
    call.report("XLA409", "torch", "find_executable_batch_size")
