"""What a target lacks, by several tables: each is asked for its own target, and a later table overrides an earlier one."""

from __future__ import annotations

import pytest

from xlalint.config import Settings
from xlalint.project import check_text

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import Tensor, nn\n\n\nclass M(nn.Module):\n"
HEAD += "    def forward(self, x: Tensor, y: Tensor):\n        return "

RUN = {
    "a mean": "x.mean()",
    "a quantile": "x.quantile(0.5)",
    "a loss": "F.mse_loss(x, y)",
    "smooth without a bend": "F.smooth_l1_loss(x, y, beta=0)",
    "bilinear": "F.interpolate(x, scale_factor=2, mode='bilinear')",
    "an activation": "F.gelu(x) + F.silu(x) + F.softplus(x)",
    "attention": "F.scaled_dot_product_attention(x, x, y)",
    "a determinant's root": "torch.linalg.norm(x)",
    "in host memory": "torch.median(torch.ones(3))",
}
RAISES = {
    "a median": "x.median()",
    "a median of rows": "torch.median(x, 1)",
    "a loss": "F.smooth_l1_loss(x, y)",
    "an activation": "F.mish(x)",
    "a module": "nn.SmoothL1Loss()(x, y)",
    "a factorisation": "torch.linalg.cholesky(x)",
    "distinct rows": "torch.unique(x, dim=0)",
    "antialiased": "F.interpolate(x, scale_factor=2, mode='bilinear', antialias=True)",
    "a trace": "torch.trace(x)",
}


def codes(code: str, target: str) -> set[str]:
    report = check_text(f"{HEAD}{code}\n", "m.py", Settings(target=target))  # type: ignore[arg-type]
    assert not report.failures
    return {one.code for one in report.findings}


@pytest.mark.parametrize("code", RUN.values(), ids=RUN)
def test_torchtpu_has_a_kernel(code: str) -> None:
    assert codes(code, "torch_tpu") == set()


@pytest.mark.parametrize("code", RAISES.values(), ids=RAISES)
def test_torchtpu_has_none(code: str) -> None:
    assert codes(code, "torch_tpu") == {"XLA601"}


@pytest.mark.parametrize("code", [*RUN.values(), *RAISES.values()])
@pytest.mark.parametrize("target", ["torch_xla", "torch_compile"])
def test_nothing_is_said_of_it_elsewhere(code: str, target: str) -> None:
    assert "XLA601" not in codes(code, target)


SCRIPTS = {
    "on the device": ("x = torch.ones(3, device='tpu')\nx.median()\n", ["error"]),
    "moved": ("x = torch.ones(3).to('tpu')\ntorch.trace(x)\n", ["error"]),
    "in host memory": ("x = torch.ones(3)\nx.median()\ny = x.to('tpu')\n", []),
    "copied back": ("x = torch.ones(3).to('tpu')\nx.cpu().median()\n", []),
    "read once": ("x = torch.ones(3).to('tpu')\nprint(x.sum().item())\n", []),
    "of another device": ("x = torch.ones(3).to('xla')\nx.median()\n", []),
}


@pytest.mark.parametrize(("code", "expected"), SCRIPTS.values(), ids=SCRIPTS)
def test_a_call_in_a_script_raises_though_it_is_made_once(code: str, expected: list[str]) -> None:
    report = check_text(f"import torch\n{code}", "m.py", Settings())
    assert [one.severity for one in report.findings] == expected
