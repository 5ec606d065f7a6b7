"""Which host functions hand functions to a tracer: those whose callees are tracers, not those that bear a tracer's name."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest

from xlalint.config import Settings
from xlalint.lowering import lower
from xlalint.project.analysis import Analysis
from xlalint.project.options import AnalysisOptions
from xlalint.source.reading import from_text

SETUP = """
import re
import subprocess
import jax
import tensorflow as tf
import torch
from functools import partial
from jax import lax

fast = partial(jax.jit, static_argnums=0)

def compile(f):
    return torch.compile(f)

def scan(items):
    return [item for item in items]

def run(command):
    return subprocess.run(command)

class Runner:
    def run(self, name):
        return name
    def cond(self, name):
        return jax.jit(lambda x: x)
"""

HANDS_OVER = {
    "an attribute of the library": "jax.jit(given)",
    "an imported name": "lax.scan(given, 0, None)",
    "a partial of a tracer, called like one": "jit = fast\njit(given)",
    "a function of the program that calls one itself": "compile(given)",
    "an import in the body": "import jax as j\nj.jit(given)",
    "a name imported in the body": "from jax import vmap\nvmap(given)(1)",
    "a method that only tracers' objects have": "strategy.run(given)",
    "one of a call's result": "strategy_of(1).run(given)",
    "a hook": "given.register_forward_hook(print)",
    "in a nested function": "def inner(f):\n    return jax.jit(f)\nreturn inner",
    "a decorator of a nested function": "@jax.jit\ndef inner(f):\n    return f\nreturn inner",
    "an argument of a decorator": "@partial(jax.jit, static_argnums=0)\ndef inner(f):\n    return f\nreturn inner",
}
KEEPS = {
    "another library's function of that name": "re.compile('a')",
    "a function of the program that calls none": "scan([1, 2])",
    "another program's start": "run(['ls'])",
    "a method of a class of the program": "Runner.run(None, 'a')",
    "a method by that name of an unknown object": "given.compile()",
    "a word of an unknown module": "given.tools.cond(1, 2)",
    "an export of data": "given.export('a.txt')",
    "a switch of an unknown panel": "given.panel.switch(1)",
    "no call": "jit = given\nreturn jit",
    "a word in a string": "print('jit')",
    "a tracer that is only passed on": "return map(len, [jax.jit])",
    "a decorator of another kind": "@property\ndef inner(f):\n    return f\nreturn inner",
    "a nested function that calls none": "def inner():\n    return run(['ls'])\nreturn inner",
}


def _hands_over(source: str, name: str = "host") -> bool:
    unit = lower(from_text("a.py", source), ast.parse(source))
    analysis = Analysis([unit], AnalysisOptions.from_settings(Settings()))
    found = analysis.roots.handing.find(analysis.program.modules[0])
    return name in [info.ir.qualname for info in found]


@pytest.mark.parametrize("body", HANDS_OVER.values(), ids=HANDS_OVER)
def test_a_function_hands_over(body: str) -> None:
    assert _hands_over(SETUP + "def host(given, strategy, strategy_of):\n" + indent(body, "    "))


@pytest.mark.parametrize("body", KEEPS.values(), ids=KEEPS)
def test_a_function_keeps_what_it_has(body: str) -> None:
    assert not _hands_over(SETUP + "def host(given, strategy, strategy_of):\n" + indent(body, "    "))


OWN = """
class Trainer:
    def run(self, name):
        return name
    def cond(self, f):
        return jax.jit(f)
    def plain(self):
        return self.run('a')
    def traced(self):
        return self.cond(print)
"""


@pytest.mark.parametrize(("name", "expected"), [("Trainer.plain", False), ("Trainer.traced", True)])
def test_a_method_of_its_own_class(name: str, expected: bool) -> None:
    assert _hands_over(SETUP + OWN, name) is expected
