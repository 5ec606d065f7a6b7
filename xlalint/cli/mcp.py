"""`xlalint mcp`: serves agents that write code."""

from __future__ import annotations

from pathlib import Path

import click

from xlalint.cli import CLEAN


@click.command("mcp")
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="Read files below this folder only; repeatable (default: the client's roots, else the folder it is started in).",
)
def command(roots: tuple[Path, ...]) -> int:
    """Serve agents by the Model Context Protocol, over standard input and output: check, explain, rules, fixes (needs xlalint[mcp])."""
    from xlalint.cli.packages import require

    require("mcp", "xlalint mcp", "mcp")
    from xlalint.agents.server import serve

    serve([str(root) for root in roots])
    return CLEAN
