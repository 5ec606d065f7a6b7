"""One answer, from place to explanation."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xlalint.diagnostics.judge import target_of
from xlalint.explain.beliefs import Beliefs
from xlalint.explain.cells import locate_in_cells
from xlalint.explain.hints import hints
from xlalint.explain.library import LibraryFacts
from xlalint.explain.model import Explanation, ProgramPart
from xlalint.explain.origins import Origins
from xlalint.explain.place import Place, PlaceError, Site, Text, find_site, row_of
from xlalint.explain.questions import Questions
from xlalint.explain.replay import Replay
from xlalint.explain.scope import Scope
from xlalint.explain.tables import Tables
from xlalint.explain.tracing import Tracing
from xlalint.explain.verdicts import Verdicts
from xlalint.explain.wording import Wording
from xlalint.frameworks import registry
from xlalint.lowering.lessons import Lessons
from xlalint.project.options import tables_of
from xlalint.project.pipeline import Run
from xlalint.rules import rules
from xlalint.source.model import SourceError

if TYPE_CHECKING:
    from xlalint.cache import Cache
    from xlalint.config import Settings
    from xlalint.lowering.ir import Unit
    from xlalint.program.linker import ModuleInfo
    from xlalint.project.lowered import Lowered
    from xlalint.project.report import Report
    from xlalint.project.session import Loaded


class Explainer:
    """Explains places of one program; of a small one, all of them from one analysis.

    Of one that is `loaded`, within `Session.lend_program`; places of notebooks are then those of the module.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        settings: Settings,
        cache: Cache | None = None,
        jobs: int = 1,
        progress: Callable[[int, int], None] | None = None,
        whole: bool = False,
        loaded: Loaded | None = None,
    ) -> None:
        self.loaded = loaded
        self.paths = paths
        self.settings = settings
        self.run = Run(settings, cache, jobs, progress)
        self.whole = whole
        self._program: tuple[Sequence[Lowered], Sequence[Unit], Report | None] | None = loaded[:3] if loaded else None
        self._replay: Replay | None = None
        self._texts: dict[str, Text] = {}

    def explain(self, place: Place) -> Explanation:
        """Explain a place. Raises `PlaceError` where there is no code."""
        path = os.path.abspath(place.file)  # noqa: PTH100
        text = self._texts.get(path) or self._text(path, place)
        self._texts[path] = text
        site = find_site(text, row_of(place, text.source), place.column)
        if self._program is None:
            self._program = self.run.program([*self.paths, Path(path)], frozenset((path,)))
        lowered, followed, report = self._program
        own = next((entry for entry in lowered if entry.path == path), None)
        if own is None or own.unit is None:
            raise PlaceError(
                f"{place.file}: {own.error[1] if own is not None and own.error else 'it cannot be analysed'}"
            )
        replay = self._replay or Replay(
            [entry.unit for entry in lowered if entry.unit is not None],
            self.settings,
            followed,
            self.loaded.analysis if self.loaded is not None else None,
        )
        module = next(module for module in replay.program.modules if module.path == path)
        scope = Scope(text, site, module)
        if replay is not self._replay:
            replay.run(module, scope.info, _find_wanted(report, path, site), self.whole, report is not None)
            self._replay = replay if replay.reusable else None
        replay.look_alone(module, scope.info)
        scope.look(replay)
        scope.site = site.pointed_at(replay.extents(module))
        said = _assemble(place, self.paths, scope, replay, self.settings.of(path), own, report)
        return locate_in_cells(said) if self.loaded is None else said

    def _text(self, path: str, place: Place) -> Text:
        if self.loaded is not None:
            try:
                return Text(self.loaded.read(path))
            except SourceError as error:
                raise PlaceError(f"{place.file}: {error.message}") from error
        if not os.path.isfile(path):  # noqa: PTH113
            raise PlaceError(f"`{place.file}`: no such file")
        return Text.read(path)


def _find_wanted(report: Report | None, path: str, site: Site) -> set[str]:
    """The files that `check`'s findings at a site are traced from."""
    here = [
        finding
        for finding in (report.findings if report is not None else ())
        if finding.filename == path and site.first <= finding.location.row <= site.last
    ]
    return {step.filename for finding in here for step in finding.trace[:1]}


def _assemble(
    place: Place,
    paths: Sequence[Path],
    scope: Scope,
    replay: Replay,
    settings: Settings,
    own: Lowered,
    report: Report | None,
) -> Explanation:
    text, site = scope.text, scope.site
    extra = tuple(Path(folder) for folder in settings.extend_rules)
    wording = Wording(replay.interpreter)
    library = LibraryFacts(replay.interpreter.apis, Tables(tables_of(settings)), wording)
    origins = Origins(scope, replay, wording, library, Lessons(own.suppressions.taught))
    tracing = Tracing(scope, replay, wording, origins.parameters)
    reported = report.findings if report is not None else None
    verdicts = Verdicts(scope, replay, rules(extra), settings, own.suppressions, reported).tell()
    questions = list(Questions(scope, wording, origins).tell(verdicts))
    traced = tracing.tell()
    values = tuple(Beliefs(scope, wording, origins, tracing, [*verdicts, *questions]).tell())
    lines = text.source.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return Explanation(
        filename=own.path,
        row=place.row,
        column=place.column,
        function=scope.info.ir.qualname if scope.info is not None else "<module>",
        location=text.location(site.start),
        end_location=text.location(site.end),
        first_row=site.first,
        source=tuple(lines[site.first - 1 : site.last]),
        target=_target(replay, scope.module, settings),
        device=settings.device,
        traced=traced,
        values=values,
        rules=tuple(verdicts),
        questions=tuple(questions),
        activations=tuple(tracing.activations()),
        hints=tuple(hints(scope, traced, values, verdicts, questions)),
        program=_program(paths, replay, report),
        cell=place.cell,
    )


def _target(replay: Replay, module: ModuleInfo, settings: Settings) -> str:
    interpreter = replay.interpreter
    framework = interpreter.annotations.framework(module) or interpreter.libraries.default
    return target_of(framework, settings, module.taught.target_among(registry.row_of(framework).targets))


def _program(paths: Sequence[Path], replay: Replay, report: Report | None) -> ProgramPart:
    return ProgramPart(
        tuple(os.path.abspath(path) for path in paths),  # noqa: PTH100
        replay.program.linted,
        tuple(module.name for module in replay.entered) if not replay.complete else (),
        replay.complete,
        replay.complete or report is not None,
    )
