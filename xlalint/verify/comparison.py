"""Two programs on the same inputs: are their values, dtypes, shapes, gradients and effects the same? Runs in the child process.

Nothing is promised for inputs on which the first program raises, but for those on which a check of its own does. Where the programs differ,
the smallest inputs that show it are looked for and told as Python text.
"""

from __future__ import annotations

import ast
import contextvars
import functools
import itertools
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Union

import numpy as np

from xlalint.diagnostics.finding import Coverage
from xlalint.verify import layout, places
from xlalint.verify.alarms import alarm
from xlalint.verify.ambient import keep_settings
from xlalint.verify.backends import Backend, Content, Leaf, Mode, Options, Program, Result, Setting
from xlalint.verify.closeness import (
    Noise,
    allow_cancelling,
    allow_rounding,
    differ,
    difference,
    is_chosen_from,
    largest_of,
    movement,
    signs_differ,
)
from xlalint.verify.counterexample import size_of, text_of
from xlalint.verify.emitted import listening
from xlalint.verify.inputs.containers import access_of, nest
from xlalint.verify.inputs.draws import Values, draw, is_floating, resize
from xlalint.verify.inputs.edges import (
    CANCELLING,
    DTYPE_KINDS,
    GROWING,
    NOTHING,
    OUTSIDE,
    WITHOUT_GRADIENTS,
    Hints,
    basic_edges,
    edges,
)
from xlalint.verify.inputs.functions import DEVICE
from xlalint.verify.inputs.hints import defaults_of, hints_of, together
from xlalint.verify.jumps import find_jump, list_ways
from xlalint.verify.model import ArraySpec, Literally, NamedFunction, Specs, Step, Verdict, VerdictKind
from xlalint.verify.taken import Branches, check_of

ENOUGH = 8  # draws on which the first program must run before anything is proven
_MOVES = 3  # runs on inputs that are all moved by their last place, to see how far a result moves
_STEPS_EACH = 5  # draws in each of the circumstances besides the ordinary ones
_FAMILIES = {"not finite": "nan", "infinite": "nan", "signed zeros": "zeros"}  # kinds that are left out with others
_AT_EDGES = 1.0  # seconds that the first program may take on a draw that is at an edge, if its ordinary draws are fast
_AS_LONG = 4  # times what an ordinary draw takes, if they are not
_LONGER = 4  # times the original's patience for the rewrite
_MOST_NAMED = 5  # parameters that had their default in all draws
_MOST_TURNS = 4  # arguments that are moved alone
_ORDINARY = Setting()
_JUMPS = "jumps"  # the draws on both sides of where results of the first program jump
_MOST_JUMPING = 1024  # elements of arguments whose draws are looked through for jumps: all of them are told where one shows something
_ALWAYS = 5  # jumps at which two programs differ if it is no accident of rounding
_ALONE = ("nan", "not finite", "infinite", _JUMPS)  # kinds whose draws leave nothing behind for the next
_DOUBLE = 8  # bytes
_WIDE_LOOSE = 1e-9  # of the largest element, by which results in a wider dtype may differ
_SIGNS = "the signs of zeros differ in sums"
_ROUNDED = "where a result jumps, rounding takes some of them to the other side"


class Raised(NamedTuple):
    """A program raised this on some inputs. `endless`: it took too long; `check`: the line of a `raise` or `assert` of its own, else 0."""

    what: str
    endless: bool = False
    check: int = 0

    @property
    def type(self) -> str:
        """The exception's type."""
        return self.what.partition(":")[0]


class Draw(NamedTuple):
    """Inputs, with the edge that they are at and their number among those of that edge, and the circumstances of the call."""

    edge: str
    number: int
    values: Values
    setting: Setting = _ORDINARY

    @property
    def kind(self) -> str:
        """Name what draws with one instance of a program have in common."""
        alone = f" {self.number}" if self.edge in _ALONE else ""
        return f"{self.edge}{alone} {self.setting.text}"


class Difference(NamedTuple):
    """Two programs do not do the same on a draw: in this respect ("values", "gradients", "state", …), in these words."""

    draw: Draw
    respect: str
    why: str


Outcome = Union[Result, Raised]
Outcomes = Mapping[int, Outcome]
Hear = Callable[[Step], None]


class Pair(NamedTuple):
    """Two programs, and how they are compared: `exact`ly or within what dtypes hold; edges and respects of `unlike` do not count, nor do
    the "signs" of zeros if it has these; `patience` is how many seconds one call may take, `usual` how many
    an ordinary one of the first program takes, `budget` how many of this process it may take on all draws at edges: what kinds are left out
    is told; `looking` how many it may take to look for jumps. `equal` says by what they are known to compute the same for all values of
    arrays like those of ordinary draws: then none of other values is needed.

    In the mode "eager", which costs no compilation, there are many more draws, programs begin anew at each kind of draws, so that what one
    leaves behind hides nothing at the next, and what they print, log and warn of counts, which under a compiler is said while it traces.
    """

    backend: Backend
    before: Program
    after: Program
    exact: bool = False
    unlike: tuple[str, ...] = ()
    patience: float = 0.0
    mode: Mode = "compiled"
    usual: float = 0.0
    budget: float = 10.0
    looking: float = 2.0
    equal: str = ""

    @property
    def gradients(self) -> bool:
        """Return whether gradients count."""
        return "gradients" not in self.unlike


def compare(pair: Pair, specs: Specs, name: str, hear_before: Hear, hear_after: Hear) -> Verdict:
    """The verdict on two programs, over steps and edges. Steps with ordinary values are heard, for what they count.

    `name` is what a counterexample calls; `specs` are the inputs of both.
    """
    return _Comparison(pair, specs, name).run(hear_before, hear_after)


class _Comparison:
    def __init__(self, pair: Pair, specs: Specs, name: str) -> None:
        self.pair = pair
        self.specs = specs
        self.name = name
        self.gradients = pair.gradients
        self.branches = [Branches(one.file) for one in (pair.before, pair.after)]
        self.draws: list[Draw] = []
        self.late: list[str] = []  # kinds of draws for which there was no time
        self.endless: list[str] = []  # kinds of draws on one of which the first program did not end in time
        self._noise: dict[int, Mapping[str, Noise]] = {}
        self._scales: list[float] = []  # the largest element of each of the first program's results on ordinary draws
        self._rounded = False  # whether results jump elsewhere, by rounding
        self._systematic = False  # whether they do so at each jump
        self._signs = False  # whether zeros of results that are sums have other signs
        self._stiff: set[str] = set()  # kinds of draws of another dtype that the first program's results do not follow

    def run(self, hear_before: Hear, hear_after: Hear) -> Verdict:
        expected = self._run_first(hear_before)
        ran = {index: one for index, one in expected.items() if isinstance(one, Result)}
        checked = {index: one for index, one in expected.items() if isinstance(one, Raised) and one.check}
        self.endless = [self.draws[n].edge for n, one in expected.items() if isinstance(one, Raised) and one.endless]
        found = self._run_second(ran, checked, hear_after)
        differing, outside = self._find_differences({**ran, **checked}, found)
        if differing:
            return self._show_smallest(differing, found)
        if len(ran) < ENOUGH:
            raised = next((one.what for one in expected.values() if isinstance(one, Raised)), "no inputs were drawn")
            return Verdict("unverified", f"the original ran on {len(ran)} of {len(self.draws)} draws: {raised}")
        opaque = next((one.outputs.opaque[0] for one in ran.values() if one.outputs.opaque), "")
        if opaque:
            return Verdict("unverified", f"a result cannot be compared: {opaque}")
        return self._say_proven(ran, checked, found, outside)

    # ------------------------------------------------------------------------------------------------ draws

    def _run_first(self, hear: Hear) -> dict[int, Outcome]:
        """Run the first program on all draws. Where it cannot be differentiated on any, gradients are left out."""
        eager = self.pair.mode == "eager"
        self._add((edge, values) for edge, values in basic_edges(self.specs) if edge == "step" or not eager)
        began = time.monotonic()
        outcomes = self._run_before(range(len(self.draws)), hear)
        self.pair = self.pair._replace(usual=(time.monotonic() - began) / max(len(self.draws), 1))
        if self.gradients and all(isinstance(one, Raised) for one in outcomes.values()):
            self.gradients = False
            outcomes = self._run_before(range(len(self.draws)), hear)
        if not eager:
            return outcomes
        reached = len(self.draws)
        hints = self._hints()
        self._add((edge, values) for edge, values in edges(self.specs, hints) if edge != "step")
        self._add_settings()
        began = time.process_time()
        kinds: dict[str, list[int]] = {}
        for index in range(reached, len(self.draws)):
            kinds.setdefault(self.draws[index].kind, []).append(index)
        for kind, indices in kinds.items():
            if time.process_time() - began > self.pair.budget:
                self.late.append(kind.strip())
                continue
            outcomes.update(self._run_before(indices, hear))
        reached = len(self.draws)
        self.draws += self._find_jumps()
        outcomes.update(self._run_before(range(reached, len(self.draws)), hear))
        return outcomes

    def _find_jumps(self) -> list[Draw]:
        """The draws at which the first program's results, or gradients, jump; none where those of the two are known to be equal."""
        if self.pair.equal or self.specs.requires or size_of(draw(self.specs, 0)) > _MOST_JUMPING:
            return []

        until = time.process_time() + self.pair.looking

        def evaluate(points: Sequence[Values]) -> list[Sequence[Leaf]]:
            if time.process_time() > until:
                return []
            draws = [Draw(_JUMPS, -1, values) for values in points]
            own = [range(len(draws))]
            ran = _outcomes(self.pair, self.pair.before, draws, own, self.gradients, effects=False)
            results = (ran[index] for index in own[0])
            return [[*one.outputs.leaves, *one.gradients] for one in results if isinstance(one, Result)]

        found: list[Draw] = []
        for one, other in list_ways(self.specs):
            if time.process_time() > until:
                break
            for values in find_jump(evaluate, one, other) or ():
                if "ties" not in self.pair.unlike or not _has_ties(values):
                    found.append(Draw(_JUMPS, -1 - len(found), values))
        return found

    def _run_alone(self, program: Program, one: Draw) -> Outcome:
        return _outcomes(self.pair, program, [one], [[0]], self.gradients)[0]

    def _add(self, found: Iterator[tuple[str, Values]], setting: Setting = _ORDINARY) -> None:
        numbers: dict[str, int] = {}
        known = {_form_of(draw.values) for draw in self.draws} if self.pair.equal and not setting.text else ()
        for edge, values in found:
            if edge not in ("step", GROWING) and known and _form_of(values) in known:
                continue
            if not {edge, _FAMILIES.get(edge)} & set(self.pair.unlike):
                self.draws.append(Draw(edge, numbers.get(edge, 0), values, setting))
                numbers[edge] = numbers.get(edge, 0) + 1

    def _add_settings(self) -> None:
        """Ordinary draws in other circumstances, those that mean something for the program."""
        owner = self.pair.before.make()
        owner = getattr(owner, "__self__", owner)
        without = () if hasattr(owner, "parameters") else ("evaluation", "weights")
        known = self.pair.after.variants
        settings = [Setting(made_with=text) for text in self.pair.before.variants if text in known]
        names = (name for name in self.pair.backend.settings if name not in without and name not in self.pair.unlike)
        settings += [Setting.of(name) for name in names]
        for setting in settings:
            steps = ((edge, values) for edge, values in basic_edges(self.specs) if edge == "step")
            self._add(itertools.islice(steps, _STEPS_EACH), setting)

    def _hints(self) -> Hints:
        """Read what the code that was run says about inputs; the second program's functions are those of the same names."""
        before, after = self.branches
        names = [getattr(node, "name", "") for node in before.functions()]
        functions = [
            [node for node in one.functions() or _find_named(one, names) if getattr(node, "name", "") in names]
            for one in (before, after)
        ]
        if not any(functions):
            return NOTHING
        given = tuple(self.specs.arguments)
        both = [hints_of(own, one.tree, given) for own, one in zip(functions, self.branches, strict=True)]
        return together(both[0], both[1])

    # ------------------------------------------------------------------------------------------------ runs

    def _run_before(self, indices: Sequence[int], hear: Hear) -> dict[int, Outcome]:
        segments = _segments(self.draws, indices, self.pair.mode)
        with self.branches[0].following():
            return self._outcomes(self.pair.before, segments, hear)

    def _run_second(self, ran: Mapping[int, Result], checked: Mapping[int, Raised], hear: Hear) -> dict[int, Outcome]:
        """Run the second program on the draws on which the first ran, or a check of its own raised."""
        segments = _segments(self.draws, sorted(ran), self.pair.mode)
        parts = [part for segment in segments for part in _runs(segment)]
        with self.branches[1].following():
            found = self._outcomes(self.pair.after, parts, hear, like=ran)
            found.update(self._outcomes(self.pair.after, [[index] for index in checked], lambda step: None))
        return found

    def _outcomes(
        self, program: Program, segments: Sequence[Sequence[int]], hear: Hear, like: Mapping[int, Result] | None = None
    ) -> dict[int, Outcome]:
        return _outcomes(self.pair, program, self.draws, segments, self.gradients, hear, like=like)

    # ------------------------------------------------------------------------------------------------ differences

    def _find_differences(self, expected: Outcomes, found: Outcomes) -> tuple[list[Difference], list[Difference]]:
        """The differences, and those on draws that the declared inputs exclude. The smallest inputs come first, and none that are larger
        are looked at once some show one: what rounding may do is measured for each.
        """
        self._stiff = _find_stiff(self.draws, expected)
        self._scales = self._scales or _find_scales(self.draws, expected)
        outside = {*OUTSIDE, *self._stiff}
        chosen = _find_chosen(self.draws, expected)
        ran = [index for index in found if isinstance(expected[index], Result)]
        differing: list[Difference] = []
        jumping: list[Difference] = []

        def rank(index: int) -> tuple[int, ...]:
            after = found[index]
            endless = isinstance(after, Raised) and after.endless
            return not endless, self.draws[index].edge == _JUMPS, *_rank(self.draws[index])

        for index in sorted(ran, key=rank):
            edge, own = self.draws[index].edge, self._find_on(index, expected[index], found[index], chosen)
            (jumping if edge == _JUMPS else differing).extend(own)
            if own and edge not in {_JUMPS, *outside}:
                break
        else:
            differing += self._without_rounding(jumping)
        differing += self._find_lost_layouts(ran, expected, found)
        inside = [one for one in differing if one.draw.edge not in outside]
        return inside, [one for one in differing if one.draw.edge in outside]

    def _find_on(self, index: int, before: Outcome, after: Outcome, chosen: Collection[int]) -> list[Difference]:
        """The differences on a draw."""
        assert isinstance(before, Result)
        if isinstance(after, Result) and signs_differ(before.outputs, after.outputs):
            self._signs = True
        moved = functools.partial(self._measure_noise, index)
        return list(_differences(self.pair, before, after, self.draws[index], chosen, moved))

    def _find_lost_layouts(self, ran: Sequence[int], expected: Outcomes, found: Outcomes) -> list[Difference]:
        """The difference that results are laid out worse on all draws, if they are."""
        pairs: list[tuple[int, layout.Layouts]] = []
        for index in ran:
            before, after = expected[index], found[index]
            if not isinstance(before, Result) or not isinstance(after, Result) or self.draws[index].edge == "empty":
                continue  # nothing has no memory
            if "layout" in before.effects and "layout" in after.effects:
                pairs.append((index, layout.Layouts(before.effects["layout"], after.effects["layout"])))
        always, self._lost = layout.find_lost([pair for _, pair in pairs])
        self._lost += layout.find_compacted(pair for n, pair in pairs if not self.draws[n].setting.text)
        if always and any(map(_chooses, self.branches[0].functions())):  # it may be given on what no draw showed
            always, self._lost = [], [*always, *self._lost]
        if not always or "layout" in self.pair.unlike:
            return []
        return [Difference(self.draws[pairs[0][0]], "layout", "; ".join(always))]

    def _without_rounding(self, jumping: Sequence[Difference]) -> Sequence[Difference]:
        """The differences at jumps but those of rounding: a sum in another order may lie on the other side of a threshold. What a wider
        dtype shows too, or nearly each jump, is no accident.
        """
        jumps = sum(draw.edge == _JUMPS for draw in self.draws) // 2
        self._systematic |= len({one.draw.number for one in jumping}) >= max(jumps, _ALWAYS)
        if self._systematic:
            return jumping
        kept = [one for one in jumping if not self._is_of_rounding(one)]
        self._rounded |= len(kept) < len(jumping)
        return kept

    def _is_of_rounding(self, one: Difference) -> bool:
        wide = self._run_wide(one.draw)
        if wide is None:
            return False
        before, after = map(_contents, wide)
        return one.respect in before and not difference(
            before[one.respect].leaves, after.get(one.respect, Content()).leaves, loose=_WIDE_LOOSE, signs=False
        )

    def _measure_noise(self, index: int) -> Mapping[str, Noise]:
        """How far the first program's results move on a draw when its floats do so by one unit in the last place; and how far rounding may
        take those of the two programs from one another, which is told by what they give for the same floats in a wider dtype.
        """
        if index not in self._noise:
            draw = self.draws[index]
            rng = np.random.default_rng(0)

            def run(values: Values) -> Outcome:
                moved = draw._replace(values=values)
                return _outcomes(self.pair, self.pair.before, [moved], [[0]], self.gradients)[0]

            apart = [run(values) for values in _moves_apart(draw.values, rng)]
            joint = [run(values) for values in _moves(draw.values, rng)]
            first = run(draw.values)
            noise = _noise_of(first, apart, joint, draw.values)
            if isinstance(first, Result):
                noise = self._allow_rounding(noise, first, draw)
                if draw.edge == CANCELLING:
                    noise = {**noise, "values": allow_cancelling(noise["values"], first.outputs.leaves, self._scales)}
            self._noise[index] = noise
        return self._noise[index]

    def _allow_rounding(self, noise: Mapping[str, Noise], first: Result, draw: Draw) -> Mapping[str, Noise]:
        wide = self._run_wide(draw)
        if wide is None:
            return noise
        dtypes = [value.dtype.name for value in draw.values.values() if is_floating(value)]
        one, other, own = _contents(wide[0]), _contents(wide[1]), _contents(first)
        return {
            name: allow_rounding(known, own[name].leaves, one[name].leaves, other[name].leaves, dtypes)
            if name in one and name in other
            else known
            for name, known in noise.items()
        }

    def _run_wide(self, draw: Draw) -> tuple[Result, Result] | None:
        """Run both programs on the same floats in a wider dtype; None if there is none, or one of them raises."""
        wide = {name: _widen(value) for name, value in draw.values.items()}
        if all(wide[name] is value for name, value in draw.values.items()):
            return None
        doubles = any(is_floating(one) and one.dtype.itemsize >= _DOUBLE for one in wide.values())
        widened = draw._replace(values=wide, setting=draw.setting._replace(wide=doubles))
        before, after = (self._run_alone(one, widened) for one in (self.pair.before, self.pair.after))
        return (before, after) if isinstance(before, Result) and isinstance(after, Result) else None

    def _show_smallest(self, differing: Sequence[Difference], found: Outcomes) -> Verdict:
        last = list(found.values())[-1]
        if isinstance(last, Raised) and last.endless:
            shown = differing[-1]
            text = text_of(self.pair.backend.name, self.name, self.specs, shown.draw)
            return Verdict("refuted", f"values: {shown.why}", text)
        return _refute(self, min(differing, key=lambda one: _rank(one.draw)))

    # ------------------------------------------------------------------------------------------------ words

    def _say_proven(
        self, ran: Mapping[int, Result], checked: Mapping[int, Raised], found: Outcomes, outside: Sequence[Difference]
    ) -> Verdict:
        coverage = self._coverage(ran, outside)
        gone = _gone_checks(checked, found)
        kind: VerdictKind = "proven-except-check" if gone else "proven"
        words = [words_of(coverage, self.gradients), *gone]
        return Verdict(kind, "; ".join(words), coverage=coverage)

    def _coverage(self, ran: Mapping[int, Result], outside: Sequence[Difference]) -> Coverage:
        draws: dict[str, int] = {}
        for index in ran:
            draws[self.draws[index].edge] = draws.get(self.draws[index].edge, 0) + 1
        settings = tuple(dict.fromkeys(text for index in ran if (text := self.draws[index].setting.text)))
        arrays = (one for index in ran for one in self.draws[index].values.values())
        sizes = sorted({np.shape(one)[0] for one in arrays if np.ndim(one)})
        not_varied = [f"sizes except {', '.join(map(str, sizes))}"] if any(sizes) else []
        not_varied += [f"{text} (no time)" for text in self.late]
        not_varied += [f"{edge} (the original takes too long)" for edge in dict.fromkeys(self.endless)]
        tried = {draw.edge for draw in self.draws} & set(DTYPE_KINDS)
        not_varied += [f"{dtype} (the original raises)" for dtype in DTYPE_KINDS if dtype in tried - set(draws)]
        not_varied += [f"integers outside {text}" for text in _ranges(self.specs)]
        varied = [self.draws[index].values for index in ran]
        not_varied += list(_find_unvaried(varied, self.specs))
        not_varied += list(_find_left_out(self.branches[0].functions(), varied, self.specs))
        notes = list(_find_unseen(self.branches[0].functions(), ran.values()))
        notes += [*self._lost, *([_SIGNS] if self._signs else []), *([_ROUNDED] if self._rounded else [])]
        if outside:
            notes += list(
                {one.draw.edge: f"{one.draw.edge}: {one.respect} differ: {one.why}" for one in outside}.values()
            )
        sides = zip(("before", "after"), self.branches, strict=True)
        untaken = tuple(f"line {line} {side}: {said}" for side, one in sides for line, said in one.find_untaken())
        return Coverage(draws, settings, tuple(not_varied), untaken, tuple(notes), self.pair.equal)


def words_of(coverage: Coverage, gradients: bool) -> str:
    """Say what was done."""
    count = sum(coverage.draws.values())
    kinds = len(coverage.draws)
    told = [
        f"the same on {count} draws of {kinds} kind{'s' if kinds > 1 else ''}{'' if gradients else ', of values alone'}"
    ]
    if coverage.equal:
        told.insert(0, coverage.equal)
    if coverage.settings:
        told.append(f"also with {', '.join(coverage.settings)}")
    if coverage.not_varied:
        told.append(f"not varied: {', '.join(coverage.not_varied)}")
    if coverage.untaken:
        told.append(f"never seen: {', '.join(coverage.untaken)}")
    return "; ".join([*told, *coverage.notes])


def _rank(draw: Draw) -> tuple[bool, int, bool]:
    """Order draws: the smallest inputs first; empty ones only after all others."""
    size = size_of(draw.values)
    return not size, size, draw.edge != "step"


def _gone_checks(checked: Mapping[int, Raised], found: Outcomes) -> list[str]:
    """The checks that no longer raise, or raise something else."""
    gone: dict[int, str] = {}
    for index, before in checked.items():
        after = found.get(index)
        if isinstance(after, Result):
            gone[before.check] = f"the check on line {before.check} is gone: it raised {before.what}"
        elif isinstance(after, Raised) and after.type != before.type:
            gone.setdefault(
                before.check, f"the check on line {before.check} raised {before.what}, and now {after.what}"
            )
    return [gone[line] for line in sorted(gone)]


def _ranges(specs: Specs) -> list[str]:
    return list(
        dict.fromkeys(
            f"{one.low}..{one.high}"
            for one in specs.arguments.values()
            if isinstance(one, ArraySpec) and one.dtype[0] in "iu"
        )
    )


def _find_unvaried(draws: Sequence[Values], specs: Specs) -> Iterator[str]:
    """The arguments that are no arrays and were the same in all draws."""
    for name, spec in specs.arguments.items():
        if spec == NamedFunction(DEVICE):  # it is where the program runs
            continue
        text = spec.text if isinstance(spec, Literally) else spec.name if isinstance(spec, NamedFunction) else ""
        if isinstance(spec, NamedFunction) or (text and all(repr(one.get(name)) == text for one in draws)):
            yield f"`{access_of(name)}` other than {text}"


def _find_left_out(functions: Sequence[ast.AST], draws: Sequence[Values], specs: Specs) -> Iterator[str]:
    """The parameters of what is called that had their default in all draws, and that it reads."""
    arguments = list(nest(specs.arguments))
    placed = sum(name.isdigit() for name in arguments)
    given = {name for name in arguments if not name.isdigit()}
    called = next((one for one in functions if given <= set(_parameters(one))), None)
    if called is None:
        return
    varied = {*_parameters(called)[:placed], *(name for one in draws for name in nest(one))}
    read = {node.id for node in ast.walk(called) if isinstance(node, ast.Name)}
    left = [(name, default) for name, default in defaults_of(called) if name in read - varied]
    yield from (f"`{name}` other than {ast.unparse(default)}" for name, default in left[:_MOST_NAMED])
    if len(left) > _MOST_NAMED:
        yield f"{len(left) - _MOST_NAMED} more parameters that have a default"


def _find_unseen(functions: Sequence[ast.AST], results: Iterable[Result]) -> Iterator[str]:
    """Find what a program holds, and reads, that cannot be looked into."""
    told = {text for one in results for text in one.effects.get("state", Content()).opaque}
    nodes = [node for one in functions for node in ast.walk(one)] if told else []
    read = {node.id for node in nodes if isinstance(node, ast.Name)}
    read |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    for text in sorted(told):
        path, _, kind = text.partition(": ")
        match = _HELD.match(path)
        if match is not None and (match["global"] or match["own"]) in read:
            yield f"what is in `{match['global'] or match['own']}`, {kind}, was not looked at"


_HELD = re.compile(r"\['(?:globals|closure)'\]\['(?P<global>\w+)'\]$|\['self'\]\.(?P<own>\w+)$")


def _parameters(function: ast.AST) -> list[str]:
    """The parameters of a function that a caller gives, those that may stand without a name first."""
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return []
    told = function.args
    names = [one.arg for one in (*told.posonlyargs, *told.args, *told.kwonlyargs)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def _chooses(function: ast.AST) -> bool:
    """Return whether what a function gives may depend on a condition."""
    return any(isinstance(node, (ast.If, ast.IfExp, ast.While, ast.BoolOp, ast.Match)) for node in ast.walk(function))


def _find_named(one: Branches, names: Sequence[str]) -> list[Any]:
    return [node for node in ast.walk(one.tree) if isinstance(node, ast.FunctionDef) and node.name in names]


def _form_of(values: Values) -> tuple[tuple[str, ...], ...]:
    """Describe all of a draw but values: the dtypes and shapes of its arrays, and what is none."""
    return tuple(
        (name, str(value.dtype), str(value.shape)) if isinstance(value, np.ndarray) else (name, repr(value))
        for name, value in values.items()
    )


def _segments(draws: Sequence[Draw], indices: Sequence[int], mode: Mode) -> list[list[int]]:
    """The draws, by number, that one instance of a program is called with in a row."""
    if mode != "eager":
        return [list(indices)]
    kinds: dict[tuple[str, Setting], list[int]] = {}
    for index in indices:
        kinds.setdefault((draws[index].kind, draws[index].setting), []).append(index)
    return list(kinds.values())


def _runs(indices: Sequence[int]) -> list[list[int]]:
    """Ascending numbers, cut where one is missing."""
    cut = itertools.groupby(enumerate(indices), lambda pair: pair[1] - pair[0])
    return [[index for _, index in group] for _, group in cut]


def _outcomes(
    pair: Pair,
    program: Program,
    draws: Sequence[Draw],
    segments: Sequence[Sequence[int]],
    gradients: bool,
    hear: Hear = lambda step: None,
    *,
    like: Mapping[int, Result] | None = None,
    effects: bool = True,
) -> dict[int, Outcome]:
    """Run a program on draws; return the outcomes by the draws' numbers. It starts anew with each segment of draws, and after each draw
    on which it raises, so that both programs keep the same state from call to call.

    `like`: what the first program did, of the second. Its gradients come from the outputs that had some in the first. Nothing comes after a
    draw that takes too long.
    """
    outcomes: dict[int, Outcome] = {}
    for segment in segments:
        left = list(segment)
        while left:
            ends = [None if like[n].traced else like[n].ends for n in left] if like is not None else None
            setting = draws[left[0]].setting
            options = Options(gradients=gradients, mode=pair.mode, ends=ends, setting=setting, effects=effects)
            done = 0
            try:
                made = program.made_with(setting.made_with)
                # What the original did in time must not fail for a machine that is busy: only what never ends.
                patience = _LONGER * pair.patience if like is not None else _patience(pair, draws[left[0]])
                limited = pair._replace(patience=patience)
                with keep_settings():
                    for step, result in _limit(limited, made, [draws[index] for index in left], options):
                        if draws[left[done]].edge == "step" and not draws[left[done]].setting.text:
                            hear(step)
                        outcomes[left[done]] = result
                        done += 1
            except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever it is, it is what the program does)
                outcomes[left[done]] = _describe_raised(error, program)
                done += 1
                if like is not None and isinstance(error, TimeoutError):
                    return outcomes
            else:
                outcomes.update(dict.fromkeys(left[done:], Raised("gave no result")))
                break
            left = left[done:]
    return outcomes


def _patience(pair: Pair, draw: Draw) -> float:
    """How many seconds the first program may take: at an edge, where many loops never end, not as many."""
    return pair.patience if draw.edge == "step" else min(pair.patience, max(_AT_EDGES, _AS_LONG * pair.usual))


def _describe_raised(error: BaseException, program: Program) -> Raised:
    return Raised(places.headline(error), isinstance(error, TimeoutError), check_of(error, program.file))


def _limit(pair: Pair, program: Program, draws: Sequence[Draw], options: Options) -> Iterator[tuple[Step, Result]]:
    """A program's steps; one that takes too long raises `TimeoutError`: a loop that waits for a NaN to become small never ends."""
    running = pair.backend.run(program, [_copy(draw.values) for draw in draws], options)
    context = contextvars.copy_context()  # what one program sets in it is not there for the next
    context.run(np.seterr, all="ignore")
    while True:
        with alarm(pair.patience), listening() as heard:
            told = context.run(next, running, None)
        if told is None:
            return
        step, result = told
        if pair.mode == "eager":
            result = result._replace(effects={**result.effects, **heard.effects()})
        yield step, result


def _copy(values: Values) -> Values:
    """Values of their own: a tensor may share its memory with the array that it was made from, and be changed in place."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def _moves_apart(values: Values, rng: np.random.Generator) -> Iterator[Values]:
    """The same values, the floats of one argument up or down by one unit in the last place: what two of them move may cancel out."""
    names = [name for name, value in values.items() if is_floating(value)]
    moved = _move(values, rng, (-1, 1))
    for turn in names[:_MOST_TURNS]:
        yield {**values, turn: moved[turn]}


def _moves(values: Values, rng: np.random.Generator) -> Iterator[Values]:
    """The same values, all floats up or down by one unit in the last place; then all up, which moves a sum by a unit of its own."""
    for ways in (*[(-1, 1)] * _MOVES, (1,)):
        yield _move(values, rng, ways)


def _move(values: Values, rng: np.random.Generator, ways: Sequence[int]) -> Values:
    def move_one(value: Any) -> Any:
        if not is_floating(value):
            return value
        unit = 2**-8 if value.dtype.name == "bfloat16" else float(np.finfo(value.dtype).eps)
        wide = value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
        with np.errstate(all="ignore"):
            return (wide * (1 + unit * rng.choice(ways, value.shape))).astype(value.dtype)

    return {name: move_one(value) for name, value in values.items()}


def _widen(value: Any) -> Any:
    """A float array in a wider dtype; anything else as it is."""
    if not is_floating(value) or value.dtype.itemsize >= _DOUBLE * (2 if value.dtype.kind == "c" else 1):
        return value
    if value.dtype.kind == "c":
        return value.astype(np.complex128)
    return value.astype(np.float64 if value.dtype == np.float32 else np.float32)


def _find_stiff(draws: Sequence[Draw], outcomes: Outcomes) -> set[str]:
    """The kinds of draws of another dtype for which the first program gives float32 all the same: it was not written for them."""
    own = [one for n, one in outcomes.items() if isinstance(one, Result) and draws[n].edge == "step"]
    if not own:
        return set()
    kinds = [kind for kind, _ in own[0].outputs.leaves]
    found = set()
    for index, one in outcomes.items():
        if draws[index].edge in DTYPE_KINDS and isinstance(one, Result):
            other = [kind for kind, _ in one.outputs.leaves]
            if len(kinds) != len(other) or any(a == b == "float32" for a, b in zip(kinds, other, strict=True)):
                found.add(draws[index].edge)
    return found


def _find_scales(draws: Sequence[Draw], outcomes: Outcomes) -> list[float]:
    found: list[float] = []
    for index, one in outcomes.items():
        if draws[index].edge == "step" and isinstance(one, Result):
            own = [largest_of(leaf) for leaf in one.outputs.leaves]
            found = list(map(max, found, own)) if len(found) == len(own) else own
    return found


def _find_chosen(draws: Sequence[Draw], outcomes: Outcomes) -> set[int]:
    """The positions of results that the first program chooses from its inputs on all ordinary draws: zeros keep their signs there."""
    chosen: set[int] | None = None
    for index, one in outcomes.items():
        if draws[index].edge == "step" and isinstance(one, Result):
            arrays = [value for value in draws[index].values.values() if is_floating(value)]
            own = {n for n, leaf in enumerate(one.outputs.leaves) if is_chosen_from(leaf, arrays)}
            chosen = own if chosen is None else chosen & own
    return chosen or set()


def _contents(result: Result) -> dict[str, Content]:
    return {"values": result.outputs, "gradients": Content(result.gradients), **result.effects}


def _has_ties(values: Values) -> bool:
    """Return whether elements of an argument are equal: which of them an order puts first, and gives the gradient, is anyone's choice."""
    return any(np.unique(value).size < value.size for value in values.values() if is_floating(value))


def _noise_of(
    first: Outcome, apart: Sequence[Outcome], joint: Sequence[Outcome], values: Values
) -> Mapping[str, Noise]:
    """How far what a call computed and left behind moved in other runs, by respect; nothing where one of them raised."""
    if isinstance(first, Raised):
        return {}
    dtypes = [value.dtype.name for value in values.values() if is_floating(value)]
    runs = [[_contents(one) for one in some if isinstance(one, Result)] for some in (apart, joint)]
    found = {}
    for name, content in _contents(first).items():
        if name not in ("random", "layout", "settings"):
            moved = [[one[name].leaves for one in some if name in one] for some in runs]
            found[name] = movement(content.leaves, moved[0], moved[1], size_of(values), dtypes)
    return found


def _differences(
    pair: Pair,
    before: Result,
    after: Outcome,
    draw: Draw,
    chosen: Collection[int],
    moved: Callable[[], Mapping[str, Noise]],
) -> Iterator[Difference]:
    """In what two outcomes differ. `chosen` are the positions of results whose zeros have signs however few elements they have."""
    if isinstance(after, Raised):
        yield Difference(draw, "values", f"raises {after.what}")
        return
    respects = {name: (content, after.effects.get(name, Content())) for name, content in before.effects.items()}
    respects = {"values": (before.outputs, after.outputs), **respects}
    respects.pop("layout", None)
    if draw.edge in DTYPE_KINDS:  # as many digits as a dtype has are printed
        respects = {
            name: both for name, both in respects.items() if name not in ("printed", "standard error", "logged")
        }
    # What is the same to the last bit in the dtype that a program is written for is rounded in others.
    signs = "signs" not in pair.unlike
    terms = max((value.size for value in draw.values.values() if is_floating(value)), default=0)
    exact = pair.exact and draw.edge not in DTYPE_KINDS and not draw.setting.autocast
    for respect, (one, other) in respects.items():
        own = chosen if respect == "values" else ()
        if respect not in pair.unlike and (why := _unlike(respect, one, other, exact, signs, terms, own, moved)):
            yield Difference(draw, respect, why)
    if (
        "gradients" not in pair.unlike
        and draw.edge not in WITHOUT_GRADIENTS
        and (why := _unlike_gradients(before, after, exact, moved))
    ):
        yield Difference(draw, "gradients", why)
    if "layout" in before.effects and "layout" not in pair.unlike:
        pairs = layout.Layouts(before.effects["layout"], after.effects.get("layout", Content()))
        if why := layout.worse(pairs):
            yield Difference(draw, "layout", why)


def _unlike(
    respect: str,
    one: Content,
    other: Content,
    exact: bool,
    signs: bool,
    terms: int,
    chosen: Collection[int],
    moved: Callable[[], Mapping[str, Noise]],
) -> str:
    """Why two contents are not the same. How far results move by themselves is asked only where they are not at first sight."""
    why = differ(one, other, exact=exact, signs=signs, terms=terms, chosen=chosen)
    if not why or exact:
        return why
    return differ(one, other, noise=moved().get(respect), signs=signs, terms=terms, chosen=chosen)


def _unlike_gradients(before: Result, after: Result, exact: bool, moved: Callable[[], Mapping[str, Noise]]) -> str:
    if before.refused:
        return ""
    if after.refused:
        return f"some against none: {after.refused}"
    lost = [n for n in before.ends if n not in after.ends] if before.traced else []
    if lost and len(before.outputs.paths) > lost[0]:
        path = before.outputs.paths[lost[0]].lstrip(".")
        return f"{path or 'the result'} took part in training, and does so no more"
    one, other = before.gradients, after.gradients
    why = difference(one, other, exact=exact, signs=False)
    if why and not exact:
        why = difference(one, other, noise=moved().get("gradients"), signs=False)
    new = [n for n in after.ends if n not in before.ends] if before.traced else []
    if why and new and len(before.outputs.paths) > new[0]:
        path = before.outputs.paths[new[0]].lstrip(".")
        return f"{path or 'the result'} had none, and now takes part in training: {why}"
    return why


def _refute(comparison: _Comparison, first: Difference) -> Verdict:
    """The verdict with the smallest inputs found that show a difference by themselves; where only a sequence of calls shows it, the
    reason says so.
    """
    pair, specs, name, gradients = comparison.pair, comparison.specs, comparison.name, comparison.gradients

    def alone(draw: Draw) -> Difference | None:
        before = _outcomes(pair, pair.before, [draw], [[0]], gradients)[0]
        if isinstance(before, Raised):
            return None
        after = _outcomes(pair, pair.after, [draw], [[0]], gradients, like={0: before})[0]
        fresh = _Comparison(pair, specs, name)
        fresh.gradients, fresh.draws, fresh._scales = gradients, [draw], comparison._scales
        fresh._systematic = comparison._systematic
        differing, _ = fresh._find_differences({0: before}, {0: after})
        return differing[0] if differing else None

    shown = alone(first.draw)
    if shown is None:
        reason = f"{first.respect}: {first.why}, after {first.draw.number + 1} calls that keep something from one to the next"
        return Verdict("refuted", reason, text_of(pair.backend.name, name, specs, first.draw))
    for candidate in _smaller(specs, first.draw):
        if (smaller := alone(candidate)) is not None:
            shown = smaller
            break
    for decimals in (0, 1, 2):
        if (rounder := alone(shown.draw._replace(values=_round_all(shown.draw.values, decimals)))) is not None:
            shown = rounder
            break
    told = ", ".join(filter(None, ("" if shown.draw.edge == "step" else shown.draw.edge, shown.draw.setting.text)))
    text = text_of(pair.backend.name, name, specs, shown.draw)
    return Verdict("refuted", f"{shown.respect}: {shown.why}{f' ({told})' if told else ''}", text)


def _smaller(specs: Specs, draw: Draw) -> Iterator[Draw]:
    """Draws of the same edge with fewer elements along the first dimension, fewest first."""
    known = size_of(draw.values)
    for size in (1, 2, 3):
        for edge, values in basic_edges(resize(specs, size)):
            if edge == draw.edge and size_of(values) < known:
                yield Draw(edge, -1, values, draw.setting)


def _round_all(values: Values, decimals: int) -> Values:
    def round_one(value: Any) -> Any:
        floating = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        return np.asarray(np.round(value, decimals)) if floating else value

    return {name: round_one(value) for name, value in values.items()}
