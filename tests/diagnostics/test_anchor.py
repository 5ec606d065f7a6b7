"""Every expression that a finding can speak of is bound to its libcst node, wherever in a file it stands."""

from __future__ import annotations

import pytest

from xlalint.diagnostics.anchor import Anchors

# `«` and `»` mark the extent, `¦` where the statement begins; without it that is what the interpreter could not tell.
BOUND = {
    "test-of-if": ("def f(x):\n    ¦if «x.any()»:\n        return 1\n", "Call", "If"),
    "test-of-elif": ("if a:\n    pass\n¦elif «x.any()»:  # why\n    pass\n", "Call", "If"),
    "test-of-while": ("¦while «(x > 0).all()»:\n    x -= 1\nelse:\n    pass\n", "Call", "While"),
    "test-of-assert": ("¦assert «x > 0», 'message'\n", "Comparison", "SimpleStatementLine"),
    "header-over-lines": ("¦if (\n    a  # one\n    and «x[m]»\n):\n    pass\n", "Subscript", "If"),
    "body-on-the-header's-line": ("if a: ¦y = «x[m]»\n", "Subscript", "If"),
    "body-of-else-on-its-line": ("if a:\n    pass\nelse: ¦y = «x[m]»\n", "Subscript", "Else"),
    "second-on-its-line": ("y = 1; ¦z = «x[m]»; w = 2\n", "Subscript", "SimpleStatementLine"),
    "several-lines": ("¦y = f(\n    a,\n\n  «x[m]»,\n)\n", "Subscript", "SimpleStatementLine"),
    "joined-lines": ("¦y = a + \\\n  «x[m]»\n", "Subscript", "SimpleStatementLine"),
    "a-line-that-is-only-joined": ("def f(n):\n\\\n    ¦for i in «range(n)»:\n        pass\n    g()\n", "Call", "For"),
    "after-a-docstring": ("'''It's [\n'''\n¦y = «x[m]»\n", "Subscript", "SimpleStatementLine"),
    "with-item": ("¦with a, «open(x)» as b:\n    pass\n", "Call", "With"),
    "for-iterable": ("¦for i in «range(n)»:\n    pass\n", "Call", "For"),
    "comprehension-filter": ("¦y = [a for a in b if «a > 0»]\n", "Comparison", "SimpleStatementLine"),
    "decorator": ("@a\n@«jit(x)»\n¦def f():\n    pass\n", "Call", "Decorator"),
    "default": ("¦def f(x=«g(y)»):\n    pass\n", "Call", "FunctionDef"),
    "base-class": ("¦class A(«make(y)»):\n    x = 1\n", "Call", "ClassDef"),
    "lambda-body": ("y = f(lambda x: ¦«x.item()»)\n", "Call", "SimpleStatementLine"),
    "lambda-body-on-its-line": ("y = f(\n    lambda x:\n    ¦«x.item()»,\n)\n", "Call", "SimpleStatementLine"),
    "match-subject": ("¦match «x.item()»:\n    case 1:\n        pass\n", "Call", "Match"),
    "case-guard": ("¦match y:\n    case [a, b] if «a > x»:\n        pass\n", "Comparison", "MatchCase"),
    "except-type": ("¦try:\n    pass\nexcept «errors(x)»:\n    pass\n", "Call", "ExceptHandler"),
    "try-on-its-line": ("try: ¦«x.item()»\nfinally: pass\n", "Call", "Try"),
    "finally-on-its-line": ("try: pass\nfinally: ¦«x.item()»\n", "Call", "Finally"),
    "async": ("async def f():\n    ¦async for a in «b(x)»:\n        await a\n", "Call", "For"),
    "awaited": ("async def f():\n    ¦y = «await x»\n", "Await", "SimpleStatementLine"),
    "parenthesised": ("¦y = (  «x + 1»  )\n", "BinaryOperation", "SimpleStatementLine"),
    "with-its-parentheses": ("¦y = «( x + 1 )» * 2\n", "BinaryOperation", "SimpleStatementLine"),
    "tuple": ("¦y = «(a,\n  b, # last\n)»\n", "Tuple", "SimpleStatementLine"),
    "bare-tuple": ("¦y = «a, b»\n", "Tuple", "SimpleStatementLine"),
    "generator-as-argument": ("¦y = any«(a for a in x)»\n", "GeneratorExp", "SimpleStatementLine"),
    "called-parenthesised": ("¦y = «(a.b).c()»\n", "Call", "SimpleStatementLine"),
    "chain-of-and": ("¦y = «a and b and c»\n", "BooleanOperation", "SimpleStatementLine"),
    "chained-comparison": ("¦y = «0 < x < 1»\n", "Comparison", "SimpleStatementLine"),
    "f-string": ("¦print(«f'{x} {y!r}' 'more'»)\n", "ConcatenatedString", "SimpleStatementLine"),
    "inside-f-string": ("¦print(f'{«x.item()»}')\n", "Call", "SimpleStatementLine"),
    "inside-newer-f-string": ("¦print(f'{x['k']} {«x.item()»}')\n", "Call", "SimpleStatementLine"),
    "newer-except": ("¦try:\n    pass\nexcept A, «b(x)»:\n    pass\n", "Call", "ExceptHandler"),
    "augmented-assignment": ("¦«x[m] += 1»\n", "AugAssign", "SimpleStatementLine"),
    "wide-characters": ("é = 'ä'; y = 1\n¦ö = ü('日本', «ñ[m]»)\n", "Subscript", "SimpleStatementLine"),
    "carriage-returns": ("a = (\r\n  1)\r\n¦y = f(\r\n  «x[m]»)\r\n", "Subscript", "SimpleStatementLine"),
    "old-mac-line-ends": ("a = 1\r¦y = «x[m]»\r", "Subscript", "SimpleStatementLine"),
    "form-feed": ("a = 1\n\x0c\n¦y = «x[m]»\n", "Subscript", "SimpleStatementLine"),
    "tabs": ("if a:\n\tif b:\n\t\t¦y = «x[m]»\n", "Subscript", "SimpleStatementLine"),
    "no-line-end": ("¦y = «x[m]»", "Subscript", "SimpleStatementLine"),
    "names-like-keywords": ("¦match = case(«x[m]»)\ntype = _\n", "Subscript", "SimpleStatementLine"),
    "wrong-hint": ("¦a = 1\nif a:\n    y = «x[m]»\n", "Subscript", "SimpleStatementLine"),
}
UNBOUND = {
    "part-of-a-node": "¦y = x.«any()»\n",
    "operator-chain's-tail": "¦y = a + «b + c»\n",
    "past-the-end": "¦y = x«[m]\n»",
    "comment": "¦y = x  # «x[m]»\n",
    "string": "¦y = 'x + «x[m]»'\n",
    "not-python": "¦if «x.any()» then\n",
}


def _marked(text: str) -> tuple[bytes, int, int, int]:
    """The text without marks, and the byte offsets of the extent and of the statement."""
    offsets = {}
    for mark in "«»¦":
        rest = text
        for other in set("«»¦") - {mark}:
            rest = rest.replace(other, "")
        offsets[mark] = len(rest.partition(mark)[0].encode())
    plain = text.replace("«", "").replace("»", "").replace("¦", "")
    return plain.encode(), offsets["«"], offsets["»"], offsets["¦"]


@pytest.mark.parametrize(("text", "node", "statement"), BOUND.values(), ids=BOUND)
def test_bound(text: str, node: str, statement: str) -> None:
    data, start, end, hint = _marked(text)
    anchored = Anchors().anchor(data, start, end, hint)
    assert anchored is not None
    assert (type(anchored.node).__name__, type(anchored.statement).__name__) == (node, statement)
    assert (anchored.start, anchored.end) == (start, end)


@pytest.mark.parametrize("text", UNBOUND.values(), ids=UNBOUND)
def test_not_bound(text: str) -> None:
    assert Anchors().anchor(*_marked(text)) is None


def test_copies_are_parsed_once() -> None:
    anchors = Anchors()
    data = b"if a:\n    y = x[m]\nelse:\n  y = x[m]\n"
    first, second = anchors.anchor(data, 14, 18, 10), anchors.anchor(data, 31, 35, 27)
    assert first is not None
    assert second is not None
    assert first.node is second.node


def test_a_statement_that_is_very_long_and_deep() -> None:
    data = ("y = x[m] or " + " or ".join("a" * 1_500)).encode()
    assert Anchors().anchor(data, 4, 8, 0) is not None
