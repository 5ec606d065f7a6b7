#!/usr/bin/env bash
# Install a wheel by itself into a fresh environment, and see that it finds, fixes and explains.
set -euo pipefail

wheel=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"
cd "$folder" # not where the sources lie
mkdir src
cat > src/model.py <<'PYTHON'
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            x = x + 1
        return x
PYTHON
xlalint() { "$folder/venv/bin/xlalint" "$@"; }
xlalint doctor src
code=0
xlalint check --output-format concise src || code=$?
test "$code" = 1
xlalint explain src/model.py:7 > explained
grep -q XLA101 explained
xlalint rule XLA101 > page
grep -q tensor-if page
xlalint check --fix --unsafe-fixes src
grep -q torch.where src/model.py
if [ -n "${2:-}" ]; then # "compiled": the modules must be
  "$folder/venv/bin/python" -c 'import xlalint.interpreter.frame as m; assert m.__file__.endswith(".so"), m.__file__'
fi
