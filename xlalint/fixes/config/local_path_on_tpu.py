"""XLA504: files that TensorFlow is to write on this machine, not on the TPU's."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import Replacement

_BUCKET = NoFix("put the files where both machines can reach them: `gs://…`")
_OPTIONS = {
    "save": "train.CheckpointOptions",
    "restore": "train.CheckpointOptions",
    "write": "train.CheckpointOptions",
    "read": "train.CheckpointOptions",
    "saved_model.save": "saved_model.SaveOptions",
}


def by_this_machine(site: Site) -> Rewrite | NoFix | None:
    """`checkpoint.save(path)` → `checkpoint.save(path, options=tf.train.CheckpointOptions(experimental_io_device="/job:localhost"))`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return _BUCKET
    code = scene.code(node.func)
    called = "saved_model.save" if code.endswith(".saved_model.save") else code.rpartition(".")[2]
    options = _OPTIONS.get(called)
    if options is None or not site.hazard.detail.startswith(
        "refers to"
    ):  # a model's own methods take other options in each Keras
        return _BUCKET
    module = next(
        (one.local for one in scene.document.unit.imports if (one.module, one.name) == ("tensorflow", "")), ""
    )
    if not module or not node.args or node.args[-1].star:
        return _BUCKET
    place = scene.whole(node.args[-1].value)[1]
    text = f', options={module}.{options}(experimental_io_device="/job:localhost")'
    return Rewrite(
        "Write it on this machine", (Replacement(place, place, text),), "the files are wanted on this machine"
    )
