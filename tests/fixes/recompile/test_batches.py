"""XLA401 and XLA402: batches of one shape."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_unchanged, outcome

TORCH = "import torch_xla\nfrom torch.utils.data import DataLoader\nfrom transformers import DataCollatorWithPadding\n"
KERAS = "import tensorflow as tf\nstrategy = tf.distribute.TPUStrategy(resolver)\n"
LEFT = {
    "an evaluation": ("XLA402", TORCH, "DataLoader(ds, 8)\n", "would change the metric"),
    "a loader that is named for it": ("XLA402", TORCH, "val_loader = DataLoader(ds, 8, shuffle=True)\n", "the metric"),
    "a loader that is named for it in one word": (
        "XLA402",
        TORCH,
        "testloader = DataLoader(ds, 8, shuffle=True)\n",
        "the metric",
    ),
    "examples that are named for it": (
        "XLA402",
        TORCH,
        "loader = DataLoader(testset, 8, shuffle=True)\n",
        "the metric",
    ),
    "an attribute that is named for it": (
        "XLA402",
        TORCH,
        "self.test_dataloader = DataLoader(ds, 8, shuffle=True)\n",
        "the metric",
    ),
    "a data set that is held back": (
        "XLA402",
        TORCH,
        "loader = DataLoader(CIFAR10(root, train=False), 7, shuffle=True)\n",
        "the metric",
    ),
    "a split that is held back": (
        "XLA402",
        TORCH,
        "ds = Flowers102(root, split='test')\nloader = DataLoader(ds, 8, shuffle=True)\n",
        "the metric",
    ),
    "shuffled by what a call says": ("XLA402", TORCH, "DataLoader(ds, 8, shuffle=trains(mode))\n", "what a call says"),
    "examples of one set or another": (
        "XLA402",
        TORCH,
        "DataLoader(first if flag else second, 8, shuffle=True)\n",
        "what a call says",
    ),
    "examples in their order": ("XLA402", TORCH, "DataLoader(ds, 8, shuffle=False)\n", "would change the metric"),
    "no gradients": (
        "XLA402",
        TORCH,
        "import torch\nwith torch.no_grad():\n    DataLoader(ds, 8, sampler=s)\n",
        "would change the metric",
    ),
    "a loader that is told to keep": (
        "XLA402",
        TORCH,
        "DataLoader(ds, 8, drop_last=False, shuffle=True)\n",
        "asks for the last batch",
    ),
    "a sampler from elsewhere": (
        "XLA402",
        TORCH,
        "def f(ds, s):\n    return DataLoader(ds, 8, sampler=s)\n",
        "the metric",
    ),
    "a sampler of one's own": ("XLA402", TORCH, "DataLoader(ds, 8, sampler=InferenceSampler(ds))\n", "the metric"),
    "a sampler of one's own by a name": (
        "XLA402",
        TORCH,
        "def f(ds):\n    s = InferenceSampler(ds)\n    return DataLoader(ds, batch_size=8, sampler=s, drop_last=False)\n",
        "the metric",
    ),
    "one sampler or the other": (
        "XLA402",
        TORCH,
        "DataLoader(ds, 8, sampler=(TrainSampler if train else TestSampler)(ds))\n",
        "the metric",
    ),
    "one sampler or the other by a name": (
        "XLA402",
        TORCH,
        "def f(ds, t):\n    if t:\n        s = RandomSampler(ds)\n    else:\n        s = Ordered(ds)\n"
        "    return DataLoader(ds, 8, sampler=s)\n",
        "the metric",
    ),
    "arrays": ("XLA402", KERAS, "x = tf.zeros((37, 4))\nmodel.fit(x, y, batch_size=8)\n", "`fit` uses all of an array"),
    "nothing of an order": ("XLA402", TORCH, "loader = DataLoader(train_set, 8)\n", "left out of every epoch"),
    "a mapping": ("XLA402", TORCH, "DataLoader(ds, 8, **{'shuffle': True})\n", "comes from elsewhere"),
    "no length": ("XLA401", TORCH, "DataCollatorWithPadding(tokenizer)\n", "only the author knows how long"),
    "no length yet": (
        "XLA401",
        TORCH,
        "DataCollatorWithPadding(tokenizer, max_length=None)\n",
        "only the author knows how long",
    ),
    "padding by a name": (
        "XLA401",
        TORCH,
        "how = True\nDataCollatorWithPadding(tokenizer, padding=how, max_length=8)\n",
        "comes from elsewhere",
    ),
    "a data set's shapes": (
        "XLA401",
        KERAS,
        "ds.padded_batch(8, drop_remainder=True)\n",
        "only the author knows how long",
    ),
}
FIXED = {
    "a loader": (
        TORCH,
        "XLA402",
        "DataLoader(ds, 8, shuffle=True)\n",
        "DataLoader(ds, 8, shuffle=True, drop_last=True)\n",
    ),
    "a loader on a line that gets too long": (
        TORCH,
        "XLA402",
        "training_loader = DataLoader(training_examples, batch_size=8, shuffle=True, num_workers=4)\n",
        "training_loader = DataLoader(\n"
        "    training_examples, batch_size=8, shuffle=True, num_workers=4, drop_last=True\n)\n",
    ),
    "a loader on two lines": (
        TORCH,
        "XLA402",
        "training_loader = DataLoader(training_examples, batch_size=8, num_workers=4,\n"
        "                             shuffle=True, worker_init_fn=seeds, collate_fn=collates)\n",
        "training_loader = DataLoader(training_examples, batch_size=8, num_workers=4,\n"
        "                             shuffle=True, worker_init_fn=seeds, collate_fn=collates,\n"
        "                             drop_last=True)\n",
    ),
    "a loader of so many arguments that each gets a line": (
        TORCH,
        "XLA402",
        "loader = DataLoader(examples, 8, shuffle=True, num_workers=workers, collate_fn=collates)\n",
        "loader = DataLoader(\n    examples, 8, shuffle=True, num_workers=workers, collate_fn=collates, drop_last=True\n)\n",
    ),
    "a loader of either set": (
        TORCH,
        "XLA402",
        "DataLoader(train_set if trains else test_set, 8, shuffle=True)\n",
        "DataLoader(train_set if trains else test_set, 8, shuffle=True, drop_last=trains)\n",
    ),
    "a loader of either set, by a name": (
        TORCH,
        "XLA402",
        "examples = train_set if trains else test_set\nDataLoader(examples, 8, shuffle=True)\n",
        "examples = train_set if trains else test_set\nDataLoader(examples, 8, shuffle=True, drop_last=trains)\n",
    ),
    "a loader of what has a name": (
        TORCH,
        "XLA402",
        "examples = load()\nDataLoader(examples, 8, shuffle=True)\n",
        "examples = load()\nDataLoader(examples, 8, shuffle=True, drop_last=True)\n",
    ),
    "a loader that is for training just if it shuffles": (
        TORCH,
        "XLA402",
        "DataLoader(ds, 8, shuffle=(mode == 'train'), num_workers=2)\n",
        "DataLoader(ds, 8, shuffle=(mode == 'train'), num_workers=2, drop_last=(mode == 'train'))\n",
    ),
    "a loader to train and evaluate by turns": (
        TORCH,
        "XLA402",
        "train_eval_loader = DataLoader(ds, 8, shuffle=True)\n",
        "train_eval_loader = DataLoader(ds, 8, shuffle=True, drop_last=True)\n",
    ),
    "a sampler that draws": (
        TORCH,
        "XLA402",
        "DataLoader(ds, 8, sampler=RandomSampler(ds))\n",
        "DataLoader(ds, 8, sampler=RandomSampler(ds), drop_last=True)\n",
    ),
    "a sampler that draws by a name": (
        TORCH,
        "XLA402",
        "s = data.DistributedSampler(ds)\nDataLoader(ds, 8, sampler=s)\n",
        "s = data.DistributedSampler(ds)\nDataLoader(ds, 8, sampler=s, drop_last=True)\n",
    ),
    "a sampler for training": (
        TORCH,
        "XLA402",
        "DataLoader(ds, 8, sampler=train_sampler)\n",
        "DataLoader(ds, 8, sampler=train_sampler, drop_last=True)\n",
    ),
    "a loader over several lines": (
        TORCH,
        "XLA402",
        "DataLoader(\n    ds,\n    batch_size=8,  # per core\n    shuffle=True,  # anew\n)\n",
        "DataLoader(\n    ds,\n    batch_size=8,  # per core\n    shuffle=True,  # anew\n    drop_last=True,\n)\n",
    ),
    "a loader with blanks around its signs": (
        TORCH,
        "XLA402",
        "DataLoader(\n    ds,\n    batch_size = 8,\n    shuffle = True\n)\n",
        "DataLoader(\n    ds,\n    batch_size = 8,\n    shuffle = True,\n    drop_last = True\n)\n",
    ),
    "a data set": (
        KERAS,
        "XLA402",
        "ds.shuffle(9).batch(8)\n",
        "ds.shuffle(9).batch(8, drop_remainder=True)\n",
    ),
    "a collator": (
        TORCH,
        "XLA401",
        'DataCollatorWithPadding(tokenizer, padding="longest", max_length=64)\n',
        'DataCollatorWithPadding(tokenizer, padding="max_length", max_length=64)\n',
    ),
    "a collator in other quotes": (
        TORCH,
        "XLA401",
        "DataCollatorWithPadding(tokenizer, padding='longest', max_length=64)\n",
        "DataCollatorWithPadding(tokenizer, padding='max_length', max_length=64)\n",
    ),
    "a collator's default": (
        TORCH,
        "XLA401",
        "DataCollatorWithPadding(tokenizer, max_length=64)\n",
        'DataCollatorWithPadding(tokenizer, max_length=64, padding="max_length")\n',
    ),
}


@pytest.mark.parametrize("case", LEFT)
def test_left(case: str) -> None:
    rule, head, text, reason = LEFT[case]
    expect_unchanged(head + text, rule, reason)


@pytest.mark.parametrize("case", FIXED)
def test_fixed(case: str) -> None:
    head, rule, before, after = FIXED[case]
    expect_fixed(outcome(head + before, rule), head + after, "unsafe")
