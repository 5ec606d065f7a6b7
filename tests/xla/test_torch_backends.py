"""What the torch backends tell of programs, `fixtures/*.py`: the events of each line, and no others; the counters say the same."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from tests.xla.conftest import LIMIT, require
from xlalint.verify.inputs import WARM_UP
from xlalint.verify.inputs.marks import marks
from xlalint.verify.model import Step

HERE = Path(__file__).parent
BACKENDS = ("torch_xla", "torch_compile")
Observed = dict[str, dict[str, list[Step]]]
_SEES = re.compile(r"# sees: (?P<kinds>.*)$")


def file_of(backend: str) -> Path:
    return HERE / "fixtures" / f"{backend}.py"


def expected(backend: str) -> dict[int, Counter[str]]:
    """What belongs to each line of a file."""
    lines = file_of(backend).read_text(encoding="utf-8").splitlines()
    found = ((n, _SEES.search(line)) for n, line in enumerate(lines, start=1))
    return {n: Counter(match["kinds"].split()) for n, match in found if match}


def lines_of(backend: str, name: str) -> set[int]:
    """The lines of a program and of the functions of the file that it calls."""
    tree = ast.parse(file_of(backend).read_text(encoding="utf-8"))
    named = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    called = {node.id for node in ast.walk(named[name]) if isinstance(node, ast.Name)} & set(named)
    return {n for one in {name, *called} for n in range(named[one].lineno, (named[one].end_lineno or 0) + 1)}


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Observed:
    seen = {}
    for name in BACKENDS:
        require("torch")
        answer = tmp_path_factory.mktemp("programs") / "answer.json"
        command = [sys.executable, str(HERE / "run_programs.py"), name, str(file_of(name)), str(answer)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0, done.stderr[-4000:]
        seen[name] = msgspec.json.decode(answer.read_bytes(), type=dict[str, list[Step]])
    return seen


CASES = [
    pytest.param(name, mark.name, id=f"{name}-{mark.name}")
    for name in BACKENDS
    for mark in marks(file_of(name).read_text(encoding="utf-8"), str(file_of(name)))
]


def seen_at(steps: list[Step], backend: str) -> set[tuple[int, str]]:
    """The lines of a program's file, 0 for none, at which something was seen once it was warm. A graph breaks when it is compiled."""
    return {
        (event.place.line if event.place and event.place.file == str(file_of(backend)) else 0, event.kind)
        for step in steps
        for event in step.events
        if step.number >= WARM_UP or event.kind == "graph-break"
    }


@pytest.mark.torch_xla
@pytest.mark.parametrize(("backend", "program"), CASES)
def test_events_belong_to_their_lines(backend: str, program: str, observed: Observed) -> None:
    lines = lines_of(backend, program)
    wanted = {(n, kind) for n, kinds in expected(backend).items() if n in lines for kind in kinds}
    seen = seen_at(observed[backend][program], backend)
    if "compilation" in {kind for _, kind in wanted}:
        seen -= {(0, "compilation")}  # a graph that is like no other has no line
    assert seen == wanted


@pytest.mark.torch_xla
@pytest.mark.parametrize(("backend", "program"), CASES)
def test_counts_are_the_events(backend: str, program: str, observed: Observed) -> None:
    for step in observed[backend][program]:
        told = Counter(dict.fromkeys(("compilation", "host-sync", "fallback", "graph-break"), 0))
        for event in step.events:
            told[event.kind] += event.count
        counts = step.counts
        assert (counts.compilations, counts.transfers, counts.fallbacks, counts.graph_breaks) == tuple(told.values())


@pytest.mark.torch_xla
@pytest.mark.parametrize(("backend", "program"), [case for case in CASES if case.values[0] == "torch_xla"])
def test_reads_and_fallbacks_are_those_of_each_step(backend: str, program: str, observed: Observed) -> None:
    lines = lines_of(backend, program)
    wanted = sum((kinds for n, kinds in expected(backend).items() if n in lines), Counter[str]())
    for step in observed[backend][program][WARM_UP:]:
        assert (step.counts.transfers, step.counts.fallbacks) == (wanted["host-sync"], wanted["fallback"])
