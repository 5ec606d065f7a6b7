"""Functions of each framework, of which a test gives the body."""

from __future__ import annotations

TORCH = """import torch
import torch.nn.functional as F


def f(x: torch.Tensor, y: torch.Tensor, n: int) -> torch.Tensor:
    {body}
"""
JAX = """import jax
import jax.numpy as jnp


@jax.jit
def f(x: jax.Array, y: jax.Array) -> jax.Array:
    {body}
"""
TENSORFLOW = """import tensorflow as tf


@tf.function(jit_compile=True)
def f(x: tf.Tensor) -> tf.Tensor:
    {body}
"""
