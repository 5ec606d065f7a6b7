"""`xlalint config`: what can be configured, for people and as a JSON schema for editors."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

import click

from xlalint.cli import CLEAN


@click.command("config")
@click.argument("key", required=False)
@click.option("--schema", "as_schema", is_flag=True, help="Print the JSON schema of the configuration.")
def command(key: str | None, as_schema: bool) -> int:
    """Show the keys of the configuration with their defaults, or one of them. (What is in force here: check --show-settings.)"""
    if as_schema:
        from xlalint.config.schema import schema
        from xlalint.report.json import document

        click.echo(document(schema()), nl=False)
    else:
        click.echo("\n".join(_describe(key)), nl=False)
    return CLEAN


def _describe(key: str | None) -> Iterator[str]:
    from xlalint.cli.output import toml
    from xlalint.config.options import OPTIONS
    from xlalint.config.schema import defaults_of

    known = [name.replace("_", "-") for name in OPTIONS]
    if key is not None and key not in known:
        near = get_close_matches(key, known, n=1, cutoff=0.5)
        raise click.UsageError(f"unknown key `{key}`" + (f"; did you mean `{near[0]}`?" if near else ""))
    defaults = defaults_of()
    for name, option in OPTIONS.items():
        kebab = name.replace("_", "-")
        if key in (None, kebab):
            yield f"{kebab} = {toml(defaults[name])}" if name in defaults else f"# {kebab} (no default)"
            words = option.schema.get("enum")
            yield f"    {option.help}" + (f" One of {', '.join(words)}." if words else "")
    yield ""
