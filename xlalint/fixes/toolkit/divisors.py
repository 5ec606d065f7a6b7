"""Keeps a side of a choice from dividing by the zero that its condition tests for, and from taking its logarithm or root.

`loss if n == 0 else total / n` never divides by zero. `where` computes both sides: the quotient that it does not choose is infinite,
and the gradient of zero that flows into it becomes NaN. Dividing by one there changes nothing that is chosen.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

_ZERO_WHERE_TRUE = (ast.Eq, ast.LtE)
_ZERO_WHERE_FALSE = (ast.NotEq, ast.Gt)
_SMALL_WHERE_TRUE = (ast.Lt, ast.LtE)
_SMALL_WHERE_FALSE = (ast.Gt, ast.GtE)
_SMALL = 0.01
_TESTED = (ast.Name, ast.Attribute, ast.Call)
# Functions, and methods, that are infinite at zero or have an infinite derivative there.
_STEEP = frozenset(("log", "log10", "log2", "reciprocal", "rsqrt", "sqrt"))


def with_safe_divisor(
    side: str, asked: str, where: str, *, taken: bool = True, made: Mapping[str, str] | None = None
) -> str:
    """Return the code of the side that is chosen where a condition holds, or, not `taken`, where it does not, so that what the condition
    says is not zero there divides nothing where it is.

    `made` has what names of the condition and of the side were made by: `a / a.std()` divides by what `s != 0` tests after `s = a.std()`,
    and so does `a / s` by what `a.std() != 0` tests.

    >>> with_safe_divisor("total / n", "n > 0", "torch.where")
    'total / torch.where(n > 0, n, 1)'
    """
    for compared, zero in _list_tested(_parse(asked)):
        if zero is taken:
            continue
        code, test = ast.unparse(compared.left), ast.unparse(compared)
        for divisor in (code, *_list_same(code, made or {}), *_list_magnitudes(compared.left)):
            safe = f"{where}({test}, 1, {divisor})" if zero else f"{where}({test}, {divisor}, 1)"
            side = exchange_divisor(side, divisor, safe)
    return side


def write_quotient(asked: str, first: str, second: str, where: str) -> str:
    """Return the choice between a value and its quotient by something as one quotient; "" for another choice.

    >>> write_quotient("n > 0", "x / n", "x", "torch.where")
    'x / torch.where(n > 0, n, 1)'
    """
    for quotient, kept in ((first, second), (second, first)):
        divided, plain = _parse(quotient), _parse(kept)
        if not isinstance(divided, ast.BinOp) or not isinstance(divided.op, ast.Div) or not isinstance(plain, ast.Name):
            continue
        divisor = ast.get_source_segment(f"({quotient})", divided.right)
        if ast.dump(divided.left) == ast.dump(plain) and divisor is not None:
            chosen = f"{divisor}, 1" if quotient is first else f"1, {divisor}"
            return f"{kept} / {where}({asked}, {chosen})"
    return ""


def write_product(asked: str, first: str, second: str, where: str) -> str:
    """Return the choice between a variable and its product with something as one product, into whose factor no gradient goes where it is
    not chosen, whatever the variable is; "" for another choice.

    >>> write_product("k > 0", "x * scale", "x", "torch.where")
    'x * torch.where(k > 0, scale, 1)'
    """
    for product, kept in ((first, second), (second, first)):
        found, plain = _parse(product), _parse(kept)
        if not isinstance(found, ast.BinOp) or not isinstance(found.op, ast.Mult) or not isinstance(plain, ast.Name):
            continue
        for variable, factor in ((found.left, found.right), (found.right, found.left)):
            code = ast.get_source_segment(f"({product})", factor)
            if ast.dump(variable) == ast.dump(plain) and code is not None:
                return f"{kept} * {where}({asked}, {f'{code}, 1' if product is first else f'1, {code}'})"
    return ""


def find_divisors(side: str) -> set[str]:
    """The names that a side divides by, or computes what is infinite at zero of."""
    tree = _parse(side)
    return {one.id for one in _list_divisors(tree) if isinstance(one, ast.Name)} if tree is not None else set()


def find_compared(code: str) -> set[str]:
    """The code of all that an expression compares to zero."""
    tree = _parse(code)
    found = ast.walk(tree) if tree is not None else ()
    return {ast.unparse(one.left) for one in found if isinstance(one, ast.Compare) and _compares_to_zero(one)}


def _compares_to_zero(node: ast.Compare) -> bool:
    right = node.comparators[0]
    return (
        len(node.ops) == 1
        and isinstance(right, ast.Constant)
        and right.value == 0
        and not isinstance(right.value, bool)
    )


def _list_divisors(tree: ast.expr) -> list[ast.expr]:
    """List what must not be zero in an expression."""
    found = []
    for one in ast.walk(tree):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div):
            found.append(one.right)
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in _STEEP:
            found.append(_unwrap_detached(one.args[0] if one.args else one.func.value))
    return found


def _unwrap_detached(node: ast.expr) -> ast.expr:
    """Return what an expression cuts the gradient of: `v` of `v.detach()`."""
    detached = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "detach"
    return node.func.value if detached else node  # type: ignore[attr-defined]


def _list_same(code: str, made: Mapping[str, str]) -> list[str]:
    """List what has the value of an expression: what it was made by, and the names of what was made so."""
    plain = ast.unparse(tree) if (tree := _parse(code)) is not None else code
    names = [name for name, by in made.items() if (tree := _parse(by)) is not None and ast.unparse(tree) == plain]
    return [made[code], *names] if code in made else names


def exchange_divisor(side: str, divisor: str, safe: str) -> str:
    """Return code in which all quotients by a divisor have another in its place."""
    tree, tested = _parse(side), _parse(divisor)
    if tree is None or tested is None:
        return side
    found = [one for one in _list_divisors(tree) if ast.dump(one) == ast.dump(tested)]
    for one in sorted(found, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        side = _exchange(side, one, safe)
    return side


def _list_tested(tree: ast.expr | None) -> list[tuple[ast.Compare, bool]]:
    """The parts of a condition that compare something to zero, and whether it is zero where the part is true."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.BitAnd, ast.BitOr)):
        parts = [*_list_tested(tree.left), *_list_tested(tree.right)]
        return [(part, zero) for part, zero in parts if zero is isinstance(tree.op, ast.BitOr)]
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or not isinstance(tree.left, _TESTED):
        return []
    true, false = (
        (_ZERO_WHERE_TRUE, _ZERO_WHERE_FALSE) if _compares_to_zero(tree) else (_SMALL_WHERE_TRUE, _SMALL_WHERE_FALSE)
    )
    if not _compares_to_zero(tree) and not _may_be_small(tree.comparators[0]):
        return []
    if isinstance(tree.ops[0], true):
        return [(tree, True)]
    return [(tree, False)] if isinstance(tree.ops[0], false) else []


def _may_be_small(node: ast.expr) -> bool:
    """Return whether a condition may tell by an expression what is near zero: it is a small number, or has a name."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float) and 0 < node.value <= _SMALL
    return isinstance(node, (ast.Attribute, ast.Name))


def _list_magnitudes(node: ast.expr) -> list[str]:
    """List what an expression is the magnitude of: `n` of `abs(n)` and `n.abs()`."""
    if not isinstance(node, ast.Call) or node.keywords:
        return []
    if isinstance(node.func, ast.Attribute) and node.func.attr == "abs" and len(node.args) < 2:
        return [ast.unparse(node.args[0] if node.args else node.func.value)]
    named = isinstance(node.func, ast.Name) and node.func.id == "abs" and len(node.args) == 1
    return [ast.unparse(node.args[0])] if named else []


def _parse(code: str) -> ast.expr | None:
    try:
        return ast.parse(f"({code})", mode="eval").body
    except SyntaxError:
        return None


def _exchange(code: str, node: ast.expr, text: str) -> str:
    """Return code with the text of a node, as `_parse` found it, exchanged."""
    lines = f"({code})".encode().split(b"\n")
    assert node.end_lineno is not None and node.end_col_offset is not None
    start = sum(len(line) + 1 for line in lines[: node.lineno - 1]) + node.col_offset
    end = sum(len(line) + 1 for line in lines[: node.end_lineno - 1]) + node.end_col_offset
    data = b"\n".join(lines)
    return (data[:start] + text.encode() + data[end:])[1:-1].decode()
