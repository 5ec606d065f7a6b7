"""Build hook: compiles the hot modules with mypyc, as mypy itself is built.

The same modules run uncompiled, two to three times slower. So a machine without a C compiler, an editable install, the environment of a
pre-commit hook, or `XLALINT_PURE=1` gets the Python modules alone. What `pip install .` compiles is where the time goes, quickly: the first
run waits for it. `XLALINT_COMPILED=1`, as for a release, compiles the rest too, optimizes more, and makes it an error where that fails.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What every file and every function passes through, in paths below the package. Modules that define msgspec structs cannot be compiled.
OFTEN = (
    "lowering/digests.py",
    "lowering/lower.py",
    "lowering/masks.py",
    "lowering/passing.py",
    "lowering/scope.py",
    "lowering/walking.py",
    "abstract/lattice.py",
    "abstract/values.py",
    "analysis/chains.py",
    "api_tables/cases.py",
    "api_tables/lookup.py",
    "interpreter/arguments.py",
    "interpreter/attributes.py",
    "interpreter/budget.py",
    "interpreter/context.py",
    "interpreter/device_loops.py",
    "interpreter/expressions.py",
    "interpreter/frame.py",
    "interpreter/frame_state.py",
    "interpreter/interpreter.py",
    "interpreter/library_calls.py",
    "interpreter/narrowing.py",
    "interpreter/spelling.py",
    "interpreter/statements.py",
    "program/dependencies.py",
    "program/facts.py",
    "program/linker.py",
    "source/lines.py",
)
SELDOM = (
    "analysis/costs.py",
    "analysis/roots.py",
    "frameworks/checks/call_site.py",
    "frameworks/checks/data_lengths.py",
    "frameworks/checks/dispatch.py",
    "frameworks/checks/growing_tensor.py",
    "frameworks/checks/host_code.py",
    "frameworks/checks/unstable_static_argument.py",
    "frameworks/checks/unsupported_dtype.py",
    "frameworks/checks/variable_length_padding.py",
    "frameworks/jax/branch_functions.py",
    "frameworks/jax/calls.py",
    "frameworks/jax/leaks.py",
    "frameworks/numpy/calls.py",
    "frameworks/platforms.py",
    "frameworks/python/calls.py",
    "frameworks/tensorflow/autograph.py",
    "frameworks/tensorflow/calls.py",
    "frameworks/tensorflow/conversion.py",
    "frameworks/tensorflow/graph_resources.py",
    "frameworks/tensorflow/platform.py",
    "frameworks/torch/calls.py",
    "frameworks/torch/checks/compiled_optimizer.py",
    "frameworks/torch/checks/cuda_on_xla.py",
    "frameworks/torch/cuda_devices.py",
    "frameworks/torch/distributions.py",
    "frameworks/torch/draws.py",
    "frameworks/torch/graph_breaks.py",
    "frameworks/torch/guarded_numbers.py",
    "frameworks/torch/host_arrays.py",
    "frameworks/torch/host_batches.py",
    "frameworks/torch/host_tensors.py",
    "frameworks/torch/model_outputs.py",
    "frameworks/torch/named_device.py",
    "frameworks/torch/platform.py",
    "frameworks/torch/recompiles.py",
    "interpreter/annotations.py",
    "interpreter/builtin_calls.py",
    "interpreter/decorators.py",
    "interpreter/dispatch_loops.py",
    "interpreter/drivers.py",
    "interpreter/guards.py",
    "interpreter/library_functions.py",
    "interpreter/loop_names.py",
    "interpreter/occasions.py",
    "interpreter/rates.py",
    "interpreter/semantics.py",
    "interpreter/subscripts.py",
    "interpreter/turn_flow.py",
    "program/folders.py",
    "rules/codes.py",
)
"""Modules that make up half of the code, in which a tenth of the time goes: left as they are unless all is asked for."""

COMPILED = (*OFTEN, *SELDOM)


class CompileHook(BuildHookInterface[Any]):
    """Adds compiled modules to a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say with one line why not where that fails."""
        if self.target_name != "wheel" or version == "editable" or not wants_compiled(os.environ):
            return
        self._folder = tempfile.mkdtemp(prefix="xlalint-build-")
        try:
            everything = bool(os.environ.get("XLALINT_COMPILED"))
            built = compile_modules(Path(self.root), Path(self._folder), everything=everything)
        except (Exception, SystemExit) as error:
            if os.environ.get("XLALINT_COMPILED"):
                raise RuntimeError("a compiled wheel was asked for (XLALINT_COMPILED)") from error
            self.app.display_warning(f"xlalint is built without compiled modules: {type(error).__name__}: {error}")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"].update({str(path): place for path, place in built})

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was built."""
        shutil.rmtree(getattr(self, "_folder", ""), ignore_errors=True)


def wants_compiled(environment: Mapping[str, str]) -> bool:
    """Whether compiling pays: a commit hook waits for it at its first run, and then reads what little changed."""
    if environment.get("XLALINT_COMPILED"):
        return True
    return not (environment.get("XLALINT_PURE") or environment.get("PRE_COMMIT"))


def strip_indentation(source: Path) -> None:
    """mypyc indents each declaration further than the one before: blanks are 50 of the 71 MB that gcc would read."""
    source.write_bytes(re.sub(rb"(?m)^ +", b"", source.read_bytes()))


def compile_modules(root: Path, folder: Path, *, everything: bool) -> list[tuple[Path, str]]:
    """Compile the modules, or those in which time goes, in a copy of the package; the libraries, each with its place in a wheel."""
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    shutil.copytree(root / "xlalint", folder / "xlalint", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    here = Path.cwd()
    os.chdir(folder)
    try:
        sources = [f"xlalint/{name}" for name in (COMPILED if everything else OFTEN)]
        # The time goes into calls of CPython: -O2 takes twice as long to compile, and the analysis is no quicker for it.
        modules = mypycify(["--config-file=", "--ignore-missing-imports", *sources], opt_level="1", debug_level="0")
        for module in modules:
            for source in module.sources:
                strip_indentation(Path(source))
            # Python's own flags ask for warnings. To look for misleading indentation in 60 MB of generated code takes gcc
            # more than twice as long as to compile it, and to silence it (`-w`) does not keep it from looking.
            # `-Og` is three fifths of the work of `-O1`; of two such options the last one counts.
            level = [] if everything else ["-Og"]
            module.extra_compile_args = [*module.extra_compile_args, "-Wno-all", "-w", *level]
        command = build_ext(Distribution({"name": "xlalint", "ext_modules": modules}))
        command.build_lib, command.build_temp = "out", "temp"
        command.ensure_finalized()
        command.run()
    finally:
        os.chdir(here)
    out = folder / "out"
    libraries = [path for path in sorted(out.rglob("*")) if path.suffix in (".so", ".pyd")]
    return [(path, path.relative_to(out).as_posix()) for path in libraries]
