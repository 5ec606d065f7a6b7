"""Flax modules as functions of their arrays: linen by `init` and `apply`, nnx by `split` and `merge`."""

from __future__ import annotations

from typing import Any

import flax.linen
import jax
from flax import nnx

from xlalint.verify.backends.jax import Applied
from xlalint.verify.backends.values import Arguments

_STREAMS = ("params", "dropout")  # the streams of random numbers that linen's own modules ask for


def applied_of(subject: Any, first: Arguments) -> Applied | None:
    """A linen or nnx module, or a bound method of one; None for what is neither."""
    owner = getattr(subject, "__self__", subject)
    method = getattr(subject, "__func__", None)
    if isinstance(owner, flax.linen.Module):
        return _linen(owner, method, first)
    if isinstance(owner, nnx.Module):
        return _nnx(owner, method)
    return None


def _linen(module: Any, method: Any, first: Arguments) -> Applied:
    keys = dict(zip(_STREAMS, jax.random.split(jax.random.key(0), len(_STREAMS)), strict=True))
    args, kwargs = first
    made = module.init(keys, *args, **kwargs, **({} if method is None else {"method": method}))
    kept = [name for name in made if name != "params"]
    streams = {name: key for name, key in keys.items() if name != "params"}

    def call(state: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        how = {} if method is None else {"method": method}
        if not kept:
            return module.apply(state, *args, rngs=streams, **how, **kwargs), state
        result, changed = module.apply(state, *args, rngs=streams, mutable=kept, **how, **kwargs)
        return result, {**state, **changed}

    return Applied(call, made)


def _nnx(module: Any, method: Any) -> Applied:
    graph, state = nnx.split(module)
    called = method or type(module).__call__

    def call(state: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        merged = nnx.merge(graph, state)
        result = called(merged, *args, **kwargs)
        return result, nnx.state(merged)

    return Applied(call, state)
