"""Hears what `tf.print` writes: TensorFlow's runtime writes it to the process's descriptors, past Python's own streams."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.ops import gen_logging_ops


@contextlib.contextmanager
def heard_by_python() -> Iterator[None]:
    """Have eager calls of `tf.print` print as Python does, with the stream's name in front; calls in graphs stay as they are."""
    written = gen_logging_ops.print_v2

    def write(input: Any, output_stream: str = "stderr", end: str = "\n", name: Any = None) -> Any:  # noqa: A002
        if not tf.executing_eagerly():
            return written(input, output_stream=output_stream, end=end, name=name)
        text = input.numpy() if hasattr(input, "numpy") else input
        plain = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
        sys.stdout.write(f"{output_stream}: {plain}{end}")
        return None

    gen_logging_ops.print_v2 = write
    try:
        yield
    finally:
        gen_logging_ops.print_v2 = written
