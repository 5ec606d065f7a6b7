"""Proofs that are kept: what would be proven again is taken from the cache or a log, and nothing that depends on what changed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from xlalint.cache import Cache
from xlalint.config.settings import Settings, VerifyEntry
from xlalint.diagnostics.finding import Edit, Finding, Fix, Location, Proof
from xlalint.project.fixing import Answer, propose_fixes
from xlalint.verify import environment, proofs
from xlalint.verify.fixes import Prover
from xlalint.verify.import_digests import ImportDigests
from xlalint.verify.kept_proofs import KeptProofs, LogError, key_of

MODEL = (
    "import numpy as np\nfrom helper import scale\n\n\n"
    '# xlalint: inputs(x="f32[4]")\ndef f(x):\n    y = x.copy()\n    y = y + 1\n    return scale(y) * 2\n'
)
HELPER = "def scale(x):\n    return x * 3\n"
CHANGE = ("x.copy()", "x")
WRONG = ("y + 1", "y + 2")


class PlainProver(Prover):
    """Proves by the backend that needs no framework."""

    def _backend(self, finding: Finding) -> str:
        return "standins.plain"


@pytest.fixture
def folder(tmp_path: Path, plain: str) -> Path:
    pytest.importorskip("numpy")
    made = tmp_path / "project"
    made.mkdir()
    (made / "helper.py").write_text(HELPER)
    (made / "other.py").write_text("x = 1\n")
    (made / "model.py").write_text(MODEL)
    return made


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many jobs each process was given."""
    given: list[int] = []
    prove = proofs.prove_all

    def counting(jobs: list[object], *rest: object, **options: object) -> object:
        given.append(len(jobs))
        return prove(jobs, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(proofs, "prove_all", counting)
    return given


def finding(path: Path, text: str, old: str, new: str) -> Finding:
    """A finding whose fix replaces a line's text."""
    row = next(n for n, line in enumerate(text.splitlines(), 1) if old in line)
    column = text.splitlines()[row - 1].index(old) + 1
    start, end = Location(row, column), Location(row, column + len(old))
    fix = Fix("safe", "", (Edit(new, start, end),))
    return Finding("XLA301", "", "", "warning", "certain", "", str(path), None, start, end, (), "torch", fix, "")


def prove(folder: Path, kept: KeptProofs, *changes: tuple[str, str], budget: float = math.inf) -> list[Answer]:
    path = folder / "model.py"
    text = path.read_text()
    found = [finding(path, text, *change) for change in changes or (CHANGE,)]
    return list(PlainProver(Settings(), budget=budget, kept=kept)(propose_fixes(str(path), text, found, found)))


def test_what_was_proven_is_not_run_again(folder: Path, tmp_path: Path, runs: list[int]) -> None:
    with Cache(tmp_path / "cache") as cache:
        (first,) = prove(folder, KeptProofs(cache))
        (second,) = prove(folder, KeptProofs(cache))
    assert runs == [1]
    assert first == second
    assert second.taken
    assert second.proof.coverage is not None


@pytest.mark.parametrize("changes", [(CHANGE,), (WRONG,), (CHANGE, WRONG), (("y + 1", "1 + y"), ("* 2", "* 2.0"))])
def test_all_verdicts_are_kept(
    changes: tuple[tuple[str, str], ...], folder: Path, tmp_path: Path, runs: list[int]
) -> None:
    with Cache(tmp_path / "cache") as cache:
        first = prove(folder, KeptProofs(cache), *changes)
        before = len(runs)
        assert prove(folder, KeptProofs(cache), *changes) == first
    assert len(runs) == before


CHANGES: dict[str, tuple[str, Callable[[str], str], bool]] = {
    "a helper": ("helper.py", lambda text: text.replace("3", "4"), True),
    "the function": ("model.py", lambda text: text.replace("* 2", "* 5"), True),
    "the inputs": ("model.py", lambda text: text.replace("f32[4]", "f32[6]"), True),
    "a file that it does not import": ("other.py", lambda text: "x = 2\n", False),
    "a new file beside it": ("new.py", lambda text: "x = 2\n", False),
    "a file that hides a library": ("numpy.py", lambda text: "raise ImportError\n", True),
    "nothing": ("helper.py", lambda text: text, False),
}


@pytest.mark.parametrize(("name", "change", "anew"), CHANGES.values(), ids=CHANGES)
def test_what_the_code_leads_to_is_part_of_it(
    name: str, change: Callable[[str], str], anew: bool, folder: Path, tmp_path: Path, runs: list[int]
) -> None:
    with Cache(tmp_path / "cache") as cache:
        prove(folder, KeptProofs(cache))
        path = folder / name
        path.write_text(change(path.read_text() if path.exists() else ""))
        prove(folder, KeptProofs(cache))
    assert len(runs) == 1 + anew


def test_what_is_declared_is_part_of_it(folder: Path, tmp_path: Path, runs: list[int]) -> None:
    path = folder / "model.py"
    found = [finding(path, MODEL, *CHANGE)]
    asked = propose_fixes(str(path), MODEL, found, found)
    with Cache(tmp_path / "cache") as cache:
        for declared in ((), (), (VerifyEntry(f"{path}:f", 'x="f32[7]"'),)):
            PlainProver(Settings(verify=declared), kept=KeptProofs(cache))(asked)
    assert len(runs) == 2


def test_where_it_ran_is_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = set()
    for platforms in (None, "cpu", "cuda"):
        with monkeypatch.context() as patch:
            patch.delenv("JAX_PLATFORMS", raising=False)
            patch.setattr(environment, "for_jax", lambda: {"JAX_PLATFORMS": "cpu"})  # neither a TPU nor a GPU is there
            if platforms is not None:
                patch.setenv("JAX_PLATFORMS", platforms)
            keys.add(key_of(["text"], "jax"))
    assert len(keys) == 2


def test_what_there_was_no_time_for_is_asked_again(folder: Path, tmp_path: Path) -> None:
    with Cache(tmp_path / "cache") as cache:
        (late,) = prove(folder, KeptProofs(cache), budget=1e-9)
        assert late.proof.reason == proofs.NO_TIME
        (answer,) = prove(folder, KeptProofs(cache))
    assert answer.proof.verdict == "proven"


def test_another_place_of_the_project_changes_nothing(folder: Path, tmp_path: Path, runs: list[int]) -> None:
    log = tmp_path / "proofs.json"
    first = KeptProofs(None, log)
    prove(folder, first)
    first.write()
    moved = folder.rename(tmp_path / "elsewhere")
    prove(moved, KeptProofs(None, log))
    assert runs == [1]


def test_a_log_holds_what_was_proven(folder: Path) -> None:
    log = folder / "proofs.json"
    kept = KeptProofs(None, log)
    prove(folder, kept, CHANGE, WRONG)
    kept.write()
    content = json.loads(log.read_text())
    told = [(one["file"], one["row"], one["code"], one["verdict"]) for one in content["proofs"]]
    assert told == [("model.py", 7, "XLA301", "proven"), ("model.py", 8, "XLA301", "refuted")]
    assert all("python " in one["versions"] for one in content["proofs"])
    assert content["proofs"][0]["coverage"]["draws"]
    before = log.read_bytes()
    again = KeptProofs(None, log)
    prove(folder, again, CHANGE, WRONG)
    again.write()
    assert log.read_bytes() == before


def test_a_log_keeps_what_it_says_of_other_files(folder: Path) -> None:
    log = folder / "proofs.json"
    kept = KeptProofs(None, log)
    kept.note("k", str(folder / "gone.py"), 3, "XLA101", "jax", Proof("proven", "same"))
    kept.write()
    kept = KeptProofs(None, log)
    prove(folder, kept)
    kept.write()
    assert [one["file"] for one in json.loads(log.read_text())["proofs"]] == ["gone.py", "model.py"]


def test_a_log_that_says_otherwise_is_told(folder: Path) -> None:
    log = folder / "proofs.json"
    kept = KeptProofs(None, log)
    prove(folder, kept, WRONG)
    kept.write()
    log.write_text(log.read_text().replace('"refuted"', '"proven"'))
    trusting = KeptProofs(None, log)
    assert prove(folder, trusting, WRONG)[0].taken
    anew = KeptProofs(None, log, anew=True)
    assert not prove(folder, anew, WRONG)[0].taken
    (line,) = anew.disagreements()
    assert line.startswith("model.py:8 XLA301: the log says proven, this run refuted (")
    assert trusting.disagreements() == []


BAD = {
    "no JSON": "{",
    "something else": "[]",
    "another format": '{"format": 99, "proofs": []}',
    "half an entry": '{"format": 1, "proofs": [{"key": "a"}]}',
    "no text": "\udcff",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_what_is_no_log_is_told_in_a_line(text: str, tmp_path: Path) -> None:
    log = tmp_path / "proofs.json"
    log.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(LogError) as told:
        KeptProofs(None, log)
    assert str(log) in str(told.value)
    assert "\n" not in str(told.value)


def test_a_log_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(LogError):
        KeptProofs(None, tmp_path)


def test_a_log_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    kept = KeptProofs(None, tmp_path / "proofs.json")
    assert kept.find(["a"]) == {}
    kept.write()
    assert json.loads((tmp_path / "proofs.json").read_text()) == {"format": 1, "proofs": []}


IMPORTS = {
    "by its name": ("import pkg.b\n", True),
    "from the package": ("from pkg import b\n", True),
    "relatively": ("from . import b\n", True),
    "from it": ("from .b import x\n", True),
    "in a function": ("def f():\n    from .b import x\n", True),
    "through another": ("from . import a\n", True),
    "not at all": ("import numpy\n", False),
    "a name that is no module": ("from .c import b\n", False),
    "what cannot be parsed": ("import (\n", False),
}


@pytest.mark.parametrize(("text", "leads"), IMPORTS.values(), ids=IMPORTS)
def test_what_a_file_leads_to(text: str, leads: bool, tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    for name, content in {"__init__": "", "a": "from . import b\n", "b": "x = 1\n", "c": "b = 1\n", "m": text}.items():
        (package / f"{name}.py").write_text(content)
    before = ImportDigests().digest(str(package / "m.py"), text)
    (package / "b.py").write_text("x = 2\n")
    assert (ImportDigests().digest(str(package / "m.py"), text) != before) == leads


INSTALLED = {
    "its own package": ("pkg/b.py", True),
    "a release beside it": ("other-2.dist-info", True),
    "the face of another package": ("other/__init__.py", True),
    "the inside of another package": ("other/inner.py", False),
    "a release that it does not import": ("third-2.dist-info", False),
}


@pytest.mark.parametrize(("changed", "leads"), INSTALLED.values(), ids=INSTALLED)
def test_packages_beside_an_installed_one_are_known_by_their_releases(
    changed: str, leads: bool, tmp_path: Path
) -> None:
    text = "import other.inner\nfrom . import b\n"
    for name in ("pkg/__init__.py", "pkg/b.py", "other/__init__.py", "other/inner.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    for name in ("pkg-1.dist-info", "other-1.dist-info", "third-1.dist-info"):
        (tmp_path / name).mkdir()
    before = ImportDigests().digest(str(tmp_path / "pkg/m.py"), text)
    if changed.endswith(".py"):
        (tmp_path / changed).write_text("x = 1\n")
    else:
        (tmp_path / changed.replace("-2", "-1")).rename(tmp_path / changed)
    assert (ImportDigests().digest(str(tmp_path / "pkg/m.py"), text) != before) == leads


def test_proofs_begin_before_all_is_prepared(folder: Path, runs: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xlalint.verify.fixes._PREPARED", 0.0)
    right, wrong = prove(folder, KeptProofs(), CHANGE, WRONG)
    assert (right.proof.verdict, wrong.proof.verdict) == ("proven", "refuted")
    assert runs == [1, 1]


def test_nothing_is_prepared_when_the_time_is_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xlalint.verify.fix_jobs.JobMaker.make", lambda *_: pytest.fail("a job was made"))
    (answer,) = prove(folder, KeptProofs(), budget=-1.0)
    assert (answer.taken, answer.proof.reason) == (False, proofs.NO_TIME)
