"""The names of a program, and what they are in a run in which nobody asks for anything: options of the command line, parameters,
attributes.

A name is known where all that the program gives it are constants, or other names that are known. A condition that asks for such names
comes out as it does in that run; what runs only where it comes out otherwise says what has to be asked for. That is found for programs
alone, which a script starts: what a library offers, others may give something else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple, Union

from xlalint.interpreter.device_loops import CALLED_AS_OBJECTS, last_name
from xlalint.interpreter.given_values import (
    ATTRIBUTE,
    CONSTANT,
    ENTRY,
    INIT,
    PARSING,
    VARIABLE,
    CommandOption,
    Gifts,
    Provenance,
    Setting,
    find_given,
    sources_of,
)
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir
from xlalint.program.dependencies import DependencySet
from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from xlalint.interpreter.uncalled import Uncalled
    from xlalint.program.linker import Program

_Holder = Union[FunctionInfo, ClassInfo, ModuleInfo]
NAMESPACES: Final = frozenset(("argparse.Namespace", "absl.flags.FLAGS"))
"""What holds the options of a program: the class of it, or itself."""
_PASSIVE: Final = frozenset(("staticmethod", "classmethod", "property", "no_grad", "inference_mode", "enable_grad"))
# What the launcher of a program gives, or a library does.
_OTHERS: Final = ("rank", "cuda", "gpu", "tpu", "xla", "device", "training", "grad")
_MOST: Final = 8  # constants that a name may be
_PARSING: Final = frozenset((PARSING, "parse_known_args"))
_OWN_CLASS: Final = frozenset(("cls", "__class__"))

_SHARED, _OWN, _ENTRY = "", "self", "[]"
_SETTABLE: Final = frozenset(("set_defaults", "Namespace", "SimpleNamespace", "replace", "_replace"))
_Node = tuple[str, str]
"""A name: where it is a variable, or whose attribute: of an object (`_OWN`), or of what holds settings (`_SHARED`); and its spelling."""
_Constant = tuple[str, Setting]
"""The type of a constant, and that: `True` is no 1."""


class DefaultOutcome(NamedTuple):
    """How a condition comes out where nothing is asked for; the expressions that decide it, and the words for what has to be asked for."""

    holds: bool
    deciding: tuple[ir.Node, ...]
    only: str


class Switches:
    """Tells what the names of a program are where nobody gives them anything else, worked out once for it. `none` says that no name is
    known, as soon as that is known."""

    def __init__(self, program: Program, uncalled: Uncalled) -> None:
        self._program = program
        self._uncalled = uncalled
        self._given: dict[_Holder, Gifts] = {}
        self._found = _NOTHING
        self._worked_out = False
        self.none = False

    def after(self, module: ModuleInfo, changed: Collection[FunctionInfo]) -> Switches:
        """The switches of the program with changed bodies of some functions of a module: these, where all give names what they gave."""
        if not self._given:
            return self
        holders: tuple[_Holder, ...] = (module, *module.classes, *changed)
        fresh = {holder: _gifts_of(holder) for holder in holders}
        if all(self._given.get(holder) == given for holder, given in fresh.items()):
            return self
        other = Switches(self._program, self._uncalled)
        other._given = {**self._given, **fresh}
        return other

    def digest(self) -> bytes:
        """Digest all that was found: what was made of it holds as long as this is the same."""
        text = "\n".join(sorted([f"{node}\0{one}" for node, one in self._find().names.items()]))
        return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).digest()

    def knows_any(self) -> bool:
        """Return whether any name is known."""
        return bool(self._find().names)

    def _find(self) -> KnownNames:
        if not self._worked_out:
            self._worked_out = True
            with self._program.reader.reading(DependencySet()):  # `digest` speaks for it
                self._work_out()
            self.none = not self._found.names
        return self._found

    def _work_out(self) -> None:
        if not self._uncalled.has_script():
            return
        modules = self._program.modules[: self._program.linted]
        holders: list[_Holder] = []
        for module in modules:
            holders += (module, *module.classes, *module.functions)
        for holder in holders:
            if holder not in self._given:
                self._given[holder] = _gifts_of(holder)
        if any(one.opens for one in self._given.values()):
            return
        search = _Search(self._program, self._given)
        closed = self._uncalled.find_closed()
        for info in (info for module in modules for info in module.functions):
            search.take_in(info, closed=info in closed)
        self._found = search.settle()

    def outcome(self, test: ir.Node, function: FunctionInfo | None, module: ModuleInfo) -> DefaultOutcome | None:
        """Return how a condition of a body comes out where nothing is asked for; None where it does not follow."""
        found = self._find()
        return _Reading(found, self._given, self._program, function or module).outcome(test) if found.names else None


class KnownName(NamedTuple):
    """All that a name may be, and how the options are spelled that it comes from."""

    values: tuple[_Constant, ...]
    options: tuple[CommandOption, ...] = ()


class KnownNames(NamedTuple):
    """All that was found: the names that are known, of attributes those that hold settings (`shared`); the names of what holds the options
    (`namespaces`), and of objects that may have anything (`filled`)."""

    names: dict[_Node, KnownName]
    shared: frozenset[str]
    namespaces: frozenset[str]
    filled: frozenset[str]


_NOTHING: Final = KnownNames({}, frozenset(), frozenset(), frozenset())


class _Names:
    """Tells which names the expressions in a body read and write. `shared` are the attributes of what holds settings."""

    def __init__(self, program: Program, given: dict[_Holder, Gifts], shared: frozenset[str], holder: _Holder) -> None:
        self._program = program
        self._given = given
        self._shared = shared
        self._holder = holder
        self._module = holder if isinstance(holder, ModuleInfo) else holder.module

    def find_given(self, target: Provenance) -> tuple[_Node, ...]:
        """Return the names that are given what is assigned: an attribute of whatever object may be either kind's."""
        if target.kind == ENTRY:
            return (_ENTRY, target.text), (_OWN, target.text)
        found = self.find(target)
        if found is None or found[0] not in (_SHARED, _OWN):
            return () if found is None else (found,)
        return (found,) if _is_own(target) else ((_SHARED, found[1]), (_OWN, found[1]))

    def find(self, source: Provenance) -> _Node | None:
        """Return the name, None of what is none of the program."""
        if source.kind == VARIABLE:
            return self._find_variable(source.text)
        holder, _, name = source.text.rpartition(".")
        if holder and holder.partition(".")[0] in self._module.imports:
            module = self._find_module(holder)
            if module is not None:
                return _spell(module), name
            if self._is_of_library(holder.partition(".")[0]):
                return None
        return _OWN if _is_own(source) or name not in self._shared else _SHARED, name

    def _find_variable(self, name: str) -> _Node | None:
        holder = self._holder
        if isinstance(holder, ClassInfo):
            holder = holder.module
        if isinstance(holder, FunctionInfo):
            for info in (holder, *holder.enclosing()):
                if name in self._given[info].bound or any(param.name == name for param in info.params):
                    return _spell(info), name
            holder = holder.module
        return self._find_global(holder, name)

    def _find_global(self, module: ModuleInfo, name: str) -> _Node | None:
        binding = module.imports.get(name)
        if binding is None:
            return (_spell(module), name) if name in self._given[module].bound else None
        source = self._program.by_name.get(self._program.absolute(module, binding))
        if source is None or source not in self._given or not binding.name:
            return None
        return (_spell(source), binding.name) if binding.name in self._given[source].bound else None

    def _is_of_library(self, name: str) -> bool:
        source = self._program.absolute(self._module, self._module.imports[name])
        return source.partition(".")[0] not in self._program.by_name and source not in self._program.by_name

    def _find_module(self, name: str) -> ModuleInfo | None:
        binding = self._module.imports.get(name)
        if binding is None:
            return None
        source = self._program.absolute(self._module, binding)
        by_name = self._program.by_name
        found = by_name.get(f"{source}.{binding.name}" if binding.name else source)
        return found if found in self._given else None


class _Reading(_Names):
    """Reads a condition that stands in a body."""

    def __init__(self, found: KnownNames, given: dict[_Holder, Gifts], program: Program, holder: _Holder) -> None:
        super().__init__(program, given, found.shared, holder)
        self._found = found

    def outcome(self, test: ir.Node) -> DefaultOutcome | None:
        """Return how a condition comes out by default."""
        if type(test) is ir.Not:
            found = self.outcome(test.value)
            return None if found is None else found._replace(holds=not found.holds)
        if type(test) is ir.Bool:
            return self._of_chain(test)
        if type(test) is ir.Compare:
            return self._of_compare(test)
        known = self._read(test)
        holds = _agree(bool(value) for _, value in known.values)
        return None if holds is None else DefaultOutcome(holds, (test,), _describe(test, known, holds))

    def _of_chain(self, test: ir.Bool) -> DefaultOutcome | None:
        found = [self.outcome(one) for one in test.values]
        for one in found:
            if one is not None and one.holds is not test.is_and:
                return one
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        deciding = tuple([node for one in known for node in one.deciding])
        return known[0]._replace(deciding=deciding)

    def _of_compare(self, test: ir.Compare) -> DefaultOutcome | None:
        if len(test.ops) != 1:
            return None
        op, asked = test.ops[0], list(_constants(test.rights[0]))
        known = self._read(test.left)
        if not asked or not known.values or (known.options and any(_is_choice(value) for _, value in known.values)):
            return None
        outcomes = [_compare(op, value, asked) for value in known.values]
        if None in outcomes:
            return None
        holds = _agree(map(bool, outcomes))
        if holds is None:
            return None
        return DefaultOutcome(holds, (test.left,), _describe(test.left, known, holds, op, asked))

    def _read(self, node: ir.Node) -> KnownName:
        """Return what is read where nobody gives anything; no values of what may be anything."""
        if not isinstance(node, (ir.Name, ir.Attr, ir.Sub, ir.Call)):
            return _UNKNOWN
        sources = list(sources_of(node))
        options: set[CommandOption] = set()
        values: set[_Constant] = set()
        for source in sources:
            if source.kind == CONSTANT:
                values.add((source.text, source.value))
                continue
            known = self._read_name(source) if source.kind else _UNKNOWN
            if not known.values:
                return _UNKNOWN
            values.update(known.values)
            options.update(known.options)
        return KnownName(tuple(sorted(values, key=str)), tuple(sorted(options)))

    def _read_name(self, source: Provenance) -> KnownName:
        name = self.find(source)
        names = self._found.names
        known = names.get(name, _UNKNOWN) if name is not None else _UNKNOWN
        if name is None or name[0] not in (_SHARED, _OWN) or not known.values:
            return known
        if not self._found.filled.isdisjoint(source.text.split(".")[:-1]):
            return _UNKNOWN
        if name[0] == _OWN and not _is_own(source) and any(value for _, value in known.values):
            return _UNKNOWN  # an object that happens to have an attribute of that name
        if name[0] == _SHARED and not _is_read_of(source, self._found.namespaces):
            known = known if names.get((_OWN, name[1]), _UNKNOWN).values == known.values else _UNKNOWN
        return known


_UNKNOWN: Final = KnownName(())


def _is_choice(value: Setting) -> bool:
    """Return whether a default is one of several ways to do a thing, each of which some run takes: what is off has no text."""
    return isinstance(value, str) and value != ""


def _agree(outcomes: Iterable[bool]) -> bool | None:
    found = set(outcomes)
    return found.pop() if len(found) == 1 else None


def _constants(node: ir.Node) -> Iterator[_Constant]:
    """The constants that an expression is, or lists; nothing of others."""
    items = node.items if type(node) is ir.Display else (node,)
    if all(type(one) is ir.Const for one in items):
        yield from [(type(one.value).__name__, one.value) for one in items if type(one) is ir.Const]


def _compare(op: str, known: _Constant, asked: list[_Constant]) -> bool | None:
    """Return how a comparison comes out, None where Python would not compare so."""
    value, others = known[1], [other for _, other in asked]
    if op in ("in", "not in"):
        return (value in others) is (op == "in")
    other = others[0]
    if len(others) > 1:
        return None
    if op in ("==", "is", "!=", "is not"):
        return (value == other) is (op in ("==", "is"))
    if isinstance(value, (str, type(None))) or isinstance(other, (str, type(None))):
        return None
    orders = {"<": value < other, "<=": value <= other, ">": value > other, ">=": value >= other}
    return orders.get(op)


def _describe(node: ir.Node, known: KnownName, holds: bool, op: str = "", asked: list[_Constant] | None = None) -> str:
    """Say in which runs a condition does not come out as it does by default."""
    name = _name_read(node)
    option = known.options[0].spelled if known.options else ""
    equal = op in ("==", "is", "in") if not holds else op in ("!=", "is not", "not in")
    if equal and asked and asked[0][1]:
        wanted = "` or `".join([str(value) for _, value in asked])
        return f"only with `{option} {wanted}`" if option else f"only where `{name}` is `{wanted}`{_NOWHERE}"
    if not any(value for _, value in known.values):
        return f"only with `{option}`" if option else f"only if `{name}` is set, which nothing in this program does"
    usual = known.values[0][1]
    if known.options and known.options[0].denies:
        return f"only with `{option}`"
    return (
        f"only with another `{option}` than `{usual}`" if option else f"only where `{name}` is not `{usual}`{_NOWHERE}"
    )


_NOWHERE: Final = ", which it nowhere is in this program"


class _Search:
    """The search for names that are known, from all that a program gives to names."""

    def __init__(self, program: Program, given: dict[_Holder, Gifts]) -> None:
        self._program = program
        self._given = given
        self._values: defaultdict[_Node, set[_Constant]] = defaultdict(set)
        self._edges: defaultdict[_Node, set[tuple[_Node, bool]]] = defaultdict(set)  # from what is read
        self._open: set[_Node] = set()
        self._options: set[CommandOption] = set()
        self._passed: defaultdict[str, set[tuple[int | str, Provenance, _Holder]]] = defaultdict(set)
        self._starred: set[str] = set()
        self._calls: defaultdict[str, set[tuple[int, frozenset[str]]]] = defaultdict(set)
        self._classes = {holder.name for holder in given if isinstance(holder, ClassInfo)}
        self.namespaces = self._find_namespaces()
        self._handed: set[str] = set()
        self._assigned: set[str] = set()
        self.filled = frozenset(name for one in given.values() for name in one.filled if name != "self")
        self.shared = frozenset(
            name for one in given.values() for name in (*one.shared, *(option.name for option in one.options))
        )
        for holder, one in given.items():
            self._take_gifts(holder, one)
        objects = [callee for callee in self._passed if self._may_be_object(callee)]
        self._objects = {one for callee in objects for one in self._passed[callee]}
        self._fills_objects = any(map(self._may_be_object, self._starred))

    def _take_gifts(self, holder: _Holder, one: Gifts) -> None:
        names = self._names_in(holder)
        if "self" in one.filled:
            self._open.update([(_OWN, name) for name in _list_attributes(holder)])
        for target, source in one.values:
            self._assigned.add(target.text.rpartition(".")[2])
            for node in names.find_given(target):
                self._give(node, source, names)
        self._options.update(one.options)
        for callee, place, source in one.passed:
            self._passed[_key_of_call(callee, holder)].add((place, source, holder))
        self._starred.update([_key_of_call(callee, holder) for callee in one.starred])
        for callee, filled, keywords in one.calls:
            self._calls[_key_of_call(callee, holder)].add((filled, keywords))
        self._handed.update(one.handed)

    def _names_in(self, holder: _Holder) -> _Names:
        return _Names(self._program, self._given, self.shared, holder)

    def _give(self, node: _Node, source: Provenance, names: _Names) -> None:
        """Note that a name is given what is read there."""
        if source.kind == CONSTANT and not (source.asks and source.value):
            self._values[node].add((source.text, source.value))
            return
        read = names.find(source) if source.kind not in ("", CONSTANT) else None
        holders = source.text.split(".")[:-1]
        if read is None or not self.filled.isdisjoint(holders):
            self._open.add(node)
        else:
            self._edges[read].add((node, source.asks))
            if read[0] == _SHARED and not _is_read_of(source, self.namespaces):
                self._edges[_OWN, read[1]].add((node, source.asks))

    def _may_be_object(self, callee: str) -> bool:
        """Return whether what is called by a name may be an object: something is assigned to that, or it is no name."""
        return not callee or callee in self._assigned

    def take_in(self, info: FunctionInfo, *, closed: bool) -> None:
        """Take in the parameters of a function: their defaults, and what calls pass them."""
        names = _names_of(info)
        bound = info.owner is not None and not any(path_of(one) == "staticmethod" for one in info.ir.decorators)
        called = info.name in CALLED_AS_OBJECTS
        handed = not called and not self._handed.isdisjoint(names)
        filled = not self._starred.isdisjoint(names) or (called and self._fills_objects)
        told = closed and not (handed or filled or _is_decorated(info)) and info.name != "<lambda>"
        passed = [one for name in names for one in self._passed.get(name, ())] if told else []
        if told and called:
            passed += self._objects
        calls = {call for name in self._list_calling(info, names) for call in self._calls.get(name, ())}
        scope = _spell(info)
        around = self._names_in(info.module)
        if info.params[:bound]:
            self._open.add((scope, info.params[0].name))
        for place, param in enumerate(info.params[bound:]):
            node = scope, param.name
            if not told or param.kind in ("*", "**"):
                self._open.add(node)
                continue
            is_left_out = not calls or any(place >= filled and param.name not in given for filled, given in calls)
            for source in sources_of(param.default) if param.default is not None and is_left_out else ():
                self._give(node, source, around)
            for at, source, holder in passed:
                if at == param.name or (at == place and param.kind != "k"):
                    self._give(node, source, self._names_in(holder))

    @staticmethod
    def _list_calling(info: FunctionInfo, names: set[str]) -> Collection[str]:
        """The names by which calls are kept that say all that a function is passed: not those of objects, nor what a constructor calls of
        its base."""
        if info.name in CALLED_AS_OBJECTS:
            return frozenset()
        return names - {f"{info.owner.name}.{INIT}"} if info.owner is not None and info.name == INIT else names

    def _take_keywords(self) -> None:
        """Take in the keywords of calls: those of a function that names no such parameter are entries of what it takes besides."""
        functions: defaultdict[str, list[FunctionInfo]] = defaultdict(list)
        for holder in self._given:
            if isinstance(holder, FunctionInfo):
                for name in _names_of(holder):
                    functions[name].append(holder)
            elif isinstance(holder, ClassInfo):
                self._take_fields(holder)
        for callee, passed in self._passed.items():
            takers = functions.get(callee, ())
            whole = bool(takers) and all(all(param.kind != "**" for param in one.params) for one in takers)
            for at, source, holder in () if whole else passed:
                if isinstance(at, str):
                    of_settings = callee in _SETTABLE or callee in self._classes
                    for kind in (_SHARED if of_settings else _ENTRY, _OWN):
                        self._give((kind, at), source, self._names_in(holder))

    def _take_fields(self, klass: ClassInfo) -> None:
        """Take in that a class has a constructor which a library makes: which field a place is, that says."""
        placed = any(type(at) is int for at, _, _ in self._passed.get(klass.name, ()))
        if placed and klass.method(INIT) is None:
            self._open.update([(kind, name) for kind in (_SHARED, _OWN) for name in self._given[klass].shared])

    def settle(self) -> KnownNames:
        """Find the names that are known."""
        self._take_keywords()
        declared = self.shared.union(*(one.declared for one in self._given.values()))
        given = {*self._values, *(node for those in self._edges.values() for node, _ in those)}
        # What nothing declares, or nothing gives anything, comes from elsewhere.
        self._open.update([node for node in self._edges if node not in given])
        self._open.update([node for node in given if node[0] in (_SHARED, _OWN) and node[1] not in declared])
        self._open.update([node for node in given if any(other in node[1].lower() for other in _OTHERS)])
        return KnownNames(self._tell(self._spread()), self.shared, self.namespaces, self.filled)

    def _find_namespaces(self) -> frozenset[str]:
        """Find the names of what holds the options of the command line: what parsing it gives, and what is given that."""
        parsing = {
            name
            for holder in self._given
            if isinstance(holder, FunctionInfo) and not _PARSING.isdisjoint(holder.ir.calls)
            for name in _names_of(holder)
        }
        found = {name for one in self._given.values() for name, callee in one.made if callee in parsing | _PARSING}
        copies = {
            (target.text, source.text) for one in self._given.values() for target, source in one.values if source.kind
        }
        pairs = {(target.rpartition(".")[2], source.rpartition(".")[2]) for target, source in copies}
        pairs.update(self._list_filled_params())
        grown = True
        while grown:
            fresh = {target for target, source in pairs if source in found} - found
            found |= fresh
            grown = bool(fresh)
        return frozenset(found)

    def _list_filled_params(self) -> Iterator[tuple[str, str]]:
        """Pair the parameters of constructors with the names of what they are passed: `Trainer(FLAGS)`, which calls it `options`."""
        params: defaultdict[str, list[str]] = defaultdict(list)
        for holder in self._given:
            if isinstance(holder, FunctionInfo) and holder.name == INIT and holder.owner is not None:
                placed = [param.name for param in holder.params[1:] if param.kind not in ("*", "**")]
                for name in _names_of(holder) & self._classes:
                    params[name] = placed
        for one in self._given.values():
            for callee, at, source in one.passed:
                if source.kind != VARIABLE or callee not in params:
                    continue
                if isinstance(at, str):
                    yield at, source.text
                elif at < len(params[callee]):
                    yield params[callee][at], source.text

    def _spread(self) -> dict[_Node, set[_Constant]]:
        """Carry along what names are given: the constants that each may be, of those that are nothing else."""
        opened: set[_Node] = set()
        for node in self._open:
            self._open_all(node, opened)
        found: dict[_Node, set[_Constant]] = {node: set(values) for node, values in self._values.items()}
        todo = list(found)
        while todo:
            node = todo.pop()
            for other, asks in self._edges.get(node, ()) if node not in opened else ():
                more = found[node] - found.setdefault(other, set())
                found[other] |= more
                if len(found[other]) > _MOST or (asks and any(value for _, value in found[node])):
                    self._open_all(other, opened)
                elif more:
                    todo.append(other)
        return {node: values for node, values in found.items() if node not in opened and values}

    def _open_all(self, node: _Node, opened: set[_Node]) -> None:
        todo = [node]
        while todo:
            one = todo.pop()
            if one not in opened:
                opened.add(one)
                todo += [other for other, _ in self._edges.get(one, ())]

    def _tell(self, found: dict[_Node, set[_Constant]]) -> dict[_Node, KnownName]:
        """Tell of names what they are, and from which options."""
        options: defaultdict[_Node, set[CommandOption]] = defaultdict(set)
        for option in self._options:
            options[_SHARED, option.name].add(option)
        todo = list(options)
        while todo:
            node = todo.pop()
            for other, _ in self._edges.get(node, ()):
                if other in found and not options[node] <= options[other]:
                    options[other] |= options[node]
                    todo.append(other)
        return {
            node: KnownName(tuple(sorted(values, key=str)), tuple(sorted(options.get(node, ()))))
            for node, values in found.items()
        }


def _gifts_of(holder: _Holder) -> Gifts:
    """Find what the statements of a function give to names, of a class but for its methods, or of a module."""
    body = ir.decode_body(holder.ir.body) if isinstance(holder, ClassInfo) else holder.body
    return find_given(body, of_class=isinstance(holder, ClassInfo))


def _is_own(source: Provenance) -> bool:
    """Return whether an attribute is one that a method reads of its object, or writes."""
    return source.text.startswith("self.") and source.text.count(".") == 1


def _is_read_of(source: Provenance, holders: frozenset[str]) -> bool:
    """Return whether an attribute is read of what has one of these names: others may be objects that have an attribute of that name."""
    return source.text.rpartition(".")[0].rpartition(".")[2] in holders


def _spell(holder: FunctionInfo | ModuleInfo) -> str:
    """Return how the variables of a body are told from others."""
    return f"{holder.index}" if isinstance(holder, ModuleInfo) else f"{holder.module.index}.{holder.index}"


def _list_attributes(holder: _Holder) -> Iterator[str]:
    """The attributes that the methods of a method's class assign."""
    owner = holder.owner if isinstance(holder, FunctionInfo) else None
    if owner is not None:
        for method in owner.own_methods:
            yield from method.ir.stores


def _key_of_call(callee: str, holder: _Holder) -> str:
    """Return by which name a call is kept: that of a base class's constructor by the class that calls it."""
    owner = getattr(holder, "owner", None)
    if owner is None:
        return callee
    return f"{owner.name}.{INIT}" if callee == INIT else owner.name if callee in _OWN_CLASS else callee


def _names_of(info: FunctionInfo) -> set[str]:
    """Return the names by which a function is called."""
    if info.name != INIT or info.owner is None:
        return {info.name}
    names: set[str] = set()
    todo: list[ClassInfo] = [info.owner]
    while todo:
        klass = todo.pop()
        if f"{klass.name}.{INIT}" not in names:
            names |= {klass.name, f"{klass.name}.{INIT}"}
            todo.extend(klass.subclasses)
    return names


def _is_decorated(info: FunctionInfo) -> bool:
    """Return whether a decorator, also of its class, may pass a function what no call does."""
    around = info.owner.ir.decorators if info.owner is not None and info.name == INIT else ()
    return any(_last(one) not in _PASSIVE for one in (*info.ir.decorators, *around))


def _last(node: ir.Node) -> str:
    return path_of(node.func if type(node) is ir.Call else node).rpartition(".")[2]


def _name_read(node: ir.Node) -> str:
    """Return the last name of what is read: `debug`, `args.debug`, `args["debug"]`, `getattr(args, "debug", False)`."""
    named = next((one.text for one in sources_of(node) if one.kind in (VARIABLE, ATTRIBUTE)), "")
    return named.rpartition(".")[2] or last_name(node)


__all__ = ["NAMESPACES", "DefaultOutcome", "Switches"]
