"""Functions whose loops need values on the host: their inputs are copied once."""

from __future__ import annotations

import textwrap

import pytest

from tests.fixes.fixing import PATH, fixed
from xlalint.config import Settings
from xlalint.project import check_text
from xlalint.project.rewriting import Memory

HEAD = '''import itertools

import torch
from torch import nn

TABLE = torch.zeros(4)


def grid(start: int, size: torch.Tensor) -> torch.Tensor:
    """Places of an image."""
    height, width = size[0].item(), size[1].item()
    return torch.arange(start, start + height * width)


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x.mul_(2)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 4)
        self.register_buffer("offsets", torch.zeros(4))
        self.kept = None

    def forward(self, ids: torch.Tensor, sizes: torch.Tensor, mask: torch.Tensor):
        return self.place(ids, sizes, mask)

    def place(self, ids: torch.Tensor, sizes: torch.Tensor, mask: torch.Tensor | None = None):
'''
LOOP = """made = []
for row, one in enumerate(ids):
    if mask is not None:
        one = one[mask[row].bool()]
    start = 0
    for kind, group in itertools.groupby(one.tolist()):
        count = len(list(group))
        made.append(grid(start, sizes[row]))
        start += count
    out = torch.zeros(4, device=ids.device)
    out[0] = one.max().item()
"""


def program(code: str) -> str:
    return HEAD + textwrap.indent(code, " " * 8)


COPIES = """device = ids.device
ids = ids.cpu()
sizes = sizes.cpu()
mask = mask.cpu() if mask is not None else None
"""


def island(before: str, returned: str) -> tuple[str, str]:
    """A body that returns an expression, and the same on the host."""
    front, _, rest = before.partition("for row, one")
    return f"{before}return {returned}\n", f"{front}{COPIES}for row, one{rest}"


FOUND = {
    "a tensor": ("torch.cat(made)", "torch.cat(made).to(device)"),
    "two": ("torch.cat(made), out", "torch.cat(made).to(device), out.to(device)"),
    "a sum": ("torch.cat(made) + 1", "(torch.cat(made) + 1).to(device)"),
    "with a number": ("torch.cat(made), 3", "torch.cat(made).to(device), 3"),
    "with None": ("torch.cat(made), None", "torch.cat(made).to(device), None"),
}

LEFT_ALONE = {
    "a layer": LOOP + "return self.embed(torch.cat(made))\n",
    "a buffer": LOOP + "return torch.cat(made) + self.offsets\n",
    "a tensor of the module": LOOP + "return torch.cat(made) + TABLE\n",
    "an attribute is set": LOOP + "self.kept = torch.cat(made)\nreturn self.kept\n",
    "an input is written into": LOOP + "ids[0] = 1\nreturn torch.cat(made)\n",
    "an input is changed in place": LOOP + "ids.add_(1)\nreturn torch.cat(made)\n",
    "an input is changed by a function": LOOP + "scaled(ids)\nreturn torch.cat(made)\n",
    "a row of an input is written into": LOOP + "one[0] = 1\nreturn torch.cat(made)\n",
    "a tensor made in front": "table = torch.ones(3)\n" + LOOP + "return torch.cat(made) + table.sum()\n",
    "a device taken in front": "where = self.offsets.device\n" + LOOP + "return torch.cat(made).to(where)\n",
    "the module's device": LOOP + "return torch.cat(made).to(self.offsets.device)\n",
    "a named device": LOOP + "return torch.cat(made).to('cuda')\n",
    "random numbers": LOOP + "return torch.cat(made) + torch.rand(1)\n",
    "a list of tensors": LOOP + "return made\n",
    "a tensor or None": LOOP + "return torch.cat(made) if made else None\n",
    "an unknown function": LOOP + "return self.kept(torch.cat(made))\n",
    "a generator": LOOP + "yield torch.cat(made)\n",
    "a block": LOOP + "with torch.no_grad():\n    made = torch.cat(made)\nreturn made\n",
    "an input that is bound anew": "ids = self.kept\n" + LOOP + "return torch.cat(made)\n",
    "one read": "return torch.arange(int(ids.max()))\n",
    "reads outside of loops": "return torch.arange(ids.max().item() + sizes.max().item() + mask.sum().item())\n",
    "a loop over rows": "made = []\nfor row in ids:\n    made.append(row.sum().item())\nreturn torch.tensor(made)\n",
    "few reads": "made = []\nfor n in sizes.tolist():\n    made.append(ids[:n])\nreturn torch.cat(made)\n",
    "on the host already": COPIES + LOOP + "return torch.cat(made).to(device)\n",
}


@pytest.mark.parametrize(("returned", "back"), FOUND.values(), ids=FOUND)
def test_the_inputs_are_copied_once(returned: str, back: str) -> None:
    before, after = island(LOOP, returned)
    text, done = fixed(program(before))
    assert not done.report.failures
    assert text == program(f"{after}return {back}\n")
    assert fixed(text)[0] == text
    assert "lie on one device" in done.findings[0].fix.message  # type: ignore[union-attr]


@pytest.mark.parametrize("before", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(before: str) -> None:
    settings = Settings(target="torch_xla", python=None, show_info=True)
    report = check_text(program(before), PATH, settings, fixes=Memory())
    assert not report.failures
    said = [finding.fix.message for finding in report.findings if finding.fix is not None]
    assert report.findings
    assert not any("Copy the inputs" in message for message in said)


def test_a_break_of_the_graph_stays_one() -> None:
    settings = Settings(target="torch_compile", python=None, show_info=True)
    report = check_text(program(f"{LOOP}return torch.cat(made)\n"), PATH, settings, fixes=Memory())
    said = [finding.fix.message for finding in report.findings if finding.fix is not None]
    assert not any("Copy the inputs" in message for message in said)


WHOLE = {
    "annotated": ("ids: torch.LongTensor, sizes: torch.IntTensor, mask: torch.BoolTensor | None = None", ""),
    "taken for truths": ("ids: torch.LongTensor, sizes: torch.Tensor, mask: torch.Tensor | None = None", "`mask`"),
}


@pytest.mark.parametrize(("params", "assumed"), WHOLE.values(), ids=WHOLE)
def test_whole_numbers_are_copied_together(params: str, assumed: str) -> None:
    before = program(f"{LOOP}return torch.cat(made)\n").replace(
        "place(self, ids: torch.Tensor, sizes: torch.Tensor, mask: torch.Tensor | None = None)",
        f"place(self, {params})",
    )
    text, done = fixed(before)
    together = ["ids", "mask"] if "sizes: torch.Tensor" in params else ["ids", "sizes", "mask"]
    names = ", ".join(together)
    assert f"        {names} = copy_to_host({names})\n" in text
    assert ("sizes = sizes.cpu()" in text) is ("sizes" not in together)
    assert text.count("def copy_to_host(*tensors):\n") == 1
    assert "\n\n\ndef copy_to_host" in text
    message = done.findings[0].fix.message  # type: ignore[union-attr]
    assert ("holds whole numbers" in message) is bool(assumed)
    assert assumed in message
    assert fixed(text)[0] == text


def test_each_by_itself_where_only_the_function_imports_torch() -> None:
    before = program(f"import torch\n{LOOP}return torch.cat(made)\n").replace(
        "ids: torch.Tensor", "ids: torch.LongTensor"
    )
    text, _ = fixed(before.replace("import torch\nfrom", "import torch.nn.functional as F\nfrom", 1))
    assert "ids = ids.cpu()" in text
    assert "copy_to_host" not in text


def test_two_functions_share_what_copies() -> None:
    plain = "place(self, ids: torch.Tensor, sizes: torch.Tensor, mask: torch.Tensor | None = None)"
    before = program(f"{LOOP}return torch.cat(made)\n").replace(
        plain, plain.replace("torch.Tensor", "torch.LongTensor")
    )
    method = before[before.index("    def place") :]
    before = before.replace("return self.place(", "return self.again(ids, sizes, mask) + self.place(")
    text, _ = fixed(before + "\n" + method.replace("def place", "def again"))
    assert text.count("def copy_to_host") == 1
    assert text.count("= copy_to_host(ids, sizes, mask)") == 2


def test_another_name_where_there_is_a_device() -> None:
    text, _ = fixed(program(f"{LOOP}device = 1\nreturn torch.cat(made) + device\n"))
    assert "original_device = ids.device" in text


SIZED_HEAD = """import torch
from torch import nn


class Grid(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 4)

    def forward(self, x: torch.Tensor, sizes: torch.Tensor, **kwargs):
        return self.place(x, sizes, self.embed.padding_idx, kwargs)

    def place(self, x: torch.Tensor, sizes: torch.Tensor, side: int, kwargs: dict | None = None):
        if kwargs is not None and (known := kwargs.pop("known", None)) is not None:
            return known
"""
PLACES = """counts = sizes[:, 0] * sizes[:, 1]
heights = torch.repeat_interleave(sizes[:, 0], counts)
starts = torch.repeat_interleave(counts.cumsum(0) - counts, repeats=counts)
"""
MADE = "places = torch.arange(counts.sum(), device=sizes.device) - starts\n"
SIZED = f"{PLACES}{MADE}if side < 1:\n    raise ValueError('too small')\n"
RETURNED = "return places % heights, heights // side\n"

SIZED_LEFT_ALONE = {
    "one size": f"counts = sizes[:, 0]\n{MADE.replace(' - starts', '')}return places\n",
    "data is repeated": f"{PLACES}return torch.repeat_interleave(x, counts, 0), starts + heights\n",
    "data is beside": f"{SIZED}return places % heights + x\n",
    "a layer": f"{SIZED}return self.embed(places % heights)\n",
    "sizes that are told": PLACES.replace(", counts)", ", counts, output_size=9)").replace(
        "=counts)", "=counts, output_size=9)"
    )
    + "return starts + heights + torch.arange(side)\n",
    "numbers": "return torch.arange(side) + torch.zeros(side, side) + torch.repeat_interleave(sizes, 3).sum()\n",
    "what is given beside is read later": f"{SIZED}return places % heights + kwargs['more']\n",
    "a named device": f"{SIZED}return (places % heights).to('cuda')\n",
    "rows are picked": "return x[sizes > 3] * torch.arange(3), x[sizes < 3]\n",
}


def sized(code: str) -> str:
    return SIZED_HEAD + textwrap.indent(code, " " * 8)


def test_sizes_are_computed_on_the_host() -> None:
    text, done = fixed(sized(SIZED + RETURNED))
    copied = "device = sizes.device\nsizes = sizes.cpu()\n"
    returned = "return (places % heights).to(device), (heights // side).to(device)\n"
    assert text == sized(copied + SIZED + returned)
    assert not done.report.failures
    assert fixed(text)[0] == text


def test_an_input_is_what_the_function_says_where_a_caller_is_unknown() -> None:
    known = "return self.place(x, sizes, self.embed.padding_idx, kwargs)"
    more = f"self.place(x, kwargs['others'], self.embed.padding_idx, kwargs)\n        {known}"
    assert "sizes = sizes.cpu()" in fixed(sized(SIZED + RETURNED).replace(known, more))[0]


@pytest.mark.parametrize("code", SIZED_LEFT_ALONE.values(), ids=SIZED_LEFT_ALONE)
def test_sizes_left_alone(code: str) -> None:
    assert ".cpu()" not in fixed(sized(code))[0]


def test_a_device_with_a_name_is_the_copies() -> None:
    """What the function makes on its input's device is made on the host; what it returns goes back."""
    made = SIZED.replace("device=sizes.device", "device=device")
    text, _ = fixed(sized(f"device = sizes.device\n{made}return places % heights\n"))
    copied = "original_device = sizes.device\nsizes = sizes.cpu()\ndevice = sizes.device\n"
    assert text == sized(f"{copied}{made}return (places % heights).to(original_device)\n")
