"""Makes TorchTPU offer its device where only the plugin stands for a TPU: by itself it asks the PCI bus for one."""

from __future__ import annotations

import io
import warnings
from contextlib import redirect_stderr
from typing import Any

from xlalint.verify import plugin


def switch_on(loader: Any) -> None:
    """Have TorchTPU's loader, the module `torch_tpu._loader`, register the device, if the plugin is used and it has not yet."""
    if not plugin.is_used() or loader._LOADED:
        return
    warnings.filterwarnings("ignore", message="<TorchTpu/Performance/TcMalloc/")
    with redirect_stderr(io.StringIO()):  # it tells of each thing that it registers
        loader._init_device("tpu")
    loader._LOADED = True
