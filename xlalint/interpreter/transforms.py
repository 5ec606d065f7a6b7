"""Objects that change examples of data: made only to be handed to data sets, or by these and by one another.

`Data(transform=Augmentation())` calls its object on the host, where it loads an example, and so do the objects that it composes. A class is
known by its name alone, as functions are: whatever names it may make one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, Union

from xlalint.interpreter.device_loops import last_name
from xlalint.lowering import ir
from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo

Holder = Union[FunctionInfo, ClassInfo, ModuleInfo]
_COMPOSING: Final = frozenset(("Compose",))  # what libraries put transforms together by
_ROUNDS: Final = 4  # objects within objects


def find_transforms(
    classes: Iterable[ClassInfo],
    holders: Mapping[str, Collection[Holder]],
    is_data: Callable[[ClassInfo], bool],
) -> tuple[set[ClassInfo], set[FunctionInfo]]:
    """Find the classes of a program whose objects only data sets call, and the functions that were looked at for it."""
    classes = list(classes)
    data = {klass for klass in classes if is_data(klass)}
    candidates = [one for one in classes if "__call__" in one.ir.methods and not one.library_bases()]
    found: set[ClassInfo] = set()
    looked: set[FunctionInfo] = set()
    for _ in range(_ROUNDS):
        known = data | found
        takers = _COMPOSING.union([one.name for one in known])
        fresh = set()
        for klass in candidates:
            if klass not in known:
                makers = [one for one in holders.get(klass.name, ()) if not _is_of(one, {klass})]
                others = [one for one in makers if not _is_of(one, known)]
                looked.update([one for one in others if isinstance(one, FunctionInfo)])
                if makers and all(_only_hands_on(one, klass.name, takers) for one in others):
                    fresh.add(klass)
        if not fresh:
            break
        found |= fresh
    return found, looked


def _is_of(holder: Holder, classes: set[ClassInfo]) -> bool:
    """Return whether what names a class is one of some classes, or a method of one, or stands in a method."""
    if isinstance(holder, FunctionInfo):
        return any(one.owner in classes for one in (holder, *holder.enclosing()) if one.owner is not None)
    return holder in classes


def _only_hands_on(holder: Holder, name: str, takers: frozenset[str]) -> bool:
    """Return whether a body names a class only to hand its objects to what one of `takers` makes, or to list it as a definition."""
    if isinstance(holder, ClassInfo):
        return False
    nodes = ir.walk(holder.body)
    handed: set[int] = set()
    kept = {name}
    for one in nodes:
        if isinstance(one, ir.Call) and last_name(one.func) in takers:
            handed.update(map(id, ir.walk((one.args, tuple([value for _, value in one.keywords])))))
        elif isinstance(one, ir.Attr):
            handed.add(id(one.value))  # a function of the class, which makes no object
        elif isinstance(one, ir.Assign) and _names_what(one, name):
            kept.update(map(last_name, one.targets))
            handed.update(map(id, ir.walk((one.targets, one.value))))
    named = [one for one in nodes if isinstance(one, (ir.Name, ir.Attr)) and last_name(one) in kept]
    return all(id(one) in handed for one in named) and (bool(named) or isinstance(holder, ModuleInfo))


def _names_what(node: ir.Assign, name: str) -> bool:
    """Return whether a statement gives a name to what a call of a class makes."""
    made = isinstance(node.value, ir.Call) and last_name(node.value.func) == name
    return made and all(isinstance(target, ir.Name) for target in node.targets)


__all__ = ["find_transforms"]
