"""JAX: its arrays, its transformations, and the checks of its programs."""

from __future__ import annotations

from xlalint.frameworks.base import Framework
from xlalint.frameworks.checks.growing_tensor import check_lengthened
from xlalint.frameworks.jax import calls, leaks, structures, transformations
from xlalint.frameworks.jax.branch_functions import check_callbacks
from xlalint.frameworks.jax.checks import donated_buffer_reused
from xlalint.frameworks.jax.platform import platform_of
from xlalint.interpreter.semantics import Semantics

_SEMANTICS = Semantics(
    "jax",
    replaces_arguments=True,
    raises=True,
    compiles_eagerly=True,
    converts_arrays=True,
    hashable=False,
    immutable=True,
    indexer="at",
    kernels=("jax.experimental.pallas", "jax._src.pallas"),
    part_of=structures.part_of,
    is_setting=structures.is_setting,
    of_record=structures.of_record,
    formatted=calls.report_format,
    static=calls.static_parameters,
    traces=transformations.number_traced,
    annotated={"chex.Array": structures.either_array},
    functions={**calls.FUNCTIONS, **transformations.FUNCTIONS},
    records_known=True,
    operations=transformations.OPERATIONS,
    differentiates=transformations.REVERSE,
    ends_gradients=transformations.ENDING,
    with_gradient=frozenset(("custom_gradient",)),
    runs_known=transformations.EAGER,
    concrete=transformations.CONCRETE,
    derived_from=transformations.derived_from,
    eager_blocks=frozenset(("jax.ensure_compile_time_eval",)),
    filters=transformations.FILTERS,
    mapping=transformations.MAPPING,
    flagged=transformations.FLAGGED,
    configured=frozenset(("flax.linen.Module",)),
    changed=("flax.nnx.",),
    draws=("jax.random.",),
    adds_up=frozenset(("compute",)),
    withholds=calls.withholds,
    on_library_call=(calls.make_ready,),
    on_augmented=(leaks.check_added,),
    on_callbacks=(check_callbacks,),
    on_assign=(leaks.check_kept, check_lengthened),
)

FRAMEWORK = Framework(
    _SEMANTICS,
    platform=platform_of,
    variant_under=transformations.variant_under,
    tracers=frozenset(
        (
            "jit",
            "pjit",
            "pmap",
            "vmap",
            "grad",
            "value_and_grad",
            "jacfwd",
            "jacrev",
            "hessian",
            "linearize",
            "vjp",
            "jvp",
            "checkpoint",
            "remat",
            "scan",
            "while_loop",
            "fori_loop",
            "cond",
            "switch",
            "associative_scan",
            "shard_map",
            "custom_vjp",
            "custom_jvp",
            "filter_jit",
            "filter_grad",
            "filter_value_and_grad",
            "filter_vmap",
            "filter_pmap",
            "eval_shape",
            "make_jaxpr",
            "scan_layers",
        )
    ),
    host_roots=donated_buffer_reused.donations,
    checks=(donated_buffer_reused,),
)
