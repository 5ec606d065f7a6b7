"""Child process for a framework, the first argument: each example on the backends of xlalint, against the same code run eagerly."""

from __future__ import annotations

import os
import sys
import warnings

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

from children import serve
from observed import Observer

from xlalint.verify.backends import backend_of

BACKENDS = {  # by targets; the first sets the environment that its framework reads
    "torch": {"torch_xla": "torch_xla", "torch_compile": "torch_compile"},
    "torch_tpu": {"torch_tpu": "torch_tpu"},
    "tensorflow": {"tf": "tensorflow"},
    "jax": {"jax": "jax"},
}

if __name__ == "__main__":
    framework, answer = sys.argv[1:]
    warnings.simplefilter("ignore")
    backends = {target: backend_of(name) for target, name in BACKENDS[framework].items()}
    if framework == "torch":
        import torch

        torch._dynamo.config.automatic_dynamic_shapes = True  # as without torch_xla, which switches it off on import
    serve(Observer(backends, repeats=not framework.startswith("torch")), answer)
