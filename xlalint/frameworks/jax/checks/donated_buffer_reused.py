"""XLA517 and XLA518: arrays that are used after they were given away, and state that is held twice for want of giving it away (jax 0.10.2).

`jax.jit(step, donate_argnums=0)` gives the memory of its first argument to the result: the array that was passed is deleted. Which names
hold deleted arrays is a matter of one body, statement by statement, so bodies are read here without being run: a name that was passed in a
donated place is dead until it is bound again, on every way that leads there or on some.

A module is looked at where it speaks of donating at all, or (for state in a loop) of `jit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from xlalint.analysis.hazard import Confidence
from xlalint.interpreter.context import Context, PendingHazard
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.spelling import path_of, position
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.program.linker import FunctionInfo, ModuleInfo

_JITS = frozenset(("jax.jit", "jax.pjit", "jax.pmap", "jax.experimental.pjit.pjit"))
_PARTIAL = frozenset(("functools.partial",))
# What may be asked of an array that is deleted.
_STILL_KNOWN = frozenset(
    ("shape", "dtype", "ndim", "size", "aval", "sharding", "weak_type", "is_deleted", "delete", "nbytes")
)
_TESTING = ("unittest", "pytest", "absl.testing")
# Methods that keep what they are given.
_KEEPING = frozenset(("append", "add", "insert", "put", "appendleft", "setdefault", "extend"))

# What gives arrays of another shape than those that it is given, mostly.
_RESHAPING = frozenset(
    ("append", "concatenate", "hstack", "mean", "pad", "ravel", "repeat", "reshape", "stack", "sum", "tile", "vstack")
)


class Jitted(NamedTuple):
    """A function under `jit`, as a name of the module or of a body: which places it donates, and the names of its parameters, if known.
    `jit` is where it is put under `jit`, counted from the start of `holder` (the function around, or that a decorator is of). `returned`
    are the names that what it returns is written with, if its text is known."""

    donated: frozenset[int]
    names: tuple[str, ...]
    returned: frozenset[str]
    jit: int
    holder: FunctionInfo | None


class Dead(NamedTuple):
    """An array that was given away: to what call, whether on every way that leads here, and whether a result surely takes its memory."""

    call: str
    sure: bool
    taken: bool = True


Jits = Mapping[str, Jitted]


def donations(module: ModuleInfo) -> Iterator[Context]:
    """Contexts that hold what was found in the bodies of a module."""
    unit = module.unit
    if "jax" not in module.packages or not any(b"jit" in body or b"pmap" in body for body in _texts(module)):
        return
    module.reader.read_whole(module)
    reader = _Reader(module)
    top = ir.decode_body(unit.body)
    known = dict(reader.list_decorated())
    for statement, start in zip(top, unit.starts, strict=False):
        known.update(reader.assigned_jits((statement,), None, start << 32 | start))
    found = _Found(module)
    found.judge(None, top, known, reader, unit.starts)
    for info in module.functions:
        mine = {**known, **dict(reader.assigned_jits(info.body, info, 0))}
        if mine:
            found.judge(info, info.body, mine, reader, ())
    yield from (context for context in found.contexts.values() if context.sightings)


class _Found:
    """The contexts of a module in which something was found, by the function that holds them."""

    def __init__(self, module: ModuleInfo) -> None:
        self._module = module
        self.contexts: dict[FunctionInfo | None, Context] = {}

    def context(self, info: FunctionInfo | None) -> Context:
        """The context that stands for a function, or for module level."""
        return self.contexts.setdefault(info, Context(info, self._module, ()))

    def judge(
        self,
        info: FunctionInfo | None,
        body: tuple[ir.Statement, ...],
        jits: Jits,
        reader: _Reader,
        starts: tuple[int, ...],
    ) -> None:
        """Walk a body; of module level, each statement counts from its own start."""
        walker = _Walker(jits, reader, self, info, _find_kept(body))
        if info is not None:
            walker.block(body)
        for statement, start in zip(body, starts, strict=False):
            walker.base = start << 32 | start
            walker.block((statement,))


def _texts(module: ModuleInfo) -> Iterator[bytes]:
    """Where `jit` may be spoken of."""
    yield from (binding.name.encode() for binding in module.unit.imports)
    yield module.unit.body
    for info in module.functions:
        yield info.ir.body
        yield from (path_of(_callee_of(one)).encode() for one in info.ir.decorators)
        yield from (b"jit" for one in info.ir.decorators if isinstance(one, ir.Call) and one.args)


def _callee_of(node: ir.Node) -> ir.Node:
    return node.func if isinstance(node, ir.Call) else node


class _Reader:
    """A reader of what a module's names mean, by its imports."""

    def __init__(self, module: ModuleInfo) -> None:
        self.module = module
        self._dotted = {
            binding.local: f"{binding.module}.{binding.name}".rstrip(".")
            for binding in module.unit.imports
            if not binding.level
        }

    @property
    def tests(self) -> bool:
        """Return whether the module is one of tests, whose state is small."""
        return any(found.startswith(_TESTING) for found in self._dotted.values())

    def name_of(self, node: ir.Node) -> str:
        """The library's name for an expression."""
        root, dot, rest = path_of(node).partition(".")
        return f"{self._dotted[root]}{dot}{rest}" if root in self._dotted else ""

    def read_jit(self, node: ir.Node) -> tuple[ir.Node | None, frozenset[object]] | None:
        """Return what an expression puts under `jit`, and which places or names it donates.

        The first is None for what it decorates. Return None where the expression is no `jit`.
        """
        if self.name_of(node) in _JITS:
            return None, frozenset()
        if not isinstance(node, ir.Call):
            return None
        args = list(node.args)
        if self.name_of(node.func) in _PARTIAL and args and self.name_of(args[0]) in _JITS:
            args = args[1:]
        elif self.name_of(node.func) not in _JITS:
            return None
        given = dict(node.keywords)
        if "" in given:
            return None
        donated = frozenset((*_literals(given.get("donate_argnums")), *_literals(given.get("donate_argnames"))))
        asks = [name for name in given if name.startswith("donate_")]
        if asks and not donated:
            return None
        return (args[0] if args else None), donated

    def list_decorated(self) -> Iterator[tuple[str, Jitted]]:
        """Functions of module level that are decorated by `jit`."""
        for info in self.module.functions:
            if info.ir.outer >= 0 or info.ir.owner >= 0 or len(info.ir.decorators) != 1:
                continue
            found = self.read_jit(info.ir.decorators[0])
            if found is not None and found[0] is None:
                yield info.name, _make_jitted(found[1], info, position(info.ir.decorators[0]), info)

    def assigned_jits(
        self, body: tuple[ir.Statement, ...], holder: FunctionInfo | None, base: int
    ) -> Iterator[tuple[str, Jitted]]:
        """Names that a body gives to functions under `jit`."""
        for one in ir.walk(body):
            if isinstance(one, ir.Assign) and len(one.targets) == 1 and isinstance(one.value, ir.Call):
                found, path = self.read_jit(one.value), path_of(one.targets[0])
                if found is not None and found[0] is not None and path and not _only_applies(found[0]):
                    yield path, _make_jitted(found[1], self._function(found[0]), one.value.at + base, holder)

    def _function(self, node: ir.Node) -> FunctionInfo | None:
        index = self.module.unit.defs.get(node.id, -1) if isinstance(node, ir.Name) else -1
        return self.module.functions[index] if index >= 0 else None


def _only_applies(node: ir.Node) -> bool:
    """Return whether what is put under `jit` runs a model on its parameters: no result takes their place, so they stay."""
    return isinstance(node, ir.Attr) and node.name == "apply"


def _make_jitted(donated: frozenset[object], info: FunctionInfo | None, at: int, holder: FunctionInfo | None) -> Jitted:
    names = tuple(param.name for param in info.params if param.kind in ("", "/")) if info is not None else ()
    places = {one for one in donated if isinstance(one, int)}
    places.update(names.index(one) for one in donated if isinstance(one, str) and one in names)
    donated_places = frozenset(place % len(names) if names and place < 0 else place for place in places)
    returned = info.answers(_find_returned) if info is not None else frozenset()
    return Jitted(donated_places, names, returned, at, holder)


def _find_returned(info: FunctionInfo) -> frozenset[str]:
    """The names in what a function returns, but for what goes into arrays of other shapes: no such result takes the memory of a part."""
    if any(not _RESHAPING.isdisjoint(inner.ir.calls) for inner in info.nested):
        return frozenset()  # `tree_map(lambda x, y: jnp.concatenate([x, y]), a, b)`
    values = (one.value for one in ir.walk(info.body) if isinstance(one, ir.Return) and one.value is not None)
    return frozenset(name.id for value in values for name in _walk_kept(value) if isinstance(name, ir.Name))


def _walk_kept(node: ir.Node) -> Iterator[object]:
    """Walk an expression, but for what makes arrays of another shape."""
    reshaping = [one for one in ir.walk(node) if isinstance(one, ir.Call) and last_name(one.func) in _RESHAPING]
    left_out = {id(part) for one in reshaping for part in ir.walk(one)}
    return (one for one in ir.walk(node) if id(one) not in left_out)


def _literals(node: ir.Node | None) -> Iterator[object]:
    """The numbers or names that an argument lists, where it is written out."""
    for one in node.items if isinstance(node, ir.Display) else (node,):
        if isinstance(one, ir.Const) and isinstance(one.value, (int, str)):
            yield one.value


# -------------------------------------------------------------------------------------------------- bodies


def _find_kept(body: tuple[ir.Statement, ...]) -> frozenset[str]:
    """Paths whose values a body keeps under another name, or in a container: they must not be given away."""
    kept: set[str] = set()
    for one in ir.walk(body):
        if isinstance(one, (ir.Assign, ir.AnnAssign, ir.Walrus)) and one.value is not None:
            values = one.value.items if isinstance(one.value, ir.Display) else (one.value,)
            kept.update(path_of(value) for value in values)
        elif isinstance(one, ir.Call) and isinstance(one.func, ir.Attr) and one.func.name in _KEEPING:
            kept.update(path_of(arg) for arg in one.args)
        elif isinstance(one, ir.Yield) and one.value is not None:
            kept.add(path_of(one.value))
    return frozenset(kept)


class _Walker:
    """One body, statement by statement. `dead` are the paths that hold arrays that were given away, `on_host` those that hold NumPy's,
    which never are; `kept` are the paths that the body keeps otherwise, `turning` counts the loops around."""

    def __init__(
        self, jits: Jits, reader: _Reader, found: _Found, info: FunctionInfo | None, kept: frozenset[str]
    ) -> None:
        self.jits = jits
        self.reader = reader
        self.found = found
        self.info = info
        self.kept = kept
        self.dead: dict[str, Dead] = {}
        self.on_host: set[str] = set()
        self.base = 0
        self.statement = 0
        self.turning = 0

    def block(self, statements: tuple[ir.Statement, ...]) -> bool:
        """Walk statements; False: control does not fall out of their end."""
        falls = True
        for statement in _until_left(statements):
            falls = self._step(statement) and falls
        return falls and not _leaves(statements)

    def _step(self, node: ir.Statement) -> bool:
        self.statement = getattr(node, "at", self.statement)
        if isinstance(node, (ir.Assign, ir.AnnAssign, ir.AugAssign)):
            targets: tuple[ir.Node, ...] = node.targets if isinstance(node, ir.Assign) else (node.target,)
            self._uses((node.target, node.value) if isinstance(node, ir.AugAssign) else (node.value,))
            self._uses(tuple(part for target in targets for part in _nodes_read_in(target)))
            self._gives(node.value, targets)
            for target in targets:
                self._bind(target)
                self._note_host(target, node.value)
        elif isinstance(node, ir.If):
            self._uses((node.test,))
            self._branches((node.body, node.orelse))
        elif isinstance(node, (ir.For, ir.While)):
            self._loop(node)
        elif isinstance(node, ir.With):
            for value, bound in node.items:
                self._uses((value,))
                if bound is not None:
                    self._bind(bound)
            return self.block(node.body)
        elif isinstance(node, ir.Try):
            self.block(node.body)
            self._branches((*(handler.body for handler in node.handlers), node.orelse))
            return self.block(node.final)
        elif isinstance(node, ir.Match):
            self._uses((node.subject,))
            self._branches((*(case.body for case in node.cases), ()))
        elif isinstance(node, (ir.Eval, ir.Return)):
            self._uses((node.value,) if node.value is not None else ())
            if node.value is not None:
                self._gives(node.value, ())
        elif isinstance(node, ir.Delete):
            for target in node.targets:
                self._bind(target)
        elif isinstance(node, (ir.Assert, ir.Raise)):
            self._uses((node,))
        elif isinstance(node, (ir.Define, ir.DefineClass)):
            self.dead.pop(getattr(node, "name", ""), None)
        return True

    def _branches(self, bodies: Iterable[tuple[ir.Statement, ...]]) -> None:
        """Alternatives: what is dead after one of them may be dead after all."""
        before = self.dead
        ends: list[dict[str, Dead]] = []
        for body in bodies:
            self.dead = dict(before)
            if self.block(body):
                ends.append(self.dead)
        joined: dict[str, Dead] = {}
        for end in ends:
            for path, dead in end.items():
                sure = all(path in other and other[path].sure for other in ends)
                joined[path] = dead._replace(sure=sure)
        self.dead = joined

    def _loop(self, node: ir.For | ir.While) -> None:
        self._uses((node.iterable if isinstance(node, ir.For) else node.test,))
        before = dict(self.dead)
        self.turning += 1
        for turn in range(2):  # what the first turn gives away, the second one may use
            if turn:
                self.dead = {path: dead._replace(sure=dead.sure and path in before) for path, dead in self.dead.items()}
            if isinstance(node, ir.For):
                self._bind(node.target)
            else:
                self._uses((node.test,))
            if not self.block(node.body) and _ends(node.body):
                break
        self.turning -= 1
        self.dead = {
            path: dead._replace(sure=dead.sure and path in before) for path, dead in self.dead.items()
        } | before
        self.block(node.orelse)

    def _bind(self, target: ir.Node) -> None:
        if isinstance(target, (ir.Display, ir.Star)):
            for part in target.items if isinstance(target, ir.Display) else (target.value,):
                self._bind(part)
            return
        path = path_of(target)
        if path:
            for known in [one for one in self.dead if one == path or one.startswith(f"{path}.")]:
                del self.dead[known]

    def _note_host(self, target: ir.Node, value: ir.Node | None) -> None:
        path = path_of(target)
        made = self.reader.name_of(value.func) if isinstance(value, ir.Call) else ""
        if made.startswith("numpy.") or made == "jax.device_get" or isinstance(value, ir.Const):
            self.on_host.add(path)
        else:
            self.on_host.discard(path)

    # ---------------------------------------------------------------------------------------------- expressions

    def _uses(self, nodes: tuple[object, ...]) -> None:
        """Report what is read of dead arrays."""
        if self.dead:
            for node in nodes:
                self._use(node)

    def _use(self, node: object) -> None:
        if isinstance(node, ir.Attr) and node.name in _STILL_KNOWN and path_of(node.value) in self.dead:
            return
        path = path_of(node) if isinstance(node, (ir.Name, ir.Attr)) else ""
        dead = self.dead.get(path)
        if dead is not None and isinstance(node, (ir.Name, ir.Attr)):
            then = "its array is deleted" if dead.taken else "its array is deleted if a result has its shape"
            told = f"was donated to `{dead.call}`: {then}"
            self._report("XLA517", node.at, path, told, dead.sure and dead.taken, "" if dead.taken else "untaken")
            return
        for part in ir.parts(node):
            for one in part if isinstance(part, tuple) else (part,):
                self._use(one)

    def _report_used_behind(self, value: object, end: int, path: str) -> None:
        """Report what the rest of an expression reads of an array that it gave away."""
        for one in ir.walk(value):
            if isinstance(one, (ir.Name, ir.Attr)) and one.at >> 32 >= end and path_of(one) == path:
                self._use(one)

    def _gives(self, value: object, targets: tuple[ir.Node, ...]) -> None:
        """Note which arrays the calls in a value are given, and which state they replace."""
        for node in ir.walk(value):
            jitted = self.jits.get(path_of(node.func)) if isinstance(node, ir.Call) else None
            if jitted is None or not isinstance(node, ir.Call) or any(isinstance(arg, ir.Star) for arg in node.args):
                continue
            called = path_of(node.func)
            given = [path_of(arg) for arg in node.args]
            for name, arg in node.keywords:
                if name in jitted.names and jitted.names.index(name) == len(given):
                    given.append(path_of(arg))
            bound = set(map(path_of, _list_parts(targets)))
            replaces = any(given[place] in bound for place in jitted.donated if place < len(given))
            for place in sorted(jitted.donated):
                path = given[place] if place < len(given) else ""
                if path in self.on_host:
                    continue
                # Where results take the place of other arguments, or the first, none may be left that takes the memory of this one.
                named = place < len(jitted.names) and jitted.names[place] in jitted.returned
                if path and given.count(path) > 1:
                    self._report_twice(node.at, path, called, taken=named or replaces)
                elif path:
                    self.dead[path] = Dead(
                        called, sure=True, taken=named or (not replaces and place == min(jitted.donated))
                    )
                    self._report_used_behind(value, node.at & 0xFFFFFFFF, path)
            if self.turning and node is value and not jitted.donated:
                self._keeps(called, jitted, given, bound)

    def _keeps(self, called: str, jitted: Jitted, given: list[str], bound: set[str]) -> None:
        """A loop's state that a call replaces, whose old memory stays until the new one is made; `bound` are the paths that get results."""
        replaced = [place for place, path in enumerate(given) if path in bound and path not in self.kept]
        if not replaced or "" in bound or self.reader.tests:
            return
        places = ", ".join(map(str, replaced)) + ("," if len(replaced) == 1 else "")
        names = " and ".join(f"`{given[place]}`" for place in replaced)
        detail = f"replaces {names} in a loop without `donate_argnums=({places})`: old and new values are in memory at the same time"
        holder = self.found.context(jitted.holder)
        seen = PendingHazard("XLA518", jitted.jit, jitted.jit >> 32, "jax", Confidence.CERTAIN, called, detail)
        holder.sightings.setdefault(("XLA518", jitted.jit), seen)

    def _report_twice(self, at: int, path: str, called: str, *, taken: bool) -> None:
        """Report an array that is given away twice at once, which fails where results take the memory of both."""
        then = "" if taken else ": this fails if results have its shape"
        told = f"is passed to `{called}` twice and donated{then}"
        self._report("XLA517", at, path, told, sure=taken, variant="" if taken else "untaken")

    def _report(self, rule: str, at: int, subject: str, detail: str, sure: bool, variant: str = "") -> None:
        at += self.base
        confidence = Confidence.CERTAIN if sure else Confidence.LIKELY
        statement = self.statement + (self.base & 0xFFFFFFFF)
        seen = PendingHazard(rule, at, statement, "jax", confidence, subject, detail, variant)
        self.found.context(self.info).sightings.setdefault((rule, at), seen)


def _list_parts(targets: tuple[ir.Node, ...]) -> list[ir.Node]:
    """List what is assigned to, one by one: `a` and `b` of `a, b = …`."""
    return [part for one in targets for part in (one.items if isinstance(one, ir.Display) else (one,))]


def _nodes_read_in(target: ir.Node) -> tuple[ir.Node, ...]:
    """Return what is read where something is assigned: the owner and the index of an element."""
    return (target.value, target.index) if isinstance(target, ir.Sub) else ()


def _ends(body: tuple[ir.Statement, ...]) -> bool:
    """Return whether a loop's body never comes to a second turn."""
    return any(isinstance(one, (ir.Return, ir.Raise)) or (isinstance(one, ir.Jump) and one.leaves) for one in body)


def _leaves(statements: tuple[ir.Statement, ...]) -> bool:
    return any(isinstance(one, (ir.Return, ir.Raise, ir.Jump)) for one in statements)


def _until_left(statements: tuple[ir.Statement, ...]) -> Iterator[ir.Statement]:
    for statement in statements:
        yield statement
        if isinstance(statement, (ir.Return, ir.Raise, ir.Jump)):
            return
