"""XLA305: library calls that check on the host what they are given → the same without the check."""

from __future__ import annotations

import libcst as cst

from xlalint.abstract.values import UNKNOWN, LibrarySymbol, members
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import definition
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.operations import arguments_of
from xlalint.fixes.toolkit.text import argument, brief, last_name, with_argument_in_width

_SWITCH = "validate_args"
_DISTRIBUTIONS = "torch.distributions."
# Distributions that make others inside, which they do not tell whether to check: `validate_args=False` leaves a read where they are made.
_CHECKED_INSIDE = frozenset(
    (
        "FisherSnedecor",
        "LKJCholesky",
        "Multinomial",
        "OneHotCategorical",
        "OneHotCategoricalStraightThrough",
        "RelaxedBernoulli",
        "RelaxedOneHotCategorical",
        "StudentT",
        "Wishart",
    )
)
_INVERSES = ("torch.inverse", "torch.linalg.inv", ".inverse")


def unchecked_distribution(site: Site) -> Rewrite | NoFix | None:
    """`Normal(m, s)` → `Normal(m, s, validate_args=False)`, also for a finding where the distribution is asked: `d.log_prob(x)`."""
    scene, node = site.scene, site.node
    if site.framework != "torch" or not isinstance(node, cst.Call) or _SWITCH not in site.hazard.detail:
        return None
    made = node if _makes_distribution(scene, node) else _find_maker(scene, node)
    if made is None:
        return NoFix("pass `validate_args=False` where the distribution is made")
    name = last_name(made.func)
    known = [one.name.rpartition(".")[2] for one in members(scene.value(made.func)) if isinstance(one, LibrarySymbol)]
    inside = next((one for one in known if one in _CHECKED_INSIDE), "")
    if inside:
        return NoFix(
            f"`{inside}` makes another distribution inside, which checks all the same: call"
            " `torch.distributions.Distribution.set_default_validate_args(False)` where the program starts"
        )
    if any(arg.star == "**" for arg in made.args):
        return NoFix("what the call is given by `**` may say whether to check: add `validate_args=False` there")
    if any(arg.keyword is not None and arg.keyword.value == _SWITCH for arg in made.args):
        return NoFix("the program says itself whether to check: pass `validate_args=False`")
    assumed = [f"`{name}` has valid parameters and is asked about valid points, which nothing checks any more"]
    if UNKNOWN in members(scene.value(made.func)):
        assumed.append(f"`{name}` takes `{_SWITCH}`, as distributions of PyTorch's do")
    added = with_argument_in_width(scene, made, f"{_SWITCH}=False")
    return Rewrite("Switch the check off", (added,), all_of(assumed))


def _makes_distribution(scene: FunctionSource, node: cst.Call) -> bool:
    """Return whether a call makes a distribution of PyTorch's, whichever of the classes it is known to call."""
    found = [one for one in members(scene.value(node.func)) if one is not UNKNOWN]
    return bool(found) and all(
        isinstance(one, LibrarySymbol)
        and one.name.startswith(_DISTRIBUTIONS)
        and one.name.rpartition(".")[2][:1].isupper()
        for one in found
    )


def _find_maker(scene: FunctionSource, node: cst.Call) -> cst.Call | None:
    """The call, in this function, that makes the distribution of which a method is called."""
    if not isinstance(node.func, cst.Attribute):
        return None
    held: cst.BaseExpression = node.func.value
    if isinstance(held, cst.Name):
        bound = definition(scene, held)
        if bound is None:
            return None
        held = bound.value
    return held if isinstance(held, cst.Call) and _makes_distribution(scene, held) else None


def unchecked_inverse(site: Site) -> Rewrite | NoFix | None:
    """`torch.linalg.inv(a)` → `torch.linalg.inv_ex(a).inverse`."""
    scene, node = site.scene, site.node
    name = values.callee(scene.value(node.func)) if isinstance(node, cst.Call) else ""
    if site.framework != "torch" or not isinstance(node, cst.Call) or name not in _INVERSES:
        return None
    given = arguments_of(scene, node)
    if len(given) != 1 or any(arg.keyword is not None or arg.star for arg in node.args):
        return NoFix("use `torch.linalg.inv_ex`, which checks nothing, and apply the call's options to its `inverse`")
    imports = Imports(scene, node)
    text = f"{imports.name('torch')}.linalg.inv_ex({argument(scene, given[0])}).inverse"
    assumed = f"`{brief(scene.code(given[0]))}` is not singular, which nothing checks any more"
    return Rewrite("Use `inv_ex`", (Replacement(*scene.span(node), text), *imports.needed), assumed)
