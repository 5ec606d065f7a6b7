"""Under which name a module is at hand in a scene, and the import where it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from weakref import WeakKeyDictionary

import libcst as cst

from xlalint.diagnostics.logical_lines import logical_lines
from xlalint.fixes.toolkit.function_source import Document, FunctionSource, Replacement

# Names that the community gives modules; others go by their own.
_CUSTOMARY = {
    "jax.numpy": "jnp",
    "numpy": "np",
    "tensorflow": "tf",
    "torch.nn.functional": "F",
    "torch_xla.core.xla_model": "xm",
}
_IMPORT = re.compile(rb"(?:import|from)\b")
_STRING = re.compile(rb"[rRuU]?[\"']")
# Submodules that importing the package brings along.
_REACHED = frozenset(
    (
        "torch",
        "torch.nn",
        "torch.nn.functional",
        "jax",
        "jax.numpy",
        "jax.lax",
        "jax.debug",
        "tensorflow",
        "numpy",
        "keras",
        "keras.ops",
        "torch_xla",
        "torch_xla.runtime",
    )
)


class Imports:
    """The modules that one rewrite uses. `needed` are the insertions that bring in those that were missing, each once."""

    def __init__(self, scene: FunctionSource, node: cst.CSTNode) -> None:
        self._scene = scene
        self._node = node
        self._local = _local_names(scene, node)
        self._added: dict[str, str] = {}
        self.needed: list[Replacement] = []

    def name(self, module: str) -> str:
        """The expression by which a module is reached at the node: "jnp" for "jax.numpy", "torch.nn.functional" for itself."""
        bound = self.find_name(module)
        if bound is not None:
            return bound
        alias = _CUSTOMARY.get(module, module)
        if self._comes_with_all(module, alias):
            return alias
        if any(self._scene.code(one) == _write(module, alias) for one in self._list_lazy(module.partition(".")[0])):
            return alias
        if module not in self._added:
            alias = self._added[module] = self._free(_CUSTOMARY.get(module, module))
            self.needed.append(self._insert(module, alias))
        return self._added[module]

    def _comes_with_all(self, module: str, alias: str) -> bool:
        """Return whether a file uses a package by its own name, which nothing binds but `from others import *`."""
        unit = self._scene.document.unit
        bound = {*unit.defs, *unit.assigned, *self._local, *(one.local for one in unit.imports)}
        stars = any(one.local == "*" for one in unit.imports)
        return stars and alias == module and alias in self._scene.names and alias not in bound

    def _insert(self, module: str, alias: str) -> Replacement:
        """The import where the program imports the package: beside an import in the function, or in front of all that it does."""
        document, root = self._scene.document, module.partition(".")[0]
        beside = [] if _of_package(document, root) else list(self._list_lazy(root))
        if not beside:
            return _insertion(document, module, alias)
        end = self._scene.span(beside[-1])[1]
        return Replacement(end, end, f"\n{self._scene.indent(beside[-1])}{_write(module, alias)}")

    def _list_lazy(self, root: str) -> Iterator[cst.BaseSmallStatement]:
        """List the imports of a package that run in the function in front of the node."""
        scene = self._scene
        at = scene.span(self._node)[0]
        for one in scene.descend(scene.root, cst.Import, cst.ImportFrom):
            runs = scene.span(one)[1] < at and scene.holds(scene.parent(scene.parent(one)), self._node)
            if runs and re.match(rf"(?:import|from)\s+{re.escape(root)}\b", scene.code(one)):
                yield one

    def find_name(self, module: str) -> str | None:
        """By what the file calls a module, through an import of it or of the package that holds it."""
        root = module.partition(".")[0]
        package = None
        for binding in self._scene.document.unit.imports:
            if binding.level or binding.local in self._local:
                continue
            whole = binding.dotted
            if not binding.name and binding.local == root:
                if f"{binding.module}.".startswith(f"{module}."):
                    return module
                whole = root  # `import a.b` binds `a`
            if whole == module:
                return binding.local
            if whole == root and module in _REACHED:
                package = f"{binding.local}{module.removeprefix(root)}"
        return package

    def _free(self, wish: str) -> str:
        if "." in wish or wish not in self._scene.names:
            return wish
        return self._scene.fresh(wish.rpartition(".")[2])


def _local_names(scene: FunctionSource, node: cst.CSTNode) -> frozenset[str]:
    """Names that the functions around a node bind themselves, so that an import of that name is hidden."""
    bound: frozenset[str] = frozenset()
    known = _known.setdefault(scene, {})
    for function in (f for f in scene.above(node) if isinstance(f, cst.FunctionDef)):
        if function not in known:
            known[function] = frozenset(_bound_by(scene, function))
        bound |= known[function]
    return bound


def _bound_by(scene: FunctionSource, function: cst.FunctionDef) -> Iterator[str]:
    for param in scene.descend(function.params, cst.Param):
        yield param.name.value
    for target in scene.descend(function.body, cst.AssignTarget):
        if isinstance(target.target, cst.Name):
            yield target.target.value


_known: WeakKeyDictionary[FunctionSource, dict[cst.FunctionDef, frozenset[str]]] = WeakKeyDictionary()


def _write(module: str, alias: str) -> str:
    return f"import {module}" if alias == module else f"import {module} as {alias}"


def _insertion(document: Document, module: str, alias: str) -> Replacement:
    """The import at its place in the alphabet among those that open the file; behind one of the same package where that stands below."""
    line = _write(module, alias)
    docstring, imports = _opening(document)
    kin = _of_package(document, module.partition(".")[0])
    if kin and imports and kin > imports[-1][1]:  # a notebook may install the package in between
        return _insert(document, kin, f"\n{line}")
    plain = [extent for extent in imports if document.data.startswith(b"import", extent[0])]
    before = [end for start, end in plain if document.data[start:end] < line.encode()]
    if before:
        return _insert(document, before[-1], f"\n{line}")
    later = [start for start, _ in imports if not document.data.startswith(b"from __future__", start)]
    if later:
        return _insert(document, later[0], f"{line}\n")
    if imports:
        return _insert(document, imports[-1][1], f"\n\n{line}")
    return _insert(document, docstring, f"\n\n{line}" if docstring else f"{line}\n")


def _of_package(document: Document, root: str) -> int:
    """Where the file's first import of a package ends, 0 where it has none: of those that are not indented."""
    wanted = re.compile(rf"(?:import|from)\s+{re.escape(root)}\b".encode())
    for start, end in logical_lines(document.data):
        if wanted.match(document.data, start) and document.data[start - 1 : start] in (b"", b"\n", b"\r"):
            return end
    return 0


def _opening(document: Document) -> tuple[int, list[tuple[int, int]]]:
    """Where the file's docstring ends (0 if it has none), and the extents of the imports that directly follow."""
    docstring = 0
    imports: list[tuple[int, int]] = []
    for start, end in logical_lines(document.data):
        if _IMPORT.match(document.data, start):
            imports.append((start, end))
        elif not imports and not docstring and _STRING.match(document.data, start):
            docstring = end
        else:
            break
    return docstring, imports


def _insert(document: Document, byte: int, text: str) -> Replacement:
    offset = document.offset(byte)
    return Replacement(offset, offset, text)
