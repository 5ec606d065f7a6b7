"""`parse` reads every Python up to 3.14 on every Python that runs xlalint, and says clearly what it cannot read."""

from __future__ import annotations

import ast

import pytest

from xlalint.source.backport import backport, restore_strings
from xlalint.source.model import SourceError
from xlalint.source.syntax import parse

NEWER = {
    "type-parameters-of-function": "def first[T](xs: list[T]) -> T:\n    return xs[0]\n",
    "type-parameters-of-method": "class A:\n    async def f[T: int, *Ts, **P](self, x: T): return x\n",
    "type-parameters-over-lines": "def f[\n    T,  # any\n    U: (int, str),\n](x: T, y: U): return y\n",
    "type-parameters-of-class": "class Box[T]:\n    item: T = x\n",
    "type-parameters-and-bases": "class Box[T](Base, key=value):\n    item: T = x\n",
    "type-parameter-default": "class Box[T = int, *Ts = *tuple[int, str]](Base): x = y\n",
    "type-alias": "type Pair = tuple[int, other]\nx = y\n",
    "generic-type-alias": "if a:\n    type Pair[T: int] = tuple[T, other]\nx = y\n",
    "type-alias-over-lines": "type Pair[\n    T,\n] = tuple[T, other]\nx = y\n",
    "f-string-same-quotes": "x = f'{a['key']} and {b!r:>{width}}', c\n",
    "f-string-backslash": 'x = f"{sep.join(["\\n", b])}"\n',
    "f-string-comment": "x = f'{\n    a  # why\n    + b\n}'\n",
    "f-string-nested": "x = f'{f'{f'{a}'}'}'.strip(b)\n",
    "f-string-in-concatenation": "x = ('plain' f'{a['k']}' \"more\" f'{b}' + c)\n",
    "f-string-returned-in-tuple": "def f():\n    return f'{a['k']}', b\n",
    "f-string-of-several-lines": 'x = f"""\n{a["k"]}\n  {b}\n""" + c\n',
    "f-string-after-wide-characters": "x = 'äöü', f'é{a['ß']}', b\n",
    "f-string-debug": "x = f'{a['k'] = }'\n",
    "f-string-of-tuple": "x = f'{a['k'],}'\n",
    "t-string": "x = t'{a} and {b:>3}'\ny = t'plain', c\n",
    "except-without-parentheses": "try:\n    a\nexcept ValueError, errors.Other:\n    b\n",
    "except-star": "try:\n    a\nexcept* ValueError:\n    b\n",
    "except-star-without-parentheses": "try:\n    a\nexcept* ValueError, errors.Other:\n    b\n",
    "star-in-index": "x = a[*b, c]\n",
    "star-in-annotation": "def f(*args: *Ts): return args\n",
    "carriage-returns": "def f[T](x):\r\n    return f'{x['k']}'\r\n",
}
OLDER = {
    "plain": "def f(x):\n    return x\n",
    "names-like-new-keywords": "type = match(case)\ntype (x)\ntype [y]\nprint(type)\n",
    "f-string": "x = f'{a!r:>{b}} {c}' 'd'\n",
    "form-feed": "x = 1\n\x0cy = x\n",
    "no-line-end": "x = y",
    "empty": "",
}


def _names(tree: ast.Module, text: str) -> list[str]:
    """Every name, checked to stand in the text where the tree says."""
    lines = [line.encode() for line in text.replace("\r\n", "\n").split("\n")]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not node.id.startswith("__"):
            assert lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode() == node.id
            found.append(node.id)
    return found


@pytest.mark.parametrize("text", NEWER.values(), ids=NEWER)
def test_newer_syntax_is_read_with_true_positions(text: str) -> None:
    assert _names(parse(text), text)


@pytest.mark.parametrize("text", NEWER.values(), ids=NEWER)
def test_the_older_spelling_moves_nothing(text: str) -> None:
    older = backport(text)
    assert older is not None
    assert list(map(len, older.text.encode().splitlines())) == list(map(len, text.encode().splitlines()))
    names = _names(restore_strings(ast.parse(older.text), older.strings), text)
    # Bounds and defaults of type parameters are the only expressions that the older spelling leaves out.
    assert set(_names(parse(text), text)) - set(names) <= {"int", "str", "tuple"}


@pytest.mark.parametrize("text", OLDER.values(), ids=OLDER)
def test_what_the_running_python_reads_is_read_by_it(text: str) -> None:
    assert ast.dump(parse(text), include_attributes=True) == ast.dump(ast.parse(text), include_attributes=True)


def test_f_strings_stay_f_strings() -> None:
    (assign,) = parse("x = f'{a['k']}', b\n").body
    assert isinstance(assign, ast.Assign)
    assert isinstance(assign.value, ast.Tuple)
    assert isinstance(assign.value.elts[0], ast.JoinedStr)


def test_a_generic_class_keeps_its_bases() -> None:
    (box,) = parse("class Box[T = int](Base): pass\n").body
    assert isinstance(box, ast.ClassDef)
    assert [ast.unparse(base) for base in box.bases] == ["Base"]


UNREADABLE = {
    "unclosed": ("x = (1,\n", 1, "never closed"),
    "half-a-line": ("x = 1\ny = 1 if 2 else\n", 2, "invalid syntax|expected expression"),
    "second-fault-in-newer-syntax": ("def f[T](x): pass\ny = = 2\n", 2, "invalid syntax"),
    "python-2-print": ("import os\nprint 'x'\n", 2, "Python 2 syntax"),
    "python-2-raise": ("raise ValueError, 'x'\n", 1, "Python 2 syntax"),
    "python-2-except": ("try:\n    pass\nexcept ValueError, e:\n    print 'x'\n", 4, "Python 2 syntax"),
    "python-2-octal": ("x = 0777\n", 1, "Python 2 syntax"),
    "null-byte": ("x = 1\0\n", 1, "null bytes"),
    "lone-surrogate": ("x = '\ud800'\n", 1, "surrogates"),
}


@pytest.mark.parametrize(("text", "row", "words"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_no_python_reads_is_said_once_and_clearly(text: str, row: int, words: str) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        parse(text)
    assert caught.value.row == row
    assert caught.value.code == "XLA001"
    assert caught.value.column >= 1
    assert "\n" not in caught.value.message


DEEP = {
    "parentheses": "x = " + "(" * 10_000 + ")" * 10_000,
    "unclosed-parentheses": "(" * 10_000,
    "minus": "x = " + "-" * 100_000 + "1",
    "not": "x = " + "not " * 10_000 + "y",
    "indentation": "".join("\t" * depth + "if x:\n" for depth in range(200)),
    "newer-and-deep": "def f[T](): return " + "(" * 10_000 + ")" * 10_000,
    "newer-and-unclosed": "x = f'{a['b']}'\n" + "[" * 10_000,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_nesting_is_an_error_not_a_crash(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse(text + "\n")
    assert caught.value.code == "XLA001"


@pytest.mark.filterwarnings("error")
def test_warnings_about_the_linted_code_are_not_printed() -> None:
    parse("x = '\\d'\ny = x is 1\nassert (x, 'message')\n")
