"""Why a parameter is what it is: the calls that pass it, or its annotation, default or use where nothing calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from xlalint.abstract.values import UNKNOWN, Tensor
from xlalint.explain.model import Origin
from xlalint.explain.place import clip
from xlalint.explain.replay import Replay
from xlalint.explain.scope import Scope
from xlalint.explain.wording import Wording
from xlalint.interpreter.context import Context
from xlalint.interpreter.recording import start_of
from xlalint.interpreter.spelling import spelling
from xlalint.lowering import ir
from xlalint.program.linker import FunctionInfo
from xlalint.source.lines import Lines
from xlalint.source.model import SourceError
from xlalint.source.reading import read_source

_MOST_CALLS = 3


class CallSite:
    """Where a context is called from: the calling context, the file and row, and the source of the call."""

    def __init__(self, caller: Context, at: int) -> None:
        self.caller = caller
        at += start_of(caller.function)
        self.path = caller.module.path
        data, lines = _file(self.path)
        self.row = lines.byte_place(at >> 32)[0] if lines is not None else 0
        self.code = data[at >> 32 : at & 0xFFFFFFFF].decode(errors="replace")

    def argument(self, info: FunctionInfo, name: str) -> str:
        """How the call writes what it passes for a parameter; "" where that does not show."""
        try:
            call = ast.parse(self.code.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            return ""
        if not isinstance(call, ast.Call):
            return ""
        for keyword in call.keywords:
            if keyword.arg == name:
                return ast.unparse(keyword.value)
        names = [param.name for param in info.params if param.kind in ("", "/")]
        method = info.ir.owner >= 0 and not info.decorated("staticmethod")
        # A wrapper around a method is a function that says so by this name.
        if method or names[:1] in (["self"], ["cls"]):
            names = names[1:]
        position = names.index(name) if name in names else -1
        if 0 <= position < len(call.args) and not any(
            isinstance(arg, ast.Starred) for arg in call.args[: position + 1]
        ):
            return ast.unparse(call.args[position])
        return ""


@lru_cache(maxsize=64)
def _file(path: str) -> tuple[bytes, Lines | None]:
    try:
        data = read_source(path).text.encode()
    except SourceError:
        return b"", None
    return data, Lines(data)


class ParameterFacts:
    """Explains the parameters of one function."""

    def __init__(self, scope: Scope, replay: Replay, wording: Wording) -> None:
        self.scope = scope
        self.replay = replay
        self.wording = wording
        self._sites: list[tuple[CallSite, Context]] | None = None

    def of(self, name: str, depth: int) -> Iterator[Origin]:
        """The facts behind a parameter."""
        info = self.scope.info
        if info is None:
            return
        position = next((i for i, param in enumerate(info.params) if param.name == name), -1)
        if position < 0:
            return
        if position == 0 and info.ir.owner >= 0 and not info.decorated("staticmethod"):
            owner = info.owner
            said = f"the receiver: {'the class' if info.decorated('classmethod') else 'an instance of'} `{owner.name if owner else '?'}`"
            yield Origin("receiver", said, depth, info.module.path, info.ir.row)
            return
        sites = self.call_sites()
        entered = {id(context) for _, context in sites}
        yield from self._list_passed(info, name, position, sites, depth)
        if any(id(context) not in entered for context, _ in self.scope.believed) or self._says_nothing(sites, position):
            yield from self._list_declared(info, position, depth)

    def call_sites(self) -> list[tuple[CallSite, Context]]:
        """The calls that lead into the believed contexts, from traced code first."""
        if self._sites is None:
            wanted = {id(context): context for context, _ in self.scope.believed}
            found = [
                (self.replay.reach(caller) is None, CallSite(caller, at), context)
                for caller, sight in self.replay.recorder.sights.items()
                for at, contexts in sight.called.items()
                for context in contexts
                if id(context) in wanted and at >> 32 != at & 0xFFFFFFFF
            ]
            found.sort(key=lambda one: (one[0], one[1].path != self.scope.module.path, one[1].path, one[1].row))
            self._sites = [(site, context) for _, site, context in found]
        return self._sites

    def _says_nothing(self, sites: list[tuple[CallSite, Context]], position: int) -> bool:
        return not sites or all(
            context.args[position] is UNKNOWN for _, context in sites if position < len(context.args)
        )

    def _list_passed(
        self, info: FunctionInfo, name: str, position: int, sites: list[tuple[CallSite, Context]], depth: int
    ) -> Iterator[Origin]:
        told: dict[tuple[str, int], Origin] = {}
        for site, context in sites:
            if (site.path, site.row) in told or position >= len(context.args):
                continue
            argument = clip(site.argument(info, name))
            value = self.wording.text(context.args[position])
            if argument:
                said = f"`{site.caller.name}` passes `{argument}`: {value}"
            elif info.params[position].default is not None and name not in site.code:
                said = f"the call in `{site.caller.name}` leaves it out, so it is its default: {value}"
                told[site.path, site.row] = Origin("default", said, depth, site.path, site.row)
                continue
            else:
                said = f"passed by `{site.caller.name}`: {value}"
            told[site.path, site.row] = Origin("call-site", said, depth, site.path, site.row)
        yield from list(told.values())[:_MOST_CALLS]
        if len(told) > _MOST_CALLS:
            yield Origin("call-site", f"and {len(told) - _MOST_CALLS} more calls", depth)

    def _list_declared(self, info: FunctionInfo, position: int, depth: int) -> Iterator[Origin]:
        """Yield what the parameter says of itself."""
        param = info.params[position]
        annotations = self.replay.interpreter.annotations
        default = self.replay.interpreter.defaults(info)[position]
        path, row = info.module.path, self._row(param.name, info)
        declared = annotations.value(info.module, param.annotation)
        if param.annotation is not None and declared is not None:
            if isinstance(param.annotation, ir.Hinted):
                yield Origin("taught", f"the comment {_comment(param.annotation)} says so", depth, path, row)
            else:
                yield Origin("annotation", f"annotated `{_annotation(param.annotation)}`", depth, path, row)
            return
        if param.annotation is not None:
            yield Origin("unknown", f"the annotation `{_annotation(param.annotation)}` says nothing", depth, path, row)
        tracer = self._tracer(position)
        if tracer:
            yield Origin("call-site", f"{tracer}: its tracer passes a traced array", depth, path, row)
            return
        use = annotations.telling_use(info, param)
        if use:
            yield Origin("use", f"used as only {_describe_use(use)}", depth, path, row)
        elif default is not None:
            yield Origin(
                "default", f"its default is {self.wording.text(default)}; callers may pass others", depth, path, row
            )
        elif param.kind in ("*", "**"):
            yield Origin("unknown", "it collects what calls pass besides, and no call is known", depth, path, row)
        else:
            yield Origin("unknown", "no call, annotation, default or use says what it is", depth, path, row)

    def _tracer(self, position: int) -> str:
        """Why a tracer replaces the parameter by an array, where it is a root's."""
        for context, _ in self.scope.believed:
            way = self.replay.reach(context)
            link = self.replay.chains[way] if way is not None else None
            if link is None or link.depth or not self.replay.interpreter.replacing(link.root.tracer.framework):
                continue
            if link.root.tier == 1 and position < len(context.args) and isinstance(context.args[position], Tensor):
                return link.root.why
        return ""

    def _row(self, name: str, info: FunctionInfo) -> int:
        node = self.scope.node
        if node is not None and info is self.scope.info:
            for arg in ast.walk(node.args):
                if isinstance(arg, ast.arg) and arg.arg == name:
                    return arg.lineno
        return info.ir.row


def _comment(node: ir.Hinted) -> str:
    return f"`# xlalint: {node.kind}[{node.name}]`" if node.name else f"`# xlalint: {node.kind}`"


def _annotation(node: ir.Node) -> str:
    if isinstance(node, ir.Bin):
        return f"{_annotation(node.left)} {node.op} {_annotation(node.right)}"
    if isinstance(node, ir.Sub):
        return f"{_annotation(node.value)}[{_annotation(node.index)}]"
    if isinstance(node, ir.Display):
        return ", ".join(map(_annotation, node.items))
    if isinstance(node, ir.Literal):
        return "..." if node.type_name == "ellipsis" else node.type_name
    return spelling(node)


def _describe_use(use: str) -> str:
    if use == ir.COMPARED:
        return "tensors are: compared for a mask"
    if use == ir.MASKED:
        return "tensors are: indexed by a mask"
    if use == "[,]":
        return "tensors are: indexed by a tuple, slice or `None`"
    if use.endswith(ir.PART_PASSED):
        return f"NumPy's arrays are: a part is passed to `{use.removesuffix(ir.PART_PASSED)}`"
    if use.endswith(ir.COMPARED_PASSED):
        return f"tensors are: compared, and that passed to `{use.removesuffix(ir.COMPARED_PASSED)}`"
    if use.endswith(ir.PASSED):
        return f"tensors are: passed to `{use.removesuffix(ir.PASSED)}`"
    if use.startswith("["):
        return f"NumPy's arrays are: `{use}`"
    return f"tensors are: `{use}`"
