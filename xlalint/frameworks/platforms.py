"""On which XLA devices a program runs, and why we think so.

Rules of configuration speak only where the code runs on an XLA device: `fp16=True` is right on a GPU. A *program* is the module that is
started, with all that it calls: so the platform is asked of the module whose roots are entered, and a helper in another file is judged
by the scripts that call it. That needs no list of importers, and what is found depends on what was entered anyway.

What counts, per framework, is what the program surely does when it is started:

| framework | evidence |
| --- | --- |
| torch | the module imports `torch_xla`, `torch_tpu`, `torch_neuronx` or `libtpu`, not under `if` or `try` |
| torch | it names TorchTPU's device, not under `if` or `try`: `torch.device("tpu")`, `x.to("tpu")`, `x.tpu()`, `torch.tpu.…` |
| torch | it imports, not under `if` or `try`, a module of the program that does so |
| torch | one of its functions does so, and it starts processes itself (`xmp.spawn`, `torch_xla.launch`, `notebook_launcher`) |
| torch | it sets `PJRT_DEVICE`, `TPU_NAME` or `XRT_TPU_CONFIG`, not under `if` or `try`, to something else than a GPU |
| torch | it defines `_mp_fn`, and the project holds the `xla_spawn.py` that calls it |
| torch | it imports `accelerate`, and the project holds a configuration file of Accelerate's for XLA devices, and none for others |
| torch | it is such a file |
| torch | the user gave `torch_xla` or `torch_tpu` as the target |
| tensorflow | the module makes a `TPUStrategy`, or what one is made of |
| tensorflow | it imports a function of the program that does so, or the strategy that such a module has made |
| tensorflow, less far | it imports TensorFlow, or is a script that imports a module, class or function of the program, whose module does |
| jax | it imports `jax`: all that JAX does is compiled by XLA |
| jax | it is a script that imports a module, class or function of the program, whose module imports `jax` |

Less than that is asked for by rules of other kinds (`Reach`): what changes the shapes of a compiled step counts wherever XLA compiles one,
on a GPU by `jit_compile=True`, too; what makes a `tf.function` anew counts wherever there is TensorFlow.

Where a program of JAX chooses the CPU, not under `if` or `try` (`JAX_PLATFORMS`, `jax.config.update("jax_platforms", "cpu")`), what the
host reads at each turn of a loop costs nothing.

An import under `try` is no evidence: that program runs elsewhere too. A strategy under `try` is: its author wants the TPU, and falls back.
Nothing but the unit's headers is read, but for a search for a few names in the encoded bodies, and functions are decoded only where those
are found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import Class, Function, Module
from xlalint.frameworks.base import Reach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xlalint.program.linker import ModuleInfo, Program
    from xlalint.rules.policy import Policy

_MAIN: Final = b"__main__"

# How far a program has to reach for a rule that counts in such code.
_REACHES: Final[dict[str, Reach]] = {
    "around-traced": Reach.TRACED,
    "host-traced": Reach.TRACED,
    "host-compiled": Reach.COMPILED,
    "host-device": Reach.DEVICE,
}


def needed_reach(policy: Policy, framework: str) -> Reach | None:
    """How far a program has to reach for a rule that speaks of a framework's host code; None for the others, which speak of traced code."""
    return _REACHES.get(policy.counts_in(framework))


def around_compiled(policy: Policy, framework: str) -> bool:
    """Return whether a rule speaks, for this framework, of the code around compiled functions alone.

    What is traced itself is one program.
    """
    return policy.counts_in(framework) == "around-traced"


def imported_by_script(module: ModuleInfo, program: Program) -> Iterator[ModuleInfo]:
    """The modules of the program of which a script imports something: it runs on what these run on. None, where it is no script."""
    if _MAIN not in module.unit.body:
        return
    for binding in module.unit.imports:
        held = None if binding.guarded else program.resolve_import(module, binding)
        source = held.info if isinstance(held, Module) else None
        if isinstance(held, (Class, Function)):
            source = held.info.module
        elif source is None and not binding.guarded:
            source = program.by_name.get(program.absolute(module, binding))
        if source is not None and source is not module and not source.followed:
            yield source
