"""What is read from the TPU compiler's text: padding by tiles, lines of operations, lines of errors."""

from __future__ import annotations

import pytest

from xlalint.verify.hlo import find_blamed_line, padding
from xlalint.verify.model import Place

MODULE = """\
HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[5,100]{1,0:T(8,128)})->f32[7]{0:T(128)}}

FileNames
1 "/home/me/step.py"
2 "/v/lib/python3.12/site-packages/flax/linear.py"

FunctionNames
1 "<module>"
2 "Model.forward"
3 "Dense.__call__"

FileLocations
1 {file_name_id=1 function_name_id=1 line=40 end_line=40 column=8 end_column=13}
2 {file_name_id=1 function_name_id=2 line=12 end_line=12 column=15 end_column=35}
3 {file_name_id=2 function_name_id=3 line=400 end_line=400 column=15 end_column=35}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}
3 {file_location_id=3 parent_frame_id=3}


%fused (p: f32[9,9]) -> f32[9,9] {
  ROOT %inner = f32[9,9]{1,0:T(8,128)} tanh(%p)
}

ENTRY %main.2 (x.1: f32[5,100], w.1: f32[100,7]) -> f32[7] {
ENTRY_LINES
}
"""


def module(*lines: str) -> str:
    return MODULE.replace("ENTRY_LINES", "\n".join(f"  {line}" for line in lines))


@pytest.mark.parametrize(
    "line",
    [
        "%x.1 = f32[8,128]{1,0:T(8,128)} parameter(0)",
        "%x.1 = f32[16,256]{1,0:T(8,128)} parameter(0)",
        "%x.1 = bf16[16,128]{1,0:T(8,128)(2,1)} parameter(0)",
        "%x.1 = f32[]{:T(128)} parameter(0)",
        "%x.1 = f32[5,100]{1,0} parameter(0)",
        "%b = f32[5,100]{1,0:T(8,128)} bitcast(%x.1)",
        "%b = f32[5,100]{1,0:T(8,128)S(1)} fusion(%x.1), kind=kLoop",
        "%g = f32[5,100]{1,0:T(8,128)} get-tuple-element(%t), index=0",
        "%c = (f32[5,100]{1,0:T(8,128)S(1)}, f32[5,100]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(%x.1)",
        "%c = f32[5,100]{1,0:T(8,128)} copy-done(%c.1)",
        "%t = token[] after-all()",
    ],
)
def test_whole_tiles_and_what_lies_elsewhere_waste_nothing(line: str) -> None:
    assert padding(module(line), {}) == ()


@pytest.mark.parametrize(
    ("line", "sizes"),
    [
        ("%x.1 = f32[5,100]{1,0:T(8,128)} parameter(0)", (2000, 4096)),
        ("%w.1 = f32[100,7]{0,1:T(8,128)} parameter(1)", (2800, 4096)),
        ("%x.1 = f32[7]{0:T(128)} parameter(0)", (28, 512)),
        ("%x.1 = bf16[3,128]{1,0:T(4,128)(2,1)} parameter(0)", (768, 1024)),
        ("%x.1 = pred[2,5,100]{2,1,0:T(8,128)(4,1)} parameter(0)", (1000, 2048)),
        ("%x.1 = f32[64,3,64,64]{0,3,2,1:T(8,128)} parameter(0)", (3145728, 6291456)),
        ("%x.1 = f32[<=5,100]{1,0:T(8,128)} parameter(0)", (2000, 4096)),
        ("%x.1 = s4[5,100]{1,0:T(8,128)(8,1)E(4)} parameter(0)", (250, 512)),
    ],
)
def test_the_last_dimensions_are_filled_up_to_tiles(line: str, sizes: tuple[int, int]) -> None:
    (one,) = padding(module(line), {})
    assert (one.bytes, one.padded) == sizes
    assert one.role == "argument"
    assert one.waste == sizes[1] - sizes[0]
    assert one.share == one.waste / sizes[1]


def test_arrays_are_told_by_their_waste_with_role_and_line() -> None:
    text = module(
        '%x.1 = f32[5,100]{1,0:T(8,128)} parameter(0), sharding={replicated}, metadata={op_name="x"}',
        "%f = f32[5,1]{1,0:T(8,128)} fusion(%x.1), kind=kLoop,"
        ' metadata={op_name="jit(f)/tanh" stack_frame_id=3}, backend_config={"a":[]}',
        '%o = f32[7]{0:T(128)} reduce(%f), dimensions={0}, metadata={op_name="jit(f)/reduce_sum" stack_frame_id=1}',
        "ROOT %t = (f32[7]{0:T(128)}) tuple(%o)",
    )
    found = padding(text, {})
    assert [(one.array, one.role, one.what) for one in found] == [
        ("f32[5,1]", "temporary", "jit(f)/tanh"),
        ("f32[5,100]", "argument", "x"),
        ("f32[7]", "output", "jit(f)/reduce_sum"),
    ]
    assert found[0].layout == "{1,0:T(8,128)}"
    assert [one.place for one in found] == [
        Place("/home/me/step.py", 12, "Model.forward"),  # not the line of flax
        None,
        Place("/home/me/step.py", 40, "<module>"),
    ]


def test_least_leaves_out_what_wastes_less() -> None:
    text = module(
        "%x.1 = f32[5,100]{1,0:T(8,128)} parameter(0)",
        "%y.1 = f32[7]{0:T(128)} parameter(1)",
    )
    assert [one.array for one in padding(text, {}, least=1000)] == ["f32[5,100]"]


LINES = {"k_1/dense/MatMul": Place("/home/me/model.py", 9, "call")}


@pytest.mark.parametrize(
    ("metadata", "place"),
    [
        ('op_name="k_1/dense/MatMul"', LINES["k_1/dense/MatMul"]),
        ('op_name="jit(call)/k_1/dense/MatMul/dot_general"', LINES["k_1/dense/MatMul"]),
        ('op_name="elsewhere" source_file="/home/me/a.py" source_line=3', Place("/home/me/a.py", 3)),
        (
            'op_name="k_1/dense/MatMul" source_file="/v/site-packages/tensorflow/ops.py" source_line=3',
            LINES["k_1/dense/MatMul"],
        ),
        ('op_name="MatMul"', None),
        ("", None),
    ],
)
def test_an_operation_has_its_line_by_source_or_by_name(metadata: str, place: Place | None) -> None:
    (one,) = padding(module(f"%f = f32[5,100]{{1,0:T(8,128)}} fusion(%x), metadata={{{metadata}}}"), LINES)
    assert one.place == place


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("RESOURCE_EXHAUSTED: Ran out of memory on HBM, 149G exceeds 15.75G. HLO module: jit_big.", None),
        (
            "no emitter\n\nSuspected Python Code Location:\n"
            "  /v/site-packages/jax/api.py:3:1 [jit]\n  /home/me/e.py:6:85 [f]\n  /home/me/e.py:8:12 [<module>]",
            Place("/home/me/e.py", 6, "f"),
        ),
        (
            'cannot rewrite %e = f32[4]{0} custom-call(%x), metadata={op_name="k_1/dense/MatMul"}',
            LINES["k_1/dense/MatMul"],
        ),
        ('loc("XLA_Retvals"): failed; loc("k_1/dense/MatMul"): failed to legalize', LINES["k_1/dense/MatMul"]),
    ],
)
def test_an_error_belongs_to_the_line_that_it_names(message: str, place: Place | None) -> None:
    assert find_blamed_line(message, LINES) == place


def test_text_of_another_form_has_no_padding() -> None:
    assert padding("", {}) == ()
    assert padding("HloModule x\n", {}) == ()
