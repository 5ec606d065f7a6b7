"""A folder whose every file runs something when it is not only read: what runs leaves a marker.

It has a module for each name that Python, xlalint or what xlalint depends on may import, and traps in the files of all kinds of tools.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.e2e.conftest import MODEL

# Imported where they are installed, and shadowed in any case.
_OPTIONAL = [
    "anyio",
    "asyncio",
    "distributed",
    "jinja2",
    "lsprotocol",
    "mcp",
    "mcp_types",
    "ml_dtypes",
    "multiprocessing.forkserver",
    "multiprocessing.resource_tracker",
    "multiprocessing.spawn",
    "numpy",
    "pandas",
    "psutil",
    "pygls",
    "pytest",
    "ray",
    "setuptools",
    "sitecustomize",
    "tomli",
    "usercustomize",
    "uvloop",
    "watchfiles",
]
# Frameworks are shadowed, not imported: no process survives two of them.
_FRAMEWORKS = ("flax", "jax", "keras", "tensorflow", "torch", "torch_xla")
_IMPORT_ALL = f"""
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys({_FRAMEWORKS!r}))
def load(name):
    try:
        importlib.import_module(name)
    except Exception:
        pass  # it needs a framework
import xlalint
for name in [info.name for info in pkgutil.walk_packages(xlalint.__path__, "xlalint.")] + sys.argv[1:]:
    if name != "xlalint.__main__":
        load(name)
print(*{{name.partition(".")[0] for name in sys.modules}})
"""
_HOOKS = ("pre-commit", "post-checkout", "post-index-change", "fsmonitor-watchman", "reference-transaction")
_PROGRAMS = ("git", "python", "python3", "xlalint", "sh", "ssh", "less", "uv", "pip", "node")


class Hostile(NamedTuple):
    """The folder, and the one that markers are left in."""

    folder: Path
    markers: Path

    def ran(self) -> list[str]:
        """What was run so far."""
        return sorted(path.name for path in self.markers.iterdir())


@cache
def imported_names() -> frozenset[str]:
    """The first parts of the names of all modules that may be imported."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", _IMPORT_ALL, *_OPTIONAL], capture_output=True, text=True, check=True
    )
    found = {
        *done.stdout.split(),
        *sys.stdlib_module_names,
        *(name.partition(".")[0] for name in _OPTIONAL),
        *_FRAMEWORKS,
    }
    return frozenset(name for name in found if name.isidentifier() and not name.startswith("__"))


def shadows(folder: Path, markers: Path) -> Hostile:
    """Make the modules only."""
    markers.mkdir(parents=True)
    folder.mkdir(parents=True)
    made = Hostile(folder, markers)
    for name in imported_names() - {"xlalint"}:
        _module(made, f"{name}.py")
    for name in (
        "__init__",
        "__main__",
        "cli/__init__",
        "cli/__main__",
        "server/__init__",
        "server/warming",
        "verify/__init__",
    ):
        _module(made, f"xlalint/{name}.py")
    return made


def workspace(folder: Path, markers: Path) -> Hostile:
    """Make the modules and all other traps, in a repository of git with one commit."""
    made = shadows(folder, markers)
    for name in ("conftest", "setup", "noxfile", "tasks", "trap", "_pytest_plugin"):
        _module(made, f"{name}.py")
    _configurations(made)
    _sources(made)
    _environment(made)
    for name in _PROGRAMS:
        if name != "xlalint":  # there is a folder of that name
            _program(made, name)
    _write(made, ".xlalint_cache/xlalint.db", f"import os; open({str(made.markers / 'cache')!r}, 'w')\n")
    _module(made, ".xlalint_cache/__init__.py")
    if shutil.which("git") is not None:
        _repository(made)
    assert made.ran() == []
    return made


def environment(made: Hostile) -> dict[str, str]:
    """The environment of a user whose `PATH` has the working directory in front, and who has no configuration of git."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON", "XLALINT"))}
    nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    home = {"HOME": str(made.markers.parent), "XDG_CACHE_HOME": str(made.markers.parent / "caches")}
    return {**kept, **nothing, **home, "PATH": os.pathsep.join(("", ".", kept["PATH"]))}


def _mark(made: Hostile, name: str) -> str:
    """Python that leaves a marker, with nothing but what Python has built in."""
    return f"open({str(made.markers / name.replace('/', '_'))!r}, 'w').close()"


def _write(made: Hostile, name: str, text: str) -> Path:
    path = made.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _module(made: Hostile, name: str) -> None:
    _write(made, name, f"{_mark(made, name)}\nraise ImportError('a trap')\n")


def _program(made: Hostile, name: str) -> str:
    path = _write(made, name, f"#!/bin/sh\n: > '{made.markers / name.replace('/', '_')}'\ncat\n")
    path.chmod(0o755)
    return str(path)


def _configurations(made: Hostile) -> None:
    command = _program(made, "tool")
    _write(
        made,
        "pyproject.toml",
        f"""\
[build-system]
requires = []
build-backend = "trap"
backend-path = ["."]
[project]
name = "trap"
version = "1"
entry-points.pytest11.trap = "trap"
[tool.mypy]
plugins = ["trap.py"]
[tool.pytest.ini_options]
addopts = "-p trap"
[tool.ruff]
extend = "{command}"
[tool.xlalint]
python = ".venv"
extend-rules = ["lint"]
roots = ["*; import trap"]
static = ["__import__('trap')"]
[[tool.xlalint.verify]]
target = "trap.py:main"
factory = "__import__('trap')"
inputs = {{ x = "__import__('trap')" }}
""",
    )
    _write(made, "tox.ini", f"[testenv]\ncommands = {command}\n[pytest]\naddopts = -p trap\n")
    _write(made, "setup.cfg", "[mypy]\nplugins = trap.py\n[options]\npackages = find:\n")
    _write(made, "mypy.ini", "[mypy]\nplugins = trap.py\n")
    _write(made, "pyvenv.cfg", f"home = {made.folder}\ninclude-system-site-packages = true\n")
    _write(made, "trap.pth", f"import sys; {_mark(made, 'root.pth')}\n")
    _write(made, ".envrc", f"{command}\n")
    local = [{"repo": "local", "hooks": [{"id": "trap", "name": "trap", "entry": command, "language": "system"}]}]
    _write(made, ".pre-commit-config.yaml", json.dumps({"repos": local}))
    settings = {"xlalint.path": command, "python.defaultInterpreterPath": command, "xlalint.args": []}
    _write(made, ".vscode/settings.json", json.dumps(settings))
    task = {"label": "trap", "type": "shell", "command": command, "runOptions": {"runOn": "folderOpen"}}
    _write(made, ".vscode/tasks.json", json.dumps({"version": "2.0.0", "tasks": [task]}))
    applied = f'!!python/object/apply:os.system [": > {made.markers / "yaml"}"]'
    _write(
        made,
        "accelerate.yaml",
        f"compute_environment: LOCAL_MACHINE\ndistributed_type: XLA\nmixed_precision: {applied}\n",
    )
    _write(
        made,
        "other.yaml",
        f"compute_environment: LOCAL_MACHINE\ndistributed_type: XLA\nnum_machines: 1\nx: {applied}\n",
    )


def _sources(made: Hostile) -> None:
    """Programs with findings, which run something wherever a reader might evaluate them."""
    trap = f"__import__('io').open({str(made.markers / 'source')!r}, 'w')"
    _write(
        made,
        "model.py",
        f"""\
{MODEL}

import library
from library import layers

{trap}


@library.decorated({trap})
def step(x: "{trap}", y: int = {trap}) -> "{trap}":  # xlalint: static
    if (x + layers.scale).sum() > 0:
        return f"{{{trap}}}"
    return [{trap} for _ in x]


# xlalint: inputs(x="f32[4]", y="{trap}")
class Traps(torch.nn.Module, metaclass={trap}):
    __import__("trap")
    def forward(self, x: torch.Tensor, size={trap}):
        return x[x > eval({trap!r})].item()


import trap
""",
    )
    _write(made, "cookie.py", "# -*- coding: trap -*-\nx = 1\n")
    _write(made, "stub.pyi", f"{trap}\n")
    shell = f"!touch {made.markers / 'shell'}\n%run trap.py\n%load_ext trap\nfiles = !{made.folder / 'tool'}\n{MODEL}"
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1, "source": source}
        for source in (shell, "%%bash\n./tool\n", f"{trap}\n")
    ]
    _write(made, "notebook.ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    _write(made, "lint/apis/trap.toml", "")
    _module(made, "lint/__init__.py")


def _environment(made: Hostile) -> None:
    """An environment whose programs and packages are traps; its packages are read, for `model.py` imports one."""
    packages = f".venv/lib/python3.{sys.version_info.minor}/site-packages"
    _write(made, ".venv/pyvenv.cfg", f"home = {made.folder}\ninclude-system-site-packages = true\nversion = 3.11\n")
    for name in _PROGRAMS:
        _program(made, f".venv/bin/{name}")
    _write(made, f"{packages}/trap.pth", f"import sys; {_mark(made, 'venv.pth')}\n")
    for name in ("sitecustomize", "usercustomize", "click"):
        _module(made, f"{packages}/{name}.py")
    _write(made, f"{packages}/library/__init__.py", f"{_mark(made, 'library')}\ndef decorated(x): return lambda f: f\n")
    _write(made, f"{packages}/library/layers.py", f"{_mark(made, 'layers')}\nscale = 2\n")


def _repository(made: Hostile) -> None:
    """Commit all; then change a file, so that git has to look into it, and name programs wherever git's configuration takes one."""
    git = shutil.which("git")
    assert git is not None
    identity = {f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    told = {**environment(made), **identity}
    ours = ("model.py", "notebook.ipynb", "pyproject.toml", ".gitattributes")
    _write(made, ".gitattributes", "*.py filter=trap diff=trap merge=trap\n*.ipynb filter=trap diff=trap\n")
    for arguments in (
        ("init", "-q"),
        ("add", "--", *ours),
        ("commit", "-qm", "first"),
        ("commit", "-q", "--allow-empty", "-m", "x"),
    ):
        subprocess.run([git, *arguments], cwd=made.folder, env=told, check=True)
    with (made.folder / "model.py").open("a") as file:
        file.write(f"\n\n{MODEL.replace('Model', 'Other')}")
    for hook in _HOOKS:
        _program(made, f".git/hooks/{hook}")
    (made.folder / ".git" / "config").open("a").write(_git_configuration(_program(made, "git-trap")))


def _git_configuration(command: str) -> str:
    sections: dict[str, Iterable[str]] = {
        "core": ("fsmonitor", "pager", "editor", "sshCommand", "askPass", "gitProxy", "alternateRefsCommand"),
        'filter "trap"': ("clean", "smudge", "process"),
        'diff "trap"': ("command", "textconv"),
        'merge "trap"': ("driver",),
        "diff": ("external",),
        "pager": ("diff", "show", "config"),
        "alias": ("ls",),
        "gpg": ("program",),
        "credential": ("helper",),
        'remote "origin"': ("uploadpack", "receivepack"),
    }
    text = "".join(
        f"[{section}]\n" + "".join(f"\t{key} = {command}\n" for key in keys) for section, keys in sections.items()
    )
    return f'{text}[filter "trap"]\n\trequired = true\n[log]\n\tshowSignature = true\n'
