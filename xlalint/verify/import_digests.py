"""The digests of what files lead to in their projects: the modules that they import, directly or through others."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from importlib.util import resolve_name
from pathlib import Path

from xlalint.source.model import SourceError
from xlalint.source.reading import read_bytes
from xlalint.verify.modules import name_and_root

_BEFORE = r"(?:^|[;:])[ \t]*"
_NAMES = r"(?:\([^)]*\)|(?:[^\n\\;]|\\\r?\n)*)"
_IMPORT = re.compile(
    rf"{_BEFORE}import[ \t]+({_NAMES})|{_BEFORE}from[ \t]*([.\w]+)\s+import\b[ \t]*({_NAMES})", re.MULTILINE
)
_NAME = re.compile(r"[^\W\d][\w.]*")
_COMMENT = re.compile(r"#[^\n]*")
_INSTALLED = ".dist-info"


class ImportDigests:
    """Digests what files import of their projects, each file read once.

    Where a project is the folder of installed packages, those beside the file's own are known by their releases.
    """

    def __init__(self) -> None:
        self._projects: dict[tuple[str, str], _Project] = {}
        self._known: dict[tuple[str, frozenset[str]], str] = {}

    def digest(self, path: str, text: str) -> str:
        """Digest the modules that a file with this text imports, directly or through others, from the folder of its package."""
        name, root = name_and_root(Path(path))
        key = root, name.partition(".")[0]
        if key not in self._projects:
            self._projects[key] = _Project(*key)
        project = self._projects[key]
        direct = frozenset(project.imports(text, path))
        if (path, direct) not in self._known:
            state = blake2b(name.encode("utf-8", "surrogateescape"), digest_size=16)
            for file, content in sorted(project.reach(direct, os.path.abspath(path)).items()):  # noqa: PTH100
                state.update(os.path.relpath(file, root).encode("utf-8", "surrogateescape") + b"\0" + content)
            self._known[path, direct] = state.hexdigest()
        return self._known[path, direct]


class _Project:
    """The files below a root, seen from one package of it. A folder that holds releases is one of installed packages."""

    def __init__(self, root: str, own: str) -> None:
        self._root = root
        self._own = own
        self._releases = _find_releases(root)
        self._read: dict[str, tuple[bytes, tuple[str, ...]]] = {}
        self._files: dict[str, tuple[str, ...]] = {}

    def reach(self, direct: Iterable[str], start: str) -> dict[str, bytes]:
        """Return the digests of all files that some files lead to, without the one to start with."""
        found: dict[str, bytes] = {}
        todo = [one for one in direct if one != start]
        while todo:
            file = todo.pop()
            if file not in found:
                found[file], following = self._look_into(file)
                todo += [one for one in following if one != start]
        return found

    def imports(self, text: str, path: str) -> Iterator[str]:
        """Find the files that a text's imports name, the packages around them included.

        Text is searched, not parsed: what a string says of imports counts as well, which makes a proof depend on more than it must.
        """
        package = ".".join(Path(os.path.relpath(path, self._root)).parent.parts)
        for plain, source, names in dict.fromkeys(_IMPORT.findall(text)) if "import" in text else ():
            if plain:
                for name in _names(plain):
                    yield from self._files_of(name)
                continue
            try:
                module = resolve_name(source, package) if source.startswith(".") else source
            except ImportError:  # from above the outermost package
                continue
            yield from self._files_of(module)
            for name in _names(names):
                yield from self._files_of(f"{module}.{name}")

    def _look_into(self, file: str) -> tuple[bytes, tuple[str, ...]]:
        """The digest of a file, and the files that it imports."""
        if file not in self._read:
            try:
                raw = read_bytes(file)
            except SourceError:
                raw = b""
            package = Path(file).relative_to(self._root).parts[0].removesuffix(".py")
            state = blake2b(raw, digest_size=16)
            if self._is_followed(package):
                following = tuple(self.imports(raw.decode("utf-8", "replace"), file))
            else:
                following = ()
                state.update("".join(one for one in self._releases if _is_of(one, package)).encode())
            self._read[file] = state.digest(), following
        return self._read[file]

    def _is_followed(self, package: str) -> bool:
        return package == self._own or not self._releases

    def _files_of(self, dotted: str) -> tuple[str, ...]:
        """The files of a module and of the packages around it; of another installed package the outermost one."""
        if dotted not in self._files:
            self._files[dotted] = tuple(self._find_files(dotted.split(".")))
        return self._files[dotted]

    def _find_files(self, names: Sequence[str]) -> Iterator[str]:
        folder = self._root
        for name in names if self._is_followed(names[0]) else names[:1]:
            module = os.path.join(folder, f"{name}.py")  # noqa: PTH118
            folder = os.path.join(folder, name)  # noqa: PTH118
            inside = os.path.join(folder, "__init__.py")  # noqa: PTH118
            if os.path.isfile(inside):  # noqa: PTH113
                yield inside
            elif os.path.isfile(module):  # noqa: PTH113
                yield module
                return
            elif not os.path.isdir(folder):  # noqa: PTH112
                return


def _names(text: str) -> Iterator[str]:
    """The names in what follows `import`, without those that they get."""
    for one in _COMMENT.sub("", text).split(","):
        if found := _NAME.match(one.strip(" \t()\\\r\n")):
            yield found[0]


def _find_releases(root: str) -> tuple[str, ...]:
    """The names of what says which releases are installed in a folder; none where it is a project's."""
    try:
        return tuple(sorted(one for one in os.listdir(root) if one.endswith(_INSTALLED)))  # noqa: PTH208
    except OSError:
        return ()


def _is_of(release: str, package: str) -> bool:
    return release.partition("-")[0].lower() == package.lower()
