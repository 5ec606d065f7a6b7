"""XLA505: data sets that Python makes, by where the TPU is."""

from __future__ import annotations

import pytest

from tests.frameworks.tensorflow.tpus import MACHINE, NODE, UNKNOWN, find_lines

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
    assert find_lines(f"{NODE}{code}\n", "XLA505") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found_on_a_node(code: str) -> None:
    assert find_lines(f"{NODE}{code}\n", "XLA505") == [code.splitlines()[-1]]


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_silent_on_the_tpus_own_machine(code: str) -> None:
    assert find_lines(f"{MACHINE}{code}\n", "XLA505") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_information_where_it_is_not_known(code: str) -> None:
    assert find_lines(f"{UNKNOWN}{code}\n", "XLA505") == [f"i {code.splitlines()[-1]}"]
