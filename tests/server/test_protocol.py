"""Whatever comes down the wire, in whatever order: each request is answered, and the server goes on."""

from __future__ import annotations

import json
import os
import random
import re
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, Queue
from types import SimpleNamespace
from typing import Any, BinaryIO

import pytest

pytest.importorskip("pygls")

COMMAND = (sys.executable, "-m", "xlalint", "server")
PATIENCE = 30.0
MODEL = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.item()\n"


class Wire:
    """Raw messages to and from a server."""

    def __init__(self, writer: BinaryIO, reader: BinaryIO) -> None:
        self._writer = writer
        self._reader = reader
        self._inbox: Queue[dict[str, Any] | None] = Queue()
        self._number = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            length = 0
            while line := self._reader.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            if not length:
                self._inbox.put(None)
                return
            self._inbox.put(json.loads(self._reader.read(length)))

    def raw(self, data: bytes) -> None:
        self._writer.write(data)
        self._writer.flush()

    def body(self, body: bytes) -> None:
        self.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def send(self, message: Any) -> None:
        self.body(json.dumps(message).encode())

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        self._number += 1
        number = self._number
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return self.wait(lambda message: message.get("id") == number and "method" not in message)

    def wait(self, wanted: Any) -> dict[str, Any]:
        while True:
            try:
                message = self._inbox.get(timeout=PATIENCE)
            except Empty:
                pytest.fail("the server does not answer")
            assert message is not None, "the server ended"
            if wanted(message):
                return message

    def shows(self, uri: str, *codes: str) -> None:
        """Wait until a document's diagnostics are these."""
        self.wait(
            lambda message: (
                message.get("method") == "textDocument/publishDiagnostics"
                and message["params"]["uri"] == uri
                and [one["code"] for one in message["params"]["diagnostics"]] == list(codes)
            )
        )

    def initialize(self, folder: Path | None = None, **more: Any) -> dict[str, Any]:
        folders = [{"uri": folder.as_uri(), "name": "w"}] if folder is not None else None
        given = {"processId": None, "rootUri": None, "capabilities": {}, "workspaceFolders": folders, **more}
        answer = self.ask("initialize", given)
        self.notify("initialized", {})
        return answer

    def open(self, path: Path, text: str) -> str:
        item = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return path.as_uri()


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as started:
        yield started
        started.kill()


@pytest.fixture
def wire(process: subprocess.Popen[bytes]) -> Wire:
    assert process.stdin is not None and process.stdout is not None
    return Wire(process.stdin, process.stdout)


def serves(wire: Wire, folder: Path) -> None:
    """See to it that the server still does its work."""
    name = f"m{random.random()}.py"
    uri = wire.open(folder / name, MODEL)
    wire.shows(uri, "XLA301")


# -------------------------------------------------------------------------------------------------- begin and end


def test_shutdown_then_exit_gives_0(wire: Wire, process: subprocess.Popen[bytes]) -> None:
    assert wire.initialize()["result"]["serverInfo"]["name"] == "xlalint"
    assert wire.ask("shutdown")["result"] is None
    assert wire.ask("workspace/diagnostic", {"previousResultIds": []})["error"]["code"] == -32600
    wire.notify("exit")
    assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize("initialized", [True, False])
def test_exit_without_shutdown_gives_1(wire: Wire, process: subprocess.Popen[bytes], initialized: bool) -> None:
    if initialized:
        wire.initialize()
    wire.notify("exit")
    assert process.wait(PATIENCE) == 1


def test_a_client_that_is_gone_ends_the_server(wire: Wire, process: subprocess.Popen[bytes]) -> None:
    wire.initialize()
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(PATIENCE) == 1


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks Linux for a process's children")
def test_what_is_under_way_ends_with_the_server(wire: Wire, process: subprocess.Popen[bytes], tmp_path: Path) -> None:
    for number in range(200):  # so many that they are first read by another process
        (tmp_path / f"part{number}.py").write_text(MODEL * 40)
    wire.initialize(tmp_path, capabilities={"window": {"workDoneProgress": True}})
    wire.wait(lambda message: message.get("method") == "$/progress")
    (child,) = _children(process.pid)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(PATIENCE) == 1
    assert not Path("/proc", child).exists()


def test_a_client_that_is_killed_ends_the_server(wire: Wire, process: subprocess.Popen[bytes]) -> None:
    """Its pipes may be held open by another process."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as client:
        wire.initialize(processId=client.pid)
        assert process.poll() is None
        client.kill()
    assert process.wait(PATIENCE) == 1


def test_a_client_that_is_not_seen_from_here_is_none_that_has_ended(wire: Wire, tmp_path: Path) -> None:
    wire.initialize(tmp_path, processId=2**22 + 7)
    serves(wire, tmp_path)


def test_a_working_directory_that_was_deleted(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    start = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.executable, sys.argv[1:])"
    given = [sys.executable, "-c", start, *COMMAND]
    with subprocess.Popen(given, cwd=gone, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdin is not None and started.stdout is not None
        wire = Wire(started.stdin, started.stdout)
        wire.initialize(tmp_path)
        serves(wire, tmp_path)
        started.kill()


def _children(parent: int) -> list[str]:
    return [child for listed in Path(f"/proc/{parent}/task").glob("*/children") for child in listed.read_text().split()]


def test_a_request_that_is_held_is_answered_when_the_client_has_enough(wire: Wire, tmp_path: Path) -> None:
    wire.initialize(tmp_path, capabilities={"textDocument": {"diagnostic": {}}})
    (tmp_path / "m.py").write_text(MODEL)
    uri = wire.open(tmp_path / "m.py", MODEL)
    (told,) = wire.ask("workspace/diagnostic", {"previousResultIds": []})["result"]["items"]
    known = {"previousResultIds": [{"uri": uri, "value": told["resultId"]}]}
    wire.send({"jsonrpc": "2.0", "id": "held", "method": "workspace/diagnostic", "params": known})
    wire.notify("$/cancelRequest", {"id": "held"})
    assert wire.wait(lambda message: message.get("id") == "held")["error"]["code"] == -32800
    wire.send({"jsonrpc": "2.0", "id": "held again", "method": "workspace/diagnostic", "params": known})
    wire.send({"jsonrpc": "2.0", "id": "last", "method": "shutdown", "params": None})
    answers = [wire.wait(lambda message: message.get("id") in ("held again", "last")) for _ in range(2)]
    assert {one["id"]: one.get("error", {}).get("code") for one in answers} == {"held again": -32800, "last": None}


def test_what_comes_too_early_or_twice_is_refused(wire: Wire, tmp_path: Path) -> None:
    assert wire.ask("textDocument/hover", {"whatever": 1})["error"]["code"] in (-32002, -32602)
    assert wire.ask("workspace/diagnostic", {"previousResultIds": []})["error"]["code"] == -32002
    wire.notify(
        "textDocument/didOpen",
        {"textDocument": {"uri": "file:///a.py", "languageId": "python", "version": 1, "text": ""}},
    )
    wire.initialize(tmp_path)
    assert wire.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})["error"]["code"] == -32600
    serves(wire, tmp_path)


# ------------------------------------------------------------------------------------------------------- rubbish

BODIES = {
    "no-json": b"{nope",
    "nothing": b"null",
    "number": b"7",
    "text": b'"x"',
    "no-utf8": b'{"jsonrpc": "2.0", "id": "\xff"}',
    "empty-object": b"{}",
    "empty-list": b"[]",
    "other-version": b'{"jsonrpc": "1.0", "id": 5, "method": "shutdown"}',
    "no-method": b'{"jsonrpc": "2.0"}',
    "method-of-another-type": b'{"jsonrpc": "2.0", "id": 5, "method": 7}',
    "answer-to-nothing": b'{"jsonrpc": "2.0", "id": 99, "result": {}}',
    "error-to-nothing": b'{"jsonrpc": "2.0", "id": 99, "error": {"code": 1, "message": ""}}',
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "params-of-another-type": b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": [1, 2]}',
    "change-of-nothing": b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "file:///x.py", '
    b'"version": 3}, "contentChanges": [{"text": "x"}]}}',
    "close-of-nothing": b'{"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {"textDocument": {"uri": "file:///x.py"}}}',
    "cancel-of-nothing": b'{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 5}}',
    "unknown-notification": b'{"jsonrpc": "2.0", "method": "nothing/known", "params": {"a": {"b": 1}}}',
    "negative-position": b'{"jsonrpc": "2.0", "id": 6, "method": "textDocument/hover", "params": {"textDocument": {"uri": '
    b'"file:///x.py"}, "position": {"line": -1, "character": -4}}}',
}


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Wire, Path]]:
    """One server for all that it must survive."""
    folder = tmp_path_factory.mktemp("folder")
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as started:
        assert started.stdin is not None and started.stdout is not None
        wire = Wire(started.stdin, started.stdout)
        wire.initialize(folder)
        yield wire, folder
        started.kill()


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_rubbish_is_survived(lasting: tuple[Wire, Path], body: bytes) -> None:
    lasting[0].body(body)
    serves(*lasting)


@pytest.mark.parametrize(
    "header",
    [
        b"\r\n",
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Nonsense\r\n\r\n",
        b"A: b\r\n" * 50,
        b"\xff\xfe\r\n\r\n",
    ],
)
def test_headers_that_are_none_are_skipped(lasting: tuple[Wire, Path], header: bytes) -> None:
    lasting[0].raw(header)
    serves(*lasting)


FRAMES = {
    "negative": b"Content-Length: -5\r\n\r\n",
    "no-number": b"Content-Length: 3.5\r\n\r\nabc",
    "absurd": b"Content-Length: 1000000000000\r\n\r\n",
    "too-many-digits": b"Content-Length: 100000000000000000000\r\n\r\n",
    "no-header": b'{"jsonrpc": "2.0", "id": 1, "method": "x"}',
    "too-long": b'Content-Length: 5000\r\n\r\n{"jsonrpc": "2.0", "id": 1, "method": "x"}',
    "too-long-by-one": b'Content-Length: 43\r\n\r\n{"jsonrpc": "2.0", "id": 1, "method": "x"}',
    "too-short": b'Content-Length: 10\r\n\r\n{"jsonrpc": "2.0", "id": 1, "method": "x"}',
    "no-blank-line": b'Content-Length: 42\r\n{"jsonrpc": "2.0", "id": 1, "method": "x"}',
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "zeros": bytes(100),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_what_is_no_message_is_told_and_the_next_is_read(lasting: tuple[Wire, Path], frame: bytes) -> None:
    """The server neither ends nor waits for ever."""
    wire, folder = lasting
    wire.raw(frame)
    wire.notify("nothing/known", {})  # a body that is too short ends with what follows it
    assert wire.wait(lambda message: "error" in message and message["id"] is None)["error"]["code"] == -32700
    serves(wire, folder)


def test_parameters_may_be_left_out(lasting: tuple[Wire, Path]) -> None:
    lasting[0].send({"jsonrpc": "2.0", "id": "bare", "method": "nothing/known"})
    assert lasting[0].wait(lambda message: message.get("id") == "bare")["error"]["code"] == -32601


ODD = {
    "no-file": "untitled:Untitled-1",
    "cell": "vscode-notebook-cell:/w/nb.ipynb#W0sZmlsZQ%3D%3D",
    "localhost": "file://localhost{}/other.py",
    "lower-case-percent": "file://{}/%c3%a4.py",
    "no-utf8": "file://{}/%ff%fe.py",
    "zero": "file://{}/a%00b.py",
    "dots": "file://{}/sub/../other.py",
    "half-a-character": "file://{}/\ud800.py",
    "no-uri": "file://[::1/x.py",
    "upper-case-scheme": "FILE://{}/other.py",
    "long": "file://{}/" + "a" * 5000 + ".py",
    "the-root": "file:///",
    "empty": "",
}


@pytest.mark.parametrize("uri", ODD.values(), ids=ODD)
def test_odd_names_of_documents(lasting: tuple[Wire, Path], uri: str) -> None:
    """Each is shown what is found in it under the very name, and nothing more once it is closed."""
    wire, folder = lasting
    uri = uri.format(folder)
    item = {"uri": uri, "languageId": "python", "version": 1, "text": MODEL}
    wire.notify("textDocument/didOpen", {"textDocument": item})
    wire.shows(uri, "XLA301")
    wire.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    wire.shows(uri)


def test_requests_that_make_no_sense_are_answered(lasting: tuple[Wire, Path]) -> None:
    wire, folder = lasting
    assert wire.ask("nothing/known", {})["error"]["code"] == -32601
    assert wire.ask("textDocument/hover", {"textDocument": 5})["error"]["code"] == -32602
    assert wire.ask("workspace/executeCommand", {"command": "rm"})["error"]["code"] == -32602
    assert "error" in wire.ask("workspace/executeCommand", {"command": "xlalint.explain", "arguments": [1]})
    closed = {"textDocument": {"uri": (folder / "closed.py").as_uri()}, "position": {"line": 0, "character": 0}}
    assert wire.ask("textDocument/hover", closed)["result"] is None
    wire.body(b"{nope")
    assert wire.wait(lambda message: "error" in message)["error"]["code"] == -32700
    serves(wire, folder)


def test_places_that_are_not_there(lasting: tuple[Wire, Path]) -> None:
    wire, folder = lasting
    uri = wire.open(folder / "there.py", MODEL)
    wire.shows(uri, "XLA301")
    for line, character in ((0, 10_000), (10_000, 0), (2**31 - 1, 2**31 - 1)):
        place = {"line": line, "character": character}
        asked = {"textDocument": {"uri": uri}, "position": place, "range": {"start": place, "end": place}}
        assert wire.ask("textDocument/hover", asked).get("result") is None
        assert wire.ask("textDocument/codeAction", {**asked, "context": {"diagnostics": []}})["result"] == []
        assert "result" in wire.ask("textDocument/inlayHint", asked)


def test_a_huge_text_and_a_message_that_is_too_large(lasting: tuple[Wire, Path]) -> None:
    wire, folder = lasting
    uri = wire.open(folder / "huge.py", "# " + "x" * 4_000_000 + "\n" + MODEL)
    wire.shows(uri, "XLA301")
    wire.raw(b"Content-Length: 300000000\r\n\r\n")
    piece = b" " * 1_000_000
    for _ in range(300):
        wire.raw(piece)
    assert "bytes" in wire.wait(lambda message: "error" in message)["error"]["message"]
    serves(wire, folder)


METHODS = [
    "textDocument/hover",
    "textDocument/codeAction",
    "textDocument/diagnostic",
    "textDocument/inlayHint",
    "textDocument/codeLens",
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didClose",
    "textDocument/didSave",
    "notebookDocument/didOpen",
    "notebookDocument/didChange",
    "workspace/didChangeConfiguration",
    "workspace/didChangeWatchedFiles",
    "workspace/didChangeWorkspaceFolders",
    "workspace/executeCommand",
    "$/cancelRequest",
    "$/setTrace",
    "window/workDoneProgress/cancel",
    "initialized",
    "x",
]


def anything(chance: random.Random, depth: int = 3) -> Any:
    """Any JSON, with the keys that the protocol has."""
    if depth == 0 or chance.random() < 0.3:
        return chance.choice([None, True, -1, 3, 2**40, "", "file:///a.py", "python", 0.5, [], {}])
    if chance.random() < 0.3:
        return [anything(chance, depth - 1) for _ in range(chance.randrange(3))]
    keys = [
        "textDocument",
        "position",
        "range",
        "uri",
        "version",
        "text",
        "contentChanges",
        "changes",
        "event",
        "context",
        "id",
        "params",
    ]
    return {key: anything(chance, depth - 1) for key in chance.sample(keys, chance.randrange(5))}


def test_fuzzed_messages(lasting: tuple[Wire, Path]) -> None:
    wire, folder = lasting
    chance = random.Random(7)
    for number in range(400):
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": chance.choice(METHODS), "params": anything(chance)}
        if chance.random() < 0.5:
            message["id"] = f"f{number}"
        body = json.dumps(message).encode()
        if chance.random() < 0.1:
            at = chance.randrange(len(body))
            body = body[:at] + bytes([chance.randrange(256)]) + body[at + 1 :]
        wire.body(body)
    serves(wire, folder)


# ---------------------------------------------------------------------------------------------------- the command


def run(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=PATIENCE, **more)


def test_a_socket(tmp_path: Path) -> None:
    with subprocess.Popen([*COMMAND, "--tcp", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        found = re.search(r":(\d+)$", started.stderr.readline().strip())
        assert found is not None
        with socket.create_connection(("127.0.0.1", int(found[1]))) as connection:
            wire = Wire(connection.makefile("wb"), connection.makefile("rb"))
            wire.initialize(tmp_path)
            serves(wire, tmp_path)
            wire.ask("shutdown")
            wire.notify("exit")
            assert started.wait(PATIENCE) == 0


@pytest.mark.parametrize("requests", [0, 20])
@pytest.mark.parametrize("reset", [True, False], ids=["reset", "closed"])
def test_a_client_leaves_its_socket(tmp_path: Path, requests: int, reset: bool) -> None:
    """In the middle of whatever: the server ends, and says nothing of it."""
    with subprocess.Popen([*COMMAND, "--tcp", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        found = re.search(r":(\d+)$", started.stderr.readline().strip())
        assert found is not None
        with socket.create_connection(("127.0.0.1", int(found[1]))) as connection:
            wire = Wire(connection.makefile("wb"), connection.makefile("rb"))
            wire.initialize(tmp_path)
            serves(wire, tmp_path)
            asked = {"jsonrpc": "2.0", "method": "workspace/diagnostic", "params": {"previousResultIds": []}}
            bodies = [json.dumps({**asked, "id": f"r{number}"}).encode() for number in range(requests)]
            wire.raw(b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies))
            if reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.shutdown(socket.SHUT_RDWR)
        assert started.wait(PATIENCE) == 1
        assert started.stderr.read() == ""


@pytest.mark.parametrize("place", ["nonsense", "127.0.0.1", ":80", "127.0.0.1:x", "127.0.0.1:99999"])
def test_a_socket_that_is_none(place: str) -> None:
    done = run("--tcp", place)
    assert done.returncode == 2
    assert "is not HOST:PORT" in done.stderr


def test_a_missing_extra_is_told_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError(\"No module named 'pygls'\", name='pygls')\n")
    (tmp_path / "lsprotocol.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'lsprotocol'\", name='lsprotocol')\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = run(env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert done.stderr == "Error: the language server needs pygls: pip install 'xlalint[server]'\n"


def test_what_is_printed_does_not_disturb_the_protocol(tmp_path: Path) -> None:
    """Standard output is the protocol's alone: a print in this process, or in one that it starts, goes to standard error."""
    code = "import sys; from xlalint.cli.server import _on_pipes\n"
    code += "class Told:\n    def converse(self, reader, writer):\n        print('noise', flush=True)\n"
    code += "        import subprocess; subprocess.run(['echo', 'more'])\n"
    code += "        writer.write(reader.read()); writer.flush(); return 0\n"
    code += "sys.exit(_on_pipes(Told()))\n"
    done = subprocess.run([sys.executable, "-c", code], input=b"protocol", capture_output=True, timeout=PATIENCE)
    assert (done.stdout, done.stderr) == (b"protocol", b"noise\nmore\n")


def test_a_shutdown_ends_requests_that_leave_the_list_as_they_end() -> None:
    from xlalint.server.protocol import Protocol

    waiting: dict[int, Future[None]] = {}
    for ident in range(3):
        waiting[ident] = Future()
        waiting[ident].add_done_callback(lambda _, ident=ident: waiting.pop(ident))  # type: ignore[misc]
    protocol = SimpleNamespace(_request_futures=waiting, msg_id=2, _shutdown=False)
    Protocol.lsp_shutdown(protocol)
    assert list(waiting) == [2]
    assert protocol._shutdown
