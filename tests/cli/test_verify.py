"""`xlalint verify`, by a backend that needs no framework: what it prints, and its exit codes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from xlalint.report.verify import inputs_text
from xlalint.verify.inputs import parse_inputs

STANDINS = Path(__file__).parents[1] / "verify"
TEXT = """\
import os
import time
from standins.plain import hazard


# xlalint: inputs(x="f32[B=4,2]", mask="bool[B]")
def good(x, mask):
    return x.sum()


# xlalint: inputs(x="f32[4]", mask="bool[4]")
def bad(x, mask):
    if mask.any():
        hazard("host-sync", "any")
    return x


# xlalint: inputs(x="f32[4]")
def raises(x):
    raise ValueError("always")


def crashes(x):
    os._exit(3)


def hangs(x):
    while True: pass


class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return self.by * x


def bare(x): ...


def told(path: str): return path
"""
PLAIN = ("--backend", "standins.plain", "--isolated")
X = ("--inputs", 'x="f32[4]"')


@pytest.fixture
def pipeline() -> None:
    """None stands for `xlalint.project` here: inputs are inferred with it."""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for package in ("numpy", "psutil", "ml_dtypes"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    given = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", f"{STANDINS}{os.pathsep}{given}" if given else str(STANDINS))
    (tmp_path / "model.py").write_text(TEXT)
    return tmp_path


def test_what_hurts_nowhere(run: Any) -> None:
    done = run("verify", "model.py:good", *PLAIN, "--steps", "3")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == 'model.py:7 good on standins.plain: x="f32[B=4,2]", mask="bool[B]"'
    assert lines[1].split() == ["step", "compilations", "executions", "syncs", "fallbacks", "graph", "breaks", "time"]
    assert [line.split()[:6] for line in lines[2:5]] == [
        ["0", "1", "1", "0", "0", "0"],
        ["1", "0", "1", "0", "0", "0"],
        ["2", "0", "1", "0", "0", "0"],
    ]
    assert lines[5:] == ["ok: compiles once; no host syncs"]


@pytest.mark.parametrize(
    "text",
    [
        'x="f32[B=4,2]", mask="bool[B]", n=4',
        """labels="i64[5] 0..9", classes=4, requires='labels < classes'""",
        """b={'y': "i64[5] 0..9"}, classes=4, requires="b['y'] < classes\"""",
    ],
)
def test_inputs_are_told_as_one_declares_them(text: str) -> None:
    assert inputs_text(parse_inputs(text)) == text


def test_what_hurts_is_told_by_line(run: Any) -> None:
    done = run("verify", "model.py:bad", *PLAIN)
    assert done.code == 1
    assert done.out.splitlines()[-3:] == [
        '  host sync  model.py:14  hazard("host-sync", "any")',
        "    any (7 steps)",
        'bad: reads values on the host in 7 of 8 steps: line 14 `hazard("host-sync", "any")`',
    ]


def test_a_file_is_all_that_it_declares(run: Any) -> None:
    done = run("verify", "model.py", *PLAIN, "--steps", "2")
    assert done.code == 1
    assert [line.split()[1] for line in done.out.splitlines() if line.startswith("model.py:")] == [
        "good",
        "bad",
        "raises",
    ]
    assert done.out.splitlines()[-1] == (
        'bad: raises ValueError: always (in step 0 of 2, counted from 0): line 20 `raise ValueError("always")`'
    )


def test_named_dimensions_vary(run: Any) -> None:
    done = run("verify", "model.py:good", *PLAIN, "--vary", "shape", "--steps", "4")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[1].split()[:3] == ["step", "B", "compilations"]
    assert [line.split()[:3] for line in lines[2:6]] == [
        ["0", "4", "1"],
        ["1", "4", "0"],
        ["2", "5", "1"],
        ["3", "6", "1"],
    ]
    assert lines[-1].startswith("ok: compiles once, and for new sizes 2 times more (2 of 2 sizes")
    assert run("verify", "model.py:good", *PLAIN, "--vary", "shape=B", "--max-compiles", "3").code == 1
    assert run("verify", "model.py:good", *PLAIN, "--vary", "shape=B", "--max-compiles", "7").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["model.py:told"],
            "could not run model.py:42 told: nothing can be drawn for `path`: it is a value of type `str`",
        ),
        (["model.py:gud"], "could not run: no `gud` in"),
        (["model.py:Scale", *X], "`Scale` is made with arguments"),
        (["model.py:good", "--vary", "shape=C"], "no dimension `C` to vary; the named ones are B"),
        (["model.py:bad", "--vary", "shape"], 'no dimension has a name to vary; name those that change: x="f32[B,64]"'),
        (["model.py:crashes", *X], "could not run: left with exit code 3 (in step 0 of 8, counted from 0)"),
        (["model.py:hangs", *X, "--time-limit", "5"], "could not run: did not end within 5 s"),
        (["model.py:hangs", *X, "--time-budget", "5"], "could not run: did not end within"),
        (["model.py:good", "model.py:good", "--time-budget", "0.001"], "no time was left for it (`--time-budget`)"),
        (["model.py:good", "--backend", "standins.none"], "backend standins.none does not start"),
    ],
)
def test_what_cannot_be_run(run: Any, arguments: list[str], said: str) -> None:
    done = run("verify", *PLAIN, *arguments)
    assert done.code == 2
    assert said in done.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--isolated"], "nothing to verify: name a target"),
        (["model.py:good", "--backend", "torch"], "unknown backend `torch`; did you mean `torch_"),
        (["model.py:good", *PLAIN, "--vary", "dtype"], "`dtype` cannot be varied; write `shape` or `shape=DIM`"),
        (["model.py:good", *PLAIN, "--memory-limit", "many"], "`many` is not a size; write 512M, 8G"),
    ],
)
def test_wrong_options(run: Any, arguments: list[str], said: str) -> None:
    done = run("verify", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_factory_makes_the_instance(run: Any) -> None:
    assert run("verify", "model.py:Scale", *PLAIN, *X, "--factory", "Scale(by=2)").code == 0


def test_inputs_that_nobody_declared_are_inferred(run: Any) -> None:
    done = run("verify", "model.py:bare", *PLAIN)
    assert done.code == 0
    assert "inputs inferred; to declare them: # xlalint: inputs(x=" in done.out


def test_json_says_the_same(run: Any, project: Path) -> None:
    done = run("verify", "model.py:bad", "model.py:told", *PLAIN, "--output-format", "json")
    assert done.code == 2
    bad, told = json.loads(done.out)
    assert bad["target"] == "bad"
    assert bad["place"]["file"] == str(project / "model.py")
    assert bad["inputs"] == {"x": "f32[4]", "mask": "bool[4]"}
    assert bad["verdict"]["ok"] is False
    assert [step["counts"]["transfers"] for step in bad["steps"]] == [1, 1, 1, 0, 1, 1, 1, 1]
    read = bad["causes"][0]
    assert (read["kind"], read["count"], read["place"]["line"]) == ("host-sync", 7, 14)
    assert read["source"] == 'hazard("host-sync", "any")'
    assert told["failure"].startswith("nothing can be drawn for `path`")


def test_the_configuration_declares_targets(run: Any, project: Path) -> None:
    (project / "pyproject.toml").write_text(
        '[[tool.xlalint.verify]]\ntarget = "model.py:Scale"\nfactory = "Scale(3)"\ninputs = { x = "f32[4]" }\n'
    )
    done = run("verify", "--backend", "standins.plain")
    assert done.code == 0
    assert done.out.startswith('model.py:31 Scale on standins.plain: x="f32[4]"')
    assert run("verify", "--backend", "standins.plain", "--max-compiles", "0").code == 1


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('targt = "model.py:good"', "entry 1: unknown key `targt`; did you mean `target`?"),
        ('inputs = "x=1"', "entry 1 has no `target`; write target ="),
        (
            'target = "a:b"\nbackend = "torchxla"',
            "entry 1: `backend` unknown value `torchxla`; did you mean `torch_xla`?",
        ),
        ('target = "a:b"\nmax-compiles = -1', "entry 1: `max-compiles` must be a whole number from 0, not -1"),
        ("target = 3", "entry 1: `target` must be a string, not 3"),
    ],
)
def test_a_wrong_configuration(run: Any, project: Path, table: str, said: str) -> None:
    (project / "pyproject.toml").write_text(f"[[tool.xlalint.verify]]\n{table}\n")
    done = run("verify")
    assert done.code == 2
    assert said in done.err


def test_settings_are_shown_with_their_targets(run: Any, project: Path) -> None:
    (project / "pyproject.toml").write_text('[[tool.xlalint.verify]]\ntarget = "model.py:good"\nmax-compiles = 2\n')
    done = run("check", "--show-settings")
    shown = '\n[[verify]]\ntarget = "{}"\nmax-compiles = 2\n'.format(project / "model.py:good")
    assert done.out.endswith(shown)


@pytest.mark.parametrize("nested", [False, True])
def test_each_file_s_target_says_the_backend(
    run: Any, project: Path, monkeypatch: pytest.MonkeyPatch, nested: bool
) -> None:
    """By the configuration nearest to it."""
    from xlalint.verify import targets

    asked: dict[str, str] = {}

    def noted(texts: Any, entries: Any, told: Any) -> Any:
        asked.update(dict.fromkeys(texts, told.torch_backend))
        return iter([targets.TargetError("not run")])

    monkeypatch.setattr(targets, "targets_of", noted)
    for name in ("a", "b"):
        (project / name).mkdir()
        (project / name / "m.py").write_text("")
    (project / "xlalint.toml").write_text("")
    if nested:
        (project / "b/xlalint.toml").write_text('target = "torch_compile"\n')
    run("verify", "a/m.py:f", "b/m.py:f")
    assert asked == {"a/m.py:f": "", "b/m.py:f": "torch_compile" if nested else ""}


PAIRS = """\
import numpy as np


def twice(x):
    return x * 2


# xlalint: inputs(x="f32[4]")
def sum_twice(x):
    return x + x


def thrice(x):
    return x * 3


def checked(x):
    if not np.isfinite(x).all():
        raise ValueError("not finite")
    return x * 2


class Scale:
    def __init__(self, by=1.0):
        self.by = by

    # xlalint: inputs(x="f32[4]")
    def __call__(self, x):
        return x * self.by


class Same:
    def __init__(self, by=1.0):
        pass

    def __call__(self, x):
        return x
"""


@pytest.mark.parametrize(
    ("new", "old", "verdict", "code"),
    [
        ("twice", "sum_twice", "proven", 0),
        ("sum_twice", "twice", "proven", 0),
        ("twice", "checked", "proven-except-check", 1),
        ("thrice", "sum_twice", "refuted", 1),
        ("Same", "Scale", "refuted", 1),
        ("Same", "Same", "proven", 0),
        ("no_such", "twice", "unverified", 2),
    ],
)
def test_one_target_against_another(run: Any, project: Path, new: str, old: str, verdict: str, code: int) -> None:
    (project / "pairs.py").write_text(PAIRS)
    given = () if "Scale" in (new, old) or "sum_twice" in (new, old) else X
    done = run("verify", f"pairs.py:{new}", "--against", f"pairs.py:{old}", *PLAIN, *given, "--output-format", "json")
    (told,) = json.loads(done.out)
    assert (told["verdict"], done.code) == (verdict, code), told
    assert bool(told["coverage"]) == verdict.startswith("proven")
    assert bool(told["counterexample"]) == (verdict == "refuted")


def test_a_target_against_an_earlier_revision_of_its_file(run: Any, project: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.invalid")
        subprocess.run(["git", *who, *words], cwd=project, check=True, capture_output=True)

    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    (project / "pairs.py").write_text(PAIRS)
    git("init", "-q")
    git("add", "pairs.py")
    git("commit", "-qm", "first")
    (project / "pairs.py").write_text(PAIRS.replace("x * 2", "x * 5", 1))
    changed = run("verify", "pairs.py:twice", "--against-rev", "HEAD", *PLAIN, *X)
    assert changed.code == 1
    assert changed.out.startswith("pairs.py:twice against pairs.py:twice at HEAD on standins.plain\nrefuted: values: ")
    same = run("verify", "pairs.py:thrice", "--against-rev", "HEAD", *PLAIN, *X)
    assert same.code == 0
    assert "no difference found: the same on " in same.out
    assert run("verify", "pairs.py:twice", "--against-rev", "no-such", *PLAIN, *X).code == 2


@pytest.fixture
def known_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in is one of which it is known what its answers rest on."""
    monkeypatch.setattr("xlalint.verify.kept_proofs._PACKAGES", {"standins.plain": ("numpy",)})


@pytest.mark.parametrize("words", [("model.py:good",), ("model.py:bad",), ("model.py:raises",)], ids=lambda one: one[0])
def test_what_has_not_changed_is_not_run_again(
    run: Any, project: Path, known_backend: None, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    words = ("verify", *words, *PLAIN)
    first = run(*words)
    second = run(*words)
    assert (second.code, second.out) == (first.code, first.out)
    assert first.err == "" and second.err.startswith("xlalint: 1 of 1 not run again"), second.err
    assert run(*words, "--no-cache").err == ""
    assert run(*words, "--steps", "5").err == ""
    (project / "model.py").write_text(f"{TEXT}\n# more\n")
    assert run(*words).err == ""


def test_what_did_not_end_is_run_again(run: Any, known_backend: None) -> None:
    for _ in range(2):
        done = run("verify", "model.py:crashes", *X, *PLAIN)
        assert done.code == 2 and "not run again" not in done.err


def test_a_verdict_on_two_targets_is_kept(run: Any, project: Path, known_backend: None) -> None:
    (project / "pairs.py").write_text(PAIRS)
    words = ("verify", "pairs.py:thrice", "--against", "pairs.py:sum_twice", *PLAIN, "--output-format", "json")
    first, second = (json.loads(run(*words).out)[0] for _ in range(2))
    assert (first["kept"], second["kept"]) == (False, True)
    assert {**first, "kept": True} == second
    assert "of an earlier run" in run(*words[:-2]).out
    assert not json.loads(run(*words, "--no-cache").out)[0]["kept"]


def test_against_compares_one_target(run: Any) -> None:
    for words in (["a.py:f", "b.py:f", "--against", "c.py:f"], ["a.py:f", "--against", "b", "--against-rev", "c"]):
        assert run("verify", *words).code == 2
