"""Every shipped page is complete: the families are all there, each with its sections, severities and examples."""

from __future__ import annotations

import ast
import re

import pytest

from xlalint.rules import FRAMEWORK_TARGETS, Example, Rule, rules

CODES = {
    *(f"XLA{n:03}" for n in (1, 2, 3, 5)),
    *(f"XLA{n}" for n in range(101, 110)),
    *(f"XLA{n}" for n in range(201, 211)),
    *(f"XLA{n}" for n in range(301, 307)),
    *(f"XLA{n}" for n in (401, 402, 403, 404, 405, 406, 407, 408, 409)),
    *(f"XLA{n}" for n in (*range(501, 514), *range(515, 519))),
    *(f"XLA{n}" for n in (601, 602, 603, 604)),
}
KINDS = {
    "0": "tool",
    "1": "control-flow",
    "2": "dynamic-shape",
    "3": "host-sync",
    "4": "recompile",
    "5": "config",
    "6": "unsupported",
}
SECTIONS = ["What it does", "Why it matters on XLA", "Examples", "Fix safety", "See also"]


def all_rules() -> list[object]:
    return [pytest.param(rule, id=rule.code) for rule in rules().values()]


def all_examples() -> list[object]:
    return [pytest.param(rule, example, id=example.ident) for rule in rules().values() for example in rule.examples]


def test_no_rule_is_missing() -> None:
    assert set(rules()) >= CODES


@pytest.mark.parametrize("rule", all_rules())
def test_page(rule: Rule) -> None:
    assert rule.path.name == f"{rule.code}-{rule.name}.md"
    assert rule.kind == KINDS[rule.code[3]]
    assert rule.since
    assert re.findall(r"^## (.*)$", rule.text, re.MULTILINE) == SECTIONS
    expected = {target for framework in rule.frameworks for target in FRAMEWORK_TARGETS[framework]} or {"*"}
    assert {key.split(":")[0] for key in rule.severity} <= expected
    for mentioned in re.findall(r"\bXLA\d{3}\b", rule.text):
        assert mentioned in rules() or mentioned[3] in "456", f"{mentioned} has no page"


@pytest.mark.parametrize("rule", all_rules())
def test_words(rule: Rule) -> None:
    for message in (rule.message, *rule.messages.values()):
        assert "{subject}" in message or rule.kind == "config"
        assert not message.endswith(".")
        assert ". " not in message, "one sentence"
    for text in (rule.help, *rule.helps.values()):
        assert text.endswith(".")
    assert not rule.summary.endswith(".")
    assert {key.split(":")[0] for key in (*rule.messages, *rule.helps)} <= set(rule.frameworks)


@pytest.mark.parametrize("rule", all_rules())
def test_examples_of_each_kind(rule: Rule) -> None:
    for framework in rule.frameworks:
        kinds = {example.kind for example in rule.examples if example.framework == framework}
        assert kinds >= {"bad", "good"}, framework
    fixed = any(example.kind == "fixed" for example in rule.examples)
    assert fixed == (rule.fix != "none" and bool(rule.frameworks))


@pytest.mark.parametrize("rule", all_rules())
def test_every_severity_has_its_proof(rule: Rule) -> None:
    """Each key of `[severity]` is shown by a `bad` example; TorchTPU cannot be had yet, nor can a TPU."""
    proved = {target for example in rule.examples if example.kind == "bad" for target in example.targets}
    for example in rule.examples:
        if example.kind == "bad" and not example.targets:
            proved |= set(FRAMEWORK_TARGETS[example.framework])
    assert set(rule.severity) - {"torch_tpu", "*"} <= proved


@pytest.mark.parametrize(("rule", "example"), all_examples())
def test_example(rule: Rule, example: Example) -> None:
    assert example.framework in rule.frameworks
    tree = ast.parse(example.code)
    begins = {node.lineno for node in ast.walk(tree) if isinstance(node, (ast.stmt, ast.expr))}
    assert set(example.lines) <= begins
    for target in example.targets:
        name, _, variant = target.partition(":")
        assert name in FRAMEWORK_TARGETS[example.framework]
        assert not variant or target in rule.severity
    assert "#!" not in example.code
