"""Entries of the API tables: a library function or class."""

from __future__ import annotations

import msgspec

from xlalint.api_tables.returns import Return

ANY_COUNT = -1
Constant = bool | int | float | str | None


class Conditions(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """The conditions of a case, all of which must hold for it to apply. Names are parameters; "*" stands for any argument.

    `args` is the exact number of arguments (receiver not counted). `missing`: surely not given, or None. `given`:
    given and not None. `none`: is passed, as None. `tensor`: each named argument is a tensor or holds one. `boolean`:
    is a tensor of bools. `items`: is a list or tuple that holds tensors. `host`: surely holds no tensor. `framework`:
    that of the receiver or first tensor argument is among these. `const`: a known constant, or a
    library's class or function by its dotted name, among the listed ones;
    `unlike`: one that is not. `rank`: known rank of the argument ("" is the receiver or first tensor). `target`: one of
    these targets is checked. `receiver`: "tensor" for functions whose first argument is one. `since`: the framework's release for
    which the code is judged is this one or a later one; `until`: it is an earlier one.
    """

    args: int = ANY_COUNT
    missing: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    tensor: tuple[str, ...] = ()
    boolean: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    const: tuple[tuple[str, tuple[Constant, ...]], ...] = ()
    rank: tuple[tuple[str, int], ...] = ()
    target: tuple[str, ...] = ()
    receiver: str = ""
    items: tuple[str, ...] = ()
    framework: tuple[str, ...] = ()
    unlike: tuple[tuple[str, tuple[Constant, ...]], ...] = ()
    none: tuple[str, ...] = ()
    since: tuple[int, ...] = ()
    until: tuple[int, ...] = ()


ALWAYS = Conditions()


class Spec(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """One case of a call: what it returns, and the hazard that it is, if any.

    `rule` is the hazard's code; `detail` completes its message ("reads the size on the host"); `severity` overrides the
    rule's per target, with "off" for a target where the call is harmless; `variant` selects among a rule's severities.
    `subject` names the parameter whose tensor the hazard speaks of ("" for the receiver or first tensor argument).
    """

    returns: Return
    rule: str | None = None
    detail: str = ""
    variant: str = ""
    severity: tuple[tuple[str, str], ...] = ()
    subject: str = ""
    when: Conditions = ALWAYS


class Callback(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A function argument that the callee calls: which parameter ("self": the object itself), with what, and whether it is traced.

    Each of `args` is `$p` (argument p), `$p[]` (one element of p), `*$p` (all of p's elements), `*leaf(p)` (a leaf of each of them), `*`
    (any number of tensors), `**` (the keywords that are no parameters), `@f` (what function f returns), or a return ("tensor[i,0]").
    `unless` is a parameter: where it is given as true, or as a function, the call happens elsewhere (in another thread) and nobody waits
    for it, or another function is called. `apart`: it is compiled by itself, and not with the code around the call.
    """

    fun: str
    args: tuple[str, ...] = ("*",)
    traced: bool = False
    unless: str = ""
    apart: bool = False


class Entry(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A library function or method: its positional parameters and its cases.

    `params` are in order, without receiver; `*name` takes the rest; what follows is passed by keyword only. The first
    case whose conditions hold is the call's. `framework` is "" where tensors keep the framework they came with. `unsupported` are cases
    that say what the target has no kernel for: a hazard besides what the call returns. `constants` are parameters whose number is a
    constant of torch_xla's graph (as sizes are, which need not be named). `reads` name parameters at which torch.compile reads a tensor
    that the graph computes (of variant "argument": any); where one holds, it raises when it is told to make one graph of all.
    """

    framework: str
    params: tuple[str, ...]
    cases: tuple[Spec, ...]
    calls: tuple[Callback, ...] = ()
    unsupported: tuple[Spec, ...] = ()
    constants: tuple[str, ...] = ()
    reads: tuple[Spec, ...] = ()


class ClassSpec(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A library class: what it is, what its construction does, what calling an instance returns.

    `base` says what kind of thing instances are: module, container, tensor, optimizer, scheduler, distribution, dataset,
    config, metric, function, context, host, object. `bases` are library classes to look methods and attributes up in, in
    order. `traced` are methods that XLA traces when a subclass defines them; `hooks` says how often a framework calls a method:
    "run", "epoch", "evaluation" or "step".
    """

    framework: str
    base: str
    bases: tuple[str, ...] = ()
    init: Entry | None = None
    call: Entry | None = None
    methods: dict[str, Entry] = {}
    attributes: dict[str, Return] = {}
    traced: tuple[str, ...] = ()
    hooks: dict[str, str] = {}
