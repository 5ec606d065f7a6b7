"""What decides whether a hazard counts: the reasons of `Decisions.decide`, and what each trait of a rule's policy changes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from xlalint.analysis.decision import Decisions
from xlalint.config import Settings
from xlalint.project.analysis import Analysis, deep
from xlalint.project.lowered import lower_source
from xlalint.project.options import AnalysisOptions
from xlalint.rules import policies
from xlalint.source.reading import from_text

TORCH = "import random\nimport torch\nfrom torch import nn\n"
TENSORFLOW = "import tensorflow as tf\n"
JAX = "import jax\nimport jax.numpy as jnp\n"
RESOLVER = "tf.distribute.cluster_resolver.TPUClusterResolver"

IF = "    if tf.reduce_sum(x) > 0:\n        return x\n    return -x\n"
ROWS = "    for row in x:\n        tf.print(row)\n"
JIT_IN = "def f(x):\n    return jax.jit(lambda y: y + 1)(x)\n"
HOSTED = (
    f"{TENSORFLOW}strategy = tf.distribute.TPUStrategy({RESOLVER}(tpu='local'))\n"
    "@tf.function\ndef steps(n: tf.Tensor, x: tf.Tensor):\n    strategy.run(step, (x,))\n    return tf.boolean_mask(x, x > 0)\n"
    "def step(x):\n    return x + 1\n"
    "steps(tf.constant(3), tf.ones(3))\n"
)


def on_tpu(name: str) -> str:
    """A program whose TPU is called so, and that writes to the disk of this machine."""
    return (
        f"{TENSORFLOW}strategy = tf.distribute.TPUStrategy({RESOLVER}(tpu='{name}'))\n"
        "tf.keras.callbacks.TensorBoard('logs')\n"
    )


PASSED_OVER = {
    "print in a module of torch's": (
        f"{TORCH}class M(nn.Module):\n    def forward(self, x: torch.Tensor):\n        print('a')\n        return x\n",
        "XLA306",
        {"other tracer"},
    ),
    "what AutoGraph converts": (f"{TENSORFLOW}@tf.function\ndef f(x: tf.Tensor):\n{ROWS}", "XLA109", {"converted"}),
    "a path on the TPU's own machine": (on_tpu("local"), "XLA504", {"attached TPU"}),
    "a jit within a traced function": (f"{JAX}{JIT_IN}g = jax.jit(f)\ng(jnp.ones(3))\n", "XLA404", {"traced itself"}),
    "a jit that is made once": (f"{JAX}{JIT_IN}f(jnp.ones(3))\n", "XLA404", {"runs once"}),
    "around what a strategy runs": (HOSTED, "XLA204", {"own runtime", "untraced"}),
}
COUNTED = {
    "a test in a module of torch's": (
        f"{TORCH}class M(nn.Module):\n    def forward(self, x: torch.Tensor):\n        return x if x.sum() > 0 else -x\n",
        ("XLA105", "", "CERTAIN"),
    ),
    "without AutoGraph": (
        f"{TENSORFLOW}@tf.function(autograph=False)\ndef f(x: tf.Tensor):\n{IF}",
        ("XLA101", "no-autograph", "CERTAIN"),
    ),
    "a path on another machine than the TPU": (on_tpu("grpc://10.0.0.2"), ("XLA504", "", "CERTAIN")),
    "a jit that a loop makes": (
        f"{JAX}{JIT_IN}for _ in range(100):\n    f(jnp.ones(3))\n",
        ("XLA404", "again", "LIKELY"),
    ),
    "sizes in JAX code that may run eagerly": (
        f"{JAX}def f(x: jax.Array):\n    return x[x > 0]\n",
        ("XLA201", "eager", "LIKELY"),
    ),
    "a test in JAX code that may run eagerly": (
        f"{JAX}def f(x: jax.Array):\n    if x.sum() > 0:\n        return x\n    return -x\n",
        ("XLA101", "", "POSSIBLE"),
    ),
}
WITHOUT = {
    "autograph_rewrites": (COUNTED["without AutoGraph"][0], "XLA101", ("", "", "CERTAIN")),
    "tpu_node_only": (PASSED_OVER["a path on the TPU's own machine"][0], "XLA504", ("", "", "CERTAIN")),
    "only_repeated": (PASSED_OVER["a jit that is made once"][0], "XLA404", ("", "again", "LIKELY")),
    "compiler_only": (HOSTED, "XLA204", ("", "", "CERTAIN")),
    "eager_recompiles": (COUNTED["sizes in JAX code that may run eagerly"][0], "XLA201", ("", "", "POSSIBLE")),
}


def decided(code: str, without: str = "") -> set[tuple[str, str, str, str]]:
    """Decide on all that is seen in a program: rule, reason, variant, confidence; `without` is a trait that no rule shall have."""
    unit = lower_source(from_text("/p/m.py", code)).unit
    assert unit is not None
    analysis = Analysis([unit], AnalysisOptions.from_settings(Settings(python=None)))
    with deep():
        roots = analysis.roots.enter(analysis.program.modules[0])
    known = {rule: replace(policy, **{without: False}) if without else policy for rule, policy in policies().items()}
    decisions = Decisions(roots, analysis.roots.platforms, known)
    verdicts = [
        (pending.rule, decisions.decide(pending, reach))
        for reach in decisions.chains
        for pending in reach[0].sightings.values()
    ]
    return {(rule, verdict.reason, verdict.variant, verdict.confidence.name) for rule, verdict in verdicts}


@pytest.mark.parametrize(("code", "rule", "reasons"), PASSED_OVER.values(), ids=PASSED_OVER)
def test_what_does_not_count_has_a_reason(code: str, rule: str, reasons: set[str]) -> None:
    assert {reason for found, reason, _, _ in decided(code) if found == rule} == reasons


@pytest.mark.parametrize(("code", "expected"), COUNTED.values(), ids=COUNTED)
def test_what_counts(code: str, expected: tuple[str, str, str]) -> None:
    rule, variant, confidence = expected
    assert (rule, "", variant, confidence) in decided(code)


@pytest.mark.parametrize(("trait", "case"), WITHOUT.items(), ids=WITHOUT)
def test_what_a_trait_decides(trait: str, case: tuple[str, str, tuple[str, str, str]]) -> None:
    code, rule, otherwise = case
    assert (rule, *otherwise) not in decided(code)
    assert (rule, *otherwise) in decided(code, trait)
