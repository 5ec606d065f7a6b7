"""Trains quietly for long; then a number in the graph changes now and then, and a mask selects."""

import torch
import torch_xla

device = torch_xla.device()
weights = torch.ones(4, 4, device=device)
x = torch.ones(8, 4, device=device)
scale = 1

for step in range(40):
    if step > 20 and step % 5 == 0:
        scale += 1
    y = x @ weights
    z = torch.full((8, 4), float(scale + 40), device=device)
    y = y * z
    if step % 10 == 9:
        y = y[y > 0]
    total = y.sum()
    torch_xla.sync()
