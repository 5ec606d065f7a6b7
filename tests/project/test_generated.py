"""Programs made by chance: five hundred of what `scripts/generated_programs.py` looks at by the ten thousand."""

from __future__ import annotations

import ast
from random import Random
from typing import Any

import hypothesmith
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from xlalint.report import View, concise
from xlalint.report.diff import diff

from . import generated
from .generated import applied, looked_at, program

_BATCH = 45


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1, 11))
def test_programs_made_of_real_ones(start: int) -> None:
    random = Random(-start)  # the script begins at 1
    found = 0
    for _ in range(_BATCH):
        text = program(random)
        looked = looked_at(text)
        assert looked.wrong == [], text
        found += looked.findings
    assert found > _BATCH // 5


@pytest.mark.slow
@seed(0)
@settings(
    max_examples=50,
    phases=[Phase.generate],
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(hypothesmith.from_grammar())
def test_any_python(text: str) -> None:
    assert looked_at(text).wrong == []


FOUND = {
    "an annotation of nothing": "import jax\nseen: list[()] = []\nmany: dict[()] = {}\none: tuple[()] = ()\n",
    "a decorator that calls what it decorates": """
import functools
import jax

@functools.partial(jax.jit, donate_argnums=(step(1, 2)))
def step(state, batch):
    return state + batch
""",
    "decorators that call what the other decorates": """
import functools
import jax

@functools.partial(jax.jit, donate_argnums=(second(1, 2)))
def first(x, y):
    return second(x, y)

@functools.partial(jax.jit, static_argnums=(first(3, 4)))
def second(x, y):
    return first(x, y)
""",
    "a hazard within one": """
import jax

@jax.jit
def score(x: jax.Array):
    return max(x.max(), max(x.max(), x.mean()).mean())
""",
}


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_programs_that_were_found(text: str) -> None:
    assert looked_at(text).wrong == []


def test_programs_are_python_and_the_same_each_time() -> None:
    first, second = ([program(random) for _ in range(20)] for random in (Random(3), Random(3)))
    assert first == second
    assert len(set(first)) == 20
    for text in first:
        ast.parse(text.removeprefix("\ufeff"))


TEXT = """\
import torch
import torch_xla
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor):
        x[x < 0] = 0
        return x
"""


def test_a_sound_program_is_sound() -> None:
    looked = looked_at(TEXT)
    assert (looked.findings > 0, looked.fixes > 0, looked.wrong) == (True, True, [])


def test_what_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise IndexError("no")

    with monkeypatch.context() as patch:
        patch.setattr("xlalint.project.rewriting.outcome_of", fail)
        assert any("IndexError" in line for line in looked_at(TEXT).wrong)
    with monkeypatch.context() as patch:
        patch.setattr(concise, "render", fail)
        assert "concise: IndexError: no" in looked_at(TEXT).wrong
    with monkeypatch.context() as patch:
        patch.setattr(generated, "diff", lambda name, before, after, view: diff(name, before, after + "\n", view))
        assert any("the diff does not make" in line for line in looked_at(TEXT).wrong)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nx\nc\n"),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nb"),
        ("", "a\n"),
        ("a\n", ""),
        ("a\r\nb\r\n", "a\r\nx\r\n"),
        ("1\n" * 30 + "a\n" + "2\n" * 30 + "b\n", "1\n" * 30 + "x\ny\n" + "2\n" * 30),
    ],
)
def test_patches_are_applied(before: str, after: str) -> None:
    patch = diff("m.py", before, after, View("/", False, lambda _: None))
    assert applied(before, patch) == after
