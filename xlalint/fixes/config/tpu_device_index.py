"""XLA524: the TPU of the process, in place of one by its number."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import Replacement

_ELSEWHERE = NoFix('the device is named elsewhere: name "tpu" there')


def own_device(site: Site) -> Rewrite | NoFix | None:
    """`"tpu:1"` → `"tpu"`."""
    scene = site.scene
    words = [one for one in scene.descend(site.node, cst.SimpleString) if one.raw_value.startswith("tpu:")]
    if len(words) != 1:
        return _ELSEWHERE
    begin = scene.span(words[0])[0] + len(words[0].prefix) + len(words[0].quote)
    own = Replacement(begin, begin + len(words[0].raw_value), "tpu")
    return Rewrite('Name "tpu", the process\'s own', (own,))
