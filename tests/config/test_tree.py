"""The configuration that is nearest to each file, within one program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from xlalint.config import ConfigError, Settings, Survey, load_configuration
from xlalint.config.tree import rows_of_keys
from xlalint.source.discovery import discover, unwanted

OWN = "[tool.xlalint]\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def survey(root: Path, *paths: str, config: Path | None = None, isolated: bool = False, **options: object) -> Survey:
    named = [root / path for path in paths or ("",)]
    return load_configuration(named, config=config, isolated=isolated, options=options).survey(named)


def names(root: Path, files: Sequence[Path]) -> list[str]:
    return [os.path.relpath(path, root) for path in files]


# ------------------------------------------------------------------------------------------------ which one holds


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({}, "", id="none"),
        pytest.param({"xlalint.toml": "device = 'cpu'"}, "xlalint.toml", id="the-run's"),
        pytest.param({"a/xlalint.toml": "", "xlalint.toml": ""}, "a/xlalint.toml", id="nearer-than-the-run's"),
        pytest.param({"a/xlalint.toml": ""}, "a/xlalint.toml", id="without-one-of-the-run"),
        pytest.param({"a/b/xlalint.toml": "", "a/xlalint.toml": ""}, "a/b/xlalint.toml", id="nearest"),
        pytest.param({"a/pyproject.toml": f"{OWN}device = 'cpu'"}, "a/pyproject.toml", id="project"),
        pytest.param({"a/pyproject.toml": "[tool.ruff]", "xlalint.toml": ""}, "xlalint.toml", id="others'-project"),
        pytest.param({"a/pyproject.toml": "not [ toml", "xlalint.toml": ""}, "xlalint.toml", id="others'-broken"),
        pytest.param(
            {"a/pyproject.toml": f"{OWN}device = 'cpu'", "a/xlalint.toml": ""}, "a/xlalint.toml", id="own-file-first"
        ),
        pytest.param({"a/c/xlalint.toml": "", "xlalint.toml": ""}, "xlalint.toml", id="beside"),
        pytest.param({"a/b/d/xlalint.toml": "", "xlalint.toml": ""}, "xlalint.toml", id="below"),
        pytest.param({"aa/xlalint.toml": "", "xlalint.toml": ""}, "xlalint.toml", id="name-that-begins-alike"),
        pytest.param({"a/xlalint.toml/x": "", "xlalint.toml": ""}, "xlalint.toml", id="folder-of-that-name"),
    ],
)
@pytest.mark.parametrize("named", [("",), ("a/b/m.py", "z.py"), ("a", "z.py"), ("a/b", "z.py"), ("a/b/*.py", "z.py")])
def test_which_file(tmp_path: Path, files: Mapping[str, str], expected: str, named: Sequence[str]) -> None:
    """However the file is named, as long as the program begins above."""
    root = write(tmp_path / "p", {"a/b/m.py": "", "z.py": "", "a/c/m.py": "", "a/b/d/m.py": "", "aa/m.py": "", **files})
    settings = survey(root, *named).settings
    assert settings.of(str(root / "a/b/m.py")).config_file == (str(root / expected) if expected else None)
    outer = "xlalint.toml" if "xlalint.toml" in files else None
    assert settings.of(str(root / "z.py")).config_file == (str(root / outer) if outer else None)
    assert settings.config_file == (str(root / outer) if outer else None)


def test_a_program_that_begins_below_has_its_nearest_configuration_for_the_run(tmp_path: Path) -> None:
    root = write(tmp_path, {"p/xlalint.toml": "", "p/a/xlalint.toml": "jobs = 3", "p/a/m.py": ""})
    found = survey(root, "p/a")
    assert (found.settings.jobs, found.settings.nested, found.warnings) == (3, (), ())
    assert survey(root, "p/a/m.py").settings.jobs == 3


def test_a_pattern_begins_a_program_where_its_folders_begin(tmp_path: Path) -> None:
    root = write(tmp_path, {"p/a/xlalint.toml": "device = 'gpu'", "p/a/m.py": "", "p/b/m.py": ""})
    settings = survey(root, "p/*/m.py").settings
    assert [settings.of(str(root / "p" / name)).device for name in ("a/m.py", "b/m.py")] == ["gpu", "tpu"]


def test_a_configuration_of_the_working_directory_is_no_stranger_in_the_program(tmp_path: Path) -> None:
    """It is the run's where nothing lies above all paths, and still the nearest to its own files."""
    files = {
        "cwd/xlalint.toml": "jobs = 2\ndevice = 'cpu'",
        "cwd/m.py": "",
        "o/m.py": "",
        "o/xlalint.toml": "device = 'gpu'",
    }
    root = write(tmp_path, files)
    found = survey(root, "cwd", "o")
    assert [found.settings.of(str(root / name)).device for name in ("cwd/m.py", "o/m.py", "m.py")] == [
        "cpu",
        "gpu",
        "cpu",
    ]
    assert (found.settings.jobs, found.warnings) == (2, ())


@pytest.mark.parametrize("how", ["config", "isolated"])
def test_one_that_is_named_or_none_holds_everywhere(tmp_path: Path, how: str) -> None:
    root = write(tmp_path, {"other.toml": "device = 'gpu'", "p/a/xlalint.toml": "not [ toml", "p/a/m.py": ""})
    named = root / "other.toml" if how == "config" else None
    found = survey(root, "p", config=named, isolated=how == "isolated")
    assert found.settings.of(str(root / "p/a/m.py")) == found.settings
    assert found.settings.device == ("gpu" if named else "tpu")
    assert not found.errors


# ------------------------------------------------------------------------------------------------ what it says


def test_nothing_is_inherited_and_options_win_everywhere(tmp_path: Path) -> None:
    run = "device = 'gpu'\nignore = ['XLA3']\nmin-confidence = 'possible'\nstatic = ['a']"
    root = write(tmp_path / "p", {"xlalint.toml": run, "a/xlalint.toml": "select = ['XLA1']", "a/m.py": ""})
    own = survey(root).settings.of(str(root / "a/m.py"))
    assert own == Settings(root=str(root / "a"), config_file=str(root / "a/xlalint.toml"), select=("XLA1",))
    told = survey(root, device="cpu", extend_select=["XLA2"], show_info=True).settings.of(str(root / "a/m.py"))
    assert (told.device, told.select, told.extend_select, told.show_info) == ("cpu", ("XLA1",), ("XLA2",), True)


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [
        pytest.param("roots", "['x.*']", ("r.*",), id="roots"),
        pytest.param("extend-rules", "['r']", (), id="rules"),
        pytest.param("cache-dir", "'c'", None, id="cache"),
        pytest.param("python", "'nowhere'", None, id="python"),
        pytest.param("jobs", "7", 0, id="jobs"),
        pytest.param("verify", "[{ target = 'a.py:f' }]", (), id="verify"),
        pytest.param("baseline", "'b.json'", None, id="baseline"),
        pytest.param("force-exclude", "true", False, id="force-exclude"),
        pytest.param("respect-gitignore", "false", True, id="gitignore"),
    ],
)
def test_what_is_the_program_s_is_the_run_s(tmp_path: Path, key: str, value: str, kept: object) -> None:
    root = write(tmp_path / "p", {"xlalint.toml": "roots = ['r.*']", "a/m.py": ""})
    file = root / "a/xlalint.toml"
    file.write_text(f"device = 'cpu'\n{key} = {value}\n")
    found = survey(root)
    own = found.settings.of(str(root / "a/m.py"))
    assert (getattr(own, key.replace("-", "_")), own.device) == (kept, "cpu")
    run = root / "xlalint.toml"
    assert found.warnings == (f"{file}:2: `{key}` is for the whole program, and read from `{run}` only",)
    assert not found.errors


def test_several_such_keys_are_one_warning(tmp_path: Path) -> None:
    root = write(
        tmp_path / "p", {"a/xlalint.toml": "jobs = 1\nroots = []", "a/m.py": "", "b/pyproject.toml": f"{OWN}jobs = 2"}
    )
    first, second = survey(root).warnings
    where = "the command line or the configuration of the run"
    assert first == f"{root}/a/xlalint.toml:1: `jobs`, `roots` are for the whole program, and read from {where} only"
    assert second == f"{root}/b/pyproject.toml:2: `jobs` is for the whole program, and read from {where} only"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "device = 'cpu'\n\nslect = []", ":3: `slect`: unknown key; did you mean `select`?", id="unknown-key"
        ),
        pytest.param(
            "# no\ndevice = 'gpux'", ":2: `device`: unknown value `gpux`; did you mean `gpu`?", id="unknown-word"
        ),
        pytest.param("device = 3 3", ":1: not a TOML file: ", id="no-toml"),
        pytest.param("select = ['XLA999']", ":1: `select`: ", id="unknown-rule"),
        pytest.param("\n[per-file-ignores]\n'a.py' = ['nothing-like-it']", ":2: `per-file-ignores`: ", id="in-a-table"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_row(tmp_path: Path, text: str, message: str) -> None:
    """The one around it holds in its place, and others are read all the same."""
    files = {"xlalint.toml": "device = 'gpu'", "a/m.py": "", "a/xlalint.toml": text, "b/xlalint.toml": "device = 'cpu'"}
    root = write(tmp_path / "p", {**files, "b/m.py": "", "a/c/xlalint.toml": "show-info = true", "a/c/m.py": ""})
    found = survey(root)
    assert names(root, found.files) == ["a/c/m.py", "a/m.py", "b/m.py"]
    (error,) = found.errors
    assert error.startswith(f"{root}/a/xlalint.toml{message}")
    assert found.settings.of(str(root / "a/m.py")).device == "gpu"
    assert found.settings.of(str(root / "b/m.py")).device == "cpu"
    assert found.settings.of(str(root / "a/c/m.py")).show_info


def test_one_that_cannot_be_used_above_all_paths_ends_it(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"xlalint.toml": "slect = []", "a/m.py": ""})
    with pytest.raises(ConfigError, match="slect"):
        survey(root)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        pytest.param("a = 1\nb-c = 2", {"a": 1, "b-c": 2}, id="top"),
        pytest.param("[tool.xlalint]\na = 1", {"a": 2}, id="table"),
        pytest.param("[tool.other]\na = 1\n[tool.xlalint]\na = 2", {"tool": 1, "a": 4}, id="others'-table"),
        pytest.param('[[ tool . "xlalint".verify ]]\ntarget = 1', {"verify": 1}, id="tables"),
        pytest.param("[per-file-ignores]\na = []", {"per-file-ignores": 1}, id="sub-table"),
        pytest.param("'a' = 1\n\"b\" = 2\nc.d = 3", {"a": 1, "b": 2, "c": 3}, id="quoted-and-dotted"),
        pytest.param("# a = 1\n", {}, id="comment"),
    ],
)
def test_rows(text: str, rows: Mapping[str, int]) -> None:
    assert rows_of_keys(text) == rows


# ------------------------------------------------------------------------------------------------ which files


@pytest.mark.parametrize(
    ("run", "nested", "left"),
    [
        pytest.param("", "exclude = ['g.py']", ["a/b/x.py", "a/m.py", "b/g.py", "g.py", "x/m.py"], id="name"),
        pytest.param(
            "", "exclude = ['b/x.py']", ["a/b/g.py", "a/g.py", "a/m.py", "b/g.py", "g.py", "x/m.py"], id="path"
        ),
        pytest.param(
            "exclude = ['a/b', 'x']", "", ["a/b/g.py", "a/b/x.py", "a/g.py", "a/m.py", "b/g.py", "g.py"], id="run"
        ),
        pytest.param("exclude = ['a']", "exclude = []", ["b/g.py", "g.py", "x/m.py"], id="whole-folder-by-the-run"),
        pytest.param("", "include = ['g.py']", ["a/b/g.py", "a/g.py", "b/g.py", "g.py", "x/m.py"], id="include"),
        pytest.param(
            "include = ['m.py']", "", ["a/b/g.py", "a/b/x.py", "a/g.py", "a/m.py", "x/m.py"], id="run-includes"
        ),
    ],
)
def test_patterns_are_those_of_the_nearest(tmp_path: Path, run: str, nested: str, left: list[str]) -> None:
    files = dict.fromkeys(["a/b/g.py", "a/b/x.py", "a/g.py", "a/m.py", "b/g.py", "g.py", "x/m.py"], "")
    root = write(tmp_path / "p", {**files, "xlalint.toml": run, "a/xlalint.toml": nested})
    found = survey(root)
    assert names(root, found.files) == left
    assert discover([root], found.settings) == found.files


@pytest.mark.parametrize(
    ("options", "left"),
    [
        pytest.param({"exclude": ["a/g.py"]}, ["a/a/g.py", "a/m.py", "g.py"], id="path"),
        pytest.param({"extend_exclude": ["./a/a"]}, ["a/g.py", "a/m.py", "g.py"], id="folder"),
        pytest.param({"exclude": ["g.py"]}, ["a/m.py"], id="name"),
        pytest.param({"include": ["a/*.py"]}, ["a/g.py", "a/m.py"], id="include"),
    ],
)
def test_paths_of_the_command_line_start_at_the_run_s_root(
    tmp_path: Path, options: dict[str, object], left: list[str]
) -> None:
    files = dict.fromkeys(["a/a/g.py", "a/g.py", "a/m.py", "g.py"], "")
    root = write(tmp_path / "p [x]", {**files, "xlalint.toml": "", "a/xlalint.toml": ""})
    assert names(root, survey(root, **options).files) == left


def test_ignores_of_files_by_the_nearest_and_by_the_command_line(tmp_path: Path) -> None:
    ignores = "per-file-ignores = { 'a/m.py' = ['XLA1'], 'n.py' = ['XLA2'] }"
    root = write(
        tmp_path / "p", {"xlalint.toml": "", "a/xlalint.toml": ignores, "a/m.py": "", "a/a/m.py": "", "a/n.py": ""}
    )

    def off(name: str, code: str, **options: object) -> bool:
        path = str(root / name)
        return not survey(root, **options).settings.of(path).enabled(code, path)

    assert [off(name, "XLA101") for name in ("a/m.py", "a/a/m.py", "a/n.py")] == [False, True, False]
    assert [off(name, "XLA201") for name in ("a/m.py", "a/a/m.py", "a/n.py")] == [False, False, True]
    given = {"per_file_ignores": {"a/m.py": ["XLA3"]}}
    assert [off(name, "XLA301", **given) for name in ("a/m.py", "a/a/m.py", "a/n.py")] == [True, False, False]


def test_what_is_named_is_left_alone_by_the_nearest_if_the_run_says_so(tmp_path: Path) -> None:
    root = write(
        tmp_path / "p", {"xlalint.toml": "force-exclude = true", "a/xlalint.toml": "exclude = ['m.py']", "m.py": ""}
    )
    write(root, {"a/m.py": ""})
    found = survey(root, "a/m.py", "m.py")
    assert names(root, found.files) == ["m.py"]
    assert unwanted(str(root / "a/m.py"), found.settings)
    assert not unwanted(str(root / "m.py"), found.settings)


def test_configurations_that_git_ignores_or_that_are_excluded_are_not_read(tmp_path: Path) -> None:
    files = {".git/HEAD": "", ".gitignore": "gone/", "xlalint.toml": "exclude = ['out']"}
    root = write(
        tmp_path / "p", {**files, "gone/xlalint.toml": "not [ toml", "out/xlalint.toml": "not [ toml", "m.py": ""}
    )
    found = survey(root)
    assert (found.errors, found.settings.nested) == ((), ())


# ------------------------------------------------------------------------------------------------ as data


def test_settings_with_what_is_nested_travel_and_name_results(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"xlalint.toml": "", "a/xlalint.toml": "device = 'cpu'", "a/m.py": "", "m.py": ""})
    settings = survey(root).settings
    again = msgspec.json.decode(msgspec.json.encode(settings), type=Settings)
    assert again == settings
    assert again.of(str(root / "a/m.py")).device == "cpu"
    prints = {settings.fingerprint(), msgspec.structs.replace(settings, nested=()).fingerprint()}
    (root / "a/xlalint.toml").write_text("device = 'gpu'")
    prints.add(survey(root).settings.fingerprint())
    (root / "a/xlalint.toml").rename(root / "xlalint.toml")
    prints.add(survey(root).settings.fingerprint())
    assert len(prints) == 4


def test_without_any_nested_the_settings_are_the_same_object(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"xlalint.toml": "", "a/m.py": ""})
    configuration = load_configuration([root])
    assert configuration.survey([root]).settings is configuration.settings
