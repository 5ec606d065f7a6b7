"""All that the bodies of a program give to names: to variables, to attributes and entries of tables, to parameters, and to options of the
command line.

A variable is known by its name within one body. An attribute is known by its name alone, whose ever it is: `args.debug`, `self.debug`,
`table["debug"]` and `Model(**{"debug": …})` are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, Union

from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

Setting = Union[bool, int, float, str, None]
INIT: Final = "__init__"
_OPTION: Final = "add_argument"
ASKING: Final = frozenset(("getattr", "hasattr", "get", "pop"))
_OFF_FLAGS: Final = {"store_true": False, "store_false": True}
_FILLING: Final = frozenset(
    ("setattr", "__setattr__", "update", "merge_from_file", "merge_from_list", "merge_from_other_cfg")
)
_MAKING: Final = frozenset(("Namespace", "SimpleNamespace", "set_defaults", "EasyDict", "edict", "AttrDict"))
# What makes tables of settings that a program fills by assigning attributes, and no file.
_TABLES: Final = frozenset(("ConfigDict", "SimpleNamespace"))
_SETTING: Final = ("set", "put", "define", "DEFINE")  # how the names begin of what is given a name and a value
_FIELDS: Final = frozenset(("field", "Field"))
_TEXTS: Final = frozenset(("", "str"))
_REPEATED: Final = frozenset(("append", "extend", "append_const"))
# absl's options: each has a name and a default, and `FLAGS` holds them all.
_FLAGS: Final = frozenset([f"DEFINE_{kind}" for kind in ("bool", "boolean", "integer", "float", "string", "enum")])
_HOLDING_FLAGS: Final = "FLAGS"
PARSING: Final = "parse_args"
_REQUIRING: Final = frozenset(("mark_flag_as_required", "mark_flags_as_required"))


class Provenance(NamedTuple):
    """Where a value is read from: a `VARIABLE`, or an `ATTRIBUTE` after what holds it ("args.debug"; what is
    given something may be an `ENTRY` of a table), or a `CONSTANT`, `text` its type.
    `asks`: only where that is true it is something else, as of `debug and step > 3`."""

    kind: str = ""
    text: str = ""
    value: Setting = None
    asks: bool = False


VARIABLE: Final = "variable"
ATTRIBUTE: Final = "attribute"
ENTRY: Final = "entry"
CONSTANT: Final = "constant"
ANYTHING: Final = Provenance()


class CommandOption(NamedTuple):
    """An option of the command line: the attribute that holds it, and how it is spelled. `denies`: it makes that false."""

    name: str
    spelled: str
    denies: bool = False


class Gifts(NamedTuple):
    """All that a body gives to names.

    `values` are pairs of what is given something and what; `passed` are a callee's name, a position or a keyword, and what it is passed;
    `starred` the callees that get what is not spelled out. `calls` are a callee's name, how many positions a call of it fills, and which
    keywords. `declared` are the attributes that a method gives its object, `shared` those
    that a class or a table of settings has, `options` those that the command line gives. `handed` are names of what may be called by
    another one. `filled` are the names of objects of which it sets attributes whose names it puts together. `bound` are its variables.
    `made` are pairs of what is given the outcome of a call, and the callee. `opens`: it may set any option.
    """

    values: frozenset[tuple[Provenance, Provenance]] = frozenset()
    passed: frozenset[tuple[str, int | str, Provenance]] = frozenset()
    starred: frozenset[str] = frozenset()
    calls: frozenset[tuple[str, int, frozenset[str]]] = frozenset()
    declared: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    options: frozenset[CommandOption] = frozenset()
    handed: frozenset[str] = frozenset()
    filled: frozenset[str] = frozenset()
    bound: frozenset[str] = frozenset()
    made: frozenset[tuple[str, str]] = frozenset()
    opens: bool = False


def find_given(body: tuple[ir.Statement, ...], *, of_class: bool) -> Gifts:
    """Find what a body gives to names; those of a class are attributes."""
    nodes = ir.walk(body)
    found = _Collector(of_class, _find_tables(nodes))
    for one in nodes:
        take = _TAKE.get(type(one))
        if take is not None:
            take(found, one)
    return Gifts(
        frozenset(found.values),
        frozenset(found.passed),
        frozenset(found.starred),
        frozenset(found.calls),
        frozenset(found.declared),
        frozenset(found.shared),
        frozenset(found.options),
        frozenset(found.handed),
        frozenset(found.filled),
        frozenset(found.bound - found.elsewhere),
        frozenset(found.made),
        found.opens,
    )


class _Collector:
    """Collects what a `Gifts` holds."""

    def __init__(self, of_class: bool, tables: frozenset[str]) -> None:
        self.of_class = of_class
        self.tables = tables
        self.values: set[tuple[Provenance, Provenance]] = set()
        self.passed: set[tuple[str, int | str, Provenance]] = set()
        self.starred: set[str] = set()
        self.calls: set[tuple[str, int, frozenset[str]]] = set()
        self.declared: set[str] = set()
        self.shared: set[str] = set()
        self.options: set[CommandOption] = set()
        self.handed: set[str] = set()
        self.filled: set[str] = set()
        self.bound: set[str] = set()
        self.elsewhere: set[str] = set()
        self.made: set[tuple[str, str]] = set()
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
                kind = ATTRIBUTE if type(target.value) is ir.Call else ENTRY  # `vars(args)["debug"]`
                self._give(Provenance(kind, _text(target.index)), value)
            elif type(target.index) is not ir.Const:
                self.filled.update(_holders(target.value))

    def _give_name(self, target: ir.Name | ir.Attr, value: ir.Node | None) -> None:
        if type(target) is ir.Name and not self.of_class:
            self.bound.add(target.id)
            self._give(Provenance(VARIABLE, target.id), value)
            return
        name, holder = last_name(target), path_of(target).partition(".")[0]
        self._give(Provenance(ATTRIBUTE, path_of(target) or name), value)
        if type(target) is ir.Name or holder in self.tables:
            self.shared.add(name)
        elif _is_own(target):
            self.declared.add(name)
        if name == "__dict__":
            self.filled.update(_holders(target))

    def _give_attribute(self, name: str, value: ir.Node | None) -> None:
        self._give(Provenance(ATTRIBUTE, name), value)

    def _give(self, target: Provenance, value: ir.Node | None) -> None:
        sources = [ANYTHING] if value is None else list(sources_of(value))
        self.values.update([(target, source) for source in sources])
        self._hand(sources)

    def _hand(self, sources: Iterable[Provenance]) -> None:
        self.handed.update(source.text.rpartition(".")[2] for source in sources if source.kind != CONSTANT)

    def take_call(self, call: ir.Call) -> None:
        name = last_name(call.func)
        if name == _OPTION:
            self._take_option(call)
            return
        if name in _FLAGS:
            self._take_flag(call)
            return
        if name in _REQUIRING:
            self._require(call)
        if name in _FILLING:
            self._take_setting(name, call)
        elif name.startswith(_SETTING) and len(call.args) > 1 and _text(call.args[0]):
            self._give_attribute(_text(call.args[0]), None)
        for key, value in call.keywords:
            if not key:
                self.starred.add(name)
                self.opens |= name in _MAKING
            else:
                self._pass(name, key, value)
        self._take_positions(name, call)

    def _take_positions(self, name: str, call: ir.Call) -> None:
        skipped = 0
        if name == INIT and type(call.func) is ir.Attr and type(call.func.value) is not ir.Call:
            skipped = 1  # `Base.__init__(self, x)`
        self.calls.add((name, len(call.args) - skipped, frozenset([key for key, _ in call.keywords])))
        for place, arg in enumerate(call.args[skipped:]):
            if type(arg) is ir.Star:
                self.starred.add(name)
                return
            self._pass(name, place, arg)

    def _pass(self, name: str, place: int | str, value: ir.Node) -> None:
        sources = list(sources_of(value))
        self.passed.update([(name, place, source) for source in sources])
        self._hand(sources)

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
            self._give_attribute(text, None)
        elif holder is not None:
            self.filled.update(_holders(holder))

    def _take_option(self, call: ir.Call) -> None:
        given = dict(call.keywords)
        flags = [_text(arg) for arg in call.args]
        name = next((one for one in flags if one.startswith("--")), (*flags, "")[0])
        dest = _text(given.get("dest")) or name.lstrip("-").replace("-", "_")
        if not dest:
            return
        target = Provenance(ATTRIBUTE, dest)
        if not all(one.startswith("-") for one in flags) or "required" in given:
            self.values.add((target, ANYTHING))
            return
        self.options.add(CommandOption(dest, name, _text(given.get("action")) == "store_false"))
        default = _default_of_option(given)
        sources = sources_of(default) if default is not None else (ANYTHING,)
        self.values.update([(target, source) for source in sources])

    def _take_flag(self, call: ir.Call) -> None:
        """`flags.DEFINE_bool("debug", False, "…")`: what holds such options is filled as by parsing a command line."""
        given = dict(call.keywords)
        name = _text(call.args[0] if call.args else given.get("name"))
        default = call.args[1] if len(call.args) > 1 else given.get("default")
        if not name or default is None:
            return
        denies = type(default) is ir.Const and default.value is True
        self.options.add(CommandOption(name, f"--no{name}" if denies else f"--{name}", denies))
        sources = list(sources_of(default)) if "required" not in given else [ANYTHING]
        self.values.update([(Provenance(ATTRIBUTE, name), source) for source in sources])
        self.made.add((_HOLDING_FLAGS, PARSING))

    def _require(self, call: ir.Call) -> None:
        """`flags.mark_flag_as_required("data")`: whoever starts the program gives it."""
        for arg in call.args:
            for one in arg.items if type(arg) is ir.Display else (arg,):
                if _text(one):
                    self._give_attribute(_text(one), None)

    def take_dict(self, node: ir.DictDisplay) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if _text(key):
                self._give(Provenance(ENTRY, _text(key)), value)
            else:
                self._hand(sources_of(value))

    def take_display(self, node: ir.Display) -> None:
        """`parse_args(["--debug"])`: what a list of texts asks for is on."""
        for item in node.items:
            text = _text(item)
            if text.startswith("--"):
                self._give_attribute(text.partition("=")[0][2:].replace("-", "_"), None)
            elif not text:
                self._hand(sources_of(item))

    def take_target(self, node: ir.AugAssign | ir.For | ir.Generator) -> None:
        self.give(node.target, None)

    def take_walrus(self, node: ir.Walrus) -> None:
        self.bound.add(node.name)
        self._give(Provenance(VARIABLE, node.name), None)

    def take_with(self, node: ir.With) -> None:
        for _, target in node.items:
            if target is not None:
                self.give(target, None)

    def take_handler(self, node: ir.Handler) -> None:
        if node.name:
            self.bound.add(node.name)
            self._give(Provenance(VARIABLE, node.name), None)

    def take_import(self, node: ir.Import) -> None:
        for one in node.bindings:
            self.bound.add(one.local)
            self._give(Provenance(VARIABLE, one.local), None)

    def take_definition(self, node: ir.Define | ir.DefineClass) -> None:
        self.bound.add(node.name)

    def take_case(self, node: ir.Case) -> None:
        for name in node.names:
            self.bound.add(name)
            self._give(Provenance(VARIABLE, name), None)

    def take_outer(self, node: ir.Outer) -> None:
        self.elsewhere.update(node.names)

    def take_returned(self, node: ir.Return | ir.Yield) -> None:
        if node.value is not None:
            self._hand(sources_of(node.value))

    def take_assign(self, node: ir.Assign) -> None:
        for target in node.targets:
            self.give(target, node.value)
            if type(node.value) is ir.Call:
                made = target.items if isinstance(target, ir.Display) else (target,)
                self.made.update([(last_name(one), last_name(node.value.func)) for one in made])

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
    ir.Handler: _Collector.take_handler,
    ir.Import: _Collector.take_import,
    ir.Define: _Collector.take_definition,
    ir.DefineClass: _Collector.take_definition,
    ir.Case: _Collector.take_case,
    ir.Outer: _Collector.take_outer,
    ir.Return: _Collector.take_returned,
    ir.Yield: _Collector.take_returned,
    ir.Call: _Collector.take_call,
    ir.DictDisplay: _Collector.take_dict,
    ir.Display: _Collector.take_display,
}


def _default_of_option(given: dict[str, ir.Node]) -> ir.Node | None:
    """Return what an option is that nobody gives, from the arguments of its declaration; None of what these do not say."""
    action, default = _text(given.get("action")), given.get("default")
    if default is None:
        off = _OFF_FLAGS.get(action)
        return ir.Const(off) if action not in ("store_const", *_REPEATED) else None
    made = last_name(given["type"]) if "type" in given else ""
    if type(default) is ir.Const and isinstance(default.value, str) and default.value and made not in _TEXTS:
        return None  # argparse converts it
    return default


def sources_of(value: ir.Node) -> Iterator[Provenance]:
    """Return what an expression may be read from, each alternative."""
    if type(value) is ir.Const:
        yield Provenance(CONSTANT, type(value.value).__name__, value.value)
    elif type(value) is ir.Bool:
        first = next((one for one in sources_of(value.values[0]) if one.kind), None) if value.is_and else None
        named = (one for part in value.values for one in sources_of(part))
        if first is None:
            yield from (named if not value.is_and else (ANYTHING,))
        else:
            yield first._replace(asks=True)
    elif type(value) is ir.IfExp:
        yield from sources_of(value.body)
        yield from sources_of(value.orelse)
    elif type(value) is ir.Name:
        yield Provenance(VARIABLE, value.id)
    elif type(value) is ir.Attr:
        yield Provenance(ATTRIBUTE, path_of(value) or value.name)
    elif type(value) is ir.Sub and _text(value.index):
        yield Provenance(ATTRIBUTE, ".".join([*_holders(value.value), _text(value.index)]))
    elif type(value) is ir.Call and last_name(value.func) in _FIELDS:
        default = next((one for key, one in value.keywords if key == "default"), None)
        yield from sources_of(default) if default is not None else (ANYTHING,)
    elif type(value) is ir.Call and last_name(value.func) in ASKING:
        yield from _sources_asked(value)
    else:
        yield ANYTHING


def _sources_asked(call: ir.Call) -> Iterator[Provenance]:
    """`getattr(args, "debug", False)`, `table.get("debug", False)`."""
    name = last_name(call.func)
    args = call.args[1:] if name in ("getattr", "hasattr") else call.args
    holder = call.args[:1] if name in ("getattr", "hasattr") else (getattr(call.func, "value", None),)
    if name == "hasattr" or not args or len(args) > 2 or not _text(args[0]):
        yield ANYTHING
        return
    held = [part for one in holder if isinstance(one, ir.Expr) for part in _holders(one)]  # type: ignore[arg-type]
    yield Provenance(ATTRIBUTE, ".".join([*held, _text(args[0])]))
    if len(args) > 1:
        yield from sources_of(args[1])
    elif name == "get":
        yield Provenance(CONSTANT, "NoneType", None)


def _find_tables(nodes: list[object]) -> frozenset[str]:
    """Find the names that a body gives tables of settings which it makes."""
    made = (one for one in nodes if type(one) is ir.Assign and type(one.value) is ir.Call)
    found = [one.targets for one in made if type(one.value) is ir.Call and last_name(one.value.func) in _TABLES]
    return frozenset([target.id for targets in found for target in targets if type(target) is ir.Name])


def _is_own(target: ir.Node) -> bool:
    return type(target) is ir.Attr and type(target.value) is ir.Name and target.value.id == "self"


def _holders(node: ir.Node) -> list[str]:
    """Return the names on the way to a value: of `config.TEST`, both; of `vars(args)`, those of `args`."""
    if type(node) is ir.Call:
        return _holders(node.args[0]) if last_name(node.func) == "vars" and node.args else []
    return [name for name in path_of(node).split(".") if name]


def _text(node: ir.Node | None) -> str:
    return node.value if type(node) is ir.Const and isinstance(node.value, str) else ""


__all__ = [
    "ANYTHING",
    "ATTRIBUTE",
    "CONSTANT",
    "ENTRY",
    "INIT",
    "PARSING",
    "VARIABLE",
    "CommandOption",
    "Gifts",
    "Provenance",
    "Setting",
    "find_given",
    "sources_of",
]
