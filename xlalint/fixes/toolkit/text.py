"""Code as text: expressions as operands and arguments, calls that fit the line, blocks moved to another indentation."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Union

import libcst as cst

from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement

WIDTH = 88
"""How long a line may get before a call is broken up, unless the file has longer lines; Black's and Ruff's default."""

ATOMS = (
    cst.Name,
    cst.Attribute,
    cst.Call,
    cst.Subscript,
    cst.List,
    cst.Dict,
    cst.Set,
    cst.ListComp,
    cst.SetComp,
    cst.DictComp,
    cst.Integer,
    cst.Float,
    cst.Imaginary,
    cst.Ellipsis,
    cst.SimpleString,
    cst.FormattedString,
)


def atom(scene: FunctionSource, node: cst.BaseExpression) -> str:
    """An expression's code, in parentheses unless it is one that binds as closely as a name: fit for `~x`, `x & y` or `x.y`."""
    code = scene.code(node)
    if isinstance(node, ATOMS) and not (isinstance(node, (cst.Integer, cst.Float)) and code[:1] == "-"):
        return code
    return f"({code})"


def last_name(func: cst.BaseExpression) -> str:
    """Return the name of a function or a method by itself; "" of what is no name."""
    return func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""


def stands_alone(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether `a & b` may replace an expression as it is: within parentheses, or where all around binds looser."""
    holder = scene.parent(node)
    if node.lpar or (isinstance(holder, cst.UnaryOperation) and isinstance(holder.operator, cst.Not)):
        return True
    closer = (cst.BinaryOperation, cst.Comparison, cst.ComparisonTarget, cst.UnaryOperation, cst.Attribute, cst.Call)
    return not isinstance(holder, (*closer, cst.Await, cst.Subscript)) or (
        isinstance(holder, cst.Call) and holder.func is not node
    )


def bare_extent(scene: FunctionSource, node: cst.BaseExpression) -> tuple[int, int]:
    """Where code that binds as closely as a name comes in the place of an expression: its parentheses go as well."""
    return scene.whole(node) if len(node.lpar) == 1 else scene.span(node)


def call_at(scene: FunctionSource, node: cst.CSTNode, function: str, arguments: Sequence[str]) -> str:
    """A call that comes in the place of a node, broken up if it does not fit there."""
    start, end = scene.span(node)
    text = scene.document.text
    line_end = text.find("\n", end)
    tail = (len(text) if line_end < 0 else line_end) - end
    column = start - text.rfind("\n", 0, start) - 1
    return call(function, arguments, column, scene.indent(node), tail, width_of(scene))


def argument(scene: FunctionSource, node: cst.BaseExpression) -> str:
    """An expression's code, fit to stand between the commas of a call."""
    code = scene.code(node)
    bare = isinstance(node, (cst.Tuple, cst.GeneratorExp, cst.NamedExpr, cst.Yield)) or (
        isinstance(node, cst.Tuple) and not node.lpar
    )
    return f"({code})" if bare else code


def uncommented_without(scene: FunctionSource, call: cst.Call, arg: cst.Arg) -> Replacement | None:
    """The same as `without_argument`; None where a comment stands beside the argument."""
    removed = without_argument(scene, call, arg)
    text = scene.document.text
    return None if "#" in text[removed.start : max(removed.end, text.find("\n", removed.end))] else removed


def without_argument(scene: FunctionSource, call: cst.Call, arg: cst.Arg) -> Replacement:
    """Takes an argument out of a call, with the comma that it had and, if it had a line of its own, that line."""
    index = call.args.index(arg)
    start, end = scene.whole(arg.keyword or arg.value)[0], scene.whole(arg.value)[1]
    if index + 1 < len(call.args):
        return Replacement(start, scene.span(call.args[index + 1])[0], "")
    if index:
        return Replacement(scene.whole(call.args[index - 1].value)[1], end, "")
    return Replacement(start, scene.span(arg)[1], "")


def with_argument(scene: FunctionSource, call: cst.Call, text: str) -> Replacement:
    """Adds an argument behind the others of a call: on a line of its own where the last one has one, with blanks around `=` where they are.

    A comment behind the last one stays with it.
    """
    if not call.args:
        end = scene.span(call)[1] - 1
        return Replacement(end, end, text)
    last = call.args[-1]
    if isinstance(last.equal, cst.AssignEqual) and last.equal.whitespace_after.empty is False:
        text = text.replace("=", " = ", 1)
    end = scene.whole(last.value)[1]
    start = scene.whole(last.keyword or last.value)[0]
    source = scene.document.text
    before = source[source.rfind("\n", 0, start) + 1 : start]
    broken = not before.strip() and scene.span(call)[0] < start - len(before)
    commented = _COMMENTED.match(source, end) if broken else None
    if commented is not None:
        return Replacement(commented.end(), commented.end(), f"\n{before}{text},")
    return Replacement(end, end, f",\n{before}{text}" if broken else f", {text}")


def with_argument_in_width(scene: FunctionSource, call: cst.Call, text: str) -> Replacement:
    """The same, of a call on one line that gets too long by it: its arguments go to a line of their own, as formatters break it, or to one
    each.
    """
    added = with_argument(scene, call, text)
    start, end = scene.span(call)
    source, width = scene.document.text, width_of(scene)
    begin, line_end = source.rfind("\n", 0, added.start) + 1, source.find("\n", end)
    line = source[begin : len(source) if line_end < 0 else line_end]
    if not call.args or "#" in line or len(line) + len(added.text) <= width:
        return added
    if "\n" in source[start:end]:
        return added if "\n" in added.text else _on_next_line(source, added, text)
    indent = scene.indent(call)
    inner = f"{indent}    "
    given = [source[scene.span(arg)[0] : scene.whole(arg.value)[1]] for arg in call.args] + [text]
    first, last = scene.span(call.args[0])[0], end - 1
    together = f"{inner}{', '.join(given)}\n"
    apart = "".join(f"{inner}{one},\n" for one in given)
    return Replacement(first, last, f"\n{together if len(together) <= width + 1 else apart}{indent}")


def _on_next_line(source: str, added: Replacement, text: str) -> Replacement:
    """An argument on a line of its own, below the line that the last one is on, where that begins with one."""
    begin = source.rfind("\n", 0, added.start) + 1
    line = source[begin : added.start]
    indent = line[: len(line) - len(line.lstrip())]
    return added._replace(text=f",\n{indent}{text}") if line.strip() else added


# What follows a call's last argument: its comma and a comment.
_COMMENTED = re.compile(r",[ \t]*#[^\r\n]*")


def call(function: str, arguments: Sequence[str], column: int, indent: str, tail: int = 0, width: int = WIDTH) -> str:
    """A call that begins at a column of a line with that indentation, and behind which `tail` characters stand: on one line where it
    fits, else with an argument on each."""
    line = f"{function}({', '.join(arguments)})"
    if column + len(line) + tail <= width and "\n" not in line:
        return line
    inner = f"{indent}    "
    own = [f"{inner}{indent_expression(argument, inner)},\n" for argument in arguments]
    return f"{function}(\n{''.join(own)}{indent})"


_BRIEF = 60

Arguments = Sequence[Union[str, "Arguments"]]
"""A call's arguments; those that are calls of the same function are told by theirs."""


def write_nested(
    function: str, arguments: Arguments, column: int, indent: str, tail: int = 0, width: int = WIDTH
) -> str:
    """The same of a call that may have calls of the same function among its arguments, each broken only where it has to be."""
    line = _flat(function, arguments)
    if column + len(line) + tail <= width and "\n" not in line:
        return line
    inner = f"{indent}    "
    own = [
        indent_expression(one, inner)
        if isinstance(one, str)
        else write_nested(function, one, len(inner), inner, 1, width)
        for one in arguments
    ]
    return f"{function}(\n{''.join(f'{inner}{one},{chr(10)}' for one in own)}{indent})"


def _flat(function: str, arguments: Arguments) -> str:
    parts = (one if isinstance(one, str) else _flat(function, one) for one in arguments)
    return f"{function}({', '.join(parts)})"


def indent_expression(code: str, indent: str) -> str:
    """An expression's code whose further lines begin at least at an indentation, as they stood to each other."""
    first, newline, rest = code.partition("\n")
    if not newline:
        return code
    return f"{first}\n{textwrap.indent(textwrap.dedent(rest), indent)}"


def width_of(scene: FunctionSource) -> int:
    """How long lines may be in the scene's file: as long as its longest statement is, within reason."""
    longest = max(
        (len(line) for line in scene.document.text.split("\n") if not line.lstrip().startswith("#")), default=0
    )
    return min(max(WIDTH, longest), 120)


def block(
    scene: FunctionSource, statements: Iterable[cst.CSTNode], indent: str, edits: Iterable[Replacement] = ()
) -> str:
    """Whole lines of statements, with their comments and with `edits`, moved from where they stand to an indentation; strings over several
    lines are left as they are by refusing to move them (see `movable`)."""
    extents = [scene.whole(statement) for statement in statements]
    if not extents:
        return ""
    first, last = extents[0][0], extents[-1][1]
    text = scene.document.text[first:last]
    for start, end, new in sorted(edits, reverse=True):
        text = f"{text[: start - first]}{new}{text[end - first :]}"
    return textwrap.indent(textwrap.dedent(text.replace("\r\n", "\n")), indent)


def lift_block(
    scene: FunctionSource, node: cst.If, static: str, edits: Iterable[Replacement] = ()
) -> tuple[Replacement, ...]:
    """An `if` replaced by its block, with `edits`, or by the same block under what of the condition is known on the host."""
    if static:
        return (Replacement(*scene.whole(node.test), static), *edits)
    start, end = scene.span(node)
    end = start + len(scene.document.text[start:end].rstrip())
    indent = scene.indent(node)
    comment = node.body.header.comment if isinstance(node.body, cst.IndentedBlock) else None
    head = [f"{indent}{comment.value}"] if comment is not None else []
    text = "\n".join([*head, block(scene, node.body.body, indent, edits).strip("\n")])
    return (Replacement(start, end, text[len(indent) :]),)


def movable(scene: FunctionSource, statements: Iterable[cst.CSTNode]) -> bool:
    """Return whether statements may be indented anew: none holds a string of several lines."""
    strings = (cst.SimpleString, cst.FormattedString)
    return not any("\n" in scene.code(text) for one in statements for text in scene.descend(one, *strings))


def brief(code: str) -> str:
    """Code for a message: on one line, cut where it gets long."""
    line = " ".join(code.split())
    return line if len(line) <= _BRIEF else f"{line[: _BRIEF - 3]}..."
