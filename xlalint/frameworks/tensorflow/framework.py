"""TensorFlow and Keras: their tensors, AutoGraph, strategies, and the checks of their programs."""

from __future__ import annotations

from xlalint.abstract.values import FALSE
from xlalint.frameworks.base import Framework
from xlalint.frameworks.tensorflow import autograph, calls, graph_resources
from xlalint.frameworks.tensorflow.checks import (
    eager_strategy_run,
    jit_compile_on_tpu,
    local_path_on_tpu,
    outside_strategy_scope,
    tpu_initialisation,
)
from xlalint.frameworks.tensorflow.conversion import (
    converts,
    prepares_data,
    rewrites,
    runner_of,
    runs_beside,
    trains_eagerly,
    variant_under,
)
from xlalint.frameworks.tensorflow.pipelines import feeds_data
from xlalint.frameworks.tensorflow.platform import platform_of
from xlalint.interpreter.semantics import Semantics, Surroundings

_SEMANTICS = Semantics(
    "tensorflow",
    replaces_arguments=True,
    raises=True,
    compiles_if_asked=True,
    gives_tensors=True,
    layers=frozenset(("tensorflow.keras.layers.Lambda",)),
    keeps_numbers=True,
    training=frozenset(
        (
            "apply_gradients",
            "minimize",
            "apply",
            "assign",
            "assign_add",
            "assign_sub",
            "train_on_batch",
            "train_step",
            "train",
            "update",
            "update_step",
            "optimize",
            "learn",
        )
    ),
    adds_up=frozenset(("result", "iterations")),
    told_by_call={"apply_gradients": "tensorflow.keras.optimizers.Optimizer"},
    folded=calls.FOLDED,
    # Keras traces nothing of what runs eagerly: a branch for that is no part of a graph.
    of_unknown={"run_eagerly": lambda: FALSE},
    accepts_numbers=True,
    takes_lists=True,
    slice_severity=(("tf:tpu", "info"),),
    stages_loops=True,
    formatted=autograph.report_format,
    branched=autograph.check_branches,
    functions=calls.FUNCTIONS,
    # What reaches XLA is dense: code for the others is for the input pipeline.
    not_tensors=("tensorflow.RaggedTensor", "tensorflow.SparseTensor", "tensorflow.sparse.SparseTensor"),
    tests=frozenset(("is_tf_tensor",)),
    with_gradient=frozenset(("custom_gradient",)),
    makers=frozenset(("convert_to_tensor", "constant", "cast")),
    tapes=frozenset(("tensorflow.GradientTape",)),
    # A graph of its own, and outside of any.
    graphs=frozenset(("tensorflow.Graph", "tensorflow.init_scope")),
    surroundings=Surroundings(
        outside_strategy_scope.scope_of_module,
        outside_strategy_scope.scope_within,
        outside_strategy_scope.scope_in_branch,
        outside_strategy_scope.mark_made_outside,
    ),
    on_unknown_call=(calls.strategy_run,),
    on_return=(outside_strategy_scope.take_over,),
    on_assign=(autograph.check_growth, graph_resources.check_variable),
    on_for=(graph_resources.check_data,),
    on_operands=dict.fromkeys(autograph.ARITHMETIC, autograph.check_cast),
    converts=converts,
    bounds_loop=autograph.bounded,
)

FRAMEWORK = Framework(
    _SEMANTICS,
    platform=platform_of,
    tracers=frozenset(
        ("function", "run", "Lambda", "while_loop", "map_fn", "vectorized_map", "cond", "switch", "scan")
    ),
    tracing_methods=frozenset(("run",)),
    prepares_data=prepares_data,
    feeds_data=feeds_data,
    trains_eagerly=trains_eagerly,
    module_first=True,
    variant_under=variant_under,
    rewrites=rewrites,
    runner_of=runner_of,
    runs_beside=runs_beside,
    remote_variant=tpu_initialisation.node_variant,
    checks=(eager_strategy_run, jit_compile_on_tpu, local_path_on_tpu, outside_strategy_scope, tpu_initialisation),
)
