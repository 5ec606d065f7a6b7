"""XLA527: calls of torch_xla → those of PyTorch that do the same on TorchTPU."""

from __future__ import annotations

import re

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.removal import taken_out
from xlalint.fixes.toolkit.text import atom, last_name, stands_alone

_OWN = "the process's TPU is meant"
_ONE = "gradients need no sum over processes, or `DistributedDataParallel` makes it"
# Settings that TorchTPU has no need of, and what they did.
_SETTINGS = {
    "eager_mode": "operations should run one by one, as they do on TorchTPU",
    "initialize_cache": "compiled programs need not outlive the process",
}
_DEVICES = frozenset(("device", "xla_device"))
_BARRIERS = frozenset(("mark_step", "sync"))
_NOTHING = NoFix("no single call takes its place: the message says what does")
# What `torch_xla.compile` is told of graphs, of which there are none where operations run at once.
_OF_GRAPHS = frozenset(("full_graph", "name", "num_different_graphs_allowed"))
# What is called with the same arguments.
_RENAMED = {
    "manual_seed": "torch.manual_seed",
    "save": "torch.save",
    "wait_device_ops": "torch.accelerator.synchronize",
}
# What a process is told of itself by torchrun, and what holds of one by itself. `torch.distributed` says so only once a group is made.
_OF_PROCESS = {
    "get_local_ordinal": ("LOCAL_RANK", 0),
    "get_ordinal": ("RANK", 0),
    "global_ordinal": ("RANK", 0),
    "is_master_ordinal": ("RANK", 0),
    "local_ordinal": ("LOCAL_RANK", 0),
    "world_size": ("WORLD_SIZE", 1),
    "xrt_world_size": ("WORLD_SIZE", 1),
}
_BY_TORCHRUN = "torchrun starts a process for each TPU"
_SHARDS = f"{_BY_TORCHRUN}, and what is saved may be a model whose parameters are sharded tensors"
_LAUNCHERS = frozenset(("launch", "spawn"))
# How processes are started, which torchrun is told.
_OF_LAUNCHERS = frozenset(("args", "daemon", "debug_single_process", "join", "nprocs", "start_method"))
_TAKES_ARGUMENTS = frozenset(("manual_seed", "save"))
# How torch_xla lays out and orders what it shards, of which `fully_shard` needs to be told nothing.
_OF_SHARDING = frozenset(
    (
        "disable_reshard_on_root",
        "execute_sharding_on_init",
        "flatten_parameters",
        "mark_step_on_finalization",
        "mark_step_on_freeing",
        "optimization_barrier_in_backward",
        "optimization_barrier_in_forward",
        "pin_layout_in_collective_ops",
        "shard_param_on_dim_0",
    )
)
_RESHARDS = "reshard_after_forward"
# What the wrapper has and a module that `fully_shard` changed has not.
_OF_WRAPPER = re.compile(
    r"\.(?:module|clip_grad_norm_|get_original_names|get_shard_metadata|parameters_full)\b|consolidate_sharded"
)


def use_tpu(site: Site) -> Rewrite | NoFix | None:
    """`xm.xla_device()` → `torch.device("tpu")`; `x.to("xla")` → `x.to("tpu")`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call):
        return None
    if last_name(node.func) == "to":
        words = [one for one in scene.descend(node, cst.SimpleString) if one.raw_value.partition(":")[0] == "xla"]
        if len(words) != 1:
            return NoFix('the device is named elsewhere: name "tpu" there')
        begin = scene.span(words[0])[0] + len(words[0].prefix) + len(words[0].quote)
        named = Replacement(begin, begin + len(words[0].raw_value), "tpu")
        return Rewrite('Move it by `.to("tpu")`', (named,), _OWN)
    if last_name(node.func) not in _DEVICES:
        return None
    if node.args:
        return NoFix("it is given a number: a process has one TPU")
    imports = Imports(scene, node)
    text = f'{imports.name("torch")}.device("tpu")'
    return Rewrite('Use `torch.device("tpu")`', (Replacement(*scene.span(node), text), *imports.needed), _OWN)


def drop_barrier(site: Site) -> Rewrite | NoFix | None:
    """`torch_xla.sync()` → nothing."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or last_name(node.func) not in _BARRIERS:
        return None
    if not _is_statement(scene, node):
        return NoFix("something is made of what it returns")
    waits = any(arg.keyword is not None and arg.keyword.value == "wait" for arg in node.args)
    if waits:
        return NoFix("it waits for the device: `torch.accelerator.synchronize()` does")
    gone = taken_out(scene, scene.statement(node))
    return Rewrite("Leave it out: operations run at once", gone, "nothing but the device's work was waited for")


def drop_setting(site: Site) -> Rewrite | NoFix | None:
    """`torch_xla.experimental.eager_mode(True)`, `xr.initialize_cache(path)` → nothing."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or last_name(node.func) not in _SETTINGS:
        return None
    if not _is_statement(scene, node):
        return NoFix("something is made of what it returns")
    gone = taken_out(scene, scene.statement(node))
    return Rewrite("Leave it out", gone, _SETTINGS[last_name(node.func)])


def step_optimizer(site: Site) -> Rewrite | NoFix | None:
    """`xm.optimizer_step(optimizer)` → `optimizer.step()`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or last_name(node.func) != "optimizer_step":
        return None
    others = [arg for arg in node.args[1:] if arg.keyword is None or arg.keyword.value != "barrier"]
    if not node.args or node.args[0].star or node.args[0].keyword is not None or others:
        return NoFix("it is given more than the optimizer")
    optimizer = node.args[0].value
    if not isinstance(optimizer, (cst.Name, cst.Attribute, cst.Subscript)):
        return NoFix("the optimizer is the result of an expression")
    text = f"{scene.code(optimizer)}.step()"
    return Rewrite("Step the optimizer itself", (Replacement(*scene.span(node), text),), _ONE)


def call_as_it_is(site: Site) -> Rewrite | NoFix | None:
    """`torch_xla.compile(step, full_graph=True)` → `step`."""
    node = site.node
    if not isinstance(node, cst.Call) or last_name(node.func) != "compile":
        return None
    others = [arg for arg in node.args[1:] if arg.keyword is None or arg.keyword.value not in _OF_GRAPHS]
    if not node.args or node.args[0].star or node.args[0].keyword is not None or others:
        return NoFix("it is given no function: call what it compiles as it is")
    text = site.scene.code(node.args[0].value)
    assumed = "operations that run one by one are fast enough: `torch.compile` makes one program of them"
    return Rewrite("Call it as it is", (Replacement(*site.scene.span(node), text),), assumed)


def call_at_once(site: Site) -> Rewrite | NoFix | None:
    """`xm.add_step_closure(report, args=(step, loss))` → `report(step, loss)`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or last_name(node.func) != "add_step_closure":
        return None
    given = {arg.keyword.value if arg.keyword else str(index): arg.value for index, arg in enumerate(node.args)}
    called, values = given.get("0"), given.get("args", given.get("1"))
    if not isinstance(called, (cst.Name, cst.Attribute)) or not isinstance(values, (cst.Tuple, type(None))):
        return NoFix("what it calls, or with what, is the result of an expression")
    words = "" if values is None else ", ".join(scene.code(one) for one in values.elements)
    text = f"{scene.code(called)}({words})"
    return Rewrite("Call it", (Replacement(*scene.span(node), text),), "what it reads may be waited for here")


def print_it(site: Site) -> Rewrite | NoFix | None:
    """`xm.master_print(text)` → `print(text)`."""
    node = site.node
    if not isinstance(node, cst.Call) or last_name(node.func) != "master_print":
        return None
    if any(arg.keyword is not None for arg in node.args):
        return NoFix("`print` has none of its options")
    return Rewrite("Print it", (Replacement(*site.scene.span(node.func), "print"),), "each process may print")


def autocast(site: Site) -> Rewrite | NoFix | None:
    """`torch_xla.amp.autocast(device)` → `torch.autocast("tpu", dtype=torch.bfloat16)`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or last_name(node.func) != "autocast":
        return None
    kept = [scene.code(arg) for arg in node.args if arg.keyword is not None and arg.keyword.value == "enabled"]
    if len(node.args) - len(kept) != 1 or any(arg.star for arg in node.args):
        return NoFix('use `torch.autocast("tpu", dtype=torch.bfloat16)`')
    imports = Imports(scene, node)
    torch = imports.name("torch")
    given = ", ".join(['"tpu"', f"dtype={torch}.bfloat16", *kept])
    text = f"{torch}.autocast({given})"
    return Rewrite('Use `torch.autocast("tpu")`', (Replacement(*scene.span(node), text), *imports.needed), _OWN)


def ask_environment(site: Site) -> Rewrite | NoFix | None:
    """`xr.world_size()` → `int(os.environ.get("WORLD_SIZE", 1))`."""
    scene, node = site.scene, site.node
    asked = _OF_PROCESS.get(last_name(node.func)) if isinstance(node, cst.Call) else None
    if asked is None or not isinstance(node, cst.Call):
        return None
    if node.args:
        return NoFix("its arguments have no equivalent")
    imports = Imports(scene, node)
    text = _variable(imports, *asked)
    if last_name(node.func) == "is_master_ordinal":
        text = f"{text} == 0" if stands_alone(scene, node) else f"({text} == 0)"
    return Rewrite("Ask what torchrun says", (Replacement(*scene.span(node), text), *imports.needed), _BY_TORCHRUN)


def call_in_process(site: Site) -> Rewrite | NoFix | None:
    """`torch_xla.launch(train, args=(flags,))` → `train(int(os.environ.get("LOCAL_RANK", 0)), flags)`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or last_name(node.func) not in _LAUNCHERS:
        return None
    given = {arg.keyword.value if arg.keyword else str(index): arg.value for index, arg in enumerate(node.args)}
    called, values = given.pop("0", None), given.pop("args", given.pop("1", None))
    if not isinstance(called, (cst.Name, cst.Attribute)) or not isinstance(values, (cst.Tuple, type(None))):
        return NoFix("what it calls, or with what, is the result of an expression")
    if not given.keys() <= _OF_LAUNCHERS or any(arg.star for arg in node.args) or not _is_statement(scene, node):
        return NoFix("torchrun starts a process for each TPU: call the function in each")
    imports = Imports(scene, node)
    own = [] if values is None else [scene.code(one) for one in values.elements]
    text = f"{scene.code(called)}({', '.join([_variable(imports, 'LOCAL_RANK', 0), *own])})"
    return Rewrite("Call it in each process", (Replacement(*scene.span(node), text), *imports.needed), _BY_TORCHRUN)


def default_group(site: Site) -> Rewrite | NoFix | None:
    """`init_process_group("xla", init_method="xla://")` → `init_process_group()`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or last_name(node.func) != "init_process_group":
        return None
    words = [arg.value for arg in node.args if isinstance(arg.value, cst.SimpleString)]
    xlas = [one for one in words if one.raw_value in ("xla", "xla://")]
    if len(xlas) != len(node.args):
        return NoFix("leave the backend and `xla://` out")
    text = f"{scene.code(node.func)}()"
    return Rewrite("Leave the backend to the device", (Replacement(*scene.span(node), text),), _BY_TORCHRUN)


def shard(site: Site) -> Rewrite | NoFix | None:
    """`XlaFullyShardedDataParallel(model)` → `torch.distributed.fsdp.fully_shard(model)`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or "fully_shard" not in site.hazard.detail:
        return None
    names = [arg.keyword.value if arg.keyword is not None else arg.star for arg in node.args[1:]]
    if not node.args or node.args[0].star or node.args[0].keyword is not None:
        return NoFix("which model it wraps is not written here")
    unknown = [name for name in names if name != _RESHARDS and name not in _OF_SHARDING]
    if unknown:
        return NoFix("it is given more than the model: `fully_shard` takes a `mesh`, and dtypes by `mp_policy`")
    if _OF_WRAPPER.search(scene.document.text):
        return NoFix("the program asks for the wrapper's own attributes, of which the module has none")
    imports = Imports(scene, node)
    kept = [
        f"{_RESHARDS}={scene.code(arg.value)}"
        for arg, name in zip(node.args[1:], names, strict=True)
        if name == _RESHARDS
    ]
    given = ", ".join([scene.code(node.args[0].value), *kept])
    text = f"{imports.name('torch.distributed.fsdp')}.fully_shard({given})"
    return Rewrite("Shard the module itself", (Replacement(*scene.span(node), text), *imports.needed), _SHARDS)


def repeat(site: Site) -> Rewrite | NoFix | None:
    """`xu.SampleGenerator(data=batch, sample_count=8)` → `[batch] * 8`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or last_name(node.func) != "SampleGenerator":
        return None
    given = {arg.keyword.value if arg.keyword else str(index): arg.value for index, arg in enumerate(node.args)}
    data, count = given.get("data", given.get("0")), given.get("sample_count", given.get("1"))
    if data is None or count is None or len(given) != len(("data", "sample_count")):
        return NoFix("give the batch as often as it is taken")
    text = f"[{atom(scene, data)}] * {atom(scene, count)}"
    return Rewrite("Repeat the batch in a list", (Replacement(*scene.span(node), text),), "nothing changes the batch")


def rename(site: Site) -> Rewrite | NoFix | None:
    """`xm.save(state, path)` → `torch.save(state, path)`."""
    scene, node = site.scene, site.node
    new = _RENAMED.get(last_name(node.func)) if isinstance(node, cst.Call) else None
    if new is None or not isinstance(node, cst.Call):
        return _NOTHING
    if last_name(node.func) == "save" and len(node.args) != 2:
        return NoFix("`torch.save` takes the object and the path alone")
    if last_name(node.func) not in _TAKES_ARGUMENTS and node.args:
        return NoFix("its arguments have no equivalent")
    imports = Imports(scene, node)
    called = f"{imports.name('torch')}{new.removeprefix('torch')}"
    return Rewrite(f"Use `{new}`", (Replacement(*scene.span(node.func), called), *imports.needed), _OWN)


def _variable(imports: Imports, variable: str, alone: int) -> str:
    """Write what a process is told of itself by a variable of its environment, or what holds without torchrun."""
    return f'int({imports.name("os")}.environ.get("{variable}", {alone}))'


def _is_statement(scene: FunctionSource, node: cst.CSTNode) -> bool:
    holder = scene.parent(node)
    line = scene.parent(holder) if isinstance(holder, cst.Expr) else None
    return isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
