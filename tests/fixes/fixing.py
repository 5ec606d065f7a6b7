"""Fixing texts in memory."""

from __future__ import annotations

from collections.abc import Mapping

from xlalint.config import Settings
from xlalint.project import Report, check_text
from xlalint.project.fixing import Fixed, fix
from xlalint.source.reading import decode

PATH = "/project/module.py"


def fixed(text: str, *, unsafe: bool = True, target: str = "torch_xla") -> tuple[str, Fixed]:
    """A text with its fixes, and what the rounds say."""
    settings = Settings(target=target, python=None)

    def check(contents: Mapping[str, bytes]) -> Report:
        given = contents.get(PATH)
        return check_text(text if given is None else decode(given), PATH, settings, fixes=True)

    done = fix(check, lambda _: text.encode(), unsafe=unsafe)
    return decode(done.files[PATH].after) if done.files else text, done
