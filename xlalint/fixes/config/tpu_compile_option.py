"""XLA521: options of `torch.compile` that TorchTPU refuses, left out."""

from __future__ import annotations

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.arguments import left_out


def leave_out(site: Site) -> Rewrite | NoFix | None:
    """`torch.compile(step, dynamic=True)` → `torch.compile(step)`."""
    return left_out(site.scene, site.node)
