"""What a rewrite gets and what it says: a `Site`, and a `Rewrite`, a `Reason`, or None."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Union

import libcst as cst
import msgspec

from xlalint.checks.finding import Fix
from xlalint.fixes.scene import Replacement, Scene
from xlalint.semantics.hazard import Hazard


class Reason(msgspec.Struct, frozen=True):
    """Why a rewrite does not apply, in one line for the user: "the branches give tensors of different shapes"."""

    text: str


Outcome = Union[Fix, Reason]


class Site(NamedTuple):
    """A finding at its node. `target` is how the framework's code reaches XLA: "torch_xla", "torch_compile", "tf", "jax", …"""

    hazard: Hazard
    node: cst.CSTNode
    scene: Scene
    target: str

    @property
    def framework(self) -> str:
        """Whose tensor it is: "torch", "tensorflow" or "jax"."""
        return self.hazard.framework


class Rewrite(NamedTuple):
    """What to replace, and what that does, as an order: "Use `torch.where`".

    `assumes` says on what the results being the same depends ("both branches give the same shape"); it makes the fix unsafe. Empty, the
    fix is safe: every input on which the original ran gives the same values, dtypes, shapes and gradients. `imports` are modules by dotted
    name that the new text needs under the names that `Imports` gave it.
    """

    message: str
    replacements: tuple[Replacement, ...]
    assumes: str = ""


Rewriter = Callable[[Site], Union[Rewrite, Reason, None]]
"""Looks at a site: a `Rewrite`; a `Reason` where it is of the form that it knows and yet cannot be rewritten; None for other forms.

Pure. Guard clauses come first. It may read the scene's tree, facts and names, and must not change them.
"""


def all_of(assumed: Iterable[str]) -> str:
    """What a rewrite assumes, from its parts, each said once."""
    return " and ".join(dict.fromkeys(assumed))
