"""Targets are found and described without importing anything; where that fails, the message says what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.config.settings import Settings, VerifyEntry
from xlalint.verify import backends
from xlalint.verify.inputs import parse_inputs
from xlalint.verify.targets import Target, TargetError, Told, targets_of

MODEL = """\
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

raise RuntimeError("imported")


# xlalint: inputs(x="f32[B=8,4]", mask="bool[B]")
def step(x, mask):
    return x


class Model:
    # xlalint: inputs(x="f32[2]")
    def forward(self, x):
        return x


def bare(x, labels, attention_mask, scale=1.0): ...


def typed(x: Float[Array, "b 3"], n): ...


def free(x, **rest): ...


def nothing(): ...


compiled = jax.jit(step)
"""

LAZY = """\
def own(x): ...


def __getattr__(name):
    raise RuntimeError("imported")
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pkg" / "inner").mkdir(parents=True)
    for folder in ("pkg", "pkg/inner"):
        (tmp_path / folder / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (tmp_path / "pkg" / "inner" / "model.py").write_text(MODEL)
    (tmp_path / "lazy" / "inner").mkdir(parents=True)
    (tmp_path / "lazy" / "__init__.py").write_text(LAZY)
    (tmp_path / "lazy" / "inner" / "model.py").write_text(MODEL)
    (tmp_path / "lazy" / "one.py").write_text("class Twice: ...\n")
    (tmp_path / "lazy" / "two.py").write_text("def Twice(x): ...\ndef outer():\n    def hidden(x): ...\n")
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "none.py").write_text("def f(x): ...\n")
    (tmp_path / "broken.py").write_text("x = 1\ndef f(:\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def one(text: str, told: Told = Told(), *entries: VerifyEntry) -> Target | TargetError:  # noqa: B008
    (found,) = targets_of([text], entries, told)
    return found


@pytest.mark.parametrize(
    ("text", "told", "inputs"),
    [
        ("model.py:step", Told(), 'x="f32[B=8,4]", mask="bool[B]"'),
        ("./model.py:step", Told(), 'x="f32[B=8,4]", mask="bool[B]"'),
        ("model:step", Told(), 'x="f32[B=8,4]", mask="bool[B]"'),
        ("pkg.inner.model:step", Told(), 'x="f32[B=8,4]", mask="bool[B]"'),
        ("pkg/inner/model.py:Model.forward", Told(), 'x="f32[2]"'),
        ("model.py:step", Told(inputs='mask="bool[8]"'), 'mask="bool[8]", x="f32[B=8,4]"'),
        ("model.py:Model", Told(inputs='x="f32[3]"'), 'x="f32[3]"'),
        ("model.py:typed", Told(inputs="n=3"), 'x="f32[b,3]", n=3'),
        ("model.py:free", Told(inputs="x=1, y=2"), "x=1, y=2"),
        ("model.py:bare", Told(inputs='"f32[8]", "i64[8]", "bool[8]"'), '"f32[8]", "i64[8]", "bool[8]"'),
        ("model.py:compiled", Told(inputs='x="f32[8]"'), 'x="f32[8]"'),
        ("model.py:nothing", Told(), ""),
        ("lazy:step", Told(), 'x="f32[B=8,4]", mask="bool[B]"'),
        ("lazy:Model", Told(), 'x="f32[2]"'),
        ("lazy:Model.forward", Told(), 'x="f32[2]"'),
    ],
)
def test_targets(text: str, told: Told, inputs: str) -> None:
    found = one(text, told)
    assert isinstance(found, Target), found
    assert found.specs == parse_inputs(inputs)
    assert found.backend == "jax"


@pytest.mark.parametrize(
    ("text", "told", "message"),
    [
        ("model.py:stpe", Told(), "no `stpe` in .*model.py; did you mean `step`?"),
        ("model.ipynb:step", Told(), "model.ipynb: a notebook cannot be a target"),
        ("model.py:Model.fwd", Told(), "no `Model.fwd` in .*; did you mean `Model.forward`?"),
        ("model.py:zzz", Told(), "no `zzz` in .*model.py; there are .*step"),
        ("no.py:f", Told(), "no.py: "),
        ("no.such.module:f", Told(), "no module `no.such.module` in .* a target is"),
        ("pkg.inner", Told(), "`pkg.inner` is not a target; a target is `pkg.mod:fn`"),
        ("pkg.inner:step", Told(), "no `step` in .*__init__.py"),
        ("lazy/__init__.py:step", Told(), "no `step` in .*__init__.py"),
        ("lazy:stpe", Told(), "no `stpe` in .*__init__.py"),
        ("lazy:hidden", Told(), "no `hidden` in .*__init__.py"),
        ("lazy:own", Told(inputs="x=1"), "__init__.py imports no framework"),
        ("lazy:Twice", Told(), "several of its modules define it: name one of `lazy.one:Twice`, `lazy.two:Twice`"),
        ("a b:f", Told(), "`a b` is not a target; a target is"),
        ("broken.py:f", Told(), "broken.py: not Python"),
        ("none.py", Told(), r"none.py declares nothing to verify: .*; name one, as in `none.py:f`"),
        ("none.py:f", Told(inputs="x=1"), "none.py imports no framework: say which to run it on: --backend"),
        ("model.py:step", Told(inputs="maks=1"), "`step` has no parameter `maks`; did you mean `mask`?"),
        ("model.py:nothing", Told(inputs="x=1"), "`nothing` has no parameter `x`; it takes none"),
        ("model.py:step", Told(inputs="x=f32[8]"), "model.py:step: input `x`: `f32"),
        ("model.py:typed", Told(), "no inputs are declared for `typed` .`n`: nothing says what it is"),
    ],
)
def test_refusals(text: str, told: Told, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        found = one(text, told)
        assert isinstance(found, TargetError), found
        raise found


def test_what_to_write_is_said() -> None:
    found = one("model.py:bare")
    assert isinstance(found, TargetError)
    assert (
        found.place is not None
        and found.place.line == MODEL.splitlines().index("def bare(x, labels, attention_mask, scale=1.0): ...") + 1
    )
    assert str(found).splitlines()[1:] == [
        '    # xlalint: inputs(x="f32[8,16]", labels="i64[8] 0..3", attention_mask="bool[8]")',
        """or give them: --inputs 'x="f32[8,16]", labels="i64[8] 0..3", attention_mask="bool[8]"'""",
    ]


def test_a_file_stands_for_all_that_it_declares(project: Path) -> None:
    entry = VerifyEntry(f"{project}/model.py:bare", 'x="f32[2]", labels="i64[2]", attention_mask="bool[2]"')
    other = VerifyEntry(f"{project}/none.py:f", "x=1", backend="tensorflow", max_compiles=3)
    found = list(targets_of(["model.py"], [entry, other], Told()))
    assert [target.subject.name for target in found if isinstance(target, Target)] == ["step", "Model.forward", "bare"]
    found = list(targets_of([], [entry, other], Told()))
    assert [(t.subject.name, t.backend, t.max_compiles) for t in found if isinstance(t, Target)] == [
        ("bare", "jax", None),
        ("f", "tensorflow", 3),
    ]


def test_an_entry_for_a_marked_function_takes_its_place() -> None:
    entry = VerifyEntry("model.py:step", 'x="f32[3]"', factory="", backend="torch_compile")
    (found, _) = reversed(list(targets_of(["model.py"], [entry], Told())))
    assert isinstance(found, Target)
    assert found.specs.arguments == parse_inputs('x="f32[3]", mask="bool[B]"').arguments
    assert found.backend == "torch_compile"


def test_one_that_cannot_be_run_leaves_the_others() -> None:
    found = list(targets_of(["model.py:no", "model.py:step"], [], Told()))
    assert [type(target) for target in found] == [TargetError, Target]


def test_a_mark_that_cannot_be_read_leaves_the_others(tmp_path: Path) -> None:
    file = tmp_path / "marked.py"
    file.write_text(
        "import jax\n# xlalint: inputs(x=thing)\ndef f(x): ...\n# xlalint: inputs(x='f32[8]')\ndef g(x): ...\n"
    )
    wrong, right = targets_of([str(file)], [], Told())
    assert isinstance(wrong, TargetError) and f"{file}:2: input `x`" in str(wrong)
    assert isinstance(right, Target) and right.subject.name == "g"
    (wrong,) = targets_of([f"{file}:f"], [], Told())
    (right,) = targets_of([f"{file}:g"], [], Told())
    assert isinstance(wrong, TargetError) and isinstance(right, Target)


@pytest.mark.parametrize(
    ("imports", "torch_backend", "backend"),
    [
        ("import torch", "torch_xla", "torch_xla"),
        ("import torch", "", "torch_tpu"),
        ("import torch, torch_xla", "", "torch_xla"),
        ("import torch\nimport torch_xla.core.xla_model as xm", "torch_tpu", "torch_tpu"),
        ("import torch\nimport torch_neuronx", "", "torch_xla"),
        ("import torch_tpu", "", "torch_tpu"),
        ("from torch import nn", "torch_compile", "torch_compile"),
        ("import tensorflow as tf\nimport keras", "torch_xla", "tensorflow"),
        ("def g():\n    from flax import linen", "torch_xla", "jax"),
    ],
)
def test_the_imports_say_the_backend(
    project: Path, monkeypatch: pytest.MonkeyPatch, imports: str, torch_backend: str, backend: str
) -> None:
    monkeypatch.setattr(backends, "find_spec", lambda package: package)
    (project / "some.py").write_text(f"{imports}\n\n\ndef f(): ...\n")
    found = one("some.py:f", Told(torch_backend=torch_backend))
    assert isinstance(found, Target)
    assert found.backend == backend


@pytest.mark.parametrize(
    ("imports", "requirements", "installed", "backend", "said"),
    [
        ("import torch", (), ("torch_tpu", "torch_xla"), "torch_tpu", False),
        ("import torch", (), ("torch_tpu",), "torch_tpu", False),
        ("import torch", (), (), "torch_tpu", False),  # what is missing is said when it is run
        ("import torch, torch_xla", (), ("torch_tpu", "torch_xla"), "torch_xla", False),
        ("import torch", ("torch<2.10",), ("torch_tpu", "torch_xla"), "torch_xla", False),
        ("import jax", (), ("torch_xla",), "jax", False),
        ("import torch", (), ("torch_xla",), "torch_xla", True),
        ("import torch, torch_xla", (), ("torch_tpu",), "torch_tpu", True),
    ],
)
def test_what_is_not_installed_gives_way(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    imports: str,
    requirements: tuple[str, ...],
    installed: tuple[str, ...],
    backend: str,
    said: bool,
) -> None:
    there = {"torch", *backends.SHARED, *installed, *(("lammps_jax_pjrt_cpu",) if "torch_tpu" in installed else ())}
    monkeypatch.setattr(backends, "find_spec", lambda package: package if package in there else None)
    (project / "some.py").write_text(f"{imports}\n\n\ndef f(): ...\n")
    found = one("some.py:f", Told(settings=Settings(requirements=requirements)))
    assert isinstance(found, Target)
    assert (found.backend, bool(found.instead)) == (backend, said)
    assert not said or "pip install 'xlalint[torch-" in found.instead
    for named in (Told(backend="torch_tpu"), Told(torch_backend="torch_tpu")) if said else ():
        found = one("some.py:f", named)
        assert isinstance(found, Target)
        assert (found.backend, found.instead) == ("torch_tpu", "")


def test_two_frameworks_need_a_word(project: Path) -> None:
    (project / "some.py").write_text("import torch, jax\n\n\ndef f(): ...\n")
    found = one("some.py:f")
    assert isinstance(found, TargetError)
    assert "imports torch and jax: say which" in str(found)
    assert isinstance(one("some.py:f", Told(backend="jax")), Target)
