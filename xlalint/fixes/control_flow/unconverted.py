"""XLA108, XLA109: what graph control flow cannot express. There is no rewrite; the reason says what a person would do."""

from __future__ import annotations

from xlalint.fixes.model import NoFix, Site


def branch_mismatch(site: Site) -> NoFix:
    """Branches of different types: which of them is meant is not written down."""
    if "returns" in site.hazard.detail:
        return NoFix(
            "what the other branch would return is the author's to say: assign to one name in both, and return it behind"
        )
    if site.framework == "jax":
        return NoFix("which shape and dtype is meant is the author's to say: make both branches return the same")
    return NoFix(
        "which value and dtype is meant is the author's to say: set the name before the `if`, and cast both to one dtype"
    )


def iteration(site: Site) -> NoFix:
    """Python iteration over a symbolic tensor, which need not have a length."""
    if "leave" in site.hazard.detail:
        return NoFix("a list cannot leave a graph loop: use `tf.map_fn`, or a `tf.TensorArray` of the loop's length")
    return NoFix(
        "whether the length is static is not known: iterate over `tf.unstack(x)` if it is, else use `tf.map_fn` or the whole tensor"
    )
