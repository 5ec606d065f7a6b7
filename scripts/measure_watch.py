"""What `xlalint.watch` costs a step of torch_xla that reads nothing: time of the thread that runs it, so that other load does not count.

PJRT_DEVICE=CPU python scripts/measure_watch.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
import torch_xla
import torch_xla.core.xla_model as xm

import xlalint

STEPS = 400
FEW = 20  # steps between two switches


def training_step() -> Callable[[], None]:
    """A step that indexes, casts and uploads; what only grows with a program's age (the samples of a metric) has grown."""
    device = torch_xla.device()
    model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(8)]).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    rows = torch.arange(64, device=device)
    for _ in range(1100):
        torch.zeros((), device=device).item()

    def step() -> None:
        batch = torch.ones(64, 64).to(device)
        optimizer.zero_grad()
        y = model(batch)
        y = (y[:, :32] + y[:, 32:])[rows].to(torch.bfloat16)
        y.float().square().mean().backward()
        optimizer.step()
        torch_xla.sync()

    return step


def spent(step: Callable[[], None]) -> list[float]:
    """Microseconds of this thread for each of a few steps."""
    times = []
    for _ in range(FEW):
        xm.wait_device_ops()
        began = time.thread_time()
        step()
        times.append((time.thread_time() - began) * 1e6)
    return times


def main() -> None:
    step = training_step()
    spent(step)
    plain: list[float] = []
    watched: list[float] = []
    for _ in range(STEPS // FEW):
        plain += spent(step)
        with xlalint.watch():
            watched += spent(step)
    # The fastest tenth: what other processes cost the caches is in the rest.
    before, after = (statistics.quantiles(times, n=10)[0] for times in (plain, watched))
    print(f"plain {before:.0f} µs, watched {after:.0f} µs: {after - before:+.0f} µs a step")


if __name__ == "__main__":
    main()
