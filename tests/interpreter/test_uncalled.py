"""Functions that nothing in a program calls: what they cost is information, and it says so; what a library offers costs its users."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.config import Settings
from xlalint.diagnostics.finding import Finding
from xlalint.project import check_paths
from xlalint.project.session import Session

HEAD = "import torch\nfrom torch import nn\n"
READ = HEAD + "def read(y: torch.Tensor):\n    return float(y.max())\n"
LOSS = HEAD + "class Loss(nn.Module):\n    def forward(self, x, keep):\n        return x[keep > 0].sum()\n"
BOX = HEAD + "class Box:\n    def read(self, y: torch.Tensor):\n        return float(y.max())\n"
TOP = HEAD + (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.w = nn.Parameter(torch.ones(3))\n"
    "    @property\n    def top(self):\n        return self.w.max().item()\n"
)
MAIN = "if __name__ == '__main__':\n    main()\n"
RUN = "def main():\n    print('begins')\n"
WORDS = "in code that nothing in this program calls"

CALLED: dict[str, dict[str, str]] = {
    "by nothing, where no script begins": {"part.py": READ},
    "by nothing, where what is written for a device does nothing": {"part.py": READ + "where = torch.device('tpu')\n"},
    "by nothing, in a package": {"lib/__init__.py": "", "lib/part.py": READ, "lib/run.py": RUN + MAIN},
    "by nothing, in a module that nothing imports": {"part.py": READ, "run.py": RUN + MAIN},
    "by a script": {"part.py": READ, "run.py": "from part import read\nread(load())\n" + RUN + MAIN},
    "by what a script calls": {"part.py": READ, "run.py": "import part\ndef main():\n    part.read(load())\n" + MAIN},
    "by itself and another": {
        "part.py": READ + "def more(y):\n    return read(y)\n",
        "run.py": "from part import more\ndef main():\n    more(load())\n" + MAIN,
    },
    "by what is handed to something": {
        "part.py": READ,
        "run.py": "from part import read\ndef main():\n    apply(read)\n" + MAIN,
    },
    "by a function that imports it": {
        "part.py": READ,
        "run.py": "def main():\n    from part import read\n    read(load())\n" + MAIN,
    },
    "by nothing, in a module that no function imports either": {
        "part.py": READ,
        "other.py": RUN,
        "run.py": "def main(part):\n    from other import main\n    main(part)\n" + MAIN,
    },
    "by another name": {
        "part.py": READ,
        "run.py": "from part import read as take\ndef main():\n    take(load())\n" + MAIN,
    },
    "by its name in a table": {"part.py": READ + "ALL = {'max': read}\n", "run.py": RUN + MAIN},
    "by a text": {"part.py": READ, "run.py": "def main():\n    call('read')\n" + MAIN},
    "by a name that is put together": {
        "part.py": READ,
        "run.py": "import part\ndef main(name):\n    getattr(part, name)(load())\n" + MAIN,
    },
    "by a text that is evaluated": {
        "part.py": READ,
        "run.py": "from part import *\ndef main(name):\n    eval(name)(load())\n" + MAIN,
    },
    "by a module that is found by its name": {
        "part.py": READ,
        "run.py": "import part\nfrom importlib import import_module\ndef main(name, asked):\n    getattr(import_module(name), asked)()\n"
        + MAIN,
    },
    "by a module that is found by a name that begins so": {
        "parts/__init__.py": "",
        "parts/part.py": READ,
        "run.py": "import parts.part, importlib\ndef main(n, asked):\n    m = importlib.import_module(f'parts.{n}')\n    vars(m)[asked]()\n"
        + MAIN,
    },
    "by a module that is found and handed on": {
        "part.py": READ,
        "run.py": "import part, importlib\ndef find(name):\n    return importlib.import_module(name)\n"
        "def main(name, asked):\n    getattr(find(name), asked)()\n" + MAIN,
    },
    "as a class of a module that others import from, that is found by its name": {
        "part.py": LOSS + "def other(x):\n    return x\n",
        "run.py": "from part import other\nimport importlib\ndef main(name, asked):\n    other(3)\n"
        "    getattr(importlib.import_module(name), asked)()\n" + MAIN,
    },
    "by its name among what a module has that others import from": {
        "part.py": READ + "def other(x):\n    return x\n",
        "run.py": "from part import other\nimport part, importlib\ndef main(name, asked):\n    other(3)\n    getattr(part, asked)()\n"
        "    getattr(importlib.import_module(name), asked)()\n" + MAIN,
    },
    "by a text that is evaluated where it is imported": {
        "part.py": READ,
        "run.py": "from part import read\ndef main(name):\n    eval(name)(load())\n" + MAIN,
    },
    "by a text that is evaluated where its module is imported": {
        "lib/__init__.py": "",
        "lib/part.py": READ,
        "run.py": "from lib import part\ndef main(name):\n    eval(name)(load())\n" + MAIN,
    },
    "where it was given another value": {
        "part.py": READ,
        "run.py": "import part\nfrom part import read\ndef main(y):\n    global read\n    read(y)\n    read = 3\n"
        + MAIN,
    },
    "beside another that has its name": {
        "part.py": READ,
        "other.py": "import part\ndef read(y):\n    return part.read(y)\ndef more(y):\n    return read(y)\n",
        "run.py": "import part, other\ndef main(y):\n    other.more(y)\n" + MAIN,
    },
    "by the name of a value, as an attribute": {
        "part.py": READ,
        "run.py": "import part\ndef main(y):\n    read = part.read(y)\n    print(read)\n" + MAIN,
    },
    "by its name among all that a module has": {
        "parts/__init__.py": "",
        "parts/part.py": READ,
        "run.py": "import parts.part, importlib\ndef main(n):\n    lib = importlib.import_module('parts.' + n)\n"
        "    for name, one in lib.__dict__.items():\n        if name.lower() == n:\n            one(load())\n" + MAIN,
    },
    "by a table of a module that is found": {
        "part.py": READ,
        "run.py": "import part, imp\ndef main(path, asked):\n    m = imp.load_source('', path)\n    m.__dict__[asked]()\n"
        + MAIN,
    },
    "by what is listed for others": {
        "part.py": "__all__ = ['read']\n" + READ,
        "run.py": "from part import *\ndef main():\n    read(load())\n" + MAIN,
    },
    "by what a configuration names": {
        "part.py": READ,
        "run.py": "def main(c):\n    hydra.utils.instantiate(c)\n" + MAIN,
    },
    "by who registers it": {"part.py": READ.replace("def read", "@register\ndef read"), "run.py": RUN + MAIN},
    "by who installs the package": {
        "setup.py": "from setuptools import setup\nsetup(name='lib')\n",
        "lib/__init__.py": "",
        "lib/part.py": READ,
        "run.py": RUN + MAIN,
    },
    "by who imports it from the package": {
        "lib/__init__.py": "from lib.part import read\n",
        "lib/part.py": READ,
        "run.py": RUN + MAIN,
    },
    "as a module that a script makes": {
        "part.py": LOSS,
        "run.py": "from part import Loss\ndef main():\n    return Loss()\n" + MAIN,
    },
    "as the base of a module": {
        "part.py": LOSS + "class Other(Loss):\n    pass\n",
        "run.py": "from part import Other\ndef main():\n    return Other()\n" + MAIN,
    },
    "as a hook of a framework": {
        "part.py": "import lightning\n" + BOX.replace("Box:", "Box(lightning.LightningModule):"),
        "run.py": RUN + MAIN,
    },
    "as a method that is looked up": {
        "part.py": BOX + "    def run(self, name):\n        return getattr(self, name)()\n",
        "run.py": "from part import Box\ndef main(n):\n    Box().run(n)\n" + MAIN,
    },
}
UNCALLED: dict[str, dict[str, str]] = {
    "in a script": {"run.py": READ + RUN + MAIN},
    "as a property": {"run.py": TOP + RUN.replace("'begins'", "Net()") + MAIN},
    "in a module of a program": {"part.py": READ, "run.py": "import part\n" + RUN + MAIN},
    "in a package of a program": {
        "lib/__init__.py": "",
        "lib/part.py": READ,
        "run.py": "import lib.part\n" + RUN + MAIN,
    },
    "that is imported, and no more": {"part.py": READ, "run.py": "from part import read\n" + RUN + MAIN},
    "that only itself calls": {
        "part.py": READ.replace("float(", "read(y) + float("),
        "run.py": "import part\n" + RUN + MAIN,
    },
    "in a module that a function imports": {
        "part.py": READ,
        "run.py": "def main():\n    from part import other\n    other(3)\n" + MAIN,
    },
    "in a module of a package that a function imports": {
        "models/__init__.py": "def make(name):\n    if name == 'part':\n        from .part import other\n        return other()\n",
        "models/part.py": READ,
        "run.py": "from models import make\ndef main():\n    make('part')\n" + MAIN,
    },
    "in a module that is imported by a star": {"part.py": READ, "run.py": "from part import *\n" + RUN + MAIN},
    "that only what nothing calls calls": {
        "part.py": READ + "def more(y):\n    return read(y)\n",
        "run.py": "import part\n" + RUN + MAIN,
    },
    "where a library is asked by a name": {
        "part.py": READ,
        "run.py": "import part\nimport torch\ndef main(name):\n    getattr(torch, name)()\n" + MAIN,
    },
    "in a package beside the one that is installed": {
        "setup.py": "from setuptools import setup\nsetup(name='lib')\n",
        "lib/__init__.py": "",
        "tools/models/__init__.py": "",
        "tools/models/part.py": READ,
        "tools/run.py": "import models.part\n" + RUN + MAIN,
    },
    "where modules are imported for what they register": {
        "part.py": READ,
        "run.py": "import part, importlib\ndef main(names):\n    for name in names:\n        importlib.import_module(name)\n"
        + MAIN,
    },
    "where others are found by a name that begins otherwise": {
        "part.py": READ,
        "run.py": "import part, importlib\ndef main(n):\n    return importlib.import_module('models.' + n).make()\n"
        + MAIN,
    },
    "where what is taken of modules that are found is spelled out": {
        "part.py": READ,
        "run.py": "import part, importlib\ndef main(name):\n    m = importlib.import_module(name)\n"
        "    if hasattr(m, 'Net'):\n        m.Net()\n    importlib.import_module(name).Other()\n" + MAIN,
    },
    "where others are found by a name of which nothing is known": {
        "part.py": READ + "def other(x):\n    return x\n",
        "run.py": "from part import other\nimport importlib\ndef main(name, asked):\n    other(3)\n"
        "    getattr(importlib.import_module(name), asked)()\n" + MAIN,
    },
    "in a module from which others have what a text may name": {
        "part.py": READ + "def other(x):\n    return x\n",
        "run.py": "from part import other\ndef main(text):\n    other(eval(text))\n" + MAIN,
    },
    "where a value has its name": {
        "part.py": READ,
        "run.py": "import part\ndef main(y):\n    read = y + 1\n    print(read)\n" + MAIN,
    },
    "where another module calls its own by its name": {
        "part.py": READ,
        "other.py": "def read(y):\n    return y\ndef more(y):\n    return read(y)\n",
        "run.py": "import part, other\ndef main(y):\n    other.more(y)\n" + MAIN,
    },
    "where a parameter has its name": {
        "part.py": READ,
        "run.py": "import part\ndef main(read):\n    print(read)\n" + MAIN,
    },
    "that is listed for others": {
        "part.py": "__all__ = ['read']\n" + READ,
        "run.py": "from part import *\n" + RUN + MAIN,
    },
    "of a class that is written as an object": {
        "part.py": BOX.replace("Box:", "Box(object):"),
        "run.py": "from part import Box\ndef main():\n    Box()\n" + MAIN,
    },
    "of a module that is never made": {"part.py": LOSS, "run.py": "import part\n" + RUN + MAIN},
    "of a class that is never made, by a name that others have": {
        "part.py": BOX,
        "run.py": "import part\ndef main(other):\n    other.read(3)\n" + MAIN,
    },
    "of a class": {"part.py": BOX, "run.py": "from part import Box\ndef main():\n    Box()\n" + MAIN},
}


def check(folder: Path, files: dict[str, str]) -> list[Finding]:
    """Check a program of several files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    report = check_paths([folder], Settings(target="torch_xla", show_info=True))
    assert not report.failures
    return [one for one in report.findings if one.code in ("XLA301", "XLA201")]


@pytest.mark.parametrize("name", CALLED)
def test_what_something_may_call_costs(name: str, tmp_path: Path) -> None:
    found = check(tmp_path, CALLED[name])
    assert found
    assert not any(WORDS in one.message for one in found)


@pytest.mark.parametrize("name", UNCALLED)
def test_what_nothing_calls_is_information(name: str, tmp_path: Path) -> None:
    found = check(tmp_path, UNCALLED[name])
    assert found
    assert all(WORDS in one.message for one in found)
    assert {one.severity for one in found} == {"info"}


def test_what_is_called_by_code_that_runs_and_by_code_that_does_not(tmp_path: Path) -> None:
    text = READ + "def unused(y):\n    return read(y)\ndef main():\n    for y in load():\n        read(y)\n" + MAIN
    assert [(one.frequency, one.severity) for one in check(tmp_path, {"run.py": text})] == [("call", "warning")]


def test_a_name_that_is_added_to_a_function_calls_what_nothing_called(tmp_path: Path) -> None:
    (tmp_path / "part.py").write_text(READ)
    path = tmp_path / "run.py"
    idle = "import part\ndef main(y):\n    print(y)\n" + MAIN
    path.write_text(idle)
    session = Session([tmp_path], Settings(target="torch_xla", show_info=True))
    session.load()
    found = []
    for text in (idle, idle.replace("print(y)", "apply(part.read)"), idle):
        session.change(str(path), text.encode())
        found.append([one.severity for one in session.report().findings])
    assert found == [["info"], ["warning"], ["info"]]


def test_a_function_that_begins_to_import_a_module_makes_it_a_part_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "part.py").write_text(READ)
    path = tmp_path / "run.py"
    alone = "def main():\n    print(2)\n" + MAIN
    path.write_text(alone)
    session = Session([tmp_path], Settings(target="torch_xla", show_info=True))
    session.load()
    found = []
    for text in (alone, alone.replace("print(2)", "import part"), alone):
        session.change(str(path), text.encode())
        found.append([one.severity for one in session.report().findings])
    assert found == [["warning"], ["info"], ["warning"]]


STEPS = (
    "def main(net, batches, optimizer):\n    for x in batches:\n        loss = net(x.to('cuda')).sum()\n        loss.backward()\n"
    "        optimizer.step()\n        {}\n"
)
GIVEN = "only if it is given what is on the device"
MASK = READ.replace("float(y.max())", "y[y > 0]")
SCRIPT = "for one in pickle.load(path):\n    read(one)\n"
NET = "class Net(nn.Module):\n    def forward(self, x):\n        return read(x)\nNet()\n"
HOOKS = "import lightning\nclass Net(lightning.LightningModule):\n    def training_step(self, x):\n        return read(x)\nNet()\n"
EVALUATING = "def test(net, batches):\n    net.eval()\n    for x in batches:\n        read(net(x.to('cuda')))\n"
KEEPS = "    def run(self, name):\n        return getattr(self, name).shape\nBox()\n"
GETS = "    def run(self, name):\n        return getattr(self, name)()\nBox()\n"
APART = "in code to which no step of this program leads"


@pytest.mark.parametrize(
    ("part", "step", "script", "severity"),
    [
        pytest.param(READ, "read(loss)", SCRIPT, "warning", id="by steps"),
        pytest.param(READ, "apply(read)", "", "warning", id="by what steps hand it to"),
        pytest.param(READ, "more(loss)", "def more(y):\n    return read(y)\n", "warning", id="by what steps call"),
        pytest.param(READ, "pass", "apply(read)\n", "warning", id="by who knows what"),
        pytest.param(READ, "pass", "ALL = {'max': read}\n", "warning", id="by its name in a table"),
        pytest.param(READ, "pass", "getattr(part, name)()\n", "warning", id="by a name that is put together"),
        pytest.param(MASK, "pass", "@register\ndef more(y):\n    read(y)\n", "warning", id="by what is decorated"),
        pytest.param(MASK, "pass", NET, "warning", id="by a model"),
        pytest.param(MASK, "pass", HOOKS, "warning", id="by what a framework calls"),
        pytest.param(MASK, "pass", EVALUATING, "warning", id="by evaluations"),
        pytest.param(BOX, "Box().read(loss)", "", "warning", id="a method by steps"),
        pytest.param(BOX + GETS, "pass", "", "warning", id="a method of what looks its methods up"),
        pytest.param(BOX + KEEPS, "pass", "", "info", id="a method of what looks attributes up"),
        pytest.param(READ, "pass", SCRIPT, "info", id="by the host"),
        pytest.param(MASK, "pass", SCRIPT, "info", id="by the host, no reading"),
        pytest.param(BOX, "pass", SCRIPT.replace("read(", "Box().read("), "info", id="a method by the host"),
    ],
)
def test_to_what_no_step_leads_is_information(part: str, step: str, script: str, severity: str, tmp_path: Path) -> None:
    run = (
        "import part, pickle\nfrom part import *\n"
        + STEPS.format(step)
        + script
        + "if __name__ == '__main__':\n    main(1, 2, 3)\n"
    )
    found = [one for one in check(tmp_path, {"part.py": part, "run.py": run}) if one.filename.endswith("part.py")]
    assert [(one.severity, APART in one.message) for one in found] == [(severity, severity == "info")]


@pytest.mark.parametrize(
    ("setup", "severity"),
    [
        pytest.param({"setup.py": "from setuptools import setup\nsetup(name='lib')\n"}, "warning", id="of a library"),
        pytest.param({}, "info", id="of a program"),
    ],
)
def test_others_call_what_a_library_offers(setup: dict[str, str], severity: str, tmp_path: Path) -> None:
    run = "from lib.part import read\n" + STEPS.format("pass") + MAIN.replace("main()", "main(1, 2, 3)")
    files = {"lib/__init__.py": "", "lib/part.py": MASK, "run.py": run, **setup}
    found = [one for one in check(tmp_path, files) if one.filename.endswith("part.py")]
    assert [one.severity for one in found] == [severity]


SCRIPTS = {
    "that shows what it offers": (RUN + MAIN, "warning"),
    "that trains": (HEAD + STEPS.format("pass") + MAIN.replace("main()", "main(1, 2, 3)"), "info"),
}


@pytest.mark.parametrize("case", SCRIPTS)
def test_a_script_in_a_package(case: str, tmp_path: Path) -> None:
    text, severity = SCRIPTS[case]
    files = {"lib/__init__.py": "", "lib/part.py": READ, "lib/run.py": "from lib.part import read\n" + text}
    found = [one for one in check(tmp_path, files) if one.filename.endswith("part.py")]
    assert [one.severity for one in found] == [severity]


def test_scripts_beside_a_library_that_trains_are_no_program(tmp_path: Path) -> None:
    trains = HEAD + STEPS.format("pass") + "def offer(y: torch.Tensor):\n    return float(y.max())\n"
    found = check(
        tmp_path, {"lib/__init__.py": "from lib.part import offer\n", "lib/part.py": trains, "run.py": RUN + MAIN}
    )
    assert [one.severity for one in found if one.code == "XLA302" or one.code == "XLA301"] == ["warning"]


def test_without_loops_over_steps_all_that_takes_tensors_counts(tmp_path: Path) -> None:
    run = (
        "from part import read\nimport pickle\ndef main():\n    for one in pickle.load(path):\n        read(one)\n"
        + MAIN
    )
    (found,) = check(tmp_path, {"part.py": READ, "run.py": run})
    assert found.severity == "warning"
