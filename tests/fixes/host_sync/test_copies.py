"""XLA302: copies to the host; `x` and `t` are tensors, `kept` a list of the module."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import append_indented, expect_fixed, expect_left_alone, outcome


def torch(body: str) -> str:
    return append_indented(
        "import numpy as np\nimport torch\nfrom torch import nn\n\nkept = []\n\n\n"
        "class Model(nn.Module):\n"
        "    def forward(self, x: torch.Tensor, t: torch.Tensor, other) -> torch.Tensor:\n",
        body,
        8,
    )


def jax(body: str) -> str:
    return (
        "import jax\nimport jax.numpy as jnp\nimport numpy as np\n\n\n"
        f"@jax.jit\ndef f(x: jax.Array) -> jax.Array:\n    {body}\n"
    )


def tensorflow(body: str) -> str:
    return (
        "import numpy as np\nimport tensorflow as tf\n\n\n"
        f"@tf.function(jit_compile=True)\ndef f(x: tf.Tensor) -> tf.Tensor:\n    {body}\n"
    )


LEFT_ALONE = {
    "a copy": (torch("return x.cpu()"), "where the copy is needed"),
    "a copy by a device": (torch('return x.to("cpu") + 1'), "where the copy is needed"),
    "an array that stays": (torch("return np.sqrt(x.detach().cpu().numpy())"), "lives on the host"),
    "another function of NumPy": (torch("return torch.from_numpy(np.sort(x.cpu().numpy()))"), "lives on the host"),
    "nothing computed": (torch("return torch.from_numpy(x.detach().cpu().numpy())"), "lives on the host"),
    "two arguments": (torch("return torch.from_numpy(np.add(x.cpu().numpy(), 1))"), "lives on the host"),
    "numbers": (torch("a = x.tolist()\nreturn torch.tensor(a), len(a)"), "numbers are needed"),
    "numbers of two": (torch("a = x.tolist()\na = a + [1]\nreturn torch.tensor(a)"), "numbers are needed"),
    "a sorted list": (torch("return torch.tensor(sorted(x.tolist()))"), "numbers are needed"),
    "a tensor that gets gradients": (
        torch("return torch.tensor(x.tolist(), requires_grad=True)"),
        "apply the call's options to `x.detach()`",
    ),
    "a list that stays on the host": (torch('return torch.tensor(x.tolist(), device="cpu")'), "made on the host"),
    "a dtype that a device has not": (
        torch("return torch.tensor(x.tolist(), dtype=torch.float64) + 1"),
        "`torch.float64` is slow on the device",
    ),
    "a tensor of any size that is kept": (torch("kept.append(x.cpu())\nreturn x"), "of any size"),
    "what a plot reads": (
        torch("kept = []\nkept.append(x.mean().detach().cpu())\nplot(kept)\nreturn x"),
        "`plot(kept)` may need it on the host",
    ),
    "an option": (torch('kept.append(x.mean().to("cpu", torch.float32))\nreturn x'), "options"),
    "a list in JAX": (jax("return x.tolist()"), "a graph holds no values"),
    "options of NumPy": (jax("return np.exp(x, dtype=np.float64)"), "more than JAX's"),
    "a value in TensorFlow": (tensorflow("return x.numpy() + 1"), "a graph holds no values"),
}

UNSAFE = {
    "there and back": (
        torch("return torch.from_numpy(np.exp(np.sqrt(x.detach().cpu().numpy())))"),
        torch("return torch.exp(torch.sqrt(x.detach()))"),
        "on the device",
    ),
    "a function": (torch("return torch.as_tensor(np.sqrt(x))"), torch("return torch.sqrt(x)"), "precise enough"),
    "a list": (torch("return torch.tensor((x + t).tolist())"), torch("return (x + t).detach()"), "the default dtype"),
    "a list of whole numbers": (
        torch("return torch.tensor(x.argmax(-1).tolist(), dtype=torch.long, device=x.device)"),
        torch("return x.argmax(-1).to(dtype=torch.long, device=x.device)"),
        "needed on its device",
    ),
    "a list in a dtype that is asked for there": (
        torch("return torch.tensor(x.tolist(), dtype=torch.float64, device=x.device)"),
        torch("return x.detach().clone().to(dtype=torch.float64, device=x.device)"),
        "contiguous",
    ),
    "a list of a variable": (torch("return torch.tensor(x.tolist())"), torch("return x.detach().clone()"), "dtype"),
    "a list of a view": (
        torch("return torch.tensor(x.detach().view(-1).tolist())"),
        torch("return x.detach().view(-1).clone()"),
        "the default dtype",
    ),
    "a list by a name": (
        torch("a = x.amax(-1).tolist()\nreturn torch.tensor(a, device=x.device)"),
        torch("a = x.amax(-1).detach()\nreturn a.to(x.device)"),
        "the default dtype",
    ),
    "kept": (
        torch("kept.append(x.mean().detach().cpu())\nreturn x"),
        torch("kept.append(x.mean().detach())\nreturn x"),
        "code that reads `kept` copies",
    ),
    "JAX": (jax("return x / np.sqrt(x)"), jax("return x / jnp.sqrt(x)"), "NumPy array"),
    "JAX, one in another": (jax("return np.exp(np.asarray(x))"), jax("return jnp.exp(jnp.asarray(x))"), "NumPy array"),
    "TensorFlow": (
        tensorflow("return x / tf.constant(np.max(x, axis=-1, keepdims=True))"),
        tensorflow("return x / tf.constant(tf.reduce_max(x, axis=-1, keepdims=True))").replace(
            "tf.constant(tf.reduce_max(x, axis=-1, keepdims=True))", "tf.reduce_max(x, axis=-1, keepdims=True)"
        ),
        "gradient",
    ),
    "TensorFlow, a logarithm": (tensorflow("return np.log(x)"), tensorflow("return tf.math.log(x)"), "gradient"),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(text, "XLA302"), why)


@pytest.mark.parametrize(("text", "after", "assumed"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(text: str, after: str, assumed: str) -> None:
    expect_fixed(outcome(text, "XLA302"), after, "unsafe", assumed)
