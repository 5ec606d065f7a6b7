"""A subject becomes a program: its module is loaded, its class made, with the same weights each time."""

from __future__ import annotations

import importlib
import inspect
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType, ModuleType
from typing import Any

from xlalint.verify import places
from xlalint.verify.backends import Program
from xlalint.verify.inputs.containers import builder
from xlalint.verify.model import Subject
from xlalint.verify.modules import LoadError, Source, execute_source, import_source, source_of

__all__ = ["LoadError", "format_callee", "load", "seed"]

_ELSEWHERE = re.compile(r"(?P<module>[A-Za-z_][\w.]*):(?P<name>[A-Za-z_][\w.]*)")
SEED = 0
_NONE: Mapping[str, Any] = MappingProxyType({})


def load(subject: Subject) -> Program:
    """Load a subject's module. The program's first callable is of the module as imported; each further one of a fresh copy, so that
    what a run leaves in the module's globals does not reach the next, unless the module cannot be executed twice.

    Raises: LoadError, also from the program's `make`.
    """
    source = source_of(subject)
    seed()
    fresh: list[ModuleType] = [import_source(source)]

    def make(given: Mapping[str, Any] = _NONE) -> Callable[..., Any]:
        seed()
        latest[0] = module = fresh.pop() if fresh else _again(source, kept)
        seed()
        return _callable(module, subject, source, given)

    kept = fresh[0]
    latest = [kept]
    variants = {f"{name}={value!r}": partial(make, {name: value}) for name, value in _alternatives(kept, subject)}
    return Program(make, source.lines, variants, lambda: builder(vars(latest[0])))


def _alternatives(module: ModuleType, subject: Subject) -> Iterator[tuple[str, bool | float]]:
    """Arguments of a subject's class that can be left out, with other values than they have by default: truth values and rates."""
    made: Any = module
    for name in subject.name.split("."):
        made = getattr(made, name, None)
        if isinstance(made, type):
            break
    if not isinstance(made, type) or subject.factory not in ("", f"{made.__name__}()"):
        return
    try:
        parameters = inspect.signature(made).parameters.values()
    except (TypeError, ValueError):  # it has none that Python could tell
        return
    for one in parameters:
        if isinstance(one.default, bool):
            yield one.name, not one.default
        elif isinstance(one.default, float):
            yield one.name, one.default / 2 if one.default else 0.5


def format_callee(subject: Subject) -> str:
    """Write the expression that is called, in the names of the subject's module."""
    if not subject.factory:
        return subject.name
    method = subject.name.rpartition(".")[2] if "." in subject.name else ""
    return f"{subject.factory}.{method}" if method else f"({subject.factory})"


def seed() -> None:
    """Set the generators of Python and of every framework that is imported."""
    random.seed(SEED)
    for module, path in (
        ("numpy", "random.seed"),
        ("torch", "manual_seed"),
        ("torch_xla", "manual_seed"),
        ("tensorflow", "random.set_seed"),
    ):
        setter: Any = sys.modules.get(module)
        for name in path.split("."):
            setter = getattr(setter, name, None)
        if setter is not None:
            setter(SEED)
    # Keras keeps a generator of its own; TensorFlow and torch are set by what is above.
    keras = sys.modules.get("keras")
    if keras is not None and hasattr(keras, "utils"):
        keras.utils.set_random_seed(SEED)


def _again(source: Source, kept: ModuleType) -> ModuleType:
    """A fresh copy of a module; where it cannot be executed a second time (it registers something), the one there is."""
    if not source.lines:
        return kept
    try:
        return execute_source(source)
    except LoadError:
        return kept


def _callable(
    module: ModuleType, subject: Subject, source: Source, given: Mapping[str, Any] = _NONE
) -> Callable[..., Any]:
    where = source.file or source.name
    names = subject.name.split(".") if subject.name else []
    found: Any = module
    while names and isinstance(inner := _attribute(found, _mangle(names[0], found), where), type):
        found, where = inner, f"`{inner.__name__}`"
        del names[0]
    if found is module and subject.factory and names:
        raise LoadError(
            f"`{subject.name}` is neither a class nor a method of one: a factory makes the instance of a class"
        )
    if found is not module or subject.factory:
        plain = not subject.factory or bool(given)
        found = _instance(found, given) if plain else _make(module, subject.factory)
    for name in names:
        found = _attribute(found, _mangle(name, found), where)
    if not callable(found):
        what = f"`{subject.name or subject.factory}`"
        raise LoadError(
            f"{what} is a {type(found).__name__}, which cannot be called: name a function, a method or a class"
        )
    called: Callable[..., Any] = found
    return called


def _mangle(name: str, holder: Any) -> str:
    """The name by which a private method is known outside of its class, which may be one that the holder's class derives from."""
    if isinstance(holder, ModuleType) or not name.startswith("__") or name.endswith("__"):
        return name
    owner = holder if isinstance(holder, type) else type(holder)
    names = [f"_{base.__name__.lstrip('_')}{name}" for base in owner.__mro__]
    return next((one for one in names if hasattr(holder, one)), name)


def _attribute(holder: Any, name: str, where: str) -> Any:
    try:
        return getattr(holder, name)
    except AttributeError:
        near = get_close_matches(name, [one for one in dir(holder) if not one.startswith("__")], n=1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise LoadError(f"no `{name}` in {where}{hint}") from None


def _instance(made: type, given: Mapping[str, Any]) -> Any:
    try:
        return made(**given)
    except BaseException as error:
        name = made.__name__
        if isinstance(error, TypeError) and "required" in str(error):
            raise LoadError(f"`{name}` is made with arguments ({error}); say how: --factory '{name}(...)'") from error
        raise LoadError(f"`{name}()` raises {places.headline(error)}", places.of_error(error)) from error


def _make(module: ModuleType, factory: str) -> Any:
    """Call a factory: an expression in the module's names, or a function elsewhere, `pkg.mod:make`."""
    elsewhere = _ELSEWHERE.fullmatch(factory.strip())
    try:
        if elsewhere is None:
            return eval(factory, dict(module.__dict__))
        maker: Any = importlib.import_module(elsewhere["module"])
        for name in elsewhere["name"].split("."):
            maker = getattr(maker, name)
        return maker()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise LoadError(f"factory `{factory}` raises {places.headline(error)}", places.of_error(error)) from error
