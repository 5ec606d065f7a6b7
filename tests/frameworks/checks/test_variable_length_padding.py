"""XLA401: batches of changing lengths, where XLA compiles the steps; and the larger half left alone."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.frameworks.checks.batches import EAGER_KERAS, KERAS, TORCH, TORCH_ON_A_GPU, found
from xlalint.config import Settings
from xlalint.project import check_paths

SILENT = {
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
    "texts that fields pad to one length": (
        "from torchtext.data import BucketIterator, Field\ntext = Field(fix_length=64)\nBucketIterator(ds, batch_size=8, train=True)"
    ),
    "iterators of several splits, of one length": (
        "from torchtext.data import BucketIterator, Field\ntext = Field(fix_length=64)\nBucketIterator.splits((a, b), batch_size=8)"
    ),
    "an iterator of another library": "from mylib.data import BucketIterator\nBucketIterator(ds, batch_size=8, train=True)",
    "a map of something else": "def f(x):\n    return tokenizer(x, padding=True)\npool.map(f, xs)",
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
    "in an object that is no model": """
        class Encoder:
            def forward(self, texts):
                return self.tokenizer(texts, padding="longest", return_tensors="pt")
        """,
    "once for a model": """
        class Encoder(torch.nn.Module):
            def read(self, texts):
                return self.tokenizer(texts, padding="longest", return_tensors="pt")
        """,
    "one length in a model": """
        class Encoder(torch.nn.Module):
            def forward(self, texts):
                return self.model(**self.tokenizer(texts, padding="max_length", return_tensors="pt"))
        """,
    "one length in a loop": "for x in xs:\n    tokenizer(x, padding='max_length', max_length=64, return_tensors='pt')",
    "in a test": "import pytest\npytest.importorskip('torch')\nfor x in xs:\n    model(**tokenizer(x, return_tensors='pt'))",
    "lists of what a loop tokenizes": """
        def encode(texts, most):
            found = []
            for text in texts:
                given = tokenizer(text, truncation=True, return_tensors="pt")
                ids, mask = given["input_ids"][0], given["attention_mask"][0]
                if len(found) + len(ids) <= most:
                    found.extend(zip(ids.tolist(), mask.tolist()))
            return found + [(0, 0)] * (most - len(found))
    """,
    "lists in a loop": "for x in xs:\n    tokenizer(x)",
    "images in a loop": "for x in xs:\n    processor(images=x, return_tensors='pt')",
    "a convolution in a loop": "for x in xs:\n    conv(x, padding=True)",
    "padded further": """
        def collate(xs):
            xs = pad_sequence(xs)
            return pad(xs, (0, 64 - len(xs)))
        DataLoader(ds, 8, drop_last=True, collate_fn=collate)
        """,
    "padded beside a tensor of the whole length": """
        def collate(xs):
            return pad_sequence(xs + [torch.zeros(256)], batch_first=True)[:-1]
        DataLoader(ds, 8, drop_last=True, collate_fn=collate)
        """,
    "padding that is no batch": "def collect(xs):\n    return pad_sequence(xs)",
    "a maximum that is no length": """
        def collate(xs):
            return max(x["score"] for x in xs)
        DataLoader(ds, 8, drop_last=True, collate_fn=collate)
        """,
    "the largest of numbers that have a name": """
        def collate(xs):
            scores = [x["score"] for x in xs]
            return torch.zeros(len(xs), 8), max(scores)
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
    "the largest of lengths that have a name": (
        """
        def collate(xs):
            lengths = [len(x) for x in xs]
            out = torch.zeros(len(xs), max(lengths))
            return out
        DataLoader(ds, 8, drop_last=True, collate_fn=collate)
        """,
        ["XLA401:warning"],
    ),
    "iterators of several splits": (
        "from torchtext.legacy.data import BucketIterator\na, b = BucketIterator.splits((a, b), batch_size=8)",
        ["XLA401:warning"],
    ),
    "texts that fields pad": (
        "from torchtext.data import BucketIterator\nBucketIterator(ds, batch_size=8, train=True)",
        ["XLA401:warning"],
    ),
    "a collator that masks and collates": (
        "c = DataCollatorForLanguageModeling(tokenizer)\nc.torch_mask_tokens(ids)\nDataLoader(ds, 8, drop_last=True, collate_fn=c)",
        ["XLA401:warning"],
    ),
    "a collator that is called": (
        "c = DataCollatorForLanguageModeling(tokenizer)\nc.torch_mask_tokens(ids)\nc.torch_call(examples)",
        ["XLA401:warning"],
    ),
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
    "a model": (
        """
        class Encoder(torch.nn.Module):
            def forward(self, texts):
                return self.model(**self.tokenizer(texts, padding="longest", return_tensors="pt"))
        """,
        ["XLA401:warning"],
    ),
    "a loop that makes lists and more": (
        """
        def run(texts):
            for text in texts:
                given = tokenizer(text, return_tensors="pt")
                ids = given["input_ids"]
                print(len(ids), ids.tolist())
                model(ids)
        """,
        ["XLA401:warning"],
    ),
    "a loop that keeps what it tokenizes": (
        """
        def encode(texts):
            found = []
            for text in texts:
                given = tokenizer(text, return_tensors="pt")
                found.append(given)
            return found
        """,
        ["XLA401:warning"],
    ),
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
    assert found(TORCH_ON_A_GPU + dedent(FOUND[case][0])) == []


KERAS_SILENT = {
    "fixed shapes": "ds.padded_batch(8, padded_shapes=([64], []), drop_remainder=True)",
    "shapes from elsewhere": "ds.padded_batch(8, padded_shapes=shapes, drop_remainder=True)",
    "buckets to their bounds": "ds.bucket_by_sequence_length(length, [8], [4, 4], pad_to_bucket_boundary=True)",
}
KERAS_FOUND = {
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
    assert found(EAGER_KERAS + KERAS_FOUND[case][0]) == []


BESIDE_JAX = "import jax\nimport jax.numpy as jnp\n@jax.jit\ndef step(x):\n    return x\nfor x in xs:\n"


def test_texts_for_another_framework_are_silent() -> None:
    assert found(BESIDE_JAX + "    judge(**tokenizer(x, return_tensors='pt').to('cuda'))") == []


def test_texts_for_this_framework_are_found() -> None:
    assert found(BESIDE_JAX + "    step(tokenizer(x, return_tensors='np')['input_ids'])") == ["XLA401"]


TOKENIZE = "def prepare(texts, tokenizer):\n    return texts.map(lambda x: tokenizer(x, padding={0}))\n"


@pytest.mark.parametrize(
    ("padding", "imported", "expected"),
    [
        ("'max_length'", "from texts import prepare", []),
        ("'max_length'", "from texts import *", []),
        ("'max_length'", "import texts", []),
        ("'max_length'", "", ["XLA401"]),
        ("False", "from texts import prepare", ["XLA401"]),
        ("'max_length'", "from others import prepare", ["XLA401"]),
    ],
)
def test_texts_that_another_module_pads(padding: str, imported: str, expected: list[str], tmp_path: Path) -> None:
    (tmp_path / "texts.py").write_text(TOKENIZE.format(padding))
    (tmp_path / "others.py").write_text(TOKENIZE.format("False"))
    (tmp_path / "train.py").write_text(f"{TORCH}{imported}\nDataCollatorForLanguageModeling(tokenizer)\n")
    report = check_paths([tmp_path], Settings(root=str(tmp_path), python=None, jobs=1, select=("XLA401",)))
    assert [one.code for one in report.findings] == expected
