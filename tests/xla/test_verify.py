"""`xlalint verify` on the frameworks themselves: functions that hurt nowhere, and such that do, with their lines."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from xlalint.cli import main

INPUTS = '# xlalint: inputs(x="f32[8,4]", mask="bool[8]")\n'
TORCH = f"""\
import torch


{INPUTS}def good(x, mask):
    return torch.where(mask[:, None], x, 0).sum(0)


{INPUTS}def bad(x, mask):
    if mask.any():
        x = x * 2
    return x.sum(0)


{INPUTS}class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x, mask):
        return (self.linear(x) * mask[:, None]).sum()
"""
TENSORFLOW = f"""\
import tensorflow as tf


{INPUTS}def good(x, mask):
    return tf.reduce_sum(tf.where(mask[:, None], x, 0.0), 0)


{INPUTS}def bad(x, mask):
    if mask.numpy().any():
        x = x * 2
    return x
"""
JAX = f"""\
import jax.numpy as jnp


{INPUTS}def good(x, mask):
    return jnp.where(mask[:, None], x, 0).sum(0)


{INPUTS}def bad(x, mask):
    if mask.any():
        x = x * 2
    return x
"""
CASES = [
    pytest.param(
        "torch_xla", TORCH, ("good", "Net"), "reads values on the host in every step: line 11 `if mask.any():`",
        marks=pytest.mark.torch_xla, id="torch_xla",
    ),
    pytest.param(
        "torch_compile", TORCH, ("good", "Net"), "breaks the graph", marks=pytest.mark.torch_xla, id="torch_compile"
    ),
    pytest.param(
        "tensorflow", TENSORFLOW, ("good",), "line 11 `if mask.numpy().any():`",
        marks=pytest.mark.tensorflow, id="tensorflow",
    ),
    pytest.param(
        "jax", JAX, ("good",), "raises TracerBoolConversionError", marks=pytest.mark.jax, id="jax"
    ),
]  # fmt: skip


def verify(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = main(["verify", "--isolated", "--output-format", "json", *arguments])
    return code, json.loads(capsys.readouterr().out)


def require(*packages: str) -> None:
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")


@pytest.mark.parametrize(("backend", "text", "good", "hurts"), CASES)
def test_verdicts(
    backend: str,
    text: str,
    good: tuple[str, ...],
    hurts: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    require("torch" if backend == "torch_compile" else backend, "psutil", "ml_dtypes")
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(text)
    code, told = verify(capsys, "model.py", "--backend", backend)
    verdicts = {one["target"]: one["verdict"] for one in told}
    assert code == 1, told
    for name in good:
        assert verdicts[name] == {"ok": True, "ran": True, "text": "compiles once; no host syncs"}
    assert verdicts["bad"]["ok"] is False
    assert hurts in verdicts["bad"]["text"]


HOST = {
    "jax": """\
import jax


# xlalint: inputs(x="f32[4]")
def jit_inside(x):
    return jax.jit(lambda y: y * 2)(x)
""",
    "tensorflow": """\
import tensorflow as tf


# xlalint: inputs(x="f32[4]")
def jit_inside(x):
    return tf.function(lambda y: y * 2, jit_compile=True)(x)
""",
}


@pytest.mark.parametrize("backend", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in HOST])
@pytest.mark.parametrize("configured", [False, True])
def test_what_the_host_compiles_at_each_call_is_seen_as_it_is_written(
    backend: str, configured: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require(backend, "psutil", "ml_dtypes")
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(HOST[backend])
    Path("xlalint.toml").write_text('[[verify]]\ntarget = "model.py:jit_inside"\nas-written = true\n')
    own = ("--config", "xlalint.toml") if configured else ("--isolated", "--as-written")
    code = main(["verify", "--output-format", "json", *own, "model.py"])
    (told,) = json.loads(capsys.readouterr().out)
    assert code == 1, told
    assert told["verdict"]["text"].startswith("compiles in every step after the warm-up: line 6")
    assert main(["verify", "--isolated", "model.py"]) == 0


@pytest.mark.jax
def test_programs_are_compiled_for_tpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require("jax", "libtpu", "psutil", "ml_dtypes")
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(JAX)
    code, (told,) = verify(capsys, "model.py:good", "--tpu", "v5e", "--tpu", "v6e")
    assert code == 0, told
    assert [one["generation"] for one in told["tpu"]] == ["v5e", "v6e"]
    assert all(one["arguments"] and one["error"] is None for one in told["tpu"])
    assert main(["verify", "--isolated", "model.py:good", "--tpu", "v5e"]) == 0
    assert "  padding  program 0: argument f32[8,4]" in capsys.readouterr().out


ON_TPUS = {
    "jax": """\
import jax
import jax.numpy as jnp
import numpy as np


# xlalint: inputs(x="f64[8]", n="i64[]")
def narrowed(x, n):
    return x * n


# xlalint: inputs(x="f32[8]")
def calling(x):
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((8,), jnp.float32), x)


# xlalint: inputs(x="f32[8,8]")
def eigenvalues(x):
    return jnp.linalg.eig(x)[0]
""",
    "torch_xla": """\
import torch


# xlalint: inputs(x="f32[8,128]")
def result(x):
    return x * 2


# xlalint: inputs(x="f32[8,128]")
def written(x):
    x.add_(1)
    return x.sum()
""",
}


@pytest.mark.jax
@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("narrowed", 0, "compiles once; no host syncs"),
        ("calling", 2, "calls Python on the host (pure_callback), which JAX lowers only where there is a TPU"),
        ("eigenvalues", 1, "does not compile for v5e: NotImplementedError: MLIR translation rule for primitive 'eig'"),
    ],
)
def test_why_nothing_is_compiled_for_tpus_is_said(
    name: str, code: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require("jax", "libtpu", "psutil", "ml_dtypes")
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(ON_TPUS["jax"])
    found, (told,) = verify(capsys, f"model.py:{name}", "--tpu", "v5e", "--steps", "2")
    assert found == code, told
    assert text in told["verdict"]["text"]
    narrowed = [one["what"] for one in told["causes"] if one["kind"] == "narrowed"]
    assert narrowed == (
        [
            "`x` is float64, and computed as float32: jax_enable_x64 is off",
            "`n` is int64, and computed as int32: jax_enable_x64 is off",
        ][-1:]
        if name == "narrowed"
        else []
    )


@pytest.mark.torch_xla
@pytest.mark.parametrize(("name", "outputs"), [("result", 4096), ("written", 4096 + 512 + 512)])
def test_memory_is_that_of_the_programs_own_results(
    name: str, outputs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require("torch_xla", "jax", "libtpu", "psutil", "ml_dtypes")
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(ON_TPUS["torch_xla"])
    code, (told,) = verify(capsys, f"model.py:{name}", "--tpu", "v5e", "--steps", "2")
    assert code == 0, told
    (program,) = told["tpu"]
    assert 4096 <= program["arguments"] <= 4096 + 512  # torch_xla gives the number as an argument, too
    assert outputs - 512 <= program["outputs"] <= outputs  # a tuple of results has a table, and a scalar takes a tile
