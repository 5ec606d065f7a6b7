"""Every shipped page is complete: the families are all there, each with its sections, severities and examples."""

from __future__ import annotations

import ast
import re

import pytest

from xlalint.rules import FRAMEWORK_TARGETS, Example, Rule, rules
from xlalint.rules.policy import TRAITS

CODES = {
    *(f"XLA{n:03}" for n in (1, 2, 3, 5)),
    *(f"XLA{n}" for n in range(101, 110)),
    *(f"XLA{n}" for n in range(201, 211)),
    *(f"XLA{n}" for n in range(301, 307)),
    *(f"XLA{n}" for n in (401, 402, 403, 404, 405, 406, 407, 408, 409, 410)),
    *(f"XLA{n}" for n in (*range(501, 514), *range(515, 520), *range(521, 530))),
    *(f"XLA{n}" for n in range(601, 607)),
    *(f"XLA{n}" for n in range(701, 710)),
}
KINDS = {
    "0": "tool",
    "1": "control-flow",
    "2": "dynamic-shape",
    "3": "host-sync",
    "4": "recompile",
    "5": "config",
    "6": "unsupported",
    "7": "graph-break",
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


HOST_CODE = {"XLA401", "XLA402", "XLA404", "XLA405", "XLA406", "XLA407", "XLA409", "XLA606"}
"""Rules besides those of configuration that speak of host code, in all frameworks or in some."""

NEEDED = {"tool": "anywhere", "config": "host-device"}
"""Where the rules of some kinds count, all of them. The others count in traced code but for `HOST_CODE`."""

OF_FRAMEWORKS = {
    "autograph-rewrites": "tensorflow",
    "autograph-only": "tensorflow",
    "compiler-only": "",
    "eager-recompiles": "jax",
    "tpu-node-only": "tensorflow",
    "draws-at-random": "torch",
}
"""Traits that say something of one framework's code: a rule that does not speak of that has no use for them."""

OF_VALUES = {"reads-value", "tracer-raises", "tracer-refuses", "told-by-use", "cheap-if-rare", "cheap-if-seldom"}
"""Traits of rules about the values of tensors."""


@pytest.mark.parametrize("rule", all_rules())
def test_policy_says_where_the_rule_counts(rule: Rule) -> None:
    assert rule.counts, "add [counts] to the front matter, see CONTRIBUTING.md"
    assert set(rule.counts) - {"*"} <= set(rule.frameworks)
    assert "*" in rule.counts or set(rule.counts) == set(rule.frameworks)
    said = set(rule.counts.values())
    if rule.kind in NEEDED:
        assert said == {NEEDED[rule.kind]}
    else:
        assert (said == {"traced"}) == (rule.code not in HOST_CODE)


@pytest.mark.parametrize("rule", all_rules())
def test_policy_holds_together(rule: Rule) -> None:
    traits = set(rule.traits)
    assert len(traits) == len(rule.traits), "a trait is listed once"
    assert list(rule.traits) == sorted(rule.traits, key=TRAITS.index), "in the order of `Policy`'s fields"
    assert all(OF_FRAMEWORKS.get(trait, "") in ("", *rule.frameworks) for trait in traits)
    assert not traits & OF_VALUES or rule.kind in ("control-flow", "dynamic-shape", "host-sync")
    assert ("autograph-rewrites" in traits) == ("tf:no-autograph" in rule.severity)
    assert ("tpu-node-only" in traits) <= ("tf:unknown" in rule.severity)
    assert not ("cheap-if-rare" in traits and "cheap-if-seldom" in traits), "the first includes the second"
    if traits & {"only-repeated", "needs-evidence", "tpu-node-only"}:
        assert "traced" not in rule.counts.values()


@pytest.mark.parametrize("trait", TRAITS)
def test_every_trait_is_some_rule_s(trait: str) -> None:
    assert any(trait in rule.traits for rule in rules().values())


@pytest.mark.parametrize("rule", all_rules())
def test_words(rule: Rule) -> None:
    for message in (rule.message, *rule.messages.values()):
        assert "{subject}" in message or rule.kind == "config"
        assert not message.endswith(".")
        assert ". " not in message, "one sentence"
    for text in (rule.help, *rule.helps.values()):
        assert text.endswith(".")
    assert not rule.summary.endswith(".")
    targets = {target for framework in rule.frameworks for target in FRAMEWORK_TARGETS[framework]}
    assert {key.split(":")[0] for key in (*rule.messages, *rule.helps)} <= {*rule.frameworks, *targets}


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
