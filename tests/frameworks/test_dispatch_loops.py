"""What the host reads in the loops that call compiled functions."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.conftest import Loud
from xlalint.config import Settings
from xlalint.project import check_paths

JAX = """
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def step(params, batch):
    loss = jnp.mean((batch["x"] @ params["w"]) ** 2)
    return params, {"loss": loss}


update = jax.jit(lambda state, x: (state + x, state.sum()))
"""
TF = """
import tensorflow as tf

w = tf.Variable(tf.ones([3, 1]))


@tf.function(jit_compile=True)
def step(x: tf.Tensor):
    loss = tf.reduce_mean(tf.matmul(x, w) ** 2)
    w.assign_sub(0.1 * loss * w)
    return loss


@tf.function(jit_compile=True)
def predict(x: tf.Tensor):
    return tf.matmul(x, w)
"""
EPISODE = """
from envs import make

env = make("humanoid")
reset, act = jax.jit(env.reset), jax.jit(make.policy())
go = {0}
state = reset(key)
for i in range(1000):
    state = go(state, act(state.obs))
    {1}
    if state.done:
        break
"""
STEPPED = """
from envs import make

env, env_reset, env_step = make("humanoid")
act = jax.jit(lambda seen: jnp.tanh(seen).sum())

def play(key, agent, kept, other, total=0.0):
    {0}
    for i in range(1000):
        {1}
        {2}
    return total
"""
LOOP = """
def train(params, loader):
    best = 1e9
    for index, batch in enumerate(loader):
        params, metrics = step(params, batch)
        {0}
"""

AGENT = """
class Agent:
    def __init__(self, params):
        self.params, start = step(params, params)
        self.start = float(start["loss"])

    def update(self, batch):
        self.params, m = step(self.params, batch)
        return m["loss"]

    def score(self, batch) -> float:
        _, m = step(self.params, batch)
        return float(m["loss"])

    def loss(self, batch) -> float:
        _, m = step(self.params, batch)
        return m["loss"]

def log(at, value):
    print(at, float(value))

def twice(value):
    return jnp.reshape(value, -1) * 2

def epoch(params, loader):
    for batch in loader:
        params, m = step(params, batch)
    return params, m["loss"]
"""

PLAY = """
@jax.jit
def choose(params, seen):
    return jnp.argmax(seen @ params)

def play(params, env):
    seen = env.reset()
    for _ in range(100):
        action = choose(params, jnp.asarray(seen))
        {0}
"""

SERVE = """
@jax.jit
def choose(params, seen):
    return jnp.argmax(seen @ params)

def play(params, env, log, self):
    for _ in range(100):
        seen, reward, ids = env.recv()
        action = choose(params, seen)
        {0}
"""

UPDATES = """
class Agent:
    def __init__(self, params):
        self.params = params

    def update(self, b):
        self.params, m = step(self.params, b)
        return {{"loss": m["loss"].item()}}

    def score(self, b):
        return predict(self.params, b)

def train(params, loader, test, log):
    agent, n = Agent(params), 0
    while n < 10000:
        n += 1
        info = agent.update(next(loader))
        {0}
"""

COLLECT = """
@jax.jit
def predict(params, batch):
    return batch @ params

def evaluate(params, agent, loader):
    kept = []
    for batch in loader:
        batch = jnp.asarray(batch["x"])
        rows = predict(params, batch)
        {0}
    return kept
"""

GATHER = """
from flax import jax_utils

def to_cpu(x):
    return jax.device_get(jax_utils.unreplicate(x))

def evaluate(params, loader, names):
    kept = []
    for batch in loader:
        given = {0}
        rows, m = step(given, {{a: batch[b] for a, b in names.items()}})
        {1}
    return kept
"""

ACTING = """
@jax.jit
def choose(params, seen):
    return jnp.argmax(seen @ params)

def act(params, env, kept):
    action = choose(params, env.state).item()
    {0}
    return action

def play(params, env, kept):
    for _ in range(1000):
        act(params, env, kept)
"""
RUN = """
@jax.jit
def run(state, b):
    m = jax.tree.map(lambda x: jax.lax.psum(x, "d"), b["told"]) if "told" in b else ()
    return state, m

def train(state, loader, names, kept):
    for b in loader:
        state, m = run(state, b)
        if m:
            {0}
"""
COUNTED = """
from flax import struct
from flax.training.train_state import TrainState

@struct.dataclass
class Held:
    w: jax.Array
    depth: int = struct.field(pytree_node=False)
    count: int = 0

    @jax.jit
    def forward(self, b):
        return self.replace(w=self.w + b, count=self.count + 1)

@jax.jit
def count(w, n, b):
    return w + b, n + 1

@jax.jit
def learn(state, b):
    return state.apply_gradients(grads=b)

class Replaced:
    def __init__(self, w):
        self.w = w
        self.update = {1}

    def update(self, w, b):
        return w + b, w.sum()

def train(apply, w, tx, batches, held: Held):
    state, n, kept = TrainState.create(apply_fn=apply, params=w, tx=tx), 0, Replaced(w)
    for i, b in enumerate(batches):
        {0}
"""

FEW = """
EPOCHS = 5

def fit(params, turns=8):
    for i in {0}:
        params, m = step(params, params)
        print(float(m["loss"]))

{1}
"""
WRITE = """
@jax.jit
def transform(params, rows):
    return rows @ params

def write(files, names, params):
    i, rows = 0, []
    while i < len(files):
        rows.append(load(files[i]))
        i += 1
        out = transform(params, np.stack(rows[-4:]))
        for j in range(len(rows)):
            {0}
"""
EVERY = """
from told import Every

class Due:
    def __init__(self, n):
        self.n, self.next = n, 0

    def __call__(self, step):
        if step < self.next:
            return False
        self.next += self.n
        return True

class Doubled:
    def __call__(self, step):
        return step * 2 > 100

def train(params, loader, n, log):
    log_due = Every(n)
    turn = log.turn
    while turn < 10000:
        params, m = step(params, next(loader))
        turn.increment()
        {0}

def more(params, loader, n):
    own, twice, shut = Due(n), Doubled(), n.shut
    for turn, b in enumerate(loader):
        params, m = step(params, b)
        {1}
"""

TOLD = LOOP.format("print(float(metrics['loss']))")
RARE = """
def main(params, loader, test, last, verbose):
    def score():
        return float(step(params, test)[1]["loss"])

    at = 0
    for batch in loader:
        params, _ = step(params, batch)
        at += 1
        if {0}:
            print(score())
    return score()
"""
SEARCH = """
loss = jax.jit(lambda params, b: ((b @ params) ** 2).mean())

def search(params, slope, b, best, n):
    scale, trial = 1.0, params
    for i in range(n):
        {0}
        {1}
    return trial
"""

QUEUE = """
from collections import deque

def run(params, loader):
    waiting = {1}
    for batch in loader:
        params, metrics = step(params, batch)
        waiting.append((metrics, batch))
        if len(waiting) > 2:
            metrics, _ = waiting.{0}
            print(float(metrics["loss"]))
"""
SEEN = "seen, reward = env.step(int(action))\n        "

SILENT = {
    "what has waited longest in a queue": QUEUE.format("popleft()", "deque()"),
    "what has waited longest in a list": QUEUE.format("pop(0)", "[]"),
    "what a simulation is asked to draw at each turn": PLAY.format(
        SEEN + "kept.append(env.render())\n        print(float(choose(params, reward)))"
    ),
    "what a video shows of a play, and nothing learns": PLAY.format(
        SEEN + "kept.append(np.asarray(choose(params, reward)))"
    ),
    "what a video shows of a play, named anew": PLAY.format(
        SEEN
        + "frame = choose(params, reward)\n        frame = jnp.array(frame * 255)\n        kept.append(np.asarray(frame))"
    ),
    "a number beside an action that a simulation needs": PLAY.format(
        SEEN + "told = choose(params, reward)\n        kept.append(told.item())"
    ),
    "a number of a play that the host stops": PLAY.format(
        SEEN + "print(float(choose(params, reward)))\n        if reward < 0:\n            break"
    ),
    "in a program that chooses the CPU": "jax.config.update('jax_platforms', 'cpu')\n" + TOLD,
    "in a program that chooses the CPU, by the older name": "jax.config.update('jax_platform_name', 'cpu')\n" + TOLD,
    "in a function that is called at the first turn and at every n-th": RARE.format("at % 15 == 0 or at == 1"),
    "in a function that is called at every n-th turn, where it runs besides": RARE.format("at % 15 == 0 or at == last"),
    "in a function that is called at one turn": RARE.format("at == 1"),
    "a line search": SEARCH.format(
        "trial = params - 0.5**i * slope", "if loss(trial, b) < best:\n            return trial"
    ),
    "a line search, by numbers": SEARCH.format(
        "trial = params - scale * slope",
        "new = float(loss(trial, b))\n        if new <= best:\n            break\n        scale *= 0.5",
    ),
    "a search that leaves where it does not go on": SEARCH.format(
        "trial = params - 0.5**i * slope",
        "if loss(trial, b) >= best:\n            continue\n        else:\n            return trial",
    ),
    "what a simulation takes and an array of the host's keeps": PLAY.format(
        "seen, reward = env.step(action)\n        kept[_] = action.reshape(-1)"
    ).replace("seen = env.reset()", "seen, kept = env.reset(), np.zeros((100, 3))"),
    "what is read once around loops around steps": (
        "def train(params, runs):\n    for one in runs:\n        told = update(params['w'], one)[1]\n        print(float(told))\n"
        "        for e in range(90):\n            for b in one:\n                params, m = step(params, b)"
    ),
    "what only a flag asks for": (
        "import sys\nfrom absl import app, flags\n\nflags.DEFINE_bool('loud', False, 'tell')\nFLAGS = flags.FLAGS\n\n"
        "def main(_):\n    params = load()\n    for b in load():\n        params, m = step(params, b)\n"
        "        if FLAGS.loud:\n            print(float(m['loss']))\n\nif __name__ == '__main__':\n    app.run(main)"
    ),
    "a few turns of a function that a script calls": FEW.format("range(10)", "fit(load())"),
    "as many as a constant says": FEW.format("range(EPOCHS)", "fit(load())"),
    "as many as a default says": FEW.format("range(turns)", "fit(load())"),
    "as many as the call says": FEW.format("range(turns)", "fit(load(), 3)"),
    "a few turns that are shown": FEW.format("tqdm(range(9))", "from tqdm import tqdm\nfit(load())"),
    "a few turns under a few others": FEW.format(
        "range(2)", "def main():\n    fit(load())\n\nif __name__ == '__main__':\n    main()"
    ),
    "files of what each turn computes": WRITE.format("jnp.save(names[j], out[j])"),
    "files of arrays that are copied for them": WRITE.format("np.save(names[j], np.asarray(out[j]))"),
    "arrays that a loop collects by a count of its own": (
        "@jax.jit\ndef predict(params, b):\n    return b @ params\n\ndef collect(params, data, n):\n    kept, i = [], 0\n"
        "    while i < n:\n        kept.append(np.asarray(predict(params, data[i])))\n        i += 1\n    return kept"
    ),
    "at the turns that an object of a library's asks for": EVERY.format(
        "if log_due(turn):\n            print(float(m['loss']))", "pass"
    ),
    "at the turns that an object of the program's asks for": EVERY.format(
        "pass", "if own(turn):\n            print(float(m['loss']))"
    ),
    "what a simulation takes and a memory keeps": PLAY.replace(
        "def play(", "def keep(memory, action):\n    memory.append(np.array(action))\n\ndef play("
    ).format("after, reward = env.step(action)\n        keep([], action)\n        seen = after"),
    "a number that a compiled function leaves as it is": (
        "import equinox as eqx\n\n@eqx.filter_jit\ndef count(w, n, b):\n    return w + b, n + 1\n\n"
        "def train(w, batches):\n    n = 0\n    for b in batches:\n        w, n = count(w, n, b)\n        print(int(n))"
    ),
    "what a state's class calls static": COUNTED.format(
        "held = held.forward(b)\n        print(int(held.depth))", "jax.jit(self.update)"
    ),
    "the count of a state's steps, at every n-th turn": COUNTED.format(
        "state = learn(state, b)\n        if i % 100 == 0:\n            print(int(state.step))", "jax.jit(self.update)"
    ),
    "the count of a state that nothing compiled gave": COUNTED.format(
        "state = state.apply_gradients(grads=b)\n        print(int(state.step))", "jax.jit(self.update)"
    ),
    "how many steps the host has counted": COUNTED.format(
        "w, m = count(w, n, b)\n        n += 1\n        print(int(n))", "jax.jit(self.update)"
    ),
    "a method in the place of which a constructor puts a function of the host": COUNTED.format(
        "w, total = kept.update(w, b)\n        print(float(total))", "lambda w, b: (w, 3.0)"
    ),
    "an action that the simulation takes which it is chosen for": ACTING.format("env.step(action)"),
    "an action that such a simulation takes by another name": ACTING.replace("env.", "env.inner.").format(
        "index = action\n    env.inner.step(action)"
    ),
    "whether there are parts of what is gone over": RUN.format(
        "for one, other in zip(names, m):\n                kept.append((one, other))"
    ),
    "whether there are entries of what is asked for one": RUN.format("kept.append(m['loss'])"),
    "in a method, before a loop that takes as many steps": UPDATES.format(
        "for t in test:\n            agent.params, m = step(agent.params, t)"
    ),
    "in the turns of an evaluation at every n-th step": (
        "def train(params, loader, test, n):\n    for i, b in enumerate(loader):\n        params, m = step(params, b)\n"
        "        if i % n == 0:\n            losses = []\n            for t in test:\n                _, k = step(params, t)\n"
        "                losses.append(float(k['loss']))"
    ),
    "a number that such an evaluation adds up": (
        "def train(params, loader, test, n):\n    for i, b in enumerate(loader):\n        params, m = step(params, b)\n"
        "        if i % n == 0:\n            total = 0.0\n            for t in test:\n                _, k = step(params, t)\n"
        "                total += float(k['loss'])"
    ),
    "what a table keeps of rows that are dicts": "import pandas as pd\n\n"
    + LOOP.format("rows = pd.DataFrame([metrics])"),
    "a few turns of a script": "for i in range(10):\n    params, m = step(params, data[i])\n    print(m['loss'])",
    "blocks of the host's matrix": (
        "def fill(params, xs, n):\n    table = np.zeros((n, n))\n    for i in range(0, n, 9):\n"
        "        for j in range(0, n, 9):\n            table[i : i + 9, j] = update(xs[i : i + 9], xs[j])[1]\n    return table"
    ),
    "keys of what may be a dict": (
        "@jax.jit\ndef f(found):\n    for name, others in found.items():\n        for other in others:\n"
        "            if name != other:\n                print(name)\n    return found"
    ),
    "arrays that a function copies for an evaluation": GATHER.format("params", "kept.append(to_cpu(m['loss']))"),
    "arrays that an evaluation collects, of entries that a table names": GATHER.format(
        "params", "kept.append(np.asarray(m['loss']))"
    ),
    "whether a generator has given all": (
        "def sample(params, limit):\n    for _ in range(limit):\n        if jnp.all(params['done']):\n            break\n"
        "        params, m = step(params, params)\n        yield params"
    ),
    "items of a list that are asked for a key": LOOP.format("kept = [z[index] for z in metrics if index in z]").replace(
        "step(params, batch)", "jax.pmap(load())(params, batch)"
    ),
    "what a method gives back to be shown": (
        "import matplotlib.pyplot as plt\n\ndef shown(params, patches) -> list[plt.Artist]:\n    for patch in patches:\n"
        "        params, m = step(params, patch)\n        patch.set_xy(float(m['loss']))\n    return patches"
    ),
    "an episode that the device simulates": EPISODE.format("jax.jit(env.step)", "total += float(state.reward)"),
    "an episode, by functions that somebody made": STEPPED.format(
        "state = env_reset(key)", "state = env_step(state, act(state.obs))", "total += float(state.reward)"
    ),
    "an episode, by methods, whose state is one of several": STEPPED.format(
        "obs, state = env.reset(key)",
        "obs, state, reward, done, _ = env.step(key, state, act(obs))",
        "kept.append(np.asarray(act(state)))",
    ),
    "behind turns that are left where something known says so": LOOP.format(
        "kind = 1\n        if kind == 1:\n            if index % 100:\n                continue\n        print(float(metrics['loss']))"
    ),
    "at the turns that a chosen expression lets in": LOOP.format(
        "print(float(metrics['loss'])) if index % 100 == 0 else None"
    ),
    "at the turns that an operator lets in": LOOP.format("index % 100 == 0 and print(float(metrics['loss']))"),
    "but for the turns that an operator leaves out": LOOP.format("index % 100 or print(float(metrics['loss']))"),
    "what the host has of a choice of turns": LOOP.format(
        "best = float(metrics['loss']) if index % 100 == 0 else best"
    ),
    "arrays that a function of another framework's module collects": "import torch\n\n"
    + COLLECT.replace(
        "def evaluate(", "def padded(params, rows):\n    return np.asarray(predict(params, rows))\n\ndef evaluate("
    ).format("key, one = jax.random.split(key)\n        kept.append(padded(params, jax.random.normal(one, (3, 3))))"),
    "episodes that the device simulates side by side": EPISODE.format(
        "jax.jit(jax.vmap(env.step))", "kept.append(state)"
    ),
    "what a function reads for each of some names, at every n-th turn": (
        "def total(m):\n    return jnp.sum(m['loss']).item()\n\n"
        "def stats(m, names):\n    found = {}\n    for name in names:\n        found[name] = total(m)\n    return found\n\n"
        "def train(params, loader, names):\n    for i, b in enumerate(loader):\n        params, m = step(params, b)\n"
        "        if i % 100 == 0:\n            print(stats(m, names))"
    ),
    "a loop that looks at its first turn": LOOP.format("print(float(metrics['loss']))\n        break"),
    "what is no array": LOOP.format("print(float(metrics['loss']) if not hasattr(metrics['loss'], 'dtype') else 0)"),
    "of a method that goes over its metrics, once": (
        "class Agent:\n    def __init__(self, params):\n        self.params = params\n\n    def update(self, b):\n"
        "        self.params, told = step(self.params, b)\n        for name, value in told.items():\n"
        "            told[name] = float(value)\n        return told\n\n"
        "def train(params, b):\n    print(Agent(params).update(b))"
    ),
    "what is evaluated once an epoch, around its steps": (
        "def train(params, data, test):\n    for e in range(90):\n        for b in data:\n            params, m = step(params, b)\n"
        "        print(float(update(params['w'], test)[1]))"
    ),
    "whether there is a dict yet": (
        "def train(fn, state, loader):\n    run, total = jax.jit(fn), None\n    for b in loader:\n        state, m = run(state, b)\n"
        "        total = {k: v + total[k] for k, v in m.items()} if total else m\n    return total"
    ),
    "whether there is something yet": (
        "def train(fn, state, loader):\n    run, total = jax.jit(fn), None\n    for b in loader:\n        state, m = run(state, b)\n"
        "        if total:\n            total = jax.tree.map(jnp.add, total, m)\n        else:\n            total = m\n    return total"
    ),
    "a number that a script collects once": (
        "score = jax.jit(lambda x, y: jnp.mean(x - y))\nkept = []\nfor x, y in load():\n    kept.append(float(score(x, y)))"
    ),
    "what a function computes of an inner loop's result, once an epoch": AGENT
    + "def train(params, loader):\n    for e in range(100):\n        for b in loader:\n            params, m = step(params, b)\n"
    "        print(float(twice(m['loss'])[0]))",
    "what a function computes, behind the loop": AGENT
    + "def train(params, loader):\n    for b in loader:\n        params, m = step(params, b)\n        kept = twice(m['loss'])\n"
    "    print(float(kept[0]))",
    "what a function computes, at every n-th turn": AGENT
    + "def train(params, loader):\n    for i, b in enumerate(loader):\n        params, m = step(params, b)\n"
    "        kept = twice(m['loss'])\n        if i % 100 == 0:\n            print(float(kept[0]))",
    "what a function computes, and nothing reads": LOOP.format(
        "total = jnp.squeeze(metrics['loss']).reshape(1).shape[0]"
    ),
    "what a function hands back that was made before": AGENT + "def same(value):\n    return value\n\n"
    "def train(params, loader, w):\n    for b in loader:\n        params, m = step(params, b)\n        print(float(same(w)[0]))",
    "what is made without what a step gave": LOOP.format("print(float(jnp.reshape(params['host'], -1)[0].shape[0]))"),
    "a progress bar that shows numbers of the host": (
        "from tqdm import tqdm\n\ndef train(params, loader):\n    bar = tqdm(loader)\n    for i, b in enumerate(bar):\n"
        "        params, m = step(params, b)\n        bar.set_postfix(step=i, size=m['loss'].shape)"
    ),
    "a function of the program's that keeps scalars": LOOP.format("log.scalar('loss', metrics['loss'])").replace(
        "def train",
        "class Log:\n    def __init__(self):\n        self.kept = []\n\n    def scalar(self, name, value):\n"
        "        self.kept.append((name, value))\n\nlog = Log()\n\ndef train",
    ),
    "metrics that steps add up, once an epoch": (
        "from flax import nnx\n\n@nnx.jit\ndef fit(model, metrics, x):\n    loss = model(x).sum()\n"
        "    metrics.update(loss=loss)\n    return loss\n\ndef train(model, loader):\n"
        "    metrics = nnx.metrics.Average('loss')\n    for e in range(100):\n        for x in loader:\n"
        "            loss = fit(model, metrics, x)\n        print(metrics.compute())"
    ),
    "a progress bar at every n-th turn": (
        "from tqdm import tqdm\n\ndef train(params, loader):\n    bar = tqdm(range(1000))\n    for i in bar:\n"
        "        params, m = step(params, loader[i])\n        if i % 100 == 0:\n            bar.set_postfix(loss=m['loss'])"
    ),
    "a progress bar of the epochs": (
        "from tqdm import tqdm\n\ndef train(params, loader):\n    bar = tqdm(range(10))\n    for e in bar:\n        for b in loader:\n"
        "            params, m = step(params, b)\n        bar.set_postfix(loss=m['loss'])"
    ),
    "a step that updates parameters in a loop of its own": (
        "@jax.jit\ndef learn(state, batch):\n    for _ in range(10):\n"
        "        loss, slope = jax.value_and_grad(batch.loss)(state.params)\n"
        "        state = state.apply_gradients(grads=slope)\n    return state, loss\n\n"
        "def train(state, loader):\n    for batch in loader:\n        state, loss = learn(state, batch)\n        print(loss.item())"
    ),
    "arrays that a function gives which an object keeps": (
        "@jax.jit\ndef predict(params, batch):\n    return batch @ params\n\n"
        "class Evaluator:\n    def __init__(self):\n        self.predict = predict\n\n"
        "    def run(self, params, loader):\n        kept = []\n        for batch in loader:\n"
        "            rows = jax.device_get(self.predict(params, batch))\n            kept.append(rows)\n        return kept"
    ),
    "behind a function that dispatches in a loop of its own": AGENT
    + "@jax.jit\ndef evaluate(w):\n    return w.sum()\n\ndef play(params, loader):\n    for batch in loader:\n"
    "        params, m = step(params, batch)\n    return params\n\n"
    "def train(params, loader):\n    for _ in range(50):\n        params = play(params, loader)\n        print(float(evaluate(params)))",
    "behind a simulation over an empty tuple": (
        "@jax.jit\ndef many(w):\n    return jax.lax.scan(lambda w, _: (w * 0.9, w.sum()), w, (), length=100)\n\n"
        "def train(w):\n    for _ in range(50):\n        w, losses = many(w)\n        print(float(losses[-1]))"
    ),
    "rows that a name stands for first": COLLECT.format(
        "rows = rows[:2]\n        rows = predict(params, rows)\n        rows = np.array(rows)\n        kept.append(rows)"
    ),
    "what a function draws on an axis": "import matplotlib.pyplot as plt\n"
    + AGENT
    + "def draw(ax: plt.Axes, value):\n    ax.text(0, 0, str(float(value)))\n\n"
    "def train(ax, params, loader):\n    for i, b in enumerate(loader):\n        params, m = step(params, b)\n        draw(ax, m['loss'])",
    "an action that a method reads, which a simulation needs": (
        "@jax.jit\ndef choose(params, seen):\n    return jnp.argmax(seen @ params)\n\n"
        "class Actor:\n    def __init__(self, params):\n        self.params = params\n\n"
        "    def act(self, seen):\n        action = choose(self.params, jnp.asarray(seen))\n        return int(action)\n\n"
        "def play(params, env):\n    actor = Actor(params)\n    seen = env.reset()\n    while True:\n        action = actor.act(seen)\n"
        "        seen, reward = env.step(action)"
    ),
    "an action that a call gives, which a simulation needs under another name": (
        "@jax.jit\ndef choose(params, seen):\n    return jnp.argmax(seen @ params)\n\n"
        "class Actor:\n    def __init__(self, params):\n        self.params = params\n\n"
        "    def __call__(self, seen):\n        return jax.device_get(choose(self.params, jnp.asarray(seen)))\n\n"
        "def play(params, env):\n    actor = Actor(params)\n    seen = env.reset()\n    while True:\n"
        "        action = actor(seen.reshape(1, -1)).reshape(-1)\n        sent = action\n        seen = env.step(sent)\n"
        "        if seen.last():\n            last = actor(seen)\n            break"
    ),
    "at the first turns": AGENT
    + "def train(params, loader):\n    for i, b in enumerate(loader):\n        params, m = step(params, b)\n"
    "        if i < 20:\n            print(float(m['loss']))\n        if 20 <= i < 25:\n            print(m)",
    "in a loop over splits at every n-th turn": AGENT
    + "@jax.jit\ndef judge(params, b):\n    return jnp.sum(params['w'] * b)\n\n"
    "def train(params, loader, splits, every):\n    for i, b in enumerate(loader):\n        params, m = step(params, b)\n"
    "        if i % every == 0:\n            for name, held in splits.items():\n"
    "                print(name, float(judge(params, next(held))))",
    "an action that one of two simulations needs": (
        "import gym\n\nclass Own:\n    def __init__(self, env):\n        self.go = jax.jit(env.step)\n\n"
        "    def reset(self):\n        return jnp.zeros(3)\n\n    def step(self, action):\n        return self.go(action)\n\n"
        "def make(kind):\n    if kind == 'own':\n        return Own(load(kind))\n    return gym.make(kind)\n\n"
        "@jax.jit\ndef choose(params, seen):\n    return jnp.argmax(seen @ params)\n\n"
        "def play(params, kind):\n    env = make(kind)\n    seen = env.reset()\n    while not seen.last():\n"
        "        action = np.asarray(choose(params, seen))\n        seen = env.step(action)"
    ),
    "beside a call that takes many steps": (
        "@jax.jit\ndef epoch(w):\n    def body(i, w):\n        return w - jax.grad(jnp.sum)(w)\n\n"
        "    return jax.lax.fori_loop(0, 100, body, w)\n\n@jax.jit\ndef evaluate(w):\n    return w.sum()\n\n"
        "def train(w):\n    for _ in range(50):\n        w = epoch(w)\n        print(float(evaluate(w)))"
    ),
    "behind an epoch of gradients in the graph": (
        "@jax.jit\ndef epoch(w, batches):\n    def body(w, b):\n        loss, slope = jax.value_and_grad(lambda w: (w * b).sum())(w)\n"
        "        return w - slope, loss\n\n    return jax.lax.scan(body, w, batches)\n\n"
        "def train(w, batches):\n    for _ in range(50):\n        w, losses = epoch(w, batches)\n        print(float(losses.mean()))"
    ),
    "beside a window that the turn is paced by": (
        "import pygame\n\ndef show(params, loader):\n    clock = pygame.time.Clock()\n    for b in loader:\n"
        "        params, m = step(params, b)\n        if m['loss'] > 0:\n            print('good')\n        clock.tick(60)"
    ),
    "in a function that such a turn calls": (
        "import pygame\n\ndef tell(value):\n    if value > 0:\n        print('good')\n\n"
        "def show(params, loader):\n    clock = pygame.time.Clock()\n    for b in loader:\n"
        "        params, m = step(params, b)\n        tell(m['loss'])\n        clock.tick(60)"
    ),
    "beside an axis that was made before": (
        "import matplotlib.pyplot as plt\n\ndef show(params, loader):\n    figure, axis = plt.subplots()\n"
        "    for i, b in enumerate(loader):\n        params, m = step(params, b)\n        axis.plot(i, float(m['loss']))"
    ),
    "under a name for a guard, and an option": LOOP.format(
        "due = (index % every == 0 or index == many - 1)\n        told = more and due\n        if told:\n"
        "            print(float(metrics['loss']))"
    ),
    "under another name for a guard": LOOP.format(
        "due = index % 100 == 0\n        told = due\n        if told:\n            print(float(metrics['loss']))"
    ),
    "what a picture shows": (
        "import matplotlib.pyplot as plt\n\ndef show(params, loader):\n    for i, b in enumerate(loader):\n"
        "        params, m = step(params, b)\n        plt.scatter(i, float(m['loss']))"
    ),
    "what a function draws": AGENT
    + "def draw(at, value):\n    from PIL import Image\n    Image.new('L', (9, 9), int(value)).save(str(at))\n\n"
    "def train(params, loader):\n    for i, b in enumerate(loader):\n        params, m = step(params, b)\n        draw(i, m['loss'])",
    "in a file of tests": (
        "from absl.testing import absltest\n\ndef test(params, loader):\n    for b in loader:\n"
        "        params, m = step(params, b)\n        print(float(m['loss']))"
    ),
    "an action that a simulation needs": PLAY.format("seen, reward = env.step(np.asarray(action))"),
    "an action that a simulation needs, by another name": PLAY.format(
        "later = env.step(int(action))\n        seen = later"
    ),
    "an action that a simulation needs, as a name": PLAY.format(
        "sent = np.array(action)\n        seen, reward = env.step(sent)"
    ),
    "actions of several simulations, one by one": PLAY.format(
        "sent = np.asarray(action)\n        seen, reward = zip(*[one.step(part) for one, part in zip(env, sent)])"
    ),
    "an action that the host clips, and what is given with it": (
        "choose = jax.jit(lambda params, seen: (seen @ params, {'odds': seen.sum()}))\n\n"
        "def play(params, env, kept):\n    seen = env.reset()\n    for _ in range(100):\n"
        "        action, told = choose(params, jnp.asarray(seen))\n        action = np.asarray(action)\n"
        "        sent = np.clip(action, -1, 1)\n        kept.append({k: float(v) for k, v in told.items()})\n        seen = env.step(sent)"
    ),
    "arrays that an evaluation collects, by keys of random numbers": COLLECT.format(
        "key, one = jax.random.split(key)\n        rows = predict(params, jax.random.normal(one, (3, 3)))\n"
        "        kept.append(np.asarray(rows))"
    ),
    "arrays that an evaluation collects, picked by a mask of the turn": COLLECT.format(
        "mask = batch.pop('mask')\n        rows, mask = jax.device_get((predict(params, rows), mask))\n"
        "        kept.append(rows[mask.astype(bool)])"
    ),
    "arrays that an evaluation collects, beside an object that keeps what it has": (
        "class Config:\n    def __init__(self, rate):\n        self.rate = rate\n\n    def scale(self):\n        return self.rate * 2\n\n"
    )
    + COLLECT.replace("kept = []", "kept, config = [], Config(0.5)").format(
        "rows = predict(params, batch * config.scale())\n        kept.append(np.asarray(rows))"
    ),
    "a function that is there to wait": (
        "def wait(value):\n    return jax.block_until_ready(value)\n\n"
        "def train(params, loader):\n    for b in loader:\n        params, m = step(params, b)\n        wait(m)"
    ),
    "an action that is bound to its own name": SERVE.format(
        "action = np.asarray(action[0, 0])\n        env.send(action)"
    ),
    "an action that is sent to what is asked at the next turn": SERVE.format("env.send(np.array(action), ids)"),
    "an action that is sent, by keyword and as a name": SERVE.format(
        "sent = np.array(action)\n        env.send(ids, action=sent)"
    ),
    "rows that an evaluation adds to a list": COLLECT.format("kept += [np.asarray(rows)]"),
    "arrays that an evaluation collects": COLLECT.format("kept.append(np.asarray(rows))"),
    "arrays that an evaluation copies, under another name": COLLECT.format(
        "rows = jax.device_get(rows)\n        kept.append(rows)"
    ),
    "a wait that is measured": (
        "import time\n\ndef measure(params, loader):\n    for b in loader:\n        start = time.time()\n"
        "        step(params, b)[1]['loss'].block_until_ready()\n        print(time.time() - start)"
    ),
    "behind a call that takes many steps": (
        "@jax.jit\ndef many(w):\n    return jax.lax.scan(lambda w, _: (w * 0.9, w.sum()), w, None, length=100)\n\n"
        "def log(losses):\n    print(np.asarray(losses))\n\n"
        "def train(w):\n    for _ in range(50):\n        w, losses = many(w)\n        log(losses)"
    ),
    "a function that reads, once": AGENT + "def train(params, loader):\n    return Agent(params).score(loader[0])",
    "a function that reads, behind the loop": AGENT
    + "def train(params, loader):\n    agent = Agent(params)\n    for b in loader:\n        agent.update(b)\n    return agent.score(b)",
    "a function that reads, at every n-th turn": AGENT
    + "def train(params, loader):\n    for i, b in enumerate(loader):\n        params, m = step(params, b)\n"
    "        if i % 100 == 0:\n            log(i, m['loss'])",
    "a function that reads, once an epoch": AGENT
    + "def train(params, loader):\n    agent = Agent(params)\n    for e in epochs:\n        for b in loader:\n            agent.update(b)\n"
    "        print(agent.score(b))",
    "what a function's loop ended with, once an epoch": AGENT
    + "def train(params, loader):\n    for e in range(100):\n        params, loss = epoch(params, loader)\n        print(float(loss))",
    "what a function hands on to be read later": AGENT
    + "def train(params, loader):\n    agent = Agent(params)\n    kept = [agent.update(b) for b in loader]\n    return float(sum(kept))",
    "the text of a shape": LOOP.format("print(str(metrics['loss'].shape))"),
    "behind a long loop within": (
        "def train(params, loader, n):\n    for e in range(n):\n        for b in loader:\n            params, m = step(params, b)\n"
        "        print(float(m['loss']))"
    ),
    "what an earlier turn kept": (
        "def train(params, loader):\n    kept = []\n    for b in loader:\n        params, m = step(params, b)\n        kept.append(m)\n"
        "        if len(kept) > 2:\n            kept[-2] = jax.tree_util.tree_map(np.asarray, kept[-2])"
    ),
    "where a function divides the step": (
        "def due(at, every, last=9, host=None):\n    return every and at % every == 0 or at == last\n\n"
        "def train(params, loader, config):\n    for at, batch in zip(range(1, 9), loader):\n        params, m = step(params, batch)\n"
        "        if due(at, config.every, host=0) or config.warm and jax.process_index() == 0:\n            print(jax.device_get(m))"
    ),
    "where a name says that it is time": LOOP.format(
        "due = index % 100 == 0 or index == 999\n        if due:\n            print(float(metrics['loss']))"
    ),
    "a check of what a step gave": LOOP.format("assert metrics['loss'] < 9"),
    "while an object is set up": (
        "class Run:\n    def __init__(self, params, loader):\n        for batch in loader:\n"
        "            params, m = step(params, batch)\n            print(float(m['loss']))"
    ),
    "a copy that is begun, and waits for nothing": LOOP.format(
        "jax.tree.map(lambda x: x.copy_to_host_async(), metrics)\n        metrics['loss'].copy_to_host_async()"
    ),
    "nothing is read": LOOP.format("total = metrics['loss'] * 2"),
    "it is kept": (
        "def train(params, loader):\n    kept = []\n    for b in loader:\n"
        "        params, m = step(params, b)\n        kept.append(m['loss'])\n    return np.mean(jax.device_get(kept))"
    ),
    "behind the loop": LOOP.format("pass") + "    print(float(metrics['loss']))\n",
    "once an epoch": (
        "def train(p, loader):\n    for epoch in range(99):\n        for b in loader:\n"
        "            p, m = step(p, b)\n        print(float(m['loss']))"
    ),
    "every so many turns": LOOP.format("if index % 100 == 0:\n            print(float(metrics['loss']))"),
    "the result of the turn before the loop": (
        "def f(p, b, loader):\n    p, m = step(p, b)\n    for x in loader:\n        print(float(m['loss']))"
    ),
    "a few turns": "def f(p, b):\n    for _ in range(3):\n        p, m = step(p, b)\n        print(float(m['loss']))",
    "its shape": LOOP.format("print(metrics['loss'].shape, len(metrics))"),
    "of a function that nothing is known of, every so many turns": (
        "def fit(fn, state, loader):\n    run = jax.jit(fn)\n    for i, b in enumerate(loader):\n        state, m = run(state, b)\n"
        "        if i % 100 == 0:\n            print(float(m['loss']))"
    ),
    "the keys of what a function gives that nothing is known of": (
        "def fit(fn, data, params, total):\n    run = jax.jit(fn)\n    for b in data:\n        info = run(params, b)\n"
        "        for key in info:\n            total[key] += info[key]"
    ),
    "arrays that an evaluation collects of a model that nothing is known of": (
        "def collect(model, params, loader):\n    run, kept = jax.jit(model.apply), []\n    for b in loader:\n"
        "        kept.append(np.asarray(run(params, b)))"
    ),
    "what many steps gave, every so many turns": (
        "from flax.training.common_utils import get_metrics\n\ndef train(params, loader):\n    kept = []\n"
        "    for i, b in enumerate(loader):\n        params, m = step(params, b)\n        kept.append(m)\n"
        "        if i % 100 == 0:\n            print(get_metrics(kept))\n            kept = []"
    ),
    "what a turn kept that lies some turns back": (
        "def train(params, loader, delay):\n    kept = []\n    for n, b in enumerate(loader):\n        params, m = step(params, b)\n"
        "        kept.append(m)\n        at = n - delay\n        if at >= 0:\n"
        "            kept[at] = {k: float(v) for k, v in kept[at].items()}"
    ),
    "a number of the host's that a writer is given": LOOP.format(
        "writer.add_scalar('rate', index / 10, index)"
    ).replace("(params, loader)", "(params, loader, writer)"),
    "what many turns made, in a function that a loop behind them calls": (
        "def show(name, value):\n    print(name, float(value))\n\ndef train(params, loader):\n    for e in range(100):\n        kept = {}\n"
        "        for b in loader:\n            params, m = step(params, b)\n            kept.update(m)\n"
        "        for name, value in kept.items():\n            show(name, value)"
    ),
    "rows that an evaluation picks by what a turn's batch holds": (
        "def collect(run, params, loader):\n    run, kept = jax.jit(run), []\n    for b in loader:\n        mask = b.pop('mask')\n"
        "        rows = run(params, b, mask)\n        kept.append(np.array(rows)[mask == 1])"
    ),
    "waits that a loop is there for": (
        "def warm(params, xs):\n    for x in xs:\n        jax.block_until_ready(step(params, x))"
    ),
    "the keys of what another function compiled": (
        "def fit(data, params, total):\n    run = jax.jit(lambda p, b: load()(p, b))\n    for b in data:\n        info = run(params, b)\n"
        "        for key in info:\n            total[key] += info[key]"
    ),
    "what is not compiled": "def plain(x):\n    return x * 2\n\ndef f(xs):\n    for x in xs:\n        print(float(plain(x)))",
    "what the host makes": LOOP.format("print(float(np.mean(batch['x'])))"),
    "what the last turn of an inner loop computed, now and then, by a loop over it": (
        "def main(state, n, xs):\n    for i in range(100000):\n        for _ in range(n):\n"
        "            state, info = update(state, xs)\n            told = {'sum': info}\n        if i % 100 == 0:\n"
        "            for k, v in told.items():\n                print(k, float(v))"
    ),
    "what an earlier loop computed, in the next": (
        "def main(state, xs, names):\n    for x in xs:\n        state, info = update(state, x)\n"
        "    for name in names:\n        print(name, float(info))"
    ),
}
FOUND = {
    "what came last to a queue": QUEUE.format("pop()", "deque()"),
    "a number beside an action, where the parameters are updated": PLAY.format(
        SEEN + "params, told = update(params, reward)\n        print(float(told))"
    ),
    "a number beside an action, where a compiled function follows a gradient": (
        "@jax.jit\ndef go(params, seen):\n    m, g = jax.value_and_grad(lambda p: jnp.sum(p * seen))(params)\n"
        "    return params - g, m\n"
    )
    + PLAY.format(SEEN + "params, told = go(params, reward)\n        print(float(told))"),
    "a number beside an action that no simulation takes": PLAY.format(
        "seen, reward = env.step(0)\n        kept.append(float(choose(params, reward)))"
    ),
    "in a program that chooses the CPU, or another": "jax.config.update('jax_platforms', 'tpu,cpu')\n" + TOLD,
    "in a program that chooses the CPU if it is told to": (
        "import sys\nif 'cpu' in sys.argv:\n    jax.config.update('jax_platforms', 'cpu')\n" + TOLD
    ),
    "in a program that chooses the CPU, and the TPU after that": (
        "jax.config.update('jax_platforms', 'cpu')\njax.config.update('jax_platforms', 'tpu')\n" + TOLD
    ),
    "in a function that is called at all turns but the first": RARE.format("at > 1"),
    "a loop that ends by what its turns carry on": SEARCH.format(
        "params, m = step(params, b)", "if float(m['loss']) < best:\n            break"
    ),
    "a loop that trains, and ends by what it cannot use": SEARCH.format(
        "params, m = step(params, b)", "if jnp.isnan(m['loss']):\n            return"
    ),
    "what an array of the host's keeps and no simulation takes": PLAY.format(
        "seen, reward = env.step(seen)\n        kept[_] = action.reshape(-1)"
    ).replace("seen = env.reset()", "seen, kept = env.reset(), np.zeros((100, 3))"),
    "what is read at each turn around loops that take no steps": (
        "def train(params, runs):\n    for one in runs:\n        params, m = step(params, one)\n        print(float(m['loss']))\n"
        "        for e in range(90):\n            for b in one:\n                note(b)"
    ),
    "what a flag that is on asks for": (
        "import sys\nfrom absl import app, flags\n\nflags.DEFINE_bool('loud', True, 'tell')\nFLAGS = flags.FLAGS\n\n"
        "def main(_):\n    params = load()\n    for b in load():\n        params, m = step(params, b)\n"
        "        if FLAGS.loud:\n            print(float(m['loss']))\n\nif __name__ == '__main__':\n    app.run(main)"
    ),
    "a few turns that a loop of the script repeats": FEW.format("range(10)", "for one in load():\n    fit(one)"),
    "a few turns of what anybody may call": FEW.format("range(10)", ""),
    "a few turns under many others": FEW.format("range(5)", "fit(load())").replace(
        "    for i in range(5):\n", "    for b in load():\n     for i in range(5):\n"
    ),
    "more than a few turns": FEW.format("range(100)", "fit(load())"),
    "as many as the call of a script says": FEW.format("range(turns)", "fit(load(), 300)"),
    "files that a training writes of its state": WRITE.replace("out =", "params =").format(
        "jnp.save(names[j], params)"
    ),
    "at the turns that a number of the host's lets in": EVERY.format(
        "if log.verbose(turn):\n            print(float(m['loss']))", "pass"
    ),
    "at the turns that a method of something else lets in": EVERY.format(
        "pass", "if shut(turn):\n            print(float(m['loss']))"
    ),
    "at the turns that an object lets in which weighs none": EVERY.format(
        "pass", "if twice(turn):\n            print(float(m['loss']))"
    ),
    "what no simulation takes and a memory keeps": PLAY.replace(
        "def play(", "def keep(memory, action):\n    memory.append(int(action))\n\ndef play("
    ).format("keep([], action)\n        seen, reward = env.step(seen)"),
    "an action that is only kept": ACTING.format("kept.append(action)"),
    "an action that another simulation takes": ACTING.format("kept.step(action)"),
    "whether something is true that is not gone over": RUN.format("kept.append(b)"),
    "a number of a compiled function": COUNTED.format("w, n = count(w, n, b)\n        print(int(n))", "None"),
    "the count of a state's steps": COUNTED.format("state = learn(state, b)\n        print(int(state.step))", "None"),
    "the number that an object counts": COUNTED.format(
        "held = held.forward(b)\n        print(int(held.count))", "None"
    ),
    "of a method that its constructor compiles": COUNTED.format(
        "w, total = kept.update(w, b)\n        print(float(total))", "jax.jit(self.update)"
    ),
    "of a method that its constructor compiles for some of its arguments": COUNTED.format(
        "w, total = kept.update(b)\n        print(float(total))", "functools.partial(jax.jit(self.update), w)"
    ).replace("\nfrom flax import struct", "\nimport functools\n\nfrom flax import struct", 1),
    "in a method, before a loop over what it gave": UPDATES.format("for k, v in info.items():\n            log(k, v)"),
    "in a method, before an evaluation at every n-th turn": UPDATES.format(
        "if n % 100 == 0:\n            for t in test:\n                log(n, agent.score(t))"
    ),
    "what a table makes of an array": "import pandas as pd\n\n" + LOOP.format("rows = pd.DataFrame(metrics['loss'])"),
    "many turns of a script": "for i in range(1000):\n    params, m = step(params, data[i])\n    print(m['loss'])",
    "a few turns of a function": "def f(params, data):\n    for i in range(10):\n        params, m = step(params, data[i])\n"
    "        print(m['loss'])",
    "a block of which the next is computed": (
        "def fill(state, xs, n):\n    table = np.zeros((n, n))\n    for i in range(0, n, 9):\n"
        "        state, loss = update(state, xs[i])\n        table[i] = loss\n    return table"
    ),
    "arrays of a state that a function copies": GATHER.format(
        "jax.tree.map(jnp.sum, params)", "kept = to_cpu(m['loss'])\n        params = rows"
    ),
    "numbers that a function reads for an evaluation": GATHER.replace("jax_utils.unreplicate(x)", "x")
    .replace("jax.device_get(x)", "float(x)")
    .format("params", "kept.append(to_cpu(m['loss']))"),
    "what a loop around a generator reads": (
        "def batches(loader):\n    for b in loader:\n        yield jnp.asarray(b)\n\n"
        "def train(params, loader):\n    for b in batches(loader):\n        params, m = step(params, b)\n        print(m['loss'].item())"
    ),
    "an array that is asked for a number": LOOP.format("kept = 3 in metrics['loss']"),
    "an episode of which an agent learns, by functions that somebody made": STEPPED.format(
        "state = env_reset(key)", "state = env_step(state, act(state.obs))", "agent.update(float(act(state)))"
    ),
    "steps of what nobody resets, by functions": STEPPED.format(
        "state = start(key)", "state = env_step(state, act(state.obs))", "print(float(act(state)))"
    ),
    "what is computed beside steps of something else": STEPPED.format(
        "state = env_reset(key)", "other, value = env_step(other, act(other))", "print(float(act(other)))"
    ),
    "by an operator that asks for no turn": LOOP.format("loader and print(float(metrics['loss']))"),
    "by a chosen expression that asks for no turn": LOOP.format(
        "print(float(metrics['loss'])) if loader else print(index)"
    ),
    "an episode of which an agent learns": EPISODE.format("jax.jit(env.step)", "agent.update(state)"),
    "steps of what nobody resets": EPISODE.format("jax.jit(trainer.step)", "kept.append(state)"),
    "what is an array": LOOP.format("print(float(metrics['loss']) if hasattr(metrics['loss'], 'dtype') else 0)"),
    "of a method that goes over its metrics": (
        "class Agent:\n    def __init__(self, params):\n        self.params = params\n\n    def update(self, b):\n"
        "        self.params, told = step(self.params, b)\n        for name, value in told.items():\n"
        "            told[name] = float(value)\n        return told\n\n"
        "def train(params, loader):\n    agent = Agent(params)\n    for b in loader:\n        print(agent.update(b))"
    ),
    "what is evaluated at each step, around a few": (
        "def train(params, data, test):\n    for b in data:\n        for k in range(2):\n            params, m = step(params, b)\n"
        "        print(float(update(params['w'], test)[1]))"
    ),
    "of a script whose decorator names what the script makes": (
        "from functools import partial\nimport tqdm\nfrom elsewhere import shard\n\nplan = shard(step)\n\n"
        "@partial(jax.jit, out_shardings=(plan, None), donate_argnums=0)\ndef update(state, b):\n"
        "    return state + b, {'loss': b.mean()}\n\n"
        "state = jnp.zeros(3)\nfor i in tqdm.tqdm(range(1000)):\n    state, info = update(state, jnp.ones(3))\n"
        "    print(jax.device_get(info)['loss'])"
    ),
    **{
        f"of {what}, by {how}": (
            "import optax\nfrom elsewhere import train_step\n\n"
            f"def fit(fn, model, state, loader):\n    run = {call}\n    for b in loader:\n        state, m = run(state, b)\n        {read}"
        )
        for what, call in (
            ("a function that it is given", "jax.jit(fn)"),
            ("a method of what it is given", "jax.pmap(model.step)"),
            ("a function that is not here", "jax.jit(train_step, donate_argnums=0)"),
            ("a method of a library", "jax.jit(optax.adam(0.1).update)"),
        )
        for how, read in (
            ("name", "print(float(m['loss']))"),
            ("entries", "print({k: float(v) for k, v in m.items()})"),
        )
    },
    "of a function that another one makes, in a method": (
        "def make(net):\n    @jax.jit\n    def score(params, b):\n        return net(params, b).sum()\n\n    return score\n\n"
        "class Judge:\n    def __init__(self, net):\n        self.score = make(net)\n\n    def run(self, params, loader):\n"
        "        for b in loader:\n            yield float(self.score(params, b))"
    ),
    "arrays that a loop copies, of an object that a method changes": (
        "class Model:\n    def __init__(self, params):\n        self.params = params\n\n    def learn(self, b):\n"
        "        self.params, m = step(self.params, b)\n        return m['loss']\n\n"
        "def train(params, loader, kept):\n    model = Model(params)\n    for b in loader:\n"
        "        loss = model.learn(b)\n        kept.append(np.asarray(loss))"
    ),
    "a number beside an action that a simulation needs, of another call": PLAY.format(
        "params, m = step(params, action)\n        print(float(m['loss']))\n        seen = env.step(np.asarray(action))"
    ),
    "a copy, of a model that a step changes": (
        "from flax import nnx\n\nclass Net(nnx.Module):\n    def __call__(self, x):\n        return x\n\n@nnx.jit\n"
        "def fit(model, x):\n    return model(x).sum()\n\nmodel, kept = Net(), []\nfor x in load():\n"
        "    loss = fit(model, x)\n    kept.append(np.asarray(loss))"
    ),
    "copies of entries, one by one": LOOP.format("print({k: np.asarray(v) for k, v in metrics.items()})"),
    "copies of entries, in a loop": LOOP.format("for k, v in metrics.items():\n            print(k, np.asarray(v))"),
    "what a writer of summaries is given for a scalar": "from flax.metrics.tensorboard import SummaryWriter\n\n"
    + LOOP.format("SummaryWriter('runs').scalar('loss', metrics['loss'], index)"),
    "metrics that a step adds up": (
        "from flax import nnx\n\n@nnx.jit\ndef fit(model, metrics, x):\n    loss = model(x).sum()\n"
        "    metrics.update(loss=loss)\n    return loss\n\ndef train(model, loader):\n"
        "    metrics = nnx.MultiMetric(loss=nnx.metrics.Average('loss'))\n    for x in loader:\n"
        "        loss = fit(model, metrics, x)\n        print(metrics.compute())"
    ),
    "a writer of summaries that it is given": LOOP.format("writer.add_scalar('loss', metrics['loss'], index)").replace(
        "(params, loader)", "(params, loader, writer)"
    ),
    "what all hosts gather": "from jax.experimental import multihost_utils\n"
    + LOOP.format("print(multihost_utils.process_allgather(metrics))"),
    "what hosts compare": "from jax.experimental.multihost_utils import assert_equal\n"
    + LOOP.format("assert_equal(metrics)"),
    "what many steps gave, at each": (
        "from flax.training.common_utils import get_metrics\n\ndef train(params, loader):\n    kept = []\n"
        "    for b in loader:\n        params, m = step(params, b)\n        kept.append(m)\n        print(get_metrics(kept))"
    ),
    "a wait, and a read behind it": LOOP.format(
        "m = metrics['loss']\n        m.block_until_ready()\n        print(float(m))"
    ),
    "a wait for all, and a read behind it": LOOP.format(
        "jax.block_until_ready(metrics)\n        print(float(metrics['loss']))"
    ),
    "what is given back by the wait": LOOP.format(
        "metrics = jax.block_until_ready(metrics)\n        if metrics['loss'] < best:\n            best = metrics['loss']"
    ),
    **{
        f"through {way}": LOOP.format(f"print(float({way.format(chr(109))}))").replace(
            "print", "m = metrics['loss']\n        print"
        )
        for way in (
            "{}.reshape(1)[0]",
            "{}.flatten()[0]",
            "jnp.squeeze({})",
            "jnp.take(jnp.concatenate([{0}, {0}]), 0)",
            "jnp.where({} > 0, 1.0, 2.0)",
            "jax.tree.map(lambda v: v.mean(), {})",
        )
    },
    "what a function computes of it": AGENT
    + "def train(params, loader):\n    for b in loader:\n        params, m = step(params, b)\n        print(float(twice(m['loss'])[0]))",
    "in a function, behind what it computes": AGENT
    + "def note(value, kept):\n    kept[0] = value.reshape(-1)[0].item()\n    return kept\n\n"
    "def train(params, loader, kept):\n    for b in loader:\n        params, m = step(params, b)\n        kept = note(m['loss'], kept)",
    "of a step that a function makes": (
        "from functools import partial\n\ndef make(net):\n    @partial(jax.pmap, axis_name='i')\n    def step(params, batch):\n"
        "        loss = net(params, batch)\n        return params, loss\n\n    return step\n\n"
        "def train(net, params, loader):\n    step = make(net)\n    for b in loader:\n        params, loss = step(params, b)\n"
        "        print(loss.reshape(-1)[0].item())"
    ),
    "in a progress bar": (
        "from tqdm import tqdm\n\ndef train(params, loader):\n    bar = tqdm(loader)\n    for b in bar:\n"
        "        params, m = step(params, b)\n        bar.set_postfix(loss=m['loss'])"
    ),
    "in a progress bar over a range, in a dict": (
        "from tqdm import trange\n\ndef train(params, loader):\n    bar = trange(1000)\n    for i in bar:\n"
        "        params, m = step(params, loader[i])\n        bar.set_postfix({'at': i, 'loss': m['loss']})"
    ),
    "in a progress bar that a block opens": (
        "from tqdm.auto import tqdm\n\ndef train(params, loader):\n    with tqdm(loader) as bar:\n        for b in bar:\n"
        "            params, m = step(params, b)\n            bar.set_postfix(loss=m['loss'])"
    ),
    "beside a call that takes many steps now and then": LOOP.format(
        "print(float(metrics['loss']))\n        if index % 50 == 0:\n"
        "            print(jax.lax.fori_loop(0, 9, lambda i, x: x + i, metrics['loss']))"
    ),
    "behind a step that scans a sequence": (
        "@jax.jit\ndef step(w, xs):\n    def loss(w):\n        return jax.lax.scan(lambda c, x: (c * w + x, c), w, xs)[1].sum()\n\n"
        "    value, slope = jax.value_and_grad(loss)(w)\n    return w - slope, value\n\n"
        "def train(w, loader):\n    for xs in loader:\n        w, loss = step(w, xs)\n        print(float(loss))"
    ),
    "beside a picture that was read before": (
        "from PIL import Image\n\ndef train(params, loader):\n    face = Image.open('face.png')\n    for b in loader:\n"
        "        params, m = step(params, b, np.asarray(face))\n        print(float(m['loss']))"
    ),
    "in a function that a turn calls whose picture every n-th shows": (
        "import pygame\n\ndef tell(value):\n    if value > 0:\n        print('good')\n\n"
        "def show(params, loader):\n    clock = pygame.time.Clock()\n    for i, b in enumerate(loader):\n"
        "        params, m = step(params, b)\n        tell(m['loss'])\n        if i % 100 == 0:\n            clock.tick(60)"
    ),
    "where every n-th turn is shown in a window": (
        "import pygame\n\ndef train(params, loader):\n    clock = pygame.time.Clock()\n    for i, b in enumerate(loader):\n"
        "        params, m = step(params, b)\n        print(float(m['loss']))\n        if i % 100 == 0:\n            clock.tick(60)"
    ),
    "under an option and another one": LOOP.format(
        "wanted = more == 1\n        told = wanted and loud\n        if told:\n            print(float(metrics['loss']))"
    ),
    "where every n-th turn draws": (
        "import matplotlib.pyplot as plt\n\ndef train(params, loader):\n    for i, b in enumerate(loader):\n"
        "        params, m = step(params, b)\n        print(float(m['loss']))\n        if i % 100 == 0:\n            plt.savefig('x')"
    ),
    "an action of a method that nothing waits for": (
        "@jax.jit\ndef choose(params, seen):\n    return jnp.argmax(seen @ params)\n\n"
        "class Actor:\n    def __init__(self, params):\n        self.params = params\n\n"
        "    def act(self, seen):\n        action = choose(self.params, jnp.asarray(seen))\n        return int(action)\n\n"
        "def play(params, env):\n    actor = Actor(params)\n    for seen in env:\n        print(actor.act(seen))"
    ),
    "a number that an evaluation copies to add it up": COLLECT.replace("kept = []", "kept = 0.0").format(
        "kept += np.sum(np.array(rows[0]))"
    ),
    "a number that an evaluation reads": COLLECT.format("kept.append(float(rows.mean()))"),
    "an array of which the next turn computes": COLLECT.format(
        "params = params + rows.sum()\n        kept.append(np.asarray(rows))"
    ),
    "an array of a trained state": LOOP.format("kept = np.asarray(params['w'])"),
    "an action that is told to something else": SERVE.format("log.send(np.array(action), ids)"),
    "an action that another part of an object is told": SERVE.format("self.log.add(int(action))"),
    "an action that an object writes down of which a setting is asked": PLAY.format(
        "env.log(int(action))\n        action = choose(params, env.size)"
    ),
    "an action that nothing waits for": PLAY.format("env.log(int(action))"),
    "what a record is made of": PLAY.format("reward = env.score(float(action))"),
    "a name that is read twice": LOOP.format("loss = metrics['loss']\n        print(float(loss), float(loss))"),
    "in the function that it is given to": AGENT
    + "def train(params, loader):\n    for i, b in enumerate(loader):\n        params, m = step(params, b)\n        log(i, m['loss'])",
    "in the method that calls it": AGENT
    + "def train(params, loader):\n    agent = Agent(params)\n    for b in loader:\n        total = agent.score(b)",
    "what a method returns that is said to be a number": AGENT
    + "def train(params, loader):\n    agent = Agent(params)\n    for b in loader:\n        print(agent.loss(b))",
    "in a function of a tree's leaves": LOOP.format("jax.tree_util.tree_map(lambda v: v.item(), metrics)"),
    "as a text": LOOP.format("print(str(metrics['loss']))"),
    "of the first device's part": "from flax import jax_utils\n"
    + LOOP.format("float(jax_utils.unreplicate(metrics)['loss'])"),
    "behind a loop of a few turns": (
        "FEW = 4\n\ndef train(params, loader, n):\n    for e in range(n):\n        for _ in range(FEW):\n"
        "            params, m = step(params, next(loader))\n        print(float(m['loss']))"
    ),
    "of the steps of a loop that a training takes at every n-th turn": (
        "def train(params, loader, more, n):\n    for i, b in enumerate(loader):\n        params, m = step(params, b)\n"
        "        if i % n == 0:\n            for t in more:\n                params, k = step(params, t)\n"
        "                print(float(k['loss']))"
    ),
    "under the name of a number": LOOP.format("loss: float = metrics['loss']\n        print(loss)"),
    "where a function is asked of something else": (
        "def train(params, loader, config):\n    def due(n, every):\n        return n % every == 0\n\n"
        "    for at, batch in zip(range(1, 9), loader):\n        params, m = step(params, batch)\n"
        "        if due(len(loader), config.every):\n            print(jax.device_get(m))"
    ),
    "a number": LOOP.format("total = float(metrics['loss'])"),
    "an item": LOOP.format("total = metrics['loss'].item()"),
    "a condition": LOOP.format("if metrics['loss'] < best:\n            best = metrics['loss']"),
    "an array": LOOP.format("a = np.asarray(metrics['loss'])"),
    "a copy": LOOP.format("a = jax.device_get(metrics)"),
    "a print": LOOP.format("print(metrics['loss'])"),
    "a text": LOOP.format("print(f\"{metrics['loss']:.3f}\")"),
    "what arithmetic makes of it": LOOP.format("a = float(metrics['loss'] * 2 + 1)"),
    "of a function that is kept in the module": (
        "def f(s, xs):\n    for x in xs:\n        s, loss = update(s, x)\n        print(float(loss))"
    ),
    "of one that an object keeps": (
        "class Trainer:\n    def __init__(self):\n        self.step = jax.jit(self._step)\n\n"
        "    def _step(self, s, b):\n        return s, (s * b).sum()\n\n"
        "    def fit(self, s, data):\n        for b in data:\n            s, loss = self.step(s, b)\n            print(loss.item())"
    ),
    "at module level, a number that a script adds up": (
        "score = jax.jit(lambda x, y: jnp.mean(x - y))\ntotal = 0.0\nfor x, y in load():\n    total += float(score(x, y))"
    ),
    "a number that is added up, of what each turn changes": (
        "def fit(s, data):\n    total = 0.0\n    for x in data:\n        s, loss = update(s, x)\n        total += float(loss)"
    ),
    "at module level": "p = {'w': jnp.ones(3)}\nfor b in load():\n    p, m = step(p, b)\n    total = float(m['loss'])",
}
SILENT_TF = {
    "what an evaluation reads that fills a table": (
        "def more(y):\n    return {'m': y / np.median(y)}\n\ndef validate(ds):\n    kept = []\n    for x in ds:\n        y = predict(x)\n"
        "        told = {'l': 1}\n        told.update(more(y))\n        kept += told.items()\n    return kept"
    ),
    "what an evaluation reads that shows how far it is": (
        "def show(ds, bar):\n    for x in ds:\n        y = predict(x)\n        bar.update(1)\n        print(float(y[0]))"
    ),
    "it is summed": (
        "total = tf.constant(0.0)\nfor x in tf.data.Dataset.from_tensors(tf.ones([2, 3])):\n"
        "    total += step(x)\nprint(total.numpy())"
    ),
    "once in many turns": (
        "def train(ds):\n    for i, x in enumerate(ds):\n        loss = step(x)\n"
        "        if i % 50 == 0:\n            print(loss.numpy())"
    ),
    "once in a while, by the clock": (
        "import time\n\ndef train(ds):\n    last = 0.0\n    for x in ds:\n        loss = step(x)\n        now = time.time()\n"
        "        if now - last >= 60:\n            print(loss.numpy())\n            last = now"
    ),
    "what is collected where nothing trains": (
        "def collect(ds):\n    found = []\n    for x in ds:\n        found.append(predict(x).numpy())\n    return found"
    ),
    "what the next turn begins with is read again to be handed on": (
        "import numpy as np\n\ndef train(x, count, dtype):\n    start = 0\n    for i in range(count):\n"
        "        grad = predict(tf.gather(x, np.arange(start, start + 2)))\n        grad = grad.numpy().astype(dtype)\n"
        "        start = len(grad.numpy().tolist())\n        start += 2"
    ),
    "a loop of the graph": "@tf.function\ndef train(ds):\n    for x in ds:\n        w.assign_add(step(x) * tf.ones([3, 1]))",
    "predictions that a script saves, whatever its dicts take up": (
        "def main(batches, config, settings):\n    config.update(settings)\n    for x in batches:\n        y = predict(x)\n"
        "        save(y.numpy())"
    ),
}
FOUND_TF = {
    "predictions that a learner is told": (
        "def more(y):\n    return float(y[0])\n\ndef validate(ds, learner):\n    for x in ds:\n        y = predict(x)\n"
        "        learner.update(more(y))"
    ),
    "a step whose gradients the loop applies": (
        "def train(ds, optimizer):\n    for x in ds:\n        grad = predict(x)\n        optimizer.apply_gradients([(grad, w)])\n"
        "        print(grad.numpy())"
    ),
    "by a clock that is not asked for what went by": (
        "import time\n\ndef train(ds):\n    for x in ds:\n        loss = step(x)\n"
        "        if time.time() > 60:\n            print(loss.numpy())"
    ),
    "a sum of the host's": "total = 0.0\nfor x in tf.data.Dataset.from_tensors(tf.ones([2, 3])):\n    total += step(x).numpy()",
    "a signature of the data that a script goes over": (
        "ds = tf.data.Dataset.from_tensors(tf.ones([2, 3]))\n\n@tf.function(input_signature=[ds.element_spec])\n"
        "def learn(x):\n    w.assign_sub(x)\n    return w\n\nfor x in ds:\n    print(learn(x))"
    ),
    "a condition": (
        "def train(ds):\n    best = 1.0\n    for x in ds:\n        loss = step(x)\n"
        "        if loss < best:\n            best = loss"
    ),
    "predictions that the loop trains something with": (
        "def main(batches, learner):\n    for x in batches:\n        y = predict(x)\n        learner.update(x, y)\n        print(float(y))"
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_what_is_read_elsewhere_is_silent(code: str, loud: Loud) -> None:
    assert loud(JAX + dedent(code), "jax") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_what_is_read_at_every_turn_is_found(code: str, loud: Loud) -> None:
    assert loud(JAX + dedent(code), "jax") == ["XLA301"]


@pytest.mark.parametrize("code", SILENT_TF.values(), ids=SILENT_TF)
def test_what_tensorflow_reads_elsewhere_is_silent(code: str, loud: Loud) -> None:
    assert loud(TF + dedent(code), "tf") == []


@pytest.mark.parametrize("code", FOUND_TF.values(), ids=FOUND_TF)
def test_what_tensorflow_reads_at_every_turn_is_found(code: str, loud: Loud) -> None:
    assert loud(TF + dedent(code), "tf") == ["XLA301"]


LEARNER = """
import jax


@jax.jit
def _update(params, batch):
    return params - batch, {"loss": (params * batch).sum()}


def make_update(model):
    return jax.jit(model)


class Learner:
    def __init__(self, params):
        self.params = params

    def update(self, batch):
        self.params, info = _update(self.params, batch)
        return info

    def reset(self):
        return {}
"""
STEPS = """
import tensorflow as tf

w = tf.Variable(1.0)


def _step(x):
    w.assign_sub(x)
    return w * x


step = tf.function(_step)


@tf.function
def learn(x):
    return _step(x)


def compute(x):
    return {"x": x}


class Trainer:
    @tf.function
    def train(self, x):
        return _step(x)

    def reset(self):
        return {}
"""
SCRIPT = """
{0}

def main(params, data):
    {1}
    for batch in data:
        info = {2}
        {3}

if __name__ == "__main__":
    main(1, load())
"""
AGENTS = ("from agents import Learner", "agent = Learner(params)")
STATES = """
from flax.training import dynamic_scale as scales, train_state

class State(train_state.TrainState):
    scale: scales.DynamicScale
    total: jax.Array

def run(state, batch):
    {1}
    return state.apply_gradients(grads=batch), jnp.mean(batch)

go = jax.pmap({0}, axis_name="b")

def main(state, data):
    for batch in data:
        state, loss = go(state, batch)
        {2}
"""
SETTINGS = {
    "an object of a library's, in what is compiled": ("run", "if state.scale:\n        batch = batch * 2", "pass"),
    "the same, of a partial": ("functools.partial(run)", "if state.scale:\n        batch = batch * 2", "pass"),
    "the same, in the loop": ("run", "pass", "if state.scale:\n            print('scaled')"),
    "the function of a state, which is static": ("run", "pass", "show(state.apply_fn.__name__)"),
}


@pytest.mark.parametrize("parts", SETTINGS.values(), ids=SETTINGS)
def test_settings_of_what_is_compiled_are_no_arrays(parts: tuple[str, ...], loud: Loud) -> None:
    assert loud("import functools\n" + JAX + STATES.format(*parts), "jax") == []


def test_arrays_beside_settings_are_read(loud: Loud) -> None:
    parts = ("run", "pass", "if state.total > 3:\n            print('many')")
    assert loud("import functools\n" + JAX + STATES.format(*parts), "jax") == ["XLA301"]


SCRIPTS = {
    "an agent's method, which a package hands on": ((*AGENTS, "agent.update(batch)", "log({k: float(v) for k, v in info.items()})"), 8),
    "what a function of a module makes": (
        ("from agents import learner", "run = learner.make_update(data)", "run(batch)", "print(info['loss'])"), 8),
    "read behind the loop": ((*AGENTS, "agent.update(batch)", "pass\n    print(float(info['loss']))"), 0),
    "a method that is compiled": (
        ("from agents.steps import Trainer", "agent = Trainer()", "agent.train(batch)", "print(float(info))"), 8),
    "a compiled function of a module": (("from agents import steps", "pass", "steps.learn(batch)", "print(float(info))"), 8),
    "a compiled function that a module binds": (("from agents.steps import step", "pass", "step(batch)", "print(float(info))"), 8),
    "a compiled function, read behind the loop": (
        ("from agents import steps", "pass", "steps.learn(batch)", "pass\n    print(float(info))"), 0),
    "a function that is not compiled, of a module that compiles others": (
        ("from agents import steps", "pass", "steps.compute(batch)", "print(float(info['x']))"), 0),
    "a method that is not compiled, of a class that compiles others": (
        ("from agents.steps import Trainer", "agent = Trainer()", "agent.reset()", "print(float(info.get('loss')))"), 0),
    "another method": ((*AGENTS, "agent.reset()", "print(float(info.get('loss')))"), 0),
}  # fmt: skip


@pytest.mark.parametrize(("parts", "row"), SCRIPTS.values(), ids=SCRIPTS)
def test_scripts_run_what_other_files_compile(parts: tuple[str, ...], row: int, tmp_path: Path) -> None:
    files = {
        "agents/__init__.py": "from agents.learner import Learner\n",
        "agents/learner.py": LEARNER,
        "agents/steps.py": STEPS,
    }
    for name, text in {**files, "train.py": SCRIPT.format(*parts)}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    report = check_paths([tmp_path], Settings(root=str(tmp_path), jobs=1, python=None, select=("XLA3",)))
    shown = [one for one in report.findings if one.severity != "info"]
    assert [(Path(one.filename).name, one.location.row) for one in shown] == ([("train.py", row)] if row else [])


@pytest.mark.parametrize(
    ("file", "code", "expected"),
    [
        ("test_step", "def test_loss():\n    train(load(), load())\n", []),
        ("step_test", "def test_loss():\n    train(load(), load())\n", []),
        ("test_step", "def run():\n    train(load(), load())\n", ["XLA301"]),
        ("step", "def test_loss():\n    train(load(), load())\n", ["XLA301"]),
        ("test_step", "def test_loss(params):\n    train(params, load())\n", ["XLA301"]),
        ("test_step", "def test_loss():\n    train(load(), load())\n\ntest_loss()\n", ["XLA301"]),
        (
            "test_step",
            "def test_loss():\n    train(load(), load())\n\nif __name__ == '__main__':\n    test_loss()\n",
            ["XLA301"],
        ),
    ],
)
def test_what_pytest_collects_is_silent(file: str, code: str, expected: list[str], tmp_path: Path) -> None:
    (tmp_path / f"{file}.py").write_text(JAX + TOLD + code)
    report = check_paths([tmp_path], Settings(root=str(tmp_path), jobs=1, python=None, select=("XLA3",)))
    assert [one.code for one in report.findings if one.severity != "info"] == expected


@pytest.mark.parametrize(
    "setting", ["environ['JAX_PLATFORMS'] = 'cpu'", "environ.setdefault('JAX_PLATFORM_NAME', 'cpu')"]
)
def test_what_runs_on_the_cpu_is_silent(setting: str, loud: Loud) -> None:
    assert loud(f"import os\nos.{setting}\n{JAX}{TOLD}", "jax") == []
