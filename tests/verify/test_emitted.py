"""What programs say, as it is compared."""

from __future__ import annotations

import pytest

pytest.importorskip("numpy")
emitted = pytest.importorskip("xlalint.verify.emitted", exc_type=ImportError)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("loss 2.165", "loss 2.1649999618530273", True),
        ("loss 2.165\n", "loss 2.165", False),
        ("loss 2.165", "loss 2.164", False),
        ("step 3 loss 0.5", "step 4 loss 0.5", False),
        ("1.10.2", "1.10.3", False),
        ("12345678901", "12345678902", False),
        ("1e-3", "1e-4", False),
        ("-0.10000000149011612", "-0.1", True),
        ("0.10000000149011612", "-0.1", False),
    ],
)
def test_numbers_are_the_same_as_float32(one: str, other: str, same: bool) -> None:
    found = []
    for text in (one, other):
        with emitted.listening() as heard:
            print(text, end="")
        found.append(str(heard.effects()["printed"].leaves[0][1]))
    assert (found[0] == found[1]) is same, found
