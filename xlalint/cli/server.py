"""`xlalint server`: the language server, on standard input and output or on a socket."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from typing import IO, TYPE_CHECKING

import click

from xlalint.cli.saying import say

if TYPE_CHECKING:
    from xlalint.server.server import Server


@click.command("server")
@click.option("--tcp", metavar="HOST:PORT", help="Wait for one client there, for debugging; port 0: any that is free.")
@click.option("--stdio", is_flag=True, help="Talk by standard input and output: the default.")
def command(tcp: str | None, stdio: bool) -> int:
    """Serve an editor by the Language Server Protocol."""
    if tcp is not None and stdio:
        raise click.UsageError("--tcp and --stdio exclude each other")
    place = _place(tcp) if tcp is not None else None
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:  # it was deleted; an editor's working directory means nothing
        os.chdir(os.sep)
    server = _server()
    return _on_socket(server, *place) if place is not None else _on_pipes(server)


def _server() -> Server:
    try:
        from xlalint.server.server import server
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs"):
            raise
        raise click.ClickException("the language server needs pygls: pip install 'xlalint[server]'") from error
    return server()


def _place(tcp: str) -> tuple[str, int]:
    host, _, port = tcp.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise click.BadParameter(f"`{tcp}` is not HOST:PORT, as in 127.0.0.1:2087", param_hint="--tcp")
    return host.strip("[]"), int(port)


def _on_pipes(server: Server) -> int:
    """Standard input and output belong to the protocol: what else is read or printed, here or by child processes, goes elsewhere."""
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return server.converse(reader, writer)


def _on_socket(server: Server, host: str, port: int) -> int:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(1)
            say(f"listening on {host}:{listening.getsockname()[1]}")
            sys.stderr.flush()
            connection, _ = listening.accept()
    except OSError as error:
        raise click.ClickException(f"{host}:{port}: {error.strerror or error}") from error
    with connection, connection.makefile("rb") as reader, connection.makefile("wb") as writer:
        try:
            return server.converse(reader, writer)
        finally:
            _close(connection, writer)


def _close(connection: socket.socket, writer: IO[bytes]) -> None:
    """Close a connection whose client may have left: what it was to be sent yet is lost."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)  # or closing would wait for the thread that reads
    with suppress(OSError):
        writer.close()
