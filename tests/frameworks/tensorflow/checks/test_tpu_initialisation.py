"""XLA503: the steps that make a TPU ready."""

from __future__ import annotations

import msgspec
import pytest

from tests.frameworks.tensorflow.tpus import ALL, CONNECT, IMPORTS, INITIALISE, LOCAL, STRATEGY, find_lines
from xlalint.config import Settings
from xlalint.project import check_text

NODE = "r = TPUClusterResolver('grpc://10.0.0.2:8470')\n"


SILENT = {
    "all in order": ALL,
    "at once": f"r = TPUClusterResolver.connect('local')\n{STRATEGY}",
    "at once, by a resolver": f"r = TPUClusterResolver('pod').connect('pod')\n{STRATEGY}",
    "at once, by one that has a name": f"{LOCAL}r = r.connect('local')\n{STRATEGY}",
    "without connecting, to the TPU of this machine": f"{LOCAL}{INITIALISE}{STRATEGY}",
    "by keyword": f"r = tf.distribute.cluster_resolver.TPUClusterResolver(tpu='local')\n{INITIALISE}{STRATEGY}",
    "a name that is given": f"import sys\nr = TPUClusterResolver(tpu=sys.argv[1])\n{CONNECT}{INITIALISE}{STRATEGY}",
    "a TPU by name": f"r = TPUClusterResolver('pod')\n{CONNECT}{INITIALISE}{STRATEGY}",
    "by a helper": f"def ready(r):\n    {CONNECT}    {INITIALISE}{LOCAL}ready(r)\n{STRATEGY}",
    "a resolver of a helper's": f"def ready():\n    {LOCAL}    {CONNECT}    {INITIALISE}    return r\nr = ready()\n{STRATEGY}",
    "a resolver that is given": f"def distribute(r):\n    {STRATEGY}    return strategy\n",
    "by code that is not seen": f"from helpers import ready\n{LOCAL}ready(r)\n{STRATEGY}",
    "by a method that is not followed": f"class Run:\n    def ready(self, r):\n        {INITIALISE}{LOCAL}run().ready(r)\n{STRATEGY}",
    "where there is one": "try:\n    r = TPUClusterResolver('local')\nexcept ValueError:\n    r = None\n"
    f"if r:\n    {CONNECT}    {INITIALISE}    {STRATEGY}else:\n    strategy = tf.distribute.get_strategy()\n",
    "operations before": f"x = tf.ones((2, 2))\n{ALL}",
    "no TPU's": "strategy = tf.distribute.MirroredStrategy()\n",
}
FOUND = {
    "not initialised": (f"{LOCAL}{STRATEGY}", [STRATEGY]),
    "initialised too late": (f"{LOCAL}{STRATEGY}{CONNECT}{INITIALISE}", [STRATEGY]),
    "connected only": (f"{LOCAL}{CONNECT}{STRATEGY}", [STRATEGY]),
    "connected to something else": (f"{LOCAL}db.connect('local')\n{STRATEGY}", [STRATEGY]),
    "in a function": (f"def main():\n    {LOCAL}    {STRATEGY}", [STRATEGY]),
    "where there is one": (f"{LOCAL}if r:\n    {STRATEGY}", [STRATEGY]),
    "connected too late": (f"{NODE}{INITIALISE}{CONNECT}{STRATEGY}", [INITIALISE]),
    "connected too late, to a TPU by name": (
        f"r = TPUClusterResolver('pod')\n{INITIALISE}{CONNECT}{STRATEGY}",
        [CONNECT],
    ),
    "not connected": (f"{NODE}{INITIALISE}{STRATEGY}", [INITIALISE]),
    "Colab's node": (
        f"r = TPUClusterResolver(tpu='grpc://' + os.environ['COLAB_TPU_ADDR'])\n{CONNECT}{INITIALISE}{STRATEGY}",
        ["r = TPUClusterResolver(tpu='grpc://' + os.environ['COLAB_TPU_ADDR'])"],
    ),
    "no name": (f"r = TPUClusterResolver()\n{CONNECT}{INITIALISE}{STRATEGY}", ["i r = TPUClusterResolver()"]),
    "an empty name": (f"r = TPUClusterResolver(tpu='')\n{INITIALISE}{STRATEGY}", ["i r = TPUClusterResolver(tpu='')"]),
    "the old name": (
        f"{LOCAL}{INITIALISE}s = tf.distribute.experimental.TPUStrategy(r)\n",
        ["i s = tf.distribute.experimental.TPUStrategy(r)"],
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(code: str) -> None:
    assert find_lines(IMPORTS + code, "XLA503") == []


@pytest.mark.parametrize(("code", "lines"), FOUND.values(), ids=FOUND)
def test_found(code: str, lines: list[str]) -> None:
    assert find_lines(IMPORTS + code, "XLA503") == [line.strip() for line in lines]


def test_in_a_notebook_an_unnamed_tpu_is_a_warning() -> None:
    source = f"{IMPORTS}r = TPUClusterResolver()\n{CONNECT}{INITIALISE}"
    cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}
    text = msgspec.json.encode({"cells": [cell], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}).decode()
    report = check_text(text, "train.ipynb", Settings(target="tf", select=("XLA503",), python=None))
    assert [(one.code, one.severity) for one in report.findings] == [("XLA503", "warning")]
