"""XLA305 of distributions that a program defines: what their construction, and their base's checks, read on the host."""

from __future__ import annotations

import pytest

from tests.conftest import Loud

HEAD = """
import torch
from torch import distributions as td
from torch.distributions import Distribution, MultivariateNormal, Normal, TransformedDistribution, constraints

"""

OWN = """
class Own(Distribution):
    arg_constraints = {constraints}

    def __init__(self, loc, scale, {given}):
        self.loc, self.scale = loc, scale
        super().__init__(loc.shape, {passed})
"""
TWO = '{"loc": constraints.real, "scale": constraints.positive}'


def own(constraints: str = TWO, given: str = "validate_args=None", passed: str = "validate_args=validate_args") -> str:
    return OWN.format(constraints=constraints, given=given, passed=passed)


METHOD = "\nclass Own(Distribution):\n    def {name}(self, value):\n        {body}\n        return value\n"
FORWARD = "\nclass Head(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n        {body}\n        return x\n"

MODEL = """
class Flow(torch.nn.Module):
    def log_prob(self, x):
        return x * 2

class Head(torch.nn.Module):
    def __init__(self, base{annotation}):
        super().__init__()
        self.base = base

    def forward(self, x: torch.Tensor):
        return self.base.log_prob(x)
"""
HOLDER = """
class Mixed(Distribution):
    arg_constraints = {{}}

    def __init__(self, first, second, validate_args=None):
        self.first, self.second = first, second
        super().__init__(first.batch_shape, first.event_shape, validate_args)
        {switch}

    def log_prob(self, value):
        return self.{asked}.log_prob(value)
"""
LOCAL = """
class Head(torch.nn.Module):
    def forward(self, base: Distribution, other: Distribution, x: torch.Tensor):
        {switch}
        return base.log_prob(x)
"""
LOUD = {
    "one that is held, where another's checks are off": HOLDER.format(
        switch="self.second._validate_args = False", asked="first"
    ),
    "one that is held, and checks": HOLDER.format(switch="self.first._validate_args = True", asked="first"),
    "one that is held, of which a name is set": HOLDER.format(switch="self.first.validate_args = False", asked="first"),
    "one whose maker's checks are off": HOLDER.format(switch="self._validate_args = False", asked="first"),
    "one by a name, where another's checks are off": LOCAL.format(switch="other._validate_args = False"),
    "one that makes another inside": FORWARD.format(body="return td.StudentT(x, x, x, validate_args=False)"),
    "one that makes a table of chances inside": FORWARD.format(
        body="return td.OneHotCategorical(x, validate_args=False)"
    ),
    "a library's class, made of a number and a tensor": """
class Own(Normal):
    def __init__(self, loc, width: float = 1.0):
        super().__init__(loc, width)
""",
    "a library's class, made of what a number gives": """
class Own(td.LogNormal):
    def __init__(self, loc, width: float):
        super().__init__(Normal(loc, width, validate_args=False), td.ExpTransform(), validate_args=None)
""",
    "one by the module that defines it": FORWARD.format(body="return td.weibull.Weibull(x, x)"),
    "arguments that are checked": own(),
    "one that is checked among others": own('{"loc": constraints.dependent, "scale": constraints.positive}'),
    "a flag passed by its place": own(passed="torch.Size(), validate_args"),
    "none passed": own(given="unit=1", passed="torch.Size()"),
    "constraints of a base of the program": own()
    + "\nclass Below(Own):\n    def __init__(self, loc):\n        self.loc = loc\n        super(Own, self).__init__(loc.shape)\n",
    "a library's class above it": """
class Own(MultivariateNormal):
    arg_constraints = {"loc": constraints.real, "scale_tril": constraints.lower_cholesky}

    def __init__(self, loc, scale_tril):
        super().__init__(loc, scale_tril=scale_tril)
""",
    "a library's class below which nothing is declared": """
class Own(Normal):
    def __init__(self, loc, scale, validate_args=None):
        super().__init__(loc, scale, validate_args=validate_args)
""",
    "constraints below a transformed distribution": """
class Own(TransformedDistribution):
    arg_constraints = {"scale": constraints.positive}

    def __init__(self, scale):
        super().__init__(Normal(0.0, scale, validate_args=False), td.ExpTransform())
""",
    "a density of a distribution, where models have one too": MODEL.format(annotation=": Distribution"),
    "a density where models have one and distributions are defined": own() + MODEL.format(annotation=""),
    "points of a distribution that is not known": METHOD.format(name="score", body="self.base.log_prob(value)"),
    "points of a part of a mixture": FORWARD.format(
        body="td.MixtureSameFamily(self.weights, self.parts).component_distribution.log_prob(x)"
    ),
    "checks that are asked for where the program has none": "td.Distribution.set_default_validate_args(False)\n"
    + FORWARD.format(body="Normal(x, x, validate_args=True)"),
    "checks that a function switches off while it runs": "def off():\n    td.Distribution.set_default_validate_args(False)\n"
    + FORWARD.format(body="Normal(x, x)"),
    "checks that are switched on": "td.Distribution.set_default_validate_args(True)\n"
    + FORWARD.format(body="Normal(x, x)"),
    "points that are checked": METHOD.format(name="log_prob", body="self._validate_sample(value)"),
    "points by another name": METHOD.format(name="cdf", body="self._validate_sample(v)")
    .replace("(self, value)", "(self, v)")
    .replace("return value", "return v"),
    "a constructor that its own copies tell to check nothing": own()
    + "\n    def expand(self, shape, _instance=None):\n        return Own(self.loc, self.scale, validate_args=False)\n",
    "points of what is not known, by name": METHOD.format(name="score", body="self.base.log_prob(value=value)"),
    "a distribution function that validates": FORWARD.format(body="td.Laplace(x, x, validate_args=None).cdf(x)"),
}
QUIET = {
    "one that is held, whose checks are off": HOLDER.format(switch="self.first._validate_args = False", asked="first"),
    "the second of two, whose checks are off": HOLDER.format(
        switch="self.first._validate_args = self.second._validate_args = False", asked="second"
    ),
    "one that is held, as a base switches its checks off": HOLDER.format(
        switch="self.first._validate_args = False", asked="first"
    )
    + "\nclass Below(Mixed):\n    def cdf(self, value):\n        return self.first.cdf(value)\n",
    "one by a name, whose checks are off": LOCAL.format(switch="base._validate_args = False"),
    "a library's class, made of numbers": """
class Own(Normal):
    def __init__(self, mean: float, width: float = 1.0, check: bool = False, change=None):
        torch.nn.Module.__init__(self)
        Normal.__init__(self, loc=mean, scale=width, validate_args=check)
        self.change = change
""",
    "a library's class, made of numbers by their places": """
class Own(Normal):
    def __init__(self, mean: int, width: float):
        super().__init__(mean, 2 * width)
""",
    "one by its module, without checks": FORWARD.format(
        body="td.weibull.Weibull(x, x, validate_args=False).log_prob(x)"
    ),
    "a transform by its module": FORWARD.format(body="td.transforms.ExpTransform().log_abs_det_jacobian(x, x)"),
    "a divergence by its module": FORWARD.format(body="td.kl.kl_divergence(self.p, self.q)"),
    "a density of what may be one of the program's models": MODEL.format(annotation=""),
    "a density of what may be another class of the program": FORWARD.format(body="self.base.log_prob(x)")
    + "\nclass Sizes:\n    def log_prob(self, counts):\n        return self.prob[counts].log()\n",
    "a density of one of the program's models": MODEL.format(annotation=": Flow"),
    "checks that are switched off": own(passed="validate_args=False"),
    "one that tells what it makes inside": FORWARD.format(body="return td.Beta(x, x, validate_args=False)"),
    "one that makes nothing inside": FORWARD.format(body="return td.Gamma(x, x, validate_args=False)"),
    "one on a base that is told": FORWARD.format(body="return td.Pareto(x, x, validate_args=False)"),
    "one that makes another inside, in a program that switches all checks off": FORWARD.format(
        body="return td.StudentT(x, validate_args=False)"
    )
    + "\ntd.Distribution.set_default_validate_args(False)\n",
    "a program that switches all checks off": "td.Distribution.set_default_validate_args(False)\n"
    + own()
    + FORWARD.format(body="Normal(x, x).log_prob(x)"),
    "the same by the class's attribute": "Distribution._validate_args = False\n"
    + own()
    + FORWARD.format(body="Normal(x, x)"),
    "a library's class without checks": """
class Own(Normal):
    def __init__(self, loc, scale):
        super().__init__(loc, scale, validate_args=False)
""",
    "a transformed distribution without constraints": """
class Own(TransformedDistribution):
    def __init__(self, scale):
        super().__init__(Normal(0.0, scale, validate_args=False), td.ExpTransform())
""",
    "a model that is not known": METHOD.format(
        name="score", body="self.base.train()\n        self.base.log_prob(value)"
    ),
    "a class's own log_prob": "\nclass Flow:\n    def log_prob(self, x):\n        return x * 2\n"
    "\nclass Head(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n        return Flow().log_prob(x)\n",
    "constraints that depend on others": own('{"loc": constraints.dependent, "scale": constraints.dependent}'),
    "constraints that depend, made by a call": own('{"loc": constraints.dependent(is_discrete=False, event_dim=0)}'),
    "no constraints": own("{}"),
    "no list of constraints": "\nclass Own(Distribution):\n    def __init__(self, loc):\n        super().__init__(loc.shape)\n",
    "an empty list below one": own()
    + "\nclass Below(Own):\n    arg_constraints = {}\n    def __init__(self, loc):\n        super(Own, self).__init__(loc.shape)\n",
    "a copy that is expanded": own(passed="validate_args=False")
    + "\n    def expand(self, shape, _instance=None):\n        new = self._get_checked_instance(Own, _instance)\n"
    "        super(Own, new).__init__(shape, validate_args=False)\n        return new\n",
    "a class of no distribution": own().replace("(Distribution)", ""),
    "a quantile, which validates nothing": FORWARD.format(body="Normal(x, x, validate_args=False).icdf(x)"),
    "a distribution function without checks": FORWARD.format(body="Normal(x, x, validate_args=False).cdf(x)"),
    "a density that is given a condition too": METHOD.format(
        name="score", body="self.base.log_prob(value, context=value)"
    ),
    "one that is given it by its place": METHOD.format(name="score", body="self.base.log_prob(value, value)"),
    "points of no tensor": METHOD.format(name="describe", body="self._validate_sample(3)"),
}


@pytest.mark.parametrize("code", LOUD.values(), ids=LOUD)
def test_what_is_checked_on_the_host(code: str, loud: Loud) -> None:
    assert set(loud(HEAD + code, "torch_xla")) == {"XLA305"}


@pytest.mark.parametrize("code", QUIET.values(), ids=QUIET)
def test_what_reads_nothing(code: str, loud: Loud) -> None:
    assert loud(HEAD + code, "torch_xla") == []


@pytest.mark.parametrize("code", [*LOUD.values(), *QUIET.values()], ids=[*LOUD, *QUIET])
def test_nothing_where_dynamo_captures_it(code: str, loud: Loud) -> None:
    assert loud(HEAD + code, "torch_compile") == []
