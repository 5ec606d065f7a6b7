"""What subclasses make of an abstract method: of several it is not known which one a program traces."""

from __future__ import annotations

import pytest

from tests.frameworks.selecting import list_codes

BASE = """
import abc
import jax

class Kernel(abc.ABC):
    @abc.abstractmethod
    def advance(self, state){returns}: ...

class Walk(Kernel):
    def advance(self, state):
        return state + 1

class Greedy(Kernel):
    def advance(self, state):
        if state.sum() > 0:
            return state
        return -state

"""
METHOD = "class Chain:\n    def __init__(self, kernel: Kernel):\n        self.kernel = kernel\n\n    def sample(self, x):\n        return jax.jit(lambda y: self.kernel.advance(y))(x)\n"  # noqa: E501
PARAMETER = "def sample(kernel: Kernel, x):\n    @jax.jit\n    def run(y):\n        return kernel.advance(y)\n    return run(x)\n"
ONLY = BASE.replace("class Walk(Kernel)", "class Walk")

SILENT = {
    "several, in an attribute": BASE.format(returns="") + METHOD,
    "several that promise what they return": BASE.format(returns=" -> jax.Array") + METHOD,
    "several, in a parameter": BASE.format(returns="") + PARAMETER,
    "one of several that traces nothing of it": BASE.format(returns="") + PARAMETER.replace(": Kernel", ": Walk"),
}
FOUND = {
    "the only one": ONLY.format(returns="") + METHOD,
    "the only one that promises what it returns": ONLY.format(returns=" -> jax.Array") + METHOD,
    "one that is asked for": BASE.format(returns="") + PARAMETER.replace(": Kernel", ": Greedy"),
    "one that is made": BASE.format(returns="") + "@jax.jit\ndef run(y):\n    return Greedy().advance(y)\n",
    "one that is made, besides": BASE.format(returns="")
    + PARAMETER
    + "@jax.jit\ndef run(y):\n    return Greedy().advance(y)\n",
}


@pytest.mark.parametrize("case", SILENT)
def test_silent(case: str) -> None:
    assert list_codes(SILENT[case], "kernels.py") == []


@pytest.mark.parametrize("case", FOUND)
def test_found(case: str) -> None:
    assert list_codes(FOUND[case], "kernels.py") == ["XLA101"]
