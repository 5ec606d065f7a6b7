"""A Hugging Face Trainer on a tiny BERT of random weights, on torch_xla: each batch is padded to its longest text, which compiles anew."""

import sys
import tempfile

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
)

WORDS = [
    "the",
    "a",
    "model",
    "tensor",
    "shape",
    "value",
    "step",
    "graph",
    "loop",
    "mask",
    "is",
    "was",
    "not",
    "stays",
    "runs",
]


def make_tokenizer() -> PreTrainedTokenizerFast:
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]")


class Texts(torch.utils.data.Dataset):
    """Texts of 3 to 3 + 2 * 7 words; those of one batch are of one length."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, size: int) -> None:
        self.items = []
        for number in range(size):
            text = " ".join(WORDS[(number + k) % len(WORDS)] for k in range(3 + 2 * (number // 4 % 8)))
            self.items.append({**tokenizer(text), "labels": number % 2})

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> dict:
        return self.items[index]


class InOrder(Trainer):
    def _get_train_sampler(self, *args):
        return torch.utils.data.SequentialSampler(self.train_dataset)


def main(steps: int) -> None:
    tokenizer = make_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    trainer = InOrder(
        model=BertForSequenceClassification(config),
        args=TrainingArguments(
            output_dir=tempfile.mkdtemp(),
            per_device_train_batch_size=4,
            max_steps=steps,
            logging_steps=1000,
            optim="adamw_torch",  # the default, fused, has no kernel on XLA
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
        ),
        train_dataset=Texts(tokenizer, 4 * steps),
        data_collator=DataCollatorWithPadding(tokenizer, padding="longest"),
    )
    trainer.train()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
