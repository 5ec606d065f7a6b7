"""Measure what torch.compile makes of tensors given where a function takes a number, and generate the table of it.

Each call runs three times with other numbers, eagerly compiled, with and without `fullgraph=True`: once with a tensor that is an argument
of the graph, once with one that the graph computes. What each release did is kept in tests/xla/graph_breaks/arguments.json, where a run
writes the column of the torch that is installed; the table joins them.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

OUTCOMES = Path(__file__).parents[2] / "tests" / "xla" / "graph_breaks" / "arguments.json"
HEAD = """# Where torch.compile reads a tensor that its graph computes, since a function takes a number there: the graph ends. With
# `fullgraph=True` it raises, in releases before `until` where that is given; since then the tensor's value is a part of the graph. At
# a tensor that is an argument of the graph it ends only where `variant` says so: Dynamo knows whole numbers, and no fractions.
# Written by scripts/generate_apis.py.
framework = "torch"
version = "{version}"

[graph_arguments]
"""
# By function, or method of tensors, and parameter ("*": any; behind a slash one that is given as well): the call, in which T stands for
# the tensor. `x` has 12 rows and columns.
CALLS = {
    "torch.arange.start/end": "torch.arange(T, 9)",
    "torch.arange.start": "torch.arange(T)",
    "torch.arange.end": "torch.arange(0, T)",
    "torch.arange.step": "torch.arange(0, 9, T)",
    "torch.range.end": "torch.range(0, T)",
    "torch.linspace.steps": "torch.linspace(0.0, 1.0, T)",
    "torch.linspace.start": "torch.linspace(T, 9.0, 5)",
    "torch.linspace.end": "torch.linspace(0.0, T, 5)",
    "torch.logspace.steps": "torch.logspace(0.0, 1.0, T)",
    "torch.logspace.end": "torch.logspace(0.0, T, 5)",
    "torch.zeros.size": "torch.zeros(T, 3)",
    "torch.ones.size": "torch.ones(T, 3)",
    "torch.empty.size": "torch.empty(T, 3)",
    "torch.rand.size": "torch.rand(T, 3)",
    "torch.randn.size": "torch.randn(T, 3)",
    "torch.randint.size": "torch.randint(0, 5, (T,))",
    "torch.randint.low": "torch.randint(T, 50, (3,))",
    "torch.randint.high": "torch.randint(0, T, (3,))",
    "torch.randperm.n": "torch.randperm(T)",
    "torch.full.size": "torch.full((T, 2), 1.0)",
    "torch.full_like.fill_value": "torch.full_like(x, T)",
    "torch.scalar_tensor.s": "torch.scalar_tensor(T)",
    "torch.eye.*": "torch.eye(T)",
    "torch.tril_indices.*": "torch.tril_indices(T, 3)",
    "torch.triu_indices.*": "torch.triu_indices(T, 3)",
    "torch.hann_window.*": "torch.hann_window(T)",
    "torch.narrow.start": "torch.narrow(x, 0, T, 2)",
    "torch.narrow.length": "torch.narrow(x, 0, 1, T)",
    "narrow.start": "x.narrow(0, T, 2)",
    "narrow.length": "x.narrow(0, 1, T)",
    "torch.reshape.shape": "torch.reshape(x, (T * 0 + 2, -1))",
    "reshape.shape": "x.reshape(T * 0 + 2, -1)",
    "view.shape": "x.view(T * 0 + 2, -1)",
    "torch.tile.dims": "torch.tile(x, (T, 1))",
    "tile.dims": "x.tile(T, 1)",
    "torch.broadcast_to.size": "torch.broadcast_to(x[0], (T, 12))",
    "broadcast_to.size": "x[0].broadcast_to((T, 12))",
    "expand.size": "x[:1].expand(T, -1)",
    "repeat.repeats": "x.repeat(T, 1)",
    "torch.split.split_size_or_sections": "torch.split(x, T)",
    "split.split_size": "x.split(T)",
    "torch.tensor_split.indices_or_sections": "torch.tensor_split(x, T)",
    "tensor_split.indices_or_sections": "x.tensor_split(T)",
    "torch.chunk.chunks": "torch.chunk(x, T)",
    "chunk.chunks": "x.chunk(T)",
    "torch.topk.k": "torch.topk(x, T)",
    "topk.k": "x.topk(T)",
    "torch.kthvalue.k": "torch.kthvalue(x, T)",
    "kthvalue.k": "x.kthvalue(T)",
    "torch.roll.shifts": "torch.roll(x, T, 0)",
    "roll.shifts": "x.roll(T, 0)",
    "torch.nn.functional.pad.pad": "F.pad(x, (0, T))",
    "torch.nn.functional.pad.value": "F.pad(x, (0, 1), value=T * 1.0)",
    "torch.nn.functional.interpolate.size": "F.interpolate(x[None], size=T)",
    "torch.nn.functional.adaptive_avg_pool2d.output_size": "F.adaptive_avg_pool2d(x[None], (T, T))",
    "torch.tril.diagonal": "torch.tril(x, T)",
    "tril.diagonal": "x.tril(T)",
    "torch.triu.diagonal": "torch.triu(x, T)",
    "triu.diagonal": "x.triu(T)",
    "torch.diagonal.offset": "torch.diagonal(x, T)",
    "diagonal.offset": "x.diagonal(T)",
    "torch.select.index": "torch.select(x, 0, T)",
    "select.index": "x.select(0, T)",
    "torch.multinomial.num_samples": "torch.multinomial(x.abs() + 1, T)",
    "multinomial.num_samples": "(x.abs() + 1).multinomial(T)",
    "torch.nn.functional.one_hot.num_classes": "F.one_hot(torch.zeros(3, dtype=torch.long), T)",
    "new_zeros.size": "x.new_zeros(T, 3)",
    "new_ones.size": "x.new_ones((T, 3))",
    "new_empty.size": "x.new_empty((T, 3))",
    "new_full.size": "x.new_full((T, 3), 1.0)",
    "new_full.fill_value": "x.new_full((3, 3), T)",
    "torch.add.alpha": "torch.add(x, x, alpha=T)",
    "add.alpha": "x.add(x, alpha=T)",
    "torch.sub.alpha": "torch.sub(x, x, alpha=T)",
    "torch.addcmul.value": "torch.addcmul(x, x, x, value=T)",
    "torch.addcdiv.value": "torch.addcdiv(x, x, x, value=T)",
    "torch.addmm.beta": "torch.addmm(x, x, x, beta=T)",
    "torch.addmm.alpha": "torch.addmm(x, x, x, alpha=T)",
    "torch.baddbmm.alpha": "torch.baddbmm(x[None], x[None], x[None], alpha=T)",
    "torch.renorm.maxnorm": "torch.renorm(x, 2, 0, T)",
    "torch.cdist.p": "torch.cdist(x, x, T * 1.0)",
    "torch.nan_to_num.nan": "torch.nan_to_num(x, T * 1.0)",
    "torch.nn.functional.elu.alpha": "F.elu(x, T * 1.0)",
    "torch.nn.functional.softplus.beta": "F.softplus(x, T * 1.0)",
    "torch.nn.functional.huber_loss.delta": "F.huber_loss(x, x, delta=T * 1.0)",
    "torch.nn.functional.dropout.p": "F.dropout(x, T * 0.1)",
    "torch.nn.functional.leaky_relu.negative_slope": "F.leaky_relu(x, T * 1.0)",
    "torch.nn.functional.threshold.threshold": "F.threshold(x, T * 1.0, 0.0)",
    "torch.nn.functional.hardtanh.max_val": "F.hardtanh(x, -1.0, T * 1.0)",
    "torch.nn.functional.layer_norm.eps": "F.layer_norm(x, (12,), None, None, T * 1.0)",
    "torch.norm.p": "torch.norm(x, T)",
    "norm.p": "x.norm(T)",
    "torch.cat.dim": "torch.cat([x, x], T * 0)",
    "torch.stack.dim": "torch.stack([x, x], T * 0)",
    "torch.cumsum.dim": "torch.cumsum(x, T * 0)",
    "cumsum.dim": "x.cumsum(T * 0)",
    "torch.unbind.dim": "torch.unbind(x, T * 0)",
    "unbind.dim": "x.unbind(T * 0)",
    "transpose.dim0": "x.transpose(T * 0, 1)",
    "torch.transpose.dim0": "torch.transpose(x, T * 0, 1)",
    "uniform_.to": "x.clone().uniform_(0.0, T * 1.0)",
    "normal_.std": "x.clone().normal_(0.0, T * 1.0)",
    "fill_.value": "x.clone().fill_(T)",
    "fill_diagonal_.fill_value": "x.clone().fill_diagonal_(T * 1.0)",
}
# What is passed as it is, for each form of T: a whole number, an axis, a size that fits, a fraction, a probability.
ARGUMENTS = {"": "n", " * 0": "zero", " * 0 + 2": "two", " * 1.0": "fraction", " * 0.1": "p"}
_PLACE = re.compile(r"\bT( \* [\d.]+(?: \+ \d)?)?")


def generate() -> str:
    """The table, once the column of the release that is installed is written."""
    import torch

    release = torch.__version__.partition("+")[0]
    outcomes = json.loads(OUTCOMES.read_text(encoding="utf-8")) if OUTCOMES.exists() else {}
    for name, call in CALLS.items():
        outcomes.setdefault(name, {})[release] = measure(call)
    kept = {name: dict(sorted(outcomes[name].items(), key=lambda item: numbers(item[0]))) for name in CALLS}
    lines = (f'  "{name}": {json.dumps(seen)}' for name, seen in kept.items())
    OUTCOMES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return table(kept)


def table(outcomes: Mapping[str, Mapping[str, list[str | None]]]) -> str:
    """The table of what was seen of each function and parameter, by release: of an argument, of what is computed, and with `fullgraph`."""
    newest = max({release for seen in outcomes.values() for release in seen}, key=numbers)
    cases: dict[str, list[str]] = {}
    for name, seen in outcomes.items():
        given, computed, whole = seen[newest]
        function, _, parameter = name.rpartition(".")
        if given or computed:
            until = f', until = "{captured_since(seen)}"' if whole == "" else ""
            anyway = ', variant = "argument"' if given else ""
            parameter, _, besides = parameter.partition("/")
            beside = f', given = "{besides}"' if besides else ""
            cases.setdefault(function, []).append(f'{{ tensor = "{parameter}"{beside}{anyway}{until} }}')
    return HEAD.format(version=newest) + "".join(
        f'"{function}" = [{", ".join(found)}]\n' for function, found in sorted(cases.items())
    )


def captured_since(seen: Mapping[str, list[str | None]]) -> str:
    """The first of the releases since which the tensor's value is a part of the graph."""
    first = ""
    for release in sorted(seen, key=numbers, reverse=True):
        if seen[release][2] != "":
            break
        first = release
    return first.rpartition(".")[0]


def numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def measure(call: str) -> list[str | None]:
    """What becomes of an argument of the graph, of a tensor that it computes, and of such a one with `fullgraph=True`.

    "" where there is one graph; None where the call does not run.
    """
    given = compiled(_PLACE.sub(lambda place: ARGUMENTS[place[1] or ""], call), fullgraph=False)
    computed = re.sub(r"\bT\b", "(n + 1)", call)
    return [given, compiled(computed, fullgraph=False), compiled(computed, fullgraph=True)]


def compiled(call: str, *, fullgraph: bool) -> str | None:
    import torch
    from torch._dynamo.utils import counters

    logging.disable(logging.CRITICAL)
    space: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    exec(f"def f(x, n, zero, two, fraction, p):\n    result = {call}\n    return x * 2, result", space)
    number = torch.tensor
    others = [(number(0), number(2), number(2.0 + turn), number(0.2 + turn / 10)) for turn in range(3)]
    given = [(torch.randn(12, 12), number(2 + turn), *rest) for turn, rest in enumerate(others)]
    try:
        space["f"](*given[0])
    except Exception:  # noqa: BLE001 - a call that this release has not
        return None
    torch._dynamo.reset()
    counters.clear()
    function = torch.compile(space["f"], backend="eager", fullgraph=fullgraph)
    try:
        for arguments in given:
            function(*arguments)
    except Exception as error:  # noqa: BLE001 - a break, or an error of Dynamo's
        found = re.search(r"gb(\d{4})\.html", str(error))
        return f"GB{found[1]}" if found else "error"
    breaks = (re.search(r"gb(\d{4})\.html", reason) for reason in counters["graph_break"])
    return "; ".join(sorted({f"GB{found[1]}" if found else "break" for found in breaks}))
