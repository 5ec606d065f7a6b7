"""The folders that a server may read for an agent: those named by `--root`, else those that the client tells, else where it was started."""

# No `from __future__ import annotations`: the protocol's library reads the annotations.
import os
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mcp.server.mcpserver import Context, ListRoots, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ListRootsResult


class Roots:
    """Folders; what lies in none of them is not read. Links count for what they lead to."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.folders = tuple(os.path.realpath(folder) for folder in folders)

    def holds(self, path: str) -> bool:
        """Return whether a path lies within a root."""
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(folder) for folder in self.folders)

    def allow(self, path: str) -> None:
        """Raise ToolError unless a path lies within a root."""
        if not self.holds(path):
            told = ", ".join(self.folders)
            raise ToolError(
                f"`{path}` is outside of what this server reads ({told}); `xlalint mcp --root FOLDER` lets it read more"
            )

    def existing(self, path: str) -> None:
        """Raise ToolError unless a path lies within a root, and is that of a file or a folder. One that begins with a dash would be taken
        for an option.
        """
        self.allow(path)
        if path.startswith("-") or not Path(path).exists():
            raise ToolError(f"`{path}`: no such file or folder (the server works in {Path.cwd()})")


def keep_folders(folders: Sequence[str]) -> Any:
    """Keep the folders that were named at the start for the server's lifetime."""
    return lambda _: nullcontext(tuple(folders))


def _ask(context: Context) -> ListRoots | ListRootsResult:
    """The client's roots: a question to it, where it has any and none were named."""
    capabilities = context.client_capabilities
    asks = capabilities is not None and capabilities.roots is not None and not context.request_context.lifespan_context
    return ListRoots() if asks else ListRootsResult(roots=[])


def _roots(context: Context, told: Annotated[ListRootsResult, Resolve(_ask)]) -> Roots:
    named = context.request_context.lifespan_context
    told_folders = [folder for root in told.roots if (folder := _folder(str(root.uri)))]
    return Roots(named or told_folders or [os.getcwd()])  # noqa: PTH109


def _folder(uri: str) -> str:
    """The path of a `file:` address on this machine; "" of any other."""
    parts = urlsplit(uri)
    return url2pathname(parts.path) if parts.scheme == "file" and parts.netloc in ("", "localhost") else ""


Allowed = Annotated[Roots, Resolve(_roots)]
"""The annotation of a tool's parameter that is given the roots; agents do not see it."""
