"""Child process for a framework, the first argument: runs the `main` of each program that stdin lists, by name, and prints how often XLA
compiled in it, as JSON.

Each program runs in a process of its own, since what one compiled is kept; these are forked once the framework is imported, which takes
longer than most of them.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
import warnings

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("PJRT_DEVICE", "CPU")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

import xlalint

IMPORTED = {"torch": ("torch", "torch_xla"), "tensorflow": ("tensorflow", "keras"), "jax": ("jax", "torch.utils.data")}


def counted(file: str) -> str:
    """The number of compilations of a program's `main`, or what it raised."""
    try:
        main = runpy.run_path(file)["main"]
        with xlalint.watch() as seen:
            main()
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what came of the program)
        return f"{type(error).__name__}: {error}"
    return str(seen.compilations)


def apart(file: str) -> str:
    """The same in a process of its own."""
    read, write = os.pipe()
    if not os.fork():
        os.write(write, counted(file).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as said:
        answer = said.read()
    os.wait()
    return answer


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "tensorflow":  # which tells of compilations only if it is imported under it
        with xlalint.watch():
            importlib.import_module("tensorflow")
    for module in IMPORTED[sys.argv[1]]:
        importlib.import_module(module)
    print(json.dumps({name: apart(file) for name, file in json.load(sys.stdin).items()}))
