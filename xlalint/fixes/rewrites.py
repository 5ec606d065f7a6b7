"""The registry: which rule's findings can be rewritten, and by what.

A rewriter is a pure function from a `Site` to what it makes of it: guard clauses that return a `Reason` come first. The first that gives a
`Rewrite` wins; what the first that knew the form said is the reason else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from xlalint.checks.finding import Edit, Fix
from xlalint.fixes import (
    assertions,
    at_update,
    batches,
    booleans,
    bounded_loops,
    branches,
    breaks,
    comparisons,
    compile_flags,
    conds,
    continues,
    copies,
    counts,
    cpu_fallbacks,
    cuda_calls,
    distinct,
    donation,
    dtypes,
    dynamic_ops,
    early_ends,
    early_returns,
    exits,
    experts,
    extrema,
    gathers,
    graph_loops,
    guards,
    hoisting,
    host_cuts,
    last_rows,
    late,
    losses,
    mask_assignment,
    masked_reductions,
    membership,
    moving,
    obsolete,
    positions,
    precision,
    prefixes,
    prints,
    reads,
    scalar_index,
    selected_counts,
    sharing,
    sizes,
    slices,
    static_arguments,
    stepping,
    strategy_scopes,
    tensor_arrays,
    tensorflow_loops,
    ternaries,
    tpu_paths,
    tpu_steps,
    trainer_options,
    unconverted,
    unused_suppression,
    validators,
)
from xlalint.fixes.dataflow import touches
from xlalint.fixes.model import Outcome, Reason, Rewrite, Rewriter, Site
from xlalint.fixes.scene import Document, Replacement, Scene
from xlalint.semantics.hazard import Hazard
from xlalint.source.unused import Unused

# Of comments, which are in no syntax tree, a rewrite gets the directive as it was read, with its extent.
COMMENT_REWRITES: Mapping[str, Callable[[Unused], Outcome]] = {"XLA003": unused_suppression.rewrite}

REWRITES: Mapping[str, tuple[Rewriter, ...]] = {
    "XLA101": (
        guards.unguarded,
        guards.kept_mask,
        guards.returned_mask,
        assertions.told,
        conds.rewrite,
        branches.rewrite,
        early_returns.rewrite,
        breaks.dropped,
        continues.skipped,
        early_ends.ended,
        exits.left_alone,
    ),
    "XLA102": (
        bounded_loops.counted,
        tensorflow_loops.conditional,
        early_ends.ended,
        graph_loops.conditional,
        graph_loops.conditional_elsewhere,
    ),
    "XLA103": (assertions.asynchronous, assertions.removed),
    "XLA104": (booleans.chained_comparison, booleans.bool_operator),
    "XLA105": (ternaries.rewrite, ternaries.filtered_sum),
    "XLA106": (
        extrema.extremum,
        membership.contained,
        membership.any_or_all,
        membership.in_order,
        membership.other,
    ),
    "XLA107": (graph_loops.counted, graph_loops.counted_elsewhere),
    "XLA108": (unconverted.branch_mismatch,),
    "XLA109": (unconverted.iteration,),
    "XLA201": (
        last_rows.last_of_each_row,
        losses.cross_entropy,
        masked_reductions.reduction,
        masked_reductions.named,
        selected_counts.counted,
        masked_reductions.kept,
    ),
    "XLA202": (
        experts.dense_experts,
        positions.picked,
        positions.first,
        counts.counted,
        positions.sized,
        positions.kept,
    ),
    "XLA203": (distinct.counted, distinct.sized, distinct.kept),
    "XLA204": (
        losses.cross_entropy,
        masked_reductions.reduction,
        masked_reductions.named,
        selected_counts.counted,
        masked_reductions.kept,
    ),
    "XLA205": (mask_assignment.assignment, mask_assignment.augmented, at_update.update),
    "XLA206": (
        prefixes.prefix_loop,
        slices.filled,
        slices.window,
        slices.reduced,
        host_cuts.copied,
        slices.other,
    ),
    "XLA207": (sizes.named, sizes.unknown),
    "XLA208": (
        gathers.gathered,
        scalar_index.scalar_index,
    ),
    "XLA209": (dynamic_ops.kept,),
    "XLA210": (tensor_arrays.counted,),
    "XLA301": (gathers.gathered, reads.number, reads.wanted_number, prints.read_closure),
    "XLA302": (
        gathers.gathered,
        host_cuts.told,
        copies.numpy_function,
        copies.listed,
        copies.there_and_back,
        copies.kept,
        copies.other,
    ),
    "XLA303": (prints.debug_print, prints.step_closure, prints.in_graph),
    "XLA304": (comparisons.whole_comparison,),
    "XLA306": (prints.debug_print, prints.in_graph, prints.once),
    "XLA401": (batches.padded,),
    "XLA402": (batches.dropped,),
    "XLA404": (hoisting.hoisted,),
    "XLA405": (static_arguments.stable,),
    "XLA501": (compile_flags.jit_compile,),
    "XLA502": (strategy_scopes.scoped,),
    "XLA503": (tpu_steps.renamed, tpu_steps.local, tpu_steps.initialised),
    "XLA504": (tpu_paths.by_this_machine,),
    "XLA506": (precision.bfloat16,),
    "XLA507": (obsolete.no_downcast,),
    "XLA508": (sharing.outside,),
    "XLA510": (trainer_options.repaired,),
    "XLA511": (stepping.ordered, stepping.with_barrier, stepping.reduced),
    "XLA512": (obsolete.renamed, obsolete.all_devices),
    "XLA513": (cuda_calls.moved, cuda_calls.autocast, cuda_calls.unpinned),
    "XLA515": (tpu_steps.graphed,),
    "XLA516": (late.updated,),
    "XLA517": (donation.given_away,),
    "XLA518": (donation.donated,),
    "XLA519": (moving.behind,),
    "XLA603": (dtypes.narrowed,),
    "XLA602": (cpu_fallbacks.on_device,),
}

# Tried first, whatever the rule.
ANYWHERE: tuple[Rewriter, ...] = (validators.unchecked,)

_UNKNOWN_FORM = Reason("no rewrite of xlalint's knows this form; `help` says what a person would do")


def outcome_of(hazard: Hazard, document: Document, target: str) -> Outcome:
    """The fix of a finding, or why there is none."""
    scene = document.scene(hazard.start)
    node = scene.find(hazard.start, hazard.end) if scene is not None else None
    if scene is None or node is None:
        return _UNKNOWN_FORM
    made = _made(Site(hazard, node, scene, target))
    return made if isinstance(made, Reason) else _fix(made, scene)


def _made(site: Site) -> Rewrite | Reason:
    """What the first rewriter that can makes of a site."""
    first: Reason | None = None
    for rewriter in (*ANYWHERE, *REWRITES.get(site.hazard.rule, ())):
        site.scene.begin()
        made = rewriter(site)
        if isinstance(made, Rewrite):
            return made
        first = first or made
    return first or _UNKNOWN_FORM


def _fix(made: Rewrite, scene: Scene) -> Fix:
    document = scene.document
    edits = [
        Edit(text.replace("\n", document.newline), document.place(start), document.place(end))
        for start, end, text in _joined(made.replacements)
    ]
    message = f"{made.message} (assumes that {made.assumes})" if made.assumes else made.message
    return Fix("unsafe" if made.assumes else "safe", message, tuple(edits), touches(scene, made.replacements))


def _joined(replacements: Iterable[Replacement]) -> list[Replacement]:
    """Replacements in order; what is inserted where another begins is made one with it."""
    joined: list[Replacement] = []
    for one in sorted(replacements):
        if joined and joined[-1].start == joined[-1].end == one.start:
            one = Replacement(one.start, one.end, joined.pop().text + one.text)
        joined.append(one)
    return joined
