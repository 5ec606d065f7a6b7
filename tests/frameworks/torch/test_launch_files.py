"""Accelerate's configuration files: what they say of where programs run, and what is found in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frameworks.torch.launching import found, options, written
from xlalint.cache import Cache
from xlalint.project import check_paths
from xlalint.project.fixing import fix
from xlalint.project.session import Session

TRAIN = 'from accelerate import Accelerator\naccelerator = Accelerator(mixed_precision="fp16")\n'
BARE = "from accelerate import Accelerator\naccelerator = Accelerator()\n"
XLA = "compute_environment: LOCAL_MACHINE\ndistributed_type: XLA\n"
GPUS = XLA.replace("XLA", "MULTI_GPU")
JSON = '{\n\t"compute_environment": "LOCAL_MACHINE",\n\t"distributed_type": "XLA",\n\t"mixed_precision": "fp16"\n}\n'


QUIET = {
    "GPUs": {"c.yaml": GPUS + "mixed_precision: fp16\n", "train.py": TRAIN},
    "no file": {"train.py": TRAIN},
    "none of any kind": {"c.yaml": XLA.replace("XLA", "'NO'") + "mixed_precision: fp16\n", "train.py": TRAIN},
    "another tool's": {"c.yaml": "steps:\n  distributed_type: XLA\n  mixed_precision: fp16\n", "train.py": TRAIN},
    "files for GPUs beside": {"tpu.yaml": XLA, "gpu.yaml": GPUS, "train.py": TRAIN},
    "for DeepSpeed beside": {"tpu.yaml": XLA, "ds.json": '{"distributed_type": "DEEPSPEED"}', "train.py": TRAIN},
    "a template": {"c.yaml": "distributed_type: {{ kind }}\nmixed_precision: fp16\n{% if a %}\n", "train.py": TRAIN},
    "a list": {"c.yaml": "- a\n- b\n- c: |\n\ndistributed_type: XLA\n"},
    "two documents": {"c.yaml": XLA + "---\n" + XLA + "mixed_precision: fp16\n"},
    "no date": {"c.yaml": XLA.replace("XLA", "2001-99-99"), "train.py": TRAIN},
    "broken JSON": {"c.json": JSON.replace("}", ""), "train.py": TRAIN},
    "in order": {"c.yaml": XLA + "mixed_precision: bf16\ndowncast_bf16: 'no'\nnum_processes: 8\n", "train.py": BARE},
    "no mixed precision": {"c.yaml": XLA + "mixed_precision: 'no'\ndowncast_bf16: no\n", "train.py": BARE},
    "a program without": {"c.yaml": XLA, "train.py": TRAIN.replace("import", "import Thing #").replace("accelerate ", "mine ")},
    "where it can be": {"c.yaml": XLA, "train.py": "try:\n    import accelerate\nexcept ImportError:\n    pass\n"
                        "from transformers import TrainingArguments\nTrainingArguments(fp16=True, optim='sgd')\n"},
    "suppressed": {"c.yaml": XLA + "mixed_precision: fp16  # xlalint: ignore[XLA506]\n"},
    "not the project's": {"node_modules/c.yaml": XLA + "mixed_precision: fp16\n", "train.py": TRAIN},
    "ignored by git": {".gitignore": "c.yaml\n", ".git/config": "", "c.yaml": XLA + "mixed_precision: fp16\n", "train.py": TRAIN},
    "huge": {"c.yaml": XLA + "mixed_precision: fp16\n" + "# more\n" * 10_000, "train.py": TRAIN},
}  # fmt: skip
LOUD = {
    "XLA": ({"c.yaml": XLA, "train.py": TRAIN}, ["XLA506 train.py:2:43"]),
    "in a folder": ({"configs/tpu.yml": XLA, "src/train.py": TRAIN}, ["XLA506 src/train.py:2:43"]),
    "old name": ({"c.yaml": XLA.replace("XLA", "TPU"), "train.py": TRAIN}, ["XLA512 c.yaml:2:19", "XLA506 train.py:2:43"]),
    "no kind beside": ({"c.yaml": XLA, "d.yaml": "distributed_type: 'NO'\n", "train.py": TRAIN}, ["XLA506 train.py:2:43"]),
    "float16 there": ({"c.yaml": XLA + "mixed_precision: fp16\n"}, ["XLA506 c.yaml:3:18"]),
    "float16 there, GPUs beside": (
        {"c.yaml": XLA + "mixed_precision: 'fp16'\n", "gpu.yaml": GPUS, "t.py": TRAIN}, ["XLA506 c.yaml:3:18"]),
    "in JSON": ({"c.json": JSON}, ["XLA506 c.json:4:21"]),
    "after characters of more bytes": ({"c.yaml": f"# für TPUs\n{XLA}mixed_precision: fp16\n"}, ["XLA506 c.yaml:4:18"]),
    "downcast": ({"c.yaml": XLA + "downcast_bf16: 'yes'\nmixed_precision: bf16\n"}, ["XLA507 c.yaml:3:16"]),
    "downcast, no text": ({"c.yaml": XLA + "downcast_bf16: true\n"}, ["XLA507 c.yaml:3:16"]),
}  # fmt: skip


@pytest.mark.parametrize("files", QUIET.values(), ids=QUIET)
def test_nothing_to_say(files: dict[str, str], tmp_path: Path) -> None:
    assert found(tmp_path, files) == []


@pytest.mark.parametrize(("files", "expected"), LOUD.values(), ids=LOUD)
def test_programs_that_accelerate_starts(files: dict[str, str], expected: list[str], tmp_path: Path) -> None:
    assert found(tmp_path, files) == expected


def test_a_gpu_has_float16(tmp_path: Path) -> None:
    assert found(tmp_path, {"c.yaml": XLA + "mixed_precision: fp16\n", "train.py": TRAIN}, device="gpu") == []


def test_a_named_file_is_checked(tmp_path: Path) -> None:
    written(tmp_path, {"c.yaml": XLA + "mixed_precision: fp16\n", "other.json": '{"a": 1}'})
    report = check_paths([tmp_path / "c.yaml", tmp_path / "other.json"], options(tmp_path))
    assert [one.code for one in report.findings] == ["XLA506"]


FIXED = {
    "the kind": (XLA.replace("XLA", "TPU"), XLA, False),
    "the kind, quoted": (XLA.replace("XLA", '"TPU"  # v4'), XLA.replace("XLA", '"XLA"  # v4'), False),
    "float16": (XLA + "mixed_precision: 'fp16'\r\n", XLA + "mixed_precision: 'bf16'\r\n", True),
    "in JSON": (JSON, JSON.replace("fp16", "bf16"), True),
}


@pytest.mark.parametrize(("before", "after", "unsafe"), FIXED.values(), ids=FIXED)
def test_fixes(before: str, after: str, unsafe: bool, tmp_path: Path) -> None:
    path = tmp_path / ("c.json" if before.startswith("{") else "c.yaml")
    path.write_bytes(before.encode())

    def fixed(unsafe: bool) -> dict[str, bytes]:
        made = fix(
            lambda contents, memory: check_paths([tmp_path], options(tmp_path), contents=contents, fixes=memory),
            lambda place: Path(place).read_bytes(),
            unsafe=unsafe,
        )
        assert not made.troubles
        return {place: texts.after for place, texts in made.files.items()}

    assert fixed(True) == {str(path): after.encode()}
    assert bool(fixed(False)) is not unsafe


CHANGES = {
    "another kind": {"c.yaml": GPUS},
    "gone": {"c.yaml": None},
    "a GPU's beside": {"gpu.yaml": GPUS},
    "no longer Accelerate's": {"c.yaml": "a: b\n"},
    "float16 there": {"c.yaml": XLA + "mixed_precision: fp16\n"},
    "a comment": {"c.yaml": "# of a pod\n" + XLA + "mixed_precision: fp16\n"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_counts_for_kept_results_and_sessions(change: dict[str, str | None], tmp_path: Path) -> None:
    project, settings = tmp_path / "project", options(tmp_path / "project")
    written(project, {"c.yaml": XLA, "train.py": TRAIN, "other.py": "import torch\n"})
    session = Session([project], settings)
    session.load()
    session.report()
    with Cache(tmp_path / "cache") as cache:
        before = check_paths([project], settings, cache=cache).findings
    for name, text in change.items():
        if text is None:
            (project / name).unlink()
        else:
            (project / name).write_text(text)
    session.rediscover([str(project / name) for name in change])
    with Cache(tmp_path / "cache") as cache:
        after = check_paths([project], settings, cache=cache)
    plain = check_paths([project], settings)
    assert after == plain
    assert plain.findings != before
    told = session.report()
    assert [(f.code, f.filename, f.location) for f in told.findings] == [
        (f.code, f.filename, f.location) for f in plain.findings
    ]
    assert told.files == plain.files
