"""XLA516: what JAX's environment said too late → `jax.config.update`."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import Replacement
from xlalint.fixes.toolkit.imports import Imports

_TRUTHS = {"1": "True", "true": "True", "on": "True", "0": "False", "false": "False", "off": "False"}
_TEXTS = frozenset(
    (
        "jax_compilation_cache_dir",
        "jax_default_matmul_precision",
        "jax_default_prng_impl",
        "jax_numpy_dtype_promotion",
        "jax_numpy_rank_promotion",
        "jax_platform_name",
        "jax_platforms",
        "jax_traceback_filtering",
        "jax_transfer_guard",
    )
)
_ORDER = NoFix("move it up: settings that are read once belong before what reads them")


def use_config_update(site: Site) -> Rewrite | NoFix | None:
    """`os.environ["JAX_ENABLE_X64"] = "1"` → `jax.config.update("jax_enable_x64", True)`."""
    scene, node = site.scene, site.node
    flag = site.hazard.subject.lower()
    assigned = scene.nearest(node, cst.Assign)
    if not flag.startswith("jax_") or assigned is None or len(assigned.targets) != 1:
        return _ORDER
    value = assigned.value
    if flag in _TEXTS:
        given = scene.code(value)
    elif isinstance(value, cst.SimpleString) and value.raw_value.lower() in _TRUTHS:
        given = _TRUTHS[value.raw_value.lower()]
    else:
        return NoFix(f'set it before the import, or call `jax.config.update("{flag}", …)`')
    imports = Imports(scene, node)
    text = f'{imports.name("jax")}.config.update("{flag}", {given})'
    where = Replacement(*scene.span(assigned), text)
    return Rewrite(
        "Set it by `jax.config.update`", (where, *imports.needed), "the setting is wanted, which had no effect so far"
    )
