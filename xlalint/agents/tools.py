"""The tools: each runs a command of xlalint in a process of its own, under the project's configuration and cache.

So a tool says what the command says, nothing it does outlives it, and a call that is cancelled ends what it started. Findings are told
shortly, by the names that the tools' arguments have: agents pay for what they read.

What tools only read stays as it is: results are kept in the user's folder of caches, not in the project's.
"""

# No `from __future__ import annotations`: the protocol's library reads the annotations.
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any

import anyio
import msgspec
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import Field

from xlalint.agents.roots import Allowed, Roots
from xlalint.cli import FAILED
from xlalint.config import ConfigError, survey_program
from xlalint.diagnostics.finding import Finding
from xlalint.processes import isolated_command
from xlalint.report.full import chain

_PATIENCE = 600.0
_USAGE = "Usage: "

File = Annotated[
    str, Field(description="A Python file or notebook, relative to where the server was started, or absolute.")
]
Unsafe = Annotated[bool, Field(description="Also take fixes that may change a result; each says on what that depends.")]
Program = Annotated[
    str,
    Field(
        description="The folder of the program that the file belongs to, such as `.`: what calls what decides what is traced, and what a "
        "fix may change. Without it that is the repository, distribution or package around the file, as far as the server may read it."
    ),
]


async def check_file(path: File, roots: Allowed, program: Program = "") -> CallToolResult:
    """Find code in a file that XLA cannot compile well: tensors whose values reach Python, shapes that depend on data, recompilation.

    Each finding has a rule's code, a place (lines and columns from 1), the consequence, why the code is traced, the way out, and what its
    fix does or why there is none. Nothing is executed.
    """
    roots.existing(path)
    return _findings(await _check("--show-fixes", *await _within(path, program, roots), "--", path))


async def check_text(
    text: Annotated[str, Field(description="The source of one Python module.")],
    roots: Allowed,
    filename: Annotated[str, Field(description="What the module is called; it need not exist.")] = "snippet.py",
) -> CallToolResult:
    """Find code in a text that XLA cannot compile well, before it is written to a file. Says what `check_file` says."""
    roots.allow(filename)
    around = await _within(filename, "", roots)
    return _findings(await _check("--show-fixes", *around, "--stdin-filename", filename, "-", text=text))


async def explain_line(
    path: File,
    roots: Allowed,
    line: Annotated[int, Field(ge=1, description="The row, from 1; in a notebook within the cell.")],
    column: Annotated[
        int, Field(ge=0, description="The column, from 1, for one expression; 0 for the whole line.")
    ] = 0,
    cell: Annotated[int, Field(ge=0, description="The cell of a notebook, from 1; 0 where there are none.")] = 0,
) -> str:
    """Say what the analysis believes at a line: what each value is (tensor, shape, host value) and why, whether the code is traced, which
    rules fired or what silenced them. Ask here when a finding looks wrong or one is missing.
    """
    roots.existing(path)
    place = f"{path}:cell {cell}:{line}" if cell else f"{path}:{line}"
    around = await _within(path, "", roots)
    return await _run("explain", _choose_cache(), *around, "--", f"{place}:{column}" if column else place)


async def get_rule(
    code: Annotated[str, Field(description="A code, such as XLA201, or a name, such as boolean-mask-index.")],
) -> str:
    """The page of a rule: what it finds, why it matters on XLA with what was measured, bad and good examples, whether fixes are safe."""
    return await _run("rule", "--", code)


async def propose_fixes(path: File, roots: Allowed, program: Program = "", unsafe: Unsafe = False) -> str:
    """Return what the fixes of a file would change, as a patch; empty if nothing can be fixed. Nothing is written. They are made
    in rounds, as by `xlalint check --fix`.
    """
    roots.existing(path)
    return await _run(
        "check", _choose_cache(), "--diff", *_list_allowed(unsafe), *await _within(path, program, roots), "--", path
    )


async def verify_fixes(path: File, roots: Allowed, program: Program = "", unsafe: Unsafe = False) -> CallToolResult:
    """Run each fix of a file against the original on a real XLA device, on many inputs: proven, refuted with the inputs that show it, or
    unverified with the reason. Nothing is written. This imports and runs the file's code; its framework must be installed.
    """
    roots.existing(path)
    found = await _check("--verify", *_list_allowed(unsafe), *await _within(path, program, roots), "--", path)
    return _findings([one for one in found if one.fix is not None and one.fix.proof is not None])


def _findings(found: Sequence[Finding]) -> CallToolResult:
    """Findings as data and as text, one a line."""
    told = [_strip_empty(finding) for finding in found]
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in told)
    text = TextContent(type="text", text=f'{{"findings": [{lines}]}}')
    return CallToolResult(content=[text], structured_content={"findings": told})


def _strip_empty(finding: Finding) -> dict[str, Any]:
    """A finding without what is not said."""
    fix = None
    if finding.fix is not None:
        fix = {"applicability": finding.fix.applicability, "message": finding.fix.message}
        if finding.fix.proof is not None:
            fix["proof"] = msgspec.to_builtins(finding.fix.proof)
    told = {
        "path": _show(finding.filename),
        "cell": finding.cell,
        "line": finding.location.row,
        "column": finding.location.column,
        "code": f"{finding.code} {finding.name}",
        "severity": finding.severity,
        "confidence": finding.confidence,
        "frequency": finding.frequency,
        "message": finding.message,
        "traced": chain(finding) if finding.trace else "",
        "help": finding.help,
        "fix": fix,
        "no_fix": finding.no_fix,
    }
    return {key: value for key, value in told.items() if value not in (None, "")}


def _show(filename: str) -> str:
    """A path as it can be given to a tool again."""
    path = os.path.relpath(filename)
    return filename if path.startswith(os.pardir) else path


async def _within(path: str, program: str, roots: Roots) -> tuple[str, ...]:
    """Return the options that name the program of a file: the one that was given, else what is around the file within the roots."""
    if program:
        roots.allow(program)
        return (f"--project={program}",)
    try:
        found = await anyio.to_thread.run_sync(_find_around, path, roots)
    except ConfigError as error:
        raise ToolError(str(error)) from error
    return tuple(f"--project={folder}" for folder in found) or ("--no-project",)


def _find_around(path: str, roots: Roots) -> tuple[Path, ...]:
    found = survey_program((Path(path),), saved=False, here=Path.cwd(), allowed=lambda folder: roots.holds(str(folder)))
    return found.around.folders


def _choose_cache() -> str:
    """The option that names the folder for results: outside of the project, one for each folder that servers are started in."""
    named = os.environ.get("XLALINT_CACHE_DIR")
    usual = Path("~/Library/Caches" if sys.platform == "darwin" else "~/.cache").expanduser()
    own = blake2b(os.fsencode(Path.cwd()), digest_size=8).hexdigest()
    # By the standard, a relative `XDG_CACHE_HOME` counts for nothing.
    given = os.environ.get("XDG_CACHE_HOME", "")
    return f"--cache-dir={named or Path(given if Path(given).is_absolute() else usual, 'xlalint', own)}"


def _list_allowed(unsafe: bool) -> tuple[str, ...]:
    return ("--unsafe-fixes" if unsafe else "--no-unsafe-fixes",)


async def _check(*arguments: str, text: str = "") -> list[Finding]:
    done = await _run("check", _choose_cache(), "--output-format", "json", "--exit-zero", *arguments, text=text)
    return msgspec.json.decode(done, type=list[Finding])


async def _run(*arguments: str, text: str = "") -> str:
    """Run a command and return its output. Its error output becomes the tool's error."""
    try:
        with anyio.fail_after(_PATIENCE):
            done = await anyio.run_process(
                isolated_command("xlalint.start", *arguments),
                input=text.encode("utf-8", "surrogatepass"),
                check=False,
                stderr=subprocess.PIPE,
            )
    except TimeoutError:
        raise ToolError(f"xlalint took longer than {_PATIENCE:.0f} seconds") from None
    if done.returncode == FAILED or done.returncode < 0:
        said = done.stderr.decode("utf-8", "replace")
        lines = [line for line in said.splitlines() if line.strip() and not line.startswith((_USAGE, "Try '"))]
        raise ToolError("\n".join(lines) or f"xlalint ended with code {done.returncode}")
    return str(done.stdout, "utf-8", "replace")
