"""The source of installed packages as part of a run: read with the cache, and remembered with all that it was found by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING

from xlalint.project.following import Following
from xlalint.project.looked import NOTHING, SearchFingerprint, stat_of
from xlalint.project.lowered import Lowered, decode_lowered, lower_installed
from xlalint.project.workers import map_in_processes
from xlalint.source.environment import Installed, ModuleFile, installed_packages

if TYPE_CHECKING:
    from xlalint.api_tables.lookup import Apis
    from xlalint.cache import Cache
    from xlalint.config import Settings
    from xlalint.lowering.ir import Unit

_BATCH = 12
_SMALLEST_POOL = 24


def follow(
    linted: Sequence[Unit], settings: Settings, apis: Apis, cache: Cache | None = None, jobs: int = 1
) -> tuple[list[Unit], SearchFingerprint]:
    """The units of installed modules that the linted ones need, and what finding them depended on."""
    folder = installed_packages(settings.python) if settings.python is not None else None
    if folder is None:
        return [], NOTHING
    installed = Installed(folder)
    loader = _Loader(cache, jobs, settings.max_file_size)
    units = Following(linted, installed, apis, loader.load).units()
    if cache is not None:
        cache.put_stats(row for row in loader.files if row[3] and loader.known.get(row[0]) != row[1:])
    folders = [(path, stat_of(path)[0]) for path in sorted(installed.listed)]
    return units, SearchFingerprint(folders, sorted(loader.files))


class _Loader:
    """Lowers installed modules, or finds them in the cache. `files` are those that were asked for, as in `SearchFingerprint`."""

    def __init__(self, cache: Cache | None, jobs: int, limit: int) -> None:
        self.cache = cache
        self.jobs = jobs
        self.work = partial(lower_installed, limit=limit)
        self.known = cache.stats() if cache is not None else {}
        self.files: list[tuple[str, int, int, str]] = []

    def load(self, modules: Sequence[ModuleFile], imports: bytes) -> list[Unit | None]:
        """The units of some modules; None for those that are not followed."""
        stats = {module.path: stat_of(module.path) for module in modules}
        found = self._load_kept(modules, stats, imports)
        missing = [module for module in modules if module.path not in found]
        fresh: list[tuple[str, bytes]] = []
        for module, blob in zip(missing, self._lower(missing, imports), strict=True):
            lowered = decode_lowered(blob)
            if lowered is not None:
                found[module.path] = lowered
                fresh.append((_unit_key(module, lowered.digest, imports), blob))
        if self.cache is not None:
            self.cache.put_units(fresh)
        self.files += [(path, *stats[path], lowered.digest) for path, lowered in found.items()]
        return [found[module.path].unit if module.path in found else None for module in modules]

    def _load_kept(
        self, modules: Sequence[ModuleFile], stats: dict[str, tuple[int, int]], imports: bytes
    ) -> dict[str, Lowered]:
        """Load from the cache the files that did not change since they were read, by path."""
        keys: dict[str, str] = {}
        for module in modules:
            known = self.known.get(module.path)
            if known is not None and known[:2] == stats[module.path]:
                keys[_unit_key(module, known[2], imports)] = module.path
        blobs = self.cache.units(keys) if self.cache is not None and keys else {}
        decoded = ((keys[key], decode_lowered(blob)) for key, blob in blobs.items())
        return {path: lowered for path, lowered in decoded if lowered is not None}

    def _lower(self, modules: list[ModuleFile], imports: bytes) -> Iterator[bytes]:
        batches = [(modules[start : start + _BATCH], imports) for start in range(0, len(modules), _BATCH)]
        shared = self.jobs > 1 and len(modules) >= _SMALLEST_POOL
        yield from chain.from_iterable(
            map_in_processes(self.work, batches, self.jobs) if shared else map(self.work, batches)
        )


def _unit_key(module: ModuleFile, content: str, imports: bytes) -> str:
    from xlalint.lowering import VERSION

    text = f"{VERSION}\0followed\0{imports.decode()}\0{module.path}\0{module.module}\0{content}"
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
