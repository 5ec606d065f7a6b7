"""Where reports go: a stream or a file, with the colours and characters that it takes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import click
import msgspec

from xlalint.report import View, render, statistics, summary
from xlalint.report.view import wants_colour
from xlalint.source.model import SourceError
from xlalint.source.reading import decode, read_bytes

if TYPE_CHECKING:
    from xlalint.checks.finding import Finding
    from xlalint.config import Settings


def publish(
    findings: Sequence[Finding], files: int, form: str, file: Path | None, texts: Mapping[str, str], *, counts: bool
) -> None:
    """Write findings, or with `counts` how many there are, to a file or to standard output."""
    looked = view(file, texts)
    said = statistics(findings, form, looked) if counts else render(findings, form, looked)
    if form != "json":
        said += summary(findings, files, looked)
    if file is None:
        sys.stdout.write(said)
        return
    try:
        with file.open("w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(said)
    except OSError as error:
        raise click.ClickException(f"`{file}`: the report cannot be written: {error.strerror}") from error


def settings_text(settings: Settings) -> str:
    """The settings as a configuration file would have them."""
    told = {key: value for key, value in msgspec.structs.asdict(settings).items() if value is not None}
    comments = f"# root: {told.pop('root')}\n# file: {told.pop('config_file', 'none')}\n"
    for key in ("select", "extend_select", "ignore"):
        told[key] = _selectors(told[key])
    per_file = [(pattern, _selectors(codes)) for pattern, codes in told.pop("per_file_ignores")]
    lines = [f"{key.replace('_', '-')} = {_toml(value)}\n" for key, value in told.items()]
    table = [f"{_toml(pattern)} = {_toml(codes)}\n" for pattern, codes in per_file]
    return "".join([comments, *lines, *(["\n[per-file-ignores]\n", *table] if table else [])])


def _selectors(prefixes: tuple[str, ...]) -> list[str]:
    return [prefix or "ALL" for prefix in prefixes]


def view(file: Path | None = None, texts: Mapping[str, str] = MappingProxyType({})) -> View:
    """How the reader looks at what goes to a file, or to standard output."""
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    return View(
        folder=str(Path.cwd()),
        colour=file is None and wants_colour(sys.stdout, os.environ),
        text_of=lambda filename: texts[filename] if filename in texts else _text(filename),
        ascii_only=file is None and encoding != "utf8",
    )


def _text(filename: str) -> str | None:
    """The text of a file for its frames; one that cannot be decoded is shown as far as it is UTF-8."""
    try:
        raw = read_bytes(filename)
    except SourceError:
        return None
    try:
        return decode(raw)
    except SourceError:
        return raw.decode("utf-8", "replace").removeprefix("\ufeff")


def _toml(value: object) -> str:
    return msgspec.json.encode(value).decode()
