"""What a subject is called with: written (`spec`, `marks`), declared by its signature (`signatures`), and drawn step by step (`draws`).

Only `draws` needs NumPy, and only the child process imports it.
"""

from xlalint.verify.inputs.spec import SpecError, merged, parse_inputs, spec_of, specs_of, written

__all__ = ["SpecError", "merged", "parse_inputs", "spec_of", "specs_of", "written"]
