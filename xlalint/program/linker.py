"""The linked program: the modules, classes and functions of all units, and how names lead from one to another.

`link(units)` reads headers only; bodies are decoded when the interpreter first enters a function. What is read is noted with the
program's `DependencyTracker`: it is what an analysis result depends on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar

from xlalint.abstract.values import (
    UNKNOWN,
    Class,
    Function,
    LibrarySymbol,
    Module,
    Value,
    class_value,
    external,
    function,
    module_value,
)
from xlalint.lowering import ir
from xlalint.program.dependencies import DependencySet, DependencyTracker
from xlalint.program.facts import Facts, Progress
from xlalint.program.folders import ImportFolders
from xlalint.program.hints import NOTHING_TAUGHT
from xlalint.source.data_files import names_data

if TYPE_CHECKING:
    from collections.abc import Callable


T = TypeVar("T")
# How many of the subclasses' definitions of an abstract method are followed.
MAX_OVERRIDES: Final = 4
_PYTEST: Final = "pytest"
_TESTING: Final = ("absl.testing", _PYTEST, "unittest")
_MAIN: Final = b"__main__"


class ModuleInfo:
    """One module. `index` is its position in the program, `bit` its place in bit sets.

    A `followed` one is an installed library's: it says what calls into it give, and nothing is reported there. `packages` are the top-level
    packages that it imports, `needs` those of them that it surely imports, in the order of the source. `starred` are the modules of the
    program of which it imports all names, and `at_hand` the packages that it has with these. `testing` is the module that it
    imports to test, or that collects its tests, if any. `taught` is what the configuration says of it, from the moment on when it is
    interpreted, and `shown_targets` are the targets for which it shows to be written.
    """

    def __init__(
        self,
        unit: ir.Unit,
        index: int,
        reader: DependencyTracker,
        followed: bool = False,
        installed: frozenset[str] = frozenset(),
    ) -> None:
        self.unit = unit
        self.followed = followed
        self.reader = reader
        self.index = index
        self.bit = 1 << index
        self.name = unit.module
        self.path = unit.path
        self.imports = _choose_imports(unit.imports, installed)
        self._rebound = _rebound(unit.imports)
        self.stars = [binding for binding in unit.imports if binding.local == "*"]
        self.starred: tuple[ModuleInfo, ...] = ()
        self.packages = frozenset(binding.module.partition(".")[0] for binding in unit.imports if not binding.level)
        self.at_hand = self.packages
        self.needs = needed_packages(unit.imports)
        self.testing = _find_testing(unit)
        self.functions = [FunctionInfo(self, position, f) for position, f in enumerate(unit.functions)]
        self.classes = [ClassInfo(self, position, c) for position, c in enumerate(unit.classes)]
        self.assigned = frozenset(unit.assigned)
        self.taught = NOTHING_TAUGHT
        self.shown_targets: frozenset[str] = frozenset()
        self._assignments: dict[str, ir.Node] | None = None
        self._nested: dict[int, list[FunctionInfo]] | None = None
        self._answers: dict[Callable[[ModuleInfo], Any], Any] = {}

    def changes(self, name: str) -> bool:
        """Return whether imports bind a name to different things, with code between them that may call what uses it.

        Scripts that were notebooks do that: `import jax.numpy as np` at the top, and NumPy under this name behind what they compute.
        """
        between = self._rebound.get(name)
        if between is None:
            return False
        self.reader.current.modules |= self.bit
        statements = ir.decode_body(self.unit.body)[between[0] : between[1]]
        return any(type(one) is not ir.Define and type(one) is not ir.DefineClass for one in statements)

    def assignment(self, name: str) -> ir.Node | None:
        """The expression that module level last assigns to a name."""
        self.reader.current.modules |= self.bit
        if self._assignments is None:
            self._assignments = {}
            for statement in ir.decode_body(self.unit.body):
                if type(statement) is ir.Assign:
                    self._assignments.update(
                        (target.id, statement.value) for target in statement.targets if type(target) is ir.Name
                    )
                elif type(statement) is ir.AnnAssign and type(statement.target) is ir.Name and statement.value:
                    self._assignments[statement.target.id] = statement.value
        return self._assignments.get(name)

    def answers(self, question: Callable[[ModuleInfo], T]) -> T:
        """Answer a question about the module's own text; it is asked once for each text."""
        self.reader.current.modules |= self.bit
        known: T | None = self._answers.get(question)
        if known is None:
            known = self._answers[question] = question(self)
        return known

    @property
    def body(self) -> tuple[ir.Statement, ...]:
        """The module's own statements."""
        return ir.decode_body(self.unit.body)

    def nested_in(self, index: int) -> list[FunctionInfo]:
        """The functions that the body of one defines, by its index; those that are nested deeper aside."""
        if self._nested is None:
            self._nested = {}
            for info in self.functions:
                if info.ir.outer >= 0:
                    self._nested.setdefault(info.ir.outer, []).append(info)
        return self._nested.get(index, [])

    def assigned_values(self) -> Iterator[tuple[ir.Name, ir.Node, int]]:
        """The names that module level's own statements assign, each with its value and the place of the statement."""
        self.reader.current.modules |= self.bit
        for statement in ir.decode_body(self.unit.body):
            if type(statement) is ir.Assign:
                for target in statement.targets:
                    if type(target) is ir.Name:
                        yield target, statement.value, statement.at

    @property
    def package(self) -> str:
        """The dotted name that relative imports start from."""
        return package_of(self.unit)

    def update(self, unit: ir.Unit) -> set[FunctionInfo]:
        """Take the unit of a changed text that has the same interface; the functions that do something else now."""
        changed: set[FunctionInfo] = set()
        for info, function_ir in zip(self.functions, unit.functions, strict=True):
            if info.ir.digest != function_ir.digest:
                changed.add(info)
                info.change()
            info.take(function_ir)
        for klass, class_ir in zip(self.classes, unit.classes, strict=True):
            klass.ir = class_ir
        self.unit = unit
        self._answers = {}
        return changed


class FunctionInfo:
    """One function, method or lambda of the program. `loop_names` are what turns of its loops take over, by the loops' positions."""

    __slots__ = ("_answers", "_body", "_decorators", "index", "ir", "loop_names", "module", "name", "params")

    def __init__(self, module: ModuleInfo, index: int, function_ir: ir.Function) -> None:
        self.module = module
        self.index = index
        self._body: tuple[ir.Statement, ...] | None = None
        self._answers: dict[Callable[[FunctionInfo], Any], Any] | None = None
        self.loop_names: dict[int, frozenset[str] | None] = {}
        self.take(function_ir)

    def take(self, function_ir: ir.Function) -> None:
        """Take what the file's text says of the function."""
        self.ir = function_ir
        self.name = function_ir.name
        self.params = function_ir.params
        self._decorators = tuple(map(_last_name, function_ir.decorators))

    def answers(self, question: Callable[[FunctionInfo], T]) -> T:
        """Answer a question about the function; it is asked once for each text of the body."""
        self.module.reader.read(self)
        if self._answers is None:
            self._answers = {}
        known: T | None = self._answers.get(question)
        if known is None:
            known = self._answers[question] = question(self)
        return known

    @property
    def key(self) -> tuple[int, int]:
        """The name of the function in results that leave the process: (module index, function index)."""
        return self.module.index, self.index

    @property
    def owner(self) -> ClassInfo | None:
        """The class that directly holds the method."""
        return self.module.classes[self.ir.owner] if self.ir.owner >= 0 else None

    @property
    def nested(self) -> list[FunctionInfo]:
        """The functions that its own body defines."""
        return self.module.nested_in(self.index)

    def enclosing(self) -> Iterator[FunctionInfo]:
        """The functions that it is nested in, the nearest first."""
        info = self
        while info.ir.outer >= 0:
            info = info.module.functions[info.ir.outer]
            yield info

    @property
    def body(self) -> tuple[ir.Statement, ...]:
        self.module.reader.read(self)
        if self._body is None:
            self._body = ir.decode_body(self.ir.body)
        return self._body

    def change(self) -> None:
        """Another body takes the place of this one."""
        self._body = self._answers = None
        self.loop_names = {}

    def forget(self) -> None:
        """Drop the decoded body; it is decoded anew when needed."""
        self._body = None

    def decorated(self, *names: str) -> bool:
        """Return whether a decorator's last name is one of these."""
        return bool(self._decorators) and any(last in names for last in self._decorators)

    def promises_nothing(self) -> bool:
        """Return whether the annotation leaves open what is returned, or says that nothing is."""
        declared = self.ir.returns
        return declared is None or (type(declared) is ir.Const and declared.value is None)

    def is_abstract(self) -> bool:
        """Return whether the method is left to subclasses.

        It is where it is declared so, does nothing, or does nothing but raise.
        """
        if self.decorated("abstractmethod", "abstractproperty"):
            return True
        return all(
            type(statement) is ir.Raise or (type(statement) is ir.Eval and type(statement.value) is ir.Const)
            for statement in self.body
        )

    def __repr__(self) -> str:
        return f"<function {self.module.name}:{self.ir.qualname}>"


class ClassInfo:
    """One class of the program; `mro` holds program classes and dotted names of library classes, `lineage` is what that depends on."""

    def __init__(self, module: ModuleInfo, index: int, class_ir: ir.Class) -> None:
        self.module = module
        self.index = index
        self.ir = class_ir
        self.mro: list[ClassInfo | str] = [self]
        self.linked = False
        self.lineage = DependencySet()
        self._subclasses: list[ClassInfo] = []
        self._methods: dict[str, FunctionInfo | None] = {}
        self._below: dict[str, FunctionInfo | None] = {}
        self.overriding: dict[str, tuple[list[FunctionInfo], DependencySet]] = {}
        self._truth: bool | None = None

    @property
    def name(self) -> str:
        return self.ir.name

    @property
    def dotted(self) -> str:
        return f"{self.module.name}.{self.ir.qualname}"

    @property
    def subclasses(self) -> list[ClassInfo]:
        """The classes of the program that name this one as a base."""
        self.module.reader.current.classes.append(self)
        return self._subclasses

    def add_subclass(self, klass: ClassInfo) -> None:
        """Enter a class that names this one as a base."""
        self._subclasses.append(klass)

    @property
    def own_methods(self) -> list[FunctionInfo]:
        """The methods that the class itself defines, those of a name by the last definition."""
        return [self.module.functions[index] for index in self.ir.methods.values()]

    def all_methods(self) -> Iterator[FunctionInfo]:
        """The methods of the class and of its bases in the program; what is found of them depends on their modules."""
        for base in self.mro:
            if isinstance(base, ClassInfo):
                base.module.reader.current.modules |= base.module.bit
                yield from base.own_methods

    def method(self, name: str) -> FunctionInfo | None:
        """The method found along the program's part of the MRO."""
        if name not in self._methods:
            self._methods[name] = self._find_method(name)
        return self._methods[name]

    def _find_method(self, name: str) -> FunctionInfo | None:
        for klass in self.mro:
            if isinstance(klass, ClassInfo):
                found = klass.ir.methods.get(name)
                if found is not None:
                    return klass.module.functions[found]
        return None

    def method_below(self, name: str) -> FunctionInfo | None:
        """The first definition of a method among subclasses: what an abstract class leaves to them."""
        self.module.reader.current.classes.append(self)
        if name not in self._below:
            definers = (subclass for subclass in self._subclasses if name in subclass.ir.methods)
            first = next(definers, None)
            self._below[name] = None if first is None else first.module.functions[first.ir.methods[name]]
        return self._below[name]

    def overrides(self, name: str) -> list[FunctionInfo]:
        """Return what subclasses make of a method, the first few; nothing where this class does not leave it to them."""
        known = self.overriding.get(name)
        if known is not None:
            self.module.reader.use(known[1])
            return known[0]
        found: list[FunctionInfo] = []
        reads = DependencySet()
        self.overriding[name] = (found, reads)
        self.module.reader.overridden.append(self)
        info = self.method(name)
        with self.module.reader.reading(reads):
            if info is not None and self.subclasses and info.is_abstract():
                self._find_overrides(name, found)
        return found

    def _find_overrides(self, name: str, found: list[FunctionInfo]) -> None:
        for subclass in self.subclasses:
            index = subclass.ir.methods.get(name)
            if index is not None and len(found) < MAX_OVERRIDES:
                override = subclass.module.functions[index]
                if not override.is_abstract():
                    found.append(override)

    def library_bases(self) -> list[str]:
        """Dotted names of the library classes among the ancestors."""
        return [klass for klass in self.mro if isinstance(klass, str)]

    def defines_truth(self) -> bool:
        """Return whether instances may be false.

        They may where there is a `__bool__` or `__len__`, or where ancestors are not seen.
        """
        if self._truth is None:
            names = ("__bool__", "__len__")
            self._truth = bool(self.library_bases()) or any(self.method(name) is not None for name in names)
        return self._truth

    def makes_record(self) -> bool:
        """Return whether instances are built from annotated fields.

        They are under a dataclass-like decorator, or for want of an `__init__`.
        """
        for klass in self.mro:
            if isinstance(klass, ClassInfo):
                if any(_last_name(decorator) in _RECORD_DECORATORS for decorator in klass.ir.decorators):
                    return True
                if "__init__" in klass.ir.methods:
                    return False
        return True

    def __repr__(self) -> str:
        return f"<class {self.dotted}>"


_RECORD_DECORATORS: Final = frozenset(
    ("dataclass", "define", "frozen", "attrs", "s", "pytree_dataclass", "register_pytree_dataclass")
)


def _last_name(node: ir.Node) -> str:
    if type(node) is ir.Call:
        node = node.func
    return node.name if type(node) is ir.Attr else node.id if type(node) is ir.Name else ""


def _choose_imports(bindings: Iterable[ir.Binding], installed: frozenset[str]) -> dict[str, ir.Binding]:
    """Return which import binds each name: the last, or of those that the program may do without that of an installed package."""
    chosen: dict[str, ir.Binding] = {}
    for one in bindings:
        earlier = chosen.get(one.local)
        stays = one.guarded and earlier is not None and earlier.guarded and _is_of(earlier, installed)
        if one.local != "*" and not (stays and not _is_of(one, installed)):
            chosen[one.local] = one
    return chosen


def _is_of(binding: ir.Binding, packages: frozenset[str]) -> bool:
    return not binding.level and binding.module.partition(".")[0] in packages


def _rebound(bindings: Iterable[ir.Binding]) -> dict[str, tuple[int, int]]:
    """The names that imports surely bind to different things, and the statements of module level between the first and the last."""
    last: dict[str, ir.Binding] = {}
    rebound: dict[str, tuple[int, int]] = {}
    for one in bindings:
        earlier = last.get(one.local, one)
        last[one.local] = one
        if one.local != "*" and not one.guarded and _source(one) != _source(earlier) and one.before > earlier.before:
            rebound[one.local] = (rebound.get(one.local, (earlier.before, 0))[0], one.before)
    return rebound


def _source(binding: ir.Binding) -> tuple[str, int]:
    return binding.dotted, binding.level


def _find_testing(unit: ir.Unit) -> str:
    """Return the module for tests that is imported and used, the first by name, or that collects a file's tests by their names, or ""."""
    found = [
        (name, one.local)
        for name in _TESTING
        for one in unit.imports
        if not one.level and f"{one.module}.".startswith(f"{name}.")
    ]
    used = [name for name, local in found if _names_tests(unit) or _uses(unit, local)]
    return min(used, default="") or (_PYTEST if _is_collected(unit) else "")


def _names_tests(unit: ir.Unit) -> bool:
    """Return whether a file is called one of tests, or something in it is."""
    names = [unit.module.rpartition(".")[2], *(one.name for one in unit.functions), *(one.name for one in unit.classes)]
    return any("test" in name.lower() for name in names)


def _uses(unit: ir.Unit, name: str) -> bool:
    """Return whether a file does something with what it imports under a name, if only perhaps."""
    bodies = [unit.body, *(one.body for one in unit.functions), *(one.body for one in unit.classes)]
    nodes = [one.decorators for one in unit.functions] + [one.bases + one.decorators for one in unit.classes]
    named = (one.id for one in ir.walk(tuple(nodes)) if type(one) is ir.Name)
    return name == "*" or name in named or any(name.encode() in body for body in bodies)


def _is_collected(unit: ir.Unit) -> bool:
    """Return whether pytest collects tests of a file that starts nothing itself: `test_….py` with functions `test_…` that take nothing.

    An evaluation may have such a name, too: it takes what it evaluates.
    """
    name = unit.module.rpartition(".")[2]
    if not (name.startswith("test_") or name.endswith("_test")) or _MAIN in unit.body:
        return False
    tests = [index for name, index in unit.defs.items() if name.startswith("test_") and index >= 0]
    return bool(tests) and unit.defs.keys().isdisjoint(unit.calls) and not any(unit.functions[i].params for i in tests)


def needed_packages(bindings: Iterable[ir.Binding]) -> tuple[str, ...]:
    """The top-level packages that imports surely bring in, in the order of the source."""
    sure = (binding for binding in bindings if not binding.level and not binding.guarded)
    return tuple(dict.fromkeys(binding.module.partition(".")[0] for binding in sure))


def package_of(unit: ir.Unit) -> str:
    """The dotted name that a file's relative imports start from."""
    return unit.module if unit.is_package else unit.module.rpartition(".")[0]


def absolute_name(package: str, binding: ir.Binding) -> str:
    """The dotted module that an import in a module of a package names."""
    if not binding.level:
        return binding.module
    parts = package.split(".") if package else []
    parts = parts[: len(parts) - (binding.level - 1)]
    return ".".join([*parts, binding.module] if binding.module else parts)


def _undescribed(dotted: str) -> bool:
    return False


class Program:
    """All modules of a run, by dotted name and by path; the installed ones that are `followed` come last.

    `data` are its files of data. `described` says of a dotted name whether it is known what the library's thing of that name does: then its
    source is not asked. `installed` are packages that a program has whose imports provide for their absence. `configured` are the names of
    attributes that something assigns from outside of their class. `searched` says that it adds to the folders in which Python looks for
    modules; `libraries` are packages that it then finds there no more than elsewhere.
    """

    def __init__(
        self,
        units: Iterable[ir.Unit],
        followed: Iterable[ir.Unit] = (),
        described: Callable[[str], bool] = _undescribed,
        installed: frozenset[str] = frozenset(),
        libraries: frozenset[str] = frozenset(),
    ) -> None:
        self.reader = DependencyTracker()
        self.progress = Progress()
        self.modules = [ModuleInfo(unit, index, self.reader, installed=installed) for index, unit in enumerate(units)]
        self.linted = len(self.modules)
        for unit in followed:
            self.modules.append(ModuleInfo(unit, len(self.modules), self.reader, followed=True, installed=installed))
        self.data = [module for module in self.modules if names_data(module.name)]
        self.described = described
        self.installed = installed
        self.by_name: dict[str, ModuleInfo] = {}
        for module in self.modules:
            self.by_name.setdefault(module.name, module)
        self.searched = any(module.unit.searched for module in self.modules[: self.linted])
        self._folders = ImportFolders(self.modules[: self.linted], self.by_name, libraries if self.searched else None)
        for name, module in self._folders.modules.items():
            self.by_name.setdefault(name, module)
        for module in self.modules[: self.linted]:
            if module.stars:
                module.starred = self._find_starred(module)
                module.at_hand = module.packages.union(*[one.packages for one in module.starred])
        self.evaluate: Callable[[ModuleInfo, str], Value | None] = lambda module, name: None
        self.decorate: Callable[[FunctionInfo], Value] = function
        self.names = self.no_names()
        self.asked: Facts[tuple[Callable[[ModuleInfo, Program], Any], int], Any] = Facts(
            self.reader,
            self.progress,
            "asked",
            lambda key: f"{key[1]:08} {key[0].__module__} {key[0].__qualname__}",
            lambda key: None,
            lambda key: key[0](self.modules[key[1]], self),
        )
        self._exported: frozenset[tuple[int, int]] | None = None
        self._imported: dict[ModuleInfo, tuple[ModuleInfo, ...]] = {}
        self.configured = frozenset([name for module in self.modules for name in module.unit.configured])
        for module in self.modules:
            for klass in module.classes:
                self._link_class(klass)

    def _find_starred(self, module: ModuleInfo) -> tuple[ModuleInfo, ...]:
        """Return the modules of the program of which a module imports all names, and those of which these do."""
        found: dict[ModuleInfo, None] = {}
        todo = [module]
        while todo:
            current = todo.pop()
            for binding in current.stars:
                source = self.by_name.get(self.absolute(current, binding))
                if source is not None and source is not module and source not in found and not source.followed:
                    found[source] = None
                    todo.append(source)
        return tuple(found)

    def answer(self, question: Callable[[ModuleInfo, Program], T], module: ModuleInfo) -> T:
        """Answer a question about a module and what hangs together with it, by text alone; it is worked out once."""
        found: T = self.asked.of((question, module.index))
        return found

    # --------------------------------------------------------------------------------------------- names

    def no_names(self) -> Facts[tuple[int, str], Value | None]:
        """Make an empty table of what the names of modules are, by module and name.

        A name that is asked for in a circle is none.

        What module level assigns is not kept: it goes with the module's own statements.
        """
        return Facts(
            self.reader,
            self.progress,
            "name",
            lambda key: f"{key[0]:08} {key[1]}",
            lambda key: None,
            self._find_global,
            lambda key: key[1] not in self.modules[key[0]].assigned,
        )

    def absolute(self, module: ModuleInfo, binding: ir.Binding) -> str:
        """The dotted module that an import names, seen from `module`: a key of `by_name`, if the program has it."""
        name = absolute_name(module.package, binding)
        return name if binding.level else self._folders.find(module, name, binding.name)

    def imported_by(self, module: ModuleInfo) -> tuple[ModuleInfo, ...]:
        """The other modules of the program that a module's imports name, what an installed package has aside."""
        known = self._imported.get(module)
        if known is None:
            found: dict[ModuleInfo, None] = {}
            for binding in module.unit.imports:
                name = self.absolute(module, binding)
                for source in (self.by_name.get(name), self.by_name.get(f"{name}.{binding.name}")):
                    if source is not None and source is not module and not source.followed:
                        found[source] = None
            known = self._imported[module] = tuple(found)
        return known

    @property
    def exported(self) -> frozenset[tuple[int, int]]:
        """The keys of what users of a library call: functions and methods of classes that its packages import from their modules."""
        if self._exported is None:
            packages = (module for module in self.modules[: self.linted] if module.unit.is_package)
            imports = (
                (module, binding)
                for module in packages
                for binding in module.unit.imports
                if binding.name or binding.local == "*"
            )
            named = ((self.by_name.get(self.absolute(module, one)), one) for module, one in imports)
            defined = ((source, _list_imported(source, one)) for source, one in named if source is not None)
            self._exported = frozenset(
                key for source, indices in defined for index in indices for key in _public_keys(source, index)
            )
        return self._exported

    def resolve_import(self, module: ModuleInfo, binding: ir.Binding) -> Value:
        """Return what an import binds its local name to."""
        source = self.absolute(module, binding)
        if not binding.name:
            return self.find_module(source)
        return self.member(source, binding.name)

    def find_module(self, dotted: str) -> Value:
        """Return the module of that name, or the library's."""
        found = self.by_name.get(dotted)
        return module_value(found) if found is not None else external(dotted)

    def member(self, dotted: str, name: str) -> Value:
        """The member `name` of the module of that dotted name."""
        found = self.by_name.get(dotted)
        if found is not None:
            return self.member_of(found, name)
        return self.find_module(f"{dotted}.{name}" if dotted else name)

    def member_of(self, module: ModuleInfo, name: str) -> Value:
        """The member `name` of a module, which may be a module of its package."""
        value = self.global_value(module, name)
        return value if value is not None else self.find_module(f"{module.name}.{name}")

    def global_value(self, module: ModuleInfo, name: str) -> Value | None:
        """Return what the module-level `name` is, or None where it is not there.

        It may be a definition, an import, a submodule or a computed value.
        """
        key = (module.index, name)
        fact = self.names.known.get(key)
        if fact is not None:
            return self.names.use(fact)
        if self._may_be_rebound(module, name):
            self.evaluate(module, "")  # before the name is being asked for: what runs there may ask for it, too
        return self.names.of(key)

    def _find_global(self, key: tuple[int, str]) -> Value | None:
        module = self.modules[key[0]]
        self.reader.current.modules |= module.bit
        return self._global(module, key[1])

    def _may_be_rebound(self, module: ModuleInfo, name: str) -> bool:
        """Return whether a name is a decorated function's, to which module level may give another value."""
        index = module.unit.defs.get(name, -1)
        return index >= 0 and bool(module.functions[index].ir.decorators) and name not in module.imports

    def _global(self, module: ModuleInfo, name: str) -> Value | None:
        if module.followed and self.described(f"{module.name}.{name}"):
            return external(f"{module.name}.{name}")
        index = module.unit.defs.get(name)
        if index is not None and self._may_be_rebound(module, name):
            return self.evaluate(module, name) or self.decorate(module.functions[index])
        binding = module.imports.get(name)
        stands_in = binding is not None and binding.guarded and _is_of(binding, self.installed)
        if index is not None and not stands_in:
            return function(module.functions[index]) if index >= 0 else class_value(module.classes[-1 - index])
        if binding is not None:
            return UNKNOWN if module.changes(name) else self.resolve_import(module, binding)
        if name in module.assigned:
            return self._alias(module, name) or self.evaluate(module, name)
        for star in module.stars:
            source = self.absolute(module, star)
            found = self.by_name.get(source)
            value = self.global_value(found, name) if found is not None else None
            if value is not None:
                return value
        submodule = self.by_name.get(f"{module.name}.{name}")
        return module_value(submodule) if submodule is not None else None

    def _alias(self, module: ModuleInfo, name: str) -> Value | None:
        """Return what `name = other.thing` at module level names, where that is a definition or a library's."""
        node = module.assignment(name)
        if not isinstance(node, (ir.Name, ir.Attr)) or (type(node) is ir.Name and node.id == name):
            return None
        value = self.resolve(module, node)
        return value if isinstance(value, (Class, LibrarySymbol, Function)) else None

    def resolve(self, module: ModuleInfo, node: ir.Node) -> Value | None:
        """The value of a dotted name at module level."""
        if type(node) is ir.Name:
            return self.global_value(module, node.id)
        if type(node) is ir.Attr:
            base = self.resolve(module, node.value)
            return None if base is None else self.attribute(base, node.name)
        if type(node) is ir.Sub:
            return self.resolve(module, node.value)
        return None

    def attribute(self, base: Value, name: str) -> Value | None:
        """A member of a module, library or class value, as far as linking knows it."""
        if isinstance(base, Module):
            return self.member_of(base.info, name)
        if isinstance(base, LibrarySymbol):
            return self.find_module(f"{base.name}.{name}")
        if isinstance(base, Class):
            found = base.info.method(name)
            return self.decorate(found) if found is not None else None
        return None

    # ------------------------------------------------------------------------------------------- classes

    def _link_class(self, klass: ClassInfo) -> None:
        """Compute the class's MRO once, its bases' first."""
        self.reader.use(klass.lineage)
        if klass.linked:
            return
        klass.linked = True
        klass.lineage.modules = klass.module.bit
        with self.reader.reading(klass.lineage):
            self._link_bases(klass)

    def _link_bases(self, klass: ClassInfo) -> None:
        lines: list[list[ClassInfo | str]] = []
        direct: list[ClassInfo | str] = []
        for node in klass.ir.bases:
            for base in self._bases(klass, node):
                if isinstance(base, ClassInfo):
                    self._link_class(base)
                    lines.append(list(base.mro))
                    base.add_subclass(klass)
                else:
                    lines.append([base])
                direct.append(base)
        klass.mro = [klass, *merge_mro([*lines, direct])]

    def _bases(self, klass: ClassInfo, node: ir.Node) -> list[ClassInfo | str]:
        if type(node) is ir.Name and node.id == klass.name:
            binding = klass.module.imports.get(node.id)
            value = None if binding is None else self.resolve_import(klass.module, binding)
        elif type(node) is ir.Call:
            bases = [base for arg in node.args for base in self._bases(klass, arg)]
            return bases or ["?"]
        else:
            value = self.resolve(klass.module, node)
        if isinstance(value, Class) and value.info is not klass:
            return [value.info]
        if isinstance(value, LibrarySymbol):
            return [value.name]
        return [] if value is None and type(node) is ir.Name and node.id == "object" else ["?"]


def _list_imported(module: ModuleInfo, binding: ir.Binding) -> list[int]:
    """List what an import from a module binds, by the indices that `Unit.defs` has.

    With `*` it is all public names; of a module that lists them itself, in `__all__`, a header does not tell which.
    """
    defs = module.unit.defs
    if binding.local != "*":
        return [defs[binding.name]] if binding.name in defs else []
    if "__all__" in module.assigned:
        return []
    return [index for name, index in defs.items() if not name.startswith("_")]


def _public_keys(module: ModuleInfo, index: int) -> Iterable[tuple[int, int]]:
    """The keys of a function, or of a class's public methods, by the index that `Unit.defs` has for it."""
    if index >= 0:
        yield (module.index, index)
        return
    for klass in module.classes[-1 - index].mro:
        if isinstance(klass, ClassInfo):
            named = klass.ir.methods.items()
            yield from (
                (klass.module.index, at) for name, at in named if name == "__call__" or not name.startswith("_")
            )


def merge_mro(lines: list[list[ClassInfo | str]]) -> list[ClassInfo | str]:
    """The C3 merge of the bases' orders; where it does not exist, the bases depth first, each once."""
    result: list[ClassInfo | str] = []
    rest = [list(line) for line in lines if line]
    while rest:
        head = next(
            (line[0] for line in rest if not any(line[0] in other[1:] for other in rest)),
            None,
        )
        if head is None:
            return list(dict.fromkeys([*result, *(base for line in rest for base in line)]))
        result.append(head)
        rest = [kept for line in rest if (kept := [base for base in line if base is not head and base != head])]
    return result


def link(
    units: Iterable[ir.Unit],
    followed: Iterable[ir.Unit] = (),
    described: Callable[[str], bool] = _undescribed,
    installed: frozenset[str] = frozenset(),
    libraries: frozenset[str] = frozenset(),
) -> Program:
    """Link units into one program. Units with the same module name stay apart; imports find the first."""
    return Program(units, followed, described, installed, libraries)
