"""Inputs that nobody declared: what the analysis, the text and names make of parameters, and in which order candidates come."""

from __future__ import annotations

import ast

import pytest

from xlalint.config import Settings
from xlalint.verify.inputs import format_spec
from xlalint.verify.inputs.believed import analyse_text
from xlalint.verify.inputs.inferred import MOST, Inference, infer, parameters_of


def of(text: str, framework: str = "torch") -> Inference:
    node = ast.parse(text).body[-1]
    assert isinstance(node, ast.FunctionDef)
    kinds = analyse_text("/project/module.py", text, Settings(python=None)).parameters
    return infer(parameters_of(node, kinds.get(node.name, {})), framework)


def first(text: str, framework: str = "torch") -> dict[str, str]:
    found = of(text, framework)
    assert found.candidates, found.reason
    specs = found.candidates[0]
    return {name: format_spec(spec).strip('"') for name, spec in specs.arguments.items()}


TORCH = "import torch\nfrom torch import Tensor\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(x: Tensor):\n    return x.sum()", {"x": "f32[B,D]"}),
        ("def f(x: Tensor):\n    b, s, d = x.shape\n    return x", {"x": "f32[B,S,D]"}),
        ("def f(x: Tensor):\n    return x[:, :, 0]", {"x": "f32[B,S,D]"}),
        ("def f(x: Tensor, mask: Tensor):\n    return x[mask]", {"x": "f32[B,D]", "mask": "bool[B,S]"}),
        ("def f(input_ids: Tensor):\n    return input_ids + 1", {"input_ids": "i64[B,S]"}),
        ("def f(lengths: Tensor):\n    return lengths + 1", {"lengths": "i64[B,S] 1..3"}),
        ("def f(x: Tensor, n: int):\n    return x * n", {"x": "f32[B,D]", "n": "2"}),
        ("def f(x: Tensor, eps: float = 1e-5):\n    return x + eps", {"x": "f32[B,D]"}),
        ("def f(x: Tensor, flag: bool):\n    return x if flag else -x", {"x": "f32[B,D]", "flag": "True"}),
        ("def f(x: Tensor, name: str):\n    print(f'{name} {x}')\n    return x", {"x": "f32[B,D]", "name": "'a'"}),
        ("def f(x: Tensor, mode):\n    return x if mode == 'max' else -x", {"x": "f32[B,D]", "mode": "'max'"}),
        ("def f(x: Tensor, mode='min'):\n    return x if mode == 'max' else -x", {"x": "f32[B,D]"}),
        (
            "def f(batch):\n    return batch['x'] * batch.get('mask')",
            {"batch{x}": "f32[B,D]", "batch{mask}": "bool[B,S]"},
        ),
        ("def f(x: Tensor, act):\n    return act(x)", {"x": "f32[B,D]", "act": "identity"}),
        ("def f(x: Tensor, seen):\n    seen.append(x)\n    return x", {"x": "f32[B,D]", "seen": "[]"}),
        ("def f(a: Tensor, b: Tensor):\n    return torch.linalg.cross(a, b)", {"a": "f32[B,D]", "b": "f32[B,D]"}),
        (
            "def f(x: Tensor, why: str):\n    if not x.any():\n        raise ValueError(why)",
            {"x": "f32[B,D]", "why": "'a'"},
        ),
        ("def f(x: Tensor, why: str):\n    assert x.any(), why", {"x": "f32[B,D]", "why": "'a'"}),
        ("def f(x: Tensor, d: torch.dtype):\n    return x.to(d)", {"x": "f32[B,D]", "d": "float32"}),
        ("def f(x: Tensor, d: torch.device):\n    return x.to(d)", {"x": "f32[B,D]", "d": "device"}),
        ("def f(x: Tensor, n):\n    for _ in range(n):\n        x = x + 1\n    return x", {"x": "f32[B,D]", "n": "2"}),
    ],
)
def test_the_likeliest_comes_first(code: str, expected: dict[str, str]) -> None:
    assert first(TORCH + code) == expected


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def f(x: Tensor, edges: Tensor):\n    return x + edges", ()),
        ("def f(x: Tensor, edges: Tensor):\n    return torch.searchsorted(edges[0], x)", ()),
        ("def f(x: Tensor, edges: Tensor):\n    return torch.searchsorted(edges.flip(-1), x)", ()),
        ("def f(x: Tensor, edges: Tensor):\n    return torch.searchsorted(edges.sort()[0], x)", ()),
        ("def f(x: Tensor, edges: Tensor, o):\n    return torch.searchsorted(edges, x, sorter=o)", ()),
        ("def f(x: float, edges: float):\n    return torch.bucketize(x, edges)", ()),
        ("def f(x: Tensor, edges: Tensor):\n    return torch.searchsorted(edges, x)", ("edges",)),
        ("def f(x: Tensor, edges: Tensor):\n    return torch.searchsorted(x.contiguous(), edges[0])", ("x",)),
        ("def f(x: Tensor, edges: Tensor):\n    return torch.bucketize(x, edges.contiguous(), right=True)", ("edges",)),
        ("def f(x: Tensor, edges: Tensor):\n    return torch.bucketize(x, boundaries=edges)", ("edges",)),
        ("def f(x: Tensor, e: Tensor):\n    return torch.searchsorted(sorted_sequence=e[None], input=x)", ()),
        ("def f(x: Tensor, edges: Tensor):\n    return edges.searchsorted(x, side='right')", ("edges",)),
        ("def f(x: Tensor, edges: Tensor):\n    return tf.searchsorted(edges, values=x)", ("edges",)),
        ("def f(x: Tensor, xs: Tensor, ys: Tensor):\n    return np.interp(x, xs, ys)", ("xs",)),
    ],
)
def test_what_is_looked_up_in_is_sorted(code: str, names: tuple[str, ...]) -> None:
    (first, *_) = of(TORCH + code).candidates
    assert first.requires == tuple(f"{name}[..., :-1] <= {name}[..., 1:]" for name in names)


def test_vectors_of_which_products_are_taken_have_three_elements() -> None:
    assert of(TORCH + "def f(a: Tensor, b):\n    return torch.cross(a, b - a)").candidates[0].sizes["D"] == 3
    assert of(TORCH + "def f(a: Tensor, b):\n    return torch.dot(a, b - a)").candidates[0].sizes["D"] == 8


def test_whole_numbers_of_jax_are_short() -> None:
    assert first("import jax.numpy as jnp\ndef f(ids):\n    return jnp.sum(ids)", "jax") == {"ids": "i32[B,S]"}


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def f(batch):\n    return batch.keys()", "a mapping"),
        ("def f(x: Tensor, path: str):\n    torch.save(x, path)\n    return f'{path}'", "of type `str`"),
        ("def f(x: Tensor, act):\n    return act()", "a function"),
        ("def f(x: Tensor, act):\n    return act(x, 1, 2)", "a function"),
    ],
)
def test_what_cannot_be_drawn_is_said(code: str, why: str) -> None:
    assert why in of(TORCH + code).reason


def test_candidates_are_bounded_and_none_comes_twice() -> None:
    found = of("def f(a, b, c, d, e):\n    return a + b + c + d + e").candidates
    assert len(found) == MOST
    assert len({str(one) for one in found}) == MOST


OPTIONS = {
    "a truth value": ("def f(x: Tensor, flip=False):\n    return -x if flip else x", "flip", {"True"}),
    "a text": ("def f(x: Tensor, mode='a'):\n    return -x if mode in ('a', 'b') else x", "mode", {"'b'"}),
    "one of a type's": (
        "from typing import Literal\ndef f(x: Tensor, mode: Literal['a', 'c'] = 'a'):\n    return x",
        "mode",
        {"'c'"},
    ),
    "a number": ("def f(x: Tensor, n=3):\n    return x * n", "n", set()),
    "a text that is compared with nothing": ("def f(x: Tensor, name='a'):\n    return x", "name", set()),
}


@pytest.mark.parametrize(("code", "option", "others"), OPTIONS.values(), ids=OPTIONS)
def test_options_are_tried_after_their_defaults(code: str, option: str, others: set[str]) -> None:
    found = of(TORCH + code).candidates
    assert option not in found[0].arguments
    tried = {format_spec(specs.arguments[option]).strip('"') for specs in found if option in specs.arguments}
    assert tried == others
