"""XLA401, XLA402: batches of one shape."""

from __future__ import annotations

import re

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.dataflow import definition
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.gradients import without_gradient
from xlalint.fixes.toolkit.text import last_name, with_argument, with_argument_in_width

_DROPPED = "an epoch may leave out the dropped examples"
_DROPPED_EVERYWHERE = "an epoch, or an evaluation, may leave out the dropped examples"
_EVALUATION = NoFix(
    "dropping examples would change the metric: pad the last batch, and leave the padding out of the metric"
)
_SAMPLED = NoFix(
    "nothing says that the sampler is for training: where it reads in order, dropping examples would change the metric"
)
_ASKED = NoFix("the program asks for the last batch: pad it, or set this to True where nothing else reads the loader")
_EITHER = NoFix("it shuffles by what a call says: drop the last batch by the same, where it trains")
_UNSHUFFLED = NoFix(
    "without `shuffle` the same examples would be left out of every epoch: pad the last batch, or shuffle"
)
_ARRAYS = NoFix(
    "`fit` uses all of an array: pass as many examples as the batch size divides, or a data set that drops the rest"
)
_LENGTH = NoFix('only the author knows how long a text may get: `padding="max_length", max_length=…`')
_ELSEWHERE = NoFix("the value comes from elsewhere: change it there")


def drop_last_batch(site: Site) -> Rewrite | NoFix | None:
    """`DataLoader(…)` → `DataLoader(…, drop_last=True)`, and the like of `batch` and `TrainingArguments`."""
    variant = site.hazard.variant
    if variant.startswith("arrays"):
        return _ARRAYS
    if variant == "evaluation":
        return _EVALUATION
    scene, keyword = site.scene, site.hazard.detail.partition("=")[0]
    call = site.node if isinstance(site.node, cst.Call) else scene.nearest(site.node, cst.Call)
    if call is None or any(arg.star for arg in call.args):
        return _ELSEWHERE
    if _is_in_order(scene, call) or _is_named_for_evaluation(scene, call):
        return _EVALUATION
    if _is_dealt(scene, call):
        return _SAMPLED
    if keyword == "drop_last" and _is_unshuffled(call):
        return _UNSHUFFLED
    assumes = _DROPPED_EVERYWHERE if variant == "trainer" else _DROPPED
    given = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value == keyword]
    if given:
        if scene.code(given[0].value) == "False":
            return _ASKED
        written = scene.code(given[0].value) == "None"
        changed = Replacement(*scene.span(given[0].value), "True")
        return Rewrite(f"Set `{keyword}` to True", (changed,), assumes) if written else _ELSEWHERE
    if len([arg for arg in call.args if arg.keyword is None]) > _ROOM[keyword]:
        return _ELSEWHERE
    value = _when_it_trains(scene, call)
    if value is None:
        return _EITHER
    added = with_argument_in_width(scene, call, f"{keyword}={value}")
    return Rewrite(f"Add `{keyword}={value}`", (added,), assumes)


def _when_it_trains(scene: FunctionSource, call: cst.Call) -> str | None:
    """Return when a loader drops examples: where it shuffles, or takes those for training, just if it trains, then; None where that is not
    known."""
    told = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    shuffled, examples = told.get("shuffle"), told.get("dataset", call.args[0].value if call.args else None)
    if isinstance(examples, cst.Name):
        made = definition(scene, examples)
        examples = made.value if made is not None and isinstance(made.value, cst.IfExp) else examples
    if isinstance(examples, cst.IfExp):
        trains = _speaks_of_training(scene, examples.body) and not any(scene.descend(examples.test, cst.Call))
        return scene.code(examples.test) if trains else None
    if shuffled is None or "sampler" in told or scene.code(shuffled) in ("True", "None"):
        return "True"
    if any(scene.descend(shuffled, cst.Call)):
        return None
    return f"({scene.code(shuffled)})" if shuffled.lpar else scene.code(shuffled)


def _is_named_for_evaluation(scene: FunctionSource, call: cst.Call) -> bool:
    """Return whether what is made has the name of a loader for evaluation: `val_loader = DataLoader(…)`."""
    given = call.args[0].value if call.args else None
    if isinstance(given, (cst.Name, cst.Attribute)) and _HELD_BACK(last_name(given)):
        return True
    holder = scene.parent(call)
    if not isinstance(holder, cst.Assign):
        return False
    if any(_HELD_BACK(last_name(one.target)) for one in holder.targets):
        return True
    words = {word for one in holder.targets for word in scene.code(one.target).lower().replace(".", "_").split("_")}
    return not _EVALUATING.isdisjoint(words) and not any("train" in word for word in words)


def _is_in_order(scene: FunctionSource, call: cst.Call) -> bool:
    """Return whether all examples are asked for in their order, or without gradients, as in an evaluation."""
    told = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == "shuffle"]
    return any(scene.code(one) == "False" for one in told) or without_gradient(scene, call)


def _is_unshuffled(call: cst.Call) -> bool:
    """Return whether a loader is told nothing of an order: it reads that of the data, and drops the same examples in every epoch."""
    told = {arg.keyword.value for arg in call.args if arg.keyword is not None}
    by_place = [arg for arg in call.args if arg.keyword is None]
    return told.isdisjoint(("sampler", "shuffle")) and len(by_place) <= _IN_ORDER


def _is_dealt(scene: FunctionSource, call: cst.Call) -> bool:
    """Return whether a sampler deals out the examples of which nothing says that it is for training."""
    told = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    sampler = told.get("sampler")
    if sampler is None or scene.code(sampler) == "None" or scene.code(told.get("shuffle", sampler)) == "True":
        return False
    if any(_speaks_of_training(scene, one) for one in (sampler, *(arg.value for arg in call.args[:1]))):
        return False
    made = [sampler] if not isinstance(sampler, cst.Name) else _find_assigned(scene, sampler.value)
    return not made or not all(_speaks_of_training(scene, one) or _draws(one) for one in made)


def _speaks_of_training(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    return "train" in scene.code(node).lower() and not any(scene.descend(node, cst.IfExp))


def _draws(node: cst.BaseExpression) -> bool:
    """Return whether an expression makes a sampler that draws at random, unless it is told not to."""
    return isinstance(node, cst.Call) and last_name(node.func) in _AT_RANDOM


def _find_assigned(scene: FunctionSource, name: str) -> list[cst.BaseExpression]:
    """List what the function assigns to a name."""
    return [
        one.value
        for one in scene.descend(scene.root, cst.Assign)
        if any(isinstance(each.target, cst.Name) and each.target.value == name for each in one.targets)
    ]


_AT_RANDOM = frozenset(("RandomSampler", "WeightedRandomSampler", "SubsetRandomSampler", "DistributedSampler"))
# What is held back, as one word: `testset`, `valloader`, `dev_data`.
_HELD_BACK = re.compile(
    r"^(?:dev|eval|test|val|valid|validation)_?(?:data|dataloader|dataset|dl|ds|iter|loader|set)?$", re.IGNORECASE
).match
_EVALUATING = frozenset(("val", "valid", "validation", "test", "testing", "eval", "evaluation"))
_IN_ORDER = 2  # arguments of a loader that stand in front of `shuffle`
# How many arguments may be given by their place before this one is.
_ROOM = {"drop_last": 8, "drop_remainder": 1, "dataloader_drop_last": 20}


def pad_to_length(site: Site) -> Rewrite | NoFix | None:
    """`padding=True, max_length=128` → `padding="max_length", max_length=128`."""
    if site.hazard.variant:
        return _LENGTH
    scene = site.scene
    call = site.node if isinstance(site.node, cst.Call) else scene.nearest(site.node, cst.Call)
    if call is None:
        return _LENGTH
    named = {arg.keyword.value: arg for arg in call.args if arg.keyword is not None}
    if "max_length" not in named or scene.code(named["max_length"].value) == "None":
        return _LENGTH
    return _to_max_length(scene, call, named)


def _to_max_length(scene: FunctionSource, call: cst.Call, named: dict[str, cst.Arg]) -> Rewrite | NoFix:
    length = scene.code(named["max_length"].value)
    shown = scene.code(named["truncation"].value) if "truncation" in named else "False"
    longer = "" if shown == "True" else f"no text is longer than `{length}` and "
    assumes = f"{longer}`attention_mask` leaves out the padding"
    message = 'Pad to `max_length`: `padding="max_length"`'
    quote = next((one.quote for one in scene.descend(call, cst.SimpleString) if len(one.quote) == 1), '"')
    if "padding" not in named:
        return Rewrite(message, (with_argument(scene, call, f"padding={quote}max_length{quote}"),), assumes)
    value = named["padding"].value
    written = (isinstance(value, cst.Name) and value.value == "True") or (
        isinstance(value, cst.SimpleString) and value.raw_value == "longest"
    )
    changed = Replacement(*scene.span(value), f"{quote}max_length{quote}")
    return Rewrite(message, (changed,), assumes) if written else _ELSEWHERE
