"""Every name and parameter order that the tables state, asked of the installed frameworks: one child process each."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from xlalint.api_tables.lookup import Apis, api_table

CHILD = Path(__file__).with_name("real_names.py")
PACKAGES = {
    "torch": ("torch", "torchvision", "torch_xla"),
    "tensorflow": ("tensorflow", "keras"),
    "jax": ("jax", "flax", "optax"),
    "numpy": ("numpy", "math", "operator", "random", "copy", "functools", "time", "logging"),
}
# what a parameter that is given by position alone is called in older releases of Python
RENAMED = {"math.factorial"} if sys.version_info < (3, 11) else set()
# names of other versions, and ones that need something more installed
ELSEWHERE = {
    "torch": {
        "torch.distributions.CheckedCdf",  # ours: those that check what `cdf` is asked
        "torch.distributions.Unchecked",  # ours: a distribution made with `validate_args=False`
        "torch.nn.AveragingBatchNorm",  # ours: `BatchNorm2d(momentum=None)`
        "torch.nn.BatchFirstEncoderLayer",  # ours: `TransformerEncoderLayer(batch_first=True)`
        "torch.nn.NestingTransformerEncoder",  # ours: an encoder that packs padded input
        "torch.nn._BatchNorm",  # of `torch.nn.modules.batchnorm`, the next two of `torch.nn.modules.loss`
        "torch.nn._Loss",
        "torch.nn._WeightedLoss",
        "torch.linalg.matrix_sqrth",  # of newer releases, as the next: TorchTPU's are
        "torch.linalg.polar",
        "torch.Tensor.tpu",  # TorchTPU's
        "torch.utils.tensorboard.SummaryWriter",
        "torch_xla.amp.GradScaler",
        "torch_xla.core.xla_model.get_ordinal",
        "torch_xla.core.xla_model.xrt_world_size",
        "torch._six.inf",  # of older releases, as the next
        "torchvision.transforms.functional._get_image_num_channels",
        "torchvision.transforms.functional._get_image_size",
    },
    "tensorflow": {
        "tensorflow.distribute.DefaultStrategy",  # ours: what there is without a strategy
        "tensorflow.distribute.Scope",  # ours: what `strategy.scope()` gives
        "tensorflow.keras.backend.is_tensor",
        "tensorflow.keras.backend.learning_phase",
        *(
            f"tensorflow.keras.losses.{name}"
            for name in (
                "kl_divergence", "log_cosh", "mean_absolute_error", "mean_absolute_percentage_error",
                "mean_squared_error", "mean_squared_logarithmic_error",
            )
        ),
    },
    "jax": {
        "jax.device_put_replicated",
        "jax.interpreters.xla.DeviceArray",
        "jax.lax.log2",  # of newer releases, as the next two, two of `jax.numpy`, and `erfcinv`
        "jax.lax.one_minus_square",
        "jax.lax.polynomial",
        "jax.numpy.DeviceArray",
        "jax.numpy.minmax",
        "jax.numpy.top_k",
        "jax.numpy.at",  # stands for the type of `x.at`
        "jax.random.PRNGKeyArray",
        "jax.scipy.special.erfcinv",
        "jax.xla.DeviceArray",
    },
    "numpy": {"numpy.NaN", "numpy.Inf", "numpy.NINF", "numpy.PINF", "numpy.infty"},
}  # fmt: skip


def listed(apis: Apis, packages: tuple[str, ...]) -> dict[str, list[str]]:
    """Every name of those packages that the tables list, with its positional parameters."""
    return {
        name: list(getattr(apis.function(name), "params", ())) if kind == "functions" else []
        for kind in ("types", "values", "classes", "functions")
        for name in apis.names(kind)
        if name.split(".")[0] in packages and not name.endswith(".*")
    }


@pytest.mark.parametrize(
    "framework",
    [
        pytest.param("torch", marks=pytest.mark.torch_xla),
        pytest.param("tensorflow", marks=pytest.mark.tensorflow),
        pytest.param("jax", marks=pytest.mark.jax),
        "numpy",
    ],
)
def test_the_framework_has_what_the_tables_list(framework: str, tmp_path: Path) -> None:
    packages = tuple(p for p in PACKAGES[framework] if find_spec(p) is not None)
    if framework not in packages:
        pytest.skip(f"{framework} is not installed")
    names = tmp_path / "names.json"
    names.write_text(json.dumps(listed(api_table(cache=tmp_path), packages)))
    done = subprocess.run(
        [sys.executable, str(CHILD), framework, str(names)], capture_output=True, text=True, check=True, timeout=300
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found["absent"]) <= ELSEWHERE[framework]
    assert found["params"].keys() <= RENAMED
