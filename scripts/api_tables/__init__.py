"""Derive API tables from the frameworks themselves; `scripts/generate_apis.py` runs one framework per process."""
