"""`xlalint rule CODE`: the page of one rule."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from xlalint.cli import CLEAN
from xlalint.cli.saying import color_option, colour_on, show
from xlalint.cli.settings import GivenConfig, complete_rules, config_option


@click.command("rule")
@click.argument("rule", shell_complete=complete_rules)
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", show_default=True)
@config_option
@color_option
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
def command(rule: str, output_format: str, config: GivenConfig, isolated: bool) -> int:
    """Explain a rule, given by its code (XLA101) or name (tensor-if)."""
    from xlalint.cli.pages import as_entry, as_markdown
    from xlalint.config import load_settings
    from xlalint.report.json import array
    from xlalint.report.printable import printable_lines
    from xlalint.rules import find_rule

    settings = load_settings(config=config.file, isolated=isolated, options=config.inline)
    found = find_rule(rule, tuple(map(Path, settings.extend_rules)))
    if output_format == "json":
        click.echo(array([{**as_entry(found), "text": found.text}]), nl=False)
    elif colour_on(sys.stdout):
        from rich.console import Console
        from rich.markdown import Markdown

        Console(force_terminal=True).print(Markdown(printable_lines(as_markdown(found))))
    else:
        show(as_markdown(found), end="")
    return CLEAN
