"""Choose the host code that is entered for the set-up.

What leads to calls that are asked about is told by names alone, without reading a body.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from xlalint.abstract.values import Class, Function, Module
from xlalint.frameworks.base import Platforms, Reach
from xlalint.frameworks.checks.call_site import ASKED
from xlalint.frameworks.checks.unstable_static_argument import COMPILERS
from xlalint.frameworks.torch.checks.removed_xla_environment import VARIABLES
from xlalint.interpreter.device_loops import last_name
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo, Program

_VARIABLES = {framework: tuple(name.encode() for name in names) for framework, names in VARIABLES.items()}
_ALL_VARIABLES = tuple(dict.fromkeys(name for names in _VARIABLES.values() for name in names))


# What compiles a function that it is given or decorates; `partial` is given what does.
_MAKERS: Final = frozenset(COMPILERS) - {"partial", "function"}
# Frameworks whose host goes on while what they compiled runs.
_DISPATCHING: Final = frozenset(("jax", "tensorflow"))
Variables = tuple[bytes, ...]
"""What bodies are searched for: names of variables of the environment, and of settings."""


class Wanted(NamedTuple):
    """The calls that host code is asked about: of these `names`; of those in `beside` only where the text names something besides, as a
    keyword; and the variables that are `set_here`."""

    names: frozenset[str] = frozenset()
    beside: tuple[tuple[bytes, frozenset[str]], ...] = ()
    set_here: Variables = ()

    def __bool__(self) -> bool:
        return bool(self.names or self.beside or self.set_here)

    def and_calls_of(self, names: Iterable[str]) -> Wanted:
        """Return what is asked about with calls of other names."""
        return self._replace(names=self.names.union(names))

    def is_called(self, calls: Collection[str], text: bytes) -> bool:
        """Return whether a text that calls these names may call what is asked about."""
        return not self.names.isdisjoint(calls) or any(
            not names.isdisjoint(calls) and word in text for word, names in self.beside
        )


class Hosts(NamedTuple):
    """The host code of a program that may set something up: the `modules` whose top level does, the program's own first; functions and
    methods of that own module, callers before what they call; and those of them whose decorators do."""

    modules: tuple[ModuleInfo, ...] = ()
    functions: tuple[FunctionInfo, ...] = ()
    decorated: tuple[FunctionInfo, ...] = ()


def hosts_of(module: ModuleInfo, program: Program, platforms: Platforms) -> Hosts:
    """Choose what to enter of the program that is started at a module and reaches XLA by these platforms."""
    asked = _asked_on(tuple((framework, platform.reach) for framework, platform in platforms.items()))
    if not asked:
        return Hosts()
    makers = frozenset(COMPILERS)
    imported_names: set[str] = set()
    if not _DISPATCHING.isdisjoint(platforms):
        imported_names, factories = _names_of_imported(module, program)
        makers |= factories | module.answers(_factories)
    wanted = asked.and_calls_of(_names_in(module, program, asked) | _names_of_compiled(module, makers) | imported_names)
    functions = _leading(module, wanted)
    wanted = wanted.and_calls_of(map(_name_in_calls, functions))
    decorated = tuple(info for info in functions if info.ir.decorators) + tuple(
        info for info in module.functions if info.ir.decorators and info not in functions
    )
    imported = {program.by_name.get(program.absolute(module, binding)): None for binding in module.unit.imports}
    others = [other for other in imported if other is not None and other is not module and not other.followed]
    top = [module] if functions or decorated or _sets_up(module, wanted) else []
    return Hosts(
        (*top, *(other for other in others if _sets_up(other, asked))),
        functions,
        decorated if top else (),
    )


@lru_cache
def _asked_on(platforms: tuple[tuple[str, Reach], ...]) -> Wanted:
    """Return what a program is asked about that reaches XLA by these platforms, so far."""
    asked = [
        (name, one.beside)
        for framework, reach in platforms
        for name, one in ASKED.get(framework, {}).items()
        if reach >= one.reach
    ]
    beside = sorted({word for _, word in asked if word})
    on_device = [framework for framework, reach in platforms if reach is Reach.DEVICE]
    return Wanted(
        frozenset(name for name, word in asked if not word),
        tuple((word.encode(), frozenset(name for name, one in asked if one == word)) for word in beside),
        tuple(sorted({name for framework in on_device for name in _VARIABLES.get(framework, ())})),
    )


@lru_cache
def _leading_to(asked: Wanted) -> Callable[[ModuleInfo], tuple[FunctionInfo, ...]]:
    """The question which functions of a module lead to what is asked about: each module is asked it by all that import it."""
    return lambda module: _leading(module, asked)


def _names_in(module: ModuleInfo, program: Program, asked: Wanted) -> set[str]:
    """The names by which a module calls what is asked about: the libraries', renamed or derived from, and functions of the program
    that lead there."""
    wanted = asked.names
    found = {binding.local for binding in module.unit.imports if binding.name in wanted}
    found.update(klass.name for klass in module.classes if _derives(klass, wanted))
    leading: dict[int, tuple[FunctionInfo, ...]] = {}
    for local, source, index in _imported_definitions(module, program):
        if index >= 0 and source.index not in leading:
            module.reader.read_whole(source)
            leading[source.index] = source.answers(_leading_to(asked))
        if (
            source.functions[index].decorated(*COMPILERS) or source.functions[index] in leading[source.index]
            if index >= 0
            else _derives(source.classes[-1 - index], wanted)
        ):
            found.add(local)
    return found


def _imported_definitions(module: ModuleInfo, program: Program) -> Iterator[tuple[str, ModuleInfo, int]]:
    """The program's own functions and classes that a module imports: the name by which it calls each, where it is, and its number there.

    Of `from tools import *` and `import tools` that is all that the other module defines.
    """
    for binding in module.unit.imports:
        name = program.absolute(module, binding)
        source, picked = program.by_name.get(name), binding.name if binding.local != "*" else ""
        if picked and (source is None or picked not in source.unit.defs):
            source, picked = program.by_name.get(f"{name}.{picked}"), ""
        if source is None or source is module or source.followed:
            continue
        module.reader.current.modules |= source.bit
        if picked:
            yield binding.local, source, source.unit.defs[picked]
        else:
            yield from ((defined, source, index) for defined, index in source.unit.defs.items())


def _names_of_compiled(module: ModuleInfo, makers: frozenset[str]) -> set[str]:
    """The names of a module's functions that are compiled, and of what compilers make of others, or functions that give such: what calls
    them passes them arguments."""
    found = {info.name for info in module.functions if info.ir.decorators and info.decorated(*COMPILERS)}
    if not makers.isdisjoint(module.unit.calls):
        found.update(_names_bound_by(ir.decode_body(module.unit.body), makers))
    for info in module.functions:
        if not makers.isdisjoint(info.ir.calls):
            found.update(_names_bound_by(info.body, makers))
    return found


def _names_bound_by(body: tuple[ir.Statement, ...], makers: frozenset[str]) -> Iterator[str]:
    """The names and attributes to which a body assigns what a compiler gives: `step` of `self.step = jax.jit(f)`."""
    for node in ir.walk(body):
        if isinstance(node, ir.Assign) and isinstance(node.value, ir.Call) and last_name(node.value.func) in makers:
            yield from filter(None, map(last_name, node.targets))
            for target in node.targets:
                if isinstance(target, ir.Display):
                    yield from filter(None, map(last_name, target.items))


def _factories(module: ModuleInfo) -> frozenset[str]:
    """The names of a module's functions that hold a compiled one: they may give it back, `step = make_step(model)`."""
    return frozenset([info.name for info in module.functions if _is_factory(info)])


def _is_factory(info: FunctionInfo) -> bool:
    if info.ir.outer >= 0 or info.name == "__init__":
        return False
    return not _MAKERS.isdisjoint(info.ir.calls) or any(one.decorated(*COMPILERS) for one in info.nested)


def _names_of_imported(module: ModuleInfo, program: Program) -> tuple[set[str], frozenset[str]]:
    """The names by which a module calls what is compiled elsewhere, or leads there: functions of imported modules and methods of imported
    classes, by a decorator or as what they bind.

    The second are those of functions that may give back what is compiled.
    """
    found: set[str] = set()
    factories: set[str] = set()
    for binding in module.unit.imports:
        held = program.resolve_import(module, binding)
        if isinstance(held, Module) and held.info is not module and not held.info.followed:
            names, leading = program.answer(_search, held.info)
            found.update(names, map(_name_in_calls, leading))
            factories |= held.info.answers(_factories)
        elif isinstance(held, Class):
            for base in held.info.mro:
                if not isinstance(base, str) and base.module is not module and not base.module.followed:
                    names, leading = program.answer(_search, base.module)
                    found.update(names, (info.name for info in leading if info.owner is base))
        elif isinstance(held, Function) and held.info.module is not module and not held.info.module.followed:
            if held.info in program.answer(_search, held.info.module)[1]:
                found.add(binding.local)
            if _is_factory(held.info):
                factories.add(binding.local)
        source = program.by_name.get(program.absolute(module, binding)) if binding.name else None
        bound = source is not None and not source.followed and binding.name in source.unit.assigned
        if source is not None and bound and binding.name in program.answer(_search, source)[0]:
            found.add(binding.local)
    return found | factories, frozenset(factories)


def _search(module: ModuleInfo, program: Program) -> tuple[set[str], frozenset[FunctionInfo]]:
    """Return the names of what a module compiles, and its functions that lead to compiled code."""
    module.reader.read_whole(module)
    names = _names_of_compiled(module, frozenset(COMPILERS) | module.answers(_factories))
    wanted = Wanted(frozenset(names | _names_of_decorated(module, program)))
    return names, frozenset(_leading(module, wanted))


def _names_of_decorated(module: ModuleInfo, program: Program) -> set[str]:
    """The names that a module imports of functions that are compiled."""
    found: set[str] = set()
    for binding in module.unit.imports:
        source = program.by_name.get(program.absolute(module, binding)) if binding.name else None
        index = source.unit.defs.get(binding.name, -1) if source is not None else -1
        if source is not None and index >= 0 and source.functions[index].decorated(*COMPILERS):
            module.reader.current.modules |= source.bit
            found.add(binding.local)
    return found


def _derives(klass: ClassInfo, wanted: frozenset[str]) -> bool:
    """Return whether a class of the program is one of a library that is asked about."""
    names = (base if isinstance(base, str) else base.name for base in klass.mro[1:])
    return any(name.rpartition(".")[2] in wanted for name in names)


def _leading(module: ModuleInfo, wanted: Wanted) -> tuple[FunctionInfo, ...]:
    """The functions and methods of a module that lead to a call of what is wanted, callers before what they call."""
    rest = [info for info in module.functions if info.ir.outer < 0 and info.name != "<lambda>"]
    leading: list[FunctionInfo] = []
    while True:
        found = [info for info in rest if _leads(info, wanted)]
        if not found:
            return tuple(leading)
        leading[:0] = found
        wanted = wanted.and_calls_of(map(_name_in_calls, found))
        rest = [info for info in rest if info not in found]


def _leads(info: FunctionInfo, wanted: Wanted) -> bool:
    if wanted.is_called(info.ir.calls, info.ir.body):
        return True
    if info.answers(_names_variables) and any(name in info.ir.body for name in wanted.set_here):
        return True
    return any(_leads(inner, wanted) for inner in info.nested)


def _names_variables(info: FunctionInfo) -> bool:
    """Return whether a body names a variable of any framework: bodies are long, and asked about by each module that imports theirs."""
    return any(name in info.ir.body for name in _ALL_VARIABLES)


def _name_in_calls(info: FunctionInfo) -> str:
    """The name by which calls mean a function; a constructor is called by its class."""
    return info.owner.name if info.owner is not None and info.name == "__init__" else info.name


def _sets_up(module: ModuleInfo, wanted: Wanted) -> bool:
    module.reader.current.modules |= module.bit
    text = module.unit.body
    return wanted.is_called(module.unit.calls, text) or any(name in text for name in wanted.set_here)
