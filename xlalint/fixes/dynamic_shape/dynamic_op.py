"""XLA209: no operation with a result of any size has a static twin that gives the same; what a person would do instead."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Site

_BOXES = NoFix(
    "how many boxes to keep is a choice: the best by score (`topk`), with a mask of those that are suppressed"
)
_REASONS = {
    "batched_nms": _BOXES,
    "combinations": NoFix(
        "if `n` is fixed, take the pairs with `torch.triu_indices(n, n, 1)`, computed before the step"
    ),
    "combined_non_max_suppression": NoFix(
        "use `tf.image.non_max_suppression_padded`, which gives a fixed number of boxes"
    ),
    "dynamic_partition": NoFix("keep all rows, with a mask of each part"),
    "dynamic_stitch": NoFix("keep all rows in place, and choose between the parts by `tf.where`"),
    "nms": _BOXES,
    "non_max_suppression": NoFix("use `tf.image.non_max_suppression_padded`, which gives a fixed number of boxes"),
}
_RAGGED = NoFix("use a dense tensor, with a mask (`tf.sequence_mask`) of what each row holds")
_OTHER = NoFix("how many results to keep is a choice of the model: a fixed number, with a mask of those that count")


def explain_op(site: Site) -> NoFix:
    """Why an operation stays, by its name."""
    node = site.node
    func = node.func if isinstance(node, cst.Call) else None
    name = func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""
    code = site.scene.code(node).lower()
    if name not in _REASONS and ("ragged" in code or "sparse" in code):
        return _RAGGED
    return _REASONS.get(name, _OTHER)
