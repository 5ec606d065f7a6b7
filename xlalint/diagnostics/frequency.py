"""How often a hazard costs, in words, and what that makes of its severity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.analysis.hazard import Frequency
from xlalint.rules.variants import SAVED

if TYPE_CHECKING:
    from xlalint.analysis.hazard import Hazard
    from xlalint.diagnostics.finding import FrequencyName
    from xlalint.rules import Rule

NAMES: dict[Frequency, FrequencyName] = {
    Frequency.ONCE: "run",
    Frequency.EPOCH: "epoch",
    Frequency.NTH_STEP: "nth-step",
    Frequency.FEW_STEPS: "nth-step",
    Frequency.EVALUATION: "evaluation",
    Frequency.CALL: "call",
    Frequency.STEP: "step",
}
_WORDS = {
    Frequency.ONCE: "once a run",
    Frequency.EPOCH: "once an epoch",
    Frequency.NTH_STEP: "at every n-th step",
    Frequency.FEW_STEPS: "at every few steps",
    Frequency.EVALUATION: "at every step of an evaluation",
    Frequency.CALL: "at each call",
    Frequency.STEP: "at every step",
}
# Of two that have one name, the first says it.
WORDS: dict[FrequencyName, str] = {NAMES[frequency]: words for frequency, words in reversed(list(_WORDS.items()))}
_SELDOM = {"cheap-if-rare": Frequency.FEW_STEPS, "cheap-if-seldom": Frequency.NTH_STEP}


def describe_frequency(hazard: Hazard) -> str:
    """Say how often a hazard costs: at every step, where nothing says otherwise."""
    words = _WORDS[Frequency.STEP if hazard.frequency is None else hazard.frequency]
    repeated = f"{words}, many times over" if hazard.looped else words
    return f"{repeated}, {hazard.only}" if hazard.only else repeated


def is_occasional(hazard: Hazard, rule: Rule, target: str) -> bool:
    """Return whether a hazard costs so seldom, and no loop repeats it there, that it is cheap: once an epoch for all rules, else by what
    the rule says, where the API that is called knows no better. What raises an exception is none of that."""
    if hazard.frequency is None or hazard.looped or "raises-once" in rule.traits:
        return False
    if hazard.frequency <= Frequency.EPOCH:
        return True
    told = any(key.partition(":")[0] == target for key, _ in hazard.severity)
    seldom = any(hazard.frequency <= most for trait, most in _SELDOM.items() if trait in rule.traits)
    return not told and (seldom or (hazard.variant == SAVED and hazard.frequency is Frequency.CALL))
