"""Generation: requests in, their tokens with log-probabilities out, by one call of transformers for all of them.

Every request draws from a generator of its own, so that what it gets does not depend on what it shares a batch with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How tokens are chosen."""

    length: int  # how many tokens at most
    temperature: float = 1.0  # of the logits; 0 takes the likeliest token
    top_k: int = -1  # of how many tokens is drawn; 0 or less for all
    top_p: float = 1.0  # how much probability they have together


@dataclass(frozen=True, kw_only=True)
class Request:
    """A prompt to continue."""

    prompt: tuple[int, ...]  # its tokens
    sampling: Sampling  # how to choose the next ones
    seed: int  # of the generator they are drawn by


@dataclass(frozen=True, kw_only=True)
class GeneratedTokens:
    """What continues a prompt: tokens, and the logarithm of the probability with which each was drawn."""

    tokens: list[int]
    log_probs: list[float]


class _Drawn(LogitsProcessor):  # type: ignore[misc]  # transformers is not typed
    """Draws a token by taking the likeliest one after noise of Gumbel's distribution is added, for each row its own."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, _tokens: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        rows = [torch.rand(scores.shape[1], generator=one, dtype=torch.float64) for one in self._generators]
        noise = -torch.log(-torch.log(torch.stack(rows).clamp(min=1e-300)))
        return scores.double() + noise


@torch.no_grad()  # type: ignore[untyped-decorator]  # torch is not there for the linters
def generate(model: Any, requests: Sequence[Request], *, end: Sequence[int], padding: int) -> list[GeneratedTokens]:
    """Return the answers to requests, in their order.

    Args:
        model: a causal language model of transformers.
        requests: what to continue; those that choose their tokens in the same way share a batch.
        end: the tokens after which an answer is over.
        padding: the token that fills up shorter prompts.
    """
    groups: dict[Sampling, list[int]] = {}
    for place, request in enumerate(requests):
        groups.setdefault(request.sampling, []).append(place)
    answers: dict[int, GeneratedTokens] = {}
    for sampling, places in groups.items():
        batch = [requests[place] for place in places]
        answers |= dict(zip(places, _batch(model, batch, sampling, end, padding), strict=True))
    return [answers[place] for place in range(len(requests))]


def _batch(
    model: Any, batch: list[Request], sampling: Sampling, end: Sequence[int], padding: int
) -> list[GeneratedTokens]:
    width = max(len(request.prompt) for request in batch)
    tokens, mask = [], []
    for request in batch:
        missing = width - len(request.prompt)
        tokens.append([padding] * missing + list(request.prompt))
        mask.append([0] * missing + [1] * len(request.prompt))
    made = model.generate(
        input_ids=torch.tensor(tokens),
        attention_mask=torch.tensor(mask),
        # Every setting is given here: a model's own generation settings are for chatting.
        generation_config=GenerationConfig(
            max_new_tokens=sampling.length,
            do_sample=False,
            eos_token_id=list(end),
            pad_token_id=padding,
            return_dict_in_generate=True,
            output_logits=True,
        ),
        logits_processor=_processors(sampling, [request.seed for request in batch]),
    )
    # verl compares these with what its trainer computes, which divides by the temperature and leaves nothing out.
    logits = torch.stack(made.logits, dim=1).float() / (sampling.temperature or 1.0)
    found = made.sequences[:, width:]
    chosen = logits.log_softmax(-1).gather(-1, found.unsqueeze(-1)).squeeze(-1)
    return [_answer(row.tolist(), logs.tolist(), set(end)) for row, logs in zip(found, chosen, strict=True)]


def _processors(sampling: Sampling, seeds: list[int]) -> LogitsProcessorList:
    processors = LogitsProcessorList()
    if not sampling.temperature:
        return processors
    if sampling.temperature != 1:
        processors.append(TemperatureLogitsWarper(sampling.temperature))
    if sampling.top_k > 0:
        processors.append(TopKLogitsWarper(sampling.top_k))
    if sampling.top_p < 1:
        processors.append(TopPLogitsWarper(sampling.top_p))
    processors.append(_Drawn(seeds))
    return processors


def _answer(tokens: list[int], log_probs: list[float], end: set[int]) -> GeneratedTokens:
    """Return an answer without what fills it up behind its end."""
    length = next((place + 1 for place, token in enumerate(tokens) if token in end), len(tokens))
    return GeneratedTokens(tokens=tokens[:length], log_probs=log_probs[:length])
