"""Functions that drive a device by what they call: a step that another function takes makes the loop around the call one over steps."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.conftest import Loud
from xlalint.config import Settings
from xlalint.project import check_paths

AGENT = """
import torch
from torch import nn

class Agent:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def update(self, batch):
        loss = self.model(batch.cuda()).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    def look(self, batch):
        return self.model(batch.cuda()).sum()

class Careful(Agent):
    def update(self, batch):
        return super().update(batch)

def fit(agent: Agent, batches):
    for batch in batches:
        agent.update(batch)

def lead(agent, batches):
    fit(agent, batches)

def say(values):
    print(len(values))

def make_step(agent: Agent, trains):
    def step(state):
        if trains:
            agent.update(state)
        return agent.look(state)
    def look(state):
        return agent.look(state)
    return step

def make_look(agent: Agent):
    def step(state):
        agent.update(state)
    def look(state):
        return agent.look(state)
    return look
"""
READ = "torch.ones(3).cuda().sum().item()"
IMPORTS = (
    "import torch\nfrom agent import Agent, Careful, fit, lead, make_look, make_step, say\nimport agent as agents\n"
)

FOUND = {
    "one of several variables": f"""
        def main(states):
            seen, agent = list(states), Agent(1, 2)
            for state in states:
                {READ}
                agent.update(state)
        """,
    "what a function makes": f"""
        def make(kind):
            agent = Agent(kind, 2)
            return agent
        def main(states):
            agent = make(1)
            for state in states:
                {READ}
                agent.update(state)
        """,
    "a step that is handed to what runs it": f"""
        def main(model, optimizer, engine):
            def once(engine, state):
                model(state.cuda()).sum().backward()
                optimizer.step()
                {READ}
            engine.run(once)
        """,
    "what has that name elsewhere": f"""
        def main(agent, states):
            for state in states:
                {READ}
                agent.update(state)
        def start(states):
            agent = Agent(1, 2)
            main(agent, states)
        """,
    "a turn that acts, around several steps": f"""
        def main(agent: Agent, env, states):
            for state in states:
                {READ}
                for turn in range(env.turns):
                    agent.update(state)
                state, reward, done = env.step(3)
        """,
    "a variable": f"def main(states):\n    agent = Agent(1, 2)\n    for state in states:\n        {READ}\n        agent.update(state)",
    "a parameter": f"def main(agent: Agent, states):\n    for state in states:\n        {READ}\n        agent.update(state)",
    "a result that is kept": f"""
        def main(states):
            agent = agents.Agent(1, 2)
            for state in states:
                {READ}
                losses = agent.update(state), 1
        """,
    "a derived class": f"""
        def main(states):
            agent = Careful(1, 2)
            for state in states:
                {READ}
                agent.update(state)
        """,
    "an attribute": f"""
        class Runner:
            def __init__(self):
                self.agent = Agent(1, 2)
            def run(self, states):
                for state in states:
                    {READ}
                    self.agent.update(state)
        """,
    "one's own method": f"""
        class Runner(Agent):
            def run(self, states):
                for state in states:
                    {READ}
                    self.update(state)
        """,
    "a method that derived classes have": f"""
        class Base:
            def run(self, states):
                for state in states:
                    {READ}
                    self.update(state)
        class Derived(Base):
            def update(self, state):
                loss = torch.relu(state).sum()
                loss.backward()
                self.optimizer.step()
        """,
    "a step within a step": f"""
        def once(agent: Agent, state):
            agent.update(state)
        def main(agent, states):
            for state in states:
                {READ}
                once(agent, state)
        """,
    "a nested function": f"""
        def main(states):
            agent = Agent(1, 2)
            def once(state):
                agent.update(state)
            for state in states:
                {READ}
                once(state)
        """,
    "a loop of the module": f"agent = Agent(1, 2)\nfor state in states:\n    {READ}\n    agent.update(state)",
    "where the step comes after an inner loop": f"""
        def main(agent: Agent, states):
            while True:
                for state in states:
                    {READ}
                agent.update(states)
        """,
}
FOUND["a step that a function makes"] = f"""
    def main(agent, states):
        step = make_step(agent, True)
        for state in states:
            {READ}
            loss = step(state)
    """
FOUND["a step that is compiled, with its first argument"] = f"""
    from functools import partial
    def once(agent: Agent, state):
        agent.update(state)
    def main(agent, states):
        run = partial(once, agent)
        for state in states:
            {READ}
            run(state)
    """
FOUND["a turn that gathers and learns"] = f"""
    def main(agent: Agent, states):
        while states:
            {READ}
            lead(agent, states)
    """
FOUND["a turn that learns several times from what it gathered"] = f"""
    def learn(agent: Agent, state):
        for one in range(8):
            agent.update(state)
    def main(agent, states):
        while states:
            {READ}
            learn(agent, states)
    """
FOUND["a step in two halves"] = f"""
    class Trainer:
        def back(self, state):
            for part in state.split(2):
                torch.relu(part.cuda()).sum().backward()
        def optimize(self):
            self.optimizer.step()
        def step(self, state):
            {READ}
            self.back(state)
            self.optimize()
        def run(self, states):
            while states:
                self.step(states)
    """
FOUND["a step whose parts a loop puts together"] = f"""
    def back(state):
        for part in state.split(2):
            torch.relu(part.cuda()).sum().backward()
    def main(optimizer, states):
        for state in states:
            back(state)
            optimizer.step()
            {READ}
    """
FOUND["a model that takes a step where it is called"] = f"""
    class Own(torch.nn.Module):
        def forward(self, state, optimizer):
            self.inner(state).sum().backward()
            optimizer.step()
    def main(states, optimizer):
        model = Own()
        model = torch.nn.DataParallel(model.cuda())
        for state in states:
            {READ}
            model(state, optimizer)
    """
BATCHES = {
    "items that a loop takes at its count, for as long as some are left": f"""
        def main(agent, images, labels, left):
            while True in left:
                for i in range(len(images)):
                    label = labels[i : i + 1]
                    {READ}
                    left[i] = fit(agent, (images[i], label))
        """,
    "a loop over what a loader gives, around steps for each": f"""
        from torch.utils.data import DataLoader
        def main(agent, data):
            loader = DataLoader(data)
            for turn, batch in enumerate(loader):
                {READ}
                fit(agent, batch)
        """,
    "a loop over batches that it moves, around steps for each": f"""
        def main(agent, loader):
            for batch, labels in loader:
                {READ}
                fit(agent, batch)
                labels.to("xla")
        """,
}
SELDOM = {
    "around a loop over steps that is imported by another name": f"""
        from agent import fit as train
        def main(agent, epochs):
            for state in epochs:
                {READ}
                train(agent, state)
        """,
    "around a model that takes steps where it is called": f"""
        class Own(torch.nn.Module):
            def forward(self, state, optimizer):
                self.inner(state).sum().backward()
                optimizer.step()
        def main(epochs, optimizer):
            model = Own().cuda()
            for states in epochs:
                for state in states:
                    model(state, optimizer)
                {READ}
        """,
    "around a loop over steps, with something else moved": f"""
        def main(agent, epochs, table):
            for state in epochs:
                {READ}
                fit(agent, state)
                table.to("xla")
        """,
    "around a loop that uses the gradients in its own way": f"""
        def fit_by_hand(model, states):
            for state in states:
                model(state.cuda()).sum().backward()
                for p in model.parameters():
                    p.data.add_(p.grad, alpha=-0.1)
        def main(model, epochs):
            for state in epochs:
                {READ}
                fit_by_hand(model, state)
        """,
    "around a loop over steps": f"""
        def main(agent, epochs):
            for state in epochs:
                {READ}
                fit(agent, state)
        """,
    "over epochs that are counted to keep what each gave": f"""
        def main(agent, epochs, rates, took, losses):
            while epochs:
                for i in range(epochs):
                    state = rates[i]
                    {READ}
                    losses[i] = fit(agent, state)
                    took[i] = state
        """,
    "over epochs, with what a loader gives": f"""
        from torch.utils.data import DataLoader
        def main(agent, data, epochs):
            loader = DataLoader(data)
            for epoch in range(epochs):
                {READ}
                fit(agent, loader)
        """,
    "over episodes, around turns that act": f"""
        def main(agent: Agent, env, episodes):
            for episode in range(episodes):
                {READ}
                while env.goes_on():
                    state, reward, done = env.step(3)
                    agent.update(state)
        """,
    "for as long as steps are left, around a pass over data": f"""
        def main(agent, loader):
            while True:
                {READ}
                fit(agent, loader)
        """,
    "over runs, around epochs": f"""
        def main(agent, epochs, runs):
            while runs:
                for state in epochs:
                    {READ}
                    fit(agent, state)
        """,
    "around what leads to one": f"""
        def main(agent, epochs):
            for state in epochs:
                {READ}
                lead(agent, state)
        """,
}
SILENT = {
    "around what is imported by the name of a loop": f"""
        from agent import say as fit
        def main(agent, epochs):
            for state in epochs:
                {READ}
                fit(state)
        """,
    "beside the loop": f"def main(agent: Agent, state):\n    agent.update(state)\n    for one in range(8):\n        {READ}",
    "no loop": f"def main(agent, state):\n    {READ}\n    fit(agent, state)",
    "what takes no step": f"def main(agent: Agent, states):\n    for state in states:\n        {READ}\n        agent.look(state)",
    "what computes nothing": f"def main(states):\n    for state in states:\n        {READ}\n        say(states)",
    "a method of that name of something else": f"""
        class Meter:
            def update(self, value):
                self.value = value
        def main(states):
            meter = Meter()
            for state in states:
                {READ}
                meter.update(1)
        """,
    "a step that is handed on and called": f"""
        def main(model, optimizer, engine):
            def once(engine, state):
                model(state.cuda()).sum().backward()
                optimizer.step()
                {READ}
            once(engine, 3)
            engine.run(once)
        """,
    "what is handed on and takes no step": f"""
        def main(model, engine):
            def once(engine, state):
                {READ}
            engine.run(once)
        """,
    "a method of what has another name": f"""
        def main(bar, states):
            for state in states:
                {READ}
                bar.update(1)
        def start():
            return Agent(1, 2)
        """,
    "a method of what is not known": f"def main(bar, states):\n    for state in states:\n        {READ}\n        bar.update(1)",
    "a class that is made in the loop": f"def main(states):\n    for state in states:\n        {READ}\n        Agent(1, 2)",
    "a function that is made and takes no step": f"""
        def main(agent, states):
            look = make_look(agent)
            for state in states:
                {READ}
                look(state)
        """,
    "a step that is made and not taken": f"""
        def main(agent, states):
            step = make_step(agent, True)
            for state in states:
                {READ}
                say(state)
        """,
    "what is made of a step": f"""
        def main(agent, states):
            step = torch.compile(agent)
            shown = repr(make_step(agent, True))
            for state in states:
                {READ}
                shown(state)
        """,
    "a name that hides it": f"""
        def fit(agent, state):
            return agent
        def main(agent, states):
            for state in states:
                {READ}
                fit(agent, state)
        """,
}


OBJECTS = """
import torch

class Store:
    def __init__(self):
        self.rows = torch.zeros(8, 4)
        self.kept = torch.zeros(8)

    def to(self, device):
        self.rows = self.rows.to(device)

def main(model, optimizer, device, batches):
    store = Store()
    {moved}
    for x in batches:
        model(x.to(device)).sum().backward()
        optimizer.step()
        total = store.{name}.sum().item()
"""


@pytest.mark.parametrize(
    ("moved", "name", "count"),
    [("store.to(device)", "rows", 1), ("store.to(device)", "kept", 0), ("pass", "rows", 0)],
)
def test_an_object_is_what_its_methods_make_of_it(moved: str, name: str, count: int, loud: Loud) -> None:
    assert loud(OBJECTS.format(moved=moved, name=name), "torch_xla") == ["XLA301"] * count


ON_THE_CPU = """
import numpy as np
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{device}
def main(rows):
    for row in rows:
        loss = model(torch.from_numpy(row)).sum()
        loss.backward()
        optimizer.step()
        total = {read}
"""


@pytest.mark.parametrize(
    ("device", "read", "count"),
    [
        ("", "loss.item()", 1),
        ("", "torch.from_numpy(row).sum().item()", 0),
        ("model.to('cpu')", "model(torch.from_numpy(row)).sum().item()", 0),
    ],
)
def test_a_program_that_names_no_device_leaves_its_model_to_the_port(
    device: str, read: str, count: int, loud: Loud
) -> None:
    assert loud(ON_THE_CPU.format(device=device, read=read), "torch_xla") == ["XLA301"] * count


LOADER = """
import torch
from torch.utils.data import DataLoader

def main(model, optimizer, examples):
    batches = iter(DataLoader(examples, batch_size=8, shuffle=True))
    {loop}:
        loss = model(next(batches).cuda()).sum()
        {step}
"""


@pytest.mark.parametrize(
    ("loop", "step", "expected"),
    [
        ("for x in range(99)", "loss.backward()\n        optimizer.step()", ["XLA402"]),
        ("for x in range(99)", "pass", []),
        ("if examples", "pass", []),
    ],
)
def test_a_loader_of_a_program_that_trains_is_judged_before_it_is_ported(
    loop: str, step: str, expected: list[str], loud: Loud
) -> None:
    assert loud(LOADER.format(loop=loop, step=step), "") == expected


LEARNER = """
import torch
from typing import Optional, Union

class Agent:
    def act(self, state):
        return self.policy(state.cuda())

    def after(self, turn):
        if self.is_full():
            self.learn()

    def learn(self):
        for batch in self.memory:
            loss = self.policy(batch.cuda()).sum()
            loss.backward()
            self.optimizer.step()
        spread = torch.ones(3).cuda().sum().item()

class Slow(Agent):
    pass

class Runner:
    def __init__(self, env, agent: {annotation}):
        self.env = env
        self.agent = agent

    def run(self, turns):
        state = self.env.reset()
        {loop}:
            {turn}
            self.agent.after(turn)
"""
ACTS = "state, reward, done, info = self.env.step(self.agent.act(state))"
# annotation, loop, turn of the loop around; whether what follows the inner loop counts.
TURNS = {
    "epochs": ("Agent", "for turn in range(turns)", "self.agent.act(state)", False),
    "epochs of what steps a schedule": (
        "Agent",
        "for turn in range(turns)",
        "rate, scale = self.schedule.step(turn)",
        False,
    ),
    "what returns three things and takes none": (
        "Agent",
        "for turn in range(turns)",
        "a, b, c = self.clock.step()",
        False,
    ),
    "an agent of which nothing is known": ("object", "for turn in range(turns)", ACTS, False),
    "no loop": ("Agent", "if turns", f"turn = 1; {ACTS}", False),
    "acts in an environment": ("Agent", "for turn in range(turns)", ACTS, True),
    "acts for as long as it may": ("Agent", "while turns", f"turn = 1; {ACTS}", True),
    "one of several agents": ("Union[Runner, Slow]", "for turn in range(turns)", ACTS, True),
    "perhaps an agent": ("Optional[Agent]", "for turn in range(turns)", ACTS, True),
    "an agent or a list of them": ("Agent | list[Agent]", "for turn in range(turns)", ACTS, True),
}


@pytest.mark.parametrize(("annotation", "loop", "turn", "counts"), TURNS.values(), ids=TURNS)
def test_what_is_learned_from_turn_to_turn_is_no_run_of_its_own(
    annotation: str, loop: str, turn: str, counts: bool, loud: Loud
) -> None:
    text = LEARNER.format(annotation=annotation, loop=loop, turn=turn)
    assert loud(text, "torch_xla").count("XLA301") == counts


SAMPLER = """
import torch

class Sampler({base}):
    def step(self, closure):
        for turn in range(self.turns):
            loss = closure()
            loss.backward()
            self.inner.step()
        return torch.ones(3).cuda().sum().item()
"""


@pytest.mark.parametrize(
    ("base", "count"), [("object", 0), ("torch.utils.data.Dataset", 0), ("torch.optim.Optimizer", 1)]
)
def test_what_an_optimizer_does_is_part_of_a_step(base: str, count: int, loud: Loud) -> None:
    assert loud(SAMPLER.format(base=base), "torch_xla").count("XLA301") == count


def check(tmp_path: Path, text: str) -> list[tuple[str, str]]:
    """The reads in a program of two files, each with its severity."""
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "run.py").write_text(IMPORTS + dedent(text) + "\n")
    report = check_paths([tmp_path], Settings(show_info=True))
    assert not report.failures
    found = [one for one in report.findings if one.filename.endswith("run.py") and one.code == "XLA301"]
    return [(one.severity, one.frequency or "") for one in found]


@pytest.mark.parametrize("case", FOUND)
def test_what_is_read_around_a_step_is_read_at_every_step(case: str, tmp_path: Path) -> None:
    assert check(tmp_path, FOUND[case]) == [("warning", "step")]


@pytest.mark.parametrize("case", BATCHES)
def test_what_is_read_for_each_batch_is_no_matter_of_epochs(case: str, tmp_path: Path) -> None:
    assert [severity for severity, _ in check(tmp_path, BATCHES[case])] == ["warning"]


@pytest.mark.parametrize("case", SELDOM)
def test_what_is_read_around_a_loop_over_steps_is_read_once_an_epoch(case: str, tmp_path: Path) -> None:
    assert check(tmp_path, SELDOM[case]) == [("info", "epoch")]


@pytest.mark.parametrize("case", SILENT)
def test_what_no_step_is_around_is_silent(case: str, tmp_path: Path) -> None:
    assert check(tmp_path, SILENT[case]) == []


KEPT = """
import torch

def evaluate(model, env, device):
    model.eval()
    states = torch.zeros(1, 3).to(device)
    for t in range(1000):
        {turn}
        state, reward, done, _ = env.step(states.cpu())
        if done:
            break
"""


@pytest.mark.parametrize("turn", ["model.to(device)", "model.save('last')", "model.state_dict()", "device.act(states)"])
def test_a_loop_that_keeps_a_model_runs_none(turn: str, loud: Loud) -> None:
    assert loud(KEPT.format(turn=turn), "torch_xla") == []


@pytest.mark.parametrize("turn", ["action = model.get_action(states)", "action = model.generate(states, n=1)"])
def test_a_loop_that_uses_a_method_of_the_model_evaluates_it(turn: str, loud: Loud) -> None:
    assert loud(KEPT.format(turn=turn), "torch_xla") == ["XLA302"]


GIVEN = """
import torch

def score(net, parts, others):
    for part in parts:
        for other in others:
            {turn}

def main(net, parts, others, device):
    net = net.to(device)
    {before}
    score(net, parts, others)
"""


@pytest.mark.parametrize("turn", ["net.save(str(part))", "net.load_state_dict(part)", "kept = part.max(1)[1].tolist()"])
def test_loops_in_loops_that_run_no_model_they_are_given(turn: str, loud: Loud) -> None:
    assert loud(GIVEN.format(before="net.eval()", turn=turn), "torch_xla") == []


@pytest.mark.parametrize(
    "turn", ["net.compare(part, other).cpu().numpy()", "net(part)\n            net.sum(part).cpu()"]
)
def test_loops_in_loops_that_run_a_model_they_are_given(turn: str, loud: Loud) -> None:
    assert loud(GIVEN.format(before="net.eval()", turn=turn), "torch_xla") == ["XLA302"]


def test_what_a_model_gives_that_a_function_is_given(loud: Loud) -> None:
    text = GIVEN.replace("{turn}", "kept = net(part)\n            kept.max(1)[1].tolist()")
    assert loud(text.format(before="net.eval()"), "torch_xla") == ["XLA302"]
    assert loud(text.format(before="print(net)"), "torch_xla") == []


EPOCHS = """
import torch

class Trainer(Base):
    def eval(self):
        return self.score()

    def run(self, x: torch.Tensor, net):
        {before}
        for epoch in range(9):
            {turn}
            print(x.sum().item())
"""


@pytest.mark.parametrize(
    ("before", "turn", "frequency"),
    [
        ("self.eval()", "self.total(x)", "call"),
        ("net.score()", "net.total(x)", "call"),
        ("net.eval()", "net.total(x)", "evaluation"),
    ],
)
def test_an_object_that_evaluates_is_no_model_that_it_uses(
    before: str, turn: str, frequency: str, tmp_path: Path
) -> None:
    path = tmp_path / "train.py"
    path.write_text(EPOCHS.format(before=before, turn=turn))
    report = check_paths([path], Settings(root=str(tmp_path), target="torch_xla", show_info=True))
    assert [one.frequency for one in report.findings] == [frequency]
