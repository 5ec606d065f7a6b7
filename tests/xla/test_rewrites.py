"""Sabotage: rewrites that are wrong, each refuted with inputs that show it, and as plain ones that are right, each proven.

A program, `---`, and what a rewrite made of it; the verdict is said in the header.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from xlalint.verify.inputs import fill_sizes
from xlalint.verify.inputs.marks import marks
from xlalint.verify.isolation import Limits
from xlalint.verify.model import Subject
from xlalint.verify.proofs import Shown, prove_all
from xlalint.verify.requests import Job, Way

HERE = Path(__file__).parent / "rewrites"
IMPORTS = {
    "torch": "import torch",
    "tensorflow": "import tensorflow as tf",
    "jax": "import jax\nimport jax.numpy as jnp",
}
BACKENDS = {"torch": "torch_xla", "tensorflow": "tensorflow", "jax": "jax"}
_HEADER = re.compile(r"^=== (?P<ident>[^:\n]+): (?P<verdict>[\w-]+)\n", re.MULTILINE)


class Rewrite(NamedTuple):
    """A program before and after, and the verdict that is expected."""

    framework: str
    ident: str
    before: str
    after: str
    verdict: str


def rewrites(framework: str) -> list[Rewrite]:
    text = (HERE / f"{framework}.txt").read_text(encoding="utf-8")
    headers = list(_HEADER.finditer(text))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    found = []
    for header, end in zip(headers, ends, strict=True):
        before, after = (f"{IMPORTS[framework]}\n\n\n{part}" for part in text[header.end() : end].split("---\n"))
        found.append(Rewrite(framework, header["ident"], before, after, header["verdict"]))
    return found


ALL = [one for framework in IMPORTS for one in rewrites(framework)]


def job(number: int, one: Rewrite, folder: Path) -> Job:
    (mark,) = marks(one.before, one.ident)
    before, after = (Subject("", mark.name, str(folder / "program.py"), "", text) for text in (one.before, one.after))
    rows = (1, one.before.count("\n")), (1, one.after.count("\n"))
    return Job(number, (Way(((before, after),), (fill_sizes(mark.specs),), *rows),), kind="dynamic-shape")


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Shown]]:
    """What was shown, by framework: one child process each, when the first of its rewrites is asked for."""
    return {}


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(one, id=f"{one.framework}-{one.ident}", marks=getattr(pytest.mark, BACKENDS[one.framework]))
        for one in ALL
    ],
)
def test_a_rewrite_is_judged_as_it_is(one: Rewrite, verdicts: dict[str, dict[str, Shown]], tmp_path: Path) -> None:
    if find_spec(one.framework) is None:
        pytest.skip(f"{one.framework} is not installed")
    if one.framework not in verdicts:
        own = rewrites(one.framework)
        jobs = [job(number, rewrite, tmp_path) for number, rewrite in enumerate(own)]
        shown = prove_all(jobs, BACKENDS[one.framework], Limits(seconds=300.0))
        verdicts[one.framework] = {rewrite.ident: shown[number] for number, rewrite in enumerate(own)}
    verdict = verdicts[one.framework][one.ident].verdict
    assert verdict.kind == one.verdict, verdict
    if one.verdict == "refuted":
        assert f"{marks(one.before, one.ident)[0].name}(" in verdict.counterexample
        compile(verdict.counterexample, one.ident, "exec")


def test_there_are_enough() -> None:
    wrong = [one for one in ALL if one.verdict == "refuted"]
    assert len(wrong) >= 30
    assert len(ALL) - len(wrong) >= 15
