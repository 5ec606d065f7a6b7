"""Reads from code which inputs may make a difference to it: numbers that it compares with, sizes, parameters that may be left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from xlalint.verify.inputs.edges import Hints

_SIZES = ("shape", "size", "ndim", "numel", "len", "__len__", "dim")
_LARGEST_SIZE = 1 << 14
_FILLS = 1000  # whole numbers from which on an argument may stand for infinity
_OTHER = {"True": ("False",), "False": ("True",)}


def hints_of(functions: Sequence[ast.AST], tree: ast.Module, given: Sequence[str]) -> Hints:
    """Read what some functions of a module say; numbers in comparisons come first. `given` are the parameters that get a value anyway."""
    named = dict(_named_numbers(tree))
    values: dict[float, None] = {}
    sizes: dict[int, None] = {}
    for node in (one for function in functions for one in ast.walk(function)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            numbers = [number for side in sides for number in _numbers(side, named)]
            if any(_is_size(side) for side in sides):
                sizes |= {int(one): None for one in numbers if 0 <= one <= _LARGEST_SIZE and one == int(one)}
            else:
                values |= dict.fromkeys(numbers)
    for node in (one for function in functions for one in ast.walk(function)):
        if isinstance(node, ast.Call):
            arguments = [*node.args, *(one.value for one in node.keywords if one.arg not in ("dim", "axis"))]
            told = [number for one in arguments for number in _numbers(one, {})]
            values |= {number: None for number in told if number != int(number) or abs(number) >= _FILLS}
    options: dict[str, tuple[str, ...]] = {}
    for function in functions[:1]:
        options |= {name: texts for name, texts in _options(function) if name not in given}
    return Hints(tuple(values), tuple(sizes), options)


def together(one: Hints, other: Hints) -> Hints:
    """Join what two programs say; an option only where both have it."""
    return Hints(
        tuple(dict.fromkeys((*one.constants, *other.constants))),
        tuple(dict.fromkeys((*one.sizes, *other.sizes))),
        {name: texts for name, texts in one.options.items() if name in other.options},
    )


def _numbers(node: ast.expr, named: dict[str, float]) -> Iterator[float]:
    """The numbers that an expression is, or names."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        value = named.get(ast.unparse(node)) if isinstance(node, (ast.Name, ast.Attribute)) else None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e30:
        yield float(value)


def _is_size(node: ast.expr) -> bool:
    return any(
        (isinstance(one, ast.Attribute) and one.attr in _SIZES) or (isinstance(one, ast.Name) and one.id in _SIZES)
        for one in ast.walk(node)
    )


def _named_numbers(tree: ast.Module) -> Iterator[tuple[str, float]]:
    """Names and attributes of `self` that are given a number, and parameters of constructors with one as default."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for number in _numbers(node.value, {}):
                    yield ast.unparse(target), number
        elif isinstance(node, ast.FunctionDef) and node.name == "__init__":
            parameters = node.args.args[len(node.args.args) - len(node.args.defaults) :]
            for parameter, default in zip(parameters, node.args.defaults, strict=True):
                for number in _numbers(default, {}):
                    yield f"self.{parameter.arg}", number


def _options(function: ast.AST) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Parameters whose default is a truth value, with the other one, or a float, with one between it and a half."""
    for name, default in defaults_of(function):
        if texts := _OTHER.get(ast.unparse(default)):
            yield name, texts
        elif isinstance(default, ast.Constant) and isinstance(default.value, float):
            yield name, (repr(default.value * 0.75 + 0.125),)


def defaults_of(function: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The parameters of a function that have a default, with it."""
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    told = function.args
    positional = [*told.posonlyargs, *told.args]
    pairs = [
        *zip(positional[len(positional) - len(told.defaults) :], told.defaults, strict=True),
        *zip(told.kwonlyargs, told.kw_defaults, strict=True),
    ]
    yield from ((parameter.arg, default) for parameter, default in pairs if default is not None)
