"""What running targets showed is kept by their code, inputs and what was asked of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from xlalint.cache import Cache
from xlalint.verify.kept_targets import KeptTargets, SeenVerdict
from xlalint.verify.model import Verdict
from xlalint.verify.targets import Target, Told, target_of

TEXT = 'import jax\nfrom helper import scale\n\n\n# xlalint: inputs(x="f32[4]")\ndef f(x):\n    return scale(x)\n'
CLASS = "import jax\n\n\nclass Scale:\n    def __call__(self, x):\n        return x\n"
NOTHING = Told()
Change = Callable[[Path], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(TEXT)
    (tmp_path / "helper.py").write_text("def scale(x):\n    return x * 3\n")
    (tmp_path / "unused.py").write_text("a = 1\n")
    (tmp_path / "maker.py").write_text("def make():\n    return None\n")
    (tmp_path / "scale.py").write_text(CLASS)
    return tmp_path


def target(folder: Path, told: Told = NOTHING) -> Target:
    return target_of(f"{folder}/model.py:f", (), told)


def key(folder: Path, *given: object, told: Told = NOTHING) -> str:
    return KeptTargets(Cache(None)).key((target(folder, told),), *given)


def change(name: str, text: str) -> Change:
    return lambda folder: (folder / name).write_text((folder / name).read_text().replace("\n", f"{text}\n", 1))


@pytest.mark.parametrize(
    ("edit", "same"),
    [
        pytest.param(lambda folder: None, True, id="nothing"),
        pytest.param(change("unused.py", "  # 2"), True, id="a file that it does not import"),
        pytest.param(lambda folder: (folder / "new.py").write_text("b = 2\n"), True, id="another file"),
        pytest.param(lambda folder: (folder / "model.py").touch(), True, id="the time of its file"),
        pytest.param(change("model.py", "  # 2"), False, id="its file"),
        pytest.param(change("helper.py", "  # 2"), False, id="what it imports"),
        pytest.param(lambda folder: (folder / "helper.py").unlink(), False, id="what it imports is gone"),
    ],
)
def test_a_key_is_of_the_code_that_is_reached(folder: Path, edit: Change, same: bool) -> None:
    before = key(folder)
    edit(folder)
    assert (key(folder) == before) is same


@pytest.mark.parametrize(
    ("given", "told", "same"),
    [
        pytest.param((8, ()), Told(), True, id="as before"),
        pytest.param((9, ()), Told(), False, id="steps"),
        pytest.param((8, ("shape",)), Told(), False, id="what varies"),
        pytest.param((8, ()), Told(inputs='x="f32[5]"'), False, id="inputs"),
        pytest.param((8, ()), Told(backend="tensorflow"), False, id="the backend"),
    ],
)
def test_a_key_is_of_what_was_asked(folder: Path, given: tuple[object, ...], told: Told, same: bool) -> None:
    assert (key(folder, *given, told=told) == key(folder, 8, ())) is same


def test_a_key_is_of_the_module_that_makes_an_instance(folder: Path) -> None:
    def made() -> str:
        told = Told(inputs='x="f32[4]"', factory="maker:make")
        return KeptTargets(Cache(None)).key((target_of(f"{folder}/scale.py:Scale", (), told),))

    before = made()
    change("unused.py", "  # 2")(folder)
    assert made() == before
    change("maker.py", "  # 2")(folder)
    assert made() != before


@pytest.mark.parametrize(
    ("name", "value", "same"),
    [
        ("HOME", "/elsewhere", True),
        ("XLA_FLAGS", "--xla_cpu_enable_fast_math=true", False),
        ("JAX_ENABLE_X64", "1", False),
    ],
)
def test_a_key_is_of_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, same: bool
) -> None:
    monkeypatch.delenv(name, raising=False)
    before = key(folder)
    monkeypatch.setenv(name, value)
    assert (key(folder) == before) is same


def test_an_earlier_text_of_a_file_is_its_own(folder: Path) -> None:
    kept, now = KeptTargets(Cache(None)), target(folder)
    before = now._replace(subject=msgspec.structs.replace(now.subject, text=TEXT.replace("scale(x)", "x")))
    assert kept.key((now, before)) != kept.key((now, now))


def test_nothing_is_kept_on_a_backend_of_the_user_s_own(folder: Path, tmp_path: Path) -> None:
    kept = KeptTargets(Cache(tmp_path / "cache"))
    assert kept.key((target(folder, Told(backend="standins.plain")),)) == ""
    kept.keep("", SeenVerdict(Verdict("proven")))
    assert kept.find("", SeenVerdict) is None


def test_what_is_kept_is_found_in_a_later_run(folder: Path, tmp_path: Path) -> None:
    seen = SeenVerdict(Verdict("refuted", "values", "x = 1"), 2.5)
    with Cache(tmp_path / "cache") as cache:
        KeptTargets(cache).keep(key(folder), seen)
    with Cache(tmp_path / "cache") as cache:
        assert KeptTargets(cache).find(key(folder), SeenVerdict) == seen
        assert KeptTargets(cache).find("another", SeenVerdict) is None
