"""Risk words: identifier, path or key → what it speaks of, by its words."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Words in a row, and what they speak of.
_MEANINGS = {
    "advantage": ("advantage", "advantages", "adv", "gae"),
    "checkpoint": ("checkpoint", "checkpoints", "ckpt", "ckpts", "state dict", "save pretrained"),
    "loss": ("loss", "losses", "kl", "nll", "cross entropy"),
    "reward": ("reward", "rewards", "compute score", "rm score", "rm scores", "token level scores"),
    "seed": ("seed", "seeds", "seeded", "seeding", "rng"),
}
_KIND = {meaning: kind for kind, meanings in _MEANINGS.items() for meaning in meanings}
# What names speak of; taking it away is as dangerous as changing it.
MEANT = frozenset(_MEANINGS)
_LONGEST = max(meaning.count(" ") for meaning in _KIND) + 1
# What computes activations again in the backward pass is called a checkpoint too.
_OTHERWISE = frozenset({"gradient", "activation", "activations", "recompute"})


def kinds(name: str) -> Iterator[str]:
    """Yield what a name speaks of, of ``advantage``, ``checkpoint``, ``loss``, ``reward`` and ``seed``."""
    words = [word.lower() for word in _WORD.findall(name)]
    for start in range(len(words)):
        for end in range(start + 1, min(start + _LONGEST, len(words)) + 1):
            kind = _KIND.get(" ".join(words[start:end]))
            if kind and not (kind == "checkpoint" and _OTHERWISE & set(words[:start])):
                yield kind


def kinds_of_path(path: str) -> Iterator[str]:
    """Yield what a repository path speaks of, by its folders and by its name without the ending."""
    folder, _, leaf = path.rpartition("/")
    for part in (*folder.split("/"), leaf.partition(".")[0]):
        yield from kinds(part)
