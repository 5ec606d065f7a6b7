"""How often a hazard costs, by the loops and guards around it and around the calls that lead to it."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from xlalint.config import Settings
from xlalint.diagnostics.finding import Finding
from xlalint.project import check_text

SETUP = """
import time
import torch
import torch_xla
from torch import nn

device = torch_xla.device()
"""
READ = "loss.item()"


def in_steps(body: str, loop: str = "for i, x in enumerate(batches):", before: str = "") -> str:
    """Write a training loop with some more statements at the end of its body, and before it."""
    return dedent(
        """
        def train(model, optimizer, batches, held_out, args, epochs, start):
            seen = 0
            best = None
            {before}
            for epoch in range(epochs):
                {loop}
                    loss = model(x.to(device)).sum()
                    loss.backward()
                    optimizer.step()
                    torch_xla.sync()
                    seen += 1
        """
    ).format(loop=loop, before=before or "pass") + indent(dedent(body).strip("\n") + "\n", " " * 12)


def check(text: str) -> list[Finding]:
    """Check a program whose findings are all hazards of a training loop."""
    report = check_text(SETUP + text, "train.py", Settings(target="torch_xla", show_info=True))
    assert not report.failures
    return [finding for finding in report.findings if finding.code in ("XLA301", "XLA302", "XLA201")]


def assert_told(finding: Finding, frequency: str, severity: str, words: str) -> None:
    """See how often a finding costs, in all the places that speak of it."""
    assert (finding.frequency, finding.severity) == (frequency, severity)
    assert finding.message.endswith(words)


AT_EVERY_STEP = {
    "where another flag ends the loop": f"done, warm = seen > 9, seen > 1\nif warm:\n    {READ}\nif done:\n    break",
    "where a flag does nothing": f"warm = seen > 1\nif warm:\n    {READ}\nif warm:\n    pass",
    "where a flag goes on": f"warm = seen > 1\nif warm:\n    {READ}\nif warm:\n    continue",
    "where a part of a condition ends the loop": f"done = seen > 9\nif done or args.all:\n    {READ}\nif done:\n    break",
    "where a condition keeps another value": f"if loss_now > args.best:\n    args.best = other\n    {READ}",
    "from the sixth step on": f"if i > 5:\n    {READ}",
    "beside what runs at the first steps": f"if i < 5:\n    pass\nelse:\n    {READ}",
    "at many of the first steps": f"if i < 5000:\n    {READ}",
    "where few come first of what another loop counts": f"for k, p in enumerate(model.layers):\n    if k < 4:\n        {READ}",
    "where few come first of what is counted anew": "k = 0\n"
    "for p in model.layers:\n    if k < 4:\n        loss.item()\n    k += 1",
    "where a size is small": f"if x.shape[0] < 5:\n    {READ}",
    "where a sum is small": f"args.total += loss.item()\nif args.total < 5:\n    {READ}",
    "where a number is set back that nothing adds to": f"if args.since > 100:\n    args.since = 0\n    {READ}",
    "before what is set back": f"args.since += 1\nif args.since > 100:\n    args.since = 0\n{READ}",
    "until what is set back has come so far": f"args.since += 1\nif args.since < 100:\n    args.since = 0\n    {READ}",
    "where an entry of another kind is set": f"if args['mode'] == 1:\n    args['other'] = loss\n    {READ}",
    "in the loop": READ,
    "in a loop within the loop": "for part in loss.view(1):\n    part.sum().item()",
    "where the guard is of a number of layers": f"depth = len(model.layers)\nif depth % 100 == 0:\n    {READ}",
    "where the guard's name is set twice": f"logs = i % 100 == 0\nlogs = args.verbose\nif logs:\n    {READ}",
    "where one of two names is a setting": f"logs = i % 100 == 0\nshown = args.verbose\nif logs or shown:\n    {READ}",
    "where the guard's name is of a size": f"logs = x.shape[0] % 100 == 0\nif logs:\n    {READ}",
    "where the guard is of a product of sizes": f"width = x.shape[0] * 4\nif width % 8 == 0:\n    {READ}",
    "where the guard's sum is another one at times": (
        f"step = len(batches) * 7 + i\nstep = x.shape[0]\nif step % args.every == 0:\n    {READ}"
    ),
    "where the guard is of a size": f"if x.shape[0] % 100 == 0:\n    {READ}",
    "where the guard is of a constant": f"n = 7\nif n % 100 == 0:\n    {READ}",
    "where the guard is of another loop's number": "for k, p in enumerate(model.layers):\n"
    "    if k % 100 == 0:\n        loss.item()",
    "where the guard is of an entry that is a number": f"sizes = {{'n': 7}}\nif sizes['n'] % 100 == 0:\n    {READ}",
    "where the guard is of an element": f"if x[0] % 100 == 0:\n    {READ}",
    "where a name gets its first value, and loses it": f"if best is None:\n    {READ}\n    best = loss\nbest = None",
    "where a name is asked for that gets no value": f"if args is None:\n    {READ}",
    "where a name has its first value": f"if best is None:\n    best = loss\nelse:\n    {READ}",
    "at all but every n-th": f"if i % 100 != 0:\n    {READ}",
    "at all but every n-th, by identity": f"if i % 100 is not 0:\n    {READ}",
    "beside what runs at every n-th": f"if i % 100 == 0:\n    pass\nelse:\n    {READ}",
    "after what runs at every n-th": f"if i % 100 == 0:\n    pass\n{READ}",
    "where one of two conditions is enough": f"if i % 100 == 0 or args.verbose:\n    {READ}",
    "where a function is asked that counts no steps": (
        f"def due(loss, n):\n    return loss % n == 0\nif due(x.shape[0], 100):\n    {READ}"
    ),
    "where a function divides a size beside the step": (
        f"def due(step, n):\n    return step > 0 and (n + 1) % 2 == 0\nif due(i, x.shape[0]):\n    {READ}"
    ),
    "where one of two conditions is a setting": f"if i % 100 == 0 or args.every_step:\n    {READ}",
    "or from some step on": f"if i % 100 == 0 or i > 100:\n    {READ}",
    "or where the limit is a step": f"if i % 100 == 0 or x.shape[0] < i:\n    {READ}",
    "or where a size is small": f"if i % 100 == 0 or x.shape[0] < 4:\n    {READ}",
    "or where a name is of a setting": f"all_of_them = args.mode == 'all'\nif i % 100 == 0 or all_of_them:\n    {READ}",
    "or at all but one": f"if i % 100 == 0 or i != 3:\n    {READ}",
    "at all but one": f"if i != 0:\n    {READ}",
    "beside what runs at one": f"if i == 0:\n    pass\nelse:\n    {READ}",
    "from one on": f"if i >= 1:\n    {READ}",
    "where another loop counts to one number": f"for k, p in enumerate(model.layers):\n    if k == 0:\n        {READ}",
    "where a size is one number": f"if x.shape[0] == 4:\n    {READ}",
    "where a setting is one number": f"if args.stage == 2:\n    {READ}",
    "where a parameter is one text": f"if start == 'warm':\n    {READ}",
    "where two count as far": f"if i == epoch:\n    {READ}",
    "where less time went by": f"now = time.time()\nif now - start < args.every:\n    {READ}",
    "where what is far from another is no time": f"now = args.now\nif now - start > args.every:\n    {READ}",
    "where the guard compares otherwise": f"if i % 100 > 3:\n    {READ}",
    "where the guard asks for no remainder": f"if i // 100 == 0:\n    {READ}",
}
NOW_AND_THEN = {
    "where the guard has a name": f"logs = i % 100 == 0\nif logs:\n    {READ}",
    "where each of two guards has a name": f"early = i % 10 == 0 and i < 99\nlate = i % 2000 == 0\nif early or late:\n    {READ}",
    "where the name is of all but every n-th": f"rests = i % 100 != 0\nif not rests:\n    {READ}",
    "of a checkpoint": "if i % 100 == 0:\n    torch.save(loss, 'loss.pt')",
    "of what the loop counts": f"if i % 100 == 0:\n    {READ}",
    "at one step": f"if i == 0:\n    {READ}",
    "at the first steps": f"if i < 5:\n    {READ}",
    "at the first steps, the other way round": f"if 5 >= i:\n    {READ}",
    "after the first steps have gone on": f"if i > 5:\n    continue\n{READ}",
    "at the first ones that it counts": f"if seen <= 5:\n    {READ}",
    "once a count has come so far": f"args.since += 1\nif args.since >= 100:\n    args.since = 0\n    {READ}",
    "once a sum has, and something else holds": (
        f"args.since += x.size(0)\nif args.rank == 0 and args.since > 100:\n    args.since = 0\n    {READ}"
    ),
    "at one step of some epochs": f"if epoch % args.log_every == 0 and i == 0:\n    {READ}",
    "after all but one went on": f"if i != args.shown:\n    continue\n{READ}",
    "of what the loop counts, plus one": f"if (i + 1) % args.log_every == 0:\n    {READ}",
    "by identity": f"if i % 100 is 0:\n    {READ}",
    "by truth": f"if not i % args.every:\n    {READ}",
    "of a name for how many went by": f"step = len(batches) * epoch + i\nif step % args.every == 0:\n    {READ}",
    "of a name for what is left": f"left = args.total - (i + 1)\nif left % args.every == 0 and args.logs:\n    {READ}",
    "but the first": f"if i > 0 and not i % 100:\n    {READ}",
    "of what the loop adds to": f"if seen % 100 == 0:\n    {READ}",
    "of an entry that the loop adds to": f"args['steps'] += 1\nif not (args['steps'] % 100):\n    {READ}",
    "of an entry of which nothing is known": f"if args['steps'] % args['every'] == 0:\n    {READ}",
    "of what the loop assigns one more to": f"steps = 0\nsteps = steps + 1\nif steps % 100 == 0:\n    {READ}",
    "of epochs and steps": f"if (epoch * len(batches) + i) % 100 == 0:\n    {READ}",
    "of epochs": f"if epoch % 10 == 0:\n    {READ}",
    "in the other branch": f"if i % 100:\n    pass\nelse:\n    {READ}",
    "in the other branch of not": f"if i % 100 != 0:\n    pass\nelse:\n    {READ}",
    "after all others went on": f"if i % 100:\n    continue\n{READ}",
    "in an expression": "shown = loss.item() if i % 100 == 0 else 0",
    "or at the last, by a name": f"last = i == len(batches) - 1\nif i > 0 and (i % 100 == 0 or last):\n    {READ}",
    "or at the end of what it goes over": f"if i % 100 == 0 or i >= len(batches):\n    {READ}",
    "or where the loop is left": f"if (seen - 1) % 100 == 0 or seen >= args.most:\n    {READ}\n    if seen >= args.most:\n        return",
    "or at the last": f"if i % 100 == 0 or i == len(batches) - 1:\n    {READ}",
    "or among the first": f"if i <= 100 or i % 500 == 0:\n    {READ}",
    "or among the first, the other way round": f"if i % 500 == 0 or 100 > i:\n    {READ}",
    "where a function divides the step": (
        f"def due(step, n, last=True):\n    at = n and step % n == 0\n    return at or (last and step == 9)\nif due(i, args.every):\n    {READ}"  # noqa: E501
    ),
    "where a function divides the step after this": (
        f"def due(step, n):\n    return (step + 1) % n == 0\nif due(i, args.every):\n    {READ}"
    ),
    "where a function is told what the loop adds to": (
        f"def tell(loss, at):\n    if at % 100 == 0:\n        {READ}\ntell(loss, seen)"
    ),
    "once so much time went by": f"now = time.time()\nif now - start > args.every:\n    {READ}",
    "once so much time went by, of the main process": f"if args.rank == 0 and time.time() - start > args.every:\n    {READ}",
    "where a name gets its first value": f"if best is None:\n    {READ}\n    best = loss",
    "where each of two conditions is enough": f"if i % 100 == 0 or (i + 1) % 500 == 0:\n    {READ}",
    "with a condition in it": f"if i % 100 == 0:\n    if args.verbose:\n        {READ}",
    "within a condition": f"if args.verbose:\n    if i % 100 == 0:\n        {READ}",
    "in a context": f"if i % 100 == 0:\n    with torch.no_grad():\n        {READ}",
}


@pytest.mark.parametrize("name", AT_EVERY_STEP)
def test_at_every_step(name: str) -> None:
    found = check(in_steps(AT_EVERY_STEP[name]))
    assert found
    assert {(one.frequency, one.severity) for one in found} == {("step", "warning")}
    assert all(one.message.endswith("at every step") for one in found)


@pytest.mark.parametrize("name", NOW_AND_THEN)
def test_at_every_nth_step(name: str) -> None:
    (finding,) = check(in_steps(NOW_AND_THEN[name]))
    assert_told(finding, "nth-step", "info", "at every n-th step")


@pytest.mark.parametrize(
    "guard",
    [
        "len(batches) - 1 == i",
        "(i + 1) == len(batches)",
        "i % len(batches) == 0",
        "args['loss'] < 0 and i % len(batches) == 0",
    ],
)
def test_at_one_step_of_each_pass_it_is_once_an_epoch(guard: str) -> None:
    (finding,) = check(in_steps(f"if {guard}:\n    {READ}"))
    assert_told(finding, "epoch", "info", "once an epoch")


@pytest.mark.parametrize(
    "body",
    [
        f"done = seen > args.most\nif done:\n    {READ}\nargs.seen += 1\nif done:\n    break",
        f"done = seen > args.most\nif done:\n    {READ}\n    return",
    ],
)
def test_what_comes_before_a_loop_ends_is_once_an_epoch(body: str) -> None:
    (finding,) = check(in_steps(body))
    assert_told(finding, "epoch", "info", "once an epoch")


@pytest.mark.parametrize(
    "body",
    [
        f"if args.score > args.best:\n    args.best = args.score\n    {READ}",
        f"if epoch != args.shown:\n    args.shown = epoch\n    {READ}",
        f"if start < seen:\n    {READ}\n    start = seen",
    ],
)
def test_what_is_kept_where_it_is_another_one_is_at_a_few_steps(body: str) -> None:
    (finding,) = check(in_steps(body))
    assert_told(finding, "nth-step", "warning", "at every few steps")


def test_what_has_no_value_yet_gets_it_once() -> None:
    text = in_steps(f"z = args[0].item()\nif z < 0:\n    args[0] = loss\n    z = {READ}").replace(
        "args[0].item()", "args[0]"
    )
    (finding,) = check(text)
    assert_told(finding, "run", "info", "once a run")


@pytest.mark.parametrize("name", NOW_AND_THEN)
def test_at_every_nth_step_of_a_loop_that_counts_by_itself(name: str) -> None:
    found = check(in_steps("i += 1\n" + NOW_AND_THEN[name], "for x in batches:", "i = start"))
    assert [one.frequency for one in found] == ["nth-step"]


EITHER = """
class Trainer:
    def iterate(self, parts, training):
        if not training:
            self.model.eval()
        for part in parts:
            loss = self.model(part.to(device)).sum()
            {}
            seen = loss.item()
        {}
    def feed(self, batches, training=True):
        for parts in batches:
            self.iterate(parts, training)
"""


@pytest.mark.parametrize(
    ("goes", "ends", "frequency"),
    [
        ("if training: loss.backward()", "if training: self.optimizer.step()", "step"),
        ("if training: self.look()", "if training: self.log()", "evaluation"),
    ],
)
def test_what_trains_unless_it_is_told_otherwise_takes_steps(goes: str, ends: str, frequency: str) -> None:
    found = check(EITHER.format(goes, ends))
    assert {one.frequency for one in found} == {frequency}


PROGRESS = "from tqdm import tqdm\n    x = batches\n    bar = "


@pytest.mark.parametrize(
    ("shown", "frequency"),
    [
        ("tqdm(range(args.steps))", "nth-step"),
        ("tqdm(range(args.steps), disable=args.quiet)", "nth-step"),
        ("range(args.steps)", "nth-step"),
        ("[len(args.name), len(args.title)]", "step"),
        ("tqdm([len(args.name), len(args.title)])", "step"),
        ("range(args.steps)\n    bar = [len(one) for one in args.names]", "step"),
        ("None\n    with tqdm(range(args.steps)) as bar: pass", "nth-step"),
        ("None\n    with tqdm(args.names) as bar: pass", "step"),
        ("None\n    with trange(args.steps) as bar: pass", "nth-step"),
    ],
)
def test_of_a_loop_whose_progress_has_a_name(shown: str, frequency: str) -> None:
    (finding,) = check(in_steps(f"if i % 100 == 0:\n    {READ}", "for i in bar:", PROGRESS + shown))
    assert finding.frequency == frequency


@pytest.mark.parametrize(
    ("loop", "frequency"),
    [
        ("for i in (bar := tqdm(range(args.steps))):", "nth-step"),
        ("for i, x in enumerate(bar := tqdm(batches)):", "nth-step"),
        ("for i in (bar := [len(args.name), len(args.title)]):", "step"),
    ],
)
def test_of_a_loop_that_names_its_progress(loop: str, frequency: str) -> None:
    (finding,) = check(in_steps(f"if i % 100 == 0:\n    {READ}", loop, PROGRESS + "x"))
    assert finding.frequency == frequency


@pytest.mark.parametrize(
    ("given", "frequency"),
    [
        ("enumerate(x)", "nth-step"),
        ("enumerate(x) if args.quiet else None\n    bar = enumerate(x)", "step"),
        ("enumerate(x)\n    if args.shown: bar = tqdm(bar)", "nth-step"),
        ("enumerate(x)\n    if args.shown: bar = tqdm(enumerate(x), total=9)", "nth-step"),
        ("enumerate(x)\n    if args.shown: bar = args.read()", "step"),
        ("args.read()\n    if args.shown: bar = tqdm(bar)", "step"),
        ("enumerate(x)\n    if args.shown: bar = zip(x, range(9))", "step"),
        ("x\n    bar = args.pairs", "step"),
    ],
)
def test_of_a_loop_over_a_name_that_is_given_in_several_places(given: str, frequency: str) -> None:
    (finding,) = check(in_steps(f"if i % 100 == 0:\n    {READ}", "for i, x in bar:", PROGRESS + given))
    assert finding.frequency == frequency


TRAINER = """
import torch
from torch import nn

def divisible_by(number, by):
    return number % by == 0

class Trainer(nn.Module):
    def __init__(self, model, optimizer, batches, every):
        super().__init__()
        self.model, self.optimizer, self.batches, self.every = model, optimizer, batches, every

    def forward(self):
        for turn in range(1000):
            step = turn + 1
            loss = self.model(next(self.batches)).sum()
            loss.backward()
            {}
            if {}:
                loss.item()
"""


@pytest.mark.parametrize(
    ("steps", "asked", "frequency"),
    [
        ("self.optimizer.step()", "divisible_by(step, self.every)", "nth-step"),
        ("self.optimizer.step()", "step % 100 == 0", "nth-step"),
        ("self.optimizer.step()", "divisible_by(self.every, 2)", "step"),
        ("self.optimizer.step()", "self.every", "step"),
        ("self.seen(loss)", "step % 100 == 0", "step"),
    ],
)
def test_of_a_module_that_trains_others(steps: str, asked: str, frequency: str) -> None:
    (finding,) = check(TRAINER.format(steps, asked))
    assert finding.frequency == frequency


@pytest.mark.parametrize("optimizer", ["self.optimizer.step()", "self.seen(loss)"])
def test_a_module_that_trains_others_sets_itself_up_once(optimizer: str) -> None:
    code = TRAINER.format(optimizer, "step").replace(
        "for turn", "self.model(self.every).sum().item()\n        for turn"
    )
    assert len(check(code)) == (1 if "optimizer" in optimizer else 2)


HOOK = """
import pytorch_lightning as pl

class Net(pl.LightningModule):
    def {}:
        loss = self.net(batch).mean()
        if {} == 0:
            loss.item()
"""


@pytest.mark.parametrize(
    ("hook", "asked", "frequency"),
    [
        ("training_step(self, batch, index)", "index", "nth-step"),
        ("on_train_batch_end(self, given, batch, index)", "index", "nth-step"),
        ("training_step(self, batch, index)", "batch.shape[0]", "step"),
        ("training_step(self, batch)", "self.depth", "step"),
        ("on_train_batch_end(self, batch, kind)", "kind", "step"),
    ],
)
def test_of_a_hook_that_is_told_at_which_batch_it_is(hook: str, asked: str, frequency: str) -> None:
    (finding,) = check(HOOK.format(hook, asked))
    assert finding.frequency == frequency


GENERATOR = """
def train(critic, generator, c, g, batches, epochs):
    for epoch in range(epochs):
        at = iter(batches)
        while len(batches):
            for _ in range(5):
                loss = critic(next(at).to(device)).sum()
                loss.backward()
                c.step()
            {}
            torch_xla.sync()
            loss.item()
"""


@pytest.mark.parametrize(
    ("turn", "frequency"),
    [
        ("loss = generator(next(at).to(device)).sum(); loss.backward(); g.step()", "step"),
        ("loss = generator(next(at).to(device)).sum()", "epoch"),
        ("g.step()", "epoch"),
    ],
)
def test_of_a_loop_that_takes_a_step_after_those_of_a_loop_in_it(turn: str, frequency: str) -> None:
    (finding,) = check(GENERATOR.format(turn))
    assert finding.frequency == frequency


@pytest.mark.parametrize("divisor", ["2", "4", "every"])
def test_at_every_few_steps_it_is_a_warning(divisor: str) -> None:
    (finding,) = check(in_steps(f"every = 5\nif i % {divisor} == 0:\n    {READ}"))
    assert_told(finding, "nth-step", "warning", "at every few steps")


STEP = "loss = model(x.to(device)).sum()\nloss.backward()\noptimizer.step()"
LEARN = "def learn(model, optimizer, x):\n    " + STEP.replace("\n", "\n    ") + "\n    return loss\n"
SELDOM_LEARNT = {
    "in the branch that takes the steps": (
        f"if i % args.every == 0:\n    {indent(STEP, '    ').strip()}\n    {READ}",
        "step",
    ),
    "within another condition": (
        f"if i > args.start:\n    if i % args.every == 0:\n        {indent(STEP, ' ' * 8).strip()}\n        {READ}",
        "step",
    ),
    "where a function takes them": (f"if i % 4 == 0:\n    loss = learn(model, optimizer, x)\n    {READ}", "step"),
    "now and then within it": (
        f"if i % 4 == 0:\n    {indent(STEP, '    ').strip()}\n    if i % 100 == 0:\n        {READ}",
        "nth-step",
    ),
    "beside the steps that are taken at each turn": (f"{STEP}\nif i % 100 == 0:\n    {READ}", "nth-step"),
    "in the branch of a second optimizer": (
        f"{STEP}\nif i % 5 == 0:\n    loss.backward()\n    second.step()\n    {READ}",
        "nth-step",
    ),
    "in the branch that only steps what is accumulated": (
        f"loss = model(x.to(device)).sum()\nloss.backward()\nif i % 8 == 0:\n    optimizer.step()\n    {READ}",
        "nth-step",
    ),
    "in a branch that only looks": (
        f"{STEP}\nif i % 8 == 0:\n    loss = model(x.to(device)).sum()\n    {READ}",
        "nth-step",
    ),
}


@pytest.mark.parametrize("name", SELDOM_LEARNT)
def test_the_branch_that_takes_the_steps_runs_at_every_step(name: str) -> None:
    body, frequency = SELDOM_LEARNT[name]
    text = (
        LEARN
        + "def train(model, optimizer, second, batches, args):\n    for i, x in enumerate(batches):\n"
        + indent(body, " " * 8)
    )
    assert {one.frequency for one in check(text)} == {frequency}


LOOPS = {
    "a loop": "for p in model.parameters():\n        p.norm().item()",
    "a comprehension": "norms = [p.norm().item() for p in model.parameters()]",
    "a function's loop": "norms(model)",
}
NORMS = "def norms(model: nn.Module):\n    for p in model.parameters():\n        p.norm().item()\n"


@pytest.mark.parametrize("name", LOOPS)
def test_in_a_loop_of_its_own_it_is_a_warning(name: str) -> None:
    found = check(NORMS + in_steps(f"if i % 100 == 0:\n    {LOOPS[name]}"))
    (finding,) = [one for one in found if one.trace[0].name == "train"]
    assert_told(finding, "nth-step", "warning", "at every n-th step, many times over")


def test_a_pair_that_is_written_out_is_no_loop_of_its_own() -> None:
    (finding,) = check(in_steps("if i % 100 == 0:\n    for one in (loss, x.sum()):\n        one.item()"))
    assert (finding.frequency, finding.severity) == ("nth-step", "info")


ASKED = """
def look(model, held_out):
    {loop}
        with torch.no_grad():
            y = model(x.to(device))
    return y.sum().item()

def main(sizes, load):
    model = nn.Linear(4, 4).to(device)
    model.eval()
    for x in sizes:
        look(model, load(x))
"""


def test_what_an_evaluation_reads_at_its_end_it_reads_once_however_many_there_are() -> None:
    for text in (ASKED, ASKED.replace("model(x", "model.sample(x")):
        (of_steps,) = check(text.format(loop="for _ in range(held_out):"))
        assert_told(of_steps, "evaluation", "warning", "at every step of an evaluation")
        for loop in ("for x in held_out:", "for x in held_out:\n      for _ in range(9):"):
            assert check(text.format(loop=loop)) == []


SEVERAL_LOADERS = """
def validate(model, loaders, kind):
    model.eval()
    for name, loader in loaders.items():
        {block}
            for i, x in enumerate(loader):
                y = model(x.to(device))
                {read}
"""


@pytest.mark.parametrize("block", ["if kind == name:", "with torch.no_grad():", "try:"])
def test_steps_of_an_evaluation_are_counted_by_their_own_loop_wherever_it_stands(block: str) -> None:
    end = "\n        finally:\n            pass" if block == "try:" else ""
    (every,) = check(SEVERAL_LOADERS.format(block=block, read="y.sum().item()") + end)
    assert_told(every, "evaluation", "warning", "at every step of an evaluation")
    (nth,) = check(
        SEVERAL_LOADERS.format(block=block, read="if i % 100 == 0:\n                    y.sum().item()") + end
    )
    assert_told(nth, "nth-step", "info", "at every n-th step")


SAVES = """
class Net(nn.Module):
    def forward(self, x):
        return torch.relu(x)

    def save(self, path):
        torch.save(self.state_dict(), path)

    def copy(self):
        return self.state_dict()["w"].cpu()
"""


def test_what_saves_a_model_as_often_as_somebody_likes_does_so_seldom() -> None:
    assert [(one.frequency, one.severity) for one in check(SAVES)] == [("call", "info"), ("call", "warning")]
    saved = [
        one for one in check(SAVES + in_steps("model = Net()\nmodel.save('net.pt')")) if "state_dict()`" in one.message
    ]
    assert [(one.frequency, one.severity) for one in saved] == [("step", "warning")]


TABLES = {
    "of keys that are written out": ('{"loss": loss, "norm": x.sum()}', "info", "at every n-th step"),
    "of keys that a loop gives": (
        "{name: loss for name in args.names}",
        "warning",
        "at every n-th step, many times over",
    ),
    "with more than is written out": (
        '{"loss": loss, **args.parts()}',
        "warning",
        "at every n-th step, many times over",
    ),
}


@pytest.mark.parametrize(
    "reads", ["for v in parts.values():\n        v.sum().item()", "[v.sum().item() for v in parts.values()]"]
)
@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_a_loop_of_its_own_unless_it_is_written_out(name: str, reads: str) -> None:
    made, severity, words = TABLES[name]
    (finding,) = check(in_steps(f"if i % 100 == 0:\n    parts = {made}\n    {reads}"))
    assert_told(finding, "nth-step", severity, words)


def test_a_mask_at_every_nth_step_is_a_warning_since_it_compiles() -> None:
    (finding,) = check(in_steps("if i % 100 == 0:\n    y = torch.relu(loss.expand(8))\n    y = y[y > 0]"))
    assert (finding.code, finding.frequency, finding.severity) == ("XLA201", "nth-step", "warning")


LOG = "def log(loss):\n    return loss.item()\n"
GUARDED_LOG = "def log(loss, step):\n    if step % 100 == 0:\n        return loss.item()\n"
LOOK = """
def look(model, batches):
    model.eval()
    while batches.left():
        model(batches.get().to(device)).sum().item()
"""
SAMPLE = """
def look(model, batches):
    with torch.no_grad():
        while batches.left():
            model(batches.get().to(device)).sum().item()
"""
CALLED = {
    "at every step": (LOG, "log(loss)", "step"),
    "under a guard": (LOG, "if i % 100 == 0:\n    log(loss)", "nth-step"),
    "with a guard in it": (GUARDED_LOG, "log(loss, i)", "nth-step"),
    "with a guard in it, under one": (GUARDED_LOG, "if i % 5 == 0:\n    log(loss, i)", "nth-step"),
    "with a guard of what it is not told": (GUARDED_LOG, "log(loss, x.shape[0])", "step"),
    "both under a guard and at every step": (LOG, "if i % 100 == 0:\n    log(loss)\nlog(loss * 2)", "step"),
    "by what evaluates a model, for as long as it likes": (
        LOOK,
        "if args.looks:\n    look(model, held_out)",
        "evaluation",
    ),
    "by what is given a model and keeps no gradients": (
        SAMPLE,
        "if args.looks:\n    look(model, held_out)",
        "evaluation",
    ),
    "by what is given a model that is set to evaluate": (
        LOOK.replace("    model.eval()\n", ""),
        "if args.looks:\n    model.eval()\n    look(model, held_out)",
        "evaluation",
    ),
    "by what runs a model, for as long as it likes": (
        LOOK.replace("    model.eval()\n", ""),
        "if args.looks:\n    look(model, held_out)",
        "step",
    ),
    "by a function under a guard": (
        LOG + "def show(loss):\n    return log(loss)\n",
        "if i % 100 == 0:\n    show(loss)",
        "nth-step",
    ),
    "as a closure under a guard": (
        LOG,
        "if i % 100 == 0:\n    torch_xla.core.xla_model.add_step_closure(log, args=(loss,))",
        "nth-step",
    ),
}


@pytest.mark.parametrize("name", CALLED)
def test_a_function_costs_as_often_as_it_is_called(name: str) -> None:
    function, body, frequency = CALLED[name]
    setup = "import torch_xla.core.xla_model\n" if "xla_model" in body else ""
    (finding,) = check(setup + function + in_steps(body))
    assert finding.frequency == frequency


FLAGS = {
    "that stays": ("if i % 100 == 0:\n    due = True\nif due:\n    {read}", "step"),
    "that is on otherwise": ("due = True\nif i % 100 == 0:\n    due = False\nif due:\n    {read}", "step"),
    "that something else sets, too": (
        "due = False\nif i % 100 == 0:\n    due = True\nif args.always:\n    due = True\nif due:\n    {read}",
        "step",
    ),
    "that is not set": ("due = False\nif i % 100 == 0:\n    due = True\nif not due:\n    {read}", "step"),
    "that is put back": ("due = False\nif i % 100 == 0:\n    due = True\nif due:\n    {read}", "nth-step"),
    "and more": ("due = False\nif i % 100 == 0:\n    due = True\nif due and args.logs:\n    {read}", "nth-step"),
    "that stands for a condition and an option": (
        "now = i % 100 == 0 or i == args.last\nshown = args.logs and now\nif shown:\n    {read}",
        "nth-step",
    ),
    "that is passed": ("due = False\nif i % 100 == 0:\n    due = True\nshow(loss, due)", "nth-step"),
}


@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_is_on_as_often_as_a_guard_sets_it(name: str) -> None:
    body, frequency = FLAGS[name]
    show = f"def show(loss, due):\n    if due:\n        {READ}\n"
    (finding,) = check(show + in_steps(body.format(read=READ), before="due = False"))
    assert finding.frequency == frequency


RENAMED = "def show(loss, steps, tests, train):\n    {assigned}\n    if at % 100 == 0:\n        " + READ + "\n"


@pytest.mark.parametrize(
    ("assigned", "frequency"),
    [
        ("at = loss.shape[0]", "step"),
        ("at = steps * train", "step"),
        ("at = steps\n    at = loss.ndim", "step"),
        ("at = steps", "nth-step"),
        ("at = steps if train else tests", "nth-step"),
        ("if train:\n        at = steps\n    else:\n        at = tests", "nth-step"),
    ],
)
def test_a_count_counts_under_another_name(assigned: str, frequency: str) -> None:
    (finding,) = check(RENAMED.format(assigned=assigned) + in_steps("show(loss, i, i, args.train)"))
    assert finding.frequency == frequency


METHODS = """
class Trainer:
    def __init__(self, layer, every):
        self.layer = layer
        self.every = every
        self.seen = 0

    def log(self, loss):
        if self.{name} % self.every == 0:
            return loss.item()

    def step(self, model, optimizer, x):
        loss = model(x.to(device)).sum()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        self.seen += 1
        self.log(loss)

    def train(self, model, optimizer, batches):
        for x in batches:
            loss = model(x.to(device)).sum()
            loss.backward()
            optimizer.step()
            torch_xla.sync()
            self.seen += 1
            self.log(loss)
"""


@pytest.mark.parametrize(("name", "frequency"), [("layer", "step"), ("every", "step"), ("seen", "nth-step")])
def test_an_attribute_counts_if_methods_change_it(name: str, frequency: str) -> None:
    (finding,) = check(METHODS.format(name=name))
    assert finding.frequency == frequency


LAST_LOGGED = METHODS.replace("self.seen = 0", "self.seen = self.last = self.first = 0").replace(
    "if self.{name} % self.every == 0:", "if self.seen - self.{name} >= self.every:\n            self.last = self.seen"
)


@pytest.mark.parametrize(("name", "frequency"), [("first", "step"), ("every", "step"), ("last", "nth-step")])
def test_so_far_above_a_mark_that_methods_move_on_is_every_nth_step(name: str, frequency: str) -> None:
    (finding,) = check(LAST_LOGGED.format(name=name))
    assert finding.frequency == frequency


COUNTED_BY_ITSELF = """
class Trainer:
    def train(self, model, optimizer, batches):
        for x in batches:
            loss = model(x.to(device)).sum()
            loss.backward()
            optimizer.step()
            if {guard}:
                loss.item()
            self.seen += 1
            self.best = max(self.best, self.limit)
"""


@pytest.mark.parametrize(
    ("guard", "frequency"),
    [
        ("self.limit == 0", "step"),
        ("self.best == 0", "step"),
        ("other.seen == 0", "step"),
        ("self.seen != 0", "step"),
        ("self.seen == 0", "nth-step"),
        ("self.seen == self.limit and self.best", "nth-step"),
    ],
)
def test_an_object_that_counts_the_steps_reaches_one_number_once(guard: str, frequency: str) -> None:
    (finding,) = check(COUNTED_BY_ITSELF.format(guard=guard))
    assert finding.frequency == frequency


LATCHED = """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.ready = False
        self.scale = None

    def {other}(self):
        self.ready = False
        self.scale = None

    def forward(self, x):
        if {test}:
            {given}
            print(x.sum().item())
        return x
"""


@pytest.mark.parametrize(
    ("test", "given", "other", "frequency"),
    [
        ("not hasattr(self, 'kept')", "self.kept = x", "reset", "run"),
        ("not hasattr(self, 'kept')", "self.register_buffer('kept', x)", "reset", "run"),
        ("not hasattr(self, 'kept')", "setattr(self, 'kept', x)", "reset", "run"),
        ("self.scale is None", "self.scale = x", "build", "run"),
        ("not self.ready", "self.ready = True", "build", "run"),
        ("self.training and not self.ready", "self.ready = True", "build", "run"),
        ("self.ready is False", "self.ready = True", "build", "run"),
        ("not self.ready", "self.ready = True", "reset", "step"),
        ("self.scale is None", "self.scale = x", "reset", "step"),
        ("self.scale is None or x.shape[0] > 4", "self.scale = x", "build", "step"),
        ("self.scale is None", "self.ready = True", "build", "step"),
        ("not self.ready", "self.ready = x.shape[0] > 4", "build", "step"),
        ("not hasattr(x, 'kept')", "x.kept = True", "build", "step"),
        ("not hasattr(self, 'kept')", "self.register_buffer('other', x)", "reset", "step"),
        ("not hasattr(self, 'kept')", "x.register_buffer('kept', x)", "reset", "step"),
    ],
)
def test_what_sets_an_attribute_up_runs_once(test: str, given: str, other: str, frequency: str) -> None:
    found = check(LATCHED.format(test=test, given=given, other=other))
    assert {one.frequency for one in found} == {frequency}


COUNTED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("step", torch.zeros(1))

def train(model: Net, optimizer, loader, device, sizes):
    for x in loader:
        loss = model(x.to(device)).sum()
        loss.backward()
        optimizer.step()
        n = {counts}
        if n % 100 == 0:
            print(loss.item())
"""


@pytest.mark.parametrize(
    ("counts", "frequency"), [("model.step.item()", "nth-step"), ("sizes.index(3)", "nth-step"), ("x.shape[0]", "step")]
)
def test_a_count_that_a_model_keeps_counts_steps(counts: str, frequency: str) -> None:
    found = check(COUNTED.format(counts=counts))
    assert frequency in {one.frequency for one in found if "`loss`" in one.message}


HOOKS = {
    "training_step": "step",
    "on_train_batch_end": "step",
    "validation_step": "evaluation",
    "test_step": "evaluation",
    "on_train_epoch_end": "epoch",
    "validation_epoch_end": "epoch",
    "on_fit_start": "run",
    "shown_by_others": "call",
}


def test_hooks_run_as_often_as_their_framework_calls_them() -> None:
    methods = "".join(f"    def {name}(self, batch, n=0):\n        self.net(batch).sum().item()\n" for name in HOOKS)
    found = check(f"import pytorch_lightning as pl\nclass Lit(pl.LightningModule):\n{methods}")
    assert {one.trace[-1].name.rpartition(".")[2]: one.frequency for one in found} == HOOKS


def test_an_evaluation_is_told() -> None:
    body = "\n        model.eval()\n        for x in held_out:\n            y = model(x).sum().item()\n"
    (finding,) = check(in_steps("pass") + body)
    assert_told(finding, "evaluation", "warning", "at every step of an evaluation")


QUIET = """
def quiet(f):
    def inner(*args, **kwargs):
        with torch.no_grad():
            return f(*args, **kwargs)
    return inner

class Net(nn.Module):
    @quiet
    def predict(self, images, shown=None):
        self.eval()
        for x in images:
            self.keep(torch.relu(self(x.to(device))))

    def keep(self, y):
        return y[y > 3].cpu()

if __name__ == "__main__":
    Net().predict(load())
"""


def test_what_evaluates_under_a_decorator_costs_in_an_evaluation() -> None:
    assert {one.frequency for one in check(QUIET)} == {"evaluation"}


WRAPPED = """
import functools

def quiet(func):
    {wraps}
    def wrapped(*args, **kwargs):
        return func(*args, **kwargs)
    return wrapped

class Task:
    {decorator}
    def train(self, model, optimizer, batches):
        for x in batches:
            loss = model(x.to(device)).sum()
            loss.backward()
            optimizer.step()
            {inside}
        {after}
"""


@pytest.mark.parametrize("wraps", ["@functools.wraps(func)", ""])
def test_a_decorator_around_a_loop_over_steps_runs_once_for_all_of_them(wraps: str) -> None:
    for inside, after, often in (("pass", READ, "epoch"), (READ, "pass", "step")):
        text = WRAPPED.format(wraps=wraps, decorator="@quiet", inside=inside, after=after)
        told = {finding.frequency for finding in check(text)}
        assert told == {finding.frequency for finding in check(text.replace("@quiet", ""))} <= {often, "run"}


LOOKS = """
class Net(nn.Module):
    def forward(self, x):
        return torch.relu(x)

    def reach(self, x):
        self(x).backward(torch.ones_like(x))
        {cleared}
        return x.grad

def prepare(batches):
    model = Net()
    model.reach(next(iter(batches)))
    return model

def fit(model, optimizer, batches):
    for epoch in range(100):
        for x in batches:
            loss = model(x.to(device)).sum()
            loss.backward()
            optimizer.step()
            loss.item()
        torch.save(model.state_dict(), "net.pt")

def run(optimizer, batches):
    fit(prepare(batches).to(device), optimizer, batches)

def main(experiments, optimizer, batches):
    for one in experiments:
        run(optimizer, batches)
"""


@pytest.mark.parametrize(
    ("cleared", "saved"),
    [
        ("self.zero_grad()", "epoch"),
        ("self.zero_grad(set_to_none=True)", "epoch"),
        ("optimizer.step()\n        self.zero_grad()", "step"),
        ("pass", "step"),
    ],
)
def test_gradients_that_are_only_looked_at_are_no_step(cleared: str, saved: str) -> None:
    told = {finding.code: finding.frequency for finding in check(LOOKS.format(cleared=cleared))}
    assert told == {"XLA301": "step", "XLA302": saved}


EPOCHS = {
    "beside the steps": "\n        total = loss.item()\n",
    "by a function that is called there": "\n        log(loss)\n",
    "of a checkpoint": "\n        net = nn.Linear(2, 2).to(device)\n        torch.save(net.state_dict(), 'net.pt')\n",
    "of a mask": "\n        y = torch.relu(loss.expand(8))\n        y = y[y > 0]\n",
}


@pytest.mark.parametrize("name", EPOCHS)
def test_what_is_read_once_an_epoch_is_information(name: str) -> None:
    (finding,) = [one for one in check(LOG + in_steps("pass") + EPOCHS[name]) if one.frequency != "step"]
    assert (finding.frequency, finding.severity) == ("epoch", "info")


def test_a_function_that_is_called_once_an_epoch_is_a_warning_if_it_reads_in_a_loop() -> None:
    (finding,) = check(NORMS + in_steps("pass") + "\n        norms(model)\n")
    assert_told(finding, "epoch", "warning", "once an epoch, many times over")


GUIDED = """
def move(x):
    return x.sum().item()

def sample(model, times, x: torch.Tensor):
    for t in times:
        x = model(x.to(device), t)
        for part in x.split(2):
            loss = model(part, t).sum()
            loss.backward()
        x = x - loss.grad
        move(x)
"""


SEVERAL = """
def train(model, optimizers, batches):
    for x in batches:
        loss = model(x.to(device)).sum()
        loss.backward()
        for {turn}:
            {step}.step()
        torch_xla.sync()
        loss.item()

def main(model, optimizers, batches):
    for epoch in range(10):
        train(model, optimizers, batches)
"""


@pytest.mark.parametrize(
    ("turn", "step"),
    [
        ("optimizer in optimizers", "optimizer"),
        ("name, one in optimizers.items()", "one"),
        ("i in range(2)", "optimizers[i]"),
        ("i in range(2)", "optimizers"),
    ],
)
def test_a_loop_of_optimizers_after_a_backward_pass_is_a_part_of_one_step(turn: str, step: str) -> None:
    (finding,) = check(SEVERAL.format(turn=turn, step=step))
    assert finding.frequency == "step"


def test_a_loop_around_backward_passes_that_are_no_steps_is_none_over_epochs() -> None:
    assert [one.frequency for one in check(GUIDED) if one.frequency != "step"] == []


def test_what_is_read_once_a_run_is_silent() -> None:
    assert check(LOG + in_steps("pass") + "\n    total = loss.item()\n") == []


def test_code_that_is_traced_runs_at_every_step() -> None:
    text = "class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n        return x[x > 0]\n"
    assert [one.frequency for one in check(text)] == ["step"]


TOLD = """
import torch
from torch import nn

net = nn.Linear(3, 3).cuda()
optimizer = torch.optim.SGD(net.parameters(), 0.1)

def step(x, log):
    loss = net(x.cuda()).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if log:
        print(loss.item())

def train(loader):
    for i, x in enumerate(loader):
        {}

train(torch.utils.data.DataLoader(load()))
"""


@pytest.mark.parametrize(
    ("told", "frequency"),
    [
        ("step(x, log=i % 100 == 0)", "nth-step"),
        ("due = i % 100 == 0\n        step(x, due)", "nth-step"),
        ("step(x, i % 100 != 0)", "step"),
        ("step(x, len(x) % 100 == 0)", "step"),
        ("step(x, i == x.shape[0])", "step"),
        ("step(x, log=i % 100 == 0)\n        step(x, log=True)", "step"),
    ],
)
def test_of_what_a_caller_says_is_due(told: str, frequency: str) -> None:
    found = {finding.frequency for finding in check(TOLD.format(told)) if finding.code == "XLA301"}
    assert found == {frequency}


NAMED_THERE = """
class Trainer:
    def __init__(self, model, optimizer, weight, every):
        self.model, self.optimizer, self.weight, self.every = model, optimizer, weight, every

    def update(self, x, at):
        {}
        loss = self.model(x.to(device)).sum()
        if due:
            loss.item()
        loss.backward()
        self.optimizer.step()

def run(trainer: Trainer, loader, steps):
    for i in {}(steps):
        trainer.update(next(loader), i)
"""


@pytest.mark.parametrize(
    ("named", "loop", "frequency"),
    [
        ("due = self.weight > 0 and (at + 1) % self.every == 0", "range", "nth-step"),
        ("due = at % self.every == 0", "xrange", "nth-step"),
        ("due = self.weight > 0 or at % self.every == 0", "range", "step"),
        ("due = at % self.every == 0\n        due = self.weight > 0", "range", "step"),
        ("due = at % self.every != 0", "range", "step"),
        ("due = x.shape[0] % self.every == 0", "range", "step"),
        ("due = self.weight == self.every", "range", "step"),
    ],
)
def test_of_a_condition_with_a_name_in_what_the_loop_calls(named: str, loop: str, frequency: str) -> None:
    (finding,) = [finding for finding in check(NAMED_THERE.format(named, loop)) if finding.code == "XLA301"]
    assert finding.frequency == frequency


@pytest.mark.parametrize("loop", ["range", "xrange"])
def test_of_a_loop_of_either_python(loop: str) -> None:
    (finding,) = check(
        in_steps(f"if i % 100 == 0:\n    {READ}", f"for i in {loop}(args.steps):\n            x = next(batches)")
    )
    assert finding.frequency == "nth-step"


MODEL = """
class Net(nn.Module):
    def forward(self, x, rest):
        x = torch.relu(x)
        {body}
"""
OTHER = MODEL.replace("nn.Module", "Base").replace("self, x", "self, x: torch.Tensor")


@pytest.mark.parametrize(
    ("model", "body", "frequency"),
    [
        pytest.param(MODEL, "if self.training:\n            x.max().item()", "step", id="where it is trained"),
        pytest.param(MODEL, "if self.training or rest:\n            x.max().item()", "step", id="where it may be"),
        pytest.param(MODEL, "if not self.keeping:\n            x.max().item()", "step", id="by another attribute"),
        pytest.param(MODEL, "if not rest.training:\n            x.max().item()", "step", id="by another model's"),
        pytest.param(OTHER, "if not self.training:\n            x.max().item()", "call", id="of no model"),
        pytest.param(
            MODEL, "if not self.training or rest:\n            x.max().item()", "step", id="where it is not, or may be"
        ),
        pytest.param(MODEL, "if not self.training:\n            x.max().item()", "evaluation", id="where it is not"),
        pytest.param(
            MODEL,
            "if rest and not self.training:\n            x.max().item()",
            "evaluation",
            id="where it is not, at times",
        ),
        pytest.param(
            MODEL, "if self.training:\n            return x\n        x.max().item()", "evaluation", id="behind a return"
        ),
        pytest.param(
            MODEL,
            "if self.training or rest:\n            pass\n        else:\n            x.max().item()",
            "evaluation",
            id="else",
        ),
    ],
)
def test_a_model_that_is_not_trained_is_evaluated(model: str, body: str, frequency: str) -> None:
    assert [one.frequency for one in check(model.format(body=body))] == [frequency]


BY_METHODS = """
class Trainer:
    def train(self, batches, optimizer):
        for i, x in enumerate(batches):
            self.model(x.to(device)).sum().backward()
            optimizer.step()
            if {due}:
                self.test(batches)

    def test(self, batches):
        {before}
        for x in batches:
            self.predict(x)

    def predict(self, x):
        y = {net}(x.to(device))
        print(y.max().item())

if __name__ == "__main__":
    Trainer(load()).train(load(), load())
"""


@pytest.mark.parametrize(
    ("due", "before", "net", "frequency"),
    [
        ("self.asks(x)", "self.other.eval()", "self.model", "step"),
        ("self.asks(x)", "self.model.eval()", "torch.relu", "step"),
        ("self.asks(x)", "self.model.eval()", "self.model", "evaluation"),
        ("i % 100 == 0", "self.model.eval()", "self.model", "evaluation"),
    ],
)
def test_methods_that_run_a_model_in_a_loop_evaluate_it(due: str, before: str, net: str, frequency: str) -> None:
    assert [one.frequency for one in check(BY_METHODS.format(due=due, before=before, net=net))] == [frequency]


LEARNER = """
class Learner:
    def train(self, batches):
        while self.seen < 9:
            self.model.eval()
            self.act(batches)
            self.learn(batches)

    def act(self, batches):
        self.seen += 1
        return self.model(batches)

    def learn(self, batches):
        for x in batches:
            loss = self.model(x.to(device)).sum()
            loss.backward()
            self.optimizer.step()
            loss.item()

if __name__ == "__main__":
    Learner(load()).train(load())
"""


def test_what_learns_beside_a_model_that_is_evaluated_takes_steps() -> None:
    assert [one.frequency for one in check(LEARNER)] == ["step"]


@pytest.mark.parametrize(
    ("body", "frequency"),
    [
        (f"if args.all:\n    {READ}\n    continue", "step"),
        (f"for p in args.all:\n    if p.done:\n        {READ}\n        break", "step"),
        (f"if args.all:\n    {READ}\n    break", "epoch"),
        (f"if args.all:\n    with args.all:\n        if args.more:\n            {READ}\n            break", "epoch"),
    ],
)
def test_what_ends_a_loop_runs_once_for_it(body: str, frequency: str) -> None:
    assert [one.frequency for one in check(in_steps(body))] == [frequency]


STORED = """
class State:
    def __init__(self):
        self.at = 0
        self.every = 9

class Trainer:
    def __init__(self):
        self.state = State()

    def train(self, model, optimizer, batches):
        for i, x in enumerate(batches):
            self.state.at = i + len(batches)
            loss = model(x.to(device)).sum()
            loss.backward()
            optimizer.step()
            if {count} % 100 == 0:
                loss.item()
"""


@pytest.mark.parametrize(("count", "frequency"), [("self.state.every", "step"), ("self.state.at", "nth-step")])
def test_a_count_that_a_loop_keeps_in_an_object_counts(count: str, frequency: str) -> None:
    assert [one.frequency for one in check(STORED.format(count=count))] == [frequency]
