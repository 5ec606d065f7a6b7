"""XLA108, XLA109: what graph control flow cannot express. There is no rewrite; the reason says what a person would do."""

from __future__ import annotations

from xlalint.fixes.model import Reason, Site


def branch_mismatch(site: Site) -> Reason:
    """Branches of different types: which of them is meant is not written down."""
    if "returns" in site.hazard.detail:
        return Reason(
            "what the other branch would return is the author's to say: assign to one name in both, and return it behind"
        )
    if site.framework == "jax":
        return Reason("which shape and dtype is meant is the author's to say: make both branches return the same")
    return Reason(
        "which value and dtype is meant is the author's to say: set the name before the `if`, and cast both to one dtype"
    )


def iteration(site: Site) -> Reason:
    """Python iteration over a symbolic tensor, which need not have a length."""
    if "leave" in site.hazard.detail:
        return Reason("a list cannot leave a graph loop: use `tf.map_fn`, or a `tf.TensorArray` of the loop's length")
    return Reason(
        "whether the length is static is not known: iterate over `tf.unstack(x)` if it is, else use `tf.map_fn` or the whole tensor"
    )
