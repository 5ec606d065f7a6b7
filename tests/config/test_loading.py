"""Configuration files and options → settings, or one clear line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlalint.config import ConfigError, Settings, load_settings, settings_from

TABLE = "[tool.xlalint]\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("files", "used"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"p/pyproject.toml": "[tool.ruff]\n"}, None, id="project-without-table"),
        pytest.param({"p/pyproject.toml": "not [ toml"}, None, id="broken-file-of-others"),
        pytest.param({"q/xlalint.toml": "device = 'gpu'"}, None, id="beside"),
        pytest.param({"p/a/xlalint.toml": "device = 'gpu'"}, None, id="below-the-common-folder"),
        pytest.param({"p/pyproject.toml": f"{TABLE}device = 'gpu'"}, "p/pyproject.toml", id="project"),
        pytest.param({"p/xlalint.toml": "device = 'gpu'"}, "p/xlalint.toml", id="own-file"),
        pytest.param({"p/xlalint.toml": f"{TABLE}device = 'gpu'"}, "p/xlalint.toml", id="own-file-with-table"),
        pytest.param(
            {"p/xlalint.toml": "device = 'gpu'", "p/pyproject.toml": TABLE}, "p/xlalint.toml", id="own-file-first"
        ),
        pytest.param({"p/pyproject.toml": "", "xlalint.toml": "device = 'gpu'"}, "xlalint.toml", id="above"),
        pytest.param({"p/xlalint.toml": "device = 'gpu'", "xlalint.toml": ""}, "p/xlalint.toml", id="nearest"),
        pytest.param({"cwd/xlalint.toml": "device = 'gpu'"}, "cwd/xlalint.toml", id="working-directory"),
        pytest.param(
            {"p/xlalint.toml": "device = 'gpu'", "cwd/xlalint.toml": ""}, "p/xlalint.toml", id="paths-before-cwd"
        ),
    ],
)
def test_which_file(tmp_path: Path, files: Mapping[str, str], used: str | None) -> None:
    for name, text in files.items():
        write(tmp_path / name, text)
    settings = load_settings([tmp_path / "p/a/m.py", tmp_path / "p/b"])
    assert settings.config_file == (str(tmp_path / used) if used else None)
    assert settings.device == ("gpu" if used else "tpu")
    assert settings.root == str((tmp_path / used).parent if used else tmp_path / "cwd")


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """A project with an environment of its own, and others around."""
    for place in ("p/.venv", "active", "told"):
        write(tmp_path / place / "lib/python3.11/site-packages/a.py", "")
    write(tmp_path / "p/pyproject.toml", "")
    return tmp_path


@pytest.mark.parametrize(
    ("active", "table", "option", "used"),
    [
        pytest.param(None, "", None, "p/.venv", id="the-project's"),
        pytest.param("active", "", None, "active", id="the-active-one"),
        pytest.param("gone", "", None, "p/.venv", id="active-but-gone"),
        pytest.param("active", "python = '../told'", None, "told", id="the-table's"),
        pytest.param("active", "python = ''", None, None, id="none-by-the-table"),
        pytest.param("active", "python = '../told'", "", None, id="none-by-the-option"),
        pytest.param("active", "python = ''", "../told", "told", id="the-option's"),
    ],
)
def test_which_environment(
    places: Path, monkeypatch: pytest.MonkeyPatch, active: str | None, table: str, option: str | None, used: str | None
) -> None:
    if active is not None:
        monkeypatch.setenv("VIRTUAL_ENV", str(places / active))
    if table:
        write(places / "p/xlalint.toml", table)
    told = {} if option is None else {"python": option}
    expected = str(places / used) if used else None
    assert load_settings([places / "p/a.py"], options=told).python == expected
    assert load_settings([places / "p/a.py"], options=told, config=write(places / "p/x.toml", table)).python == expected


def test_no_environment_is_taken_from_elsewhere(places: Path) -> None:
    assert load_settings([places / "q/a.py"]).python is None
    assert load_settings([places / "p/a.py"], isolated=True).python == str(places / "p/.venv")
    assert settings_from({}, {}).python is None
    assert Settings().python is None


def test_isolated_and_given(tmp_path: Path) -> None:
    write(tmp_path / "cwd/xlalint.toml", "device = 'gpu'")
    other = write(tmp_path / "other.toml", "\ufeffdevice = 'cpu'")
    assert load_settings(isolated=True).device == "tpu"
    assert load_settings(config=other).device == "cpu"
    with pytest.raises(ConfigError, match="exclude each other"):
        load_settings(config=other, isolated=True)
    with pytest.raises(ConfigError, match=r"gone\.toml: the configuration cannot be read"):
        load_settings(config=tmp_path / "gone.toml")


def test_every_key(tmp_path: Path) -> None:
    (tmp_path / "cwd/env/lib/python3.11/site-packages").mkdir(parents=True)
    file = write(
        tmp_path / "cwd/pyproject.toml",
        """
        [tool.xlalint]
        select = ["XLA1", "item", "xla2"]
        extend-select = ["XLA202"]
        ignore = ["tensor-while"]
        target = "torch_compile"
        device = "gpu"
        min-confidence = "possible"
        show-info = true
        exclude = ["a"]
        extend-exclude = ["b/*"]
        respect-gitignore = false
        roots = ["pkg.*.loss"]
        static = ["config"]
        tensor = ["batch"]
        cache-dir = "cache"
        python = "env"
        jobs = 2
        [tool.xlalint.per-file-ignores]
        "tests/*" = ["XLA3", "tensor-if"]
        """,
    )
    assert load_settings() == Settings(
        root=str(file.parent),
        config_file=str(file),
        select=("XLA1", "XLA301", "XLA2"),
        extend_select=("XLA202",),
        ignore=("XLA102",),
        per_file_ignores=(("tests/*", ("XLA3", "XLA101")),),
        target="torch_compile",
        device="gpu",
        min_confidence="possible",
        show_info=True,
        exclude=("a",),
        extend_exclude=("b/*",),
        respect_gitignore=False,
        roots=("pkg.*.loss",),
        static=("config",),
        tensor=("batch",),
        cache_dir=str(file.parent / "cache"),
        python=str(file.parent / "env"),
        jobs=2,
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("slect = []", "`slect`: unknown key; did you mean `select`?", id="key"),
        pytest.param(
            "min_confidence = 'likely'",
            "`min_confidence`: unknown key; did you mean `min-confidence`?",
            id="underscore",
        ),
        pytest.param("zzz = 1", "`zzz`: unknown key", id="key-like-none"),
        pytest.param("pyhton = 'env'", "`pyhton`: unknown key; did you mean `python`?", id="another-key"),
        pytest.param("python = 3", "`python`: must be a string, not 3", id="version"),
        pytest.param("python = 'gone'", "`python`: neither an interpreter nor an environment with packages", id="gone"),
        pytest.param(
            "select = ['XLA1O1']",
            "`select`: no rule has the code, prefix or name `XLA1O1`; did you mean `XLA",
            id="code",
        ),
        pytest.param("ignore = ['tensor-iff']", "did you mean `tensor-if`", id="name"),
        pytest.param("per-file-ignores = { a = ['XLA9'] }", "`per-file-ignores`: no rule has", id="prefix"),
        pytest.param(
            "target = 'torchxla'", "`target`: unknown value `torchxla`; did you mean `torch_xla`?", id="target"
        ),
        pytest.param("device = 'TPU'", "`device`: unknown value `TPU`", id="device"),
        pytest.param("min-confidence = 1", "`min-confidence`: must be a string, not 1", id="not-a-string"),
        pytest.param("select = 'XLA1'", "`select`: must be a list of strings, not 'XLA1'", id="not-a-list"),
        pytest.param("roots = [1]", "`roots`: must be a list of strings, not [1]", id="not-strings"),
        pytest.param("show-info = 'yes'", "`show-info`: must be true or false, not 'yes'", id="not-a-flag"),
        pytest.param(
            'max-file-size = "5 TB"', "`max-file-size`: must be a number of bytes or a size", id="unknown-unit"
        ),
        pytest.param('max-file-size = "2GB"', "`max-file-size`: must be from 1 byte to 1 GB", id="too-large-a-limit"),
        pytest.param('max-file-size = "0MB"', "`max-file-size`: must be from 1 byte to 1 GB", id="no-limit"),
        pytest.param("jobs = -1", "`jobs`: must be a whole number from 0", id="negative"),
        pytest.param(
            "jobs = true", "`jobs`: must be a whole number from 0 (one per core), not true", id="flag-for-number"
        ),
        pytest.param("per-file-ignores = ['a']", "`per-file-ignores`: must be a table", id="not-a-table"),
        pytest.param("per-file-ignores = { a = 'XLA1' }", "must be a list of strings", id="not-a-list-inside"),
        pytest.param("extend-rules = ['nowhere']\nselect = ['XLA1']", "nowhere", id="no-such-rules"),
        pytest.param("a = ", "not a TOML file", id="broken"),
        pytest.param("tool.xlalint = 1", "`tool.xlalint` must be a table", id="no-table"),
    ],
)
def test_errors_are_one_line_with_the_file(tmp_path: Path, text: str, says: str) -> None:
    file = write(tmp_path / "cwd/xlalint.toml", text)
    with pytest.raises(ConfigError) as caught:
        load_settings()
    message = str(caught.value)
    assert says in message
    assert str(file) in message
    assert "\n" not in message


def test_errors_of_options_name_the_option() -> None:
    with pytest.raises(ConfigError, match=r"^--extend-select: no rule has .*`XLA1O1`"):
        settings_from({}, {"extend_select": ["XLA1O1"]})


@pytest.mark.parametrize(
    ("table", "options", "on", "off"),
    [
        pytest.param({}, {"select": ["XLA1"]}, "XLA101", "XLA201", id="select"),
        pytest.param({"select": ["XLA2"]}, {"select": ["XLA1"]}, "XLA101", "XLA201", id="select-starts-afresh"),
        pytest.param({"ignore": ["XLA101"]}, {"select": ["XLA1"]}, "XLA101", "XLA201", id="and-forgets-ignores"),
        pytest.param({"extend-select": ["XLA2"]}, {"select": ["XLA1"]}, "XLA101", "XLA201", id="and-extensions"),
        pytest.param({"select": ["XLA1"]}, {"ignore": ["XLA102"]}, "XLA101", "XLA102", id="ignore-adds"),
        pytest.param(
            {"select": ["XLA101", "XLA2"]}, {"ignore": ["XLA1"]}, "XLA201", "XLA101", id="ignore-wins-over-the-file"
        ),
        pytest.param({"select": ["XLA1"]}, {"extend_select": ["XLA201"]}, "XLA201", "XLA202", id="extension-adds"),
        pytest.param(
            {"ignore": ["XLA101", "XLA2"]},
            {"extend_select": ["XLA1"]},
            "XLA101",
            "XLA201",
            id="extension-wins-over-the-file",
        ),
        pytest.param({"ignore": ["ALL"]}, {"extend_select": ["item"]}, "XLA301", "XLA101", id="all"),
        pytest.param({"select": []}, {"extend_select": ["item"]}, "XLA301", "XLA101", id="nothing-but"),
    ],
)
def test_options_over_the_file(table: dict[str, object], options: dict[str, object], on: str, off: str) -> None:
    settings = settings_from(table, options)
    assert settings.enabled(on)
    assert not settings.enabled(off)


@pytest.mark.parametrize(
    ("table", "options", "left"),
    [
        pytest.param({"extend-exclude": ["a"]}, {}, ("a",), id="file"),
        pytest.param({}, {"extend_exclude": ["b"]}, ("b",), id="option"),
        pytest.param({"extend-exclude": ["a"]}, {"extend_exclude": ["b"]}, ("a", "b"), id="both"),
        pytest.param({}, {}, (), id="none"),
    ],
)
def test_what_extends_the_exclusions_adds_up(
    table: dict[str, object], options: dict[str, object], left: tuple[str, ...]
) -> None:
    assert settings_from(table, options).extend_exclude == left


@given(
    st.dictionaries(
        st.sampled_from(["select", "target", "jobs", "show-info", "per-file-ignores", "x"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
        ),
    )
)
def test_any_table_is_taken_or_refused(table: dict[str, object]) -> None:
    try:
        settings_from(table, {})
    except ConfigError as error:
        assert str(error)
