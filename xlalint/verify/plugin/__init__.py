"""The PJRT plugin by which TorchTPU runs without a TPU: built from `forwarding.c` on first use, kept in the user's cache folder.

It forwards to XLA's plugin for the CPU, and counts. Nothing here imports torch.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from xlalint.cache_folder import user_caches

SOURCE = Path(__file__).with_name("forwarding.c")
CPU_PLUGIN = "lammps_jax_pjrt_cpu"
"""The package that has XLA's plugin for the CPU, which needs neither its own use nor JAX."""
FORWARDS_TO = "XLALINT_PJRT_PLUGIN"
LOADED_FROM = "TPU_LIBRARY_PATH"
_BUILD_LIMIT = 120  # seconds; it takes a tenth of one


class PluginError(Exception):
    """The plugin cannot be built or found; the message says what is missing."""


class PluginCounts(NamedTuple):
    """Holds what the plugin counted since the process began: programs compiled, and copies to the host."""

    compilations: int
    reads: int


def build(folder: Path | None = None) -> Path:
    """Build the plugin, unless it was built from the same source before; return its path. `folder` is where it is kept.

    Raises: PluginError where there is no C compiler, or it fails.
    """
    source = SOURCE.read_bytes()
    made = (folder or user_caches()) / f"pjrt-forwarding-{hashlib.sha256(source).hexdigest()[:16]}.so"
    if made.exists():
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=made.parent) as building:
        fresh = Path(building, made.name)
        command = [*_compiler(), "-O1", "-shared", "-fPIC", "-o", str(fresh), str(SOURCE), "-ldl"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_BUILD_LIMIT)
        if done.returncode:
            raise PluginError(f"the C compiler fails on {SOURCE}: {done.stderr.strip()[-400:]}")
        fresh.replace(made)  # at once, where several processes build it
    return made


def _compiler() -> list[str]:
    given = os.environ.get("CC")
    if given:
        return shlex.split(given)
    found = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    if found is None:
        raise PluginError("running TorchTPU without a TPU needs a C compiler (gcc or clang; CC names another)")
    return [found]


def find_cpu_plugin() -> Path:
    """Return the path of XLA's plugin for the CPU.

    Raises: PluginError where it is not installed.
    """
    spec = find_spec(CPU_PLUGIN)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        file = Path(folder, "pjrt_c_api_cpu_plugin.so")
        if file.exists():
            return file
    raise PluginError(f"`{CPU_PLUGIN}` is not installed here; install: pip install 'xlalint[torch-tpu]'")


def is_used() -> bool:
    """Return whether this process's TorchTPU has the plugin for its TPU."""
    return Path(os.environ.get(LOADED_FROM, "")).name.startswith("pjrt-forwarding-")


@cache
def _library() -> ctypes.CDLL:
    """Return the plugin as it is loaded, or will be, by TorchTPU: a library of one path is loaded once."""
    library = ctypes.CDLL(os.environ[LOADED_FROM])
    for name in PluginCounts._fields:
        getattr(library, f"xlalint_{name}").restype = ctypes.c_long
    return library


def counts() -> PluginCounts:
    """Return what the plugin counted so far. What TorchTPU has not handed on yet is not part of it."""
    library = _library()
    return PluginCounts(*(int(getattr(library, f"xlalint_{name}")()) for name in PluginCounts._fields))


def write_programs(folder: str) -> None:
    """Have the StableHLO of each program that is compiled from now on written into a folder; "" ends that."""
    _library().xlalint_write_programs(folder.encode())
