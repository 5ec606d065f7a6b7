"""XLA501: `jit_compile=True` where a TPU strategy compiles anyway."""

from __future__ import annotations

from xlalint.semantics.setup.calls import SetupCall, asked, surely
from xlalint.semantics.values import TRUE


@asked("tensorflow", "tensorflow.function", methods=("compile",))
def jit_compile(call: SetupCall) -> None:
    """`model.compile(jit_compile=True)`, `tf.function(jit_compile=True)`."""
    if surely(call.value("jit_compile"), TRUE):
        shown = "tf.function" if call.last_name == "function" else call.last_name
        call.report("XLA501", "tensorflow", f"{shown}(jit_compile=True)")
