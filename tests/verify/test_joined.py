"""What a run cost by line, and which of it was predicted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from xlalint.diagnostics.finding import Finding, Location
from xlalint.verify.joined import Statements, after_warmup, attribute_seconds, join, of_shapes
from xlalint.verify.model import Counts, Event, Place, Step
from xlalint.verify.recording import Recording

TEXT = """\
for batch in batches:
    loss = model(
        batch,
        scale.item(),
    )
    if loss > limit:
        stop()
"""


def finding(code: str, row: int, *, kind: str = "host-sync", file: str = "/train.py") -> Finding:
    place = Location(row, 1)
    return Finding(code, code.lower(), kind, "warning", "certain", "m", file, None, place, place, (), "torch", None, "")


def step(number: int, *events: Event, seconds: float = 0.1, name: str = "train") -> Step:
    compilations = sum(event.count for event in events if event.kind == "compilation")
    syncs = sum(event.count for event in events if event.kind == "host-sync")
    return Step(number, Counts(compilations, transfers=syncs), seconds, events, name=name)


def sync(line: int, count: int = 1, **more: Any) -> Event:
    return Event("host-sync", "item", Place("/train.py", line), count, **more)


def compilation(line: int, what: str = "a graph", **more: Any) -> Event:
    return Event("compilation", what, Place("/train.py", line), **more)


def run(*steps: Step, **more: Any) -> Recording:
    return Recording("/train.py", 0, 1.0, steps, frameworks=("torch_xla",), files=("/train.py",), ended=True, **more)


def joined(recording: Recording, *findings: Finding, warmup: int = 0) -> Any:
    return join(recording, findings, warmup, {"/train.py": TEXT}.get)


def test_the_warm_up_is_one_of_each_kind_of_step() -> None:
    names = ["train", "train", "eval", "train", "eval"]
    steps = [Step(number, Counts(1), name=name) for number, name in enumerate(names)]
    assert [one.number for one in after_warmup(steps, 1)] == [1, 3, 4]
    told = joined(run(*steps), warmup=1)
    assert (told.counts.compilations, told.warm.compilations, told.measured) == (3, 2, 3)


def test_without_steps_all_is_warm_up() -> None:
    told = joined(run(rest=Step(0, Counts(4))), warmup=1)
    assert (told.counts, told.warm) == (Counts(), Counts(4))


@pytest.mark.parametrize(
    ("rows", "same"),
    [((2, 4), True), ((2, 5), True), ((1, 2), False), ((4, 6), False), ((6, 7), False), ((9, 9), True)],
)
def test_statements(rows: tuple[int, int], same: bool) -> None:
    assert Statements(TEXT).same(*rows) is same


def test_statements_of_what_does_not_parse() -> None:
    assert not Statements("def (").same(1, 2)


def test_a_finding_is_borne_out_on_its_statement() -> None:
    told = joined(run(step(0, sync(2), sync(7))), finding("XLA301", 4), finding("XLA101", 6, kind="control-flow"))
    assert [(line.place.line, [one.code for one in line.findings]) for line in told.predicted] == [(2, ["XLA301"])]
    assert [line.place.line for line in told.observed_only] == [7]
    assert [one.code for one in told.predicted_only] == ["XLA101"]


def test_what_is_compiled_in_a_branch_is_owed_to_its_condition() -> None:
    told = joined(run(step(0, compilation(7), sync(7))), finding("XLA101", 6, kind="control-flow"))
    assert [(line.kind, len(line.findings)) for line in told.lines] == [("compilation", 1), ("host-sync", 0)]


def test_findings_elsewhere_and_of_settings_are_not_expected() -> None:
    told = joined(run(step(0)), finding("XLA301", 4, file="/other.py"), finding("XLA506", 1, kind="config"))
    assert (told.predicted_only, [one.code for one in told.unrun]) == ((), ["XLA301"])


LOADERS = """\
train = DataLoader(data, collate_fn=pad_train)
other = DataLoader(more, collate_fn=tokenizer.pad(padding="longest"))


def pad_train(items):
    return tokenizer.pad(items, padding="longest")
"""


def batch(line: int, *related: int) -> Event:
    places = tuple(Place("/data.py", one) for one in related)
    return Event("new-shape", "a batch with x: [4, 6]", Place("/data.py", line), related=places)


MAKERS = {
    "the function that collates": ((5,), 6, True),
    "the line of the loader": ((5, 1), 1, True),
    "another loader": ((5, 1), 2, False),
    "another function": ((1,), 6, False),
}


@pytest.mark.parametrize(("lines", "row", "expected"), MAKERS.values(), ids=MAKERS)
def test_padding_is_borne_out_by_batches_of_its_loader(lines: tuple[int, ...], row: int, expected: bool) -> None:
    recording = run(step(0, batch(*lines), compilation(2, "x: f32[4,6] was f32[4,5]")))
    recording = msgspec.structs.replace(recording, files=("/train.py", "/data.py"))
    padding = finding("XLA401", row, kind="recompile", file="/data.py")
    told = join(recording, [padding], 0, {"/train.py": TEXT, "/data.py": LOADERS}.get)
    assert (told.lines[0].findings == (padding,)) is expected
    assert (told.predicted_only == (padding,)) is not expected


def test_padding_in_a_file_that_did_not_run_explains_nothing() -> None:
    padding = finding("XLA401", 1, kind="recompile", file="/other.py")
    told = joined(run(step(0, compilation(7, "x: f32[8,4] was f32[8,6]"))), padding)
    assert (told.predicted, told.unrun) == ((), (padding,))


def test_of_several_that_may_explain_it_none_does() -> None:
    paddings = [finding("XLA401", row, kind="recompile", file="/data.py") for row in (1, 2)]
    recording = msgspec.structs.replace(
        run(step(0, compilation(7, "x: f32[8,4] was f32[8,6]"))), files=("/train.py", "/data.py")
    )
    assert join(recording, paddings, 0, {"/train.py": TEXT, "/data.py": LOADERS}.get).predicted == ()


def test_an_exception_at_a_predicted_line_is_observed() -> None:
    error = Event("error", "TracerBoolConversionError: …", Place("/train.py", 6))
    told = joined(run(rest=Step(0, Counts(), events=(error,))), finding("XLA101", 6, kind="control-flow"))
    assert [(line.kind, [one.code for one in line.findings]) for line in told.predicted] == [("error", ["XLA101"])]
    assert told.predicted_only == ()


def test_padding_is_borne_out_by_what_is_compiled_for_other_shapes() -> None:
    padding = finding("XLA401", 1, kind="recompile")
    other = joined(run(step(0, compilation(7, "x: f32[8,4] was f32[8,6]"))), padding)
    assert [line.findings for line in other.lines] == [(padding,)]
    same = joined(run(step(0, compilation(7, "constant 3 was 2"))), padding)
    assert (same.predicted, same.predicted_only) == ((), (padding,))


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("aten::embedding: s64[4,13] was s64[4,11]", True),
        ("x is f32[8], was f32[6]", True),
        ("x: (8, 4) was (6, 4)", True),
        ("constant f32[] 3 was f32[] 2", False),
        ("step is static 2, was static 0", False),
    ],
)
def test_reasons_of_shapes(what: str, expected: bool) -> None:
    assert of_shapes(what) is expected


def test_causes_that_differ_in_numbers_are_one() -> None:
    steps = [step(n, compilation(2, f"n is {n}"), compilation(2, "first call")) for n in range(3)]
    [line] = joined(run(*steps)).lines
    assert [(one.what, one.count, one.alike) for one in line.causes] == [("first call", 3, 0), ("n is 0", 3, 2)]
    assert (line.count, line.steps) == (6, 3)


def test_time_is_as_measured_else_a_share_of_what_is_unusual() -> None:
    measured, unknown, twice = compilation(2, seconds=0.5), compilation(3), sync(4, 3)
    told = step(0, measured, unknown, twice, seconds=1.0)
    assert attribute_seconds(told, usual=0.1) == pytest.approx({0: 0.5, 1: 0.1, 2: 0.3})
    assert attribute_seconds(told, usual=2.0) == {0: 0.5, 1: 0.0, 2: 0.0}


def test_the_costliest_line_is_first() -> None:
    told = joined(run(step(0, sync(4, seconds=0.1), compilation(2, seconds=2.0)), step(1, sync(6, 5, seconds=0.1))))
    assert [line.place.line for line in told.lines] == [2, 6, 4]
