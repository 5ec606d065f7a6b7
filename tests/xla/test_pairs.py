"""What the comparison of two programs, run eagerly, tells apart, in each framework: the tests of fixes rest on it."""

from __future__ import annotations

from typing import Any

import pytest

MARKS = {"torch": "torch_xla", "tensorflow": "tensorflow", "jax": "jax"}
FORMS = {
    "torch": "import torch\n\nseen = []\n\n\n# xlalint: inputs(x='f32[4,3]')\ndef f(x):\n    {}\n",
    "tensorflow": "import random\n\nimport tensorflow as tf\n\nseen = []\n\n\n# xlalint: inputs(x='f32[4,3]')\ndef f(x):\n    {}\n",
    "jax": "import random\n\nimport jax\nimport jax.numpy as jnp\n\nseen = []\n\n\n# xlalint: inputs(x='f32[4,3]')\ndef f(x):\n    {}\n",
}
# Framework, the two bodies, and the respect in which they differ; "" for none.
CASES = [
    ("torch", "return x.sum().item()", "return x.sum().detach()", ""),
    ("torch", "return x.sum().item()", "return x.sum()", "gradients"),
    ("torch", "return x * 2", "return x.detach() * 2", "gradients"),
    (
        "torch",
        "return x * 2 if x.sum() > 0 else torch.zeros_like(x)",
        "return torch.where(x.sum() > 0, x * 2, 0.0)",
        "",
    ),
    ("torch", "return x", "return x * 1", "layout"),
    ("torch", "return x if x.sum() > 0 else x", "return torch.where(x.sum() > 0, x, x)", ""),
    ("torch", "return x + 1", "return x.add_(1)", "arguments"),
    ("torch", "return x * 2", "print(1)\n    return x * 2", "printed"),
    ("torch", "seen.append(1)\n    return x * 2", "return x * 2", "state"),
    ("torch", "return x * 2", "torch.rand(2)\n    return x * 2", "random"),
    ("torch", "x += 1\n    return x * 2", "x = x + 1\n    return x * 2", "arguments"),
    ("torch", "return x.relu()", "return torch.where(x > 0, x, 0.0)", "values"),
    ("torch", "return 1 / 0 if len(x) else x.sum()", "return x.sum() + 1", "values"),
    ("tensorflow", "return float(tf.reduce_sum(x))", "return tf.reduce_sum(x)", ""),
    ("tensorflow", "return x * 2", "return tf.stop_gradient(x) * 2", "gradients"),
    ("tensorflow", "return x * 2", "print(1)\n    return x * 2", "printed"),
    ("tensorflow", "seen.append(1)\n    return x * 2", "return x * 2", "state"),
    ("tensorflow", "return x * 2", "random.random()\n    return x * 2", "random"),
    ("tensorflow", "tf.print('a', x[0])\n    return x * 2", "tf.print('a', x[0])\n    return (x * 4) / 2", ""),
    ("tensorflow", "tf.print('a')\n    return x * 2", "return x * 2", "printed"),
    ("tensorflow", "tf.print(tf.shape(x))\n    return x * 2", "tf.print(tf.size(x))\n    return x * 2", "printed"),
    ("tensorflow", "return x > 1", "return (x > 1).numpy()", "layout"),
    ("tensorflow", "return (x > 1).numpy()", "return x > 1", ""),
    ("jax", "return x * 2", "return (x * 4) / 2", ""),
    ("jax", "return jnp.arange(3)", "import numpy\n    return numpy.arange(3, dtype='int32')", "layout"),
    ("jax", "return (x > 1).any()", "import numpy\n    return numpy.asarray((x > 1).any())[()]", "layout"),
    ("jax", "import numpy\n    return numpy.asarray(x) > 1", "return x > 1", ""),
    ("jax", "return {'a': x > 1, 'b': 2}", "return {'a': jnp.greater(x, 1), 'b': 2}", ""),
    ("jax", "return x * 2", "return jax.lax.stop_gradient(x) * 2", "gradients"),
    ("jax", "return x * 2", "print(1)\n    return x * 2", "printed"),
    ("jax", "seen.append(1)\n    return x * 2", "return x * 2", "state"),
    ("jax", "return x * 2", "random.random()\n    return x * 2", "random"),
]


@pytest.mark.parametrize(
    ("framework", "before", "after", "respect"),
    [pytest.param(*case, marks=getattr(pytest.mark, MARKS[case[0]])) for case in CASES],
)
def test_differences(framework: str, before: str, after: str, respect: str, pairs: Any) -> None:
    form = FORMS[framework]
    found = pairs.differences(framework, form.format(before), form.format(after), exact=False)
    assert [one.partition(":")[0] for one in found] == ([respect] if respect else []), found
