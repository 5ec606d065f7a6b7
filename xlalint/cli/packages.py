"""Packages that only some options need: what to say where one is missing."""

from __future__ import annotations

from importlib.util import find_spec

import click


def require(module: str, asked: str, extra: str) -> None:
    """End the command where a module is not installed, with what asked for it and the extra that brings it."""
    if find_spec(module) is None:
        raise click.ClickException(f"{asked} needs more than the base install: pip install 'xlalint[{extra}]'")
