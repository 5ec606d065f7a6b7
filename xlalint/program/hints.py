"""Hold what the user's configuration says of names (`static`, `tensor`) and of where the program runs (`target`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType


class UserHints:
    """Dotted globs of names and attribute paths (`config.*`, `self.step`) that are host values, or tensors; and the target, "" where none
    is given. `targets` are those that API tables may ask for; `tracks_place` says, from when the file is interpreted, that
    on these it matters which tensors stay in host memory. `requirements` are those of the project that bound packages' versions from above,
    `release` is the one of PyTorch for which the code is judged.

    `below` says otherwise for the files below some folders, by absolute path: the nearest counts.
    """

    def __init__(
        self,
        static: tuple[str, ...] = (),
        tensor: tuple[str, ...] = (),
        target: str = "",
        targets: tuple[str, ...] = (),
        below: Mapping[str, UserHints] = MappingProxyType({}),
        requirements: tuple[str, ...] = (),
        release: tuple[int, ...] = (),
    ) -> None:
        self.release = release
        self.requirements = requirements
        self.static = static
        self.tensor = tensor
        self.target = target
        self.targets = targets
        self.tracks_place = True
        self.below = below
        self._known: dict[str, str] = {}
        self._choose: Callable[[str], UserHints | None] | None = None

    def __bool__(self) -> bool:
        return bool(self.static or self.tensor) or any(map(bool, self.below.values()))

    def of(self, path: str) -> UserHints:
        """Return the hints for a file: those of the nearest folder above it that has its own, else these."""
        folder = path
        while self.below and folder:
            folder = folder.rpartition(os.sep)[0]
            found = self.below.get(folder)
            if found is not None:
                return found._of_file(path)
        return self._of_file(path)

    def choose_by_file(self, choose: Callable[[str], UserHints | None]) -> None:
        """Have some files, by absolute path, go by hints of their own: those that `choose` gives them."""
        self._choose = choose

    def _of_file(self, path: str) -> UserHints:
        chosen = self._choose(path) if self._choose is not None else None
        return self if chosen is None else chosen

    def target_among(self, targets: tuple[str, ...]) -> str:
        """Return the one of some targets for which files are judged; "" where it is none of them."""
        return next((target for target in self.targets if target in targets), "")

    def with_target(self, target: str, among: tuple[str, ...]) -> UserHints:
        """Return the same hints for a file that is written for another of some targets than is usual."""
        targets = tuple([target if one in among else one for one in self.targets])
        if targets == self.targets:
            return self
        return UserHints(self.static, self.tensor, self.target, targets, self.below, self.requirements, self.release)

    def kind(self, path: str) -> str:
        """ "static", "tensor" or "" for a name or attribute path as the source writes it."""
        found = self._known.get(path)
        if found is None:
            found = "static" if _matches(path, self.static) else "tensor" if _matches(path, self.tensor) else ""
            self._known[path] = found
        return found


NOTHING_TAUGHT = UserHints()


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    last = path.rpartition(".")[2]
    return any(fnmatchcase(path, pattern) or fnmatchcase(last, pattern) for pattern in patterns)
