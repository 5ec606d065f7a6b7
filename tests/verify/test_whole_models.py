"""Which models are proved as wholes, after fixes in several of their functions."""

from __future__ import annotations

import ast

import pytest

from xlalint.verify.whole_models import models_of

TEXT = """
def helper(x): return other(x)

def other(x): ...

def unused(x): ...

class Block:
    def forward(self, x): return self.norm(helper(x))
    def norm(self, x): ...

class Model:
    def __init__(self): self.block = Block()
    def forward(self, x): ...
    def loss(self, x): ...

class Alone:
    def __call__(self, x): ...

class Settings:
    def read(self): return Model
"""


@pytest.mark.parametrize(
    ("rewritten", "found"),
    [
        ([], []),
        (["unused"], []),
        (["Model.forward"], []),
        (["Alone.__call__"], []),
        (["Settings.read"], []),
        (["unused", "Settings.read"], []),
        (["Alone.__call__", "unused"], []),
        (["Model.forward", "unused"], []),
        (["Model.loss"], [("Model.forward", {"Model.loss"})]),
        (["Model.forward", "Model.loss"], [("Model.forward", {"Model.forward", "Model.loss"})]),
        (["Block.norm"], [("Model.forward", {"Block.norm"})]),
        (["Block.forward", "Block.norm"], [("Model.forward", {"Block.forward", "Block.norm"})]),
        (["other", "Model.forward"], [("Model.forward", {"other", "Model.forward"})]),
        (["other", "Alone.__call__"], [("Model.forward", {"other"})]),
    ],
)
def test_models(rewritten: list[str], found: list[tuple[str, set[str]]]) -> None:
    assert [(one.called, set(one.functions)) for one in models_of(ast.parse(TEXT), rewritten)] == found
