"""What a program sets for its whole process is as it was when the next one runs."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from xlalint.verify.ambient import keep_settings, read_settings


@pytest.fixture
def framework(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A framework with a default dtype and a mode."""
    state = SimpleNamespace(dtype="float32", gradients=True)
    torch = ModuleType("torch")
    for name, key in (("default_dtype", "dtype"), ("grad_enabled", "gradients")):
        reader = "get_default_dtype" if key == "dtype" else "is_grad_enabled"
        setattr(torch, reader, lambda key=key: getattr(state, key))
        setattr(torch, f"set_{name}", lambda value, key=key: setattr(state, key, value))
    torch.backends = SimpleNamespace(cudnn=SimpleNamespace(enabled=True, benchmark=False, deterministic=False))  # type: ignore[attr-defined]
    state.cudnn = torch.backends.cudnn
    monkeypatch.setitem(sys.modules, "torch", torch)
    for name in ("keras", "jax"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return state


def test_settings_are_restored(framework: SimpleNamespace) -> None:
    with keep_settings():
        framework.dtype, framework.gradients = "float64", False
    assert (framework.dtype, framework.gradients) == ("float32", True)


def test_settings_that_are_attributes_are_told_and_restored(framework: SimpleNamespace) -> None:
    with keep_settings():
        framework.cudnn.deterministic = True
        assert read_settings()["torch.backends.cudnn.deterministic"] == "True"
    assert framework.cudnn.deterministic is False


def test_settings_are_told(framework: SimpleNamespace) -> None:
    before = read_settings()
    framework.gradients = False
    names = ("torch.set_default_dtype", "torch.set_grad_enabled")
    assert [before[name] for name in names] == ["float32", "True"]
    assert [read_settings()[name] for name in names] == ["float32", "False"]


def test_settings_are_restored_after_an_error(framework: SimpleNamespace) -> None:
    with pytest.raises(ValueError, match="no"), keep_settings():
        framework.dtype = "float64"
        raise ValueError("no")
    assert framework.dtype == "float32"


def test_what_was_set_before_stays(framework: SimpleNamespace) -> None:
    framework.dtype = "bfloat16"
    with keep_settings():
        framework.dtype = "float64"
    assert framework.dtype == "bfloat16"


def test_no_framework_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "keras", "jax"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with keep_settings():
        pass
