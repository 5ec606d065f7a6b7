"""Where a scene's function reads and binds each name: worked out in one pass, then found by bisection.

Each finding of a function asks for names all over it; without an index, what a function with many findings takes would grow with the
square of its length.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

import libcst as cst

from xlalint.fixes.toolkit.function_source import FunctionSource


class Bindings:
    """Where a node binds one name. `moments` are the offsets behind which it is bound, in order."""

    def __init__(self, scene: FunctionSource, names: Sequence[cst.Name]) -> None:
        done = sorted((moment_of(scene, name), place) for place, name in enumerate(names))
        self.moments = [moment for moment, _ in done]
        self._by_moment = [names[place] for _, place in done]
        self._furthest: list[cst.Name] = []
        furthest = -1
        for _, place in done:
            furthest = max(furthest, place)
            self._furthest.append(names[furthest])

    def last(self, at: int) -> tuple[int, cst.Name, cst.Name] | None:
        """Of what is bound by an offset: the latest moment, where it is bound then, and which of all stands last in the text."""
        count = bisect_right(self.moments, at)
        if not count:
            return None
        moment = self.moments[count - 1]
        return moment, self._by_moment[bisect_left(self.moments, moment)], self._furthest[count - 1]

    def within(self, first: int, last: int) -> bool:
        """Return whether the name is bound from one offset to another, both included."""
        return bisect_left(self.moments, first) < bisect_right(self.moments, last)


class Occurrences:
    """The reads and bindings of all names of a scene."""

    def __init__(self, scene: FunctionSource) -> None:
        self._scene = scene
        self._read: defaultdict[str, list[int]] = defaultdict(list)
        self._bound: defaultdict[str, list[int]] = defaultdict(list)
        self._bindings: dict[tuple[cst.CSTNode, str], Bindings] = {}
        self._lines: dict[str, dict[cst.CSTNode, list[int]]] = {}
        self._nested: dict[tuple[cst.CSTNode, str], bool] = {}
        self._named: defaultdict[str, list[int]] = defaultdict(list)
        for name in scene.descend(scene.root, cst.Name):
            self._named[name.value].append(scene.extent(name)[0])
            if is_read(scene, name):
                self._read[name.value].append(scene.extent(name)[0])
            if is_bound(scene, name):
                self._bound[name.value].append(scene.extent(name)[0])

    def find_named(self, node: cst.CSTNode, name: str) -> list[cst.Name]:
        """All places in a node that spell a name, attributes and keywords included."""
        return self._within(self._named.get(name, ()), node)

    def reads(self, node: cst.CSTNode, name: str) -> list[cst.Name]:
        """Where a node reads a name, in the order of the text."""
        return self._within(self._read.get(name, ()), node)

    def find_bindings(self, node: cst.CSTNode, name: str) -> list[cst.Name]:
        """Where a node binds a name, in the order of the text."""
        return self._within(self._bound.get(name, ()), node)

    def bindings(self, node: cst.CSTNode, name: str) -> Bindings:
        """The same by the moment at which it is bound."""
        found = self._bindings.get((node, name))
        if found is None:
            found = self._bindings[node, name] = Bindings(self._scene, self.find_bindings(node, name))
        return found

    def reads_from(self, node: cst.CSTNode, name: str, first: int, last: int | None = None) -> Iterator[cst.Name]:
        """Where a node reads a name from one place of the scene's order up to another one, or to the node's end."""
        places = self._read.get(name, ())
        start, end = self._scene.extent(node)
        stop = end if last is None else min(last, end)
        for index in range(bisect_left(places, max(first, start)), bisect_left(places, stop)):
            yield self._name(places[index])

    def read_by_nested(self, function: cst.CSTNode, name: str) -> bool:
        """Return whether a function within a function (or module) reads a name."""
        found = self._nested.get((function, name))
        if found is None:
            own = function if isinstance(function, cst.FunctionDef) else None
            found = any(self._scene.function(one) is not own for one in self.reads(function, name))
            self._nested[function, name] = found
        return found

    def assigned_before(self, statement: cst.CSTNode, name: str, since: int) -> bool:
        """Return whether a simple statement in a statement's block binds a name before it, from a place in the scene's order on."""
        found = self._lines_of(statement, name)
        return bisect_left(found, since) < bisect_left(found, self._scene.extent(statement)[0])

    def bound_again(self, statement: cst.CSTNode, name: str) -> int:
        """The place in the scene's order where the next simple statement of the block that binds a name ends, or where the block does."""
        found = self._lines_of(statement, name)
        index = bisect_left(found, self._scene.extent(statement)[1])
        if index < len(found):
            return self._scene.extent(self._scene.node(found[index]))[1]
        return self._scene.extent(self._scene.parent(statement))[1]

    def _lines_of(self, statement: cst.CSTNode, name: str) -> Sequence[int]:
        lines = self._lines.get(name)
        if lines is None:
            lines = self._lines[name] = self._lines_that_bind(name)
        return lines.get(self._scene.parent(statement), ())

    def _lines_that_bind(self, name: str) -> dict[cst.CSTNode, list[int]]:
        """The simple statements that bind a name, by what holds them."""
        found: dict[cst.CSTNode, list[int]] = {}
        for place in self._bound.get(name, ()):
            line = self._scene.nearest(self._scene.node(place), cst.SimpleStatementLine)
            if line is not None:
                found.setdefault(self._scene.parent(line), []).append(self._scene.extent(line)[0])
        return found

    def _within(self, places: Sequence[int], node: cst.CSTNode) -> list[cst.Name]:
        first, last = self._scene.extent(node)
        return [self._name(place) for place in places[bisect_left(places, first) : bisect_left(places, last)]]

    def _name(self, place: int) -> cst.Name:
        node = self._scene.node(place)
        assert isinstance(node, cst.Name)
        return node


_known: WeakKeyDictionary[FunctionSource, Occurrences] = WeakKeyDictionary()


def occurrences(scene: FunctionSource) -> Occurrences:
    """The occurrences of a scene's names; worked out once."""
    found = _known.get(scene)
    if found is None:
        found = _known[scene] = Occurrences(scene)
    return found


def is_read(scene: FunctionSource, name: cst.Name) -> bool:
    """Return whether a name's value is read where it stands."""
    holder = scene.parent(name)
    if isinstance(holder, cst.Attribute):
        return holder.value is name
    if isinstance(holder, (cst.Arg, cst.Param)) and getattr(holder, "keyword", getattr(holder, "name", None)) is name:
        return False
    if isinstance(holder, (cst.FunctionDef, cst.ClassDef, cst.NameItem, cst.ImportAlias, cst.AsName)):
        return holder.__class__ is cst.FunctionDef and holder.returns is name  # type: ignore[comparison-overlap]
    if isinstance(holder, cst.NamedExpr) and holder.target is name:
        return False
    return not _is_target(scene, name) or isinstance(holder, cst.AugAssign)


def is_bound(scene: FunctionSource, name: cst.Name) -> bool:
    """Return whether a name is bound where it stands."""
    holder = scene.parent(name)
    if isinstance(holder, (cst.FunctionDef, cst.ClassDef)):
        return holder.name is name
    if isinstance(holder, cst.NamedExpr):
        return holder.target is name
    if isinstance(holder, (cst.AsName, cst.ImportAlias, cst.Del)):
        return True
    return _is_target(scene, name)


def _is_target(scene: FunctionSource, name: cst.CSTNode) -> bool:
    """Return whether a name stands, alone or in a tuple, where something is assigned to it."""
    node, holder = name, scene.parent(name)
    while isinstance(holder, (cst.Element, cst.StarredElement, cst.Tuple, cst.List)):
        node, holder = holder, scene.parent(holder)
    if isinstance(holder, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor)):
        return holder.target is node
    return False


def moment_of(scene: FunctionSource, name: cst.Name) -> int:
    """The offset behind which a name is bound by a node: an assignment's value is worked out first."""
    holder = scene.nearest(name, cst.Assign, cst.AnnAssign, cst.AugAssign, cst.For)
    if isinstance(holder, cst.For):
        return scene.span(name)[0]
    return scene.span(holder)[1] if holder is not None else scene.span(name)[0]
