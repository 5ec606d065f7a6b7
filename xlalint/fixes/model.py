"""The types of rewriters: a `Site` goes in; a `Rewrite`, a `NoFix` or None comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Union

import libcst as cst
import msgspec

from xlalint.analysis.hazard import Hazard
from xlalint.diagnostics.finding import Fix
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement


class NoFix(msgspec.Struct, frozen=True):
    """Why a rewrite does not apply, in one line for the user: "the branches give tensors of different shapes"."""

    text: str


NOT_FIXABLE = NoFix("the configuration leaves its rule out of `fixable`, or has it in `unfixable`")

FixResult = Union[Fix, NoFix]


class Site(NamedTuple):
    """A finding at its node. `target` is how the framework's code reaches XLA: "torch_xla", "torch_compile", "tf", "jax", …"""

    hazard: Hazard
    node: cst.CSTNode
    scene: FunctionSource
    target: str

    @property
    def framework(self) -> str:
        """Whose tensor it is: "torch", "tensorflow" or "jax"."""
        return self.hazard.framework


class Rewrite(NamedTuple):
    """Holds the replacements, and a message in the imperative: "Use `torch.where`".

    `assumes` says on what the results being the same depends ("both branches give the same shape"); it makes the fix unsafe. Empty, the
    fix is safe: every input on which the original ran gives the same values, dtypes, shapes and gradients. `imports` are modules by dotted
    name that the new text needs under the names that `Imports` gave it.
    """

    message: str
    replacements: tuple[Replacement, ...]
    assumes: str = ""


Rewriter = Callable[[Site], Union[Rewrite, NoFix, None]]
"""Looks at a site: a `Rewrite`; a `NoFix` where it is of the form that it knows and yet cannot be rewritten; None for other forms.

Pure. Guard clauses come first. It may read the scene's tree, facts and names, and must not change them.
"""


def all_of(assumed: Iterable[str]) -> str:
    """Join the assumptions of a rewrite, each mentioned once; those that are joined before are taken apart."""
    return _APART.join(dict.fromkeys(one for some in assumed if some for one in some.split(_APART)))


def words_of(assumed: str) -> str:
    """Write joined assumptions as one text: "a and b"; "a, b, and c", with semicolons where one of them has a comma."""
    parts = assumed.split(_APART)
    if len(parts) <= 2:
        return " and ".join(parts)
    mark = ";" if any("," in one for one in parts) else ","
    return f"{f'{mark} '.join(parts[:-1])}{mark} and {parts[-1]}"


_APART = "\0"  # between assumptions: no text and no code of a program has it
