"""Programs of JAX from the grammars of the rewrites, fixed, do what they did."""

from __future__ import annotations

from typing import Any

import pytest

from tests.xla.fix_properties import cases, check_programs
from tests.xla.grammars import Grammar


@pytest.mark.parametrize("grammar", cases("jax"))
def test_fixed_programs_do_what_they_did(grammar: Grammar, pairs: Any) -> None:
    check_programs(grammar, pairs)
