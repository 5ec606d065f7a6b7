"""`x[mask]` taken apart: which part of the index is the mask, whether it is one, and how it lines up with what it indexes.

A mask covers the dimensions from its place in the index on, as many as it has; broadcasting lines dimensions up from the last. So a mask
that covers only leading dimensions needs one more for each that follows it: none is written if both have surely the same number, `None` for
each if both numbers are known, and else a view that is right for any number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import UNKNOWN, Const, Host, Sequence, Tensor, members
from xlalint.fixes.model import NoFix
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import bindings, definition, reads, unpacking, version
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.operations import (
    AS_FIRST,
    AS_FIRST_IF_FLOAT,
    AS_FIRST_OF_NUMBERS,
    BOOLEAN,
    CASTS,
    JOINED,
    MAKERS,
    REDUCTIONS,
    arguments_of,
    names,
    operation,
)
from xlalint.fixes.toolkit.text import atom

_ELEMENTWISE = AS_FIRST | AS_FIRST_IF_FLOAT | AS_FIRST_OF_NUMBERS | BOOLEAN | JOINED | frozenset(CASTS)
_COMPARED = frozenset(
    ["eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "isclose", "isin"]
)
_LIKE = frozenset(["empty_like", "full_like", "ones_like", "rand_like", "randn_like", "zeros_like"])
_POSITIONS = re.compile(r"(?:^|_)(?:idx|idxs|index|indexes|indices|inds|ids|perm|order|positions|slices?)$").search
_ARITHMETIC = (cst.Add, cst.Subtract, cst.Divide, cst.FloorDivide, cst.Modulo, cst.Power, cst.MatrixMultiply)
_GIVES_POSITIONS = frozenset(
    [
        "arange",
        "argmax",
        "argmin",
        "argsort",
        "bucketize",
        "cumsum",
        "multinomial",
        "nonzero",
        "randint",
        "randperm",
        "searchsorted",
        "sort",
        "topk",
    ]
)
_REARRANGED = frozenset(
    ["contiguous", "expand", "flatten", "long", "repeat", "reshape", "squeeze", "to", "unsqueeze", "view"]
)
_ALIKE = frozenset(
    ["broadcast_to", "empty", "expand", "full", "ones", "reshape", "view", "zeros"]
)  # what is given a shape
_ALIKE_BY_TENSOR = frozenset(["expand_as", "reshape_as", "view_as"])
_SIZED = MAKERS | {"rand", "randn"}
_CHOOSING = frozenset(["masked_fill", "where"])
# What keeps the number of dimensions of its first operand, if not its sizes.
_KEEPS_RANK = names(
    "argsort cummax cummin cumprod cumsum dropout flip fliplr flipud layer_norm narrow normalize pad rms_norm roll scatter scatter_add"
    " sort topk"
)
_COPIES = frozenset(["clone", "contiguous", "detach"])  # methods that keep the dimensions of whatever has them
_PAIRS = frozenset(["cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "sort", "topk"])
_DEPTH = 6
_REACH = 10  # expressions that a number of dimensions is followed through


class Masked(NamedTuple):
    """`base[before, mask, after]`: `before` counts full slices; `picks` says that the rest of the index picks a part of the base by
    numbers and slices, so that the mask applies to `base[…]` with a full slice for each of the mask's dimensions."""

    base: cst.BaseExpression
    mask: cst.BaseExpression
    before: tuple[cst.BaseSlice, ...] = ()
    after: tuple[cst.BaseSlice, ...] = ()

    @property
    def plain(self) -> bool:
        """Return whether the index holds only the mask, or full slices behind it."""
        return not self.before and all(map(_is_full, self.after))


def read_masked(scene: FunctionSource, node: cst.CSTNode) -> Masked | None:
    """`x[mask]` taken apart; None where something else than one tensor, numbers and slices is in the index."""
    if not isinstance(node, cst.Subscript):
        return None
    parts = [element.slice for element in node.slice]
    found = [at for at, part in enumerate(parts) if not _is_basic(scene, part)]
    if len(found) != 1:
        return None
    part = parts[found[0]]
    if not isinstance(part, cst.Index):
        return None
    if isinstance(part.value, cst.Call) and len(parts) == 1:
        mask = positions_of(scene, part.value)
        if mask is not None:
            return Masked(node.value, mask)
    return Masked(node.value, part.value, tuple(parts[: found[0]]), tuple(parts[found[0] + 1 :]))


def positions_of(scene: FunctionSource, node: cst.Call) -> cst.BaseExpression | None:
    """The mask of bools whose positions a call gives, as a tuple with one tensor for each dimension; None for other calls."""
    name, given = operation(scene, node), arguments_of(scene, node)
    named = {arg.keyword.value: scene.code(arg.value) for arg in node.args if arg.keyword is not None}
    if len(given) != 1 or not values.is_bool(scene.value(given[0])):
        return None
    if values.is_tensor(scene.value(given[0]), "torch"):
        tuples = (name == "where" and not named) or (name == "nonzero" and named == {"as_tuple": "True"})
    else:
        tuples = values.is_tensor(scene.value(given[0]), "jax") and name in ("where", "nonzero") and not named
    return given[0] if tuples else None


def base_assumption(scene: FunctionSource, base: cst.BaseExpression, framework: str) -> str | NoFix:
    """Return what must be assumed for the indexed value to be a tensor. A value that a mask cannot index, such as None, never gets here."""
    code = scene.code(base)
    found = [one for one in members(scene.value(base)) if not isinstance(one, (Const, Host, Sequence))]
    tensors = [one for one in found if isinstance(one, Tensor)]
    others = [one for one in found if not isinstance(one, Tensor)]
    if not tensors or any(one.framework != framework for one in tensors) or any(one is not UNKNOWN for one in others):
        return NoFix(f"it is not known that `{code}` is a tensor in every call")
    # What a tracer runs may be an array of NumPy's as well: there both are indexed, and reduced, alike.
    guessed = framework == "torch" and any(not one.sure for one in tensors)
    return f"`{code}` is a tensor" if others or guessed else ""


def mask_assumption(scene: FunctionSource, mask: cst.BaseExpression, framework: str) -> str | NoFix:
    """Return what must be assumed for an index to be a mask: nothing, or that it holds bools; a reason if it may well be something else."""
    value, code = scene.value(mask), scene.code(mask)
    tensors = [one for one in members(value) if isinstance(one, Tensor)]
    others = [one for one in members(value) if not isinstance(one, Tensor)]
    if not tensors or any(isinstance(one, Sequence) for one in others):
        return NoFix(f"it is not known that `{code}` is a tensor in every call")
    if any(one.framework != framework for one in tensors):
        return NoFix(f"`{code}` is not a {framework} tensor in every call")
    kinds = {one.dtype for one in tensors}
    if kinds == {"b"} and not others:
        return ""
    if kinds - {"b", ""} or ("b" not in kinds and (_POSITIONS(_last_word(mask)) or _counts(scene, mask, _DEPTH))):
        return NoFix(f"`{code}` may hold positions rather than bools")
    return f"`{code}` is a tensor of bools"


def _counts(scene: FunctionSource, node: cst.BaseExpression, depth: int) -> bool:
    """Return whether an expression is arithmetic, or gives positions, and so is no mask."""
    if isinstance(node, cst.Name):
        made = definition(scene, node) if depth else None
        return made is not None and _counts(scene, made.value, depth - 1)
    if isinstance(node, cst.BinaryOperation):
        return isinstance(node.operator, _ARITHMETIC)
    if isinstance(node, cst.Attribute):
        return node.attr.value == "indices"
    if isinstance(node, cst.Subscript):
        return _counts(scene, node.value, depth)
    return isinstance(node, cst.Call) and (
        operation(scene, node) in _GIVES_POSITIONS
        or (
            isinstance(node.func, cst.Attribute)
            and node.func.attr.value in _REARRANGED
            and _counts(scene, node.func.value, depth)
        )
    )


def _last_word(node: cst.BaseExpression) -> str:
    while isinstance(node, (cst.Subscript, cst.UnaryOperation)):
        node = node.value if isinstance(node, cst.Subscript) else node.expression
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def _is_full(part: cst.BaseSlice) -> bool:
    """Return whether a part of an index is `:` or `...`."""
    if isinstance(part, cst.Slice):
        return part.lower is None and part.upper is None and part.step is None
    return isinstance(part, cst.Index) and isinstance(part.value, cst.Ellipsis)


def _is_basic(scene: FunctionSource, part: cst.BaseSlice) -> bool:
    """Return whether a part of an index takes no tensor: a slice, a number, `...` or `None`."""
    if isinstance(part, cst.Slice):
        return True
    if not isinstance(part, cst.Index) or part.star:
        return False
    value = scene.value(part.value)
    return isinstance(part.value, cst.Ellipsis) or values.is_none(value) or values.is_number(value)


# ---------------------------------------------------------------------------------------------------------- ranks


def rank(scene: FunctionSource, node: cst.BaseExpression, depth: int = _DEPTH) -> int:
    """The number of an expression's dimensions, from what the analysis knows or from how it was made; -1 where it is not known."""
    known = values.rank_of(scene.value(node))
    if known >= 0 or not depth:
        return known
    if isinstance(node, cst.Name):
        made = definition(scene, node)
        return -1 if made is None else rank(scene, made.value, depth - 1)
    sizes = _sizes(scene, node)
    if sizes:
        return len(sizes)
    axes = max(_count_axes(scene, node), _count_first_sizes(scene, node))
    if axes >= 0:
        return axes
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _COPIES:
        return rank(scene, node.func.value, depth - 1)
    found = [rank(scene, operand, depth - 1) for operand in _operands(scene, node)]
    return max(found) if found and min(found) >= 0 else -1


def _count_first_sizes(scene: FunctionSource, node: cst.BaseExpression) -> int:
    """How many of a tensor's first sizes a call is told to make another with: 2 of `torch.rand(x.shape[:2])`; -1 of another call."""
    given = arguments_of(scene, node) if isinstance(node, cst.Call) and operation(scene, node) in _SIZED else []
    shape = given[0] if given and isinstance(given[0], cst.Subscript) and len(given[0].slice) == 1 else None
    part = shape.slice[0].slice if shape is not None and _whole_shape(shape.value) is not None else None
    if not isinstance(part, cst.Slice) or part.lower is not None or part.step is not None or part.upper is None:
        return -1
    end = scene.value(part.upper)
    return end.value if type(end) is Const and type(end.value) is int and end.value > 0 else -1


def _count_axes(scene: FunctionSource, node: cst.BaseExpression) -> int:
    """The number of axes that a pattern of einops names for its result: 2 of `rearrange(x, "b c h w -> b (c h w)")`; -1 without."""
    if not isinstance(node, cst.Call) or len(node.args) < 2 or not isinstance(node.args[1].value, cst.SimpleString):
        return -1
    named = values.callee(scene.value(node.func)) in ("einops.rearrange", "einops.reduce", "einops.repeat")
    _, arrow, made = node.args[1].value.raw_value.partition("->")
    if not named or not arrow or "..." in made:
        return -1
    return len(re.sub(r"\([^()]*\)", "1", made).split())


def _sizes(scene: FunctionSource, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The sizes that `expand` and `repeat` are given one by one, and `reshape` and `view` of what may be anything: the result has a
    dimension for each.
    """
    if not isinstance(node, cst.Call):
        return []
    if (
        isinstance(node.func, cst.Attribute)
        and node.func.attr.value in ("reshape", "view")
        and not operation(scene, node)
    ):
        sizes = [arg.value for arg in node.args if arg.keyword is None and not arg.star]
        alone = len(sizes) == len(node.args) and all(values.is_whole(scene.value(one)) for one in sizes)
        return sizes if alone else []
    if operation(scene, node) not in ("expand", "repeat"):
        return []
    given = arguments_of(scene, node)[1:]
    if len(given) == 1 and isinstance(given[0], (cst.Tuple, cst.List)):
        elements = given[0].elements
        return [one.value for one in elements if isinstance(one, cst.Element)] if _plain(elements) else []
    alone = not any(arg.star or arg.keyword is not None for arg in node.args)
    return given if alone and all(values.is_number(scene.value(one)) for one in given) else []


def _plain(elements: Iterable[cst.BaseElement]) -> bool:
    return all(isinstance(one, cst.Element) for one in elements)


def same_rank(scene: FunctionSource, mask: cst.BaseExpression, whole: cst.BaseExpression) -> bool:
    """Return whether a mask surely has as many dimensions as what it indexes: both are known, or the mask was made from it elementwise.

    Broadcasting gives at least the dimensions of each operand, and a mask has at most those of what it indexes.
    """
    own, total = rank(scene, mask), rank(scene, whole)
    if min(own, total) >= 0:
        return own == total
    if total >= 0 and _least_rank(scene, mask, _DEPTH) >= total:
        return True
    if _covered(scene, whole, _sources(scene, mask, _DEPTH), _DEPTH):
        return True
    least, most = _count_least(scene, mask, _REACH), _count_most(scene, whole, _REACH)
    return any(name in least and more <= least[name] for name, more in most.items())


def _count_least(scene: FunctionSource, node: cst.BaseExpression, depth: int) -> dict[str, int]:
    """Of what an expression was made of, by how many dimensions it surely has at least more."""
    found = dict.fromkeys(_identify(scene, node), 0)
    for operand, more in _list_parts(scene, node) if depth else ():
        for name, inner in _count_least(scene, operand, depth - 1).items():
            found[name] = max(found.get(name, inner + more), inner + more)
    return found


def _count_most(scene: FunctionSource, node: cst.BaseExpression, depth: int) -> dict[str, int]:
    """Of what an expression was made of alone, by how many dimensions it has at most more."""
    found = dict.fromkeys(_identify(scene, node), 0)
    followed = [one for one in (_list_parts(scene, node) if depth else ()) if rank(scene, one[0]) not in (0, 1)]
    inner = [(_count_most(scene, operand, depth - 1), more) for operand, more in followed]
    for name in set.intersection(*(set(one) for one, _ in inner)) if inner else ():
        found.setdefault(name, max(one[name] + more for one, more in inner))
    return found


def _list_parts(scene: FunctionSource, node: cst.BaseExpression) -> list[tuple[cst.BaseExpression, int]]:
    """List what an expression is made of, each with how many dimensions more the result has than it."""
    if isinstance(node, cst.Name):
        made = definition(scene, node)
        if made is None:
            pair = _made_pair(scene, node)
            if pair is None or not isinstance(pair.value, cst.Call) or operation(scene, pair.value) not in _KEEPS_RANK:
                return []
            return _list_parts(scene, pair.value)
        return [(made.value, 0)]
    if isinstance(node, cst.Subscript):
        return [(node.value, 0)] if _takes_order(scene, node) else []
    if not isinstance(node, cst.Call):
        return [(one, 0) for one in _operands(scene, node)]
    name, given = operation(scene, node), arguments_of(scene, node)
    if name in ("squeeze", "unsqueeze") and len(given) == 2 and not any(arg.keyword for arg in node.args):
        return [(given[0], -1 if name == "squeeze" else 1)]
    if name in ("gather", "take_along_dim") and len(given) == 3:
        return [(given[2], 0)]
    return [(given[0], 0)] if name in _KEEPS_RANK and given else [(one, 0) for one in _operands(scene, node)]


def _takes_order(scene: FunctionSource, node: cst.Subscript) -> bool:
    """Return whether an index of one tensor of positions puts what it indexes into another order: `x[x.argsort()]`."""
    part = node.slice[0].slice if len(node.slice) == 1 else None
    if not isinstance(part, cst.Index) or _is_basic(scene, part):
        return False
    return rank(scene, part.value) == 1 and values.dtype_of(scene.value(part.value)) == "i"


def made_like(scene: FunctionSource, mask: cst.BaseExpression, whole: cst.BaseExpression) -> bool:
    """Return whether a mask was surely made elementwise from a tensor alone, and so has its shape."""
    return _covered(scene, mask, _identify(scene, whole), _DEPTH)


def _least_rank(scene: FunctionSource, node: cst.BaseExpression, depth: int) -> int:
    """A number of dimensions that an expression surely has, and perhaps more."""
    known = rank(scene, node)
    if known >= 0 or not depth:
        return max(known, 0)
    if isinstance(node, cst.Name):
        made = definition(scene, node)
        return 0 if made is None else _least_rank(scene, made.value, depth - 1)
    if isinstance(node, cst.Subscript):
        parts = [element.slice for element in node.slice]
        return sum(1 for part in parts if isinstance(part, cst.Slice) or _is_new(scene, part))
    if isinstance(node, cst.Call) and operation(scene, node) == "unsqueeze":
        return 1 + _least_rank(scene, arguments_of(scene, node)[0], depth - 1)
    return max((_least_rank(scene, operand, depth - 1) for operand in _operands(scene, node)), default=0)


def _sources(scene: FunctionSource, node: cst.BaseExpression, depth: int) -> set[str]:
    """The expressions of whose dimensions another has at least as many."""
    found = _identify(scene, node)
    if isinstance(node, cst.Name):
        found |= _twins(scene, node)
        made = definition(scene, node) if depth else None
        return found if made is None else found | _sources(scene, made.value, depth - 1)
    for operand in [*_operands(scene, node), *_shaped_like(scene, node)]:
        found |= _sources(scene, operand, depth)
    return found


def _twins(scene: FunctionSource, node: cst.Name) -> set[str]:
    """The names of `values, indices = x.max(dim=0)`: both have the same dimensions."""
    made = _made_pair(scene, node)
    if made is None:
        return set()
    return {f"{one.value}@{[scene.span(one)[0]]}" for one in scene.descend(made.targets[0], cst.Name)}


def _made_pair(scene: FunctionSource, node: cst.Name) -> cst.Assign | None:
    """The assignment of two results of the same dimensions, of which a name is one: `values, indices = x.sort()`."""
    made = unpacking(scene, node)
    call = None if made is None else made.value
    return made if isinstance(call, cst.Call) and operation(scene, call) in _PAIRS else None


def _shaped_like(scene: FunctionSource, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The tensor whose shape an operation is told to give: `mask.expand_as(x)`, `mask.expand(x.shape)`, `torch.zeros(x.size())`."""
    if not isinstance(node, cst.Call):
        return []
    name, given = operation(scene, node), arguments_of(scene, node)
    if name in _ALIKE_BY_TENSOR and len(given) == 2:
        return given[1:]
    return [whole for one in given if (whole := _whole_shape(one)) is not None] if name in _ALIKE else []


def _whole_shape(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The `x` of `x.shape` or `x.size()`."""
    if isinstance(node, cst.Call) and not node.args and isinstance(node.func, cst.Attribute):
        return node.func.value if node.func.attr.value == "size" else None
    return node.value if isinstance(node, cst.Attribute) and node.attr.value == "shape" else None


def _made_for(
    scene: FunctionSource, mask: cst.BaseExpression, base: cst.BaseExpression, own: int, depth: int = _DEPTH
) -> bool:
    """Return whether a mask was widened to the shape of what it indexes, or to its last size at its own last dimension."""
    if isinstance(mask, cst.Name):
        made = definition(scene, mask) if depth else None
        return made is not None and _made_for(scene, made.value, base, own, depth - 1)
    sizes = _sizes(scene, mask)
    if sizes:
        return len(sizes) == own and _is_size_of(scene, sizes[-1], scene.code(base), own - 1, depth)
    if any(scene.code(like) == scene.code(base) for like in _shaped_like(scene, mask)):
        return True
    return any(_made_for(scene, operand, base, own, depth) for operand in _operands(scene, mask))


def _is_size_of(scene: FunctionSource, node: cst.BaseExpression, base: str, place: int, depth: int) -> bool:
    """Return whether an expression is the size of a tensor's dimension, or of its last one."""
    if isinstance(node, cst.Name):
        made = definition(scene, node) if depth else None
        return made is not None and _is_size_of(scene, made.value, base, place, depth - 1)
    code = scene.code(node).replace(" ", "")
    return code in {
        f"{base}.{form}" for at in (place, -1) for form in (f"shape[{at}]", f"size({at})", f"size(dim={at})")
    }


def _covered(scene: FunctionSource, node: cst.BaseExpression, sources: set[str], depth: int) -> bool:
    """Return whether an expression has at most the dimensions of some others: it is one of them, or made of them alone."""
    if _identify(scene, node) & sources or rank(scene, node) == 0:
        return True
    if isinstance(node, cst.Name):
        if _twins(scene, node) & sources:
            return True
        made = definition(scene, node) if depth else None
        return made is not None and _covered(scene, made.value, sources, depth - 1)
    operands = _operands(scene, node)
    return bool(operands) and all(_covered(scene, one, sources, depth) for one in operands)


def _identify(scene: FunctionSource, node: cst.BaseExpression) -> set[str]:
    """An expression's code with where its names got their values: what is written alike elsewhere is the same only if these agree."""
    names = {node.value} if isinstance(node, cst.Name) else reads(scene, node)
    versions = [version(scene, name, node) for name in sorted(names)]
    return set() if None in versions else {f"{scene.code(node)}@{versions}"}


def _operands(scene: FunctionSource, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """List the operands of an elementwise operation, without numbers; none for other expressions."""
    if isinstance(node, cst.UnaryOperation) and not isinstance(node.operator, cst.Not):
        found = [node.expression]
    elif isinstance(node, cst.BinaryOperation) and not isinstance(node.operator, cst.MatrixMultiply):
        found = [node.left, node.right]
    elif isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        found = [node.left, node.comparisons[0].comparator]
    elif isinstance(node, cst.Call):
        name = operation(scene, node)
        given = arguments_of(scene, node)
        pair = name in ("max", "min") and len(given) == 2 and bool(values.tensors_only(scene.value(given[1])))
        found = given if pair or name.removesuffix("_") in _ELEMENTWISE | _COMPARED | _LIKE else []
        found = found[:1] if name.removesuffix("_") in AS_FIRST | _LIKE | frozenset(CASTS) | {"isin"} else found
        if name in _CHOOSING and len(given) == 3:  # all of whose operands broadcast
            found = given
    else:
        found = []
    return [one for one in found if not values.is_number(scene.value(one))]


def dropped_dimensions(scene: FunctionSource, mask: cst.BaseExpression, whole: cst.BaseExpression) -> int:
    """Return how many dimensions less a mask surely has than what it was made from by numbers in an index, or along one dimension at a
    time: 1 for `x[..., 0] > 0` and `x.sum(1) > 0`; -1 where it was not made so."""
    return _count_dropped(scene, mask, _list_alike(scene, whole), _DEPTH)


def _list_alike(scene: FunctionSource, node: cst.BaseExpression) -> set[str]:
    """The expressions of surely the same number of dimensions that another was made from, one after another."""
    found = _identify(scene, node)
    for _ in range(_DEPTH):
        made = definition(scene, node) if isinstance(node, cst.Name) else None
        operands = [made.value] if made is not None else _operands(scene, node)
        if len(operands) != 1:
            break
        node = operands[0]
        found |= _identify(scene, node)
    return found


def _count_dropped(scene: FunctionSource, node: cst.BaseExpression, known: set[str], depth: int) -> int:
    if _identify(scene, node) & known:
        return 0
    if not depth:
        return -1
    if isinstance(node, cst.Name):
        return _agreed([_count_dropped(scene, one, known, depth - 1) for one in _list_made(scene, node)])
    if isinstance(node, cst.Subscript):
        parts = [element.slice for element in node.slice]
        inner = _count_dropped(scene, node.value, known, depth - 1)
        basic = all(_is_basic(scene, part) and not _is_new(scene, part) for part in parts)
        return inner + sum(1 for part in parts if _drops(scene, part)) if inner >= 0 and basic else -1
    if isinstance(node, cst.Call) and _reduces_one(scene, node):
        inner = _count_dropped(scene, arguments_of(scene, node)[0], known, depth - 1)
        return inner + 1 if inner >= 0 else -1
    cut = _cut_shape(scene, node)
    if cut is not None:
        inner = _count_dropped(scene, cut[0], known, depth - 1)
        return inner + cut[1] if inner >= 0 else -1
    operands = [one for one in _operands(scene, node) if rank(scene, one) != 0]
    found = [_count_dropped(scene, one, known, depth - 1) for one in operands]
    return min(found) if found and min(found) >= 0 else -1


def _list_made(scene: FunctionSource, name: cst.Name) -> list[cst.BaseExpression]:
    """List all that a name may have been bound to, in branches for example; nothing where it may be bound otherwise."""
    made = definition(scene, name)
    if made is not None:
        return [made.value]
    function = scene.function(name)
    found = [scene.parent(scene.parent(one)) for one in bindings(scene, function, name.value)] if function else []
    alone = [one.value for one in found if isinstance(one, cst.Assign) and len(one.targets) == 1]
    given = function is not None and any(
        one.name.value == name.value for one in scene.descend(function.params, cst.Param)
    )
    return alone if len(alone) == len(found) and not given else []


def _agreed(counts: list[int]) -> int:
    return counts[0] if len(set(counts)) == 1 else -1


def _cut_shape(scene: FunctionSource, node: cst.BaseExpression) -> tuple[cst.BaseExpression, int] | None:
    """The tensor whose shape something is made with but for its last dimensions, and how many those are: of `torch.ones(x.shape[:-1])`."""
    given = arguments_of(scene, node) if isinstance(node, cst.Call) and operation(scene, node) in _ALIKE else []
    shape = given[0] if len(given) == 1 else None
    if not isinstance(shape, cst.Subscript) or len(shape.slice) != 1:
        return None
    part, whole = shape.slice[0].slice, _whole_shape(shape.value)
    if not isinstance(part, cst.Slice) or part.lower is not None or part.step is not None or part.upper is None:
        return None
    end = scene.value(part.upper)
    left_out = -end.value if type(end) is Const and type(end.value) is int else 0
    return (whole, left_out) if whole is not None and left_out > 0 else None


def _reduces_one(scene: FunctionSource, node: cst.Call) -> bool:
    """Return whether a call reduces a tensor along one dimension, which goes."""
    if operation(scene, node) not in REDUCTIONS or not values.tensors_only(scene.value(node)):
        return False
    given = arguments_of(scene, node)[1:]
    given += [arg.value for arg in node.args if arg.keyword is not None and arg.keyword.value in ("axis", "dim")]
    others = [arg for arg in node.args if arg.keyword is not None and arg.keyword.value not in ("axis", "dim", "dtype")]
    return len(given) == 1 and not others and values.is_whole(scene.value(given[0]))


# ------------------------------------------------------------------------------------------------------ alignment


class Aligned(NamedTuple):
    """`whole` is what the mask applies to, `mask` the mask so that it broadcasts to it, as code; `assumes` what that takes for granted."""

    whole: str
    mask: str
    assumes: str = ""


def align(scene: FunctionSource, index: Masked) -> Aligned | NoFix:
    """The part of the base to which a mask applies, and the mask made to broadcast to it."""
    if all(map(_is_full, (*index.before, *index.after))):
        return _aligned_whole(scene, index)
    own = rank(scene, index.mask)
    if own < 0:
        return NoFix(f"the number of dimensions of `{scene.code(index.mask)}` is not known")
    parts = [*map(scene.code, index.before), *([":"] * own), *map(scene.code, index.after)]
    while parts and parts[-1] in (":", "..."):
        parts.pop()
    kept = [part for part in index.after if not (isinstance(part, cst.Index) and _drops(scene, part))]
    if any(_is_ellipsis(part) for part in index.after):
        return NoFix(f"the dimensions behind `{scene.code(index.mask)}` are not known")
    whole = f"{atom(scene, index.base)}[{', '.join(parts)}]"
    total = rank(scene, index.base)
    if any(_is_ellipsis(part) for part in index.before):
        return Aligned(whole, _pad(scene, index.mask, own, len(kept)))
    if total < 0:
        return NoFix(f"the number of dimensions of `{scene.code(index.base)}` is not known")
    taken = sum(1 for part in (*index.before, *index.after) if not _is_new(scene, part)) + own
    return Aligned(whole, _pad(scene, index.mask, own, len(kept) + total - taken))


def _are_combined(scene: FunctionSource, mask: cst.BaseExpression, base: cst.BaseExpression) -> bool:
    """Return whether a function computes elementwise with a tensor and what was made of a mask: `loss *= mask * weight`."""
    code, wanted = scene.code(base), _identify(scene, mask)
    pairs: list[tuple[cst.BaseExpression, cst.BaseExpression]] = [
        (one.left, one.right)
        for one in scene.descend(scene.root, cst.BinaryOperation)
        if not isinstance(one.operator, cst.MatrixMultiply)
    ]
    pairs += [(one.target, one.value) for one in scene.descend(scene.root, cst.AugAssign)]
    beside = [
        right if scene.code(left) == code else left for left, right in pairs if code in map(scene.code, (left, right))
    ]
    return any(wanted & _sources(scene, one, _DEPTH) for one in beside)


def _aligned_whole(scene: FunctionSource, index: Masked) -> Aligned | NoFix:
    """Of an index that picks nothing but by the mask."""
    whole, code = atom(scene, index.base), scene.code(index.mask)
    own, total = rank(scene, index.mask), rank(scene, index.base)
    if total == 0 or 0 <= total < own:
        return NoFix(f"it is not known how many dimensions `{scene.code(index.base)}` has")
    if any(map(_is_ellipsis, index.after)) and index.before:
        return NoFix(f"the dimensions behind `{code}` are not known")
    if any(map(_is_ellipsis, index.before)):
        return Aligned(whole, _pad(scene, index.mask, 0, len(index.after)))
    if not index.before and same_rank(scene, index.mask, index.base):
        return Aligned(whole, code)
    if own >= 0 and total >= 0:
        return Aligned(whole, _pad(scene, index.mask, own, max(total - own - len(index.before), 0)))
    fewer = dropped_dimensions(scene, index.mask, index.base) - len(index.before)
    if fewer >= 0:
        return Aligned(whole, _pad(scene, index.mask, own, fewer))
    if total < 0 and not index.before and _made_for(scene, index.mask, index.base, own):
        base = scene.code(index.base)
        many = f"`{base}` has {own} dimensions" if own > 0 else f"`{code}` has as many dimensions as `{base}`"
        return Aligned(whole, code, many)
    if not index.before and total < 0 and own < 0 and _are_combined(scene, index.mask, index.base):
        return Aligned(whole, code, f"`{code}` has as many dimensions as `{scene.code(index.base)}`")
    if index.after and not index.before and not any(map(_is_ellipsis, index.after)):
        extra = len(index.after)
        many = (
            f"`{scene.code(index.base)}` has {extra} {'dimension' if extra == 1 else 'dimensions'} more than `{code}`"
        )
        return Aligned(whole, _pad(scene, index.mask, own, extra), many)
    shape = _shape_holder(scene, index.mask)
    if shape is None or not isinstance(index.base, (cst.Name, cst.Attribute)):
        return NoFix(f"the numbers of dimensions of `{scene.code(index.base)}` and `{code}` are not known")
    if scene.code(shape) == scene.code(index.base) and not index.before:
        return Aligned(whole, code)  # both are read by one statement
    known = len(index.before) + max(own, 0)
    less = filter(None, (f"{scene.code(shape)}.ndim" if own < 0 else "", str(known or "")))
    more = f"(None,) * ({' - '.join([f'{whole}.ndim', *less])})"
    return Aligned(whole, f"{atom(scene, index.mask)}[(...,) + {more}]")


def _shape_holder(scene: FunctionSource, mask: cst.BaseExpression) -> cst.BaseExpression | None:
    """The variable that has the mask's shape: the mask, what it negates or casts, or what it compares to a number."""
    if isinstance(mask, (cst.Name, cst.Attribute)):
        return mask
    operands = _operands(scene, mask)
    return _shape_holder(scene, operands[0]) if len(operands) == 1 else None


def _pad(scene: FunctionSource, mask: cst.BaseExpression, own: int, more: int) -> str:
    """A mask with more dimensions at its end."""
    if not more:
        return scene.code(mask)
    lead = ":" if own == 1 else "..."
    return f"{atom(scene, mask)}[{', '.join([lead, *['None'] * more])}]"


def _is_ellipsis(part: cst.BaseSlice) -> bool:
    return isinstance(part, cst.Index) and isinstance(part.value, cst.Ellipsis)


def _is_new(scene: FunctionSource, part: cst.BaseSlice) -> bool:
    return isinstance(part, cst.Index) and values.is_none(scene.value(part.value))


def _drops(scene: FunctionSource, part: cst.BaseSlice) -> bool:
    """Return whether a part of an index removes its dimension: it is a number."""
    return isinstance(part, cst.Index) and not _is_ellipsis(part) and not _is_new(scene, part)
