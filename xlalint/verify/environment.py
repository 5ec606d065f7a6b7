"""The environment that frameworks read at their own import. Nothing here imports one."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import MappingProxyType

from xlalint.verify import plugin

COUNTS_COMPILATIONS = MappingProxyType({"TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_VMODULE": "device_compilation_profiler=1"})
"""What makes TensorFlow tell of each XLA compilation; `device_compilation_profiler` may stand in a longer list."""


def countable() -> None:
    """Have TensorFlow tell of compilations, if it is not imported yet. Changes `os.environ`."""
    if "tensorflow" not in sys.modules and not counts_compilations():
        os.environ.update({name: for_tensorflow()[name] for name in COUNTS_COMPILATIONS})


def counts_compilations() -> bool:
    """Return whether the environment makes TensorFlow report compilations. Only its state at TensorFlow's import matters."""
    told = "device_compilation_profiler=" in os.environ.get("TF_CPP_VMODULE", "")
    return told and os.environ.get("TF_CPP_MIN_LOG_LEVEL", "0") == "0"


def for_tensorflow() -> dict[str, str]:
    """Return variables that make TensorFlow report compilations, compute the same in each run, and be the Keras backend."""
    levels = os.environ.get("TF_CPP_VMODULE", "")
    told = COUNTS_COMPILATIONS["TF_CPP_VMODULE"]
    return {
        **COUNTS_COMPILATIONS,
        "TF_CPP_VMODULE": levels if "device_compilation_profiler=" in levels else f"{levels},{told}".strip(","),
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "KERAS_BACKEND": "tensorflow",
    }


_LIBTPU = "libtpu.so"

OWN_GRAPHS = "xlalint-graphs-"
"""How folders are named whose graphs are there for xlalint alone; a user's own are left as they are."""
_GRAPHS = "SyncTensorsGraph"  # how torch_xla names what it compiles; other frameworks read the same flags


def for_memory() -> dict[str, str]:
    """Return variables that have glibc fill memory which it gives out: what a program leaves of it is the same in each process.

    `torch.empty` can be filled where it is called; `torch.Tensor(n)`, as older code makes parameters, gives memory as it is.
    """
    return {} if "MALLOC_PERTURB_" in os.environ else {"MALLOC_PERTURB_": "85"}


def has_tpu() -> bool:
    """Return whether the machine has a TPU."""
    return any(Path(device).exists() for device in ("/dev/accel0", "/dev/vfio/0"))


def for_torch_xla(folder: str) -> dict[str, str]:
    """Return variables that make torch_xla use the TPU if there is one, else the CPU, and XLA write the graphs that it compiles for it
    into a folder, for `meters.graphs` to compare. (torch_xla itself would write each graph that it runs, at half the cost of a small step.)
    """
    wanted = {} if "PJRT_DEVICE" in os.environ else {"PJRT_DEVICE": "TPU" if has_tpu() else "CPU"}
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_dump_" not in flags:
        wanted["XLA_FLAGS"] = (
            f'{flags} --xla_dump_to="{folder}" --xla_dump_hlo_as_text --xla_dump_hlo_module_re={_GRAPHS}'
        )
    return wanted


def own_graphs() -> Path | None:
    """Return the folder that XLA writes graphs into, if it is one that was set up for xlalint."""
    match = re.search(r'--xla_dump_to="([^"]*)"', os.environ.get("XLA_FLAGS", ""))
    return Path(match[1]) if match and Path(match[1]).name.startswith(OWN_GRAPHS) else None


def for_torch_tpu() -> dict[str, str]:
    """Return variables that let TorchTPU run where there is no TPU, by the plugin that forwards to the CPU. Builds it on first use.

    A plugin that the user chose is left as it is. libtpu's own is none: importing JAX names it for all child processes.

    Raises: plugin.PluginError.
    """
    chosen = Path(os.environ.get(plugin.LOADED_FROM, _LIBTPU)).name
    if has_tpu() or chosen != _LIBTPU:
        return {}
    return {
        plugin.LOADED_FROM: str(plugin.build()),
        plugin.FORWARDS_TO: str(plugin.find_cpu_plugin()),
        "TPU_SKIP_MDS_QUERY": "1",  # of the cloud's metadata server, which is not there
        "TORCH_COMPILE_FORCE_DISABLE_CACHES": "1",  # a program of an earlier process would not be compiled, nor counted
    }


def for_jax() -> dict[str, str]:
    """Return variables that keep JAX on the CPU if there is neither a TPU nor a GPU. An installed libtpu would look for its TPU for
    seconds.
    """
    devices = ("/dev/accel0", "/dev/vfio/0", "/dev/nvidiactl", "/dev/kfd")
    if "JAX_PLATFORMS" in os.environ or any(Path(device).exists() for device in devices):
        return {}
    return {"JAX_PLATFORMS": "cpu"}
