"""What the host reads in each turn of a loop that takes steps: results, what metrics add up, what is printed."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.frameworks.checks.rows import find

HEAD = """
import logging
import numpy as np
import other
import tensorflow as tf
optimizer = tf.keras.optimizers.Adam()
mean = tf.keras.metrics.Mean()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])

@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    mean(loss)
    return loss

@tf.function
def train_epoch(batches):
    for x in batches:
        train_step(x)

@tf.function
def run_epoch(iterator, strategy, count):
    for _ in tf.range(count):
        strategy.run(train_step, args=(next(iterator),))

def plain_step(x):
    return train_step.python_function(x)

@tf.function
def structure_of(x):
    logs = other.logs_of(x)
    optimizer.apply_gradients(zip(logs, model.weights))
    return logs

@tf.function
def number_of(x):
    optimizer.apply_gradients(zip([x], model.weights))
    return 1

def step(x):
    loss = tf.reduce_mean(model(x))
    optimizer.apply_gradients(zip([loss], model.weights))
    return loss

def main(batches, bar, metrics):
"""

SILENT = {
    "the steps that an optimizer has taken, behind the loop": """
        for epoch in range(10):
            for x in batches:
                train_step(x)
            print(optimizer.iterations.numpy())
        """,
    "the steps that an optimizer has taken, before the loop": """
        start = optimizer.iterations.numpy()
        for x in batches:
            if start > 10:
                train_step(x)
        """,
    "the steps that an optimizer has taken, which the host does not read": """
        for x in batches:
            train_step(x)
            step = optimizer.iterations + 1
        """,
    "behind the steps": """
        for epoch in range(10):
            for x in batches:
                train_step(x)
            print(mean.result())
        """,
    "behind many steps in the graph": """
        for epoch in range(10):
            train_epoch(batches)
            print(float(mean.result()))
        """,
    "a progress bar of Keras' over the epochs": """
        bar = tf.keras.utils.Progbar(10)
        for epoch in range(10):
            for x in batches:
                loss = train_step(x)
            bar.add(1, values=[("loss", loss)])
        """,
    "a progress bar of Keras' without a result": """
        bar = tf.keras.utils.Progbar(10)
        for x in batches:
            train_step(x)
            bar.add(1)
        """,
    "now and then": """
        for i, x in enumerate(batches):
            train_step(x)
            if i % 100 == 0:
                print(mean.result().numpy())
        """,
    "now and then, by an operation": """
        for i, x in enumerate(batches):
            train_step(x)
            if tf.equal(i % 100, 0):
                print(mean.result().numpy())
        """,
    "where the loop is left": """
        for i, x in enumerate(batches):
            loss = train_step(x)
            if i >= metrics.steps:
                print(f"loss {loss}")
                break
        """,
    "where the function is left": """
        for i, x in enumerate(batches):
            loss = train_step(x)
            if i > metrics.steps:
                return float(loss)
        """,
    "at the last turn": """
        for i, x in enumerate(batches):
            loss = train_step(x)
            if i == len(batches) - 1:
                print(float(loss))
        """,
    "behind each epoch of batches without an end": """
        step = 0
        for x in batches:
            step += 1
            loss = train_step(x)
            if step == metrics.steps_per_epoch:
                print(float(loss))
                step = 0
        """,
    "behind turns that are left early": """
        for i, x in enumerate(batches):
            loss = train_step(x)
            if i != 99:
                continue
            print(float(loss))
        """,
    "in a loop of its own": """
        for epoch in range(10):
            for x in batches:
                train_step(x)
            for one in metrics:
                print(mean.result().numpy())
        """,
    "a text that is made behind the loop": """
        for x in batches:
            loss = train_step(x)
        print(f"loss {loss}", "of {}".format(loss))
        """,
    "what is logged if that is asked for": """
        for x in batches:
            loss = train_step(x)
            logging.debug("loss %f", loss)
        """,
    "what is logged of a shape": """
        for x in batches:
            loss = train_step(x)
            logging.info("loss %s", loss.shape)
        """,
    "a text of a shape": """
        for x in batches:
            loss = train_step(x)
            print(f"loss {loss.shape} {loss.dtype}")
        """,
    "a constant": """
        for x in batches:
            train_step(x)
            print(tf.constant(1.0))
        """,
    "nothing": """
        for x in batches:
            train_step(x)
        """,
    "a number that the host puts beside the results": """
        for x in batches:
            logs = structure_of(x)
            logs["speed"] = len(x) / 2
            print(f"{logs['speed']:.1f}", 100 // logs["speed"])
        """,
    "the names of the results": """
        for x in batches:
            logs = structure_of(x)
            print(list(logs.keys()), [value.shape for name, value in logs.items()])
        """,
    "a function that a debugger's option leaves uncompiled": """
        run = plain_step if metrics.debug else len
        for x in batches:
            print(run(x))
        """,
    "a factory that is given no function": """
        compiler = tf.function(reduce_retracing=True)
        for x in batches:
            print(plain_step(x))
        """,
    "a function in a function that a loop calls now and then": """
        def write(table):
            def one(name, value):
                print(name, float(value))
            for name, value in table.items():
                one(name, value)
        for i, x in enumerate(batches):
            loss = train_step(x)
            if i % 100 == 0:
                write({"loss": loss})
        """,
}
EPOCHS = {
    "of what a strategy ran in the graph": """
        for epoch in range(10):
            run_epoch(batches, bar, metrics.count)
            print(float(mean.result()))
        """,
    "beside a helper that takes many steps": """
        def fit(data):
            for x in data:
                loss = train_step(x)
            return loss
        for epoch in range(10):
            print(float(fit(batches)))
        """,
    "of steps by another name that the graph takes for each batch": """
        def fit(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
            return loss
        @tf.function
        def epoch_of(data):
            for x in data:
                mean(fit(x))
        for epoch in range(10):
            epoch_of(batches)
            print(optimizer.iterations.numpy(), float(mean.result()))
        """,
    "of a step that the graph takes for each batch": """
        @tf.function
        def epoch_of(data):
            for x in data:
                loss = train_step(x)
            return loss
        for epoch in range(10):
            print(float(epoch_of(batches)))
        """,
}
FOUND = {
    "the steps that an optimizer has taken": """
        for x in batches:
            train_step(x)
            if optimizer.iterations.numpy() % 100 == 0:
                bar.update(100)
        """,
    "a progress bar of Keras'": """
        for x in batches:
            loss = train_step(x)
            tf.keras.utils.Progbar(10).add(1, values=[("loss", loss)])
        """,
    "a progress bar": """
        for x in batches:
            loss = train_step(x)
            bar.set_postfix(loss=loss)
        """,
    "what a metric gives": """
        for x in batches:
            train_step(x)
            bar.set_postfix({"loss": f"{mean.result():.4f}"})
        """,
    "a metric's number": """
        for x in batches:
            train_step(x)
            print(mean.result().numpy())
        """,
    "a text with a result": """
        for x in batches:
            loss = train_step(x)
            print(f"loss {loss}")
        """,
    "a text that is filled in": """
        for x in batches:
            loss = train_step(x)
            bar.set_description("loss {}".format(loss))
        """,
    "a text by percent": """
        for x in batches:
            loss = train_step(x)
            bar.write("loss %s" % loss)
        """,
    "a result that is logged": """
        for x in batches:
            loss = train_step(x)
            logging.info("loss %f", loss)
        """,
    "a result that is printed": """
        for x in batches:
            loss = train_step(x)
            print("loss", loss)
        """,
}

MADE = {
    "by a factory": """
        run = tf.function(reduce_retracing=True)(step)
        for x in batches:
            print(float(run(x)))
        """,
    "by an option": """
        run = step
        if not metrics.debug:
            run = tf.function(step)
        for x in batches:
            print(float(run(x)))
        """,
    "by a function of the program, by an option": """
        def compiled(function):
            if metrics.debug:
                return function
            return tf.function(input_signature=metrics.signature)(function)
        run = compiled(step)
        for x in batches:
            print(float(run(x)))
        """,
    "what a table holds of which no more is known": """
        for x in batches:
            logs = structure_of(x)
            print({name: np.round(value, 3) for name, value in logs.items()})
        """,
    "a number that the function gives": """
        for x in batches:
            count = number_of(x)
            bar.update(int(count))
        """,
    "what each entry of a table is given": """
        for x in batches:
            logs = structure_of(x)
            logs["speed"] = 3.0
            print(logs["loss"].numpy())
        """,
    "in a function in a function that the loop calls, by its shape": """
        def write(table):
            def one(name, value):
                if value.shape == ():
                    tf.summary.scalar(name, value)
                else:
                    tf.summary.scalar(name, tf.reduce_mean(value))
                    tf.summary.histogram(name, value)
            for name, value in table.items():
                one(name, value)
        for x in batches:
            write(structure_of(x))
        """,
    "in a function in a function that the loop calls": """
        def write(table):
            def one(name, value):
                tf.summary.scalar(name, value)
            for name, value in table.items():
                one(name, value)
        for x in batches:
            loss = train_step(x)
            write({"loss": loss})
        """,
    "what is mapped over a structure": """
        @tf.function
        def reduced(x):
            return tf.nest.map_structure(lambda part: part * 2, structure_of(x))
        for x in batches:
            logs = reduced(x)
            print(float(logs["loss"]))
        """,
}

ROUND = {
    "at all turns but one": """
        for i, x in enumerate(batches):
            loss = train_step(x)
            if i == 0:
                continue
            print(float(loss))
        """,
    "at all turns but one, beside it": """
        for i, x in enumerate(batches):
            loss = train_step(x)
            if i == 0:
                bar.start()
            else:
                print(float(loss))
        """,
    "in one of several processes": """
        for i, x in enumerate(batches):
            loss = train_step(x)
            if metrics.rank == 0:
                print(float(loss))
        """,
    "in one of several processes, by an operation": """
        for i, x in enumerate(batches):
            loss = train_step(x)
            if tf.equal(metrics.rank, 0):
                print(float(loss))
        """,
    "what an evaluation adds up": """
        @tf.function
        def evaluate(x):
            mean(model(x))
        for x in batches:
            evaluate(x)
            print(mean.result())
        """,
    "beside parts of a step that the loop takes itself": """
        @tf.function
        def slopes_of(x):
            return tf.gradients(model(x), model.trainable_variables)
        def gather(parts):
            for part in parts:
                slopes = slopes_of(part)
            return slopes
        for x in batches:
            slopes = gather(x)
            mean(slopes_of(x)[0])
            optimizer.apply_gradients(zip(slopes, model.trainable_variables))
            print(mean.result())
        """,
    "before the loop is left": """
        for i, x in enumerate(batches):
            loss = train_step(x)
            print(float(loss))
            if i >= metrics.steps:
                break
        """,
    "what decides whether the loop is left": """
        for x in batches:
            loss = train_step(x)
            if float(loss) < metrics.least:
                break
        """,
    "beside a loop in the step": """
        def fit(x):
            optimizer.apply_gradients(zip([x], model.weights))
        @tf.function
        def step_of(x):
            for weight in model.weights:
                x = x * tf.reduce_sum(weight)
            fit(x)
            return x
        for x in batches:
            print(float(step_of(x)))
        """,
    "after many turns": """
        for i, x in enumerate(batches):
            loss = train_step(x)
            if i > 100:
                print(float(loss))
        """,
}


def found(text: str) -> list[str]:
    body = indent(dedent(text).strip("\n"), "    ") + "\n"
    return [f"{one.location.row - HEAD.count(chr(10))}:{one.severity}" for one in find(HEAD + body, "", "XLA301")]


@pytest.mark.parametrize("case", SILENT)
def test_silent(case: str) -> None:
    assert found(SILENT[case]) == []


@pytest.mark.parametrize("case", EPOCHS)
def test_read_once_in_many_steps(case: str) -> None:
    assert not [one for one in found(EPOCHS[case]) if not one.endswith(":info")]


@pytest.mark.parametrize("case", ROUND)
def test_read_at_nearly_each_turn(case: str) -> None:
    assert [one.partition(":")[2] for one in found(ROUND[case])] == ["warning"]


@pytest.mark.parametrize("case", FOUND)
def test_found(case: str) -> None:
    assert found(FOUND[case]) == ["3:warning"]


@pytest.mark.parametrize("case", MADE)
def test_found_whatever_compiles_and_holds_it(case: str) -> None:
    assert [one.partition(":")[2] for one in found(MADE[case])] == ["warning"]


CALLS = """
import numpy as np
import tensorflow as tf

class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        self.optimizer = tf.keras.optimizers.Adam()
        self.average = 0.0
        self.steps = 0

    @tf.function
    def train_step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.model(x))
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    @tf.function
    def predict(self, x):
        return self.model(x)

    def losses(self, x):
        loss = self.train_step(x)
        return {"loss": loss}

    def act(self, x):
        return self.predict(x).numpy()

    def epoch(self, batches):
        for x in batches:
            loss = self.train_step(x)
        return loss

    def train(self, x):
        self.steps += 1
        loss = self.train_step(x)
        {train}

def log(value):
    print("loss", float(value))

def main(batches, env):
    trainer = Trainer()
    {main}
"""
SILENT_CALLS = {
    "a function that nothing calls at each turn": ("self.average = np.mean(loss)", "trainer.train(batches)"),
    "now and then": (
        "if self.steps % 100 == 0:\n            print(float(loss))",
        "for x in batches:\n        trainer.train(x)",
    ),
    "behind the loop": ("return loss", "for x in batches:\n        loss = trainer.train(x)\n    print(float(loss))"),
    "behind an epoch": ("pass", "for _ in range(9):\n        loss = trainer.epoch(batches)\n    print(float(loss))"),
    "an action that a simulation needs": (
        "pass",
        "seen = env.reset()\n    for _ in range(9):\n        seen, reward, done, _ = env.step(trainer.act(seen))",
    ),
    "what predicts alone": ("pass", "for x in batches:\n        trainer.act(x)"),
}
FOUND_CALLS = {
    "behind the call": (
        "self.average = np.mean(loss)",
        "for x in batches:\n        trainer.train(x)",
        ["`loss` after"],
    ),
    "what a method gives on": (
        "pass",
        "for x in batches:\n        print(float(trainer.losses(x)['loss']))",
        ["in each"],
    ),
    "what a helper prints": ("pass", "for x in batches:\n        log(trainer.train_step(x))", ["`value` after"]),
    "what is given to a helper that prints": (
        "pass",
        "for x in batches:\n        log(trainer.losses(x)['loss'])",
        ["`value` after"],
    ),
    "a number that is read and printed": (
        "pass",
        "for x in batches:\n        print(float(trainer.train_step(x)))",
        ["`trainer.train_step(x)` in each"],
    ),
}


def read_in_calls(train: str, main: str) -> list[tuple[str, str]]:
    found = find(CALLS.replace("{train}", train).replace("{main}", main), "", "XLA301")
    return [(one.severity, one.message) for one in found]


@pytest.mark.parametrize(("train", "main"), SILENT_CALLS.values(), ids=list(SILENT_CALLS))
def test_what_no_turn_waits_for(train: str, main: str) -> None:
    assert read_in_calls(train, main) == []


@pytest.mark.parametrize(("train", "main", "said"), FOUND_CALLS.values(), ids=list(FOUND_CALLS))
def test_what_a_function_between_reads_or_hands_on(train: str, main: str, said: list[str]) -> None:
    found = read_in_calls(train, main)
    assert [severity for severity, _ in found] == ["warning"] * len(said)
    assert all(part in message for part, (_, message) in zip(said, found, strict=True))


REPLICAS = """
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()

def replica(x):
    return tf.reduce_sum(x)

@tf.function
def train_step(x):
    losses = strategy.{run}(replica, args=(x,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

def main(batches):
    for x in batches:
        print(float(train_step(x)))
"""


@pytest.mark.parametrize("run", ["run", "experimental_run_v2"])
def test_what_a_strategy_of_any_release_runs(run: str) -> None:
    assert [one.severity for one in find(REPLICAS.replace("{run}", run), "", "XLA301")] == ["warning"]


@pytest.mark.parametrize("run", ["run", "experimental_run", "experimental_run_v2"])
def test_what_a_compiled_function_gives_is_tensors_whatever_made_it(run: str) -> None:
    text = REPLICAS.replace("strategy = tf.distribute.MirroredStrategy()", "from elsewhere import strategy")
    assert [one.confidence for one in find(text.replace("{run}", run), "", "XLA301")] == ["likely"]


TOLD = """
import tensorflow as tf

class Trainer:
    def __init__(self, model, optimizer, options):
        self.model, self.optimizer, self.options = model, optimizer, options
        self.step = tf.function(self.run)

    def run(self, x):
        with tf.GradientTape() as tape:
            loss = self.model(x)
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    def train(self, batches):
        for i, x in enumerate(batches):
            self.step(x)
            {read}
"""


@pytest.mark.parametrize("read", ["print(self.optimizer.iterations.numpy())", "print(int(self.optimizer.iterations))"])
def test_what_is_called_of_an_object_tells_that_it_is_an_optimizer(read: str) -> None:
    assert [one.severity for one in find(TOLD.replace("{read}", read), "", "XLA301")] == ["warning"]


@pytest.mark.parametrize(
    "read",
    [
        "print(int(self.options.iterations))",
        "print(self.optimizer.learning_rate)",
        "self.optimizer.iterations.assign(3)",
        "print(self.optimizer.iterations.numpy()) if i % 100 == 0 else None",
    ],
)
def test_no_read_of_what_an_optimizer_counts(read: str) -> None:
    assert find(TOLD.replace("{read}", read), "", "XLA301") == []
