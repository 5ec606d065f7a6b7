"""The inputs of a subject: written (`spec`, `marks`), declared by its signature (`signatures`), and drawn step by step (`draws`).

Only `draws` needs NumPy, and only the child process imports it.
"""

from xlalint.verify.inputs.spec import (
    STEPS,
    WARM_UP,
    SpecError,
    fill_sizes,
    format_spec,
    merge_specs,
    parse_inputs,
    sizes_of,
    spec_of,
    specs_of,
)

__all__ = [
    "STEPS",
    "WARM_UP",
    "SpecError",
    "fill_sizes",
    "format_spec",
    "merge_specs",
    "parse_inputs",
    "sizes_of",
    "spec_of",
    "specs_of",
]
