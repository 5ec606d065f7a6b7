"""XLA516: settings made after they were read."""

from __future__ import annotations

import pytest

from tests.conftest import Findings

TORCH = "import os\nimport torch\nimport torch_xla\nimport torch_xla.runtime as xr\n"

IN_TIME = {
    "before the import": "import os\nos.environ['JAX_PLATFORMS'] = 'cpu'\nimport jax",
    "a default before the import": "import os\nos.environ.setdefault('JAX_ENABLE_X64', '1')\nimport jax",
    "in a function that runs before": "import os\ndef prepare():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\nprepare()\nimport jax",
    "an import that may not be": (
        "import os\ntry:\n    import jax\nexcept ImportError:\n    jax = None\nos.environ['JAX_PLATFORMS'] = 'cpu'"
    ),
    "given to JAX besides": "import os\nimport jax\njax.config.update('jax_platform_name', 'cpu')\nos.environ['JAX_PLATFORM_NAME'] = 'cpu'",
    "given to JAX by another name": (
        "import os\nfrom jax import config\ndef main():\n"
        "    os.environ['JAX_PLATFORMS'] = 'cpu'\n    config.update('jax_platform_name', 'cpu')"
    ),
    "of nobody's": "import os\nimport jax\nos.environ['JAX_HOME'] = 'there'",
    "of a cluster's": "import os\nimport jax\nos.environ['JAX_COORDINATOR_ADDRESS'] = 'host:1'",
    "flags of XLA before the start": "import os\nimport jax\nos.environ['XLA_FLAGS'] = '--xla_a'\njax.devices()",
    "the platform before the start": "import jax\njax.config.update('jax_platforms', 'cpu')\njax.devices()",
    "heeded at any time": "import jax\njax.devices()\njax.config.update('jax_enable_x64', True)\njax.config.update('jax_debug_nans', True)",
    "joined before the start": "import jax\njax.distributed.initialize()\njax.devices()",
    "in another function": "import jax\ndef one():\n    jax.devices()\ndef other():\n    jax.config.update('jax_platforms', 'cpu')",
    "by the device": "import jax\nif use_tpu:\n    jax.devices()\nelse:\n    jax.config.update('jax_platforms', 'cpu')",
    "read only": "import os\nimport jax\nprint(os.environ['JAX_PLATFORMS'], os.environ.get('JAX_ENABLE_X64'))",
    "another dict": "import jax\nenviron = {}\nenviron['JAX_PLATFORMS'] = 'cpu'",
    "the device before the start": f"{TORCH}os.environ['PJRT_DEVICE'] = 'CPU'\ntorch_xla.device()",
    "flags before the device": f"{TORCH}os.environ['XLA_FLAGS'] = '--xla_a'\ntorch_xla.device()",
    "debugging before the import": "import os\nos.environ['XLA_IR_DEBUG'] = '1'\nimport torch_xla",
    "the kind of device": f"{TORCH}xr.device_type()\nos.environ['PJRT_DEVICE'] = 'CPU'",
}
LATE = {
    "after the import": "import os\nimport jax\nos.environ['JAX_PLATFORMS'] = 'cpu'",
    "after an import that imports it": "import os\nfrom flax import linen\nimport jax.numpy as jnp\nos.environ['JAX_PLATFORMS'] = 'cpu'",
    "between imports": "import os\nimport jax\nos.environ['JAX_DISABLE_JIT'] = 'True'\nimport optax",
    "where JAX is given something else": (
        "import os\nimport jax\njax.config.update('jax_enable_x64', True)\nos.environ['JAX_PLATFORMS'] = 'cpu'"
    ),
    "where a function gives it to JAX": (
        "import os\nimport jax\nos.environ['JAX_PLATFORMS'] = 'cpu'\ndef main():\n    jax.config.update('jax_platforms', 'cpu')"
    ),
    "a default": "import os\nimport jax\nos.environ.setdefault('JAX_ENABLE_X64', '1')",
    "several at once": "import os\nimport jax\nos.environ.update(JAX_ENABLE_X64='1')",
    "in a function": "import os\nimport jax\ndef main():\n    os.environ['JAX_COMPILATION_CACHE_DIR'] = 'cache'",
    "flags of XLA": "import os\nimport jax\njax.devices()\nos.environ['XLA_FLAGS'] = '--xla_a'",
    "the platform": "import jax\nimport jax.numpy as jnp\nx = jnp.ones(3)\njax.config.update('jax_platforms', 'cpu')",
    "the platform, in a function": "import jax\ndef main():\n    n = jax.device_count()\n    jax.config.update('jax_platform_name', 'cpu')",
    "by another name": "from jax import config, devices\ndevices()\nconfig.update('jax_platforms', 'cpu')",
    "flags for torch_xla": f"{TORCH}d = torch_xla.device()\nos.environ['XLA_FLAGS'] = '--xla_a'",
    "torch_xla's device": f"{TORCH}d = torch_xla.device()\nos.environ['PJRT_DEVICE'] = 'CPU'",
    "debugging torch_xla": f"{TORCH}os.environ['XLA_IR_DEBUG'] = '1'",
}
RAISING = {
    "a number of devices": "import jax\njax.devices()\njax.config.update('jax_num_cpu_devices', 8)",
    "joining": "import jax\nkey = jax.random.key(0)\njax.distributed.initialize()",
}


@pytest.mark.parametrize("code", IN_TIME.values(), ids=IN_TIME)
def test_in_time(code: str, findings: Findings) -> None:
    assert findings(f"{code}\n", "") == []


@pytest.mark.parametrize("code", LATE.values(), ids=LATE)
def test_late(code: str, findings: Findings) -> None:
    assert findings(f"{code}\n", "") == [("XLA516", "warning")]


@pytest.mark.parametrize("code", RAISING.values(), ids=RAISING)
def test_raising(code: str, findings: Findings) -> None:
    assert findings(f"{code}\n", "") == [("XLA516", "error")]
