"""The settings of one run, checked and complete: every later stage reads them, none looks at files or options."""

from __future__ import annotations

import os
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from xlalint.config.releases import TargetVersion
from xlalint.source.files import MOST_TEXT, read_file
from xlalint.source.globs import Globs

Target = Literal["torch_tpu", "torch_xla", "torch_compile", "tf", "jax"]
Device = Literal["tpu", "gpu", "cpu"]
Backend = Literal["torch_xla", "torch_tpu", "torch_compile", "torch_export", "tensorflow", "jax"]
Confidence = Literal["certain", "likely", "possible"]

_Word = TypeVar("_Word", bound=str)

DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".xlalint_cache",
    "__pycache__",
    "__pypackages__",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)
DEFAULT_INCLUDE = ("*.py", "*.ipynb")
# The prefix of every code.
EVERY_RULE = ("",)
# Asked for or not: a file that was not analysed must not pass for a clean one. Only `ignore` silences them.
ALWAYS = frozenset({"XLA001", "XLA002", "XLA004"})


class ConfigError(Exception):
    """Settings that cannot be used. The message is one line: where, what, and the nearest valid word."""


class VerifyEntry(msgspec.Struct, frozen=True):
    """A target of `xlalint verify` that the configuration declares: absolute where it is a file; "" and None stand for what is not said."""

    target: str
    inputs: str = ""
    factory: str = ""
    backend: str = ""
    max_compiles: int | None = None
    as_written: bool | None = None


# What is one for the whole program: the configuration of the run says it, those of folders below do not. (Whether what is named is excluded
# too, whether git is asked, and whether unsafe fixes are taken is of the run as well; so does Ruff.)
PROGRAM_KEYS = (
    "roots",
    "unsafe_fixes",
    "extend_rules",
    "cache_dir",
    "python",
    "jobs",
    "max_file_size",
    "verify",
    "baseline",
    "force_exclude",
    "respect_gitignore",
    "requirements",
)


class Settings(msgspec.Struct, frozen=True, dict=True):
    """Everything a run was told.

    `root` is the folder that relative patterns start from: that of the configuration file, else the working directory. `extends` are the
    files that this one extends, the nearest first.
    `select`, `extend_select` and `ignore` hold codes and prefixes of codes ("" is the prefix of all); a longer prefix beats a
    shorter one, and `ignore` wins a tie; so it is with `fixable` and `unfixable`. `target` is None where the code's own framework decides.
    `per_file_target` and `per_file_device` say otherwise for the files that a pattern matches, the first one first.
    `roots`, `static` and `tensor` are dotted globs. `extend_rules` and `cache_dir` are absolute paths, and so is
    `python`: the interpreter or the environment whose installed packages are followed, None for none. `jobs` = 0: one per core.
    `baseline` is the absolute path of the file whose findings are not reported. Files of more than `max_file_size` bytes are not read.
    `target_version` is the release of PyTorch for which code is judged, None where the requirements tell.
    `requirements` are those of the project that bound versions from above; they are found, and cannot be told.

    `nested` are the settings of the folders below that have a configuration of their own, by `root`, in order: what concerns one file is
    asked of `of(path)`, what concerns the program (`PROGRAM_KEYS`) is the same in all of them. Settings that are nested hold none.
    """

    root: str = "."
    config_file: str | None = None
    extends: tuple[str, ...] = ()
    select: tuple[str, ...] = EVERY_RULE
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    target: Target | None = None
    device: Device = "tpu"
    per_file_target: tuple[tuple[str, Target], ...] = ()
    per_file_device: tuple[tuple[str, Device], ...] = ()
    min_confidence: Confidence = "likely"
    show_info: bool = False
    ignore_noqa: bool = False
    fixable: tuple[str, ...] = EVERY_RULE
    unfixable: tuple[str, ...] = ()
    unsafe_fixes: bool = False
    include: tuple[str, ...] = DEFAULT_INCLUDE
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    roots: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    tensor: tuple[str, ...] = ()
    extend_rules: tuple[str, ...] = ()
    cache_dir: str | None = None
    python: str | None = None
    jobs: int = 0
    verify: tuple[VerifyEntry, ...] = ()
    baseline: str | None = None
    max_file_size: int = 5_000_000
    target_version: TargetVersion | None = None
    requirements: tuple[str, ...] = ()
    nested: tuple[Settings, ...] = ()

    @property
    def settings(self) -> Settings:
        """These: what is asked for the settings that hold somewhere (`xlalint.source.discovery.Nearest`) may be settings that know."""
        return self

    def of(self, path: str) -> Settings:
        """The settings of a file, by absolute path: those of the nearest configuration above it, with the file's own target and device."""
        found = self.around(os.path.dirname(path)) if self.nested else self  # noqa: PTH120
        return found._of_file(path) if found.per_file_target or found.per_file_device else found

    def _of_file(self, path: str) -> Settings:
        """These settings with the target and device that the first pattern which matches the file says."""
        target = _first_match(self.per_file_target, self.root, path) or self.target
        device = _first_match(self.per_file_device, self.root, path) or self.device
        found = self._by_place.get((target, device))
        if found is None:
            found = self._by_place[target, device] = msgspec.structs.replace(
                self, target=target, device=device, per_file_target=(), per_file_device=()
            )
        return found

    @cached_property
    def _by_place(self) -> dict[tuple[str | None, str], Settings]:
        """By target and device, the settings of the files for which patterns say them."""
        return {}

    def around(self, folder: str) -> Settings:
        """The settings that hold in a folder."""
        known = self._around
        outer = folder
        passed = []
        while outer not in known:
            passed.append(outer)
            parent = os.path.dirname(outer)  # noqa: PTH120
            if parent == outer:
                known[outer] = self
            outer = parent
        found = known[outer]
        known.update(dict.fromkeys(passed, found))
        return found

    def at(self, folder: str) -> Settings | None:
        """Return the settings of the configuration in this very folder, or None."""
        return self._at.get(folder)

    @cached_property
    def _at(self) -> dict[str, Settings]:
        return {one.root: one for one in self.nested}

    @cached_property
    def _around(self) -> dict[str, Settings]:
        """By folder, what holds in it: those that were asked for."""
        return dict(self._at)

    @property
    def excluded(self) -> tuple[str, ...]:
        """All patterns of files and folders to leave alone."""
        return self.exclude + self.extend_exclude

    def enabled(self, code: str, path: str | None = None) -> bool:
        """Return whether findings of a rule are wanted: at all, or in the file at an absolute path."""
        if not _enabled(code, self.select, self.extend_select, self.ignore):
            return False
        return (
            path is None
            or not self.per_file_ignores
            or not code.startswith(_per_file(self.per_file_ignores, self.root, path))
        )

    def may_fix(self, code: str) -> bool:
        """Return whether findings of a rule may be fixed."""
        return _longest(code, self.fixable) > _longest(code, self.unfixable)

    def fingerprint(self) -> str:
        """A hash of all that can change a file's findings, for cache keys; `extend-rules` counts by content.

        Of `python` counts what is found there, which is part of the program.
        """
        told = msgspec.structs.asdict(self)
        for name in (
            "config_file",
            "include",
            "exclude",
            "extend_exclude",
            "force_exclude",
            "respect_gitignore",
            "cache_dir",
            "python",
            "jobs",
            "verify",
            "baseline",
            "unsafe_fixes",
            "extends",
        ):
            del told[name]
        if not (self.per_file_ignores or self.per_file_target or self.per_file_device):
            del told["root"]
        del told["nested"]
        try:
            state = blake2b(msgspec.json.encode(told), digest_size=16)
        except UnicodeEncodeError:  # the project's folder has a name that is not UTF-8
            state = blake2b(repr(told).encode("utf-8", "surrogatepass"), digest_size=16)
        for one in self.nested:
            state.update(f"\0{one.root}\0{one.fingerprint()}".encode("utf-8", "surrogateescape"))
        for page in _pages(self.extend_rules):
            state.update(f"\0{page}\0".encode("utf-8", "surrogateescape"))
            state.update(_content(page))
        return state.hexdigest()


@lru_cache(maxsize=4096)
def _enabled(code: str, select: tuple[str, ...], extend_select: tuple[str, ...], ignore: tuple[str, ...]) -> bool:
    ignored = _longest(code, ignore)
    if code in ALWAYS:
        return ignored < 0
    selected = _longest(code, select + extend_select)
    return selected > ignored


def _longest(code: str, prefixes: tuple[str, ...]) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=-1)


@lru_cache(maxsize=4096)
def _per_file(ignores: tuple[tuple[str, tuple[str, ...]], ...], root: str, path: str) -> tuple[str, ...]:
    """The prefixes that are ignored in one file."""
    return tuple(code for pattern, codes in ignores if _matches(pattern, root, path) for code in codes)


def _first_match(choices: tuple[tuple[str, _Word], ...], root: str, path: str) -> _Word | None:
    """Return what the first pattern that matches a file says."""
    return next((word for pattern, word in choices if _matches(pattern, root, path)), None)


@lru_cache(maxsize=4096)
def _matches(pattern: str, root: str, path: str) -> bool:
    """Return whether a pattern means a file; one that begins with `!` means the files that the rest of it does not."""
    wanted = not pattern.startswith("!")
    return Globs([pattern.removeprefix("!")], root).match(path) == wanted


def _content(page: Path) -> bytes:
    """Read a page. One that cannot be read is reported where it is used."""
    try:
        return read_file(page, MOST_TEXT)
    except OSError:
        return b""


def _pages(places: tuple[str, ...]) -> list[Path]:
    found: list[Path] = []
    for place in map(Path, places):
        found += [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.suffix in (".md", ".toml"))
    return found
