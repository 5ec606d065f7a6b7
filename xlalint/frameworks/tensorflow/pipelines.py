"""Functions of an input pipeline: what a data set's `map` runs for each element, on the host, though `tf.function` traces it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from xlalint.interpreter.device_loops import last_name
from xlalint.lowering import ir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xlalint.program.linker import FunctionInfo, ModuleInfo

# Methods of a data set that run what they are given; `map` is one of executors and tables, too, which are no more on a device.
_MAPPING: Final = frozenset(("filter", "flat_map", "interleave", "map"))
_ROUNDS: Final = 3  # functions that only what is mapped names
_LAMBDA: Final = "<lambda>"


def feeds_data(info: FunctionInfo) -> bool:
    """Return whether a function is its module's for a data set's elements: named where a data set is mapped, and nowhere else there but by
    such functions."""
    return info.name in info.module.answers(_find_mapped)


def _find_mapped(module: ModuleInfo) -> frozenset[str]:
    """The names of a module's functions that are named for data sets alone."""
    module.reader.read_whole(module)
    holders = [_Holder("", 0, ir.decode_body(module.unit.body))]
    holders += [_Holder(info.name, info.index, info.body) for info in module.functions]
    lambdas = {index for one in holders for index in one.list_lambdas()}
    found: frozenset[str] = frozenset()
    for _ in range(_ROUNDS):
        given, others = Counter[str](), Counter[str]()
        for one in holders:
            mapped = Counter(map(last_name, one.list_given()))
            given += mapped
            feeds = one.name in found or (one.name == _LAMBDA and one.index in lambdas)
            (given if feeds else others).update(one.named - mapped)
        found = frozenset(info.name for info in module.functions if given[info.name] and not others[info.name])
    return found - {_LAMBDA}


class _Holder:
    """A function, or the module's own statements, that names functions."""

    def __init__(self, name: str, index: int, body: tuple[ir.Statement, ...]) -> None:
        self.name = name
        self.index = index
        nodes = list(ir.walk(body))
        self.named = Counter(last_name(one) for one in nodes if isinstance(one, (ir.Attr, ir.Name)))
        self._mapping = [one for one in nodes if type(one) is ir.Call and _maps(one)]

    def list_given(self) -> Iterator[ir.Node]:
        """Return what data sets are given to run for each element, where it is written out by a name."""
        return (one.args[0] for one in self._mapping if isinstance(one.args[0], (ir.Attr, ir.Name)))

    def list_lambdas(self) -> Iterator[int]:
        """The indices of the lambdas that they are given."""
        return (self.index + one.args[0].function for one in self._mapping if type(one.args[0]) is ir.Lambda)


def _maps(call: ir.Call) -> bool:
    return type(call.func) is ir.Attr and call.func.name in _MAPPING and bool(call.args)
