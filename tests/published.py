"""Programs as they were before they were ported."""

from __future__ import annotations


def as_published(text: str) -> str:
    """Write a program that is ported to torch_xla as it was before: it names a GPU, and no line of it speaks of XLA."""
    lines = text.replace("torch_xla.device()", "torch.device('cuda')").splitlines()
    return "\n".join(line for line in lines if "xla" not in line and "xm." not in line)


def beside_devices(found: list[str]) -> list[str]:
    """Leave out that a GPU is named, which is found where a program that is not ported is judged for torch_xla on request."""
    return [rule for rule in found if rule != "XLA513"]
