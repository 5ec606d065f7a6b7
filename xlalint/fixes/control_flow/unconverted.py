"""XLA108, XLA109: what graph control flow cannot express. There is no rewrite; the reason says what a person would do."""

from __future__ import annotations

from xlalint.fixes.model import NoFix, Site


def branch_mismatch(site: Site) -> NoFix:
    """Branches of different types: which of them is meant is not written down."""
    if "returns" in site.hazard.detail:
        return NoFix(
            "only the author knows what the other branch should return: assign to one name in both, and return it after the `if`"
        )
    if site.framework == "jax":
        return NoFix("only the author knows which shape and dtype is meant: make both branches return the same")
    return NoFix(
        "only the author knows which value and dtype is meant: set the name before the `if`, and cast both to one dtype"
    )


def iteration(site: Site) -> NoFix:
    """Python iteration over a symbolic tensor, which need not have a length."""
    if "leave" in site.hazard.detail:
        return NoFix("a list cannot leave a graph loop: use `tf.map_fn`, or a `tf.TensorArray` of the loop's length")
    return NoFix(
        "it is not known whether the length is static: iterate over `tf.unstack(x)` if it is, else use `tf.map_fn` or the whole tensor"
    )
