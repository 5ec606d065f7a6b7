"""What runs a graph of TensorFlow's, and which release of Keras calls its methods: what only XLA minds is information elsewhere."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from xlalint.config import Settings, load_settings
from xlalint.project import check_paths, check_text

IMPORTS = "import numpy as np\nimport tensorflow as tf\nimport keras\nimport jax\n"
SIZED = "n = tf.reduce_max(x)\n    return tf.zeros([n])\n"
REPLICAS = "{strategy}\n\ndef replica(x):\n    {sized}\n\n@tf.function\ndef step(x):\n    return strategy.run(replica, args=(x,))\n"

# TensorFlow 2.21 runs each of these.
LAYER = (
    "def spread(rows, times):\n    if times > 2:\n        rows = tf.repeat(rows, times)\n"
    "    kept = tf.TensorArray(tf.float32, 1, dynamic_size=True)\n    return kept.write(3, rows[0]).stack()\n\n"
    "def build():\n    start = keras.Input((3,))\n"
    "    model = keras.Model(start, tf.keras.layers.Lambda(spread, arguments={{'times': 3}})(start))\n    {0}\n    return model\n"
)

MODEL = (
    "class Own(keras.Model):\n    def __init__(self, options):\n        super().__init__()\n        self.options = options\n\n"
    "    def test_step(self, x):\n        if {}:\n            self.kept = tf.square(x).numpy()\n        return {{}}\n"
)

SILENT = {
    "a layer of a function in a model that XLA does not compile": LAYER.format(
        "model.compile('adam', jit_compile=False)"
    ),
    "a function that other things are made of": LAYER.replace(
        "tf.keras.layers.Lambda(spread, arguments", "dict(f=spread, arguments"
    )
    .replace("}})(start)", "}})")
    .format("model.compile('adam', jit_compile=True)"),
    "a function of TensorFlow's runtime": "@tf.function\ndef f(x):\n    " + SIZED,
    "one that says so": "@tf.function(jit_compile=False)\ndef f(x):\n    " + SIZED,
    "what it calls": "def g(x):\n    " + SIZED + "\n@tf.function\ndef f(x):\n    return g(x)\n",
    "a function that it is given": "def f(x):\n    " + SIZED + "\ng = tf.function(f)\n",
    "on the host's side": "@tf.function\ndef f(x):\n    return tf.numpy_function(np.load, [x], tf.float32)\n",
    "an array that grows": (
        "@tf.function\ndef f(x):\n    a = tf.TensorArray(tf.int32, 1, dynamic_size=True)\n    return a.write(3, x).stack()\n"
    ),
    "what a model does where it runs eagerly": MODEL.format("self.run_eagerly"),
    "what a model does where a setting says that it runs eagerly": MODEL.format(
        "self.options.run_eagerly and self.options.log"
    ),
    "what it prints": "@tf.function\ndef f(x):\n    tf.print(x)\n    return x\n",
    "what a TPU's replicas print": REPLICAS.format(
        strategy="strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver('a'))",
        sized="tf.summary.scalar('x', tf.reduce_sum(x), step=0)\n    tf.print(x)\n    return x",
    ),
    "the replicas of a GPU": REPLICAS.format(strategy="strategy = tf.distribute.MirroredStrategy()", sized=SIZED),
    "operations that another framework's tracer runs at once": (
        "class Table:\n    def __init__(self, x):\n        self.x = x\n\n"
        "def resize(x):\n    return tf.constant(x).numpy()\n\n@jax.jit\ndef f(y):\n    return y + resize(np.ones(3))\n"
    ),
    "ragged tensors in a layer, which prepares data": (
        "class Own(keras.layers.Layer):\n    def call(self, x):\n        rows = tf.ragged.stack([x[0], x[1]])\n"
        "        return tf.RaggedTensor.from_tensor(x) + rows\n"
    ),
    "an augmentation": (
        "class RandomCut(keras.layers.BaseImageAugmentationLayer):\n    def augment(self, x):\n        return x\n\n"
        "class BaseAugmentationLayer(keras.layers.Layer):\n    pass\n\nclass Cut(BaseAugmentationLayer):\n"
        "    def call(self, x):\n        n = tf.reduce_max(x)\n        return tf.zeros([n])\n"
    ),
    "a metric of host code": (
        "class Own(keras.metrics.Metric):\n    def update_state(self, y, p):\n        self.n = float(np.mean(y.numpy() == p.numpy()))\n"
    ),
}
FOUND = {
    "a layer of a function": (LAYER.format("model.compile('adam', jit_compile=True)"), ["XLA210"]),
    "a compiled function that prints": ("@tf.function(jit_compile=True)\ndef f(x):\n    tf.print(x)\n    return x\n", ["XLA303"]),
    "a function that XLA compiles": ("@tf.function(jit_compile=True)\ndef f(x):\n    " + SIZED, ["XLA206"]),
    "one that may be": ("def make(jit):\n    @tf.function(jit_compile=jit)\n    def f(x):\n        n = tf.reduce_max(x)\n        return tf.zeros([n])\n    return f\n", ["XLA206"]),  # noqa: E501
    "what a model does where it does not run eagerly": (MODEL.format("not self.run_eagerly"), ["XLA302"]),
    "what both kinds call": (
        "def g(x):\n    " + SIZED + "\n@tf.function\ndef f(x):\n    return g(x)\n\n"
        "@tf.function(jit_compile=True)\ndef h(x):\n    return g(x)\n",
        ["XLA206"],
    ),
    "the replicas of a TPU": (
        REPLICAS.format(strategy="strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver('a'))", sized=SIZED),  # noqa: E501
        ["XLA206"],
    ),
    "ragged tensors in a function that XLA compiles": (
        "@tf.function(jit_compile=True)\ndef f(x):\n    return tf.ragged.stack([x[0], x[1]])\n",
        ["XLA209"],
    ),
    "what Keras 3 compiles": (
        "class Own(keras.layers.Layer):\n    def call(self, x):\n        n = tf.reduce_max(x)\n        return tf.zeros([n])\n",
        ["XLA206"],
    ),
    "what fails in any graph": ("@tf.function\ndef f(x):\n    return x * x.numpy()\n", ["XLA302"]),
    "a format that asks for the value": ("@tf.function\ndef f(x):\n    return x, f'{x:.2f}'\n", ["XLA303"]),
    "what AutoGraph does not see": (
        "@tf.function(autograph=False)\ndef f(x):\n    if tf.reduce_sum(x) > 0:\n        x = x + 1\n    return x\n",
        ["XLA101"],
    ),
}  # fmt: skip


def find_loud(text: str, target: str | None = None) -> list[str]:
    report = check_text(IMPORTS + dedent(text), "train.py", Settings(target=target))  # type: ignore[arg-type]
    assert not report.failures
    return [one.code for one in report.findings if one.code < "XLA4" or one.code > "XLA6"]


@pytest.mark.parametrize("text", SILENT.values(), ids=list(SILENT))
def test_what_xla_never_compiles_is_silent(text: str) -> None:
    assert find_loud(text) == []


@pytest.mark.parametrize(("text", "wanted"), FOUND.values(), ids=list(FOUND))
def test_what_xla_compiles_or_any_graph_refuses_is_found(text: str, wanted: list[str]) -> None:
    assert find_loud(text) == wanted


def test_the_target_says_that_xla_compiles() -> None:
    assert find_loud(SILENT["a function of TensorFlow's runtime"], "tf") == ["XLA206"]


def test_tf_keras_alone_shows_nothing_of_xla() -> None:
    """Keras 2 ran most of such code, and neither release has a CPU's code compiled unless it is asked to."""
    text = "import tensorflow as tf\n" + SIZED_LAYER
    assert [one.code for one in check_text(text, "train.py", Settings()).findings] == []
    asked = text + "model = tf.keras.Sequential([Own()])\nmodel.compile(jit_compile=True)\n"
    assert [one.code for one in check_text(asked, "train.py", Settings()).findings] == ["XLA206"]


BRANCH = "class Own(tf.keras.layers.Layer):\n    def call(self, x):\n        if tf.reduce_sum(x) > 0:\n            x = x + 1\n        return x\n"  # noqa: E501
SIZED_LAYER = "class Own(tf.keras.layers.Layer):\n    def call(self, x):\n        n = tf.reduce_max(x)\n        return tf.zeros([n])\n"
ON_TPU = "import tensorflow as tf\nstrategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver('a'))\n"


@pytest.mark.parametrize(
    ("requirement", "text", "start", "wanted"),
    [
        ("tensorflow==2.11", BRANCH, "", []),
        ("tensorflow-gpu>=2.4", BRANCH, "", []),
        ("tensorflow>=2.2", SIZED_LAYER, "", []),
        ("tensorflow>=2.2", SIZED_LAYER, "model.compile(jit_compile=True)\n", ["XLA206"]),
        ("tensorflow>=2.17\ntf-keras>=2.17,<3", BRANCH, "", []),
        ("tensorflow>=2.10\nkeras>=3.3", BRANCH, "", ["XLA101"]),
        ("tensorflow>=2.16", BRANCH, "", ["XLA101"]),
        ("keras>=3", SIZED_LAYER, "", ["XLA206"]),
        ("keras<3", BRANCH, "", []),
        ("keras<4", BRANCH, "", ["XLA101"]),
        ("tensorflow<2.16", SIZED_LAYER, "", []),
        ("tensorflow<2.16", SIZED_LAYER, "model.compile(jit_compile=True)\n", ["XLA206"]),
        ("tensorflow<2.16", SIZED_LAYER, ON_TPU, ["XLA206"]),
        ("tensorflow<2.17", SIZED_LAYER, "", ["XLA206"]),
    ],
)
def test_the_release_of_keras(tmp_path: Path, requirement: str, text: str, start: str, wanted: list[str]) -> None:
    """AutoGraph rewrites what Keras 2 calls, which XLA compiles if a module of the program asks for it."""
    (tmp_path / "requirements.txt").write_text(requirement + "\n")
    (tmp_path / "layers.py").write_text(IMPORTS + text)
    (tmp_path / "start.py").write_text("import tensorflow as tf\nimport layers\n" + start)
    report = check_paths([tmp_path], load_settings([tmp_path]))
    assert not report.failures
    assert [one.code for one in report.findings if one.code < "XLA4"] == wanted


PRINTING = (
    "class Own(tf.keras.layers.Layer):\n    def call(self, x):\n        tf.print(tf.reduce_max(x))\n        return x\n"
)


@pytest.mark.parametrize(
    ("start", "wanted"),
    [
        ("", []),
        (ON_TPU, []),
        ("model.compile(jit_compile=True)\n", ["XLA303"]),
    ],
)
def test_what_a_tpus_host_runs_beside_keras(tmp_path: Path, start: str, wanted: list[str]) -> None:
    """A strategy places what has no kernel for its TPU on the host; where XLA is asked to compile, nothing does."""
    (tmp_path / "requirements.txt").write_text("tensorflow<2.16\n")
    (tmp_path / "layers.py").write_text("import tensorflow as tf\n" + PRINTING)
    (tmp_path / "start.py").write_text("import tensorflow as tf\nimport layers\n" + start)
    report = check_paths([tmp_path], load_settings([tmp_path]))
    assert not report.failures
    assert [one.code for one in report.findings if one.code < "XLA4"] == wanted


@pytest.mark.parametrize(("imported", "wanted"), [("from kit import backend\n", []), ("", ["XLA101"])])
def test_a_package_is_imported_before_its_modules(tmp_path: Path, imported: str, wanted: list[str]) -> None:
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "__init__.py").write_text(imported)
    (tmp_path / "kit" / "backend.py").write_text("import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n")
    (tmp_path / "kit" / "layers.py").write_text("import tensorflow as tf\n" + BRANCH)
    report = check_paths([tmp_path], load_settings([tmp_path]))
    assert [one.code for one in report.findings if one.code < "XLA4"] == wanted


SHOWS_KERAS_2 = {
    "layers that Keras 3 has not, in a function": "def norm():\n    return tf.keras.layers.experimental.SyncBatchNormalization()\n",
    "TensorFlow Addons": "import tensorflow_addons as tfa\n",
    "a module that Keras 3 has not": "from tensorflow.python.keras import layers\n",
    "an experimental module": "from tensorflow.keras.mixed_precision import experimental\n",
    "a method that Keras 3 has not": "mean = tf.keras.metrics.Mean()\nmean.reset_states()\n",
    "layers that Keras 3 has not": "norm = tf.keras.layers.experimental.preprocessing.Normalization()\n",
    "a setting": "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n",
    "a module that it imports": "import legacy\n",
}
SHOWS_NOTHING = {
    "what is experimental elsewhere": "def tune(data):\n    return data.prefetch(tf.data.experimental.AUTOTUNE)\n",
    "a method of its own": "class Cell:\n    def reset_states(self):\n        return 0\nCell().reset_states()\n",
    "a setting that is switched off": "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '0'\n",
    "a setting that is asked for": "import os\nold = os.environ.get('TF_USE_LEGACY_KERAS')\n",
    "an attribute that both have": "mean = tf.keras.metrics.Mean()\nmean.reset_state()\n",
    "a module that it imports": "import other\n",
}


def find_in_layers(folder: Path, shown: str) -> list[str]:
    (folder / "legacy.py").write_text("import os\nimport tensorflow as tf\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n")
    (folder / "other.py").write_text("import tensorflow as tf\n")
    (folder / "layers.py").write_text(IMPORTS + shown + BRANCH)
    report = check_paths([folder], load_settings([folder]))
    assert not report.failures
    return [one.code for one in report.findings if one.code < "XLA4"]


@pytest.mark.parametrize("shown", SHOWS_KERAS_2.values(), ids=list(SHOWS_KERAS_2))
def test_what_only_keras_2_has_is_run_with_that(tmp_path: Path, shown: str) -> None:
    assert find_in_layers(tmp_path, shown) == []


@pytest.mark.parametrize("shown", SHOWS_NOTHING.values(), ids=list(SHOWS_NOTHING))
def test_what_shows_no_release_is_run_with_keras_3(tmp_path: Path, shown: str) -> None:
    assert find_in_layers(tmp_path, shown) == ["XLA101"]


OLD_KERAS = "tensorflow<2.16\n"
JIT_STEP = "import tensorflow as tf\n\n@tf.function(jit_compile=True)\ndef gelu(x):\n    return x * tf.sigmoid(x)\n"
LAYER_FILE = "import tensorflow as tf\n" + SIZED_LAYER
USES = "import tensorflow as tf\nfrom layers import Own\n\nif __name__ == '__main__':\n    tf.keras.Sequential([Own()])"


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        # What is compiled is a function that has nothing to do with the layer, which another script uses.
        ({"fast.py": JIT_STEP, "prepare.py": USES + ".predict(data)\n"}, []),
        # A TPU's strategy is in a script that has a model of its own.
        ({"on_tpu.py": ON_TPU + "import other\n", "other.py": "import tensorflow as tf\n", "prepare.py": USES + "\n"}, []),
        # A package hands both on: a script that takes one of them from it does not lead to the other.
        (
            {
                "both/__init__.py": "from both.fast import gelu\nfrom layers import Own\n",
                "both/fast.py": JIT_STEP,
                "activate.py": "from both import gelu\n",
            },
            [],
        ),
        # A strategy that is not one of TPUs.
        ({"start.py": "import tensorflow as tf\nfrom layers import Own\nstrategy = tf.distribute.MirroredStrategy()\n"}, []),
        # The script asks for it itself.
        ({"start.py": USES + ".compile(jit_compile=True)\n"}, ["XLA206"]),
        # It leads to a trainer that asks for it, and gives it the model.
        (
            {
                "trainer.py": "def train(model):\n    import tensorflow as tf\n    model.compile(jit_compile=True)\n",
                "start.py": "import tensorflow as tf\nimport trainer\nfrom layers import Own\ntrainer.train(Own())\n",
            },
            [],  # the trainer's module does not import TensorFlow: it says nothing
        ),
        (
            {
                "trainer.py": "import tensorflow as tf\ndef train(model):\n    model.compile(jit_compile=True)\n",
                "start.py": "import tensorflow as tf\nimport trainer\nfrom layers import Own\ntrainer.train(Own())\n",
            },
            ["XLA206"],
        ),
        # By a package that hands the layer on.
        (
            {
                "both/__init__.py": "from layers import Own\n",
                "start.py": ON_TPU + "from both import Own\nwith strategy.scope():\n    Own()\n",
            },
            ["XLA206"],
        ),
    ],
)  # fmt: skip
def test_what_asks_for_a_compiler_speaks_of_what_it_leads_to(
    tmp_path: Path, files: dict[str, str], wanted: list[str]
) -> None:
    """Keras 2 has XLA compile what is asked for, and a TPU what its script leads to."""
    (tmp_path / "requirements.txt").write_text(OLD_KERAS)
    uses = {"uses.py": "from layers import Own\n"}  # something imports the layer anyway
    for name, text in {"layers.py": LAYER_FILE, **uses, **files}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    report = check_paths([tmp_path], load_settings([tmp_path]))
    assert not report.failures
    assert [one.code for one in report.findings if one.filename.endswith("layers.py")] == wanted
