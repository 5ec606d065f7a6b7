"""XLA302: copies to the host, and NumPy's functions."""

from __future__ import annotations

from tests.xla.grammars import Grammar

GRAMMARS = (
    Grammar(
        name="there-and-back",
        framework="torch",
        codes=("XLA302",),
        rules={
            "program": [
                "import numpy as np\nimport torch\n\nkept = []\n\n\n"
                '# xlalint: inputs(x="f32<shape>", n="i64[4] 0..5")\n'
                "def f(x: torch.Tensor, n: torch.Tensor):\n    <body>\n"
            ],
            "body": [
                "a = <values>.tolist()\nreturn torch.tensor(a<given>) + 1, x",
                "y = torch.tensor(<values>.tolist()<given>)\ny *= 2\nreturn y, x",
                "return torch.from_numpy(np.<function>(x.detach().cpu().numpy())) * x",
                "return torch.as_tensor(np.<function>(np.<function>(x.detach().numpy()))), x",
                "kept.append(<values>.cpu())\nreturn x",
            ],
            "values": ["x", "x.detach()", "x.sum(-1)", "n", "(x * 2)"],
            "given": ["", ", device=x.device", ", dtype=torch.float64"],
            "function": ["exp", "sqrt", "abs", "tanh", "square", "log1p", "floor"],
        },
        unlike=("empty", "layout", "jumps"),  # NumPy's functions round as torch's do not
    ),
    Grammar(
        name="numpy-functions",
        framework="jax",
        codes=("XLA302",),
        rules={
            "program": [
                "import jax\nimport jax.numpy as jnp\nimport numpy as np\n\n\n"
                '# xlalint: inputs(x="f32<shape>")\n'
                "@jax.jit\ndef f(x: jax.Array):\n    return jnp.asarray(<value>) * x, x\n"
            ],
            "value": [
                "np.sqrt(<elementwise>)",
                "np.exp(x)",
                "np.asarray(x).mean()",
                "np.tanh(np.asarray(x))",
                "np.log1p(x)",
            ],
        },
        unlike=("gradients",),
    ),
    Grammar(
        name="numpy-functions",
        framework="tensorflow",
        codes=("XLA302",),
        rules={
            "program": [
                "import numpy as np\nimport tensorflow as tf\n\n\n"
                '# xlalint: inputs(x="f32<shape>")\n'
                "@tf.function(jit_compile=True)\ndef f(x: tf.Tensor):\n    return x * <value>\n"
            ],
            "value": [
                "tf.constant(np.max(x))",
                "np.sqrt(x)",
                "np.sum(x, axis=0)",
                "np.std(x, axis=-1, keepdims=True)",
                "np.log1p(x)",
            ],
        },
        unlike=("gradients", "empty"),
    ),
)
