"""The intermediate representation: what `lower` makes of one file and all later stages read.

A `Unit` holds a file's imports, classes and functions. Bodies are expression trees of few node types, structured
(no jumps), with every piece of syntax that means the same brought to one form. The representation knows Python and no
framework, so a cached unit stays valid when rules change.

Bodies are kept encoded (MessagePack) inside the unit and are decoded one function at a time, when the interpreter first
enters it: a large tree costs megabytes, not gigabytes, and linking reads headers only.

Positions: `at` packs the byte offsets of an expression's first and past-the-last byte, `start << 32 | end`; of a statement it is the
offset alone. They count from where the function begins (`Function.start`), outside of functions from where the statement of
the module or class begins. So a body is the same bytes wherever its function stands in the file.

What can be said of a change: `Unit.interface` is the digest of what others may read of the file without reading a function,
`Function.digest` that of what a function does.
"""

from __future__ import annotations

from typing import Union, final

import msgspec

from xlalint.lowering.walking import parts as parts
from xlalint.lowering.walking import walk as walk
from xlalint.lowering.walking import walk_statements as walk_statements

# ---------------------------------------------------------------------------------------------- expressions


class Expr(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=True):
    """Base of all expressions."""


@final
class Const(Expr, frozen=True, tag=0):
    """A literal that later stages may compare: None, bool, int, float or a short string."""

    value: Union[bool, int, float, str, None]


@final
class Literal(Expr, frozen=True, tag=1):
    """A literal whose value does not matter: `type_name` is its Python type ("bytes", "complex", "ellipsis", "str")."""

    type_name: str


@final
class Name(Expr, frozen=True, tag=2):
    id: str
    at: int


@final
class Attr(Expr, frozen=True, tag=3):
    value: Node
    name: str
    at: int


@final
class Call(Expr, frozen=True, tag=4):
    """A call; a starred argument is a `Star`, a `**mapping` is a keyword whose name is empty.

    Literals do not know where they stand, but those given by keyword are what is said of a call's settings: `places` are theirs, in order.
    """

    func: Node
    args: tuple[Node, ...]
    keywords: tuple[tuple[str, Node], ...]
    at: int
    places: tuple[int, ...] = ()


@final
class Sub(Expr, frozen=True, tag=5):
    value: Node
    index: Node
    at: int


@final
class Slice(Expr, frozen=True, tag=6):
    lower: Union[Node, None]
    upper: Union[Node, None]
    step: Union[Node, None]


@final
class Bin(Expr, frozen=True, tag=7):
    """A binary operation; `op` is the operator's symbol."""

    op: str
    left: Node
    right: Node
    at: int


@final
class Unary(Expr, frozen=True, tag=8):
    """`-x`, `+x` or `~x`."""

    op: str
    value: Node
    at: int


@final
class Not(Expr, frozen=True, tag=9):
    value: Node
    at: int


@final
class Bool(Expr, frozen=True, tag=10):
    """`a and b and c` (`is_and`) or `a or b or c`."""

    is_and: bool
    values: tuple[Node, ...]
    at: int


@final
class Compare(Expr, frozen=True, tag=11):
    left: Node
    ops: tuple[str, ...]
    rights: tuple[Node, ...]
    at: int


@final
class IfExp(Expr, frozen=True, tag=12):
    test: Node
    body: Node
    orelse: Node
    at: int


@final
class Display(Expr, frozen=True, tag=13):
    """A list, tuple or set display; `kind` is "list", "tuple" or "set"."""

    kind: str
    items: tuple[Node, ...]
    at: int


@final
class DictDisplay(Expr, frozen=True, tag=14):
    """A dict display; a None key stands for `**value`."""

    keys: tuple[Union[Node, None], ...]
    values: tuple[Node, ...]
    at: int


class Generator(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One `for target in iterable if ...` of a comprehension."""

    target: Node
    iterable: Node
    conditions: tuple[Node, ...]


@final
class Comprehension(Expr, frozen=True, tag=15):
    """`kind` is "list", "set", "dict" or "generator"; `key` is set for dict comprehensions only."""

    kind: str
    key: Union[Node, None]
    element: Node
    generators: tuple[Generator, ...]
    at: int


@final
class Lambda(Expr, frozen=True, tag=16):
    """A lambda; `function` indexes the unit's functions, counted from the function that holds it."""

    function: int
    at: int


@final
class Format(Expr, frozen=True, tag=17):
    """An f-string: the values it formats; `specified` says that one has a format (`{x:.2f}`). `head` is the text before the first, as far
    as it tells a path's scheme."""

    values: tuple[Node, ...]
    at: int
    specified: bool = False
    head: str = ""


@final
class Star(Expr, frozen=True, tag=18):
    value: Node


@final
class Yield(Expr, frozen=True, tag=19):
    value: Union[Node, None]
    delegates: bool


@final
class Await(Expr, frozen=True, tag=20):
    value: Node


@final
class Walrus(Expr, frozen=True, tag=21):
    name: str
    value: Node


@final
class Hinted(Expr, frozen=True, tag=22):
    """The user said in a comment what this value is: `kind` is "static" or "tensor"; `name` is by which the comment lists it, if any."""

    kind: str
    value: Node
    name: str = ""


Node = Union[
    Const,
    Literal,
    Name,
    Attr,
    Call,
    Sub,
    Slice,
    Bin,
    Unary,
    Not,
    Bool,
    Compare,
    IfExp,
    Display,
    DictDisplay,
    Comprehension,
    Lambda,
    Format,
    Star,
    Yield,
    Await,
    Walrus,
    Hinted,
]

# ----------------------------------------------------------------------------------------------- statements


class Stmt(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=True):
    """Base of all statements."""


@final
class Eval(Stmt, frozen=True, tag=0):
    value: Node
    at: int


@final
class Assign(Stmt, frozen=True, tag=1):
    targets: tuple[Node, ...]
    value: Node
    at: int


@final
class AugAssign(Stmt, frozen=True, tag=2):
    target: Node
    op: str
    value: Node
    at: int
    expr_at: int


@final
class AnnAssign(Stmt, frozen=True, tag=3):
    target: Node
    annotation: Node
    value: Union[Node, None]
    at: int


@final
class Return(Stmt, frozen=True, tag=4):
    value: Union[Node, None]
    at: int


@final
class If(Stmt, frozen=True, tag=5):
    test: Node
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]
    at: int


@final
class While(Stmt, frozen=True, tag=6):
    test: Node
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]
    at: int


@final
class For(Stmt, frozen=True, tag=7):
    target: Node
    iterable: Node
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]
    at: int


@final
class With(Stmt, frozen=True, tag=8):
    items: tuple[tuple[Node, Union[Node, None]], ...]
    body: tuple[Statement, ...]
    at: int


class Handler(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One `except type as name:` clause.

    `missing` are the packages that the body of the `try` imports, if the clause catches that there is none of them.
    """

    type: Union[Node, None]
    name: Union[str, None]
    body: tuple[Statement, ...]
    missing: tuple[str, ...] = ()


@final
class Try(Stmt, frozen=True, tag=9):
    body: tuple[Statement, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Statement, ...]
    final: tuple[Statement, ...]
    at: int


@final
class Raise(Stmt, frozen=True, tag=10):
    exception: Union[Node, None]
    at: int


@final
class Assert(Stmt, frozen=True, tag=11):
    test: Node
    message: Union[Node, None]
    at: int


@final
class Delete(Stmt, frozen=True, tag=12):
    targets: tuple[Node, ...]


@final
class Outer(Stmt, frozen=True, tag=13):
    """`global` or `nonlocal` names."""

    names: tuple[str, ...]


@final
class Jump(Stmt, frozen=True, tag=14):
    """`break` (`leaves`) or `continue`."""

    leaves: bool


@final
class Define(Stmt, frozen=True, tag=15):
    """A nested `def`; `function` indexes the unit's functions, counted from the function that holds it."""

    name: str
    function: int


@final
class DefineClass(Stmt, frozen=True, tag=16):
    """A `class` statement; `klass` indexes the unit's classes."""

    name: str
    klass: int


@final
class Import(Stmt, frozen=True, tag=17):
    """Names bound by an import inside a function body."""

    bindings: tuple[Binding, ...]


class Case(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One `case` of a `match`: the names its pattern binds, whether it compares the subject's value, its guard."""

    names: tuple[str, ...]
    compares: bool
    guard: Union[Node, None]
    body: tuple[Statement, ...]


@final
class Match(Stmt, frozen=True, tag=18):
    subject: Node
    cases: tuple[Case, ...]
    at: int


@final
class TooDeep(Stmt, frozen=True, tag=19):
    """Stands for a body that is nested too deeply to be lowered."""


Statement = Union[
    Eval,
    Assign,
    AugAssign,
    AnnAssign,
    Return,
    If,
    While,
    For,
    With,
    Try,
    Raise,
    Assert,
    Delete,
    Outer,
    Jump,
    Define,
    DefineClass,
    Import,
    Match,
    TooDeep,
]

# ------------------------------------------------------------------------------------------------- the unit


class Binding(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A name bound by an import.

    `import a.b` binds `a` (`module` "a", `name` empty); `import a.b as c` binds `c` to `a.b`; `from a import b as c`
    binds `c` (`module` "a", `name` "b"); `from a import *` has the local name "*". `level` counts leading dots. `guarded` says that it
    stands under an `if` or `try`: the program may do without. `before` counts module level's statements in front of it.
    """

    local: str
    module: str
    name: str
    level: int
    guarded: bool = False
    before: int = 0

    @property
    def dotted(self) -> str:
        """The dotted name of what is imported, without the place that leading dots name."""
        return f"{self.module}.{self.name}" if self.name else self.module


PASSED = "()"
"""How `Param.uses` ends where a call is passed the parameter first."""

PART_PASSED = "([])"
"""How it ends where a call is passed a part of it, or what arithmetic makes of it, or it after another argument."""

COMPARED_PASSED = "(mask)"
"""How it ends where a call is passed the outcome of its comparison first."""

CALLED_WITH = "(,)"
"""How it ends where one of its methods is called with arguments."""

COMPARED = "mask"
"""The use of a parameter whose comparison is used as only a mask is: as an index, inverted, asked for `any()`."""

MASKED = "[mask]"
"""The use of one that is indexed by a mask."""


class Param(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A parameter. `kind` is "/", "" (either), "*" (variadic), "k" (keyword only) or "**".

    `uses` says how the body treats the bare parameter, sorted: ".shape" (attribute read), "f()" (passed first to what the
    source calls `f`), "f([])" (a part of it is, or it is passed after others), "f(mask)" (the outcome of its comparison is
    passed first), ".m(,)" (its method is given arguments by their places), "[,]" (indexed by a tuple, slice or None as only arrays
    are), "[np.newaxis]", "op" (operand of arithmetic), "mask" and "[mask]" (see `COMPARED` and `MASKED`).
    """

    name: str
    kind: str
    annotation: Union[Node, None]
    default: Union[Node, None]
    uses: tuple[str, ...]


class Function(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A function, method or lambda. `body` is an encoded `tuple[Statement, ...]` (see `decode_body`).

    `row` is that of its `def`, `start` the byte offset of its first decorator, or of the `def`.
    `owner` indexes the class that directly holds the method, or is -1. `outer` indexes the function that directly
    holds a nested function, or is -1. `free` names what a nested function may read from outer functions. `stores` names
    the attributes that the body assigns on its first parameter. `calls` are the last names of what the body calls
    ("jit" for `jax.jit(f)`), those of nested functions not included.
    """

    name: str
    qualname: str
    row: int
    start: int
    owner: int
    outer: int
    params: tuple[Param, ...]
    returns: Union[Node, None]
    decorators: tuple[Node, ...]
    body: bytes
    is_async: bool
    is_generator: bool
    free: tuple[str, ...]
    stores: tuple[str, ...]
    calls: tuple[str, ...]
    digest: bytes = b""


class Class(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A class. `methods` maps a name to the index of the last definition; `body` encodes its other statements."""

    name: str
    qualname: str
    row: int
    outer: int
    bases: tuple[Node, ...]
    keywords: tuple[tuple[str, Node], ...]
    decorators: tuple[Node, ...]
    methods: dict[str, int]
    body: bytes


class Unit(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One lowered file.

    `imports` are the bindings of module level (those under `if` and `try` too), `functions` and `classes` hold every
    one of the file, `defs` maps module-level names to a function index `i` or a class index as `-1 - i`. `assigned` are the other names
    bound at module level, `calls` the last names of what module level calls; `body` encodes module level's statements, `starts` are the
    byte offsets at which they begin. `rebound` are the names that functions declare `global`, `configured`
    those of attributes that something assigns of another object than the receiver of its method. `searched` says that the file adds to the
    folders in which Python looks for modules (`sys.path`).
    """

    path: str
    module: str
    is_package: bool
    digest: str
    imports: tuple[Binding, ...]
    functions: tuple[Function, ...]
    classes: tuple[Class, ...]
    defs: dict[str, int]
    assigned: tuple[str, ...]
    calls: tuple[str, ...]
    body: bytes
    starts: tuple[int, ...] = ()
    interface: bytes = b""
    rebound: tuple[str, ...] = ()
    configured: tuple[str, ...] = ()
    searched: bool = False


_encoder = msgspec.msgpack.Encoder()
_body_decoder = msgspec.msgpack.Decoder(tuple[Statement, ...])
_unit_decoder = msgspec.msgpack.Decoder(Unit)


def encode_body(body: tuple[Statement, ...]) -> bytes:
    """The encoded form of a body, as units keep it."""
    return _encoder.encode(body)


def decode_body(body: bytes) -> tuple[Statement, ...]:
    """The statements of an encoded body. Raises `msgspec.DecodeError` on foreign bytes."""
    return _body_decoder.decode(body)


def encode_unit(unit: Unit) -> bytes:
    """The unit's serialised form, as the cache keeps it and worker processes send it."""
    return _encoder.encode(unit)


def decode_unit(blob: bytes) -> Unit:
    """The unit of a serialised form. Raises `msgspec.DecodeError` on foreign bytes."""
    return _unit_decoder.decode(blob)
