"""`xlalint mcp` through the protocol's own client, over standard input and output."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import COMMAND, MODEL

mcp = pytest.importorskip("mcp")
anyio = pytest.importorskip("anyio")

Conversation = Callable[[Any], Awaitable[None]]
TOOLS = {"check_file", "check_text", "explain_line", "get_rule", "propose_fixes", "verify_fixes"}


def converse(folder: Path, conversation: Conversation) -> None:
    """Hold a conversation with a server that works in a folder."""

    async def held() -> None:
        server = mcp.StdioServerParameters(command=COMMAND, args=["mcp"], cwd=str(folder), env=dict(os.environ))
        async with mcp.Client(server) as client:
            await conversation(client)

    anyio.run(held)


async def call(client: Any, name: str, **arguments: Any) -> Any:
    """What a tool gives: data, or text."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    told = result.structured_content
    return told["result"] if set(told) == {"result"} else told


async def refused(client: Any, name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error
    return str(result.content[0].text)


def test_the_tools_describe_themselves(tmp_path: Path) -> None:
    async def conversation(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == TOOLS
        for name, tool in tools.items():
            assert tool.description
            assert all(one.get("description") for one in tool.input_schema["properties"].values()), name
            assert tool.annotations.read_only_hint == (name != "verify_fixes")

    converse(tmp_path, conversation)


def test_files_and_texts_are_checked(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "other.py").write_text(MODEL)

    async def conversation(client: Any) -> None:
        [alone] = (await call(client, "check_file", path="model.py"))["findings"]
        assert (alone["code"], alone["location"]["row"]) == ("XLA101", 7)
        assert alone["fix"]["applicability"] == "safe"
        [within] = (await call(client, "check_file", path="model.py", program="."))["findings"]
        assert within == alone
        [of_text] = (await call(client, "check_text", text=MODEL))["findings"]
        assert of_text["location"] == alone["location"]
        assert (await call(client, "check_text", text="x = 1\n"))["findings"] == []
        [broken] = (await call(client, "check_text", text="x = (\n"))["findings"]
        assert broken["code"] == "XLA001"

    converse(tmp_path, conversation)


def test_lines_are_explained_and_rules_shown(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": MODEL}
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}))

    async def conversation(client: Any) -> None:
        assert "XLA101" in await call(client, "explain_line", path="model.py", line=7)
        assert "x.sum()" in await call(client, "explain_line", path="model.py", line=7, column=12)
        assert "XLA101" in await call(client, "explain_line", path="n.ipynb", line=7, cell=1)
        assert "# tensor-if (XLA101)" in await call(client, "get_rule", code="tensor-if")
        assert "did you mean" in await refused(client, "get_rule", code="XLA1O1")
        assert "no such file" in await refused(client, "explain_line", path="gone.py", line=1)
        assert "no such file" in await refused(client, "check_file", path="--version")
        assert await refused(client, "explain_line", path="model.py", line=0)

    converse(tmp_path, conversation)


def test_fixes_are_proposed_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)

    async def conversation(client: Any) -> None:
        diff = (await call(client, "propose_fixes", path="model.py"))["diff"]
        assert "+        return torch.where(x.sum() > 0, x, -x)" in diff
        (tmp_path / "xlalint.toml").write_text("slect = 1\n")
        assert "did you mean `select`" in await refused(client, "propose_fixes", path="model.py")

    converse(tmp_path, conversation)
    assert (tmp_path / "model.py").read_text() == MODEL


@pytest.mark.torch_xla
def test_fixes_are_verified(tmp_path: Path) -> None:
    if not all(map(find_spec, ("torch_xla", "psutil", "ml_dtypes"))):
        pytest.skip("torch_xla is not installed")
    (tmp_path / "model.py").write_text(MODEL)

    async def conversation(client: Any) -> None:
        [fix] = (await call(client, "verify_fixes", path="model.py"))["fixes"]
        assert fix["fix"]["proof"]["verdict"] == "proven"

    converse(tmp_path, conversation)
