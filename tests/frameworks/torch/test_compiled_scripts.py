"""Of a script that names what torch.compile compiles, nothing else is traced."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Loud
from xlalint.config.settings import Settings
from xlalint.project import check_paths

READS = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 1)

    def forward(self, x: torch.Tensor):
        return self.layer(x)

def evaluate(model, x: torch.Tensor):
    losses = torch.zeros(4)
    losses[0] = model(x).mean().item()
    return losses

model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
LOOP = """
for step in range(100):
    loss = model(torch.randn(4, 8)).mean()
    loss.backward()
    optimizer.step()
"""
INDENTED = LOOP.replace("\n", "\n    ")
SILENT = {
    "at the top of a script": f"{READS}\nmodel = torch.compile(model)\n{LOOP}",
    "where a flag says so": f"{READS}\nimport sys\nif sys.argv[1:]:\n    model = torch.compile(model)\n{LOOP}",
    "in the function that trains": f"{READS}\ndef main(model):\n    model = torch.compile(model){INDENTED}\n",
    "by the module's own method": f"{READS}\nmodel.compile(mode='default')\n{LOOP}",
    "what the loop reads": f"{READS}\nmodel = torch.compile(model)\n{LOOP}    print(loss.item())\n",
    "what the loop calls": f"{READS}\nmodel = torch.compile(model)\n{LOOP}    evaluate(model, torch.randn(4, 8))\n",
}
FOUND = {
    "nothing is compiled": f"{READS}\n{LOOP}",
    "a library that compiles one function": f"{READS}\nstep = torch.compile(Model())\n",
    "the loop of what is not compiled": f"{READS}\n{LOOP}    print(loss.item())\n",
    "a method of another library": f"{READS}\nmodel.compile(optimizer='adam')\n{LOOP}",
    "patterns": f"import re\n{READS}\nword = re.compile('a')\n{LOOP}",
}


@pytest.mark.parametrize("code", SILENT.values(), ids=list(SILENT))
def test_host_code_of_a_compiled_program_is_silent(code: str, loud: Loud) -> None:
    assert "XLA301" not in loud(code, "torch_compile")


@pytest.mark.parametrize("code", FOUND.values(), ids=list(FOUND))
def test_what_anyone_may_compile_is_judged(code: str, loud: Loud) -> None:
    assert "XLA301" in loud(code, "torch_compile")


def test_what_the_compiled_callable_reaches_counts(loud: Loud) -> None:
    code = SILENT["at the top of a script"].replace(
        "return self.layer(x)", "return self.layer(x) if x.sum() > 0 else x"
    )
    assert "XLA105" in loud(code, "torch_compile")


SCRIPT = """
import torch
from engine import Model

model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
%s
for step in range(100):
    loss = model(torch.randn(4, 8)).mean()
    loss.backward()
    optimizer.step()
"""
ENGINE = f"""{READS.partition("model = Model()")[0]}
class Descent(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(p.grad * p.grad.norm().item())
"""
ASIDE = ENGINE.replace("torch.nn", "torch.nn ")
BENCH = """
import torch
from engine import Model

def measure(x: torch.Tensor):
    return Model()(x).mean().item()
"""


def read_in(folder: Path, **files: str) -> set[str]:
    """The files of a program in which a read is found."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    report = check_paths([folder], Settings(target="torch_compile"))
    assert not report.failures
    return {Path(one.filename).stem for one in report.findings if one.code == "XLA301" and one.severity != "info"}


def test_what_a_script_imports_is_its_program(tmp_path: Path) -> None:
    assert read_in(tmp_path, train=SCRIPT % "model = torch.compile(model)", engine=ENGINE) == set()


def test_a_program_that_compiles_nothing(tmp_path: Path) -> None:
    assert read_in(tmp_path, train=SCRIPT % "", engine=ENGINE) == {"engine"}


def test_scripts_beside_the_one_that_compiles(tmp_path: Path) -> None:
    assert read_in(tmp_path, train=SCRIPT % "model = torch.compile(model)", engine=ENGINE, bench=BENCH) == set()


def test_what_no_script_leads_to(tmp_path: Path) -> None:
    assert read_in(tmp_path, train=SCRIPT % "model = torch.compile(model)", engine=ENGINE, aside=ASIDE) == {"aside"}


def test_a_script_whose_modules_compile(tmp_path: Path) -> None:
    start = "if __name__ == '__main__':\n    main()\n"
    body = (SCRIPT % "").replace("model = Model()", "model = make()").replace("import Model", "import make, evaluate")
    head, _, loop = body.partition("model = make()")
    loop = f"model = make(){loop.rstrip()}\n        evaluate(model, torch.randn(4, 8))"
    inside = (
        f"{head}\ndef main():\n    "
        + loop.replace("\n", "\n    ").replace("            evaluate", "        evaluate")
        + "\n"
    )
    plain = f"{ENGINE}\ndef make():\n    return Model()\n"
    made = plain.replace("return Model()", "return torch.compile(Model())")
    decorated = f"{plain}\n@torch.compile\ndef rate(x):\n    return x * 2\n"
    for engine in (made, decorated):
        assert read_in(tmp_path, train=inside + start, engine=engine) == set()
        assert read_in(tmp_path, train=inside, engine=engine) == {"engine"}
    assert read_in(tmp_path, train=inside + start, engine=plain) == {"engine"}


GENERATE = """
import torch
from engine import Model, evaluate

def main():
    step = %s
    print(evaluate(step, torch.randn(4, 8)))

if __name__ == "__main__":
    main()
"""


def test_a_script_that_infers(tmp_path: Path) -> None:
    assert read_in(tmp_path, generate=GENERATE % "torch.compile(Model())", engine=ENGINE) == set()
    assert read_in(tmp_path, generate=GENERATE % "Model()", engine=ENGINE) == {"engine"}


def test_a_script_that_infers_with_a_library(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("from parts.engine import Model, evaluate\n")
    (tmp_path / "parts" / "engine.py").write_text(ENGINE)
    script = (GENERATE % "torch.compile(Model())").replace("from engine", "from parts.engine")
    assert read_in(tmp_path, generate=script) == {"engine"}


def test_what_a_script_of_the_program_compiles_elsewhere(tmp_path: Path) -> None:
    reading = ENGINE.replace("return self.layer(x)", "return self.layer(x) * x.mean().item()")
    assert read_in(tmp_path, train=SCRIPT % "model = torch.compile(model)", engine=reading) == {"engine"}
