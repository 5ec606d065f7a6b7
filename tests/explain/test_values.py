"""What values are said to be, and where they are said to come from: a case for each cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.explain.conftest import Explain
from xlalint.explain.model import Belief, Explanation

HEAD = "import torch\nfrom torch import nn\n"

# name: code, the expression asked for, its kind, and (cause, a part of the text) of one of the facts behind it
CASES: dict[str, tuple[str, str, str, str, str]] = {
    "annotation": (
        "def f(mask: torch.BoolTensor):\n    y = mask  # <-",
        "mask",
        "tensor[bool], torch",
        "annotation",
        "`torch.BoolTensor`",
    ),
    "use": (
        "def f(x):\n    y = x.unsqueeze(0)\n    return x  # <-",
        "x",
        "tensor, torch (not sure)",
        "use",
        "`.unsqueeze`",
    ),
    "default": (
        "def f(x: torch.Tensor, scale=2.0):\n    return x * scale  # <-",
        "scale",
        "host value float",
        "default",
        "2.0",
    ),
    "call site": (
        "def g(n, x):\n    return n  # <-\n\n\ndef f(x: torch.Tensor):\n    return g(x.shape[0], x)",
        "n",
        "host value int (shape)",
        "call-site",
        "`f` passes `x.shape[0]`",
    ),
    "left out by the call": (
        "def g(x, keep=True):\n    return keep  # <-\n\n\ndef f(x: torch.Tensor):\n    return g(x)",
        "keep",
        "host value True",
        "default",
        "leaves it out",
    ),
    "nothing says": (
        "def f(x: torch.Tensor, other):\n    return other  # <-",
        "other",
        "unknown",
        "unknown",
        "no call, annotation, default or use",
    ),
    "what a wrapper gets back": (
        "def passing(fn):\n    def wrapper(*args, **kwargs):\n        out = fn(*args, **kwargs)\n        return out  # <-\n\n"
        "    return wrapper\n\n\n@passing\ndef f(x: torch.Tensor):\n    return x.sum()",
        "out",
        "tensor, rank 0, torch",
        "function",
        "what `fn` wraps",
    ),
    "function of a library": (
        "def f(x: torch.Tensor):\n    y = torch.argmax(x)  # <-",
        "y",
        "tensor[int], rank 0, torch",
        "api",
        "`torch.argmax` returns",
    ),
    "method of tensors": (
        "def f(x: torch.Tensor):\n    y = x.tolist()\n    return y  # <-",
        "y",
        "",
        "api",
        "`Tensor.tolist` returns",
    ),
    "attribute of tensors": (
        "def f(x: torch.Tensor):\n    y = x.ndim  # <-",
        "y",
        "host value int (shape)",
        "api",
        "attribute `ndim` of a tensor",
    ),
    "no table": (
        "import strange\n\n\ndef f(x: torch.Tensor):\n    y = strange.thing(x)  # <-",
        "y",
        "unknown",
        "unknown",
        "no API table says what `strange.thing` returns",
    ),
    "assignment": (
        "def f(x: torch.Tensor):\n    y = x > 0\n    return y  # <-",
        "y",
        "tensor[bool], torch",
        "assignment",
        "`y = x > 0`",
    ),
    "attribute of the object": (
        "class M(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.limit = 3\n\n"
        "    def forward(self, x: torch.Tensor):\n        return self.limit  # <-",
        "self.limit",
        "host value 3",
        "attribute",
        "in `M.__init__`",
    ),
    "buffer": (
        "class M(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.register_buffer('table', torch.zeros(3))\n\n"
        "    def forward(self, x: torch.Tensor):\n        return self.table  # <-",
        "self.table",
        "tensor[float], rank 1, torch",
        "attribute",
        "register_buffer",
    ),
    "configuration": (
        "class Config:\n    width: int = 3\n\n\n"
        "def f(x: torch.Tensor, config: Config):\n    return x * config.width  # <-",
        "config.width",
        "host value int",
        "attribute",
        "in the body of `Config`",
    ),
    "loop": (
        "def f(x: torch.Tensor):\n    for row in x:\n        y = row  # <-",
        "row",
        "tensor, torch",
        "loop",
        "an element of `x`",
    ),
    "loop variable at the loop": (
        "def f(xs: list[torch.Tensor]):\n    for x in xs:  # <-\n        y = x",
        "x",
        "tensor, torch",
        "loop",
        "an element of `xs`",
    ),
    "function of the program": (
        "def g(x):\n    return x.shape\n\n\ndef f(x: torch.Tensor):\n    y = g(x)  # <-",
        "y",
        "tuple of host value int (shape)",
        "function",
        "returned by `g`, at line 4",
    ),
    "narrowing": (
        "from typing import Optional\n\n\n"
        "def f(x: torch.Tensor, m: Optional[torch.Tensor] = None):\n"
        "    if m is not None:\n        y = m  # <-",
        "m",
        "tensor, torch",
        "narrowing",
        "`m is not None`",
    ),
    "narrowing by an early exit": (
        "from typing import Optional\n\n\n"
        "def f(x: torch.Tensor, m: Optional[torch.Tensor] = None):\n"
        "    if m is None:\n        return x\n    return m  # <-",
        "m",
        "tensor, torch",
        "narrowing",
        "`m is None`",
    ),
    "taught": (
        "def f(x: torch.Tensor):\n    n = x.size_of_it  # xlalint: static\n    return n  # <-",
        "n",
        "host value",
        "taught",
        "# xlalint: static",
    ),
    "closure": (
        "def f(x: torch.Tensor):\n    n = 3\n\n    def g(y):\n        return y * n  # <-\n\n    return g(x)",
        "n",
        "host value 3",
        "closure",
        "around this one",
    ),
    "module level": (
        "LIMIT = 3\n\n\ndef f(x: torch.Tensor):\n    return x * LIMIT  # <-",
        "LIMIT",
        "host value 3",
        "assignment",
        "`LIMIT = 3`",
    ),
    "context manager": (
        "def f(x: torch.Tensor):\n    with torch.autograd.profiler.profile() as p:\n        y = p  # <-",
        "p",
        "",
        "context-manager",
        "`with torch.autograd.profiler.profile()`",
    ),
    "unpacked": (
        "def f(x: torch.Tensor):\n    value, index = x.max(dim=1)\n    return index  # <-",
        "index",
        "tensor[int], torch",
        "assignment",
        "`value, index = x.max(dim=1)`",
    ),
    "comprehension": (
        "def f(xs: list[torch.Tensor]):\n    return [x for x in xs]  # <-",
        "x",
        "tensor, torch",
        "loop",
        "an element of `xs`",
    ),
    "identity": (
        "def f(x: torch.Tensor):\n    y = x is None\n    return y  # <-",
        "y",
        "host value False",
        "operation",
        "compares identities",
    ),
}


def test_a_tracer_passes_arrays(tell: Explain) -> None:
    code = "import jax\n\n\n@jax.jit\ndef f(x):\n    return x  # <-"
    told = belief(tell(code), "x")
    assert told.value.kind == "tensor"
    assert "decorated with `jax.jit`" in told.origins[0].text


def belief(said: Explanation, expression: str) -> Belief:
    found = [one for one in said.values if one.expression == expression]
    assert found, [one.expression for one in said.values]
    return found[0]


@pytest.mark.parametrize("name", CASES)
def test_a_value_and_its_cause(name: str, tell: Explain) -> None:
    code, expression, kind, cause, text = CASES[name]
    told = belief(tell(HEAD + code), expression)
    assert told.value.text == kind or not kind
    facts = [(origin.cause, origin.text) for origin in told.origins]
    assert any(one == cause and text in said for one, said in facts), facts


def test_the_parts_of_a_kind(tell: Explain) -> None:
    kind = belief(tell(HEAD + "def f(x: torch.Tensor):\n    y = (x > 0).any()  # <-"), "y").value
    assert (kind.kind, kind.framework, kind.dtype, kind.rank, kind.sure) == ("tensor", "torch", "bool", 0, True)


def test_an_entry_is_found_where_it_stands(tell: Explain) -> None:
    told = belief(tell(HEAD + "def f(x: torch.Tensor):\n    y = torch.argmax(x)  # <-"), "y")
    fact = next(origin for origin in told.origins if origin.cause == "api")
    assert fact.filename is not None and fact.row is not None
    assert '"torch.argmax"' in Path(fact.filename).read_text(encoding="utf-8").splitlines()[fact.row - 1]


def test_calls_that_differ_are_told_apart(tell: Explain) -> None:
    code = """
    import torch

    def g(n):
        return n  # <-

    def f(x: torch.Tensor):
        return g(3), g(x)
    """
    said = tell(code)
    told = belief(said, "n")
    assert {kind.text for kind in told.differing} == {"host value 3", "tensor, torch"}
    assert len(said.activations) == 2


def test_the_arguments_of_a_header(tell: Explain) -> None:
    said = tell(HEAD + "def f(x: torch.Tensor, n: int = 3):  # <-\n    return x")
    assert {one.expression: one.value.text for one in said.values} == {"x": "tensor, torch", "n": "host value int"}


def test_a_column_asks_for_the_innermost_expression(tell: Explain) -> None:
    code = HEAD + "def f(x: torch.Tensor):\n    return (x + 1).sum().item() + 2  # <-"
    said = tell(code, column=13)
    assert [one.expression for one in said.values][:2] == ["x", "x + 1"]
    assert "(x + 1).sum()" in [one.expression for one in said.values]


def test_the_column_of_a_finding_asks_for_what_it_is_about(tell: Explain) -> None:
    code = HEAD + "def f(x: torch.Tensor):\n    return x.sum().item() + 2  # <-"
    said = tell(code, column=12)
    assert said.values[0].expression == "x.sum().item()"
    assert [verdict.code for verdict in said.rules] == ["XLA301"]


def test_a_function_of_an_installed_package(tell: Explain, tmp_path: Path) -> None:
    library = tmp_path / "env/lib/python3.11/site-packages/lib.py"
    library.parent.mkdir(parents=True)
    library.write_text("import torch\n\n\ndef double(x):\n    return x * 2\n\n\ndef read(x):\n    return x.item()\n")
    code = f"{HEAD}from lib import double, read\n\n\ndef f(x: torch.Tensor):\n    y = double(x)\n    return y + read(x)  # <-"
    said = tell(code, python=str(tmp_path / "env"), files={"other.py": ""})
    (value,) = [value for value in said.values if value.expression == "y"]
    (fact,) = [origin for origin in value.origins if origin.cause == "function"]
    assert (fact.filename, fact.row) == (str(library), 4)
    (verdict,) = said.rules
    assert verdict.code == "XLA305"
    assert "`lib.read` (lib.py:9)" in verdict.message
    assert said.program.files == 2
