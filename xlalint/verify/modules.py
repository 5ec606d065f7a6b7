"""The module that a subject lies in: found by file or by name, imported as its own program imports it, and executed anew for a fresh copy.

It has a file in any case, since AutoGraph, `inspect` and tracebacks read sources: text that is not written yet goes to a temporary one.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tempfile
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from weakref import WeakKeyDictionary

from xlalint.verify import places
from xlalint.verify.model import Place, Subject


class LoadError(Exception):
    """A subject cannot be had; the message says what is wrong, `place` where, if there is a line to blame."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message)
        self.place = place


class Source(NamedTuple):
    """A module's name and file, and the file that its lines are executed from: another one, where they are not written yet."""

    name: str
    file: str
    lines: str


_executed: WeakKeyDictionary[ModuleType, str] = WeakKeyDictionary()  # copies, by the file that their lines are from


def source_of(subject: Subject) -> Source:
    """Where a subject's module lies; puts what it needs in front of `sys.path`."""
    for folder in reversed(subject.path):
        _in_front(folder)
    if subject.file:
        name, root = name_and_root(Path(subject.file))
        _in_front(root)
        source = Source(subject.module or name, subject.file, subject.file)
    else:
        source = _find(subject.module)
    if subject.text is None:
        return source
    lines = Path(tempfile.mkdtemp(prefix="rewritten-")) / Path(source.file).name
    lines.write_text(subject.text, encoding="utf-8", newline="")
    return source._replace(lines=str(lines))


def import_source(source: Source) -> ModuleType:
    """Return the module as `import` gives it, where that is the module meant; else, and for text that is not written yet, an executed one.

    Raises: LoadError for whatever the module raises.
    """
    if source.lines != source.file:
        return execute_source(source)
    try:
        module = importlib.import_module(source.name)
    except BaseException as error:
        raise _make_error(error, source) from error
    if _executed.get(module, source.lines) != source.lines:  # a copy that holds other lines
        return execute_source(source)
    own = getattr(module, "__file__", None)
    same = own is not None and Path(own).resolve() == Path(source.file).resolve()
    if same or not source.file:
        return module
    # Another module has this name: the file is executed, a lone one under a name of its own so that the other stays what it is.
    return execute_source(source if "." in source.name else source._replace(name=f"xlalint_subject_{source.name}"))


def execute_source(source: Source) -> ModuleType:
    """Execute a fresh copy of the module, in place of the one in `sys.modules`; its `__file__` is the one that it will have.

    Raises: LoadError for whatever the module raises; the copy that was there before is then back.
    """
    package, _, stem = source.name.rpartition(".")
    before = sys.modules.get(source.name)
    try:
        parent = importlib.import_module(package) if package else None
        module = _new(source)
        sys.modules[source.name] = module
        exec(compile(Path(source.lines).read_bytes(), source.lines, "exec"), module.__dict__)
        _executed[module] = source.lines
    except BaseException as error:
        if before is not None:
            sys.modules[source.name] = before
        else:
            sys.modules.pop(source.name, None)
        raise _make_error(error, source) from error
    if parent is not None and getattr(parent, stem, before) is before:  # a package may have a function of that name
        setattr(parent, stem, module)
    return module


def _new(source: Source) -> ModuleType:
    folder = [str(Path(source.file).parent)] if Path(source.file).stem == "__init__" else None
    spec = importlib.util.spec_from_file_location(
        source.name,
        source.file,
        loader=SourceFileLoader(source.name, source.file),
        submodule_search_locations=folder,
    )
    assert spec is not None
    return importlib.util.module_from_spec(spec)


def _make_error(error: BaseException, source: Source) -> LoadError:
    if isinstance(error, KeyboardInterrupt):
        raise error
    what = places.headline(error)
    if isinstance(error, SyntaxError) and error.filename in (source.file, source.lines):
        place: Place | None = Place(source.lines, error.lineno or 1)
    else:
        place = places.of_error(error, source.lines)
    return LoadError(f"importing `{source.file or source.name}` raises {what}", place)


def name_and_root(file: Path) -> tuple[str, str]:
    """The dotted name of a file's module, and the folder that its outermost package lies in."""
    names = [] if file.stem == "__init__" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names) or file.stem, str(folder)


def _find(name: str) -> Source:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        raise LoadError(f"no module `{name}`: {places.headline(error)}") from error
    except BaseException as error:  # of a package around it, which is imported for this
        raise _make_error(error, Source(name, "", "")) from error
    if spec is None:
        raise LoadError(f"no module `{name}` can be imported from here")
    file = spec.origin if spec.has_location and spec.origin else ""
    return Source(name, file if file.endswith(".py") else "", file if file.endswith(".py") else "")


def _in_front(folder: str) -> None:
    """Have modules of a folder found; one that Python looks into anyway keeps its place, after Python's own library."""
    if folder not in sys.path:
        sys.path.insert(0, folder)
    importlib.invalidate_caches()
