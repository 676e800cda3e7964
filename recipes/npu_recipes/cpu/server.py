"""The server of the rollout: an actor of Ray that holds a model on the CPU and answers requests in batches.

It has the methods verl calls of any rollout server; those that manage the memory of a device do nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GenerationConfig
from verl.workers.rollout.replica import TokenOutput

from npu_recipes.cpu.generation import GeneratedTokens, Request, Sampling, generate

# Seconds to wait for further requests before a batch is begun: all of a step come at once.
PATIENCE = 0.05


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a server is started with."""

    path: str  # folder of the model, or its name on the hub
    dtype: str  # name of the type it computes in
    seed: int  # of everything that is drawn
    length: int  # how many tokens an answer has at most
    threads: int  # of how many cores it makes use
    trust_remote_code: bool  # whether code that comes with the model may run


class Server:
    """A language model without weights, until a trainer hands them over."""

    def __init__(self, settings: Settings) -> None:
        torch.set_num_threads(settings.threads)
        path, trusted = settings.path, settings.trust_remote_code
        config = AutoConfig.from_pretrained(path, trust_remote_code=trusted)
        self._model = AutoModelForCausalLM.from_config(
            config, dtype=getattr(torch, settings.dtype), attn_implementation="sdpa", trust_remote_code=trusted
        ).eval()
        self._tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=trusted)
        self._end = _end(path, self._tokenizer.eos_token_id)
        self._model.generation_config = GenerationConfig()
        self._seed, self._length = settings.seed, settings.length
        self._steps: int | None = None
        self._drawn: Counter[tuple[int, ...]] = Counter()
        self._waiting: list[tuple[Request, asyncio.Future[GeneratedTokens]]] = []
        self._serving: asyncio.Task[None] | None = None

    async def load(self, weights: dict[str, torch.Tensor], global_steps: int | None) -> None:
        """Take over the weights of a step.

        Raises:
            RuntimeError: a weight of the model is missing, or one is unknown to it.
        """
        missing, unknown = self._model.load_state_dict(weights, strict=False)
        missing = [name for name in missing if name not in (self._model._tied_weights_keys or ())]
        if missing or unknown:
            raise RuntimeError(f"weights of another model: without {missing[:5]}, with {unknown[:5]}")
        self._steps = global_steps
        self._drawn.clear()

    async def generate(self, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any) -> TokenOutput:
        """Return what continues a prompt; the request's name says nothing here, for verl draws it by chance."""
        prompt = tuple(prompt_ids)
        sampling = Sampling(
            length=sampling_params.get("max_tokens") or sampling_params.get("max_new_tokens") or self._length,
            temperature=sampling_params.get("temperature", 1.0),
            top_k=sampling_params.get("top_k", -1),
            top_p=sampling_params.get("top_p", 1.0),
        )
        request = Request(prompt=prompt, sampling=sampling, seed=self._next_seed(prompt))
        answered: asyncio.Future[GeneratedTokens] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, answered))
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve())
        answer = await answered
        return TokenOutput(
            token_ids=answer.tokens,
            log_probs=answer.log_probs,
            stop_reason="completed",
            extra_fields={"global_steps": self._steps},
        )

    def _next_seed(self, prompt: tuple[int, ...]) -> int:
        """Return a seed by what is drawn, and not by when it is asked for: equal runs draw equally.

        The answers to one prompt in one step differ in their number; their order does not matter.
        """
        self._drawn[prompt] += 1
        text = repr((self._seed, self._steps, prompt, self._drawn[prompt]))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")

    async def _serve(self) -> None:
        await asyncio.sleep(PATIENCE)
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                answers = await asyncio.to_thread(self._answers, [request for request, _ in batch])
            except Exception as error:  # the caller gets it
                for _, answered in batch:
                    answered.set_exception(error)
                continue
            for (_, answered), answer in zip(batch, answers, strict=True):
                answered.set_result(answer)
        self._serving = None

    def _answers(self, requests: list[Request]) -> list[GeneratedTokens]:
        padding = self._tokenizer.pad_token_id
        found: list[GeneratedTokens] = generate(
            self._model, requests, end=self._end, padding=self._end[0] if padding is None else padding
        )
        return found

    async def _nothing(self, *_: Any, **__: Any) -> None:
        """Do nothing: there is no device memory to free, and nothing runs in the background."""

    wake_up = sleep = clear_kv_cache = release_kv_cache = resume_kv_cache = _nothing
    abort_all_requests = resume_generation = start_profile = stop_profile = _nothing


def _end(path: str, token: int) -> list[int]:
    """Return the tokens that end an answer: the model's own, where it comes with some."""
    try:
        said = GenerationConfig.from_pretrained(path).eos_token_id
    except OSError:
        said = None
    return [token] if said is None else [said] if isinstance(said, int) else list(said)
