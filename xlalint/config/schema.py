"""The configuration's JSON schema, which editors complete and check `xlalint.toml` and `[tool.xlalint]` by; made of the options."""

from __future__ import annotations

from typing import Any

import msgspec

from xlalint.config.options import OPTIONS
from xlalint.config.settings import EVERY_RULE, Settings


def schema() -> dict[str, Any]:
    """The schema, of draft 7, which all editors know."""
    defaults = defaults_of()
    properties = {
        key.replace("_", "-"): {"description": option.help, **option.schema}
        | ({"default": defaults[key]} if key in defaults else {})
        for key, option in OPTIONS.items()
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "xlalint",
        "description": "The configuration of xlalint: xlalint.toml, or [tool.xlalint] in pyproject.toml.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def defaults_of() -> dict[str, Any]:
    """Return the defaults of the options, spelled as in the configuration; options without one are missing."""
    told: dict[str, Any] = {}
    for field in msgspec.structs.fields(Settings):
        if field.name in OPTIONS and field.default is not None:
            told[field.name] = msgspec.to_builtins(field.default)
    for key in ("select", "fixable"):
        told[key] = [prefix or "ALL" for prefix in EVERY_RULE]
    for key in ("per_file_ignores", "per_file_target", "per_file_device"):
        told[key] = dict(told[key])
    return {key: list(value) if isinstance(value, tuple) else value for key, value in told.items()}
