"""The JSON schema of findings says what `--output-format json` prints."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator, ValidationError

from xlalint.diagnostics.finding import Finding

SCHEMA = Path(__file__).parents[2] / "schemas" / "findings.json"
FOUND = json.loads((Path(__file__).parent / "golden" / "found.json").read_text())


def test_the_schema_in_the_repository_is_current() -> None:
    """If not: `XLALINT_GOLDEN=write pytest tests/report/test_schema.py`."""
    made = {"$schema": Draft202012Validator.META_SCHEMA["$id"], **msgspec.json.schema(list[Finding])}
    for definition in made["$defs"].values():
        definition["description"] = " ".join(definition["description"].split())
    said = json.dumps(made, indent=2) + "\n"
    if os.environ.get("XLALINT_GOLDEN") == "write":
        SCHEMA.write_text(said)
    assert SCHEMA.read_text() == said


def test_what_is_printed_fits() -> None:
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(FOUND)


@pytest.mark.parametrize(
    ("key", "value"), [("frequency", "often"), ("severity", "bad"), ("location", None), ("code", 1)]
)
def test_what_is_never_printed_does_not(key: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        Draft202012Validator(json.loads(SCHEMA.read_text())).validate([{**FOUND[0], key: value}])
