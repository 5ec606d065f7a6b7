"""`check --verify`: fixes are run before they are applied; what was shown of them, for people."""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import click

from xlalint.cli.saying import Verbosity, note, say, verbosity

if TYPE_CHECKING:
    from xlalint.cache import Cache
    from xlalint.config import Settings
    from xlalint.diagnostics.finding import Finding, Proof
    from xlalint.project import Report
    from xlalint.project.fixing import Accept, Proposed

_STYLES = {
    "proven": ("bold", "green"),
    "proven-except-check": ("bold", "yellow"),
    "refuted": ("bold", "red"),
    "unverified": ("bold", "yellow"),
}


class Proving:
    """The runner of fixes (None if none are to be run), and its results."""

    def __init__(self, accept: Accept | None, *, unsafe: bool, listed: bool) -> None:
        self.accept = accept
        self._unsafe = unsafe
        self._listed = listed
        self._told: dict[int, tuple[Finding, Proof]] = {}  # the last that was shown of each, by identity

    def hear(self, one: Proposed, proof: Proof) -> None:
        """Remember what was shown of a fix, and on a terminal say how far it is."""
        self._told[id(one.finding)] = (one.finding, proof)
        if sys.stderr.isatty():
            click.echo(f"\r{len(self._told)} fixes run\x1b[K", nl=False, err=True)

    def attach_proofs(self, report: Report, read: Callable[[str], bytes]) -> Report:
        """Return a report whose fixes tell what running them showed; nothing is applied."""
        if self.accept is None:
            return report
        import msgspec

        from xlalint.project.fixing import propose_fixes, with_proof
        from xlalint.source.reading import text_of

        by_path: defaultdict[str, list[Finding]] = defaultdict(list)
        for finding in report.findings:
            if finding.fixable(unsafe=self._unsafe):
                by_path[finding.filename].append(finding)
        asked = [
            one
            for path, own in by_path.items()
            for one in propose_fixes(path, text_of(path, read(path)), own, report.findings)
        ]
        answers = self.accept(asked) if asked else ()
        proofs = {id(one.finding): answer.proof for one, answer in zip(asked, answers, strict=True)}
        findings = [with_proof(finding, proofs.get(id(finding))) for finding in report.findings]
        return msgspec.structs.replace(report, findings=findings)

    def tell(self, stream: TextIO) -> None:
        """Print what was refuted, with the inputs that show it, what could not be run, and how many of each."""
        if self.accept is None or verbosity() < Verbosity.USUAL:
            return
        from xlalint.cli.output import view
        from xlalint.report.printable import printable

        looked = view(stream=stream)
        if sys.stderr.isatty():
            click.echo("\r\x1b[K", nl=False, err=True)
        for finding, proof in self._told.values():
            if proof.verdict == "proven" and not self._listed:
                continue
            head = looked.paint(proof.verdict, *_STYLES[proof.verdict])
            stream.write(f"{head}: {looked.place(finding)} {finding.code}: {printable(proof.reason)}\n")
            stream.write("".join(f"    {printable(line)}\n" for line in proof.counterexample.splitlines()))
        counts = Counter(proof.verdict for _, proof in self._told.values())
        number = counts["proven"] + counts["proven-except-check"]
        said = f"{number:,} {'fix' if number == 1 else 'fixes'} proven"
        stream.write(f"{said}, {counts['refuted']:,} refuted, {counts['unverified']:,} unverified.\n")


@contextmanager
def proving(options: Mapping[str, Any], settings: Settings, cache: Cache | None) -> Iterator[Proving]:
    """Open the runner of fixes. What keeps it from running, or a log that says otherwise, ends the command, with what to do about it."""
    listed = bool(options["show_fixes"])
    if not options["verify"]:
        for name in ("allow_unverified", "time_budget", "log"):
            if options[name]:
                raise click.UsageError(f"`--{name.replace('_', '-')}` needs `--verify`")
        yield Proving(None, unsafe=False, listed=listed)
        return
    from xlalint.verify.backends import MissingPackageError
    from xlalint.verify.fixes import Prover
    from xlalint.verify.isolation import IsolationError
    from xlalint.verify.kept_proofs import KeptProofs, LogError
    from xlalint.verify.observing import CannotRunError

    made = Proving(None, unsafe=options["unsafe_fixes"], listed=listed)
    budget = options["time_budget"] or math.inf
    try:
        kept = KeptProofs(cache, options["log"], anew=options["no_cache"])
        allowed = options["allow_unverified"]
        made.accept = Prover(settings, allow_unverified=allowed, hear=made.hear, budget=budget, kept=kept, tell=note)
        yield made
        if lines := kept.disagreements():
            for line in lines:
                say(line)
            raise LogError(f"`{options['log']}` is not what this run found: nothing is written")
        kept.write()
    except LogError as error:
        raise click.ClickException(str(error)) from error
    except (MissingPackageError, CannotRunError, IsolationError) as error:
        raise click.ClickException(f"fixes cannot be verified: {error}") from error
