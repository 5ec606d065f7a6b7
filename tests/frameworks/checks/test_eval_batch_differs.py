"""XLA407: batches of two sizes that one evaluation gets; and the larger half left alone."""

from __future__ import annotations

import pytest

from tests.frameworks.checks.batches import JAX, KERAS, TORCH, found

SIZES_SILENT = {
    "training and evaluation": "train(DataLoader(ds, 8, True))\na = DataLoader(ds, 8)\nb = DataLoader(ds, 16)\ntrain(a)\nevaluate(b)",
    "one size": "a = DataLoader(ds, 8)\nb = DataLoader(ds, batch_size=8)\nevaluate(a)\nevaluate(b)",
    "sizes by flags": "a = DataLoader(ds, flags.a)\nb = DataLoader(ds, flags.b)\nevaluate(a)\nevaluate(b)",
    "prepared together": "a = DataLoader(ds, 8)\nb = DataLoader(ds, 16)\na, b = accelerator.prepare(a, b)",
    "in one call": "a = DataLoader(ds, 8)\nb = DataLoader(ds, 16)\nfit(a, b)",
    "of the Trainer's": "TrainingArguments('out', per_device_train_batch_size=8, per_device_eval_batch_size=64)",
}
KERAS_SIZES = {
    "fit and evaluate": ("model.fit(x, y, 8)\nmodel.evaluate(x, y, 16)", 0),
    "evaluate and predict": ("model.evaluate(x, y, batch_size=8)\nmodel.predict(x, batch_size=16)", 0),
    "two models": ("model.evaluate(x, y, 8)\nother.evaluate(x, y, 16)", 0),
    "one size": ("model.evaluate(x, y, 8)\nmodel.evaluate(x, y, batch_size=8)", 0),
    "a size that is not known": ("model.evaluate(x, y, 8)\nmodel.evaluate(x, y, n)", 0),
    "evaluate twice": ("model.evaluate(x, y, 8)\nmodel.evaluate(x, y, batch_size=16)", 1),
    "predict twice": ("model.predict(x, 8)\nmodel.predict(x, batch_size=16)", 1),
    "fit twice": ("model.fit(x, y, 8)\nmodel.fit(x, y, 16)", 1),
    "a validation, then evaluate": (
        "model.fit(x, y, batch_size=8, validation_split=0.1)\nmodel.evaluate(x, y, batch_size=16)",
        1,
    ),
    "a validation of that size": (
        "model.fit(x, y, batch_size=8, validation_data=(x, y), validation_batch_size=16)\nmodel.evaluate(x, y, 16)",
        0,
    ),
}


@pytest.mark.parametrize("case", SIZES_SILENT)
def test_sizes_that_cost_nothing(case: str) -> None:
    assert found(TORCH + SIZES_SILENT[case], codes=("XLA407",)) == []


def test_one_function_that_gets_two_sizes() -> None:
    text = "a = DataLoader(ds, 8)\nb = DataLoader(ds, 16)\nevaluate(model, a)\nevaluate(model, b)"
    assert found(TORCH + text, codes=("XLA407",), severities=True) == ["XLA407:info"]
    assert found(JAX + text, codes=("XLA407",)) == ["XLA407"]


@pytest.mark.parametrize("case", KERAS_SIZES)
def test_sizes_in_keras(case: str) -> None:
    text, count = KERAS_SIZES[case]
    assert len(found(KERAS + text, codes=("XLA407",))) == count
