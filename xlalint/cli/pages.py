"""Rules as the commands show them: a page, a table row, a JSON object."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xlalint.rules import Rule

_FIXES = {"none": "-", "safe": "safe", "unsafe": "unsafe", "sometimes": "some"}
_LETTERS = {"torch": "t", "tensorflow": "f", "jax": "j"}


def as_entry(rule: Rule) -> dict[str, Any]:
    """The front matter of a rule."""
    return {
        "code": rule.code,
        "name": rule.name,
        "kind": rule.kind,
        "frameworks": list(rule.frameworks),
        "summary": rule.summary,
        "help": rule.help,
        "fix": rule.fix,
        "since": rule.since,
        "severity": dict(rule.severity),
    }


def as_markdown(rule: Rule) -> str:
    """The whole page, with a heading and the facts of the front matter."""
    severity = ", ".join(f"{level} ({target})" if target != "*" else level for target, level in rule.severity.items())
    facts = [
        f"Kind: {rule.kind}",
        f"Frameworks: {', '.join(rule.frameworks) or 'any'}",
        f"Severity: {severity}",
        f"Fix: {rule.fix}",
        f"Since: {rule.since}",
    ]
    listed = "\n".join(f"- {fact}" for fact in facts)
    return f"# {rule.name} ({rule.code})\n\n{rule.summary}\n\n{listed}\n\n{rule.text.rstrip()}\n"


def as_table(rules: Sequence[Rule]) -> str:
    """One line a rule, as wide as the terminal."""
    names = max((len(rule.name) for rule in rules), default=4)
    codes = max((len(rule.code) for rule in rules), default=4)
    columns = shutil.get_terminal_size((160, 24)).columns
    lines = [f"{'code':<{codes}}  {'name':<{names}}  for  fix     summary"]
    for rule in rules:
        letters = "".join(_LETTERS[framework] for framework in rule.frameworks)
        line = f"{rule.code:<{codes}}  {rule.name:<{names}}  {letters:<3}  {_FIXES[rule.fix]:<6}  {rule.summary}"
        lines.append(line if len(line) <= columns else f"{line[: columns - 1]}…")
    return "".join(f"{line}\n" for line in [*lines, "", "for: t PyTorch, f TensorFlow and Keras, j JAX"])
