"""Regenerate rules/apis/*_generated.toml from the frameworks that are installed.

    python scripts/generate_apis.py [torch] [torch_fallbacks] [torch_tpu] [tensorflow] [tensorflow_kernels] [jax]

Run it in an environment with torch, torch_xla, torchvision, tensorflow-cpu and jax; torch_tpu asks for a newer torch, and so for an
environment of its own (torch, numpy, torch_tpu, libtpu; no TPU is needed). Each is looked at in a process of its own, since tensorflow and
torch_xla cannot be imported in any order. The same versions give the same files.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
TABLES = SCRIPTS.parent / "rules" / "apis"
FRAMEWORKS = ("torch", "torch_fallbacks", "torch_tpu", "tensorflow", "tensorflow_kernels", "jax")

WRITE = """
import pathlib, sys
from api_tables.from_{framework} import generate
pathlib.Path(sys.argv[1]).write_text(generate(), encoding="utf-8")
"""


def main(arguments: list[str]) -> int:
    """Write the table of each framework named (all, when none is)."""
    failed = 0
    for framework in arguments or FRAMEWORKS:
        code = WRITE.format(framework=framework)
        path = TABLES / f"{framework}_generated.toml"
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, str(path)], cwd=SCRIPTS, check=False)
        failed |= done.returncode
        print(f"{path.name}: {'written' if not done.returncode else 'failed'}")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
