"""The programs of all workspace folders and what of them is open: kept up with changes, analysed in pieces, told when findings change.

Everything here runs on the analysis thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from lsprotocol import types

from xlalint.diagnostics.finding import Finding
from xlalint.project.analysis import Pulse
from xlalint.project.session import Session
from xlalint.server.actions import Actions
from xlalint.server.answers import Answers
from xlalint.server.diagnostics import Diagnostics
from xlalint.server.documents import Snapshot
from xlalint.server.preferences import Preferences
from xlalint.server.programs import Program, find_root
from xlalint.source.data_files import is_data
from xlalint.source.model import SourceError
from xlalint.source.reading import read_bytes

_CONFIGURATIONS = ("pyproject.toml", "xlalint.toml", ".gitignore")
_POLL = 0.02
_ANY = "any.py"  # a file that a folder may hold


class Outlet(Protocol):
    """Where a workspace tells what the client shall know. May be called from any thread."""

    def publish(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        """These are the diagnostics of a document now."""

    def refresh(self, differs: bool) -> None:
        """Note that what is known of files has changed; `differs`: also what the client was told of one that is open."""

    def complain(self, message: str) -> None:
        """The user should know."""

    def report(self, message: str) -> None:
        """For the log."""

    def progress(self, title: str, done: int, total: int) -> None:
        """Something takes time; it is over when all is done."""


class Workspace:
    """All folders. `pushes` says that the client wants diagnostics unasked; `pulse` ends what takes too long, by
    `Interrupted`. `layout` is another number whenever the documents that hold texts are others."""

    def __init__(self, outlet: Outlet, pulse: Pulse | None = None) -> None:
        self.pushes = True
        self.encoding = "utf-16"
        self._outlet = outlet
        self._pulse = pulse
        self._preferences: Mapping[str, Preferences] = {}
        self._default = Preferences()
        self._started = False
        self._programs: list[Program] = []
        self._loose: dict[str, Program] = {}
        self._open: dict[str, Snapshot] = {}
        self._published: dict[str, list[Finding]] = {}
        self._cells: dict[str, tuple[str, ...]] = {}
        self._cold: set[str] = set()
        self._changed = False
        self.layout = self._shown = 0
        self.answers = Answers()
        self._foreseen: dict[str, tuple[Snapshot, int]] = {}

    # ------------------------------------------------------------------------------------------------- folders

    def start(self, folders: Sequence[str], preferences: Mapping[str, Preferences], default: Preferences) -> None:
        """Begin with some folders, by path, each with the client's settings for it; those of other files are `default`."""
        self._started = True
        self._preferences, self._default = preferences, default
        for folder in folders:
            self.add(folder)

    def add(self, folder: str) -> None:
        """A folder was added. Its files are judged within the program around it, as those that are checked one by one are."""
        if any(folder in program.folders for program in self._programs):
            return
        preferences = self._preferences.get(folder, self._default)
        root = find_root(Path(folder, _ANY), preferences) or Path(folder)
        program = self._open_program(root, preferences)
        program.folders.add(folder)
        for path in [path for path in self._loose if program.holds(path)]:
            self._loose.pop(path).close()
        self._show_open(program)

    def _open_program(self, root: Path, preferences: Preferences) -> Program:
        """Return the program that begins at a folder; one that is new is read when it is needed."""
        program = next((one for one in self._programs if one.root == root), None)
        if program is None:
            program = Program(root, preferences, pulse=self._pulse)
            self._programs.append(program)
            # A file belongs to the innermost folder.
            self._programs.sort(key=lambda one: -len(one.root.parts))
            self._tell_trouble(program)
        return program

    def remove(self, folder: str) -> None:
        """A folder was removed."""
        for program in [one for one in self._programs if folder in one.folders]:
            program.folders.discard(folder)
            if program.folders:
                continue
            paths = self._of(program)
            self._programs.remove(program)
            program.close()
            for path in paths:
                self._withdraw(path, self._open[path].uri)
        self._changed = True
        for path in self._open:
            if self._program(path) is None:
                self._show(path)

    def configure(self, preferences: Mapping[str, Preferences], default: Preferences) -> None:
        """The client's settings have changed."""
        before = self._preferences, self._default
        self._changed = True
        self._preferences, self._default = preferences, default
        for program in list(self._programs):
            folder = min(program.folders, default="")
            if before[0].get(folder, before[1]) != preferences.get(folder, default):
                self._restart(program)
        for program in self._loose.values():
            program.close()
        self._loose.clear()
        for path in self._open:
            if not any(program.holds(path) for program in self._programs):
                self._show(path)

    def recover(self) -> None:
        """Something went wrong: what is in memory may be half changed. Programs are read again when they are next needed."""
        for program in [*self._programs, *self._loose.values()]:
            program.session = None

    def end(self) -> None:
        """Keep what was worked out."""
        for program in [*self._programs, *self._loose.values()]:
            program.close()

    def _restart(self, program: Program) -> None:
        program.close()
        self._programs.remove(program)
        paths = self._of(program) if not program.folders else []
        for folder in sorted(program.folders):
            self.add(folder)
        for path in paths:
            self._show(path)

    def _tell_trouble(self, program: Program) -> None:
        if program.trouble:
            self._outlet.complain(f"{program.trouble} (the configuration is not used)")
        if program.below is not None:
            for error in program.below.errors:
                self._outlet.complain(f"{error} (this configuration is not used)")
            for warning in program.below.warnings:
                self._outlet.report(warning)
            program.below = None
        for key in program.preferences.unknown:
            self._outlet.report(f"unknown setting `xlalint.{key}`")
        if program.cache is not None and program.cache.warning:
            self._outlet.report(program.cache.warning)

    def preferences_of(self, path: str) -> Preferences:
        """The client's settings for a file."""
        program = self._program(path)
        return program.preferences if program is not None else self._default

    def _program(self, path: str) -> Program | None:
        return next((one for one in self._programs if one.holds(path)), self._loose.get(path))

    def _of(self, program: Program) -> list[str]:
        return [path for path in self._open if self._program(path) is program]

    def _session(self, path: str) -> Session | None:
        """The session of a file's program, read if it was not; None where that is being prepared, and for files that it leaves out."""
        if not self._started:
            return None
        program = self._program(path)
        if program is None:
            program = self._surround(path)
        if program.session is None:
            if program.warming is not None:
                return None
            self._load(program)
        session = program.session
        if session is None:
            return None
        if not session.holds(path) and program.wants(path):
            snapshot = self._open.get(path)
            if snapshot is not None:
                session.change(path, snapshot.content)
            else:
                session.reread([path])
        return session if session.holds(path) else None

    def _surround(self, path: str) -> Program:
        """Open the program around a file that lies in no folder of the workspace; one that no program has is one by itself."""
        root = find_root(Path(path), self._default)
        if root is not None:
            known = any(one.root == root for one in self._programs)
            program = self._open_program(root, self._default)
            if program.wants(path):
                if not known:
                    program.begin()
                return program
            if not known:
                self._programs.remove(program)
        program = self._loose[path] = Program(Path(path), self._default, loose=True, pulse=self._pulse)
        self._tell_trouble(program)
        return program

    def _load(self, program: Program) -> None:
        contents = {path: self._open[path].content for path in self._of(program)}
        contents = {path: content for path, content in contents.items() if program.wants(path) or not program.paths}
        program.load(contents, lambda done, total: self._outlet.progress(f"Reading {program.root.name}", done, total))
        self._tell_trouble(program)

    # ---------------------------------------------------------------------------------------------------- texts

    def open(self, snapshot: Snapshot) -> None:
        """A text was opened."""
        self._cold.add(snapshot.path)
        self._take(snapshot)

    def change(self, snapshot: Snapshot) -> None:
        """A text was changed."""
        self._take(snapshot)

    def _take(self, snapshot: Snapshot) -> None:
        before = self._open.get(snapshot.path)
        self._open[snapshot.path] = snapshot
        self._take_text(snapshot)
        self._changed = True
        if _cells(before) != _cells(snapshot):
            self.layout += 1
            self._show_leading_through(snapshot.path)

    def _show_leading_through(self, path: str) -> None:
        """Show anew what is told with places in a file, by documents that are others now."""
        for other, findings in list(self._published.items()):
            if other != path and any(step.filename == path for one in findings for step in one.trace):
                self._publish(other, findings, always=True)

    def _take_text(self, snapshot: Snapshot) -> None:
        path = snapshot.path
        program = self._program(path)
        if program is not None and program.session is None and self._show_known(program, path):
            return
        session = self._session(path)
        if session is not None:
            session.change(path, snapshot.content)
        self._show(path, always=True)

    def _show_known(self, program: Program, path: str) -> bool:
        """Show what an earlier check said, while the program is yet to be read."""
        if not self._started or program.warming is not None or not program.paths:
            return False
        contents = {one: self._open[one].content for one in self._of(program)}
        report = program.recall(contents)
        if report is None:
            return False
        self._publish(path, [finding for finding in report.findings if finding.filename == path])
        return True

    def close(self, path: str, uri: str) -> None:
        """A text was closed: what counts is what is on the disk."""
        if self._open.pop(path, None) is None:
            return
        self.answers.forget(path)
        self._foreseen.pop(path, None)
        program = self._loose.pop(path, None)
        if program is not None:
            program.close()
        else:
            program = self._program(path)
            if program is not None and not program.folders and not self._of(program):
                self._programs.remove(program)
                program.close()
            elif program is not None and program.session is not None and program.session.holds(path):
                program.session.change(path, None)
        self._withdraw(path, uri)
        self._changed = True
        self.layout += 1
        self._show_leading_through(path)

    def files_changed(self, changes: Iterable[tuple[str, types.FileChangeType]]) -> None:
        """Files were changed on the disk."""
        self._changed = True
        configured: set[str] = set()
        come: set[int] = set()
        touched: dict[int, list[str]] = {}
        for path, kind in changes:
            if os.path.basename(path) in _CONFIGURATIONS or any(program.extends(path) for program in self._programs):  # noqa: PTH119
                configured.add(path)
                continue
            for number, program in enumerate(self._programs):
                if program.holds(path):
                    touched.setdefault(number, []).append(path)
                    if kind != types.FileChangeType.Changed or is_data(path):  # by what it says now it may come or go
                        come.add(number)
                    break
        programs = list(self._programs)
        for number, paths in touched.items():
            session = programs[number].session
            if session is not None and number in come:
                session.rediscover(paths)
            elif session is not None:
                session.reread([path for path in paths if session.holds(path)])
        for program in programs:
            above = {str(program.root), *map(str, program.root.parents)}
            if any(
                os.path.dirname(path) in above or program.holds(path) or program.extends(path)  # noqa: PTH120
                for path in configured
            ):
                self._restart(program)

    # ------------------------------------------------------------------------------------------------ answering

    def findings(self, path: str) -> list[Finding]:
        """The findings of a file, by what is known at once."""
        session = self._session(path)
        return session.findings(path) if session is not None else []

    def session_of(self, path: str) -> Session | None:
        """The session that an open file is part of."""
        return self._session(path)

    def note_told(self, path: str, findings: list[Finding]) -> None:
        """Remember which findings of an open file the client was told when it asked."""
        self._published[path] = findings

    def find_open(self, path: str) -> Snapshot | None:
        """Return the document that is open under a path."""
        return self._open.get(path)

    def diagnostics(self) -> Diagnostics:
        """Return the maker of diagnostics for the current state."""
        return Diagnostics(self.encoding, self._read, self._open.get)

    def _read(self, path: str) -> bytes:
        snapshot = self._open.get(path)
        return snapshot.content if snapshot is not None else read_bytes(path)

    def everything(self) -> dict[str, list[Finding]]:
        """The findings of all files of all folders, as they are now."""
        found: dict[str, list[Finding]] = {}
        for program in [*self._programs, *self._loose.values()]:
            files = program.session.files if program.session is not None else ()
            for path in (one for one in files if program.shows(one) or one in self._open):
                found[path] = program.session.recall_findings(path) or []  # type: ignore[union-attr]
        return found

    # ----------------------------------------------------------------------------------------------- background

    def work(self) -> bool:
        """Do one piece of what is left to do; whether there may be more."""
        if not self._started:
            return False
        for program in self._programs:
            if program.session is None:
                self._prepare(program)
                return True
        if self._cold:
            path = min(self._cold)
            session = self._session(path) if path in self._open else None
            if session is not None:
                session.warm(path)
            self._cold.discard(path)
            return True
        for program in [*self._programs, *self._loose.values()]:
            session = program.session
            own = self._of(program)
            if session is not None and session.work(own):
                self._changed = True
                for path in filter(session.holds, own):
                    told = session.findings(path) if session.unsettled(path) else session.recall_findings(path)
                    self._publish(path, told or [])
                if not session.left:
                    session.keep()
                return True
        if self._changed:
            differs = self._shown != self.layout or any(map(self._differs, self._open))
            self._changed, self._shown = False, self.layout
            self._outlet.refresh(differs)
        return any(map(self._foresee, list(self._open)))

    def _foresee(self, path: str) -> bool:
        """Have the fixes of a document ready before they are asked for; whether that was left to do."""
        session, snapshot = self._session(path), self._open[path]
        if session is None or self._foreseen.get(path) == (state := (snapshot, session.texts())):
            return False
        unsafe = session.settings.unsafe_fixes
        with suppress(SourceError):
            Actions(session, snapshot, self.diagnostics(), None, self.answers, unsafe=unsafe).all_fixes()
        self._foreseen[path] = state
        return True

    def _differs(self, path: str) -> bool:
        session = self._session(path)
        return self._published.get(path, []) != ((session.recall_findings(path) if session is not None else None) or [])

    def _prepare(self, program: Program) -> None:
        """Read a program, after a first check of it by another process where nothing is known of it."""
        warming, title = program.warming, f"Checking {program.root.name}"
        if warming is None:
            program.begin()
            if program.warming is not None:
                self._outlet.progress(title, 0, 1)
                return
        elif warming.running:
            self._outlet.progress(title, max(min(warming.done, warming.total - 1), 0), max(warming.total, 1))
            time.sleep(_POLL)
            return
        else:
            self._outlet.progress(title, 1, 1)
        self._load(program)
        self._changed = True
        self._show_open(program)

    def _show_open(self, program: Program) -> None:
        if program.session is not None:
            for path in self._of(program):
                self._show(path)

    def _show(self, path: str, *, always: bool = False) -> None:
        try:
            session = self._session(path)
        except SourceError:
            session = None
        program = self._program(path)
        if session is None and (not self._started or (program is not None and program.session is None)):
            return
        self._publish(path, session.findings(path) if session is not None else [], always=always)

    def _publish(self, path: str, findings: list[Finding], *, always: bool = False) -> None:
        snapshot = self._open.get(path)
        if snapshot is None or not self.pushes or (not always and self._published.get(path) == findings):
            return
        self._published[path] = findings
        made = self.diagnostics().of(path, findings)
        for uri in self._cells.get(path, ()):
            if uri not in made:
                self._outlet.publish(uri, None, [])
        if snapshot.cells:
            self._cells[path] = tuple(made)
        for uri, diagnostics in made.items():
            self._outlet.publish(uri, snapshot.version if not snapshot.cells else None, diagnostics)

    def _withdraw(self, path: str, uri: str) -> None:
        """Show nothing more in a document, or in the cells of a notebook."""
        self._published.pop(path, None)
        if self.pushes:
            for shown in self._cells.pop(path, (uri,)):
                self._outlet.publish(shown, None, [])


def _cells(snapshot: Snapshot | None) -> list[str]:
    return [cell.uri for cell in snapshot.cells] if snapshot is not None else []
