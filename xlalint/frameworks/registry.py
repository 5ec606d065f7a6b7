"""The checks of calls that xlalint knows: importing this module enters them all in the tables of `frameworks.checks.call_site`."""

from __future__ import annotations

from xlalint.frameworks.checks import (
    eval_batch_differs,
    fp16_on_tpu,
    jit_per_call,
    late_configuration,
    partial_last_batch,
    unstable_static_argument,
    variable_length_padding,
)
from xlalint.frameworks.checks.dispatch import check_setup
from xlalint.frameworks.tensorflow.checks import (
    eager_strategy_run,
    jit_compile_on_tpu,
    local_path_on_tpu,
    outside_strategy_scope,
    tpu_initialisation,
)
from xlalint.frameworks.torch.checks import (
    cuda_on_xla,
    device_before_launch,
    missing_step_barrier,
    model_inside_launcher,
    obsolete_xla_api,
    optimizer_before_device,
    removed_xla_environment,
    retrying_batch_size,
    trainer_fsdp_config,
    trainer_xla_options,
)

__all__ = ["CHECKS", "check_setup"]

CHECKS = (
    cuda_on_xla,
    device_before_launch,
    eager_strategy_run,
    eval_batch_differs,
    fp16_on_tpu,
    jit_compile_on_tpu,
    jit_per_call,
    late_configuration,
    local_path_on_tpu,
    missing_step_barrier,
    model_inside_launcher,
    obsolete_xla_api,
    optimizer_before_device,
    outside_strategy_scope,
    partial_last_batch,
    removed_xla_environment,
    retrying_batch_size,
    tpu_initialisation,
    trainer_fsdp_config,
    trainer_xla_options,
    unstable_static_argument,
    variable_length_padding,
)
"""The modules that ask about calls, each named like its rule."""
