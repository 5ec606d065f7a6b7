"""XLA504, XLA505: what a TPU node, whose TPU is on another machine than the program, cannot reach (TensorFlow 2.21, Keras 3.15).

What TensorFlow's operations read and write is the disk of the machine that they run on, and a node's default is the TPU's. Where the TPU
is shows in other places of the program, so whether these are hazards is decided from the roots (`analysis.decision`).
"""

from __future__ import annotations

from collections.abc import Iterator

from xlalint.abstract.values import Const, LibraryInstance, Sequence, Value, members
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.checks.call_site import CallSite, asks_about
from xlalint.frameworks.tensorflow.checks.outside_strategy_scope import kind_of, receiver_of
from xlalint.interpreter.paths import LOCAL, leads_to
from xlalint.interpreter.spelling import spelling

_CALLBACKS = ("tensorflow.keras.callbacks", "keras.callbacks")
_READ = {
    "tensorflow.data.TFRecordDataset": "filenames",
    "tensorflow.data.TextLineDataset": "filenames",
    "tensorflow.data.FixedLengthRecordDataset": "filenames",
    "tensorflow.data.Dataset.list_files": "file_pattern",
    "tensorflow.data.Dataset.load": "path",
    "tensorflow.data.experimental.make_csv_dataset": "file_pattern",
    "tensorflow.data.experimental.CsvDataset": "filenames",
    "tensorflow.data.experimental.load": "path",
}
_WRITTEN = {
    "tensorflow.summary.create_file_writer": ("logdir", 0),
    "tensorflow.train.CheckpointManager": ("directory", 1),
    "tensorflow.saved_model.save": ("export_dir", 1),
    **{f"{package}.TensorBoard": ("log_dir", 0) for package in _CALLBACKS},
    **{f"{package}.BackupAndRestore": ("backup_dir", 0) for package in _CALLBACKS},
    **{f"{package}.ModelCheckpoint": ("filepath", 0) for package in _CALLBACKS},
}
# Files that Keras itself writes, in Python: on this machine.
_BY_PYTHON = (".h5", ".hdf5", ".keras")
_SAVING = ("save", "restore", "write", "read", "save_weights", "load_weights", "export")


@asks_about("tensorflow", *_READ)
def check_read(call: CallSite) -> None:
    """`tf.data.TFRecordDataset("train.tfrecord")`."""
    keyword = _READ[call.name]
    if any(leads_to(path) == LOCAL for path in _paths(call.value(keyword, 0))):
        _report(call, keyword, 0, "reads from this machine's disk, which a TPU node cannot reach")


@asks_about("tensorflow", *_WRITTEN)
def check_write(call: CallSite) -> None:
    """`TensorBoard("logs")`, `ModelCheckpoint("ckpt")`, `CheckpointManager(…, "ckpt")`."""
    keyword, index = _WRITTEN[call.name]
    path = call.value(keyword, index)
    left_out = call.last_name == "TensorBoard" and call.lacks(keyword, index)
    of_keras = call.last_name == "ModelCheckpoint" and _by_python(path)
    if (left_out or leads_to(path) == LOCAL) and not of_keras and call.lacks("options"):
        _report(call, keyword, index, "refers to this machine's disk, which a TPU node cannot reach")


@asks_about("tensorflow", methods=_SAVING)
def check_save(call: CallSite) -> None:
    """`checkpoint.save("ckpt")`, and what Keras 2 has TensorFlow save: `model.save("folder")`, `model.save_weights("prefix")`."""
    receivers = members(receiver_of(call))
    of_checkpoint = any(
        isinstance(one, LibraryInstance) and one.name == "tensorflow.train.Checkpoint" for one in receivers
    )
    of_model = any(kind_of(call.frame, one) == "model" for one in receivers)
    path = call.value("filepath", 0) or call.value("file_prefix") or call.value("save_path")
    if not of_checkpoint and not (of_model and call.name not in ("restore", "write", "read")):
        return
    of_keras = of_model and call.name != "export" and _by_python(path)
    if leads_to(path) == LOCAL and not of_keras and call.lacks("options"):
        whose = "the model refers to" if of_model else "refers to"
        _report(call, "filepath", 0, f"{whose} this machine's disk, which a TPU node cannot reach")


def _paths(value: Value | None) -> Iterator[Value]:
    if isinstance(value, Sequence):
        yield from value.items or (value.element,)
    elif value is not None:
        yield value


def _by_python(path: Value | None) -> bool:
    """Return whether Keras itself writes a file of that name, or may.

    It may where the end of the name is not known.
    """
    text = path.value if isinstance(path, Const) else None
    return text.endswith(_BY_PYTHON) if isinstance(text, str) else True


def _report(call: CallSite, keyword: str, index: int, detail: str) -> None:
    node = call.node_of(keyword, index)
    subject = f"{spelling(call.node.func)}({spelling(node) if node is not None else ''})"
    call.report("XLA504", "tensorflow", subject, detail, call.node.at)


@asks_about(
    "tensorflow",
    "tensorflow.data.Dataset.from_generator",
    "tensorflow.numpy_function",
    "tensorflow.py_function",
    methods=("to_tf_dataset", "prepare_tf_dataset"),
)
def check_impure(call: CallSite) -> None:
    """`Dataset.from_generator`, `tf.py_function`; `to_tf_dataset` and `prepare_tf_dataset`, which are made of them."""
    detail = "runs Python while data is read, and a TPU node has no Python"
    call.report("XLA505", "tensorflow", call.spelled, detail, at_most=Confidence.LIKELY)
