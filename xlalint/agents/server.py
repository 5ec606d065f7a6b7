"""The server over standard input and output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import cleandoc
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from xlalint import __version__
from xlalint.agents import tools
from xlalint.agents.roots import keep_folders

_INSTRUCTIONS = """\
xlalint finds Python code that XLA cannot compile well (torch_xla, torch.compile, TensorFlow, Keras, JAX on TPUs) by static analysis.
Check what you wrote with check_text or check_file; read the rule of a code with get_rule; ask explain_line when a finding surprises you.
propose_fixes shows safe rewrites as a patch; verify_fixes runs them against the original.
"""


def serve(roots: Sequence[str] = ()) -> None:
    """Answer until standard input ends. What is read lies within the roots, if any are given."""
    server = MCPServer(
        "xlalint", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING", lifespan=keep_folders(roots)
    )
    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    for tool in (tools.check_file, tools.check_text, tools.explain_line, tools.get_rule, tools.propose_fixes):
        _add(server, tool, reads)
    # What the code under test does is not ours to promise.
    runs = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True)
    _add(server, tools.verify_fixes, runs)
    server.run("stdio")


def _add(server: MCPServer, tool: Callable[..., Any], annotations: ToolAnnotations) -> None:
    """A text is told as a text: its copy as data would be read as well."""
    server.add_tool(tool, description=cleandoc(tool.__doc__ or ""), annotations=annotations, structured_output=False)
