"""`xlalint clean`: remove the cache."""

from __future__ import annotations

from pathlib import Path

import click

from xlalint.cli import CLEAN
from xlalint.cli.saying import show
from xlalint.cli.settings import GivenConfig, config_option


@click.command("clean")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--cache-dir", metavar="DIR", envvar="XLALINT_CACHE_DIR", help="Where results are kept.")
@config_option
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
def command(paths: tuple[Path, ...], cache_dir: str | None, config: GivenConfig, isolated: bool) -> int:
    """Remove what earlier runs kept for a project (default: the one here)."""
    from xlalint.cache import FOLDER, clean
    from xlalint.config import load_settings
    from xlalint.report.printable import printable

    options = {**config.inline, **({"cache_dir": cache_dir} if cache_dir else {})}
    settings = load_settings(paths, config=config.file, isolated=isolated, options=options)
    folder = Path(settings.cache_dir or Path(settings.root, FOLDER))
    try:
        removed = clean(folder)
    except OSError as error:
        raise click.ClickException(f"`{folder}`: the cache cannot be removed: {error.strerror}") from error
    show(printable(f"Removed {folder}" if removed else f"No cache at {folder}"))
    return CLEAN
