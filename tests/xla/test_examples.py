"""Every example of every rule page, on the real compiler: `bad` shows its hazard, `good` and `fixed` show none.

What counts as the hazard is what was observed to hurt: an error, a compilation after the warm-up, a value read by the host, an op
run on the CPU, or results that differ from those of the same code run eagerly.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest

from tests.fixes.fixing import fixed
from xlalint.fixes.registry import REWRITES
from xlalint.rules import FRAMEWORK_TARGETS, Example, Rule
from xlalint.verify.inputs import WARM_UP


def chosen(which: Callable[[Example], bool]) -> Callable[[Any], Any]:
    """The examples that a test is for."""

    def mark(test: Any) -> Any:
        test.examples = which
        return test

    return mark


def hazards(run: dict[str, Any]) -> list[str]:
    """What one run of an example suffered, in words."""
    found = []
    if run["error"]:
        found.append(run["error"])
    if any(run.get("compiles", ())[WARM_UP:]):
        found.append(f"compiled again: {run['compiles']}")
    if run.get("syncs"):
        found.append(f"{run['syncs']} values read by the host")
    if run.get("fallbacks"):
        found.append(f"ran on the CPU: {run['fallbacks']}")
    if run.get("breaks"):
        found.append(f"{run['breaks']} graph breaks")
    if run.get("differs"):
        found.append(f"differs from eager: {run['differs']}")
    return found


def around(named: set[int], code: str) -> set[int]:
    """All lines of the statements that hold the named lines: an error may come from a branch, or name the whole loop."""
    lines = set(named)
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            if named & set(span):
                lines |= set(span)
    return lines


def misplaced(run: dict[str, Any], example: Example) -> str | None:
    """How the lines that the page names miss what was seen.

    Every read has its line; of errors there is only the first. Where XLA itself refuses the graph, it names the operation that it came to,
    which may be one that uses what the named line made. TorchTPU looks at what a graph is given when the compiled function is called.
    """
    named, lines = set(example.lines), set(run.get("lines", ()))
    refused = str(run["error"]).startswith(("InvalidArgumentError", "UnimplementedError"))
    if (refused and lines and max(lines) >= min(named)) or "prepare compiled mode arguments" in str(run["error"]):
        return None
    if run["error"] and lines and not lines & around(named, example.code):
        return f"it happened on line {sorted(lines)}, not on {sorted(named)}"
    if run.get("breaks") and not lines & around(named, example.code):
        return f"the graph broke on line {sorted(lines)}, not on {sorted(named)}"
    if run.get("syncs") and not named <= lines:
        return f"nothing was read on line {sorted(named - lines)}; read on {sorted(lines)}"
    return None


def assert_as_the_page_says(rule: Rule, example: Example, target: str, run: dict[str, Any]) -> None:
    """Compare what a run of an example for a target, which may have a variant, suffered with the severity that the page states."""
    found = hazards(run)
    severity = rule.severity_for(*target.partition(":")[::2])
    if example.kind == "bad" and severity in ("warning", "error"):
        assert found, f"{target}: severity {severity}, yet nothing happened: {run}"
        blamed = misplaced(run, example)
        assert not blamed, f"{target}: {'; '.join(found)}, but {blamed}"
    elif example.kind == "bad" and severity == "info":
        assert len(found) <= bool(run.get("differs")), f"{target}: {'; '.join(found)}"
    else:
        assert not found, f"{target}: {'; '.join(found)}"


def test_example_does_what_its_page_says(rule: Rule, example: Example, observations: Any) -> None:
    seen = observations.of(example)
    targets = example.targets or FRAMEWORK_TARGETS[example.framework]
    for target in targets:
        if target.partition(":")[0] in seen["runs"]:
            assert_as_the_page_says(rule, example, target, seen["runs"][target.partition(":")[0]])
    assert not seen["unequal"], f"not what `{example.of}` gives: {seen['unequal']}"


def compiles_for_tpus(example: Example) -> bool:
    elsewhere = "torch_compile" in example.targets or example.targets == ("torch_tpu",)
    return example.kind in ("good", "fixed") and not elsewhere


@chosen(compiles_for_tpus)
def test_good_and_fixed_compile_for_tpus(rule: Rule, example: Example, observations: Any) -> None:
    programs = observations.for_tpus(example)
    assert programs or has_no_program(example), "no StableHLO was written"
    refused = [f"{one.generation}: {one.error.what}" for one in programs if one.error is not None]
    assert not refused, "\n".join(refused)
    for one in programs:
        padded = sum(array.padded for array in one.padding or () if array.role == "argument")
        assert padded <= one.arguments, "more than libtpu itself says that the arguments take"


def has_no_program(example: Example) -> bool:
    """Whether an example is not compiled whole, operation by operation or trained by Keras, or calls the host, which needs a TPU's."""
    apart = any(target.endswith(":eager") for target in example.targets)
    return apart or any(text in example.code for text in ("def train_step", "jax.debug."))


@chosen(lambda example: bool(example.of))
def test_fixed_does_what_bad_did(rule: Rule, example: Example, pairs: Any) -> None:
    """In values, dtypes, shapes, gradients, what is left in arguments and module: at the edges too, and exactly if the fix is safe."""
    if rule.code not in REWRITES:
        pytest.skip("no rewrite yet")
    bad = next(one for one in rule.examples if one.ident == example.of)
    target = bad.targets[0].partition(":")[0] if bad.targets else "torch_xla"
    safe = fixed(bad.code, unsafe=False, target=target)[0] == example.code
    assert not (safe and example.unlike), "a safe fix is alike in everything"
    found = pairs.differences(example.framework, bad.code, example.code, exact=safe, unlike=example.unlike)
    assert not found, "\n".join(found)
