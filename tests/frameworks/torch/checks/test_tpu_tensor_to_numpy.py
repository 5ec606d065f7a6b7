"""XLA528: arrays of tensors that are surely on the TPU."""

from __future__ import annotations

import pytest

from tests.conftest import Findings
from tests.frameworks.selecting import severities_of

START = (
    "import numpy as np\nimport torch\nfrom torch import nn\n"
    'device = torch.device("tpu")\nmodel = nn.Linear(2, 2).to(device)\nx = torch.ones(2, device="tpu")\n'
)

IN_ORDER = {
    "copied": "x.cpu().numpy()",
    "copied before it is detached": "model.weight.cpu().detach().numpy()",
    "copied by a name": "y = x.cpu()\ny.numpy()",
    "copied in one branch": "y = x * 2\nif y.ndim:\n    y = y.cpu()\ny.numpy()",
    "copied by force": "x.numpy(force=True)",
    "moved to a device": 'x.to("cpu").numpy()',
    "moved to where another is": "x.to(other).numpy()",
    "made on the host": "torch.ones(2).numpy()",
    "made on another device": 'torch.ones(2, device="cpu").numpy()',
    "made where nothing says": "torch.ones(2, device=where).numpy()",
    "a batch": "for batch in loader:\n    batch.numpy()",
    "a parameter": "def keep(y):\n    rows = y.numpy()\n    y = y.to(device)\n    return rows, y",
    "a name of the module that the function binds anew": "def keep():\n    x = torch.ones(2)\n    return x.numpy()",
    "one of a function around it": "def keep():\n    x = torch.ones(2)\n    def inner():\n        return x.numpy()\n    return inner()",
    "a module that is moved back": "model.cpu()\nmodel.weight.detach().numpy()",
    "what a module of its own returns": (
        "class Net(nn.Module):\n    def forward(self, y):\n        return y.sum().cpu()\n"
        "net = Net().to(device)\nnet(x).numpy()"
    ),
    "a list": "np.asarray([1, 2])",
    "an array": "np.asarray(np.ones(2))",
    "a copy as an array": "np.asarray(x.cpu())",
    "a method of another library": "import tables\nt = tables.open('a').to('tpu')\nt.numpy()",
    "where the device is asked for": 'if x.device.type == "cpu":\n    x.numpy()',
}
FOUND = {
    "a tensor": "x.numpy()",
    "a parameter of a module": "model.weight.detach().numpy()",
    "what a module returns": "y = model(x)\ny.detach().numpy()",
    "moved by a string": 'torch.ones(2).to("tpu:0").numpy()',
    "moved by a method": "torch.ones(2).tpu().numpy()",
    "moved by a name": "torch.ones(2).to(device).numpy()",
    "where there is a TPU": 'where = "tpu" if torch.accelerator.is_available() else "cpu"\ntorch.ones(2).to(where).numpy()',
    "arithmetic": "(x * 2 + 1).numpy()",
    "an element": "x[0].numpy()",
    "several": "torch.stack([x, x]).sum().numpy()",
    "in a function": "def keep():\n    y = model(x).detach()\n    return y.numpy()",
    "as an array": "np.asarray(x)",
    "a new array": "np.array(x * 2)",
}


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_in_order(code: str, findings: Findings) -> None:
    assert severities_of("XLA528", findings(f"{START}{code}\n", "torch_tpu")) == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(code: str, findings: Findings) -> None:
    text = f"{START}{code}\n"
    assert severities_of("XLA528", findings(text, "torch_tpu")) == ["error"]
    assert severities_of("XLA302", findings(text, "torch_tpu")) == []
    assert severities_of("XLA528", findings(text, "torch_xla")) == []
