"""Values that may be one of several things: what is done with them tells which they are."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

HEAD = "from typing import Any\nimport numpy as np\nimport torch\nfrom torch import nn\n\n"

CONVERTER = """
    def converted(value: Any, kind=None):
        given = torch.Tensor if isinstance(value, torch.Tensor) else np.ndarray
        kind = kind or given
        if issubclass(kind, torch.Tensor):
            return torch.as_tensor(value)
        return np.zeros(len(value))
    """

SILENT = {
    "a tuple is taken apart to as many names as it has elements": """
        def run(x: torch.Tensor, kept: list, chains: int):
            pair = (x.sum(), x)
            if len(kept) == 3:
                loss, rows, chain = pair
                assert chain < chains
            return kept
        """,
    "as many, a star aside": """
        def run(x: torch.Tensor, kept: list, chains: int):
            first, second, third, *rest = (x.sum(), x)
            return rest if second and third else x
        """,
    "the class that was asked for is the one that is made": """
        def within(x: torch.Tensor, bounds: list[int] | torch.Tensor):
            limits = converted(bounds, np.ndarray)
            if (limits < 0).any():
                raise ValueError(bounds)
            return x * np.asarray(limits.tolist()).max()
        """,
    "a class is true": """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, scale: float = 1.0):
                kind = float or torch.Tensor
                bound = x.sum() if issubclass(kind, torch.Tensor) else scale
                if bound > 1.0:
                    return -x
                return x
        """,
    "lists are no numbers": """
        def listed(values: list[torch.Tensor] | tuple[torch.Tensor, ...] | np.ndarray):
            if isinstance(values, (float, int, bool)):
                return np.asarray(values)
            return values
        """,
    "an array, or a list of tensors, that goes to NumPy": """
        def places(given: torch.Tensor, flat: bool):
            found = np.zeros(4) if flat else [given, given]
            return np.argwhere(found)
        """,
    "a list is not indexed by several places": """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, pairs: bool):
                matched = (x, x) if pairs else x.argsort()
                order = torch.arange(4, device=x.device)
                return x[matched[order]]
        """,
    "what may be a list is indexed like a tensor, by who knows how many places": """
        def halved(x: torch.Tensor, apart: bool):
            return [x, x] if apart else x / 2

        class Model(nn.Module):
            def forward(self, x: torch.Tensor, mask: torch.Tensor, apart: bool):
                last = torch.cumsum(mask.sum(dim=1), dim=0) - 1
                return halved(x, apart)[last]
        """,
    "what stands under a name is in no tensor": """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, targets: list[torch.Tensor]):
                for target in targets:
                    if target["crowded"]:
                        x = x[:, : target["width"]]
                return x
        """,
    "what is looked up where a list is expected": """
        def undone(data: dict[str, torch.Tensor], key):
            steps = data.get(key, [])
            if not steps:
                raise ValueError(key)
            return steps[-1]
        """,
    "a flag that is passed from settings of any kind": """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, steps: dict[str, Any]):
                align = steps["align"] if steps else x
                return self.resized(x, align)

            def resized(self, x: torch.Tensor, align: bool = False):
                if align:
                    return x + 1
                return x
        """,
}

FOUND = {
    "a tuple that has as many elements": (
        """
        def run(x: torch.Tensor, kept: list, chains: int):
            loss, rows, chain = (x, x, x.sum()) if chains else None
            if chain > 3:
                return x
            return -x
        """,
        "XLA101",
    ),
    "the class that was asked for is a tensor": (
        """
        def within(x: torch.Tensor):
            limits = converted(x, torch.Tensor)
            if (limits < 0).any():
                return -x
            return x
        """,
        "XLA101",
    ),
    "a list of tensors that goes to NumPy": (
        """
        def places(given: torch.Tensor):
            return np.argwhere([given, given])
        """,
        "XLA302",
    ),
    "a list that is indexed by one place": (
        """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, parts: list[torch.Tensor]):
                return x + parts[x.argmax()]
        """,
        "XLA301",
    ),
    "what may be a list is indexed by one place": (
        """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, apart: bool):
                parts = [x, x] if apart else x / 2
                return parts[x.argmax()]
        """,
        "XLA208",
    ),
    "a flag that is a tensor or false": (
        """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, steps: int):
                done = False
                for _ in range(steps):
                    x = self.turned(x, done)
                    done = x.max() == 0
                return x

            def turned(self, x: torch.Tensor, done: bool):
                if done:
                    return -x
                return x
        """,
        "XLA101",
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_nothing_is_read_of_what_it_cannot_be(loud: Callable[[str, str], list[str]], code: str) -> None:
    assert loud(HEAD + dedent(CONVERTER) + dedent(code), "torch_xla") == []


@pytest.mark.parametrize(("code", "rule"), FOUND.values(), ids=FOUND)
def test_what_it_is_all_the_same(loud: Callable[[str, str], list[str]], code: str, rule: str) -> None:
    assert rule in loud(HEAD + dedent(CONVERTER) + dedent(code), "torch_xla")
