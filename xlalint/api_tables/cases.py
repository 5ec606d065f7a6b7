"""Choose the case of a library function that a call meets."""

from __future__ import annotations

from typing import Protocol

from xlalint.api_tables.entries import ALWAYS, ANY_COUNT, Conditions, Constant, Spec


class Call(Protocol):
    """A view of what the interpreter knows about the arguments of one call.

    The `name` "*" asks about any of them.
    """

    def count(self) -> int:
        """Number of arguments without the receiver, -1 when starred arguments hide it."""

    def is_given(self, name: str) -> bool | None:
        """Is the argument passed, and not None? None when that is not known."""

    def none(self, name: str) -> bool:
        """Is the argument surely passed, and None?"""

    def tensor(self, name: str) -> bool | None:
        """Is the argument a tensor, or a container that holds one?"""

    def items(self, name: str) -> bool | None:
        """Is the argument a list or tuple that holds tensors (not a tensor itself)?"""

    def framework(self) -> str:
        """The framework of the receiver or first tensor argument, "" when there is none."""

    def boolean(self, name: str) -> bool | None:
        """Is the argument a tensor of bools?"""

    def constant(self, name: str) -> tuple[Constant] | None:
        """The argument's constant value in a 1-tuple, or None when it is not a known constant."""

    def symbol(self, name: str) -> str:
        """The dotted name of the library's class or function that the argument is, "" of others."""

    def rank(self, name: str) -> int:
        """The argument's rank, -1 when unknown; "" is the receiver or the first tensor argument."""

    def release(self) -> tuple[int, ...]:
        """The framework's release for which the code is judged."""


def choose(cases: tuple[Spec, ...], call: Call, targets: tuple[str, ...] = ()) -> Spec | None:
    """The first case that surely holds for the call, or None."""
    for spec in cases:
        if spec.when is ALWAYS or spec.when == ALWAYS or holds(spec.when, call, targets):
            return spec
    return None


def holds(when: Conditions, call: Call, targets: tuple[str, ...]) -> bool:
    """Do all conditions surely hold? What is not known does not hold."""
    return (
        (when.args == ANY_COUNT or call.count() == when.args)
        and all(call.is_given(name) is False for name in when.missing)
        and all(call.is_given(name) is True for name in when.given)
        and all(call.none(name) for name in when.none)
        and all(call.tensor(name) is True for name in when.tensor)
        and all(call.boolean(name) is True for name in when.boolean)
        and all(call.items(name) is True for name in when.items)
        and all(call.tensor(name) is False for name in when.host)
        and (not when.framework or call.framework() in when.framework)
        and all(_is_constant(call, name, values) for name, values in when.const)
        and all(
            call.constant(name) is not None and not _is_constant(call, name, values) for name, values in when.unlike
        )
        and all(call.rank(name) == rank for name, rank in when.rank)
        and (not when.receiver or call.tensor("") is True)
        and (not when.target or any(target in when.target for target in targets))
        and (not when.since or call.release() >= when.since)
        and (not when.until or call.release() < when.until)
    )


def _is_constant(call: Call, name: str, values: tuple[Constant, ...]) -> bool:
    found = call.constant(name)
    if found is None:
        return call.symbol(name) in values
    return any(found[0] == v and type(found[0]) is type(v) for v in values)
