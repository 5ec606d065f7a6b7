"""Rewriters for what ends the graph that `torch.compile` records."""
