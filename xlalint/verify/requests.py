"""Messages between parent and child process: one request in, messages out, each as msgpack."""

from __future__ import annotations

from typing import Literal, Union

from msgspec import Struct

from xlalint.verify.model import Event, Specs, Step, Subject, Verdict

Stage = Literal["start", "load", "run"]


class Observe(Struct, frozen=True, tag="observe"):
    """Run a subject once per entry of `steps`, the sizes of named dimensions in that step; `programs` as in `backends.Options`.

    `as_written`: what the subject does not compile itself is not compiled. Where it takes longer than `patience` seconds, the child writes
    to standard error which lines it is on. A program whose arguments, results and intermediate values take more than `ceiling` bytes is
    written to `programs`, and not run (0: all are run).
    """

    backend: str
    subject: Subject
    specs: Specs
    steps: tuple[dict[str, int], ...]
    programs: str = ""
    patience: float = 0.0
    as_written: bool = False
    ceiling: int = 0


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


class Search(Struct, frozen=True, tag="search"):
    """Look for a subject that can be made and inputs on which it runs: the first pair that does is told, in a `Found`."""

    backend: str
    subjects: tuple[Subject, ...]
    candidates: tuple[Specs, ...]
    patience: float = 0.0


class Way(Struct, frozen=True):
    """One way to verify a rewrite: subjects before and after that may be made in different ways, pairwise, and candidates for inputs.

    `lines` are the first and last line of what is rewritten in the text before, `after_lines` of what took its place (0, 0: nothing did).
    `note` says what is compared, where that is not the whole function; `source` is its text, where a counterexample must show it.
    `partial`: what is compared is used by more lines, to which a difference may be nothing. `assumed` names what others stand for: with
    these nothing is proven, though it may be refuted. `borrowed` are inputs of which nobody knows whether a caller sees their memory.
    """

    subjects: tuple[tuple[Subject, Subject], ...]
    candidates: tuple[Specs, ...]
    lines: tuple[int, int]
    after_lines: tuple[int, int]
    note: str = ""
    source: str = ""
    partial: bool = False
    assumed: str = ""
    borrowed: tuple[str, ...] = ()


class Job(Struct, frozen=True):
    """A rewrite to be verified: ways to do it, of which the first that can be gone decides; why others cannot be tried at all.

    `kind` is the hazard's that it takes away; `others` are the rows of those that it leaves in the function, and which count too.
    `gives_away`: it gives arguments to what it calls, of which it is known that nothing uses them afterwards.
    """

    number: int
    ways: tuple[Way, ...]
    reasons: tuple[str, ...] = ()
    kind: str = ""
    others: tuple[int, ...] = ()
    gives_away: bool = False


class Prove(Struct, frozen=True, tag="prove"):
    """Verify rewrites one after the other; each verdict is told when it is there, in a `Judged`."""

    backend: str
    jobs: tuple[Job, ...]
    patience: float = 0.0


Request = Union[Observe, Compare, Search, Prove]


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
    """All was done; `verdict` is a comparison's, `programs` the files that were written, `unrun` why nothing was run."""

    verdict: Union[Verdict, None] = None
    programs: tuple[str, ...] = ()
    unrun: str = ""


class Found(Struct, frozen=True, tag="found"):
    """Result of a search: the numbers of the subject and of the candidate, and, if nothing ran, why the first did not."""

    subject: int = -1
    candidate: int = -1
    reason: str = ""


class Began(Struct, frozen=True, tag="began"):
    """The job of a number has begun."""

    number: int


class Judged(Struct, frozen=True, tag="judged"):
    """Result of a numbered job. `seconds` is the time it took. `again`: a process that compiled nothing yet may answer otherwise."""

    number: int
    verdict: Verdict
    seconds: float = 0.0
    again: bool = False


Message = Union[Loaded, Stepped, Failed, Done, Found, Began, Judged]
