"""`pkg.mod:fn`, `path/file.py:Class.method`, `path/file.py` → what is to be run, on which inputs, on which backend. Nothing is imported.

Inputs come from `--inputs`, the configuration, the mark above the function, and its signature; where two speak of one argument, the
first of these counts.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from xlalint.config.releases import release_of
from xlalint.config.settings import Settings, VerifyEntry
from xlalint.frameworks.torch.shown_target import find_pinned
from xlalint.source.model import SourceError
from xlalint.source.reading import decode, is_notebook, read_bytes
from xlalint.verify.backends import USUAL, choose_installed
from xlalint.verify.exports import find_definitions, is_lazy
from xlalint.verify.inputs import SpecError, merge_specs, parse_inputs
from xlalint.verify.inputs.containers import nest
from xlalint.verify.inputs.marks import Definition, Mark, MarkError, callables, definition, read_marks
from xlalint.verify.inputs.signatures import Signature, signature_of
from xlalint.verify.model import Place, Specs, Subject

if TYPE_CHECKING:
    from xlalint.verify.guesses import Guessed

CALLED = ("forward", "call", "__call__")
"""The methods by which an instance is called."""

# The packages whose import says on which backend a file's functions run; torch has more than one.
_TORCHES = {"torch_tpu": "torch_tpu", "torch_xla": "torch_xla", "torch_neuronx": "torch_xla"}
_FRAMEWORKS = {
    **dict.fromkeys((*_TORCHES, "torch", "transformers", "lightning", "pytorch_lightning"), "torch"),
    **dict.fromkeys(("tensorflow", "keras", "tf_keras"), "tensorflow"),
    **dict.fromkeys(("jax", "flax", "equinox", "optax", "haiku"), "jax"),
}
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_FORMS = "`pkg.mod:fn`, `path/file.py:fn`, `path/file.py:Class.method`, or `path/file.py` for all that it declares"


class TargetError(Exception):
    """A target cannot be run as it was named; the message says what to write instead. `place` is the line it speaks of, if there is one."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message)
        self.place = place


class UndeclaredError(TargetError):
    """Some inputs are declared by nothing; `known` are those that are."""

    def __init__(self, message: str, place: Place | None, known: Specs) -> None:
        super().__init__(message, place)
        self.known = known


class Module(NamedTuple):
    """A source file that is only read: its text, and, where it was named as a module, that name and the folder to import it from."""

    file: str
    text: str
    tree: ast.Module
    name: str = ""
    path: tuple[str, ...] = ()


class Target(NamedTuple):
    """Something to verify; `max_compiles` and `as_written` are what its configuration says, None and False where it says nothing.

    With `guesses` its inputs are not declared: what is to be tried, and `undeclared` says how to declare them. `rows` are the first and
    last of its definition, (0, 0) where it has none in its file. `instead` says why it is run on another backend than the code shows.
    """

    subject: Subject
    specs: Specs
    backend: str
    place: Place
    max_compiles: int | None = None
    guesses: Guessed | None = None
    undeclared: str = ""
    rows: tuple[int, int] = (0, 0)
    as_written: bool = False
    instead: str = ""


class Told(NamedTuple):
    """Holds what was said of all targets at once, "" where nothing was. Without `settings`, undeclared inputs are not inferred."""

    inputs: str = ""
    factory: str = ""
    backend: str = ""
    torch_backend: str = ""
    settings: Settings | None = None


def targets_of(texts: Sequence[str], entries: Sequence[VerifyEntry], told: Told) -> Iterator[Target | TargetError]:
    """The targets that are named; without any, those of the configuration. One that cannot be run does not keep the others from it."""
    for text in texts:
        yield from _find_named(text, entries, told)
    for entry in entries if not texts else ():
        yield from (
            _single(entry.target, told, entry) if split_target(entry.target)[1] else _find_named(entry.target, (), told)
        )


def target_of(text: str, entries: Sequence[VerifyEntry], told: Told) -> Target:
    """The target that is named.

    Raises: TargetError, SpecError.
    """
    return _target(text, told, next((one for one in entries if _same(one.target, text)), None))


def earlier_target(text: str, read: Callable[[str], bytes], entries: Sequence[VerifyEntry], told: Told) -> Target:
    """The target that is named, as its file was: `read` gives the earlier content of a file.

    Raises: TargetError, SpecError, and what `read` raises.
    """
    where, name = split_target(text)
    now = module_of(where)
    try:
        before = decode(read(now.file))
        module = now._replace(text=before, tree=ast.parse(before))
    except SourceError as error:
        raise TargetError(f"{where}, as it was: {error.message}") from None
    except (SyntaxError, ValueError, RecursionError) as error:
        raise TargetError(f"{where}, as it was: not Python: {error}") from None
    entry = next((one for one in entries if _same(one.target, text)), None)
    return _target_in(module, name, told, entry, before)


def _find_named(text: str, entries: Sequence[VerifyEntry], told: Told) -> Iterator[Target | TargetError]:
    file, name = split_target(text)
    if name or not (file.endswith(".py") or Path(file).exists()):
        entry = next((one for one in entries if _same(one.target, text)), None)
        yield from _single(text, told, entry)
        return
    try:
        module = module_of(file)
        found = read_marks(module.text, module.file)
    except (TargetError, SpecError) as error:
        yield error if isinstance(error, TargetError) else TargetError(str(error))
        return
    own = [entry for entry in entries if _same(split_target(entry.target)[0], file)]
    configured = {split_target(entry.target)[1] for entry in own}
    if not found and not own:
        names = callables(module.tree)
        hint = f"; name one, as in `{text}:{names[0]}`" if names else ""
        yield TargetError(f"{text} declares nothing to verify: no `# xlalint: inputs(...)` above a function{hint}")
    for mark in found:
        if isinstance(mark, MarkError):
            yield TargetError(str(mark))
        elif mark.name not in configured:
            yield from _single(f"{file}:{mark.name}", told, None)
    for entry in own:
        yield from _single(entry.target, told, entry)


def _single(text: str, told: Told, entry: VerifyEntry | None) -> Iterator[Target | TargetError]:
    try:
        yield _target(text, told, entry)
    except TargetError as error:
        yield error
    except SpecError as error:
        yield TargetError(f"{text}: {error}")


def _target(text: str, told: Told, entry: VerifyEntry | None) -> Target:
    where, name = split_target(text)
    if not name:
        raise TargetError(f"`{text}` is not a target; a target is {_FORMS}")
    return _target_in(module_of(where), name, told, entry)


def _target_in(module: Module, name: str, told: Told, entry: VerifyEntry | None, text: str | None = None) -> Target:
    """A target in a module that was read. `text` is the module's, where that is not what its file holds."""
    module = _find_exported(module, name) or module
    node = definition(module.tree, name)
    if node is None and name not in _find_assigned(module.tree):
        known = callables(module.tree)
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"; did you mean `{near[0]}`?" if near else f"; there are {', '.join(known[:8])}" if known else ""
        raise TargetError(f"no `{name}` in {module.file}{hint}")
    rows = (node.lineno, node.end_lineno or node.lineno) if node is not None else (0, 0)
    place = Place(module.file, rows[0] or 1, name)
    factory = told.factory or (entry.factory if entry else "")
    subject = Subject(module.name, name, module.file, factory, text, module.path)
    allowed, as_written = (entry.max_compiles, bool(entry.as_written)) if entry else (None, False)
    said = [told.inputs, entry.inputs if entry else ""]
    try:
        specs = specs_of(module, name, node, place, said)
        backend, instead = _backend(module, told, entry)
        return Target(subject, specs, backend, place, allowed, rows=rows, as_written=as_written, instead=instead)
    except UndeclaredError as error:
        if told.settings is None:
            raise
        backend, instead = _backend(module, told, entry)
        guesses = _guess_inputs(module, subject, told.settings, backend, error)
        return Target(subject, error.known, backend, place, allowed, guesses, str(error), rows, as_written, instead)


def _find_exported(module: Module, name: str) -> Module | None:
    """Find the module of a package that defines a name which the package itself exports lazily.

    Raises: TargetError where several do.
    """
    file, first = Path(module.file), name.partition(".")[0]
    known = definition(module.tree, first) is not None or first in _find_assigned(module.tree)
    if known or not module.name or file.name != "__init__.py" or not is_lazy(module.text):
        return None
    found = find_definitions(module.name, file.parent, first)
    if len(found) > 1:
        more = ", ".join(f"`{dotted}:{name}`" for dotted, _ in found[:4])
        raise TargetError(
            f"`{module.name}` does not bind `{first}` itself, and several of its modules define it: name one of {more}"
        )
    return module_of(str(found[0][1]))._replace(name=found[0][0], path=module.path) if found else None


def _guess_inputs(
    module: Module, subject: Subject, settings: Settings, backend: str, error: UndeclaredError
) -> Guessed:
    """Guess what to try for a target whose inputs are not declared.

    Raises: TargetError where nothing can be tried.
    """
    from xlalint.verify.guesses import guess_inputs
    from xlalint.verify.inputs.believed import analyse_text
    from xlalint.verify.rewrites import find_named

    names = (subject.name, *(f"{subject.name}.{method}" for method in CALLED))
    found = next((one for one in (find_named(module.tree, name) for name in names) if one is not None), None)
    if found is None:
        raise error
    kinds = analyse_text(module.file, module.text, settings).parameters.get(found.name, {})
    made = guess_inputs(found, subject, kinds, {"tensorflow": "tensorflow", "jax": "jax"}.get(backend, "torch"))
    if not made.candidates:
        raise TargetError(f"{made.reason or 'no inputs can be inferred'}. {error}", error.place)
    return made._replace(candidates=tuple(merge_specs([error.known, one]) for one in made.candidates))


def module_of(where: str) -> Module:
    """The source file that a path or a dotted name means.

    Raises: TargetError.
    """
    name = ""
    path: tuple[str, ...] = ()
    if is_notebook(where):
        raise TargetError(
            f"{where}: a notebook cannot be a target: put the function into a module. (`check --fix --verify` proves its fixes.)"
        )
    file = os.path.abspath(where)  # noqa: PTH100
    if not (where.endswith(".py") or os.sep in where or Path(file).is_file()):
        name = where
        file, path = _locate(where)
    try:
        text = decode(read_bytes(file))
        return Module(file, text, ast.parse(text), name, path)
    except SourceError as error:
        raise TargetError(f"{where}: {error.message}") from None
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 1
        raise TargetError(f"{where}: not Python: {error}", Place(file, line)) from None


def specs_of(module: Module, name: str, node: Definition | None, place: Place, said: Sequence[str]) -> Specs:
    """The inputs of a function: what was said, what its mark says, what its signature declares.

    Raises: TargetError where some are unknown, or are none of its; SpecError.
    """
    found = [parse_inputs(text) for text in said if text]
    mark = _mark(read_marks(module.text, module.file), name)
    found += [mark.specs] if mark else []
    signature = signature_of(node) if node is not None else Signature(Specs({}), {})
    whole = merge_specs([*found, signature.specs])
    parameters = signature.parameters
    given = list(nest(whole.arguments))
    for argument in given:
        if not (argument.isdigit() or argument in parameters or signature.open):
            near = get_close_matches(argument, parameters, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"it takes {', '.join(parameters) or 'none'}"
            raise TargetError(f"`{name}` has no parameter `{argument}`; {hint}", place)
    positional = sum(argument.isdigit() for argument in given)
    missing = [one for one in signature.unknown if one not in given and one not in parameters[:positional]]
    if missing:
        raise UndeclaredError(_how_to_declare(name, missing, whole, signature), place, whole)
    return whole


def _how_to_declare(name: str, missing: Sequence[str], known: Specs, signature: Signature) -> str:
    example = ", ".join(f'{one}="{_guess(one)}"' for one in missing)
    whole = example if not known.arguments else f"{example}, ..."
    why = "; ".join(f"`{one}`: {signature.unknown[one]}" for one in missing)
    return (
        f"no inputs are declared for `{name}` ({why}). Write the shapes and dtypes above it:\n"
        f"    # xlalint: inputs({whole})\nor give them: --inputs '{example}'"
    )


def _guess(parameter: str) -> str:
    """A form to begin with, by what a parameter's name suggests."""
    word = parameter.lower()
    if "mask" in word:
        return "bool[8]"
    integers = ("id", "label", "index", "length", "token", "position")
    return "i64[8] 0..3" if any(one in word for one in integers) else "f32[8,16]"


def _mark(found: Sequence[Mark | MarkError], name: str) -> Mark | None:
    """The mark of a function or method; for a method without one, that of its class, and for a class that of the method that calls it.

    Raises: MarkError where it cannot be read.
    """
    named = {mark.name: mark for mark in found if mark.name}
    names = (name, name.rpartition(".")[0], *(f"{name}.{method}" for method in CALLED))
    mark = next((named[one] for one in names if one in named), None)
    if isinstance(mark, MarkError):
        raise mark
    return mark


def find_declared(entries: Sequence[VerifyEntry], file: str, name: str) -> VerifyEntry | None:
    """Find the configuration's entry for a function, or for the class that it is a method of."""
    wanted = (f"{file}:{name}", f"{file}:{name.rpartition('.')[0]}")
    return next((entry for text in wanted for entry in entries if _same(entry.target, text)), None)


def split_target(text: str) -> tuple[str, str]:
    """Return a target's file or module, and the name in it, "" where it names none."""
    where, colon, name = text.rpartition(":")
    return (where, name) if colon and _NAME.fullmatch(name) else (text, "")


def _same(one: str, other: str) -> bool:
    """Return whether two targets, or two files, are the same. Those of a configuration are absolute if they are files."""
    (file, name), (other_file, other_name) = split_target(one), split_target(other)
    return name == other_name and os.path.abspath(file) == os.path.abspath(other_file)  # noqa: PTH100


def _find_assigned(tree: ast.Module) -> set[str]:
    """The names that a module assigns or imports: `predict = jax.jit(forward)`."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return names


def _locate(name: str) -> tuple[str, tuple[str, ...]]:
    """The file of a module, and what has to be in front of `sys.path` for it; found as `import` would, without importing packages."""
    if not _NAME.fullmatch(name):
        raise TargetError(f"`{name}` is not a target; a target is {_FORMS}")
    here = str(Path.cwd())
    for base in (here, *(path for path in sys.path if path)):
        spec: ModuleSpec | None = None
        folders: list[str] | None = [base]
        for depth in range(name.count(".") + 1):
            dotted = ".".join(name.split(".")[: depth + 1])
            spec = PathFinder.find_spec(dotted, folders) if folders else None
            folders = list(spec.submodule_search_locations or ()) if spec is not None else None
        if spec is not None and spec.origin and spec.origin.endswith(".py"):
            return spec.origin, (here,) if base == here else ()
    raise TargetError(f"no module `{name}` in {here} or on Python's path; a target is {_FORMS}")


def _backend(module: Module, told: Told, entry: VerifyEntry | None) -> tuple[str, str]:
    """Return the backend that was named, else the one that a file's imports ask for; why it is another one, "" where it is not."""
    if named := told.backend or (entry.backend if entry else ""):
        return named, ""
    framework, packages = _find_framework(module)
    if framework != "torch":
        return framework, ""
    if told.torch_backend:
        return told.torch_backend, ""
    shown = next((backend for package, backend in _TORCHES.items() if package in packages), "")
    return choose_installed(shown or _find_pinned(told.settings) or USUAL)


def _find_pinned(settings: Settings | None) -> str:
    """The backend that the requirements of a project tell."""
    told = settings.requirements if settings is not None else ()
    return find_pinned(told, release_of(None, told))


def _find_framework(module: Module) -> tuple[str, list[str]]:
    """Return the framework that a file imports, and the packages by which it does."""
    found: dict[str, list[str]] = {}
    for node in ast.walk(module.tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = [node.module]
        for name in names:
            package = name.partition(".")[0]
            if package in _FRAMEWORKS:
                found.setdefault(_FRAMEWORKS[package], []).append(package)
    if len(found) != 1:
        what = f"imports {' and '.join(first for first, *_ in found.values())}" if found else "imports no framework"
        raise TargetError(f"{module.file} {what}: say which to run it on: --backend torch_xla, tensorflow, jax, ...")
    (framework,) = found.items()
    return framework
