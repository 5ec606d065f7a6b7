"""PyTorch: its tensors, its tracers, its device loops, and the checks of its programs."""

from __future__ import annotations

from xlalint.abstract.values import host, sequence, tensor
from xlalint.frameworks.base import Framework
from xlalint.frameworks.torch import calls, recompiles
from xlalint.frameworks.torch.checks import (
    cuda_on_xla,
    device_before_launch,
    missing_step_barrier,
    model_inside_launcher,
    obsolete_xla_api,
    optimizer_before_device,
    removed_xla_environment,
    retrying_batch_size,
    sync_in_library,
    trainer_fsdp_config,
    trainer_xla_options,
)
from xlalint.frameworks.torch.launch_files import launch_root
from xlalint.frameworks.torch.platform import platform_of
from xlalint.interpreter.device_loops import DeviceSteps
from xlalint.interpreter.semantics import LoopWatch, Semantics

# Methods and attributes that, in code that imports torch, only tensors have.
_TELLING = frozenset(
    [
        "cpu",
        "item",
        "detach",
        "unsqueeze",
        "unsqueeze_",
        "permute",
        "masked_fill",
        "masked_fill_",
        "nonzero",
        "masked_scatter",
        "expand_as",
        "view_as",
        "type_as",
        "new_zeros",
        "new_ones",
        "new_tensor",
        "new_full",
        "new_empty",
        "scatter_",
        "index_select",
        "is_floating_point",
        "clamp",
        "clamp_",
        "softmax",
        "log_softmax",
        "sigmoid",
        "matmul",
        "bmm",
        "requires_grad_",
        "narrow",
        "numel",
        "long",
        "int",
        "bool",
        "size",
        "abs",
        "sqrt",
        "pow",
        "contiguous",
        "unbind",
        "masked_select",
        "logical_not",
        "logical_and",
        "logical_or",
        "isnan",
        "isfinite",
        "isinf",
        "mul_",
        "add_",
        "div_",
        "sub_",
    ]
)

# Methods and attributes of tensors that other objects have as well.
_SHARED_NAMES = frozenset(
    (
        "T",
        "add",
        "apply",
        "config",
        "copy",
        "data",
        "double",
        "eval",
        "fill",
        "float",
        "forward",
        "get",
        "grad",
        "half",
        "imag",
        "item",
        "load",
        "name",
        "numel",
        "numpy",
        "parameters",
        "real",
        "requires_grad_",
        "save",
        "set",
        "set_",
        "state_dict",
        "step",
        "sum",
        "to",
        "train",
        "type",
        "update",
        "values",
    )
)

# Functions that make tensors of other things, too: to be given to them tells nothing.
_MAKERS = frozenset(
    (
        "tensor",
        "as_tensor",
        "asarray",
        "array",
        "from_numpy",
        "zeros",
        "ones",
        "full",
        "empty",
        "arange",
        "linspace",
        "logspace",
        "eye",
        "rand",
        "randn",
        "randint",
        "randperm",
        "range",
        "where",
    )
)

_GRADIENTS = "backward"
_EVALUATES = "eval"
_CONTAINERS = ("torch.nn.Module", "torch.nn.ModuleList", "torch.nn.Sequential")

_SEMANTICS = Semantics(
    "torch",
    tensor_class="torch.Tensor",
    telling=_TELLING,
    of_unknown=dict.fromkeys(("saved_tensors", "saved_variables"), lambda: sequence("tuple", None, tensor("torch"))),
    splits_graphs=True,
    defers_equality=True,
    passed_as_numbers=True,
    host_memory=True,
    reads_scalar_index=True,
    unclear_masks=True,
    indexed=recompiles.check_index,
    functions=calls.FUNCTIONS,
    results={"torch.nn.Module": calls.of_any_module},
    annotated={"torch.device": lambda: host("device")},
    factories=calls.FACTORIES,
    of_tensors=calls.OF_TENSORS,
    containers={"modules": _CONTAINERS, "chain": _CONTAINERS},
    not_tensors=("torch.Size", "torch.Sym", "torch.device", "torch.dtype"),
    tests=frozenset(("is_tensor", "is_torch_tensor", "is_tensorlike")),
    shared_names=_SHARED_NAMES,
    device_uses=frozenset((".cpu", ".detach", ".numpy", ".device", ".to", "isinstance()")),
    makers=_MAKERS,
    placeless_targets=frozenset(("torch_compile",)),
    steps=DeviceSteps(
        steps=frozenset(("optimizer_step", "mark_step", "sync", "step", _GRADIENTS)),
        gradients=frozenset((_GRADIENTS,)),
        packages=frozenset(("torch_xla", "accelerate")),
        models=frozenset((_EVALUATES, "train", "parameters", "named_parameters", "zero_grad")),
        evaluates=frozenset((_EVALUATES,)),
        ported=frozenset(("torch",)),
        targets=frozenset(("torch_xla", "torch_tpu")),
    ),
    on_library_call=(recompiles.check_call,),
    on_assign=(recompiles.check_accumulation,),
    on_augmented=(recompiles.count,),
    on_own_attribute=(recompiles.note_assignment,),
    on_item=(removed_xla_environment.item_assigned,),
    on_random_branch=(recompiles.check_choice,),
    on_for=(recompiles.check_turns,),
    on_loop=(LoopWatch(missing_step_barrier.begin_loop, missing_step_barrier.end_loop),),
    on_operands=dict.fromkeys(recompiles.CONSTANT_OPERANDS, recompiles.check_operands),
)

FRAMEWORK = Framework(
    _SEMANTICS,
    platform=platform_of,
    library_reads=sync_in_library.library_reads,
    tracers=frozenset(
        (
            "compile",
            "export",
            "trace",
            "checkpoint",
            "spawn",
            "launch",
            "make_functional",
            "register_forward_hook",
            "register_forward_pre_hook",
            "register_full_backward_hook",
        )
    ),
    root_of_data=launch_root,
    checks=(
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
    ),
)
