"""Where a script's steps end, seen from outside: at torch_xla's step marker, after an optimizer's step, after a `tf.function` or a jitted
function was called.

A step's name tells it from steps of other kinds (training, evaluation), which have a warm-up of their own.
"""

from __future__ import annotations

import functools
import re
import sys
import threading
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from xlalint.verify.batches import notice_batches
from xlalint.verify.model import Event
from xlalint.verify.places import calling, is_users
from xlalint.verify.seen import shorten_path

Ended = Callable[[str], None]
"""Called with a step's name, when it has ended."""

_KERAS_STEP = re.compile(r"make_(\w+)_function\.<locals>")


def notice_steps(framework: str, ended: Ended, note: Callable[[Event], None]) -> None:
    """Have `ended` called from now on, and `note` for what causes something; `framework` is a key of `METERS` that was imported. Nothing
    takes it back.
    """
    if framework.startswith("torch"):
        notice_batches(note)
    known = {"torch_xla": _torch_xla, "torch._dynamo": _torch, "tensorflow": _tensorflow, "jax": _jax}
    if framework in known:
        known[framework](ended)


class _Depth(threading.local):
    """How many steps a thread is in: what a step calls is no step."""

    depth = 0

    @contextmanager
    def outermost(self, ended: Callable[[], None]) -> Any:
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            if not self.depth:
                ended()


def _torch_xla(ended: Ended) -> None:
    import torch_xla

    mark = torch_xla._XLAC._xla_step_marker

    @functools.wraps(mark)
    def mark_step(*args: Any, **kwargs: Any) -> Any:
        try:
            return mark(*args, **kwargs)
        finally:
            place = calling()
            ended(f"{shorten_path(place.file)}:{place.line}" if place else "step")

    torch_xla._XLAC._xla_step_marker = mark_step


def _torch(ended: Ended) -> None:
    """An optimizer's step, where no XLA device has steps of its own."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    def end_step(optimizer: Any, args: Any, kwargs: Any) -> None:
        if "torch_xla" not in sys.modules:
            ended(f"{type(optimizer).__name__}.step")

    register_optimizer_step_post_hook(end_step)


def _tensorflow(ended: Ended) -> None:
    from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function

    call, local = Function.__call__, _Depth()

    @functools.wraps(call)
    def call_outermost(function: Any, *args: Any, **kwargs: Any) -> Any:
        if local.depth:
            return call(function, *args, **kwargs)
        with local.outermost(lambda: ended(_name(function.python_function))):
            return call(function, *args, **kwargs)

    Function.__call__ = call_outermost


def _jax(ended: Ended) -> None:
    import jax

    local = _Depth()
    for name in ("jit", "pmap"):
        setattr(jax, name, _stepping(getattr(jax, name), ended, local))


def _stepping(transform: Callable[..., Any], ended: Ended, local: _Depth) -> Callable[..., Any]:
    """`jax.jit`, such that what it makes of the user's functions tells when it was called."""

    @functools.wraps(transform)
    def stepping(*args: Any, **kwargs: Any) -> Any:
        made = transform(*args, **kwargs)
        function = args[0] if args else kwargs.get("fun")
        if function is None:  # `@jax.jit(static_argnums=0)`
            return _stepping(made, ended, local)
        return JittedStep(made, _name(function), ended, local) if _of_user(function) else made

    return stepping


def _of_user(function: Any) -> bool:
    code = getattr(_plain(function), "__code__", None)
    return code is not None and is_users(code.co_filename)


def _plain(function: Any) -> Any:
    """The function itself, of a partial, a method or a wrapped one."""
    while True:
        inner = (
            getattr(function, "func", None)
            or getattr(function, "__func__", None)
            or getattr(function, "__wrapped__", None)
        )
        if inner is None:
            return function
        function = inner


def _name(function: Any) -> str:
    """How a step of this function is called: `train_step`; of Keras' own, `train` and `test`."""
    name = getattr(_plain(function), "__qualname__", None) or type(function).__name__
    keras = _KERAS_STEP.search(name)
    return f"Keras {keras[1]} step" if keras else str(name).rpartition("<locals>.")[2]


class JittedStep:
    """A jitted function of the user's: calls it, and says when it is done. All else is the jitted function's."""

    def __init__(self, jitted: Any, name: str, ended: Ended, local: _Depth) -> None:
        functools.update_wrapper(self, jitted, updated=())
        self._xlalint = (jitted, name, ended, local)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        jitted, name, ended, local = self._xlalint
        if local.depth:
            return jitted(*args, **kwargs)
        with local.outermost(lambda: ended(name)):
            return jitted(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name == "_xlalint":  # a copy that is being made has none yet
            raise AttributeError(name)
        return getattr(self._xlalint[0], name)
