"""`xlalint explain FILE:LINE[:COL]`: what the analysis believes there; of a rule's code: its page."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xlalint.cli import CLEAN
from xlalint.cli.programs import find_program, no_project
from xlalint.cli.saying import color_option
from xlalint.cli.settings import cache_of, collect_settings, cores, rule_options, running_options

if TYPE_CHECKING:
    from xlalint.explain import Explanation

_RULE = re.compile(r"[A-Za-z]{2,8}\d{1,3}|[a-z0-9]+(?:-[a-z0-9]+)+")
_CONTEXTS = 3


@click.command("explain")
@click.argument("what", metavar="FILE[:cell N]:LINE[:COL] | RULE")
@click.option(
    "--project",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A file or folder of the program (default: the repository, distribution or package around the file).",
)
@no_project
@click.option("--contexts", type=click.IntRange(min=1), default=_CONTEXTS, metavar="N", help="Analysed calls to show.")
@click.option("--all", "everything", is_flag=True, help="Show all analysed calls.")
@click.option("--whole", is_flag=True, help="Analyse all of a large program, not just what matters here.")
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", show_default=True)
@rule_options
@running_options
@color_option
def command(what: str, paths: tuple[Path, ...], **options: Any) -> int:
    """Say what the analysis believes at a place: kinds of values and where they come from, why the code is traced, and what became
    of each rule there. Given a rule (XLA101, tensor-if) it shows the rule's page.
    """
    if _RULE.fullmatch(what) and not Path(what).exists():
        return _rule(what, options)
    said = _explain(what, paths, options)
    from xlalint.cli.output import view

    looked = view()
    if options["output_format"] == "json":
        from xlalint.report.json import encode

        sys.stdout.write(f"{encode(said, ascii_only=looked.ascii_only)}\n")
    else:
        from xlalint.explain.text import render

        sys.stdout.write(render(said, looked, len(said.activations) if options["everything"] else options["contexts"]))
    return CLEAN


def _rule(what: str, options: dict[str, Any]) -> int:
    from xlalint.cli import rule

    context = click.get_current_context()
    form = options["output_format"]
    shown: int = context.invoke(
        rule.command, rule=what, output_format=form, config=options["config"], isolated=options["isolated"]
    )
    return shown


def _explain(what: str, paths: tuple[Path, ...], options: dict[str, Any]) -> Explanation:
    from xlalint.cli.progress import Progress
    from xlalint.explain import explain, parse_place

    file = Path(parse_place(what).file)
    found = find_program((file,), paths, options, collect_settings(options), saved=file.is_file())
    settings = found.survey.settings
    with cache_of(options, settings, home=found.around.home) as cache, Progress(sys.stderr) as progress:
        return explain(
            what,
            found.around.folders or paths or (file,),
            settings,
            cache=cache,
            jobs=settings.jobs or cores(),
            progress=progress,
            whole=options["whole"],
        )
