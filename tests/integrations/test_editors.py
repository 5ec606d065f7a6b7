"""Editors, headless, configured by the snippets of editors/README.md: they show diagnostics, apply a code action and pass settings on."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

ROOT = Path(__file__).parents[2]
DRIVERS = Path(__file__).with_name("editors")
GUIDE = ROOT / "editors" / "README.md"
MODEL = """\
import torch


def f(x: torch.Tensor):
    return x.item()


def g(x: torch.Tensor):
    return x.tolist()
"""
FOUND = [["XLA301", 5, "xlalint"], ["XLA302", 9, "xlalint"]]

pytestmark = pytest.mark.skipif(not GUIDE.exists(), reason="the guide is not here")


def _snippet(language: str, *, holding: str) -> str:
    """The example of the guide that holds a text."""
    examples = re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    (found,) = (example for example in examples if holding in example)
    return found


def _run(command: list[str], folder: Path, action: str) -> dict[str, Any]:
    """What an editor saw that was started so, with an `xlalint` on its PATH and a home of its own. An empty action applies none."""
    programs, out = folder / "bin", folder / "out.json"
    programs.mkdir()
    (programs / "xlalint").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m xlalint "$@"\n')
    (programs / "xlalint").chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "NVIM"))}
    environment |= {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "XLALINT_FILE": str(folder / "model.py"),
        "XLALINT_ACTION": action,
        "XLALINT_OUT": str(out),
    }
    done = subprocess.run(command, cwd=folder, env=environment, timeout=240, capture_output=True, text=True)
    assert done.returncode == 0 and out.exists(), done.stdout + done.stderr
    seen: dict[str, Any] = json.loads(out.read_text())
    return seen


def _neovim(folder: Path, configuration: str, action: str = "") -> dict[str, Any]:
    nvim = shutil.which("nvim")
    if nvim is None:
        pytest.skip("Neovim is not installed")
    (folder / "init.lua").write_text(configuration)
    driver = f"luafile {DRIVERS / 'neovim.lua'}"
    return _run([nvim, "--headless", "-i", "NONE", "-n", "-u", "init.lua", "model.py", "-c", driver], folder, action)


def _emacs(folder: Path, configuration: str, action: str = "") -> dict[str, Any]:
    emacs = shutil.which("emacs")
    probe = ["--batch", "--eval", '(kill-emacs (if (locate-library "eglot") 0 1))']
    if emacs is None or subprocess.run([emacs, *probe], capture_output=True).returncode:
        pytest.skip("Emacs with eglot is not installed")
    (folder / "init.el").write_text(configuration)
    return _run([emacs, "--batch", "-l", "init.el", "-l", str(DRIVERS / "eglot.el")], folder, action)


def _configured(editor: str) -> str:
    """The snippet for an editor that is here; for Neovim the one for its version."""
    if editor == "eglot":
        return _snippet("elisp", holding="eglot")
    shown = subprocess.run(["nvim", "--version"], capture_output=True, text=True).stdout if shutil.which("nvim") else ""
    version = re.search(r"v(\d+)\.(\d+)", shown)
    late = version is not None and tuple(map(int, version.groups())) >= (0, 11)
    return _snippet("lua", holding="vim.lsp.enable" if late else "vim.lsp.start_client")


EDITORS = {"neovim": _neovim, "eglot": _emacs}


@pytest.mark.parametrize("editor", EDITORS)
def test_an_editor_shows_diagnostics_and_applies_an_action(editor: str, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    seen = EDITORS[editor](tmp_path, _configured(editor), "ignore XLA301")
    assert seen["before"] == FOUND
    assert seen["text"][4] == "    return x.item()  # xlalint: ignore[XLA301]"
    assert seen["after"] == FOUND[1:]


@pytest.mark.parametrize("editor", EDITORS)
def test_an_editor_passes_its_settings_on(editor: str, tmp_path: Path) -> None:
    """The project looks for one rule, the editor's settings for another: the editor's word wins."""
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "xlalint.toml").write_text('select = ["XLA301"]\n')
    configuration = _configured(editor)
    changed = configuration.replace("minConfidence = 'likely'", "select = { 'XLA302' }")
    changed = changed.replace(':minConfidence "likely"', ':select ["XLA302"]')
    assert changed != configuration
    assert EDITORS[editor](tmp_path, changed)["before"] == FOUND[1:]


def test_the_template_for_jetbrains_has_what_lsp4ij_reads() -> None:
    """By the description of its templates and what its reader takes from them: other keys would be passed over."""
    from xlalint.server.preferences import preferences

    folder = ROOT / "editors" / "jetbrains" / "xlalint"
    told = {file.name: json.loads(file.read_text()) for file in folder.iterdir()}
    assert set(told) == {"template.json", "settings.json", "installer.json"}
    template, installer = told["template.json"], told["installer.json"]
    assert set(template) == {"id", "name", "programArgs", "fileTypeMappings"}
    assert template["programArgs"] == {"default": "xlalint server"}
    (mapping,) = template["fileTypeMappings"]
    assert mapping == {"fileType": {"name": "Python", "patterns": ["*.py"]}, "languageId": "python"}
    assert preferences(told["settings.json"]["xlalint"], ROOT).unknown == ()
    assert (installer["id"], installer["name"]) == (template["id"], template["name"])
    assert [list(installer[step]) for step in ("check", "run")] == [["exec"], ["exec"]]
    # The keys of a task, by its reader; writing on standard error counts as a failure else, and pipx does so.
    known = {"id", "name", "command", "timeout", "workingDir", "ignoreStderr", "onFail", "onSuccess"}
    assert all(installer[step]["exec"].keys() <= known for step in ("check", "run"))
    assert installer["run"]["exec"]["ignoreStderr"] is True
