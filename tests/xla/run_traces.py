"""Child process for one backend, the argument: traces the pairs that `traces/` holds, and proves one of PyTorch's that is equal. Writes
{"equal": {ident: bool}, "proof": [kind, what is equal, kinds of draws]} to stdout.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.xla.sabotage import Sabotage, sabotages, subjects
from xlalint.verify import proving
from xlalint.verify.backends import Backend, backend_of
from xlalint.verify.inputs import fill_sizes
from xlalint.verify.inputs.marks import marks
from xlalint.verify.requests import Job, Way

HERE = Path(__file__).parent / "traces"
_BUFFERS = """import torch


# xlalint: inputs(x="f32[4]")
class f(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.ones(4))
        self.register_buffer("b", torch.ones(4))

    def forward(self, x):
        return x * self.{name}
"""


def main() -> None:
    backend = backend_of(sys.argv[1])
    framework = sys.argv[1].partition("_")[0]
    pairs = sabotages(framework, HERE)
    if framework == "torch":
        one, other = (_BUFFERS.format(name=name) for name in "ab")
        pairs += [Sabotage(framework, "differs: buffers", one, other), Sabotage(framework, "equal: buffers", one, one)]
    with tempfile.TemporaryDirectory() as folder:
        equal = {one.ident: _is_equal(backend, one, number, Path(folder)) for number, one in enumerate(pairs)}
        proof = _prove(backend, pairs[-1], Path(folder)) if framework == "torch" else []
    print(json.dumps({"equal": equal, "proof": proof}))


def _is_equal(backend: Backend, one: Sabotage, number: int, folder: Path) -> bool:
    (mark,) = marks(one.before, one.ident)
    return bool(proving.equal_by_trace(backend, subjects(number, one, folder), fill_sizes(mark.specs)))


def _prove(backend: Backend, one: Sabotage, folder: Path) -> list[object]:
    (mark,) = marks(one.before, one.ident)
    rows = (1, one.before.count("\n"))
    job = Job(0, (Way((subjects(999, one, folder),), (fill_sizes(mark.specs),), rows, rows),))
    verdict = proving.JobProver(backend).prove(job).verdict
    assert verdict.coverage is not None, verdict
    return [verdict.kind, verdict.coverage.equal, sorted(verdict.coverage.draws)]


main()
