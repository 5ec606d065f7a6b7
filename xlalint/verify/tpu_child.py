"""The child process that compiles for TPUs, the only one that loads libtpu: an `Order` on stdin, a `TpuProgram` a message."""

from __future__ import annotations

import faulthandler
import os
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax.experimental import topologies
from jaxlib.mlir import ir

from xlalint.verify import hlo
from xlalint.verify.isolation import MESSAGES
from xlalint.verify.model import Event, Generation, Padding, Place, TpuProgram
from xlalint.verify.places import headline
from xlalint.verify.tpu import Order, Task, lines_file

_TOPOLOGIES: dict[Generation, str] = {"v4": "v4:2x2x1", "v5e": "v5e:2x2", "v5p": "v5p:2x2x1", "v6e": "v6e:2x2"}
_TOLD = 20  # arrays of a program, the most wasteful


def main() -> None:
    """Serve the order on stdin."""
    descriptor = int(os.environ.pop(MESSAGES))
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    for task in order.tasks:
        faulthandler.dump_traceback_later(order.patience, exit=True)  # works while libtpu holds the interpreter, too
        message = msgspec.json.encode(result(task))
        faulthandler.cancel_dump_traceback_later()
        with os.fdopen(os.dup(descriptor), "wb") as messages:
            messages.write(len(message).to_bytes(4, "big") + message)
    os._exit(0)


def result(task: Task) -> TpuProgram:
    """Compile a task with libtpu. Its refusal becomes an error with the user's line."""
    file = lines_file(task.file)
    lines = msgspec.json.decode(file.read_bytes(), type=dict[str, Place]) if file.exists() else {}
    began = time.perf_counter()
    try:
        made = _compile(Path(task.file).read_bytes(), task.generation, lines)
    except Exception as error:  # noqa: BLE001 (whatever it is, this program does not compile)
        what = headline(error).removeprefix("JaxRuntimeError: ").removeprefix("XlaRuntimeError: ")
        event = Event("error", what, hlo.find_blamed_line(str(error), lines))
        return TpuProgram(task.file, task.generation, event, time.perf_counter() - began)
    seconds = time.perf_counter() - began
    memory = made.get_compiled_memory_stats()
    return TpuProgram(
        task.file,
        task.generation,
        None,
        seconds,
        memory.argument_size_in_bytes,
        memory.output_size_in_bytes,
        memory.temp_size_in_bytes,
        memory.generated_code_size_in_bytes,
        _padding(made, lines),
    )


def _padding(made: Any, lines: hlo.Lines) -> tuple[Padding, ...] | None:
    try:
        text = "\n".join(module.to_string() for module in made.hlo_modules())
    except Exception:  # noqa: BLE001 (operations that this jaxlib does not know)
        return None
    return hlo.padding(text, lines)[:_TOLD]


@cache
def _device(generation: Generation) -> Any:
    """One chip, of a topology that has no chips but a compiler."""
    return topologies.get_topology_desc(platform="tpu", topology_name=_TOPOLOGIES[generation]).devices[0]


def _compile(code: bytes, generation: Generation, lines: hlo.Lines) -> Any:
    device = _device(generation)
    options = compiler.get_compile_options(1, 1, device_assignment=np.array([[0]]))
    with mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(_stablehlo(code))
        _drop_copies(module)
        _locate(module, lines)
        return device.client.compile(module, xla_client.DeviceList((device,)), options)


def _drop_copies(module: Any) -> None:
    """Take out `mhlo.copy`, which TensorFlow leaves in its StableHLO and libtpu refuses there; it gives what it is given."""
    copies: list[Any] = []

    def keep(operation: Any) -> Any:
        if operation.name == "mhlo.copy":
            copies.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(keep)
    for copy in copies:
        copy.results[0].replace_all_uses_with(copy.operands[0])
        copy.erase()


def _locate(module: Any, lines: hlo.Lines) -> None:
    """Write the user's lines into the program, for the compiler to tell, where operations have but names."""

    def locate(operation: Any) -> Any:
        for match in hlo.LOCATED.finditer(str(operation.location)):
            place = hlo.by_name(match["name"], lines)
            if place is not None:
                line = ir.Location.file(place.file, place.line, 0)
                operation.location = ir.Location.name(match["name"], line)
                break
        return ir.WalkResult.ADVANCE

    if lines:
        module.operation.walk(locate)


def _stablehlo(code: bytes) -> bytes | str:
    """Text as it is; bytecode of another version of StableHLO (torch_xla, TensorFlow) in that of this one."""
    if not code.startswith(b"ML\xefR"):
        return code
    try:
        from jaxlib.mlir.dialects import stablehlo

        return bytes(stablehlo.deserialize_portable_artifact_str(code))
    except Exception:  # noqa: BLE001 (bytecode that is no portable artifact is parsed as it is)
        return code


if __name__ == "__main__":
    main()
