"""XLA504: local paths, by where the TPU is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frameworks.tensorflow.tpus import MACHINE, NODE, UNKNOWN, find_lines
from xlalint.config import Settings
from xlalint.project import check_paths

MODEL = "with strategy.scope():\n    model = keras.Sequential()\n"
CHECKPOINT = "with strategy.scope():\n    c = tf.train.Checkpoint()\n"


SILENT = {
    "a bucket": "tf.data.TFRecordDataset('gs://bucket/train.tfrecord')",
    "a bucket by a variable": "root = 'gs://bucket'\ntf.data.TFRecordDataset(root + '/train.tfrecord')",
    "a bucket in an f-string": "bucket = name()\ntf.data.TFRecordDataset(f'gs://{bucket}/train.tfrecord')",
    "a bucket at the front of an f-string": "root = 'gs://bucket/a'\ntf.data.TFRecordDataset(f'{root}/train.tfrecord')",
    "a bucket that is joined": "tf.data.TFRecordDataset(os.path.join('gs://bucket', name()))",
    "buckets in a list": "tf.data.TFRecordDataset(['gs://a/1', 'gs://a/2'])",
    "a path that is not known": "import sys\ntf.data.TFRecordDataset(sys.argv[1])",
    "a name that is put together": "tf.data.TFRecordDataset(f'{name()}/train')",
    "a flag's": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', default='data')\na = p.parse_args()\n"
    "tf.data.TFRecordDataset(a.data)",
    "a helper's argument": "def data(path):\n    return tf.data.TFRecordDataset(path)\ndata('gs://bucket/a')",
    "a model in a file of Keras'": f"{MODEL}model.save('model.keras')",
    "weights in a file of Keras'": f"{MODEL}model.save_weights('model.weights.h5')",
    "a model under a name of which the end is not known": f"{MODEL}model.save('out/' + name())",
    "checkpoints in files of Keras'": "keras.callbacks.ModelCheckpoint('out/{epoch}.keras')",
    "a log that Python writes": "keras.callbacks.CSVLogger('log.csv')",
    "files that the program reads": "tf.io.gfile.GFile('names.txt').read()\nopen('names.txt')",
    "a checkpoint by this machine": f"{CHECKPOINT}o = tf.train.CheckpointOptions(experimental_io_device='/job:localhost')\n"
    "c.save('out/ckpt', options=o)",
    "a model by this machine": "d = '/job:localhost'\no = tf.saved_model.SaveOptions(experimental_io_device=d)\n"
    "tf.saved_model.save(m, 'out', options=o)",
    "another library's": "import torch\ntorch.save({}, 'out/ckpt')\nstore.save('out/ckpt')",
    "under a condition on the device": "if not tpu:\n    tf.data.TFRecordDataset('train.tfrecord')",
}
FOUND = {
    "records": "tf.data.TFRecordDataset('data/train.tfrecord')",
    "records in a list": "tf.data.TFRecordDataset(['gs://a/1', 'data/2'])",
    "records by a pattern": "tf.data.Dataset.list_files('/data/*.tfrecord')",
    "records by a variable": "root = 'data'\ntf.data.TFRecordDataset(os.path.join(root, 'train'))",
    "records in a folder that is put together": "tf.data.TextLineDataset(f'/data/{name()}.txt')",
    "a checkpoint": f"{CHECKPOINT}c.save('out/ckpt')",
    "a checkpoint manager": f"{CHECKPOINT}tf.train.CheckpointManager(c, 'out', max_to_keep=3)",
    "a model in a folder": f"{MODEL}model.save('out')",
    "an exported model": f"{MODEL}model.export('out')",
    "a model that TensorFlow saves": "tf.saved_model.save(m, 'out')",
    "checkpoints": "keras.callbacks.ModelCheckpoint('out/ckpt')",
    "logs": "keras.callbacks.TensorBoard(log_dir='logs')",
    "logs in the default folder": "tf.keras.callbacks.TensorBoard()",
    "summaries": "tf.summary.create_file_writer('logs')",
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(code: str) -> None:
    assert find_lines(f"{NODE}{code}\n", "XLA504") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found_on_a_node(code: str) -> None:
    assert find_lines(f"{NODE}{code}\n", "XLA504") == [code.splitlines()[-1]]


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_silent_on_the_tpus_own_machine(code: str) -> None:
    assert find_lines(f"{MACHINE}{code}\n", "XLA504") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_information_where_it_is_not_known(code: str) -> None:
    assert find_lines(f"{UNKNOWN}{code}\n", "XLA504") == [f"i {code.splitlines()[-1]}"]


def test_where_the_tpu_is_shows_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text(
        "import tensorflow as tf\ndef data():\n    return tf.data.TFRecordDataset('a/b')\n"
    )
    (tmp_path / "train.py").write_text(f"from data import data\n{NODE}data()\n")
    settings = Settings(root=str(tmp_path), jobs=1, python=None, select=("XLA504",))
    report = check_paths([tmp_path], settings)
    assert [(Path(one.filename).name, one.location.row) for one in report.findings] == [("data.py", 3)]
    (tmp_path / "train.py").write_text(f"from data import data\n{MACHINE}data()\n")
    assert not check_paths([tmp_path], settings).findings
