"""Whether the findings of a program are the same, byte for byte, however they were worked out.

    python scripts/determinism.py FOLDER…            # folders of Python files, or names of installed packages
    python scripts/determinism.py --edits 5 flax     # and after five random edits: with the cache, in a session, from nothing
    python scripts/determinism.py --modules monai    # also what each module gives: after others, before them, alone
    python scripts/determinism.py --fixes flax       # also the fixes

Each check runs in a process of its own, with all findings shown (`--show-info --min-confidence possible`), on a copy of the folder:

    1             one process; what the others are compared with
    2, 3          so many processes, with chunks so small that each gets many
    reversed      the modules are analysed last to first
    seed          another PYTHONHASHSEED
    cold, warm    with an empty cache, and again with what that kept
    edit N …      after the Nth edit: `nothing` (no cache), `warm` (what the runs before kept), `session` (a program that stays in memory)

One line for a package tells how many findings there are and how they compare; the first difference follows, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from xlalint.cache import Cache
from xlalint.config import Settings, load_settings
from xlalint.project import analysis, check_paths, judging
from xlalint.project.analysis import Analysis, ModuleOutcome, deep
from xlalint.project.options import AnalysisOptions
from xlalint.project.pipeline import Run
from xlalint.project.rewriting import Memory
from xlalint.project.session import Session

SMALLEST_CHUNK = 20_000
CHUNKS = 12


# -------------------------------------------------------------------------------------------------- in the child


def settings_for(folder: Path) -> Settings:
    """Settings that show everything."""
    return load_settings([folder], isolated=True, options={"show_info": True, "min_confidence": "possible"})


def shared_out(folder: Path) -> None:
    """Have the analysis share out small programs, too."""
    size = sum(path.stat().st_size for path in folder.rglob("*.py"))
    analysis._SMALLEST_SHARED = 0
    analysis._CHUNK_BYTES = max(SMALLEST_CHUNK, size // CHUNKS)
    judging._SMALLEST_SHARED = 0


def last_to_first() -> None:
    """Have the analysis go through the modules from the last to the first."""
    forward = analysis._run

    def backward(one: Analysis, modules: list[int], jobs: int, meanwhile: Callable[[], None]) -> list[ModuleOutcome]:
        return forward(one, modules[::-1], jobs, meanwhile)[::-1]

    analysis._run = backward


def told(folder: Path, jobs: int, cache: Cache | None, fixes: bool) -> bytes:
    """The findings of a check, a line each."""
    memory = Memory() if fixes else None
    report = check_paths([folder], settings_for(folder), cache=cache, jobs=jobs, fixes=memory)
    return lines([*report.findings, *report.failures])


def lines(told: Sequence[object]) -> bytes:
    """What a check told, a line each."""
    return b"\n".join(map(msgspec.json.encode, told))


def in_session(folder: Path, edits: Sequence[tuple[str, str]]) -> Iterator[bytes]:
    """What a session says after each edit, given as a path and the text that it gets."""
    session = Session([folder], settings_for(folder))
    session.load()
    session.report()
    for path, text in edits:
        session.change(path, text.encode())
        report = session.report()
        yield lines([*report.findings, *report.failures])


def by_module(folder: Path) -> Iterator[tuple[str, bytes]]:
    """What the roots of each module give, in several orders of the modules."""
    settings = settings_for(folder)
    lowered, followed, _ = Run(settings, None, 1, None).program([folder])
    units = [entry.unit for entry in lowered if entry.unit is not None]
    with deep():
        for name in ("forward", "backward", "shuffled", "alone"):
            one = Analysis(units, AnalysisOptions.from_settings(settings), followed)
            order = list(range(len(units)))
            if name == "shuffled":
                random.Random(0).shuffle(order)
            outcomes: dict[int, ModuleOutcome] = {}
            for index in reversed(order) if name == "backward" else order:
                if name == "alone":
                    one.restart()
                outcomes.update(zip([index], one.run([index]), strict=True))
            yield name, lines([outcomes[index].harvest for index in range(len(units))])


def child(request: dict[str, object]) -> None:
    """Write what is asked for, as JSON, to the standard output: a list of texts."""
    folder = Path(str(request["folder"]))
    jobs, kind = int(str(request["jobs"])), request["kind"]
    cache = Cache(Path(str(request["cache"]))) if request["cache"] else None
    if kind == "modules":
        texts = [text for _, text in by_module(folder)]
    elif kind == "session":
        edits = request["edits"]
        assert isinstance(edits, list)
        texts = list(in_session(folder, [(path, text) for path, text in edits]))
    else:
        shared_out(folder)
        if kind == "reversed":
            last_to_first()
        texts = [told(folder, jobs, cache, bool(request["fixes"]))]
    sys.stdout.write(json.dumps([text.decode() for text in texts]))


# ------------------------------------------------------------------------------------------------- in the parent


def asked(folder: Path, kind: str, seed: int = 0, **more: object) -> list[str]:
    """What a process of its own says."""
    request = {"folder": str(folder), "kind": kind, "jobs": 1, "cache": "", "fixes": False, "edits": [], **more}
    done = subprocess.run(
        [sys.executable, __file__, "--child"],
        input=json.dumps(request),
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    texts: list[str] = json.loads(done.stdout)
    return texts


def edited(folder: Path, count: int) -> list[tuple[str, str]]:
    """Random edits of a folder's files, each of a text that the ones before have made: lines that go, or come twice, or say less."""
    chance = random.Random(1)
    texts = {path: path.read_text("utf-8", "replace") for path in sorted(folder.rglob("*.py"))}
    paths = [path for path, text in texts.items() if text.count("\n") > 20]
    found: list[tuple[str, str]] = []
    while paths and len(found) < count:
        path = chance.choice(paths)
        rows = texts[path].splitlines(keepends=True)
        at = chance.randrange(len(rows))
        indent = rows[at][: len(rows[at]) - len(rows[at].lstrip())]
        rows[at : at + 1] = chance.choice([[], [rows[at]] * 2, [f"{indent}pass\n"], ["# a comment\n", rows[at]]])
        text = "".join(rows)
        if text != texts[path] and parses(text):
            texts[path] = text
            found.append((str(path), text))
    return found


def parses(text: str) -> bool:
    """Whether a text is Python."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def compared(folder: Path, arguments: argparse.Namespace) -> Iterator[tuple[str, str, str]]:
    """Names of comparisons, with what both sides said."""
    fixes = arguments.fixes
    (base,) = asked(folder, "check", fixes=fixes)
    yield "1", base, base
    for jobs in (2, 3):
        yield str(jobs), base, asked(folder, "check", jobs=jobs, fixes=fixes)[0]
    yield "reversed", base, asked(folder, "reversed", fixes=fixes)[0]
    yield "seed", base, asked(folder, "check", seed=7, fixes=fixes)[0]
    if arguments.modules:
        first, *others = asked(folder, "modules")
        for name, other in zip(("backward", "shuffled", "alone"), others, strict=True):
            yield f"modules {name}", first, other
    if arguments.edits:
        yield from with_cache(folder, base, arguments)


def with_cache(folder: Path, base: str, arguments: argparse.Namespace) -> Iterator[tuple[str, str, str]]:
    """The comparisons of runs with a cache and of sessions, before and after edits."""
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "warm"):
            yield name, base, asked(folder, "check", cache=cache, fixes=arguments.fixes)[0]
        edits = edited(folder, arguments.edits)
        kept = asked(folder, "session", edits=edits) if not arguments.fixes else []
        for number, ((path, text), session) in enumerate(itertools.zip_longest(edits, kept), 1):
            Path(path).write_text(text, "utf-8")
            (nothing,) = asked(folder, "check", fixes=arguments.fixes)
            (warm,) = asked(folder, "check", cache=cache, fixes=arguments.fixes)
            yield f"edit {number} warm", nothing, warm
            if session is not None:
                yield f"edit {number} session", bare(nothing), bare(session)


def bare(text: str) -> str:
    """Findings without fixes, which small programs show unasked in a check, and sessions only when they are asked for."""
    rows = [json.loads(line) for line in text.splitlines()]
    return "\n".join(json.dumps({**row, "fix": None, "no_fix": ""} if isinstance(row, dict) else row) for row in rows)


def first_difference(one: str, other: str) -> str:
    """The first lines that differ."""
    for left, right in itertools.zip_longest(one.splitlines(), other.splitlines(), fillvalue="(nothing)"):
        if left != right:
            return f"    - {left}\n    + {right}"
    return ""


def folder_of(name: str) -> Path:
    """The folder of that path, or of the installed package."""
    if Path(name).is_dir():
        return Path(name).resolve()
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"error: `{name}` is neither a folder nor an installed package")
    return Path(next(iter(spec.submodule_search_locations)))


def main() -> int:
    """Compare, and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="FOLDER", help="folders, or names of installed packages")
    parser.add_argument("--edits", type=int, default=0, help="so many random edits")
    parser.add_argument("--modules", action="store_true", help="compare module by module, too")
    parser.add_argument("--fixes", action="store_true", help="compare fixes, too")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(json.load(sys.stdin))
        return 0
    differing = 0
    for package in arguments.packages:
        with tempfile.TemporaryDirectory() as place:
            source = folder_of(package)
            folder = Path(
                shutil.copytree(source, Path(place) / source.name, ignore=shutil.ignore_patterns("__pycache__"))
            )
            results: list[str] = []
            differences: list[str] = []
            for name, one, other in compared(folder, arguments):
                results.append(f"{name}: {len(other.splitlines())}{'' if one == other else ' DIFFERENT'}")
                if one != other:
                    differences.append(f"  {name}\n{first_difference(one, other)}")
            print(f"{source.name}  {', '.join(results)}", *differences, sep="\n", flush=True)
            differing += bool(differences)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
