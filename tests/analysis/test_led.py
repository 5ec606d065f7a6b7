"""To which functions steps of a program lead: over the calls that were resolved, in whichever module's roots that was.

What takes tensors, and nothing else speaks for, costs where a step leads to it; elsewhere it is information, and says so.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.cache import Cache
from xlalint.config import Settings
from xlalint.diagnostics.finding import Finding
from xlalint.project import analysis, check_paths
from xlalint.project.session import Session

HEAD = "import torch\nfrom torch import nn\n"
# What steps, or a script, may lead to; its module is analysed before all others.
RATE = HEAD + "def rate(y: torch.Tensor, aux):\n    return y[y > 0].sum()\n"
RATER = HEAD + "class Rater:\n    def rate(self, y: torch.Tensor, aux):\n        return y[y > 0].sum()\n"
MATCH = HEAD + "class Matcher:\n    def __call__(self, y: torch.Tensor):\n        return y[y > 0].sum()\n"
BELOW = "from z_base import Base\n" + RATER.replace("class Rater:", "class Rater(Base):")
BASE = HEAD + (
    "class Base:\n    def score(self, x):\n        return self.rate(unknown(x), 1)\n    def rate(self, y, aux):\n        return y.sum()\n"
)
NET = (
    HEAD
    + "from a_part import *\nclass Net(nn.Module):\n    def __init__(self, given=None):\n        super().__init__()\n{}"
)
TRAIN = (
    "import pickle\nfrom net import Net\nfrom a_part import *\ndef train(batches, optimizer):\n    net = Net()\n    {}\n"
    "    for x, aux in batches:\n        loss = net(x.to('cuda'), aux)\n        loss.backward()\n        optimizer.step()\n"
    "if __name__ == '__main__':\n    train(pickle.load(open('x')), pickle.load(open('y')))\n"
)
FORWARD = "    def forward(self, x, aux):\n        return {}\n"
PASSES = "        self.given = given\n" + FORWARD
APART = "in code to which no step of this program leads"

NOT_LED = {
    "by nothing but a script": {
        "a_part.py": RATE,
        "net.py": PASSES.format("x"),
        "setup": "",
        "script": "rate(load(), 1)\n",
    },
    "by what is done before the loop": {"a_part.py": RATE, "net.py": PASSES.format("x"), "setup": "rate(load(), 1)"},
    "by what sets a model up": {
        "a_part.py": RATE,
        "net.py": "        self.given = rate(load(), 1)\n" + FORWARD.format("x"),
        "setup": "pass",
    },
    "by a function to which none leads": {
        "a_part.py": RATE + "def export(y):\n    return rate(y, 1)\n",
        "net.py": PASSES.format("x"),
        "script": "export(load())\n",
    },
    "by a method of which none is called": {
        "a_part.py": RATER,
        "net.py": PASSES.format("x"),
        "script": "Rater().rate(load(), 1)\n",
    },
    "by a test": {
        "a_part.py": RATE,
        "net.py": PASSES.format("x"),
        "script": "rate(load(), 1)\n",
        "test_part.py": "import pytest\nfrom a_part import rate\ndef test_rate():\n    for n in range(3):\n        rate(load(), n)\n",
    },
}
LED = {
    "by a model, with what nobody knows": {"a_part.py": RATE, "net.py": PASSES.format("rate(unknown(x), aux)")},
    "over another module": {
        "a_part.py": RATE,
        "between.py": "import a_part\ndef more(y):\n    return a_part.rate(unknown(y), 1)\n",
        "net.py": "        self.given = given\n    def forward(self, x, aux):\n        from between import more\n        return more(x)\n",
    },
    "by a method of what a model holds": {
        "a_part.py": RATER,
        "net.py": "        self.rater = Rater()\n" + FORWARD.format("self.rater.rate(unknown(x), aux)"),
    },
    "by calling what a model was given": {
        "a_part.py": MATCH,
        "net.py": PASSES.format("self.given(unknown(x))"),
        "setup": "net = Net(Matcher())",
    },
    "in place of what a class makes of it": {
        "a_part.py": BELOW,
        "z_base.py": BASE,
        "net.py": "        self.rater = Base()\n" + FORWARD.format("self.rater.score(x)"),
        "script": "Rater().rate(load(), 1)\n",
    },
    "by whoever has the model, at inference": {
        "a_part.py": RATER.replace("    def rate", "    @torch.no_grad()\n    def rate"),
        "net.py": PASSES.format("x"),
        "script": "apply(Rater().rate)\n",
    },
    "in a function that a step holds": {
        "a_part.py": RATE,
        "net.py": "        self.given = given\n    def forward(self, x, aux):\n        def inner(y):\n"
        "            return rate(unknown(y), aux)\n        return apply(inner, x)\n",
    },
    "by its name in a table": {"a_part.py": RATE + "ALL = {'rate': rate}\n", "net.py": PASSES.format("ALL[aux](x)")},
    "in the loop as well": {
        "a_part.py": RATE,
        "net.py": PASSES.format("rate(unknown(x), aux)"),
        "setup": "rate(load(), 1)",
        "script": "rate(load(), 1)\n",
    },
}


def lay_out(folder: Path, case: dict[str, str]) -> None:
    """Write a program: parts, a model, a script that trains it."""
    files = {name: text for name, text in case.items() if name.endswith(".py")}
    files["net.py"] = NET.format(files["net.py"])
    files["train.py"] = TRAIN.format(case.get("setup", "") or "pass") + "".join(
        f"    {line}\n" for line in case.get("script", "").splitlines()
    )
    for name, text in files.items():
        (folder / name).write_text(text)


def find(folder: Path, **options: object) -> list[Finding]:
    report = check_paths([folder], Settings(target="torch_xla", show_info=True), **options)  # type: ignore[arg-type]
    assert not report.failures
    return [one for one in report.findings if one.code == "XLA201" and one.filename.endswith("a_part.py")]


@pytest.mark.parametrize("name", NOT_LED)
def test_to_what_no_step_leads_is_information(name: str, tmp_path: Path) -> None:
    lay_out(tmp_path, NOT_LED[name])
    found = find(tmp_path)
    assert found
    assert {one.severity for one in found} == {"info"}


@pytest.mark.parametrize("name", LED)
def test_to_what_steps_lead_costs(name: str, tmp_path: Path) -> None:
    lay_out(tmp_path, LED[name])
    found = find(tmp_path)
    assert found
    assert {one.severity for one in found} == {"warning"}
    assert not any(APART in one.message for one in found)


@pytest.mark.parametrize(("cases", "severity"), [(LED, "warning"), (NOT_LED, "info")], ids=["led", "not led"])
def test_it_is_the_same_in_several_processes(
    cases: dict[str, dict[str, str]], severity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "_SMALLEST_SHARED", 0)
    lay_out(tmp_path, next(iter(cases.values())))
    assert [one.severity for one in find(tmp_path, jobs=2)] == [severity]


def test_what_is_kept_of_a_file_says_where_its_steps_lead(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.mkdir()
    lay_out(program, LED["by a model, with what nobody knows"])
    seen = []
    with Cache(tmp_path / "cache") as cache:
        for text in (RATE, RATE + "\n\nlimit = 3\n"):
            (program / "a_part.py").write_text(text)
            seen.append([one.severity for one in find(program, cache=cache)])
    assert seen == [["warning"], ["warning"]]


def test_a_call_that_is_added_leads_there(tmp_path: Path) -> None:
    lay_out(tmp_path, NOT_LED["by nothing but a script"])
    path = tmp_path / "net.py"
    alone = path.read_text()
    session = Session([tmp_path], Settings(target="torch_xla", show_info=True))
    session.load()
    found = []
    for text in (alone, alone.replace("return x\n", "return rate(unknown(x), aux)\n"), alone):
        session.change(str(path), text.encode())
        found.append([one.severity for one in session.report().findings if one.code == "XLA201"])
    assert found == [["info"], ["warning"], ["info"]]


HOOKED = (
    "import lightning\nfrom a_part import rate\n"
    "class Net(lightning.LightningModule):\n    def training_step(self, x):\n        return {}\n"
)
FITS = (
    "import lightning\nfrom net import Net\nfrom a_part import rate\n"
    "def main():\n    lightning.Trainer().fit(Net())\n    rate(load(), 1)\n"
)


@pytest.mark.parametrize(("step", "severity"), [("rate(unknown(x), 1)", "warning"), ("x.sum()", "info")])
def test_a_loop_of_a_framework_takes_steps_too(step: str, severity: str, tmp_path: Path) -> None:
    (tmp_path / "a_part.py").write_text(RATE)
    (tmp_path / "net.py").write_text(HOOKED.format(step))
    (tmp_path / "run.py").write_text(FITS + "if __name__ == '__main__':\n    main()\n")
    assert [one.severity for one in find(tmp_path)] == [severity]


# Its loop over steps is a library's: nothing but the model says what its steps are.
FITTED = (
    "import fitting\nfrom net import Net\nfrom a_part import *\n"
    "def main():\n    net = Net(load())\n    fitting.fit(net)\n    {}\nif __name__ == '__main__':\n    main()\n"
)
NOT_FITTED = {
    "by nothing but a script": (RATE, PASSES.format("x"), "rate(load(), 1)"),
    "by a method that no step names": (RATER, PASSES.format("x"), "Rater().rate(load(), 1)"),
    "by a method of Python's own name": (
        RATER.replace("def rate", "def count"),
        PASSES.format("self.given.count(unknown(x), 1)"),
        "Rater().count(load(), 1)",
    ),
}
IS_FITTED = {
    "by a model": (RATE, PASSES.format("rate(unknown(x), aux)"), "pass"),
    "by a method of what nobody knows": (RATER, PASSES.format("self.given.rate(unknown(x), aux)"), "load(Rater)"),
    "by inference in a loop": (
        RATER,
        PASSES.format("x"),
        "load(Rater)\n    net.eval()\n    for x in load():\n        net(x.to('cuda')); load().rate(unknown(x), 1)",
    ),
}


def fit(folder: Path, case: tuple[str, str, str]) -> list[Finding]:
    for name, text in zip(
        ("a_part.py", "net.py", "run.py"), (case[0], NET.format(case[1]), FITTED.format(case[2])), strict=True
    ):
        (folder / name).write_text(text)
    return find(folder)


@pytest.mark.parametrize("name", NOT_FITTED)
def test_steps_of_a_librarys_loop_lead_to_little(name: str, tmp_path: Path) -> None:
    assert [one.severity for one in fit(tmp_path, NOT_FITTED[name])] == ["info"]


@pytest.mark.parametrize("name", IS_FITTED)
def test_steps_of_a_librarys_loop_lead_where_models_do(name: str, tmp_path: Path) -> None:
    assert [one.severity for one in fit(tmp_path, IS_FITTED[name])] == ["warning"]
