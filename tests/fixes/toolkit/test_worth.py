"""Rewrites that are not offered, whatever they are: they gain nothing, give another type, or lie where a value is no tensor."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_unchanged, outcome

HEAD = "import torch\n\n\n@torch.compile\ndef f(x: torch.Tensor, t: torch.Tensor){returns}:\n    {body}\n"


def function(body: str, returns: str = "") -> str:
    return HEAD.format(body=body.replace("\n", "\n    "), returns=returns)


READ = {
    "a range": ("for _ in range(2 if t > 0 else 1):\n    x = x + 1\nreturn x", "XLA105"),
    "an index of a list": ("return x * [1, 2, 3][1 if t > 0 else 0]", "XLA105"),
    "a bound of a slice": ("return x[: (3 if t > 0 else 2)]", "XLA105"),
    "sizes, by a name": (
        "n = max(3, t.max())\nreturn torch.arange(0, n).expand(2, n)",
        "XLA106",
    ),
    "a size and an operand": ("n = max(3, t.max())\nreturn torch.arange(0, n) * n", "XLA106"),
    "a dimension": ("d = t if t >= 0 else t + 3\nreturn x.unsqueeze(d)", "XLA105"),
    "a dimension by its name": ("d = t if t >= 0 else t + 3\nreturn x.sum(dim=d) * d", "XLA105"),
    "an array's bound": ("import numpy as np\nreturn np.arange(min(x.sum(), x.mean()), 9)", "XLA106"),
    "a condition on a minimum": ("if min(x.sum(), x.mean()) > 0:\n    print(x.shape)\nreturn x", "XLA106"),
    "an item": ("return x * (t if t > 0 else -t).item()", "XLA105"),
    "an item of a maximum": ("return x * max(x.sum(), 1).item()", "XLA106"),
    "an item of an element": ("i = x.argmax()\nreturn x.flatten()[i].item()", "XLA208"),
    "a condition on an element": (
        "i = x.argmax()\nif x.flatten()[i] > 0:\n    print(x.shape)\nreturn x",
        "XLA208",
    ),
    "a float of an element": ("i = x.argmax()\nreturn float(x.flatten()[i])", "XLA208"),
}
COPIED = {
    "elements of a list": ("return torch.LongTensor([max(t - 1, 0) for t in x.sum(1)])", "XLA106"),
    "written one by one": ("return torch.Tensor([max(t, 0), 1])", "XLA106"),
}
ANNOTATED = {
    "a number of two": ("return 1.0 if x.sum() > 0 else 0.0", "XLA105", "float"),
    "an early one": ("if x.sum() > 0:\n    return 0.0\nreturn 1.0", "XLA101", "float"),
    "a count": ("return len(x[x > 0])", "XLA201", "int"),
    "a bool": ("return (x > 0).all() and (x < 3).all()", "XLA104", "bool"),
    "some numbers": ("return [max(x.sum(), 1.0)]", "XLA106", "Sequence[float]"),
    "any number": ("return 1.0 if x.sum() > 0 else 0.0", "XLA105", "Number"),
    "perhaps a number": ("return 1.0 if x.sum() > 0 else 0.0", "XLA105", "Optional[float]"),
    "a name": ("y = max(x.sum(), 1.0)\nreturn y", "XLA106", "float"),
    "a name in a tuple": ("y = max(x.sum(), 1.0)\nreturn y, 1.0", "XLA106", "tuple[float, float]"),
}
OFFERED = {
    "a tensor beside a number": ("y = max(x.sum(), 1.0)\nreturn y, 1.0", "XLA106", " -> tuple[torch.Tensor, float]"),
    "a tensor or a number": ("return x * 2.0 if x.sum() > 0 else x", "XLA105", " -> torch.Tensor | float"),
    "a tensor": ("return x * 2.0 if x.sum() > 0 else x", "XLA105", " -> torch.Tensor"),
    "a number without annotation": ("return 1.0 if x.sum() > 0 else 0.0", "XLA105", ""),
    "what is read in the end": ("return x[x > 0].sum().item()", "XLA201", " -> float"),
    "what is read of a name": ("y = x[x > 0].sum()\nreturn float(y)", "XLA201", " -> float"),
    "a size, of the largest of all": ("n = max(t)\nreturn torch.arange(0, n)", "XLA106", ""),
    "an operand of a size's neighbour": ("n = max(3, t.max())\nreturn torch.arange(0, 3) * n", "XLA106", ""),
    "an operand": ("return x * (2.0 if t > 0 else 1.0)", "XLA105", ""),
    "an element of a tensor": ("i = x.argmax()\nreturn x.flatten()[i] * 2", "XLA208", ""),
    "a number that a tensor takes": ("y = x.sum().item() / 2\nreturn x * y", "XLA301", ""),
}


@pytest.mark.parametrize(("body", "code"), READ.values(), ids=READ)
def test_what_is_read_all_the_same(body: str, code: str) -> None:
    expect_unchanged(function(body), code, "on the host all the same")


@pytest.mark.parametrize(("body", "code"), COPIED.values(), ids=COPIED)
def test_what_is_copied_one_by_one(body: str, code: str) -> None:
    expect_unchanged(function(body), code, "reads each element")


@pytest.mark.parametrize(("body", "code", "returns"), ANNOTATED.values(), ids=ANNOTATED)
def test_what_is_annotated_as_a_number(body: str, code: str, returns: str) -> None:
    expect_unchanged(function(body, f" -> {returns}"), code, f"annotated to return `{returns}`")


def test_what_is_annotated_as_a_number_and_given_a_tensor() -> None:
    text = (
        "import math\nimport torch\n\n\ndef _scale(x: torch.Tensor, s: float) -> torch.Tensor:\n    return x * math.sqrt(s)\n\n\n"
        "@torch.compile\ndef f(x: torch.Tensor) -> torch.Tensor:\n    return _scale(x, x.sum())\n"
    )
    expect_unchanged(text, "XLA301", "annotated as a number")


def test_what_is_read_where_a_name_is_used() -> None:
    made = outcome(function("y = float(x.sum() + 1) / 2.0\nreturn x * int(t / y)"), "XLA301")
    assert "`int(t / y)` needs the value on the host all the same" in made.reason


def test_what_is_known_to_be_a_number() -> None:
    body = "y = x[..., 0]\nif isinstance(y, _Number):\n    return torch.tensor([y])\nreturn y"
    text = f"from torch.types import _Number\n\n{function(body)}"
    expect_unchanged(text, "XLA301", "and no tensor")


@pytest.mark.parametrize(("body", "code", "returns"), OFFERED.values(), ids=OFFERED)
def test_what_is_offered(body: str, code: str, returns: str) -> None:
    text = function(body, returns)
    assert outcome(text, code).text != text


def test_a_comment_that_goes_is_said() -> None:
    body = "y = x.float()\ny = (\n    y * 2.0  # the sensor halves\n    if (x > 0).any()\n    else y\n)\nreturn y + 1"
    assert "`# the sensor halves` is not needed" in outcome(function(body), "XLA105").message


def test_a_comment_that_stays_is_not() -> None:
    body = "y = x.float()\nif (x > 0).any():\n    # the sensor halves\n    y = y * 2.0\nreturn y + 1"
    made = outcome(function(body), "XLA101")
    assert "# the sensor halves" in made.text and "is not needed" not in made.message


LIBRARY = """import torch
{imports}

class Hue:
    def __call__(self, image{annotation}, other):
        {first}
        image[:, 0][image[:, 0] > 3.0] -= 3.0
        return image, other
"""
GUESSED = {
    "nothing else is known": (("import numpy as np", "", "image[:, 0] += 1"), ""),
    "what arrays do as well": (("import numpy as np", "", "image = image.clip(0)"), ""),
    "a call of PyTorch's": (("import numpy as np", "", "other = torch.as_tensor(other)"), "unsafe"),
    "a method of tensors": (("import numpy as np", "", "other = other.unsqueeze(0)"), "unsafe"),
    "no arrays at hand": (("", "", "image[:, 0] += 1"), "unsafe"),
    "made with PyTorch": (("import numpy as np", "", "image = image + torch.ones(3)"), "safe"),
    "an annotation": (("import numpy as np", ": torch.Tensor", "image[:, 0] += 1"), "safe"),
}


@pytest.mark.parametrize(("told", "applicability"), GUESSED.values(), ids=GUESSED)
def test_what_may_be_an_array_of_the_host(told: tuple[str, str, str], applicability: str) -> None:
    text = LIBRARY.format(imports=told[0], annotation=told[1], first=told[2])
    assert outcome(text, "XLA205").applicability == applicability
