"""What a program leaves off unless somebody asks for it: what that costs is information, and says what asks for it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from xlalint.config import Settings
from xlalint.diagnostics.finding import Finding
from xlalint.project import check_paths
from xlalint.project.session import Session

PROGRAM = """
import argparse
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, deep=False):
        super().__init__()
        self.deep = deep
        self.body = nn.Linear(3, 3)

    def forward(self, x, extra=None):
        y = self.body(x)
        if {inside}:
            print(y.sum().item())
        return y

def show(args, loss):
    print(loss.item())

def show_more(args, loss):
    if args.debug:
        print(loss.item())

def train(args, model, optimizer, batches):
    debug = load()
    for i, x in enumerate(batches):
        x = x.cuda()
        loss = {called}.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
{step}

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--debug", action="store_true")
    parser.add_argument("--loud", "-l", type=int, default=0)
    parser.add_argument("--plot-dir", type=str)
    parser.add_argument("--kind", type=str, default="")
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--slow", dest="fast", action="store_false")
    parser.add_argument("--loss", choices=("l1", "l2", "huber"), default="l2")
    parser.add_argument("--weight", type=float, default="1")
    parser.add_argument("--measure", default="l2")
    parser.set_defaults(measure="l1")
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--needed", required=True)
    parser.add_argument("folder")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--set", action="store_true")
    parser.add_argument("--listed", action="store_true")
    parser.add_argument("--sent-away")
    parser.set_defaults(set=True)
    parser.parse_args(["--listed"])
    args = parser.parse_args()
    args.changed = not args.fast
    if args.sent_away is None:
        raise ValueError
    {parsed}
    model = {made}.cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    train(args, model, optimizer, torch.utils.data.DataLoader(load()))

if __name__ == "__main__":
    main()
"""
ON = {
    "by default": "args.fast",
    "by a number": "args.every",
    "by who chooses one of several": "args.loss == 'l1'",
    "by its choice": "args.loss == 'l2'",
    "by what a text becomes": "args.weight == 1",
    "by one of two defaults": "args.measure == 'l1'",
    "by a local variable of that name": "debug == 'x'",
    "by what is no option": "args.other",
    "where it is off": "not args.debug",
    "where one of two is on": "args.debug or args.fast",
    "by where a device is": "args.cuda",
    "where the option is required": "args.needed",
    "where it is a positional": "args.folder",
    "by who assigns it": "args.changed",
    "by another default": "args.set",
    "by a list of arguments": "args.listed",
    "by a library's attribute of that name": "torch.debug",
}
OFF = {
    "a flag": ("args.debug", "with `--debug`"),
    "a flag and more": ("args.debug and i > 0", "with `--debug`"),
    "a number": ("args.loud > 0", "with `--loud`"),
    "another number": ("args.every < 5", "with another `--every` than `10`"),
    "a text": ("args.plot_dir is not None", "with `--plot-dir`"),
    "a choice": ("args.kind == 'l1'", "with `--kind l1`"),
    "a choice of several": ("args.kind in ('l1', 'huber')", "with `--kind l1` or `huber`"),
    "no default": ("not args.fast", "with `--slow`"),
    "two flags": ("args.debug or args.loud", "with `--debug`"),
    "by its name": ("getattr(args, 'debug', False)", "with `--debug`"),
    "by its name in a table": ("vars(args).get('debug', 0)", "with `--debug`"),
}
AGAIN = "".join(f"\n            {line}" for line in ("loss.item()", "loss.backward()", "optimizer.step()"))
SHAPES = {
    "in an expression": "value = loss.item() if args.debug else 0",
    "in a condition": "if args.debug and loss.item() > 0: pass",
    "in the other branch": "value = 0 if not args.debug else loss.item()",
    "through a call": "show_more(args, loss)",
    "around a call": "if args.debug: show(args, loss)",
    "beside a step that has to be asked for": f"if args.debug:{AGAIN}",
    "after it went on": "if not args.debug: continue\n        loss.item()",
}
NET_ON: dict[str, dict[str, str]] = {
    "by who makes the module": {"made": "Net(deep=True)"},
    "by position": {"made": "Net(True)"},
    "from settings": {"made": "Net(**load())"},
    "by another option's value": {"made": "Net(deep=args.fast)"},
    "by who is handed the class": {"parsed": "register(Net)"},
    "by who assigns the attribute": {"parsed": "model.deep = load()"},
    "by who calls the module": {"inside": "extra is not None", "called": "model(x, x)"},
    "by who calls it with more": {"inside": "extra is not None", "called": "model(*load(x))"},
    "by each setting of a file": {"made": "Net(deep=args.debug)", "parsed": "for k in load(): args.more[k] = 1"},
    "by a table of settings": {"made": "Net(deep=c.on)", "parsed": "c = ConfigDict()\n    c.on = True"},
    "by settings that a table replaces": {
        "inside": "self.made.verbose",
        "parsed": "parser.add_argument('--verbose')\n    class Made:\n        def __init__(self):\n            self.verbose = True",
    },
    "by one of its calls": {"made": "Net(deep='l1') or Net"},
    "by a default that one of its calls leaves": {"inside": "not self.deep", "made": "Net(deep=True) or Net()"},
    "by what is no table of settings": {"made": "Net(deep=c.on)", "parsed": "c = load()\n    c.on = False"},
    "by a file of settings": {"made": "Net(deep=args.debug)", "parsed": "vars(args).update(load())"},
}
NET_OFF: dict[str, dict[str, str]] = {
    "a parameter": {},
    "a parameter given an option": {"made": "Net(deep=args.debug)", "parsed": "setattr(other, name, 1)"},
    "a parameter given what a table has": {
        "made": "Net(deep=c.own.on)",
        "parsed": "c = ConfigDict()\n    c.own = own = ConfigDict()\n    own.on = False",
    },
    "a parameter that is passed false": {"made": "Net(False)"},
    "a parameter's default that each call replaces": {"inside": "not self.deep", "made": "Net(True) or Net(deep=True)"},
    "another way that nothing asks for": {"inside": "self.deep == 'b'", "made": "Net('a') or Net('c')"},
    "an option, beside an object's own attribute of that name": {
        "inside": "self.deep",
        "made": "Net(deep=args.debug)",
        "parsed": "class Other:\n        def __init__(self):\n            self.debug = load()",
    },
    "what a module is not called with": {"inside": "extra is not None"},
}


def check(folder: Path, **parts: str) -> list[Finding]:
    """Check the program with some of its parts given."""
    whole = {"inside": "self.deep", "called": "model(x)", "step": "", "parsed": "", "made": "Net()", **parts}
    (folder / "run.py").write_text(PROGRAM.format(**whole))
    report = check_paths([folder], Settings(target="torch_xla", show_info=True))
    assert not report.failures
    return [one for one in report.findings if one.code == "XLA301"]


def step(guards: Iterable[str]) -> str:
    return "".join(f"        if {guard}:\n            loss.item()\n" for guard in guards)


def test_what_may_be_on_costs_and_what_is_off_is_information(tmp_path: Path) -> None:
    guards = [*ON.values(), *(guard for guard, _ in OFF.values())]
    found = [one for one in check(tmp_path, step=step(guards)) if one.trace[-1].name == "train"]
    told = dict(zip((*ON, *OFF), found, strict=True))
    assert {name: told[name].severity for name in ON} == dict.fromkeys(ON, "warning")
    assert not any("only " in told[name].message for name in ON)
    assert {name: told[name].severity for name in OFF} == dict.fromkeys(OFF, "info")
    assert all(told[name].message.endswith(f", only {option}") for name, (_, option) in OFF.items())


def test_however_it_is_written(tmp_path: Path) -> None:
    found = check(tmp_path, step="".join(f"        {line}\n" for line in SHAPES.values()))
    outside = [one for one in found if one.trace[-1].name != "Net.forward"]
    assert len(outside) == len(SHAPES)
    assert {one.severity for one in outside} == {"info"}
    assert all("only with `--debug`" in one.message for one in outside)


@pytest.mark.parametrize("name", NET_ON)
def test_what_something_gives_a_module_costs(name: str, tmp_path: Path) -> None:
    (found,) = check(tmp_path, **NET_ON[name])
    assert found.severity == "warning"


@pytest.mark.parametrize("name", NET_OFF)
def test_what_nothing_gives_a_module_is_information(name: str, tmp_path: Path) -> None:
    (found,) = check(tmp_path, **NET_OFF[name])
    assert found.severity == "info"
    assert found.message.endswith(("nothing in this program does", "nowhere is in this program", "with `--debug`"))


def test_a_package_leaves_to_others_what_is_on(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("from lib.part import Net\n")
    (tmp_path / "lib" / "part.py").write_text(PROGRAM.partition("def show")[0].format(inside="self.deep"))
    report = check_paths([tmp_path], Settings(target="torch_xla", show_info=True))
    assert {one.severity for one in report.findings if one.code == "XLA301"} == {"warning"}


def test_a_default_that_is_changed_switches_on(tmp_path: Path) -> None:
    check(tmp_path)
    path = tmp_path / "run.py"
    off = path.read_text()
    session = Session([tmp_path], Settings(target="torch_xla", show_info=True))
    session.load()
    found = []
    for text in (off, off.replace("model = Net()", "model = Net(1)"), off):
        session.change(str(path), text.encode())
        found.append([one.severity for one in session.report().findings if one.code == "XLA301"])
    assert found == [["info"], ["warning"], ["info"]]


FLAGS = """
from absl import app, flags
import torch
import options

flags.DEFINE_bool("debug", False, "look at it")
flags.DEFINE_bool("fast", True, "be quick")
flags.DEFINE_integer("every", 10, "how often")
flags.DEFINE_string("needed", None, "where")
flags.DEFINE_list("kinds", [], "which")
flags.mark_flag_as_required("needed")
FLAGS = flags.FLAGS

class Trainer:
    def __init__(self, opt):
        self.opt = opt
        self.debug = load()

    def train(self, model, optimizer, batches, debug):
        for x in batches:
            loss = model(x.cuda()).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if {0}:
                print(loss.item())

def main(_):
    model = torch.nn.Linear(3, 3).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    Trainer(FLAGS).train(model, optimizer, torch.utils.data.DataLoader(load()), load())

if __name__ == "__main__":
    app.run(main)
"""
FLAGS_ON = (
    "FLAGS.fast",
    "self.opt.needed",
    "FLAGS.kinds",
    "debug",
    "options.debug",
    "self.debug",
    "FLAGS.every",
    "not FLAGS.debug",
)
FLAGS_OFF = {
    "FLAGS.debug": "with `--debug`",
    "self.opt.debug": "with `--debug`",
    "FLAGS.debug and x.ndim": "with `--debug`",
    "not self.opt.fast": "with `--nofast`",
    "FLAGS.every == 3": "with `--every 3`",
}


@pytest.mark.parametrize("asked", (*FLAGS_ON, *FLAGS_OFF))
def test_flags_are_options(asked: str, tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(FLAGS.format(asked))
    report = check_paths([tmp_path], Settings(target="torch_xla", show_info=True))
    (found,) = [one for one in report.findings if one.code == "XLA301"]
    assert found.severity == ("info" if asked in FLAGS_OFF else "warning")
    assert found.message.endswith(f"only {FLAGS_OFF[asked]}" if asked in FLAGS_OFF else "at every step")
