"""Settings that are assigned to attributes: options of objects that a check asks about when they are made, and `%env` of notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xlalint.abstract.values import UNKNOWN, Class, Instance, LibraryInstance, Sequence, Value, constant
from xlalint.frameworks.checks.call_site import NAMES, CallSite, asks_about
from xlalint.frameworks.checks.library_names import TRAINING_ARGUMENTS
from xlalint.frameworks.torch.checks.removed_xla_environment import check_magic
from xlalint.frameworks.torch.platform import is_magic
from xlalint.interpreter.arguments import Arguments
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.program.linker import ClassInfo

OPTIONS = frozenset(
    ("fp16", "fp16_full_eval", "optim", "debug", "tpu_num_cores", "fsdp_config", "auto_find_batch_size")
)
"""Of the Trainer's arguments, those that checks ask about one by one."""


def check_assigned(frame: Frame, target: ir.Attr, value: Value) -> None:
    """`training_args.fp16 = True` is looked at as `TrainingArguments(fp16=True)` is."""
    if target.name not in OPTIONS:
        if isinstance(target.value, ir.Name) and is_magic(target.value.id):
            check_magic(frame, target, value)
        return
    owner = frame.eval(target.value)
    name = _checked_class(owner)
    if name:
        place = ir.Name(target.name, target.at)
        node = ir.Call(target.value, (), ((target.name, place),), target.at)
        call = CallSite(frame, node, Arguments([], {target.name: value}, None, UNKNOWN), name, owner)
        for check in NAMES[name]:
            check(call)


@asks_about("torch", "transformers.HfArgumentParser", "transformers.hf_argparser.HfArgumentParser", "trl.TrlParser")
def check_argument_parser(call: CallSite) -> None:
    """`HfArgumentParser((Mine,))`, where `Mine` gives the Trainer's arguments defaults of its own."""
    listed = call.value("dataclass_types", 0)
    for klass in listed.items or () if isinstance(listed, Sequence) else (listed,):
        bases = klass.info.library_bases() if isinstance(klass, Class) else ()
        name = next((base for base in bases if base in TRAINING_ARGUMENTS), "")
        if not name or not isinstance(klass, Class):
            continue
        given = Arguments([], dict(_defaults(klass.info)), None, UNKNOWN)
        own = CallSite(call.frame, call.node, given, name, klass)
        own.by_default = True
        for check in NAMES[name]:
            check(own)


def _defaults(klass: ClassInfo) -> Iterator[tuple[str, Value]]:
    """Options to which a class's body gives a default: `fp16: bool = True`, `= field(default=True)`."""
    for one in ir.decode_body(klass.ir.body):
        if isinstance(one, ir.AnnAssign) and isinstance(one.target, ir.Name) and one.target.id in OPTIONS:
            default = dict(one.value.keywords).get("default") if isinstance(one.value, ir.Call) else one.value
            if isinstance(default, ir.Const):
                yield one.target.id, constant(default.value)


def _checked_class(owner: Value) -> str:
    if isinstance(owner, LibraryInstance):
        return owner.name if owner.name in TRAINING_ARGUMENTS else ""
    bases = owner.klass.library_bases() if isinstance(owner, Instance) else ()
    return next((base for base in bases if base in TRAINING_ARGUMENTS), "")
