"""Says how to correct a wrong answer: how to teach the analysis otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xlalint.explain.model import Belief, Question, Tracedness, Verdict
from xlalint.explain.scope import Scope


def hints(
    scope: Scope,
    traced: Tracedness,
    values: Sequence[Belief],
    verdicts: Iterable[Verdict],
    questions: Iterable[Question],
) -> Iterator[str]:
    """The ways that fit an answer, a sentence each."""
    fired = [verdict for verdict in verdicts if verdict.status == "fired"]
    if fired and traced.confidence == "likely":
        yield "if this never runs on the device, leave it out with `per-file-ignores`, or the line with `# xlalint: ignore`"
    if fired and any(belief.value.kind in ("tensor", "union") and not belief.value.sure for belief in values):
        yield "if that is not a tensor, say so: `# xlalint: static[NAME]` on the assignment or parameter, or an annotation"
    if not traced.traced and not traced.trace and scope.info is not None and not scope.info.name.startswith("__"):
        name = f"{scope.module.name}.{scope.info.ir.qualname}"
        yield f'if XLA traces this, say so in the configuration: `roots = ["{name}"]`'
    unknown = any(question.silence == "unknown-value" for question in questions)
    if unknown and not fired:
        yield "if that is a tensor, annotate it, or say so with `# xlalint: tensor[NAME]` on the assignment or parameter"
