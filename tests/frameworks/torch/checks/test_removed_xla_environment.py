"""XLA507: variables of the environment that torch_xla no longer reads."""

from __future__ import annotations

import pytest

from tests.conftest import Findings
from tests.frameworks.torch.configuration import find_configuration, find_in_function, find_where_a_gpu_may_be
from xlalint.source.magics import mask_magics

START = "import os\nimport torch\nimport torch_xla\n"

IN_ORDER = {
    "the device's kind": "os.environ['PJRT_DEVICE'] = 'TPU'",
    "switched off": "os.environ['XLA_USE_BF16'] = '0'",
    "read": "os.environ.get('XLA_USE_BF16')",
    "another dict": "options['XLA_USE_BF16'] = '1'",
    "other variables": "os.environ['XLA_FLAGS'] = '--xla_dump_to=out'\nos.environ.setdefault('XLA_USE_SPMD', '1')",
    "other updates": "options.update(XLA_USE_BF16='1')\nos.environ.update({'PT_XLA_DEBUG': '1'})",
}
FOUND = {
    "a variable": ("os.environ['XLA_USE_BF16'] = '1'", "XLA507", "warning"),
    "a number": ("os.environ['XLA_DOWNCAST_BF16'] = str(1)", "XLA507", "warning"),
    "a default": ("os.environ.setdefault('XLA_USE_BF16', '1')", "XLA507", "warning"),
    "several": ("os.environ.update({'XRT_TPU_CONFIG': 'x'})", "XLA507", "warning"),
    "of no effect": ("os.environ['XLA_USE_FP16'] = '1'", "XLA507", "warning"),
    "put": ("os.putenv('XRT_WORKERS', 'x')", "XLA507", "warning"),
}  # fmt: skip


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_in_order(code: str, findings: Findings) -> None:
    assert find_configuration(findings, f"{START}{code}\n") == []


@pytest.mark.parametrize(("code", "rule", "severity"), FOUND.values(), ids=FOUND)
def test_found(code: str, rule: str, severity: str, findings: Findings) -> None:
    assert find_configuration(findings, f"{START}{code}\n") == [(rule, severity)]
    assert find_in_function(findings, START, code) == [(rule, severity)]


@pytest.mark.parametrize(("code", "rule", "severity"), FOUND.values(), ids=FOUND)
def test_a_program_that_may_run_on_a_gpu_is_left_alone(code: str, rule: str, severity: str) -> None:
    # Variables of XRT's are set for XLA devices alone.
    assert find_where_a_gpu_may_be(START, code) == (["XLA507"] if "['XRT_TPU_CONFIG']" in code else [])


def test_a_magic_says_where_the_program_runs(findings: Findings) -> None:
    mask = mask_magics("%env PJRT_DEVICE=TPU\n%env XLA_USE_BF16=1\n")
    assert mask is not None
    assert findings(f"import torch\n{mask.text}", "") == [("XLA507", "warning")]
