"""Imports that fixes left without use: which stay, and what taking out the others makes of the text."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import fixed
from xlalint.fixes.toolkit.edits import Change
from xlalint.fixes.toolkit.leftover_imports import leftover_imports

STAYS = {
    "used": "import torch_xla\ntorch_xla.sync()\n",
    "used under another name": "import torch_xla.core.xla_model as xm\nxm.rendezvous('a')\n",
    "used in a function": "import torch_xla.runtime as xr\n\n\ndef f():\n    return xr.world_size()\n",
    "the package is used": "import torch_xla.runtime\nprint(torch_xla)\n",
    "one of the package's names is used": "from torch_xla.core import xla_model\nxla_model.get_ordinal()\n",
    "in __all__": "from torch_xla.core import xla_model\n__all__ = ['xla_model']\n",
    "in an annotation that is a text": "import torch_xla\n\n\ndef f(x: 'torch_xla.Thing'): ...\n",
    "another package": "import numpy as np\nimport torch_xlarge\n",
    "of the program itself": "from .torch_xla import sync\n",
    "all names": "from torch_xla.runtime import *\n",
    "shares its line": "import torch_xla; import torch\n",
    "in a text": "'''\nimport torch_xla\n'''\n",
    "deleted later": "import torch_xla\ndel torch_xla\n",
}
GOES = {
    "alone": ("import torch_xla\n", ""),
    "submodule": (
        "import torch\nimport torch_xla.core.xla_model as xm\nx = torch.ones(1)\n",
        "import torch\nx = torch.ones(1)\n",
    ),
    "with its comment": ("import torch_xla  # noqa: F401\nx = 1\n", "x = 1\n"),
    "one of several names": (
        "from torch_xla.core import functions, xla_model as xm\nfunctions.all_gather(x)\n",
        "from torch_xla.core import functions\nfunctions.all_gather(x)\n",
    ),
    "one of several packages": ("import torch, torch_xla\ntorch.ones(1)\n", "import torch\ntorch.ones(1)\n"),
    "over several lines": ("from torch_xla.core import (\n    functions,\n    xla_model,\n)\nx = 1\n", "x = 1\n"),
    "in a function": (
        "def f():\n    import torch_xla\n    import torch\n    return torch.ones(1)\n",
        "def f():\n    import torch\n    return torch.ones(1)\n",
    ),
    "the whole of a block": (
        "try:\n    import torch_xla\n    import torch_xla.runtime as xr\nexcept ImportError:\n    pass\n",
        "try:\n    pass\nexcept ImportError:\n    pass\n",
    ),
    "lines end in CRLF": ("import torch_xla\r\nx = 1\r\n", "x = 1\r\n"),
    "behind other letters": ("s = 'é'\nimport torch_xla\nt = 'ü'\n", "s = 'é'\nt = 'ü'\n"),
    "at the end, without a line end": ("x = 1\nimport torch_xla", "x = 1\n"),
}


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_stays(text: str) -> None:
    assert leftover_imports(text, {"torch_xla"}) == ()


@pytest.mark.parametrize(("text", "after"), GOES.values(), ids=GOES)
def test_goes(text: str, after: str) -> None:
    made = Change((), leftover_imports(text, {"torch_xla"})).apply(text)
    assert made == after
    assert leftover_imports(made, {"torch_xla"}) == ()


def test_goes_with_the_last_fix() -> None:
    before = (
        "import torch\nimport torch_xla.core.xla_model as xm\n\n"
        "device = xm.xla_device()\nx = torch.ones(1).to(device)\nxm.mark_step()\n"
    )
    after = 'import torch\n\ndevice = torch.device("tpu")\nx = torch.ones(1).to(device)\n'
    assert fixed(before, target="torch_tpu")[0] == after


def test_stays_where_something_is_left() -> None:
    before = "import torch\nimport torch_xla.core.xla_model as xm\n\ndevice = xm.xla_device()\nx = xm.mesh_reduce('a', 1, sum)\n"
    text, done = fixed(before, target="torch_tpu")
    assert "import torch_xla.core.xla_model as xm" in text
    assert [one.code for one in done.report.findings] == ["XLA527"]


def test_stays_where_torch_xla_is_the_target() -> None:
    text = "import torch\nimport torch_xla\nimport torch_xla.core.xla_model as xm\n\ndevice = xm.xla_device()\n"
    assert "import torch_xla\n" in fixed(text)[0]
