"""Child process for torch: pairs of programs, run eagerly on the CPU."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import torch
from children import converse
from outcomes import Leaf
from outcomes import leaves as flat_leaves
from pairs import Seen, cotangent, differences
from run_torch import CPU, code_sees, prepare, to_device


def leaf(value: Any) -> Leaf:
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        if plain.is_conj():
            plain = plain.resolve_conj()
        array = plain.float().numpy() if plain.dtype is torch.bfloat16 else plain.numpy()
        return str(plain.dtype).removeprefix("torch."), array.copy()
    return flat_leaves(value, np.asarray)[0]


def flattened(value: Any) -> list[Any]:
    """The values that a result holds, in order; objects of classes by their attributes."""
    if isinstance(value, Mapping):
        return [one for key in sorted(value, key=str) for one in flattened(value[key])]
    if isinstance(value, (list, tuple)):
        return [one for item in value for one in flattened(item)]
    return [value]


def leaves(value: Any) -> list[Leaf]:
    return [leaf(one) for one in flattened(value)]


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
    subject, _, module = prepare(program, CPU)
    inputs = {name: to_device(value, CPU) for name, value in values.items()}
    sources = [value for value in inputs.values() if isinstance(value, torch.Tensor) and value.is_floating_point()]
    if grad:
        for source in sources:
            source.requires_grad_()
    given = {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in inputs.items()}
    out = io.StringIO()
    with code_sees(CPU), contextlib.redirect_stdout(out), torch.set_grad_enabled(grad):
        torch.manual_seed(1)
        results = flattened(subject(**given))
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
        return [leaf(torch.zeros_like(s) if g is None else g) for s, g in zip(sinks, found, strict=True)]

    differentiable = [n for n, one in enumerate(results) if isinstance(one, torch.Tensor) and one.requires_grad]
    return Seen(
        results=[leaf(one) for one in results],
        differentiable=differentiable,
        arguments=leaves(list(given.values())),
        state=state_of(subject, module),
        random=leaves(generators),
        printed=out.getvalue(),
        gradients=gradients,
    )


if __name__ == "__main__":
    converse(lambda question: differences(run, question))
