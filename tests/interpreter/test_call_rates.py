"""How often functions run that a program calls by their names: what these do not tell costs at each call."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from xlalint.config import Settings
from xlalint.project import check_paths

AGENT = """
import torch
from torch import nn

class Agent:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def act(self, seen):
        return self.model(seen.cuda()).cpu()

    def update(self, batch):
        loss = self.model(batch.cuda()).sum()
        loss.backward()
        self.optimizer.step()

class Learner(Agent):
    def learn(self, batch):
        self.update(batch)
        self.prepare(batch)

    def prepare(self, batch):
        return batch.cuda().sum().cpu()

    def save(self, folder):
        return {name: one.cpu() for name, one in self.model.state_dict().items()}

def make_agent(config):
    agent = Agent(config.model, config.optimizer)
    return agent
"""
HEAD = "import torch\nfrom agent import Agent, Learner, make_agent\n\ndef main(env, config, batches):\n"
MAIN = "\nif __name__ == '__main__':\n    main(1, 2, 3)\n"
ACTING = """
for episode in range(9):
    seen, done = env.reset(), False
    while not done:
        action = agent.act(seen)
        seen, reward, done, told = env.step(action)
        agent.update(seen)
"""

RATES = {
    "a step's of a factory": ("act", "agent = make_agent(config)" + ACTING, "step"),
    "a step's of one of several": ("act", "buffer, agent = list(), Agent(1, 2)" + ACTING, "step"),
    "each turn's, beside the learning": (
        "act",
        "agent = make_agent(config)" + ACTING.replace("        agent.update(seen)", "    agent.update(seen)"),
        "step",
    ),
    "an n-th step's": (
        "act",
        "agent = Agent(1, 2)\nfor step in range(99):\n    agent.update(batches)\n    if step % 10 == 0:\n        agent.act(batches)",
        "nth-step",
    ),
    "an epoch's": (
        "act",
        "agent = Agent(1, 2)\nfor epoch in range(9):\n    for batch in batches:\n        agent.update(batch)\n    agent.act(batch)",
        "epoch",
    ),
    "a run's": (
        "act",
        "agent = Agent(1, 2)\nfor batch in batches:\n    agent.update(batch)\nagent.act(batch)",
        "epoch",
    ),
    "what a step calls": (
        "prepare",
        "learner = Learner(1, 2)\nfor batch in batches:\n    learner.learn(batch)",
        "step",
    ),
}
AT_EACH_CALL = {
    "a loop of which nothing is known": "agent = Agent(1, 2)\nfor batch in batches:\n    agent.act(batch)",
    "what hands it on": "agent = Agent(1, 2)\nfor batch in batches:\n    agent.update(batch)\nagent.act(batch)\nenv.play(agent.act)",
    "a step's of something else": "agent = Agent(1, 2)\nfor batch in batches:\n    agent.update(batch)\n    env.act(batch)",
    "nothing": "pass",
}


def often(folder: Path, body: str) -> dict[str, str | None]:
    """How often each function of the agent's file costs, by its name."""
    (folder / "agent.py").write_text(AGENT)
    (folder / "main.py").write_text(HEAD + indent(body.strip(), "    ") + MAIN)
    report = check_paths([folder], Settings(target="torch_xla", show_info=True))
    assert not report.failures
    found = [one for one in report.findings if one.filename.endswith("agent.py") and one.code == "XLA302"]
    return {one.trace[-1].name.rpartition(".")[2]: one.frequency for one in found}


@pytest.mark.parametrize(("name", "body", "wanted"), RATES.values(), ids=RATES)
def test_calls_say_how_often(name: str, body: str, wanted: str, tmp_path: Path) -> None:
    assert often(tmp_path, body)[name] == wanted


@pytest.mark.parametrize("body", AT_EACH_CALL.values(), ids=AT_EACH_CALL)
def test_what_calls_do_not_say(body: str, tmp_path: Path) -> None:
    assert often(tmp_path, body)["act"] == "call"
