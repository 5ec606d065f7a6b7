"""Which programs run on an XLA device: rules of configuration are silent in all others."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from xlalint.config import Settings
from xlalint.project import check_paths

FP16 = "from transformers import TrainingArguments\narguments = TrainingArguments(fp16=True)\n"
POLICY = 'import keras\nimport tensorflow as tf\nkeras.mixed_precision.set_global_policy("mixed_float16")\n'
STRATEGY = "strategy = tf.distribute.TPUStrategy(resolver)\n"
IMPORTS = "import torch_xla\nfrom transformers import TrainingArguments\n"
LAUNCHED = "from accelerate import notebook_launcher\ndef run():\n    import torch_xla\nnotebook_launcher(run)\n"
MAIN = 'if __name__ == "__main__":\n    main()\n'


def found(folder: Path, **files: str) -> list[str]:
    """File and line of each finding of configuration in a project, visible or not."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(dedent(text))
    report = check_paths([folder], Settings(root=str(folder), jobs=1, python=None, select=("XLA5",)))
    assert not report.failures
    return [f"{Path(one.filename).stem}:{one.location.row}" for one in report.findings if one.confidence != "possible"]


ELSEWHERE = {
    "a GPU's": FP16,
    "imported where it can be": f"try:\n    import torch_xla\nexcept ImportError:\n    torch_xla = None\n{FP16}",
    "imported on a condition": f"import os\nif os.environ.get('A'):\n    import torch_xla\n{FP16}",
    "imported by a function": f"def device():\n    import torch_xla\n    return torch_xla.device()\n{FP16}",
    "on a GPU by XLA": f"import os\nos.environ['PJRT_DEVICE'] = 'CUDA'\nimport torch_xla\n{FP16}",
    "an entry of `xla_spawn` without it": f"{FP16}def _mp_fn(index):\n    pass\n",
    "another framework's": f"import jax\n{FP16}",
    "a relative import": f"from .torch_xla import device\n{FP16}",
    "TensorFlow on GPUs": f"strategy = tf.distribute.MirroredStrategy()\n{POLICY}",
    "a TPU's TensorFlow, torch's settings": f"import tensorflow as tf\n{STRATEGY}{FP16}",
    "under a condition on the device": f"{IMPORTS}if on_cuda():\n    TrainingArguments(fp16=True)\n",
    "the other branch of a condition on the device": POLICY.replace(
        "keras.mixed", "if tpu:\n    pass\nelse:\n    keras.mixed"
    )
    + STRATEGY,
    "a policy by a flag": POLICY.replace("keras.mixed", "if args.fp16:\n    keras.mixed") + STRATEGY,
    "what is done where there is no TPU": f"try:\n    {STRATEGY}except ValueError:\n    fp16 = 1\n    {POLICY.splitlines()[2]}\n"
    "import keras\nimport tensorflow as tf\n",
    "chosen by the device": FP16.replace("True", "not tpu") + "import torch_xla\n",
    "a function that is called without": f"{IMPORTS}"
    "def make(half=True):\n    return TrainingArguments(fp16=half)\nmake(False)\n",
}

THERE = {
    "imported": (f"import torch_xla\n{FP16}", 3),
    "imported by name": (f"from torch_xla.core import xla_model\n{FP16}", 3),
    "a TPU by a variable": (f"import os\nos.environ['PJRT_DEVICE'] = 'TPU'\n{FP16}", 4),
    "launched from a notebook": (LAUNCHED + FP16, 6),
    "a strategy": (f"{POLICY}{STRATEGY}", 3),
    "a strategy made by a function": (f"{POLICY}def connect():\n    return tf.distribute.TPUStrategy(resolver)\n", 3),
    "a strategy, where there is one": (f"{POLICY}try:\n    {STRATEGY}except ValueError:\n    pass\n", 3),
    "under a condition": (f"import sys\n{IMPORTS}if sys.argv[1] == '--half':\n    TrainingArguments(fp16=True)\n", 5),
    "by a variable": (f"{IMPORTS}half = True\nTrainingArguments(fp16=half)\n", 4),
    "by a dict": (IMPORTS + "TrainingArguments(**{'fp16': True})\n", 3),
    "by a default": (f"{IMPORTS}def make(half=True):\n    TrainingArguments(fp16=half)\n", 4),
    "by a helper": (
        f"{IMPORTS}def options(half):\n    return dict(fp16=half)\n"
        "def main():\n    return TrainingArguments('out', **options(True))\n" + MAIN, 6),
    "in a method": (f"{IMPORTS}class Run:\n    def __init__(self):\n"
                    "        self.arguments = TrainingArguments(fp16=True)\n", 5),
    "by another name": ("import torch_xla\nfrom transformers import TrainingArguments as Arguments\nArguments(fp16=True)\n", 3),
    "of a class of one's own": (f"{IMPORTS}\nclass Mine(TrainingArguments):\n"
                                "    pass\n\nMine(fp16=True)\n", 7),
}  # fmt: skip


@pytest.mark.parametrize("text", ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_runs_elsewhere_is_left_alone(text: str, tmp_path: Path) -> None:
    assert found(tmp_path, script=text) == []


@pytest.mark.parametrize(("text", "row"), THERE.values(), ids=THERE)
def test_what_runs_on_an_xla_device(text: str, row: int, tmp_path: Path) -> None:
    assert found(tmp_path, script=text) == [f"script:{row}"]


@pytest.mark.parametrize(
    "call",
    [
        "from helper import make\nmake(True)\n",
        "from helper import *\ndef main():\n    make(True)\n",
        "import helper\ndef main():\n    helper.make(True)\n",
        "import helper as tools\ndef main():\n    tools.make(True)\n",
    ],
)
def test_a_helper_is_judged_by_the_scripts_that_call_it(call: str, tmp_path: Path) -> None:
    helper = "from transformers import TrainingArguments\ndef make(half):\n    return TrainingArguments(fp16=half)\n"
    assert found(tmp_path, helper=helper, train=call) == []
    assert found(tmp_path, helper=helper, train=f"import torch_xla\n{call}") == ["helper:3"]
    assert found(tmp_path, helper=helper, train=f"import torch_xla\n{call.replace('True', 'False')}") == []


def test_settings_of_another_file_are_the_programs(tmp_path: Path) -> None:
    assert found(tmp_path, settings=FP16, train="from settings import arguments\n") == []
    assert found(tmp_path, settings=FP16, train="import torch_xla\nfrom settings import arguments\n") == ["settings:2"]


DEVICE = "import torch_xla\ndevice = torch_xla.device()\n"
FROM_ANOTHER = {
    "a name": "from setup_device import device\n",
    "the module": "import setup_device\n",
    "all": "from setup_device import *\n",
}
NOT_FROM_ANOTHER = {
    "where it can be": (DEVICE, "try:\n    from setup_device import device\nexcept ImportError:\n    device = 'cuda'\n"),
    "on a condition": (DEVICE, "import sys\nif sys.argv[1] == 'tpu':\n    from setup_device import device\n"),
    "in a function": (DEVICE, "def on_tpu():\n    from setup_device import device\n    return device\n"),
    "which has it where it can": (f"try:\n    {DEVICE.splitlines()[0]}\nexcept ImportError:\n    pass\ndevice = 0\n",
                                  "from setup_device import device\n"),
    "which has it in a function": ("def device():\n    import torch_xla\n    return torch_xla.device()\n",
                                   "from setup_device import device\n"),
    "which nobody imports": (DEVICE, ""),
    "of another name": (DEVICE, "from other_setup import device\n"),
}  # fmt: skip


@pytest.mark.parametrize("statement", FROM_ANOTHER.values(), ids=FROM_ANOTHER)
def test_a_module_that_imports_the_device_from_another(statement: str, tmp_path: Path) -> None:
    assert found(tmp_path, setup_device=DEVICE, train=f"{statement}{FP16}") == ["train:3"]


@pytest.mark.parametrize(("helper", "statement"), NOT_FROM_ANOTHER.values(), ids=NOT_FROM_ANOTHER)
def test_a_module_that_may_not(helper: str, statement: str, tmp_path: Path) -> None:
    assert found(tmp_path, setup_device=helper, train=f"{statement}{FP16}") == []


def test_xla_spawn_starts_what_has_its_entry(tmp_path: Path) -> None:
    entry = f"{FP16}def _mp_fn(index):\n    main()\n"
    assert found(
        tmp_path, train=entry, other=FP16, xla_spawn="import torch_xla.distributed.xla_multiprocessing as xmp\n"
    ) == ["train:2"]


def test_the_target_that_is_given_is_believed(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(FP16)
    for target, count in (("torch_xla", 1), ("torch_tpu", 1), ("torch_compile", 0), (None, 0)):
        settings = Settings(root=str(tmp_path), jobs=1, python=None, target=target, select=("XLA5",))  # type: ignore[arg-type]
        assert len(check_paths([tmp_path], settings).findings) == count


def test_a_gpu_has_float16(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(f"import torch_xla\n{FP16}")
    assert not check_paths(
        [tmp_path], Settings(root=str(tmp_path), jobs=1, python=None, device="gpu", select=("XLA5",))
    ).findings
