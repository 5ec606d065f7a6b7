#!/usr/bin/env python3
"""Do xlalint's counts agree with the frameworks' own counters?

Each function of tests/xla/counters is run for some steps twice, in processes of their own: by xlalint's backends (with
--command by `xlalint verify`, one target at a time), and as a script would, with what the framework itself counts: torch_xla's
metrics, calls of a backend of torch.compile and the graph breaks that Dynamo logs, what torch.export accepts, the programs that
TorchTPU looked for in vain, XLA's dump of what TensorFlow compiled, what JAX logs of compilations.
Agreement is that every step has the same counts, or that both raise in the same step. A verdict is wrong where one of
them finds compilations after the warm-up, reads, fallbacks or graph breaks, and the other none.

TorchTPU is counted with the Python of an environment that has it, which is named only then: --only torch_tpu.

usage: score_counters.py [--only torch_xla,torch_compile,torch_export,tensorflow,jax] [--match programs] [--command] [--all]
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import io
import json
import logging
import os
import re
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
TARGETS = {
    "torch_xla": ("torch_targets.py", "torch_programs.py"),
    "torch_compile": ("torch_targets.py", "torch_programs.py"),
    "torch_export": ("torch_targets.py",),
    "tensorflow": ("tensorflow_targets.py", "tensorflow_programs.py"),
    "jax": ("jax_targets.py", "jax_programs.py"),
    "torch_tpu": ("torch_targets.py", "torch_programs.py"),
}
ELSEWHERE = "torch_tpu"  # what needs an environment of its own
SECONDS = "seconds of CPU"  # among the targets: what each took
WARM_UP = 2
STEPS = 8
Counts = list[list[int]]  # of each step: compilations, reads, fallbacks, graph breaks; -1 where nobody counts them


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(one for one in TARGETS if one != ELSEWHERE))
    parser.add_argument("--match", default="", help="only targets that have this in `file:name`")
    parser.add_argument("--command", action="store_true", help="ask `xlalint verify`, and tell what it costs")
    parser.add_argument("--all", action="store_true", help="print all targets, those that agree too")
    parser.add_argument("--side", choices=("xlalint", "command", "framework"), help="count, and print as JSON")
    args = parser.parse_args()
    if args.side:
        out = sys.stdout
        with contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            told = counted(args.only, args.side, args.match)
        out.write(json.dumps(told))
        out.flush()
        os._exit(0)
    total = {"agree": 0, "disagree": 0, "wrong": 0}
    for backend in args.only.split(","):
        own, others = (
            ask(backend, side, args.match) for side in ("command" if args.command else "xlalint", "framework")
        )
        seconds = own.pop(SECONDS, [])
        for name, one in own.items():
            said = compared(one, others[name])
            total[said] += 1
            if said != "agree" or args.all:
                print(f"{backend:14} {name:40} {said}: xlalint {one}, {backend} {others[name]}")
        if seconds:
            costs = sorted(seconds[0])
            print(
                f"{backend}: CPU seconds of a target: median {median(costs)}, 95th percentile {costs[len(costs) * 95 // 100]}"
            )
    print(total, "of", sum(total.values()))


def ask(backend: str, side: str, match: str = "", python: str = sys.executable) -> dict[str, Counts]:
    with tempfile.TemporaryDirectory() as folder:
        command = [python, __file__, "--only", backend, "--side", side, "--match", match]
        env = {**os.environ, "DUMP": folder, "PYTHONPATH": str(ROOT)}
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


def counted(backend: str, side: str, match: str) -> dict[str, Counts]:
    """The counts of all targets of a backend, up to the step that raises."""
    from xlalint.verify.inputs.marks import marks

    found: dict[str, Counts] = {}
    costs: list[float] = []
    makers = {"xlalint": by_xlalint, "command": lambda backend: by_command(backend, costs)}
    count = makers[side](backend) if side in makers else FRAMEWORKS[backend]()
    for name in TARGETS[backend]:
        file = ROOT / "tests/xla/counters" / name
        for mark in marks(file.read_text(), str(file)):
            ident, steps = f"{file.stem}:{mark.name}", []
            if match in ident:
                with contextlib.suppress(Exception):
                    count(str(file), mark.name, mark.specs, steps)
                found[ident] = steps
    return {**found, SECONDS: [costs]} if costs else found


def by_command(backend: str, costs: list[float]) -> Callable[..., None]:
    """What `xlalint verify` says, as its users get it. `costs` takes the seconds of CPU that each target took."""
    command = [sys.executable, "-m", "xlalint", "verify", "--isolated", "--output-format", "json", "--backend", backend]

    def count(file: str, name: str, specs: Any, steps: Counts) -> None:
        written = ["--as-written"] if is_host_code(file, name) else []
        before = cpu_seconds()
        done = subprocess.run([*command, *written, f"{file}:{name}"], capture_output=True, text=True)
        costs.append(round(cpu_seconds() - before, 2))
        for step in json.loads(done.stdout)[0]["steps"]:
            steps.append([step["counts"][one] for one in ("compilations", "transfers", "fallbacks", "graph_breaks")])

    return count


def cpu_seconds() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def by_xlalint(backend: str) -> Callable[..., None]:
    from xlalint.verify.backends import Options, backend_of
    from xlalint.verify.loading import load
    from xlalint.verify.model import Subject

    runner = backend_of(backend)

    def count(file: str, name: str, specs: Any, steps: Counts) -> None:
        program = load(Subject("", name, file))
        mode: Any = "as-written" if is_host_code(file, name) else "compiled"
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


def is_host_code(file: str, name: str) -> bool:
    """Whether a target compiles what it compiles itself; read from the text, as whoever asks may have no framework."""
    found = re.search(r"^AS_WRITTEN = (\{.*?\})", Path(file).read_text(), re.DOTALL | re.MULTILINE)
    return found is not None and name in ast.literal_eval(found[1])


def callable_of(file: str, name: str) -> Any:
    """The target, with the weights that xlalint gives it: what a program selects by them has its shape from them."""
    from xlalint.verify.loading import seed

    found = getattr(module_of(file), name)
    seed()
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
        if not any(step[3] for step in steps):  # what Dynamo gives up on is no break to it
            steps[-1][3] = int(not is_whole(callable_of(file, name), given))

    def is_whole(call: Any, given: dict[str, Any]) -> bool:
        torch._dynamo.reset()
        try:
            torch.compile(call, backend="eager", fullgraph=True)(**{k: tensor(v, "cpu") for k, v in given.items()})
        except torch._dynamo.exc.TorchDynamoException:
            return False
        return True

    return count


def torch_tpu() -> Callable[..., None]:
    from xlalint.verify import environment, plugin

    os.environ.update(environment.for_torch_tpu())
    import torch
    import torch_tpu._loader as loader
    from torch.utils._pytree import tree_map_only
    from torch_tpu._internal.device import _device_ops_backend as programs

    from xlalint.verify.plugin.device import switch_on

    switch_on(loader)

    def read() -> list[int]:
        torch.accelerator.synchronize()
        breaks = sum(torch._dynamo.utils.counters["graph_break"].values())
        return [int(programs._get_cache_misses()), plugin.counts().reads, 0, breaks]

    def count(file: str, name: str, specs: Any, steps: Counts) -> None:
        torch._dynamo.reset()
        call = callable_of(file, name)
        call = call.to("tpu") if isinstance(call, torch.nn.Module) else call
        for given in draws(specs):
            arguments = {key: tensor(one, "tpu") for key, one in given.items()}
            before = read()
            kept = call(**arguments)
            counts = [now - was for now, was in zip(read(), before, strict=True)]
            tree_map_only(torch.Tensor, torch.Tensor.cpu, kept)  # raises here what failed on the device meanwhile
            steps.append(counts)

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
        if "train_step" in vars(type(call)):
            call.compile("sgd", "mse", jit_compile=True)
            call = functools.partial(call.fit, batch_size=1024, verbose=0)
        elif not (is_host_code(file, name) or getattr(call, "_jit_compile", None)):
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
        call = call if is_host_code(file, name) else framework.jit(call)
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
    "torch_tpu": torch_tpu,
}


if __name__ == "__main__":
    main()
