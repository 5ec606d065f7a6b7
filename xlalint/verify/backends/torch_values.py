"""Arrays to tensors and back, and gradients: what the backends of PyTorch share."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from xlalint.verify.backends import Leaf, Program, Result, values
from xlalint.verify.places import headline


def seed(number: int) -> None:
    """Make everything random repeatable."""
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


def make_callable(program: Program, device: torch.device) -> Callable[..., Any]:
    """Make a program's callable, whose module, if it is one or a method of one, lies on a device.

    Distributions check their arguments, as where a program begins: the first use of `torch.compile` switches that off for the process.
    """
    torch.distributions.Distribution.set_default_validate_args(__debug__)
    call = program.make()
    module = module_of(call)
    if module is not None:
        module.to(device)
    return call


def module_of(call: Callable[..., Any]) -> torch.nn.Module | None:
    owner = getattr(call, "__self__", call)
    return owner if isinstance(owner, torch.nn.Module) else None


def tensor(value: Any, device: torch.device, differentiable: bool) -> Any:
    """A NumPy array as a tensor on a device; other values as they are. bfloat16 comes as ml_dtypes has it, or float32 stands for it.

    A 0-d array becomes an element of an uploaded one: torch_xla shares the buffer of an uploaded scalar with any equal Python scalar of
    the program, which makes another graph; the result of a computation, as a training step has it, is not shared.
    """
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    array = np.asarray(value)
    bfloat16 = array.dtype.name == "bfloat16"
    plain = np.array(array.astype(np.float32) if bfloat16 else array, ndmin=1)
    made = torch.from_numpy(plain).to(device)
    if bfloat16:
        made = made.to(torch.bfloat16)
    made = made if array.ndim else made[0]
    return made.requires_grad_() if differentiable and made.is_floating_point() else made


class ProgramCall:
    """One call of a program: `forward`, `backward` where gradients are wanted, then, when all was counted, the `result`.

    Arguments that need gradients are given as results of a computation, so that a program may write into them.

    Args:
        call: what is called.
        arguments: tensors, on the program's device, and other values.
        subject: what `call` was made from, and whose parameters and globals it uses; itself, if none is given.
    """

    def __init__(self, call: Callable[..., Any], arguments: Mapping[str, Any], subject: Any = None) -> None:
        self._call = call
        self._subject = call if subject is None else subject
        self._arguments = arguments
        self._given = {name: one.clone() if _differentiable(one) else one for name, one in arguments.items()}
        self._state = _state(self._subject)
        self._versions = [_version(one) for one in (*self._given.values(), *self._state.values())]
        self._outputs: Any = None
        self._gradients: list[torch.Tensor] = []
        self._ends: tuple[int, ...] = ()
        self._refused = ""

    def forward(self) -> None:
        positional, named = values.split(self._given)
        self._outputs = self._call(*positional, **named)

    def backward(self, ends: Sequence[int] | None = None) -> None:
        """Gradients of the floating arguments, then of the parameters, from the outputs at `ends`, else from all that have some."""
        module = module_of(self._subject)
        own = [one for one in module.parameters() if one.requires_grad] if module is not None else []
        wanted = [one for one in self._arguments.values() if _differentiable(one)] + own
        outputs = dict(enumerate(values.flatten(self._outputs)))
        self._ends = tuple(n for n, one in outputs.items() if _differentiable(one)) if ends is None else tuple(ends)
        try:
            self._gradients = gradients({n: outputs.get(n) for n in self._ends}, wanted)
        except RuntimeError as error:  # what PyTorch cannot differentiate
            self._refused = headline(error)

    def result(self) -> Result:
        kept = _state(self._subject)
        arguments, state = len(self._given), self._versions[len(self._given) :]
        changed = [
            one
            for one, old in zip(self._given.values(), self._versions[:arguments], strict=True)
            if _version(one) != old
        ]
        known = dict(zip(self._state, state, strict=True))
        moved = {name: one for name, one in kept.items() if name not in known or _version(one) != known[name]}
        effects = {
            "arguments": leaves(changed),
            "state": leaves(moved),
            "random": [*leaves(torch.get_rng_state()), *values.generators()],
        }
        return Result(leaves(self._outputs), leaves(self._gradients), effects, self._ends, self._refused)


def _state(call: Callable[..., Any]) -> dict[str, Any]:
    """Return what a program keeps between calls: its module's parameters and buffers, and public globals that hold values."""
    module = module_of(call)
    own = dict(module.state_dict(keep_vars=True)) if module is not None else {}
    return {**own, **values.globals_of(call, torch.Tensor)}


def _version(value: Any) -> Any:
    """Something that differs once a value has changed: of a tensor, how often it was written."""
    if isinstance(value, torch.Tensor):
        return id(value), value._version
    return repr(value)


def _differentiable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def gradients(outputs: Mapping[int, Any], wanted: list[torch.Tensor]) -> list[torch.Tensor]:
    """Of the elements of outputs, by their positions, each times a number of its own, summed; zeros for what they do not depend on."""
    if not outputs or not wanted:
        return []
    ends = [(n, one) for n, one in outputs.items() if _differentiable(one)]
    if not ends:
        return [torch.zeros_like(one) for one in wanted]
    back = [torch.as_tensor(values.cotangent(n, tuple(one.shape))).to(one.dtype).to(one.device) for n, one in ends]
    found = torch.autograd.grad([one for _, one in ends], wanted, back, allow_unused=True)
    return [torch.zeros_like(one) if grad is None else grad for one, grad in zip(wanted, found, strict=True)]


def leaves(value: Any) -> list[Leaf]:
    """A result as arrays with the names of their dtypes; bfloat16, which NumPy has not, as float32 under its own name."""
    return [_leaf(one) for one in values.flatten(value)]


def _leaf(value: Any) -> Leaf:
    if not isinstance(value, torch.Tensor):
        return values.leaves([value], lambda other: np.asarray(other, object) if _is_foreign(other) else other)[0]
    plain = value.detach().cpu().resolve_conj().resolve_neg()
    array = plain.float().numpy() if plain.dtype is torch.bfloat16 else plain.numpy()
    return str(plain.dtype).removeprefix("torch."), array.copy()


def _is_foreign(value: Any) -> bool:
    return not isinstance(value, (np.ndarray, np.generic))
