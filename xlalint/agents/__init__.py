"""Serve agents that write code, by the Model Context Protocol."""
