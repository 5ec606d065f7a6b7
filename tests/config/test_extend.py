"""Configuration files that extend others, settings given in `--config`, and what patterns say of single files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from xlalint.config import ConfigError, Settings, load_settings
from xlalint.config.loading import read_inline
from xlalint.config.tree import load_configuration


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


# ------------------------------------------------------------------------------------------------ extend


def test_what_the_file_does_not_say_is_as_in_the_one_that_it_extends(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "base.toml": "device = 'gpu'\nmin-confidence = 'certain'\nignore = ['XLA208']\nextend-exclude = ['a']",
            "p/xlalint.toml": "extend = '../base.toml'\ndevice = 'cpu'\nextend-exclude = ['b']",
        },
    )
    found = load_settings([root / "p"])
    assert (found.device, found.min_confidence, found.ignore) == ("cpu", "certain", ("XLA208",))
    assert found.extend_exclude == ("a", "b")
    assert found.config_file == str(root / "p/xlalint.toml")
    assert found.extends == (str(root / "base.toml"),)


def test_several_files_extend_each_other_in_turn(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "a.toml": "device = 'gpu'\ntarget = 'jax'",
            "pyproject.toml": "[tool.xlalint]\nextend = 'a.toml'\ntarget = 'tf'",
            "p/xlalint.toml": "extend = '../pyproject.toml'",
        },
    )
    found = load_settings([root / "p"])
    assert (found.device, found.target, len(found.extends)) == ("gpu", "tf", 2)


def test_selections_are_merged_as_those_of_the_command_line_are(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "base.toml": "select = ['XLA1', 'XLA2']\nignore = ['XLA101', 'XLA208']",
            "p/xlalint.toml": "extend = '../base.toml'\nextend-select = ['XLA101']",
            "q/xlalint.toml": "extend = '../base.toml'\nselect = ['XLA3']",
        },
    )
    found = load_settings([root / "p"])
    assert [found.enabled(code) for code in ("XLA101", "XLA102", "XLA208", "XLA301")] == [True, True, False, False]
    assert load_settings([root / "q"]).select == ("XLA3",)


def test_patterns_mean_what_they_mean_in_their_own_folder(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "base.toml": "[per-file-ignores]\n'p/a.py' = ['XLA1']\n'gen_*.py' = ['XLA2']",
            "p/xlalint.toml": "extend = '../base.toml'",
        },
    )
    found = load_settings([root / "p"])
    assert not found.enabled("XLA101", str(root / "p/a.py"))
    assert found.enabled("XLA101", str(root / "p/p/a.py"))
    assert not found.enabled("XLA201", str(root / "p/b/gen_x.py"))


def test_paths_start_at_the_folder_of_the_file_that_has_them(tmp_path: Path) -> None:
    root = write(tmp_path, {"c/base.toml": "baseline = 'b.json'", "p/xlalint.toml": "extend = '../c/base.toml'"})
    assert load_settings([root / "p"]).baseline == str(root / "c/b.json")


def test_an_environment_that_is_extended_is_the_one_that_counts(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "base.toml": "python = ''",
            "p/xlalint.toml": "extend = '../base.toml'",
            "p/.venv/pyvenv.cfg": "",
            "p/.venv/lib/python3.11/site-packages/x.py": "",
            "p/pyproject.toml": "",
        },
    )
    assert load_settings([root / "p"]).python is None


def test_nested_files_extend_too(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "xlalint.toml": "ignore = ['XLA301']\njobs = 2",
            "p/xlalint.toml": "extend = '../xlalint.toml'\ndevice = 'gpu'",
            "p/m.py": "",
        },
    )
    found = load_configuration([root]).survey([root])
    nested = found.settings.of(str(root / "p/m.py"))
    assert (nested.device, nested.ignore, nested.jobs) == ("gpu", ("XLA301",), 2)
    assert (found.warnings, found.errors) == ((), ())


@pytest.mark.parametrize(
    ("files", "says"),
    [
        pytest.param(
            {"xlalint.toml": "extend = 'gone.toml'"}, "gone.toml: the configuration cannot be read", id="gone"
        ),
        pytest.param({"xlalint.toml": "extend = 3"}, "`extend`: must be a string", id="type"),
        pytest.param({"xlalint.toml": "extend = 'xlalint.toml'"}, "leads back to where it began", id="itself"),
        pytest.param(
            {"xlalint.toml": "extend = 'a.toml'", "a.toml": "extend = 'xlalint.toml'"}, "leads back", id="circle"
        ),
        pytest.param({"xlalint.toml": "extend = 'a.toml'", "a.toml": "devise = 1"}, "did you mean `device`", id="key"),
        pytest.param({"xlalint.toml": "extend = 'a.toml'", "a.toml": "not [ toml"}, "not a TOML file", id="broken"),
    ],
)
def test_what_cannot_be_extended_is_told_in_one_line(tmp_path: Path, files: Mapping[str, str], says: str) -> None:
    write(tmp_path / "p", files)
    with pytest.raises(ConfigError) as error:
        load_settings([tmp_path / "p"])
    assert says in str(error.value)
    assert ("did you mean" in str(error.value)) == ("did you mean" in says)
    assert "\n" not in str(error.value)


# ------------------------------------------------------------------------------------------------ --config


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param('device = "gpu"', {"device": "gpu"}, id="word"),
        pytest.param("show-info=true", {"show_info": True}, id="flag"),
        pytest.param('select = ["XLA1"]', {"select": ["XLA1"]}, id="list"),
        pytest.param('per-file-ignores = {"a.py" = ["XLA1"]}', {"per_file_ignores": {"a.py": ["XLA1"]}}, id="table"),
        pytest.param('tool.xlalint.device = "gpu"', {"device": "gpu"}, id="as-in-pyproject"),
    ],
)
def test_a_setting_is_read_as_a_file_has_it(text: str, told: Mapping[str, object]) -> None:
    assert read_inline(text) == told


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param('devise = "gpu"', "--config: `devise`: unknown key; did you mean `device`?", id="key"),
        pytest.param("nope = 3", "--config: `nope`: unknown key", id="key-like-none"),
        pytest.param('device = "gpuu"', "did you mean `gpu`", id="word"),
        pytest.param("device = gpu", "neither a file nor `KEY = VALUE` in TOML", id="no-toml"),
        pytest.param("extend = 'a.toml'", "only a configuration file can extend another", id="extend"),
    ],
)
def test_what_is_no_setting_is_told(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_inline(text)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


# ------------------------------------------------------------------------------------------------ single files


def test_the_first_pattern_that_matches_says_the_target() -> None:
    root = os.path.abspath("r")  # noqa: PTH100
    settings = Settings(
        root=root, target="torch_xla", per_file_target=(("gpu/*.py", "torch_compile"), ("*.py", "torch_tpu"))
    )
    assert settings.of(f"{root}/gpu/a.py").target == "torch_compile"
    assert settings.of(f"{root}/b.py").target == "torch_tpu"
    assert settings.of(f"{root}/n.ipynb").target == "torch_xla"
    assert settings.of(f"{root}/b.py") is settings.of(f"{root}/c.py")


def test_a_device_of_a_file_leaves_its_target() -> None:
    settings = Settings(root="/r", target="jax", per_file_device=(("serve/**", "gpu"),))
    found = settings.of("/r/serve/a/b.py")
    assert (found.target, found.device) == ("jax", "gpu")
    assert settings.of("/r/a.py").device == "tpu"


def test_what_files_say_counts_for_what_is_kept() -> None:
    plain = Settings(root="/r")
    assert plain.fingerprint() != Settings(root="/r", per_file_target=(("a.py", "jax"),)).fingerprint()
    assert plain.fingerprint() != Settings(root="/r", ignore_noqa=True).fingerprint()
    assert plain.fingerprint() != Settings(root="/r", unfixable=("XLA1",)).fingerprint()
    assert plain.fingerprint() == Settings(root="/r", unsafe_fixes=True, extends=("/b.toml",)).fingerprint()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(Settings(), True, id="by-default"),
        pytest.param(Settings(unfixable=("XLA101",)), False, id="unfixable"),
        pytest.param(Settings(fixable=("XLA2",)), False, id="not-fixable"),
        pytest.param(Settings(fixable=("XLA101",), unfixable=("XLA1",)), True, id="the-longer-prefix-counts"),
        pytest.param(Settings(fixable=("XLA1",), unfixable=("XLA1",)), False, id="a-tie"),
    ],
)
def test_which_rules_may_be_fixed(settings: Settings, expected: bool) -> None:
    assert settings.may_fix("XLA101") == expected
