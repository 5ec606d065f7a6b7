"""What AutoGraph converts is information; what it cannot convert, and what it is not applied to, is an error."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.conftest import Findings, Loud

IMPORTS = "import keras\nimport tensorflow as tf\n"

SILENT = {
    "both branches set the name": """
        @tf.function
        def f(x: tf.Tensor):
            if tf.reduce_sum(x) > 0:
                y = x * 2.0
            else:
                y = x - 1.0
            return y
        """,
    "a loop that says what may grow": """
        @tf.function
        def f(x: tf.Tensor):
            while tf.size(x) < 8:
                tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None]))])
                x = tf.concat([x, x[:1]], 0)
            return x
        """,
    "a return after the branch that returns": """
        @tf.function
        def f(x: tf.Tensor):
            if tf.reduce_sum(x) > 0:
                return x * 2.0
            return x
        """,
    "a name of one branch that is not read later": """
        @tf.function
        def f(x: tf.Tensor):
            y = x
            if tf.reduce_sum(x) > 0:
                half = x * 0.5
                y = y + half
            return y
        """,
    "a name that is set anew before it is read": """
        @tf.function
        def f(x: tf.Tensor):
            if tf.reduce_sum(x) > 0:
                y = x * 2.0
            y = x
            return y
        """,
    "branches of other shapes": """
        @tf.function
        def f(x: tf.Tensor):
            if tf.reduce_sum(x) > 0:
                y = x
            else:
                y = x[:2]
            return tf.reduce_sum(y)
        """,
    "a branch on a host value may return alone": """
        @tf.function
        def f(x: tf.Tensor, training: bool = False):
            if training:
                return x
        """,
    "a loop over a tensor, left by a tensor": """
        @tf.function
        def f(x: tf.Tensor):
            y = tf.zeros([6])
            for row in x:
                if tf.reduce_sum(y) > 5:
                    break
                y = y + row
            return y
        """,
    "a loop on a tensor, left by another": """
        @tf.function
        def f(x: tf.Tensor, n: tf.Tensor):
            i = tf.constant(0)
            while i < n:
                i += 1
                if tf.reduce_sum(x) > 50.0:
                    break
            return i
        """,
    "a loop on a tensor outside of tapes": """
        @tf.function
        def f(x: tf.Tensor):
            while tf.reduce_sum(x) > 1.0:
                x = x * 0.5
            return x
        """,
    "a loop under a tape with a known end": """
        @tf.function
        def f(x: tf.Tensor):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                while tf.reduce_sum(y) > 1.0:
                    tf.autograph.experimental.set_loop_options(maximum_iterations=8)
                    y = y * 0.5
            return tape.gradient(y, x)
        """,
    "a loop over a Python range under a tape": """
        @tf.function
        def f(x: tf.Tensor):
            with tf.GradientTape() as tape:
                y = x
                for _ in range(3):
                    y = y * y
            return tape.gradient(y, x)
        """,
    "comprehension, zip and enumerate over unstacked tensors": """
        @tf.function
        def f(x: tf.Tensor):
            rows = [row * 2.0 for row in tf.unstack(x)]
            total = sum(a * b for a, b in zip(rows, rows))
            for i, row in enumerate(rows):
                total = total + float(i) * row
            return total
        """,
    "appending in a loop over a Python list": """
        @tf.function
        def f(x: tf.Tensor):
            parts = []
            for scale in (1.0, 2.0):
                parts.append(x * scale)
            return tf.concat(parts, 0)
        """,
    "a list that lives inside of one turn": """
        @tf.function
        def f(x: tf.Tensor):
            y = tf.zeros([6])
            for row in x:
                parts = []
                parts.append(row)
                y = y + tf.add_n(parts)
            return y
        """,
    "float becomes a cast": """
        @tf.function
        def f(x: tf.Tensor):
            return x * float(tf.reduce_sum(x))
        """,
    "a layer of Keras 2 is converted": """
        import tf_keras

        class Gate(tf_keras.layers.Layer):
            def call(self, x: tf.Tensor):
                if tf.reduce_mean(x) > 0:
                    x = x * 2.0
                return x
        """,
    "a host branch in a layer of Keras 3": """
        class Gate(keras.layers.Layer):
            def call(self, x: tf.Tensor, training=False):
                if training and x.shape[0] > 1:
                    x = x * 2.0
                return x
        """,
}

FOUND = {
    "only one branch returns": (
        """
        @tf.function
        def f(x: tf.Tensor):
            if tf.reduce_sum(x) > 0:
                return x * 2.0
        """,
        ["XLA108"],
    ),
    "only one branch sets the name": (
        """
        @tf.function
        def f(x: tf.Tensor):
            if tf.reduce_sum(x) > 0:
                y = x * 2.0
            return y
        """,
        ["XLA108"],
    ),
    "a different dtype in each branch": (
        """
        @tf.function
        def f(x: tf.Tensor):
            y = 0
            if tf.reduce_sum(x) > 0:
                y = tf.cast(x, tf.float32)
            return y
        """,
        ["XLA108"],
    ),
    "a loop without end, left by a tensor": (
        """
        @tf.function
        def f(x: tf.Tensor):
            while True:
                x = x * 0.5
                if tf.reduce_max(x) < 0.1:
                    break
            return x
        """,
        ["XLA102"],
    ),
    "a gradient through an open loop": (
        """
        @tf.function
        def f(x: tf.Tensor):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                while tf.reduce_sum(y) > 1.0:
                    y = y * 0.5
            return tape.gradient(y, x)
        """,
        ["XLA102"],
    ),
    "Python's iteration over a tensor": (
        """
        @tf.function
        def f(x: tf.Tensor):
            for i, row in enumerate(x):
                pass
            return [row for row in x]
        """,
        ["XLA109", "XLA109"],
    ),
    "a list filled by a graph loop": (
        """
        @tf.function
        def f(x: tf.Tensor):
            out = []
            for row in x:
                out.append(row)
            return out
        """,
        ["XLA109"],
    ),
    "a tensor that grows in a graph loop": (
        """
        @tf.function
        def f(x: tf.Tensor):
            y = x[:1]
            for row in x:
                y = tf.concat([y, row[None]], 0)
            return y
        """,
        ["XLA108"],
    ),
    "autograph switched off": (
        """
        @tf.function(autograph=False)
        def f(x: tf.Tensor):
            if tf.reduce_sum(x) > 0:
                x = x * 2.0
            return x
        """,
        ["XLA101"],
    ),
    "autograph switched off for a function that is handed over": (
        """
        def f(x: tf.Tensor):
            return x if tf.reduce_sum(x) > 0 else -x

        g = tf.function(f, autograph=False)
        """,
        ["XLA105"],
    ),
    "a layer of Keras 3, and what it calls": (
        """
        def scaled(x):
            for row in x:
                pass
            return x

        class Gate(keras.layers.Layer):
            def call(self, x: tf.Tensor):
                if not tf.reduce_all(x > 0):
                    x = scaled(x)
                return x
        """,
        ["XLA109", "XLA101"],
    ),
    "a function that says do_not_convert": (
        """
        @tf.autograph.experimental.do_not_convert
        def helper(x):
            while tf.reduce_sum(x) > 1.0:
                x = x * 0.5
            return x

        @tf.function
        def f(x: tf.Tensor):
            return helper(x)
        """,
        ["XLA102"],
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_what_compiles_is_silent(code: str, loud: Loud) -> None:
    assert loud(IMPORTS + dedent(code), "tf") == []


@pytest.mark.parametrize(("code", "rules"), FOUND.values(), ids=FOUND)
def test_what_fails_is_an_error(code: str, rules: list[str], findings: Findings) -> None:
    assert [rule for rule, severity in findings(IMPORTS + dedent(code), "tf") if severity == "error"] == rules


def test_a_function_of_both_worlds_is_judged_by_the_worse(findings: Findings) -> None:
    code = """
        def positive(x):
            return x if tf.reduce_sum(x) > 0 else -x

        @tf.function
        def f(x: tf.Tensor):
            return positive(x)

        @tf.function(autograph=False)
        def g(x: tf.Tensor):
            return positive(x)
        """
    assert findings(IMPORTS + dedent(code), "tf") == [("XLA105", "error")]
