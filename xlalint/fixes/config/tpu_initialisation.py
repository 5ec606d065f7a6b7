"""XLA503, XLA515: the steps that make a TPU ready, and the function that replicas run."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement

_NAMED = NoFix("the steps have other names here: `initialize_tpu_system` has to come first")
_ALONE = "nothing else initialises the TPU"
_LOCAL = "the program runs on the TPU's own machine"


def rename(site: Site) -> Rewrite | NoFix | None:
    """`tf.distribute.experimental.TPUStrategy(r)` → `tf.distribute.TPUStrategy(r)`."""
    node = site.node
    if site.hazard.variant != "deprecated" or not isinstance(node, cst.Call):
        return None
    func = node.func
    inner = func.value if isinstance(func, cst.Attribute) else None
    if not isinstance(inner, cst.Attribute) or inner.attr.value != "experimental":
        return NoFix("it is imported by name: import it from `tensorflow.distribute`")
    if len(node.args) > 1 or any(
        arg.keyword is not None and arg.keyword.value == "device_assignment" for arg in node.args
    ):
        return NoFix("`device_assignment` is called `experimental_device_assignment` there")
    text = f"{site.scene.code(inner.value)}.TPUStrategy"
    return Rewrite("Use `tf.distribute.TPUStrategy`", (Replacement(*site.scene.span(func), text),))


def local(site: Site) -> Rewrite | NoFix | None:
    """`TPUClusterResolver()` → `TPUClusterResolver(tpu="local")`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or not site.hazard.detail.startswith(("asks for", "names no")):
        return None
    end = scene.span(node)[1]
    given = [arg for arg in node.args if arg.keyword is None or arg.keyword.value == "tpu"]
    if len(given) > 1 or any(arg.star for arg in node.args):
        return NoFix('the TPU is named among other arguments: give `tpu="local"`')
    message = 'Use `tpu="local"`'
    if given:
        return Rewrite(message, (Replacement(*scene.span(given[0]), 'tpu="local"'),), _LOCAL)
    place = end - 1 if not node.args else scene.span(node.args[0])[0]
    return Rewrite(message, (Replacement(place, place, 'tpu="local"' + (", " if node.args else "")),), _LOCAL)


def insert_steps(site: Site) -> Rewrite | NoFix | None:
    """The steps in front of `strategy = tf.distribute.TPUStrategy(resolver)`: inserted, or it is moved behind them."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or not site.hazard.detail.startswith("is created before"):
        return NoFix("only the author can change the order of the steps")
    resolver = node.args[0].value if len(node.args) == 1 else None
    module = _module(scene, node)
    statement = scene.statement(node)
    if not isinstance(resolver, cst.Name) or not module or not isinstance(statement, cst.SimpleStatementLine):
        return _NAMED
    siblings, index = scene.siblings(statement)
    later = [
        place for place in range(index + 1, len(siblings)) if _calls(scene, siblings[place], "initialize_tpu_system")
    ]
    if later:
        return _move_behind(scene, statement, siblings[index + 1 : later[-1] + 1])
    indent = scene.indent(statement)
    steps = [f"{module}.tpu.experimental.initialize_tpu_system({resolver.value})"]
    if not any(_calls(scene, one, "experimental_connect_to_cluster") for one in siblings[:index]):
        steps.insert(0, f"{module}.config.experimental_connect_to_cluster({resolver.value})")
    start = scene.span(statement)[0]
    return Rewrite("Initialise the TPU first", (Replacement(start, start, f"\n{indent}".join((*steps, ""))),), _ALONE)


def _module(scene: FunctionSource, node: cst.Call) -> str:
    """The name of TensorFlow in `tf.distribute.TPUStrategy`."""
    code = scene.code(node.func)
    return code.removesuffix(".distribute.TPUStrategy") if code.endswith(".distribute.TPUStrategy") else ""


def _calls(scene: FunctionSource, statement: cst.CSTNode, name: str) -> bool:
    called = (call.func for call in scene.descend(statement, cst.Call))
    return any(isinstance(func, cst.Attribute) and func.attr.value == name for func in called)


def _move_behind(
    scene: FunctionSource, statement: cst.SimpleStatementLine, over: Sequence[cst.CSTNode]
) -> Rewrite | NoFix:
    """A statement moved behind some others, which must not read what it assigns."""
    held = statement.body[0]
    targets = [target.target for target in held.targets] if isinstance(held, cst.Assign) else []
    names = {target.value for target in targets if isinstance(target, cst.Name)}
    if len(statement.body) > 1 or not names:
        return NoFix("the strategy is created inside another statement: create it after `initialize_tpu_system`")
    if any(name.value in names for one in over for name in scene.descend(one, cst.Name)):
        return NoFix("the strategy is used in between")
    text = scene.document.text
    start = text.rfind("\n", 0, scene.span(statement)[0]) + 1
    end = scene.whole(statement)[1]
    place = scene.whole(over[-1])[1]
    line = text[start:end]
    if not text[:place].endswith("\n"):
        line = f"\n{line.rstrip()}"
    return Rewrite(
        "Create the strategy after it", (Replacement(start, end, ""), Replacement(place, place, line)), _ALONE
    )


def decorate_step(site: Site) -> Rewrite | NoFix | None:
    """`def step(…)` → `@tf.function` above it, where `strategy.run(step)` runs it."""
    scene, node = site.scene, site.node
    step = node.args[0].value if isinstance(node, cst.Call) and node.args else None
    defined = [
        one
        for one in scene.descend(scene.root, cst.FunctionDef)
        if isinstance(step, cst.Name) and one.name.value == step.value
    ]
    if len(defined) != 1 or scene.span(defined[0])[0] > scene.span(node)[0]:
        return NoFix("the step is defined elsewhere: decorate it there with `@tf.function`")
    if defined[0].asynchronous is not None or defined[0].decorators:
        return NoFix("the step has decorators: put `@tf.function` where it belongs among them")
    module = next(
        (one.local for one in scene.document.unit.imports if (one.module, one.name) == ("tensorflow", "")), ""
    )
    if not module:
        return NoFix("TensorFlow is imported by names: decorate the step with its `function`")
    start = scene.span(defined[0])[0]
    text = f"@{module}.function\n{scene.indent(defined[0])}"
    return Rewrite(
        f"Decorate `{defined[0].name.value}` with `@{module}.function`",
        (Replacement(start, start, text),),
        "its side effects may happen once, while it is traced",
    )
