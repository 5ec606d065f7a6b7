"""Tracers: which framework runs a function to record its graph."""

from __future__ import annotations

from typing import Literal

import msgspec

Runner = Literal["compiler", "replicas", "training", "jit", "framework"]
"""What runs the graph that a tracer records: XLA's compiler; a strategy's devices, which it compiles for if they are TPUs; a framework's
training loop of a release that compiles if it is asked to, on a TPU always; the same of what a TPU's host runs beside it; the framework's
own runtime."""


class Tracer(msgspec.Struct, frozen=True, array_like=True):
    """A tracer of a root: the framework ("" where only the function's use of tensors says that it is traced).

    `autograph`: its control flow is rewritten, if the framework does such a thing. `compiles`: the program says itself that XLA
    compiles the graph (`jit_compile=True`); without that it may be one of an input pipeline. `runner` is what runs the graph.
    `concrete`: it runs operations at once, and Python may ask what it passes for a truth or a whole number.
    `whole` is the release of a tracer that is told to make one graph of all (`fullgraph=True`), which changes what it accepts.
    `refuses`: what compiles its graphs takes no copy between the host and the device in them.
    """

    framework: str = ""
    autograph: bool = True
    compiles: bool = False
    runner: Runner = "compiler"
    concrete: bool = False
    whole: tuple[int, ...] = ()
    refuses: bool = False

    @property
    def strict(self) -> bool:
        """Return whether what the graph cannot hold raises an exception."""
        return self.refuses or bool(self.whole)


UNTRACED = Tracer()


class HandOver(msgspec.Struct, frozen=True):
    """A decorator that hands its function to a tracer: its dotted name, the tracer, the arguments that stay host values."""

    name: str
    tracer: Tracer
    static: tuple[object, ...] = ()
