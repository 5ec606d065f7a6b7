"""Prints for `xlalint verify`, per target: a table of its steps, the causes by line with the source, and the verdict; or all as JSON."""

from __future__ import annotations

import io
import linecache
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, Union

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table
from rich.text import Text

from xlalint.report.printable import printable, printable_lines
from xlalint.report.view import View
from xlalint.source.comments import comments
from xlalint.verify.inputs import fill_sizes, format_spec
from xlalint.verify.inputs.containers import nest, write
from xlalint.verify.judging import Judgement, StepCause
from xlalint.verify.model import ArraySpec, Observation, Place, Specs, Step, TpuProgram

_WIDTH = 140
_LONGEST = 70  # characters of a source line in a verdict
_ANY = re.compile("")
_KINDS = {
    "compilation": "compilation",
    "host-sync": "host sync",
    "narrowed": "narrowed",
    "fallback": "fallback",
    "graph-break": "graph break",
    "error": "error",
}


class Verified(Struct, frozen=True):
    """A target that was run, or could not be: then `failure` says why. `guessed`: its inputs, and the `factory`, were inferred.

    `kept`: an earlier run showed it, and it was not run again.
    """

    name: str
    place: Union[Place, None] = None
    backend: str = ""
    specs: Specs = Specs({})
    observation: Union[Observation, None] = None
    judgement: Union[Judgement, None] = None
    failure: str = ""
    tpu: tuple[TpuProgram, ...] = ()
    guessed: bool = False
    factory: str = ""
    kept: bool = False


def render(one: Verified, view: View) -> str:
    """A target's part of the report."""
    head = f"{_where(one.place, view)} {one.name}".strip()
    if one.observation is None or one.judgement is None:
        said = " ".join(filter(None, (view.paint("could not run", "bold", "red"), head)))
        return f"{said}: {printable_lines(one.failure)}\n"
    blocks = [f"{view.paint(head, 'bold')} on {one.backend}: {printable(inputs_text(one.specs))}"]
    if one.guessed:
        blocks += _as_declared(one)
    if one.observation.steps:
        blocks.append(_table(one.observation.steps, view))
    causes = [line for cause in one.judgement.causes if not cause.expected for line in _cause(cause, view)]
    blocks += ["\n".join(causes)] if causes else []
    if one.tpu:
        from xlalint.report.verify import tpu

        blocks.append(tpu.render(one.tpu, view))
    if one.observation.last_words and not one.judgement.ran:
        blocks.append("\n".join(f"  | {printable(line)}" for line in one.observation.last_words.splitlines()))
    blocks.append(_verdict(one.judgement, view))
    return "\n".join(blocks) + "\n"


def as_json(verified: Sequence[Verified]) -> str:
    """All targets as one array."""
    return msgspec.json.format(msgspec.json.encode([_plain(one) for one in verified]), indent=1).decode()


def line_text(place: Place, view: View, file: str) -> str:
    """A place as a verdict names it: with its source, and its file where that is not the target's."""
    source = _brief(_source(place))
    where = f"line {place.line}" if place.file == file else f"{view.path(place.file)}:{place.line}"
    return f"{where} `{source}`" if source else where


def inputs_text(specs: Specs) -> str:
    """Inputs as they are written, with the sizes of named dimensions."""
    whole = fill_sizes(specs)
    told: dict[str, str] = {}
    known: set[str] = set()
    for name, spec in whole.arguments.items():
        text = format_spec(spec)
        for dimension in spec.shape if isinstance(spec, ArraySpec) else ():
            if isinstance(dimension, str) and dimension not in known:
                known.add(dimension)
                text = _write_size(text, dimension, whole.sizes[dimension])
        told[name] = text
    given = ((name, write(text)) for name, text in nest(told).items())
    parts = [text if name.isdigit() else f"{name}={text}" for name, text in given]
    if whole.requires:
        parts.append(f"requires={' and '.join(whole.requires)!r}")
    return ", ".join(parts) or "no inputs"


def _as_declared(one: Verified) -> Iterator[str]:
    """Inferred inputs as a person would declare them."""
    yield f"  inputs inferred; to declare them: {printable(f'# xlalint: inputs({inputs_text(one.specs)})')}"
    if one.factory:
        yield f"  made by a factory that was inferred: --factory {printable(shlex.quote(one.factory))}"


def _write_size(text: str, dimension: str, size: int) -> str:
    dtype, _, rest = text.partition("[")
    shape, _, end = rest.partition("]")
    parts = shape.split(",")
    parts[parts.index(dimension)] = f"{dimension}={size}"
    return f"{dtype}[{','.join(parts)}]{end}"


def _table(steps: Sequence[Step], view: View) -> str:
    names = list(dict.fromkeys(name for step in steps for name in step.sizes))
    varied = [name for name in names if len({step.sizes.get(name) for step in steps}) > 1]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for column in ("step", *varied, "compilations", "executions", "syncs", "fallbacks", "graph breaks", "time"):
        table.add_column(column, justify="right", no_wrap=True)
    for step in steps:
        counts = step.counts
        numbers = (counts.compilations, counts.executions, counts.transfers, counts.fallbacks, counts.graph_breaks)
        bad = (0, 2, 3, 4)
        cells = [Text(str(n), "bold" if place in bad and n else "dim") for place, n in enumerate(numbers)]
        sizes = [str(step.sizes[name]) for name in varied]
        table.add_row(str(step.number), *sizes, *cells, _time(step.seconds))
    told = io.StringIO()
    Console(file=told, width=_WIDTH, force_terminal=view.colour, no_color=not view.colour, highlight=False).print(table)
    return "".join(f"  {line.rstrip()}\n" for line in told.getvalue().splitlines()).rstrip("\n")


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def _cause(cause: StepCause, view: View) -> Iterator[str]:
    where = _where(cause.place, view) or "somewhere"
    source = _source(cause.place) if cause.place else ""
    steps = f"{len(cause.steps)} step{'s' if len(cause.steps) > 1 else ''}"
    often = steps if cause.count == len(cause.steps) else f"{cause.count} times in {steps}"
    yield f"  {view.paint(_KINDS[cause.kind], 'yellow')}  {where}  {printable(source)}"
    yield f"    {printable(cause.what)} ({often})"


def _verdict(judged: Judgement, view: View) -> str:
    style = ("bold", "green") if judged.ok else ("bold", "red")
    word = "ok" if judged.ok else "bad" if judged.ran else "could not run"
    return f"{view.paint(word, *style)}: {printable(judged.text)}"


def _where(place: Place | None, view: View) -> str:
    return f"{view.path(place.file)}:{place.line}" if place is not None else ""


def _source(place: Place) -> str:
    return linecache.getline(place.file, place.line).strip()


def _brief(source: str) -> str:
    """A line without its comment, and not too long for a sentence."""
    comment = next(comments(source, _ANY), None)
    code = source[: comment.column - 1].rstrip() if comment is not None and not comment.alone else source
    return code if len(code) <= _LONGEST else f"{code[: _LONGEST - 1]}…"


def _plain(one: Verified) -> dict[str, Any]:
    told: dict[str, Any] = {"target": one.name, "place": msgspec.to_builtins(one.place), "backend": one.backend}
    told["failure"] = one.failure or None
    if one.observation is None or one.judgement is None:
        return told
    whole = fill_sizes(one.specs)
    told["inputs"] = {name: format_spec(spec).strip('"') for name, spec in whole.arguments.items()}
    told["sizes"] = whole.sizes
    told["inferred"] = one.guessed
    told["verdict"] = {"ok": one.judgement.ok, "ran": one.judgement.ran, "text": one.judgement.text}
    told["causes"] = [
        {**msgspec.to_builtins(cause), "source": _source(cause.place) if cause.place else ""}
        for cause in one.judgement.causes
    ]
    seen = msgspec.to_builtins(one.observation)
    del seen["programs"]  # files that are gone by now
    return {**told, **seen, "tpu": msgspec.to_builtins(one.tpu), "kept": one.kept}
