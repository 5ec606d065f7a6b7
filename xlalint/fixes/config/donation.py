"""XLA518: state that a loop replaces, given away."""

from __future__ import annotations

import re

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import Replacement
from xlalint.fixes.toolkit.imports import Imports

_PLACES = re.compile(r"`donate_argnums=(\([\d, ]+\))`")
_LAST_USE = "nothing else uses what is passed to it"


def donate(site: Site) -> Rewrite | NoFix | None:
    """`@jax.jit` → `@functools.partial(jax.jit, donate_argnums=(0,))`, `jax.jit(step)` → `jax.jit(step, donate_argnums=(0,))`."""
    scene, node = site.scene, site.node
    places = _PLACES.search(site.hazard.detail)
    if places is None:
        return None
    option = f"donate_argnums={places[1]}"
    message = f"Donate it: `{option}`"
    if isinstance(node, cst.Call):
        if not node.args:
            return NoFix(f"add `{option}` to it")
        place = scene.whole(node.args[-1].value)[1]
        return Rewrite(message, (Replacement(place, place, f", {option}"),), _LAST_USE)
    imports = Imports(scene, node)
    text = f"{imports.name('functools')}.partial({scene.code(node)}, {option})"
    return Rewrite(message, (Replacement(*scene.span(node), text), *imports.needed), _LAST_USE)


def given_away(site: Site) -> Rewrite | NoFix | None:
    """A use of an array that was given away: what is meant is its author's to say."""
    return NoFix(
        "use what the call returned, pass a copy (`jnp.copy(…)`), or leave the argument out of `donate_argnums`"
    )
