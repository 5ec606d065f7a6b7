"""Programs compiled by the TPU's own compiler, with no TPU: libtpu, in child processes, for StableHLO that a backend wrote.

What is compiled is one program for one chip. What the compiler does not tell: whether the program is fast, or what of it depends on values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import get_args

import msgspec

from xlalint.processes import isolated_command
from xlalint.verify.backends import SHARED, MissingPackageError
from xlalint.verify.isolation import Ended, Limits, run
from xlalint.verify.model import Event, Generation, TpuProgram

GENERATIONS: tuple[Generation, ...] = get_args(Generation)
PATIENCE = 60.0  # seconds for one program; most take under one
_START = 60.0  # seconds for libtpu and JAX to be imported, on a slow machine
_MEMORY = 12 << 30

ENVIRONMENT = MappingProxyType(
    {
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # else a second process fails on /tmp/libtpu_lockfile
        "JAX_PLATFORMS": "cpu",
        "TPU_ACCELERATOR_TYPE": "v5litepod-4",
        "TPU_CHIPS_PER_HOST_BOUNDS": "2,2,1",
        "TPU_LOG_DIR": "disabled",  # else /tmp/tpu_logs
        "TPU_SKIP_MDS_QUERY": "1",  # of the cloud's metadata server, which is not there
        "TPU_TOPOLOGY": "2x2",
        "TPU_WORKER_HOSTNAMES": "localhost",
        "TPU_WORKER_ID": "0",
    }
)
"""What lets libtpu compile where there is no TPU, whatever is compiled for."""


HBM = MappingProxyType({"v4": 32 << 30, "v5e": 16 << 30, "v5p": 95 << 30, "v6e": 32 << 30})
"""Bytes of memory of one chip, by generation."""
REFUSED = ".refused.json"
"""Ends the names of files that tell, as an `Event`, why a program could not be written as StableHLO."""


class Task(msgspec.Struct, frozen=True):
    """A StableHLO file to be compiled for one generation."""

    file: str
    generation: Generation


class Order(msgspec.Struct, frozen=True):
    """Asks a child for tasks, in order, with the seconds that each may take."""

    tasks: tuple[Task, ...]
    patience: float


def require() -> None:
    """Raise `MissingPackageError` where libtpu or JAX is not installed; imports neither."""
    missing = [package for package in ("jax", "libtpu", *SHARED) if find_spec(package) is None]
    if missing:
        names = " and ".join(f"`{package}`" for package in missing)
        raise MissingPackageError(f"compiling for TPUs needs {names}; install: pip install 'xlalint[tpu]'")


def compile_for_tpu(
    files: Sequence[str], generations: Sequence[Generation], patience: float = PATIENCE
) -> list[TpuProgram]:
    """Compile StableHLO files (text or bytecode) for TPU generations: a result for each file and generation, in that order.

    A file `x.lines.json` beside `x.mlir` tells the user's lines by the names of operations; such files among `files` are passed over. A
    compilation that takes longer than `patience` seconds, or that takes its process down, is an error of that program alone. Programs that
    could not be written come last, with the reason as their error.

    Raises: MissingPackageError; IsolationError where no process can be started.
    """
    require()
    tasks = [Task(file, one) for file, one in product(files, generations) if not file.endswith(".json")]
    refused = product((file for file in files if file.endswith(REFUSED)), generations)
    return [*_results(tasks, patience), *(TpuProgram(file, one, _read_event(file)) for file, one in refused)]


def _read_event(file: str) -> Event:
    return msgspec.json.decode(Path(file).read_bytes(), type=Event)


def _results(tasks: Sequence[Task], patience: float) -> Iterator[TpuProgram]:
    """The results of tasks; after one that ends its process, another process goes on with the next."""
    while tasks:
        order = Order(tuple(tasks), patience)
        limits = Limits(_START + patience * len(tasks), _MEMORY)
        ended = run(
            isolated_command("xlalint.verify.tpu_child"),
            stdin=msgspec.json.encode(order),
            limits=limits,
            env=ENVIRONMENT,
        )
        done = [msgspec.json.decode(message, type=TpuProgram) for message in ended.messages]
        yield from done
        tasks = tasks[len(done) :]
        if tasks:
            yield _report_lost(tasks[0], ended, patience)
            tasks = tasks[1:]


def _report_lost(task: Task, ended: Ended, patience: float) -> TpuProgram:
    """The result of a task whose process ended before it was done."""
    if "Timeout (" in ended.errors:  # faulthandler's word
        reason = f"the TPU compiler did not end within {patience:g} s"
    else:
        reason = f"the TPU compiler's process {ended.reason or 'ended'}: {ended.last_words}".rstrip(": ")
    return TpuProgram(task.file, task.generation, Event("error", reason))


def lines_file(file: str) -> Path:
    """Where the user's lines of a program's operations are told, if they are."""
    return Path(file).with_suffix(".lines.json")
