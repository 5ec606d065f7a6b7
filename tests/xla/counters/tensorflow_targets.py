"""Functions whose compilations are counted: by xlalint, and by XLA's own dump of what it compiled."""

import tensorflow as tf


# xlalint: inputs(x="f32[4,8]")
def plain(x):
    return tf.nn.gelu(x) * 2


# xlalint: inputs(x="f32[4,8]")
def branch(x):
    if tf.reduce_mean(x) > 0:
        return x * 2
    return x - 1


# xlalint: inputs(x="f32[4,8]", mask="bool[4,8]")
def masked_values(x, mask):
    return tf.boolean_mask(x, mask)


# xlalint: inputs(x="f32[4,8]", mask="bool[4,8]")
def where_of_mask(x, mask):
    return tf.reduce_sum(tf.where(mask, x, 0.0))


# xlalint: inputs(x="i32[16] 0..5")
def distinct(x):
    return tf.unique(x)[0]


# xlalint: inputs(x="f32[8]")
def read(x):
    return float(tf.reduce_sum(x))


# xlalint: inputs(x="f32[4,4]")
def loop(x):
    while tf.reduce_max(tf.abs(x)) > 1:
        x = x / 2
    return x


# xlalint: inputs(x="f32[4,4]")
def unrolled(x):
    for _ in range(4):
        x = tf.tanh(x @ x)
    return x


# xlalint: inputs(x="f32[4,8]", n="i32[] 1..6")
def size_of_value(x, n):
    return tf.ones([n]) + x[0, 0]


# xlalint: inputs(x="f32[8]")
def top(x):
    return tf.math.top_k(x, 3).values


# xlalint: inputs(x="i32[4,8] 0..9")
def one_hot(x):
    return tf.one_hot(x, 10)


# xlalint: inputs(x="f32[8]", lengths="i32[2] 1..8")
def sequence_mask(x, lengths):
    return tf.where(tf.sequence_mask(lengths, 8), x, 0.0)


# xlalint: inputs(x="f32[8]")
def nonzero(x):
    return tf.where(x > 0)


# xlalint: inputs(x="f32[8]")
@tf.function(jit_compile=True)
def compiled_already(x):
    return tf.nn.softmax(x)


# xlalint: inputs(x="f32[8]")
@tf.function
def traced_already(x):
    return tf.nn.softmax(x) + tf.cumsum(x)


# xlalint: inputs(x="f32[4,8]")
def gathered(x):
    return tf.gather(x, tf.argsort(x[:, 0]))


# xlalint: inputs(x="f32[4,8]")
def text(x):
    tf.strings.as_string(x)
    return tf.strings.length(tf.strings.as_string(x))


# xlalint: inputs(x="f32[4,8]")
def scan(x):
    return tf.scan(lambda a, b: a + b, x)


# xlalint: inputs(x="f32[4,8]")
def mapped(x):
    return tf.map_fn(tf.reduce_sum, x)


# xlalint: inputs(x="f32[4,8]")
class Layer(tf.keras.layers.Layer):
    def build(self, shape):
        self.weight = self.add_weight(shape=(8, 8))

    def call(self, x):
        return tf.nn.relu(x @ self.weight)
