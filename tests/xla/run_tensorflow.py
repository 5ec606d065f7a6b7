"""Child process for TensorFlow: each example under `tf.function(jit_compile=True)`, against the same code run eagerly."""

from __future__ import annotations

import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

from children import serve
from observed import Observer

from xlalint.verify.backends import backend_of

BACKEND = backend_of("tensorflow")

if __name__ == "__main__":
    serve(Observer(BACKEND, "tf"))
