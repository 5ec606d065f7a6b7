"""XLA302: tensors that are copied to the host, and functions of NumPy → the framework's own, on the device."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import bindings, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.gradients import Slopes
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.operations import makes_new, names
from xlalint.fixes.toolkit.text import atom, brief
from xlalint.fixes.unsupported.unsupported_dtype import NARROWER

# Functions of one array that NumPy, JAX and PyTorch call alike, and TensorFlow in `tf` or, below, elsewhere.
_ELEMENTWISE = names("abs ceil cos cosh exp floor sign sin sinh sqrt square tan tanh")
_ALSO = names("expm1 log log10 log1p log2")
_TF_MATH = names("expm1 log log1p")
_REDUCTIONS = {
    "max": "reduce_max",
    "mean": "reduce_mean",
    "min": "reduce_min",
    "prod": "reduce_prod",
    "sum": "reduce_sum",
    "std": "math.reduce_std",
    "var": "math.reduce_variance",
}
_JAX = _ELEMENTWISE | _ALSO | frozenset(_REDUCTIONS) | names("argmax argmin asarray cumsum dot matmul where")
_WRAPPERS = names("torch.from_numpy torch.as_tensor torch.tensor")
_TF_WRAPPERS = names("tensorflow.constant tensorflow.convert_to_tensor")
_NUMPY = "nothing needs a NumPy array, and the tensor's dtype is precise enough"


def numpy_function(site: Site) -> Rewrite | NoFix | None:
    """`np.sqrt(x)` → `jnp.sqrt(x)`; `tf.constant(np.max(x))` → `tf.reduce_max(x)`."""
    scene, node = site.scene, site.node
    name = _numpy_name(scene, node)
    if not name or site.framework == "torch":
        return None
    assert isinstance(node, cst.Call)
    if any(
        arg.star or (arg.keyword is not None and arg.keyword.value not in ("axis", "keepdims")) for arg in node.args
    ):
        return NoFix("NumPy's function is given more than JAX's or TensorFlow's takes: call theirs with what it needs")
    if not values.is_tensor(scene.value(node.args[0].value), site.framework):
        return NoFix(f"`{scene.code(node.args[0].value)}` is not a tensor in every call")
    imports = Imports(scene, node)
    if site.framework == "jax":
        if name not in _JAX:
            return None
        module = imports.name("jax.numpy")
        edits = [Replacement(*scene.span(node.func), f"{module}.{name}")]
        around = _call_of(scene, node)
        while around is not None and _numpy_name(scene, around) in _JAX:
            edits.append(Replacement(*scene.span(around.func), f"{module}.{_numpy_name(scene, around)}"))
            around = _call_of(scene, around)
        return Rewrite(f"Use `{module}.{name}`", (*edits, *imports.needed), _NUMPY)
    own = _tensorflow(name)
    if not own or (name in _ELEMENTWISE | _ALSO and len(node.args) != 1):
        return None
    function = f"{imports.name('tensorflow')}.{own}"
    edits = [Replacement(*scene.span(node.func), function), *_unwrap(scene, node, _TF_WRAPPERS)]
    return Rewrite(f"Use `{function}`", (*edits, *imports.needed), f"{_NUMPY}, and a gradient may flow through")


def _numpy_name(scene: FunctionSource, node: cst.CSTNode) -> str:
    if not isinstance(node, cst.Call) or not node.args or node.args[0].keyword is not None:
        return ""
    package, _, name = values.callee(scene.value(node.func)).rpartition(".")
    return {"amax": "max", "amin": "min", "absolute": "abs"}.get(name, name) if package == "numpy" else ""


def _tensorflow(name: str) -> str:
    if name in _REDUCTIONS:
        return _REDUCTIONS[name]
    return name if name in _ELEMENTWISE else f"math.{name}" if name in _TF_MATH else ""


def _unwrap(scene: FunctionSource, node: cst.BaseExpression, wrappers: frozenset[str]) -> list[Replacement]:
    """List the edits that remove a call which makes a tensor of an array and has no other argument."""
    arg = scene.parent(node)
    call = scene.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call) or len(call.args) != 1 or values.callee(scene.value(call.func)) not in wrappers:
        return []
    start, end = scene.span(call)
    first, last = scene.whole(node)
    return [Replacement(start, first, ""), Replacement(last, end, "")]


# ------------------------------------------------------------------------------------------------------------ torch


def there_and_back(site: Site) -> Rewrite | NoFix | None:
    """`torch.from_numpy(np.exp(x.cpu().numpy()))` → `torch.exp(x)`: NumPy takes nothing that has a gradient, so none is lost."""
    scene, node = site.scene, site.node
    if site.framework != "torch" or not isinstance(node, cst.Call):
        return None
    host, edits = _to_host(scene, node)
    if host is None:
        return None
    imports = Imports(scene, node)
    call = _call_of(scene, host)
    while call is not None and len(call.args) == 1 and _numpy_name(scene, call) in _ELEMENTWISE | _ALSO:
        edits.append(Replacement(*scene.span(call.func), f"{imports.name('torch')}.{_numpy_name(scene, call)}"))
        host, call = call, _call_of(scene, call)
    around = _unwrap(scene, host, _WRAPPERS)
    if not around or not any(one.text for one in edits):
        return NoFix("a NumPy array lives on the host: compute with torch, or copy once, after the loop")
    return Rewrite("Compute on the device", (*edits, *around, *imports.needed), f"{_NUMPY}, on the device")


def _to_host(scene: FunctionSource, node: cst.Call) -> tuple[cst.BaseExpression | None, list[Replacement]]:
    """Find what a node copies to the host, and the edits that remove the copy: `x.cpu().numpy()`, `x.numpy()`, the `x` of `np.exp(x)`."""
    if _numpy_name(scene, node):
        return node.args[0].value, []
    if not isinstance(node.func, cst.Attribute) or node.args:
        return None, []
    copied = node if node.func.attr.value == "numpy" else None
    if node.func.attr.value == "cpu":
        copied = _method_of(scene, node, "numpy")
    if copied is None:
        return None, []
    return copied, [Replacement(scene.whole(node.func.value)[1], scene.span(copied)[1], "")]


def keep_list_on_device(site: Site) -> Rewrite | NoFix | None:
    """`torch.tensor(x.tolist(), device=x.device)` → `x.detach().to(x.device)`, also by a name that nothing else reads."""
    scene, node = site.scene, site.node
    if site.framework != "torch" or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    if node.func.attr.value != "tolist":
        return None
    tensor = node.func.value
    taken, assigned = _only_use(scene, node)
    call = _call_of(scene, taken)
    if call is None or values.callee(scene.value(call.func)) not in _WRAPPERS:
        return NoFix("numbers are needed on the host: compute with the tensor, or read it once, after the loop")
    given = {arg.keyword.value: scene.code(arg.value) for arg in call.args[1:] if arg.keyword is not None}
    if len(given) != len(call.args) - 1 or not set(given) <= {"device", "dtype"}:
        return NoFix("apply the call's options to `x.detach()`")
    if "cpu" in given.get("device", ""):
        return NoFix("the tensor is made on the host: copy it there with `.cpu()`, once, after the loop")
    if "device" not in given and given.get("dtype", "").rpartition(".")[2] in NARROWER:
        return NoFix(f"`{given['dtype']}` is slow on the device: compute there in a narrower dtype, or copy once")
    to = f".to({', '.join(given.values() if len(given) == 1 else map('='.join, given.items()))})" if given else ""
    detached = atom(scene, tensor) + (".detach()" if Slopes(scene, "torch").of(tensor).into else "")
    if not makes_new(scene, tensor):
        detached += ".clone()"
    if assigned:
        edits = [Replacement(*scene.span(node), detached), Replacement(*scene.span(call), scene.code(taken) + to)]
    else:
        edits = [Replacement(*scene.span(call), detached + to)]
    dtype = "" if "dtype" in given else "has the default dtype and "
    kept = f"`{scene.code(tensor)}` {dtype}is contiguous"
    return Rewrite("Keep the tensor", tuple(edits), all_of([kept, "the result is needed on its device"]))


def _only_use(scene: FunctionSource, node: cst.BaseExpression) -> tuple[cst.BaseExpression, bool]:
    """The only read of the name that an expression is given, if there is one; else the expression itself."""
    holder, function = scene.parent(node), scene.function(node)
    if not isinstance(holder, cst.Assign) or len(holder.targets) != 1 or function is None:
        return node, False
    target = holder.targets[0].target
    if not isinstance(target, cst.Name) or len(bindings(scene, function, target.value)) != 1:
        return node, False
    found = list(uses(scene, function, target.value))
    return (found[0], True) if len(found) == 1 and scene.function(found[0]) is function else (node, False)


def keep_on_device(site: Site) -> Rewrite | NoFix | None:
    """`history.append(loss.detach().cpu())` → `history.append(loss.detach())`."""
    scene, node = site.scene, site.node
    if site.framework != "torch" or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    if node.func.attr.value not in ("cpu", "to"):
        return None
    call = _call_of(scene, node)
    appends = call is not None and isinstance(call.func, cst.Attribute) and call.func.attr.value == "append"
    if call is None or not appends or not isinstance(scene.parent(call), cst.Expr):
        return NoFix("only the author knows where the copy is needed: copy once, after the loop")
    reader = _find_host_reader(scene, call.func)
    if reader:
        return NoFix(f"`{reader}` may need it on the host: copy once, after the loop")
    if values.rank_of(scene.value(node.func.value)) != 0:
        return NoFix("a tensor of any size is kept on the host: keep it on the device only where there is room for all")
    if len(node.args) > (node.func.attr.value == "to"):
        return NoFix("the copy has options: keep the tensor, and copy it after the loop")
    removed = Replacement(scene.whole(node.func.value)[1], scene.span(node)[1], "")
    assumed = f"code that reads `{scene.code(call.func).rpartition('.')[0]}` copies to the host"
    return Rewrite("Keep the tensor on the device", (removed,), assumed)


def _find_host_reader(scene: FunctionSource, append: cst.CSTNode) -> str:
    """The code of what else than a function of PyTorch's takes the list that something is appended to; "" where nothing else does."""
    held = append.value if isinstance(append, cst.Attribute) else None
    function = scene.function(append)
    for use in uses(scene, function, held.value) if isinstance(held, cst.Name) and function is not None else ():
        arg = scene.parent(use)
        call = scene.parent(arg) if isinstance(arg, cst.Arg) else None
        name = values.callee(scene.value(call.func)) if isinstance(call, cst.Call) else ""
        if (
            isinstance(call, cst.Call)
            and not name.startswith("torch.")
            and name not in ("builtins.len", "builtins.sum")
        ):
            return brief(scene.code(call))
    return ""


def other(site: Site) -> NoFix:
    """Any other copy."""
    if site.framework == "torch":
        return NoFix("only the author knows where the copy is needed: copy once, after the loop")
    return NoFix("a graph holds no values: return the tensor, and copy it where the function is called")


def _method_of(scene: FunctionSource, node: cst.BaseExpression, name: str) -> cst.Call | None:
    """The call of a method of an expression."""
    attribute = scene.parent(node)
    if not isinstance(attribute, cst.Attribute) or attribute.attr.value != name:
        return None
    call = scene.parent(attribute)
    return call if isinstance(call, cst.Call) and not call.args else None


def _call_of(scene: FunctionSource, node: cst.BaseExpression) -> cst.Call | None:
    """The call whose first argument an expression is."""
    arg = scene.parent(node)
    call = scene.parent(arg) if isinstance(arg, cst.Arg) else None
    return call if isinstance(call, cst.Call) and call.args[0] is arg and arg.keyword is None else None
