"""Find the target that PyTorch code is written for, by what it imports, the device that it names, and what its project pins.

TorchTPU is what is alive, so code of which nothing says otherwise is judged for it. torch_xla ended with torch 2.9, before TorchTPU began
with 2.11: a project that asks for an older torch can run on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from xlalint.config.requirements import name_of
from xlalint.frameworks.torch.launch_files import is_launch_file
from xlalint.frameworks.torch.named_device import TPU, XLA, is_kind, names_device
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.program.linker import ModuleInfo

_NEW: Final = "torch_tpu"
_OLD: Final = "torch_xla"
_OF_OLD: Final = frozenset((_OLD, "torch_neuronx"))
_PINS: Final = {"torch-tpu": _NEW, "torch-xla": _OLD, "torch-neuronx": _OLD}
_BEGAN: Final = (2, 11)
# They take the accelerator that is there.
_TRAINERS: Final = frozenset(("lightning", "pytorch_lightning", "lightning_fabric"))
_VARIABLES: Final = (b"PJRT_DEVICE", b"XRT_TPU_CONFIG")


def find_target(module: ModuleInfo) -> str:
    """Return the target that a module is written for, "" where nothing in it says so: "torch_tpu" surely, "torch_xla" perhaps."""
    if find_tpu(module):
        return _NEW
    if is_launch_file(module) or not _OF_OLD.isdisjoint(module.packages):
        return _OLD
    if names_device(module, XLA) or _trains_by_xla(module):
        return _OLD
    return _OLD if "torch" in module.packages and any(name in module.unit.body for name in _VARIABLES) else ""


def find_tpu(module: ModuleInfo) -> str:
    """Say what shows that a module is written for TorchTPU; return "" where nothing does."""
    if _NEW in module.needs:
        return f"it imports `{_NEW}`"
    return 'it names the device "tpu"' if names_device(module, TPU) else ""


def find_pinned(requirements: Iterable[str], release: tuple[int, ...]) -> str:
    """Return the target that a project's requirements tell, by the packages that they name or the newest torch that they admit."""
    named = {_PINS.get(name_of(one), "") for one in requirements}
    if _NEW in named or _OLD in named:
        return _NEW if _NEW in named else _OLD
    return _OLD if release and release < _BEGAN else ""


def trains_by_library(module: ModuleInfo) -> bool:
    """Return whether a module imports a library that trains on whatever accelerator is there."""
    return not _TRAINERS.isdisjoint(module.packages)


def _trains_by_xla(module: ModuleInfo) -> bool:
    """Return whether a module makes a trainer of Lightning's for TPUs, which is torch_xla's: `Trainer(accelerator="tpu")`."""
    if not trains_by_library(module) or not any(
        b"accelerator" in body for body in (module.unit.body, *(info.ir.body for info in module.functions))
    ):
        return False
    module.reader.read_whole(module)
    bodies = [ir.decode_body(module.unit.body), *(info.body for info in module.functions)]
    return any(
        isinstance(node, ir.Call) and is_kind(dict(node.keywords).get("accelerator"), TPU)
        for body in bodies
        for node in ir.walk(body)
    )


__all__ = ["find_pinned", "find_target", "find_tpu", "trains_by_library"]
