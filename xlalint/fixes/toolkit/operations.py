"""Lists what operations of the frameworks do to the types, values and gradients of their operands, by their last names.

The frameworks share these names, methods and functions alike ("clamp" is `torch.clamp` and `x.clamp`); the first operand of a method is
what it is called on. An operation that stands nowhere here may do anything.
"""

from __future__ import annotations

import libcst as cst

from xlalint.abstract.values import Const, LibraryInstance, LibrarySymbol, Method, Tensor, members
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.function_source import FunctionSource


def names(text: str) -> frozenset[str]:
    """Words as a set."""
    return frozenset(text.split())


_PACKAGES = frozenset(("torch", "jax", "tensorflow", "keras", "numpy", "math"))

# Shape and dtype of the first operand, whatever it is.
AS_FIRST = names(
    "clone detach contiguous zeros_like ones_like full_like identity stop_gradient relu tril triu nan_to_num"
)
# Shape of the first operand, and its dtype where that is a float.
AS_FIRST_IF_FLOAT = names(
    "abs absolute acos arctan asin atan ceil cos cosh elu erf exp exp2 expm1 fix floor gelu hardtanh leaky_relu log log10 log1p log2"
    " log_sigmoid log_softmax logsigmoid mish neg negative positive reciprocal relu6 round rsqrt selu sigmoid sign silu sin sinh"
    " softmax softplus softsign sqrt square swish tan tanh trunc"
)
# The same with numbers, or tensors that broadcast, as bounds.
AS_FIRST_OF_NUMBERS = names("clamp clamp_max clamp_min clip clip_by_value")
# Elementwise on two operands.
JOINED = names("add subtract sub multiply mul maximum minimum fmod remainder")
# Of whole numbers, these fail where a divisor is 0.
WHOLE_DIVISIONS = names("div divide floor_divide floormod fmod remainder")
# Elementwise predicates.
BOOLEAN = names("isfinite isinf isnan isneginf isposinf logical_not is_finite is_inf is_nan")
# To one element, of the same dtype for floats.
TO_BOOL = names("all any reduce_all reduce_any")
REDUCTIONS = TO_BOOL | names(
    "amax amin max mean median min norm prod reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum"
    " reduce_variance std sum var"
)
# To another dtype: its kind, "" where an argument names it.
CASTS = {
    "astype": "",
    "bfloat16": "f",
    "bool": "b",
    "cast": "",
    "double": "f",
    "float": "f",
    "half": "f",
    "int": "i",
    "long": "i",
    "to": "",
    "type": "",
    "type_as": "",
}
# Other arrangements of the same elements.
VIEWS = names(
    "broadcast_to chunk concat concatenate cat expand expand_as expand_dims flatten flip moveaxis movedim permute ravel repeat reshape"
    " roll split squeeze stack swapaxes swapdims t tile transpose unbind unflatten unsqueeze unstack view view_as"
)
# Operations that give another shape than that of what they get.
RESIZING = names(
    "cat concat concatenate expand expand_dims flatten hstack interpolate narrow pad repeat repeat_interleave squeeze stack tile unfold"
    " unsqueeze vstack"
)
# Operations that are told sizes: all of what they get, and with what they work on in front.
MAKERS = names("arange empty full linspace ones zeros")
SIZED = RESIZING | MAKERS | names("broadcast_to new_full new_ones new_zeros reshape view")
# Operations through which a gradient of zero stays zero, whatever the operands hold. A product is none: zero times infinity.
LINEAR = names(
    "add clamp clamp_max clamp_min clip clip_by_value clone contiguous identity masked_fill mean nan_to_num neg negative positive relu"
    " relu6 reduce_mean reduce_sum sub subtract sum tril triu where"
)
# Through which no gradient goes.
CUT = BOOLEAN | TO_BOOL | names("argmax argmin detach full_like ones_like stop_gradient zeros_like")

# What writes, waits, or gives another result each time.
RANDOM = names(
    "bernoulli dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout multinomial normal poisson rand rand_like"
    " randint randint_like randn randn_like random randperm rrelu gumbel_softmax uniform truncated_normal stateless_uniform"
)
READS = names(
    "allclose cpu device_get equal is_nonzero item numpy tolist argwhere boolean_mask flatnonzero masked_select nonzero unique"
    " unique_consecutive"
)


def operation(scene: FunctionSource, node: cst.Call) -> str:
    """The last name of the framework's function, or of a tensor's method, that a call surely calls; "" for any other callee."""
    value = scene.value(node.func)
    found = {_read_name(member) for member in members(value)}
    return found.pop() if len(found) == 1 else ""


def _read_name(value: object) -> str:
    if type(value) is LibrarySymbol:
        package, _, rest = value.name.partition(".")
        return rest.rpartition(".")[2] if package in _PACKAGES else ""
    if type(value) is Method and all(type(one) is Tensor for one in members(value.receiver)):
        return value.name
    return ""


def is_method(scene: FunctionSource, node: cst.Call) -> bool:
    """Return whether a call is of a value's method, so that the value is its first operand."""
    return values.callee(scene.value(node.func)).startswith(".")


def arguments_of(scene: FunctionSource, node: cst.Call) -> list[cst.BaseExpression]:
    """The positional operands of a call, of a method what it is called on first."""
    given = [arg.value for arg in node.args if arg.keyword is None]
    if isinstance(node.func, cst.Attribute) and is_method(scene, node):
        return [node.func.value, *given]
    return given


# What gives a tensor of its own, whatever it is given. Casts, `contiguous`, `positive`, `dropout` and views may give what they got, and so
# may `einsum` of one operand. `tests/xla/test_memory.py` asks torch.
NEW = (
    REDUCTIONS
    | (AS_FIRST_IF_FLOAT - {"positive"})
    | AS_FIRST_OF_NUMBERS
    | JOINED
    | BOOLEAN
    | MAKERS
    | names(
        "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d addbmm addcdiv addcmul addmm"
        " addmv arctan2 argmax argmin argsort argwhere atan2 avg_pool1d avg_pool2d baddbmm batch_norm bernoulli"
        " binary_cross_entropy binary_cross_entropy_with_logits bincount bitwise_and bitwise_not bitwise_or"
        " bitwise_xor block_diag bmm bucketize cat cdist celu clone concat concatenate conv1d conv2d conv3d"
        " conv_transpose2d copysign cosine_similarity count_nonzero cov cross_entropy cummax cummin cumprod cumsum"
        " deg2rad diag_embed diff digamma dist div divide dot embedding empty_like eq erfc erfinv eye fft flip fliplr"
        " flipud float_power floor_divide fmax fmin frac full_like gather ge glu greater greater_equal group_norm gt"
        " gumbel_softmax hardsigmoid hardswish heaviside histc hstack huber_loss hypot index_add index_copy index_fill"
        " index_select inner instance_norm isclose isin kl_div kron kthvalue l1_loss layer_norm le lerp less"
        " less_equal lgamma linear log_softmax logaddexp logaddexp2 logcumsumexp logical_and logical_not logical_or"
        " logical_xor logit logspace logsumexp lt masked_fill masked_scatter masked_select matmul max_pool1d"
        " max_pool2d mm mse_loss multinomial mv nan_to_num nanmean nanmedian nanquantile nansum ne new_empty new_full"
        " new_ones new_zeros nextafter nll_loss nonzero normalize not_equal one_hot ones_like outer pad"
        " pairwise_distance poisson polygamma pow quantile rad2deg rand rand_like randint randint_like randn"
        " randn_like randperm relu repeat repeat_interleave rms_norm roll rot90 rsub scaled_dot_product_attention"
        " scatter scatter_add scatter_reduce searchsorted select_scatter sgn sigmoid signbit sinc slice_scatter"
        " smooth_l1_loss softmin softshrink sort stack std_mean take take_along_dim tensor tensordot tile topk trace"
        " tril triu true_divide unique unique_consecutive var_mean vdot vstack where xlogy zeros_like"
    )
)
# Layers that give a tensor of their own; activations and dropouts may write into what they are given, or give it back.
_LAYERS = names(
    "AvgPool1d AvgPool2d BatchNorm1d BatchNorm2d BatchNorm3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d Embedding GroupNorm GELU"
    " InstanceNorm1d InstanceNorm2d LayerNorm Linear LogSoftmax MaxPool1d MaxPool2d RMSNorm Sigmoid Softmax Softplus Tanh"
)
# Functions that are told by an argument to write into what they are given.
WRITING = names(
    "alpha_dropout celu dropout dropout1d dropout2d dropout3d elu feature_alpha_dropout hardsigmoid hardswish hardtanh leaky_relu mish relu"
    " relu6 rrelu selu silu threshold"
)


# What gives the tensor itself, or a view of it.
_KEEPING = frozenset(CASTS) | names("contiguous detach flatten reshape squeeze unsqueeze view")


def makes_new(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether an expression surely gives a tensor that shares no memory with another."""
    if isinstance(node, (cst.BinaryOperation, cst.Comparison)):
        return True
    if isinstance(node, cst.UnaryOperation):
        return not isinstance(node.operator, cst.Plus)
    if isinstance(node, cst.Subscript):
        return _gathers(scene, node)
    if not isinstance(node, cst.Call):
        return False
    layer = scene.value(node.func)
    if type(layer) is LibraryInstance:
        return layer.name.rpartition(".")[2] in _LAYERS
    name = operation(scene, node)
    if name == "einsum":
        return len(node.args) > 2
    if name in _KEEPING and is_method(scene, node) and isinstance(node.func, cst.Attribute):
        made = node.func.value  # what has no name, nobody else holds
        if not isinstance(made, (cst.Attribute, cst.Name)) and makes_new(scene, made):
            return True
    if CASTS.get(name) == "f" and is_method(scene, node) and isinstance(node.func, cst.Attribute):
        return values.dtype_of(scene.value(node.func.value)) in ("b", "i")
    return name in NEW and not is_inplace(scene, node)


def _gathers(scene: FunctionSource, node: cst.Subscript) -> bool:
    """Return whether an index surely has a part that is a mask, or a tensor of positions with dimensions: it copies what it picks."""
    parts = [one.slice.value for one in node.slice if isinstance(one.slice, cst.Index)]
    found = [scene.value(part) for part in parts]
    of_torch = values.is_tensor(scene.value(node.value), "torch")
    return of_torch and any(
        values.is_tensor(one, "torch") and (values.is_bool(one) or values.rank_of(one) > 0) for one in found
    )


def is_inplace(scene: FunctionSource, node: cst.Call) -> bool:
    """Return whether a call of a known operation may write into what it is given: `relu_(x)`, `relu(x, inplace=True)`, `relu(x, True)`."""
    name = operation(scene, node)
    if name.endswith("_") and not name.endswith("__"):
        return True
    for index, arg in enumerate(node.args):
        told = arg.keyword.value if arg.keyword is not None else ""
        if told in ("inplace", "out") or (not told and index and name in WRITING):
            value = scene.value(arg.value)
            if told == "out" or not (type(value) is Const and (value.value is False or type(value.value) is float)):
                return True
    return False
