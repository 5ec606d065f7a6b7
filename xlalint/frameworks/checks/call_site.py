"""Give each check of the set-up the call it asks about, and register checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from xlalint.abstract.values import NONE, UNKNOWN, Const, Host, LibrarySymbol, Mapping, Value, members
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks import registry
from xlalint.frameworks.base import Reach
from xlalint.frameworks.checks.option_defaults import default_of
from xlalint.interpreter.spelling import position, spelling
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.arguments import Arguments
    from xlalint.interpreter.frame import Frame
    from xlalint.program.linker import ModuleInfo

# Words in a condition that ask on which device the program runs: what stands under it is meant for one of them.
_DEVICE_WORDS: Final = ("tpu", "xla", "cuda", "gpu", "device", "accelerator", "neuron", "strategy", "backend")


class RuntimeStart(NamedTuple):
    """A call that starts the runtime of a framework's device; `at`, `base` and `statement` as the frame had them."""

    framework: str
    at: int
    base: int
    statement: int
    spelled: str


def runtime_starts(frame: Frame) -> list[RuntimeStart]:
    """The calls so far that started a device's runtime."""
    found: list[RuntimeStart] = frame.of_checks.setdefault("runtime starts", [])
    return found


class CallSite:
    """One call of host code as a check sees it. `name` is the dotted name under which the check is registered, or that of the method,
    `callee` what is called. `by_default`: what was asked of it is an option's default, which users may change."""

    def __init__(self, frame: Frame, node: ir.Call, arguments: Arguments, name: str, callee: Value) -> None:
        self.frame = frame
        self.node = node
        self.arguments = arguments
        self.name = name
        self.callee = callee
        self.by_default = False

    @property
    def last_name(self) -> str:
        """The last part of the name of what is called."""
        return self.name.rpartition(".")[2]

    @property
    def spelled(self) -> str:
        """The name of what is called, as the source writes it."""
        return spelling(self.node.func)

    def value(self, keyword: str, index: int = -1) -> Value | None:
        """Return what is given by keyword, or at a place in the row; None where nothing is known to be."""
        found = self.arguments.keywords.get(keyword)
        if found is None and 0 <= index < len(self.arguments.args):
            found = self.arguments.args[index]
        return found

    def asked_for(self, keyword: str, index: int = -1) -> Value | None:
        """The same of what users ask for: of an option of the command line, what it is by default."""
        found = self.value(keyword, index)
        if found is UNKNOWN or isinstance(found, (Host, LibrarySymbol)):
            default = default_of(self.frame, self.node_of(keyword, index))
            if default is not None:
                self.by_default = True
                return default
        return found

    def word(self, keyword: str, index: int = -1) -> str:
        """The text that users ask for, by an option's default too; "" where none is known."""
        found = self.asked_for(keyword, index)
        return found.value if isinstance(found, Const) and isinstance(found.value, str) else ""

    def constant(self, keyword: str, index: int = -1) -> bool | int | float | str | None:
        """The same where it is a literal's value; None where it is not known, not given, or None."""
        found = self.value(keyword, index)
        return found.value if isinstance(found, Const) else None

    def lacks(self, keyword: str, index: int = -1) -> bool:
        """Return whether an argument is surely not given, or given as None."""
        if self.arguments.extra is not None or (index >= 0 and self.arguments.rest is not None):
            return False
        found = self.value(keyword, index)
        return found is None or found is NONE

    def node_of(self, keyword: str, index: int = -1) -> ir.Node | None:
        """The expression of an argument."""
        given = dict(self.node.keywords).get(keyword)
        return given if given is not None or not 0 <= index < len(self.node.args) else self.node.args[index]

    def place(self, keyword: str, index: int = -1) -> int:
        """Where an argument's value stands: itself, the `**mapping` that holds it, or else the call."""
        literals = iter(self.node.places)
        spread = 0
        for name, node in self.node.keywords:
            literal = next(literals, 0) if isinstance(node, (ir.Const, ir.Literal)) else 0
            if name == keyword:
                return literal or position(node) or self.node.at
            if not name:
                spread = position(node)
        if keyword in self.arguments.keywords:
            return spread or self.node.at
        given = self.node_of(keyword, index)
        return (position(given) if given is not None else 0) or self.node.at

    def start_runtime(self, framework: str) -> None:
        """Remember that the call starts a framework's runtime."""
        frame = self.frame
        start = RuntimeStart(framework, self.node.at, frame.base, frame.statement, self.spelled)
        runtime_starts(frame).append(start)

    def report(
        self,
        rule: str,
        framework: str,
        subject: str = "",
        detail: str = "",
        at: int = 0,
        variant: str = "",
        severity: tuple[tuple[str, str], ...] = (),
        at_most: Confidence = Confidence.CERTAIN,
    ) -> None:
        """Note a hazard at `at` (of a call: as a whole), unless the code around it chooses by the device."""
        report(
            self.frame,
            rule,
            framework,
            subject or spelling(self.node),
            detail,
            at or self.node.at,
            variant,
            severity,
            min(at_most, Confidence.LIKELY) if self.by_default else at_most,
        )


def report(
    frame: Frame,
    rule: str,
    framework: str,
    subject: str,
    detail: str,
    at: int,
    variant: str = "",
    severity: tuple[tuple[str, str], ...] = (),
    at_most: Confidence = Confidence.CERTAIN,
) -> None:
    """Note a hazard of the set-up. In a branch that is not surely taken it is likely; in one on the device's kind it is none."""
    if asks_for_device(frame):
        return
    confidence = min(
        at_most, Confidence.LIKELY if frame.paths.branch_depth or frame.paths.ambiguous_callee else Confidence.CERTAIN
    )
    frame.note(rule, at, framework, subject, detail, variant, severity, confidence)


def asks_for_device(frame: Frame) -> bool:
    """Return whether what runs now stands in a branch on the device's kind."""
    return bool(frame.paths.tests) and asks_for(frame, _DEVICE_WORDS)


def is_chosen_by_device(frame: Frame) -> bool:
    """Return whether what runs stands in a conditional expression on the device's kind: `model.cuda() if use_cuda else model`."""
    return speaks_of(frame.paths.choices, _DEVICE_WORDS)


def asks_for(frame: Frame, words: tuple[str, ...]) -> bool:
    """Return whether what runs now stands in a branch whose condition speaks of one of these."""
    return speaks_of(frame.paths.tests, words)


def speaks_of(tests: Iterable[ir.Node], words: tuple[str, ...]) -> bool:
    """Return whether a name or a text in some conditions has one of these words in it."""
    names = (_name_of(node).lower() for test in tests for node in ir.walk(test))
    return any(word in name for name in names for word in words)


def _name_of(node: object) -> str:
    if type(node) is ir.Name:
        return node.id
    if type(node) is ir.Attr:
        return node.name
    if type(node) is ir.Const and isinstance(node.value, str):
        return node.value
    return ""


XLA_DEVICES: Final = frozenset(("torch_xla", "torch_tpu", "torch_neuronx"))
_JAX: Final = frozenset(("jax", "flax", "equinox", "haiku", "optax"))
_TENSORFLOW: Final = frozenset(("tensorflow", "tf_keras", "keras"))


def consumer(frame: Frame) -> str:
    """The framework whose compiled steps take what host code makes ready, by what its module imports: batches are no framework's."""
    packages = frame.module.packages
    if packages & XLA_DEVICES:
        return "torch"
    return "jax" if packages & _JAX else "tensorflow" if packages & _TENSORFLOW else "torch"


def calls_any(module: ModuleInfo, names: frozenset[str] | set[str]) -> bool:
    """Return whether something in a module is called by one of these last names."""
    return not names.isdisjoint(module.unit.calls) or any(not names.isdisjoint(f.calls) for f in module.unit.functions)


def entry(value: Value | None, key: str) -> Value | None:
    """Return what a dict holds under a key, or None where that is not known."""
    if isinstance(value, Mapping):
        return dict(value.items).get(key)
    return None


def is_device_type(value: Value | None) -> bool:
    """Return whether a value is the type of a device, by which the program goes whatever that is."""
    return isinstance(value, Host) and value.type == "accelerator"


def surely(value: Value | None, wanted: Value) -> bool:
    """Return whether a value is what is wanted, whichever of its alternatives it is."""
    return value is not None and all(member is wanted for member in members(value))


# What holds of TPUs alone: given `--device gpu` it is no hazard.
NOT_ON_GPU: Final = (("torch_xla:gpu", "off"), ("tf:gpu", "off"))

# What is worth knowing, whatever the target.
INFORMATION: Final = (("torch_xla", "info"), ("torch_tpu", "info"), ("tf", "info"), ("jax", "info"))

Check = Callable[[CallSite], None]

NAMES: Final[dict[str, tuple[Check, ...]]] = {}
PACKAGES: Final[dict[str, tuple[Check, ...]]] = {}
METHODS: Final[dict[str, tuple[Check, ...]]] = {}


class Asked(NamedTuple):
    """How far a program has to reach XLA for a call to be asked about, and what a text names that makes such a call: "" if nothing else."""

    reach: Reach
    beside: str = ""


# Per framework: the last names of what is asked about. Functions that call none of them, directly or not, are not entered for it.
ASKED: Final[dict[str, dict[str, Asked]]] = {}
ALL: Final = registry.names()


def asks_about(
    frameworks: str | tuple[str, ...],
    *names: str,
    methods: tuple[str, ...] = (),
    package: str = "",
    reach: Reach = Reach.DEVICE,
    leads: bool = True,
    beside: str = "",
) -> Callable[[Check], Check]:
    """Register a check of calls of what bears these dotted names, re-exports listed one by one, and of methods of these names on
    receivers that the program does not define; with `package`, of all that it has. `frameworks` are those whose programs it is for, where
    they reach XLA that far; not `leads`: no host code is entered for it, it looks at what is entered for other reasons; `beside` is what
    code names that makes such a call, a keyword, say: no other is entered for it."""

    def register(check: Check) -> Check:
        for name in names:
            NAMES[name] = (*NAMES.get(name, ()), check)
        if package:
            PACKAGES[package] = (*PACKAGES.get(package, ()), check)
        for name in methods:
            METHODS[name] = (*METHODS.get(name, ()), check)
        if leads:
            for framework in (frameworks,) if isinstance(frameworks, str) else frameworks:
                for name in (*(dotted.rpartition(".")[2] for dotted in names), *methods):
                    known = ASKED.setdefault(framework, {})
                    before = known.get(name, Asked(reach, beside))
                    known[name] = Asked(min(reach, before.reach), beside if beside == before.beside else "")
        return check

    return register
