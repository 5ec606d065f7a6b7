"""For which release of PyTorch code is judged: what the settings say, what the project's requirements admit."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.config import ConfigError, load_settings
from xlalint.config.releases import release_of

NEWEST = (2, 14)
OPEN = {
    "nothing is said": (),
    "from below alone": ("torch>=2.0",),
    "another package": ("torchvision==0.20.1", "torch-xla==2.9.0"),
    "what is not to be": ("torch!=2.9.1",),
    "later than what is known": ("torch==3.0",),
}
BOUND = {
    "a version": (("torch==2.9.1",), (2, 9)),
    "a build": (("torch==2.6.0+cpu",), (2, 6)),
    "below": (("torch>=2.1,<2.11",), (2, 10)),
    "alike": (("torch~=2.6.0",), (2, 6)),
    "up to": (("torch<=2.8",), (2, 8)),
    "of several places": (("torch<2.12", "torch==2.7.1"), (2, 7)),
}


@pytest.mark.parametrize("requirements", OPEN.values(), ids=list(OPEN))
def test_newest_release_where_nothing_bounds_it(requirements: tuple[str, ...]) -> None:
    assert release_of(None, requirements) == NEWEST


@pytest.mark.parametrize(("requirements", "release"), BOUND.values(), ids=list(BOUND))
def test_requirements_bound_it(requirements: tuple[str, ...], release: tuple[int, ...]) -> None:
    assert release_of(None, requirements) == release


def test_settings_come_first(tmp_path: Path) -> None:
    (tmp_path / "xlalint.toml").write_text('target-version = "torch2.10"\n')
    (tmp_path / "requirements.txt").write_text("torch==2.7.0\n")
    settings = load_settings([tmp_path])
    assert release_of(settings.target_version, settings.requirements) == (2, 10)


def test_unknown_release_is_refused(tmp_path: Path) -> None:
    (tmp_path / "xlalint.toml").write_text('target-version = "2.10"\n')
    with pytest.raises(ConfigError, match="target-version"):
        load_settings([tmp_path])
