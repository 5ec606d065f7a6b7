"""`xlalint init`: shows the configuration, hook and workflow that a project could begin with, and writes them."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from xlalint.cli import CLEAN, FAILED
from xlalint.cli.saying import color_option, say, show


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False), default=Path())
@click.option("--yes", "-y", is_flag=True, help="Write without asking.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@color_option
def command(folder: Path, yes: bool, dry_run: bool) -> int:
    """Show the configuration, commit hook and workflow that a project (default: the one here) could begin with, and write them if you
    agree.

    Nothing that is there is replaced: a table is appended to `pyproject.toml`, a hook to `.pre-commit-config.yaml`.
    """
    from xlalint.cli.output import view
    from xlalint.cli.starting import count_frameworks, find_target, propose
    from xlalint.config import load_configuration
    from xlalint.frameworks.registry import row_of
    from xlalint.report.diff import diff

    root = folder.resolve()
    files = load_configuration([root], isolated=True).survey([root]).files
    frameworks = count_frameworks(files)
    titles = " and ".join(row_of(name).title for name in frameworks) or "no framework that xlalint knows"
    click.echo(f"{len(files):,} file{'' if len(files) == 1 else 's'} to check, with {titles}.\n")
    proposals = list(propose(root, frameworks, find_target(files)))
    looked = view()
    for proposal in proposals:
        if proposal.left:
            show(f"{looked.path(str(proposal.path))} is left as it is: {proposal.left}.\n")
        else:
            click.echo(diff(str(proposal.path), proposal.before or "", proposal.after, looked))
    wanted = [proposal for proposal in proposals if not proposal.left]
    if not wanted or dry_run:
        return CLEAN
    if not yes and not sys.stdin.isatty():
        say("nothing is written: `xlalint init --yes` writes without asking")
        return CLEAN
    if not yes and not click.confirm("Write this?"):
        return CLEAN
    code = CLEAN
    for proposal in wanted:
        try:
            _write(proposal.path, proposal.before, proposal.after, root)
            show(f"Wrote {looked.path(str(proposal.path))}")
        except OSError as error:
            say(f"`{proposal.path}` is not written: {error.strerror or error}")
            code = FAILED
    return code


def _write(path: Path, before: str | None, after: str, root: Path) -> None:
    """Write a new file, or replace one that is still as it was. Raises `OSError`."""
    from xlalint.fixes.toolkit.writing import WriteError, write

    if before is None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(after)
        return
    try:
        write(str(path), before.encode(), after.encode(), str(root))
    except WriteError as error:
        raise OSError(str(error)) from error
