"""What `xlalint server` takes in memory after many edits of a large workspace.

    python scripts/server_memory.py FOLDER [--file FILE] [--edits 1000] [--server "xlalint server"]

Opens the folder and one of its files, the largest under 2,500 lines if none is named, and makes edits one at a time: lines inside
of functions, and now and then a function that comes or goes. Waits for the diagnostics of each, and prints the resident memory of the
process on the way.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any, cast

LARGEST = 2500
EVERY = 25  # so often a function comes or goes, which others may see


class Client:
    """A client that waits for each answer."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._out = cast(IO[bytes], self.process.stdout)
        self._in = cast(IO[bytes], self.process.stdin)

    def send(self, method: str, params: Any, **more: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        self._in.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._in.flush()

    def receive(self) -> dict[str, Any]:
        length = 0
        while line := self._out.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        if not length:
            sys.exit("the server ended")
        return cast(dict[str, Any], json.loads(self._out.read(length)))

    def ask(self, method: str, params: Any) -> Any:
        self.send(method, params, id=1)
        while (message := self.receive()).get("id") != 1:
            pass
        return message

    def shown(self, uri: str, version: int) -> None:
        """Wait for the diagnostics of a version."""
        while True:
            message = self.receive()
            params = message.get("params") or {}
            shows = message.get("method") == "textDocument/publishDiagnostics" and params["uri"] == uri
            if shows and params.get("version") == version:
                return

    def memory(self) -> float:
        """MiB of the process that are resident."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * 4096 / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--edits", type=int, default=1000)
    parser.add_argument("--server", default=f"{sys.executable} -m xlalint server")
    given = parser.parse_args()
    folder = given.folder.resolve()
    sized = ((len(path.read_text(errors="replace").splitlines()), path) for path in folder.rglob("*.py"))
    file = given.file or max(one for one in sized if one[0] < LARGEST)[1]
    lines = file.read_text().splitlines(keepends=True)
    uri = file.as_uri()
    client = Client(shlex.split(given.server))
    folders = [{"uri": folder.as_uri(), "name": "w"}]
    client.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}, "workspaceFolders": folders})
    client.send("initialized", {})
    item = {"uri": uri, "languageId": "python", "version": 1, "text": "".join(lines)}
    client.send("textDocument/didOpen", {"textDocument": item})
    client.shown(uri, 1)
    chance = random.Random(1)
    inside = [n for n, line in enumerate(lines) if line.startswith("        return ")]
    began, highest = time.perf_counter(), 0.0
    for version in range(2, given.edits + 2):
        at = chance.choice(inside)
        changed = [*lines[:at], f"        edited = {chance.randrange(10**6)}\n", *lines[at:]]
        if version % EVERY == 0:
            changed += [f"\n\ndef edited_{version}(x):\n", "    return x\n"]
        text = {"uri": uri, "version": version}
        client.send("textDocument/didChange", {"textDocument": text, "contentChanges": [{"text": "".join(changed)}]})
        client.shown(uri, version)
        highest = max(highest, client.memory())
        if (version - 1) % max(given.edits // 10, 1) == 0:
            print(f"{version - 1:6,} edits: {client.memory():.0f} MiB, {time.perf_counter() - began:.0f} s", flush=True)
    time.sleep(5)
    print(f"{file.name}: at most {highest:.0f} MiB during {given.edits:,} edits, {client.memory():.0f} MiB at rest")
    client.ask("shutdown", None)
    client.send("exit", None)


if __name__ == "__main__":
    main()
