"""Tells by their code which two values cannot be chosen between: those of two sizes, and one that is NaN where it is not chosen."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from xlalint.fixes.toolkit.operations import names

_JOINING = names("cat concat concatenate hstack vstack")
_EXPONENTIAL = names("cosh exp exp2 expm1 sinh")
_FINITENESS = names("isfinite isinf isnan")
_MAKERS = names("empty full new_empty new_full new_ones new_zeros ones rand randn zeros")


def differ_in_size(first: str, second: str) -> bool:
    """Return whether two expressions join the same, or more of the same, so that one is longer unless something is empty.

    >>> differ_in_size("torch.cat((old, new))", "torch.cat((old[-2:], new))")
    True
    >>> differ_in_size("torch.cat((a, b))", "torch.cat((b, a))")
    False
    """
    parts, others = (list(_list_joined(_parse(text))) for text in (first, second))
    bases, other_bases = (Counter(base for base, _ in found) for found in (parts, others))
    if not parts or not others:
        return False
    if bases == other_bases:
        return Counter(parts) != Counter(others)
    return bases <= other_bases or other_bases <= bases


def takes_other_size(made: str, kept: str) -> bool:
    """Return whether code makes a tensor of some of another value's sizes and of a number, which stands where that value has a size.

    >>> takes_other_size("torch.zeros(1, x.size(1))", "x")
    True
    >>> takes_other_size("torch.zeros(x.size(0), x.size(1))", "x")
    False
    """
    call = _parse(made)
    if not isinstance(call, ast.Call) or _name_of(call) not in _MAKERS or not call.args:
        return False
    sizes = call.args[0].elts if isinstance(call.args[0], (ast.List, ast.Tuple)) else call.args
    own = {f"{kept}.{form}" for place in range(len(sizes)) for form in (f"size({place})", f"shape[{place}]")}
    taken = any(ast.unparse(size) in own for size in sizes)
    return taken and any(isinstance(size, ast.Constant) and isinstance(size.value, int) for size in sizes)


def find_spoilt(asked: Iterable[str], into: frozenset[str], other: frozenset[str]) -> str:
    """The variable that conditions test for NaN and infinities, if a gradient goes into it on one side of the choice alone; "" without.

    >>> find_spoilt(["torch.isnan(loss)"], frozenset(["loss"]), frozenset())
    'loss'
    """
    tested = {code for text in asked for code in _list_tested(text)}
    return min(tested & (into ^ other), default="")


def find_tested_operand(asked: Iterable[str], side: str, into: frozenset[str]) -> str:
    """The variable that conditions test for NaN, with which a side computes what other variables take gradients of: these are NaN, too.

    >>> find_tested_operand(["torch.isnan(y).any()"], "mse_loss(x, y)", frozenset(["x"]))
    'y'
    """
    tested = {code for text in asked for code in _list_tested(text)}
    tree = _parse(side)
    if tree is None or not tested or isinstance(tree, (ast.Attribute, ast.Name)):
        return ""
    whole = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Subscript)}
    parts = (one for one in ast.walk(tree) if isinstance(one, (ast.Attribute, ast.Name)) and id(one) not in whole)
    read = {ast.unparse(one) for one in parts} & tested
    return min(read, default="") if into - read else ""


def find_overflow(asked: Iterable[str], side: str) -> str:
    """The exponential on one side of a choice of what conditions compare, which overflows where it is not chosen; "" without.

    >>> find_overflow(["x > 20"], "torch.log1p(torch.exp(x))")
    'torch.exp(x)'
    >>> find_overflow(["x > 20"], "torch.exp(-x.abs())")
    ''
    """
    compared = {code for text in asked for code in _list_compared(text)}
    tree = _parse(side)
    for call in ast.walk(tree) if tree is not None and compared else ():
        if not isinstance(call, ast.Call) or _name_of(call) not in _EXPONENTIAL:
            continue
        holder = [call.func.value] if isinstance(call.func, ast.Attribute) and not call.args else []
        given = [*call.args[:1], *holder]
        plain = not any(isinstance(part, ast.Call) for one in given for part in ast.walk(one))
        if plain and compared & {ast.unparse(part) for one in given for part in ast.walk(one)}:
            return ast.unparse(call)
    return ""


def _list_compared(text: str) -> Iterator[str]:
    """List the variables whose order with something a condition asks for."""
    tree = _parse(text)
    for one in ast.walk(tree) if tree is not None else ():
        if isinstance(one, ast.Compare) and isinstance(one.ops[0], (ast.Gt, ast.GtE, ast.Lt, ast.LtE)):
            for side in (one.left, *one.comparators):
                yield from (ast.unparse(part) for part in ast.walk(side) if isinstance(part, (ast.Attribute, ast.Name)))


def _list_joined(node: ast.expr | None) -> Iterator[tuple[str, bool]]:
    """List what an expression joins: the code of each, without slices, and whether it is whole."""
    if not isinstance(node, ast.Call) or not node.args or _name_of(node) not in _JOINING:
        return
    listed = node.args[0]
    for one in listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else ():
        cut = isinstance(one, ast.Subscript) and _is_cut(one.slice)
        yield ast.unparse(one.value if cut and isinstance(one, ast.Subscript) else one), not cut


def _is_cut(index: ast.expr) -> bool:
    """Return whether an index has slices alone, one of which leaves something out."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    slices = [one for one in parts if isinstance(one, ast.Slice)]
    return len(slices) == len(parts) and any(one.lower or one.upper or one.step for one in slices)


def _list_tested(text: str) -> Iterator[str]:
    tree = _parse(text)
    for call in ast.walk(tree) if tree is not None else ():
        if not isinstance(call, ast.Call) or _name_of(call) not in _FINITENESS:
            continue
        holder = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        for one in (holder, *call.args):
            yield from (ast.unparse(part) for part in ast.walk(one) if isinstance(part, (ast.Attribute, ast.Name)))


def _name_of(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _parse(text: str) -> ast.expr | None:
    try:
        return ast.parse(f"({text})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None
