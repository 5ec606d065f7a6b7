"""XLA501: `jit_compile=True` where a TPU strategy compiles anyway."""

from __future__ import annotations

from xlalint.abstract.values import TRUE
from xlalint.frameworks.checks.call_site import CallSite, asks_about, surely


@asks_about("tensorflow", "tensorflow.function", methods=("compile",))
def check_jit_compile(call: CallSite) -> None:
    """`model.compile(jit_compile=True)`, `tf.function(jit_compile=True)`."""
    if surely(call.value("jit_compile"), TRUE):
        shown = "tf.function" if call.last_name == "function" else call.last_name
        call.report("XLA501", "tensorflow", f"{shown}(jit_compile=True)")
