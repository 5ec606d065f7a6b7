"""One activation under interpretation: its variables, and the evaluation and execution of its body."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xlalint.lowering import ir
from xlalint.semantics.context import Context, Sighting
from xlalint.semantics.hazard import Confidence
from xlalint.semantics.lattice import join
from xlalint.semantics.values import NEVER, UNKNOWN, Tensor, Value, members

if TYPE_CHECKING:
    from xlalint.semantics.interpreter import Interpreter
    from xlalint.semantics.program import FunctionInfo, ModuleInfo

Env = dict[str, Value]


class Frame:
    """The interpreter's state inside one context.

    `env` maps names to values; a key "x.attr" holds what is known of an attribute of the value now in `x`, flow-sensitively;
    `owners` are the names `x` of which such a key was ever made. `declared` holds the annotations of names, which still say what
    they are where a new value is not known.
    `statement` is the byte offset of the statement being executed. `muted` counts enclosing places whose hazards do not count (what an
    error path formats). `exits` and `repeats` collect the environments that leave or repeat the innermost loop.
    """

    def __init__(self, interpreter: Interpreter, context: Context, env: Env, closure: Env) -> None:
        self.interpreter = interpreter
        self.program = interpreter.program
        self.apis = interpreter.apis
        self.context = context
        self.module: ModuleInfo = context.module
        self.function: FunctionInfo | None = context.function
        self.env = env
        self.closure = closure
        self.statement = 0
        self.muted = 0
        self.exits: list[Env] = []
        self.repeats: list[Env] = []
        self.receiver_name = ""
        self.owners: set[str] = set()
        self.declared: dict[str, ir.Node] = {}
        self.outer_names: frozenset[str] = frozenset()

    # ---------------------------------------------------------------------------------------- evaluation

    def eval(self, node: ir.Node) -> Value:
        """The value of an expression; what it does to the environment is done."""
        return _EVAL[type(node)](self, node)

    def exec(self, statements: tuple[ir.Statement, ...]) -> bool:
        """Run a block. False: control does not fall out of its end."""
        for statement in statements:
            if not _EXEC[type(statement)](self, statement):
                return False
        return True

    # ---------------------------------------------------------------------------------------------- names

    def lookup(self, name: str) -> Value:
        """The value of a name: local, of an enclosing function, of the module, built in."""
        value = self.env.get(name)
        if value is not None:
            return value
        value = self.closure.get(name)
        if value is not None:
            return value
        return self.interpreter.global_name(self.module, name)

    def bind(self, name: str, value: Value) -> None:
        """Assign a local name; what was known of the old value's attributes is forgotten."""
        if value is UNKNOWN and name in self.declared:
            value = self.interpreter.annotations.value(self.module, self.declared[name]) or UNKNOWN
        self.env[name] = value
        if name in self.owners:
            self.forget(name)

    def refine(self, path: str, value: Value) -> None:
        """Keep what is known of the value at a name or attribute path."""
        self.env[path] = value
        if "." in path:
            self.owners.add(path.partition(".")[0])

    def forget(self, path: str) -> None:
        """Drop what is known of attributes of the value at `path`."""
        prefix = path + "."
        stale = [key for key in self.env if key.startswith(prefix)]
        for key in stale:
            del self.env[key]

    def adopt(self, stores: dict[str, Value]) -> None:
        """Take over what a method called on the same receiver assigned to its attributes."""
        own = self.context.stores
        for name, value in stores.items():
            own[name] = join(own.get(name, NEVER), value)
            path = f"{self.receiver_name}.{name}"
            if path in self.env:
                del self.env[path]

    def merge(self, others: list[Env]) -> None:
        """Join environments into the current one; attributes are kept where all paths know them."""
        for other in others:
            join_into(self.env, other, bool(self.owners))

    # -------------------------------------------------------------------------------------------- hazards

    def report(
        self,
        rule: str,
        at: int,
        value: Value,
        node: ir.Node | None,
        detail: str = "",
        variant: str = "",
        severity: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Record that `value`, written as `node`, meets a rule at `at`; nothing where it is no device tensor."""
        culprit = device_tensor(value)
        if culprit is None or self.muted:
            return
        sure = culprit.sure and value is culprit
        confidence = Confidence.CERTAIN if sure else Confidence.LIKELY
        if rule == "XLA302" and any(type(m) is Tensor and m.framework == "numpy" for m in members(value)):
            confidence = Confidence.POSSIBLE
        known = self.context.sightings.get((rule, at))
        if known is None or known.confidence < confidence:
            self.context.sightings[rule, at] = Sighting(
                rule,
                at,
                self.statement,
                culprit.framework,
                confidence,
                spelling(node) if node is not None else "",
                detail,
                variant,
                severity,
            )

    def needs_bool(self, value: Value, node: ir.Node, rule: str, at: int) -> None:
        """Report where Python asks for the truth of a tensor."""
        if any(type(member) is Tensor for member in members(value)):
            self.report(rule, at, value, node)


def device_tensor(value: Value) -> Tensor | None:
    """The tensor among the alternatives whose elements live on the device, or None."""
    for member in members(value):
        if type(member) is Tensor and member.framework != "numpy" and member.place != "cpu" and not member.static:
            return member
    return None


def join_into(env: Env, other: Env, paths: bool = True) -> None:
    """Join `other` into `env`, name by name; `paths` says whether either may know attributes."""
    for name, value in other.items():
        mine = env.get(name)
        if mine is None:
            if "." not in name:
                env[name] = value
        elif mine is not value:
            env[name] = join(mine, value)
    if paths:
        for name in [name for name in env if name not in other and "." in name]:
            del env[name]


def position(node: ir.Node) -> int:
    """Where an expression stands, 0 for constants (which no hazard is about); of `name := value` and its like, the value."""
    at = getattr(node, "at", 0)
    inner = getattr(node, "value", None)
    if at or not isinstance(inner, ir.Expr):
        return at or 0
    return position(inner)  # type: ignore[arg-type]


def path_of(node: ir.Node) -> str:
    """ "x" or "x.a.b" for names and attribute chains; "" for others."""
    if type(node) is ir.Name:
        return node.id
    if type(node) is ir.Attr:
        base = path_of(node.value)
        return f"{base}.{node.name}" if base else ""
    return ""


def spelling(node: ir.Node, depth: int = 3) -> str:
    """A short source-like text of an expression, for messages."""
    if isinstance(node, ir.Name):
        return node.id
    if depth == 0:
        return "…"
    if isinstance(node, ir.Attr):
        return f"{spelling(node.value, depth)}.{node.name}"
    if isinstance(node, ir.Const):
        return repr(node.value)
    if isinstance(node, ir.Call):
        inner = ", ".join(spelling(arg, depth - 1) for arg in node.args[:2])
        more = ", …" if len(node.args) > 2 or (node.keywords and node.args) else "…" if node.keywords else ""
        return f"{spelling(node.func, depth)}({inner}{more})"
    if isinstance(node, ir.Sub):
        return f"{spelling(node.value, depth)}[{spelling(node.index, depth - 1)}]"
    if isinstance(node, ir.Slice):
        lower = spelling(node.lower, depth - 1) if node.lower is not None else ""
        upper = spelling(node.upper, depth - 1) if node.upper is not None else ""
        return f"{lower}:{upper}"
    if isinstance(node, ir.Bin):
        return f"{spelling(node.left, depth - 1)} {node.op} {spelling(node.right, depth - 1)}"
    if isinstance(node, ir.Unary):
        return f"{node.op}{spelling(node.value, depth - 1)}"
    if isinstance(node, ir.Not):
        return f"not {spelling(node.value, depth - 1)}"
    if isinstance(node, ir.Compare):
        rights = " ".join(f"{op} {spelling(right, depth - 1)}" for op, right in zip(node.ops, node.rights, strict=True))
        return f"{spelling(node.left, depth - 1)} {rights}"
    if isinstance(node, ir.Display) and node.kind == "tuple":
        return ", ".join(spelling(item, depth - 1) for item in node.items)
    return "…"


def returned(frame: Frame, value: Value) -> None:
    """Join a value into what the context returns."""
    frame.context.returns = join(frame.context.returns, value)


_EVAL: dict[type[ir.Expr], Callable[[Frame, Any], Value]] = {}
_EXEC: dict[type[ir.Stmt], Callable[[Frame, Any], bool]] = {}

__all__ = [
    "NEVER",
    "UNKNOWN",
    "Env",
    "Frame",
    "device_tensor",
    "join_into",
    "path_of",
    "position",
    "returned",
    "spelling",
]
