"""Findings that a project lives with for now: told apart by what they are, not by where they stand."""
