"""Child process: what torch.compile and torch.export make of each program of a file, as JSON on standard output.

usage: record.py [FILE.txt] [PROGRAM …]

A program defines `f` and may define `args`, which gives the arguments of a call by its number. It runs three times eagerly compiled, in a
process of its own, with and without `fullgraph=True`: "" where there is one graph, else Dynamo's codes of the breaks ("break" where a
release gives none), or "error". Of the programs in facts.txt `torch.export`, as it is called without options, is the third outcome: "", the
code, or the name of the exception.
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
from types import ModuleType
from typing import Any

CODE = re.compile(r"gb(\d{4})\.html")
PROGRAMS = Path(__file__).with_name("programs.txt")
FACTS = Path(__file__).with_name("facts.txt")
SAID: list[str] = []


def read_programs(file: Path = PROGRAMS) -> dict[str, str]:
    """The programs by name, each with the imports that all share."""
    head, *blocks = re.split(r"^### ", file.read_text(), flags=re.MULTILINE)
    return {name: head + code for name, _, code in (block.partition("\n") for block in blocks)}


def observe(code: str, *, exporting: bool) -> list[str] | None:
    """The outcomes of a program without and with `fullgraph=True`, and exported; None where it does not run at all."""
    file = "<program>"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    # torch.export of 2.6 imports the module that globals are of.
    module = sys.modules["program"] = ModuleType("program")
    space = vars(module)
    exec(compile(code, file, "exec"), space)
    try:
        space["f"](*space["args"](0))
    except Exception:  # noqa: BLE001 - what it raises does not matter
        return None
    outcomes = [compiled(space, fullgraph=False), compiled(space, fullgraph=True)]
    return [*outcomes, exported(space)] if exporting else outcomes


def compiled(space: dict[str, Any], *, fullgraph: bool) -> str:
    import torch
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    SAID.clear()
    function = torch.compile(space["f"], backend="eager", fullgraph=fullgraph)
    try:
        for number in range(3):
            function(*space["args"](number))
    except Exception as error:  # noqa: BLE001 - a break, or an error of Dynamo's
        found = CODE.search(str(error))
        return f"GB{found[1]}" if found else "error"
    codes = {
        f"GB{found[1]}" if (found := CODE.search(reason)) else "break" for reason in (*counters["graph_break"], *SAID)
    }
    return "; ".join(sorted(codes - {"break"} or codes))


def listen() -> None:
    """Keep what Dynamo logs of ends of graphs: tests of a tensor's value end one, and its counters leave them out."""
    from torch._dynamo import symbolic_convert

    base = symbolic_convert.InstructionTranslatorBase
    holder: Any = base if hasattr(base, "log_graph_break") else symbolic_convert
    log = holder.log_graph_break

    def said(*given: Any, **named: Any) -> Any:
        SAID.append(" ".join(str(part) for part in (*given, *named.values()) if isinstance(part, (str, Exception))))
        return log(*given, **named)

    holder.log_graph_break = said


def exported(space: dict[str, Any]) -> str:
    import torch

    class Program(torch.nn.Module):
        def forward(self, *given: Any) -> Any:
            return space["f"](*given)

    torch._dynamo.reset()
    try:
        torch.export.export(Program(), space["args"](0))
    except Exception as error:  # noqa: BLE001 - what it raises is the outcome
        found = CODE.search(str(error))
        return f"GB{found[1]}" if found else type(error).__name__
    return ""


def in_child(code: str, *, exporting: bool) -> list[str] | None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        signal.alarm(120)
        os.write(writing, json.dumps(observe(code, exporting=exporting)).encode())
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
    listen()
    names = sys.argv[1:]
    file = Path(names.pop(0)) if names and names[0].endswith(".txt") else PROGRAMS
    programs = read_programs(file)
    outcomes = {name: in_child(programs[name], exporting=file.name == FACTS.name) for name in names or programs}
    print(json.dumps({"torch": torch.__version__, "outcomes": outcomes}))
