"""Names that are off in every run of a program unless somebody asks for them: options of the command line, parameters and attributes.

Each is known by its name alone, whose ever it is: `--debug`, `args.debug`, `self.debug`, `Model(debug=args.debug)` are one. A name is off
where all that the program gives it is false, zero, empty or None, or comes from another name that is off. That is asked of programs alone,
which a script starts: what a library offers, others may switch on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Union

from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir
from xlalint.program.dependencies import DependencySet
from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from xlalint.interpreter.uncalled import Uncalled
    from xlalint.program.linker import Program

_Holder = Union[FunctionInfo, ClassInfo, ModuleInfo]
_Setting = Union[bool, int, float, str, None]
NAMESPACE: Final = "argparse.Namespace"
"""The class of what holds the options of a program."""
_ANY: Final = ""
_OPTION: Final = "add_argument"
_INIT: Final = "__init__"
_CALLED_AS_OBJECTS: Final = frozenset(("forward", "__call__"))
_ASKING: Final = frozenset(("getattr", "hasattr", "get", "pop"))
_OFF_FLAGS: Final = {"store_true": True, "store_false": False}
_FILLING: Final = frozenset(
    ("setattr", "__setattr__", "update", "merge_from_file", "merge_from_list", "merge_from_other_cfg")
)
_MAKING: Final = frozenset(("Namespace", "SimpleNamespace", "set_defaults", "EasyDict", "edict", "AttrDict"))
# What makes tables of settings that a program fills by assigning attributes, and no file.
_TABLES: Final = frozenset(("ConfigDict", "SimpleNamespace"))
_PASSIVE: Final = frozenset(("staticmethod", "classmethod", "property", "no_grad", "inference_mode", "enable_grad"))
# What the launcher of a program gives, or a library does.
_OTHERS: Final = ("rank", "cuda", "gpu", "tpu", "xla", "device", "training", "grad")


class Gifts(NamedTuple):
    """All that a body gives to names.

    `values` are pairs of a name and what its value is read from, "" of others; `passed` are a callee's name, a position and the like;
    `starred` the callees that get what is not spelled out. `off` are the names to which it gives nothing, with what that is, and if it is
    an option of the command line. `filled` are the names of objects of which it sets attributes whose names it puts together. `opens`: it
    may set any option.
    """

    values: frozenset[tuple[str, str]] = frozenset()
    passed: frozenset[tuple[str, int, str]] = frozenset()
    starred: frozenset[str] = frozenset()
    off: frozenset[tuple[str, _Setting, bool]] = frozenset()
    filled: frozenset[str] = frozenset()
    opens: bool = False


class Switches:
    """The names that are off in a program, worked out once for it: what each may be, and how those are spelled that are options. `none`
    says that there are no such names, as soon as that is known."""

    def __init__(self, program: Program, uncalled: Uncalled) -> None:
        self._program = program
        self._uncalled = uncalled
        self._settings: dict[str, tuple[_Setting, ...]] = {}
        self._options: dict[str, str] = {}
        self._given: dict[_Holder, Gifts] = {}
        self._filled: frozenset[str] = frozenset()
        self._worked_out = False
        self.none = False

    def after(self, module: ModuleInfo, changed: Collection[FunctionInfo]) -> Switches:
        """The switches of the program with changed bodies of some functions of a module: these, where all give names what they gave."""
        if not self._given:
            return self
        holders: tuple[_Holder, ...] = (module, *module.classes, *changed)
        fresh = {
            holder: _find_given(_body_of(holder), keeps=not isinstance(holder, FunctionInfo)) for holder in holders
        }
        if all(self._given.get(holder) == given for holder, given in fresh.items()):
            return self
        other = Switches(self._program, self._uncalled)
        other._given = {**self._given, **fresh}
        return other

    def digest(self) -> bytes:
        """Digest all that was found: what was made of it holds as long as this is the same."""
        text = "\n".join(sorted([f"{name}\0{values}" for name, values in self._find().items()]))
        return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).digest()

    def is_off(self, name: str) -> bool:
        """Return whether a name is off in every run in which nobody asks for it."""
        return name in self._find()

    def describe(self, name: str) -> str:
        """Say in which runs a name is not off."""
        option = self._options.get(name)
        if option is not None:
            return f"only with `{option}`"
        return f"only if `{name}` is set, which nothing in this program does"

    def _find(self) -> dict[str, tuple[_Setting, ...]]:
        if not self._worked_out:
            self._worked_out = True
            with self._program.reader.reading(DependencySet()):  # `digest` speaks for it
                self._work_out()
            self.none = not self._settings
        return self._settings

    def _work_out(self) -> None:
        if not self._uncalled.has_script():
            return
        modules = self._program.modules[: self._program.linted]
        holders: list[_Holder] = []
        for module in modules:
            holders += (module, *module.classes, *module.functions)
        for holder in holders:
            if holder not in self._given:
                self._given[holder] = _find_given(_body_of(holder), keeps=not isinstance(holder, FunctionInfo))
        if any(one.opens for one in self._given.values()):
            return
        search = _Search(self._given)
        closed = self._uncalled.find_closed()
        for info in (info for module in modules for info in module.functions):
            search.take_in(info, closed=info in closed)
        self._settings, self._options = search.settle()
        self._filled = search.filled

    def outcome(self, test: ir.Node) -> tuple[bool, str] | None:
        """Return how a condition comes out where nothing is asked for, with the name that decides it; None where it does not follow."""
        if not self._find():
            return None
        if type(test) is ir.Not:
            found = self.outcome(test.value)
            return None if found is None else (not found[0], found[1])
        if type(test) is ir.Bool:
            return self._of_chain(test)
        if type(test) is ir.Compare:
            return self._of_compare(test)
        return _agree(_name_read(test), map(bool, self._list_settings(test)))

    def _list_settings(self, node: ir.Node) -> tuple[_Setting, ...]:
        """Return what is read where nobody gives anything; nothing of what may be anything."""
        settings = self._find().get(_name_read(node), ())
        held = settings and type(node) is ir.Attr and not self._filled.isdisjoint(_holders(node.value))
        return () if held else settings

    def _of_chain(self, test: ir.Bool) -> tuple[bool, str] | None:
        found = [self.outcome(one) for one in test.values]
        for one in found:
            if one is not None and one[0] is not test.is_and:
                return one
        return None if None in found else found[0]

    def _of_compare(self, test: ir.Compare) -> tuple[bool, str] | None:
        asked = test.rights[0]
        if len(test.ops) != 1 or type(asked) is not ir.Const:
            return None
        name = _name_read(test.left)
        compared = [_compare(test.ops[0], value, asked.value) for value in self._list_settings(test.left)]
        return None if None in compared else _agree(name, map(bool, compared))


def _agree(name: str, outcomes: Iterable[bool]) -> tuple[bool, str] | None:
    found = set(outcomes)
    return (found.pop(), name) if len(found) == 1 else None


def _compare(op: str, value: _Setting, other: _Setting) -> bool | None:
    """Return how a comparison of two settings comes out, None where Python would not compare them."""
    if op in ("==", "is", "!=", "is not"):
        # What is one of several is asked for by its own name: a choice, and no switch.
        return None if other and other is not True else (value == other) is (op in ("==", "is"))
    if isinstance(value, (str, type(None))) or isinstance(other, (str, type(None))):
        return None
    orders = {"<": value < other, "<=": value <= other, ">": value > other, ">=": value >= other}
    return orders.get(op)


class _Search:
    """The search for what is off, from all that a program gives to names."""

    def __init__(self, given: dict[_Holder, Gifts]) -> None:
        self._sources: defaultdict[str, set[str]] = defaultdict(set)
        self._settings: defaultdict[str, set[tuple[str, _Setting]]] = defaultdict(set)
        self._options: dict[str, str] = {}
        self._passed: defaultdict[str, set[tuple[int, str]]] = defaultdict(set)
        self._starred: set[str] = set()
        self.filled = frozenset(name for one in given.values() for name in one.filled if name != "self")
        for holder, one in given.items():
            if "self" in one.filled:
                for name in _list_attributes(holder):
                    self._sources[name].add(_ANY)
            for name, source in one.values:
                self._sources[name].add(self._name_of(source))
            for name, value, is_option in one.off:
                self._settings[name].add((type(value).__name__, value))
                if is_option:
                    self._options[name] = f"--{name}"
            for callee, place, source in one.passed:
                self._passed[_key_of_call(callee, holder)].add((place, self._name_of(source)))
            self._starred.update([_key_of_call(callee, holder) for callee in one.starred])
        self._handed = {source for sources in self._sources.values() for source in sources}
        self._handed |= {source for those in self._passed.values() for _, source in those}
        self._objects: set[tuple[int, str]] = set()
        for callee, those in self._passed.items():
            if self._may_be_object(callee):
                self._objects |= those
        self._fills_objects = any(map(self._may_be_object, self._starred))

    def _name_of(self, source: str) -> str:
        """Return the name that a source is known by, "" where its object may be filled with anything."""
        *holders, name = source.split(".")
        return _ANY if not self.filled.isdisjoint(holders) else name

    def _may_be_object(self, callee: str) -> bool:
        """Return whether what is called by a name may be an object: something is assigned to that, or it is no name."""
        return not callee or callee in self._sources

    def take_in(self, info: FunctionInfo, *, closed: bool) -> None:
        """Take in the parameters of a function: their defaults, and what calls pass them."""
        names = _names_of(info)
        bound = info.owner is not None and not any(path_of(one) == "staticmethod" for one in info.ir.decorators)
        handed = info.name not in _CALLED_AS_OBJECTS and not self._handed.isdisjoint(names)
        filled = not self._starred.isdisjoint(names) or (info.name in _CALLED_AS_OBJECTS and self._fills_objects)
        told = closed and not (handed or filled or _is_decorated(info))
        passed = [one for name in names for one in self._passed.get(name, ())] if told else []
        if told and info.name in _CALLED_AS_OBJECTS:
            passed += self._objects
        for place, param in enumerate(info.params[bound:]):
            name = param.name
            default = param.default
            if not told or param.kind in ("*", "**") or info.name == "<lambda>":
                self._sources[name].add(_ANY)
                continue
            if default is not None:
                if type(default) is ir.Const and _is_off(default):
                    self._settings[name].add((type(default.value).__name__, default.value))
                else:
                    self._sources[name].add(self._name_of(_source_of(default)))
            if param.kind != "k":
                self._sources[name].update([source for at, source in passed if at == place])

    def settle(self) -> tuple[dict[str, tuple[_Setting, ...]], dict[str, str]]:
        """Return the names that are off, with what they may be, and how those of options are spelled."""
        off = {
            name for name in {*self._settings, *self._sources} if not any(other in name.lower() for other in _OTHERS)
        }
        while True:
            given = {name for name in off if not self._sources.get(name, set()) <= off}
            if not given:
                break
            off -= given
        settings = {name: set(self._settings.get(name, ())) for name in off}
        grown = True
        while grown:
            grown = False
            for name, values in settings.items():
                more = set().union(*(settings[source] for source in self._sources.get(name, ()))) - values
                if more:
                    values |= more
                    grown = True
        told = {
            name: tuple([value for _, value in sorted(those, key=str)]) for name, those in settings.items() if those
        }
        return told, {name: spelled for name, spelled in self._options.items() if name in told}


def _list_attributes(holder: _Holder) -> Iterator[str]:
    """The attributes that the methods of a method's class assign."""
    owner = holder.owner if isinstance(holder, FunctionInfo) else None
    if owner is not None:
        for index in owner.ir.methods.values():
            yield from owner.module.functions[index].ir.stores


def _key_of_call(callee: str, holder: _Holder) -> str:
    """Return by which name a call is kept: that of a base class's constructor by the class that calls it."""
    owner = getattr(holder, "owner", None)
    return f"{owner.name}.{_INIT}" if callee == _INIT and owner is not None else callee


def _names_of(info: FunctionInfo) -> set[str]:
    """Return the names by which a function is called."""
    if info.name != _INIT or info.owner is None:
        return {info.name}
    names: set[str] = set()
    todo: list[ClassInfo] = [info.owner]
    while todo:
        klass = todo.pop()
        if f"{klass.name}.{_INIT}" not in names:
            names |= {klass.name, f"{klass.name}.{_INIT}"}
            todo.extend(klass.subclasses)
    return names


def _is_decorated(info: FunctionInfo) -> bool:
    """Return whether a decorator, also of its class, may pass a function what no call does."""
    around = info.owner.ir.decorators if info.owner is not None and info.name == _INIT else ()
    return any(_last(one) not in _PASSIVE for one in (*info.ir.decorators, *around))


def _last(node: ir.Node) -> str:
    return path_of(node.func if type(node) is ir.Call else node).rpartition(".")[2]


def _body_of(holder: _Holder) -> tuple[ir.Statement, ...]:
    """The statements of a function, of a class but for its methods, or of a module."""
    return ir.decode_body(holder.ir.body) if isinstance(holder, ClassInfo) else holder.body


def _find_given(body: tuple[ir.Statement, ...], *, keeps: bool) -> Gifts:
    """Find what a body gives to names; it `keeps` the plain ones, as classes and modules do."""
    nodes = ir.walk(body)
    found = _Collector(keeps, _find_tables(nodes))
    for one in nodes:
        take = _TAKE.get(type(one))
        if take is not None:
            take(found, one)
    return Gifts(
        frozenset(found.values),
        frozenset(found.passed),
        frozenset(found.starred),
        frozenset(found.off),
        frozenset(found.filled),
        found.opens,
    )


class _Collector:
    """Collects what a `Gifts` holds."""

    def __init__(self, keeps: bool, tables: frozenset[str]) -> None:
        self.keeps = keeps
        self.tables = tables
        self.values: set[tuple[str, str]] = set()
        self.passed: set[tuple[str, int, str]] = set()
        self.starred: set[str] = set()
        self.off: set[tuple[str, _Setting, bool]] = set()
        self.filled: set[str] = set()
        self.opens = False

    def give(self, target: ir.Node, value: ir.Node | None) -> None:
        """Note that something is assigned; of a value that is None nothing is known."""
        if isinstance(target, (ir.Name, ir.Attr)):
            self._give_name(target, value)
        elif isinstance(target, ir.Display):
            for part in target.items:
                self.give(part, None)
        elif isinstance(target, ir.Star):
            self.give(target.value, None)
        elif isinstance(target, ir.Sub):
            if _text(target.index):
                self.values.update([(_text(target.index), source) for source in _sources(value)])
            elif type(target.index) is not ir.Const:
                self.filled.update(_holders(target.value))

    def _give_name(self, target: ir.Node, value: ir.Node | None) -> None:
        name = last_name(target)
        self.values.update([(name, source) for source in _sources(value)])
        own = type(target) is ir.Attr and type(target.value) is ir.Name and target.value.id == "self"
        own |= type(target) is ir.Attr and path_of(target).partition(".")[0] in self.tables
        if (own or (self.keeps and type(target) is ir.Name)) and type(value) is ir.Const and _is_off(value):
            self.off.add((name, value.value, False))
        if name == "__dict__" and type(target) is ir.Attr:
            self.filled.update(_holders(target.value))

    def take_call(self, call: ir.Call) -> None:
        name = last_name(call.func)
        if name == _OPTION:
            self._take_option(call)
            return
        if name in _FILLING:
            self._take_setting(name, call)
        elif name not in _ASKING and len(call.args) > 1 and _text(call.args[0]):
            self.values.add((_text(call.args[0]), _ANY))
        for key, value in call.keywords:
            if not key:
                self.starred.add(name)
                self.opens |= name in _MAKING
            else:
                self.values.update([(key, source) for source in _sources(value)])
        self._take_positions(name, call)

    def _take_positions(self, name: str, call: ir.Call) -> None:
        skipped = 0
        if name == _INIT and type(call.func) is ir.Attr and type(call.func.value) is not ir.Call:
            skipped = 1  # `Base.__init__(self, x)`
        for place, arg in enumerate(call.args[skipped:]):
            if type(arg) is ir.Star:
                self.starred.add(name)
                return
            self.passed.update([(name, place, source) for source in _sources(arg)])

    def _take_setting(self, name: str, call: ir.Call) -> None:
        """`setattr(args, key, value)`, `vars(args).update(settings)`."""
        holder: ir.Node | None = call.args[0] if name == "setattr" and call.args else None
        if name != "setattr" and type(call.func) is ir.Attr:
            asked = call.func.value
            holder = (
                asked.args[0] if type(asked) is ir.Call and last_name(asked.func) == "vars" and asked.args else asked
            )
        text = next((_text(arg) for arg in call.args if _text(arg)), "")
        if text and name != "update":
            self.values.add((text, _ANY))
        elif holder is not None:
            self.filled.update(_holders(holder))

    def _take_option(self, call: ir.Call) -> None:
        given = dict(call.keywords)
        flags = [_text(arg) for arg in call.args]
        name = _text(given.get("dest")) or next((one for one in flags if one.startswith("--")), (*flags, "")[0])
        spelled = name.lstrip("-").replace("-", "_")
        action, default = _text(given.get("action")), given.get("default")
        if not spelled:
            return
        if not all(one.startswith("-") for one in flags) or "required" in given:
            self.values.add((spelled, _ANY))
        elif default is None and action in _OFF_FLAGS:
            if _OFF_FLAGS[action]:
                self.off.add((spelled, False, True))
            else:
                self.values.add((spelled, _ANY))
        elif default is None:
            self.off.add((spelled, None, True))
        elif type(default) is ir.Const and _is_off(default):
            self.off.add((spelled, default.value, True))
        else:
            self.values.update([(spelled, source) for source in _sources(default)])

    def take_dict(self, node: ir.DictDisplay) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if _text(key):
                self.values.update([(_text(key), source) for source in _sources(value)])

    def take_display(self, node: ir.Display) -> None:
        """`parse_args(["--debug"])`: what a list of texts asks for is on."""
        for text in map(_text, node.items):
            if text.startswith("--"):
                self.values.add((text.partition("=")[0][2:].replace("-", "_"), _ANY))

    def take_target(self, node: ir.AugAssign | ir.For | ir.Generator) -> None:
        self.give(node.target, None)

    def take_walrus(self, node: ir.Walrus) -> None:
        self.values.add((node.name, _ANY))

    def take_with(self, node: ir.With) -> None:
        for _, target in node.items:
            if target is not None:
                self.give(target, None)

    def take_import(self, node: ir.Import) -> None:
        self.values.update([(one.local, _ANY) for one in node.bindings])

    def take_assign(self, node: ir.Assign) -> None:
        for target in node.targets:
            self.give(target, node.value)

    def take_annotated(self, node: ir.AnnAssign) -> None:
        if node.value is not None:
            self.give(node.target, node.value)


_TAKE: Final[dict[type, Callable[[_Collector, Any], None]]] = {
    ir.Assign: _Collector.take_assign,
    ir.AnnAssign: _Collector.take_annotated,
    ir.AugAssign: _Collector.take_target,
    ir.For: _Collector.take_target,
    ir.Generator: _Collector.take_target,
    ir.Walrus: _Collector.take_walrus,
    ir.With: _Collector.take_with,
    ir.Import: _Collector.take_import,
    ir.Call: _Collector.take_call,
    ir.DictDisplay: _Collector.take_dict,
    ir.Display: _Collector.take_display,
}


def _find_tables(nodes: list[object]) -> frozenset[str]:
    """Find the names that a body gives tables of settings which it makes."""
    made = (one for one in nodes if type(one) is ir.Assign and type(one.value) is ir.Call)
    found = [one.targets for one in made if type(one.value) is ir.Call and last_name(one.value.func) in _TABLES]
    return frozenset([target.id for targets in found for target in targets if type(target) is ir.Name])


def _is_off(node: ir.Node) -> bool:
    return type(node) is ir.Const and not node.value


def _sources(value: ir.Node | None) -> Iterator[str]:
    """The name that a value has, "" of what is no name; nothing of what is off by itself."""
    if value is None or not _is_off(value):
        yield _source_of(value)


def _source_of(value: ir.Node | None) -> str:
    """Return the name that an expression reads, after that of the object which holds it; "" of what is no name. Of several that must all
    hold it is the first."""
    if type(value) is ir.Bool and value.is_and:
        return next(filter(None, map(_source_of, value.values)), _ANY)
    if type(value) is ir.Attr:
        return path_of(value) or value.name
    return _name_read(value) if value is not None else _ANY


def _holders(node: ir.Node) -> list[str]:
    """Return the names on the way to a value: of `config.TEST`, both."""
    return [name for name in path_of(node).split(".") if name]


def _name_read(node: ir.Node) -> str:
    """Return the last name of what is read: `debug`, `args.debug`, `args["debug"]`, `getattr(args, "debug", False)`."""
    if type(node) is ir.Call:
        asks = last_name(node.func) in _ASKING and len(node.args) > 1 and _is_off(node.args[-1])
        return _text(node.args[-2]) if asks else _ANY
    if type(node) is ir.Sub:
        return _text(node.index)
    return last_name(node)


def _text(node: ir.Node | None) -> str:
    return node.value if type(node) is ir.Const and isinstance(node.value, str) else ""


__all__ = ["Switches"]
