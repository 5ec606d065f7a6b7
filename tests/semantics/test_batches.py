"""XLA401 and XLA402: batches of other lengths and sizes, where XLA compiles the steps; and the larger half left alone."""

from __future__ import annotations

from textwrap import dedent

import pytest

from xlalint.config import Settings
from xlalint.project import check_text

TORCH = """
import torch
import torch_xla
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, IterableDataset, TensorDataset
from transformers import (
    AutoTokenizer, DataCollatorForLanguageModeling, DataCollatorForSeq2Seq, DataCollatorForTokenClassification,
    DataCollatorWithPadding, Trainer, TrainingArguments,
)
tokenizer = AutoTokenizer.from_pretrained("bert")
"""
KERAS = """
import keras
import numpy as np
import tensorflow as tf
model.compile(jit_compile=True)
"""
JAX = "import jax\nfrom torch.utils.data import DataLoader\n"


def found(text: str, *, codes: tuple[str, ...] = ("XLA401", "XLA402"), severities: bool = False) -> list[str]:
    """The codes that are found, in order of place."""
    report = check_text(text, "script.py", Settings(python=None, show_info=True, select=codes))
    assert not report.failures
    return [f"{one.code}:{one.severity}" if severities else one.code for one in report.findings]


SILENT = {
    "dropped": "DataLoader(ds, 8, shuffle=True, drop_last=True)",
    "dropped by place": "DataLoader(ds, 8, True, None, None, 0, None, False, True)",
    "dropped as a flag says": "DataLoader(ds, 8, shuffle=True, drop_last=flags.drop_last)",
    "batches of one": "DataLoader(ds, shuffle=True)\nDataLoader(ds, 1, shuffle=True)",
    "no batches": "DataLoader(ds, None, shuffle=True)",
    "batches of its own": "DataLoader(ds, batch_sampler=sampler)",
    "options from elsewhere": "DataLoader(ds, 8, **options)",
    "a length that is divided": "DataLoader(TensorDataset(torch.zeros(32, 4)), 8, shuffle=True)",
    "a length of a name": "x = torch.rand(64)\nds = TensorDataset(x, x)\nDataLoader(ds, 16, shuffle=True)",
    "a length that everybody knows": "DataLoader(datasets.FashionMNIST('.', train=True), batch_size=8, shuffle=True)",
    "a length that everybody knows, to test": "ds = CIFAR10(root, False)\nDataLoader(ds, 16, shuffle=True)",
    "a length that everybody knows, sampled": (
        "ds = MNIST('.')\ns = RandomSampler(ds)\nDataLoader(ds, batch_size=8, sampler=s)"
    ),
    "a collator that only masks": """
        collator = DataCollatorForLanguageModeling(tokenizer, return_tensors="tf")
        def mask(batch):
            return collator.tf_mask_tokens(batch["input_ids"])
        """,
    "a collator of an object that only masks": """
        class Data:
            def __init__(self):
                self.collator = DataCollatorForLanguageModeling(tokenizer)
            def mask(self, batch):
                return self.collator.torch_mask_tokens(batch)
        """,
    "a stream": "class S(IterableDataset):\n    def __iter__(self):\n        yield 1\nDataLoader(S(), 8, shuffle=False)",
    "on another device": "if device == 'cuda':\n    DataLoader(ds, 8, shuffle=True)",
    "no trainer": "TrainingArguments('out', fp16=False)",
    "a trainer that drops": "TrainingArguments('out', per_device_train_batch_size=8, dataloader_drop_last=True)",
    "processes that share": "TrainingArguments('out', per_device_train_batch_size=8)\ndef _mp_fn(index):\n    main()",
    "a map of something else": "def f(x):\n    return tokenizer(x, padding=True)\npool.map(f, xs)",
    "a method of something else": "trader.batch(8)\nregressor.fit([1, 2, 3])",
    "one length": "DataCollatorWithPadding(tokenizer, padding='max_length', max_length=128)",
    "no padding": "DataCollatorWithPadding(tokenizer, padding=False)",
    "padded before": """
        def tokenize(x):
            return tokenizer(x["text"], padding="max_length", truncation=True)
        DataCollatorWithPadding(tokenizer)
        Trainer(model, args, processing_class=tokenizer)
        """,
    "padding by a flag": "DataCollatorWithPadding(tokenizer, padding=flags.padding)",
    "a multiple by a flag": "DataCollatorWithPadding(tokenizer, pad_to_multiple_of=8 if fp16 else None)",
    "pieces of one length": """
        def group(tokens):
            return [tokens[i : i + 128] for i in range(0, len(tokens), 128)]
        DataCollatorForLanguageModeling(tokenizer, mlm=False)
        """,
    "a trainer with a collator": "Trainer(model, args, data_collator=collate, processing_class=tokenizer)",
    "a trainer of images": "Trainer(model, args, processing_class=image_processor)",
    "all at once": "encoded = tokenizer(texts, padding=True, return_tensors='pt')",
    "once in a function": "def encode(texts):\n    return tokenizer(texts, padding=True, truncation=True)",
    "one length in a loop": "for x in xs:\n    tokenizer(x, padding='max_length', max_length=64, return_tensors='pt')",
    "lists in a loop": "for x in xs:\n    tokenizer(x)",
    "images in a loop": "for x in xs:\n    processor(images=x, return_tensors='pt')",
    "a convolution in a loop": "for x in xs:\n    conv(x, padding=True)",
    "padded further": """
        def collate(xs):
            xs = pad_sequence(xs)
            return pad(xs, (0, 64 - len(xs)))
        DataLoader(ds, 8, drop_last=True, collate_fn=collate)
        """,
    "padding that is no batch": "def collect(xs):\n    return pad_sequence(xs)",
    "a maximum that is no length": """
        def collate(xs):
            return max(x["score"] for x in xs)
        DataLoader(ds, 8, drop_last=True, collate_fn=collate)
        """,
    "a length that is rounded up": """
        def collate(xs):
            longest = (max(map(len, xs)) + 31) // 32 * 32
            return longest
        DataLoader(ds, 8, drop_last=True, collate_fn=collate)
        """,
}
FOUND = {
    "a loader": ("DataLoader(ds, 8, shuffle=True)", ["XLA402:warning"]),
    "a loader that is told to keep": ("DataLoader(ds, 8, shuffle=True, drop_last=False)", ["XLA402:warning"]),
    "a loader with a sampler": ("DataLoader(ds, 8, sampler=sampler)", ["XLA402:warning"]),
    "a loader with a sampler in order": (
        "s = DistributedSampler(ds, shuffle=False)\nDataLoader(ds, 8, sampler=s)",
        ["XLA402:info"],
    ),
    "a loader that evaluates": ("DataLoader(ds, batch_size=8)", ["XLA402:info"]),
    "a size by a flag": ("DataLoader(ds, flags.batch_size, shuffle=True)", ["XLA402:warning"]),
    "a length that is not divided": (
        "DataLoader(TensorDataset(torch.zeros((33, 4))), 8, shuffle=True)",
        ["XLA402:warning"],
    ),
    "a length that everybody knows, and that is not divided": (
        "DataLoader(MNIST('.'), 128, shuffle=True)",
        ["XLA402:warning"],
    ),
    "a length that everybody knows, by a flag": (
        "DataLoader(MNIST('.', train=flags.train), 8, shuffle=True)",
        ["XLA402:warning"],
    ),
    "a length that everybody knows, dealt out": (
        "ds = MNIST('.')\ns = DistributedSampler(ds)\nDataLoader(ds, 8, sampler=s)",
        ["XLA402:warning"],
    ),
    "a length that everybody knows, in part": (
        "ds = MNIST('.')\ns = RandomSampler(ds, True, 100)\nDataLoader(ds, 8, sampler=s)",
        ["XLA402:warning"],
    ),
    "a collator that masks and collates": (
        "c = DataCollatorForLanguageModeling(tokenizer)\nc.torch_mask_tokens(ids)\nDataLoader(ds, 8, drop_last=True, collate_fn=c)",
        ["XLA401:warning"],
    ),
    "a collator that is called": (
        "c = DataCollatorForLanguageModeling(tokenizer)\nc.torch_mask_tokens(ids)\nc.torch_call(examples)",
        ["XLA401:warning"],
    ),
    "a loader of a helper": (
        "def make(ds, **options):\n    return DataLoader(ds, shuffle=True, batch_size=options['n'])\nmake(ds, n=8)",
        ["XLA402:warning"],
    ),
    "a trainer": ("TrainingArguments('out', per_device_train_batch_size=8)", ["XLA402:info"]),
    "a collator": ("DataCollatorWithPadding(tokenizer)", ["XLA401:warning"]),
    "a collator by a variable": (
        "how = 'longest'\nDataCollatorForTokenClassification(tokenizer, padding=how)",
        ["XLA401:warning"],
    ),
    "a collator by place": ("DataCollatorForSeq2Seq(tokenizer, model, True)", ["XLA401:warning"]),
    "a length that does nothing": ("DataCollatorWithPadding(tokenizer, max_length=128)", ["XLA401:warning"]),
    "few lengths": ("DataCollatorWithPadding(tokenizer, pad_to_multiple_of=64)", ["XLA401:info"]),
    "many lengths": ("DataCollatorWithPadding(tokenizer, pad_to_multiple_of=8)", ["XLA401:warning"]),
    "a language model": ("DataCollatorForLanguageModeling(tokenizer, mlm=False)", ["XLA401:warning"]),
    "a trainer's own collator": ("Trainer(model, args, tokenizer=tokenizer)", ["XLA401:warning"]),
    "a collate function": (
        "def collate(xs):\n    return tokenizer(xs, padding=True)\nDataLoader(ds, 8, drop_last=True, collate_fn=collate)",
        ["XLA401:warning"],
    ),
    "a collate function's helper": (
        """
        def join(xs):
            return pad_sequence(xs, batch_first=True)
        def collate(xs):
            return join([torch.tensor(x) for x in xs])
        DataLoader(ds, 8, drop_last=True, collate_fn=collate)
        """,
        ["XLA401:warning"],
    ),
    "a collator of one's own": (
        """
        class Collator:
            def __call__(self, features):
                return self.tokenizer.pad(features, return_tensors="pt")
        DataLoader(ds, 8, drop_last=True, collate_fn=Collator())
        """,
        ["XLA401:warning"],
    ),
    "the longest by hand": (
        "def collate(xs):\n    n = max([len(x) for x in xs])\nDataLoader(ds, 8, drop_last=True, collate_fn=collate)",
        ["XLA401:warning"],
    ),
    "a mapped function": (
        "def f(x):\n    return tokenizer(x['text'], padding='longest', truncation=True)\nds.map(f, batched=True)",
        ["XLA401:warning"],
    ),
    "a mapped function of a program": (
        """
        def f(x):
            return tokenizer(x['text'], padding='longest', truncation=True)
        def main(ds):
            DataLoader(ds.map(f, batched=True), 8, drop_last=True)
        """,
        ["XLA401:warning"],
    ),
    "a loop": ("for x in xs:\n    model(**tokenizer(x, padding=True, return_tensors='pt'))", ["XLA401:warning"]),
    "a loop that pads nothing": ("for x in xs:\n    model(**tokenizer(x, return_tensors='pt'))", ["XLA401:warning"]),
}


@pytest.mark.parametrize("case", SILENT)
def test_silent(case: str) -> None:
    assert found(TORCH + dedent(SILENT[case])) == []


@pytest.mark.parametrize("case", FOUND)
def test_found(case: str) -> None:
    text, expected = FOUND[case]
    assert found(TORCH + dedent(text), severities=True) == expected


@pytest.mark.parametrize("case", FOUND)
def test_a_gpu_compiles_nothing(case: str) -> None:
    assert found(TORCH.replace("import torch_xla\n", "") + dedent(FOUND[case][0])) == []


KERAS_SILENT = {
    "dropped": "ds.shuffle(9).batch(8, drop_remainder=True)",
    "dropped by place": "ds.batch(8, True)",
    "dropped as a flag says": "ds.batch(batch_size, drop_remainder=training)",
    "endless": "ds.repeat().batch(8)\ntf.data.Dataset.range(9).repeat(-1).shuffle(4).batch(8)",
    "endless by a name": "ds = tf.data.TFRecordDataset(files).repeat()\nds = ds.map(parse)\nds = ds.batch(8)",
    "divided": "tf.data.Dataset.from_tensor_slices(np.zeros((32, 4))).map(f).batch(8)",
    "batches of one": "ds.batch(1)",
    "another's method": "trader.batch()\ntrader.batch(orders)",
    "fixed shapes": "ds.padded_batch(8, padded_shapes=([64], []), drop_remainder=True)",
    "shapes from elsewhere": "ds.padded_batch(8, padded_shapes=shapes, drop_remainder=True)",
    "buckets to their bounds": "ds.bucket_by_sequence_length(length, [8], [4, 4], pad_to_bucket_boundary=True)",
    "arrays that are divided": "model.fit(np.zeros((64, 4)), np.zeros(64))\nmodel.fit(x, y, batch_size=8)",
    "one batch": "model.fit(np.zeros((20, 4)), np.zeros(20))",
    "a part that is divided": "x = np.ones((37, 4))\nmodel.fit(x[:32], y, batch_size=8)",
}
KERAS_FOUND = {
    "shuffled": ("ds.shuffle(9).batch(8)", ["XLA402:warning"]),
    "shuffled by a name": (
        "ds = tf.data.Dataset.range(9).shuffle(4)\nds = ds.map(f).cache()\nds.batch(batch_size)",
        ["XLA402:warning"],
    ),
    "in order": ("test = tf.data.TFRecordDataset(files).batch(8).prefetch(1)", ["XLA402:info"]),
    "repeated after": ("ds.shuffle(9).batch(8).repeat()", ["XLA402:warning"]),
    "repeated twice": ("tf.data.Dataset.range(9).shuffle(4).repeat(2).batch(8)", ["XLA402:warning"]),
    "not divided": ("tf.data.Dataset.from_tensor_slices(np.zeros((33, 4))).batch(8)", ["XLA402:info"]),
    "arrays": ("model.fit(np.zeros((37, 4)), np.zeros(37))", ["XLA402:warning"]),
    "arrays by names": ("x, y = np.zeros((37, 4)), np.zeros(37)\nmodel.fit(x, y, batch_size=8)", ["XLA402:warning"]),
    "arrays to evaluate": ("model.evaluate(np.zeros((37, 4)), np.zeros(37), batch_size=8)", ["XLA402:info"]),
    "padded": ("ds.padded_batch(8, drop_remainder=True)", ["XLA401:warning"]),
    "padded to open shapes": ("ds.padded_batch(8, ([None], []), drop_remainder=True)", ["XLA401:warning"]),
    "buckets": ("ds.bucket_by_sequence_length(length, [8], [4, 4])", ["XLA401:warning"]),
}


@pytest.mark.parametrize("case", KERAS_SILENT)
def test_silent_under_keras(case: str) -> None:
    assert found(KERAS + KERAS_SILENT[case]) == []


@pytest.mark.parametrize("case", KERAS_FOUND)
def test_found_under_keras(case: str) -> None:
    text, expected = KERAS_FOUND[case]
    assert found(KERAS + text, severities=True) == expected


@pytest.mark.parametrize("case", KERAS_FOUND)
def test_what_keras_does_not_compile(case: str) -> None:
    assert found(KERAS.replace("True", "False") + KERAS_FOUND[case][0]) == []


def test_a_strategy_for_tpus_compiles() -> None:
    head = "import tensorflow as tf\nstrategy = tf.distribute.TPUStrategy(resolver)\n"
    assert found(f"{head}ds.shuffle(9).batch(8)") == ["XLA402"]
    assert found("import tensorflow as tf\nds.shuffle(9).batch(8)") == []


def test_jax_compiles_all() -> None:
    assert found(f"{JAX}DataLoader(ds, 8, shuffle=True)") == ["XLA402"]
    assert found(f"{JAX}DataLoader(ds, 8, shuffle=True, drop_last=True)") == []


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
