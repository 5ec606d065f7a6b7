"""What the user's configuration says of names, `static` and `tensor`, and of where the program runs, `target`."""

from __future__ import annotations

from fnmatch import fnmatchcase


class Taught:
    """Dotted globs of names and attribute paths (`config.*`, `self.step`) that are host values, or tensors; and the target, "" where none
    is given."""

    def __init__(self, static: tuple[str, ...] = (), tensor: tuple[str, ...] = (), target: str = "") -> None:
        self.static = static
        self.tensor = tensor
        self.target = target
        self._known: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self.static or self.tensor)

    def kind(self, path: str) -> str:
        """ "static", "tensor" or "" for a name or attribute path as the source writes it."""
        found = self._known.get(path)
        if found is None:
            found = "static" if _matches(path, self.static) else "tensor" if _matches(path, self.tensor) else ""
            self._known[path] = found
        return found


NOTHING_TAUGHT = Taught()


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    last = path.rpartition(".")[2]
    return any(fnmatchcase(path, pattern) or fnmatchcase(last, pattern) for pattern in patterns)
