"""Keeps a side of a choice from dividing by the zero that its condition tests for.

`loss if n == 0 else total / n` never divides by zero. `where` computes both sides: the quotient that it does not choose is infinite,
and the gradient of zero that flows into it becomes NaN. Dividing by one there changes nothing that is chosen.
"""

from __future__ import annotations

import ast

_ZERO_WHERE_TRUE = (ast.Eq, ast.LtE)
_ZERO_WHERE_FALSE = (ast.NotEq, ast.Gt)


def with_safe_divisor(side: str, asked: str, where: str) -> str:
    """Return the code of a side in which what the condition compares to zero divides nothing where it is zero.

    >>> with_safe_divisor("total / n", "n > 0", "torch.where")
    'total / torch.where(n > 0, n, 1)'
    """
    divisor, true = _find_tested(asked)
    tree = _parse(side)
    if divisor is None or tree is None:
        return side
    code = ast.unparse(divisor)
    safe = f"{where}({asked}, 1, {code})" if true else f"{where}({asked}, {code}, 1)"
    found = [
        one.right
        for one in ast.walk(tree)
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div) and ast.dump(one.right) == ast.dump(divisor)
    ]
    for one in sorted(found, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        side = _replaced(side, one, safe)
    return side


def _find_tested(asked: str) -> tuple[ast.expr | None, bool]:
    """What a condition compares to zero, and whether it is zero where the condition is true."""
    tree = _parse(asked)
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or not isinstance(tree.left, (ast.Name, ast.Attribute)):
        return None, False
    right = tree.comparators[0]
    if not isinstance(right, ast.Constant) or isinstance(right.value, bool) or right.value != 0:
        return None, False
    if isinstance(tree.ops[0], _ZERO_WHERE_TRUE):
        return tree.left, True
    return (tree.left, False) if isinstance(tree.ops[0], _ZERO_WHERE_FALSE) else (None, False)


def _parse(code: str) -> ast.expr | None:
    try:
        return ast.parse(f"({code})", mode="eval").body
    except SyntaxError:
        return None


def _replaced(code: str, node: ast.expr, text: str) -> str:
    """Return code with the text of a node, as `_parse` found it, exchanged."""
    lines = f"({code})".encode().split(b"\n")
    assert node.end_lineno is not None and node.end_col_offset is not None
    start = sum(len(line) + 1 for line in lines[: node.lineno - 1]) + node.col_offset
    end = sum(len(line) + 1 for line in lines[: node.end_lineno - 1]) + node.end_col_offset
    data = b"\n".join(lines)
    return (data[:start] + text.encode() + data[end:])[1:-1].decode()
