"""Gather what belongs to no single framework: Python's own library, NumPy, and the checks of several frameworks."""

from __future__ import annotations

from xlalint.abstract.values import ARRAYS
from xlalint.frameworks.checks import (
    eval_batch_differs,
    fp16_on_tpu,
    jit_per_call,
    late_configuration,
    partial_last_batch,
    unstable_static_argument,
    unsupported_dtype,
    variable_length_padding,
)
from xlalint.frameworks.checks.assigned_settings import OPTIONS, check_assigned
from xlalint.frameworks.checks.dispatch import check_setup
from xlalint.frameworks.numpy import calls as numpy_calls
from xlalint.frameworks.python import calls as python_calls
from xlalint.interpreter.semantics import Semantics

SEMANTICS = (
    Semantics(
        "python",
        functions=python_calls.FUNCTIONS,
        options=OPTIONS,
        on_call=(check_setup, python_calls.show_progress),
        on_library_call=(unsupported_dtype.check_dtype,),
        on_attribute=(check_assigned,),
        on_define=(jit_per_call.check_definition,),
    ),
    Semantics(
        ARRAYS,
        tensor_class="numpy.ndarray",
        host_arrays=frozenset(("numpy", "pandas", "polars", "scipy", "sklearn")),
        functions=numpy_calls.FUNCTIONS,
        elementwise=numpy_calls.ELEMENTWISE,
    ),
)

CHECKS = (
    eval_batch_differs,
    fp16_on_tpu,
    jit_per_call,
    late_configuration,
    partial_last_batch,
    unstable_static_argument,
    unsupported_dtype,
    variable_length_padding,
)
"""The modules of checks of several frameworks, which register themselves."""
