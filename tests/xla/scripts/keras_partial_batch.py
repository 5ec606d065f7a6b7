"""Keras' `fit` on 20 examples in batches of 8: the last batch of each epoch holds 4, and is compiled for itself."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
features = rng.normal(size=(20, 4)).astype("float32")
targets = features.sum(axis=1, keepdims=True)

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse", jit_compile=True)

dataset = tf.data.Dataset.from_tensor_slices((features, targets)).batch(8)
history = model.fit(dataset, epochs=3, verbose=0)
print("loss", round(history.history["loss"][-1], 3))
