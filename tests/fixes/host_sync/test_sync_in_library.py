"""XLA305: checks within library calls, which are switched off where that is possible; `x` and `y` are tensors."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, expect_settled, fixed, outcome

HEAD = """import torch
import torch_xla
from torch import Tensor, nn
from torch.distributions import Categorical, Independent, Normal


class Model(nn.Module):
    def forward(self, x: Tensor, y: Tensor, other, dist: torch.distributions.Distribution, options: dict) -> Tensor:
"""


def forward(body: str) -> str:
    return HEAD + "".join(f"        {line}\n" for line in body.split("\n"))


LEFT_ALONE = {
    "told to check": ("d = Normal(x, y, validate_args=True)\nreturn d.rsample()", "the program says itself"),
    "one that makes another inside": (
        "return torch.distributions.StudentT(x, x, y).rsample()",
        "`StudentT` makes another distribution inside",
    ),
    "one that makes another inside, and is told not to check": (
        "return torch.distributions.StudentT(x, x, y, validate_args=False).rsample()",
        "set_default_validate_args(False)",
    ),
    "one of which one makes another inside": (
        "kind = Normal if other else torch.distributions.Multinomial\nreturn kind(x, y).sample()",
        "`Multinomial` makes another",
    ),
    "told by a flag": ("d = Normal(x, y, validate_args=other)\nreturn d.rsample()", "the program says itself"),
    "told elsewhere": ("d = Normal(x, y, **options)\nreturn d.rsample()", "may say whether to check"),
    "a distribution that is handed over": ("return dist.log_prob(x)", "where the distribution is made"),
    "one of two": (
        "if other:\n    d = Normal(x, y, validate_args=False)\nelse:\n    d = dist\nreturn d.log_prob(x)",
        "where the distribution is made",
    ),
    "an inverse into a tensor that is there": ("torch.linalg.inv(x, out=y)\nreturn y", "apply the call's options"),
    "a factorisation": ("return torch.linalg.cholesky(x)", "no rewrite"),
    "a solution": ("return torch.linalg.solve(x, y)", "no rewrite"),
    "a loss": ("return nn.functional.gaussian_nll_loss(x, y, x.square())", "no rewrite"),
    "a norm that must be finite": (
        "nn.utils.clip_grad_norm_(self.parameters(), 1.0, error_if_nonfinite=True)\nreturn x",
        "no rewrite",
    ),
}

UNKNOWN_KIND = """import torch
import torch_xla
from torch.distributions import Laplace, Normal


class Output:
    kind: type

    def __init__(self, dim: int = 1) -> None:
        self.dim = dim

    def distribution(self, parameters):
        return self.kind(*parameters{told})


class NormalOutput(Output):
    kind: type = Normal


class LaplaceOutput(Output):
    kind: type = {kind}


class Model(torch.nn.Module):
    def __init__(self, heavy: bool) -> None:
        super().__init__()
        self.output = LaplaceOutput() if heavy else NormalOutput()

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.output.distribution((x, y)).rsample()
"""

OWN = """import torch
import torch_xla


class Scaled(torch.distributions.Distribution):
    arg_constraints = {"scale": torch.distributions.constraints.positive}

    def __init__(self, scale: torch.Tensor) -> None:
        self.scale = scale
        super().__init__(scale.shape)
"""

FIXED = {
    "one of several": (
        "kind = Normal if other else Independent\nreturn kind(x, y).rsample()",
        "kind = Normal if other else Independent\nreturn kind(x, y, validate_args=False).rsample()",
        "`kind` has valid parameters",
    ),
    "a distribution": (
        "return Normal(x, y).rsample()",
        "return Normal(x, y, validate_args=False).rsample()",
        "`Normal` has valid parameters",
    ),
    "one that is asked": (
        "d = Categorical(logits=x)\nreturn d.log_prob(y)",
        "d = Categorical(logits=x, validate_args=False)\nreturn d.log_prob(y)",
        "asked about valid points",
    ),
    "by its module": (
        "return torch.distributions.Bernoulli(logits=x).sample()",
        "return torch.distributions.Bernoulli(logits=x, validate_args=False).sample()",
        "`Bernoulli` has valid parameters",
    ),
    "on lines of its own": (
        "return Normal(\n    x,\n    y,\n).rsample()",
        "return Normal(\n    x,\n    y,\n    validate_args=False,\n).rsample()",
        "which nothing checks any more",
    ),
    "parameters from a list": (
        "d = Normal(*other)\nreturn d.log_prob(x)",
        "d = Normal(*other, validate_args=False)\nreturn d.log_prob(x)",
        "which nothing checks any more",
    ),
    "an inverse": (
        "return torch.linalg.inv(x @ y)",
        "return torch.linalg.inv_ex(x @ y).inverse",
        "`x @ y` is not singular",
    ),
    "an inverse by a method": ("return x.inverse() @ y", "return torch.linalg.inv_ex(x).inverse @ y", "not singular"),
    "an inverse by its old name": ("return torch.inverse(x)", "return torch.linalg.inv_ex(x).inverse", "not singular"),
}


@pytest.mark.parametrize(("body", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(body: str, why: str) -> None:
    expect_left_alone(outcome(forward(body), "XLA305"), why)


def test_class_of_the_program_is_left_alone() -> None:
    expect_left_alone(outcome(OWN, "XLA305"), "where the distribution is made")


@pytest.mark.parametrize(("body", "after", "assumed"), FIXED.values(), ids=FIXED)
def test_fixed_where_it_says_what_it_assumes(body: str, after: str, assumed: str) -> None:
    expect_fixed(outcome(forward(body), "XLA305"), forward(after), "unsafe", assumed)


@pytest.mark.parametrize("kind", ["load_kind()", "Laplace"])
def test_class_of_which_not_all_is_known_says_so(kind: str) -> None:
    before, after = (UNKNOWN_KIND.format(kind=kind, told=told) for told in ("", ", validate_args=False"))
    made = outcome(before, "XLA305")
    expect_fixed(made, after, "unsafe", "which nothing checks any more")
    assert ("`kind` takes `validate_args`" in made.message) is (kind != "Laplace")


def test_class_that_is_not_known_is_left_alone() -> None:
    text = UNKNOWN_KIND.format(kind="Laplace", told="").replace("self.kind(*parameters)", "load_kind()(*parameters)")
    text = text.replace(".rsample()", ".log_prob(x)")
    assert "validate_args" not in fixed(text)[0]


@pytest.mark.parametrize("after", [after for _, after, _ in FIXED.values()], ids=FIXED)
def test_rewritten_stays(after: str) -> None:
    expect_settled(forward(after), forward(after))
