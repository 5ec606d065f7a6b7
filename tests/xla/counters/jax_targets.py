"""Functions whose compilations are counted: by xlalint, and by what JAX logs of them. Those of AS_WRITTEN are host code."""

import jax
import jax.numpy as jnp
import numpy as np

AS_WRITTEN = {"jitted_inside", "jitted_outside", "read_between", "new_sizes", "static_number", "eager"}


# xlalint: inputs(x="f32[4,8]")
def plain(x):
    return jax.nn.gelu(x) * 2


# xlalint: inputs(x="f32[4,8]")
def branch(x):
    if x.mean() > 0:
        return x * 2
    return x - 1


# xlalint: inputs(x="f32[4,8]")
def cond(x):
    return jax.lax.cond(x.mean() > 0, lambda y: y * 2, lambda y: y - 1, x)


# xlalint: inputs(x="f32[4,8]", mask="bool[4,8]")
def masked_values(x, mask):
    return x[mask].sum()


# xlalint: inputs(x="f32[4,8]", mask="bool[4,8]")
def where_of_mask(x, mask):
    return jnp.where(mask, x, 0.0).sum()


# xlalint: inputs(x="i32[16] 0..5")
def distinct(x):
    return jnp.unique(x)


# xlalint: inputs(x="i32[16] 0..5")
def distinct_of_size(x):
    return jnp.unique(x, size=6)


# xlalint: inputs(x="f32[8]")
def read(x):
    return float(x.sum())


# xlalint: inputs(x="f32[8]")
def of_numpy(x):
    return np.sin(x)


# xlalint: inputs(x="f32[4,4]")
def while_loop(x):
    return jax.lax.while_loop(lambda y: jnp.abs(y).max() > 1, lambda y: y / 2, x)


# xlalint: inputs(x="f32[4,4]")
def unrolled(x):
    for _ in range(4):
        x = jnp.tanh(x @ x)
    return x


# xlalint: inputs(x="f32[4,8]", n="i32[] 1..6")
def size_of_value(x, n):
    return jnp.ones(n) + x[0, 0]


# xlalint: inputs(x="f32[4,8]", n="i32[] 1..6")
def mask_of_value(x, n):
    return jnp.where(jnp.arange(8) < n, x, 0.0)


# xlalint: inputs(x="f32[4,8]")
def scan(x):
    return jax.lax.scan(lambda a, b: (a + b, a), x[0], x)


# xlalint: inputs(x="f32[8]")
def jitted_inside(x):
    return jax.jit(lambda y: jnp.sin(y) * 3)(x)


@jax.jit
def _double(x):
    return x * 2 + 1


# xlalint: inputs(x="f32[8]")
def jitted_outside(x):
    return _double(x)


# xlalint: inputs(x="f32[8]")
def read_between(x):
    return _double(x) * float(x.max())


# xlalint: inputs(x="f32[8]", n="i32[] 1..6")
def new_sizes(x, n):
    return _double(x[: int(n)])


_power = jax.jit(lambda x, n: x**n, static_argnums=1)


# xlalint: inputs(x="f32[8]", n="i32[] 1..6")
def static_number(x, n):
    return _power(x, int(n))


# xlalint: inputs(x="f32[8]")
def eager(x):
    return jnp.cumsum(jnp.sort(x))
