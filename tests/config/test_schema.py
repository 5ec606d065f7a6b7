"""The JSON schema of the configuration says what the reader of configurations does."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from xlalint.cli import main
from xlalint.config import ConfigError, settings_from
from xlalint.config.options import OPTIONS
from xlalint.config.schema import defaults_of, schema
from xlalint.config.settings import Settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]


def test_the_schema_in_the_repository_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    """If not: `xlalint config --schema > schemas/xlalint.json`."""
    assert main(["config", "--schema"]) == 0
    assert capsys.readouterr().out == (ROOT / "schemas" / "xlalint.json").read_text()


def test_it_is_a_schema_of_all_settings() -> None:
    Draft7Validator.check_schema(schema())
    assert {"root", "config_file", "extends", "nested", "requirements", *OPTIONS} - {"extend"} == set(
        Settings.__struct_fields__
    )


@pytest.mark.parametrize(
    ("text", "good"),
    [
        pytest.param("", True, id="nothing"),
        pytest.param('select = ["ALL"]\nextend-exclude = ["a"]', True, id="lists"),
        pytest.param('select = "ALL"', False, id="no-list"),
        pytest.param("select = [1]", False, id="no-strings"),
        pytest.param('per-file-ignores = { "a.py" = ["XLA3"] }', True, id="table"),
        pytest.param('per-file-ignores = { "a.py" = "XLA3" }', False, id="no-lists-in-table"),
        pytest.param('target = "jax"', True, id="word"),
        pytest.param('target = "jaxx"', False, id="unknown-word"),
        pytest.param("jobs = 0", True, id="number"),
        pytest.param("jobs = -1", False, id="negative"),
        pytest.param("jobs = true", False, id="flag-for-a-number"),
        pytest.param("max-file-size = 1", True, id="size-in-bytes"),
        *(
            pytest.param(f'max-file-size = "{size}"', True, id=f"size-{size}")
            for size in ("5MB", "5 MB", "1.5mb", "2 MiB", "700kb", "12", " 3 k ", "9b")
        ),
        pytest.param("max-file-size = 0", False, id="no-size"),
        pytest.param("max-file-size = -1", False, id="negative-size"),
        pytest.param("max-file-size = true", False, id="flag-for-a-size"),
        pytest.param("max-file-size = 1.5", False, id="half-a-byte"),
        *(
            pytest.param(f'max-file-size = "{size}"', False, id=f"size-{size}")
            for size in ("", "MB", "5 TB", "-5MB", "5,5 MB", "1e6", "5 MB or so")
        ),
        pytest.param("show-info = 1", False, id="number-for-a-flag"),
        pytest.param('baseline = "x.json"', True, id="baseline"),
        pytest.param("slect = []", False, id="unknown-key"),
        pytest.param("show_info = true", False, id="snake-case"),
        pytest.param('[[verify]]\ntarget = "a.py:f"\ninputs = { x = "f32[2]", n = 4 }', True, id="verify"),
        pytest.param('[[verify]]\ninputs = "x=1"', False, id="verify-without-a-target"),
        pytest.param('[[verify]]\ntarget = "a.py:f"\nmax-compiles = -1', False, id="verify-negative"),
        pytest.param('[[verify]]\ntarget = "a.py:f"\nbakend = "jax"', False, id="verify-unknown-key"),
    ],
)
def test_schema_and_reader_agree(text: str, good: bool) -> None:
    table = tomllib.loads(text)
    assert Draft7Validator(schema()).is_valid(table) == good
    if good:
        settings_from(table, {})
    else:
        with pytest.raises(ConfigError):
            settings_from(table, {})


def test_defaults_are_what_an_empty_configuration_gives() -> None:
    table = {key.replace("_", "-"): value for key, value in defaults_of().items()}
    assert json.loads(json.dumps(table)) == table
    given: Any = settings_from(table, {})
    assert given == settings_from({}, {})


def test_keys_are_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config"]) == 0
    everything = capsys.readouterr().out
    assert all(f"{key.replace('_', '-')} " in everything for key in OPTIONS)
    assert main(["config", "device"]) == 0
    assert capsys.readouterr().out == 'device = "tpu"\n    The kind of device. One of tpu, gpu, cpu.\n'
    assert main(["config", "devise"]) == 2
    assert "did you mean `device`?" in capsys.readouterr().err
