"""XLA510 in the JSON file that `fsdp_config` names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frameworks.torch.launching import found, options, written
from xlalint.project import check_paths
from xlalint.project.fixing import fix
from xlalint.project.session import Session

TRAIN = (
    "import torch_xla\nfrom transformers import TrainingArguments\n"
    "TrainingArguments('out', optim='sgd', fsdp='full_shard', fsdp_config={})\n"
)
NAMED = TRAIN.format("'fsdp.json'")
GOOD = '{\n  "xla": true,\n  "xla_fsdp_settings": {"compute_dtype": "bfloat16"},\n  "xla_fsdp_grad_ckpt": true\n}\n'
MISSPELT = GOOD.replace("grad_ckpt", "grad_checkpoint")

QUIET = {
    "in order": {"fsdp.json": GOOD, "train.py": NAMED},
    "no file": {"train.py": NAMED},
    "nobody's": {"fsdp.json": MISSPELT, "train.py": TRAIN.format("None")},
    "a GPU's program": {"fsdp.json": MISSPELT, "train.py": NAMED.replace("import torch_xla\n", "")},
    "one of two": {"a/fsdp.json": MISSPELT, "b/fsdp.json": GOOD, "c/train.py": NAMED},
    "the nearer of two": {"a/fsdp.json": MISSPELT, "fsdp.json": GOOD, "train.py": NAMED},
    "another of a longer name": {"my_fsdp.json": MISSPELT, "train.py": NAMED},
    "another's keys": {"fsdp.json": '{"fsdp_version": 2, "xla": false, "min_num_params": 3}', "train.py": NAMED},
    "on a condition": {"fsdp.json": MISSPELT, "train.py": NAMED.replace("TrainingA", "if not on_tpu():\n    TrainingA", 2).replace(
        "import if not on_tpu():\n    ", "import ")},
    "no mapping": {"fsdp.json": '[{"xla": true, "xla_fsdp": 1}]', "train.py": NAMED},
    "broken": {"fsdp.json": MISSPELT[:-4], "train.py": NAMED},
}  # fmt: skip
LOUD = {
    "misspelt": ({"fsdp.json": MISSPELT, "train.py": NAMED}, ["XLA510 fsdp.json:4:3"]),
    "by a longer path": ({"conf/fsdp.json": MISSPELT, "train.py": TRAIN.format("'./conf/fsdp.json'")}, ["XLA510 conf/fsdp.json:4:3"]),
    "from the project's folder": ({"conf/fsdp.json": MISSPELT, "src/train.py": TRAIN.format("'conf/fsdp.json'")},
                                  ["XLA510 conf/fsdp.json:4:3"]),
    "by a variable": ({"fsdp.json": MISSPELT, "train.py": TRAIN.format("path").replace("Tr", "path = 'fsdp.json'\nTr", 2).replace(
        "import path = 'fsdp.json'\n", "import ")}, ["XLA510 fsdp.json:4:3"]),
    "a setting": ({"fsdp.json": GOOD.replace("compute", "computing"), "train.py": NAMED}, ["XLA510 fsdp.json:3:25"]),
    "all that is wrong": ({"fsdp.json": MISSPELT.replace("bfloat16", "bf16"), "train.py": NAMED},
                          ["XLA510 fsdp.json:3:25", "XLA510 fsdp.json:4:3"]),
    "checkpoints without": ({"fsdp.json": GOOD.replace("true", "false", 1), "train.py": NAMED}, ["XLA510 fsdp.json:4:3"]),
    "not sharded": ({"fsdp.json": GOOD, "train.py": NAMED.replace("fsdp='full_shard', ", "")}, ["XLA510 fsdp.json:2:3"]),
    "read by two programs": ({"fsdp.json": MISSPELT, "a.py": NAMED, "b.py": NAMED}, ["XLA510 fsdp.json:4:3"]),
    "in a function": ({"fsdp.json": MISSPELT, "train.py": NAMED.replace("TrainingArguments('", "def main():\n    TrainingArguments('")},
                      ["XLA510 fsdp.json:4:3"]),
}  # fmt: skip


@pytest.mark.parametrize("files", QUIET.values(), ids=QUIET)
def test_nothing_to_say(files: dict[str, str], tmp_path: Path) -> None:
    assert found(tmp_path, files) == []


@pytest.mark.parametrize(("files", "expected"), LOUD.values(), ids=LOUD)
def test_keys_that_the_trainer_does_not_read(files: dict[str, str], expected: list[str], tmp_path: Path) -> None:
    assert found(tmp_path, files) == expected


def test_a_misspelt_key_is_spelt_as_the_nearest(tmp_path: Path) -> None:
    written(tmp_path, {"fsdp.json": MISSPELT, "train.py": NAMED})
    made = fix(
        lambda contents, memory: check_paths([tmp_path], options(tmp_path), contents=contents, fixes=memory),
        lambda place: Path(place).read_bytes(),
        unsafe=True,
    )
    assert {Path(place).name: texts.after for place, texts in made.files.items()} == {"fsdp.json": GOOD.encode()}
    assert not made.troubles
    assert not made.report.findings


def test_a_session_follows_the_file(tmp_path: Path) -> None:
    written(tmp_path, {"fsdp.json": GOOD, "train.py": NAMED})
    session = Session([tmp_path], options(tmp_path))
    session.load()
    assert not session.report().findings
    session.change(str(tmp_path / "fsdp.json"), MISSPELT.encode())
    assert [one.location.row for one in session.report().findings] == [4]
    (tmp_path / "fsdp.json").unlink()
    session.change(str(tmp_path / "fsdp.json"), None)
    assert not session.report().findings
