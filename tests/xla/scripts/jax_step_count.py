"""A JAX training loop that compiles every step: the step count is a Python number in the graph."""

import argparse
from functools import partial

import jax
import jax.numpy as jnp


def schedule(step: int, total: int) -> float:
    return 0.1 * (1 - step / total)


@partial(jax.jit, static_argnames=("step", "total"))
def train_step(weights, x, y, step: int, total: int):
    def loss(weights):
        return jnp.mean((x @ weights - y) ** 2)

    value, gradient = jax.value_and_grad(loss)(weights)
    return weights - schedule(step, total) * gradient, value


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8)
    steps = parser.parse_args().steps
    key = jax.random.key(0)
    x = jax.random.normal(key, (16, 4))
    weights, y = jnp.zeros((4, 1)), x.sum(axis=1, keepdims=True)
    for step in range(steps):
        weights, loss = train_step(weights, x, y, step, steps)
        print(f"step {step}: loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
