"""From annotations, defaults and use to values: what a parameter is when no call says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.lattice import join, join_all
from xlalint.abstract.values import (
    ARRAYS,
    BOOL,
    FLOAT,
    HOST,
    INT,
    NEVER,
    NONE,
    STR,
    UNKNOWN,
    Class,
    Const,
    Host,
    LibrarySymbol,
    Module,
    Tensor,
    Union,
    Value,
    foreign,
    host,
    instance,
    mapping,
    members,
    sequence,
    tensor,
)
from xlalint.api_tables.returns import ANY_RANK
from xlalint.interpreter.device_loops import MOVING, models_of
from xlalint.lowering import ir
from xlalint.program.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from xlalint.api_tables.lookup import Apis
    from xlalint.interpreter.semantics import Libraries
    from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo, Program

# What functions return whose first argument is a tensor, and those that are asked of what was compared.
_OF_MASKS: Final = frozenset(("promote", "reduce", "scalar"))
_OF_TENSORS: Final = _OF_MASKS | {"like"}
_BUILTIN: Final[dict[str, Value]] = {
    "int": INT,
    "float": FLOAT,
    "bool": BOOL,
    "str": STR,
    "bytes": host("bytes"),
    "complex": host("complex"),
    "None": NONE,
    "Any": UNKNOWN,
}
_COPIES: Final = f".{MOVING}"
_SEQUENCES: Final = {
    "list": "list",
    "List": "list",
    "Sequence": "list",
    "MutableSequence": "list",
    "Iterable": "iter",
    "Iterator": "iter",
    "Collection": "list",
    "Generator": "iter",
    "set": "set",
    "Set": "set",
    "FrozenSet": "frozenset",
    "frozenset": "frozenset",
    "deque": "list",
}
_MAPPINGS: Final = frozenset(("dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict"))
_TRANSPARENT: Final = frozenset(("Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly", "Awaitable"))
_JAXTYPING: Final = {
    "Float": "f",
    "Int": "i",
    "Bool": "b",
    "Integer": "i",
    "UInt": "i",
    "Complex": "c",
    "Num": "",
    "Shaped": "",
    "Real": "",
    "Inexact": "",
    "Key": "i",
}


class Assignment:
    """A module-level assignment, by the module that makes it and the name that gets the value."""

    def __init__(self, module: ModuleInfo, name: str) -> None:
        self.module = module
        self.name = name


def _spell(key: tuple[int, str]) -> str:
    return f"{key[0]:08} {key[1]}"


class Annotations:
    """Reads annotations in the light of a program and of what is known of libraries."""

    def __init__(self, program: Program, apis: Apis, libraries: Libraries) -> None:
        self.program = program
        self.apis = apis
        self.libraries = libraries
        self._frameworks: dict[int, str] = {}
        self._telling: dict[tuple[str, str], bool] = {}
        self._inherited: dict[int, tuple[str, int]] = {}
        self.reader = program.reader
        self.assigned: Facts[tuple[int, str], Assignment | None] = Facts(
            self.reader, program.progress, "assignment", _spell, lambda key: None, self._search_assignment
        )
        self.aliases: Facts[tuple[int, str], Value | None] = Facts(
            self.reader, program.progress, "alias", _spell, lambda key: None, self._describe
        )

    def value(self, module: ModuleInfo, node: ir.Node | None) -> Value | None:
        """The value that an annotation describes; None where it says nothing."""
        if node is None:
            return None
        if type(node) is ir.Const:
            return NONE if node.value is None else None
        if type(node) is ir.Hinted:
            return HOST if node.kind == "static" else tensor(self.framework(module))
        if type(node) is ir.Bin and node.op == "|":
            return self._union(module, (node.left, node.right))
        if type(node) is ir.Sub:
            return self._subscript(module, node)
        if isinstance(node, (ir.Name, ir.Attr)):
            return self._resolve_named(module, node)
        return None

    def _union(self, module: ModuleInfo, nodes: tuple[ir.Node, ...]) -> Value | None:
        found = [self.value(module, node) for node in nodes]
        known = [value for value in found if value is not None]
        if not known:
            return None
        if any(isinstance(value, Host) and value.type in ("int", "float") for value in known):
            found = [self._number_like(value) if value is not None else None for value in found]
        return join_all(value if value is not None else UNKNOWN for value in found)

    def _number_like(self, value: Value) -> Value:
        """Narrow a declared tensor that may be a number instead to one of one element: `int | torch.Tensor`."""
        if isinstance(value, Tensor) and value.rank < 0 and self.libraries.of(value.framework).passed_as_numbers:
            return tensor(value.framework, value.dtype, 0, value.place, sure=False)
        return value

    def _resolve_named(self, module: ModuleInfo, node: ir.Name | ir.Attr) -> Value | None:
        alias = self._alias(module, node)
        if alias is not None:
            return alias
        resolved = self.program.resolve(module, node)
        if isinstance(resolved, Class):
            return self.tensor_of(resolved.info) or instance(resolved.info)
        if isinstance(resolved, LibrarySymbol):
            return self.external(resolved.name)
        name = node.id if type(node) is ir.Name else node.name
        if resolved is None and type(node) is ir.Name:
            if name in _SEQUENCES:
                return sequence(_SEQUENCES[name], None, UNKNOWN)
            if name in _MAPPINGS:
                return mapping((), UNKNOWN)
            return sequence("tuple", None, UNKNOWN) if name == "tuple" else _BUILTIN.get(name)
        return None

    def tensor_of(self, klass: ClassInfo) -> Tensor | None:
        """The tensor that objects of a class are which the program derives from a framework's; None of other classes."""
        for base in klass.library_bases():
            known = self.apis.type(base)
            if known is not None and known.kind == "tensor":
                return tensor(self.apis.framework(base) or self.libraries.default, known.dtype)
        return None

    def _alias(self, module: ModuleInfo, node: ir.Name | ir.Attr) -> Value | None:
        """The value of a type alias or type variable that a module of the program assigns."""
        found = self._assignment(module, node)
        if found is None:
            return None
        return self.aliases.of((found.module.index, found.name))

    def _describe(self, key: tuple[int, str]) -> Value | None:
        holder = self.program.modules[key[0]]
        value = holder.assignment(key[1])
        return self._describe_assigned(holder, value) if value is not None else None

    def _describe_assigned(self, holder: ModuleInfo, value: ir.Node) -> Value | None:
        """Return what an assigned type alias, type variable or new type stands for."""
        if type(value) is ir.Call:
            bounds = [bound for name, bound in value.keywords if name == "bound"] or list(value.args[1:])
            last = value.func.name if type(value.func) is ir.Attr else getattr(value.func, "id", "")
            described = self._union(holder, tuple(bounds)) if last == "TypeVar" and bounds else None
            if last == "NewType" and len(value.args) == 2:
                described = self.value(holder, value.args[1])
            return described
        return self.value(holder, value)

    def _assignment(self, module: ModuleInfo, node: ir.Name | ir.Attr) -> Assignment | None:
        """The module-level assignment that a name leads to, through imports."""
        if type(node) is ir.Attr:
            base = self.program.resolve(module, node.value)
            return self.assigned.of((base.info.index, node.name)) if isinstance(base, Module) else None
        return self.assigned.of((module.index, node.id))

    def _search_assignment(self, key: tuple[int, str]) -> Assignment | None:
        module, name = self.program.modules[key[0]], key[1]
        self.reader.current.modules |= module.bit
        if name in module.assigned:
            return Assignment(module, name) if module.assignment(name) is not None else None
        if name in module.unit.defs:
            return None
        binding = module.imports.get(name)
        sources = [binding] if binding is not None else module.stars
        for source in sources:
            target = self.program.by_name.get(self.program.absolute(module, source))
            if target is not None and target is not module:
                found_there = self.assigned.of((target.index, source.name or name))
                if found_there is not None:
                    return found_there
        return None

    def external(self, dotted: str) -> Value | None:
        """An instance of the library type of that name."""
        meant = self.libraries.annotated.get(dotted)
        if meant is not None:
            return meant()
        known = self.apis.type(dotted)
        if known is not None:
            framework = self.apis.framework(dotted) or self.libraries.default
            if known.kind == "array":
                return tensor(ARRAYS, known.dtype)
            if known.kind == "tensor":
                return tensor(framework, known.dtype, known.rank if known.rank != ANY_RANK else -1)
            if known.kind == "dtype":
                return host("dtype")
            if known.kind == "device":
                return host("device")
        last = dotted.rpartition(".")[2]
        if dotted.startswith(("typing.", "collections.", "builtins.", "typing_extensions.")):
            if last in _SEQUENCES:
                return sequence(_SEQUENCES[last], None, UNKNOWN)
            if last in _MAPPINGS:
                return mapping((), UNKNOWN)
            return _BUILTIN.get(last)
        return foreign(dotted)

    def _subscript(self, module: ModuleInfo, node: ir.Sub) -> Value | None:
        base = node.value
        name = base.id if type(base) is ir.Name else base.name if type(base) is ir.Attr else ""
        items = node.index.items if type(node.index) is ir.Display else (node.index,)
        if not items:  # `tuple[()]`; of others it means nothing
            return self.value(module, base)
        if name == "Optional":
            return join(NONE, self.value(module, items[0]) or UNKNOWN)
        if name == "Union":
            return self._union(module, items)
        if name == "Literal":
            types = {type(item.value).__name__ for item in items if type(item) is ir.Const}
            return host(types.pop()) if len(types) == 1 else HOST
        if name in ("tuple", "Tuple"):
            return self._tuple(module, items)
        if name in _SEQUENCES:
            return sequence(_SEQUENCES[name], None, self.value(module, items[0]) or UNKNOWN)
        if name in _MAPPINGS:
            return mapping((), (self.value(module, items[1]) if len(items) > 1 else None) or UNKNOWN)
        if name in _TRANSPARENT:
            return self.value(module, items[0])
        if name in _JAXTYPING:
            framework = self._jaxtyping_framework(module, items)
            if framework:
                return tensor(framework, _JAXTYPING[name], _jaxtyping_rank(items))
        return self.value(module, base)

    def _jaxtyping_framework(self, module: ModuleInfo, items: tuple[ir.Node, ...]) -> str:
        """The framework of what an annotation wraps. A program's own wrapper may be given a shape alone: then that of the module."""
        inner = self.value(module, items[0])
        if isinstance(inner, Tensor):
            return inner.framework
        return self.framework(module) if len(items) == 1 else ""

    def _tuple(self, module: ModuleInfo, items: tuple[ir.Node, ...]) -> Value:
        values = [self.value(module, item) or UNKNOWN for item in items]
        if len(items) == 2 and type(items[1]) is ir.Literal and items[1].type_name == "ellipsis":
            return sequence("tuple", None, values[0])
        return sequence("tuple", tuple(values), join_all(values))

    # ------------------------------------------------------------------------------------------ frameworks

    def framework(self, module: ModuleInfo) -> str:
        """The tensor framework that a module's imports speak of, else its classes' bases; the first where they name several."""
        found = self._frameworks.get(module.index)
        if found is None:
            found = self._frameworks[module.index] = self._find_imported(module)
        if found or not module.classes:
            return found
        known = self._inherited.get(module.index)
        if known is None:
            known = self._inherited[module.index] = self._inherit(module)
        self.reader.current.modules |= known[1]
        return known[0]

    def _find_imported(self, module: ModuleInfo) -> str:
        importing = (module, *module.starred)
        imports = ((one, binding) for one in importing for binding in one.unit.imports)
        return self._first_known(self.program.absolute(one, binding) or "?" for one, binding in imports)

    def _inherit(self, module: ModuleInfo) -> tuple[str, int]:
        """The framework of which a module's classes derive from classes, and the modules of the classes between."""
        lines = [klass.mro for klass in module.classes]
        between = 0
        for base in (base for line in lines for base in line):
            if not isinstance(base, str):
                between |= base.module.bit
        return self._first_known(base for line in lines for base in line if isinstance(base, str)), between

    def _first_known(self, names: Iterable[str]) -> str:
        found = (self.apis.framework(name) for name in names)
        return next((name for name in found if name in self.libraries.names), None) or ""

    # ----------------------------------------------------------------------------------------- parameters

    def parameter(self, info: FunctionInfo, position: int, default: Value | None) -> Value:
        """Return what a parameter holds when nothing is known of the call."""
        param = info.params[position]
        if param.kind == "*":
            return sequence("tuple", None, self.value(info.module, param.annotation) or UNKNOWN)
        if param.kind == "**":
            return mapping((), self.value(info.module, param.annotation) or UNKNOWN)
        declared = self.value(info.module, param.annotation)
        if declared is None:
            declared = self._by_use(info, param)
            if (
                default is not None
                and default is not NONE
                and (declared is UNKNOWN or self._is_flag(info, param, default))
            ):
                return _any_like(default)
        if default is not None and _contradicts(default, declared):
            return _any_like(default)
        if default is not None and isinstance(default, Const) and default is not NONE and isinstance(declared, Union):
            plain = [member for member in declared.members if isinstance(member, Host)]
            return join_all(plain) if plain else declared
        return declared if default is not NONE else join(declared, NONE)

    def _by_use(self, info: FunctionInfo, param: ir.Param) -> Value:
        """A tensor where the body uses the parameter as only tensors are used."""
        read = self.reader.current.functions
        if not read or read[-1] is not info:  # one parameter is asked for after the other
            read.append(info)
        use = self.telling_use(info, param)
        if not use:
            return UNKNOWN
        framework = ARRAYS if self._names_arrays(info.module, use) else self.framework(info.module)
        return tensor(framework, sure=False)

    def _is_flag(self, info: FunctionInfo, param: ir.Param, default: Value) -> bool:
        """Return whether a parameter is a flag by its default, where it is only passed on to what takes tensors and numbers alike."""
        flag = isinstance(default, Const) and isinstance(default.value, bool)
        return flag and self.telling_use(info, param).endswith(ir.PASSED)

    def telling_use(self, info: FunctionInfo, param: ir.Param) -> str:
        """The use of a parameter that shows it to be a tensor, as `ir.Param.uses` writes it; "" where none does."""
        framework = self.framework(info.module)
        if not framework or info.name == "__init__":
            return ""
        uses = param.uses
        of_host = not self.libraries.device_uses.intersection(uses)
        arrays = [use for use in uses if self._names_arrays(info.module, use)] if of_host else []
        for use in arrays:
            if not use.endswith(ir.PART_PASSED):
                return use
        for use in uses:
            if use == "[,]":
                return arrays[0] if arrays else use
            if use == _COPIES and param.name in info.answers(models_of):
                continue
            if use.startswith(".") and self.tells(framework, use[1:]) and not self._is_refused(framework, use, uses):
                return arrays[0] if arrays and self.arrays_have(use[1:]) else use
            if use.endswith(ir.PASSED) and self._takes_tensor(info.module, use.removesuffix(ir.PASSED)):
                return use
            if use.endswith(ir.COMPARED_PASSED) and self._asks_for_masks(
                info.module, use.removesuffix(ir.COMPARED_PASSED)
            ):
                return use
            if use in (ir.COMPARED, ir.MASKED) and self._compares_tensors(info):
                return use
        return ""

    def _compares_tensors(self, info: FunctionInfo) -> bool:
        """Return whether what a function compares elementwise is tensors.

        A method of a module compares those, others where no arrays of the host are at hand.
        """
        bases = info.owner.library_bases() if info.owner is not None else []
        specs = (self.apis.klass(ancestor) for base in bases for ancestor in self.apis.ancestors(base))
        if any(spec is not None and spec.base == "module" for spec in specs):
            return True
        return self.has_no_arrays(info.module)

    def has_no_arrays(self, module: ModuleInfo) -> bool:
        """Return whether a module imports nothing that has arrays of the host."""
        return self.libraries.of_host_arrays.isdisjoint(module.packages)

    def tells(self, framework: str, name: str) -> bool:
        """Return whether only tensors (or arrays) have an attribute of this name."""
        key = framework, name
        known = self._telling.get(key)
        if known is None:
            known = self._telling[key] = self._is_telling(framework, name)
        return known

    def arrays_have(self, name: str) -> bool:
        """Return whether arrays of the host have an attribute of this name as well."""
        return self.has_attribute(ARRAYS, name)

    def _is_telling(self, framework: str, name: str) -> bool:
        if _is_builtin(name):
            return False
        if name in self.libraries.shared_names:
            return False
        return self.has_attribute(framework, name)

    def _is_refused(self, framework: str, use: str, uses: tuple[str, ...]) -> bool:
        """Return whether the body says elsewhere that what has an attribute of a tensor's is none.

        It gives arguments to a method that takes none where it is a tensor's (transforms have an inverse too), or asks for what no tensor
        has: a random variable has a mean, and a cumulative distribution.
        """
        if f"{use}{ir.CALLED_WITH}" in uses:
            method = self.apis.method(framework, use[1:])
            if method is not None and not method.params:
                return True
        return any(self._is_foreign(framework, one) for one in uses)

    def _is_foreign(self, framework: str, use: str) -> bool:
        """Return whether a use reads an attribute that neither tensors nor arrays have, by a public name.

        What lists and dicts have says nothing: one may be made of a tensor, and take its name.
        """
        name = use[1:]
        if not use.startswith(".") or use.endswith(ir.CALLED_WITH) or name.startswith("_") or _is_builtin(name):
            return False
        return not (self.has_attribute(framework, name) or self.arrays_have(name))

    def has_attribute(self, framework: str, name: str) -> bool:
        """Return whether tensors of a framework have an attribute or method of this name."""
        return self.apis.attribute(framework, name) is not None or self.apis.method(framework, name) is not None

    def _names_arrays(self, module: ModuleInfo, use: str) -> bool:
        """Return whether a use hands the parameter, or a part of it, to a function of arrays, or indexes it with their `newaxis`."""
        spelled = use[1:-1] if use.startswith("[") else use.removesuffix(ir.PART_PASSED).removesuffix(ir.PASSED)
        node = _as_node(spelled)
        resolved = self.program.resolve(module, node) if node is not None else None
        if not isinstance(resolved, LibrarySymbol):
            return False
        if resolved.name.startswith(f"{ARRAYS}."):
            return True
        entry = self.apis.function(resolved.name)
        return entry is not None and entry.framework == ARRAYS

    def _takes_tensor(self, module: ModuleInfo, spelled: str) -> bool:
        if spelled.rpartition(".")[2] in self.libraries.of(self.framework(module)).takes_tensors and "." in spelled:
            return True
        if spelled.rpartition(".")[2] in self.libraries.makers:
            return False
        return not _OF_TENSORS.isdisjoint(self._list_returned(module, spelled))

    def _asks_for_masks(self, module: ModuleInfo, spelled: str) -> bool:
        """Return whether a function is passed the outcome of comparing tensors, first: of numbers that is a bool, which it does not take.

        Where functions take numbers for tensors, they take the bool, too.
        """
        if self.libraries.of(self.framework(module)).accepts_numbers:
            return False
        return not _OF_MASKS.isdisjoint(self._list_returned(module, spelled))

    def _list_returned(self, module: ModuleInfo, spelled: str) -> Iterator[str]:
        """The kinds of what a framework's function returns, which the source spells so; nothing of other names."""
        node = _as_node(spelled)
        resolved = self.program.resolve(module, node) if node is not None else None
        entry = self.apis.function(resolved.name) if isinstance(resolved, LibrarySymbol) else None
        if entry is not None and entry.framework in self.libraries.names:
            yield from (spec.returns.kind for spec in entry.cases)


def _is_builtin(name: str) -> bool:
    """Return whether Python's own types have an attribute of this name."""
    return any(hasattr(one, name) for one in (str, list, dict, int, set))


def _as_node(spelled: str) -> ir.Node | None:
    parts = spelled.split(".")
    if "?" in parts or not parts[0]:
        return None
    node: ir.Node = ir.Name(parts[0], 0)
    for part in parts[1:]:
        node = ir.Attr(node, part, 0)
    return node


def _contradicts(default: Value, declared: Value) -> bool:
    """Return whether a parameter is a flag by its default, whatever its annotation says: `return_weights: Optional[Tensor] = True`."""
    if not isinstance(default, Const) or not isinstance(default.value, bool):
        return False
    return all(type(one) is Tensor or one is NONE for one in members(declared))


def _any_like(default: Value) -> Value:
    """Any value of a default's type: callers may pass others."""
    from xlalint.abstract.values import Sequence

    if isinstance(default, Const):
        kind = type(default.value).__name__
        return host(kind)
    if isinstance(default, Sequence):
        return sequence(default.kind, None, _any_like(default.element) if default.element is not NEVER else UNKNOWN)
    return host("device") if default is host("device:cpu") else default


def _jaxtyping_rank(items: tuple[ir.Node, ...]) -> int:
    shape = items[1] if len(items) > 1 else None
    if type(shape) is ir.Const and isinstance(shape.value, str):
        dims = shape.value.split()
        return -1 if any("..." in dim or dim.startswith("*") for dim in dims) else len(dims)
    return -1
