"""What the outcome of a comparison is used for: it tells the tensors that were compared, and those that it picks from."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.conftest import Loud

HEAD = "import torch\nfrom torch import nn\n"
ARRAYS = "import numpy as np\n" + HEAD

SILENT = {
    "positions beside positions, taken for a mask by one of their makers": """
        class Chart(nn.Module):
            def __init__(self, scores, lens=None):
                self.lens = (scores.detach().sum(-1) > 0) if lens is None else lens
                self.mask = lens

            def forward(self, x: torch.Tensor):
                return x[self.lens, range(x.shape[0])], x[range(x.shape[0]), self.mask], x[self.mask, [0, 1, 2]]
        """,
    "positions named a mask beside a list of them": """
        def f(x: torch.Tensor, group_mask, n: int):
            return x[group_mask, list(range(n))]
        """,
    "what is a number or else a tensor, or may be anything": """
        from typing import Any, Optional, Union
        def pick(x: torch.Tensor, row: Union[int, torch.Tensor], at: Union[bool, int, torch.Tensor], on: bool, rest: Any, table):
            return x[on], x[rest], table[on], table[row], table[at]
        """,
    "what is stored into something unknown under a mask that no array of its own framework takes": """
        import jax
        import jax.numpy as jnp
        @jax.jit
        def f(x, n):
            seen = jnp.zeros((4, 8), dtype=bool)
            def g(table):
                table[seen] = 0
                return table
            return x.sum(), g
        """,
    "what is stored into something unknown under a number, a position or one truth": """
        class Head(nn.Module):
            def forward(self, x: torch.Tensor, n: int, table):
                near = self.distance(x, n)
                near[n] = 0
                near[x.sum(1).long()] = 0
                table[x.shape[0] > 3] = 1
                table[n, x.ndim] = 1
                return near, table
        """,
    "numbers": "def f(n, m):\n    big = n > m\n    return 1 if big else 2\n",
    "a mode by its name": "def f(options, mode):\n    chosen = mode == 'fast'\n    return options[chosen]\n",
    "one of two that are written out": "def f(low, high):\n    return ('low', 'high')[high > low]\n",
    "a name that is bound anew": "def f(n, m):\n    ok = n > m\n    ok = [n]\n    return ok.index(m) if n > 1 else 2\n",
    "a number compared with a tensor": (
        "def f(x: torch.Tensor, k):\n    unsolved = (x.sum(0) == k).squeeze()\n    return torch.topk(x, k=2 * k), unsolved\n"
    ),
    "two names, of which one may be a number": "def f(x: torch.Tensor, n):\n    return torch.zeros(n), (x.sum() > n).any() * 1\n",
    "a chain of comparisons": "def f(n, low, high):\n    return [1, 2][low < n < high]\n",
    "membership": "def f(names, name):\n    known = name in names\n    return names[known]\n",
    "None": "def f(x, y):\n    given = x == None\n    return y[given]\n",
    "identity": "def f(x, y):\n    same = x is y\n    return y[same]\n",
    "a function beside NumPy's arrays": (
        ARRAYS + "def f(scores, low):\n    keep = scores > low\n    return scores[keep] if (scores > 0).any() else 0\n"
    ),
    "a sum of comparisons": "def f(n, m):\n    return (n > m) + (m > 1)\n",
    "a mask that stays one": """
        class M(nn.Module):
            def forward(self, x, t):
                return torch.where(t > 0, x, (t != 0) & (t < 3))
    """,
    "a size": "def f(x: torch.Tensor, n: int):\n    wide = x.shape[0] > n\n    return x if wide else -x\n",
    "a tensor of the host moved nowhere": "def f(x: torch.Tensor):\n    return torch.zeros(8).nonzero()\n",
    "one like a tensor of the host": "def f():\n    return torch.zeros(8).type_as(torch.ones(8)).nonzero()\n",
    "what is picked by a number from what is not known": "def f(x):\n    k = x.count > 3\n    return x.rows[k]\n",
    "a position that is compared elsewhere": (
        "class L(nn.Module):\n    def forward(self, x, out: torch.Tensor):\n        i = x.count > 3\n        i = x.index\n"
        "        out[i] = 0\n        return out\n"
    ),
    "what a loop binds anew": (
        "class L(nn.Module):\n    def forward(self, x, out: torch.Tensor):\n        i = x.count > 3\n        for i in x.rows:\n"
        "            out[i] = 0\n        return out\n"
    ),
    "a number whose comparison a tensor is passed": "def f(x: torch.Tensor, mode):\n    return x.mul(mode == 1) if mode == 2 else x\n",
    "one whose comparison makes a tensor": "def f(mode):\n    made = torch.tensor(mode == 1)\n    return made if mode else -made\n",
    "one whose comparison the program's function is passed": (
        "def where(ok):\n    return ok\n\n\ndef f(mode):\n    return where(mode == 1), 1 if mode == 2 else 0\n"
    ),
    "one whose comparison is passed second": (
        "def f(x: torch.Tensor, mode):\n    y = torch.div(x, mode == 1)\n    return y if mode == 2 else -y\n"
    ),
    "positions, beside flags that are joined": (
        "def f(x: torch.Tensor, i: torch.Tensor, bits, low):\n    return x[i], bits & low, i + 1\n"
    ),
    "positions, and bits of another name": (
        "def f(x: torch.Tensor, i: torch.Tensor, bits: int):\n    return x[i] if bits & 4 else -x[i]\n"
    ),
    "positions joined with a number's bits": "def f(x: torch.Tensor, i: torch.Tensor):\n    return x[i & 7]\n",
    "an object that is moved to a device": "class L(nn.Module):\n    def forward(self, x):\n        return x.parts.to(x.device)[x.k]\n",
    "one moved to where a tensor of the host is": "def f():\n    return torch.zeros(8).to(torch.ones(8)).nonzero()\n",
}
FOUND = {
    "what is a truth or else a tensor": (
        """
        from typing import Union
        def is_known(labels) -> Union[bool, torch.Tensor]:
            return labels >= 0
        def pick(x: torch.Tensor, kept: Union[bool, torch.Tensor], model, batch):
            z, labels = batch
            known = is_known(labels)
            return x[kept], model(z[known])
        """,
        ["XLA201", "XLA201"],
    ),
    "what is stored under a mask into what nothing is known of": (
        """
        class Head(nn.Module):
            def forward(self, x: torch.Tensor, n: int):
                near = self.distance(x, n)
                seen = torch.zeros((4, 8), dtype=torch.bool, device=x.device)
                near[seen[:, :n]] = 0
                return near
        """,
        ["XLA205"],
    ),
    "what a comparison is joined with": (
        "def f(y: torch.Tensor, t: torch.Tensor, event: torch.Tensor):\n    first = [((t == u) & event) for u in range(3)]\n"
        "    return y[event], first\n",
        ["XLA201"],
    ),
    "what joins a comparison from the left": (
        "def f(y: torch.Tensor, t: torch.Tensor, event: torch.Tensor):\n    return y[event], event | (t > 0)\n",
        ["XLA201"],
    ),
    "what is compared for the framework's functions": (
        "def f(label, other):\n    return torch.where(label == 1)[0], 1 if torch.any(other > 0) else 0\n",
        ["XLA105", "XLA202"],
    ),
    "what is compared and asked whether all of it holds": (
        """
        def f(fn, x: torch.Tensor):
            return x if (fn.skew == 0).all() and not ((fn.rate > 0) & (fn.rate < 2)).any() else -x
        """,
        ["XLA105", "XLA105"],
    ),
    "what a named mask picks from, and what it compares": (
        """
        class Head(nn.Module):
            def forward(self, logits, labels):
                keep = labels >= 0
                picked, wanted = logits[keep], labels[keep]
                return nn.functional.cross_entropy(picked, wanted)
        """,
        ["XLA201", "XLA201"],
    ),
    "a comparison in the index": (
        "class L(nn.Module):\n    def forward(self, x, t):\n        return x[t != 0]\n",
        ["XLA201"],
    ),
    "a mask beside what it picks": (
        "class L(nn.Module):\n    def forward(self, x, t):\n        return x[t != 0, t[t != 0]]\n",
        ["XLA201", "XLA201"],
    ),
    "a mask among other indices": (
        "class L(nn.Module):\n    def forward(self, x, t):\n        return x[0, t != 0]\n",
        ["XLA201"],
    ),
    "one that goes to a device of which nothing is known": (
        "def f(x: torch.Tensor, args):\n    mask = torch.eye(len(x), dtype=torch.bool).to(args.place)\n    return x[~mask]\n",
        ["XLA201"],
    ),
    "two joined": ("def f(x):\n    keep = (x > 0) & ~(x > 9)\n    return x[keep]\n", ["XLA201"]),
    "`any`": ("def f(t):\n    assert (t >= 0).all()\n    return t * 2\n", ["XLA103"]),
    "`any` of a named one": (
        "def f(t):\n    bad = t != -1\n    if bad.any():\n        return -t\n    return t\n",
        ["XLA101"],
    ),
    "a module's method beside NumPy's arrays": (
        "import numpy as np\nclass L(nn.Module):\n    def forward(self, x, t):\n        return x[t > 0]\n",
        ["XLA201"],
    ),
    "a tensor that another is made like": ("def f(x):\n    return torch.zeros(8).type_as(x).nonzero()\n", ["XLA202"]),
    "one moved to where another is": (
        "def f(x: torch.Tensor):\n    return torch.zeros(8).to(x).nonzero()\n",
        ["XLA202"],
    ),
    "a mask of what is not known": (
        """
        class L(nn.Module):
            def forward(self, targets):
                labels = targets.get_field("labels").to(dtype=torch.int64)
                ignored = targets.get_field("matched") == -1
                labels[ignored] = 0
                return labels
        """,
        ["XLA205"],
    ),
    "an inverted one": (
        "class L(nn.Module):\n    def forward(self, x, out: torch.Tensor):\n        out[~x.get('seen')] = 0\n        return out\n",
        ["XLA205"],
    ),
    "what is not known, copied to the host": (
        "class L(nn.Module):\n    def forward(self, x):\n        return x.boxes.to(torch.device('cpu'))\n",
        ["XLA302"],
    ),
    "one moved to a GPU": (
        "def f(x: torch.Tensor):\n    return torch.zeros(8).cuda().nonzero()\n",
        ["XLA202", "XLA513"],
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(loud: Loud, code: str) -> None:
    assert loud(HEAD + dedent(code), "torch_xla") == []


@pytest.mark.parametrize(("code", "expected"), FOUND.values(), ids=FOUND)
def test_found(loud: Loud, code: str, expected: list[str]) -> None:
    assert sorted(loud(HEAD + dedent(code), "torch_xla")) == expected
