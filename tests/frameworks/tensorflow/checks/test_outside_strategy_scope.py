"""XLA502: what is made outside of a TPU strategy's scope, and what is done with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frameworks.tensorflow.tpus import AT_ONCE, find_lines
from xlalint.config import Settings
from xlalint.project import check_paths, check_text

START = (
    "import contextlib\nimport keras\nimport tf_keras\nimport tensorflow as tf\n"
    "from transformers import TFAutoModel\n"
    "def build():\n    return keras.Sequential([keras.layers.Dense(1)])\n"
)


SILENT = {
    "in the scope": "with strategy.scope():\n    model = build()\n    model.compile('adam')\nmodel.fit(x)",
    "compiled outside, by names": "with strategy.scope():\n    model = build()\nmodel.compile('sgd', metrics=['mae'])\nmodel.fit(x)",
    "compiled outside, by Keras 2": "with strategy.scope():\n    model = tf_keras.Sequential()\nmodel.compile('adam')\nmodel.fit(x)",
    "compiled outside, with what is given": "with strategy.scope():\n    model = build()\nmodel.compile(optimizer())\nmodel.fit(x)",
    "plain SGD": "o = keras.optimizers.SGD(0.1)\nwith strategy.scope():\n    model = build()\n    model.compile(o)",
    "by a function that opens it": "def make():\n    with strategy.scope():\n        return build()\nmodel = make()\nmodel.fit(x)",
    "a function called in the scope": "def make():\n    model = build()\n    model.compile(keras.optimizers.Adam())\n    return model\n"
    "with strategy.scope():\n    model = make()\nmodel.fit(x)",
    "a scope with a name": "scope = strategy.scope()\nwith scope:\n    model = build()\nmodel.fit(x)",
    "a scope, or none": "scope = strategy.scope() if use else contextlib.nullcontext()\nwith scope:\n    model = build()\nmodel.fit(x)",
    "a scope that a helper opens": "from helpers import scope_of\nwith scope_of(strategy):\n    model = build()\nmodel.fit(x)",
    "a scope that is given": "def make(scope):\n    with scope:\n        model = build()\n    model.fit(x)\nmake(unknown())",
    "a scope of a generator's": "@contextlib.contextmanager\ndef on_tpu():\n    with strategy.scope():\n        yield\n"
    "with on_tpu():\n    model = build()\nmodel.fit(x)",
    "a scope of an object's": "class OnTpu:\n    def __enter__(self):\n        pass\n"
    "with OnTpu():\n    model = build()\nmodel.fit(x)",
    "the host, by name": "with tf.device('/cpu:0'):\n    model = build()\n    model.fit(x)",
    "the default strategy": "tf.distribute.experimental_set_strategy(strategy)\nmodel = build()\nmodel.fit(x)",
    "a scope entered for good": "strategy.scope().__enter__()\nmodel = build()\nmodel.fit(x)",
    "a scope on a stack": "stack.enter_context(strategy.scope())\nmodel = build()\nmodel.fit(x)",
    "a model of the host's": "model = build()\nmodel.predict(x)",
    "a teacher": "teacher = keras.models.load_model('teacher.keras')\nwith strategy.scope():\n"
    "    model = build()\n    model.compile('adam')\nmodel.fit(teacher.predict(x))",
    "features of a model": "with strategy.scope():\n    model = build()\n    model.compile('adam')\nmodel.fit(x)\n"
    "inner = keras.Model(model.inputs, model.layers[0].output)\ninner.predict(x)",
    "loaded to be looked at": "model = keras.models.load_model('a')\nmodel.summary()",
    "where there is no TPU": "if tpu:\n    with strategy.scope():\n        model = build()\nelse:\n    model = build()\nmodel.fit(x)",
    "without a strategy": "if strategy is None:\n    model = build()\n    model.fit(x)",
    "a run on GPUs": "def on_gpu():\n    model = build()\n    model.fit(x)\nif not use_tpu:\n    on_gpu()",
    "after a failure": "def on_cpu():\n    model = build()\n    model.fit(x)\ntry:\n    connect()\nexcept ValueError:\n    on_cpu()",
    "a function that nothing calls": "def train(x):\n    model = build()\n    model.compile('adam')\n    model.fit(x)",
    "a method that nothing calls": "class Run:\n    def train(self, x):\n        model = build()\n        model.fit(x)",
    "a loss": "loss = keras.losses.MeanSquaredError()\n"
    "with strategy.scope():\n    model = build()\n    model.compile('adam', loss)\nmodel.fit(x)",
    "metrics of Keras 3": "m = keras.metrics.Mean()\nwith strategy.scope():\n    model = build()\n    model.compile('adam', metrics=[m])",
    "an optimizer of Keras 2": "o = tf_keras.optimizers.Adam()\nwith strategy.scope():\n    model = build()\n    model.compile(o)",
    "an optimizer of the host's": "o = keras.optimizers.Adam()\nwith strategy.scope():\n    model = build()\nprint(o.learning_rate)",
    "an optimizer of an unknown model": "o = keras.optimizers.Adam()\nmodel = unknown()\nmodel.compile(o)",
    "a layer": "layer = keras.layers.Dense(1)\nwith strategy.scope():\n    model = keras.Sequential([layer])\n    model.compile('adam')",
    "another kind of fit": "from sklearn.svm import SVC\nmodel = SVC()\nmodel.fit(x)",
    "a run of the strategy's": "def step(x):\n    return model(x)\n"
    "with strategy.scope():\n    model = build()\nstrategy.run(step, args=(x,))",
    "a run of something else": "def step(x):\n    return model(x)\nmodel = build()\nrunner.run(step)",
}
FOUND = {
    "a model": ("model = build()\nwith strategy.scope():\n    model.compile('adam')", ["model = build()"]),
    "what was loaded": (
        "model = keras.models.load_model('a')\nwith strategy.scope():\n    model.compile('adam')",
        ["model = keras.models.load_model('a')"],
    ),
    "what was trained before": (
        "model = TFAutoModel.from_pretrained('a')\nwith strategy.scope():\n    model.compile('adam')",
        ["model = TFAutoModel.from_pretrained('a')"],
    ),
    "a known architecture": (
        "model = tf.keras.applications.ResNet50()\nmodel.fit(x)",
        ["w model = tf.keras.applications.ResNet50()"],
    ),
    "a subclass": (
        "class Model(keras.Model):\n    pass\nmodel = Model()\nwith strategy.scope():\n    model.compile('adam')",
        ["model = Model()"],
    ),
    "all of it": ("model = build()\nmodel.compile('adam')\nmodel.fit(x)", ["w model = build()"]),
    "trained in the scope": (
        "model = build()\nmodel.compile('adam')\nwith strategy.scope():\n    model.fit(x)",
        ["model = build()"],
    ),
    "before the strategy": (
        "del strategy\nmodel = build()\nstrategy = tf.distribute.TPUStrategy(r)\nwith strategy.scope():\n    model.compile('adam')",
        ["model = build()"],
    ),
    "one of two": (
        "if big:\n    model = build()\nelse:\n    model = keras.Sequential()\nwith strategy.scope():\n    model.compile('adam')",
        ["model = build()", "model = keras.Sequential()"],
    ),
    "compiled by a helper": (
        "def prepare(model):\n    with strategy.scope():\n        model.compile('adam')\nmodel = build()\nprepare(model)",
        ["model = build()"],
    ),
    "given on by a helper": (
        "def prepare(model):\n    model.compile('adam')\n    return model\nmodel = prepare(build())\nmodel.fit(x)",
        ["w model = prepare(build())"],
    ),
    "in a function that makes the strategy": (
        f"def main(x):\n    {AT_ONCE}    model = build()\n    model.fit(x)",
        ["w model = build()"],
    ),
    "in a function that is called": (
        "def main():\n    model = build()\n    model.fit(x)\nif __name__ == '__main__':\n    main()",
        ["w model = build()"],
    ),
    "a strategy of a helper's": (
        f"def connect():\n    {AT_ONCE}    return strategy\ndef main(x):\n    s = connect()\n    model = build()\n"
        "    with s.scope():\n        model.compile('adam')",
        ["model = build()"],
    ),
    "in another block": (
        "with open('a') as f:\n    model = build()\nwith strategy.scope():\n    model.compile('adam')",
        ["model = build()"],
    ),
    "while something is recorded": (
        "with tf.GradientTape() as tape:\n    model = build()\nwith strategy.scope():\n    model.compile('adam')",
        ["model = build()"],
    ),
    "an optimizer": (
        "o = keras.optimizers.Adam()\nwith strategy.scope():\n    model = build()\n    model.compile(optimizer=o)",
        ["o = keras.optimizers.Adam()"],
    ),
    "an optimizer as an argument": (
        "with strategy.scope():\n    model = build()\nmodel.compile(tf.keras.optimizers.Adam())",
        ["model.compile(tf.keras.optimizers.Adam())"],
    ),
    "an optimizer by name": (
        "with strategy.scope():\n    model = build()\nmodel.compile('adam')",
        ["model.compile('adam')"],
    ),
    "the default optimizer": (
        "with strategy.scope():\n    model = build()\nmodel.compile(loss='mse')",
        ["model.compile(loss='mse')"],
    ),
    "SGD with momentum": (
        "o = keras.optimizers.SGD(0.1, momentum=0.9)\nwith strategy.scope():\n    model = build()\n    model.compile(o)",
        ["o = keras.optimizers.SGD(0.1, momentum=0.9)"],
    ),
    "both": (
        "o = keras.optimizers.Adam()\nmodel = build()\nmodel.compile(o)\nmodel.fit(x)",
        ["o = keras.optimizers.Adam()", "w model = build()"],
    ),
    "metrics of Keras 2": (
        "m = tf_keras.metrics.Mean()\nwith strategy.scope():\n    model = build()\n    model.compile('adam', metrics=[m])",
        ["m = tf_keras.metrics.Mean()"],
    ),
    "metrics of either": (
        "m = tf.keras.metrics.Mean()\nwith strategy.scope():\n    model = build()\n    model.compile('adam', metrics=[m])",
        ["i m = tf.keras.metrics.Mean()"],
    ),
    "a model that replicas run": (
        "model = build()\n@tf.function\ndef step(x):\n    return model(x)\nstrategy.run(step, args=(x,))",
        ["model = build()"],
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(code: str) -> None:
    assert find_lines(f"{START}{AT_ONCE}{code}\n", "XLA502") == []


@pytest.mark.parametrize(("code", "lines"), FOUND.values(), ids=FOUND)
def test_found(code: str, lines: list[str]) -> None:
    assert find_lines(f"{START}{AT_ONCE}{code}\n", "XLA502") == lines


@pytest.mark.parametrize("code", [code for code, _ in FOUND.values()], ids=FOUND)
def test_without_a_tpu(code: str) -> None:
    text = f"{START}{AT_ONCE}{code}\n".replace("TPUStrategy", "MirroredStrategy").replace("TPUClusterResolver", "Other")
    assert find_lines(text, "XLA502") == []


def test_a_model_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text("import keras\ndef build():\n    return keras.Sequential()\n")
    code = f"import tensorflow as tf\nfrom models import build\n{AT_ONCE}model = build()\nmodel.fit(x)\n"
    (tmp_path / "train.py").write_text(code)
    report = check_paths([tmp_path], Settings(root=str(tmp_path), jobs=1, python=None, select=("XLA5",)))
    assert [(Path(one.filename).name, one.location.row) for one in report.findings] == [("train.py", 4)]


def test_the_message_names_what_and_where() -> None:
    report = check_text(f"{START}{AT_ONCE}tower = build()\ntower.fit(x)\n", "train.py", Settings(python=None))
    (one,) = report.findings
    assert one.message == (
        "`build()` builds the model outside `strategy.scope()`: it trains on the host's CPU, and the TPU is idle"
    )


LOOP = """
@tf.function
def epoch(data, steps):
    for _ in tf.range(steps):
        {call}(step, args=(next(data),))


@tf.function
def step(x):
    return tf.range(tf.reduce_max(x))
"""


@pytest.mark.parametrize(("call", "codes"), [("strategy.run", ["XLA206"]), ("self_made", ["XLA107", "XLA206"])])
def test_around_replicas_the_host_runs_the_graph(call: str, codes: list[str]) -> None:
    text = START + AT_ONCE + LOOP.replace("{call}", call)
    report = check_text(text, "train.py", Settings(target="tf", python=None))
    assert [one.code for one in report.findings] == codes


CONNECT = f"import tensorflow as tf\ndef connect():\n    {AT_ONCE}    return strategy\n"
MODEL = "import keras\nimport tensorflow as tf\n"


@pytest.mark.parametrize(
    ("helper", "script", "rows"),
    [
        (CONNECT, f"{MODEL}from helper import connect\ns = connect()\nmodel = keras.Sequential()\nmodel.fit(x)\n", [5]),
        (CONNECT, f"{MODEL}import helper\nmodel = keras.Sequential()\nmodel.fit(x)\n", []),
        (
            f"{CONNECT}strategy = connect()\n",
            f"{MODEL}from helper import strategy\nm = keras.Sequential()\nm.fit(x)\n",
            [4],
        ),
        (
            f"{CONNECT}strategy = connect()\n",
            f"{MODEL}from helper import strategy\nm = keras.Sequential()\nwith strategy.scope():\n    m.compile('adam')\n",
            [4],
        ),
        (
            f"{CONNECT}def other():\n    pass\n",
            f"{MODEL}from helper import other\nm = keras.Sequential()\nm.fit(x)\n",
            [],
        ),
    ],
    ids=["connects", "does not connect", "imported, trained apart", "imported", "another function"],
)
def test_a_strategy_of_another_file(helper: str, script: str, rows: list[int], tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(helper)
    (tmp_path / "train.py").write_text(script)
    report = check_paths([tmp_path], Settings(root=str(tmp_path), jobs=1, python=None, select=("XLA502",)))
    assert [one.location.row for one in report.findings] == rows
