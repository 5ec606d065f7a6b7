"""Decorators of the program: wrappers whose body runs at every call, and those that give back what they got."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

HEAD = """
import functools
import torch
from torch import Tensor, nn
"""

SILENT = {
    "a decorator that gives back its function": """
        def documented(text):
            def decorate(fn):
                fn.__doc__ = text
                return fn
            return decorate
        class M(nn.Module):
            @documented("adds one to all that it gets")
            def forward(self, x: Tensor):
                return x + 1
        """,
    "a decorator that says a lot about what it gives back": """
        def documented(*texts, kind=None, names=("a", "b")):
            def decorate(fn):
                fn.__doc__ = "".join(texts) + (fn.__doc__ or "")
                for index, name in enumerate(names):
                    fn.__doc__ = fn.__doc__.replace(name, str(index))
                if kind == "audio" and not fn.__doc__:
                    raise ValueError(f"no text for {fn.__qualname__}")
                return fn
            return decorate
        class M(nn.Module):
            @documented("adds one", kind="audio")
            def forward(self, x: Tensor):
                return x + 1
        """,
    "a wrapper that asks what the host knows": """
        def batched(fn):
            @functools.wraps(fn)
            def wrapper(self, x, **kwargs):
                if x is None or x.dim() == 2 or not self.training:
                    return fn(self, x, **kwargs)
                return fn(self, x[None], **kwargs)[0]
            return wrapper
        class M(nn.Module):
            @batched
            def forward(self, x: Tensor):
                return x + 1 if x.shape[0] > 1 else x
        """,
    "a wrapper that hands settings on": """
        def configured(fn):
            @functools.wraps(fn)
            def wrapper(self, *args, **kwargs):
                kwargs["scale"] = self.config.scale
                for name in ("width", "height"):
                    kwargs[name] = getattr(self.config, name)
                return fn(self, *args, **kwargs)
            return wrapper
        class M(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.config = config
            @configured
            def forward(self, x: Tensor, scale=None, width=1, flag=False):
                if flag or scale:
                    x = x * 2
                return x[:width]
        """,
    "what keywords of other names hold is not taken for a parameter": """
        def merged(fn):
            @functools.wraps(fn)
            def wrapper(self, *args, **kwargs):
                for name in self.names:
                    kwargs[name] = getattr(self, name)
                return fn(self, *args, **kwargs)
            return wrapper
        class Inner(nn.Module):
            @merged
            def forward(self, x: Tensor, mask: Tensor, flag=None):
                return x * mask if flag else x
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
            def forward(self, x: Tensor):
                return self.inner(x, mask=x > 0, flag=True)
        """,
    "a wrapper that converts results where asked to": """
        class Out:
            def __init__(self, values, count):
                self.values, self.count = values, count
            def to_tuple(self):
                return self.values, self.count
        def tupled(fn):
            @functools.wraps(fn)
            def wrapper(self, *args, **kwargs):
                out = fn(self, *args, **kwargs)
                return out if kwargs.pop("return_dict", True) else out.to_tuple()
            return wrapper
        class Inner(nn.Module):
            @tupled
            def forward(self, x: Tensor):
                return Out(x, x.shape[0])
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
            def forward(self, x: Tensor):
                out = self.inner(x)
                return out.values[: out.count] if out.count > 2 else out.values
        """,
    "a wrapper that counts calls": """
        calls = 0
        def counted(fn):
            def wrapper(*args, **kwargs):
                global calls
                calls += 1
                if calls > 100:
                    raise RuntimeError("too many calls")
                return fn(*args, **kwargs)
            return wrapper
        class M(nn.Module):
            @counted
            def forward(self, x: Tensor):
                return x + 1
        """,
    "a property and a static method keep their sense": """
        class M(nn.Module):
            @property
            @functools.lru_cache(maxsize=None)
            def width(self):
                return 3
            @staticmethod
            def half(n: int):
                return n // 2
            def forward(self, x: Tensor):
                return x[: self.half(self.width)] if self.width > 2 else x
        """,
    "a decorator of a decorator that gives back what it got": """
        def optional(decorator):
            return decorator
        @optional
        def same(fn):
            return fn
        class M(nn.Module):
            @same
            def forward(self, x: Tensor):
                return x
        """,
}

CHECKED = """
def checked(fn):
    @functools.wraps(fn)
    def wrapper(self, x, *args, **kwargs):
        if torch.isnan(x).any():
            x = torch.zeros_like(x)
        return fn(self, x, *args, **kwargs)
    return wrapper
"""

FOUND = {
    "a wrapper that asks for a value": (
        CHECKED
        + dedent("""
        class M(nn.Module):
            @checked
            def forward(self, x: Tensor):
                return x + 1
        """),
        ["XLA101"],
    ),
    "both the wrapper and what it wraps": (
        CHECKED
        + dedent("""
        class M(nn.Module):
            @torch.no_grad()
            @checked
            def forward(self, x: Tensor):
                return x[x > 0]
        """),
        ["XLA101", "XLA201"],
    ),
    "a wrapper that asks for the result's value": (
        """
        def finite(fn):
            @functools.wraps(fn)
            def wrapper(*args, **kwargs):
                out = fn(*args, **kwargs)
                while not torch.isfinite(out).all():
                    out = out / 2
                return out
            return wrapper
        class M(nn.Module):
            @finite
            def forward(self, x: Tensor):
                return x + 1
        """,
        ["XLA102"],
    ),
    "a wrapper that adds an argument": (
        """
        def with_lengths(dim):
            def decorate(fn):
                @functools.wraps(fn)
                def wrapper(self, x, **kwargs):
                    return fn(self, x, x.ne(0).sum(dim), **kwargs)
                return wrapper
            return decorate
        class Inner(nn.Module):
            @with_lengths(dim=1)
            def forward(self, x, lengths):
                return x if lengths.max() > 3 else x + 1
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
            def forward(self, x: Tensor):
                return self.inner(x)
        """,
        ["XLA105"],
    ),
    "what goes through a wrapper that hands all on": (
        """
        def logged(fn):
            def wrapper(*args, **kwargs):
                return fn(*args, **kwargs)
            return wrapper
        @logged
        def largest(x, k=1):
            return x.max() * k
        class M(nn.Module):
            def forward(self, x: Tensor):
                return x if largest(x, k=2) > 0 else -x
        """,
        ["XLA105"],
    ),
    "a decorator that gives back its argument, which has become a wrapper": (
        CHECKED
        + dedent("""
        def also_checked(fn):
            fn = checked(fn)
            return fn
        class M(nn.Module):
            @also_checked
            def forward(self, x: Tensor):
                return x + 1
        """),
        ["XLA101"],
    ),
    "a decorator that gives back its argument in most cases": (
        CHECKED
        + dedent("""
        def checked_if(debug):
            def decorate(fn):
                if not debug:
                    return fn
                return checked(fn)
            return decorate
        class M(nn.Module):
            @checked_if(debug=True)
            def forward(self, x: Tensor):
                return x + 1
        """),
        ["XLA101"],
    ),
    "a decorator whose argument stands for a wrapper after a loop": (
        CHECKED
        + dedent("""
        def through_all(fn):
            for fn in [checked(fn)]:
                pass
            return fn
        class M(nn.Module):
            @through_all
            def forward(self, x: Tensor):
                return x + 1
        """),
        ["XLA101"],
    ),
    "a decorator of a nested function": (
        CHECKED
        + dedent("""
        class M(nn.Module):
            def forward(self, x: Tensor):
                @checked
                def inner(scale, y):
                    return y * scale
                return inner(2, x)
        """),
        ["XLA101"],
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(loud: Callable[[str, str], list[str]], code: str) -> None:
    assert loud(HEAD + dedent(code), "torch_xla") == []


@pytest.mark.parametrize(("code", "expected"), FOUND.values(), ids=FOUND)
def test_found(loud: Callable[[str, str], list[str]], code: str, expected: list[str]) -> None:
    assert sorted(loud(HEAD + dedent(code), "torch_xla")) == expected
