"""Names under which libraries offer what several rules ask about."""

from __future__ import annotations

TRAINING_ARGUMENTS = (
    "transformers.TrainingArguments",
    "transformers.training_args.TrainingArguments",
    "transformers.Seq2SeqTrainingArguments",
    "transformers.training_args_seq2seq.Seq2SeqTrainingArguments",
    "sentence_transformers.SentenceTransformerTrainingArguments",
    *(f"trl.{name}Config" for name in ("SFT", "DPO", "GRPO", "KTO", "ORPO", "CPO", "Reward", "BCO")),
)
DATA_LOADER = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
