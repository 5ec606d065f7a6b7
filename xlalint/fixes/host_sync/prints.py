"""XLA303 and XLA306: tensors that are printed → printed by the runtime (`jax.debug.print`), or by another thread when the step has ended
(`xm.add_step_closure`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from xlalint.abstract.values import Const, Host, Sequence, Tensor, Value, members
from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import binds, reads, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.operations import READS, names, operation
from xlalint.fixes.toolkit.text import argument, call_at, width_of


def debug_print(site: Site) -> Rewrite | NoFix | None:
    """`print("loss", loss)` → `jax.debug.print("loss {loss}", loss=loss)`: at each step, with the value."""
    if site.framework != "jax":
        return None
    scene = site.scene
    node = _printing(scene, site.node)
    if node is None and site.hazard.rule == "XLA306":
        return None
    if node is None:
        return NoFix("the text is used for more than printing: return the array, and format it outside")
    if any(arg.keyword is not None or arg.star for arg in node.args):
        return NoFix("`print` has options: call `jax.debug.print` with a format of your own")
    made = _Format(scene)
    for arg in node.args:
        refused = made.add(arg.value)
        if refused:
            return NoFix(refused)
    if not made.traced:
        return NoFix("it prints no array's value: if it should be printed at each step, use `jax.debug.print`")
    imports = Imports(scene, node)
    text = call_at(scene, node, f"{imports.name('jax')}.debug.print", [made.text(), *made.list_arguments()])
    return Rewrite("Use `jax.debug.print`", (Replacement(*scene.span(node), text), *imports.needed))


def _printing(scene: FunctionSource, node: cst.CSTNode) -> cst.Call | None:
    """The call of `print` whose argument, or part of an argument's f-string, a node is, if all that is done is to print it."""
    holder = scene.nearest(node, cst.Call)
    while holder is not None and values.callee(scene.value(holder.func)) != "builtins.print":
        holder = scene.nearest(scene.parent(holder), cst.Call)
    if holder is None or not isinstance(scene.parent(holder), cst.Expr):
        return None
    return holder


class _Format:
    """The format of a call of `jax.debug.print` and what it is given: arrays by their names where they have one."""

    def __init__(self, scene: FunctionSource) -> None:
        self.scene = scene
        self.traced = False
        self._parts: list[str] = []
        self._positional: list[str] = []
        self._named: dict[str, str] = {}

    def add(self, node: cst.BaseExpression) -> str:
        """Add an argument of `print`; why that cannot be done, or ""."""
        if isinstance(node, cst.SimpleString) and isinstance(node.evaluated_value, str):
            self._parts.append(_escape(node.evaluated_value))
        elif isinstance(node, cst.FormattedString):
            return self._read_f_string(node)
        else:
            return self._value(node, "")
        return ""

    def _read_f_string(self, node: cst.FormattedString) -> str:
        """An f-string: its text, and the values in it with their formats."""
        own = len(self._parts)
        for part in node.parts:
            if isinstance(part, cst.FormattedStringText):
                text = cst.SimpleString(f"{node.prefix.lower().replace('f', '')}{node.quote}{part.value}{node.quote}")
                self._parts.append(str(text.evaluated_value))
                continue
            assert isinstance(part, cst.FormattedStringExpression)
            spec = "".join(self._spec(part.format_spec or ()))
            if part.conversion or part.equal is not None or "{" in spec:
                return f"`{self.scene.code(part)}` is formatted in a way that `jax.debug.print` does not know"
            refused = self._value(part.expression, spec)
            if refused:
                return refused
        self._parts[own:] = ["".join(self._parts[own:])]
        return ""

    def _spec(self, parts: Iterable[cst.BaseFormattedStringContent]) -> Iterator[str]:
        for part in parts:
            yield f":{part.value}" if isinstance(part, cst.FormattedStringText) else "{"

    def _value(self, node: cst.BaseExpression, spec: str) -> str:
        code, value = self.scene.code(node), self.scene.value(node)
        if values.is_tensor(value, "jax"):
            self.traced = True
        elif not _is_host(value):
            return f"`{code}` is not known to be an array: print it with a format of your own by `jax.debug.print`"
        elif not spec and not all(_prints_as_given(one) for one in members(value)):
            self._parts.append("{}")
            self._positional.append(f"str({code})")
            return ""
        if isinstance(node, cst.Name) and node.value != "fmt":
            self._parts.append(f"{{{code}{spec}}}")
            self._named[code] = code
        else:
            self._parts.append(f"{{{spec}}}")
            self._positional.append(argument(self.scene, node))
        return ""

    def text(self) -> str:
        """The format as a literal."""
        written = " ".join(self._parts).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{written}"'

    def list_arguments(self) -> list[str]:
        """The arguments behind the format."""
        return [*self._positional, *(f"{name}={code}" for name, code in self._named.items())]


def _escape(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _is_host(value: Value) -> bool:
    """Return whether a value is known while the code is traced."""
    if type(value) is Sequence:
        return all(map(_is_host, value.items if value.items is not None else (value.element,)))
    return bool(members(value)) and all(type(one) in (Const, Host) for one in members(value))


def _prints_as_given(value: object) -> bool:
    """Return whether `jax.debug.print` prints a host value as `print` does. A float becomes one of 32 bits."""
    if type(value) is Const:
        return not isinstance(value.value, float)
    return type(value) is Host and value.type in ("bool", "int", "str")


def in_graph(site: Site) -> NoFix | None:
    """TensorFlow prints by an operation of the host, which XLA does not have."""
    prints = _printing(site.scene, site.node) is not None or site.hazard.rule == "XLA303"
    if site.framework != "tensorflow" or not prints:
        return None
    return NoFix("XLA has no kernel that prints: return the value, and print it where the function is called")


def once(site: Site) -> NoFix:
    """Say what to do about an effect that happens while the graph is traced and is no print."""
    if site.hazard.variant == "effect":
        return NoFix("only the author knows where the effect belongs: return what has to be kept")
    source = "`jax.random` with a key" if site.framework == "jax" else "`tf.random`"
    return NoFix(f"only the author knows where the value should come from: an argument, or {source}")


# ----------------------------------------------------------------------------------------------------- torch_xla


def step_closure(site: Site) -> Rewrite | NoFix | None:
    """`print("loss", loss)` → `xm.add_step_closure(print, args=("loss", loss), run_async=True)`."""
    scene = site.scene
    if site.framework != "torch":
        return None
    node = _report(scene, site.node)
    if site.target != "torch_xla":
        return NoFix("a compiled graph prints nothing: return the tensor, and print it outside") if node else None
    if node is None:
        return NoFix(
            "the text is used for more than printing: keep the detached tensor, and format it where the text is read"
        )
    if not any(binding.module.partition(".")[0] == "torch_xla" for binding in scene.document.unit.imports):
        return NoFix(
            "print what the step returns; if `torch_xla` is imported, from a step closure (`xm.add_step_closure`)"
        )
    if any(arg.star for arg in node.args) or any(scene.descend(node, cst.Comment)):
        return NoFix("write a function that prints it, and give it to `xm.add_step_closure` with the tensors")
    closure, given = scene.code(node.func), [argument(scene, arg.value) for arg in node.args]
    if any(arg.keyword is not None for arg in node.args) or _is_late(scene, node):
        given = sorted(_variables(scene, node))
        closure = f"lambda {', '.join(given)}: {scene.code(node)}"
        unknown = next((name for name in given if not _stays(scene, node, name)), "")
        if len(closure) + len(scene.indent(node)) > width_of(scene):
            return NoFix("write a function that prints it, and give it to `xm.add_step_closure` with the tensors")
        if unknown or not given:
            return NoFix(
                f"`{unknown or scene.code(node)}` may have changed when the step ends: print what the step returns"
            )
    imports = Imports(scene, node)
    function = f"{imports.name('torch_xla.core.xla_model')}.add_step_closure"
    listed = f"({', '.join(given)}{',' if len(given) == 1 else ''})"
    text = call_at(scene, node, function, [closure, f"args={listed}", "run_async=True"])
    assumed = "the step ends with `torch_xla.sync()` or `xm.mark_step()`, and nothing is changed in place before it is printed"
    return Rewrite("Print after the step", (Replacement(*scene.span(node), text), *imports.needed), assumed)


def read_closure(site: Site) -> Rewrite | NoFix | None:
    """`print(loss.item())` → a step closure, where that is all that is done with the number."""
    if site.framework != "torch" or site.target != "torch_xla" or _report(site.scene, site.node) is None:
        return None
    return step_closure(site)


def _report(scene: FunctionSource, node: cst.CSTNode) -> cst.Call | None:
    """The statement that prints or logs a node's value, if it is one call that does nothing else with it."""
    statement = scene.nearest(node, cst.Expr)
    call = statement.value if statement is not None else None
    if not isinstance(call, cst.Call) or scene.nearest(node, cst.Lambda) is not None:
        return None
    name = values.callee(scene.value(call.func))
    return call if name == "builtins.print" or name.rpartition(".")[2] in _REPORTING else None


_REPORTING = names("add_scalar add_scalars critical debug error info log set_description set_postfix warning write")


def _is_late(scene: FunctionSource, node: cst.Call) -> bool:
    """Return whether computing an argument of the call reads a tensor."""
    if any(scene.descend(node, cst.FormattedString)):
        return True
    inner = (call for arg in node.args for call in scene.descend(arg, cst.Call))
    return any(operation(scene, call) in READS or _converts(scene, call) for call in inner)


def _converts(scene: FunctionSource, call: cst.Call) -> bool:
    return values.callee(scene.value(call.func)) in ("builtins.float", "builtins.int", "builtins.str", "builtins.repr")


def _variables(scene: FunctionSource, node: cst.Call) -> set[str]:
    """The variables of the function that the arguments of a call read."""
    function = scene.function(node)
    if function is None:
        return set()
    local = binds(scene, function.body) | {param.name.value for param in scene.descend(function.params, cst.Param)}
    return {name for arg in node.args for name in reads(scene, arg)} & local


def _stays(scene: FunctionSource, node: cst.Call, name: str) -> bool:
    """Return whether a variable holds a tensor, a number or a string where a call reads it."""
    found = [one for arg in node.args for use in uses(scene, arg, name) for one in members(scene.value(use))]
    return bool(found) and all(type(one) in (Tensor, Const, Host) for one in found)
