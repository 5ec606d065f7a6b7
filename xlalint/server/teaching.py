"""`# xlalint: static[x]` and `# xlalint: tensor[x]` where a user asks for one: in a comment that is there already, or a new one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from xlalint.diagnostics.logical_lines import logical_lines
from xlalint.fixes.toolkit.edits import Change, Span
from xlalint.project.lowered import lower_source
from xlalint.source.directives import HintKind, Teaching
from xlalint.source.lines import Lines, split_rows
from xlalint.source.model import SourceFile
from xlalint.source.suppressions import suppressions_of

_TENSORS = ("Tensor", "Array", "ndarray")


def teaching(source: SourceFile, row: int, name: str, kind: HintKind) -> list[Span]:
    """The edits that teach of a name which the statement in a row binds; none where it binds no such name, or where that is said already.

    Of a row within brackets or a string the comment goes to the end of its statement, where the row itself cannot hold one.
    """
    comments = [one for one in suppressions_of(source).taught if one.first <= row <= one.last]
    said = next((one for one in comments if _lists(one, name)), None)
    if said is not None and said.kind == kind:
        return []
    if any(one.names is None and one.row == row and one.kind == kind for one in comments) and said is None:
        return []
    removed = [_without(source, said, name)] if said is not None else []
    for added in _list_additions(source, comments, row, name, kind):
        edits = _join(removed, added)
        if _teaches(source, edits, row, name, kind):
            return edits
    return []


def is_tensor_by_annotation(source: SourceFile, row: int, name: str) -> bool:
    """Return whether a parameter, or what an assignment in a row binds, is annotated as a tensor."""
    for node in ast.walk(ast.parse(source.text)):
        if (isinstance(node, ast.arg) and node.arg == name) or (
            isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name
        ):
            annotation = node.annotation
        else:
            continue
        if node.lineno == row and annotation is not None:
            return any(word in ast.unparse(annotation) for word in _TENSORS)
    return False


def parameter_row(source: SourceFile, row: int, name: str) -> int | None:
    """The row of a parameter of the innermost function around a row."""
    around = [
        node
        for node in ast.walk(ast.parse(source.text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        and node.lineno <= row <= (node.end_lineno or node.lineno)
    ]
    for function in sorted(around, key=lambda node: -node.lineno):
        for arg in ast.walk(function.args):
            if isinstance(arg, ast.arg) and arg.arg == name:
                return arg.lineno
    return None


def _lists(one: Teaching, name: str) -> bool:
    return any(name == listed for listed, _, _ in one.names or ())


def _list_additions(source: SourceFile, comments: list[Teaching], row: int, name: str, kind: str) -> Iterator[Span]:
    """The ways to add a name: to the list of a comment of the statement, at the end of the row, at that of the statement."""
    rows = split_rows(source.text)
    starts = _starts(rows)
    for one in comments:
        if one.kind == kind and one.names:
            at = starts[one.at - 1] + one.names[-1][2] - 1
            yield Span(at, at, f", {name}")
    data = source.text.encode()
    lines = Lines(data)
    offset = lines.starts[row - 1]
    ends = [lines.byte_place(end - 1)[0] for start, end in logical_lines(data) if start <= offset < end]
    inside = [lines.byte_place(end - 1)[0] for start, end in logical_lines(data) if lines.byte_place(start)[0] == row]
    for last in dict.fromkeys([row, *ends, *inside]):
        line = rows[last - 1].rstrip("\r\n")
        at = starts[last - 1] + len(line.rstrip())
        yield Span(at, starts[last - 1] + len(line), f"  # xlalint: {kind}[{name}]")


def _without(source: SourceFile, one: Teaching, name: str) -> Span:
    """Take a name out of a comment's list; the comment, where it lists no other."""
    rows = split_rows(source.text)
    start = _starts(rows)[one.at - 1]
    names = one.names or ()
    others = [listed for listed, _, _ in names if listed != name]
    if others:
        return Span(start + names[0][1] - 1, start + names[-1][2] - 1, ", ".join(others))
    before = len(rows[one.at - 1][: one.start - 1].rstrip())
    return Span(start + before, start + one.end - 1, "")


def _join(removed: list[Span], added: Span) -> list[Span]:
    """Both edits, in order; one where what is added lies at the end of what is removed."""
    for one in removed:
        if one.start <= added.start <= one.end:
            return [Span(one.start, max(one.end, added.end), one.content + added.content)]
    return sorted([*removed, added], key=lambda one: one.start)


def _teaches(source: SourceFile, edits: list[Span], row: int, name: str, kind: str) -> bool:
    """Return whether the comment is read as one, and as one that speaks of something."""
    lowered = lower_source(msgspec.structs.replace(source, text=Change((), tuple(edits)).apply(source.text)))
    if lowered.unit is None:
        return False
    comments = lowered.suppressions
    idle = {(at, column) for at, column, *_ in comments.unheeded}
    return any(
        one.kind == kind and one.first <= row <= one.last and listed == name and (one.at, column) not in idle
        for one in comments.taught
        for listed, column, _ in one.names or ()
    )


def _starts(rows: list[str]) -> list[int]:
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row))
    return starts
