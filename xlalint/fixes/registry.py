"""The registry: which rule's findings can be rewritten, and by what.

A rewriter is a pure function from a `Site` to what it makes of it: guard clauses that return a `NoFix` come first. The first that gives a
`Rewrite` wins; what the first that knew the form said is the reason else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from xlalint.analysis.hazard import Hazard
from xlalint.diagnostics.finding import Edit, Fix
from xlalint.fixes import unused_suppression
from xlalint.fixes.config import (
    compiled_optimizer,
    cuda_on_xla,
    device_loader,
    donation,
    fp16_on_tpu,
    gpu_tensor_types,
    jit_compile_on_tpu,
    late_configuration,
    local_path_on_tpu,
    missing_step_barrier,
    model_inside_launcher,
    obsolete_xla_api,
    optimizer_before_device,
    outside_strategy_scope,
    torch_tpu_api,
    torch_xla_on_tpu,
    tpu_compile_option,
    tpu_device_index,
    tpu_initialisation,
    tpu_tensor_to_numpy,
    trainer_xla_options,
)
from xlalint.fixes.control_flow import (
    assertions,
    bounded_loops,
    branches,
    breaks,
    conds,
    continues,
    early_ends,
    early_returns,
    exits,
    extrema,
    fills,
    graph_loops,
    guards,
    kept_values,
    membership,
    shortcuts,
    tensor_bool_operator,
    tensor_ternary,
    tensorflow_loops,
    unconverted,
    validators,
)
from xlalint.fixes.dynamic_shape import (
    at_update,
    counts,
    ctc,
    dynamic_op,
    dynamic_tensorarray,
    elementwise_losses,
    experts,
    host_cuts,
    implicit_size,
    last_rows,
    losses,
    mask_assignment,
    masked_comparisons,
    masked_reductions,
    masked_rows,
    positions,
    prefixes,
    rolls,
    row_sizes,
    row_statistics,
    scalar_index,
    selected_counts,
    slices,
    stacks,
    unique,
)
from xlalint.fixes.graph_break import reports
from xlalint.fixes.host_sync import (
    copies,
    gathers,
    host_compare,
    islands,
    lazy_messages,
    prints,
    reads,
    sync_in_library,
)
from xlalint.fixes.model import FixResult, NoFix, Rewrite, Rewriter, Site, words_of
from xlalint.fixes.recompile import batches, jit_per_call, unstable_static_argument
from xlalint.fixes.toolkit.dataflow import touches
from xlalint.fixes.toolkit.function_source import Document, Exhausted, FunctionSource, Replacement
from xlalint.fixes.toolkit.worth import keep_comments, mark_guess, refusal
from xlalint.fixes.unsupported import cpu_fallback, host_tensor_in_graph, unsupported_dtype
from xlalint.rules.variants import DRAWN, HOST_ARRAY
from xlalint.source.unused import Unused

# Of comments, which are in no syntax tree, a rewrite gets the directive as it was read, with its extent.
COMMENT_REWRITES: Mapping[str, Callable[[Unused], FixResult]] = {"XLA003": unused_suppression.rewrite}

REWRITES: Mapping[str, tuple[Rewriter, ...]] = {
    "XLA101": (
        guards.remove_guard,
        shortcuts.kept_mask,
        shortcuts.returned_mask,
        shortcuts.take_general_path,
        assertions.drop_report,
        fills.fill_where_both,
        kept_values.choose_kept,
        conds.rewrite,
        branches.rewrite,
        early_returns.rewrite,
        breaks.drop_break,
        continues.mask_rest,
        early_ends.move_end_into_condition,
        exits.left_alone,
    ),
    "XLA102": (
        bounded_loops.loop_to_bound,
        tensorflow_loops.conditional,
        early_ends.move_end_into_condition,
        graph_loops.conditional,
        graph_loops.conditional_elsewhere,
    ),
    "XLA103": (assertions.asynchronous, assertions.remove_check),
    "XLA104": (
        shortcuts.take_general_path,
        tensor_bool_operator.chained_comparison,
        tensor_bool_operator.bool_operator,
    ),
    "XLA105": (shortcuts.take_general_path, tensor_ternary.rewrite, tensor_ternary.filtered_sum),
    "XLA106": (
        extrema.extremum,
        membership.compare_elements,
        membership.any_or_all,
        membership.in_order,
        membership.other,
    ),
    "XLA107": (graph_loops.use_fori_loop, graph_loops.counted_elsewhere),
    "XLA108": (unconverted.branch_mismatch,),
    "XLA109": (unconverted.iteration,),
    "XLA201": (
        last_rows.last_of_each_row,
        losses.cross_entropy,
        ctc.padded_targets,
        elementwise_losses.elementwise,
        masked_reductions.reduction,
        masked_comparisons.count_where_both,
        masked_reductions.reduce_named,
        selected_counts.count_in_mask,
        masked_rows.compute_all_rows,
        host_cuts.select_on_host,
        masked_reductions.explain_selection,
    ),
    "XLA202": (
        experts.dense_experts,
        positions.use_mask,
        positions.first,
        counts.count_in_mask,
        positions.give_size,
        positions.explain_positions,
    ),
    "XLA203": (unique.count_neighbours, unique.give_size, unique.explain_values),
    "XLA204": (
        losses.cross_entropy,
        ctc.padded_targets,
        elementwise_losses.elementwise,
        masked_reductions.reduction,
        masked_comparisons.count_where_both,
        masked_reductions.reduce_named,
        selected_counts.count_in_mask,
        masked_reductions.explain_selection,
    ),
    "XLA205": (
        masked_rows.compute_all_rows,
        mask_assignment.assignment,
        mask_assignment.rewrite_augmented,
        at_update.update,
    ),
    "XLA206": (
        prefixes.prefix_loop,
        row_statistics.pool_rows,
        slices.fill_by_mask,
        slices.window,
        slices.reduce_by_mask,
        host_cuts.copy_whole,
        row_sizes.read_once,
        rolls.roll_by_index,
        slices.other,
    ),
    "XLA207": (implicit_size.name_size, implicit_size.unknown),
    "XLA208": (
        gathers.index_all_rows,
        stacks.pick_at_once,
        scalar_index.scalar_index,
    ),
    "XLA209": (dynamic_op.explain_op,),
    "XLA210": (dynamic_tensorarray.give_size,),
    "XLA301": (gathers.index_all_rows, reads.number, reads.wanted_number, prints.read_closure),
    "XLA302": (
        gathers.index_all_rows,
        host_cuts.explain_length,
        copies.numpy_function,
        copies.keep_list_on_device,
        copies.there_and_back,
        copies.keep_on_device,
        copies.other,
    ),
    "XLA303": (reports.say_uncompiled, prints.debug_print, prints.step_closure, prints.in_graph),
    "XLA304": (host_compare.whole_comparison,),
    "XLA305": (sync_in_library.unchecked_distribution, sync_in_library.unchecked_inverse),
    "XLA306": (prints.debug_print, prints.in_graph, prints.once),
    "XLA401": (batches.pad_to_length,),
    "XLA402": (batches.drop_last_batch,),
    "XLA404": (jit_per_call.hoist,),
    "XLA405": (unstable_static_argument.stable,),
    "XLA501": (jit_compile_on_tpu.jit_compile,),
    "XLA502": (outside_strategy_scope.move_into_scope,),
    "XLA503": (tpu_initialisation.rename, tpu_initialisation.local, tpu_initialisation.insert_steps),
    "XLA504": (local_path_on_tpu.by_this_machine,),
    "XLA506": (fp16_on_tpu.name_bfloat16, fp16_on_tpu.halve, fp16_on_tpu.bfloat16),
    "XLA507": (obsolete_xla_api.no_downcast,),
    "XLA508": (model_inside_launcher.outside,),
    "XLA510": (trainer_xla_options.repair_option,),
    "XLA511": (
        missing_step_barrier.insert_sync,
        missing_step_barrier.with_barrier,
        missing_step_barrier.use_optimizer_step,
    ),
    "XLA512": (obsolete_xla_api.rename, obsolete_xla_api.all_devices),
    "XLA513": (
        cuda_on_xla.ask_accelerator,
        cuda_on_xla.ask_by_flag,
        cuda_on_xla.drop_choice,
        cuda_on_xla.use_accelerator,
        gpu_tensor_types.make_on_tpu,
        cuda_on_xla.choose_tpu,
        cuda_on_xla.name_where_assigned,
        cuda_on_xla.name_device,
        cuda_on_xla.switch_scaler_off,
        cuda_on_xla.default_backend,
        cuda_on_xla.move_to_xla,
        cuda_on_xla.autocast,
        cuda_on_xla.drop_pinning,
    ),
    "XLA515": (tpu_initialisation.decorate_step,),
    "XLA516": (late_configuration.use_config_update,),
    "XLA517": (donation.given_away,),
    "XLA518": (donation.donate,),
    "XLA519": (optimizer_before_device.behind,),
    "XLA521": (tpu_compile_option.leave_out,),
    "XLA522": (torch_tpu_api.use_accelerator,),
    "XLA523": (compiled_optimizer.count_on_device,),
    "XLA524": (tpu_device_index.own_device,),
    "XLA528": (tpu_tensor_to_numpy.copied_first,),
    "XLA527": (
        torch_xla_on_tpu.use_tpu,
        torch_xla_on_tpu.drop_barrier,
        torch_xla_on_tpu.drop_setting,
        torch_xla_on_tpu.step_optimizer,
        torch_xla_on_tpu.call_as_it_is,
        torch_xla_on_tpu.call_at_once,
        torch_xla_on_tpu.print_it,
        torch_xla_on_tpu.autocast,
        torch_xla_on_tpu.ask_environment,
        torch_xla_on_tpu.call_in_process,
        torch_xla_on_tpu.default_group,
        torch_xla_on_tpu.repeat,
        torch_xla_on_tpu.shard,
        device_loader.move_batches,
        torch_xla_on_tpu.rename,
    ),
    "XLA603": (unsupported_dtype.narrow,),
    "XLA605": (host_tensor_in_graph.make_on_device,),
    "XLA602": (cpu_fallback.on_device,),
    "XLA701": (reports.say_uncompiled,),
}

# Tried first, whatever the rule.
ANYWHERE: tuple[Rewriter, ...] = (
    validators.drop_validation,
    lazy_messages.make_when_needed,
    islands.compute_on_host,
)

_EXHAUSTED = "the function has too many findings to look for all fixes at once; apply the offered ones first"
_TOO_DEEP = NoFix("the function contains a chain of hundreds of operators or calls; split it first")
_OF_HOST = NoFix("what is drawn is no tensor: draw it outside of the compiled function, or on the device")
_OF_ARRAY = NoFix("an array of NumPy's is no tensor: make it outside of the compiled function, or of the device's")
_UNKNOWN_FORM = NoFix("xlalint has no rewrite for this form; `help` says what to do by hand")


def outcome_of(hazard: Hazard, document: Document, target: str) -> FixResult:
    """The fix of a finding, or why there is none."""
    scene = document.scene(hazard.start)
    if scene is None:
        return _TOO_DEEP
    node = scene.find(hazard.start, hazard.end)
    if node is None:
        return _UNKNOWN_FORM
    if hazard.variant == DRAWN:
        return _OF_HOST
    if hazard.variant == HOST_ARRAY:
        return _OF_ARRAY
    try:
        made = _rewrite(Site(hazard, node, scene, target))
        return made if isinstance(made, NoFix) else _fix(made, scene)
    except Exhausted:
        return NoFix(_EXHAUSTED)


def _rewrite(site: Site) -> Rewrite | NoFix:
    """Apply the rewriters of a site in order, up to the first that can rewrite it."""
    first: NoFix | None = None
    for rewriter in (*ANYWHERE, *REWRITES.get(site.hazard.rule, ())):
        site.scene.begin()
        made = rewriter(site)
        if isinstance(made, Rewrite):
            known = refusal(site, made) or mark_guess(site, made)
            if isinstance(known, Rewrite):
                return keep_comments(site, known)
            made = known
        first = first or made
    return first or _UNKNOWN_FORM


def _fix(made: Rewrite, scene: FunctionSource) -> Fix:
    document = scene.document
    edits = [
        Edit(text.replace("\n", document.newline), document.place(start), document.place(end))
        for start, end, text in _join(made.replacements)
    ]
    message = f"{made.message} (assumes that {words_of(made.assumes)})" if made.assumes else made.message
    return Fix("unsafe" if made.assumes else "safe", message, tuple(edits), touches(scene, made.replacements))


def _join(replacements: Iterable[Replacement]) -> list[Replacement]:
    """Replacements in order; what is inserted where another begins is made one with it."""
    joined: list[Replacement] = []
    for one in sorted(replacements):
        if joined and joined[-1].start == joined[-1].end == one.start:
            one = Replacement(one.start, one.end, joined.pop().text + one.text)
        joined.append(one)
    return joined
