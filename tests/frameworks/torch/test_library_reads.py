"""What PyTorch's own code reads of tensors, and indices of which nothing is known: found, and the larger half left alone."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.conftest import Loud
from xlalint.config import Settings
from xlalint.project import check_text

HEAD = """
import torch
import torch.nn.functional as F
import torch_xla.core.xla_model as xm
from torch import Tensor, nn
"""

SILENT = {
    "a cubic of numbers": """
        def f(x: Tensor):
            return x * torch.optim.lbfgs._cubic_interpolate(0.0, 1.0, -1.0, 1.0, 0.9, 0.5)
        """,
    "forms without a check": """
        def f(a: Tensor):
            return torch.linalg.inv_ex(a)[0] + torch.linalg.pinv(a) + torch.linalg.svdvals(a).sum() + torch.cholesky(a)
        """,
    "eigenvalues of a symmetric matrix, determinants by logarithm": """
        def f(a: Tensor):
            return torch.linalg.eigvalsh(a) + torch.linalg.slogdet(a)[1] + torch.linalg.matrix_power(a, 3)
        """,
    "an encoder whose layers take the batch second": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 2)
            def forward(self, x: Tensor, padding: Tensor):
                return self.encoder(x, src_key_padding_mask=padding)
        """,
    "an encoder that does not pack": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
                self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            def forward(self, x: Tensor, padding: Tensor):
                return self.encoder(x, src_key_padding_mask=padding)
        """,
    "an encoder that packs, without padding": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, batch_first=True), 2)
            def forward(self, x: Tensor):
                return self.encoder(x)
        """,
    "a decoder that is told of its mask": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2), 2)
            def forward(self, x: Tensor, memory: Tensor, mask: Tensor):
                return self.decoder(x, memory, tgt_mask=mask, tgt_is_causal=True)
        """,
    "a plain Adam, a clipped norm": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(8, 8)
            def training_step(self, x: Tensor):
                return self.net(x)
        def step(model: nn.Module, optimizer: torch.optim.Adam, x: Tensor):
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            return x
        """,
    "rows looked up by an index of unknown kind": """
        def f(table: Tensor, index: Tensor):
            return table[index] * 2.0
        """,
    "one row each, by an index of unknown kind": """
        def f(x: Tensor, index: Tensor):
            return x[torch.arange(x.shape[0]), index] + x[:, index]
        """,
    "a sum over one axis of what is looked up": """
        def f(table: Tensor, index: Tensor):
            return table[index].sum(-1) + table[index].mean(dim=1)
        """,
    "a number made an index": """
        def f(x: Tensor, n: Tensor):
            x = x.clone()
            x[n[None]] = 2.5
            return x
        """,
    "positions that were computed": """
        def f(x: Tensor, index: Tensor):
            x = x.clone()
            x[index % 4] = 0.0
            return x
        """,
    "numbers where numbers are wanted": """
        def f(x: Tensor, y: Tensor, rate: float, k: int):
            x.add_(y, alpha=-rate).fill_(rate)
            return F.dropout(x, 0.1) + x.tril(k) + torch.linspace(0.0, rate, k) + F.pad(x, (0, 1), value=rate)
        """,
    "what may be a number is one": """
        class Decay(torch.optim.Optimizer):
            def step(self):
                for group in self.param_groups:
                    for p in group["params"]:
                        p.add_(p.grad, alpha=-group["lr"])
        """,
    "tensors where both are taken": """
        def f(x: Tensor, mask: Tensor, s: Tensor):
            return x.masked_fill(mask, s).clamp(max=s) + torch.lerp(x, x, s) + x ** s + x.index_fill(0, s, s)
        """,
    "copies that stay on the device": """
        import copy
        def f(x: Tensor):
            return copy.deepcopy(x) + x.clone()
        """,
    "a distribution inside another, unchecked": """
        from torch.distributions import Independent, Normal
        def f(x: Tensor):
            return Independent(Normal(x, 1.0, validate_args=False), 1).log_prob(x)
        """,
    "an order by keys that are numbers": """
        def f(x: Tensor):
            return max([x, x + 1], key=lambda t: t.dim())
        """,
    "a closure that reads nothing": """
        def f(x: Tensor):
            xm.add_step_closure(lambda loss: loss.shape, args=(x.sum(),))
            return x
        """,
    "a step closure that another thread runs": """
        def f(x: Tensor):
            xm.add_step_closure(lambda loss: print(loss.item()), args=(x.sum(),), run_async=True)
            return x
        """,
    "a hook that keeps a tensor": """
        kept = {}
        net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        net[0].register_forward_hook(lambda module, inputs, output: kept.update(a=output.detach()))
        """,
}

FOUND = {
    "the line searches of L-BFGS, by those who fork it": (
        """
        from torch.optim.lbfgs import _cubic_interpolate, _strong_wolfe
        def f(search, x: Tensor, d: Tensor, loss: float):
            slope = x.dot(d)
            step = _cubic_interpolate(0.0, loss, slope, 1.0, loss, slope)
            return step if step > 1 else _strong_wolfe(search, x, 1.0, d, loss, x, slope)
        """,
        ["XLA305", "XLA105", "XLA305"],
    ),
    "checked linear algebra": (
        """
        def f(a: Tensor, b: Tensor):
            factor = torch.linalg.cholesky(a)
            return torch.linalg.solve(a, b), torch.linalg.lu_factor(a), torch.linalg.tensorinv(factor, ind=1)
        """,
        ["XLA305"] * 4,
    ),
    "weights that are compared": ("def f(x: Tensor):\n    return x.cov() + torch.corrcoef(x)", ["XLA305"] * 2),
    "what runs on the CPU although its size is named": (
        """
        def f(x: Tensor, i: Tensor, mask: Tensor):
            counts = torch.bincount(i, minlength=16)
            return counts, x.repeat_interleave(i, dim=0, output_size=8), torch.nonzero_static(mask, size=8)
        """,
        ["XLA207", "XLA207", "XLA202"],
    ),
    "an encoder that packs padded input": (
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, batch_first=True), 2)
            def forward(self, x: Tensor, padding: Tensor):
                return self.encoder(x, src_key_padding_mask=padding)
        """,
        ["XLA305"],
    ),
    "a decoder with a mask": (
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2), 2)
            def forward(self, x: Tensor, memory: Tensor, mask: Tensor):
                return self.decoder(x, memory, mask)
        """,
        ["XLA305"],
    ),
    "an optimizer that reads, whatever it is given": (
        """
        net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        optimizer = torch.optim.Adafactor(net.parameters())
        scaler = torch.cuda.amp.GradScaler()
        def step(x: Tensor):
            scaler.step(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)
            optimizer.step()
            return x
        """,
        ["XLA305"] * 3,
    ),
    "weights saved at each step": (
        """
        class Net(nn.Module):
            def forward(self, x: Tensor):
                torch.save(self.state_dict(), "weights.pt")
                return x
        """,
        ["XLA302"],
    ),
    "what an optimizer keeps for its parameters, not the tables that hold it": (
        """
        net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        optimizer = torch.optim.Adam(net.parameters())
        def step(x: Tensor):
            kept = {k: v.cpu() if isinstance(v, Tensor) else v for k, v in optimizer.state_dict().items()}
            for state in optimizer.state_dict()["state"].values():
                for k, v in state.items():
                    if isinstance(v, Tensor):
                        state[k] = v.cpu()
            return net(x)
        """,
        ["XLA302"],
    ),
    "a step closure": (
        """
        def f(x: Tensor):
            xm.add_step_closure(lambda loss: print(loss.item()), args=(x.sum(),))
            return x
        """,
        ["XLA301"],
    ),
    "a hook": (
        """
        kept = {}
        net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        net[0].register_forward_hook(lambda module, inputs, output: kept.update(a=output.mean().item()))
        """,
        ["XLA301"],
    ),
    "a selection that is summed": ("def f(x: Tensor, m: Tensor):\n    return x[m].sum() + x[m].mean()", ["XLA201"] * 2),
    "tensors where numbers are wanted": (
        """
        def f(x: Tensor, y: Tensor):
            s = x.mean()
            torch.linspace(0.0, s, 5)
            x.fill_(s)
            y = torch.add(x, y, alpha=s)
            return F.leaky_relu(y, s), y.tril(y.argmax()), y.unsqueeze(y.argmax())
        """,
        ["XLA301"] * 4 + ["XLA206"] * 2,
    ),
    "copies through the host": (
        """
        import copy
        import pickle
        def f(x: Tensor):
            return copy.copy(x), pickle.dumps(x), x.to(torch.device("cpu"))
        """,
        ["XLA302"] * 3,
    ),
    "an order by keys that are tensors": (
        "def f(x: Tensor):\n    return max([x, x + 1], key=lambda t: t.sum())",
        ["XLA106"],
    ),
    "a list of tensors made one": ("def f(s: Tensor):\n    return torch.as_tensor([s.sum(), s.mean()])", ["XLA301"]),
    "a number read for a 0-d tensor": ("def f(x: Tensor):\n    return torch.scalar_tensor(x.sum())", ["XLA301"]),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_what_reads_nothing_stays_silent(code: str, loud: Loud) -> None:
    assert loud(HEAD + dedent(code), "torch_xla") == []


@pytest.mark.parametrize(("code", "rules"), FOUND.values(), ids=FOUND)
def test_what_the_library_reads_is_found(code: str, rules: list[str], loud: Loud) -> None:
    assert loud(HEAD + dedent(code), "torch_xla") == rules


def test_a_fill_value_on_the_device(loud: Loud) -> None:
    code = HEAD + "def f(x: Tensor, y: Tensor):\n    return torch.empty_like(x).fill_(y[0, 0])"
    assert loud(code, "torch_xla") == ["XLA301"]
    assert loud(code, "torch_tpu") == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [("x[m] * 2.0", ["possible"]), ("x[m].sum()", ["likely"]), ("x[m > 0] * 2.0", ["certain"]), ("x[m[None]]", [])],
)
def test_how_sure_an_index_is_a_mask(code: str, expected: list[str]) -> None:
    program = f"{HEAD}\nclass M(nn.Module):\n    def forward(self, x: Tensor, m: Tensor):\n        return {code}\n"
    settings = Settings(target="torch_xla", min_confidence="possible")
    assert [f.confidence for f in check_text(program, "m.py", settings).findings if f.code == "XLA201"] == expected


@pytest.mark.parametrize(
    ("code", "target", "rules"),
    [
        ("print('shape', x.shape)", "torch_compile", ["XLA303"]),
        ("warnings.warn('odd', stacklevel=1)", "torch_compile", ["XLA303"]),
        ("print('shape', x.shape)", "torch_xla", []),
        ("warnings.warn('odd', stacklevel=1)", "torch_xla", []),
        ("torch.linalg.cholesky(x)", "torch_compile", []),
        ("torch.nonzero_static(x, size=3)", "torch_compile", []),
        ("torch.save(x, 'x.pt')", "torch_compile", ["XLA302"]),
    ],
)
def test_what_ends_the_graph_of_torch_compile(code: str, target: str, rules: list[str], loud: Loud) -> None:
    assert loud(f"import warnings\n{HEAD}\ndef f(x: Tensor):\n    {code}\n    return x + 1\n", target) == rules


EAGER = """
import jax
import jax.numpy as jnp
def f(x: jax.Array):
    return {}
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x[x > 0]", [("XLA201", "warning")]),
        ("jnp.unique(x)", [("XLA203", "warning")]),
        ("x.at[x > 0].set(0)", []),
        ("float(x.sum()) if x.sum() > 0 else 0.0", []),
        ("jnp.where(x > 0, x, 0)", []),
    ],
)
def test_sizes_of_jax_code_that_nothing_traces(code: str, expected: list[tuple[str, str]]) -> None:
    report = check_text(EAGER.format(code), "m.py", Settings(target="jax", show_info=True))
    assert [(f.code, f.severity) for f in report.findings] == expected


@pytest.mark.parametrize(
    ("first", "second", "rules"),
    [
        ("a", "a.astype(jnp.int32)", ["XLA108"]),
        ("a", "a * 2", []),
        ("a.astype(jnp.float32)", "a.astype(jnp.float32)", []),
        ("a", "b.astype(jnp.int32)", []),
    ],
)
def test_branches_of_which_one_casts(first: str, second: str, rules: list[str], loud: Loud) -> None:
    call = f"jax.lax.cond(x.sum() > 0, lambda a, b: {first}, lambda a, b: {second}, x, y)"
    code = f"import jax\nimport jax.numpy as jnp\n@jax.jit\ndef f(x, y):\n    return {call}\n"
    assert loud(code, "jax") == rules
