"""Flax modules as functions of their arrays: linen by `init` and `apply`, nnx by `split` and `merge`."""

from __future__ import annotations

from typing import Any

import flax.linen
import jax
from flax import nnx

from xlalint.verify.backends.jax import PureSubject
from xlalint.verify.backends.values import Arguments

_STREAMS = ("params", "dropout")  # the streams of random numbers that linen's own modules ask for


def applied_of(subject: Any, first: Arguments) -> PureSubject | None:
    """A linen or nnx module, or a bound method of one; None for what is neither."""
    owner = getattr(subject, "__self__", subject)
    method = getattr(subject, "__func__", None)
    if isinstance(owner, flax.linen.Module):
        return _linen(owner, method, first)
    if isinstance(owner, nnx.Module):
        return _nnx(owner, method)
    return None


def _linen(module: Any, method: Any, first: Arguments) -> PureSubject:
    keys = dict(zip(_STREAMS, jax.random.split(jax.random.key(0), len(_STREAMS)), strict=True))
    args, kwargs = first
    how = {} if method is None else {"method": method}
    made = dict(module.init(keys, *args, **kwargs, **how))
    parameters = made.pop("params", {})
    streams = {name: key for name, key in keys.items() if name != "params"}

    def call(state: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        variables = {"params": state[0], **state[1]}
        result, kept = module.apply(variables, *args, rngs=streams, mutable=list(made), **how, **kwargs)
        return result, {**state[1], **kept}

    return PureSubject(call, (parameters, made))


def _nnx(module: Any, method: Any) -> PureSubject:
    """Parameters are given and not returned: what a call changes are the other arrays (statistics, counts of random numbers)."""
    graph, parameters, rest = nnx.split(module, nnx.Param, ...)
    called = method or type(module).__call__

    def call(state: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        given, kept = state
        merged = nnx.merge(graph, given, kept)
        result = called(merged, *args, **kwargs)
        return result, nnx.split(merged, nnx.Param, ...)[2]

    return PureSubject(call, (parameters, rest))
