"""XLA505: data sets that Python makes, by where the TPU is."""

from __future__ import annotations

import pytest

from xlalint.config import Settings
from xlalint.project import check_text

IMPORTS = "import os\nimport keras\nimport tensorflow as tf\nfrom tensorflow.distribute.cluster_resolver import TPUClusterResolver\n"
READY = (
    "tf.config.experimental_connect_to_cluster(r)\ntf.tpu.experimental.initialize_tpu_system(r)\n"
    "strategy = tf.distribute.TPUStrategy(r)\n"
)
NODE = f"{IMPORTS}r = TPUClusterResolver('grpc://10.0.0.2:8470')\n{READY}"
MACHINE = f"{IMPORTS}r = TPUClusterResolver(tpu='local')\n{READY}"
UNKNOWN = f"{IMPORTS}r = TPUClusterResolver(tpu=os.environ['TPU'])\n{READY}"


def found(text: str) -> list[str]:
    """The lines of what is found, with a mark at information."""
    report = check_text(text, "train.py", Settings(target="tf", show_info=True, select=("XLA505",), python=None))
    assert not report.failures
    lines = text.splitlines()
    marks = {"info": "i ", "warning": "w ", "error": ""}
    return [marks[one.severity] + lines[one.location.row - 1].strip() for one in report.findings]


SILENT = {
    "data in memory": "tf.data.Dataset.from_tensor_slices(x)",
}
FOUND = {
    "a generator": "tf.data.Dataset.from_generator(g, output_signature=s)",
    "a Python function": "tf.py_function(f, [x], tf.float32)",
    "a data set of Hugging Face's": "data.to_tf_dataset(batch_size=8)",
    "a data set of Hugging Face's, for a model": "model.prepare_tf_dataset(data)",
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(code: str) -> None:
    assert found(f"{NODE}{code}\n") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found_on_a_node(code: str) -> None:
    assert found(f"{NODE}{code}\n") == [code.splitlines()[-1]]


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_silent_on_the_tpus_own_machine(code: str) -> None:
    assert found(f"{MACHINE}{code}\n") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_information_where_it_is_not_known(code: str) -> None:
    assert found(f"{UNKNOWN}{code}\n") == [f"i {code.splitlines()[-1]}"]
