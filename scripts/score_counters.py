#!/usr/bin/env python3
"""Do xlalint's counts agree with the frameworks' own counters?

Each function of tests/xla/counters is run for some steps twice, in processes of their own: by xlalint's backends, and
as a script would, with what the framework itself counts: torch_xla's metrics, calls of a backend of torch.compile and
the graph breaks that Dynamo logs, what torch.export accepts, XLA's dump of what TensorFlow compiled, what JAX logs of compilations.
Agreement is that every step has the same counts, or that both raise in the same step. A verdict is wrong where one of
them finds compilations after the warm-up, reads, fallbacks or graph breaks, and the other none.

usage: score_counters.py [--only torch_xla,torch_compile,torch_export,tensorflow,jax] [--all]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
TARGETS = {
    "torch_xla": "torch_targets.py",
    "torch_compile": "torch_targets.py",
    "torch_export": "torch_targets.py",
    "tensorflow": "tensorflow_targets.py",
    "jax": "jax_targets.py",
}
WARM_UP = 2
STEPS = 8
Counts = list[list[int]]  # of each step: compilations, reads, fallbacks, graph breaks; -1 where nobody counts them


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(TARGETS))
    parser.add_argument("--all", action="store_true", help="print all targets, those that agree too")
    parser.add_argument("--side", choices=("xlalint", "framework"), help="count, and print as JSON")
    args = parser.parse_args()
    if args.side:
        out = sys.stdout
        with contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            told = counted(args.only, args.side)
        out.write(json.dumps(told))
        out.flush()
        os._exit(0)
    total = {"agree": 0, "disagree": 0, "wrong": 0}
    for backend in args.only.split(","):
        own, others = (ask(backend, side) for side in ("xlalint", "framework"))
        for name, one in own.items():
            said = compared(one, others[name])
            total[said] += 1
            if said != "agree" or args.all:
                print(f"{backend:14} {name:20} {said}: xlalint {one}, {backend} {others[name]}")
    print(total, "of", sum(total.values()))


def ask(backend: str, side: str) -> dict[str, Counts]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--only", backend, "--side", side]
        env = {**os.environ, "DUMP": folder}
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env)
    try:
        found: dict[str, Counts] = json.loads(done.stdout)
    except ValueError:
        sys.exit(f"{backend}, {side}: {done.stderr[-2000:]}")
    return found


def compared(one: Counts, other: Counts) -> str:
    """Whether two counts are the same; where nobody counts, nothing is compared."""
    known = [[a if b >= 0 else -1 for a, b in zip(*both, strict=True)] for both in zip(one, other, strict=False)]
    if known == other and len(one) == len(other):
        return "agree"
    return "disagree" if hurts(one) == hurts(other) else "wrong"


def hurts(counts: Counts) -> bool:
    again = any(step[0] > 0 for step in counts[WARM_UP:])
    return again or len(counts) < STEPS or any(count > 0 for step in counts for count in step[1:])


def counted(backend: str, side: str) -> dict[str, Counts]:
    """The counts of all targets of a backend, up to the step that raises."""
    from xlalint.verify.inputs.marks import marks

    file = ROOT / "tests/xla/counters" / TARGETS[backend]
    found = {}
    count = by_xlalint(backend) if side == "xlalint" else FRAMEWORKS[backend]()
    for mark in marks(file.read_text(), str(file)):
        steps: Counts = []
        with contextlib.suppress(Exception):
            count(str(file), mark.name, mark.specs, steps)
        found[mark.name] = steps
    return found


def by_xlalint(backend: str) -> Callable[..., None]:
    from xlalint.verify.backends import Options, backend_of
    from xlalint.verify.loading import load
    from xlalint.verify.model import Subject

    runner = backend_of(backend)

    def count(file: str, name: str, specs: Any, steps: Counts) -> None:
        program = load(Subject("", name, file))
        mode: Any = "as-written" if name in getattr(module_of(file), "AS_WRITTEN", ()) else "compiled"
        for step, _ in runner.run(program, list(draws(specs)), Options(mode=mode)):
            counts = step.counts
            steps.append([counts.compilations, counts.transfers, counts.fallbacks, counts.graph_breaks])

    return count


def draws(specs: Any) -> Iterator[dict[str, Any]]:
    from xlalint.verify.inputs.draws import draw

    yield from (draw(specs, step) for step in range(STEPS))


_MODULES: dict[str, Any] = {}


def module_of(file: str) -> Any:
    import runpy
    from types import SimpleNamespace

    if file not in _MODULES:
        _MODULES[file] = SimpleNamespace(**runpy.run_path(file))
    return _MODULES[file]


def callable_of(file: str, name: str) -> Any:
    found = getattr(module_of(file), name)
    return found() if isinstance(found, type) else found


def tensor(value: Any, device: str) -> Any:
    import torch

    made = torch.from_numpy(value.reshape(-1) if not value.ndim else value).to(device)
    return made if value.ndim else made[0]


def torch_xla() -> Callable[..., None]:
    os.environ["PJRT_DEVICE"] = "CPU"
    import torch
    import torch_xla
    import torch_xla.core.xla_model as xm
    import torch_xla.debug.metrics as metrics

    def read() -> list[int]:
        names = [one for one in metrics.counter_names() if one.startswith("aten::") and "_local_scalar" not in one]
        reads = metrics.metric_data("TransferFromDeviceTime")
        fallbacks = sum(metrics.counter_value(one) for one in names)
        return [metrics.counter_value("UncachedCompile") or 0, reads[0] if reads else 0, fallbacks, 0]

    def count(file: str, name: str, specs: Any, steps: Counts) -> None:
        call = callable_of(file, name)
        call = call.to("xla") if isinstance(call, torch.nn.Module) else call
        for given in draws(specs):
            arguments = {key: tensor(one, "xla") for key, one in given.items()}
            torch_xla.sync()
            xm.wait_device_ops()
            before = read()
            kept = call(**arguments)
            torch_xla.sync()
            xm.wait_device_ops()
            steps.append([now - was for now, was in zip(read(), before, strict=True)])
            del kept

    return count


def torch_compile() -> Callable[..., None]:
    import torch

    broken: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            broken.extend(["break"] if record.getMessage().startswith("Graph break") else [])

    torch._logging.set_logs(graph_breaks=True)
    logger = logging.getLogger("torch._dynamo.symbolic_convert.__graph_breaks")
    logger.handlers, logger.propagate = [Handler()], False

    def count(file: str, name: str, specs: Any, steps: Counts) -> None:
        torch._dynamo.reset()
        compiled: list[int] = []

        def backend(graph: Any, examples: Any) -> Any:
            compiled.append(1)
            return graph.forward

        call = torch.compile(callable_of(file, name), backend=backend)
        for given in draws(specs):
            before = len(compiled), len(broken)
            call(**{key: tensor(one, "cpu") for key, one in given.items()})
            steps.append([len(compiled) - before[0], -1, -1, len(broken) - before[1]])

    return count


def torch_export() -> Callable[..., None]:
    import torch

    def count(file: str, name: str, specs: Any, steps: Counts) -> None:
        call = callable_of(file, name)
        if not isinstance(call, torch.nn.Module):
            call = type("Whole", (torch.nn.Module,), {"forward": staticmethod(call)})()
        given = list(draws(specs))
        exported = torch.export.export(call, (), {k: tensor(v, "cpu") for k, v in given[0].items()}).module()
        for one in given:
            exported(**{key: tensor(value, "cpu") for key, value in one.items()})
            steps.append([-1, -1, -1, -1])

    return count


def tensorflow() -> Callable[..., None]:
    folder = Path(os.environ["DUMP"])
    os.environ["XLA_FLAGS"] = f"--xla_dump_to={folder} --xla_dump_hlo_as_text"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    def modules() -> int:
        return len({match[0] for one in folder.iterdir() if (match := re.match(r"module_\d+", one.name))})

    def count(file: str, name: str, specs: Any, steps: Counts) -> None:
        call = callable_of(file, name)
        if not getattr(call, "_jit_compile", None):
            inner = getattr(call, "python_function", call)
            call = tf.function(
                inner if not isinstance(inner, tf.keras.layers.Layer) else inner.__call__, jit_compile=True
            )
        for given in draws(specs):
            arguments = {key: tf.convert_to_tensor(one) for key, one in given.items()}
            before = modules()
            call(**arguments)
            steps.append([modules() - before, -1, -1, -1])

    return count


def jax() -> Callable[..., None]:
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax as framework
    import jax.numpy as jnp

    told: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage().startswith("Finished XLA compilation"):
                told.append(record.getMessage())

    logger = logging.getLogger("jax")
    logger.addHandler(Handler())
    logger.propagate = False
    framework.config.update("jax_log_compiles", True)

    def count(file: str, name: str, specs: Any, steps: Counts) -> None:
        call = callable_of(file, name)
        call = call if name in module_of(file).AS_WRITTEN else framework.jit(call)
        for given in draws(specs):
            arguments = {key: jnp.asarray(one) for key, one in given.items()}
            before = len(told)
            framework.block_until_ready(call(**arguments))
            steps.append([len(told) - before, -1, -1, -1])

    return count


FRAMEWORKS = {
    "torch_xla": torch_xla,
    "torch_compile": torch_compile,
    "torch_export": torch_export,
    "tensorflow": tensorflow,
    "jax": jax,
}


if __name__ == "__main__":
    main()
