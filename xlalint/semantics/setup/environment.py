"""XLA507: variables of the environment that the runtime no longer heeds, or soon will not."""

from __future__ import annotations

VARIABLES = ("XLA_USE_BF16", "XLA_DOWNCAST_BF16", "XRT_")
