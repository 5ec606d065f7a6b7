"""Programs as people have them, whose compilations are counted as those of tensorflow_targets.py are. Those of AS_WRITTEN are host code."""

import tensorflow as tf

AS_WRITTEN = {
    "custom_loop",
    "read_between",
    "python_number",
    "last_batch",
    "last_batch_dropped",
    "made_anew",
    "unknown_size",
    "data_set",
    "metric",
    "stopping",
}


# xlalint: inputs(x="f32[8,4]", y="f32[8,1]")
class OwnTrainStep(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x))
        slopes = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(slopes, self.trainable_variables, strict=True))
        return {"loss": loss}


_weight = tf.Variable(tf.ones([4, 1]))


@tf.function(jit_compile=True)
def _train(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ _weight - y) ** 2)
    _weight.assign_sub(0.1 * tape.gradient(loss, _weight))
    return loss


# xlalint: inputs(x="f32[8,4]", y="f32[8,1]")
def custom_loop(x, y):
    for _ in range(3):
        loss = _train(x, y)
    return loss


# xlalint: inputs(x="f32[8,4]", y="f32[8,1]")
def read_between(x, y):
    loss = _train(x, y)
    print("loss", float(loss))
    return loss.numpy()


@tf.function(jit_compile=True)
def _power(x, n):
    return x**n


# xlalint: inputs(x="f32[8]", n="i32[] 1..3")
def python_number(x, n):
    return _power(x, int(n))


@tf.function(jit_compile=True)
def _loss(x):
    return tf.reduce_mean(x * x)


# xlalint: inputs(x="f32[10,4]")
def last_batch(x):
    return [_loss(x[start : start + 4]) for start in range(0, 10, 4)]


# xlalint: inputs(x="f32[10,4]")
def last_batch_dropped(x):
    return [_loss(x[start : start + 4]) for start in range(0, 8, 4)]


# xlalint: inputs(x="f32[8]")
def made_anew(x):
    return tf.function(lambda y: y * 2, jit_compile=True)(x)


@tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None], tf.float32)])
def _of_any_size(x):
    return tf.reduce_sum(x * 3)


# xlalint: inputs(x="f32[8]", n="i32[] 1..4")
def unknown_size(x, n):
    return _of_any_size(x[: int(n)])


# xlalint: inputs(x="f32[10,4]")
def data_set(x):
    return [_loss(batch) for batch in tf.data.Dataset.from_tensor_slices(x).batch(5)]


_mean = tf.keras.metrics.Mean()


# xlalint: inputs(x="f32[8,4]")
def metric(x):
    _mean.update_state(_loss(x))
    return float(_mean.result())


# xlalint: inputs(x="f32[8]")
def stopping(x):
    for _ in range(4):
        x = _power(x, 2)
        if tf.reduce_max(x) < 1:
            break
    return x


# xlalint: inputs(x="f32[8,4]", n="i32[] 1..6")
def range_of_value(x, n):
    for _ in tf.range(n):
        x = tf.tanh(x)
    return x


# xlalint: inputs(x="f32[6,8]")
def collected(x):
    found = tf.TensorArray(tf.float32, size=6)
    for row in tf.range(6):
        found = found.write(row, x[row] * 2)
    return {"all": found.stack(), "first": (x[0], x[1])}


# xlalint: inputs(x="f32[8]")
def printed(x):
    tf.print("mean", tf.reduce_mean(x))
    return x * 2


# xlalint: inputs(x="f32[8,4]")
class Dropped(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense, self.drop = tf.keras.layers.Dense(4), tf.keras.layers.Dropout(0.5)

    def call(self, x):
        return self.drop(self.dense(x), training=True)


# xlalint: inputs(x="f32[8,4]")
class Normalised(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm = tf.keras.layers.BatchNormalization()

    def call(self, x):
        return self.norm(x, training=True)


# xlalint: inputs(x="f32[2,6,4]")
class Recurrent(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.cell = tf.keras.layers.GRU(3)

    def call(self, x):
        return self.cell(x)


# xlalint: inputs(x="f32[8]", which="i32[] 0..2")
def switched(x, which):
    return tf.switch_case(which, [lambda: x * 2, lambda: x - 1, lambda: tf.sin(x)])


# xlalint: inputs(x="f32[4]")
def growing(x):
    while tf.size(x) < 8:
        x = tf.concat([x, x], 0)
    return x


# xlalint: inputs(x="f32[8]")
def of_python(x):
    return tf.numpy_function(lambda y: y * 2, [x], tf.float32)


# xlalint: inputs(x="f32[8,4]", ids="i32[8] 0..4")
def segments(x, ids):
    return tf.math.unsorted_segment_sum(x, ids, 5), tf.vectorized_map(lambda row: row * 2, x)
