"""Functions of a program that nothing in it names: what they cost, no run of the program pays.

That is asked of programs alone, which a script starts, and of modules that belong to them. What a library offers is there for others to
call; so are what a package exports, what an installer installs, and what a framework calls on classes that derive from its own. A function
is known by its name alone, and a word in a text may be that name as well: of what is looked up by a name that is put together, nothing is
said.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, Final, NamedTuple, Union

from xlalint.abstract.values import Module
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.drivers import Role
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir
from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from xlalint.interpreter.drivers import Drivers
    from xlalint.program.linker import Program

Holder = Union[FunctionInfo, ClassInfo, ModuleInfo]
_WORD: Final = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*")
_MAIN: Final = b"__main__"
_PASSIVE: Final = frozenset(("staticmethod", "classmethod", "property", "no_grad", "inference_mode", "enable_grad"))
# Calls that find what modules define by names that are known when the program runs: anywhere, where they stand, and as they are asked.
_ANYWHERE: Final = frozenset(("locate", "instantiate", "exec_module"))
_IMPORTING: Final = frozenset(("import_module", "__import__", "load_source"))
_IN_SCOPE: Final = frozenset(("globals", "locals", "vars", "Fire", "exec"))
_LOOKING_UP: Final = frozenset(("getattr", "eval"))
_ALL: Final = "__all__"
_ABSTRACT: Final = frozenset(("abc", "typing"))
_ROUNDS: Final = 4  # functions that only what is uncalled names
_FEW: Final = 8  # functions that name something else as a function is called
_NOTHING: Final[frozenset[str]] = frozenset()
_NOTEBOOK: Final = ".ipynb"


def keeps_unread(module: ModuleInfo, body: tuple[ir.Statement, ...], made: ir.Call) -> bool:
    """Return whether nobody calls what a call makes: a body keeps it under a name that is an object's or the module's own,
    `self._step = jit(step)`, and nothing else in the module names that."""
    kept = [one for one in ir.walk_statements(body) if isinstance(one, ir.Assign) and one.value == made]
    name = _own_name(module, kept[0].targets[0]) if len(kept) == 1 and len(kept[0].targets) == 1 else ""
    if not name:
        return False
    module.reader.current.modules |= module.bit
    for function in module.functions:
        module.reader.read(function)
    told = name.encode()
    inner = [*(one.body for one in module.unit.functions), *(one.body for one in module.unit.classes)]
    return module.unit.body.count(told) + sum(one.count(told) for one in inner) == 1


def _own_name(module: ModuleInfo, target: ir.Node) -> str:
    """Return the name of an attribute or a variable that others leave alone, as all do those of a notebook, which none imports; else ""."""
    if isinstance(target, ir.Attr) and isinstance(target.value, ir.Name) and target.name.startswith("_"):
        return target.name
    if isinstance(target, ir.Name) and (target.id.startswith("_") or module.path.endswith(_NOTEBOOK)):
        return target.id
    return ""


class Opened(NamedTuple):
    """The `modules` of which something is looked up by names that are no part of the program's text, but for the functions of those that
    are `shared`."""

    modules: Set[ModuleInfo] = frozenset()
    shared: Set[ModuleInfo] = frozenset()

    def shows(self, info: FunctionInfo) -> bool:
        """Return whether a function, or its class, may be looked up so."""
        return info.module in self.modules and (info.owner is not None or info.module not in self.shared)


class NamesUsed(NamedTuple):
    """The names by which a body has nothing but values of its `own`, parameters and what it assigns, and those that may be of something
    `beyond` it and its module: attributes, and words in texts."""

    own: frozenset[str]
    beyond: frozenset[str]


class Uncalled:
    """The functions that nothing in a program calls, none in a library. `mentioned` are the definitions' names that each function names."""

    def __init__(
        self,
        program: Program,
        drivers: Drivers,
        kind_of: Callable[[ClassInfo | None], str],
        is_step: Callable[[FunctionInfo], bool],
    ) -> None:
        self._program = program
        self._drivers = drivers
        self._kind_of = kind_of
        self._is_step = is_step
        # Of classes that derive from these a library calls no method but those that Python calls.
        self._plain = drivers.words.ported | _ABSTRACT
        self._modules = program.modules[: program.linted]
        self._mentioned: dict[FunctionInfo, frozenset[str]] = {}
        self._names: frozenset[str] = frozenset()
        self._alone: frozenset[str] = frozenset()  # the modules that no module's own statements import
        self._imported_by: dict[FunctionInfo, frozenset[str]] = {}
        self._candidates: dict[FunctionInfo, bool] = {}  # that may be uncalled, and if they may be looked up
        self._nested: list[FunctionInfo] = []
        self._uncalled: set[FunctionInfo] = set()
        self.holders: dict[str, set[Holder]] = {}
        self._names_used: dict[FunctionInfo, NamesUsed] = {}
        self._leads: bool | None = None
        self._open = Opened()
        self._evaluating: set[ModuleInfo] = set()  # what a text that they evaluate names may be what they import
        self._libraries: set[ModuleInfo] = set()

    def find(self) -> set[FunctionInfo]:
        """Return the functions that nothing names but themselves and one another, and the methods of classes that are never made."""
        if not self.has_script():
            return set()
        functions = [info for module in self._modules for info in module.functions]
        self._names = frozenset([info.name for info in functions] + [c.name for m in self._modules for c in m.classes])
        opened, joined = self._find_open(), self._find_joined()
        installed = self._find_libraries()
        self._open, self._libraries = opened, installed
        self.holders = self._find_holders()
        own = [info for info in functions if info.module in joined and info.module not in installed]
        self._candidates = {info: opened.shows(info) for info in own if self._may_be_uncalled(info, opened.shows(info))}
        self._nested = [
            info for info in own if info.ir.outer >= 0 and not info.ir.decorators and info.name != "<lambda>"
        ]
        uncalled: set[FunctionInfo] = set()
        for _ in range(_ROUNDS):
            fresh = {
                info
                for info, seen in self._candidates.items()
                if info not in uncalled and self._is_unused(info, uncalled, seen)
            }
            if not fresh:
                break
            uncalled |= fresh
        self._uncalled = uncalled
        return uncalled

    def _is_unused(self, info: FunctionInfo, uncalled: set[FunctionInfo], looked_up: bool) -> bool:
        """Return whether nothing but a function itself, and what is uncalled, names it, or its class."""
        if info.owner is not None and not looked_up and _is_never_made(info.owner, self.holders, uncalled):
            return True
        if _is_called_by_python(info):
            return False
        others = self.holders.get(info.name, set()) - uncalled - {info}
        return len(others) <= _FEW and all(
            isinstance(one, FunctionInfo) and info.owner is None and self._names_another(one, info) for one in others
        )

    def _names_another(self, holder: FunctionInfo, info: FunctionInfo) -> bool:
        """Return whether what a body names as a function is called is something else: a value of its own, or what its module defines."""
        known = self._names_used.get(holder)
        if known is None:
            known = self._names_used[holder] = _find_names_used(holder)
        if info.name in known.own:
            return True
        return info.name not in known.beyond and holder.module is not info.module and _defines(holder.module, info.name)

    def may_be_called_unseen(self, info: FunctionInfo) -> bool:
        """Return whether a function may be called by what does not name it, after `find`: by who imports a library, by the library of which
        its class derives, by a name that is put together."""
        owner = info.owner
        if info.module in self._libraries or not self._is_plain(owner):
            return True
        return self._open.shows(info) if owner is None else _calls_what_it_looks_up(owner)

    def find_asked(self, names_off: Callable[[Holder], Mapping[str, str]]) -> dict[FunctionInfo, str]:
        """Return the functions that are called only where something is asked for, with that, after `find`; `names_off` are the names that a
        body names only there."""
        asked: dict[FunctionInfo, str] = dict.fromkeys(self._uncalled, "")
        for _ in range(_ROUNDS):
            fresh: dict[FunctionInfo, str] = {}
            for info, seen in (*self._candidates.items(), *((nested, False) for nested in self._nested)):
                if info not in asked:
                    only = self._asked_of(info, seen, asked, names_off)
                    if only:
                        fresh[info] = only
            if not fresh:
                break
            asked.update(fresh)
        return {info: only for info, only in asked.items() if only}

    def _asked_of(
        self,
        info: FunctionInfo,
        looked_up: bool,
        asked: dict[FunctionInfo, str],
        names_off: Callable[[Holder], Mapping[str, str]],
    ) -> str:
        """Say where alone a function, or its class, is named; "" where it is named elsewhere too."""
        klass = info.owner
        if klass is not None and not looked_up and not klass.subclasses and not klass.ir.decorators:
            only = self._find_where(klass.name, _methods_of(klass) | {klass}, asked, names_off)
            if only:
                return only
        return "" if _is_called_by_python(info) else self._find_where(info.name, {info}, asked, names_off)

    def _find_where(
        self,
        name: str,
        own: Collection[Holder],
        asked: dict[FunctionInfo, str],
        names_off: Callable[[Holder], Mapping[str, str]],
    ) -> str:
        told: set[str] = set()
        for holder in self.holders.get(name, ()):
            if holder not in own:
                only = asked.get(holder) if isinstance(holder, FunctionInfo) else None
                if only is None:
                    only = names_off(holder).get(name)
                if only is None:
                    return ""
                told.add(only)
        return min(filter(None, told), default="")

    def has_script(self) -> bool:
        """Return whether a user starts a module of the program: else it is a library."""
        return any(map(self._is_script, self._modules))

    def leads_to_steps(self) -> bool:
        """Return whether a module that a user starts holds a loop over steps, or what a framework's loop calls at each, or imports one
        that does, over others too."""
        if self._leads is None:
            self._leads = self._leads_to(filter(self._is_script, self._modules), self._holds_steps)
        return self._leads

    def leads_to_models(self) -> bool:
        """Return whether a program leads to a model, or to steps, from any module that may be started, whose steps what it does not name
        may take: a loop of a library, one that is found by its name, a script that is installed."""
        may_drive = self._drivers.may_drive
        starts = [one for one in self._modules if _MAIN in one.unit.body and not one.testing and may_drive(one)]
        return self.has_script() and self._leads_to(starts, self._holds_models)

    def _leads_to(self, starts: Iterable[ModuleInfo], holds: Callable[[ModuleInfo], bool]) -> bool:
        """Return whether modules, or what they import, over others too, hold something."""
        seen = set(starts)
        todo = list(seen)
        while todo:
            module = todo.pop()
            if holds(module):
                return True
            new = set(self._list_imported(module)) - seen
            seen |= new
            todo += new
        return False

    def _holds_steps(self, module: ModuleInfo) -> bool:
        return self._drives(module) or any(map(self._is_step, module.functions))

    def _holds_models(self, module: ModuleInfo) -> bool:
        return self._holds_steps(module) or any(self._kind_of(klass) == "module" for klass in module.classes)

    def find_serving(self) -> frozenset[ModuleInfo]:
        """Return the modules that may be started by themselves, and that others of the program import."""
        may_start = {module for module in self._modules if _MAIN in module.unit.body}
        if not may_start:
            return frozenset()
        importing = (module for module in self._modules if not module.testing)
        return (
            frozenset(source for module in importing for source in self._list_imported(module) if source is not module)
            & may_start
        )

    def find_closed(self) -> set[FunctionInfo]:
        """Return the functions that nothing but code of the program calls, as far as it says: no others import them, none is looked up by
        a name that is put together, and no library calls a method of its class."""
        opened, installed, joined = self._find_open(), _find_installed(self._modules), self._find_joined()
        return {
            info
            for module in joined
            if _folder_of_package(module) not in installed
            for info in module.functions
            if not opened.shows(info)
            if info.key not in self._program.exported and (_is_called_by_python(info) or self._is_plain(info.owner))
        }

    def find_called_by_name(self) -> set[FunctionInfo]:
        """Return the functions of which all calls that there are name them, as far as it says: of those of `find_closed` the ones that are
        not nested, that Python does not call, and that no decorator or object hands on."""
        return {
            info
            for info in self.find_closed()
            if not _is_called_by_python(info) and self._may_be_uncalled(info, looked_up=False)
        }

    def holds_after(self, changed: Iterable[FunctionInfo]) -> bool:
        """Return whether functions with other bodies than before name, and import, what they did."""
        return not self._names or all(
            self._mentioned.get(info) == self._names_in(info)
            and self._imported_by.get(info, _NOTHING) == self._list_imported_in(info)
            and (info not in self._names_used or self._names_used[info] == _find_names_used(info))
            for info in changed
        )

    def _is_script(self, module: ModuleInfo) -> bool:
        """Return whether a module is one that a user starts: it does something where it is the main one. In a package some of these
        only show what it offers: there one holds a loop over steps, or takes flags of absl's."""
        if module.package or module.unit.is_package:
            return _MAIN in module.unit.body and not module.testing and (self._drives(module) or _runs_app(module))
        if _MAIN in module.unit.body:
            return True
        return self._drivers.drives_module(module) and not self._drivers.runs_at_once(module)

    def _names_in(self, info: FunctionInfo) -> frozenset[str]:
        return self._names.intersection(_words(info.ir.body))

    def _find_holders(self) -> dict[str, set[Holder]]:
        """Find where the names of definitions stand: in functions, in classes, in modules' own statements."""
        found: defaultdict[str, set[Holder]] = defaultdict(set)
        for module in self._modules:
            seen = [one.name for one in module.unit.imports] if module in self._evaluating else []
            for name in self._names.intersection(_named_by_module(module)).union(self._names.intersection(seen)):
                found[name].add(module)
            for klass in module.classes:
                for name in self._names.intersection(_named_by_class(klass)):
                    found[name].add(klass)
            for info in module.functions:
                words = self._mentioned[info] = self._names_in(info)
                around = _nodes_around(info)
                for name in words.union(self._names.intersection(_named_by(around))) if around else words:
                    found[name].add(info)
        return found

    def _find_joined(self) -> set[ModuleInfo]:
        """Find the modules that belong to the program: its scripts, and what others import. One that stands alone is for others to use."""
        by_name, absolute = self._program.by_name, self._program.absolute
        stars = {absolute(module, star) for module in self._modules for star in module.stars}
        found = {by_name[one] for one in stars if one in by_name}
        found.update(filter(self._is_script, self._modules), *map(self._list_imported, self._modules))
        # `import a.b` binds `a` alone: what is in that package may be imported so.
        whole = tuple(
            f"{absolute(module, one)}." for module in self._modules for one in module.unit.imports if not one.name
        )
        found.update(module for module in self._modules if module.name.startswith(whole))
        return found | self._find_imported_late(found)

    def _find_imported_late(self, found: set[ModuleInfo]) -> set[ModuleInfo]:
        """Find what nothing but functions of the program import: `from .ui_model import UIModel` where a model is made."""
        rest = {module.name: module for module in self._modules if module not in found}
        self._alone = frozenset(rest)
        spelled = [name.rpartition(".")[2].encode() for name in rest]
        late: set[str] = set()
        for module in self._modules if rest else ():
            for info in module.functions:
                if any(name in info.ir.body for name in spelled):
                    imported = self._list_imported_in(info)
                    if imported:
                        self._imported_by[info] = imported
                        late |= imported
        return {module for name, module in rest.items() if name in late}

    def _find_libraries(self) -> set[ModuleInfo]:
        """Find the modules of packages that are installed for others to import: not of those that drive a device themselves."""
        installed = _find_installed(self._modules)
        if not installed:
            return set()
        inside = [(module, (_folder_of_package(module), module.name.partition(".")[0])) for module in self._modules]
        driving = {package for module, package in inside if package[0] in installed and self._drives(module)}
        return {module for module, package in inside if package[0] in installed and package not in driving}

    def _drives(self, module: ModuleInfo) -> bool:
        """Return whether a module holds a loop over steps."""
        drivers = self._drivers
        return drivers.drives_module(module) or any(drivers.role(info) is Role.LOOPS for info in module.functions)

    def _list_imported_in(self, info: FunctionInfo) -> frozenset[str]:
        """The names of modules that a function's own statements import, of those that no module's do."""
        imports = (one for one in ir.walk_statements(info.body) if type(one) is ir.Import)
        sources = ((self._program.absolute(info.module, one), one.name) for each in imports for one in each.bindings)
        names = (name for source, inner in sources for name in (source, f"{source}.{inner}"))
        return self._alone.intersection(names)

    def _find_open(self) -> Opened:
        """Find the modules of which something is looked up by names that are no part of the program's text."""
        found: set[ModuleInfo] = set()
        starts: set[str] = set()
        for module in self._modules:
            calls = {*module.unit.calls}.union(*(info.ir.calls for info in module.functions))
            if not _ANYWHERE.isdisjoint(calls):
                starts.add("")
            if not _IN_SCOPE.isdisjoint(calls):
                found.update(self._list_seen(module))
            finding = _LOOKING_UP | _IMPORTING
            bodies = [info.body for info in module.functions if not finding.isdisjoint(info.ir.calls)]
            if not finding.isdisjoint(module.unit.calls):
                bodies.append(ir.decode_body(module.unit.body))
            for body in bodies:
                nodes = ir.walk(body)
                spelled = _find_spelled(nodes)
                for call in (one for one in nodes if type(one) is ir.Call):
                    if last_name(call.func) not in _IMPORTING:
                        found.update(self._list_looked_up(call, module))
                    elif id(call) not in spelled:
                        named = call.args[:1] if last_name(call.func) != "load_source" else ()
                        starts.add(_spell_start(named[0]).lstrip(".") if named else "")
        named_modules = self._list_named(starts - {""})
        found.update(*map(self._list_seen, named_modules))
        if "" in starts:
            return Opened(set(self._modules), self._find_shared() - found)
        return Opened(found)

    def _find_shared(self) -> set[ModuleInfo]:
        """Find the modules of which others, but for the packages that hold them, import what they need by its name: what a program finds by
        a name of which nothing is known are other modules, as far as functions are concerned."""
        found: set[ModuleInfo] = set()
        for module in self._modules:
            if not module.unit.is_package and not module.testing:
                for binding in module.unit.imports:
                    source = self._program.by_name.get(self._program.absolute(module, binding))
                    named = binding.name and binding.local != "*"
                    if named and source is not None and source is not module and not source.unit.is_package:
                        found.add(source)
        return found

    def _list_named(self, starts: set[str]) -> list[ModuleInfo]:
        """The modules whose names, or the ends of these, begin so: what stands before is a matter of the search path."""
        given = tuple(starts)
        inside = [f".{start}" for start in given]
        return [
            one for one in self._modules if one.name.startswith(given) or any(start in one.name for start in inside)
        ]

    def _list_seen(self, module: ModuleInfo, whole: bool = False) -> Iterator[ModuleInfo]:
        """A module, and those that it imports from, or imports as a `whole`, behind packages too."""
        yield module
        for source in self._list_whole(module) if whole else self._list_imported(module):
            yield source
            if source.unit.is_package:
                yield from self._list_imported(source)

    def _list_whole(self, module: ModuleInfo) -> Iterator[ModuleInfo]:
        """The modules of which a module may name all that they define: those that it has by a name or by a star."""
        by_name, absolute = self._program.by_name, self._program.absolute
        for binding in module.unit.imports:
            source = absolute(module, binding)
            whole = f"{source}.{binding.name}" if binding.name else source
            if whole in by_name:
                yield by_name[whole]
        yield from [by_name[one] for one in (absolute(module, star) for star in module.stars) if one in by_name]

    def _list_imported(self, module: ModuleInfo) -> Iterator[ModuleInfo]:
        by_name = self._program.by_name
        for binding in module.unit.imports:
            source = self._program.absolute(module, binding)
            yield from [by_name[one] for one in (source, f"{source}.{binding.name}") if one in by_name]

    def _list_looked_up(self, call: ir.Call, module: ModuleInfo) -> Iterator[ModuleInfo]:
        """The modules whose definitions a call may find: all in sight of a text that is evaluated, and the one that is asked for what
        has a name that is put together."""
        name = call.func.id if type(call.func) is ir.Name else ""
        if name == "eval":
            self._evaluating.add(module)
            yield from self._list_seen(module, whole=True)
        elif name == "getattr" and len(call.args) > 1 and type(call.args[1]) is not ir.Const:
            asked = call.args[0]
            binding = module.imports.get(asked.id) if type(asked) is ir.Name else None
            value = self._program.resolve_import(module, binding) if binding is not None else None
            if isinstance(value, Module):
                yield from self._list_seen(value.info)

    def _is_plain(self, owner: ClassInfo | None) -> bool:
        """Return whether no library calls methods of a class, but for those that Python calls."""
        return owner is None or all(base.partition(".")[0] in self._plain for base in owner.library_bases())

    def _may_be_uncalled(self, info: FunctionInfo, looked_up: bool) -> bool:
        """Return whether it says something of a function that nothing of the program names it."""
        module, owner = info.module, info.owner
        if info.ir.outer >= 0 or module.testing or info.name.startswith("test") or info.name == "<lambda>":
            return False
        if info.key in self._program.exported:
            return False
        if any(path_of(_callee(one)).rpartition(".")[2] not in _PASSIVE for one in info.ir.decorators):
            return False
        if owner is None:
            return not looked_up
        if not self._is_plain(owner):
            return False
        if _looks_up_methods(owner):
            return False
        return not (looked_up and _is_called_by_python(info))


def _runs_app(module: ModuleInfo) -> bool:
    """Return whether a module has absl run its main function, once flags are parsed."""
    imported = {one.dotted for one in module.unit.imports}
    return "absl.app" in imported and "run" in module.unit.calls


def _is_never_made(klass: ClassInfo, holders: dict[str, set[Holder]], uncalled: set[FunctionInfo]) -> bool:
    """Return whether nothing but a class itself, and what is uncalled, names it."""
    if klass.subclasses or klass.ir.decorators:
        return False
    return holders.get(klass.name, set()) <= (_methods_of(klass) | uncalled | {klass})


def _methods_of(klass: ClassInfo) -> set[Holder]:
    return set(klass.own_methods)


def _looks_up_methods(owner: ClassInfo) -> bool:
    """Return whether methods of a class may call others by names that are put together."""
    return any("getattr" in method.ir.calls for method in owner.own_methods)


def _calls_what_it_looks_up(owner: ClassInfo) -> bool:
    """Return whether methods of a class call what they look up by names that are put together: `getattr(self, name)(x)`."""
    for nodes in (ir.walk(method.body) for method in owner.own_methods if "getattr" in method.ir.calls):
        given = (one for one in nodes if type(one) is ir.Assign and _is_looked_up(one.value))
        names = {path_of(target) for one in given for target in one.targets} - {""}
        called = [one.func for one in nodes if type(one) is ir.Call]
        if any(_is_looked_up(func) or path_of(func) in names for func in called):
            return True
    return False


def _is_looked_up(node: ir.Node) -> bool:
    return type(node) is ir.Call and path_of(node.func) == "getattr"


def _is_called_by_python(info: FunctionInfo) -> bool:
    """Return whether making or calling an object is what calls a method of its class: nobody names that."""
    return info.name == "forward" or info.name.startswith("__")


def _find_installed(modules: list[ModuleInfo]) -> set[str]:
    """Find the folders from which scripts install the packages in them, or in `src`: others import what these define."""
    found: set[str] = set()
    for module in modules:
        if module.name == "setup" and "setup" in module.unit.calls:
            folder = os.path.dirname(module.path)  # noqa: PTH120 - asked of each module of a program
            found.update((folder, os.path.join(folder, "src")))  # noqa: PTH118
    return found


def _folder_of_package(module: ModuleInfo) -> str:
    """Return the folder in which the outermost package stands that holds a module; "" of one that is in none."""
    if not module.package:
        return ""
    levels = module.name.count(".") + module.unit.is_package
    return os.sep.join(module.path.split(os.sep)[: -levels - 1])  # noqa: PTH118, PTH206


def _words(body: bytes) -> set[str]:
    """The names in an encoded body, and the words in its texts."""
    return {one.decode() for one in _WORD.findall(body)}


def _find_spelled(nodes: list[object]) -> set[int]:
    """Find the calls that import a module of which a body spells out what it takes, by their identities: nothing where it is imported for
    what it registers, `net = import_module(name).Net`. Who goes through its `__dict__` finds a class by its name."""
    alone = {id(one.value) for one in nodes if type(one) is ir.Eval}
    names = {
        target.id: id(one.value)
        for one in nodes
        if type(one) is ir.Assign and type(one.value) is ir.Call and last_name(one.value.func) in _IMPORTING
        for target in one.targets
        if type(target) is ir.Name
    }
    given = [target for one in nodes if type(one) is ir.Assign for target in one.targets]
    taken = [_module_taken_from(one) for one in nodes]
    settled = [*(one for one in taken if one is not None), *given]
    counts = Counter(one.id for one in settled if type(one) is ir.Name)
    counts.subtract(Counter(one.id for one in nodes if type(one) is ir.Name))
    plain = {id(one) for one in taken if type(one) is ir.Call}
    return alone | plain | {call for name, call in names.items() if counts[name] == 0}


def _module_taken_from(node: object) -> ir.Node | None:
    """Return that of which an expression takes what it names by itself: `module` of `module.Net` and `getattr(module, "Net")`."""
    if type(node) is ir.Attr and node.name != "__dict__":
        return node.value
    if type(node) is ir.Call and type(node.func) is ir.Name and node.func.id in ("getattr", "hasattr"):
        return node.args[0] if len(node.args) > 1 and type(node.args[1]) is ir.Const else None
    return None


def _named_by_module(module: ModuleInfo) -> Iterator[str]:
    """The words in the statements of a module, and the names that it imports under another one. What it lists for `import *` it names no
    more than by its definition."""
    body = _list_other_statements(module.unit.body)
    yield from _named_by(
        tuple([one for one in body if not (type(one) is ir.Assign and path_of(one.targets[0]) == _ALL)])
    )
    yield from [one.name for one in module.unit.imports if one.name and one.local != one.name]


def _named_by_class(klass: ClassInfo) -> Iterator[str]:
    yield from _named_by(_list_other_statements(klass.ir.body))
    yield from _named_by((*klass.ir.bases, *klass.ir.decorators, *(value for _, value in klass.ir.keywords)))


def _list_other_statements(body: bytes) -> tuple[ir.Statement, ...]:
    """The statements of a module or a class that define neither functions nor classes: these name nothing by that."""
    return tuple([one for one in ir.decode_body(body) if type(one) not in (ir.Define, ir.DefineClass)])


def _nodes_around(info: FunctionInfo) -> tuple[ir.Node, ...]:
    """The decorators of a function, and the defaults and annotations of its parameters."""
    told = [node for param in info.params for node in (param.default, param.annotation) if node is not None]
    return (*info.ir.decorators, *told)


def _named_by(nodes: tuple[ir.Node, ...] | tuple[ir.Statement, ...]) -> Iterator[str]:
    for one in ir.walk(nodes):
        if type(one) is ir.Name:
            yield one.id
        elif type(one) is ir.Attr:
            yield one.name
        elif type(one) is ir.Const and isinstance(one.value, str):
            yield from _words(one.value.encode("utf-8", "surrogateescape"))


def _defines(module: ModuleInfo, name: str) -> bool:
    """Return whether a module defines a function of a name, in no class and no function."""
    own = (one.name == name and one.owner is None and one.ir.outer < 0 for one in module.functions)
    return name not in module.imports and any(own)


def _find_names_used(info: FunctionInfo) -> NamesUsed:
    bound, others = {param.name for param in info.params}, set(_named_by(_nodes_around(info)))
    for one in ir.walk(info.body):
        if type(one) is ir.Attr:
            others.add(one.name)
        elif type(one) is ir.Const and isinstance(one.value, str):
            others.update(_words(one.value.encode("utf-8", "surrogateescape")))
        elif type(one) is ir.Outer:
            others.update(one.names)
        elif type(one) is ir.Assign:
            bound.update(target.id for target in one.targets if type(target) is ir.Name)
        elif type(one) is ir.For and type(one.target) is ir.Name:
            bound.add(one.target.id)
    return NamesUsed(frozenset(bound - others), frozenset(others))


def names_in(nodes: object) -> set[str]:
    """Return the names in expressions and statements, and the words in their texts."""
    return set(_named_by(tuple(nodes) if isinstance(nodes, list) else (nodes,)))


def _spell_start(name: ir.Node) -> str:
    """Return the text by which a name begins that is put together: "models." of `"models." + kind` and of `f"models.{kind}"`."""
    while type(name) is ir.Bin and name.op == "+":
        name = name.left
    if type(name) is ir.Format:
        return name.head
    return name.value if type(name) is ir.Const and isinstance(name.value, str) else ""


def _callee(node: ir.Node) -> ir.Node:
    return node.func if type(node) is ir.Call else node


__all__ = ["Holder", "Uncalled", "names_in"]
