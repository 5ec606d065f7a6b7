"""Imports that fixes need: made once, where the package can be had."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import fixed

OLD = "xm.xrt_world_size()"
USES = f"a = {OLD}\nb = xm.get_ordinal()\nc = {OLD}\n"
NEW = "a = {0}.world_size()\nb = {0}.global_ordinal()\nc = {0}.world_size()\n"

CASES = {
    "once for all": (
        f"import os\nimport torch_xla.core.xla_model as xm\n{USES}",
        "import os\nimport torch_xla.core.xla_model as xm\nimport torch_xla.runtime\n"
        + NEW.format("torch_xla.runtime"),
    ),
    "not where the module is imported": (
        f"import torch_xla.core.xla_model as xm\nimport torch_xla.runtime\n{USES}",
        "import torch_xla.core.xla_model as xm\nimport torch_xla.runtime\n" + NEW.format("torch_xla.runtime"),
    ),
    "nor by another name": (
        f"import torch_xla.core.xla_model as xm\nimport torch_xla.runtime as xr\n{USES}",
        "import torch_xla.core.xla_model as xm\nimport torch_xla.runtime as xr\n" + NEW.format("xr"),
    ),
    "nor where the package brings it along": (
        f"import torch_xla\nimport torch_xla.core.xla_model as xm\n{USES}",
        "import torch_xla\nimport torch_xla.core.xla_model as xm\n" + NEW.format("torch_xla.runtime"),
    ),
    "behind the package's import, where that stands below others": (
        f"import os\nassert os.environ['X']\nimport torch_xla.core.xla_model as xm\nimport time\n{USES}",
        "import os\nassert os.environ['X']\nimport torch_xla.core.xla_model as xm\nimport torch_xla.runtime\nimport time\n"
        + NEW.format("torch_xla.runtime"),
    ),
    "not behind one of a function": (
        f"import os\nimport torch_xla.core.xla_model as xm\n\n\ndef f():\n    import torch_xla.debug.metrics as m\n    return m\n{USES}",
        "import os\nimport torch_xla.core.xla_model as xm\nimport torch_xla.runtime\n\n\ndef f():\n"
        "    import torch_xla.debug.metrics as m\n    return m\n" + NEW.format("torch_xla.runtime"),
    ),
    "behind one of the function, where the module has none": (
        f"import os\n\n\ndef f():\n    import torch_xla.core.xla_model as xm\n    return {OLD}, xm.get_ordinal()\n",
        "import os\n\n\ndef f():\n    import torch_xla.core.xla_model as xm\n    import torch_xla.runtime\n"
        "    return torch_xla.runtime.world_size(), torch_xla.runtime.global_ordinal()\n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_fix_needs_is_imported(name: str) -> None:
    before, after = CASES[name]
    text, _ = fixed(before)
    assert text == after


def test_a_fix_that_uses_a_module_twice_imports_it_once() -> None:
    head = (
        "import torch.nn.functional as F\nfrom torch import Tensor\n\n\ndef loss(x: Tensor):\n    c = F.relu(x).sum()\n"
    )
    text, _ = fixed(f"{head}    return 0 if c == 0 else x.sum() / c\n")
    assert text.count("torch.where(") == 2
    assert text.count("import torch\n") == 1


def test_what_comes_with_all_of_another_module_is_not_imported_again() -> None:
    head = (
        "import torch.nn as nn\nfrom helpers import *\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
        "        y = nn.functional.relu(x)\n        y = y * 2\n"
    )
    end = "        return torch.exp(y)\n"
    text, _ = fixed(f"{head}        y[y > 1] *= -1\n{end}")
    assert text == f"{head}        y = torch.where(y > 1, y * -1, y)\n{end}"
