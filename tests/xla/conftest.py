"""Runs every example of the rule pages once per backend, and pairs of programs, in one child process each, for the tests of this folder."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from xlalint.rules import FRAMEWORK_TARGETS, Example, Rule, rules
from xlalint.verify.model import TpuProgram
from xlalint.verify.tpu import compile_for_tpu

HERE = Path(__file__).parent
NEEDS = {
    "torch": ("torch", "torch_xla", "torchvision"),
    "tensorflow": ("tensorflow",),
    "jax": ("jax", "flax", "optax"),
    "tpu": ("jax", "libtpu"),
}
MARKS = {"torch": "torch_xla", "tensorflow": "tensorflow", "jax": "jax"}
LIMIT = 1800.0  # seconds for one child: only what hangs takes as long, however slow the machine is
PAIR_LIMIT = 180.0  # seconds for one pair of programs, the start of the child included


def judged_targets(rule: Rule, example: Example) -> tuple[str, ...]:
    """The targets, with variant, that an example is run for: those it names, else those its rule holds for. TorchTPU's are not run here."""
    named = example.targets or tuple(t for t in FRAMEWORK_TARGETS[example.framework] if rule.severity_for(t))
    return tuple(target for target in named if target.partition(":")[0] != "torch_tpu")


def runnable(example: Example) -> bool:
    """Whether an example says with which inputs to run it; those that need a TPU do not."""
    return "# xlalint: inputs(" in example.code


def by_ident(ident: str) -> Example:
    """The example that is called so."""
    return next(one for rule in rules().values() for one in rule.examples if one.ident == ident)


def require(framework: str) -> None:
    """Skip the test where a framework is not installed."""
    for package in NEEDS[framework]:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")


class Observations:
    """What each backend's child saw; a child is started when its first example is asked for."""

    def __init__(self, folder: Path, wanted: set[str]) -> None:
        self.folder = folder
        self.wanted = wanted
        self.seen: dict[str, dict[str, Any]] = {}
        self.tpu: dict[str, list[TpuProgram]] = {}

    def of(self, example: Example) -> dict[str, Any]:
        framework = example.framework
        require(framework)
        if framework not in self.seen:
            self.seen[framework] = self._run(framework)
        seen = self.seen[framework][example.ident]
        assert "broken" not in seen, seen["broken"]
        return dict(seen)

    def _run(self, framework: str) -> dict[str, Any]:
        answer = self.folder / f"{framework}.json"
        done = subprocess.run(
            [sys.executable, str(HERE / "run_examples.py"), framework, str(answer)],
            input=json.dumps(self._requests(framework)),
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return dict(json.loads(answer.read_text(encoding="utf-8")))

    def _requests(self, framework: str) -> list[dict[str, Any]]:
        requests = []
        for rule in rules().values():
            for example in rule.examples:
                if example.framework == framework and runnable(example) and self._needed(rule, example):
                    targets = [target.split(":")[0] for target in judged_targets(rule, example)]
                    variants = [target.partition(":")[2] for target in example.targets]
                    fields = {name: getattr(example, name) for name in ("ident", "code", "of")}
                    places = {"folder": str(self.folder), "programs": str(self._programs(example))}
                    requests.append({**fields, "targets": targets, "variants": variants, **places})
        return requests

    def _programs(self, example: Example) -> Path:
        """The folder for the StableHLO of an example's programs."""
        folder = self.folder / "programs" / example.ident
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def for_tpus(self, example: Example) -> list[TpuProgram]:
        """What the TPU's compiler makes of an example's programs, and of those of all examples of its framework, in one child process."""
        self.of(example)
        require("tpu")
        if example.framework not in self.tpu:
            folders = [self._programs(one) for one in map(by_ident, self.wanted) if one.framework == example.framework]
            files = sorted(str(file) for folder in folders for file in folder.glob("*.mlir*"))
            self.tpu[example.framework] = compile_for_tpu(files, ("v5e", "v6e"))
        return [one for one in self.tpu[example.framework] if Path(one.file).parent == self._programs(example)]

    def _needed(self, rule: Rule, example: Example) -> bool:
        """Whether a selected test reads it: the example itself, or one that repairs it."""
        readers = {other.ident for other in rule.examples if other.of == example.ident} | {example.ident}
        return bool(readers & self.wanted)


@pytest.fixture(scope="session")
def observations(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Observations:
    chosen = (getattr(item, "callspec", None) for item in request.session.items)
    wanted = {spec.params["example"].ident for spec in chosen if spec and "example" in spec.params}
    return Observations(tmp_path_factory.mktemp("examples"), wanted)


class Pairs:
    """Compares programs with their repairs, each framework in a child that stays: what was imported serves all pairs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.children: dict[str, subprocess.Popen[str]] = {}

    def differences(
        self, framework: str, before: str, after: str, *, exact: bool, unlike: tuple[str, ...] = ()
    ) -> list[str]:
        """In what two programs differ, run eagerly on the CPU; `unlike` are inputs ("nan") and respects ("gradients") to leave out."""
        require(framework)
        question = {"before": before, "after": after, "exact": exact, "unlike": unlike, "folder": str(self.folder)}
        if framework not in self.children:
            self.children[framework] = self._start(framework)
        child = self.children[framework]
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(f"{json.dumps(question)}\n")
        child.stdin.flush()
        ready, _, _ = select.select([child.stdout], [], [], PAIR_LIMIT)
        line = child.stdout.readline() if ready else ""
        if not line:
            self.children.pop(framework).kill()
            raise AssertionError(
                f"no answer within {PAIR_LIMIT} s, or the child died, on:\n{before}\n# against:\n{after}"
            )
        said = json.loads(line)
        assert "broken" not in said, said["broken"]
        return list(said["answer"])

    def _start(self, framework: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(HERE / "run_pairs.py"), framework],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(self.folder / f"{framework}.log").open("w"),
            text=True,
        )

    def stop(self) -> None:
        """End the children."""
        for child in self.children.values():
            child.kill()
            child.communicate()


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pairs]:
    started = Pairs(tmp_path_factory.mktemp("pairs"))
    yield started
    started.stop()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if {"rule", "example"} <= set(metafunc.fixturenames):
        chosen = getattr(metafunc.function, "examples", lambda example: True)
        cases = [
            pytest.param(rule, example, id=example.ident, marks=getattr(pytest.mark, MARKS[example.framework]))
            for rule in rules().values()
            for example in rule.examples
            if runnable(example) and chosen(example)
        ]
        metafunc.parametrize(("rule", "example"), cases)
