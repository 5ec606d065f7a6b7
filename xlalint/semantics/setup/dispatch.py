"""Which checks ask about a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.lowering import ir
from xlalint.semantics.program import ClassInfo
from xlalint.semantics.setup import padding, statics
from xlalint.semantics.setup.calls import METHODS, NAMES, Check, SetupCall
from xlalint.semantics.values import UNKNOWN, Class, External, Function, Host, Method, Value

if TYPE_CHECKING:
    from xlalint.semantics.arguments import Arguments
    from xlalint.semantics.frame import Frame


def check_setup(frame: Frame, node: ir.Call, callees: tuple[Value, ...], arguments: Arguments) -> None:
    """Look at a call whose function and arguments are known by now."""
    for callee in callees:
        found = _checks(callee, node)
        if found is not None:
            name, checks = found
            for check in checks:
                check(SetupCall(frame, node, arguments, name, callee))


def _checks(callee: Value, node: ir.Call) -> tuple[str, tuple[Check, ...]] | None:
    """The name by which what is called is asked about, and by whom."""
    kind = type(callee)
    if kind is External:
        name = callee.name  # type: ignore[attr-defined]
        checks = NAMES.get(name)
        return (name, checks) if checks is not None else None
    if kind is Function:
        compiled = statics.may_be_compiled(node, callee.info)  # type: ignore[attr-defined]
        return ("", (statics.checked,)) if compiled else None
    if kind is Class:
        return _class_checks(callee.info)  # type: ignore[attr-defined]
    if callee is UNKNOWN or kind is Method or kind is Host:
        func = node.func
        name = func.name if type(func) is ir.Attr else ""
        if name in METHODS and (kind is not Host or name == "pad"):
            return name, METHODS[name]
        if kind is not Method and node.keywords and padding.tokenizes(node):
            return name, (padding.tokenized,)
    return None


def _class_checks(klass: ClassInfo) -> tuple[str, tuple[Check, ...]] | None:
    """The same, of a class of the program, or of an installed library, by the nearest ancestor that is asked about."""
    for ancestor in klass.mro:
        name = ancestor if isinstance(ancestor, str) else ancestor.dotted
        if name in NAMES:
            return name, NAMES[name]
    return None
