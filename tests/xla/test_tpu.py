"""Programs of StableHLO compiled by libtpu, with no TPU: what compiles, what does not and at which line, memory, padding, limits."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

from xlalint.verify.model import Event, Place, TpuProgram
from xlalint.verify.tpu import GENERATIONS, compile_for_tpu
from xlalint.verify.tpu import REFUSED as REFUSED_FILE

pytestmark = [
    pytest.mark.jax,
    pytest.mark.skipif(not (find_spec("jax") and find_spec("libtpu")), reason="jax and libtpu are not installed"),
]

MATMUL = """\
module @step {
  func.func public @main(%x: tensor<5x100xf32>, %w: tensor<100x7xf32>) -> tensor<5x7xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<5x100xf32>, tensor<100x7xf32>) -> tensor<5x7xf32>
    return %0 : tensor<5x7xf32>
  }
}
"""
WHOLE = """\
module @whole {
  func.func public @main(%x: tensor<8x128xf32>) -> tensor<8x128xf32> {
    %0 = stablehlo.tanh %x : tensor<8x128xf32>
    return %0 : tensor<8x128xf32>
  }
}
"""
COPY = """\
module @copy {
  func.func public @main(%x: tensor<8x128xf32>) -> tensor<8x128xf32> {
    %0 = stablehlo.tanh %x : tensor<8x128xf32>
    %1 = mhlo.copy %0 : tensor<8x128xf32>
    return %1 : tensor<8x128xf32>
  }
}
"""
HUGE = """\
module @huge {
  func.func public @main(%x: tensor<200000x200000xf32>) -> tensor<200000x200000xf32> {
    %0 = stablehlo.tanh %x : tensor<200000x200000xf32>
    return %0 : tensor<200000x200000xf32>
  }
}
"""
HOST = """\
module @host {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @no_such_target(%x) : (tensor<4xf32>) -> tensor<4xf32> loc(#call)
    return %0 : tensor<4xf32>
  }
}
#line = loc("/home/me/step.py":12:4)
#call = loc("step/call"(#line))
"""
NAMED = HOST.replace('#call = loc("step/call"(#line))', '#call = loc("step/call")').replace("@host", "@named")
CLEAN = {"matmul": MATMUL, "whole": WHOLE, "copy": COPY}
REFUSED = {
    "huge": (HUGE, "Ran out of memory on HBM", None),
    "host": (HOST, "no_such_target", Place("/home/me/step.py", 12, "step/call")),
    "named": (NAMED, "no_such_target", Place("/home/me/model.py", 3, "step/call")),
    "broken": ("module {", "Unable to parse", None),
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], TpuProgram]:
    """Each program for each generation, by their names."""
    folder = tmp_path_factory.mktemp("tpu")
    texts = {**CLEAN, **{name: text for name, (text, *_) in REFUSED.items()}}
    files = [written(folder, name, text) for name, text in texts.items()]
    lines = {"step/call": {"file": "/home/me/model.py", "line": 3, "function": "step"}}
    (folder / "named.lines.json").write_text(json.dumps(lines))
    found = compile_for_tpu([*files, str(folder / "named.lines.json")], GENERATIONS)
    assert [(one.file, one.generation) for one in found] == [(file, one) for file in files for one in GENERATIONS]
    return {(Path(one.file).stem, one.generation): one for one in found}


def written(folder: Path, name: str, text: str) -> str:
    file = folder / f"{name}.mlir"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("name", CLEAN)
def test_it_compiles(name: str, generation: str, seen: dict[tuple[str, str], TpuProgram]) -> None:
    one = seen[name, generation]
    assert one.error is None
    assert one.arguments and one.outputs and one.code


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(name: str, generation: str, seen: dict[tuple[str, str], TpuProgram]) -> None:
    one = seen[name, generation]
    _, words, place = REFUSED[name]
    assert one.error is not None and words in one.error.what
    assert one.error.place == place
    assert one.padding == () and not one.arguments


@pytest.mark.parametrize("generation", GENERATIONS)
def test_padding_is_what_the_arguments_take(generation: str, seen: dict[tuple[str, str], TpuProgram]) -> None:
    one = seen["matmul", generation]
    assert one.padding
    arguments = [array for array in one.padding if array.role == "argument"]
    assert {array.array: array.bytes for array in arguments} == {"f32[5,100]": 2000, "f32[100,7]": 2800}
    assert sum(array.padded for array in arguments) == one.arguments
    assert [array.waste for array in one.padding] == sorted((array.waste for array in one.padding), reverse=True)
    assert seen["whole", generation].padding == ()


def test_a_compilation_that_takes_too_long_is_its_own_error(tmp_path: Path) -> None:
    files = [written(tmp_path, name, MATMUL.replace("@step", f"@{name}")) for name in ("one", "two")]
    found = compile_for_tpu(files, ("v5e",), patience=0.001)
    assert [one.error.what if one.error else None for one in found] == [
        "the TPU compiler did not end within 0.001 s"
    ] * 2


def test_several_processes_compile_at_once(tmp_path: Path) -> None:
    files = [written(tmp_path, name, WHOLE) for name in ("one", "two", "three")]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda file: compile_for_tpu([file], ("v5e", "v6e")), files))
    assert not [one.error for each in found for one in each if one.error]


def test_what_could_not_be_written_is_told_for_each_generation_without_a_compiler(tmp_path: Path) -> None:
    event = Event("host-sync", "it calls Python on the host")
    file = tmp_path / f"one{REFUSED_FILE}"
    file.write_bytes(msgspec.json.encode(event))
    found = compile_for_tpu([str(file)], ("v4", "v5e"))
    assert [(one.generation, one.error) for one in found] == [("v4", event), ("v5e", event)]


def test_nothing_to_compile_starts_nothing() -> None:
    assert compile_for_tpu([], GENERATIONS) == []
