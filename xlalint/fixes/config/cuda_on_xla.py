"""XLA513: what is CUDA's alone → what an XLA device has."""

from __future__ import annotations

from collections.abc import Container, Iterator

import libcst as cst

from xlalint.fixes.config.gpu_tensor_types import GPU_TENSOR, all_are_chosen
from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.arguments import left_out
from xlalint.fixes.toolkit.dataflow import binds
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.removal import taken_out
from xlalint.fixes.toolkit.text import atom, last_name, uncommented_without

_TPU = "torch_tpu"
_DIGITS = "bfloat16's eight bits of precision are enough, where everything was computed in float32"
_MEANT = "the process's XLA device is meant"
_ELSEWHERE = "whether there is a GPU is asked elsewhere: ask `torch.accelerator.is_available()`, and name `tpu`"
# Functions of `torch.cuda`, and those of `torch.accelerator` that do the same.
_OF_ACCELERATOR = {
    "current_device": "current_device_index",
    "device": "device_index",
    "device_count": "device_count",
    "mem_get_info": "get_memory_info",
    "memory_summary": "memory_stats",
    "reset_peak_memory_stats": "reset_peak_memory_stats",
    "synchronize": "synchronize",
}
# Functions of `torch.cuda` that do nothing without a GPU, and need not be done where there is another device.
_HARMLESS = frozenset(("empty_cache", "is_available"))
_CHOOSES = "set_device"
_SEEDS = frozenset(("manual_seed", "manual_seed_all"))


def use_accelerator(site: Site) -> Rewrite | NoFix | None:
    """`torch.cuda.synchronize()` → `torch.accelerator.synchronize()`, for TorchTPU."""
    scene, node = site.scene, site.node
    if site.target != _TPU or not isinstance(node, cst.Call):
        return None
    name = _OF_ACCELERATOR.get(_function_of_cuda(node))
    if name is None:
        return None
    imports = Imports(scene, node)
    module = f"{imports.name('torch')}.accelerator"
    counted = [
        one for arg in node.args for one in scene.descend(arg, cst.Call) if _function_of_cuda(one) in _OF_ACCELERATOR
    ]
    changed = [
        Replacement(*scene.span(one.func), f"{module}.{_OF_ACCELERATOR[_function_of_cuda(one)]}")
        for one in (node, *counted)
    ]
    asked = _ask_around(scene, node)
    return Rewrite(f"Use `torch.accelerator.{name}`", (*changed, *asked, *imports.needed), _MEANT)


def drop_choice(site: Site) -> Rewrite | NoFix | None:
    """`torch.cuda.set_device(rank)` → nothing, for TorchTPU: a process has one TPU, and another number than 0 raises."""
    scene, node = site.scene, site.node
    if site.target != _TPU or not isinstance(node, cst.Call) or _function_of_cuda(node) != _CHOOSES:
        return None
    gone = _without_choice(scene, node)
    if not gone:
        return NoFix("leave it out: a process has one TPU")
    return Rewrite("Leave it out: a process has one TPU", (*gone, *_ask_around(scene, node)), _MEANT)


def _without_choice(scene: FunctionSource, call: cst.Call) -> tuple[Replacement, ...]:
    """Take out the statement that chooses a device."""
    statement, line = scene.statement(call), scene.parent(call)
    if scene.parent(line) is not statement:
        return ()
    if len(scene.siblings(statement)[0]) == 1:
        return (Replacement(*scene.span(line), "pass"),)
    return taken_out(scene, statement)


def ask_by_flag(site: Site) -> Rewrite | NoFix | None:
    """`fast = torch.cuda.is_available()` → `fast = torch.accelerator.is_available()`, for TorchTPU."""
    scene, node = site.scene, site.node
    if site.target != _TPU or not isinstance(node, cst.Call) or _function_of_cuda(node) != "is_available":
        return None
    if _has_gpu_tensors(scene):
        return NoFix("types of tensors on a GPU are used, `torch.cuda.FloatTensor`: make the tensors with `device=`")
    imports = Imports(scene, node)
    asked = Replacement(*scene.span(node.func), f"{imports.name('torch')}.accelerator.is_available")
    return Rewrite("Ask for an accelerator", (asked, *imports.needed), _MEANT)


def choose_tpu(site: Site) -> Rewrite | NoFix | None:
    """`"cuda" if torch.cuda.is_available() else "cpu"` → `"tpu"`, for TorchTPU."""
    if site.target != _TPU or not isinstance(site.node, cst.IfExp):
        return None
    words = [one for one in (site.node.body, site.node.orelse) if isinstance(one, cst.SimpleString)]
    if len(words) != len((site.node.body, site.node.orelse)):
        return None
    quote = words[0].quote
    scene, test = site.scene, site.node.test
    asked_for = [one for one in scene.descend(test, cst.SimpleString) if _is_gpu(one)]
    if asked_for:  # `"cuda" in device` asks what the device is called
        renamed = tuple(_call_tpu(scene, one) for one in (words[0], *asked_for))
        return Rewrite('Name "tpu"', renamed, _MEANT)
    if not site.hazard.variant or isinstance(test, cst.BooleanOperation):  # a choice that users have remains theirs
        torch = Imports(scene, site.node).name("torch")
        asked = [
            Replacement(*scene.span(one.func), f"{torch}.accelerator.is_available") for one in _questions(scene, test)
        ]
        named = Replacement(*scene.span(words[0]), f"{quote}tpu{quote}")
        return Rewrite('Name "tpu"', (named, *asked), _MEANT)
    named = Replacement(*site.scene.span(site.node), f"{quote}tpu{quote}")
    return Rewrite('Name "tpu"', (named,), _MEANT)


def name_where_assigned(site: Site) -> Rewrite | NoFix | None:
    """`device = f"cuda:{rank}"` → `device = "tpu"`, for TorchTPU."""
    scene = site.scene
    if site.target != _TPU or not site.hazard.subject.startswith('"cuda"') or site.hazard.variant:
        return None
    line = scene.statement(site.node)
    assigned = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    if not isinstance(assigned, cst.Assign) or isinstance(assigned.value, cst.IfExp):
        return None
    value = assigned.value
    named = _call_tpu(scene, value) if isinstance(value, cst.SimpleString) else Replacement(*scene.span(value), '"tpu"')
    return Rewrite('Name "tpu"', (named, *_ask_around(scene, site.node)), _MEANT)


def _is_gpu(word: cst.SimpleString) -> bool:
    return word.raw_value.partition(":")[0] == "cuda"


def _call_tpu(scene: FunctionSource, word: cst.SimpleString) -> Replacement:
    """`"cuda:0"` → `"tpu"`, in its own quotes."""
    begin = scene.span(word)[0] + len(word.prefix) + len(word.quote)
    return Replacement(begin, begin + len(word.raw_value), "tpu")


def name_device(site: Site) -> Rewrite | NoFix | None:
    """`torch.device(f"cuda:{rank}")` → `torch.device("tpu")`, `torch.zeros(2, device="cuda")` → `…, device="tpu")`, for TorchTPU."""
    scene, node = site.scene, site.node
    if site.target != _TPU or not isinstance(node, cst.Call) or site.hazard.variant:
        return None
    keyword = next((one for one in ("device=", "map_location=") if site.hazard.subject.startswith(one)), "")
    if not keyword and last_name(node.func) != "device":
        return None
    given = [
        arg for arg in node.args if not keyword or (arg.keyword is not None and f"{arg.keyword.value}=" == keyword)
    ]
    if not given or (not keyword and len(given) != 1):
        return NoFix("the device is named elsewhere: name `tpu` there")
    if keyword and not isinstance(given[0].value, cst.SimpleString):
        return NoFix("the device is named elsewhere: name `tpu` there")
    beside = _where_tensor_is(scene, node)
    if beside is not None:
        return Rewrite("Name the device of the tensor", (beside,), _MEANT)
    named = Replacement(*scene.span(given[0].value), '"tpu"')
    return Rewrite('Name "tpu"', (named, *_ask_around(scene, node)), _MEANT)


def _where_tensor_is(scene: FunctionSource, node: cst.Call) -> Replacement | None:
    """`torch.device("cuda") if x.is_cuda else torch.device("cpu")` → `x.device`."""
    choice = scene.parent(node)
    if not isinstance(choice, cst.IfExp) or choice.body is not node:
        return None
    test, other = choice.test, choice.orelse
    hosts = [one.raw_value for one in scene.descend(other, cst.SimpleString)]
    if not isinstance(test, cst.Attribute) or test.attr.value != "is_cuda" or hosts != ["cpu"]:
        return None
    return Replacement(*scene.span(choice), f"{atom(scene, test.value)}.device")


def ask_accelerator(site: Site) -> Rewrite | NoFix | None:
    """`if torch.cuda.is_available(): device = "cuda"` → `if torch.accelerator.is_available(): device = "tpu"`, for TorchTPU; so in a
    conditional expression."""
    scene, node = site.scene, site.node
    if site.target != _TPU or not site.hazard.subject.startswith("if "):
        return None
    around = (one for one in scene.above(node) if isinstance(one, (cst.If, cst.IfExp)))
    guard = next((one for one in around if _questions(scene, one.test)), None)
    if guard is None:
        return _ask_above(scene, node)
    torch = Imports(scene, guard).name("torch")
    edits = [
        Replacement(*scene.span(one.func), f"{torch}.accelerator.is_available") for one in _questions(scene, guard.test)
    ]
    for word in scene.descend(guard.body, cst.SimpleString):
        made = scene.parent(scene.parent(word))
        if not _is_gpu(word):
            continue
        if isinstance(made, cst.Call) and last_name(made.func) == "format":  # `"cuda:{}".format(rank)`
            edits.append(Replacement(*scene.span(made), f"{word.quote}tpu{word.quote}"))
        else:
            edits.append(_call_tpu(scene, word))
    for call in scene.descend(guard.body, cst.Call):
        ported = _port_call(scene, call, torch)
        if isinstance(ported, NoFix):
            return ported
        edits.extend(ported)
    return Rewrite("Ask for an accelerator", tuple(edits), _MEANT)


def _ask_above(scene: FunctionSource, node: cst.CSTNode) -> Rewrite | NoFix:
    """Port a move below a guard: `if not torch.cuda.is_available(): sys.exit(1)`."""
    asked = _ask_around(scene, node) if isinstance(node, cst.Call) else ()
    if not asked or not isinstance(node, cst.Call):
        return NoFix(_ELSEWHERE)
    ported = _port_call(scene, node, Imports(scene, node).name("torch"))
    if isinstance(ported, NoFix):
        return ported
    return Rewrite("Ask for an accelerator", (*asked, *ported), _MEANT) if ported else NoFix(_ELSEWHERE)


def _port_call(scene: FunctionSource, call: cst.Call, torch: str) -> tuple[Replacement, ...] | NoFix:
    """Port a call where GPUs were asked for: a function of CUDA becomes that of all devices, `.cuda()` a move to the TPU."""
    name = _function_of_cuda(call)
    if name in _OF_ACCELERATOR:
        return (Replacement(*scene.span(call.func), f"{torch}.accelerator.{_OF_ACCELERATOR[name]}"),)
    if name == _CHOOSES:
        return _without_choice(scene, call)
    if name in _SEEDS:
        return _seed(scene, call, torch)
    if name and name not in _HARMLESS:
        return NoFix(f"what it guards calls `torch.cuda.{name}`, which only CUDA has")
    if not name and isinstance(call.func, cst.Attribute) and call.func.attr.value == "cuda":
        return _move_by_to(scene, call, call.func, "tpu")
    return ()


def _seed(scene: FunctionSource, call: cst.Call, torch: str) -> tuple[Replacement, ...]:
    """`torch.cuda.manual_seed(0)` → `torch.manual_seed(0)`, or nothing where that was done already: it seeds all devices."""
    given = [scene.code(arg.value) for arg in call.args]
    done = any(
        scene.code(one.func) == f"{torch}.manual_seed" and [scene.code(arg.value) for arg in one.args] == given
        for one in scene.descend(scene.root, cst.Call)
    )
    statement = scene.statement(call)
    alone = len(scene.siblings(statement)[0]) == 1
    if not done or alone or scene.parent(scene.parent(call)) is not statement:
        return (Replacement(*scene.span(call.func), f"{torch}.manual_seed"),)
    return taken_out(scene, statement)


def _ask_around(scene: FunctionSource, node: cst.CSTNode) -> tuple[Replacement, ...]:
    """Ask for an accelerator where an expression chooses what a call gives, and where the lines above end the program without a GPU.

    `x.cuda() if torch.cuda.is_available() else x`; `assert torch.cuda.is_available()`.
    """
    statement = scene.statement(node)
    chosen = [one.test for one in scene.above(node) if isinstance(one, cst.IfExp) and scene.holds(statement, one)]
    torch = Imports(scene, node).name("torch")
    flags = {one.test.value for one in scene.above(node) if isinstance(one, cst.If) and isinstance(one.test, cst.Name)}
    told = _values_of(scene, flags) if flags and not _has_gpu_tensors(scene) else ()
    asked = [call for test in (*chosen, *told, *_guards_before(scene, statement)) for call in _questions(scene, test)]
    return tuple(Replacement(*scene.span(call.func), f"{torch}.accelerator.is_available") for call in asked)


def _values_of(scene: FunctionSource, flags: Container[str]) -> list[cst.BaseExpression]:
    """List what the function assigns to some names."""
    return [
        one.value
        for one in scene.descend(scene.root, cst.Assign)
        if any(isinstance(each.target, cst.Name) and each.target.value in flags for each in one.targets)
    ]


def _guards_before(scene: FunctionSource, statement: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The conditions of assertions, and of branches that end the program or the function, above a statement in its function."""
    while not isinstance(statement, (cst.FunctionDef, cst.Module)):
        siblings, index = scene.siblings(statement)
        for one in siblings[:index]:
            if isinstance(one, cst.If) and one.orelse is None and _ends(one.body):
                yield one.test
            elif isinstance(one, cst.SimpleStatementLine) and isinstance(one.body[0], cst.Assert):
                yield one.body[0].test
        holder = scene.parent(statement)
        statement = holder if isinstance(holder, (cst.FunctionDef, cst.Module)) else scene.parent(holder)


def _ends(body: cst.BaseSuite) -> bool:
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    if isinstance(last, cst.Expr):
        return isinstance(last.value, cst.Call) and last_name(last.value.func) in ("exit", "_exit", "quit")
    return isinstance(last, (cst.Return, cst.Raise))


def _function_of_cuda(call: cst.Call) -> str:
    """Return the name of the function of `torch.cuda` that is called; "" of other calls."""
    func = call.func
    if not isinstance(func, cst.Attribute) or not isinstance(func.value, cst.Attribute):
        return ""
    return func.attr.value if func.value.attr.value == "cuda" else ""


def switch_scaler_off(site: Site) -> Rewrite | NoFix | None:
    """`torch.amp.GradScaler("tpu")` → `torch.amp.GradScaler("tpu", enabled=False)`, which hands losses and steps on as they are."""
    scene, node = site.scene, site.node
    if site.target != _TPU or not isinstance(node, cst.Call) or last_name(node.func) != "GradScaler" or not node.args:
        return None
    if any(arg.star for arg in node.args) or sum(arg.keyword is None for arg in node.args) > 1:
        return NoFix("switch it off by `enabled=False`")
    named = next((arg for arg in node.args if arg.keyword is not None and arg.keyword.value == "enabled"), None)
    end = scene.span(node.args[-1].value)[1]
    off = Replacement(end, end, ", enabled=False") if named is None else Replacement(*scene.span(named.value), "False")
    return Rewrite(
        "Switch it off", (off,), "what is computed in float16 on a GPU is computed in bfloat16, which needs no scaling"
    )


def _has_gpu_tensors(scene: FunctionSource) -> bool:
    """Return whether a file uses types of tensors on a GPU, `torch.cuda.FloatTensor`: a flag that chooses them asks for GPUs alone, unless
    what they make is moved."""
    return GPU_TENSOR.search(scene.document.text) is not None and not all_are_chosen(scene)


def _questions(scene: FunctionSource, test: cst.BaseExpression) -> list[cst.Call]:
    """The calls of `torch.cuda.is_available` in the condition of an `if`."""
    return [one for one in scene.descend(test, cst.Call) if _function_of_cuda(one) == "is_available"]


def default_backend(site: Site) -> Rewrite | NoFix | None:
    """`init_process_group("nccl")` → `init_process_group()`, for TorchTPU: the device says which backend it is."""
    scene, node = site.scene, site.node
    if site.target != _TPU or "nccl" not in site.hazard.subject or not isinstance(node, cst.Call):
        return None
    named = [arg for arg in node.args if isinstance(arg.value, cst.SimpleString) and arg.value.raw_value == "nccl"]
    word = None if named else _backend_above(scene, node)
    if word is not None:
        begin = scene.span(word)[0] + len(word.prefix) + len(word.quote)
        own = Replacement(begin, begin + len(word.raw_value), "tpu_dist")
        return Rewrite("Name TorchTPU's backend", (own,), _MEANT)
    if len(named) != 1 or (named[0].keyword is None and len(node.args) > 1 and node.args[1].keyword is None):
        return NoFix("the backend is named elsewhere: leave it out, or name `tpu_dist`")
    removed = uncommented_without(scene, node, named[0])
    if removed is None:
        return NoFix("there is a comment next to the backend: remove both")
    return Rewrite("Leave the backend to the device", (removed,), _MEANT)


def _backend_above(scene: FunctionSource, call: cst.Call) -> cst.SimpleString | None:
    """Find the word that the code around a call assigns to what it takes for its backend, if nothing else is assigned to that."""
    taken = next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "backend"), None)
    if taken is None and call.args and call.args[0].keyword is None and not call.args[0].star:
        taken = call.args[0]
    if taken is None or not isinstance(taken.value, (cst.Name, cst.Attribute)):
        return None
    path = scene.code(taken.value)
    assigned = [
        one
        for one in scene.descend(scene.root, cst.Assign)
        if any(scene.code(target.target) == path for target in one.targets)
    ]
    value = assigned[0].value if len(assigned) == 1 else None
    return value if isinstance(value, cst.SimpleString) and value.raw_value == "nccl" else None


def move_to_xla(site: Site) -> Rewrite | NoFix | None:
    """`x.cuda()` → `x.to("xla")`, `x.to("cuda")` → `x.to("xla")`; with TorchTPU the device is "tpu"."""
    scene, node = site.scene, site.node
    device = _device_of(site)
    if (
        not site.hazard.subject.startswith(".")
        or not isinstance(node, cst.Call)
        or not isinstance(node.func, cst.Attribute)
    ):
        return None
    if node.func.attr.value == "cuda":
        beside = _beside(scene, node)
        if beside is not None:
            return beside
        edits = _move_by_to(scene, node, node.func, device)
        if isinstance(edits, NoFix):
            return edits
        asked = _ask_around(scene, node) if site.target == _TPU else ()
        return Rewrite(f'Move it by `.to("{device}")`', (*edits, *asked, *_move_rest(scene, node, device)), _MEANT)
    words = [
        arg.value
        for arg in node.args
        if isinstance(arg.value, cst.SimpleString) and arg.value.raw_value.startswith("cuda")
    ]
    if len(words) != 1:
        return NoFix(f"the device is named elsewhere: name `{device}` there")
    begin = scene.span(words[0])[0] + len(words[0].prefix) + len(words[0].quote)
    named = Replacement(begin, begin + len(words[0].raw_value), device)
    return Rewrite(f'Move it by `.to("{device}")`', (named,), _MEANT)


def _move_by_to(
    scene: FunctionSource, call: cst.Call, method: cst.Attribute, device: str
) -> tuple[Replacement, ...] | NoFix:
    """`x.cuda(non_blocking=True)` → `x.to("tpu", non_blocking=True)`: of the process's devices there is one."""
    given = {arg.keyword.value if arg.keyword else str(index): arg for index, arg in enumerate(call.args)}
    number = given.pop("0", given.pop("device", None))
    if number is not None and isinstance(number.value, cst.Integer):
        return NoFix("the device is given by its number among the GPUs")
    if "1" in given or any(arg.star for arg in call.args):
        return NoFix(f'move it by `.to("{device}")`')
    text = ", ".join([f'"{device}"', *map(scene.code, given.values())]).rstrip(", ")
    return (Replacement(scene.span(method.attr)[0], scene.span(call)[1], f"to({text})"),)


def _move_rest(scene: FunctionSource, call: cst.Call, device: str) -> tuple[Replacement, ...]:
    """Move what `DataParallel` moved of a batch: with `target = target.cuda()` the `input` that the model is called with.

    With the one TPU of a process it hands tensors on where they are (torch 2.14.1 with torch_tpu 0.2.0).
    """
    loop = scene.nearest(call, cst.For)
    statement = scene.statement(call)
    if loop is None or "DataParallel" not in scene.document.text or statement not in loop.body.body:
        return ()
    batch = binds(scene, loop.target)
    calls = list(scene.descend(loop.body, cst.Call))
    named = [
        (one.func.value.value, one.func.attr.value)
        for one in scene.descend(scene.root, cst.Call)
        if isinstance(one.func, cst.Attribute) and isinstance(one.func.value, cst.Name)
    ]
    models = {name for name, method in named if method in ("eval", "train")}
    still = {name for name, method in named if method in ("cuda", "to")} | binds(scene, loop.body)
    given = [one.args[0].value for one in calls if last_name(one.func) in models and one.args]
    left = sorted({one.value for one in given if isinstance(one, cst.Name) and one.value in batch - still})
    start, tail = scene.span(statement)[0], scene.document.newline + scene.indent(statement)
    return tuple(Replacement(start, start, f'{one} = {one}.to("{device}"){tail}') for one in left)


def _beside(scene: FunctionSource, call: cst.Call) -> Rewrite | NoFix | None:
    """`x.cuda() if y.is_cuda else x` → `x.to(y.device)`, which goes where `y` is on each device."""
    choice = scene.parent(call)
    if not isinstance(choice, cst.IfExp):
        return None
    test = choice.test
    if not isinstance(test, cst.Attribute) or test.attr.value != "is_cuda":
        return None
    method = call.func
    if (
        not isinstance(method, cst.Attribute)
        or choice.body is not call
        or scene.code(choice.orelse) != scene.code(method.value)
    ):
        return NoFix("it goes where another tensor is: move it to that one's `device`")
    text = f"{scene.code(method.value)}.to({atom(scene, test.value)}.device)"
    return Rewrite("Move it to where the other is", (Replacement(*scene.span(choice), text),), _MEANT)


def _device_of(site: Site) -> str:
    return "tpu" if site.target == _TPU else "xla"


def autocast(site: Site) -> Rewrite | NoFix | None:
    """`torch.autocast("cuda")` → `torch.autocast("xla")`, where no dtype is asked for."""
    scene, node = site.scene, site.node
    if site.hazard.variant != "silent" or site.hazard.subject.startswith("if ") or not isinstance(node, cst.Call):
        return None
    if _function_of_cuda(node) in ("is_available", "device_count"):
        return None
    if site.target == _TPU:
        return _autocast_on_tpu(scene, node)
    first = node.args[0] if node.args else None
    if first is None or not isinstance(first.value, cst.SimpleString) or first.value.raw_value != "cuda":
        return NoFix('use `torch.autocast("xla", dtype=torch.bfloat16)`')
    if any(arg.keyword is not None and arg.keyword.value == "dtype" for arg in node.args) or len(node.args) > 1:
        return NoFix('the only other argument that `torch.autocast("xla")` takes is a dtype of bfloat16')
    begin = scene.span(first.value)[0] + len(first.value.prefix) + len(first.value.quote)
    named = Replacement(begin, begin + len("cuda"), "xla")
    return Rewrite(
        'Use `torch.autocast("xla")`',
        (named,),
        _DIGITS,
    )


def _autocast_on_tpu(scene: FunctionSource, node: cst.Call) -> Rewrite | NoFix:
    """`torch.autocast("cuda")` → `torch.autocast("tpu", dtype=torch.bfloat16)`."""
    imports = Imports(scene, node)
    half = f"dtype={imports.name('torch')}.bfloat16"
    kept = [arg for arg in node.args if arg.keyword is not None and arg.keyword.value not in ("dtype", "device_type")]
    placed = [arg.value for arg in node.args if arg.keyword is None]
    alone = not placed or (len(placed) == 1 and isinstance(placed[0], cst.SimpleString))
    if not alone or any(arg.star for arg in node.args):
        return NoFix('use `torch.autocast("tpu", dtype=torch.bfloat16)`')
    given = ", ".join(['"tpu"', half, *map(scene.code, kept)])
    text = f"{imports.name('torch')}.autocast({given})"
    return Rewrite('Use `torch.autocast("tpu")`', (Replacement(*scene.span(node), text), *imports.needed), _DIGITS)


def drop_pinning(site: Site) -> Rewrite | NoFix | None:
    """`DataLoader(…, pin_memory=True)` → `DataLoader(…)`."""
    if site.hazard.variant != "idle":
        return NoFix("its replacement depends on what it is used for")
    return left_out(site.scene, site.node)
