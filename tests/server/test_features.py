"""What an editor sees, through pytest-lsp: diagnostics as they change, actions, hovers, hints, lenses, settings, folders, notebooks."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from textwrap import dedent
from typing import cast

import pytest

pytest.importorskip("pytest_lsp")

from lsprotocol import types

from xlalint.project.session import Session
from xlalint.server.hovers import function_at
from xlalint.source.reading import read_source

from .editor import (
    PATIENCE,
    Editor,
    applied,
    converse,
    edits_of,
    plain_capabilities,
    told,
)

MODEL = """\
import torch
from torch import nn

from utils import pick


class Model(nn.Module):
    def forward(self, x: torch.Tensor):
        mask = x > 0
        if mask.any():
            return -x
        if pick(x) > 1:
            return x
        return x[mask].sum()
"""
UTILS = "def pick(x):\n    return x.shape[0]\n"
FOUND = (("XLA101", 10), ("XLA201", 14))
THROUGH = (("XLA101", 10), ("XLA101", 12), ("XLA201", 14))
ENCODED = "import torch\n\n\ndef f(x: torch.Tensor):\n    return '😋é', x.item()\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "model.py").write_text(MODEL)
    (tmp_path / "project" / "utils.py").write_text(UTILS)
    return tmp_path / "project"


def span(line: int, start: int, end: int) -> types.Range:
    return types.Range(types.Position(line - 1, start), types.Position(line - 1, end))


# ------------------------------------------------------------------------------------------------------ diagnostics


def test_diagnostics_say_what_where_and_why(folder: Path) -> None:
    async def talk(editor: Editor) -> None:
        uri = editor.open("model.py")
        await editor.shows("model.py", *FOUND)
        first = editor.client.diagnostics[uri][0]
        assert first.range == span(10, 11, 21)
        assert first.source == "xlalint"
        assert first.severity == types.DiagnosticSeverity.Warning
        assert first.code_description is not None
        assert first.code_description.href.endswith("XLA101-tensor-if.md")
        assert [(one.location.uri, one.location.range.start.line) for one in first.related_information or ()] == [
            (uri, 7)
        ]
        editor.close("model.py")
        await editor.shows("model.py")

    converse(folder, talk)


def test_an_unsaved_change_shows_in_other_files(folder: Path) -> None:
    async def talk(editor: Editor) -> None:
        editor.open("model.py")
        editor.open("utils.py")
        await editor.shows("model.py", *FOUND)
        editor.change("utils.py", (span(2, 13, 21), "sum()"))
        await editor.shows("model.py", *THROUGH)
        editor.close("utils.py")
        await editor.shows("model.py", *FOUND)

    converse(folder, talk)


def test_a_text_that_does_not_parse_says_so_and_leaves_the_others_alone(folder: Path) -> None:
    async def talk(editor: Editor) -> None:
        editor.open("model.py")
        editor.open("utils.py", UTILS.replace("shape[0]", "sum()"))
        await editor.shows("model.py", *THROUGH)
        editor.change("utils.py", "def pick(x:\n")
        await editor.shows("utils.py", ("XLA001", 1))
        assert editor.codes("model.py") == list(THROUGH)
        editor.change("utils.py", UTILS)
        await editor.shows("utils.py")
        await editor.shows("model.py", *FOUND)

    converse(folder, talk)


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 21), ("utf-16", 18), ("utf-32", 17), (None, 18)])
def test_positions_count_in_the_encoding_that_was_agreed_upon(folder: Path, encoding: str | None, column: int) -> None:
    capabilities = plain_capabilities()
    if encoding is not None:
        capabilities.general = types.GeneralClientCapabilities(position_encodings=[encoding])

    async def talk(editor: Editor) -> None:
        uri = editor.open("new.py", ENCODED)
        await editor.shows("new.py", ("XLA301", 5))
        assert editor.client.diagnostics[uri][0].range.start.character == column
        editor.change("new.py", (span(5, column, column + 1), "x.T"))
        await editor.until(lambda: editor.client.diagnostics[uri][0].range.end.character == column + 10)

    converse(folder, talk, capabilities)


def test_a_client_that_pulls_is_not_pushed_to(folder: Path) -> None:
    async def talk(editor: Editor) -> None:
        uri = editor.open("model.py")
        document = types.TextDocumentIdentifier(uri)
        full = await editor.client.text_document_diagnostic_async(types.DocumentDiagnosticParams(document))
        assert isinstance(full, types.RelatedFullDocumentDiagnosticReport)
        assert told(full.items) == list(FOUND)
        params = types.DocumentDiagnosticParams(document, previous_result_id=full.result_id)
        again = await editor.client.text_document_diagnostic_async(params)
        assert isinstance(again, types.RelatedUnchangedDocumentDiagnosticReport)
        every = await editor.client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams([]))
        assert [(one.uri, told(one.items)) for one in every.items] == [(uri, list(FOUND))]  # type: ignore[union-attr]
        known = [types.PreviousResultId(one.uri, one.result_id or "") for one in every.items]
        held = asyncio.create_task(editor.client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams(known)))
        there = editor.open(
            "utils.py", "import torch\n\n\ndef pick(x: torch.Tensor):\n    x.item()\n    return x.sum()\n"
        )
        every = await held
        assert {one.uri: (one.kind, told(one.items)) for one in every.items if one.kind == "full"} == {
            uri: ("full", list(THROUGH)),
            there: ("full", [("XLA301", 5)]),
        }
        held = asyncio.create_task(
            editor.client.workspace_diagnostic_async(
                types.WorkspaceDiagnosticParams(
                    [types.PreviousResultId(one.uri, one.result_id or "") for one in every.items]
                )
            )
        )
        editor.close("utils.py")
        assert {one.uri: told(one.items) for one in (await held).items if one.kind == "full"} == {
            uri: list(FOUND),
            there: [],
        }
        assert editor.codes("model.py") is None

    capabilities = plain_capabilities()
    assert capabilities.text_document is not None
    capabilities.text_document.diagnostic = types.DiagnosticClientCapabilities()
    converse(folder, talk, capabilities)


def test_a_notebook_that_is_opened_has_its_diagnostics_in_its_cells_only(folder: Path) -> None:
    text = "import torch\ndef f(x: torch.Tensor):\n    return x.item()\n"
    cell = {"cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None}
    (folder / "nb.ipynb").write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}))
    of_the_file = (folder / "nb.ipynb").as_uri()

    async def talk(editor: Editor) -> None:
        known: list[types.PreviousResultId] = []

        async def changed() -> dict[str, int]:
            every = await editor.client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams(known))
            known[:] = [types.PreviousResultId(one.uri, one.result_id) for one in every.items if one.result_id]
            full = [one for one in every.items if isinstance(one, types.WorkspaceFullDocumentDiagnosticReport)]
            return {one.uri: len(one.items) for one in full}

        assert (await changed())[of_the_file] == 1
        editor.client.notebook_document_did_open(notebook(folder, text))
        assert await changed() == {f"{of_the_file}#0": 1, of_the_file: 0}
        # A client that knows all is answered as soon as there is more to say: of what it knows nothing is.
        held = asyncio.create_task(changed())
        editor.open("model.py", text)
        assert await held == {editor.uri("model.py"): 1}

    capabilities = plain_capabilities()
    assert capabilities.text_document is not None
    capabilities.text_document.diagnostic = types.DiagnosticClientCapabilities()
    converse(folder, talk, capabilities)


# ---------------------------------------------------------------------------------------------------------- actions

FIXABLE = """\
import torch, torch_xla


def f(x: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    if x.isnan().any():
        return x
    x[x > 1] = 0.0
    return x
"""


def test_quick_fixes(folder: Path) -> None:
    async def talk(editor: Editor) -> None:
        editor.open("new.py", FIXABLE)
        await editor.until(lambda: ("XLA205", 8) in (editor.codes("new.py") or ()))
        offered = await editor.actions("new.py", 8, 6)
        fixing = next(one for one in offered if (one.data or {}).get("applicability") == "safe")
        assert fixing.kind == "quickfix" and fixing.is_preferred
        assert fixing.diagnostics is not None and fixing.diagnostics[0].code == "XLA205"
        after = applied(FIXABLE, edits_of(fixing))
        assert "x[x > 1] = 0.0" not in after
        editor.change("new.py", after)
        await editor.until(lambda: ("XLA205", 8) not in (editor.codes("new.py") or ()))
        assert await editor.actions("new.py", 2) == []

    converse(folder, talk)


def test_a_finding_is_ignored_on_its_line(folder: Path) -> None:
    async def talk(editor: Editor) -> None:
        editor.open("model.py")
        await editor.shows("model.py", *FOUND)
        offered = await editor.actions("model.py", 10, 12)
        (ignoring,) = [one for one in offered if (one.data or {}).get("ignore")]
        after = applied(MODEL, edits_of(ignoring))
        assert after.splitlines()[9] == "        if mask.any():  # xlalint: ignore[XLA101]"
        editor.change("model.py", after)
        await editor.shows("model.py", ("XLA201", 14))

    converse(folder, talk)


def test_a_value_is_taught(folder: Path) -> None:
    async def talk(editor: Editor) -> None:
        editor.open("model.py")
        await editor.shows("model.py", *FOUND)
        offered = await editor.actions("model.py", 10, 12)
        teaching = [one for one in offered if (one.data or {}).get("teach") == "static"]
        assert [one.title for one in teaching] == ["xlalint: teach that `mask` (line 9) is static, a host value"]
        after = applied(MODEL, edits_of(teaching[0]))
        assert after.splitlines()[8] == "        mask = x > 0  # xlalint: static[mask]"
        editor.change("model.py", after)
        await editor.shows("model.py")

    converse(folder, talk)


def test_to_teach_is_offered_to_who_asks(folder: Path) -> None:
    """Editors ask by themselves wherever the cursor stops: to say what could be taught takes an explanation."""

    async def talk(editor: Editor) -> None:
        editor.open("model.py")
        await editor.shows("model.py", *FOUND)
        for trigger, teaches in (
            (types.CodeActionTriggerKind.Automatic, False),
            (types.CodeActionTriggerKind.Invoked, True),
        ):
            offered = await editor.actions("model.py", 10, 12, trigger_kind=trigger)
            assert any((one.data or {}).get("ignore") for one in offered)
            assert any((one.data or {}).get("teach") for one in offered) == teaches

    converse(folder, talk)


JIT = "import jax\n\n\n@jax.jit\n"
TEACHING = {
    "a parameter among others": (
        "def f(n, x):\n    return x if n > 0 else -x\n",
        ["def f(n, x):  # xlalint: static[n]\n    return x if n > 0 else -x\n"],
    ),
    "a parameter on a row of its own": (
        "def f(\n    n,\n    x,\n):\n    return x if n > 0 else -x\n",
        ["def f(\n    n,  # xlalint: static[n]\n    x,\n):\n    return x if n > 0 else -x\n"],
    ),
    "a comment that is extended": (
        "def f(n, m, x):  # xlalint: static[m]\n    return x if n > m else -x\n",
        ["def f(n, m, x):  # xlalint: static[m, n]\n    return x if n > m else -x\n"],
    ),
    "a comment that is kept": (
        "def f(n, x):  # why\n    return x if n > 0 else -x\n",
        ["def f(n, x):  # why  # xlalint: static[n]\n    return x if n > 0 else -x\n"],
    ),
    "a comment that said otherwise": (
        "def f(n, m, x):  # xlalint: tensor[n, m] seen\n    return x if n > 0 else -x\n",
        ["def f(n, m, x):  # xlalint: tensor[m] seen  # xlalint: static[n]\n    return x if n > 0 else -x\n"],
    ),
    "the only one said otherwise": (
        "def f(n, x):  # xlalint: tensor[n]\n    return x if n > 0 else -x\n",
        ["def f(n, x):  # xlalint: static[n]\n    return x if n > 0 else -x\n"],
    ),
    "a target among others": (
        "def f(x):\n    n, y = x + 1, x\n    return y if n > 0 else -y\n",
        ["def f(x):\n    n, y = x + 1, x  # xlalint: static[n]\n    return y if n > 0 else -y\n"],
    ),
    "a statement of several rows": (
        'def f(x):\n    n = x.sum("""\n""")\n    return x if n > 0 else -x\n',
        ['def f(x):\n    n = x.sum("""\n""")  # xlalint: static[n]\n    return x if n > 0 else -x\n'],
    ),
    "two findings of one value": (
        "def f(n, x):\n    return [x if n > 0 else -x, x if n > 1 else -x]\n",
        ["def f(n, x):  # xlalint: static[n]\n    return [x if n > 0 else -x, x if n > 1 else -x]\n"],
    ),
    "annotated as a tensor": ("def f(n: jax.Array, x):\n    return x if n > 0 else -x\n", []),
}


@pytest.mark.parametrize("name", TEACHING)
def test_one_name_is_taught(folder: Path, name: str) -> None:
    """Once, whatever stands on the line, and its finding is gone."""
    before, expected = TEACHING[name]
    row = 4 + next(number for number, line in enumerate(before.split("\n"), 1) if " if " in line)
    line = before.split("\n")[row - 5]
    found = [line.index("n > "), line.rindex("n > ")]

    async def talk(editor: Editor) -> None:
        uri = editor.open("new.py", JIT + before)
        await editor.until(lambda: editor.codes("new.py"))
        span = types.Range(types.Position(row - 1, found[0]), types.Position(row - 1, found[1]))
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), span, types.CodeActionContext([]))
        offered = cast(list[types.CodeAction], await editor.client.text_document_code_action_async(params))
        taught = [one for one in offered if (one.data or {}).get("teach") == "static" and "`n`" in one.title]
        assert [applied(JIT + before, edits_of(one)) for one in taught] == [JIT + text for text in expected]
        ignoring = [one.title for one in offered if (one.data or {}).get("ignore")]
        assert len(ignoring) == len(set(ignoring))
        if taught:
            editor.change("new.py", applied(JIT + before, edits_of(taught[0])))
            await editor.shows("new.py")

    converse(folder, talk)


def test_an_unknown_value_is_taught_to_be_a_tensor(folder: Path) -> None:
    text = "import torch\nfrom torch import nn\n\nclass M(nn.Module):\n    def forward(self, x: torch.Tensor):\n"
    text += "        y = unknown(x)\n        if y:\n            return x\n        return -x\n"

    async def talk(editor: Editor) -> None:
        editor.open("new.py", text)
        await editor.shows("new.py")
        offered = await editor.actions("new.py", 7, 11, trigger_kind=types.CodeActionTriggerKind.Invoked)
        (teaching,) = [one for one in offered if (one.data or {}).get("teach") == "tensor"]
        editor.change("new.py", applied(text, edits_of(teaching)))
        await editor.shows("new.py", ("XLA101", 7))

    converse(folder, talk)


def test_fix_all_takes_what_is_safe(folder: Path) -> None:
    async def talk(editor: Editor) -> None:
        editor.open("new.py", FIXABLE)
        await editor.until(lambda: editor.codes("new.py"))
        assert not [one for one in await editor.actions("new.py", 8, 6) if one.kind != "quickfix"]
        (fixing,) = await editor.actions("new.py", 1, only=["source.fixAll"])
        assert fixing.kind == "source.fixAll.xlalint"
        after = applied(FIXABLE, edits_of(fixing))
        assert "x[x > 1] = 0.0" not in after
        assert "isnan" in after
        editor.change("new.py", after)
        await editor.until(lambda: ("XLA205", 8) not in (editor.codes("new.py") or ()))
        assert await editor.actions("new.py", 1, only=["source.fixAll.xlalint"]) == []
        assert await editor.actions("new.py", 1, only=["source.organizeImports"]) == []

    converse(folder, talk)


# ------------------------------------------------------------------------------------------------- what it is told


def test_hover(folder: Path) -> None:
    async def talk(editor: Editor) -> None:
        editor.open("model.py")
        await editor.shows("model.py", *FOUND)
        finding = await editor.hover("model.py", 10, 13)
        assert "XLA101 tensor-if" in finding
        assert "**What it does**" in finding
        value = await editor.hover("model.py", 10, 12)
        assert "`mask`: **tensor[bool], torch**" in value
        assert "`mask = x > 0`" in value
        assert "host value int (shape)" in await editor.hover("model.py", 12, 15)
        assert await editor.hover("model.py", 3, 0) == ""

    converse(folder, talk)


def test_hints_are_shown_where_they_are_asked_for(folder: Path) -> None:
    extent = types.Range(types.Position(0, 0), types.Position(20, 0))

    async def labels(editor: Editor) -> list[object]:
        document = types.TextDocumentIdentifier(editor.open("model.py"))
        found = await editor.client.text_document_inlay_hint_async(types.InlayHintParams(document, extent))
        return [(one.position.line + 1, one.label) for one in found or ()]

    async def off(editor: Editor) -> None:
        assert await labels(editor) == []

    async def on(editor: Editor) -> None:
        assert await labels(editor) == [(9, ": tensor[bool], torch")]

    converse(folder, off)
    converse(folder, on, options={"inlayHints": True})


def test_a_lens_runs_the_verifier_when_it_is_clicked(folder: Path) -> None:
    async def talk(editor: Editor) -> None:
        document = types.TextDocumentIdentifier(editor.open("model.py"))
        await editor.shows("model.py", *FOUND)
        lenses = await editor.client.text_document_code_lens_async(types.CodeLensParams(document))
        (lens,) = lenses or ()
        assert lens.command is not None
        assert (lens.range.start.line, *(lens.command.arguments or ())) == (7, document.uri, "Model.forward")
        params = types.ExecuteCommandParams(lens.command.command, lens.command.arguments)
        answer = await editor.client.workspace_execute_command_async(params)
        assert answer["exitCode"] in (0, 1, 2)  # type: ignore[index]
        assert "model.py" in answer["output"]  # type: ignore[index]
        assert editor.client.messages

    converse(folder, talk)


def test_the_user_ends_a_verification(folder: Path) -> None:
    (folder / "slow.py").write_text(f"import time\n\ntime.sleep({10 * PATIENCE})\n{MODEL}")

    async def talk(editor: Editor) -> None:
        client = editor.client
        params = types.ExecuteCommandParams("xlalint.verify", [editor.uri("slow.py"), "Model.forward"])
        verified = asyncio.create_task(client.workspace_execute_command_async(params))
        await editor.until(lambda: any(client.progress_reports.values()))
        (token,) = client.progress_reports
        (begun,) = client.progress_reports[token]
        assert isinstance(begun, types.WorkDoneProgressBegin) and begun.cancellable
        client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
        assert (await verified)["exitCode"] != 0  # type: ignore[index]
        await editor.until(lambda: isinstance(client.progress_reports[token][-1], types.WorkDoneProgressEnd))

    converse(folder, talk)


def test_commands(folder: Path) -> None:
    async def talk(editor: Editor) -> None:
        uri = editor.open("model.py")
        await editor.shows("model.py", *FOUND)
        place = {"line": 9, "character": 12}
        params = types.ExecuteCommandParams("xlalint.explain", [uri, place])
        said = await editor.client.workspace_execute_command_async(params)
        assert "tensor[bool], torch" in str(said)
        with pytest.raises(Exception, match="not defined"):
            await editor.client.workspace_execute_command_async(types.ExecuteCommandParams("xlalint.nonsense"))

    converse(folder, talk)


# ---------------------------------------------------------------------------------------------------------- settings


def test_settings_of_the_client_win_over_the_file(folder: Path) -> None:
    (folder / "xlalint.toml").write_text('select = ["XLA2"]\n')

    async def by_file(editor: Editor) -> None:
        editor.open("model.py")
        await editor.shows("model.py", ("XLA201", 14))

    async def by_client(editor: Editor) -> None:
        editor.open("model.py")
        await editor.shows("model.py", ("XLA101", 10))

    converse(folder, by_file)
    converse(folder, by_client, configuration={"select": ["XLA1"]})
    converse(folder, by_client, options={"settings": {"select": ["XLA1"]}})


def test_settings_change(folder: Path) -> None:
    async def talk(editor: Editor) -> None:
        editor.open("model.py")
        await editor.shows("model.py", *FOUND)
        editor.client.set_configuration({"select": ["XLA2"]}, section="xlalint")
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
        await editor.shows("model.py", ("XLA201", 14))

    converse(folder, talk)


@pytest.mark.parametrize("sent", [{"xlalint": {"select": ["XLA2"]}}, {"select": ["XLA2"]}])
def test_settings_are_sent_by_a_client_that_is_not_asked(folder: Path, sent: dict[str, object]) -> None:
    async def talk(editor: Editor) -> None:
        editor.open("model.py")
        await editor.shows("model.py", ("XLA101", 10))
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=sent))
        await editor.shows("model.py", ("XLA201", 14))
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
        await editor.shows("model.py", ("XLA101", 10))

    capabilities = plain_capabilities()
    assert capabilities.workspace is not None
    capabilities.workspace.configuration = None
    converse(folder, talk, capabilities, options={"select": ["XLA1"]})


def test_files_are_watched(folder: Path) -> None:
    def changed(editor: Editor, name: str, kind: types.FileChangeType) -> None:
        events = [types.FileEvent(editor.uri(name), kind)]
        editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(events))

    async def talk(editor: Editor) -> None:
        await editor.until(lambda: "workspace/didChangeWatchedFiles" in editor.registered)
        editor.open("model.py")
        await editor.shows("model.py", *FOUND)
        (folder / "utils.py").write_text("def pick(x):\n    return x.sum()\n")
        changed(editor, "utils.py", types.FileChangeType.Changed)
        await editor.shows("model.py", *THROUGH)
        (folder / "utils.py").unlink()
        changed(editor, "utils.py", types.FileChangeType.Deleted)
        await editor.shows("model.py", *FOUND)
        (folder / "xlalint.toml").write_text('select = ["XLA2"]\n')
        changed(editor, "xlalint.toml", types.FileChangeType.Created)
        await editor.shows("model.py", ("XLA201", 14))
        (folder / "xlalint.toml").write_text('select = "nonsense"\n')
        changed(editor, "xlalint.toml", types.FileChangeType.Changed)
        await editor.until(lambda: any("xlalint.toml" in one.message for one in editor.client.messages))
        await editor.shows("model.py", *FOUND)

    converse(folder, talk)


def test_a_configuration_in_a_folder_holds_there_and_is_watched(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub/__init__.py").write_text("")
    (folder / "sub/model.py").write_text(MODEL)
    (folder / "sub/xlalint.toml").write_text('select = ["XLA1"]\n')

    def changed(editor: Editor, text: str | None, kind: types.FileChangeType) -> None:
        file = folder / "sub/xlalint.toml"
        file.write_text(text) if text is not None else file.unlink()
        events = [types.FileEvent(editor.uri("sub/xlalint.toml"), kind)]
        editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(events))

    async def talk(editor: Editor) -> None:
        await editor.until(lambda: "workspace/didChangeWatchedFiles" in editor.registered)
        editor.open("sub/model.py")
        await editor.shows("sub/model.py", ("XLA101", 10))
        editor.open("model.py")
        await editor.shows("model.py", *FOUND)
        changed(editor, 'select = ["XLA2"]\n', types.FileChangeType.Changed)
        await editor.shows("sub/model.py", ("XLA201", 14))
        changed(editor, 'slect = ["XLA1"]\n', types.FileChangeType.Changed)
        await editor.until(lambda: any("sub/xlalint.toml:1: `slect`" in one.message for one in editor.client.messages))
        await editor.shows("sub/model.py", *FOUND)  # by what is around it
        changed(editor, 'exclude = ["model.py"]\n', types.FileChangeType.Changed)
        await editor.shows("sub/model.py")
        changed(editor, None, types.FileChangeType.Deleted)
        await editor.shows("sub/model.py", *FOUND)
        changed(editor, 'ignore = ["XLA1"]\njobs = 1\n', types.FileChangeType.Created)
        await editor.shows("sub/model.py", ("XLA201", 14))
        await editor.until(lambda: any("`jobs` is for the whole" in one.message for one in editor.client.log_messages))
        await editor.shows("model.py", *FOUND)

    converse(folder, talk)
    (folder / "sub/xlalint.toml").write_text('select = ["XLA1"]\ndevice = "gpu"\n')

    async def by_client(editor: Editor) -> None:
        editor.open("sub/model.py")
        await editor.shows("sub/model.py", ("XLA201", 14))

    converse(folder, by_client, configuration={"select": ["XLA2"]})


# ----------------------------------------------------------------------------------------------------------- folders


def test_folders_come_and_go_and_are_programs_of_their_own(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "utils.py").write_text("def pick(x):\n    return x.sum()\n")
    (other / "model.py").write_text(MODEL)

    async def talk(editor: Editor) -> None:
        client = editor.client
        editor.open("model.py")
        await editor.shows("model.py", *FOUND)
        there = Editor(client, other)
        there.open("model.py")
        await there.shows("model.py", *THROUGH)  # by what lies beside it, as a check of it
        event = types.WorkspaceFoldersChangeEvent([types.WorkspaceFolder(other.as_uri(), "other")], [])
        client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
        await there.shows("model.py", *THROUGH)
        assert editor.codes("model.py") == list(FOUND)
        event = types.WorkspaceFoldersChangeEvent([], [types.WorkspaceFolder(other.as_uri(), "other")])
        client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
        await there.shows("model.py", *THROUGH)
        assert editor.codes("model.py") == list(FOUND)

    converse(folder, talk)


@pytest.mark.parametrize("opened", [pytest.param(True, id="a-folder-of-it"), pytest.param(False, id="no-folder")])
def test_the_program_is_what_is_around_a_document(folder: Path, tmp_path: Path, opened: bool) -> None:
    """What is opened says nothing of where a program begins: a repository does, for an editor as for a check."""
    (tmp_path / ".git").mkdir()
    (folder / "__init__.py").touch()
    (folder / "helpers.py").write_text("def pick(x):\n    if x > 0:\n        return x\n    return -x\n")
    (tmp_path / "main.py").write_text(
        "import jax\nfrom project.helpers import pick\n\n\n@jax.jit\ndef step(x: jax.Array):\n    return pick(x) + x.item()\n"
    )

    async def talk(editor: Editor) -> None:
        editor.open("helpers.py")
        await editor.shows("helpers.py", ("XLA101", 2))
        editor.open("model.py")
        await editor.shows("model.py", *FOUND)
        editor.close("helpers.py")
        editor.open("helpers.py", "def pick(x):\n    return x\n")
        await editor.shows("helpers.py")

    converse(folder, talk, **({} if opened else {"folders": ()}))


def test_files_that_the_settings_leave_out_show_nothing(folder: Path) -> None:
    (folder / "xlalint.toml").write_text('extend-exclude = ["left"]\n')
    (folder / "left").mkdir()
    (folder / "left" / "model.py").write_text(MODEL)

    async def talk(editor: Editor) -> None:
        editor.open("left/model.py")
        await editor.shows("left/model.py")
        editor.open("model.py")
        await editor.shows("model.py", *FOUND)
        assert editor.codes("left/model.py") == []

    converse(folder, talk)


def test_a_text_that_was_never_saved(folder: Path) -> None:
    async def talk(editor: Editor) -> None:
        item = types.TextDocumentItem("untitled:Untitled-1", "python", 1, FIXABLE)
        editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await editor.until(lambda: ("XLA205", 8) in (told(editor.client.diagnostics.get(item.uri)) or ()))

    converse(folder, talk, folders=())


# --------------------------------------------------------------------------------------------------------- notebooks


def notebook(folder: Path, *cells: str) -> types.DidOpenNotebookDocumentParams:
    uri = (folder / "nb.ipynb").as_uri()
    texts = [types.TextDocumentItem(f"{uri}#{n}", "python", 1, text) for n, text in enumerate(cells)]
    listed = [types.NotebookCell(types.NotebookCellKind.Code, text.uri) for text in texts]
    return types.DidOpenNotebookDocumentParams(types.NotebookDocument(uri, "jupyter-notebook", 1, listed), texts)


def test_notebooks(folder: Path) -> None:
    first = "import torch, torch_xla\nfrom utils import pick\n%matplotlib inline\n"
    second = dedent(
        """\
        def f(x: torch.Tensor):
            x = x.clone()
            x[x > 1] = 0.0
            return x.item()
        """
    )

    async def talk(editor: Editor) -> None:
        client = editor.client
        params = notebook(folder, first, second)
        client.notebook_document_did_open(params)
        cells = [text.uri for text in params.cell_text_documents]
        await editor.until(lambda: told(client.diagnostics.get(cells[1])) == [("XLA205", 3), ("XLA301", 4)])
        assert not client.diagnostics[cells[0]]
        (fixing,) = await editor.actions_in(cells[1], 1, only=["notebook.source.fixAll"])
        assert "x[x > 1] = 0.0" not in applied(second, edits_of(fixing))
        offered = await editor.actions_in(cells[1], 4, 14)
        ignoring = next(one for one in offered if (one.data or {}).get("ignore"))
        assert "    return x.item()  # xlalint: ignore[XLA301]" in applied(second, edits_of(ignoring))
        event = types.NotebookDocumentChangeEvent(
            cells=types.NotebookDocumentCellChanges(
                text_content=[
                    types.NotebookDocumentCellContentChanges(
                        types.VersionedTextDocumentIdentifier(2, cells[1]),
                        [types.TextDocumentContentChangePartial(span(3, 0, 0), "    # one more\n")],
                    )
                ]
            )
        )
        identifier = types.VersionedNotebookDocumentIdentifier(2, params.notebook_document.uri)
        client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(identifier, event))
        await editor.until(lambda: told(client.diagnostics.get(cells[1])) == [("XLA205", 4), ("XLA301", 5)])
        event = types.NotebookDocumentChangeEvent(
            cells=types.NotebookDocumentCellChanges(
                structure=types.NotebookDocumentCellChangeStructure(
                    types.NotebookCellArrayChange(1, 1, []), did_close=[types.TextDocumentIdentifier(cells[1])]
                )
            )
        )
        identifier = types.VersionedNotebookDocumentIdentifier(3, params.notebook_document.uri)
        client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(identifier, event))
        await editor.until(lambda: not client.diagnostics.get(cells[1]))

    converse(folder, talk)


def test_progress_of_a_first_check(folder: Path) -> None:
    for number in range(160):
        (folder / f"part{number}.py").write_text(
            f"import torch\n\n\ndef f{number}(x: torch.Tensor):\n    return x + 1\n"
        )

    async def talk(editor: Editor) -> None:
        editor.open("model.py")
        await editor.shows("model.py", *FOUND)
        reports = [one for each in editor.client.progress_reports.values() for one in each]
        kinds = [one.kind for one in reports]  # type: ignore[attr-defined]
        assert kinds[0] == "begin" and kinds[-1] == "end"
        assert (folder / ".xlalint_cache").is_dir()

    converse(folder, talk)


NESTED = """\
import torch

@torch.no_grad()
def outer(x):
    def inner(y):
        return y
    return inner(x)

if True:
    class Model(torch.nn.Module):
        width = 3

        def forward(self, x):
            return x
"""


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (1, None),
        (2, None),
        (3, "outer"),
        (4, "outer"),
        (6, "outer"),
        (8, None),
        (10, None),
        (11, None),
        (13, "Model.forward"),
        (14, "Model.forward"),
        (99, None),
    ],
)
def test_the_function_around_a_row(row: int, expected: str | None, tmp_path: Path) -> None:
    class Held:
        def source(self, path: str) -> object:
            return read_source(path)

    path = tmp_path / "model.py"
    path.write_text(NESTED)
    assert function_at(cast(Session, Held()), str(path), row) == expected


SIMPLE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.item()\n"


def linked(tmp_path: Path) -> Path:
    """A folder with a file, a link to it, and links to the folder from beside it and to one that is elsewhere."""
    real, other = tmp_path / "real", tmp_path / "other"
    for folder in (real, other):
        folder.mkdir()
        (folder / "model.py").write_text(SIMPLE)
    (tmp_path / "link").symlink_to(real)
    (real / "alias.py").symlink_to(real / "model.py")
    (real / "within").symlink_to(other)
    return tmp_path


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize(
    ("root", "file"),
    [
        pytest.param("link", "link/model.py", id="folder-by-its-link"),
        pytest.param("real", "link/model.py", id="file-by-a-link-to-the-folder"),
        pytest.param("link", "real/model.py", id="file-by-its-own-name"),
        pytest.param("real", "real/alias.py", id="link-to-a-file"),
        pytest.param("real", "real/within/model.py", id="link-to-a-folder-elsewhere"),
    ],
)
def test_files_behind_links(tmp_path: Path, root: str, file: str) -> None:
    """They are files of the folder's program, by its configuration."""
    folder = linked(tmp_path)
    (folder / "real" / "xlalint.toml").write_text('select = ["XLA3"]\n')

    async def talk(editor: Editor) -> None:
        editor.open(file, SIMPLE + "\n\ndef g(x: torch.Tensor):\n    if x > 0:\n        return x\n    return -x\n")
        await editor.shows(file, ("XLA301", 5))
        editor.close(file)
        await editor.shows(file)

    converse(folder, talk, folders=(folder / root,))


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_file_that_is_open_by_two_names(tmp_path: Path) -> None:
    folder = linked(tmp_path)

    async def talk(editor: Editor) -> None:
        editor.open("real/model.py")
        await editor.shows("real/model.py", ("XLA301", 5))
        editor.open("link/model.py")
        await editor.shows("link/model.py", ("XLA301", 5))
        editor.close("link/model.py")
        await editor.shows("link/model.py")
        await editor.shows("real/model.py", ("XLA301", 5))

    converse(folder, talk, folders=(folder / "real",))


@pytest.mark.parametrize("told", [True, False])
def test_a_nested_folder_is_deleted(tmp_path: Path, told: bool) -> None:
    """The log is free of tracebacks, and what is there is served on; also when the folder comes again."""
    nested = tmp_path / "nested"
    nested.mkdir()
    for folder in (tmp_path, nested):
        (folder / "model.py").write_text(SIMPLE)

    async def talk(editor: Editor) -> None:
        editor.open("nested/model.py")
        await editor.shows("nested/model.py", ("XLA301", 5))
        shutil.rmtree(nested)
        if told:
            gone = [
                types.FileEvent(editor.uri(name), types.FileChangeType.Deleted)
                for name in ("nested", "nested/model.py")
            ]
            editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(gone))
        editor.change("nested/model.py", f"# more\n{SIMPLE}")
        await editor.shows("nested/model.py", ("XLA301", 6))
        event = types.WorkspaceFoldersChangeEvent([], [types.WorkspaceFolder(nested.as_uri(), "nested")])
        editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
        editor.open("model.py")
        await editor.shows("model.py", ("XLA301", 5))
        nested.mkdir()
        (nested / "again.py").write_text(SIMPLE)
        editor.open("nested/again.py")
        await editor.shows("nested/again.py", ("XLA301", 5))
        assert not [one.message for one in editor.client.log_messages if "rror" in one.message]

    converse(tmp_path, talk, folders=(tmp_path, nested))
