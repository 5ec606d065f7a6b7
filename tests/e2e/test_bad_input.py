"""Whatever files hold and whatever happens to them: a finding or one clear line, and the others are checked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Check = Callable[..., Any]

CODED = "# -*- coding: latin-1 -*-\n"
READ = {
    "byte-order-mark": (lambda text: b"\xef\xbb\xbf" + text.encode(), (7, 12)),
    "crlf": (lambda text: text.replace("\n", "\r\n").encode(), (7, 12)),
    "cr": (lambda text: text.replace("\n", "\r").encode(), (7, 12)),
    "no-line-end": (lambda text: text.rstrip("\n").encode(), (7, 12)),
    "form-feed": (lambda text: b"\x0c" + text.encode(), (7, 12)),
    "coding-line": (lambda text: (CODED + text.replace("if ", "if 'é' and ")).encode("latin-1"), (8, 20)),
    "wide-characters": (lambda text: text.replace("if ", "if '😀é' and ").encode(), (7, 21)),
    "long-string-sum": (lambda text: (text + "x = (" + "'a'\n" * 20_000 + ")\n").encode(), (7, 12)),
    "four-megabytes": (lambda text: (text + "x = [" + "1, " * 1_400_000 + "]\n").encode(), (7, 12)),
    "thousands-of-branches": (
        lambda text: (text + "if a: b\n" + "".join(f"elif a == {n}: b\n" for n in range(3000))).encode(),
        (7, 12),
    ),
    "deep-nesting": (
        lambda text: (text + "".join(" " * n + "for x in y:\n" for n in range(19)) + " " * 19 + "z\n").encode(),
        (7, 12),
    ),
    "thousands-of-functions": (
        lambda text: (
            text.replace("-x", "f0(x)") + "".join(f"def f{n}(x): return f{n + 1}(x)\n" for n in range(3000))
        ).encode(),
        (7, 12),
    ),
    "imports-that-lead-nowhere": (
        lambda text: ("from m import *\nfrom m import x as x\nfrom ..... import y\n" + text).encode(),
        (10, 12),
    ),
    "classes-that-derive-from-themselves": (
        lambda text: ("class A(A): pass\nclass B(C): pass\nclass C(B): pass\n" + text).encode(),
        (10, 12),
    ),
}


@pytest.mark.parametrize(("spoil", "place"), READ.values(), ids=READ)
def test_odd_files_are_checked(
    check: Check, tmp_path: Path, model: str, spoil: Callable[[str], bytes], place: tuple[int, int]
) -> None:
    (tmp_path / "m.py").write_bytes(spoil(model))
    done = check("m.py")
    assert done.places() == [("m.py", "XLA101", *place)]
    assert (done.code, done.err) == (1, "")


REFUSED = {
    "syntax-error": (b"x = 1\ndef f(:\n", "XLA001", 2, "invalid syntax"),
    "python-2": (b"import os\nprint 'x'\n", "XLA001", 2, "Python 2"),
    "null-byte": (b"x = 1\ny = '\0'\n", "XLA001", 2, "null bytes"),
    "not-utf-8": (b"x = 1\ny = '\xe9'\n", "XLA002", 2, "not UTF-8"),
    "unknown-coding": (b"# coding: klingon\n", "XLA002", 1, "klingon"),
    "utf-16": ("x = 1\n".encode("utf-16"), "XLA002", 1, "UTF-16"),
    "ten-thousand-parentheses": (b"x = " + b"(" * 10_000 + b")" * 10_000, "XLA001", 1, "nested"),
}


@pytest.mark.parametrize(("raw", "code", "row", "words"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_cannot_be_read_is_a_finding(
    check: Check, tmp_path: Path, model: str, raw: bytes, code: str, row: int, words: str
) -> None:
    (tmp_path / "a.py").write_bytes(raw)
    (tmp_path / "b.py").write_text(model)
    done = check()
    assert [place[:3] for place in done.places()] == [("a.py", code, row), ("b.py", "XLA101", 7)]
    assert words in done.findings[0]["message"]
    assert (done.code, done.err) == (1, "")


LONG = {"sum": b"x = " + b" + ".join([b"a"] * 20_000), "attributes": b"x = a" + b".b" * 20_000}


@pytest.mark.parametrize("raw", LONG.values(), ids=LONG)
def test_an_expression_longer_than_some_pythons_parse(check: Check, tmp_path: Path, model: str, raw: bytes) -> None:
    (tmp_path / "a.py").write_bytes(raw)
    (tmp_path / "b.py").write_text(model)
    done = check()
    assert [place for place in done.places() if place[1] != "XLA001"] == [("b.py", "XLA101", 7, 12)]
    assert (done.code, done.err) == (1, "")


NEWER = {
    "type-parameters": ("    def forward[T: int](self, x: torch.Tensor, *more: T):\n        if x.sum() > 0:\n", 12),
    "nested-quotes": (
        "    def forward(self, x: torch.Tensor):\n        if f'{y['k']} and {'\\n'.join(y)}' and (x > 0).all():\n",
        47,
    ),
    "except-without-parentheses": (
        "    def forward(self, x: torch.Tensor):\n        try: y = x\n        except A, B: y = -x\n        if y.sum() > 0:\n",
        12,
    ),
    "t-string": ("    def forward(self, x: torch.Tensor):\n        if t'{y} and {z:>3}' and x.sum() > 0:\n", 34),
    "type-statement": (
        "    def forward(self, x: torch.Tensor):\n        type T[U] = list[U]\n        if x.sum() > 0:\n",
        12,
    ),
}


@pytest.mark.parametrize(("method", "column"), NEWER.values(), ids=NEWER)
def test_newer_syntax_is_checked_on_every_python(
    check: Check, tmp_path: Path, model: str, method: str, column: int
) -> None:
    text = "".join(model.splitlines(keepends=True)[:5]) + method + "            return x\n        return -x\n"
    (tmp_path / "m.py").write_text(text)
    done = check("m.py")
    row = 5 + method.count("\n")
    assert ("m.py", "XLA101", row, column) in done.places()
    assert {place[2] for place in done.places()} == {row}


def test_links_that_lead_round_and_nowhere(check: Check, tmp_path: Path, model: str) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "m.py").write_text(model)
    (tmp_path / "inner" / "round").symlink_to(tmp_path)
    (tmp_path / "self.py").symlink_to("self.py")
    (tmp_path / "nowhere.py").symlink_to("gone.py")
    done = check()
    assert [place for place in done.places() if place[1] == "XLA101"] == [("m.py", "XLA101", 7, 12)]
    assert done.code == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(check: Check, tmp_path: Path, model: str) -> None:
    (tmp_path / "a.py").touch(mode=0)
    (tmp_path / "b.py").write_text(model)
    assert [place[:3] for place in check().places()] == [("a.py", "XLA002", 1), ("b.py", "XLA101", 7)]


def test_an_empty_folder(check: Check) -> None:
    done = check()
    assert (done.code, done.findings) == (0, [])
    assert "no Python files" in done.err


def test_a_path_that_does_not_exist(check: Check) -> None:
    done = check("gone.py")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "gone.py" in done.err


# A run that finds a file deleted which it has found before and not read yet.
VANISHING = """
from pathlib import Path
from xlalint.project import lowered
lower_path = lowered.lower_path
def vanishing(path, *rest):
    if path.endswith("b.py"):
        Path("c.py").unlink()
    return lower_path(path, *rest)
lowered.lower_path = vanishing
from xlalint.cli import run
run()
"""


def test_a_file_that_is_gone_when_its_turn_comes(tmp_path: Path, model: str) -> None:
    (tmp_path / "b.py").write_text(model)
    (tmp_path / "c.py").write_text(model)
    command = [sys.executable, "-c", VANISHING, "check", "--isolated", "--no-cache", "-j1", "b.py", "c.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "XLA101" in done.stdout
    assert "XLA002" in done.stdout
    assert "Traceback" not in done.stderr


def test_ctrl_c_leaves_a_good_cache(
    tmp_path: Path, command: list[str], check: Check, model: str, heeds_signals: None
) -> None:
    for number in range(60):
        (tmp_path / f"m{number}.py").write_text(model + f"y = [{'1, ' * 20_000}]\n")
    cached = [*command, "--cache-dir", str(tmp_path / "cache"), "-j2"]
    for pause in (0.2, 0.6, 1.0):
        with subprocess.Popen(
            cached, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as process:
            time.sleep(pause)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert b"Traceback" not in err
        if process.returncode != 1:
            assert (process.returncode, out, err.strip()) == (130, b"", b"xlalint: interrupted")
    done = check("--cache-dir", "cache")
    assert len(done.findings) == 60
    assert done.err == ""


def test_runs_that_share_a_cache(tmp_path: Path, command: list[str], check: Check, model: str) -> None:
    for number in range(40):
        (tmp_path / f"m{number}.py").write_text(model)
    cached = [*command, "--cache-dir", str(tmp_path / "cache")]
    runs = [subprocess.Popen(cached, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    ends = [(*run.communicate(timeout=60), run.returncode) for run in runs]
    assert {end[1:] for end in ends} == {(b"", 1)}
    assert len({end[0] for end in ends}) == 1
    assert check("--cache-dir", "cache").text == ends[0][0]


@pytest.mark.parametrize("harm", [b"", b"not a database at all\n" * 400, None], ids=["empty", "foreign", "cut-short"])
def test_a_cache_of_no_use_is_made_anew(check: Check, tmp_path: Path, model: str, harm: bytes | None) -> None:
    (tmp_path / "m.py").write_text(model)
    first = check("--cache-dir", "cache")
    (file,) = (tmp_path / "cache").glob("*.db")
    file.write_bytes(file.read_bytes()[:5000] if harm is None else harm)
    for _ in range(2):
        done = check("--cache-dir", "cache")
        assert (done.text, done.err, done.code) == (first.text, "", 1)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_a_killed_run_leaves_no_processes(tmp_path: Path, command: list[str], model: str) -> None:
    for number in range(60):
        (tmp_path / f"m{number}.py").write_text(model + f"y = [{'1, ' * 100_000}]\n")
    with subprocess.Popen(
        [*command, "--no-cache", "-j2"], cwd=tmp_path, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        time.sleep(1)
        process.kill()
    deadline = time.monotonic() + 20
    with pytest.raises(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(process.pid, 0)
            time.sleep(0.05)
