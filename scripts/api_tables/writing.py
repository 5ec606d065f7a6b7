"""Writing a table as TOML, one entry a line, sorted, so that a newer framework shows as a small diff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Line:
    """One generated entry: positional parameters, what it returns, and what was found out about it besides."""

    returns: str
    params: tuple[str, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)

    def toml(self) -> str:
        """The entry's right-hand side."""
        if not self.params and not self.extra:
            return quoted(self.returns)
        parts = [f"params = [{', '.join(quoted(p) for p in self.params)}]"] if self.params else []
        parts.append(f"returns = {quoted(self.returns)}")
        parts += [f"{key} = {quoted(value)}" for key, value in self.extra.items()]
        return "{ " + ", ".join(parts) + " }"


def quoted(text: str) -> str:
    """A TOML string; no text in these tables needs an escape."""
    return f'"{text}"'


def table(title: str, framework: str, version: str, sections: Mapping[str, Mapping[str, Line | str]]) -> str:
    """The whole file."""
    lines = [
        f"# {title}",
        "# Written by scripts/generate_apis.py; what is known better stands in the tables without _generated.",
        f"framework = {quoted(framework)}",
        f"version = {quoted(version)}",
    ]
    for section, entries in sections.items():
        if entries:
            lines += ["", f"[{section}]"]
            lines += [f"{quoted(name)} = {_right(entries[name])}" for name in sorted(entries)]
    return "\n".join(lines) + "\n"


def _right(entry: Line | str) -> str:
    return entry.toml() if isinstance(entry, Line) else quoted(entry)


def params_of(names: Sequence[str]) -> tuple[str, ...]:
    """Positional parameters, without private ones at the end."""
    return tuple(names)
