"""Asks the analysis about a text: its functions' parameters, over all contexts, and the value of each expression.

The text is analysed by itself: what other files pass to its functions is not known here, but annotations, defaults and use are.
"""

from __future__ import annotations

from typing import NamedTuple

from xlalint.abstract.lattice import join
from xlalint.abstract.values import NEVER, Const, Host, Tensor, Value, members
from xlalint.config import Settings
from xlalint.project.analysis import Analysis
from xlalint.project.lowered import lower_source
from xlalint.project.options import AnalysisOptions
from xlalint.project.watching import record
from xlalint.source.model import SourceError
from xlalint.source.reading import from_text


class Kind(NamedTuple):
    """Describes a value: "tensor" with its `dtype` ("b", "i", "f", "c", "" for any) and `rank` (-1 for any), "host" with its Python type,
    "constant" with its text, "" where nothing is known; `optional`: or None.
    """

    what: str = ""
    dtype: str = ""
    rank: int = -1
    optional: bool = False
    text: str = ""


class Believed(NamedTuple):
    """`parameters` are by qualified name of the function, then by name; `facts` by extents in bytes of the text."""

    parameters: dict[str, dict[str, Kind]]
    facts: dict[tuple[int, int], Value]

    def expression(self, start: int, end: int) -> Kind:
        """Return the kind of the expression with an extent."""
        return kind_of(self.facts.get((start, end), NEVER))


NOTHING = Believed({}, {})


def analyse_text(path: str, text: str, settings: Settings) -> Believed:
    """Analyse a text. Nothing is known of one that cannot be read."""
    try:
        unit = lower_source(from_text(path, text)).unit
    except SourceError:
        return NOTHING
    if unit is None:
        return NOTHING
    analysis = Analysis([unit], AnalysisOptions.from_settings(settings.of(path)))
    modules = analysis.program.modules[:1]
    seen = record(analysis, modules, modules)
    passed: dict[str, dict[str, Value]] = {}
    for context in seen.recorder.sights:
        info = context.function
        if info is not None and context.module.path == modules[0].path:
            own = passed.setdefault(info.ir.qualname, {})
            for parameter, value in zip(info.params, context.args, strict=False):
                own[parameter.name] = join(own.get(parameter.name, NEVER), value)
    parameters = {function: {name: kind_of(value) for name, value in own.items()} for function, own in passed.items()}
    return Believed(parameters, seen.facts(modules[0], modules))


def kind_of(value: Value) -> Kind:
    """A value in the few words that matter for drawing one; of several kinds the tensor counts."""
    alternatives = members(value)
    optional = any(isinstance(one, Const) and one.value is None for one in alternatives)
    for one in alternatives:
        if isinstance(one, Tensor):
            return Kind("tensor", one.dtype, one.rank, optional)
    for one in alternatives:
        if isinstance(one, Const) and one.value is not None:
            return Kind("constant", "", -1, optional, repr(one.value))
        if isinstance(one, Host) and one.type:
            return Kind("host", one.type, -1, optional)
    if optional and len(alternatives) == 1:
        return Kind("constant", "", -1, True, "None")
    return Kind(optional=optional)
