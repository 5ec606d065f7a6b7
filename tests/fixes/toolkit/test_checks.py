"""Checks of values: which may be dropped, and which have to stay."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import append_indented, expect_fixed, expect_left_alone, outcome

TRACED = "import torch\n\n\n@torch.compile\ndef f(x: torch.Tensor, image_shape: torch.Tensor) -> torch.Tensor:\n"
HOST = "import torch\n\n\ndef f(x: torch.Tensor) -> torch.Tensor:\n"
CONSTRUCTOR = (
    "import torch\n\n\nclass Box:\n    def __init__(self, weight: torch.Tensor) -> None:\n{check}"
    "        self.weight = weight\n\n\n@torch.compile\ndef f(x: torch.Tensor) -> torch.Tensor:\n    return Box(x).weight\n"
)

DATA = (
    "import torch\n\n\nclass Graph:\n    def take(self, index: torch.Tensor) -> torch.Tensor:\n{check}"
    "        return index * 2\n\n\n@torch.compile\ndef f(x: torch.Tensor) -> torch.Tensor:\n    return Graph().take(x)\n"
)
KEPT = {
    "in what a constructor calls": (
        "import torch\n\n\ndef _checked(x: torch.Tensor) -> torch.Tensor:\n    assert (x > 0).all()\n    return x * 2\n\n\n"
        "class Box:\n    def __init__(self, weight: torch.Tensor) -> None:\n        self.weight = _checked(weight)\n\n\n"
        "@torch.compile\ndef f(x: torch.Tensor) -> torch.Tensor:\n    return Box(x).weight\n",
        "what an object is made of",
    ),
    "of what a method of data is given": (
        DATA.format(check="        if (index < 0).any():\n            raise ValueError('negative')\n"),
        "guards the arguments of `Graph.take`",
    ),
    "all that a function does": (
        "import torch\n\n\ndef _check(x: torch.Tensor) -> None:\n    if (x < 0).any():\n        print('negative')\n\n\n"
        "@torch.compile\ndef f(x: torch.Tensor) -> torch.Tensor:\n    _check(x)\n    return x * 2\n",
        "`_check` does nothing else",
    ),
    "all that a function does where it does anything": (
        "import torch\n\n\ndef _check(x: torch.Tensor) -> None:\n    if x.device.type == 'mps':\n        return\n"
        "    assert (x > 0).all()\n\n\n"
        "@torch.compile\ndef f(x: torch.Tensor) -> torch.Tensor:\n    _check(x)\n    return x * 2\n",
        "`_check` does nothing else",
    ),
    "all that a function does, in a block": (
        "import torch\n\n\ndef _check(x: torch.Tensor) -> None:\n    with torch.no_grad():\n        if (x < 0).any():\n"
        "            print('negative')\n\n\n"
        "@torch.compile\ndef f(x: torch.Tensor) -> torch.Tensor:\n    _check(x)\n    return x * 2\n",
        "`_check` does nothing else",
    ),
    "a warning of what an inner function is given": (
        "import torch\nimport warnings\n\n\ndef _log(x: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:\n"
        "    if (x <= -eps).any():\n        warnings.warn('negative values')\n    return torch.log(x + eps)\n\n\n"
        "@torch.compile\ndef f(x: torch.Tensor) -> torch.Tensor:\n    return _log(x)\n",
        "guards the arguments of `_log`",
    ),
    "of what an inner function is given, turned": (
        "import torch\n\n\ndef _double(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:\n    k = n.to(x).flip(dims=(0,))\n"
        "    assert (k > 0).all(), 'too short'\n    return x * n\n\n\n"
        "@torch.compile\ndef f(x: torch.Tensor) -> torch.Tensor:\n    return _double(x, x)\n",
        "guards the arguments of `_double`",
    ),
    "of what an inner function is given, with words": (
        "import torch\n\n\ndef _double(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:\n    n = n - 2\n"
        "    assert (n > 0).all(), 'too short'\n    return x * n\n\n\n"
        "@torch.compile\ndef f(x: torch.Tensor) -> torch.Tensor:\n    return _double(x, x)\n",
        "guards the arguments of `_double`",
    ),
    "that somebody asks for": (
        append_indented(TRACED, "y = x * 2\nif torch.is_anomaly_enabled():\n    assert (y < 9).all()\nreturn y"),
        "made only under `torch.is_anomaly_enabled()`",
    ),
    "under an option that is off": (
        append_indented(
            TRACED.replace(", image_shape: torch.Tensor", ", debug: bool = False"),
            "y = x * 2\nif debug:\n    assert (y > 0).all()\nreturn y",
        ),
        "made only under `debug`",
    ),
    "of what indexes": (
        append_indented(TRACED, "i = (x * 2).long()\nassert torch.all(i >= 0) and torch.all(i < 4)\nreturn x[i]"),
        "within what it indexes, which XLA does not check",
    ),
    "that ends a run": (
        append_indented(
            TRACED,
            "loss = (x * 2).sum()\nif torch.isnan(loss):\n    raise RuntimeError('training stopped')\nreturn loss",
        ),
        "ends a run in which `loss` is not finite",
    ),
    "in a try": (
        append_indented(
            TRACED,
            "try:\n    assert (x > 0).all()\nexcept AssertionError:\n    x = x + 1\nreturn x * 2",
        ),
        "may handle what it raises",
    ),
    "where the function waits later": (
        append_indented(TRACED, "assert (x > 0).all()\ny = x * 2\nz = y.tolist()\nreturn y, z"),
        "`y.tolist()` waits for the device anyway",
    ),
    "where the function waits earlier": (
        append_indented(TRACED, "y = x[x > 0]\nz = y * 2\nassert (z < 9).all()\nreturn z"),
        "`x[x > 0]` waits for the device anyway",
    ),
    "where a loop around it waits": (
        append_indented(
            TRACED, "for _ in range(2):\n    y = x * 2\n    assert (y < 9).all()\nz = y.nonzero()\nreturn z"
        ),
        "`y.nonzero()` waits for the device anyway",
    ),
    "where a loop looks elements up in a set": (
        append_indented(
            TRACED,
            "assert x[-1] <= x[0]\nseen = set()\nkept = []\nfor p in x:\n    if p not in seen:\n        kept.append(p)\n"
            "        seen.add(p)\nreturn kept",
        ),
        "`p not in seen` waits for the device anyway",
    ),
    "in a constructor": (
        CONSTRUCTOR.format(check="        assert (weight > 0).all()\n"),
        "where the object is made",
    ),
    "in a constructor, raising": (
        CONSTRUCTOR.format(check="        if (weight < 0).any():\n            raise ValueError\n"),
        "where the object is made",
    ),
    "at a function's entry": (
        append_indented(HOST, "assert (x > 0).all()\nreturn x * 2"),
        "not known to run in traced code",
    ),
    "at a function's entry, raising": (
        append_indented(HOST, "if (x < 0).any():\n    raise ValueError\nreturn x * 2"),
        "not known to run in traced code",
    ),
    "of a shape that is annotated as a tensor": (
        append_indented(TRACED, "assert image_shape[0] == 3\nreturn x * 2"),
        "may be a shape",
    ),
    "of what is given, with words for the caller": (
        append_indented(TRACED, "assert (x > 0).all(), 'give positive numbers'\nreturn x * 2"),
        "guards the arguments of `f`",
    ),
    "of what is given, raising with words": (
        append_indented(TRACED, "if (x < 0).any():\n    raise RuntimeError('negative')\nreturn x * 2"),
        "guards the arguments of `f`",
    ),
    "of what is given and packed, with words": (
        append_indented(
            TRACED.replace("x: torch.Tensor", "x"),
            "if isinstance(x, list):\n    x = torch.stack(x)\nassert not (x == -1).any(), 'give all of them'\nreturn x * 2",
        ),
        "guards the arguments of `f`",
    ),
    "an assertion of a method of data, with words": (
        DATA.format(check="        assert (index > 0).all(), 'negative'\n"),
        "guards the arguments of `Graph.take`",
    ),
    "that ties a shape to values": (
        append_indented(TRACED, "assert x.shape[0] == x.long().sum()\nreturn x * 2"),
        "ties a shape to values",
    ),
    "that ties a length to values, raising": (
        append_indented(TRACED, "if x.max() != len(x):\n    raise ValueError\nreturn x * 2"),
        "ties a shape to values",
    ),
    "of a shape, raising": (
        append_indented(TRACED, "if image_shape[0] > x.shape[0]:\n    raise ValueError\nreturn x * 2"),
        "may be a shape",
    ),
    "in front of a line that waits": (
        append_indented(TRACED, "assert (x > 0).all()\ny = x.nonzero()\nreturn y"),
        "waits for the device anyway",
    ),
    "in front of a condition": (
        append_indented(TRACED, "assert (x > 0).all()\nif x.sum() > 1:\n    x = x * 2\nreturn x"),
        "waits for the device anyway",
    ),
    "of a number, without words": (
        append_indented(TRACED, "loss = (x * 2).sum()\nassert not torch.isnan(loss)\nreturn loss"),
        "`loss` is not finite",
    ),
    "of what was computed, with words": (
        append_indented(TRACED, "y = x * 2\nassert (y > 0).all(), 'negative'\nreturn y"),
        "for people to read",
    ),
    "of what was bound anew, with words": (
        append_indented(TRACED, "x = x * 2\nassert (x > 0).all(), 'negative'\nreturn x"),
        "for people to read",
    ),
    "of what a method of data computes, with words": (
        DATA.format(check="        index = index * 2\n        assert (index > 0).all(), 'negative'\n"),
        "named as a size or a position",
    ),
    "of what is named as a position": (
        DATA.format(check="        assert (index > 0).all()\n"),
        "named as a size or a position",
    ),
    "of lengths by their name": (
        append_indented(
            TRACED.replace("x: torch.Tensor", "b: dict[str, torch.Tensor]"),
            "assert b['encoder_lengths'].min() > 0\nreturn b['x'] * 2",
        ),
        "named as a size or a position",
    ),
    "of values beside a tensor's shape": (
        append_indented(TRACED, "assert x.max() < x.shape[0]\nreturn x * 2"),
        "bounds what is a size or a position",
    ),
    "of values beside a size by a name": (
        append_indented(TRACED, "n = x.shape[0]\nassert (x.long().sum(-1) <= n).all()\nreturn x * 2"),
        "bounds what is a size or a position",
    ),
    "in a loop over what is given, with words": (
        append_indented(
            TRACED, "for row in x:\n    if row <= 0:\n        raise ValueError('not positive')\nreturn x * 2"
        ),
        "guards the arguments of `f`",
    ),
    "of sizes of what is given, with words": (
        append_indented(TRACED, "b, n = x.shape\nassert (image_shape.float() * n > 0).all(), 'empty'\nreturn x * 2"),
        "guards the arguments of `f`",
    ),
    "under an option of that name": (
        append_indented(
            TRACED.replace("image_shape: torch.Tensor", "hard_debug: bool"),
            "y = x * 2\nif hard_debug:\n    assert (y > 0).all()\nreturn y",
        ),
        "only under `hard_debug`",
    ),
    "under an option that names it": (
        append_indented(
            TRACED.replace("image_shape: torch.Tensor", "how: str"),
            "y = x * 2\nif how == 'assert':\n    assert (y > 0).all()\nreturn y",
        ),
        "only under `how == 'assert'`",
    ),
    "of what is given, without words": (
        append_indented(TRACED, "assert torch.all((x >= 0) & (x <= 1))\nreturn x * 2"),
        "guards the arguments of `f`",
    ),
}
DROPPED = {
    "under an option that is on": (
        append_indented(
            TRACED.replace(", image_shape: torch.Tensor", ", check: bool = True"),
            "y = x * 2\nif check:\n    assert (y > 0).all()\nreturn y",
        ),
        append_indented(TRACED.replace(", image_shape: torch.Tensor", ", check: bool = True"), "y = x * 2\nreturn y"),
    ),
    "of what is indexed": (
        append_indented(TRACED, "y = x * 2\nassert torch.all(y >= 0)\nreturn y[2]"),
        append_indented(TRACED, "y = x * 2\nreturn y[2]"),
    ),
    "where only a branch waits": (
        append_indented(TRACED, "x = x * 2\nassert (x > 0).all()\nif x.ndim == 2:\n    x = x.nonzero()\nreturn x * 2"),
        append_indented(TRACED, "x = x * 2\nif x.ndim == 2:\n    x = x.nonzero()\nreturn x * 2"),
    ),
    "where a mask is written through": (
        append_indented(TRACED, "y = x * 2\nassert (y < 9).all()\nz = y + 1\ny[y > 3] = 0\nreturn y, z"),
        append_indented(TRACED, "y = x * 2\nz = y + 1\ny[y > 3] = 0\nreturn y, z"),
    ),
    "in traced code": (
        append_indented(TRACED, "x = x * 3\nassert (x > 0).all()\nreturn x * 2"),
        append_indented(TRACED, "x = x * 3\nreturn x * 2"),
    ),
    "raising": (
        append_indented(TRACED, "y = x * 3\nif (y < 0).any():\n    raise ValueError\nreturn y * 2"),
        append_indented(TRACED, "y = x * 3\nreturn y * 2"),
    ),
}


@pytest.mark.parametrize(("before", "why"), KEPT.values(), ids=KEPT)
def test_a_check_that_stays(before: str, why: str) -> None:
    code = "XLA101" if "print" in before or "warn" in before else "XLA103"
    expect_left_alone(outcome(before, code), why)


@pytest.mark.parametrize(("before", "after"), DROPPED.values(), ids=DROPPED)
def test_a_check_that_goes(before: str, after: str) -> None:
    expect_fixed(outcome(before, "XLA103"), after, "unsafe", "nothing checks any more")
