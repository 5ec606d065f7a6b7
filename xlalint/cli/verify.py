"""`xlalint verify TARGET...`: runs functions on a real XLA device and says whether they compile again, wait for the host or fall back."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from xlalint.cli import CLEAN, FAILED, FINDINGS
from xlalint.cli.saying import color_option, note
from xlalint.cli.settings import cache_of, cache_options, config_option, survey_files

if TYPE_CHECKING:
    from xlalint.config import Settings
    from xlalint.report.verify import Verified
    from xlalint.report.view import View
    from xlalint.verify.isolation import Limits
    from xlalint.verify.kept_targets import KeptTargets, SeenTarget
    from xlalint.verify.targets import Target, Told

_BACKENDS = ("torch_xla", "torch_tpu", "torch_compile", "torch_export", "tensorflow", "jax")
_TPUS = ("v4", "v5e", "v5p", "v6e")
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_SHAPE = "shape"
_OF_TORCH = ("torch_xla", "torch_tpu", "torch_compile")


@click.command("verify")
@click.argument("targets", nargs=-1, metavar="TARGET...")
@click.option("--backend", metavar="NAME", help=f"{', '.join(_BACKENDS)} (default: by the file's imports).")
@click.option(
    "--inputs", default="", metavar="SPECS", help="""As a mark has them: 'x="f32[8,128]", mask="bool[8]", n=4'."""
)
@click.option(
    "--factory", default="", metavar="EXPR", help="Makes the instance of a class: 'Model(dim=8)' or 'pkg.mod:make'."
)
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Number of calls, each with different values.",
)
@click.option(
    "--vary", multiple=True, metavar="shape[=DIM]", help="Give named dimensions (or one) new sizes after the warm-up."
)
@click.option(
    "--tpu",
    "tpus",
    multiple=True,
    type=click.Choice(_TPUS),
    help="Also compile for this TPU, which need not be there; repeatable.",
)
@click.option(
    "--max-compiles", type=click.IntRange(min=0), metavar="N", help="Allow N compilations, in all steps together."
)
@click.option(
    "--as-written", is_flag=True, help="Compile only what the code compiles itself: for functions of the host."
)
@click.option("--against", metavar="TARGET", help="Say whether TARGET does what this other one does.")
@click.option("--against-rev", metavar="REV", help="The same, of TARGET as its file was at this git revision.")
@click.option("--time-limit", type=click.FloatRange(min=1), default=120.0, show_default=True, metavar="SECONDS")
@click.option(
    "--time-budget",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time for all targets together; those not reached in it are told as not run.",
)
@click.option(
    "--memory-limit",
    default="8G",
    show_default=True,
    metavar="SIZE",
    help="Limit on resident memory, of all processes together.",
)
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", show_default=True)
@cache_options
@config_option
@color_option
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
def command(targets: tuple[str, ...], **options: Any) -> int:
    """Run functions on a real XLA device, in child processes, and say whether they compile again, wait for the host or fall back.

    TARGET is `pkg.mod:fn`, `path/file.py:fn`, `path/file.py:Class.method`, or a file: all functions in it below a comment like

    \b
        # xlalint: inputs(x="f32[8,128]", mask="bool[8]", lengths="i64[4] 1..6", n=4)

    and the [[tool.xlalint.verify]] entries for it; without a TARGET all of these entries. Exit code 0: nothing hurts; 1: something does;
    2: something could not be run. With --against or --against-rev two targets are compared. Exit code 0: no difference was found; 1: they
    differ; 2: they could not be compared.
    """
    from xlalint.config import load_configuration

    paths = [Path(file) for target in targets if (file := target.partition(".py")[0] + ".py") and Path(file).exists()]
    given = options["config"]
    told = given.inline | ({"cache_dir": options["cache_dir"]} if options["cache_dir"] else {})
    configuration = load_configuration(paths, config=given.file, isolated=options["isolated"], options=told)
    settings = survey_files(configuration, paths).settings
    comparing = options["against"] or options["against_rev"]
    if not (comparing or targets or settings.verify):
        raise click.UsageError("nothing to verify: name a target, or declare some as [[tool.xlalint.verify]]")
    from xlalint.verify.kept_targets import KeptTargets

    with cache_of(options, settings) as cache:
        run = _compare if comparing else _verify_all
        return run(targets, settings, options, KeptTargets(cache))


def _verify_all(targets: tuple[str, ...], settings: Settings, options: Mapping[str, Any], kept: KeptTargets) -> int:
    """Run each target, and tell what was seen of it."""
    done = []
    view = _view()
    for verified in _verify(targets, settings, options, view, kept):
        done.append(verified)
        if options["output_format"] == "text":
            from xlalint.report.verify import render

            click.echo(("\n" if len(done) > 1 else "") + render(verified, view), nl=False)
    if options["output_format"] == "json":
        from xlalint.report.verify import as_json

        click.echo(as_json(done))
    if count := sum(one.kept for one in done):
        note(f"{count} of {len(done)} not run again: nothing has changed since an earlier run (`--no-cache` runs all)")
    return _status(done)


def _compare(targets: tuple[str, ...], settings: Settings, options: Mapping[str, Any], kept: KeptTargets) -> int:
    """Compare the one target with another."""
    from xlalint.cli.against import compare_targets, status_of
    from xlalint.report.verify.compared import as_json, render

    if len(targets) != 1:
        raise click.UsageError("`--against` and `--against-rev` compare one target")
    if options["against"] and options["against_rev"]:
        raise click.UsageError("`--against` and `--against-rev` exclude each other")
    told = _settings_of(settings, options, targets[0])
    compared = compare_targets(targets[0], told, settings, options, _limits(options), kept)
    click.echo(as_json([compared]) if options["output_format"] == "json" else render(compared, _view()).rstrip("\n"))
    return status_of(compared)


def _view() -> View:
    from xlalint.cli.output import view

    return view()


def _status(done: list[Verified]) -> int:
    if any(one.judgement is None or not one.judgement.ran for one in done):
        return FAILED
    return FINDINGS if any(one.judgement is not None and not one.judgement.ok for one in done) else CLEAN


def _verify(
    texts: tuple[str, ...], settings: Settings, options: Mapping[str, Any], view: View, kept: KeptTargets
) -> Iterator[Verified]:
    """Each target, run; one that cannot be run does not keep the others from it."""
    from xlalint.report.verify import Verified
    from xlalint.verify.proofs import NO_TIME
    from xlalint.verify.targets import Target, TargetError, targets_of

    noted = {""}
    limits, until = _limits(options), time.monotonic() + (options["time_budget"] or math.inf)
    each: list[tuple[tuple[str, ...], Told]] = [((text,), _settings_of(settings, options, text)) for text in texts]
    each = each or [((), _settings_of(settings, options))]
    for target in chain.from_iterable(targets_of(one, settings.verify, said) for one, said in each):
        if isinstance(target, Target) and target.instead not in noted:
            noted.add(target.instead)
            note(target.instead)
        if isinstance(target, TargetError):
            name = target.place.function if target.place else ""
            yield Verified(name, target.place, failure=str(target))
        elif (left := until - time.monotonic()) <= 0:
            yield Verified(target.subject.name, target.place, failure=NO_TIME)
        else:
            yield _observe(target, options, limits._replace(seconds=min(limits.seconds, left)), view, kept)


def _settings_of(settings: Settings, options: Mapping[str, Any], target: str = "") -> Told:
    """Return what the command line says of a target, or of all of them."""
    from xlalint.verify.targets import Told

    own = settings.of(_file_of(target)) if target else settings
    return Told(options["inputs"], options["factory"], _backend(options["backend"]), _torch_backend(own), settings)


def _torch_backend(settings: Settings) -> str:
    """The backend that the settings name for PyTorch code, "" where they name none."""
    return settings.target if settings.target in _OF_TORCH else ""


def _file_of(text: str) -> str:
    """The file that a target names, by absolute path."""
    return os.path.abspath(text.partition(".py")[0] + ".py")  # noqa: PTH100


def _observe(target: Target, options: Mapping[str, Any], limits: Limits, view: View, kept: KeptTargets) -> Verified:
    from xlalint.report.verify import Verified, line_text
    from xlalint.source.model import SourceError
    from xlalint.verify.backends import MissingPackageError
    from xlalint.verify.inputs import SpecError
    from xlalint.verify.isolation import IsolationError
    from xlalint.verify.judging import judge, judged_for_tpus
    from xlalint.verify.kept_targets import SeenTarget
    from xlalint.verify.observing import CannotRunError

    name, file = target.subject.name, target.place.file
    try:
        asked = [options[one] for one in ("steps", "vary", "tpus", "as_written")]
        key = kept.key((target,), *asked, target.as_written, limits.memory)
        known = kept.find(key, SeenTarget)
        seen = known or _run(target, options, limits)
        if known is None and seen.observation.ended == "finished":
            kept.keep(key, seen)
    except (CannotRunError, MissingPackageError, SpecError, IsolationError, SourceError) as error:
        place = getattr(error, "place", None)
        where = f"\n    {line_text(place, view, file)}" if place is not None else ""
        how = f"\n{target.undeclared}" if target.guesses is not None else ""
        return Verified(name, target.place, target.backend, target.specs, failure=f"{error}{where}{how}")
    allowed = options["max_compiles"] if options["max_compiles"] is not None else target.max_compiles
    lines = partial(line_text, view=view, file=file)
    judgement = judge(seen.observation, options["steps"], lines, allowed)
    if options["tpus"]:
        judgement = judged_for_tpus(judgement, seen.tpu, lines, target.backend)
    return Verified(
        name,
        target.place,
        target.backend,
        seen.specs,
        seen.observation,
        judgement,
        tpu=seen.tpu,
        guessed=target.guesses is not None,
        factory=seen.subject.factory,
        kept=known is not None,
    )


def _run(target: Target, options: Mapping[str, Any], limits: Limits) -> SeenTarget:
    """Run a target, and compile what it compiled for TPUs too, where that is asked for.

    Raises: CannotRunError, MissingPackageError, SpecError, IsolationError.
    """
    from xlalint.verify import tpu
    from xlalint.verify.kept_targets import SeenTarget
    from xlalint.verify.observing import observe

    target = _settle(target, limits)
    tpus = options["tpus"]
    with TemporaryDirectory(prefix="xlalint-programs-") as folder:
        if tpus:
            tpu.require()
        seen = observe(
            target.subject,
            target.specs,
            target.backend,
            steps=options["steps"],
            vary=_read_varied(options["vary"], target),
            limits=limits,
            programs=folder if tpus else "",
            as_written=options["as_written"] or target.as_written,
            ceiling=min([limits.memory, *(tpu.HBM[one] for one in tpus)]) if tpus else 0,
        )
        compiled = tpu.compile_for_tpu(seen.programs, tpus) if tpus else []
    return SeenTarget(target.subject, target.specs, seen, tuple(compiled))


def _settle(target: Target, limits: Limits) -> Target:
    """A target with inputs: those declared, else the first of those to be tried on which it runs."""
    if target.guesses is None:
        return target
    from xlalint.verify.proofs import find_runnable

    subject, specs = find_runnable(target.guesses.subjects, target.guesses.candidates, target.backend, limits)
    return target._replace(subject=subject, specs=specs, guesses=None)


def _read_varied(words: tuple[str, ...], target: Target) -> tuple[str, ...]:
    """The dimensions that `--vary shape`, `--vary shape=B` name."""
    from xlalint.verify.inputs import SpecError
    from xlalint.verify.observing import named_dimensions

    found: list[str] = []
    for word in words:
        kind, _, name = word.partition("=")
        if kind != _SHAPE:
            raise click.BadParameter(f"`{word}` cannot be varied; write `shape` or `shape=DIM`", param_hint="--vary")
        names = (name,) if name else named_dimensions(target.specs)
        if not names:
            raise SpecError('no dimension has a name to vary; name those that change: x="f32[B,64]"')
        found += names
    return tuple(dict.fromkeys(found))


def _backend(name: str | None) -> str:
    """A backend by its name, or by that of the analysis's target; a dotted name is a module that has one."""
    if name is None:
        return ""
    name = "tensorflow" if name == "tf" else name
    if name in _BACKENDS or "." in name:
        return name
    from difflib import get_close_matches

    near = get_close_matches(name, _BACKENDS, n=1, cutoff=0.4)
    hint = f"did you mean `{near[0]}`?" if near else f"one of {', '.join(_BACKENDS)}"
    raise click.BadParameter(f"unknown backend `{name}`; {hint}", param_hint="--backend")


def _limits(options: Mapping[str, Any]) -> Limits:
    from xlalint.verify.isolation import Limits

    text = options["memory_limit"].strip().lower().removesuffix("b").removesuffix("i")
    number, unit = (text[:-1], text[-1]) if text[-1:].isalpha() else (text, "")
    try:
        memory = int(float(number) * (1 << _UNITS[unit]))
    except (ValueError, KeyError, OverflowError):
        memory = 0
    if memory <= 0:
        raise click.BadParameter(
            f"`{options['memory_limit']}` is not a size; write 512M, 8G", param_hint="--memory-limit"
        )
    return Limits(min(options["time_limit"], options["time_budget"] or math.inf), memory)
