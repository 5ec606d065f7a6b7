"""Facts of a program: what is worked out once and used again, the same whoever asks for it first.

Facts need each other, at times in circles: modules that import each other, classes whose methods make each other. What is asked for again
while it is being worked out answers with what is known so far. A result that was found with such an answer leans on what is under way: it
serves until that is done, and is not kept. A circle is kept as it comes out when it is begun with the one of its facts that is first by
`Facts.order`; where somebody asked for another one first, what that gave is dropped, and the circle is worked out again from there.

So a fact that is kept depends on the program alone, not on what was asked for before. (Tarjan's algorithm finds the circles as it goes.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from xlalint.program.dependencies import DependencySet, DependencyTracker

K = TypeVar("K")
T = TypeVar("T")


class Fact(DependencySet):
    """One fact, with what it read. `place` is its place among those under way, `low` that of the outermost one that it leans on (its own
    for none); `settled` once it is kept. `user` is the computation that used it last."""

    __slots__ = ("facts", "key", "low", "place", "settled", "user", "value")

    def __init__(self, facts: Facts[Any, Any], key: Any, value: Any, place: int) -> None:
        super().__init__()
        self.facts = facts
        self.key: Any = key
        self.value: Any = value
        self.place = place
        self.low = place
        self.settled = False
        self.user: DependencySet | None = None


class Progress:
    """A record of which of a program's facts are under way, innermost last, and which wait for them.

    `leaning` has changed where something was used that is not settled: what was worked out meanwhile is not to be kept.
    """

    def __init__(self) -> None:
        self.leaning = 0
        self._under_way: list[Fact] = []
        self._waiting: list[Fact] = []

    def lean(self, fact: Fact) -> None:
        """Note that what is worked out now used a fact that is not settled."""
        self.leaning += 1
        if self._under_way:
            current = self._under_way[-1]
            current.low = min(current.low, fact.low)

    def work_out(self, facts: Facts[Any, Any], key: Any) -> Fact:
        """Work a fact out that is not known. Each turn settles a fact more of the circle that it is part of."""
        while True:
            fact, first = self._attempt(facts, key)
            if first is None:
                return fact
            self.work_out(first.facts, first.key)
            known = facts.known.get(key)
            if known is not None:
                return known

    def _attempt(self, facts: Facts[Any, Any], key: Any) -> tuple[Fact, Fact | None]:
        """Work a fact out; where it turns out to be part of a circle, also the fact with which that has to be begun instead."""
        fact = Fact(facts, key, facts.begin(key), len(self._under_way))
        waiting, leaning = len(self._waiting), self.leaning
        facts.known[key] = fact
        self._under_way.append(fact)
        outer, facts.reader.current = facts.reader.current, fact
        done = False
        try:
            fact.value = facts.work(key)
            done = True
        finally:
            facts.reader.current = outer
            self._under_way.pop()
            circle = self._waiting[waiting:]
            if not done:
                del self._waiting[waiting:]
                _drop([fact, *circle])
        kept = facts.keeps(key)
        if not kept:
            del facts.known[key]
        if fact.low < fact.place:
            for one in circle:
                one.low = min(one.low, fact.low)
            if kept:
                self._waiting.append(fact)
            return fact, None
        del self._waiting[waiting:]
        self.leaning = leaning
        if kept:
            circle.append(fact)
        first = min(circle, key=_order) if len(circle) > 1 else circle[0] if circle else fact
        if first is not fact:
            _drop(circle)
            return fact, first
        for one in circle:
            one.settled = True
        fact.settled = True
        return fact, None


def _order(fact: Fact) -> tuple[str, str]:
    return fact.facts.name, fact.facts.order(fact.key)


def _drop(facts: list[Fact]) -> None:
    for fact in facts:
        if fact.facts.known.get(fact.key) is fact:
            del fact.facts.known[fact.key]


def _always(key: Any) -> bool:
    return True


class Facts(Generic[K, T]):
    """The facts of one kind, by key.

    `work` works one out, and notes with the reader what it reads; meanwhile the value is what `begin` gives for the key. `order` spells a
    key so that it says the same in every process; `keeps` says of a key whether the fact is kept.
    """

    def __init__(
        self,
        reader: DependencyTracker,
        progress: Progress,
        name: str,
        order: Callable[[K], str],
        begin: Callable[[K], T],
        work: Callable[[K], T],
        keeps: Callable[[K], bool] = _always,
    ) -> None:
        self.reader = reader
        self.progress = progress
        self.name = name
        self.order = order
        self.begin = begin
        self.work = work
        self.keeps = keeps
        self.known: dict[K, Fact] = {}

    def of(self, key: K) -> T:
        """The fact of a key; what is known of it so far, where it is under way. What runs now has read it."""
        fact = self.known.get(key)
        if fact is None:
            fact = self.progress.work_out(self, key)
        return self.use(fact)

    def use(self, fact: Fact) -> T:
        """The value of a fact that is known, or under way. What runs now has read it."""
        current = self.reader.current
        if not fact.settled:
            current.parts[fact] = None
            self.progress.lean(fact)
        elif fact.user is not current:
            if fact.is_plain():
                current.modules |= fact.modules
            else:
                current.parts[fact] = None
            fact.user = current
        value: T = fact.value
        return value

    def so_far(self, key: K) -> T:
        """Return what is known so far of a fact that is under way."""
        value: T = self.known[key].value
        return value

    def forget(self, gone: set[DependencySet]) -> None:
        """Forget the facts that are among these computations."""
        for key in [key for key, fact in self.known.items() if fact in gone]:
            del self.known[key]

    def discard(self, key: K) -> None:
        """Forget the fact of a key."""
        self.known.pop(key, None)
