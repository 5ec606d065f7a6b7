"""The page loader: what a page may say, and what is said about one that cannot be used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from xlalint.rules import (
    NO_POLICY,
    RuleError,
    UnknownRuleError,
    catalogue,
    find_rule,
    front_matter,
    parse_page,
    policies,
    rules,
    select,
)

PAGE = """+++
code = "ACME001"
name = "acme-sync"
kind = "host-sync"
frameworks = ["torch"]
summary = "acme.sync"
message = "`{subject}` waits"
help = "Do not."

[severity]
torch_xla = "warning"
+++

## What it does

Finds acme.

```python bad torch lines=2
import acme
acme.sync(x)
```

```python fixed torch
pass
```

````python good torch targets=torch_xla,torch_compile
'''
```
'''
````
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "ACME001-acme-sync.md"
    path.write_text(PAGE, encoding="utf-8")
    return path


def test_front_matter_and_examples(page: Path) -> None:
    rule = parse_page(page)
    assert (rule.code, rule.name, rule.frameworks, rule.severity) == (
        "ACME001",
        "acme-sync",
        ("torch",),
        {"torch_xla": "warning"},
    )
    bad, fixed, good = rule.examples
    assert (bad.ident, bad.lines, bad.code) == ("ACME001-torch-1-bad", (2,), "import acme\nacme.sync(x)\n")
    assert PAGE.splitlines()[bad.first_row - 1] == "import acme"
    assert (fixed.ident, fixed.of) == ("ACME001-torch-1-fixed", bad.ident)
    assert (good.targets, good.code) == (("torch_xla", "torch_compile"), "'''\n```\n'''\n")
    assert rule.text.startswith("## What it does")


@pytest.mark.parametrize("extra", [".", "ACME001-acme-sync.md"])
def test_own_pages_join_the_shipped_ones(page: Path, extra: str) -> None:
    known = rules([page.parent / extra])
    assert "ACME001" in known
    assert "XLA101" in known
    assert "ACME001" not in rules()
    assert find_rule("acme-sync", [page.parent / extra]).code == "ACME001"
    assert select(["ACME"], [page.parent / extra]) == {"ACME001"}


def test_an_api_table_among_own_pages_is_no_page(page: Path, tmp_path: Path) -> None:
    table = tmp_path / "acme.toml"
    table.write_text('framework = "torch"\n')
    assert rules((table, page)).keys() == rules((page,)).keys()


def test_own_page_replaces_a_shipped_one(page: Path) -> None:
    page.write_text(PAGE.replace("ACME001", "XLA101").replace("acme-sync", "tensor-if"), encoding="utf-8")
    assert rules([page])["XLA101"].summary == "acme.sync"
    assert policies([page])["XLA101"] == policies()["XLA101"]


def test_own_page_has_a_policy(page: Path) -> None:
    own = '[counts]\n"*" = "host-device"\ntorch = "host-compiled"\n\n[severity]'
    text = PAGE.replace("summary =", 'traits = ["reads-value", "only-repeated"]\nsummary =').replace("[severity]", own)
    page.write_text(text, encoding="utf-8")
    policy = policies([page])["ACME001"]
    assert (policy.reads_value, policy.only_repeated, policy.tracer_raises) == (True, True, False)
    assert (policy.counts_in("torch"), policy.counts_in("jax")) == ("host-compiled", "host-device")


def test_policy_of_a_page_that_states_none(page: Path) -> None:
    policy = policies([page])["ACME001"]
    assert policy == NO_POLICY
    assert policy.counts_in("torch") == "traced"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        pytest.param("+++\ncode", "code", "begins with TOML front matter", id="no front matter"),
        pytest.param('name = "acme-sync"\n', "", "`name` is missing", id="missing key"),
        pytest.param("summary =", "sumary =", "unknown key `sumary`; did you mean `summary`?", id="unknown key"),
        pytest.param('"host-sync"', '"host-snyc"', "did you mean `host-sync`?", id="unknown kind"),
        pytest.param('"warning"', '"wraning"', "did you mean `warning`?", id="unknown severity"),
        pytest.param("torch_xla =", "torch_xle =", "did you mean `torch_xla`?", id="unknown target"),
        pytest.param('["torch"]', '["pytorch"]', "did you mean `torch`?", id="unknown framework"),
        pytest.param('["torch"]', '"torch"', "frameworks", id="wrong type"),
        pytest.param('"ACME001"', '"acme"', "three digits", id="code"),
        pytest.param('"acme-sync"', '"Acme Sync"', "hyphens", id="name"),
        pytest.param(
            "[severity]", '[counts]\n"*" = "host"\n[severity]', "`counts` does not know `host`", id="counts nowhere"
        ),
        pytest.param(
            "[severity]", '[counts]\ntf = "traced"\n[severity]', "`counts` does not know `tf`", id="counts for none"
        ),
        pytest.param(
            "summary =", 'traits = ["read-value"]\nsummary =', "did you mean `reads-value`?", id="unknown trait"
        ),
        pytest.param("{subject}", "{tensor}", "{subject}, {detail} and {often} only", id="template"),
        pytest.param('help = "Do not."', "help = Do not.", "not TOML", id="not TOML"),
    ],
)
def test_malformed_front_matter_is_explained(page: Path, old: str, new: str, complaint: str) -> None:
    page.write_text(PAGE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(RuleError) as error:
        rules([page])
    assert complaint in str(error.value)
    assert str(page) in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        pytest.param("bad torch lines=2", "bad torch", "`bad` names its lines", id="no lines"),
        pytest.param("bad torch", "bad pytorch", "the second word", id="framework"),
        pytest.param("lines=2", "line=2", "cannot read `line=2`", id="option"),
        pytest.param("targets=torch_xla", "targets=xla", "cannot read `targets=xla", id="target"),
        pytest.param("bad torch", "bad jax", "needs a `bad torch` one", id="fixed without bad"),
        pytest.param("bad torch lines=2", "bad torch lines=2 unlike=nan", "only what is `fixed`", id="unlike"),
    ],
)
def test_malformed_examples_are_explained(page: Path, old: str, new: str, complaint: str) -> None:
    page.write_text(PAGE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(RuleError, match=complaint):
        _ = parse_page(page).examples


@pytest.mark.parametrize(
    "front",
    [
        pytest.param('help = """Do\nnot."""', id="multi-line string"),
        pytest.param("help = 'Do not.'", id="literal string"),
        pytest.param('help = "Do not."  # really', id="comment"),
        pytest.param('"help" = "Do not."', id="quoted key"),
    ],
)
def test_any_toml_is_read(page: Path, front: str) -> None:
    page.write_text(PAGE.replace('help = "Do not."', front), encoding="utf-8")
    assert parse_page(page).help.split() == ["Do", "not."]


@pytest.mark.parametrize("place", ["nowhere", "latin.md"])
def test_places_that_cannot_be_read(tmp_path: Path, place: str) -> None:
    (tmp_path / "latin.md").write_bytes(b"+++\ncode = '\xe9'\n+++\n")
    with pytest.raises(RuleError, match=place):
        rules([tmp_path / place])


def test_a_name_is_taken_once(page: Path) -> None:
    page.write_text(PAGE.replace("acme-sync", "tensor-if"), encoding="utf-8")
    with pytest.raises(RuleError, match="is taken by XLA101"):
        rules([page])


@pytest.mark.parametrize(
    ("selector", "code", "chosen"),
    [
        pytest.param("XLA1", "XLA109", True, id="prefix"),
        pytest.param("XLA1", "XLA201", False, id="other family"),
        pytest.param("xla101", "XLA101", True, id="lower case"),
        pytest.param("tensor-if", "XLA101", True, id="name"),
        pytest.param("tensor-if", "XLA102", False, id="name of another"),
        pytest.param("ALL", "XLA501", True, id="ALL"),
    ],
)
def test_select(selector: str, code: str, chosen: bool) -> None:
    assert (code in select([selector])) is chosen


@pytest.mark.parametrize(("word", "near"), [("XLA1O1", "XLA101"), ("tensor-fi", "tensor-if"), ("xla201x", "XLA201")])
def test_unknown_words_get_the_nearest(word: str, near: str) -> None:
    with pytest.raises(UnknownRuleError, match=f"`{near}`"):
        find_rule(word)
    with pytest.raises(UnknownRuleError, match=f"`{near}`"):
        select([word])


@pytest.mark.parametrize(
    ("target", "variant", "severity"),
    [
        ("torch_xla", "", "warning"),
        ("tf", "", "info"),
        ("tf", "no-autograph", "error"),
        ("jax", "no-such-variant", "error"),
    ],
)
def test_severity_by_target_and_variant(target: str, variant: str, severity: str) -> None:
    assert find_rule("XLA101").severity_for(target, variant) == severity


def test_severity_where_a_rule_does_not_hold() -> None:
    assert find_rule("XLA208").severity_for("jax") is None
    assert find_rule("XLA001").severity_for("jax") == "error"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib")
def test_shipped_front_matter_means_the_same_in_toml() -> None:
    import tomllib

    for rule in rules().values():
        front = rule.path.read_text(encoding="utf-8").split("+++\n")[1]
        assert front_matter._plain_toml(front) == tomllib.loads(front), f"{rule.path} needs the slow parser"


def test_loading_all_pages_reads_no_text() -> None:
    catalogue._rules.cache_clear()
    assert all("text" not in vars(rule) for rule in rules().values())
