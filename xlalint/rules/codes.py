"""Codes of the rules that the engine reports, named like their pages.

The engine speaks of hazards by these names. Which code a name has stands here and on the page; `tests/structure` compares the two.
"""

from __future__ import annotations

from typing import Final

ANALYSIS_CUT_OFF: Final = "XLA005"
TENSOR_IF: Final = "XLA101"
TENSOR_WHILE: Final = "XLA102"
TENSOR_ASSERT: Final = "XLA103"
TENSOR_BOOL_OPERATOR: Final = "XLA104"
TENSOR_TERNARY: Final = "XLA105"
TENSOR_MEMBERSHIP: Final = "XLA106"
TENSOR_LOOP_BOUND: Final = "XLA107"
BRANCH_MISMATCH: Final = "XLA108"
AUTOGRAPH_UNSUPPORTED: Final = "XLA109"
BOOLEAN_MASK_INDEX: Final = "XLA201"
NONZERO: Final = "XLA202"
UNIQUE: Final = "XLA203"
MASK_ASSIGNMENT: Final = "XLA205"
VALUE_SIZED_SHAPE: Final = "XLA206"
SCALAR_TENSOR_INDEX: Final = "XLA208"
DYNAMIC_TENSORARRAY: Final = "XLA210"
ITEM: Final = "XLA301"
TO_HOST: Final = "XLA302"
PRINT_TENSOR: Final = "XLA303"
TRACE_TIME_EFFECT: Final = "XLA306"
GROWING_TENSOR: Final = "XLA406"
NO_KERNEL: Final = "XLA601"
DISABLED_FUNCTION: Final = "XLA702"
RANDOM_STATE: Final = "XLA708"
