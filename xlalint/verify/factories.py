"""Expressions that may make an instance of a class: with no arguments, or with small ones guessed from names, annotations and defaults."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_SMALL = {
    "head": 2,
    "layer": 1,
    "depth": 1,
    "kernel": 3,
    "stride": 1,
    "padding": 1,
    "expert": 4,
    "group": 2,
    "block": 1,
}
_SIZE = 8
_SMALL_CONFIG = (
    "hidden_size=32, d_model=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=37,"
    " vocab_size=99)"
)
"""The sizes that configurations of models go by: with what they have by default a model may not fit into memory."""
_MOST = 8
_LAYERS = ("Linear", "LayerNorm", "Embedding", "Dense", "LSTM", "GRU", "Conv1d", "Conv2d", "BatchNorm1d", "RMSNorm")


def factories(node: ast.ClassDef, name: str) -> list[str]:
    """Expressions that make an instance, likeliest first; none where a parameter says nothing of what it takes."""
    initial = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    given = _find_required(initial) if initial is not None else _fields(node)
    if given is None:
        return []
    plain = f"{name}({', '.join(f'{key}={text}' for key, text in given.items())})"
    small = {key: text.removesuffix(")") + _SMALL_CONFIG if _is_config(text) else text for key, text in given.items()}
    made = f"{name}({', '.join(f'{key}={text}' for key, text in small.items())})"
    return [made, plain] if made != plain else [plain]


def _is_config(text: str) -> bool:
    return text.endswith("Config()")


def _find_required(initial: ast.FunctionDef) -> dict[str, str] | None:
    """The arguments that a constructor cannot do without."""
    told = initial.args
    positional = [*told.posonlyargs, *told.args][1:]
    needed = positional[: len(positional) - len(told.defaults)] if len(told.defaults) <= len(positional) else []
    needed += [one for one, default in zip(told.kwonlyargs, told.kw_defaults, strict=True) if default is None]
    return _guess_all([(one.arg, one.annotation) for one in needed])


def _fields(node: ast.ClassDef) -> dict[str, str] | None:
    """The fields without a default of a class made as a dataclass is, flax and equinox modules among them."""
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    return _guess_all([(one.target.id, one.annotation) for one in fields if one.value is None])  # type: ignore[union-attr]


def _guess_all(needed: list[tuple[str, ast.expr | None]]) -> dict[str, str] | None:
    found = {}
    for name, annotation in needed:
        guess = _guess(name, ast.unparse(annotation) if annotation is not None else "")
        if not guess:
            return None
        found[name] = guess
    return found


def _guess(name: str, annotation: str) -> str:
    plain = annotation.removeprefix("Optional[").removesuffix("]").partition("|")[0].strip()
    if plain == "bool":
        return "True"
    if plain == "float" or (not plain and any(word in name for word in ("drop", "eps", "prob", "rate"))):
        return "0.0" if "drop" in name else "0.1"
    if plain == "int" or (not plain and name.lower() == name and not _is_other(name)):
        return str(next((size for word, size in _SMALL.items() if word in name), _SIZE))
    if plain and plain.isidentifier() and plain[0].isupper():
        return f"{plain}()"
    return ""


def _is_other(name: str) -> bool:
    return any(
        word in name
        for word in (
            "config",
            "args",
            "cfg",
            "model",
            "module",
            "net",
            "fn",
            "func",
            "path",
            "device",
            "dtype",
            "name",
            "mode",
        )
    )


def features(node: ast.AST) -> list[int]:
    """The sizes that a class's layers are made with: its inputs may have to have them."""
    return list(dict.fromkeys(_sizes(node)))[:_MOST]


def _sizes(node: ast.AST) -> Iterator[int]:
    for one in ast.walk(node):
        if isinstance(one, ast.Call):
            last = one.func.attr if isinstance(one.func, ast.Attribute) else getattr(one.func, "id", "")
            if last in _LAYERS:
                yield from (
                    argument.value
                    for argument in one.args
                    if isinstance(argument, ast.Constant) and type(argument.value) is int
                )
        elif isinstance(one, ast.FunctionDef) and one.name == "__init__":
            for default in one.args.defaults:
                if isinstance(default, ast.Constant) and type(default.value) is int and default.value > 3:
                    yield default.value
