"""Functions that a library runs for each row of what they are passed, and of which it stacks the results: `jax.vmap(f)`.

What is known of ranks around such a call does not hold in it, nor the other way round. Which arguments have rows, and along which axis, is
often not known, so that ranks are forgotten.
"""

from __future__ import annotations

from typing import Final

from xlalint.abstract.lattice import join_all
from xlalint.abstract.structures import map_leaves
from xlalint.abstract.values import TRUE, Function, Partial, Tensor, Union, Value, field, function, partial, tensor

_MAPPED: Final = "<mapped>"  # in a function's closure: no name of Python's reads so


def mark_mapped(func: Value) -> Value:
    """Return what is called as that which runs for each row of what it is passed."""
    if isinstance(func, Union):
        return join_all(map(mark_mapped, func.members))
    if isinstance(func, Partial):
        return partial(mark_mapped(func.func), func.args, func.keywords)
    if not isinstance(func, Function) or is_mapped(func):
        return func
    return function(func.info, func.receiver, (*func.closure, (_MAPPED, TRUE)))


def is_mapped(func: Function) -> bool:
    """Return whether a function was marked."""
    return bool(func.closure) and field(func.closure, _MAPPED) is TRUE


def forget_rank(value: Value) -> Value:
    """Return a structure of which the ranks of its tensors are not known."""
    return map_leaves(value, _without_rank)


def _without_rank(leaf: Value) -> Value:
    if type(leaf) is not Tensor or leaf.rank < 0:
        return leaf
    return tensor(leaf.framework, leaf.dtype, -1, leaf.place, leaf.sure, leaf.static)


__all__ = ["forget_rank", "is_mapped", "mark_mapped"]
