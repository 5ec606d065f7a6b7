"""Attributes: what `value.name` is, and what a class's methods store on `self`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from xlalint.abstract.lattice import join, join_all
from xlalint.abstract.values import (
    FLOAT,
    HOST,
    INT,
    NEVER,
    NONE,
    UNKNOWN,
    UPDATED,
    Class,
    Const,
    Function,
    Host,
    Instance,
    LibraryInstance,
    LibrarySymbol,
    Mapping,
    Method,
    Module,
    Partial,
    Sequence,
    Super,
    Tensor,
    Value,
    answer,
    external,
    field,
    foreign,
    host,
    instance,
    mapping,
    members,
    method,
    partial,
    place_of,
    tensor,
)
from xlalint.interpreter.dispatch_loops import is_marked
from xlalint.interpreter.library_calls import added_up, attribute_value, module_value_of, shape_value
from xlalint.interpreter.traced_arguments import as_known
from xlalint.lowering import ir
from xlalint.program.dependencies import DependencySet
from xlalint.program.facts import Facts
from xlalint.program.linker import ClassInfo, FunctionInfo

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.interpreter import Interpreter

_FIRST: Final = ("__init__", "__post_init__", "setup", "build", "_setup")
# Methods of modules that store what they are given on the module, with the name of that parameter.
REGISTERED: Final = {
    "register_buffer": "tensor",
    "register_parameter": "param",
    "add_module": "module",
    "register_module": "module",
    "add_state": "default",
}
_BUFFER: Final = "register_buffer"
_PROPERTIES: Final = (
    "property",
    "cached_property",
    "lazyproperty",
    "abstractproperty",
    "lazy_property",
    "classproperty",
)


class AttributeTables:
    """Per class: the join of all that its own methods assign to each attribute of their receiver."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.reader = interpreter.reader
        self.stores = self._tables("stores", self._fill_stored)
        self.bodies = self._tables("body", self._fill_body)
        self.kept_items = self._tables("items", self._fill_items)
        self.buffers: Facts[ClassInfo, frozenset[str]] = Facts(
            self.reader,
            interpreter.program.progress,
            "buffers",
            place_of,
            lambda klass: frozenset(),
            self._find_buffers,
        )
        self._records: dict[ClassInfo, tuple[str, ...]] = {}
        self._kinds: dict[ClassInfo, str] = {}
        self._attributes: dict[tuple[ClassInfo, str], Value | None] = {}
        self._lines: dict[ClassInfo, DependencySet] = {}

    def _tables(self, name: str, fill: Callable[[ClassInfo], dict[str, Value]]) -> Facts[ClassInfo, dict[str, Value]]:
        """A table per class, which may be asked for while it is half filled."""
        return Facts(self.reader, self.interpreter.program.progress, name, place_of, lambda klass: {}, fill)

    def kind(self, klass: ClassInfo | None) -> str:
        """Return what kind of thing instances are, by the class's library ancestors ("module", "dataset", …), or ""."""
        if klass is None:
            return ""
        found = self._kinds.get(klass)
        if found is None:
            names = [base if isinstance(base, str) else base.dotted for base in klass.mro]
            specs = [self.interpreter.apis.klass(name) for name in names]
            found = next((spec.base for spec in specs if spec is not None and spec.base != "object"), "")
            self._kinds[klass] = found
        return found

    def find_stores(self, klass: ClassInfo) -> dict[str, Value]:
        """Return what the methods that this class defines store; partial while it is being computed."""
        return self.stores.of(klass)

    def _fill_stored(self, klass: ClassInfo) -> dict[str, Value]:
        self.reader.current.modules |= klass.module.bit
        table = self.stores.so_far(klass)
        with self.interpreter.afresh():
            for info in self._storing(klass):
                context = self.interpreter.enter(info, self.interpreter.standalone(info))
                for name, value in context.stores.items():
                    table[name] = join(table.get(name, NEVER), value)
        return table

    def find_assigned(self, klass: ClassInfo, name: str) -> Value | None:
        """Return what methods along the MRO store under the name, joined with what the nearest class body assigns."""
        key = (klass, name)
        line = self._lines.get(klass)
        if line is None:
            line = self._lines[klass] = DependencySet()
        if key in self._attributes:
            self.reader.use(line)
            return self._attributes[key]
        progress = self.interpreter.program.progress
        leaning = progress.leaning
        with self.reader.reading(line):
            found = self._join_assigned(klass, name)
        if progress.leaning == leaning:
            self._attributes[key] = found
        return found

    def _join_assigned(self, klass: ClassInfo, name: str) -> Value | None:
        bases = [base for base in klass.mro if isinstance(base, ClassInfo)]
        found: list[Value] = []
        for base in bases:
            value = self.find_stores(base).get(name)
            if value is not None:
                found.append(value)
        declared = next((v for base in bases if (v := self.body(base).get(name)) is not None), None)
        if declared is not None:
            found.append(declared)
        if found and any(name in self.buffers.of(base) for base in bases):
            found = [on_device(value) for value in found]  # whatever is assigned to a buffer moves with its module
        if not found:
            return None
        whole = join_all(found)
        return _of_any_value(whole) if name in self.interpreter.program.configured else whole

    def _find_buffers(self, klass: ClassInfo) -> frozenset[str]:
        """The names under which a class's own methods register buffers."""
        infos = klass.own_methods
        self.reader.current.functions.extend(infos)
        calls = (one for info in infos if _BUFFER in info.ir.calls for one in ir.walk(info.body))
        names = (call.args[0] for call in calls if type(call) is ir.Call and call.args and _registers(call))
        return frozenset(name.value for name in names if type(name) is ir.Const and isinstance(name.value, str))

    def _storing(self, klass: ClassInfo) -> list[FunctionInfo]:
        """The class's methods that assign attributes of their receiver, constructors first."""
        infos = [
            info
            for info in klass.own_methods
            if (info.ir.stores or info.name in _FIRST) and not info.decorated("staticmethod", "classmethod")
        ]
        return sorted(infos, key=lambda info: (info.name not in _FIRST, info.index))

    def items(self, klass: ClassInfo) -> dict[str, Value]:
        """Return what the class's methods store in dicts under known keys: an optimizer's state, say."""
        return self.kept_items.of(klass)

    def _fill_items(self, klass: ClassInfo) -> dict[str, Value]:
        self.reader.current.modules |= klass.module.bit
        table = self.kept_items.so_far(klass)
        settings = self._settings(klass)
        with self.interpreter.apart():
            for base in klass.mro:
                if isinstance(base, ClassInfo):
                    self._collect_items(klass, base, table, settings)
        return table

    def _collect_items(
        self, klass: ClassInfo, base: ClassInfo, table: dict[str, Value], settings: frozenset[str]
    ) -> None:
        for info in base.own_methods:
            if info.decorated("staticmethod", "classmethod"):
                continue
            args = self.interpreter.standalone(info)
            context = self.interpreter.enter(info, (instance(klass), *args[1:]))
            for name, value in context.items.items():
                if name not in settings:
                    table[name] = join(table.get(name, NEVER), value)

    def _settings(self, klass: ClassInfo) -> frozenset[str]:
        """Names of parameters of the constructors, and the keys of the dicts that they write down.

        An optimizer's groups keep numbers under these names.
        """
        infos = [base.method("__init__") for base in klass.mro if isinstance(base, ClassInfo)]
        found = {param.name for info in infos if info is not None for param in info.params}
        for info in infos:
            for statement in info.body if info is not None else ():
                if isinstance(statement, (ir.Assign, ir.AnnAssign)) and type(statement.value) is ir.DictDisplay:
                    keys = (key.value for key in statement.value.keys if type(key) is ir.Const)
                    found.update(key for key in keys if isinstance(key, str))
        return frozenset(found)

    def body(self, klass: ClassInfo) -> dict[str, Value]:
        """The attributes that the class's body assigns or declares."""
        return self.bodies.of(klass)

    def _fill_body(self, klass: ClassInfo) -> dict[str, Value]:
        self.reader.current.modules |= klass.module.bit
        table = self.bodies.so_far(klass)
        with self.interpreter.apart():
            self._run_body(klass, table)
        return table

    def _run_body(self, klass: ClassInfo, table: dict[str, Value]) -> None:
        frame = self.interpreter.module_frame(klass.module)
        for statement in ir.decode_body(klass.ir.body):
            if type(statement) is ir.Assign:
                value = frame.eval(statement.value)
                for target in statement.targets:
                    if type(target) is ir.Name:
                        table[target.id] = frame.env[target.id] = value
            elif type(statement) is ir.AnnAssign and type(statement.target) is ir.Name:
                table[statement.target.id] = self._declare(klass, frame, statement)

    def _declare(self, klass: ClassInfo, frame: Frame, statement: ir.AnnAssign) -> Value:
        declared = self._mark_settings(klass, self.interpreter.annotations.value(klass.module, statement.annotation))
        if statement.value is None:
            return declared or UNKNOWN
        value = frame.eval(statement.value)
        if isinstance(value, (Const, Host)) and value is not NONE:
            return declared or host(type(value.value).__name__ if isinstance(value, Const) else value.type)
        return join(declared or UNKNOWN, value) if value is NONE else declared or value

    def _mark_settings(self, klass: ClassInfo, declared: Value | None) -> Value | None:
        """Return what a field is declared to be: known to traced code where it is a setting."""
        configured = self.interpreter.libraries.configured
        framework = next((configured[base] for base in klass.library_bases() if base in configured), "")
        return as_known(declared, framework) if framework and declared is not None else declared

    def record_defaults(self, klass: ClassInfo) -> dict[str, Value]:
        """Return what the fields of a dataclass-like class hold when they are not given."""
        found: dict[str, Value] = {}
        for name in self.record_names(klass):
            bodies = (self.body(base) for base in klass.mro if isinstance(base, ClassInfo))
            # A body that is still being worked out may not have the name yet.
            value = next((body[name] for body in bodies if name in body), UNKNOWN)
            found[name] = NONE if value is not NONE and NONE in members(value) else value
        return found

    def record_names(self, klass: ClassInfo) -> tuple[str, ...]:
        """The annotated names of a dataclass-like class, base classes' first."""
        found = self._records.get(klass)
        if found is None:
            names: dict[str, None] = {}
            for base in reversed([k for k in klass.mro if isinstance(k, ClassInfo)]):
                for statement in ir.decode_body(base.ir.body):
                    if type(statement) is ir.AnnAssign and type(statement.target) is ir.Name:
                        names[statement.target.id] = None
            found = self._records[klass] = tuple(names)
        return found


def _registers(call: ir.Call) -> bool:
    return type(call.func) is ir.Attr and call.func.name == _BUFFER


def _of_any_value(value: Value) -> Value:
    """Return what is left of a value that is assigned from outside its class, too, as in `model.step = 3`: its type."""
    if type(value) is not Const:
        return value
    if value is NONE:
        return UNKNOWN
    return host(type(value.value).__name__)


def on_device(value: Value) -> Value:
    """A tensor that moves with its module: buffers and parameters."""
    return join_all(
        tensor(m.framework, m.dtype, m.rank, "", m.sure) if isinstance(m, Tensor) else m for m in members(value)
    )


def attribute_of(interpreter: Interpreter, frame: Frame, value: Value, name: str, at: int) -> Value:
    """The value of one attribute of one value."""
    reader = _READERS.get(type(value))
    if reader is not None:
        return reader(interpreter, frame, value, name, at)
    if value is UNKNOWN:
        framework = interpreter.annotations.framework(frame.module)
        if name == "shape" and framework:
            return shape_value(None)
        semantics = interpreter.libraries.of(framework)
        known = semantics.of_unknown.get(name)
        if known is not None:
            return known()
        if name in semantics.telling:
            return _of_tensor(interpreter, frame, tensor(framework, sure=False), name, at)
    return UNKNOWN


def _of_tensor(interpreter: Interpreter, frame: Frame, value: Tensor, name: str, at: int) -> Value:
    if name == "at" and interpreter.libraries.of(value.framework).indexer == name:
        return method(value, "at")
    what = interpreter.apis.attribute(value.framework, name)
    if what is not None:
        return attribute_value(value, what)
    if interpreter.apis.method(value.framework, name) is not None:
        return method(value, name)
    semantics = interpreter.libraries.of(value.framework)
    part = semantics.part_of
    if value.place and not value.sure:  # an object that holds tensors in host memory, or what a compiled function gave
        if semantics.is_setting is not None and semantics.is_setting(interpreter, name):
            return UNKNOWN
        leaf = tensor(value.framework, place=value.place, sure=False)
        is_table = hasattr(dict, name) and (part is not None or is_marked(value))
        return method(mapping((), leaf), name) if is_table else leaf
    return part(interpreter, name) if part is not None else UNKNOWN


def _of_module(interpreter: Interpreter, frame: Frame, value: Module, name: str, at: int) -> Value:
    return interpreter.program.member_of(value.info, name)


def _of_external(interpreter: Interpreter, frame: Frame, value: LibrarySymbol, name: str, at: int) -> Value:
    dotted = f"{value.name}.{name}"
    return interpreter.constant_of_library(dotted) or interpreter.program.find_module(dotted)


def _of_class(interpreter: Interpreter, frame: Frame, value: Class, name: str, at: int) -> Value:
    info = value.info.method(name)
    if info is not None:
        return interpreter.bind_method(info, value if info.decorated("classmethod") else None)
    for klass in value.info.mro:
        if isinstance(klass, ClassInfo):
            found = interpreter.tables.body(klass).get(name)
            if found is not None:
                return found
    return HOST if name in ("__name__", "__qualname__", "__module__", "__doc__") else UNKNOWN


# The methods of a record that give another one of its class: of a named tuple, and of what Flax and chex make of a class.
_COPYING: Final = frozenset(("_replace", "replace"))
# The attribute under which what runs a module on several devices holds it: it is taken for the module itself.
_RUN_IN_PARALLEL: Final = "module"


def _of_object(interpreter: Interpreter, frame: Frame, value: Instance, name: str, at: int) -> Value:
    known = field(value.fields, name)
    if known is not None:
        return known
    klass = value.klass
    info = klass.method(name)
    if info is not None and not info.decorated(*_PROPERTIES):
        hiding = _find_hiding(interpreter, frame, klass, info)
        if hiding is not None:
            return hiding
    if info is not None:
        overrides = klass.overrides(name) if info.promises_nothing() else None
        if overrides:
            return _of_subclasses(interpreter, frame, value, overrides, at)
        return _method(interpreter, frame, value, info, at)
    stored = interpreter.tables.find_assigned(klass, name)
    if stored is not None:
        return stored
    for base in klass.library_bases():
        what = interpreter.apis.class_attribute(base, name)
        if what is not None:
            return module_value_of(what, interpreter.apis.framework(base) or "")
        if interpreter.apis.class_method(base, name) is not None:
            return method(value, name)
    if name in _COPYING and klass.makes_record() and interpreter.tables.record_names(klass):
        return partial(external("dataclasses.replace"), (value,), ())
    if name in REGISTERED:
        return method(value, name)
    if name == "__class__":
        from xlalint.abstract.values import class_value

        return class_value(klass)
    info = klass.method_below(name)
    if info is not None:
        return _of_subclass(interpreter, frame, value, info, at)
    for subclass in klass.subclasses[:8]:
        stored = interpreter.tables.find_stores(subclass).get(name) or interpreter.tables.body(subclass).get(name)
        if stored is not None:
            return stored
    return value if name == _RUN_IN_PARALLEL and interpreter.tables.kind(klass) == "module" else UNKNOWN


def _find_hiding(interpreter: Interpreter, frame: Frame, klass: ClassInfo, info: FunctionInfo) -> Value | None:
    """Return what a class's constructor puts in the place of a method, its own or an inherited one: `self.step = jit(self.step)`.

    What the constructor itself asks for is the method still, as where it is wrapped.
    """
    for base in klass.mro:
        if not isinstance(base, ClassInfo):
            return None
        made = base.ir.methods.get("__init__")
        constructor = base.module.functions[made] if made is not None else None
        if constructor is not None and info.name in constructor.ir.stores:
            return None if frame.function is constructor else interpreter.tables.find_stores(base).get(info.name)
        if base is info.owner:
            return None
    return None


def _of_subclasses(
    interpreter: Interpreter, frame: Frame, value: Instance, overrides: list[FunctionInfo], at: int
) -> Value:
    """Return what subclasses make of an abstract method or property: of several it is not known which one it is."""
    several = len(overrides) > 1
    if several:
        frame.paths.left_open.add(at)
    frame.paths.overridden += several
    found = join_all(_of_subclass(interpreter, frame, value, override, at) for override in overrides)
    frame.paths.overridden -= several
    return found


def _of_subclass(interpreter: Interpreter, frame: Frame, value: Instance, info: FunctionInfo, at: int) -> Value:
    """A method of an instance of one of the subclasses."""
    receiver = instance(info.owner, value.fields) if info.owner is not None else value
    return _method(interpreter, frame, receiver if isinstance(receiver, Instance) else value, info, at)


def _method(interpreter: Interpreter, frame: Frame, value: Instance, info: FunctionInfo, at: int) -> Value:
    if info.decorated(*_PROPERTIES):
        return interpreter.invoke(frame, info, value, [], (), at)
    if info.decorated("setter", "getter"):
        return interpreter.invoke(frame, info, value, [], (), at)
    if info.decorated("staticmethod"):
        return interpreter.bind_method(info, None)
    if info.decorated("classmethod"):
        from xlalint.abstract.values import class_value

        return interpreter.bind_method(info, class_value(value.klass))
    return interpreter.bind_method(info, value)


def _of_super(interpreter: Interpreter, frame: Frame, value: Super, name: str, at: int) -> Value:
    receiver = value.receiver
    klass = receiver.klass if isinstance(receiver, Instance) else value.klass
    order = klass.mro if value.klass in klass.mro else value.klass.mro
    if name == "__init__" and interpreter.tables.kind(value.klass) == "module":
        return external("builtins.object.__init__")
    for base in order[order.index(value.klass) + 1 :]:
        if isinstance(base, ClassInfo):
            index = base.ir.methods.get(name)
            if index is not None:
                info = base.module.functions[index]
                if isinstance(receiver, Instance):
                    return _method(interpreter, frame, receiver, info, at)
                return interpreter.bind_method(info, receiver)
        elif interpreter.apis.class_method(base, name) is not None:
            return method(foreign(base), name)
    if name == "__init__":
        return external("builtins.object.__init__")
    return UNKNOWN


def _of_foreign(interpreter: Interpreter, frame: Frame, value: LibraryInstance, name: str, at: int) -> Value:
    what = interpreter.apis.class_attribute(value.name, name)
    if what is not None:
        framework = interpreter.apis.class_framework(value.name)
        found = module_value_of(what, framework)
        if value.place and type(found) is Tensor:
            found = tensor(found.framework, found.dtype, found.rank, value.place, found.sure)
        return found if frame.loops.stepping is None else added_up(frame, framework, name, found)
    if interpreter.apis.class_method(value.name, name) is not None:
        return method(value, name)
    spec = interpreter.apis.klass(value.name) if name == _RUN_IN_PARALLEL else None
    return value if spec is not None and spec.base == "module" else UNKNOWN


# What `torch.finfo(dtype)` and `iinfo` tell in numbers.
_LIMITS: Final[dict[str, dict[str, Value]]] = {
    "finfo": {
        **dict.fromkeys(("eps", "max", "min", "resolution", "smallest_normal", "tiny"), FLOAT),
        "bits": INT,
    },
    "iinfo": {"bits": INT, "max": INT, "min": INT},
}


def _of_container(interpreter: Interpreter, frame: Frame, value: Value, name: str, at: int) -> Value:
    if isinstance(value, Sequence) and value.kind.startswith("named:") and value.items is not None:
        names = value.kind[6:].split(",")
        if name in names:
            return value.items[names.index(name)]
    if isinstance(value, Mapping):
        known = field(value.items, name)
        if known is not None and not hasattr(dict, name):
            return known
    if isinstance(value, Host) and value.type != "str":
        if name == "type" and value.type == "device":
            return host("accelerator")
        if value.type in _LIMITS and name in _LIMITS[value.type]:
            return _LIMITS[value.type][name]
        return HOST if value.type else UNKNOWN
    return method(value, name)


def _of_function(interpreter: Interpreter, frame: Frame, value: Function, name: str, at: int) -> Value:
    if name == "apply" or name.startswith("__"):
        return HOST
    return UNKNOWN


def _of_partial(interpreter: Interpreter, frame: Frame, value: Partial, name: str, at: int) -> Value:
    if isinstance(value.func, LibrarySymbol) and value.func.name == RECORDS and name in _PARSES:
        return answer(value.args[0])
    return UNKNOWN


def _of_method(interpreter: Interpreter, frame: Frame, value: Method, name: str, at: int) -> Value:
    """Return what an attribute of a method is: what an update of some elements (`x.at[i].set`) is called by does not matter."""
    return value if value.name == UPDATED else UNKNOWN


# What a parser of dataclasses stands for; its first argument is what it gives.
RECORDS: Final = "transformers.HfArgumentParser()"
_PARSES: Final = frozenset(("parse_args_into_dataclasses", "parse_json_file", "parse_yaml_file", "parse_dict"))

_READERS: Final[dict[type[Value], Callable[..., Value]]] = {
    Tensor: _of_tensor,
    Module: _of_module,
    LibrarySymbol: _of_external,
    Class: _of_class,
    Instance: _of_object,
    Super: _of_super,
    LibraryInstance: _of_foreign,
    Sequence: _of_container,
    Mapping: _of_container,
    Const: _of_container,
    Host: _of_container,
    Function: _of_function,
    Partial: _of_partial,
    Method: _of_method,
}

__all__ = ["RECORDS", "AttributeTables", "attribute_of", "on_device"]
