"""What targets have no kernel for: found, and the larger half left alone."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.conftest import Findings, Loud

TORCH = """
import torch
import torch.nn.functional as F
from torch import Tensor, nn
"""

SILENT = {
    "one draw": "def f(p: Tensor):\n    return torch.multinomial(p, 1) + p.multinomial(num_samples=1)",
    "draws with replacement": "def f(p: Tensor):\n    return torch.multinomial(p, 4, replacement=True)",
    "draws of which the number is not known": "def f(p: Tensor, n: int):\n    return torch.multinomial(p, n)",
    "interpolation with a kernel": """
        def f(x: Tensor):
            return F.interpolate(x, scale_factor=2) + F.interpolate(x, scale_factor=2, mode="bilinear")
        """,
    "interpolation of which nothing is known": "def f(x: Tensor, mode: str):\n    return F.interpolate(x, scale_factor=2, mode=mode)",
    "products as they come": "def f(x: Tensor, y: Tensor):\n    return torch.addmm(x, y, y) + torch.addmm(x, y, y, alpha=1)",
    "a pool": "def f(x: Tensor):\n    return F.max_pool2d(x, 2) + F.max_pool2d(x, 2, dilation=1) + F.adaptive_avg_pool2d(x, 1)",
    "an embedding": "def f(x: Tensor, w: Tensor):\n    return F.embedding(x, w, max_norm=None)",
    "order": "def f(x: Tensor):\n    return x.sort().values + x.kthvalue(2).values + x.quantile(0.5) + x.cummax(0).values",
    "rounding to whole numbers": "def f(x: Tensor):\n    return x.round() + torch.round(x)",
    "decompositions with a kernel": """
        def f(a: Tensor):
            return torch.linalg.svdvals(a) + torch.linalg.eigh(a)[0] + torch.linalg.slogdet(a)[1] + torch.triangular_solve(a, a)[0]
        """,
    "what is done on the host": """
        import numpy as np
        def f(path: str):
            data = np.load(path)
            return torch.fft.rfft(torch.from_numpy(data).cpu())
        """,
    "losses": "def f(x: Tensor, y: Tensor):\n    return F.smooth_l1_loss(x, y) + F.cross_entropy(x, y)",
    "complex numbers as pairs": "def f(x: Tensor):\n    return torch.view_as_real(torch.view_as_complex(x) * 2)",
}
FOUND = {
    "a median, by method and by function": (
        "def f(x: Tensor):\n    return x.median() + torch.median(x, 1)[0]",
        ["XLA602"] * 2,
    ),
    "Fourier transforms": (
        "def f(x: Tensor):\n    return torch.fft.irfft(torch.fft.rfft(x)) + torch.stft(x, 8).sum()",
        ["XLA602"] * 3,
    ),
    "an operation of torchvision": (
        "import torchvision\ndef f(x: Tensor, boxes: Tensor):\n    return torchvision.ops.roi_align(x, boxes, (7, 7))",
        ["XLA602"],
    ),
    "a module": (
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.loss = nn.HuberLoss()
                self.unfold = nn.Unfold(3)
            def forward(self, x: Tensor, y: Tensor):
                return self.loss(x, y) + self.unfold(x).mean()
        """,
        ["XLA602"] * 2,
    ),
    "three draws": ("def f(p: Tensor):\n    return torch.multinomial(p, 3)", ["XLA602"]),
    "interpolation without a kernel": (
        """
        def f(x: Tensor):
            y = F.interpolate(x, scale_factor=2, mode="bicubic")
            return F.interpolate(y, size=(4, 4), mode="bilinear", antialias=True)
        """,
        ["XLA602"] * 2,
    ),
    "interpolation of a sequence": (
        "def f(x: Tensor):\n    b, c, n = x.shape\n    return F.interpolate(x.reshape(b, c, n), scale_factor=2)",
        ["XLA602"],
    ),
    "weighted products": ("def f(x: Tensor, y: Tensor):\n    return torch.addmm(x, y, y, beta=0.5)", ["XLA602"]),
    "rounding to digits": ("def f(x: Tensor):\n    return x.round(decimals=2)", ["XLA602"]),
    "what another rule reports is reported once": (
        "def f(x: Tensor):\n    return x.unique() + torch.linalg.cholesky(x) + x.bincount(minlength=4)",
        ["XLA203", "XLA305", "XLA207"],
    ),
    "what another rule lets pass here": (
        "def f(x: Tensor, y: Tensor, a: Tensor, b: Tensor):\n    return F.ctc_loss(x, y, a, b)",
        ["XLA602"],
    ),
}


@pytest.mark.parametrize("case", SILENT)
def test_silent(loud: Loud, case: str) -> None:
    assert loud(TORCH + dedent(SILENT[case]), "torch_xla") == []


@pytest.mark.parametrize("case", FOUND)
def test_found(loud: Loud, case: str) -> None:
    code, expected = FOUND[case]
    assert loud(TORCH + dedent(code), "torch_xla") == expected


@pytest.mark.parametrize("case", FOUND)
def test_other_targets_of_torch_run_them(loud: Loud, case: str) -> None:
    assert "XLA602" not in loud(TORCH + dedent(FOUND[case][0]), "torch_compile")


def test_a_gradient_is_information(findings: Findings) -> None:
    code = "def f(x: Tensor):\n    return F.glu(x) + torch.logit(x)"
    assert findings(TORCH + code, "torch_xla") == [("XLA602", "info")] * 2


TF = "import keras\nimport tensorflow as tf\n"
TF_SILENT = {
    "kernels that are there": """
        @tf.function(jit_compile=True)
        def f(x, ids):
            return tf.math.unsorted_segment_sum(x, ids, 3) + tf.linalg.cholesky(x) + tf.reduce_sum(tf.linalg.svd(x)[0])
        """,
    "resizing with a kernel": """
        @tf.function(jit_compile=True)
        def f(x):
            return tf.image.resize(x, (8, 8)) + tf.image.resize(x, (8, 8), method="nearest")
        """,
    "what no tensor is given to": """
        @tf.function(jit_compile=True)
        def f(x):
            return x * 2

        table = tf.linalg.det([[1.0, 2.0], [3.0, 4.0]])
        """,
}
TF_PIPELINES = {
    "strings": """
        {head}
        def f(words: tf.Tensor):
            return tf.strings.to_number(tf.strings.regex_replace(words, "a", "b"))
        """,
    "pictures": "{head}\ndef f(data: tf.Tensor):\n    return tf.image.resize(tf.io.decode_jpeg(data), (8, 8))",
    "files": "{head}\ndef f(name: tf.Tensor):\n    return tf.io.decode_raw(tf.io.read_file(name), tf.uint8)",
    "examples": "{head}\ndef f(data: tf.Tensor):\n    return tf.io.parse_single_example(data, FEATURES)['a']",
    "a table": """
        TABLE = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(KEYS, VALUES), -1)

        {head}
        def f(ids: tf.Tensor):
            return TABLE.lookup(ids)
        """,
    "a queue": """
        QUEUE = tf.queue.FIFOQueue(10, tf.float32)

        {head}
        def f(x: tf.Tensor):
            QUEUE.enqueue(x)
            return QUEUE.dequeue()
        """,
}
TF_FOUND = {
    "what is drawn, whatever it is given": (
        "@tf.function(jit_compile=True)\ndef f(x: tf.Tensor):\n    return x + tf.random.gamma([3], 1.0)",
        ["XLA601"],
    ),
    "a determinant": (
        "@tf.function(jit_compile=True)\ndef f(x: tf.Tensor):\n    return tf.linalg.det(x)",
        ["XLA601"],
    ),
    "a Bessel function in a layer": (
        """
        class Window(keras.layers.Layer):
            def call(self, x):
                return tf.math.bessel_i0(x)
        """,
        ["XLA601"],
    ),
    "resizing without a kernel": (
        "@tf.function(jit_compile=True)\ndef f(x: tf.Tensor):\n    return tf.image.resize(x, (8, 8), method='bicubic')",
        ["XLA601"],
    ),
    "a function of Python's": (
        "@tf.function(jit_compile=True)\ndef f(x: tf.Tensor):\n    return tf.py_function(abs, [x], tf.float32)",
        ["XLA604"],
    ),
    "a set, which another rule reports": (
        "@tf.function(jit_compile=True)\ndef f(x: tf.Tensor):\n    return tf.sets.union(x, x)",
        ["XLA209"],
    ),
}


@pytest.mark.parametrize("case", TF_SILENT)
def test_tensorflow_silent(loud: Loud, case: str) -> None:
    assert loud(TF + dedent(TF_SILENT[case]), "tf") == []


@pytest.mark.parametrize("case", TF_FOUND)
def test_tensorflow_found(loud: Loud, case: str) -> None:
    code, expected = TF_FOUND[case]
    assert loud(TF + dedent(code), "tf") == expected


@pytest.mark.parametrize("case", TF_PIPELINES)
def test_what_is_at_home_in_pipelines_is_found_in_what_xla_compiles(loud: Loud, case: str) -> None:
    code = dedent(TF_PIPELINES[case])
    assert "XLA601" in loud(TF + code.format(head="@tf.function(jit_compile=True)"), "tf")


@pytest.mark.parametrize(
    "head", ["@tf.function", "@tf.function(jit_compile=False)", "@tf.function(jit_compile=flag)", ""]
)
@pytest.mark.parametrize("case", TF_PIPELINES)
def test_what_is_at_home_in_pipelines_is_left_there(loud: Loud, case: str, head: str) -> None:
    assert loud(TF + dedent(TF_PIPELINES[case]).format(head=head), "tf") == []


def test_a_map_of_a_pipeline_is_none_of_xlas(loud: Loud) -> None:
    code = """
    def parse(name):
        return tf.io.decode_jpeg(tf.io.read_file(name))

    @tf.function(jit_compile=True)
    def step(x: tf.Tensor):
        return x * 2

    data = tf.data.Dataset.list_files("*.jpg").map(parse)
    """
    assert loud(TF + dedent(code), "tf") == []


def test_a_callback_of_a_loop_is_information(findings: Findings) -> None:
    code = """
    import jax

    @jax.jit
    def f(x: jax.Array) -> jax.Array:
        def body(total, row):
            jax.debug.callback(print, row)
            jax.debug.callback(lambda: print("a turn"))
            return total + row, None

        return jax.lax.scan(body, x[0], x)[0]
    """
    assert findings(code, "jax") == [("XLA604", "info")]


def test_jax_callbacks_are_information(findings: Findings) -> None:
    code = """
    import jax
    import numpy as np

    @jax.jit
    def f(x: jax.Array) -> jax.Array:
        jax.debug.print("{}", x)
        return jax.pure_callback(np.sort, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    """
    assert findings(code, "jax") == [("XLA604", "info")]
