"""Programs as people have them, whose compilations are counted as those of jax_targets.py are. Those of AS_WRITTEN are host code."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

AS_WRITTEN = {
    "train_loop",
    "donated",
    "static_flag",
    "last_batch",
    "padded_last_batch",
    "generate_on_host",
    "closure_made_anew",
    "cached_factory",
    "new_key_in_the_tree",
    "scalars_of_two_types",
    "count_as_an_argument",
    "metrics_read",
    "python_position",
}


def _predict(params, x):
    return jnp.tanh(x @ params["w"]) @ params["v"]


def _params():
    return {"w": jnp.ones((4, 8)) / 8, "v": jnp.ones((8, 1))}


def _loss(params, x, y):
    return jnp.mean((_predict(params, x)[:, 0] - y) ** 2)


@jax.jit
def _train(params, x, y):
    loss, slopes = jax.value_and_grad(_loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes), loss


# xlalint: inputs(x="f32[8,4]", y="f32[8]")
def train_loop(x, y):
    params = _params()
    for _ in range(3):
        params, loss = _train(params, x, y)
    return loss


@functools.partial(jax.jit, donate_argnums=0)
def _update(state, x):
    return state + x.mean(0)


# xlalint: inputs(x="f32[8,4]")
def donated(x):
    state = jnp.zeros(4)
    for _ in range(3):
        state = _update(state, x)
    return state


@functools.partial(jax.jit, static_argnames="training")
def _model(x, training):
    return x * 0.5 if training else x


# xlalint: inputs(x="f32[8,4]", n="i32[] 0..1")
def static_flag(x, n):
    return _model(x, training=bool(n))


@jax.jit
def _batch_loss(x):
    return jnp.mean(x**2)


# xlalint: inputs(x="f32[10,4]")
def last_batch(x):
    return [_batch_loss(x[start : start + 4]) for start in range(0, 10, 4)]


# xlalint: inputs(x="f32[10,4]")
def padded_last_batch(x):
    rows = np.zeros((12, 4), np.float32)
    rows[:10] = np.asarray(x)
    return [_batch_loss(rows[start : start + 4]) for start in range(0, 12, 4)]


@jax.jit
def _following(tokens):
    return (tokens.sum() * 7) % 11


# xlalint: inputs(tokens="i32[4] 0..9")
def generate_on_host(tokens):
    for _ in range(3):
        token = _following(tokens)
        if int(token) == 0:
            break
        tokens = jnp.concatenate([tokens, token[None]])
    return tokens


# xlalint: inputs(tokens="i32[8] 0..9", n="i32[] 1..7")
def generate_on_device(tokens, n):
    def step(at, tokens):
        return tokens.at[at].set((tokens.sum() * 7) % 11)

    return jax.lax.fori_loop(1, n, step, tokens)


# xlalint: inputs(x="f32[8]")
def closure_made_anew(x):
    scale = 2.0

    @jax.jit
    def scaled(y):
        return y * scale

    return scaled(x)


@functools.cache
def _powers(n):
    return jax.jit(lambda x: x**n)


# xlalint: inputs(x="f32[8]", n="i32[] 1..3")
def cached_factory(x, n):
    return _powers(int(n))(x)


@jax.jit
def _total(tree):
    return sum(one.sum() for one in jax.tree.leaves(tree))


# xlalint: inputs(x="f32[8]", n="i32[] 0..1")
def new_key_in_the_tree(x, n):
    return _total({"x": x, "extra": x} if n else {"x": x})


@jax.jit
def _scaled(x, scale):
    return x * scale


# xlalint: inputs(x="f32[8]")
def scalars_of_two_types(x):
    return _scaled(x, 2), _scaled(x, 2.0), _scaled(x, jnp.float32(2))


_calls = iter(range(100))


# xlalint: inputs(x="f32[8]")
def count_as_an_argument(x):
    return _scaled(x, next(_calls))


# xlalint: inputs(x="f32[8,4]", y="f32[8]")
def metrics_read(x, y):
    params, loss = _train(_params(), x, y)
    print(f"loss {float(loss):.3f}", np.asarray(params["v"]).mean())
    return loss.item()


@functools.partial(jax.jit, static_argnums=2)
def _written(cache, row, position):
    return cache.at[position].set(row)


# xlalint: inputs(row="f32[4]", n="i32[] 0..7")
def python_position(row, n):
    return _written(jnp.zeros((8, 4)), row, int(n))


# xlalint: inputs(row="f32[4]", n="i32[] 0..7")
def traced_position(row, n):
    return jax.lax.dynamic_update_slice(jnp.zeros((8, 4)), row[None], (n, 0))


# xlalint: inputs(x="f32[8,4]", y="f32[8]")
def per_example_gradients(x, y):
    slopes = jax.vmap(jax.grad(_loss), (None, 0, 0))(_params(), x[:, None], y[:, None])
    return jax.tree.map(lambda one: one.mean(0), slopes)


# xlalint: inputs(x="f32[6,8,4]")
def recurrent(x):
    def cell(h, row):
        h = jnp.tanh(row @ jnp.ones((4, 4)) + h)
        return h, h

    return jax.lax.scan(jax.checkpoint(cell), jnp.zeros((8, 4)), x)


# xlalint: inputs(x="f32[8,4]", seed="i32[] 0..9")
def dropout(x, seed):
    key, other = jax.random.split(jax.random.key(seed))
    return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x * 2, 0) + jax.random.normal(other, x.shape)


# xlalint: inputs(x="f32[8]")
def printed_inside(x):
    jax.debug.print("mean {}", x.mean())
    return jax.jit(lambda y: y * 2)(x)


# xlalint: inputs(x="f32[8]")
def called_back(x):
    return jax.pure_callback(lambda y: np.sort(np.asarray(y)), jax.ShapeDtypeStruct((8,), jnp.float32), x)


@jax.custom_vjp
def _clipped(x):
    return x


_clipped.defvjp(lambda x: (x, None), lambda _, slope: (jnp.clip(slope, -1, 1),))


# xlalint: inputs(x="f32[8]")
def own_gradient(x):
    return jax.grad(lambda y: (_clipped(y) ** 3).sum())(x)


# xlalint: inputs(x="f32[8]", lengths="i32[] 1..8")
def sliced_by_a_value(x, lengths):
    return x[:lengths].sum()
