"""Tables of what becomes of the body of a function, by its framework and the code of a finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.fixes.fixing import expect_unchanged, outcome
from tests.fixes.functions import JAX, TENSORFLOW, TORCH

_PROGRAMS = {"torch": (TORCH, "torch_xla"), "jax": (JAX, "jax"), "tensorflow": (TENSORFLOW, "tf")}
_Key = tuple[str, str]


def list_changes(table: Mapping[_Key, Mapping[str, str]]) -> list[tuple[str, str, str, str]]:
    """List the framework, the code and the body before and after of each row."""
    return [(*key, before, after) for key, pairs in table.items() for before, after in pairs.items()]


def list_left(table: Mapping[_Key, Sequence[str]]) -> list[tuple[str, str, str]]:
    """List the framework, the code and the body of each row that stays as it is."""
    return [(*key, body) for key, bodies in table.items() for body in bodies]


def expect_changed(framework: str, code: str, before: str, after: str) -> None:
    """Assert what a body becomes when all findings of a code are fixed."""
    program, target = _PROGRAMS[framework]
    assert outcome(program.format(body=before), code, target=target).text == program.format(body=after)


def expect_left(framework: str, code: str, body: str) -> None:
    """Assert that a body stays as it is, for a reason."""
    program, target = _PROGRAMS[framework]
    expect_unchanged(program.format(body=body), code, target=target)
