"""How often contexts are entered: carried from the roots along all calls, each at the rate at which it is made.

A context that is called from several places has several costs; what counts is the largest. They are carried as a set, because a rate does
not keep their order: what runs in a loop at every n-th step costs less than what runs at every step, and more once both are under a guard.
There are few of them, so this ends soon, and it gives the same in whatever order the calls are followed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from xlalint.interpreter.context import HOST_TIER
from xlalint.interpreter.rates import ALWAYS, Cost

if TYPE_CHECKING:
    from xlalint.interpreter.context import Context, RootContext

Costs = dict["Context", frozenset[Cost]]


def costs_of(roots: Iterable[RootContext]) -> Costs:
    """Return how often each context is entered that roots lead to. Host code that sets the device up has no part in it."""
    costs: Costs = {}
    todo: list[Context] = []
    for root in roots:
        if root.tier != HOST_TIER:
            _add(root.context, frozenset((Cost(root.frequency, only=root.only),)), costs, todo)
    while todo:
        context = todo.pop()
        entered, rates = costs[context], context.rates
        for callee in context.calls:
            rate = rates.get(callee, ALWAYS)
            _add(callee, entered if rate is ALWAYS else frozenset([rate.of(cost) for cost in entered]), costs, todo)
    return costs


def _add(context: Context, found: frozenset[Cost], costs: Costs, todo: list[Context]) -> None:
    known = costs.get(context)
    if known is None:
        costs[context] = found
        todo.append(context)
    elif not found <= known:
        costs[context] = known | found
        todo.append(context)
