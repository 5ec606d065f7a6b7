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
SHARED = """\
import torch


def clipped(x):
    if x > 1:
        x = x - 1
    return x


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return clipped(x.sum())
"""
SCALED = """\
import torch
from used import clipped


class Scaled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * clipped(3)
"""
TOOLS = {"check_file", "check_text", "explain_line", "get_rule", "propose_fixes", "verify_fixes"}


def converse(folder: Path, conversation: Conversation, *options: str, **client: Any) -> None:
    """Hold a conversation with a server that works in a folder. Its user's folder of caches lies beside that."""

    async def held() -> None:
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder.with_name(f"{folder.name}-caches"))}
        server = mcp.StdioServerParameters(command=COMMAND, args=["mcp", *options], cwd=str(folder), env=environment)
        async with mcp.Client(server, **client) as made:
            await conversation(made)

    anyio.run(held)


async def call(client: Any, name: str, **arguments: Any) -> Any:
    """What a tool gives: data, or text. Data are in the text as well."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    [content] = result.content
    if result.structured_content is None:
        return content.text
    assert json.loads(content.text) == result.structured_content
    return result.structured_content


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
            assert tool.annotations.destructive_hint == (name == "verify_fixes")
            assert tool.annotations.open_world_hint == (name == "verify_fixes")
            assert "roots" not in tool.input_schema["properties"]

    converse(tmp_path, conversation)


def test_files_and_texts_are_checked(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "other.py").write_text(MODEL)

    async def conversation(client: Any) -> None:
        [alone] = (await call(client, "check_file", path="model.py"))["findings"]
        assert (alone["path"], alone["line"], alone["code"]) == ("model.py", 7, "XLA101 tensor-if")
        assert alone["fix"]["applicability"] == "safe"
        assert alone["traced"].endswith("→ here")
        assert "cell" not in alone
        [within] = (await call(client, "check_file", path="model.py", program="."))["findings"]
        assert within == alone
        [of_text] = (await call(client, "check_text", text=MODEL))["findings"]
        assert {**of_text, "path": "model.py"} == alone
        assert (await call(client, "check_text", text="x = 1\n"))["findings"] == []
        [broken] = (await call(client, "check_text", text="x = (\n"))["findings"]
        assert broken["code"] == "XLA001 syntax-error"

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
        assert "no rule has" in await refused(client, "get_rule", code="--help")
        assert "no such file" in await refused(client, "explain_line", path="gone.py", line=1)
        assert "no such file" in await refused(client, "check_file", path="--version")
        assert await refused(client, "explain_line", path="model.py", line=0)

    converse(tmp_path, conversation)


def test_fixes_know_of_the_program(tmp_path: Path) -> None:
    """What another file of it calls with Python's numbers must not become a tensor's operation."""
    (tmp_path / "used.py").write_text(SHARED)
    (tmp_path / "scaled.py").write_text(SCALED)

    async def conversation(client: Any) -> None:
        assert "torch.where" in await call(client, "propose_fixes", path="used.py", program="used.py", unsafe=True)
        assert await call(client, "propose_fixes", path="used.py", program=".", unsafe=True) == ""
        assert await call(client, "propose_fixes", path="used.py", unsafe=True) == ""

    converse(tmp_path, conversation)


def test_the_program_ends_where_the_roots_do(tmp_path: Path) -> None:
    """The repository around is not read: what its other files do with a tensor is not known."""
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / ".git").mkdir()
    (root / "used.py").write_text(SHARED)
    (tmp_path / "scaled.py").write_text(SCALED.replace("from used", "from root.used"))

    async def conversation(client: Any) -> None:
        assert "torch.where" in await call(client, "propose_fixes", path="used.py", unsafe=True)

    converse(root, conversation)


def test_fixes_are_proposed_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "clean.py").write_text("x = 1\n")

    async def conversation(client: Any) -> None:
        diff = await call(client, "propose_fixes", path="model.py")
        assert "+        return torch.where(x.sum() > 0, x + x, -x)" in diff
        assert await call(client, "propose_fixes", path="clean.py") == ""
        assert "`gone`: no such file or folder" in await refused(
            client, "propose_fixes", path="model.py", program="gone"
        )
        (tmp_path / "xlalint.toml").write_text("slect = 1\n")
        assert "did you mean `select`" in await refused(client, "propose_fixes", path="model.py")

    converse(tmp_path, conversation)
    assert (tmp_path / "model.py").read_text() == MODEL


def test_nothing_is_written_into_the_project(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)

    async def conversation(client: Any) -> None:
        await call(client, "check_file", path="model.py", program=".")
        await call(client, "propose_fixes", path="model.py", program=".")
        await call(client, "explain_line", path="model.py", line=7)

    converse(folder, conversation)
    assert [path.name for path in folder.iterdir()] == ["model.py"]
    assert list(tmp_path.glob("project-caches/xlalint/*/xlalint-*.db"))


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """A folder `here` to start in, with links out of it, and two others."""
    for name in ("here", "there", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.py").write_text(MODEL)
    (tmp_path / "here" / "link.py").symlink_to(tmp_path / "there" / "model.py")
    (tmp_path / "here" / "folder").symlink_to(tmp_path / "there")
    (tmp_path / "here-and-more").mkdir()
    (tmp_path / "here-and-more" / "model.py").write_text(MODEL)
    return tmp_path / "here"


OUTSIDE = (
    "../there/model.py",
    "link.py",
    "folder/model.py",
    "../here-and-more/model.py",
    "../there/gone.py",
    "/etc/passwd",
)


def test_what_lies_outside_of_the_start_folder_is_refused(places: Path) -> None:
    async def conversation(client: Any) -> None:
        for path in OUTSIDE:
            for tool in ("check_file", "propose_fixes", "verify_fixes"):
                assert "is outside of what this server reads" in await refused(client, tool, path=path)
            assert "is outside of" in await refused(client, "explain_line", path=path, line=7)
            assert "is outside of" in await refused(client, "check_text", text=MODEL, filename=path)
            assert "is outside of" in await refused(client, "check_file", path="model.py", program=path)
        assert (await call(client, "check_file", path=str(places / "model.py")))["findings"]
        assert (await call(client, "check_text", text=MODEL, filename="new/model.py"))["findings"]

    converse(places, conversation)


def test_named_roots_take_the_place_of_the_start_folder(places: Path) -> None:
    async def conversation(client: Any) -> None:
        for path in ("../there/model.py", "../elsewhere/model.py", "link.py", "folder/model.py"):
            assert (await call(client, "check_file", path=path))["findings"]
        assert "is outside of" in await refused(client, "check_file", path="model.py")

    converse(places, conversation, "--root", str(places.parent / "there"), "--root", "../elsewhere")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_clients_roots_count_unless_some_are_named(mode: str, places: Path) -> None:
    from mcp_types import ListRootsResult, Root

    async def told(_: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=(places.parent / "there").as_uri())])

    async def conversation(client: Any) -> None:
        assert (await call(client, "check_file", path="../there/model.py"))["findings"]
        assert "is outside of" in await refused(client, "check_file", path="model.py")

    async def otherwise(client: Any) -> None:
        assert (await call(client, "check_file", path="model.py"))["findings"]
        assert "is outside of" in await refused(client, "check_file", path="../there/model.py")

    converse(places, conversation, list_roots_callback=told, mode=mode)
    converse(places, otherwise, "--root", ".", list_roots_callback=told, mode=mode)


@pytest.mark.torch_xla
def test_fixes_are_verified(tmp_path: Path) -> None:
    if not all(map(find_spec, ("torch_xla", "psutil", "ml_dtypes"))):
        pytest.skip("torch_xla is not installed")
    (tmp_path / "model.py").write_text(MODEL)

    async def conversation(client: Any) -> None:
        [finding] = (await call(client, "verify_fixes", path="model.py"))["findings"]
        assert finding["fix"]["proof"]["verdict"] == "proven"

    converse(tmp_path, conversation)
