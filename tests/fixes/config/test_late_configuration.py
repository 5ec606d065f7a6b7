"""XLA516: settings that are made in time, and those that are left."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

JAX = "import os\n\nimport jax\n\n"
MOVED = {
    "a truth": ("os.environ['JAX_ENABLE_X64'] = '1'", 'jax.config.update("jax_enable_x64", True)'),
    "an untruth": ("os.environ['JAX_DISABLE_JIT'] = 'False'", 'jax.config.update("jax_disable_jit", False)'),
    "a text": ("os.environ['JAX_PLATFORMS'] = 'cpu'", "jax.config.update(\"jax_platforms\", 'cpu')"),
    "a folder": ("os.environ['JAX_COMPILATION_CACHE_DIR'] = cache", 'jax.config.update("jax_compilation_cache_dir", cache)'),
}  # fmt: skip
STAYING = {
    "a default": ("os.environ.setdefault('JAX_ENABLE_X64', '1')", "move it up"),
    "a number": ("os.environ['JAX_NUM_CPU_DEVICES'] = '8'", 'call `jax.config.update("jax_num_cpu_devices", …)`'),
    "a truth from elsewhere": ("os.environ['JAX_ENABLE_X64'] = flag", "set it before the import"),
    "flags of XLA": ("jax.devices()\nos.environ['XLA_FLAGS'] = '--xla_a'", "move it up"),
    "the platform": ("jax.devices()\njax.config.update('jax_platforms', 'cpu')", "move it up"),
}


@pytest.mark.parametrize(("before", "after"), MOVED.values(), ids=MOVED)
def test_late_settings_are_made_otherwise(before: str, after: str) -> None:
    expect_fixed(outcome(f"{JAX}{before}\n", "XLA516"), f"{JAX}{after}\n", "unsafe")


@pytest.mark.parametrize(("text", "why"), STAYING.values(), ids=STAYING)
def test_late_settings_stay_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(f"{JAX}{text}\n", "XLA516"), why)
