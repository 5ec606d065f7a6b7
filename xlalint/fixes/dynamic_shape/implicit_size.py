"""XLA207: the size of a result that was read from values, named where the code says it: positions along a dimension are below its size.

Of `logits.argmax(-1)`, or of a remainder by a number, it is known how many different values there can be. Where nothing is, what to do is
left to a person.
"""

from __future__ import annotations

import libcst as cst

from xlalint.abstract.values import Const, Host
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import definition, reads, unchanged
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.operations import arguments_of, operation
from xlalint.fixes.toolkit.picking import find_selection
from xlalint.fixes.toolkit.text import atom, brief, call_at, last_name

# What rearranges or converts whole numbers, or takes some of them.
_KEPT = frozenset(
    (
        "astype",
        "clone",
        "contiguous",
        "detach",
        "flatten",
        "int",
        "long",
        "ravel",
        "reshape",
        "squeeze",
        "to",
        "unsqueeze",
        "view",
    )
)
_ARGUMENTS = frozenset(("argmax", "argmin"))
_SEGMENTS = {"segment_max", "segment_min", "segment_prod", "segment_sum"}
_DEPTH = 5
_REASONS = {
    "confusion_matrix": "the number of classes is not known; give `num_classes=`",
    "one_hot": "the number of classes is not known; give `num_classes=`",
    "pack_padded_sequence": "keep the padded sequence, with a mask of what lies beyond each length",
    "pad_packed_sequence": "keep the padded sequence, with a mask of what lies beyond each length",
    "repeat": "the largest possible number of rows is not known; repeat each as often as the largest,"
    " or take rows by an index of fixed size",
    "repeat_interleave": "the largest possible number of rows is not known; take rows by an index of fixed size,"
    " `(repeats.cumsum(0) <= torch.arange(most)[:, None]).sum(-1)`",
    "sequence_mask": "the width of the mask is not known; give `maxlen=`, the size of the dimension that the lengths are of",
}


def name_size(site: Site) -> Rewrite | NoFix | None:
    """`F.one_hot(x.argmax(-1))` → `F.one_hot(x.argmax(-1), num_classes=x.shape[-1])`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or any(arg.star for arg in node.args):
        return None
    name, given = operation(scene, node), arguments_of(scene, node)
    options = {arg.keyword.value: arg.value for arg in node.args if arg.keyword is not None}
    if site.framework == "torch" and name == "one_hot" and len(given) == 1 and not options:
        return _add_size(scene, node, given[0], "num_classes")
    if site.framework == "torch" and name == "bincount" and given and set(options) <= {"minlength"}:
        return _counts(site, node, [*given[1:2], *options.values()], given) if len(given) < 3 else None
    if site.framework == "jax" and name == "bincount" and len(given) == 1 and not options:
        return _add_size(scene, node, given[0], "length")
    if site.framework == "jax" and name in _SEGMENTS and len(given) == 2 and not options:
        return _add_size(scene, node, given[1], "num_segments")
    return None


def _add_size(scene: FunctionSource, node: cst.Call, numbers: cst.BaseExpression, keyword: str) -> Rewrite | NoFix:
    """The size as one more argument. The result gets all that it can have, where it had as many as the largest number asks for."""
    size = find_bound(scene, numbers, node)
    if not size:
        return NoFix(f"no upper bound of `{brief(scene.code(numbers))}` is known; give `{keyword}=`")
    given = [scene.code(arg).rstrip(", ") for arg in node.args]
    text = call_at(scene, node, scene.code(node.func), [*given, f"{keyword}={size}"])
    assumed = f"the result may have all {size} entries, not only as many as the largest number needs"
    return Rewrite(
        "Give the size", (Replacement(*scene.span(node), text),), assumed.replace(f" {size} ", f" `{size}` ")
    )


def _counts(
    site: Site, node: cst.Call, least: list[cst.BaseExpression], given: list[cst.BaseExpression]
) -> Rewrite | NoFix:
    """`torch.bincount(i, minlength=n)` → `F.one_hot(i, n).sum(0)`: the first runs on the CPU, whatever it is told."""
    scene, numbers = site.scene, given[0]
    if len(given) > 1:
        return NoFix("it sums weights; use `index_add` into zeros of the intended size")
    picked = find_selection(scene, numbers)
    if picked:
        return NoFix(
            f"`{brief(picked)}` has another size for each mask: keep all elements, and count those of the mask"
        )
    size = find_bound(scene, numbers, node)
    assumed = "" if size else f"`{brief(scene.code(numbers))}` stays below `{_least(scene, least)}`"
    size = size or _least(scene, least)
    if not size:
        return NoFix(f"no upper bound of `{brief(scene.code(numbers))}` is known; count with `F.one_hot(…, n).sum(0)`")
    if least and size != _least(scene, least) and _least(scene, least) != "":
        return NoFix(f"it is not known whether `{_least(scene, least)}` or `{size}` is the size")
    if not least:
        assumed = f"the result may have all `{size}` entries, not only as many as the largest number needs"
    imports = Imports(scene, node)
    numbers_code = scene.code(numbers) if _is_long(scene, numbers) else f"{atom(scene, numbers)}.long()"
    named = bool(least) and type(scene.value(least[0])) is not Const and not _are_places(scene, numbers)
    if ((assumed and named) or _is_table(size)) and isinstance(numbers, cst.Name):
        return _count_by_place(scene, node, numbers, size, assumed)
    if assumed and (named or _are_many(scene, numbers)):
        return NoFix(
            f"`one_hot` would make `{size}` numbers of each of `{brief(scene.code(numbers))}`: count with `scatter_add_` into zeros"
        )
    text = f"{imports.name('torch.nn.functional')}.one_hot({numbers_code}, {size}).sum(0)"
    return Rewrite("Count with `one_hot`", (Replacement(*scene.span(node), text), *imports.needed), assumed)


def _count_by_place(scene: FunctionSource, node: cst.Call, numbers: cst.Name, size: str, assumed: str) -> Rewrite:
    """`torch.bincount(i, minlength=n)` → `i.new_zeros(n).scatter_add_(0, i, torch.ones_like(i))`."""
    imports = Imports(scene, node)
    name, torch = numbers.value, imports.name("torch")
    if _is_cast(scene, numbers):
        zeros, places = f"{torch}.zeros({size}, dtype={torch}.int64, device={name}.device)", f"{name}.long()"
    else:
        zeros, places = f"{name}.new_zeros({size})", name
        assumed = all_of(["" if _is_long(scene, numbers) else f"`{name}` is of int64", assumed])
    text = call_at(scene, node, f"{zeros}.scatter_add_", ["0", places, f"{torch}.ones_like({places})"])
    return Rewrite("Count with `scatter_add_`", (Replacement(*scene.span(node), text), *imports.needed), assumed)


def _are_places(scene: FunctionSource, numbers: cst.BaseExpression, depth: int = _DEPTH) -> bool:
    """Return whether numbers are places of extrema: `one_hot` makes of them no more than they were searched in."""
    if isinstance(numbers, cst.Name):
        made = definition(scene, numbers) if depth else None
        return made is not None and _are_places(scene, made.value, depth - 1)
    if isinstance(numbers, cst.Attribute):
        return _are_of_pair(scene, numbers)
    if not isinstance(numbers, cst.Call):
        return False
    name, given = operation(scene, numbers), arguments_of(scene, numbers)
    return name in _ARGUMENTS or (name in _KEPT and bool(given) and _are_places(scene, given[0], depth))


def _are_of_pair(scene: FunctionSource, node: cst.Attribute) -> bool:
    """Return whether an attribute is the places that come with extrema: `x.max(0).indices`."""
    pair = node.value
    return node.attr.value == "indices" and isinstance(pair, cst.Call) and operation(scene, pair) in _PAIRS


def _are_many(scene: FunctionSource, numbers: cst.BaseExpression) -> bool:
    """Return whether numbers are all that a tensor of several dimensions has, as of the pixels of images, or a chunk of these."""
    if isinstance(numbers, cst.Name):
        made = definition(scene, numbers)
        split = next((one.iter for one in scene.above(numbers) if isinstance(one, cst.For)), None)
        if split is not None and any(
            last_name(one.func) in ("chunk", "split") for one in scene.descend(split, cst.Call)
        ):
            return True
        return made is not None and _are_many(scene, made.value)
    for call in scene.descend(numbers, cst.Call):
        name, given = last_name(call.func), [scene.code(arg.value) for arg in call.args]
        if (name in ("flatten", "ravel") and not given) or (name in ("reshape", "view") and given == ["-1"]):
            return True
    return any(
        _are_many(scene, call.func.value)
        for call in scene.descend(numbers, cst.Call)
        if isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name)
    )


def _is_table(size: str) -> bool:
    """Return whether a size is that of a table, as of a confusion matrix: pairs of classes of each pixel, of which `one_hot` would make
    too much. So is the product of a shape.
    """
    node = cst.parse_expression(size)
    if isinstance(node, cst.Call) and len(node.args) == 1 and isinstance(node.func, cst.Name):
        node = node.args[0].value  # int(shape.prod())
    if isinstance(node, cst.Call):
        named = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
        return isinstance(named, cst.Name) and named.value in ("numel", "prod")
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Multiply, cst.Power))


def _least(scene: FunctionSource, least: list[cst.BaseExpression]) -> str:
    """The `minlength` that is given, unless it says nothing."""
    if not least:
        return ""
    value = scene.value(least[0])
    return "" if type(value) is Const and value.value == 0 else scene.code(least[0])


def _is_long(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether an expression surely gives int64."""
    if isinstance(node, cst.Name):
        made = definition(scene, node)
        return made is not None and _is_long(scene, made.value)
    if isinstance(node, cst.Subscript):
        return values.is_tensor(scene.value(node), "torch") and _is_long(scene, node.value)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Multiply, cst.Subtract)):
        sides = (node.left, node.right), (node.right, node.left)
        return any(_is_long(scene, one) and _is_whole(scene, other) for one, other in sides)
    if isinstance(node, cst.Attribute):
        return _are_of_pair(scene, node)
    if not isinstance(node, cst.Call):
        return False
    name, given = operation(scene, node), arguments_of(scene, node)
    if name in ("to", "type") and len(given) == 2:
        return scene.code(given[1]) in _INT64
    return name in {"long", *_ARGUMENTS}


def _is_cast(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether an expression is cast to a dtype that is not surely int64."""
    made = definition(scene, node) if isinstance(node, cst.Name) else None
    cast = made.value if made is not None else node
    return isinstance(cast, cst.Call) and last_name(cast.func) in _CASTS and not _is_long(scene, cast)


def _is_whole(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    value = scene.value(node)
    return values.is_whole(value) or values.dtype_of(value) in ("b", "i") or _is_long(scene, node)


_CASTS = frozenset(("byte", "char", "int", "short", "to", "type"))
_INT64 = ("torch.int64", "torch.long")
_PAIRS = frozenset(("max", "min", "sort", "topk"))


def find_bound(scene: FunctionSource, node: cst.BaseExpression, use: cst.CSTNode, depth: int = _DEPTH) -> str:
    """Return an upper bound of whole numbers, as code that means the same at `use`; "" if none is known."""
    if not depth:
        return ""
    if isinstance(node, cst.Name):
        made = definition(scene, node)
        return "" if made is None else find_bound(scene, made.value, use, depth - 1)
    if isinstance(node, cst.Subscript):
        return find_bound(scene, node.value, use, depth - 1)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
        value = scene.value(node.right)
        whole = (type(value) is Const and type(value.value) is int and value.value > 0) or (
            type(value) is Host and value.type == "int"
        )
        return atom(scene, node.right) if whole and _means_same(scene, node.right, use) else ""
    if not isinstance(node, cst.Call):
        return ""
    name, given = operation(scene, node), arguments_of(scene, node)
    if name in _KEPT and given and isinstance(node.func, cst.Attribute) and given[0] is node.func.value:
        return find_bound(scene, given[0], use, depth - 1)
    return _position_bound(scene, node, given, use) if name in _ARGUMENTS and given else ""


def _position_bound(scene: FunctionSource, node: cst.Call, given: list[cst.BaseExpression], use: cst.CSTNode) -> str:
    """Of positions along a dimension, its size."""
    named_dim = [arg.value for arg in node.args if arg.keyword is not None and arg.keyword.value in ("dim", "axis")]
    dims = [*given[1:2], *named_dim]
    value = scene.value(dims[0]) if len(dims) == 1 else None
    if not isinstance(value, Const) or type(value.value) is not int:
        return ""
    plain = isinstance(given[0], (cst.Name, cst.Attribute)) and values.tensors_only(scene.value(given[0]))
    return f"{scene.code(given[0])}.shape[{value.value}]" if plain and _means_same(scene, given[0], use) else ""


def _means_same(scene: FunctionSource, node: cst.BaseExpression, use: cst.CSTNode) -> bool:
    since = scene.span(node)[0]
    return all(unchanged(scene, name, since, use) for name in reads(scene, node))


def unknown(site: Site) -> NoFix | None:
    """Say what a person would do where the size is not known."""
    if not isinstance(site.node, cst.Call):
        return None
    told = _REASONS.get(operation(site.scene, site.node), "")
    return (
        NoFix(told)
        if told
        else NoFix("the size of the result is not known; give one that is large enough, and mask the rest")
    )
