"""Two graphs of torch_xla, as XLA writes them, are compared: in what, and on which line, do they differ?"""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.verify.environment import OWN_GRAPHS, for_torch_xla
from xlalint.verify.meters.graphs import GraphLog, Instruction, difference, instructions, most_like
from xlalint.verify.model import Place

FILE = "/home/me/train.py"


def graph(*body: str) -> str:
    lines = "\n".join(f"  {line}" for line in body)
    return f"HloModule IrToHlo.9\n\nENTRY %IrToHlo.9 (p0.1: f32[8,4]) -> (f32[8,4]) {{\n{lines}\n}}\n"


def line(text: str, operation: str, number: int, file: str = FILE) -> str:
    named = operation.replace("::", "__")
    return f'{text}, metadata={{op_type="{named}" op_name="{named}" source_file="{file}" source_line={number}}}'


PARAMETER = line("%p0.1 = f32[8,4]{1,0} parameter(0)", "xla::device_data", 3)


def cut(rows: int, number: int = 4) -> str:
    text = f"%slice.2 = f32[{rows},4]{{1,0}} slice(f32[8,4]{{1,0}} %p0.1), slice={{[0:{rows}], [0:4]}}"
    return line(text, "xla::select", number)


def constant(value: str, number: int, file: str = FILE) -> str:
    return line(f"%constant.3 = f32[] constant({value})", "prim::Constant", number, file)


def power(file: str = FILE) -> str:
    text = "%power.4 = f32[8,4]{1,0} power(f32[8,4]{1,0} %p0.1, f32[] %constant.3)"
    return line(text, "aten::pow", 45, file)


TORCH = "/venv/lib/python3.12/site-packages/torch/_tensor.py"


def nowhere(operation: str) -> None:
    return None


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(graph(PARAMETER, cut(2)), graph(PARAMETER, cut(2, number=9)), ("", None), id="lines moved only"),
        pytest.param(graph(PARAMETER), graph(PARAMETER.replace("p0.1", "p0.7")), ("", None), id="names only"),
        pytest.param(graph(), graph(PARAMETER), ("", None), id="nothing to compare with"),
        pytest.param(
            graph(PARAMETER, cut(2)), graph(PARAMETER, cut(3)), ("xla::select: f32[3,4] was f32[2,4]", 4), id="shape"
        ),
        pytest.param(
            graph(PARAMETER, constant("2", 7)),
            graph(PARAMETER, constant("3", 7)),
            ("constant: 3 was 2", 7),
            id="constant",
        ),
        pytest.param(
            graph(constant("2", 7), PARAMETER, cut(2)),
            graph(constant("3", 7), PARAMETER, cut(3)),
            ("xla::select: f32[3,4] was f32[2,4]", 4),
            id="an operation before what it is given",
        ),
        pytest.param(
            graph(PARAMETER, cut(2)),
            graph(PARAMETER),
            ("xla::select f32[2,4] is not computed", 4),
            id="computed no more",
        ),
    ],
)
def test_difference(before: str, after: str, expected: tuple[str, int | None]) -> None:
    words, place = difference(instructions(before), instructions(after), nowhere)
    assert (words, place.line if place else None) == expected


def test_a_line_of_the_framework_is_the_users_that_ran_the_operation() -> None:
    ran = Place(FILE, 12, "step")
    before, after = (instructions(graph(PARAMETER, constant(n, 45, TORCH), power(TORCH))) for n in "23")
    assert difference(before, after, {"aten::pow": ran}.get) == ("constant: 3 was 2", ran)


def named(*names: str) -> list[Instruction]:
    return [Instruction(name, name, "", None) for name in names]


@pytest.mark.parametrize(
    ("graph", "known", "expected"),
    [
        pytest.param("abcd", ["wxyz"], "", id="none is alike"),
        pytest.param("abcd", ["awxyz", "abc"], "abc", id="the one that shares most"),
        pytest.param("abcd", ["abce", "abcf"], "abcf", id="the newest of several"),
        pytest.param("abcd", [], "", id="none"),
    ],
)
def test_most_like(graph: str, known: list[str], expected: str) -> None:
    assert most_like(named(*graph), [named(*one) for one in known]) == named(*expected)


@pytest.mark.parametrize(
    ("name", "own"),
    [
        pytest.param(f"{OWN_GRAPHS}1", True, id="a folder for xlalint"),
        pytest.param(f"a b/{OWN_GRAPHS}1", True, id="a name with blanks"),
        pytest.param("dump", False, id="a user's own"),
    ],
)
def test_only_own_folders_are_read(name: str, own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")
    monkeypatch.setenv("XLA_FLAGS", for_torch_xla(str(tmp_path / name))["XLA_FLAGS"])
    assert (GraphLog.from_environment() is not None) == own


def test_flags_of_a_user_that_writes_graphs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=mine")
    assert "XLA_FLAGS" not in for_torch_xla("other")


def test_what_was_compiled_is_told_once_in_its_order(tmp_path: Path) -> None:
    for number, rows in ((10, 3), (9, 2)):
        name = f"module_{number:04}.SyncTensorsGraph.7"
        (tmp_path / f"{name}.before_optimizations.txt").write_text(graph(PARAMETER, cut(rows)))
        (tmp_path / f"{name}.cpu_after_optimizations.txt").write_text(graph(PARAMETER, cut(rows + 1)))
    log = GraphLog(tmp_path)
    assert log.explain_change(nowhere) == ("xla::select: f32[3,4] was f32[2,4]", Place(FILE, 4))
    assert list(tmp_path.iterdir()) == []
    assert log.explain_change(nowhere) == ("", None)
