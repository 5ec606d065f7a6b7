"""Build hook: compiles the hot modules with mypyc, as mypy itself is built.

The same modules run uncompiled, two to three times slower. So a machine without a C compiler, an editable install, the environment of a
pre-commit hook, or `XLALINT_PURE=1` gets the Python modules alone. What `pip install .` compiles is where the time goes, quickly: the first
run waits for it. `XLALINT_COMPILED=1`, as for a release, compiles the rest too, optimizes more, and makes it an error where that fails.
"""

from __future__ import annotations

import ast
import itertools
import os
import re
import shutil
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
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

LOOKUPS = """
#include <structmember.h>
typedef struct { PyTypeObject *type; Py_ssize_t offset; } FieldPlace;
#define NO_FIELD (-1)

static PyObject *find_field(PyObject *object, PyObject *name, FieldPlace *place) {
    PyTypeObject *type = Py_TYPE(object);
    if (place->offset != NO_FIELD && type->tp_getattro == PyObject_GenericGetAttr) {
        PyObject *found = _PyType_Lookup(type, name);
        if (found != NULL && Py_TYPE(found) == &PyMemberDescr_Type) {
            PyMemberDef *member = ((PyMemberDescrObject *)found)->d_member;
            if (member->type == T_OBJECT_EX) {
                PyTypeObject *before = place->type;
                Py_INCREF(type);
                place->type = type;
                place->offset = member->offset;
                Py_XDECREF(before);
                return PyObject_GetAttr(object, name);
            }
        }
    }
    if (place->type == NULL) {
        place->offset = NO_FIELD;
    }
    return PyObject_GetAttr(object, name);
}

static inline PyObject *get_field(PyObject *object, PyObject *name, FieldPlace *place) {
    if (Py_TYPE(object) == place->type) {
        PyObject *value = *(PyObject **)((char *)object + place->offset);
        if (value != NULL) {
            Py_INCREF(value);
            return value;
        }
    }
    return find_field(object, name, place);
}
"""
"""C for what mypyc leaves to Python: a field of a msgspec struct is read where an object of the same type had it at this place before."""
_KEY = r"(?P<key>\w+) = (?P<text>CPyStatics\[\d+\]); /\* '(?P<name>\w+)' \*/\n"
_OF_GLOBALS = re.compile(
    r"(?m)^(?P<before>(?P<of>\w+) = CPyStatic_(?P<module>\w+)___globals;\n"
    + _KEY
    + r")(?P<value>\w+) = (?P<lookup>CPyDict_GetItem\((?P=of), (?P=key)\));$"
)
_OF_MODULE = re.compile(
    r"(?P<before>/\* 'ir' \*/\n(?P<of>\w+) = CPyDict_GetItem\(\w+, \w+\);\nif [^\n]*\n[^\n]*\n[^\n]*\n}\n"
    + _KEY
    + r")(?P<value>\w+) = (?P<lookup>CPyObject_GetAttr\((?P=of), (?P=key)\));"
)
_FIELD = re.compile(rf"(?m)^(?P<before>{_KEY})(?P<value>\w+) = CPyObject_GetAttr\((?P<asked>\w+, (?P=key))\);$")


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


def strip_indentation(code: str) -> str:
    """Generated C without what mypyc indents each declaration by, further than the one before: 50 of the 71 MB that gcc would read."""
    return re.sub(r"(?m)^ +", "", code)


def find_changing(sources: Iterable[str]) -> frozenset[str]:
    """The global names that one of the sources binds more than once, or may, and those of numbers: limits, which tests set."""
    counts = (_count_bindings(ast.parse(source)) for source in sources)
    return frozenset(name for times in counts for name, often in times.items() if often > 1)


def _count_bindings(tree: ast.Module) -> Counter[str]:
    """How often a module binds its global names; 2 stands for what may be more than once."""
    times: Counter[str] = Counter()
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            times[statement.name] += 1
        else:
            stored = [
                one.id for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
            ]
            times.update(stored if _is_table(statement) else stored * 2)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            times.update(node.names * 2)
    return times


def _is_table(statement: ast.stmt) -> bool:
    """Whether a statement gives a name something other than a number."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
    return value is not None and not (isinstance(value, ast.Constant) and isinstance(value.value, (int, float)))


def keep_lookups(code: str, changing: frozenset[str]) -> str:
    """Generated C that looks a global name up once where it is not `changing`, and reads a field of a struct by its offset.

    What one compiled module takes from another is C's. For what stands elsewhere it asks Python each time: for `ir.Call` by the name of the
    module, and then by that of the class. A tenth of a run goes into it.
    """
    kept: dict[tuple[str, str], str] = {}
    fields = itertools.count()

    def once(module: str, found: re.Match[str]) -> str:
        place = kept.setdefault((module, found["text"]), f"kept_names[{len(kept)}]")
        value = found["value"]
        lookup = f"if ({place} == NULL) {place} = {found['lookup']};\n{value} = {place};\nPy_XINCREF({value});"
        return found["before"] + lookup

    def field(found: re.Match[str]) -> str:
        return f"{found['before']}{found['value']} = get_field({found['asked']}, &field_places[{next(fields)}]);"

    rewritten = _OF_MODULE.sub(lambda found: once("", found), code)
    rewritten = _OF_GLOBALS.sub(
        lambda found: found[0] if found["name"] in changing else once(found["module"], found), rewritten
    )
    rewritten = _FIELD.sub(field, rewritten)
    if rewritten == code:
        return code  # it only loads a module from the library
    places = f"static PyObject *kept_names[{len(kept) + 1}];\nstatic FieldPlace field_places[{next(fields) + 1}];\n"
    end = code.index("\n\n")  # of what it includes
    return code[:end] + LOOKUPS + places + rewritten[end:]


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
        changing = find_changing(Path(source).read_text(encoding="utf-8") for source in sources)
        for module in modules:
            for source in map(Path, module.sources):
                code = strip_indentation(source.read_text(encoding="utf-8"))
                # Without the lock of the interpreter two threads might keep half a place each.
                source.write_text(
                    code if sysconfig.get_config_var("Py_GIL_DISABLED") else keep_lookups(code, changing),
                    encoding="utf-8",
                )
            # Python's own flags ask for warnings. To look for misleading indentation in 60 MB of generated code takes gcc
            # more than twice as long as to compile it, and to silence it (`-w`) does not keep it from looking.
            # `-Og` is three fifths of the work of `-O1`; of two such options the last one counts.
            level = [] if everything else ["-Og"]
            # What others cannot call, compiled functions call by its address, and gcc drops the copies that nobody calls.
            hidden = "-fvisibility=hidden"
            module.extra_compile_args = [*module.extra_compile_args, "-Wno-all", "-w", hidden, *level]
        command = build_ext(Distribution({"name": "xlalint", "ext_modules": modules}))
        command.build_lib, command.build_temp = "out", "temp"
        command.ensure_finalized()
        command.run()
    finally:
        os.chdir(here)
    out = folder / "out"
    libraries = [path for path in sorted(out.rglob("*")) if path.suffix in (".so", ".pyd")]
    return [(path, path.relative_to(out).as_posix()) for path in libraries]
