"""XLA701, XLA303: what is logged and printed where code is compiled."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = """import logging
import time
import warnings

import torch
from torch import nn

logger = logging.getLogger(__name__)


class Block(nn.Module):
    def forward(self, x: torch.Tensor, cache=None, log: bool = True, seen=None) -> torch.Tensor:
"""
ASKED = "if not torch.compiler.is_compiling():"

LEFT_ALONE = {
    "a clock": ("XLA701", "began = time.time()\nreturn x + began", "no rewrite for this form"),
    "a question to a logger": ("XLA701", "if logger.isEnabledFor(10):\n    x = x + 1\nreturn x", "no rewrite"),
    "a level that is set": ("XLA701", "logger.setLevel(10)\nreturn x", "no rewrite"),
    "what logging gives": ("XLA701", "level = logger.getEffectiveLevel()\nreturn x * level", "no rewrite"),
    "two statements on a line": ("XLA701", 'logger.info("a"); x = x + 1\nreturn x', "no rewrite"),
    "a block on the line of its condition": ("XLA701", 'if log: logger.info("a")\nreturn x', "no rewrite"),
    "an argument that counts": ("XLA701", 'logger.info("a %s", seen.pop())\nreturn x', "does more than give a value"),
    "an argument that is kept": ("XLA701", 'logger.info("%s", n := x.shape[0])\nreturn x * n', "does more"),
    "an argument that draws": ("XLA701", 'logger.info("%s", torch.rand(2))\nreturn x', "does more"),
    "a neighbour that counts": ("XLA701", 'logger.info("a")\nprint(next(seen))\nreturn x', "does more"),
    "a text of several lines": ("XLA701", 'logger.info("""a\n    b""")\nreturn x', "several lines"),
    "a print that is kept": ("XLA303", 'done = print("a")\nreturn x if done is None else x + 1', ""),
    "a text that is kept": ("XLA303", 'text = f"{x.mean()}"\nseen.append(text)\nreturn x', ""),
}
FIXED = {
    "a log": (
        "XLA701",
        'logger.info("a %s", x.shape)\nreturn x',
        f'{ASKED}\n    logger.info("a %s", x.shape)\nreturn x',
    ),
    "a method that a library adds": (
        "XLA701",
        'logger.warning_once("a")\nreturn x',
        f'{ASKED}\n    logger.warning_once("a")\nreturn x',
    ),
    "logging itself": ("XLA701", 'logging.warning("a")\nreturn x', f'{ASKED}\n    logging.warning("a")\nreturn x'),
    "a value that is read": (
        "XLA701",
        'logger.info("a %f", x.mean().item())\nreturn x',
        f'{ASKED}\n    logger.info("a %f", x.mean().item())\nreturn x',
    ),
    "a print": ("XLA303", 'print("a", x.mean())\nreturn x', f'{ASKED}\n    print("a", x.mean())\nreturn x'),
    "a warning": ("XLA303", 'warnings.warn("a")\nreturn x', f'{ASKED}\n    warnings.warn("a")\nreturn x'),
    "neighbours": (
        "XLA701",
        'x = x + 1\n# for users\nlogger.info("a")\nlogger.info(\n    "b",\n)\nreturn x',
        f'x = x + 1\n{ASKED}\n    # for users\n    logger.info("a")\n    logger.info(\n        "b",\n    )\nreturn x',
    ),
    "all of a block": (
        "XLA701",
        'if log and cache is None:\n    logger.info("a")\nreturn x',
        'if not torch.compiler.is_compiling() and log and cache is None:\n    logger.info("a")\nreturn x',
    ),
    "all of a block, either of two": (
        "XLA701",
        'if log or x.isnan().any():\n    logger.info("a")\nreturn x',
        'if not torch.compiler.is_compiling() and (log or x.isnan().any()):\n    logger.info("a")\nreturn x',
    ),
    "a condition in parentheses": (
        "XLA701",
        'if (log or cache is None):\n    logger.info("a")\nreturn x',
        'if not torch.compiler.is_compiling() and (log or cache is None):\n    logger.info("a")\nreturn x',
    ),
    "a condition of several lines": (
        "XLA701",
        'if (\n    log\n    and cache is None\n):\n    logger.info("a")\nreturn x',
        'if not torch.compiler.is_compiling() and (\n    log\n    and cache is None\n):\n    logger.info("a")\nreturn x',
    ),
    "a part of a block": (
        "XLA701",
        'if log:\n    logger.info("a")\n    x = x + 1\nreturn x',
        f'if log:\n    {ASKED}\n        logger.info("a")\n    x = x + 1\nreturn x',
    ),
    "a block with another": (
        "XLA701",
        'if log:\n    logger.info("a")\nelse:\n    x = x + 1\nreturn x',
        f'if log:\n    {ASKED}\n        logger.info("a")\nelse:\n    x = x + 1\nreturn x',
    ),
    "a later condition": (
        "XLA701",
        'if cache:\n    x = x + 1\nelif log:\n    logger.info("a")\nreturn x',
        f'if cache:\n    x = x + 1\nelif log:\n    {ASKED}\n        logger.info("a")\nreturn x',
    ),
    "a condition that counts": (
        "XLA701",
        'if seen.pop():\n    logger.info("a")\nreturn x',
        f'if seen.pop():\n    {ASKED}\n        logger.info("a")\nreturn x',
    ),
}


def method(body: str) -> str:
    return START + "".join(f"        {line}\n" for line in body.split("\n"))


@pytest.mark.parametrize(("code", "body", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(code: str, body: str, why: str) -> None:
    expect_left_alone(outcome(method(body), code, target="torch_compile"), why)


@pytest.mark.parametrize(("code", "before", "after"), FIXED.values(), ids=FIXED)
def test_fixed(code: str, before: str, after: str) -> None:
    expect_fixed(outcome(method(before), code, target="torch_compile"), method(after), "unsafe")


def test_blocks_are_indented_as_the_file_is() -> None:
    text = method('logger.info("a")\nreturn x').replace("    ", "  ")
    asked = f'    {ASKED}\n      logger.info("a")\n'
    expect_fixed(
        outcome(text, "XLA701", target="torch_compile"), text.replace('    logger.info("a")\n', asked), "unsafe"
    )


def test_only_where_code_is_compiled() -> None:
    """On torch_xla a print is a read, and no end of a graph."""
    assert "is_compiling" not in outcome(method('print("a", x.mean())\nreturn x'), "XLA303").text
