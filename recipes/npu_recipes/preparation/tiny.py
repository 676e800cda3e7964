"""Tiny: a random Qwen2 of a hundred thousand parameters and a tokenizer of single characters, to try things out."""

from __future__ import annotations

import string
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError

# Of a Qwen's tokenizer verl wants the token that ends a turn, and one for the end of a line.
PADDING, END, START = SPECIAL = ("<|endoftext|>", "<|im_end|>", "<|im_start|>")
# Everything a keyboard has; byte pairs are written with the first two for a blank and for the end of a line.
CHARACTERS = ("\u0120", "\u010a", *string.ascii_letters, *string.digits, *string.punctuation)
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_model(folder: Path, *, seed: int = 0) -> None:
    """Write a model with random weights, and its tokenizer, as transformers reads them.

    Raises:
        RecipeError: torch or transformers cannot be imported.
    """
    try:
        import torch  # noqa: PLC0415  # only where something is trained
        from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen2Tokenizer, logging  # noqa: PLC0415  # likewise
    except ImportError as error:
        what, fix = f"cannot be imported: {error}", "install verl-npu, which brings it, or torch and transformers alone"
        raise RecipeError(Problem(where=error.name or "torch", what=what, fix=fix)) from error

    # There is one file to write.
    logging.disable_progress_bar()
    vocabulary = {text: number for number, text in enumerate((*SPECIAL, *CHARACTERS))}
    # transformers reads the tokenizer beside a Qwen2 as byte pairs: one of another class would lose every text.
    tokenizer = Qwen2Tokenizer(
        vocab=vocabulary,
        merges=[],
        pad_token=PADDING,
        eos_token=END,
        unk_token=PADDING,
        additional_special_tokens=[START],
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(vocabulary),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        pad_token_id=vocabulary[PADDING],
        bos_token_id=None,
        eos_token_id=vocabulary[END],
        tie_word_embeddings=False,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
