"""`xlalint mcp`: serves agents that write code."""

from __future__ import annotations

import click

from xlalint.cli import CLEAN


@click.command("mcp")
def command() -> int:
    """Serve agents by the Model Context Protocol, over standard input and output: check, explain, rules, fixes (needs xlalint[mcp])."""
    from xlalint.cli.packages import require

    require("mcp", "xlalint mcp", "mcp")
    from xlalint.agents.server import serve

    serve()
    return CLEAN
