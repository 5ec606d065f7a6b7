"""Wrong rewrites of this project's own kinds, each with a condition of its legality negated, as data.

=== name: in what it is wrong
x="f32[8]", mask="bool[8]"
body of the function
---
body of the rewrite
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import NamedTuple

from xlalint.verify.inputs import fill_sizes
from xlalint.verify.inputs.marks import marks
from xlalint.verify.model import Subject
from xlalint.verify.requests import Job, Way

HERE = Path(__file__).parent
BACKENDS = {"torch": "torch_xla", "tensorflow": "tensorflow", "jax": "jax"}
IMPORTS = {
    "torch": "import torch",
    "tensorflow": "import tensorflow as tf",
    "jax": "import jax\nimport jax.numpy as jnp",
}
_STATE = "calls = 0\nkept: list[int] = []\n"
_HEADER = re.compile(r"^=== (?P<ident>.+)\n(?P<inputs>.+)\n", re.MULTILINE)


class Sabotage(NamedTuple):
    """A program and what a wrong rewrite made of it."""

    framework: str
    ident: str
    before: str
    after: str


def sabotages(framework: str, folder: Path = HERE) -> list[Sabotage]:
    """All wrong rewrites for a framework."""
    text = (folder / f"{framework}.txt").read_text(encoding="utf-8")
    headers = list(_HEADER.finditer(text))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    found = []
    for header, end in zip(headers, ends, strict=True):
        bodies = text[header.end() : end].split("---\n")
        before, after = (_program(framework, header["inputs"], body) for body in bodies)
        found.append(Sabotage(framework, header["ident"], before, after))
    return found


def _program(framework: str, inputs: str, body: str) -> str:
    call = ast.parse(f"f({inputs})", mode="eval").body
    assert isinstance(call, ast.Call)
    # A parameter that is no array keeps the value as its default, so that its other value is tried.
    arrays = [one for one in call.keywords if isinstance(one.value, ast.Constant) and isinstance(one.value.value, str)]
    others = [f"{one.arg}={ast.unparse(one.value)}" for one in call.keywords if one not in arrays]
    parameters = ", ".join([*(str(one.arg) for one in arrays), *others])
    given = ", ".join(ast.unparse(one) for one in arrays)
    head = f"{IMPORTS[framework]}\n\n{_STATE}\n\n# xlalint: inputs({given})\ndef f({parameters}):\n"
    return head + textwrap.indent(body, "    ")


def job(number: int, one: Sabotage, folder: Path) -> Job:
    """The comparison of both as a job for a child process."""
    (mark,) = marks(one.before, one.ident)
    rows = (1, one.before.count("\n")), (1, one.after.count("\n"))
    return Job(number, (Way((subjects(number, one, folder),), (fill_sizes(mark.specs),), *rows),))


def subjects(number: int, one: Sabotage, folder: Path) -> tuple[Subject, Subject]:
    """The two programs, as if both were the text of one file."""
    (mark,) = marks(one.before, one.ident)
    path = str(folder / f"program_{number}.py")
    return Subject("", mark.name, path, "", one.before), Subject("", mark.name, path, "", one.after)
