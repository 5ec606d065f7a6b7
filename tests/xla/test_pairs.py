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
    ("torch", "return x.var(unbiased=False)", "return (x * x).mean() - x.mean() ** 2", "values"),
    ("torch", "return (x - x.mean()).pow(2).mean()", "return (x - x.mean()).pow(2).sum() / x.numel()", ""),
    ("torch", "y = x * 2\n    if x.requires_grad:\n        y.retain_grad()\n    return y", "return x * 2", "values"),
    ("torch", "torch.backends.cudnn.deterministic = True\n    return x * 2", "return x * 2", "settings"),
    ("torch", "y = x * 2\n    y.scale = 2\n    return y", "return x * 2", "values"),
    ("torch", "return x.detach()", "return torch.nn.Parameter(x.detach(), requires_grad=False)", "values"),
    ("torch", "seen[:] = [x * 2]\n    return x", "seen[:] = [x.detach() * 2]\n    return x", "state"),
    ("torch", "seen[:] = [x.detach() * 2]\n    return x", "seen[:] = [(x * 2).detach()]\n    return x", ""),
    (
        "torch",
        "if not seen or len(seen) < len(x):\n        seen[:] = range(len(x))\n    return x * torch.tensor(seen[: len(x)])[:, None]",
        "if not seen:\n        seen[:] = range(len(x))\n    return x * torch.tensor(seen[: len(x)])[:, None]",
        "state",
    ),
    ("torch", "return x * 2", "with torch.inference_mode():\n        return x * 2", "values"),
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


HELD = """
from dataclasses import dataclass
from typing import Any, NamedTuple

{imports}


@dataclass
class Batch:
    x: Any
    n: int = 2


class Pair(NamedTuple):
    a: Any
    b: Any


# xlalint: inputs({inputs})
def f({parameters}):
    {body}
"""
IMPORTS = {"torch": "import torch", "tensorflow": "import tensorflow as tf", "jax": "import jax.numpy as jnp"}
BATCH = 'batch=Batch(x="f32[3]")', "batch"
PAIR = 'p=Pair("f32[3]", b="f32[3]")', "p"
BATCHES = 'batches=iter([{"x": "f32[3]"}, {"x": "f32[3]"}])', "batches"
FUNCTION = 'x="f32[3]", act=relu, two=maximum', "x, *, act, two"
MANY = '"f32[3]", "f32[3]", scale=2.0', "*xs, scale"
# Inputs with the parameters that take them, the two bodies, and the respect in which they differ; "" for none.
HELD_CASES = {
    "a dataclass": (BATCH, "return batch.x * batch.n", "return batch.x + batch.x", ""),
    "a dataclass of the module's own": (
        BATCH,
        "assert isinstance(batch, Batch)\n    return batch.x",
        "return batch.x",
        "",
    ),
    "a dataclass, changed": (BATCH, "return batch.x * 2", "batch.n = 3\n    return batch.x * 2", "arguments"),
    "a dataclass, other values": (
        BATCH,
        "return batch.x * batch.n",
        "return batch.x * (batch.n + 1)",
        "values or gradients",
    ),
    "a named tuple": (PAIR, "return p.a + p.b * 2", "a, b = p\n    return a + 2 * b", ""),
    "a named tuple, exchanged": (PAIR, "return p.a - p.b", "a, b = p\n    return b - a", "values or gradients"),
    "batches": (BATCHES, "return [one['x'] * 2 for one in batches]", "return [b['x'] + b['x'] for b in batches]", ""),
    "batches, one left": (BATCHES, "return list(batches)[0]['x'] * 2", "return next(batches)['x'] * 2", "arguments"),
    "functions": (FUNCTION, "return two(act(x), x)", "y = act(x)\n    return two(y, x)", ""),
    "functions, one left out": (FUNCTION, "return act(x) * 2", "return x * 2", "values or gradients"),
    "starred and keyword-only": (MANY, "return (xs[0] + xs[1]) * scale", "return scale * (xs[1] + xs[0])", ""),
    "starred, one left out": (
        MANY,
        "return xs[0] * scale + xs[1] * 0",
        "return xs[1] * 0 + xs[1]",
        "values or gradients",
    ),
}


@pytest.mark.parametrize("case", HELD_CASES)
@pytest.mark.parametrize(
    "framework", [pytest.param(one, marks=getattr(pytest.mark, mark)) for one, mark in MARKS.items()]
)
def test_inputs_that_hold_arrays(framework: str, case: str, pairs: Any) -> None:
    (inputs, parameters), *bodies, respect = HELD_CASES[case]
    texts = [
        HELD.format(imports=IMPORTS[framework], inputs=inputs, parameters=parameters, body=body) for body in bodies
    ]
    found = pairs.differences(framework, *texts, exact=False)
    assert len(found) == bool(respect), found
    assert all(one.partition(":")[0] in respect for one in found), found
