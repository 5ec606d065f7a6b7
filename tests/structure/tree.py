"""Read xlalint's own source by `ast` alone: its modules, their imports, their docstrings and their literals."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGE = ROOT / "xlalint"
RULES = ROOT / "rules"
ENGINE = ("abstract", "analysis", "api_tables", "interpreter", "lowering", "program")
"""The folders that know Python, and shall know neither frameworks nor rules."""

_DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_CODE = re.compile(r"\bXLA\d")
_FRAMEWORK = re.compile(r"\b(?:torch\w*|tensorflow|tf|keras|jax|flax|equinox|optax|numpy)\b")
_IDIOM = re.compile(r"(?:What|Whether|Which)\b")
_PARTICIPLE = re.compile(
    r"_{0,2}(?:[a-z]+[^e]ed|told|kept|made|found|given|taken|written|rewritten|shown|known|seen|held|bound|built|drawn|spelt|lost|gone|chosen|"
    r"begun|hidden|broken|caught|said|heard|forgotten|proven|done)"
)
_VERBS = {"seed", "heed", "unheed", "embed"}  # these end like participles


class Import(NamedTuple):
    """A module of xlalint that another one imports, both by path. `typing_only`: below `if TYPE_CHECKING:`; `deferred`: in a function."""

    importer: str
    imported: str
    typing_only: bool
    deferred: bool

    def __str__(self) -> str:
        return f"{self.importer} -> {self.imported}{' (typing)' if self.typing_only else ''}"


class Page(NamedTuple):
    """The page of a rule, as far as names go. `module` is what a module that is named after it is called."""

    code: str
    module: str
    kind: str
    frameworks: tuple[str, ...]


def load(name: str) -> Any:
    """Read a table that lies beside the tests."""
    return json.loads((HERE / name).read_text(encoding="utf-8"))


@cache
def modules() -> dict[str, str]:
    """List the modules below the package by path ("fixes/model.py"), each with its dotted name ("fixes.model")."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        parts = place.parts[:-1] if place.name == "__init__.py" else place.with_suffix("").parts
        found[place.as_posix()] = ".".join(parts)
    return found


@cache
def text_of(module: str) -> str:
    """Read the source of a module, given by path."""
    return (PACKAGE / module).read_text(encoding="utf-8")


@cache
def tree_of(module: str) -> ast.Module:
    """Parse a module, given by path."""
    return ast.parse(text_of(module))


def folder_of(module: str) -> str:
    """Return the top-level folder that a module lies in; of one in the package itself, its file name."""
    return module.partition("/")[0]


@cache
def imports() -> tuple[Import, ...]:
    """List every import of one of xlalint's modules by another, each once, in order."""
    paths = {name: path for path, name in modules().items()}
    found = set()
    for importer in modules():
        for name, typing_only, deferred in _imported(tree_of(importer), False, False):
            for candidate in (name, name.rpartition(".")[0]):  # `from xlalint.a import b`: a module b, or a name in a
                if candidate in paths:
                    found.add(Import(importer, paths[candidate], typing_only, deferred))
                    break
    return tuple(sorted(found - {edge for edge in found if edge.importer == edge.imported}))


def _imported(node: ast.AST, typing_only: bool, deferred: bool) -> Iterator[tuple[str, bool, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue
        inner = deferred or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
        if isinstance(child, ast.Import):
            for alias in child.names:
                if alias.name.partition(".")[0] == "xlalint":
                    yield alias.name.partition(".")[2], typing_only, deferred
        elif isinstance(child, ast.ImportFrom) and (child.module or "").partition(".")[0] == "xlalint":
            for alias in child.names:
                yield f"{child.module}.{alias.name}".partition(".")[2], typing_only, deferred
        elif isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            yield from _imported(ast.Module(child.body, []), True, inner)
            yield from _imported(ast.Module(child.orelse, []), typing_only, inner)
        else:
            yield from _imported(child, typing_only, inner)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Walk a tree without its expressions, which are most of it."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield from _statements(child)


@cache
def packages(module: str) -> set[str]:
    """List the top-level packages that a module imports, at its top, in functions or for type checkers."""
    found: set[str] = set()
    for node in _statements(tree_of(module)):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found


@cache
def circles(edges: tuple[Import, ...]) -> list[list[str]]:
    """Find the sets of modules that import one another, directly or not, the largest first."""
    graph: dict[str, list[str]] = {module: [] for module in modules()}
    for edge in edges:
        graph[edge.importer].append(edge.imported)
    reached = {module: _reached(module, graph) for module in graph}
    found = {tuple(sorted({m for m in reached[start] if start in reached[m]})) for start in graph}
    return sorted((list(circle) for circle in found if len(circle) > 1), key=lambda circle: (-len(circle), circle))


def _reached(start: str, graph: dict[str, list[str]]) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        new = [module for module in graph[todo.pop()] if module not in seen]
        seen.update(new)
        todo.extend(new)
    return seen


def docstrings(module: str) -> list[str]:
    """List the docstrings of a module, its classes and its functions."""
    nodes = (node for node in _statements(tree_of(module)) if isinstance(node, _DEFINITIONS))
    return [text for node in nodes if (text := ast.get_docstring(node)) is not None]


def idiomatic(module: str) -> int:
    """Count the docstrings that begin with What, Whether or Which, where a verb should stand."""
    return sum(_IDIOM.match(text) is not None for text in docstrings(module))


def participles(module: str) -> int:
    """Count the functions that are named by a bare participle and are no predicates: where a verb should stand, too."""
    functions = (
        node for node in ast.walk(tree_of(module)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    )
    return sum(
        _PARTICIPLE.fullmatch(node.name) is not None
        and node.name.strip("_") not in _VERBS
        and not (isinstance(node.returns, ast.Name) and node.returns.id == "bool")
        and not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
        for node in functions
    )


def shared_names() -> dict[str, int]:
    """Count, by folder, the public classes whose name another public class has as well."""
    homes: dict[str, list[str]] = {}
    for module in modules():
        for node in tree_of(module).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(folder_of(module))
    shared = [folder for folders in homes.values() if len(folders) > 1 for folder in folders]
    return {folder: shared.count(folder) for folder in shared}


def twins() -> list[str]:
    """List the public classes that share their name within a folder: "folder: name"."""
    found: dict[str, int] = {}
    for module in modules():
        for node in tree_of(module).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                title = f"{folder_of(module)}: {node.name}"
                found[title] = found.get(title, 0) + 1
    return sorted(title for title, count in found.items() if count > 1)


def rule_codes(module: str) -> int:
    """Count the rule codes, and prefixes of such, anywhere in a module's text."""
    return len(_CODE.findall(text_of(module)))


def framework_names(module: str) -> int:
    """Count the string literals that name a framework; docstrings, which are bare expressions, are left out."""
    tree = tree_of(module)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    literals = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in prose)
    return sum(isinstance(node.value, str) and _FRAMEWORK.search(node.value) is not None for node in literals)


def engine() -> list[str]:
    """List the modules of the engine."""
    return [module for module in modules() if folder_of(module) in ENGINE]


@cache
def pages() -> dict[str, Page]:
    """Read the front matter of every rule's page, by code."""
    found = {}
    for path in sorted(RULES.glob("XLA*.md")):
        code, _, name = path.stem.partition("-")
        head = path.read_text(encoding="utf-8").split("+++")[1]
        kind = re.search(r'^kind = "(.+)"$', head, re.MULTILINE)
        frameworks = re.search(r"^frameworks = \[(.*)\]$", head, re.MULTILINE)
        assert kind is not None, f"{path.name} has no kind"
        named = tuple(re.findall(r'"(.+?)"', frameworks[1])) if frameworks is not None else ()
        found[code] = Page(code, name.replace("-", "_"), kind[1], named)
    return found


@cache
def rewriters() -> dict[str, tuple[str, ...]]:
    """Read from `fixes/registry.py` which modules rewrite the findings of each rule."""
    registry = tree_of("fixes/registry.py")
    homes = {
        alias.name: f"{(node.module or '').partition('.')[2].replace('.', '/')}/{alias.name}.py"
        for node in registry.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    found: dict[str, tuple[str, ...]] = {}
    for node in registry.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                assert key is not None, "a table that unpacks another one"
                named = {part.id for part in ast.walk(value) if isinstance(part, ast.Name)}
                found[ast.unparse(key).strip("'")] = tuple(sorted(homes[name] for name in named))
    return found
