"""What is found of configuration in programs for an XLA device, and in those that may run on a GPU."""

from __future__ import annotations

from textwrap import indent

from tests.conftest import Findings
from tests.frameworks.selecting import keep_rules
from xlalint.config import Settings
from xlalint.project import check_text


def find_configuration(findings: Findings, code: str) -> list[tuple[str, str]]:
    """Find what a program for torch_xla configures amiss."""
    return keep_rules(findings(code, "torch_xla"), "XLA5")


def find_in_function(findings: Findings, start: str, code: str) -> list[tuple[str, str]]:
    """Find what a program configures amiss where all behind its start stands in a function."""
    return find_configuration(findings, f"{start}def main():\n{indent(code, '    ')}\n")


def find_where_a_gpu_may_be(start: str, code: str) -> list[str]:
    """Find the codes of configuration in a program that goes on without torch_xla."""
    guarded = start.replace("import torch_xla\n", "try:\n    import torch_xla\nexcept ImportError:\n    pass\n")
    report = check_text(f"{guarded}{code}\n", "example.py", Settings(show_info=True, select=("XLA5",)))
    return [found.code for found in report.findings]
