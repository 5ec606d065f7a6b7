"""Choose the checks that ask about a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.values import UNKNOWN, Class, Function, Host, LibrarySymbol, Method, Value
from xlalint.frameworks.checks import unstable_static_argument, variable_length_padding
from xlalint.frameworks.checks.call_site import METHODS, NAMES, PACKAGES, CallSite, Check
from xlalint.lowering import ir
from xlalint.program.linker import ClassInfo

if TYPE_CHECKING:
    from xlalint.interpreter.arguments import Arguments
    from xlalint.interpreter.frame import Frame


def check_setup(frame: Frame, node: ir.Call, callees: tuple[Value, ...], arguments: Arguments) -> None:
    """Look at a call whose function and arguments are known by now."""
    for callee in callees:
        found = _checks(callee, node)
        if found is not None:
            name, checks = found
            for check in checks:
                _ask(check, CallSite(frame, node, arguments, name, callee))


def _ask(check: Check, call: CallSite) -> None:
    """Let a check look at a call. An internal error in it costs what the check would have said of the call."""
    interpreter = call.frame.interpreter
    collating = interpreter.collating
    try:
        check(call)
    except RecursionError:
        raise
    except Exception as error:  # noqa: BLE001
        interpreter.collating = collating
        interpreter.lacks(call.frame.context, error)


def _checks(callee: Value, node: ir.Call) -> tuple[str, tuple[Check, ...]] | None:
    """The name by which what is called is asked about, and by whom."""
    kind = type(callee)
    if kind is LibrarySymbol:
        name = callee.name  # type: ignore[attr-defined]
        checks = NAMES.get(name, ()) + PACKAGES.get(name.partition(".")[0], ())
        return (name, checks) if checks else None
    if kind is Function:
        compiled = unstable_static_argument.may_be_compiled(node, callee.info)  # type: ignore[attr-defined]
        return ("", (unstable_static_argument.check_compiled_call,)) if compiled else None
    if kind is Class:
        return _class_checks(callee.info)  # type: ignore[attr-defined]
    if callee is UNKNOWN or kind is Method or kind is Host:
        func = node.func
        name = func.name if type(func) is ir.Attr else ""
        if name in METHODS and (kind is not Host or name == "pad"):
            return name, METHODS[name]
        if kind is not Method and node.keywords and variable_length_padding.tokenizes(node):
            return name, (variable_length_padding.check_tokenizer,)
    return None


def _class_checks(klass: ClassInfo) -> tuple[str, tuple[Check, ...]] | None:
    """The same, of a class of the program, or of an installed library, by the nearest ancestor that is asked about."""
    for ancestor in klass.mro:
        name = ancestor if isinstance(ancestor, str) else ancestor.dotted
        if name in NAMES:
            return name, NAMES[name]
    return None
