"""How contexts are reached: the chain of calls from a root to each context, the surest and shortest."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, get_args

import msgspec

from xlalint.abstract.values import order_of_all
from xlalint.analysis.hazard import Step
from xlalint.interpreter.context import HOST_TIER
from xlalint.interpreter.tracer import Runner

if TYPE_CHECKING:
    from xlalint.interpreter.context import Context, RootContext
    from xlalint.interpreter.tracer import Tracer
    from xlalint.program.linker import Program

Reach = tuple["Context", bool]
"""A context, and whether AutoGraph rewrites it as it is reached."""

Key = tuple[int, int]
"""A function: its module's index, and its own or -1 for module level."""


_RUNNERS: tuple[Runner, ...] = get_args(Runner)
_TURNS = (
    (1, _RUNNERS, False, True),
    *((1, (runner,), False, False) for runner in _RUNNERS),
    (1, _RUNNERS, True, False),
    (2, _RUNNERS, False, False),
    (HOST_TIER, _RUNNERS, False, False),
)
"""The kinds of roots in the order in which they are followed, by tier, runner, whether their tracers leave values to Python, and whether
these are strict.

What XLA surely compiles comes first, for what its code is reached by says most.
"""


class Link(NamedTuple):
    """How a context is reached: from which root, by which caller (None: it is the root), over how many calls."""

    root: RootContext
    caller: Reach | None
    depth: int


def chains_of(unordered: Iterable[RootContext]) -> dict[Reach, Link]:
    """Search breadth first from the roots, sure ones and what XLA compiles first: each context with its root, its caller, its distance.

    What is reached for what one of several subclasses may make of a method comes after what is surely called. Where a strict tracer is
    given a function, calls of it are the tracer's, whoever makes them.
    """
    roots = _in_order(unordered)
    strict_of = {root.context.function: root for root in roots if root.tracer.strict}
    chains: dict[Reach, Link] = {}
    for tier, runners, concrete, strict in _TURNS:
        queue: deque[Reach] = deque()
        guessed: deque[tuple[Reach, Link]] = deque()
        for root in roots:
            reach = root.context, (root.tracer.autograph or root.context.restarts) and root.context.converts
            kind = root.tier == tier and root.tracer.concrete is concrete and root.tracer.strict is strict
            if kind and root.tracer.runner in runners and reach not in chains:
                chains[reach] = Link(root, None, 0)
                queue.append(reach)
        while queue or guessed:
            if not queue:
                reach, link = guessed.popleft()
                if reach in chains:
                    continue
                chains[reach] = link
            else:
                reach = queue.popleft()
            link = chains[reach]
            for callee in reach[0].calls:
                inner = callee, (reach[1] or callee.restarts) and callee.converts
                if inner in chains:
                    continue
                root = strict_of.get(callee.function, link.root) if callee.function is not None else link.root
                found = Link(root, reach, link.depth + 1)
                if callee in reach[0].guessed:
                    guessed.append((inner, found))
                else:
                    chains[inner] = found
                    queue.append(inner)
    return chains


def _in_order(unordered: Iterable[RootContext]) -> list[RootContext]:
    """Sort roots, sure ones first. Contexts of one function are told apart by their arguments, which costs more to look at."""
    ordered: list[RootContext] = []
    for _, equal in groupby(sorted(unordered, key=_root_order), key=_root_order):
        roots = list(equal)
        ordered += roots if len(roots) == 1 else sorted(roots, key=lambda root: order_of_all(root.context.args))
    return ordered


def _root_order(root: RootContext) -> tuple[int, bool, int, int, str]:
    function = root.context.function
    return (
        root.tier,
        not root.tracer.compiles,
        root.context.module.index,
        function.index if function is not None else -1,
        root.why,
    )


def tracer_at(reach: Reach, root: RootContext) -> Tracer:
    """The tracer that runs a context which the root leads to."""
    if reach[1] is root.tracer.autograph:
        return root.tracer
    return msgspec.structs.replace(root.tracer, autograph=reach[1])


def key_of(context: Context) -> Key:
    """The function that a context is an activation of."""
    return context.function.key if context.function is not None else (context.module.index, -1)


def chain_to(reach: Reach, chains: dict[Reach, Link]) -> tuple[tuple[Key, str], ...]:
    """The functions that lead from the root to a context, each with why it is reached."""
    links: list[tuple[Key, str]] = []
    current: Reach | None = reach
    while current is not None:
        link = chains[current]
        why = link.root.why if link.caller is None else f"called from {link.caller[0].name}"
        links.append((key_of(current[0]), why))
        current = link.caller
    return tuple(reversed(links))


def steps_of(chain: Iterable[tuple[Key, str]], program: Program) -> Iterator[Step]:
    """The links of a chain in the user's terms."""
    for key, why in chain:
        module = program.modules[key[0]]
        if key[1] < 0:
            yield Step(module.path, 1, "<module>", why)
        else:
            function = module.functions[key[1]].ir
            yield Step(module.path, function.row, function.qualname, why)


def walk_calls(contexts: Iterable[Context]) -> Iterator[Context]:
    """Contexts with all that they call, each once."""
    seen = set(contexts)
    todo = list(seen)
    while todo:
        context = todo.pop()
        yield context
        new = [inner for inner in context.calls if inner not in seen]
        seen.update(new)
        todo += new


def hosts_of_replicas(roots: Iterable[RootContext], chains: Iterable[Reach]) -> set[Context]:
    """The contexts that only serve functions which give others to a strategy.

    The strategy compiles those others, and the function around them is TensorFlow's own graph, which knows loops of any length and
    shapes of any size: `for _ in tf.range(steps): strategy.run(step_fn)`.
    """
    hosting = _leading_to_replicas({context for context, _ in chains})
    if not hosting:
        return hosting
    compiled: set[Context] = set()
    todo = [root.context for root in roots if root.context not in hosting]
    while todo:
        context = todo.pop()
        if context not in compiled:
            compiled.add(context)
            todo.extend(callee for callee in context.calls if callee not in hosting)
    return {context for context, _ in chains if context not in compiled}


def _leading_to_replicas(contexts: set[Context]) -> set[Context]:
    found = {context for context in contexts if context.replicates}
    callers: dict[Context, list[Context]] = {}
    if found:
        for context in contexts:
            for callee in context.calls:
                callers.setdefault(callee, []).append(context)
    todo = list(found)
    while todo:
        for caller in callers.get(todo.pop(), ()):
            if caller not in found:
                found.add(caller)
                todo.append(caller)
    return found
