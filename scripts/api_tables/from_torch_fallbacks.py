"""What torch_xla has no kernel for and runs on the CPU: each function, method and module of torch's own samples, run on its device.

A name is listed where every sample falls back, and what it falls back on is registered for no XLA device (some kernels give up on the
CPU's client alone). Where a fallback hangs on an argument, the tables written by hand say on which.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

SAMPLES = 40
# Reading a scalar is another rule's business.
_READS = "aten::_local_scalar_dense"
_NAMESPACES = ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special")


def generate() -> str:
    """The text of torch_fallbacks_generated.toml."""
    import torch

    sections: dict[str, dict[str, tuple[str, ...]]] = {"functions": {}, "methods": {}, "calls": {}}
    gradients: dict[str, dict[str, tuple[str, ...]]] = {"functions": {}, "methods": {}, "calls": {}}
    seen: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in _probed():
        for section, name in _names(torch, row):
            seen[section, name].append(row)
    for (section, name), rows in seen.items():
        forward = _always(row["forward"] for row in rows)
        backward = _always(row["backward"] for row in rows if row["backward"] is not None)
        if forward:
            sections[section][name] = forward
        elif backward:
            gradients[section][name] = backward
    version = torch.__version__.split("+")[0]
    lines = [
        "# What torch_xla runs on the CPU, in the step itself or in its gradient",
        "# Written by scripts/generate_apis.py; what hangs on an argument stands in the tables without _generated.",
        'framework = "torch"',
        f'version = "{version}"',
    ]
    for section in sections:
        lines += ["", f"[unsupported_{section}]"]
        found = {**{name: ("", ops) for name, ops in sections[section].items()}}
        found |= {name: ("gradient", ops) for name, ops in gradients[section].items()}
        for name, (variant, ops) in sorted(found.items()):
            key = name if section == "methods" else f'"{name}"'
            tail = f', variant = "{variant}"' if variant else ""
            lines.append(f'{key} = {{ rule = "XLA602", detail = "{" or ".join(f"`{op}`" for op in ops)}"{tail} }}')
    return "\n".join(lines) + "\n"


def _always(outcomes: Iterable[list[str]]) -> tuple[str, ...]:
    """The operators that fall back, where some do in each outcome; without overloads, two at most."""
    rows = list(outcomes)
    if not rows or not all(rows):
        return ()
    return tuple(sorted({op.split("::")[1].split(".")[0] for row in rows for op in row}))[:2]


def _names(torch: Any, row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """How users write what a row is about."""
    if row["kind"] != "op":
        yield row["kind"], row["name"]
        return
    for name in (row["name"], *row["aliases"]):
        plain = name.removeprefix("torch.")
        home, _, last = f"torch.{plain}".rpartition(".")
        if home in _NAMESPACES and not last.startswith("_") and hasattr(sys.modules.get(home, torch), last):
            yield "functions", f"torch.{plain}"
        method = plain.removeprefix("special.").removeprefix("linalg.")
        if "." not in method and not method.startswith("_"):
            for spelt in (method, f"{method}_"):
                if hasattr(torch.Tensor, spelt) and (row["method"] or spelt.endswith("_")):
                    yield "methods", spelt


# --- the probe, in processes of its own: some programs end theirs -----------------------------------------------------


def _probed() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "rows"
        start = 0
        while True:
            environment = {**os.environ, "PJRT_DEVICE": "CPU", "PYTHONWARNINGS": "ignore"}
            command = [sys.executable, "-m", "api_tables.from_torch_fallbacks", str(output), str(start)]
            done = subprocess.run(command, env=environment, check=False, stderr=subprocess.DEVNULL)
            if done.returncode == 0:
                break
            reached = [json.loads(line)["reached"] for line in output.read_text().splitlines() if '"reached"' in line]
            if not reached or reached[-1] < start:
                raise SystemExit("torch_xla cannot be run here")
            start = reached[-1] + 1
        for line in output.read_text().splitlines():
            row = json.loads(line)
            if "name" in row:
                yield row


def probe(output: Path, start: int) -> None:
    """Run the programs from number `start` on, and append what fell back."""
    warnings.simplefilter("ignore")
    from api_tables.from_torch import _fake_expecttest

    _fake_expecttest()
    with output.open("a") as file:
        for number, make in enumerate(_subjects()):
            if number < start:
                continue
            file.write(json.dumps({"reached": number}) + "\n")
            file.flush()
            for row in make():
                file.write(json.dumps(row) + "\n")


def _subjects() -> Iterator[Callable[[], Iterator[dict[str, Any]]]]:
    from functools import partial

    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

    for op in op_db:
        yield partial(_operator, op)
    for info in module_db:
        yield partial(_module, info)
    for name, call in _OTHERS.items():
        yield partial(_other, name, call)


def _operator(op: Any) -> Iterator[dict[str, Any]]:
    import torch

    described = {"kind": "op", "name": op.name, "aliases": [alias.name for alias in op.aliases]}
    described["method"] = op.method_variant is not None
    supported = [dtype for dtype in (torch.float32, torch.int64) if op.supports_dtype(dtype, "cpu")]
    for dtype in supported[:1]:
        for _, sample in zip(range(SAMPLES), op.sample_inputs("cpu", dtype, requires_grad=False), strict=False):
            values = [sample.input, *sample.args, *sample.kwargs.values()]
            if not any(tensor.dim() and tensor.numel() for tensor in _tensors(values)):
                continue
            call = (op.op, (sample.input, *sample.args), sample.kwargs)
            row = _run(lambda call=call: (call[0], _moved(call[1]), _moved(call[2])))
            if row is not None:
                yield {**described, **row}


def _module(info: Any) -> Iterator[dict[str, Any]]:
    import torch

    if not info.module_cls.__module__.startswith("torch.nn.modules"):
        return
    for training in (False, True):
        inputs = info.module_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
        )
        for sample in inputs:
            given = sample.constructor_input

            def call(given: Any = given, sample: Any = sample, training: bool = training) -> Any:
                module = info.module_cls(*given.args, **given.kwargs).train(training).to(_device())
                return module, _moved(tuple(sample.forward_input.args)), _moved(dict(sample.forward_input.kwargs))

            row = _run(call)
            if row is not None:
                yield {"kind": "calls", "name": f"torch.nn.{info.module_cls.__name__}", **row}


def _other(name: str, call: Callable[[Any, Any], Any]) -> Iterator[dict[str, Any]]:
    import torch

    row = _run(lambda: (lambda: call(torch, torch.rand(4, 4).to(_device())), (), {}))
    kind = "methods" if "." not in name else "calls" if name.rpartition(".")[2][0].isupper() else "functions"
    if row is not None:
        yield {"kind": kind, "name": name, **row}


def _vision(name: str, *rest: Any) -> Callable[[Any, Any], Any]:
    def call(torch: Any, x: Any) -> Any:
        from torchvision import ops

        images = torch.rand(1, 4, 8, 8).to(x.device)
        boxes = torch.tensor([[0.0, 0.0, 0.0, 4.0, 4.0]]).to(x.device)
        return getattr(ops, name)(images, boxes, *rest)

    return call


# What torch has no samples of.
_OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "torch.poisson": lambda torch, x: torch.poisson(x),
    "torch.binomial": lambda torch, x: torch.binomial(x * 4, x),
    "torch.nn.functional.fold": lambda torch, x: torch.nn.functional.fold(x.reshape(1, 4, 4), (3, 3), (2, 2)),
    "torch.nn.functional.rrelu_": lambda torch, x: torch.nn.functional.rrelu_(x, training=True),
    "torch.nn.functional.ctc_loss": lambda torch, x: torch.nn.functional.ctc_loss(
        x.log_softmax(-1).reshape(4, 1, 4), torch.ones(1, 2, dtype=torch.int64).to(x.device), (4,), (2,)
    ),
    "torch.fake_quantize_per_tensor_affine": lambda torch, x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255),
    "torch.nn.functional.channel_shuffle": lambda torch, x: torch.nn.functional.channel_shuffle(
        x.reshape(1, 4, 2, 2), 2
    ),
    "torch.channel_shuffle": lambda torch, x: torch.channel_shuffle(x.reshape(1, 4, 2, 2), 2),
    "torch.istft": lambda torch, x: torch.istft(
        torch.stft(x.flatten(), 8, window=torch.ones(8).to(x.device), return_complex=True),
        8,
        window=torch.ones(8).to(x.device),
    ),
    "torch.nn.functional.unfold": lambda torch, x: torch.nn.functional.unfold(x.reshape(1, 1, 4, 4), 2),
    "torch.nn.Unfold": lambda torch, x: torch.nn.Unfold(2)(x.reshape(1, 1, 4, 4)),
    "torch.nn.Fold": lambda torch, x: torch.nn.Fold((3, 3), (2, 2))(x.reshape(1, 4, 4)),
    "torch.nn.EmbeddingBag": lambda torch, x: torch.nn.EmbeddingBag(4, 3).to(x.device)((x * 3).long()),
    "torch.nn.ChannelShuffle": lambda torch, x: torch.nn.ChannelShuffle(2)(x.reshape(1, 4, 2, 2)),
    "torch.nn.FractionalMaxPool2d": lambda torch, x: torch.nn.FractionalMaxPool2d(2, 2)(x.reshape(1, 1, 4, 4)),
    "torch.nn.RReLU": lambda torch, x: torch.nn.RReLU()(x),
    "random_": lambda torch, x: x.random_(0, 4),
    "exponential_": lambda torch, x: x.exponential_(),
    "torchvision.ops.roi_align": _vision("roi_align", (2, 2)),
    "torchvision.ops.roi_pool": _vision("roi_pool", (2, 2)),
    "torchvision.ops.ps_roi_align": _vision("ps_roi_align", (2, 2)),
    "torchvision.ops.ps_roi_pool": _vision("ps_roi_pool", (2, 2)),
    "torchvision.ops.deform_conv2d": lambda torch, x: __import__("torchvision").ops.deform_conv2d(
        *(torch.rand(shape).to(x.device) for shape in ((1, 2, 4, 4), (1, 18, 2, 2), (2, 2, 3, 3)))
    ),
}


def _device() -> Any:
    import torch_xla

    return torch_xla.device()


def _moved(value: Any) -> Any:
    """The same on the device, gradients asked for where they can be."""
    import torch

    if isinstance(value, torch.Tensor):
        moved = value.detach().to(_device())
        # a leaf cannot be changed in place: what is given is a copy of one
        return moved.requires_grad_(True).clone() if moved.is_floating_point() else moved
    if type(value) in (list, tuple):
        return type(value)(_moved(item) for item in value)
    if isinstance(value, dict):
        return {key: _moved(item) for key, item in value.items()}
    return value


def _tensors(value: Any) -> Iterator[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _run(make: Callable[[], tuple[Any, Any, Any]]) -> dict[str, Any] | None:
    """What falls back in one call and in its gradient (None: it has none); None where the call fails."""
    import torch
    from torch_xla.debug import metrics

    try:
        function, args, kwargs = make()
        metrics.clear_all()
        result = function(*args, **kwargs)
        forward = _fallen(metrics.executed_fallback_ops())
    except Exception:  # noqa: BLE001 (what XLA or torch refuses)
        return None
    backward = None
    try:
        metrics.clear_all()
        outputs = [t.sum() for t in _tensors([result]) if t.requires_grad]
        if outputs:
            torch.stack([output.real.float() for output in outputs]).sum().backward()
            backward = _fallen(metrics.executed_fallback_ops())
    except Exception:  # noqa: BLE001 (no gradient)
        backward = None
    return {"forward": forward, "backward": backward}


def _fallen(ops: Iterable[str]) -> list[str]:
    """The operators that no XLA device has a kernel for."""
    import torch

    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return sorted(op for op in ops if op != _READS and not has(op.removesuffix(".default"), "XLA"))


if __name__ == "__main__":
    probe(Path(sys.argv[1]), int(sys.argv[2]))
