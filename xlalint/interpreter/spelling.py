"""How the source spells expressions, and where they stand."""

from __future__ import annotations

from typing import Final

from xlalint.lowering import ir


def position(node: ir.Node) -> int:
    """Where an expression stands, 0 for constants (which no hazard is about); of `name := value` and its like, the value."""
    at = getattr(node, "at", 0)
    inner = getattr(node, "value", None)
    if at or not isinstance(inner, ir.Expr):
        return at or 0
    return position(inner)  # type: ignore[arg-type]


def path_of(node: ir.Node) -> str:
    """ "x" or "x.a.b" for names and attribute chains; "" for others."""
    if type(node) is ir.Name:
        return node.id
    if type(node) is ir.Attr:
        base = path_of(node.value)
        return f"{base}.{node.name}" if base else ""
    return ""


def calls_within(node: ir.Node) -> bool:
    """Return whether an arithmetic expression, or a list of such, calls anything."""
    if type(node) is ir.Bin:
        return calls_within(node.left) or calls_within(node.right)
    if type(node) is ir.Display:
        return any(map(calls_within, node.items))
    return type(node) is ir.Call or (type(node) is ir.Unary and calls_within(node.value))


_BINDING: Final = {
    "|": 1,
    "^": 2,
    "&": 3,
    "<<": 4,
    ">>": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "//": 6,
    "%": 6,
    "@": 6,
    "**": 8,
}
_UNARY, _PRIMARY = 7, 9
_LINKS: Final = 32


def _parenthesize(node: ir.Node, depth: int, binding: int = _PRIMARY, links: int = _LINKS) -> str:
    """An expression within one that binds so tightly: in parentheses where it would read otherwise."""
    own = _PRIMARY
    if type(node) is ir.Bin:
        own = _BINDING.get(node.op, 0)
    elif type(node) is ir.Unary:
        own = _UNARY
    elif isinstance(node, ir.Not | ir.Compare) or (type(node) is ir.Display and node.kind == "tuple"):
        own = 0
    text = spelling(node, depth, links)
    return f"({text})" if own < binding and text != "…" else text


def spelling(node: ir.Node, depth: int = 3, links: int = _LINKS) -> str:
    """A short source-like text of an expression, for messages: so deep, and of a chain of attributes, calls and indices so long."""
    if type(node) is ir.Name:
        return node.id
    if depth == 0 or links == 0:
        return "…"
    if type(node) is ir.Attr:
        return f"{_parenthesize(node.value, depth, links=links - 1)}.{node.name}"
    if type(node) is ir.Const:
        return repr(node.value)
    if type(node) is ir.Call:
        inner = ", ".join(spelling(arg, depth - 1) for arg in node.args[:2])
        more = ", …" if len(node.args) > 2 or (node.keywords and node.args) else "…" if node.keywords else ""
        return f"{_parenthesize(node.func, depth, links=links - 1)}({inner}{more})"
    if type(node) is ir.Sub:
        return f"{_parenthesize(node.value, depth, links=links - 1)}[{spelling(node.index, depth - 1)}]"
    if type(node) is ir.Slice:
        lower = spelling(node.lower, depth - 1) if node.lower is not None else ""
        upper = spelling(node.upper, depth - 1) if node.upper is not None else ""
        return f"{lower}:{upper}"
    if type(node) is ir.Bin:
        binding = _BINDING.get(node.op, 0)
        left = _parenthesize(node.left, depth - 1, binding + (node.op == "**"))
        return f"{left} {node.op} {_parenthesize(node.right, depth - 1, binding + (node.op != '**'))}"
    if type(node) is ir.Unary:
        return f"{node.op}{_parenthesize(node.value, depth - 1, _UNARY)}"
    if type(node) is ir.Not:
        return f"not {spelling(node.value, depth - 1)}"
    if type(node) is ir.Compare:
        rights = " ".join(
            f"{op} {_parenthesize(right, depth - 1, 1)}" for op, right in zip(node.ops, node.rights, strict=True)
        )
        return f"{_parenthesize(node.left, depth - 1, 1)} {rights}"
    if type(node) is ir.Display and node.kind in ("tuple", "list"):
        inner = ", ".join(spelling(item, depth - 1) for item in node.items)
        return inner if node.kind == "tuple" else f"[{inner}]"
    return "…"
