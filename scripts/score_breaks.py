#!/usr/bin/env python3
"""How many breaks of torch.compile's graphs do the fixes take away?

Models of transformers are built with tiny configurations and random weights, and `torch._dynamo.explain` counts the breaks of one
forward call in evaluation mode, before and after `xlalint check --target torch_compile --fix --unsafe-fixes` changed a copy of the package.
The outputs before and after are compared. GraphMend (arXiv 2509.16248) counts in the same way; which models it took could not be had, so
these are architectures of a release of that time, the first eight being ones whose graphs are known to break.

usage: score_breaks.py FOLDER [--models T5,BioGpt] [--xlalint CMD] [--keep FIXED] [--json FILE]

FOLDER holds `transformers/`. That release, in an environment that its own versions of tokenizers and huggingface_hub suit:

    pip download --no-deps transformers==4.55.4 && python -m zipfile -e transformers-4.55.4-py3-none-any.whl FOLDER
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from fixed_models import environment_of, fix_copy

LIMIT = 240  # seconds for one model
HELPERS = (
    "transformers/modeling_rope_utils.py",
    "transformers/modeling_attn_mask_utils.py",
    "transformers/cache_utils.py",
)
SMALL: dict[str, Any] = {
    "vocab_size": 128,
    "hidden_size": 32,
    "d_model": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_layers": 2,
    "num_attention_heads": 4,
    "num_heads": 4,
    "d_kv": 8,
    "d_ff": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
}
LONG_ROPE = {"type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
SPEECH = {"conv_dim": (32, 32), "conv_kernel": (10, 3), "conv_stride": (5, 2), "num_conv_pos_embeddings": 16}
KNOWN: dict[str, dict[str, Any]] = {
    "BioGptForCausalLM": {},
    "BlenderbotForConditionalGeneration": {},
    "T5ForConditionalGeneration": {},
    "LongformerModel": {"attention_window": 8},
    "Phi3ForCausalLM": {"rope_scaling": LONG_ROPE, "original_max_position_embeddings": 8, "pad_token_id": 0},
    "PegasusForCausalLM": {},
}
FURTHER: dict[str, dict[str, Any]] = {
    "BartForConditionalGeneration": {},
    "MBartForConditionalGeneration": {},
    "PegasusXForConditionalGeneration": {"block_size": 8, "stagger_local_blocks": False},
    "BlenderbotSmallForConditionalGeneration": {},
    "M2M100ForConditionalGeneration": {},
    "MarianMTModel": {"pad_token_id": 0, "decoder_start_token_id": 0},
    "LEDForConditionalGeneration": {"attention_window": [8, 8]},
    "LongT5ForConditionalGeneration": {},
    "UMT5ForConditionalGeneration": {},
    "SwitchTransformersForConditionalGeneration": {"num_experts": 4, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1},
    "NllbMoeForConditionalGeneration": {"num_experts": 4, "encoder_sparse_step": 1, "decoder_sparse_step": 1},
    "FSMTForConditionalGeneration": {"langs": ["en", "de"], "src_vocab_size": 128, "tgt_vocab_size": 128},
    "ProphetNetForConditionalGeneration": {
        "num_hidden_layers": None,
        "num_encoder_layers": 2,
        "num_decoder_layers": 2,
        "num_encoder_attention_heads": 4,
        "num_decoder_attention_heads": 4,
    },
    "OPTForCausalLM": {"ffn_dim": 64, "word_embed_proj_dim": 32},
    "XGLMForCausalLM": {"ffn_dim": 64, "attention_heads": 4},
    "BloomForCausalLM": {"n_layer": 2, "n_head": 4},
    "GPT2ForSequenceClassification": {"n_layer": 2, "n_head": 4, "n_embd": 32, "pad_token_id": 0},
    "GPTNeoForCausalLM": {"attention_types": [[["global", "local"], 1]]},
    "FalconForCausalLM": {},
    "LlamaForSequenceClassification": {"pad_token_id": 0},
    "MixtralForCausalLM": {"num_key_value_heads": 2, "num_local_experts": 4},
    "Qwen2MoeForCausalLM": {"num_key_value_heads": 2, "num_experts": 4, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32},
    "OlmoeForCausalLM": {"num_key_value_heads": 2, "num_experts": 4, "num_experts_per_tok": 2},
    "PhimoeForCausalLM": {"num_key_value_heads": 2, "num_local_experts": 4},
    "DeepseekV3ForCausalLM": {
        "moe_intermediate_size": 32,
        "n_routed_experts": 4,
        "n_group": 2,
        "topk_group": 1,
        "num_experts_per_tok": 2,
        "kv_lora_rank": 8,
        "q_lora_rank": 8,
        "qk_rope_head_dim": 8,
        "v_head_dim": 8,
        "qk_nope_head_dim": 8,
        "first_k_dense_replace": 1,
        "pad_token_id": 0,
    },
    "Gemma2ForCausalLM": {"head_dim": 8, "num_key_value_heads": 2},
    "BertForMaskedLM": {},
    "ElectraForPreTraining": {"embedding_size": 32},
    "DebertaV2Model": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "BigBirdModel": {"block_size": 2, "num_random_blocks": 1, "max_position_embeddings": 64},
    "FunnelModel": {"num_hidden_layers": None, "block_sizes": [1, 1], "d_head": 8, "n_head": 4, "d_inner": 64},
    "XLNetModel": {"n_layer": 2, "n_head": 4, "d_inner": 64},
    "XLMModel": {"n_layers": 2, "n_heads": 4, "emb_dim": 32, "n_words": 128},
    "ConvBertModel": {"embedding_size": 32},
    "CanineModel": {"num_hash_buckets": 64, "local_transformer_stride": 8},
    "TapasModel": {},
    "SplinterForQuestionAnswering": {"question_token_id": 7},
    "Wav2Vec2Model": SPEECH,
    "WavLMModel": SPEECH,
    "SEWDModel": {**SPEECH, "squeeze_factor": 1},
    "ViltModel": {"image_size": 32, "patch_size": 8},
}  # fmt: skip


# ------------------------------------------------------------------------------------------------ in the child


def make_inputs(model: Any) -> dict[str, Any]:
    """Arguments of one call: two texts of which one is padded, or sound."""
    import torch

    ids = torch.randint(5, 90, (2, 32))
    mask = torch.ones_like(ids)
    mask[1, 24:] = 0
    ids[mask == 0] = model.config.pad_token_id or 0
    ids[:, 3] = 7
    if model.main_input_name == "input_values":
        return {"input_values": torch.randn(2, 800)}
    inputs = {"input_ids": ids, "attention_mask": mask}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.randint(5, 90, (2, 8))
    if type(model).__name__.startswith("Vilt"):
        inputs |= {"pixel_values": torch.randn(2, 3, 32, 32)}
    return inputs


def flatten(value: Any) -> list[Any]:
    """All tensors of a result, in order."""
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for one in inner for tensor in flatten(one)]


def explain(name: str, settings: dict[str, Any], out: Path) -> dict[str, Any]:
    """Breaks of one model's graph with their places; its outputs go to a file."""
    import torch
    import transformers

    model_class = getattr(transformers, name)
    torch.manual_seed(0)
    chosen = {key: value for key, value in {**SMALL, **settings}.items() if value is not None}
    config = model_class.config_class(**chosen)
    model = model_class(config).eval()
    inputs = make_inputs(model)
    with torch.no_grad():
        torch.save(flatten(model(**inputs)), out)
        torch._dynamo.config.recompile_limit = 64
        told = torch._dynamo.explain(model)(**inputs)
    root = str(Path(transformers.__file__).parents[1])
    places = []
    for reason in told.break_reasons:
        frames = [frame for frame in reason.user_stack if frame.filename.startswith(root)] or reason.user_stack
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        places.append([place, reason.reason.split("\n")[0][:80], frames[-1].line if frames else ""])
    return {"breaks": told.graph_break_count, "places": places}


def serve(names: list[str], outputs: Path) -> None:
    """Fork for each model, so that each starts from the same imports; print one line of JSON for each."""
    import torch
    import torch._dynamo
    import transformers

    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    for name in names:
        answer = outputs / f"{name}.json"
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            signal.alarm(LIMIT)
            try:
                result = explain(name, {**KNOWN, **FURTHER}[name], outputs / f"{name}.pt")
            except Exception as e:  # noqa: BLE001 (any failure of a model is its answer)
                result = {"error": f"{type(e).__name__}: {' '.join(str(e).split())[:160]}"}
            answer.write_text(json.dumps(result))
            os._exit(0)
        os.waitpid(pid, 0)
        told = json.loads(answer.read_text()) if answer.exists() else {"error": "did not end"}
        print(json.dumps({"name": name, **told}), flush=True)


# ------------------------------------------------------------------------------------------------ in the parent


def run(tree: Path, names: list[str], outputs: Path) -> dict[str, dict[str, Any]]:
    """What `serve` says of each model with this copy of the package."""
    outputs.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-W", "ignore", __file__, "--serve", str(outputs), "--models", ",".join(names)]
    done = subprocess.run(command, env=environment_of(tree, USE_TORCH_XLA="0"), stdout=subprocess.PIPE, text=True)
    return {
        one["name"]: one for one in map(json.loads, filter(lambda line: line.startswith("{"), done.stdout.splitlines()))
    }


def agree(name: str, before: Path, after: Path) -> str:
    """How far two outputs of a model are apart."""
    import torch

    old, new = (torch.load(folder / f"{name}.pt") for folder in (before, after))
    if len(old) != len(new) or any(a.shape != b.shape or a.dtype != b.dtype for a, b in zip(old, new, strict=True)):
        return "other shapes"
    gap = max(
        (float((a.double() - b.double()).abs().max()) for a, b in zip(old, new, strict=True) if a.numel()), default=0.0
    )
    return "same" if gap == 0 else f"{gap:.0e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="holds transformers/")
    parser.add_argument("--models", default="", help="only classes whose names begin with one of these")
    parser.add_argument("--xlalint", default=f"{sys.executable} -m xlalint", help="command to run")
    parser.add_argument("--keep", type=Path, help="folder for the fixed copy and the outputs")
    parser.add_argument("--json", type=Path, help="write all that was seen to this file")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    wanted = tuple(args.models.split(","))
    names = [name for name in {**KNOWN, **FURTHER} if name.startswith(wanted)]
    if args.serve:
        return serve(names, args.serve)
    with tempfile.TemporaryDirectory() as temporary:
        work = (args.keep or Path(temporary)).resolve()
        before = run(args.folder.resolve(), names, work / "outputs" / "before")
        broken = [name for name in names if before.get(name, {}).get("breaks")]
        options = ("--target", "torch_compile")
        fix_copy(args.folder.resolve(), broken, args.xlalint, work / "fixed", options, HELPERS)
        after = run(work / "fixed", broken, work / "outputs" / "after")
        report(names, before, after, work)
    if args.json:
        args.json.write_text(json.dumps({"before": before, "after": after}, indent=1))
    return None


def report(names: list[str], before: dict[str, Any], after: dict[str, Any], work: Path) -> None:
    """Print a row for each model whose graph broke, sums, and the breaks that are left."""
    left: Counter[str] = Counter()
    for group, title in ((KNOWN, "known to break"), (FURTHER, "further")):
        members = [name for name in names if name in group]
        built = [name for name in members if "breaks" in before.get(name, {})]
        rows = [name for name in built if before[name]["breaks"]]
        for name in rows:
            told = after.get(name, {"error": "not run"})
            same = agree(name, work / "outputs/before", work / "outputs/after") if "breaks" in told else told["error"]
            print(f"{name:44} {before[name]['breaks']:3} -> {told.get('breaks', '?'):>3}   {same}")
            left.update(f"{place} {reason}" for place, reason, _ in told.get("places", ()))
        old, new = (
            sum(told.get(name, before[name]).get("breaks", before[name]["breaks"]) for name in rows)
            for told in (before, after)
        )
        none = sum(after.get(name, {}).get("breaks") == 0 for name in rows)
        print(
            f"{title}: {len(built)} models built, {len(rows)} break; breaks {old} -> {new}; {none} models break no more\n"
        )
        for name in set(members) - set(built):
            print(f"  not built: {name}: {before.get(name, {}).get('error')}")
    for place, count in left.most_common(40):
        print(f"{count:4} {place}")


if __name__ == "__main__":
    main()
