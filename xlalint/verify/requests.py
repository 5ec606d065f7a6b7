"""What a child process is asked, and what it answers: one request in, messages out, each as msgpack."""

from __future__ import annotations

from typing import Literal, Union

from msgspec import Struct

from xlalint.verify.model import Event, Specs, Step, Subject, Verdict

Stage = Literal["start", "load", "run"]


class Observe(Struct, frozen=True, tag="observe"):
    """Run a subject once per entry of `steps`, the sizes of named dimensions in that step; `programs` as in `backends.Options`.

    Where it takes longer than `patience` seconds, the child writes to standard error which lines it is on.
    """

    backend: str
    subject: Subject
    specs: Specs
    steps: tuple[dict[str, int], ...]
    programs: str = ""
    patience: float = 0.0


class Compare(Struct, frozen=True, tag="compare"):
    """Run two subjects on the same draws and compare what they computed, exactly or within what the dtypes hold.

    `unlike` names edges ("nan", "empty") and respects ("gradients", "state") in which they may differ.
    """

    backend: str
    before: Subject
    after: Subject
    specs: Specs
    exact: bool = False
    unlike: tuple[str, ...] = ()
    patience: float = 0.0


Request = Union[Observe, Compare]


class Loaded(Struct, frozen=True, tag="loaded"):
    """The backend has started; with `subject`, the subjects are loaded too."""

    subject: bool = False


class Stepped(Struct, frozen=True, tag="step"):
    """A step was done; of a comparison, one of the subject `of`."""

    step: Step
    of: Literal["before", "after"] = "before"


class Failed(Struct, frozen=True, tag="failed"):
    """Nothing more comes: the backend did not start, the subject could not be loaded, or it raised something when it was run."""

    stage: Stage
    event: Event


class Done(Struct, frozen=True, tag="done"):
    """All was done; `verdict` is a comparison's, `programs` the files that were written."""

    verdict: Union[Verdict, None] = None
    programs: tuple[str, ...] = ()


Message = Union[Loaded, Stepped, Failed, Done]
