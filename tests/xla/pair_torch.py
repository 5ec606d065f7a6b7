"""Child process for torch: pairs of programs, run eagerly on the CPU."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import torch
from children import converse
from outcomes import Leaf
from pairs import Seen, cotangent, differences
from run_torch import made

from xlalint.verify.backends.torch_capture import capturing, on_cpu
from xlalint.verify.backends.torch_values import flattened, leaves


def state_of(subject: Any, module: ModuleType) -> list[Leaf]:
    """What the program keeps between calls: buffers and parameters, and the lists, dicts and numbers of its module."""
    own = dict(subject.state_dict()) if isinstance(subject, torch.nn.Module) else {}
    kept = {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and type(value) in (list, dict, int, float, torch.Tensor)
    }
    return leaves([own, kept])


def run(program: dict[str, Any], values: dict[str, Any], grad: bool) -> Seen:
    with capturing():
        subject, module = made(program)
    inputs = on_cpu(values)
    sources = [value for value in inputs.values() if isinstance(value, torch.Tensor) and value.is_floating_point()]
    if grad:
        for source in sources:
            source.requires_grad_()
    given = {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in inputs.items()}
    out = io.StringIO()
    with capturing(), contextlib.redirect_stdout(out), torch.set_grad_enabled(grad):
        torch.manual_seed(1)
        results = list(flattened(subject(**given)))
    generators = [torch.get_rng_state(), hash(random.getstate()), np.random.get_state()[1].sum()]
    parameters = list(subject.parameters()) if isinstance(subject, torch.nn.Module) else []
    wanted = [*sources, *parameters]

    def gradients(positions: Sequence[int]) -> list[Leaf]:
        outputs = [results[p] for p in positions if isinstance(results[p], torch.Tensor) and results[p].requires_grad]
        back = [torch.as_tensor(cotangent(p, tuple(results[p].shape))).to(results[p]) for p in positions]
        back = [b for p, b in zip(positions, back, strict=True) if results[p].requires_grad]
        sinks = [one for one in wanted if one.requires_grad]
        found = (
            torch.autograd.grad(outputs, sinks, back, allow_unused=True) if outputs and sinks else [None] * len(sinks)
        )
        return leaves([torch.zeros_like(s) if g is None else g for s, g in zip(sinks, found, strict=True)])

    differentiable = [n for n, one in enumerate(results) if isinstance(one, torch.Tensor) and one.requires_grad]
    return Seen(
        results=leaves(results),
        differentiable=differentiable,
        arguments=leaves(list(given.values())),
        state=state_of(subject, module),
        random=leaves(generators),
        printed=out.getvalue(),
        gradients=gradients,
    )


if __name__ == "__main__":
    converse(lambda question: differences(run, question))
