"""Functions of a program by when it calls them: what only sets models up, and what only data sets call, costs no step."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.config import Settings
from xlalint.project import check_paths
from xlalint.project.session import Session

HEAD = "import torch\nfrom torch import nn\nfrom torch.utils.data import Dataset\n"
READ = "def read(y: torch.Tensor):\n    return float(y.max())\n"
MODEL = (
    "class Model(nn.Module):\n    def __init__(self, y):\n        super().__init__()\n        self.scale = read(y)\n"
)
DATA = "class Data(Dataset):\n    def __getitem__(self, i):\n        return read(torch.rand(8))\n"

MAIN = "if __name__ == '__main__':\n"
SCALE = "class Scale:\n    def __call__(self, y):\n        return y / read(y)\n"
BOTH = (
    SCALE + "class Both:\n    def __init__(self):\n        self.all = Compose([Scale()])\n"
    "    def __call__(self, y):\n        return self.all(y)\n"
)
TRANSFORMED = READ + DATA.replace("read(torch.rand(8))", "self.change(torch.rand(8))")

AT_EACH_CALL = {
    "that nothing calls": READ,
    "that a function calls which nothing calls": READ + "def use(y):\n    return read(y)\n",
    "that a loss calls, and a data set": READ + DATA + "def loss(y):\n    return read(y) + 1\n",
    "that an object calls as it is made": READ
    + "class Box:\n    def __init__(self, y):\n        self.size = read(y)\n",
    "that an object calls which counts what it has": READ
    + "class Box:\n    def __len__(self):\n        return 8\n    def __getitem__(self, i):\n        return read(self.rows[i])\n",
    "that a script calls in a loop": READ + "for y in load():\n    read(y)\n",
    "that an object calls which a data set is given, and a loss": TRANSFORMED
    + SCALE
    + f"def loss(y):\n    return Scale()(y) + 1\n{MAIN}    data = Data(Scale())\n",
    "that an object calls which a data set is given, and a name is kept of": TRANSFORMED
    + SCALE
    + f"{MAIN}    scale = Scale()\n    data = Data(scale)\n    show(scale)\n",
    "that a script calls in a comprehension": READ + "found = [read(y) for y in load()]\n",
    "that what a script calls has in a loop": READ
    + "def main(batches):\n    for y in batches:\n        read(y)\n"
    + "if __name__ == '__main__':\n    main(load())\n",
}
SELDOM = {
    "that only a model's constructor calls": READ + MODEL,
    "that a method calls which only the constructor does": READ
    + "class Model(nn.Module):\n    def __init__(self, y):\n        super().__init__()\n        self.prepare(y)\n"
    + "    def prepare(self, y):\n        self.scale = read(y)\n",
    "that a base's method calls, which the constructor does": READ
    + "class Base(nn.Module):\n    def __init__(self, y):\n        super().__init__()\n        self.prepare(y)\n"
    + "    def prepare(self, y):\n        self.scale = read(y)\n"
    + "class Model(Base):\n    def prepare(self, y):\n        super().prepare(y)\n",
    "that a script calls once": READ + "scale = read(load())\n",
    "that the steps of a script call": READ
    + "def main(y):\n    return read(y)\nif __name__ == '__main__':\n    main(load())\n",
}
OF_DATA = {
    "that only a data set calls": READ + DATA,
    "that what gives each of its items calls": "from corpora import Corpus\n"
    + READ
    + "class Data(Corpus):\n    def __len__(self):\n        return 8\n    def __getitem__(self, i):\n        return self.rows[i]\n"
    + "    def collater(self, rows):\n        return read(rows)\n",
    "that a data set calls by another function": READ
    + DATA.replace("read(", "draw(")
    + "def draw(y):\n    return read(y)\n",
    "that a data set of another library calls": READ
    + "from fairseq.data import FairseqDataset\nclass Data(FairseqDataset):\n"
    + "    def collater(self, examples):\n        return read(examples[0])\n",
    "that a data module calls": READ
    + "from pytorch_lightning import LightningDataModule\nclass Data(LightningDataModule):\n"
    + "    def setup(self, stage):\n        self.kept = read(load())\n",
    "that an object calls which only a data set is given": TRANSFORMED
    + SCALE
    + f"{MAIN}    data = Data(change=Scale())\n",
    "that an object calls, under a name, which only a data set is given": TRANSFORMED
    + SCALE
    + f"{MAIN}    scale = Scale()\n    data = Data(scale)\n",
    "that an object calls which others compose": TRANSFORMED + BOTH + f"{MAIN}    data = Data(Both())\n",
    "that a data set calls by a method": READ
    + "class Data(Dataset):\n    def __getitem__(self, i):\n        return self.get(i)\n"
    + "    def get(self, i):\n        return read(torch.rand(8))\n",
}


def often(folder: Path, text: str) -> list[str | None]:
    """List how often each finding costs in `read`, which is in a file of its own."""
    place = text.index(READ)
    (folder / "reading.py").write_text(HEAD + READ)
    (folder / "using.py").write_text(f"{HEAD}from reading import read\n{text[:place]}{text[place + len(READ) :]}")
    report = check_paths([folder], Settings(target="torch_xla", show_info=True))
    assert not report.failures
    return [finding.frequency for finding in report.findings if finding.filename.endswith("reading.py")]


@pytest.mark.parametrize("text", AT_EACH_CALL.values(), ids=AT_EACH_CALL)
def test_functions_that_steps_may_call(text: str, tmp_path: Path) -> None:
    assert often(tmp_path, text) == ["call"]


def test_a_function_that_a_model_calls_as_well(tmp_path: Path) -> None:
    text = READ + MODEL + "    def forward(self, x):\n        return x * read(self.other)\n"
    assert often(tmp_path, text) == ["step"]


@pytest.mark.parametrize("text", SELDOM.values(), ids=SELDOM)
def test_functions_that_set_something_up(text: str, tmp_path: Path) -> None:
    assert often(tmp_path, text) == ["run"]


@pytest.mark.parametrize("text", OF_DATA.values(), ids=OF_DATA)
def test_functions_that_prepare_data(text: str, tmp_path: Path) -> None:
    assert often(tmp_path, text) == []


def test_a_call_that_is_added_is_an_occasion(tmp_path: Path) -> None:
    (tmp_path / "reading.py").write_text(HEAD + READ)
    path = tmp_path / "using.py"
    seldom = f"{HEAD}from reading import read\n{MODEL}    def forward(self, x):\n        return x\n"
    path.write_text(seldom)
    options = Settings(target="torch_xla", show_info=True)
    session = Session([tmp_path], options)
    session.load()
    found = []
    for text in (seldom, seldom.replace("return x\n", "return x * read(self.other)\n"), seldom):
        session.change(str(path), text.encode())
        findings = session.report().findings
        assert [one.message for one in findings] == [
            one.message for one in check_paths([tmp_path], options, contents={str(path): text.encode()}).findings
        ]
        found.append([one.frequency for one in findings])
    assert found == [["run"], ["step"], ["run"]]


def test_only_modules_that_asked_for_an_occasion_are_analysed_again(tmp_path: Path) -> None:
    (tmp_path / "reading.py").write_text(HEAD + READ)
    for number in range(5):
        (tmp_path / f"other{number}.py").write_text(f"{HEAD}def total(x: torch.Tensor):\n    return x.sum().item()\n")
    path = tmp_path / "using.py"
    seldom = f"{HEAD}from reading import read\n{MODEL}    def forward(self, x):\n        return x\n"
    path.write_text(seldom)
    session = Session([tmp_path], Settings(target="torch_xla", show_info=True))
    session.load()
    session.report()
    session.change(str(path), seldom.replace("return x\n", "return x * read(self.other)\n").encode())
    assert session.unsettled(str(tmp_path / "reading.py"))
    assert not any(session.unsettled(str(tmp_path / f"other{number}.py")) for number in range(5))
