"""Guesses how to run a function or method that nobody declared anything for: subjects, and candidates for their inputs."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from xlalint.verify.factories import factories, features
from xlalint.verify.inputs.believed import Kind
from xlalint.verify.inputs.inferred import infer, parameters_of
from xlalint.verify.model import Specs, Subject
from xlalint.verify.rewrites import Around
from xlalint.verify.targets import CALLED


class Guessed(NamedTuple):
    """Subjects and candidates to try, or why there are none."""

    subjects: tuple[Subject, ...]
    candidates: tuple[Specs, ...] = ()
    reason: str = ""


def guess_inputs(around: Around, subject: Subject, kinds: Mapping[str, Kind], framework: str) -> Guessed:
    """Guess what to try for a function. `subject` gives its place, and how its class is made if that is known."""
    node, owner = around.node, around.owner
    if isinstance(node, ast.AsyncFunctionDef):
        return Guessed((), reason="it is asynchronous")
    if any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in ast.walk(node)):
        return Guessed((), reason="it is a generator")
    made = subjects_of(around, subject)
    if not made:
        return Guessed((), reason=f"nothing says what `{owner.name if owner else ''}` is made with")
    sizes = features(owner) if owner is not None else []
    inference = infer(parameters_of(node, kinds), framework, sizes)
    return Guessed(made, inference.candidates, inference.reason)


def subjects_of(around: Around, subject: Subject) -> tuple[Subject, ...]:
    """The ways to make what is called: a class whose instances are called is called itself."""
    owner = around.owner
    if owner is None or _bound_to_none(around.node):
        return (msgspec.structs.replace(subject, name=around.name),)
    holder, _, method = around.name.rpartition(".")
    name = holder if method in CALLED else around.name
    texts = [subject.factory] if subject.factory else factories(owner, holder)
    return tuple(msgspec.structs.replace(subject, name=name, factory=text) for text in texts)


def _bound_to_none(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id in ("staticmethod", "classmethod") for one in node.decorator_list)
