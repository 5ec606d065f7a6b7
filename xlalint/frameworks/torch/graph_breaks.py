"""Find the calls that end the graph which Dynamo records, whatever the values of tensors.

API tables name them, in sections `graph_breaks`: what Dynamo skips, and what it knows and refuses. A function of the program that
`torch.compiler.disable` decorates is one too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import (
    ARRAYS,
    Function,
    LibraryInstance,
    LibrarySymbol,
    Method,
    Tensor,
    Value,
    members,
)
from xlalint.analysis.hazard import Confidence
from xlalint.api_tables.cases import choose
from xlalint.frameworks.torch.draws import is_compiled
from xlalint.interpreter.drivers import Role
from xlalint.interpreter.library_calls import LibraryCall
from xlalint.interpreter.spelling import spelling
from xlalint.rules.codes import DISABLED_FUNCTION

if TYPE_CHECKING:
    from xlalint.api_tables.lookup import Apis
    from xlalint.interpreter.arguments import Arguments
    from xlalint.interpreter.frame import Frame
    from xlalint.lowering import ir
    from xlalint.program.linker import FunctionInfo

_FRAMEWORK: Final = "torch"
_TENSORS: Final = {_FRAMEWORK: "torch.Tensor", ARRAYS: "numpy.ndarray"}
_DISABLE: Final = "disable"
_SKIPPED: Final = "GB0098"


def check_call(frame: Frame, node: ir.Call, found: tuple[Value, ...], arguments: Arguments) -> None:
    """Report a call at which the graph ends."""
    if not found or not is_compiled(frame) or trains(frame):
        return
    surely = Confidence.LIKELY if len(found) > 1 or frame.paths.branch_depth else Confidence.CERTAIN
    for callee in found:
        if type(callee) is Function:
            if is_disabled(callee.info):
                _note(frame, node, DISABLED_FUNCTION, _SKIPPED, surely)
            continue
        for name, receiver in _names_of(frame.interpreter.apis, callee):
            entry = frame.interpreter.apis.graph_break(name)
            if entry is None:
                continue
            call = LibraryCall(frame, entry, receiver, arguments.args, arguments.pairs(), node)
            spec = choose(entry.cases, call, frame.module.taught.targets)
            if spec is not None and spec.rule is not None:
                _note(frame, node, spec.rule, spec.detail, surely)
            break


def trains(frame: Frame) -> bool:
    """Return whether the code takes training steps: where it is not given to the compiler, it runs around what is."""
    return frame.function is not None and frame.interpreter.drivers.role(frame.function) is not Role.NONE


def is_disabled(info: FunctionInfo) -> bool:
    """Return whether Dynamo leaves a function alone, by its decorator."""
    return bool(info.ir.decorators) and info.decorated(_DISABLE)


def skips(frame: Frame, info: FunctionInfo) -> bool:
    """Return whether what a function does is no part of the graph of its caller."""
    return is_disabled(info) and is_compiled(frame)


def _note(frame: Frame, node: ir.Call, rule: str, detail: str, confidence: Confidence) -> None:
    frame.note(rule, node.at, _FRAMEWORK, spelling(node.func), detail, confidence=confidence)


def _names_of(apis: Apis, callee: Value) -> Iterator[tuple[str, Value | None]]:
    """The names under which tables list what is called, the nearest first, with the tensor whose method it is."""
    if type(callee) is LibrarySymbol:
        yield callee.name, None
    elif type(callee) is LibraryInstance:
        yield from ((f"{name}.__call__", None) for name in apis.ancestors(callee.name) or [callee.name])
    elif type(callee) is Method:
        for owner in members(callee.receiver):
            if type(owner) is Tensor and owner.framework in _TENSORS:
                yield f"{_TENSORS[owner.framework]}.{callee.name}", owner
            elif type(owner) is LibraryInstance:
                yield from ((f"{name}.{callee.name}", None) for name in apis.ancestors(owner.name) or [owner.name])
