"""Child process: what torch.compile makes of each program in programs.txt, as JSON on standard output.

usage: record.py [PROGRAM …]

A program defines `f` and may define `args`, which gives the arguments of a call by its number. It runs three times eagerly compiled, in a
process of its own, with and without `fullgraph=True`: "" where there is one graph, else Dynamo's codes of the breaks ("break" where a
release gives none), or "error".
"""

from __future__ import annotations

import json
import linecache
import logging
import os
import re
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

CODE = re.compile(r"gb(\d{4})\.html")
PROGRAMS = Path(__file__).with_name("programs.txt")


def read_programs() -> dict[str, str]:
    """The programs by name, each with the imports that all share."""
    head, *blocks = re.split(r"^### ", PROGRAMS.read_text(), flags=re.MULTILINE)
    return {name: head + code for name, _, code in (block.partition("\n") for block in blocks)}


def observe(code: str) -> list[str] | None:
    """The outcomes of a program without and with `fullgraph=True`; None where it does not run at all."""
    file = "<program>"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    space: dict[str, Any] = {"__name__": "program"}
    exec(compile(code, file, "exec"), space)
    try:
        space["f"](*space["args"](0))
    except Exception:  # noqa: BLE001 - what it raises does not matter
        return None
    return [compiled(space, fullgraph=False), compiled(space, fullgraph=True)]


def compiled(space: dict[str, Any], *, fullgraph: bool) -> str:
    import torch
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    function = torch.compile(space["f"], backend="eager", fullgraph=fullgraph)
    try:
        for number in range(3):
            function(*space["args"](number))
    except Exception as error:  # noqa: BLE001 - a break, or an error of Dynamo's
        found = CODE.search(str(error))
        return f"GB{found[1]}" if found else "error"
    breaks = (CODE.search(reason) for reason in counters["graph_break"])
    return "; ".join(sorted({f"GB{found[1]}" if found else "break" for found in breaks}))


def in_child(code: str) -> list[str] | None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        signal.alarm(120)
        os.write(writing, json.dumps(observe(code)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None  # type: ignore[no-any-return]


if __name__ == "__main__":
    import torch
    import torch._dynamo

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    programs = read_programs()
    wanted = sys.argv[1:] or list(programs)
    print(json.dumps({"torch": torch.__version__, "outcomes": {name: in_child(programs[name]) for name in wanted}}))
