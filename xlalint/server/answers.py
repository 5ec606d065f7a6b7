"""Keeps answers about open documents, each until the program says something else."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from xlalint.project.session import Session
from xlalint.server.documents import Snapshot

_MOST = 256  # of a document

Answer = TypeVar("Answer")


class Answers:
    """Holds answers by document and question. They count for one snapshot of the document, while the texts of all files and what was found
    in the document are the same; a text that was changed and changed back has its answers still."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[weakref.ref[Session], object, dict[Hashable, Any]]] = {}

    def about(self, session: Session, snapshot: Snapshot) -> dict[Hashable, Any]:
        """Return the answers that hold now."""
        state = snapshot, session.state(snapshot.path)
        owner, before, answers = self._kept.get(snapshot.path, (None, None, {}))
        if owner is None or owner() is not session or before != state:
            answers = {}
            self._kept[snapshot.path] = weakref.ref(session), state, answers
        return answers

    def recall(
        self, session: Session, snapshot: Snapshot, question: Hashable, work_out: Callable[[], Answer]
    ) -> Answer:
        """Answer a question about a document, from what is kept if that still holds."""
        known = self.about(session, snapshot)
        if question in known:
            found: Answer = known[question]
            return found
        answer = work_out()
        known = self.about(session, snapshot)  # to work it out may have settled something
        if len(known) >= _MOST:
            del known[next(iter(known))]
        known[question] = answer
        return answer

    def forget(self, path: str) -> None:
        """Drop the answers about a document that was closed."""
        self._kept.pop(path, None)
