"""The fixes of XLA503 and XLA515: steps inserted, moved and renamed; a step that becomes a `tf.function`."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

IMPORTS = "import tensorflow as tf\nfrom tensorflow.distribute import cluster_resolver\n\n"
LOCAL = "r = cluster_resolver.TPUClusterResolver('local')\n"
CONNECT = "tf.config.experimental_connect_to_cluster(r)\n"
INITIALISE = "tf.tpu.experimental.initialize_tpu_system(r)\n"
STRATEGY = "s = tf.distribute.TPUStrategy(r)\n"
READY = "s = tf.distribute.TPUStrategy(cluster_resolver.TPUClusterResolver.connect('local'))\n"

FIXED = {
    "inserted": ("XLA503", f"{LOCAL}# go\n{STRATEGY}", f"{LOCAL}# go\n{CONNECT}{INITIALISE}{STRATEGY}"),
    "inserted behind connecting": ("XLA503", f"{LOCAL}{CONNECT}{STRATEGY}", f"{LOCAL}{CONNECT}{INITIALISE}{STRATEGY}"),
    "inserted in a function": (
        "XLA503",
        f"def main():\n    {LOCAL}    {STRATEGY}    return s\n",
        f"def main():\n    {LOCAL}    {CONNECT}    {INITIALISE}    {STRATEGY}    return s\n",
    ),
    "moved": ("XLA503", f"{LOCAL}{STRATEGY}{CONNECT}{INITIALISE}", f"{LOCAL}{CONNECT}{INITIALISE}{STRATEGY}"),
    "a name": (
        "XLA503",
        f"r = cluster_resolver.TPUClusterResolver(zone='a')\n{INITIALISE}",
        f"r = cluster_resolver.TPUClusterResolver(tpu=\"local\", zone='a')\n{INITIALISE}",
    ),
    "decorated": (
        "XLA515",
        f"{READY}def f():\n    def step(x):\n        return x\n    s.run(step, args=(1,))\nf()\n",
        f"{READY}def f():\n    @tf.function\n    def step(x):\n        return x\n    s.run(step, args=(1,))\nf()\n",
    ),
}
LEFT = {
    "a strategy that is used at once": ("XLA503", f"{LOCAL}{STRATEGY}print(s)\n{INITIALISE}", "used in between"),
    "a strategy by name": (
        "XLA503",
        f"from tensorflow.distribute import TPUStrategy\n{LOCAL}s = TPUStrategy(r)\n",
        "other names",
    ),
    "initialised before connecting": (
        "XLA503",
        f"r = cluster_resolver.TPUClusterResolver('grpc://a')\n{INITIALISE}{CONNECT}",
        "only the author",
    ),
    "another device assignment": (
        "XLA503",
        f"{LOCAL}{INITIALISE}s = tf.distribute.experimental.TPUStrategy(r, device_assignment=d)\n",
        "experimental_device_assignment",
    ),
    "a step of elsewhere": ("XLA515", f"{READY}s.run(lambda x: x, args=(1,))\n", "elsewhere"),
    "a step that is decorated": (
        "XLA515",
        f"import functools\n{READY}@functools.cache\ndef step():\n    return 1\ns.run(step)\n",
        "decorators",
    ),
}


@pytest.mark.parametrize(("code", "before", "after"), FIXED.values(), ids=FIXED)
def test_fixed(code: str, before: str, after: str) -> None:
    expect_fixed(outcome(IMPORTS + before, code, target="tf"), IMPORTS + after, "unsafe")


def test_the_new_name_is_safe() -> None:
    expect_fixed(
        outcome(f"{IMPORTS}{READY}".replace("distribute.TPUS", "distribute.experimental.TPUS"), "XLA503", target="tf"),
        f"{IMPORTS}{READY}",
        "safe",
    )


@pytest.mark.parametrize(("code", "before", "why"), LEFT.values(), ids=LEFT)
def test_left_alone(code: str, before: str, why: str) -> None:
    expect_left_alone(outcome(IMPORTS + before, code, target="tf"), why)
