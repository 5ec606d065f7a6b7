"""Programs, and what the backends of JAX and TensorFlow see of them: compilations per step, host reads, errors, each at its line.

Expected is what comments of the programs say: `# kind words`, where the words are in what was seen. Programs without such a comment are
clean; they are the larger part.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.xla.conftest import LIMIT

HERE = Path(__file__).parent
NEEDS = {"jax": ("jax", "flax"), "tensorflow": ("tensorflow",)}
_HEADER = re.compile(r"^=== (?P<ident>[^:\n]+)(?:: (?P<told>.*))?\n", re.MULTILINE)
_EXPECTED = re.compile(r"# (?P<kind>compilation|host-sync|error) (?P<words>.+)$")


class Case(NamedTuple):
    """A program, how it is run, and how many compilations each step has."""

    backend: str
    ident: str
    code: str
    mode: str = "compiled"
    vary: tuple[str, ...] = ()
    compiles: tuple[int, ...] = (1, 0, 0, 0)

    def expected(self, *kinds: str) -> list[tuple[int, str, str]]:
        """What the comments say: line, kind, words."""
        found = ((n, _EXPECTED.search(line)) for n, line in enumerate(self.code.splitlines(), 1))
        return [(n, match["kind"], match["words"]) for n, match in found if match and match["kind"] in kinds]


def cases(backend: str) -> list[Case]:
    text = (HERE / "cases" / f"{backend}.txt").read_text(encoding="utf-8")
    headers = list(_HEADER.finditer(text))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    return [case(backend, header, text[header.end() : end]) for header, end in zip(headers, ends, strict=True)]


def case(backend: str, header: re.Match[str], code: str) -> Case:
    told = (header["told"] or "").split()
    mode = next((one for one in told if "=" not in one), "compiled")
    named = dict(one.split("=") for one in told if "=" in one)
    compiles = tuple(int(one) for one in named.get("compiles", "1,0,0,0").split(","))
    return Case(backend, header["ident"], code, mode, tuple(filter(None, [named.get("vary")])), compiles)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the backends saw; a child process each, when the first of its programs is asked for."""
    done: dict[str, dict[str, Any]] = {}

    def of(wanted: Case) -> dict[str, Any]:
        for package in NEEDS[wanted.backend]:
            if find_spec(package) is None:
                pytest.skip(f"{package} is not installed")
        if wanted.backend not in done:
            done[wanted.backend] = run(wanted.backend, tmp_path_factory.mktemp(wanted.backend))
        return dict(done[wanted.backend][wanted.ident])

    return of


def run(backend: str, folder: Path) -> dict[str, Any]:
    programs = [
        {**one._asdict(), "file": str(folder / f"program_{number}.py")} for number, one in enumerate(cases(backend))
    ]
    answer = folder / "answer.json"
    command = [sys.executable, str(HERE / "run_cases.py"), backend, str(answer)]
    told = subprocess.run(command, input=json.dumps(programs), capture_output=True, text=True, timeout=LIMIT)
    assert told.returncode == 0, told.stderr[-4000:]
    return dict(json.loads(answer.read_text(encoding="utf-8")))


CASES = [
    pytest.param(one, id=f"{backend}-{one.ident}", marks=getattr(pytest.mark, backend))
    for backend in ("jax", "tensorflow")
    for one in cases(backend)
]


@pytest.mark.parametrize("program", CASES)
def test_a_program_is_seen_as_it_is(program: Case, seen: Any) -> None:
    told = seen(program)
    errors = program.expected("error")
    if errors:
        (line, _, words), (at, what) = errors[0], told["error"] or (None, "")
        assert at == line and words in what, told
        return
    assert told["error"] is None
    assert tuple(told["compiles"]) == program.compiles, told["events"]
    assert all(told["executions"]) or program.mode == "eager"
    assert_events(program, told["events"])
    reads = [count for _, kind, _, _, count in told["events"] if kind == "host-sync"]
    assert told["transfers"] == sum(reads)


def assert_events(program: Case, events: list[Any]) -> None:
    """All that was seen is expected, and all that is expected was seen; the first step compiles in any case."""
    expected = program.expected("host-sync", "compilation")
    varied = bool(program.vary)
    for step, kind, line, what, _ in events:
        if kind == "compilation" and (step == 0 or varied):
            assert line is not None, what
            continue
        assert any((at, one) == (line, kind) and words in what for at, one, words in expected), (step, kind, line, what)
    for at, one, words in expected:
        assert any((line, kind) == (at, one) and words in what for _, kind, line, what, _ in events), (at, one, words)


def test_most_programs_are_clean() -> None:
    for backend in ("jax", "tensorflow"):
        all_of = cases(backend)
        clean = [one for one in all_of if not one.expected("host-sync", "compilation", "error")]
        assert len(clean) > len(all_of) / 2
