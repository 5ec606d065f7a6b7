"""What models of libraries give, made by their factories and wrapped as training scripts do. The silent half first."""

from __future__ import annotations

import pytest

from tests.conftest import Findings
from xlalint.config import Settings
from xlalint.project import check_text

TRAIN = """
import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoTokenizer, BertModel, AutoModelForCausalLM, DataCollatorForSeq2Seq, TFBertModel
from accelerate import Accelerator
from peft import get_peft_model
from diffusers import AutoencoderKL, DDPMScheduler, FlaxAutoencoderKL, UNet2DConditionModel

class Own(nn.Module):
    def forward(self, x):
        return {{"y": x * 2}}

def train(loader, x, batch, accelerator=Accelerator()):
    model = {model}
    model.train()
    optimizer = torch.optim.Adam(model.parameters())
    for x in loader:
        x = x.to("cuda")
        out = {out}
        x.mean().backward()
        optimizer.step()
        if {test}:
            continue
"""
BERT = 'BertModel.from_pretrained("bert")'
QUIET = {
    "a result that is there": (BERT, "model(x)", "out.loss is not None"),
    "how many results": (BERT, "model(x)", "len(out.hidden_states) > 3"),
    "a field that is not known": (BERT, "model(x)", "out.first > 3"),
    "settings": (BERT, "model.config", "out.hidden_size > 3"),
    "a tokenizer": (BERT, 'AutoTokenizer.from_pretrained("bert")(x)', "out.loss > 3"),
    "what collates": (BERT, "DataCollatorForSeq2Seq(x)(x)", "out.loss > 3"),
    "a model of TensorFlow": (BERT, 'TFBertModel.from_pretrained("bert")(1)', "out.loss > 3"),
    "a model of Flax": (BERT, 'FlaxAutoencoderKL.from_pretrained("x").encode(1)', "out.sample > 3"),
    "generated, as it is asked for": (
        'AutoModelForCausalLM.from_pretrained("gpt2")',
        "model.generate(x, return_dict_in_generate=True)",
        "out.first > 3",
    ),
    "what a scheduler counts": (BERT, 'DDPMScheduler.from_pretrained("x").config', "out.num_train_timesteps > 3"),
    "several things, starred": (BERT, "accelerator.prepare(*x)", "out[0] > 3"),
    "what gives batches": (BERT, "accelerator.prepare(torch.utils.data.DataLoader(x, 8))", "out.batch_size > 3"),
}
LOUD = {
    "a field": (BERT, "model(x)", "out.loss > 3"),
    "a place": (BERT, "model(x)", "out[0].mean() > 3"),
    "a slice": (BERT, "model(x)[:2]", "out[1].mean() > 3"),
    "a name": (BERT, "model(x)", "out['loss'] > 3"),
    "a layer": (BERT, "model(x).hidden_states", "out[-1].mean() > 3"),
    "a model that is built": ("BertModel(x)", "model(x)", "out.loss > 3"),
    "on a device": (f"{BERT}.to('cuda')", "model(x)", "out.loss > 3"),
    "on several devices": (f"DistributedDataParallel({BERT})", "model(x)", "out.loss > 3"),
    "what runs on several devices": (f"nn.DataParallel({BERT})", "model.module(x)", "out.loss > 3"),
    "an own model on several devices": ("nn.DataParallel(Own())", "model(x)", 'out["y"].mean() > 3'),
    "an own model behind it": ("nn.DataParallel(Own())", "model.module(x)", 'out["y"].mean() > 3'),
    "compiled": (f"torch.compile({BERT})", "model(x)", "out.loss > 3"),
    "prepared": (f"accelerator.prepare({BERT})", "model(x)", "out.loss > 3"),
    "prepared with others": (f"accelerator.prepare({BERT}, x)[0]", "model(x)", "out.loss > 3"),
    "adapted": (f"get_peft_model({BERT}, x)", "model(x)", "out.loss > 3"),
    "generated": ('AutoModelForCausalLM.from_pretrained("gpt2")', "model.generate(x)", "out.max() > 3"),
    "what denoises": ('UNet2DConditionModel.from_pretrained("x")', "model(x, 1, x).sample", "out.mean() > 3"),
    "what is encoded": ('AutoencoderKL.from_pretrained("x")', "model.encode(x).latent_dist.sample()", "out.mean() > 3"),
    "noise": (BERT, "DDPMScheduler().add_noise(x, x, 1)", "out.mean() > 3"),
}


def branches(program: tuple[str, str, str], findings: Findings) -> list[str]:
    model, out, test = program
    text = TRAIN.format(model=model, out=out, test=test)
    return [code for code, _ in findings(text, "torch_xla") if code == "XLA101"]


@pytest.mark.parametrize("name", QUIET)
def test_what_is_on_the_host_or_not_known(name: str, findings: Findings) -> None:
    assert branches(QUIET[name], findings) == []


@pytest.mark.parametrize("name", LOUD)
def test_what_models_give(name: str, findings: Findings) -> None:
    assert branches(LOUD[name], findings) == ["XLA101"]


TRAINER = """
import torch
from transformers import Trainer

class Ranked(Trainer):
    def {method}(self, model, inputs, return_outputs=False):
        scores = inputs.get("scores")
        logits = torch.log_softmax(model(input_ids=inputs.get("ids")).logits, -1)
        {body}
        return logits.mean()
"""


@pytest.mark.parametrize(
    ("method", "body", "expected"),
    [
        ("compute_loss", "self.log({'loss': logits.mean().item()})", [("XLA301", "step")]),
        ("compute_loss", "logits = logits[logits > 0]", [("XLA201", "step")]),
        ("prediction_step", "kept = logits.tolist()", [("XLA302", "evaluation")]),
        ("compute_loss", "keys = list(inputs.keys())", []),
        ("compute_loss", "if return_outputs:\n            return logits.mean(), logits", []),
        ("summarize", "kept = 3 if self.args.every else 4", []),
    ],
)
def test_what_the_methods_of_a_trainer_do(method: str, body: str, expected: list[tuple[str, str]]) -> None:
    """Transformers' own loops call them: at each step, or at each batch of an evaluation."""
    text = TRAINER.format(method=method, body=body)
    found = check_text(text, "train.py", Settings(target="torch_xla")).findings
    assert [(one.code, one.frequency) for one in found] == expected
