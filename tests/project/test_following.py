"""Installed packages that are not linted: their source says what calls give, and nothing is reported in it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from xlalint.cache import Cache
from xlalint.config import Settings
from xlalint.diagnostics.finding import Finding
from xlalint.project import check_paths, check_text, following
from xlalint.project.pipeline import Run

PACKAGES = "env/lib/python3.11/site-packages"
LIBRARY = {
    "lib/__init__.py": """
        from .core import Base, Record, pick, size
        from .deep import *
        from . import shapes

        __all__ = ["Base", "pick", "size"]
        """,
    "lib/core.py": """
        from dataclasses import dataclass

        import torch
        from torch import nn

        from .inner import doubled


        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("limit", torch.ones(3))
                self.width = 3

            def scaled(self, x):
                return x * 2


        @dataclass
        class Record:
            mask: torch.Tensor
            count: int


        def pick(x, strict=False):
            if strict and x.sum() > 0:
                return x
            return doubled(x)


        def size(x):
            return x.shape[0]


        def record(x):
            return Record(x, 1)
        """,
    "lib/inner.py": """
        import torch


        def doubled(x):
            return torch.relu(x)


        def checked(x: torch.Tensor):
            if x.isnan().any():
                raise ValueError("not a number")
            return x


        def compact(x: torch.Tensor):
            return checked(x) + 1
        """,
    "lib/deep.py": """
        import torch


        def masked(x, mask):
            return x[mask]


        def moved(x):
            return torch.softmax(x, -1)


        def sometimes(x, flags):
            if flags.slow:
                return x.item()
            return x
        """,
    "lib/shapes.py": """
        import torch


        def flat(x):
            return torch.flatten(x)
        """,
    "host/__init__.py": "from .reading import lines\n",
    "host/reading.py": "def lines(path):\n    return path.read_text().splitlines()\n",
    "broken/__init__.py": "def (:\n",
    "space/part/core.py": "import torch\n\n\ndef norm(x):\n    return torch.relu(x)\n",
}
HEAD = "import torch\nfrom torch import nn\n"

Check = Callable[..., list[Finding]]


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(dedent(text))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(tmp_path / PACKAGES, LIBRARY)
    (tmp_path / "src").mkdir()
    return tmp_path


@pytest.fixture
def check(project: Path) -> Check:
    """The findings in a module of some imports, and a `forward` that is given; `python` names the environment."""

    def run(imports: str, body: str = "return x", base: str = "nn.Module", **options: object) -> list[Finding]:
        lines = "".join(f"        {line}\n" for line in dedent(body).strip().splitlines())
        text = f"{HEAD}{imports}\n\nclass Model({base}):\n    def forward(self, x: torch.Tensor):\n{lines}"
        write(project, {"src/model.py": text})
        told = {"python": str(project / "env"), **options}
        report = check_paths([project / "src"], Settings(root=str(project), **told))  # type: ignore[arg-type]
        assert not report.failures
        assert {Path(finding.filename).name for finding in report.findings} <= {"model.py"}
        assert report.files == 1
        return report.findings

    return run


IF = "    return x\nreturn -x"


@pytest.mark.parametrize(
    ("imports", "body"),
    [
        pytest.param("from lib import size", f"if size(x) > 2:\n{IF}", id="host-value"),
        pytest.param("from lib.core import record", f"if record(x).count:\n{IF}", id="field-of-a-record"),
        pytest.param("from lib import Record", f"if Record(x, 2).count:\n{IF}", id="field-of-a-record-made-here"),
        pytest.param("from lib import gone", f"if gone(x):\n{IF}", id="name-not-there"),
        pytest.param("from lib.gone import pick", f"if pick(x):\n{IF}", id="module-not-there"),
        pytest.param("from gone import pick", f"if pick(x):\n{IF}", id="package-not-there"),
        pytest.param("from broken import pick", f"if pick(x):\n{IF}", id="broken-file"),
        pytest.param("from host import lines", f"if lines(x):\n{IF}", id="no-framework"),
        pytest.param("import lib", f"if lib.core.size(x):\n{IF}", id="through-the-module"),
        pytest.param("from lib import pick", "return pick(x)", id="read-that-is-switched-off"),
        pytest.param("from lib import sometimes", "return sometimes(x, self.flags)", id="read-that-may-not-be-reached"),
        pytest.param("from lib.inner import checked", "return checked(3)", id="read-of-no-tensor"),
        pytest.param("from lib.inner import checked", "return x\n\ndef reset(self):\n    checked(3)", id="not-called"),
    ],
)
def test_silent(check: Check, imports: str, body: str) -> None:
    assert check(imports, body) == []


@pytest.mark.parametrize(
    ("imports", "body"),
    [
        pytest.param("from lib import pick", f"if pick(x).sum() > 0:\n{IF}", id="re-exported"),
        pytest.param("from lib import moved", f"if moved(x).sum() > 0:\n{IF}", id="star"),
        pytest.param("import lib", f"if lib.pick(x).sum() > 0:\n{IF}", id="through-the-package"),
        pytest.param("import lib.inner", f"if lib.inner.doubled(x).sum() > 0:\n{IF}", id="through-a-submodule"),
        pytest.param("import lib.inner as i", f"if i.doubled(x).sum() > 0:\n{IF}", id="renamed"),
        pytest.param("from lib import shapes", f"if shapes.flat(x).any():\n{IF}", id="submodule-of-the-package"),
        pytest.param("from lib.core import record", f"if record(x).mask.any():\n{IF}", id="field-of-a-record"),
        pytest.param("from space.part.core import norm", f"if norm(x).any():\n{IF}", id="namespace-package"),
        pytest.param(
            "try:\n    from lib import pick\nexcept ImportError:\n    pick = None",
            f"if pick(x).sum() > 0:\n{IF}",
            id="tried",
        ),
    ],
)
def test_what_calls_give(check: Check, imports: str, body: str) -> None:
    assert [finding.code for finding in check(imports, body)] == ["XLA101"]
    assert check(imports, body, python=None) == []


def test_class_hierarchies(check: Check) -> None:
    found = check("from lib import Base", f"if self.limit.sum() > 1:\n{IF}", base="Base")
    assert [(finding.code, finding.trace[0].why) for finding in found] == [("XLA101", "Module.forward")]
    assert check("from lib import Base", f"if self.width > 1:\n{IF}", base="Base") == []
    assert [f.code for f in check("from lib import Base", f"if self.scaled(x).any():\n{IF}", base="Base")] == ["XLA101"]


@pytest.mark.parametrize(
    ("imports", "call", "inside"),
    [
        pytest.param(
            "from lib.inner import checked", "checked(x)", "`lib.inner.checked` (lib/inner.py:10)", id="called"
        ),
        pytest.param(
            "from lib.inner import compact", "compact(x)", "`lib.inner.checked` (lib/inner.py:10)", id="deeper"
        ),
        pytest.param("from lib import masked", "masked(x, x > 0)", "`lib.deep.masked` (lib/deep.py:6)", id="shape"),
        pytest.param("from lib import pick", "pick(x, True)", "`lib.core.pick` (lib/core.py:27)", id="switched-on"),
    ],
)
def test_the_call_pays(check: Check, imports: str, call: str, inside: str) -> None:
    (found,) = check(imports, f"return {call}")
    assert (found.code, found.confidence, found.location.row) == ("XLA305", "likely", 7)
    assert inside in found.message
    assert check(imports, f"return {call}", target="torch_compile") == []
    again = check(imports, f"y = {call}\nreturn y + {call}")
    assert [finding.location.row for finding in again] == [7, 8]


def test_a_call_can_be_suppressed(check: Check) -> None:
    assert check("from lib.inner import checked", "return checked(x)  # xlalint: ignore[XLA305]") == []


def test_text_from_standard_input_is_followed_too(project: Path) -> None:
    text = f"{HEAD}from lib import pick\n\n\ndef choose(x: torch.Tensor):\n    return 1 if pick(x).any() else 0\n"
    for python, codes in ((None, []), (str(project / "env"), ["XLA105"])):
        report = check_text(text, str(project / "src" / "m.py"), Settings(root=str(project), python=python))
        assert [finding.code for finding in report.findings] == codes


# ---------------------------------------------------------------------------------------------- what is followed


def followed(project: Path, source: str, **options: object) -> list[str]:
    """The names of the installed modules that a program leads to."""
    write(project, {"src/model.py": source})
    settings = Settings(root=str(project), python=str(project / "env"), **options)  # type: ignore[arg-type]
    _, units, _ = Run(settings, None, 1, None).program([project / "src"])
    return [unit.module for unit in units]


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        pytest.param("import lib", [], id="unused"),
        pytest.param("import lib\nlib.size(1)", ["lib", "lib.core", "lib.inner"], id="what-is-read-of-a-module"),
        pytest.param("from lib import pick\npick(1)", ["lib", "lib.core", "lib.inner"], id="what-that-uses"),
        pytest.param("from lib import shapes\nshapes.flat(1)", ["lib", "lib.shapes"], id="submodule"),
        pytest.param("from lib.deep import masked\nmasked(1)", ["lib.deep"], id="not-the-package-around"),
        pytest.param("import torch\ntorch.nn.Linear(1)", [], id="framework"),
        pytest.param("import torchvision\ntorchvision.ops.nms(1)", [], id="library-that-tables-describe"),
        pytest.param("import json\njson.loads(1)", [], id="standard-library"),
        pytest.param("from broken import x\nx()", [], id="broken"),
        pytest.param("from host import lines\nlines()", ["host"], id="no-framework"),
    ],
)
def test_what_is_followed(project: Path, source: str, modules: list[str]) -> None:
    stray = {"torch/nn.py": "", "torch/__init__.py": "from . import nn", "json/__init__.py": "import torch"}
    write(project / PACKAGES, {**stray, "torchvision/__init__.py": "import torch", "torch_only.py": ""})
    assert followed(project, source) == modules


def test_a_package_that_is_linted_is_not_followed(project: Path) -> None:
    write(project, {"src/lib/__init__.py": "", "src/lib/own.py": "import torch\n"})
    assert followed(project, "from lib.core import pick\npick(1)") == []


def test_what_a_table_describes_is_not_looked_up(project: Path, check: Check) -> None:
    write(
        project / PACKAGES,
        {"einops/__init__.py": "import torch\n\n\ndef rearrange(x, p):\n    return 1\n\n\ndef own(x):\n    return 1\n"},
    )
    body = f"if rearrange(x, 'a b -> b a').any():\n{IF}"
    assert [finding.code for finding in check("from einops import rearrange", body)] == ["XLA101"]
    assert [finding.code for finding in check("from einops import rearrange, own", f"own(x)\n{body}")] == ["XLA101"]
    assert followed(project, "from einops import rearrange\nrearrange(1)") == ["einops"]


@pytest.mark.parametrize(
    ("limit", "value", "modules"),
    [
        pytest.param("MAX_FILES", 0, [], id="no-files"),
        pytest.param("MAX_BYTES", 0, [], id="no-bytes"),
        pytest.param("MAX_DEPTH", 1, ["lib", "lib.core"], id="depth"),
    ],
)
def test_limits(project: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, modules: list[str]) -> None:
    monkeypatch.setattr(following, limit, value)
    assert followed(project, "from lib import pick\npick(1)") == modules


def test_many_stars_are_not_chased(project: Path) -> None:
    names = [f"part{number}" for number in range(following.MAX_STARS + 1)]
    write(project / PACKAGES, {f"wide/{name}.py": f"import torch\n\n\ndef of_{name}(x): ...\n" for name in names})
    write(project / PACKAGES, {"wide/__init__.py": "".join(f"from .{name} import *\n" for name in names)})
    assert followed(project, "from wide import of_part1\nof_part1(1)") == ["wide"]


def test_imports_in_a_circle_come_to_an_end(project: Path, check: Check) -> None:
    write(project / PACKAGES, {"a/__init__.py": "from b import name\n", "b/__init__.py": "from a import name\n"})
    assert check("from a import name", f"if name(x):\n{IF}") == []


def test_the_order_of_files_does_not_matter(project: Path) -> None:
    sources = {
        f"src/m{number}.py": f"{HEAD}from lib import {name}\n\n\nclass M(nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        f"        return 1 if {name}(x).any() else 2\n"
        for number, name in enumerate(("pick", "moved", "masked", "sometimes"))
    }
    write(project, sources)
    paths = [project / name for name in sources]
    settings = Settings(root=str(project), python=str(project / "env"))
    expected = check_paths(paths, settings).findings
    assert expected
    for seed in range(4):
        random.Random(seed).shuffle(paths)
        assert check_paths(paths, settings).findings == expected


# ---------------------------------------------------------------------------------------------------- incremental


CHANGES = {
    "a body": ("lib/inner.py", "return torch.relu(x)", "return x.shape[0]"),
    "a re-export": ("lib/__init__.py", "from .core import Base, Record, pick, size", "from .other import pick"),
    "a line above": ("lib/inner.py", "import torch", "# first\nimport torch"),
    "no framework any more": ("lib/inner.py", "import torch", "import json as torch"),
    "broken": ("lib/core.py", "def pick", "def def"),
}
USER = f"""{HEAD}from lib import pick
from lib.inner import checked


class Model(nn.Module):
    def forward(self, x: torch.Tensor):
        if pick(x) > 0:
            return checked(x)
        return x
"""


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_edit_of_an_installed_file_is_seen(project: Path, change: tuple[str, str, str]) -> None:
    name, old, new = change
    write(project, {"src/model.py": USER})
    settings = Settings(root=str(project), python=str(project / "env"))
    with Cache(project / "cache") as cache:
        before = check_paths([project / "src"], settings, cache=cache).findings
        assert [finding.code for finding in before] == ["XLA101", "XLA305"]
        file = project / PACKAGES / name
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))
        after = check_paths([project / "src"], settings, cache=cache).findings
    assert after != before
    assert after == check_paths([project / "src"], settings).findings


def test_modules_that_come_and_go_are_seen(project: Path) -> None:
    write(project, {"src/model.py": USER.replace("lib.inner", "late")})
    settings = Settings(root=str(project), python=str(project / "env"))
    with Cache(project / "cache") as cache:
        first = check_paths([project / "src"], settings, cache=cache).findings
        write(project / PACKAGES, {"late.py": LIBRARY["lib/inner.py"]})
        second = check_paths([project / "src"], settings, cache=cache).findings
        (project / PACKAGES / "late.py").unlink()
        third = check_paths([project / "src"], settings, cache=cache).findings
        nowhere = check_paths([project / "src"], Settings(root=str(project)), cache=cache).findings
    assert [len(found) for found in (first, second, third, nowhere)] == [1, 2, 1, 0]


def test_a_second_run_reads_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, {"src/model.py": USER})
    settings = Settings(root=str(project), python=str(project / "env"))
    with Cache(project / "cache") as cache:
        before = check_paths([project / "src"], settings, cache=cache)
        monkeypatch.setattr(Run, "_lower", None)
        assert check_paths([project / "src"], settings, cache=cache) == before
