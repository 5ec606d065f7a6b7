"""The environment that frameworks read at their own import. Nothing here imports one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import MappingProxyType

COUNTS_COMPILATIONS = MappingProxyType({"TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_VMODULE": "device_compilation_profiler=1"})
"""What makes TensorFlow tell of each XLA compilation; `device_compilation_profiler` may stand in a longer list."""


def countable() -> None:
    """Have TensorFlow tell of compilations, if it is not imported yet. Changes `os.environ`."""
    if "tensorflow" not in sys.modules and not counts_compilations():
        os.environ.update({name: for_tensorflow()[name] for name in COUNTS_COMPILATIONS})


def counts_compilations() -> bool:
    """Whether the environment has TensorFlow tell of compilations; only what it was at TensorFlow's import matters."""
    told = "device_compilation_profiler=" in os.environ.get("TF_CPP_VMODULE", "")
    return told and os.environ.get("TF_CPP_MIN_LOG_LEVEL", "0") == "0"


def for_tensorflow() -> dict[str, str]:
    """What has TensorFlow tell of compilations, compute the same in each run, and be the Keras backend."""
    levels = os.environ.get("TF_CPP_VMODULE", "")
    told = COUNTS_COMPILATIONS["TF_CPP_VMODULE"]
    return {
        **COUNTS_COMPILATIONS,
        "TF_CPP_VMODULE": levels if "device_compilation_profiler=" in levels else f"{levels},{told}".strip(","),
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "KERAS_BACKEND": "tensorflow",
    }


def for_jax() -> dict[str, str]:
    """What keeps JAX to the CPU where there is neither a TPU nor a GPU: an installed libtpu would look for its TPU for seconds."""
    devices = ("/dev/accel0", "/dev/vfio/0", "/dev/nvidiactl", "/dev/kfd")
    if "JAX_PLATFORMS" in os.environ or any(Path(device).exists() for device in devices):
        return {}
    return {"JAX_PLATFORMS": "cpu"}
