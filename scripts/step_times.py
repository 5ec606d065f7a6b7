#!/usr/bin/env python3
"""What are the fixes worth: how long does a training step take on XLA before and after them?

Models of transformers are built with small configurations and random weights. `xlalint check --target torch_xla --fix --unsafe-fixes`
changes a copy of the package. Each model is trained for some steps by both copies on torch_xla: first on one batch again and again
(steady), then on a new batch of the same shape at each step (changing), where what depends on values is compiled again.

usage: step_times.py FOLDER [--models Qwen2Moe,MBart] [--xlalint CMD] [--keep FIXED] [--json FILE]

FOLDER holds `transformers/` (pip download --no-deps transformers==5.23.0, unpacked). The columns: milliseconds of a step, the median of
those that were steady, the mean of those whose data changed; compilations and reads by the host for each step whose data changed; and
how far the losses of the steady steps that both made are apart, relative to the largest.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fixed_models import environment_of, fix_copy

WARM, STEADY, CHANGING = 2, 6, 5
BATCH, LENGTH = 4, 32
MOST = 40  # seconds for the steps of a kind: those that are done by then count
HELPERS = ("transformers/modeling_*utils.py", "transformers/masking_utils.py", "transformers/cache_utils.py")
TEXT: dict[str, Any] = {
    "vocab_size": 1000,
    "hidden_size": 128,
    "d_model": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "num_heads": 4,
    "d_kv": 32,
    "d_ff": 256,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 256,
    "decoder_ffn_dim": 256,
    "pad_token_id": 0,
    "num_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 128,
}
SOUND: dict[str, Any] = {
    "vocab_size": 40,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "conv_dim": (32, 32, 32),
    "conv_kernel": (10, 3, 3),
    "conv_stride": (5, 4, 2),
    "num_conv_pos_embeddings": 16,
    "mask_time_prob": 0.0,
    "pad_token_id": 0,
    "layerdrop": 0.0,
}
LATENT = {
    "q_lora_rank": 32,
    "kv_lora_rank": 32,
    "qk_rope_head_dim": 16,
    "v_head_dim": 32,
    "qk_nope_head_dim": 16,
    "num_key_value_heads": 4,
}
MODELS: dict[str, dict[str, Any]] = {
    "MBartForConditionalGeneration": TEXT,
    "BlenderbotForConditionalGeneration": TEXT,
    "ElectraForPreTraining": {**TEXT, "embedding_size": 128},
    "LlamaForCausalLM": TEXT,
    "WavLMForCTC": SOUND,
    "Data2VecAudioForCTC": {**SOUND, "conv_pos_kernel_size": 5, "num_conv_pos_embeddings": 2},
    "Qwen2MoeForCausalLM": {**TEXT, "shared_expert_intermediate_size": 128},
    "GptOssForCausalLM": TEXT,
    "Lfm2MoeForCausalLM": {**TEXT, "num_dense_layers": 1, "layer_types": ["conv", "full_attention"]},
    "DeepseekV3ForCausalLM": {
        **TEXT,
        **LATENT,
        "n_routed_experts": 4,
        "n_group": 2,
        "topk_group": 1,
        "first_k_dense_replace": 1,
    },
}


# ------------------------------------------------------------------------------------------------ in the child


def batches(model: Any) -> Iterator[dict[str, Any]]:
    """Batches of one shape: padded texts, or padded sound with its words."""
    import torch

    random = torch.Generator().manual_seed(1)
    speech = model.main_input_name == "input_values"
    while True:
        ids = torch.randint(3, 40 if speech else 1000, (BATCH, 12 if speech else LENGTH), generator=random)
        lengths = torch.randint(ids.shape[1] // 2, ids.shape[1] + 1, (BATCH, 1), generator=random)
        mask = (torch.arange(ids.shape[1]) < lengths).long()
        labels = ids.masked_fill(mask == 0, -100)
        if type(model).__name__ == "ElectraForPreTraining":
            labels = torch.randint(0, 2, ids.shape, generator=random)
        if speech:
            yield {"input_values": torch.randn(BATCH, 4000, generator=random), "labels": labels}
        else:
            yield {"input_ids": ids.masked_fill(mask == 0, 0), "attention_mask": mask, "labels": labels}


def repeat(times: int, step: Callable[[], float]) -> list[float]:
    """What some steps give, as many as fit into the time."""
    found: list[float] = []
    start = time.perf_counter()
    while len(found) < times and (not found or time.perf_counter() - start < MOST):
        found.append(step())
    return found


def measure(name: str) -> dict[str, Any]:
    """Times, compilations and losses of one model with the transformers on the path."""
    import torch
    import torch_xla
    import torch_xla.debug.metrics as metrics
    import transformers

    model_class = getattr(transformers, name)
    torch.manual_seed(0)
    model = model_class(model_class.config_class(**MODELS[name])).train()
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")  # the others have no kernel on XLA
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    device = torch_xla.device()
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses: list[float] = []

    def step(batch: dict[str, Any]) -> float:
        start = time.perf_counter()
        loss = model(**{key: value.to(device) for key, value in batch.items()}).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        losses.append(float(loss.detach().cpu()))
        return time.perf_counter() - start

    def count() -> tuple[int, int]:
        compiled = metrics.metric_data("CompileTime")
        fetched = metrics.metric_data("TransferFromDeviceTime")
        return (compiled[0] if compiled else 0), (fetched[0] if fetched else 0)

    source = batches(model)
    same = next(source)
    for _ in range(WARM):
        step(same)
    steady = repeat(STEADY, lambda: step(same))
    told = list(losses)
    before = count()
    changing = repeat(CHANGING, lambda: step(next(source)))
    compiled, fetched = (after - old for after, old in zip(count(), before, strict=True))
    return {
        "steady": 1000 * statistics.median(steady),
        "changing": 1000 * statistics.mean(changing),
        "compiled": compiled / len(changing),
        "read": fetched / len(changing) - 1,  # the loss itself
        "losses": told,
    }


# ------------------------------------------------------------------------------------------------ in the parent


def run(tree: Path, name: str) -> dict[str, Any]:
    """What `measure` says of a model with this copy of the package, in a process of its own."""
    command = [sys.executable, "-W", "ignore", __file__, "--measure", name]
    done = subprocess.run(command, env=environment_of(tree, PJRT_DEVICE="CPU"), capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return (
        json.loads(lines[-1])
        if lines
        else {"error": done.stderr.strip().splitlines()[-1][:150] if done.stderr.strip() else "ended"}
    )


def row(name: str, old: dict[str, Any], new: dict[str, Any]) -> str:
    """A line of the table."""
    if "error" in old or "error" in new:
        return f"{name:36} {old.get('error', 'ran')} | {new.get('error', 'ran')}"
    pairs = list(zip(old["losses"], new["losses"], strict=False))
    apart = max(abs(a - b) for a, b in pairs) / max(abs(a) for a, _ in pairs)
    cells = [f"{old[key]:8.1f} -> {new[key]:8.1f}" for key in ("steady", "changing", "compiled", "read")]
    return f"{name:36} {'  '.join(cells)}  {apart:.0e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="holds transformers/")
    parser.add_argument("--models", default="", help="only classes whose names begin with one of these")
    parser.add_argument("--xlalint", default=f"{sys.executable} -m xlalint", help="command to run")
    parser.add_argument("--keep", type=Path, help="folder for the fixed copy")
    parser.add_argument("--json", type=Path, help="write all that was measured to this file")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure)))
        return
    names = [name for name in MODELS if name.startswith(tuple(args.models.split(",")))]
    told = {}
    with tempfile.TemporaryDirectory() as temporary:
        work = (args.keep or Path(temporary)).resolve()
        options = ("--target", "torch_xla", "--select", "XLA1,XLA2,XLA3")
        fix_copy(args.folder.resolve(), names, args.xlalint, work, options, HELPERS)
        print(f"{'':36} {'steady, ms':^20}  {'changing, ms':^20}  {'compiled a step':^20}  {'read a step':^20}  losses")
        for name in names:
            told[name] = {"before": run(args.folder.resolve(), name), "after": run(work, name)}
            print(row(name, told[name]["before"], told[name]["after"]), flush=True)
    if args.json:
        args.json.write_text(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
