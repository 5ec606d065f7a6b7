"""TorchTPU without a TPU: the rule pages' examples on it, and `verify` and `run`, in an environment of its own.

The examples that are for torch_xla by name are left out: the package is not there.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.environments import run_there
from tests.xla.conftest import HERE, LIMIT, runnable
from tests.xla.test_examples import assert_as_the_page_says
from tests.xla.test_torch_backends import expected, file_of, lines_of, seen_at
from tests.xla.tpu_environment import require_torch_tpu
from xlalint.rules import Example, Rule, rules
from xlalint.verify.inputs.marks import marks
from xlalint.verify.model import Step

TARGET = "torch_tpu"
VERIFY = ("-m", "xlalint", "verify", "--isolated", "--backend", TARGET)
_NOT_ON_CPU = ("LuDecomposition", "tpu_custom_call")  # what XLA for the CPU lacks, and libtpu has
_FOLLOWS = "a required argument is in a failed state"
_IMPORTS_ELSEWHERE = ("torch_xla", "torchvision", "transformers", "accelerate", "timm")


def is_tried(rule: Rule, example: Example) -> bool:
    """Whether TorchTPU is to do what the page says of an example, and what it imports is there."""
    named = {target.partition(":")[0] for target in example.targets}
    meant = TARGET in named if named else rule.severity_for(TARGET) is not None
    return (
        example.framework == "torch"
        and meant
        and runnable(example)
        and not any(package in example.code for package in _IMPORTS_ELSEWHERE)
    )


EXAMPLES = [
    pytest.param(rule, example, id=example.ident)
    for rule in rules().values()
    for example in rule.examples
    if is_tried(rule, example)
]


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, Any]:
    """What all selected examples did, in one child."""
    python = require_torch_tpu()
    folder = tmp_path_factory.mktemp("torch_tpu")
    chosen = [getattr(item, "callspec", None) for item in request.session.items]
    shown = [spec.params.get("shown") for spec in chosen if spec]
    wanted = {one.ident for one in shown if isinstance(one, Example)}
    asked = [
        {
            "ident": one.ident,
            "code": one.code,
            "of": "",
            "targets": [TARGET],
            "variants": [],
            "folder": str(folder),
            "programs": "",
        }
        for one in (case.values[1] for case in EXAMPLES)
        if one.ident in wanted
    ]
    seen: dict[str, Any] = {}
    while asked:
        answer = folder / f"answer_{len(asked)}.json"
        done = run_there(
            python, str(HERE / "run_examples.py"), TARGET, str(answer), given=json.dumps(asked), limit=LIMIT
        )
        seen |= json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else {}
        if done.returncode == 0:
            break
        died = Path(f"{answer}.at")
        assert died.exists(), done.stderr[-4000:]
        seen[died.read_text(encoding="utf-8")] = {"crashed": done.stderr[-2000:]}
        asked = [one for one in asked if one["ident"] not in seen]
    return seen


@pytest.mark.torch_tpu
@pytest.mark.parametrize(("page", "shown"), EXAMPLES)
def test_example_does_what_its_page_says(page: Rule, shown: Example, observed: dict[str, Any]) -> None:
    seen = observed[shown.ident]
    if "crashed" in seen:
        assert "computation_partitioner.cc" in seen["crashed"], seen["crashed"]
        pytest.skip("XLA's compiler for the CPU dies of this operation; the TPU's does not")
    assert "broken" not in seen, seen["broken"]
    run = seen["runs"][TARGET]
    error = run["error"] or ""
    # What waits for a decomposition may be told of its failure before it.
    if any(lacking in error for lacking in _NOT_ON_CPU) or (_FOLLOWS in error and "torch.linalg" in shown.code):
        pytest.skip(f"XLA for the CPU cannot run it: {run['error']}")
    named = next((one for one in shown.targets if one.partition(":")[0] == TARGET), TARGET)
    assert_as_the_page_says(page, shown, named, run)


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Step]]:
    """The steps of each program of the backend's file, in one child."""
    answer = tmp_path_factory.mktemp("programs") / "answer.json"
    done = run_there(
        require_torch_tpu(), str(HERE / "run_programs.py"), TARGET, str(file_of(TARGET)), str(answer), limit=LIMIT
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return msgspec.json.decode(answer.read_bytes(), type=dict[str, list[Step]])


PROGRAMS = [mark.name for mark in marks(file_of(TARGET).read_text(encoding="utf-8"), str(file_of(TARGET)))]


@pytest.mark.torch_tpu
@pytest.mark.parametrize("program", PROGRAMS)
def test_events_belong_to_their_lines(program: str, steps: dict[str, list[Step]]) -> None:
    lines = lines_of(TARGET, program.partition(".")[0])
    wanted = {(n, kind) for n, kinds in expected(TARGET).items() if n in lines for kind in kinds}
    assert seen_at(steps[program], TARGET) == wanted


@pytest.mark.torch_tpu
@pytest.mark.parametrize("program", PROGRAMS)
def test_counts_are_the_events(program: str, steps: dict[str, list[Step]]) -> None:
    for step in steps[program]:
        told = Counter(dict.fromkeys(("compilation", "host-sync", "graph-break"), 0))
        for event in step.events:
            told[event.kind] += event.count
        assert (step.counts.compilations, step.counts.transfers, step.counts.graph_breaks) == tuple(told.values())


@pytest.mark.torch_tpu
def test_verify_compiles_for_tpus_too() -> None:
    target = f"{file_of(TARGET)}:clean_arithmetic"
    done = run_there(require_torch_tpu(), *VERIFY, "--output-format", "json", "--tpu", "v5e", target)
    assert done.returncode == 0, done.stderr[-4000:]
    (one,) = json.loads(done.stdout)
    assert len(one["tpu"]) == one["steps"][0]["counts"]["compilations"]
    assert all(program["error"] is None for program in one["tpu"])


REWRITTEN = """
import torch


# xlalint: inputs(x="f32[8,4]")
def branch(x):
    if x.sum() > 0:
        return x + torch.ones(4, device="tpu")
    return x - 1


# xlalint: inputs(x="f32[8,4]")
def where(x):
    return torch.where(x.sum() > 0, x + 1, x - 1)


# xlalint: inputs(x="f32[8,4]")
def other(x):
    return torch.where(x.sum() > 0, x + 1, x)
"""


@pytest.mark.torch_tpu
@pytest.mark.parametrize(("name", "verdict", "code"), [("where", "proven", 0), ("other", "refuted", 1)])
def test_rewrites_are_compared(tmp_path: Path, name: str, verdict: str, code: int) -> None:
    file = tmp_path / "rewritten.py"
    file.write_text(REWRITTEN, encoding="utf-8")
    against = ("--against", f"{file}:branch", "--output-format", "json")
    done = run_there(require_torch_tpu(), *VERIFY, *against, f"{file}:{name}")
    assert done.returncode == code, done.stderr[-4000:]
    assert json.loads(done.stdout)[0]["verdict"] == verdict


SCRIPT = """
import torch

model = torch.nn.Linear(8, 4).to("tpu")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    loss = model(torch.randn(16, 8).to("tpu")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
"""


@pytest.mark.torch_tpu
def test_script_runs_on_the_device(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(SCRIPT, encoding="utf-8")
    done = run_there(
        require_torch_tpu(), "-m", "xlalint", "run", "--isolated", "--no-cache", "--output-format", "json", str(file)
    )
    assert done.returncode == 0, done.stderr[-4000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert "torch_tpu" in said["frameworks"]
    line = SCRIPT.splitlines().index("    print(step, loss.item())") + 1
    warm = [step["step"] for step in said["steps"] if not step["warm"]]
    assert len(warm) == 4
    for step in warm:
        assert (step["counts"]["compilations"], step["counts"]["transfers"]) == (0, 1)
        assert [(one["place"]["line"], one["kind"]) for one in step["events"]] == [(line, "host-sync")]


# What each form of attention asks for: the flash kernel cannot run here and is named by the error; what misses it runs.
FLASH = {
    "64": "flash",
    "128": "flash",
    "160": "none",
    "256": "flash",
    "float16": "none",
    "bfloat16": "flash",
    "learned": "none",
    "unlearned": "flash",
    "module": "none",
    "module without weights": "flash",
    "module of large heads": "none",
    "layer": "flash",
    "layer of large heads": "none",
}


@pytest.mark.torch_tpu
def test_attention_is_asked_of_the_flash_kernel() -> None:
    done = run_there(require_torch_tpu(), str(HERE / "run_attention.py"))
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout.splitlines()[-1]) == FLASH
