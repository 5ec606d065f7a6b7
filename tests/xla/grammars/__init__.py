"""Programs for the properties of fixes, as grammars: one module here for each family of rewrites, found by itself.

A module's `GRAMMARS` are the start; what it says of a rule is data:

    Grammar(
        name="mask-assignment", framework="torch", codes=("XLA205",),
        rules={
            "program": ["import torch\\n\\n\\n# xlalint: inputs(...)\\ndef f(x, mask):\\n    <statement>\\n    return x\\n"],
            "dtype": ["f32", "f16"],
            "statement": ["x[<m:mask>] = <number>"],
            ...
        },
    )

`<name>` is replaced by one of the alternatives of that name, of the grammar or of `BASE` for its framework; `<m:mask>` is the same text
wherever `<m:...>` stands. Lines behind the first are indented as the line on which the reference stands.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

_REFERENCE = re.compile(r"<(?:(?P<kept>[a-z_]+):)?(?P<name>[a-z_]+)>")
_DEEPEST = 12


class Grammar(NamedTuple):
    """`codes` are the rules whose findings the programs show, `framework` "torch", "tensorflow" or "jax"; the target follows from it.

    `unlike` says where programs that an unsafe fix changed may differ from what they were: on which inputs ("nan", "empty") or in which
    respect ("gradients"), as a rule page does. What a safe fix makes is compared in everything but the "signs" of zeros.
    """

    name: str
    framework: str
    codes: tuple[str, ...]
    rules: Mapping[str, Sequence[str]]
    unlike: tuple[str, ...] = ()
    target: str = ""


# What all grammars of a framework may use: expressions of a tensor `x`, and of numbers.
BASE: Mapping[str, Mapping[str, Sequence[str]]] = {
    "torch": {
        "number": ["0.0", "1.0", "-2.5", "3"],
        "float_dtype": ["f32", "f32", "f64", "f16"],
        "shape": ["[4]", "[4,8]", "[4,3,8]"],
        "elementwise": ["x", "x * 2.0", "x.exp()", "x.abs() + 1.0", "-x", "x.clamp(min=0.0)", "torch.tanh(x)"],
        "reducer": ["sum", "mean", "max", "min"],
        "scalar": ["x.sum()", "x.abs().max()", "(x * x).mean()", "x.min()"],
        "condition": ["<scalar> > 0", "(x > 0.5).any()", "(x > -9).all()", "torch.isnan(x).any()"],
    },
    "tensorflow": {
        "number": ["0.0", "1.0", "-2.5"],
        "float_dtype": ["f32", "f32", "f64"],
        "shape": ["[4]", "[4,8]", "[4,3,8]"],
        "elementwise": ["x", "x * 2.0", "tf.exp(x)", "tf.abs(x) + 1.0", "-x", "tf.nn.relu(x)", "tf.tanh(x)"],
        "reducer": ["sum", "mean", "max", "min"],
        "scalar": ["tf.reduce_sum(x)", "tf.reduce_max(tf.abs(x))", "tf.reduce_mean(x * x)", "tf.reduce_min(x)"],
        "condition": ["<scalar> > 0", "tf.reduce_any(x > 0.5)", "tf.reduce_all(x > -9)"],
    },
    "jax": {
        "number": ["0.0", "1.0", "-2.5", "3"],
        "float_dtype": ["f32", "f32", "f16"],
        "shape": ["[4]", "[4,8]", "[4,3,8]"],
        "elementwise": ["x", "x * 2.0", "jnp.exp(x)", "jnp.abs(x) + 1.0", "-x", "jax.nn.relu(x)", "jnp.tanh(x)"],
        "reducer": ["sum", "mean", "max", "min"],
        "scalar": ["x.sum()", "jnp.abs(x).max()", "(x * x).mean()", "x.min()"],
        "condition": ["<scalar> > 0", "(x > 0.5).any()", "jnp.all(x > -9)", "jnp.isnan(x).any()"],
    },
}


def grammars() -> list[Grammar]:
    """Those of all modules of this folder."""
    found: list[Grammar] = []
    for module in sorted(one.name for one in pkgutil.iter_modules(__path__)):
        found += importlib.import_module(f"{__name__}.{module}").GRAMMARS
    return found


def programs(grammar: Grammar) -> st.SearchStrategy[str]:
    """Texts that a grammar gives."""
    rules = {**BASE[grammar.framework], **grammar.rules}

    @st.composite
    def program(draw: Any) -> str:
        kept: dict[str, str] = {}

        def expanded(name: str, depth: int) -> str:
            if depth > _DEEPEST:
                raise RecursionError(f"{grammar.name}: <{name}> goes on for ever")
            text: str = draw(st.sampled_from(rules[name]))
            return _REFERENCE.sub(lambda found: indented(found, depth), text)

        def indented(found: re.Match[str], depth: int) -> str:
            if found["name"] not in rules:
                return found[0]
            line = found.string[: found.start()].rpartition("\n")[2]
            margin = line[: len(line) - len(line.lstrip())]
            if found["kept"] and found["kept"] in kept:
                text = kept[found["kept"]]
            else:
                text = expanded(found["name"], depth + 1)
                if found["kept"]:
                    kept[found["kept"]] = text
            return text.replace("\n", f"\n{margin}")

        return expanded("program", 0)

    return program()
