"""The PJRT plugin: what it assumes of PJRT, and that it is built once. What it counts is tested in `tests/xla/test_torch_tpu.py`."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from xlalint.verify import environment, plugin

COMPILER = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

# What the plugin reads, as it declares it and as PJRT does.
FIELDS = [
    ("named_value", "name", "PJRT_NamedValue", "name"),
    ("named_value", "name_size", "PJRT_NamedValue", "name_size"),
    ("named_value", "type", "PJRT_NamedValue", "type"),
    ("named_value", "value", "PJRT_NamedValue", "int64_value"),
    ("named_value", "value_size", "PJRT_NamedValue", "value_size"),
    ("client_create", "options", "PJRT_Client_Create_Args", "create_options"),
    ("client_create", "option_count", "PJRT_Client_Create_Args", "num_options"),
    ("program", "code", "PJRT_Program", "code"),
    ("program", "code_size", "PJRT_Program", "code_size"),
    ("client_compile", "program", "PJRT_Client_Compile_Args", "program"),
    ("to_host", "destination", "PJRT_Buffer_ToHostBuffer_Args", "dst"),
]
FUNCTIONS = {
    "CLIENT_CREATE": "PJRT_Client_Create",
    "CLIENT_COMPILE": "PJRT_Client_Compile",
    "TO_HOST": "PJRT_Buffer_ToHostBuffer",
}


def find_header() -> Path:
    """The header of PJRT that TensorFlow's package has."""
    spec = find_spec("tensorflow")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        header = Path(folder, "include", "xla", "pjrt", "c", "pjrt_c_api.h")
        if header.exists():
            return header
    pytest.skip("there is no header of PJRT")


@needs_compiler
def test_layout_is_that_of_pjrt(tmp_path: Path) -> None:
    same = [f"_Static_assert(offsetof(struct {a}, {b}) == offsetof(struct {c}, {d}), {b!r});" for a, b, c, d in FIELDS]
    places = [
        f"_Static_assert(offsetof(struct api, functions) + {place} * sizeof(void *) == offsetof(PJRT_Api, {name}), {name!r});"
        for place, name in FUNCTIONS.items()
    ]
    others = ['_Static_assert(sizeof(struct named_value) == sizeof(PJRT_NamedValue), "size");']
    others += ['_Static_assert(INTEGER == PJRT_NamedValue_kInt64, "type");']
    source = tmp_path / "layout.c"
    checks = "\n".join((*same, *places, *others)).replace("'", '"')
    source.write_text(f'#include "{find_header()}"\n#include "{plugin.SOURCE}"\n{checks}\n', encoding="utf-8")
    assert COMPILER is not None
    done = subprocess.run([COMPILER, "-fsyntax-only", str(source)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@needs_compiler
def test_source_has_no_warning() -> None:
    assert COMPILER is not None
    command = [COMPILER, "-fsyntax-only", "-std=gnu11", "-Wall", "-Wextra", "-Werror", str(plugin.SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@needs_compiler
def test_plugin_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = plugin.build(tmp_path)
    library = ctypes.CDLL(str(made))
    assert [getattr(library, f"xlalint_{name}")() for name in plugin.PluginCounts._fields] == [0, 0]
    assert hasattr(library, "GetPjrtApi")
    assert [file.name for file in tmp_path.iterdir()] == [made.name]
    monkeypatch.setenv("CC", "false")
    assert plugin.build(tmp_path) == made


def test_missing_compiler_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(plugin.PluginError, match="needs a C compiler"):
        plugin.build(tmp_path / "made")


def test_failing_compiler_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "sh -c 'echo no such option >&2; exit 1'")
    with pytest.raises(plugin.PluginError, match="no such option"):
        plugin.build(tmp_path)
    assert not list(tmp_path.iterdir())


def test_packaged_source_is_found() -> None:
    assert re.search(r"^const void \*GetPjrtApi\(void\)", plugin.SOURCE.read_text(encoding="utf-8"), re.MULTILINE)


# What TPU_LIBRARY_PATH holds, whether there is a TPU, and whether the plugin stands for it then.
CHOICES = {
    "nothing": (None, False, True),
    "what importing JAX sets, libtpu being installed": ("/site-packages/libtpu/libtpu.so", False, True),
    "a TPU": (None, True, False),
    "a TPU and libtpu": ("/site-packages/libtpu/libtpu.so", True, False),
    "another plugin, which the user chose": ("/opt/simulator/pjrt_simulator.so", False, False),
    "this plugin, built before": ("/caches/pjrt-forwarding-0123456789abcdef.so", False, False),
}


@pytest.mark.parametrize("case", CHOICES)
def test_what_stands_for_the_tpu(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, there, taken = CHOICES[case]
    monkeypatch.delenv(plugin.LOADED_FROM, raising=False)
    if given is not None:
        monkeypatch.setenv(plugin.LOADED_FROM, given)
    monkeypatch.setattr(environment, "has_tpu", lambda: there)
    monkeypatch.setattr(plugin, "build", lambda: Path("/built.so"))
    monkeypatch.setattr(plugin, "find_cpu_plugin", lambda: Path("/cpu.so"))
    assert environment.for_torch_tpu().get(plugin.LOADED_FROM) == ("/built.so" if taken else None)
