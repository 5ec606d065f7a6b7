"""The child process of `xlalint run`: runs a script as `python SCRIPT` would, and records its steps."""

from __future__ import annotations

import os
import pkgutil  # noqa: F401  (runpy imports it late, when the script's folder is in front of the path)
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

import msgspec
from msgspec import Struct

from xlalint.verify import environment
from xlalint.verify.plugin import PluginError
from xlalint.verify.recording import Recorder
from xlalint.verify.steps import notice_steps

_OWN = (os.path.dirname(os.path.abspath(__file__)), os.path.abspath(runpy.__file__))  # noqa: PTH100, PTH120


class Request(Struct, frozen=True):
    """Asks for a script to be run: `what` is its path or, if `module`, a module's name. `folder` takes the recording."""

    what: str
    arguments: tuple[str, ...]
    module: bool
    folder: str

    @property
    def record(self) -> Path:
        return Path(self.folder, "steps.jsonl")

    @property
    def graphs(self) -> Path:
        """The folder for what XLA writes."""
        return Path(self.folder, f"{environment.OWN_GRAPHS}run")


def main() -> int:
    """Run what the file that is named by the first argument asks for; the exit code is the script's."""
    request = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Request)
    sys.argv = [request.what, *request.arguments]
    _prepare(request.graphs)
    recorder = Recorder(request.record, notice_steps)
    if not getattr(sys.flags, "safe_path", False):  # from here on what is imported is the script's to say
        sys.path.insert(0, _folder(request))
    recorder.begin(_main_file(request))
    try:
        return _run(request, recorder)
    finally:
        recorder.end()


def _prepare(graphs: Path) -> None:
    """Set what frameworks read when they are imported: where XLA writes graphs, and the CPU where there is nothing else."""
    graphs.mkdir()
    wanted = {**environment.for_torch_xla(str(graphs)), **environment.for_jax()}
    if find_spec("torch_tpu") is not None:
        try:
            wanted |= environment.for_torch_tpu()
        except PluginError as error:
            print(f"xlalint: TorchTPU has no device here: {error}", file=sys.stderr)  # noqa: T201
    os.environ.update(wanted)


def _run(request: Request, recorder: Recorder) -> int:
    try:
        if request.module:
            runpy.run_module(request.what, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(request.what, run_name="__main__")
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        print(left.code, file=sys.stderr)  # noqa: T201 (as Python does)
        return 1
    except BaseException as error:  # noqa: BLE001 (whatever it is, it is told as Python would)
        error = error.with_traceback(_below_us(error.__traceback__))
        recorder.fail(error)
        sys.excepthook(type(error), error, error.__traceback__)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _folder(request: Request) -> str:
    """Return the folder that Python puts in front of the path of modules."""
    return os.getcwd() if request.module else os.path.dirname(os.path.abspath(request.what))  # noqa: PTH100, PTH109, PTH120


def _main_file(request: Request) -> str:
    if not request.module:
        return os.path.abspath(request.what)  # noqa: PTH100
    try:
        spec = find_spec(request.what)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = find_spec(f"{request.what}.__main__")
    except ImportError:
        return ""
    return spec.origin or "" if spec is not None else ""


def _below_us(traceback: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that the script would have without us."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith((*_OWN, "<frozen runpy")):
        traceback = traceback.tb_next
    return traceback
