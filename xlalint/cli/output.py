"""Where reports go: a stream or a file, with the colours and characters that it takes."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TextIO

import click
import msgspec

from xlalint.cli.saying import Verbosity, colour_on, verbosity
from xlalint.config.settings import PROGRAM_KEYS
from xlalint.diagnostics.finding import Location
from xlalint.report import FOR_PEOPLE, Cells, Checked, View, cells_of, fix_hint, fixes, render, statistics, summary
from xlalint.report.json import encode
from xlalint.source.files import MOST_BYTES
from xlalint.source.model import SourceError
from xlalint.source.reading import decode, decode_json, read_bytes

if TYPE_CHECKING:
    from xlalint.config import Settings
    from xlalint.diagnostics.finding import Finding
    from xlalint.report.order import Order


def publish(
    findings: Sequence[Finding],
    checked: Checked,
    options: Mapping[str, Any],
    texts: Mapping[str, str],
    stream: TextIO,
    limit: int = MOST_BYTES,
) -> None:
    """Write findings, or with `statistics` how many there are, to the file that the options name or to a stream.

    Files of more than `limit` bytes are not read for it.
    """
    form, file = options["output_format"], options["output_file"]
    looked = view(file, texts, stream, limit)._replace(unsafe_fixes=options["unsafe_fixes"], checked=checked)
    order: Order = options["sort"] or ("cost" if form in ("full", "markdown") else "file")
    looked = looked._replace(order=order, show_copies=options["show_copies"])
    findings = Cells(lambda path: _content(path, texts, limit)).locate(findings)
    said = statistics(findings, form, looked) if options["statistics"] else render(findings, form, looked)
    if form in FOR_PEOPLE and verbosity() >= Verbosity.USUAL:
        said += summary(findings, looked, form)
        said += fix_hint(findings, fixing=options["fix"], unsafe=options["unsafe_fixes"])
    if file is None:
        if verbosity() > Verbosity.SILENT:
            stream.write(said)
        return
    try:
        with file.open("w", encoding="utf-8", errors="backslashreplace") as written:
            written.write(said)
    except OSError as error:
        raise click.ClickException(f"`{file}`: the report cannot be written: {error.strerror}") from error


def publish_fixes(fixed: Sequence[Finding], options: Mapping[str, Any], stream: TextIO) -> None:
    """Say what was fixed, or with `diff` what would be; where nothing was, only if nothing else is said."""
    if verbosity() < Verbosity.USUAL or (not fixed and not options["diff"] and not options["fix_only"]):
        return
    verb = "Would fix" if options["diff"] else "Fixed"
    stream.write(fixes(fixed, verb, view(stream=stream), listed=options["show_fixes"]))


def settings_text(settings: Settings, program: Sequence[Path] = ()) -> str:
    """The settings as a configuration file would have them, and the program that was found around files; then those of each folder below
    that has its own."""
    return "\n".join([_table(settings, program), *(_table(one, without=PROGRAM_KEYS) for one in settings.nested)])


def _table(settings: Settings, program: Sequence[Path] = (), without: Sequence[str] = ()) -> str:
    """One configuration, less some keys."""
    given = msgspec.structs.asdict(settings).items()
    told = {key: value for key, value in given if value is not None and key not in ("nested", *without)}
    comments = f"# root: {told.pop('root')}\n# file: {told.pop('config_file', 'none')}\n"
    comments += "".join(f"# extends: {file}\n" for file in told.pop("extends"))
    comments += "".join(f"# program: {folder}\n" for folder in program)
    for key in ("select", "extend_select", "ignore", "fixable", "unfixable"):
        told[key] = _selectors(told[key])
    per_file: dict[str, list[tuple[str, Any]]] = {
        "per-file-ignores": [(pattern, _selectors(codes)) for pattern, codes in told.pop("per_file_ignores")],
        "per-file-target": told.pop("per_file_target"),
        "per-file-device": told.pop("per_file_device"),
    }
    entries = told.pop("verify", ())
    lines = [f"{key.replace('_', '-')} = {toml(value)}\n" for key, value in told.items()]
    tables: list[str] = []
    for name, rows in per_file.items():
        table = [f"{toml(pattern)} = {toml(value)}\n" for pattern, value in rows]
        tables += [f"\n[{name}]\n", *table] if table else []
    for entry in entries:
        tables.append("\n[[verify]]\n")
        told = {key: value for key, value in msgspec.structs.asdict(entry).items() if value not in ("", None)}
        tables += [f"{key.replace('_', '-')} = {toml(value)}\n" for key, value in told.items()]
    return "".join([comments, *lines, *tables])


def _selectors(prefixes: tuple[str, ...]) -> list[str]:
    return [prefix or "ALL" for prefix in prefixes]


def view(
    file: Path | None = None,
    texts: Mapping[str, str] = MappingProxyType({}),
    stream: TextIO | None = None,
    limit: int = MOST_BYTES,
) -> View:
    """How the reader looks at what goes to a file, or to a stream (standard output)."""
    stream = stream or sys.stdout
    colour = file is None and colour_on(stream)
    encoding = (stream.encoding or "ascii").lower().replace("-", "")
    return View(
        folder=str(Path.cwd()),
        colour=colour,
        text_of=lambda filename: texts[filename] if filename in texts else _text(filename, limit),
        cells_of=lambda filename: _cells(filename, texts, limit),
        json_place=lambda filename, cell, place: _json_place(_content(filename, texts, limit), cell, place),
        checkout=os.environ.get("CI_PROJECT_DIR") or _repository(Path.cwd()),
        # Azure's code scanning asks for one; GitHub's takes the `category` of the upload where there is none.
        analysis="xlalint" if os.environ.get("TF_BUILD") else "",
        ascii_only=file is None and encoding != "utf8",
        links=colour and stream.isatty() and os.environ.get("TERM") not in ("dumb", "linux"),
        columns=shutil.get_terminal_size().columns if file is None and stream.isatty() else 0,
    )


def _repository(folder: Path) -> str:
    """The folder of the git repository around a folder; "" where there is none."""
    return next((str(place) for place in (folder, *folder.parents) if (place / ".git").exists()), "")


def _cells(filename: str, texts: Mapping[str, str], limit: int) -> dict[int, str]:
    """The cells of a notebook for their frames."""
    try:
        return cells_of(filename, _content(filename, texts, limit))
    except SourceError:
        return {}


def _json_place(content: bytes, cell: int, place: Location) -> Location:
    """Where in the JSON of a notebook a place in one of its cells is."""
    from xlalint.source.notebook_json import place_of
    from xlalint.source.notebooks import read_notebook

    document = read_notebook(decode_json(content)).document
    return Location(*place_of(document.text, document.cells[cell - 1], place.row, place.column))


def _content(filename: str, texts: Mapping[str, str], limit: int) -> bytes:
    return texts[filename].encode() if filename in texts else read_bytes(filename, limit)


def _text(filename: str, limit: int) -> str | None:
    """The text of a file for its frames; one that cannot be decoded is shown as far as it is UTF-8."""
    try:
        raw = read_bytes(filename, limit)
    except SourceError:
        return None
    try:
        return decode(raw)
    except SourceError:
        return raw.decode("utf-8", "replace").removeprefix("\ufeff")


def toml(value: object) -> str:
    """A value as a configuration file has it."""
    return encode(value)
