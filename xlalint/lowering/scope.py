"""Collect what the lowering of one function, class or module needs before it can be written down."""

from __future__ import annotations

from typing import Any

from xlalint.lowering import ir

LoweredParam = tuple[str, str, "ir.Node | None", "ir.Node | None"]


class Scope:
    """A name scope under construction.

    `uses` maps each parameter to how the body treats it (see `ir.Param`), `ended` those whose names were given other values since to how it
    did until then, `masks` each name of a comparison's outcome to what was compared, `elements` each other name to the parameters of which
    it holds parts. `loaded` and `bound` are the names that the scope
    reads and binds; `receiver` is the first parameter of a method, whose attribute writes are `stores`.
    """

    def __init__(self, outer: Scope | None, index: int, name: str = "", class_index: int = -1) -> None:
        self.outer = outer
        self.index = index
        self.name = name
        self.class_index = class_index
        self.class_methods: dict[str, int] | None = {} if class_index >= 0 else None
        self.qualname: str = f"{outer.qualname}.{name}" if outer is not None and outer.qualname else name
        self.loaded: set[str] = set()
        self.bound: set[str] = set()
        self.uses: dict[str, set[str]] = {}
        self.ended: dict[str, set[str]] = {}
        self.masks: dict[str, frozenset[str]] = {}
        self.elements: dict[str, frozenset[str]] = {}
        self.stores: set[str] = set()
        self.calls: set[str] = set()
        self.receiver: str | None = None
        self.is_generator = False
        self.body = b""
        self._described: tuple[Any, int, ir.Node | None, tuple[ir.Node, ...], list[LoweredParam]] | None = None

    @property
    def enclosing(self) -> int:
        """Index of the nearest function that holds this scope (itself included), or -1."""
        scope: Scope | None = self
        while scope is not None and scope.index < 0:
            scope = scope.outer
        return -1 if scope is None else scope.index

    def enter(self, params: list[str]) -> None:
        """Begin the body of a function with these parameters."""
        self.uses = {name: set() for name in params}
        self.bound.update(params)
        if self.outer is not None and self.outer.class_methods is not None and params:
            self.receiver = params[0]

    def end_uses(self, name: str) -> None:
        """Keep what is known of a parameter whose name stands for something else from here on."""
        self.ended.setdefault(name, self.uses[name])
        self.uses[name] = set()

    def describe(
        self,
        node: Any,
        start: int,
        returns: ir.Node | None,
        decorators: tuple[ir.Node, ...],
        params: list[LoweredParam],
    ) -> None:
        """Keep what `build` needs; free names are known only once the whole file is lowered."""
        self._described = (node, start, returns, decorators, params)

    def pass_free_names(self) -> None:
        """Hand the names that this scope does not bind to the scope around it. Inner scopes go first."""
        if self.outer is not None:
            self.outer.loaded |= self.loaded - self.bound

    def build(self) -> ir.Function:
        """The finished function."""
        if self._described is None:
            raise ValueError(f"scope {self.qualname!r} was never described")
        node, start, returns, decorators, params = self._described
        outer = self.outer
        owner = outer.class_index if outer is not None else -1
        holder = outer.enclosing if outer is not None else -1
        free = sorted((self.loaded - self.bound) & self._visible()) if holder >= 0 else []
        uses = {**self.uses, **self.ended}
        return ir.Function(
            self.name,
            self.qualname,
            node.lineno,
            start,
            owner,
            holder,
            tuple(ir.Param(p, kind, a, d, tuple(sorted(uses[p]))) for p, kind, a, d in params),
            returns,
            decorators,
            self.body,
            type(node).__name__ == "AsyncFunctionDef",
            self.is_generator,
            tuple(free),
            tuple(sorted(self.stores)),
            tuple(sorted(self.calls)),
        )

    def _visible(self) -> set[str]:
        """Names bound by the functions around this one (class scopes are skipped, as Python does)."""
        names: set[str] = set()
        scope = self.outer
        while scope is not None and scope.outer is not None:
            if scope.class_methods is None:
                names |= scope.bound
            scope = scope.outer
        return names
