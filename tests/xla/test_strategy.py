"""What the pages of XLA502, XLA503 and XLA515 say of TensorFlow, as far as it shows without a TPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.xla.conftest import LIMIT

SCRIPTS = Path(__file__).parent / "scripts"
WITHOUT_TPU = """
import json, os
import tensorflow as tf
from tensorflow.python.distribute.tpu_strategy import validate_run_function

for name in ("TPU_NAME", "TPU_CONFIG", "COLAB_TPU_ADDR", "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS"):
    os.environ.pop(name, None)


def told(act):
    try:
        act()
    except Exception as error:
        return type(error).__name__
    return ""


resolver = tf.distribute.cluster_resolver.TPUClusterResolver
said = {
    "no name": told(resolver),
    "an empty name": told(lambda: resolver(tpu="")),
    "local": told(lambda: resolver(tpu="local")),
    "connect to local": told(lambda: tf.config.experimental_connect_to_cluster(resolver(tpu="local"))),
    "run eagerly": told(lambda: validate_run_function(lambda: 1)),
    "run a graph": told(lambda: validate_run_function(tf.function(lambda: 1))),
}
print(json.dumps(said))
"""

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("tensorflow") is None, reason="tensorflow is not installed"),
]


def said_by(*arguments: str) -> dict[str, str]:
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_models_made_outside_of_the_scope() -> None:
    assert said_by(str(SCRIPTS / "scoped_models.py")) == {
        "all_inside": "MirroredStrategy",
        "model_outside": "AssertionError",
        "all_outside": "_DefaultDistributionStrategy",
        "fit_inside": "AssertionError",
        "optimizer_outside": "RuntimeError",
        "compiled_outside_with_an_optimizer": "RuntimeError",
        "compiled_outside_by_name": "RuntimeError",
        "plain_sgd_outside": "MirroredStrategy",
        "metric_outside": "MirroredStrategy",
    }


def test_resolvers_and_runs_without_a_tpu() -> None:
    assert said_by("-c", WITHOUT_TPU) == {
        "no name": "ValueError",
        "an empty name": "ValueError",
        "local": "",
        "connect to local": "",
        "run eagerly": "NotImplementedError",
        "run a graph": "",
    }
