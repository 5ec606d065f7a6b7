"""XLA402: last batches that are smaller, where XLA compiles the steps; and the larger half left alone."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.frameworks.checks.batches import EAGER_KERAS, JAX, KERAS, TORCH, TORCH_ON_A_GPU, found

FILLED = (
    "def fill(batch, size=None):\n    more = size - batch.shape[0]\n    {0}\n    return batch\n\n"
    "def main(ds, size):\n    loader = DataLoader(ds, {1}, shuffle=True)\n    for batch in loader:\n        learn(fill(batch, {2}))\n"
)
PADDING = "batch = np.pad(batch, [(0, more), (0, 0)])"
SILENT = {
    "filled up by a function that is told the size": FILLED.format(PADDING, "size", "size=size"),
    "filled up by a function that is told the size by place": FILLED.format(PADDING, "batch_size=size", "size"),
    "filled up by a function that is told an option": FILLED.format(PADDING, "flags.size", "flags.size"),
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
    "one of which the first batch is taken": "loader = DataLoader(ds, 8, shuffle=True)\nx = next(iter(loader))\nmodel(x)",
    "one of which loops draw whole batches": (
        "loader = DataLoader(ds, 8, shuffle=True)\nmany = size // 8\nfor epoch in range(9):\n    given = iter(loader)\n"
        "    for _ in tqdm(range(many)):\n        learn(next(given))"
    ),
    "one of which loops draw whole batches, by a bar with a name": (
        "loader = DataLoader(ds, 8, shuffle=True)\nfor epoch in range(9):\n    bar = tqdm(range(size // 8), leave=False)\n"
        "    given = iter(loader)\n    for step in bar:\n        batch = next(given)\n        learn(batch)"
    ),
    "a stream": "class S(IterableDataset):\n    def __iter__(self):\n        yield 1\nDataLoader(S(), 8, shuffle=False)",
    "a sampler that never ends": (
        "class S(Sampler):\n    def __iter__(self):\n        while True:\n            yield 1\nDataLoader(ds, 8, sampler=S())"
    ),
    "on another device": "if device == 'cuda':\n    DataLoader(ds, 8, shuffle=True)",
    "no trainer": "TrainingArguments('out', fp16=False)",
    "a trainer that drops": "TrainingArguments('out', per_device_train_batch_size=8, dataloader_drop_last=True)",
    "processes that share": "TrainingArguments('out', per_device_train_batch_size=8)\ndef _mp_fn(index):\n    main()",
    "a method of something else": "trader.batch(8)\nregressor.fit([1, 2, 3])",
}
FOUND = {
    "told the size, and padded by nothing": (FILLED.format("check(more)", "size", "size"), ["XLA402:warning"]),
    "padded by a function that is told another size": (FILLED.format(PADDING, "size", "length"), ["XLA402:warning"]),
    "one of which loops draw all batches": (
        "loader = DataLoader(ds, 8, shuffle=True)\nfor epoch in range(9):\n    given = iter(loader)\n"
        "    for _ in range(len(loader)):\n        learn(next(given))",
        ["XLA402:warning"],
    ),
    "one of which loops draw whole batches or all, by a bar with a name": (
        "loader = DataLoader(ds, 8, shuffle=True)\ngiven = iter(loader)\nbar = range(size // 8)\nif more:\n    bar = range(size)\n"
        "for step in bar:\n    learn(next(given))",
        ["XLA402:warning"],
    ),
    "one of which a loop draws whole batches, and another all": (
        "loader = DataLoader(ds, 8, shuffle=True)\ngiven = iter(loader)\nfor _ in range(size // 8):\n    learn(next(given))\n"
        "for x in loader:\n    learn(x)",
        ["XLA402:warning"],
    ),
    "one of which one batch is drawn besides": (
        "loader = DataLoader(ds, 8, shuffle=True)\ngiven = iter(loader)\nfor _ in range(size // 8):\n    learn(next(given))\n"
        "learn(next(given))",
        ["XLA402:warning"],
    ),
    "a loader": ("DataLoader(ds, 8, shuffle=True)", ["XLA402:warning"]),
    "a loader that is told to keep": ("DataLoader(ds, 8, shuffle=True, drop_last=False)", ["XLA402:warning"]),
    "a loader with a sampler": ("DataLoader(ds, 8, sampler=sampler)", ["XLA402:warning"]),
    "a loader with a sampler that ends": (
        "class S(Sampler):\n    def __iter__(self):\n        while True:\n            if self.done():\n                return\n"
        "            yield 1\nDataLoader(ds, 8, sampler=S())",
        ["XLA402:warning"],
    ),
    "a loader with a sampler in order": (
        "s = DistributedSampler(ds, shuffle=False)\nDataLoader(ds, 8, sampler=s)",
        ["XLA402:info"],
    ),
    "a loader that evaluates": ("DataLoader(ds, batch_size=8)", ["XLA402:info"]),
    "a loader of the training data in order": ("DataLoader(train_ds, batch_size=8)", ["XLA402:warning"]),
    "one that is told to read it in order": ("DataLoader(train_ds, batch_size=8, shuffle=False)", ["XLA402:info"]),
    "one whose loop takes gradients": ("for x, y in DataLoader(ds, 8):\n    loss(x, y).backward()", ["XLA402:warning"]),
    "one in order whose loop takes gradients": (
        "loader = DataLoader(ds, 8, shuffle=False)\nfor i, x in enumerate(tqdm(loader)):\n    loss(x).backward()",
        ["XLA402:warning"],
    ),
    "one whose loop takes none, as a block says": (
        "loader = DataLoader(ds, 8, shuffle=True)\nwith torch.inference_mode():\n    for x in tqdm(loader):\n        model(x)",
        ["XLA402:info"],
    ),
    "one of whose loops one is in such a block": (
        "loader = DataLoader(ds, 8, shuffle=True)\nfor x in loader:\n    learn(x)\n"
        "with torch.no_grad():\n    for x in loader:\n        model(x)",
        ["XLA402:warning"],
    ),
    "one whose loop leads to such a block": (
        "loader = DataLoader(ds, 8, shuffle=True)\nfor x in loader:\n    learn(x)\n    with torch.no_grad():\n        show(x)",
        ["XLA402:warning"],
    ),
    "one of which the first batch is taken before the others": (
        "loader = DataLoader(ds, 8, shuffle=True)\nx = next(iter(loader))\nfor x in loader:\n    learn(x)",
        ["XLA402:warning"],
    ),
    "one that is handed on, too": (
        "loader = DataLoader(ds, 8, shuffle=True)\nx = next(iter(loader))\nfit(loader)",
        ["XLA402:warning"],
    ),
    "one beside a loop that takes gradients": (
        "a, b = DataLoader(ds, 8), batches()\nfor x in b:\n    loss(x).backward()\nfor x in a:\n    print(loss(x))",
        ["XLA402:info"],
    ),
    "one that shuffles what is held back": ("DataLoader(val_ds, batch_size=8, shuffle=True)", ["XLA402:info"]),
    "one that is named for what is held back": ("test_loader = DataLoader(ds, 8, shuffle=True)", ["XLA402:info"]),
    "one that is named for that in one word": ("self.valdataloader = DataLoader(ds, 8, shuffle=True)", ["XLA402:info"]),
    "one that a function makes of that name": (
        "def val_dataloader():\n    return DataLoader(ds, 8, shuffle=True)",
        ["XLA402:info"],
    ),
    "one that is named for it, and trained on": (
        "test_loader = DataLoader(ds, 8, shuffle=True)\nfor x in test_loader:\n    loss(x).backward()",
        ["XLA402:warning"],
    ),
    "one that is named for training and testing": (
        "train_test_loader = DataLoader(ds, 8, shuffle=True)",
        ["XLA402:warning"],
    ),
    "one of another name": ("latest_loader = DataLoader(ds, 8, shuffle=True)", ["XLA402:warning"]),
    "one that shuffles a split": ("DataLoader(parts['test'], batch_size=8, shuffle=True)", ["XLA402:info"]),
    "one that shuffles what is made of a part that is held back": (
        "DataLoader(Shapes(partition='test'), batch_size=8, shuffle=True)\nDataLoader(Shapes('.', 'val'), 8, shuffle=True)",
        ["XLA402:info", "XLA402:info"],
    ),
    "one that is made of what only sounds like it": (
        "DataLoader(Shapes('latest', kind='values'), 8, shuffle=True)",
        ["XLA402:warning"],
    ),
    "one that samples what is held back": ("DataLoader(self.eval_set, 8, sampler=sampler)", ["XLA402:info"]),
    "one of which a word only sounds like it": (
        "DataLoader(latest, 8, shuffle=True)\nDataLoader(values, 8, shuffle=True)",
        ["XLA402:warning", "XLA402:warning"],
    ),
    "one of training data that is tested with": ("DataLoader(train_test, 8, shuffle=True)", ["XLA402:warning"]),
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
    "a loader of a helper": (
        "def make(ds, **options):\n    return DataLoader(ds, shuffle=True, batch_size=options['n'])\nmake(ds, n=8)",
        ["XLA402:warning"],
    ),
    "a trainer": ("TrainingArguments('out', per_device_train_batch_size=8)", ["XLA402:info"]),
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


LIGHTNING = """
import pytorch_lightning as pl

class Net({base}):
    def train_dataloader(self):
        return DataLoader(self.train_set, 8, shuffle=True)

    def {hook}(self, batch, index):
        return self.net(batch).mean()
"""


@pytest.mark.parametrize(
    ("base", "hook", "expected"),
    [
        ("pl.LightningModule", "training_step", ["XLA402"]),
        ("pl.LightningModule", "score", []),
        ("Base", "training_step", []),
    ],
)
def test_a_loader_of_what_a_frameworks_loop_trains(base: str, hook: str, expected: list[str]) -> None:
    assert found(TORCH_ON_A_GPU + LIGHTNING.format(base=base, hook=hook)) == expected


KERAS_SILENT = {
    "dropped": "ds.shuffle(9).batch(8, drop_remainder=True)",
    "dropped by place": "ds.batch(8, True)",
    "dropped as a flag says": "ds.batch(batch_size, drop_remainder=training)",
    "endless": "ds.repeat().batch(8)\ntf.data.Dataset.range(9).repeat(-1).shuffle(4).batch(8)",
    "endless by a name": "ds = tf.data.TFRecordDataset(files).repeat()\nds = ds.map(parse)\nds = ds.batch(8)",
    "divided": "tf.data.Dataset.from_tensor_slices(np.zeros((32, 4))).map(f).batch(8)",
    "batches of one": "ds.batch(1)",
    "another's method": "trader.batch()\ntrader.batch(orders)",
    "arrays that are divided": "model.fit(np.zeros((64, 4)), np.zeros(64))\nmodel.fit(x, y, batch_size=8)",
    "one batch": "model.fit(np.zeros((20, 4)), np.zeros(20))",
    "a part that is divided": "x = np.ones((37, 4))\nmodel.fit(x[:32], y, batch_size=8)",
    "what Keras loads": (
        "(x, y), _ = keras.datasets.fashion_mnist.load_data()\n"
        "tf.data.Dataset.from_tensor_slices((x, y)).shuffle(9).batch(50)"
    ),
    "what Keras loads, to test": (
        "train, test = tf.keras.datasets.cifar10.load_data()\nx, y = test\n"
        "tf.data.Dataset.from_tensor_slices(test[0]).batch(100)"
    ),
    "a split of what everybody has": "tfds.load('mnist', split='train', as_supervised=True).map(f).shuffle(9).batch(60)",
    "names of numbers": "n = 16 * 100\nB = 16\ntf.data.Dataset.range(n).shuffle(9).batch(B)",
}
KERAS_FOUND = {
    "what Keras loads, not divided": (
        "(x, y), _ = keras.datasets.cifar10.load_data()\ntf.data.Dataset.from_tensor_slices((x, y)).shuffle(9).batch(64)",
        ["XLA402:warning"],
    ),
    "a part of a split": ("tfds.load('mnist', split='train[:90%]').shuffle(9).batch(60)", ["XLA402:warning"]),
    "a split of something else": ("tfds.load(name, split='train').shuffle(9).batch(60)", ["XLA402:warning"]),
    "what something else loads": (
        "(x, y), _ = reader.load_data()\ntf.data.Dataset.from_tensor_slices((x, y)).shuffle(9).batch(50)",
        ["XLA402:warning"],
    ),
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


def test_a_strategy_for_tpus_compiles() -> None:
    head = "import tensorflow as tf\nstrategy = tf.distribute.TPUStrategy(resolver)\n"
    assert found(f"{head}ds.shuffle(9).batch(8)") == ["XLA402"]
    assert found("import tensorflow as tf\nds.shuffle(9).batch(8)") == []


def test_jax_compiles_all() -> None:
    assert found(f"{JAX}DataLoader(ds, 8, shuffle=True)") == ["XLA402"]
    assert found(f"{JAX}DataLoader(ds, 8, shuffle=True, drop_last=True)") == []


def test_what_an_option_asks_for_is_information() -> None:
    text = """
    import argparse

    def train(model, optimizer, ds, args):
        for x in DataLoader(ds, 8, shuffle=True):
            model(x).sum().backward()
            optimizer.step()
            if args.{}:
                held_out = DataLoader(ds, 8, shuffle=True)

    if __name__ == "__main__":
        parser = argparse.ArgumentParser()
        parser.add_argument("--held", action="store_true")
        train(model, optimizer, ds, parser.parse_args())
    """
    assert found(TORCH + dedent(text.format("held")), severities=True) == ["XLA402:warning", "XLA402:info"]
    assert found(TORCH + dedent(text.format("other")), severities=True) == ["XLA402:warning", "XLA402:warning"]


@pytest.mark.parametrize(("default", "expected"), [("1", []), ("4", ["XLA402"])])
def test_what_mostly_is_a_batch_of_one_leaves_no_rest(default: str, expected: list[str]) -> None:
    text = f"""
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default={default})
    args = parser.parse_args()
    DataLoader(ds, batch_size=args.batch_size, shuffle=True)
    """
    assert found(TORCH + dedent(text)) == expected
