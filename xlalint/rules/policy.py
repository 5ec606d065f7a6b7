"""Policies: what the analysis asks of a rule to decide whether a hazard counts. They stand in the front matter of the rule's page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, cast, get_args

import msgspec

from xlalint.rules.codes import (
    TENSOR_ASSERT,
    TENSOR_BOOL_OPERATOR,
    TENSOR_IF,
    TENSOR_MEMBERSHIP,
    TENSOR_TERNARY,
    TENSOR_WHILE,
)
from xlalint.rules.variants import LOOP

OF_TRUTH: Final = frozenset(
    (TENSOR_IF, TENSOR_WHILE, TENSOR_ASSERT, TENSOR_BOOL_OPERATOR, TENSOR_TERNARY, TENSOR_MEMBERSHIP)
)
"""The rules each of which asks where Python tests the truth of a tensor."""

Code = Literal["anywhere", "traced", "around-traced", "host-traced", "host-compiled", "host-device"]
"""Names the code in which a rule counts: that which a tracer runs; that around it; host code of a program which traces functions, has
XLA compile some of them, or runs on an XLA device as a whole."""


class Policy(msgspec.Struct, frozen=True):
    """Answers the questions of the analysis about one rule. The fields but `counts` are what `traits` of a page may list.

    A tracer is one that records a graph of symbolic values, as those of TensorFlow and JAX do.
    """

    counts: dict[str, Code] = {}
    reads_value: bool = False
    """It reads a tensor's value: code of an installed library that does so makes the call from the user's code a hazard."""
    tracer_raises: bool = False
    """A tracer raises an exception, which `try` around it catches: the hazard does not count there."""
    tracer_refuses: bool = False
    """No tracer lets it pass. Where the value may also be the host's, the code has run with that, and the hazard is just possible."""
    autograph_rewrites: bool = False
    """AutoGraph makes a graph operation of it. Where AutoGraph is off, the hazard has the variant `no-autograph`."""
    autograph_only: bool = False
    """It is a limit of AutoGraph's rewriting, and no hazard where AutoGraph is off."""
    compiler_only: bool = False
    """Only XLA minds. It does not count in a TensorFlow function that runs in TensorFlow's own runtime."""
    eager_recompiles: bool = False
    """JAX compiles anew for each size in code that it runs eagerly, too: the hazard has the variant `eager` there."""
    only_repeated: bool = False
    """It costs where the code runs again and again, and nothing while that is traced."""
    draws_at_random: bool = False
    """A random draw in a function that anyone may call is mostly an augmentation, and just possible."""
    needs_evidence: bool = False
    """That the user names the target is not enough: the program itself has to show that it is written for it."""
    tpu_node_only: bool = False
    """It is a hazard where the TPU is on another machine than the program."""
    free_for_arrays: bool = False
    """It costs nothing if the value is a NumPy array. Where it may be one, the hazard is just possible."""
    cheap_if_rare: bool = False
    """It costs next to nothing in a branch that runs once in several steps."""
    cheap_if_seldom: bool = False
    """It costs next to nothing in a branch that runs in at most one of ten steps."""
    told_by_use: bool = False
    """It gives way to the rule that says what the value it reads is used for."""
    raises_once: bool = False
    """It raises an exception in code that no tracer runs: it counts in a script for the device where nothing repeats it, too."""
    shapes_batches: bool = False
    """Its finding is where a batch gets its shape: what is compiled for a new shape is compiled elsewhere."""

    whole_captures: bool = False
    """Since torch 2.10, `torch.compile(fullgraph=True)` makes it a part of the graph."""
    whole_raises: bool = False
    """With `fullgraph=True`, `torch.compile` raises an exception. The hazard has the variant `fullgraph` there."""

    compiler_refuses: bool = False
    """Inside `torch.compile`, TorchTPU's compiler raises an exception. The hazard has the variant `compiled` there."""
    compiled_only: bool = False
    """So it does, and what runs by itself is no hazard."""

    def counts_in(self, framework: str) -> Code:
        """Return the code in which the rule counts for a framework."""
        return self.counts.get(framework) or self.counts.get("*", "traced")


CODES: tuple[Code, ...] = get_args(Code)
TRAITS = tuple(name.replace("_", "-") for name in Policy.__struct_fields__ if name != "counts")
"""The traits that a page may list."""

Policies = Mapping[str, Policy]
"""The policies of rules, by code."""

NO_POLICY = Policy()
OCCASIONAL = (("torch_xla", "info"), ("torch_tpu", "info"), (f"jax:{LOOP}", "info"), (f"tf:{LOOP}", "info"))
"""The severities of what is cheap because it runs rarely: on targets where a read does not break the graph, or of what host code reads."""


def policy_of(counts: Mapping[str, str], traits: Iterable[str]) -> Policy:
    """Make a policy of what a page says; its words are known to be right."""
    return Policy(cast("dict[str, Code]", counts), **{trait.replace("-", "_"): True for trait in traits})
