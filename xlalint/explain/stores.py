"""Why an attribute of an object is what it is: the assignments in its class's methods and body, or the library class that has it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from xlalint.abstract.values import Value
from xlalint.explain.model import Origin
from xlalint.explain.place import PlaceError, Text
from xlalint.explain.replay import Replay
from xlalint.explain.wording import Wording
from xlalint.interpreter.recording import start_of
from xlalint.lowering.ir import Class as ClassIr
from xlalint.program.linker import ClassInfo

_MOST = 4
_REGISTRARS = ("register_buffer", "register_parameter", "add_module", "register_module", "setattr")


class AttributeFacts:
    """Explains attributes of instances of the program's classes."""

    def __init__(self, replay: Replay, wording: Wording) -> None:
        self.replay = replay
        self.wording = wording

    def of(self, klass: ClassInfo, name: str, depth: int) -> Iterator[Origin]:
        """The facts behind `instance.name`."""
        method = klass.method(name)
        if method is not None:
            said = "property" if method.decorated("property", "cached_property") else "method"
            yield Origin("function", f"the {said} `{method.ir.qualname}`", depth, method.module.path, method.ir.row)
            return
        found = [
            origin
            for base in klass.mro
            if isinstance(base, ClassInfo)
            for origin in self._list_assigned(base, name, depth)
        ]
        yield from found[:_MOST]
        if len(found) > _MOST:
            yield Origin("attribute", f"and {len(found) - _MOST} more assignments", depth)
        if not found:
            yield from self._list_inherited(klass, name, depth)

    def _list_assigned(self, klass: ClassInfo, name: str, depth: int) -> Iterator[Origin]:
        """Yield what the methods and the body of one class assign."""
        storing = any(name in method.ir.stores for method in klass.own_methods)
        text = _text(klass.module.path) if storing or name in self.replay.interpreter.tables.body(klass) else None
        node = _class_node(text, klass.ir) if text is not None else None
        if text is None or node is None:
            return
        for statement, method in _assignments(node, name):
            code = text.code(statement)
            where = f"in `{klass.name}.{method}`" if method else f"in the body of `{klass.name}`"
            value = self._value(klass, text, statement)
            said = f"`{code}` {where}" + (f": {self.wording.text(value)}" if value is not None else "")
            yield Origin("attribute", said, depth, klass.module.path, statement.lineno)

    def _value(self, klass: ClassInfo, text: Text, statement: ast.stmt) -> Value | None:
        value = getattr(statement, "value", None)
        if not isinstance(value, ast.expr) or (isinstance(value, ast.Call) and _last(value.func) in _REGISTRARS):
            return None
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], (ast.Tuple, ast.List)):
            return None
        at = text.at(value)
        for context, sight in self.replay.recorder.sights.items():
            if context.module is klass.module and context.function is not None and context.function.owner is klass:
                known = sight.values.get(at - start_of(context.function))
                if known is not None:
                    return known
        return None

    def _list_inherited(self, klass: ClassInfo, name: str, depth: int) -> Iterator[Origin]:
        apis = self.replay.interpreter.apis
        for base in klass.library_bases():
            if apis.class_attribute(base, name) is not None or apis.class_method(base, name) is not None:
                yield Origin("api", f"`{base}` has it, say the API tables", depth)
                return
        below = klass.method_below(name)
        if below is not None:
            yield Origin("function", f"`{below.ir.qualname}` of a subclass", depth, below.module.path, below.ir.row)
            return
        unseen = [base for base in klass.library_bases() if base == "?" or apis.klass(base) is None]
        hint = f"; its base `{unseen[0]}` is not seen" if unseen and unseen[0] != "?" else ""
        yield Origin("unknown", f"no method or body of `{klass.name}` and its bases assigns `{name}`{hint}", depth)


@lru_cache(maxsize=64)
def _text(path: str) -> Text | None:
    try:
        return Text.read(path)
    except PlaceError:
        return None


def _class_node(text: Text, klass: ClassIr) -> ast.ClassDef | None:
    for node in ast.walk(text.tree):
        if isinstance(node, ast.ClassDef) and node.name == klass.name and node.lineno == klass.row:
            return node
    return None


def _assignments(klass: ast.ClassDef, name: str) -> Iterator[tuple[ast.stmt, str]]:
    """The statements that assign an attribute, each with the method's name; "" in the class's body."""
    for statement in klass.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                yield statement, ""
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            given = [*statement.args.posonlyargs, *statement.args.args]
            receiver = given[0].arg if given else ""
            for inner in ast.walk(statement):
                if isinstance(inner, ast.stmt) and _stores(inner, receiver, name):
                    yield inner, statement.name


def _stores(statement: ast.stmt, receiver: str, name: str) -> bool:
    if isinstance(statement, ast.Assign):
        return any(_is_attribute(part, receiver, name) for target in statement.targets for part in ast.walk(target))
    if isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        return statement.value is not None and _is_attribute(statement.target, receiver, name)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if _last(call.func) in _REGISTRARS:
            return any(isinstance(arg, ast.Constant) and arg.value == name for arg in call.args)
    return False


def _is_attribute(node: ast.AST, receiver: str, name: str) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == receiver
    )


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
