"""`xlalint rules`: every rule there is."""

from __future__ import annotations

from pathlib import Path

import click

from xlalint.cli import CLEAN
from xlalint.cli.saying import show
from xlalint.cli.settings import GivenConfig, config_option


@click.command("rules")
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", show_default=True)
@config_option
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
def command(output_format: str, config: GivenConfig, isolated: bool) -> int:
    """List all rules."""
    from xlalint.cli.pages import as_entry, as_table
    from xlalint.config import load_settings
    from xlalint.report.json import array
    from xlalint.rules import rules

    settings = load_settings(config=config.file, isolated=isolated, options=config.inline)
    known = list(rules(tuple(map(Path, settings.extend_rules))).values())
    show(array([as_entry(rule) for rule in known]) if output_format == "json" else as_table(known), end="")
    return CLEAN
