"""Arrays to tensors and back, and gradients: what the backends of PyTorch share."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.lib.array_utils import byte_bounds

from xlalint.verify.backends import Content, Leaf, Program, Result, Setting, values
from xlalint.verify.content import Anatomy, Kinds, take_apart
from xlalint.verify.held import HeldSnapshot, changes, held_by, is_of_users, snapshot
from xlalint.verify.inputs.containers import Build, nest
from xlalint.verify.inputs.functions import DEVICE, function_of
from xlalint.verify.layout import LEAF, NOT_CONTIGUOUS, NUMPY, SHARES
from xlalint.verify.model import NamedFunction
from xlalint.verify.places import headline

ORDINARY = Setting()
_MOST_CELLS = 4096
SETTINGS = ("layout", "evaluation", "autocast", "weights", "detached")


def seed(number: int) -> None:
    """Make everything random repeatable."""
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


def seed_cpu(number: int) -> None:
    """Make everything random on the CPU repeatable. `torch.manual_seed` asks all devices, which takes longer than most steps."""
    torch.default_generator.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


def make_callable(program: Program, device: torch.device, setting: Setting = ORDINARY) -> Callable[..., Any]:
    """Make a program's callable, whose module, if it is one or a method of one, lies on a device and is as the setting says.

    Distributions check their arguments, as where a program begins: the first use of `torch.compile` switches that off for the process.
    """
    torch.distributions.Distribution.set_default_validate_args(__debug__)
    call = program.make()
    module = module_of(call)
    if module is not None:
        module.to(device)
        if setting.weights:
            _change_weights(module)
        if setting.wide:
            module.double()
        if setting.evaluation:
            module.eval()
    return call


def _change_weights(module: torch.nn.Module) -> None:
    """Give parameters and buffers other values, the same each time: none is what a constructor begins with, and no sign is another."""
    generator = np.random.default_rng(7)
    with torch.no_grad():
        for one in (*module.parameters(), *module.buffers()):
            if one.is_floating_point():
                scale, shift = generator.uniform(0.5, 1.5, one.shape), generator.uniform(0.0, 0.25, one.shape)
                one.copy_(one * torch.as_tensor(scale) + torch.where(one == 0, torch.as_tensor(shift), 0.0))


def module_of(call: Callable[..., Any]) -> torch.nn.Module | None:
    owner = getattr(call, "__self__", call)
    return owner if isinstance(owner, torch.nn.Module) else None


def _saved_by(module: torch.nn.Module) -> Iterator[str]:
    """The names in a module's state dict, which is not asked for: code of the user's may stand in it."""
    for prefix, one in module.named_modules(remove_duplicate=False):
        for name, held in (*one._parameters.items(), *one._buffers.items()):
            if held is not None and name not in one._non_persistent_buffers_set:
                yield f"{prefix}.{name}" if prefix else name


def spread(array: Any) -> Any:
    """The same values as every second one of a larger tensor, whose last two dimensions are swapped: `view` cannot flatten it."""
    if array.ndim > 1:
        return _spread(array.transpose(-1, -2)).transpose(-1, -2)
    return _spread(array)


def _spread(array: Any) -> Any:
    wide = torch.zeros((*array.shape, 2), dtype=array.dtype)
    wide[..., 0] = array
    return wide[..., 0]


def tensor(value: Any, device: torch.device, differentiable: bool, apart: bool = False) -> Any:
    """A NumPy array as a tensor on a device; other values as they are. bfloat16 comes as ml_dtypes has it, or float32 stands for it.

    A 0-d array becomes an element of an uploaded one: torch_xla shares the buffer of an uploaded scalar with any equal Python scalar of
    the program, which makes another graph; the result of a computation, as a training step has it, is not shared. `apart`: it is not
    contiguous.
    """
    if isinstance(value, NamedFunction):
        return device if value.name == DEVICE else function_of(value.name, "torch")
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    array = np.asarray(value)
    bfloat16 = array.dtype.name == "bfloat16"
    plain = np.array(array.astype(np.float32) if bfloat16 else array, ndmin=1)
    made = torch.from_numpy(plain).to(device)
    if bfloat16:
        made = made.to(torch.bfloat16)
    made = made if array.ndim else made[0]
    made = spread(made) if apart and array.ndim else made
    return made.requires_grad_() if differentiable and made.is_floating_point() else made


class ProgramCall:
    """One call of a program: `forward`, `backward` where gradients are wanted, then, when all was counted, the `result`.

    Arguments that need gradients are given as results of a computation, so that a program may write into them.

    Args:
        call: what is called.
        arguments: tensors, on the program's device, and other values.
        subject: what `call` was made from, and whose parameters and globals it uses; itself, if none is given.
        setting: the circumstances of the call.
        effects: whether the result tells of them.
        build: makes arguments that are of the program's own classes.
        earlier: what the call before gave, which is replaced by what this one gives.
    """

    def __init__(
        self,
        call: Callable[..., Any],
        arguments: Mapping[str, Any],
        subject: Any = None,
        setting: Setting = ORDINARY,
        effects: bool = True,
        build: Build = values.PLAIN,
        earlier: list[Any] | None = None,
    ) -> None:
        self._call = call
        self._earlier = earlier if earlier is not None else []
        self._subject = call if subject is None else subject
        self._arguments = arguments
        self._setting = setting
        self._given = {name: one.clone() if _differentiable(one) else one for name, one in arguments.items()}
        self._whole = nest(self._given, build)
        self._held = self._snapshot(self._subject) if effects else None
        self._before = _snapshot_of({"argument": self._whole}) if effects else None
        self._outputs = Anatomy((), (), (), ())
        self._settings = Content()
        self._gradients: list[torch.Tensor] = []
        self._ends: tuple[int, ...] = ()
        self._refused = ""

    def forward(self) -> None:
        positional, named = values.order(self._whole)
        traced = torch.is_grad_enabled() and not self._setting.detached
        precision = torch.autocast(_device_of(self._given), torch.bfloat16, enabled=self._setting.autocast)
        with precision, torch.set_grad_enabled(traced):
            self._outputs = take_apart(self._call(*positional, **named), KINDS)
            self._settings = values.settings()  # which are as they were after the block

    def backward(self, ends: Sequence[int] | None = None) -> None:
        """Gradients of the floating arguments, then of the parameters, from the outputs at `ends`, else from all that have some."""
        module = module_of(self._subject)
        own = [one for one in module.parameters() if one.requires_grad] if module is not None else []
        wanted = [one for one in self._arguments.values() if _differentiable(one)] + own
        outputs = dict(enumerate(self._outputs.items))
        self._ends = self._find_traced() if ends is None else tuple(ends)
        try:
            self._gradients = gradients({n: outputs.get(n) for n in self._ends}, wanted)
        except RuntimeError as error:  # what PyTorch cannot differentiate
            self._refused = headline(error)

    def result(self) -> Result:
        """Return what was computed."""
        outputs = values.content_of(self._outputs, leaves)
        return Result(outputs, leaves(self._gradients), self._effects(), self._ends, self._refused, traced=True)

    def _find_traced(self) -> tuple[int, ...]:
        return tuple(n for n, one in enumerate(self._outputs.items) if _differentiable(one))

    def _effects(self) -> dict[str, Content]:
        if self._held is None or self._before is None:
            return {}
        module = module_of(self._subject)
        kept = [(f".{name}", "in the state dict") for name in (_saved_by(module) if module is not None else ())]
        return {
            "checkpoint": Content(parts=kept),
            "arguments": changes(self._before, _snapshot_of({"argument": self._whole})),
            "state": changes(self._held, self._snapshot(self._subject)),
            "random": values.generators(*leaves([torch.get_rng_state()])),
            "settings": self._settings,
            "layout": self._layout(),
        }

    def _layout(self) -> Content:
        """Tell which results are not contiguous, NumPy's, or where gradients end; and whose memory each shares: an argument's, one that the
        instance holds, another result's, or one's of the call before. What is held may lie in an argument's too.
        """
        held = take_apart(held_by(self._subject), STATE_KINDS)
        owners = [*self._given.items(), *zip(held.paths, held.items, strict=True)]
        memory = [(extent, name) for name, one in owners if (extent := _extent(one))]
        results = list(zip(self._outputs.paths, self._outputs.items, strict=True))
        given = [one for one in self._given.values() if isinstance(one, torch.Tensor)]
        parts = [
            (path, "in the memory of an argument")
            for path, one in zip(held.paths, held.items, strict=True)
            if any(_overlap(one, other) for other in given)
        ]
        for n, (path, one) in enumerate(results):
            parts += [(path, f"one with {other or 'it'}") for other, first in results[:n] if _overlap(one, first)]
            if isinstance(one, torch.Tensor) and one.layout is torch.strided and not one.is_contiguous():
                parts.append((path, NOT_CONTIGUOUS))
            if isinstance(one, np.ndarray):
                parts.append((path, NUMPY))
            if _differentiable(one) and one.is_leaf:
                parts.append((path, LEAF))
            own = _extent(one)
            owner = next((name for extent, name in memory if own and own.start in extent), "")
            if owner:
                parts.append((path, f"{SHARES}{owner}"))
            elif own and any(own.start in _extent(other) for other in self._earlier):
                parts.append((path, "in the memory of what the call before gave"))
        self._earlier[:] = [one for _, one in results]
        return Content(parts=parts)

    @staticmethod
    def _snapshot(subject: Any) -> HeldSnapshot:
        return _snapshot_of(held_by(subject))


def _snapshot_of(held: Mapping[str, Any]) -> HeldSnapshot:
    return snapshot(held, STATE_KINDS, leaves)


def _extent(value: Any) -> range:
    """The addresses of the memory that a tensor or an array of NumPy lies in; empty for what has none."""
    if isinstance(value, np.ndarray) and value.size:
        start, end = byte_bounds(value)
        return range(start, end)
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or value.device.type != "cpu":
        return range(0)
    if not value.numel():
        return range(0)
    storage = value.untyped_storage()
    return range(storage.data_ptr(), storage.data_ptr() + storage.nbytes())


def _overlap(one: Any, other: Any) -> bool:
    """Return whether a write into one of two tensors reaches the other."""
    own, others = _cells(one), _cells(other)
    return bool(own.size and others.size) and bool(np.isin(own, others).any())


def _cells(value: Any) -> Any:
    """The addresses of a tensor's elements; none where it has many, or none to tell."""
    if not isinstance(value, torch.Tensor) or not _extent(value) or value.numel() > _MOST_CELLS:
        return np.zeros(0, np.int64)
    cells = np.asarray(value.data_ptr())
    for size, stride in zip(value.shape, value.stride(), strict=True):
        cells = cells[..., None] + np.arange(size) * stride * value.element_size()
    return cells.reshape(-1)


def _device_of(arguments: Mapping[str, Any]) -> str:
    return next((one.device.type for one in arguments.values() if isinstance(one, torch.Tensor)), "cpu")


def _parts_of(value: Any) -> tuple[str, Mapping[str, Any]] | None:
    """Return what a container of PyTorch's holds: a module its parameters, buffers, modules and the attributes that code gave it."""
    if isinstance(value, torch.nn.Module):
        own = {name: one for name, one in vars(value).items() if not name.startswith("_")}
        tables = (value._parameters, value._buffers, value._modules)
        held = {**own, **{name: one for table in tables for name, one in table.items()}}
        private = {n: one for n, one in vars(value).items() if n.startswith("_") and n not in _MODULE_FIELDS}
        return type(value).__qualname__, {**held, **private}
    if isinstance(value, torch.nn.Parameter) and value.grad is not None:
        return "Parameter", {"data": value.detach(), "grad": value.grad}
    if isinstance(value, torch.Generator):
        return "Generator", {"state": value.get_state()}
    return None


_MODULE_FIELDS = frozenset(vars(torch.nn.Module()))


_ARRAYS = (torch.Tensor, np.ndarray)


def _is_array(value: Any) -> bool:
    with_grad = isinstance(value, torch.nn.Parameter) and value.grad is not None
    return isinstance(value, _ARRAYS) and not with_grad


def _special_name(value: Any) -> str:
    """Return what sets a result apart: a class of its own, what code put on it, and what autograd was asked to keep or do, or
    not to take there."""
    told = [] if type(value) in _ARRAYS else [type(value).__name__]
    if isinstance(value, torch.Tensor):
        told += [f"with an attribute {name}" for name in vars(value)]
        told += ["whose gradient is kept"] if value.retains_grad else []
        told += ["of inference mode"] if value.is_inference() else []
        told += ["with a hook for its gradient"] if value._backward_hooks else []
    return ", ".join(told)


def _graph_of(value: Any) -> str:
    """Return whether something held leads into what computed it, which lives as long, and through which `backward` of a later call goes."""
    return "in a graph of autograd" if _differentiable(value) and not value.is_leaf else ""


KINDS = Kinds(_is_array, _parts_of, named=_special_name)
STATE_KINDS = Kinds(_is_array, _parts_of, is_of_users, named=_graph_of, drains=False)


def _differentiable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def gradients(outputs: Mapping[int, Any], wanted: list[torch.Tensor]) -> list[torch.Tensor]:
    """Of the elements of outputs, by their positions, each times a number of its own, summed; zeros for what they do not depend on."""
    ends = [(n, one) for n, one in outputs.items() if _differentiable(one)]
    if not ends:
        return [torch.zeros_like(one) for one in wanted]
    if not wanted:
        return []
    back = [torch.as_tensor(values.cotangent(n, tuple(one.shape))).to(one.dtype).to(one.device) for n, one in ends]
    found = torch.autograd.grad([one for _, one in ends], wanted, back, allow_unused=True)
    return [torch.zeros_like(one) if grad is None else grad for one, grad in zip(wanted, found, strict=True)]


def leaves(items: Iterable[Any]) -> list[Leaf]:
    """Values as arrays with the names of their dtypes; bfloat16, which NumPy has not, as float32 under its own name."""
    return [_leaf(one) for one in items]


def _leaf(value: Any) -> Leaf:
    if not isinstance(value, torch.Tensor):
        return values.leaves([value], lambda other: np.asarray(other, object) if _is_foreign(other) else other)[0]
    plain = value.detach().cpu().resolve_conj().resolve_neg()
    plain = plain if plain.layout is torch.strided else plain.to_dense()
    array = plain.float().numpy() if plain.dtype is torch.bfloat16 else plain.numpy()
    return str(plain.dtype).removeprefix("torch."), array.copy()


def _is_foreign(value: Any) -> bool:
    return not isinstance(value, (np.ndarray, np.generic))
