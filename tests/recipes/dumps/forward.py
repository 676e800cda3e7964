"""A program that runs a small model, for the Python that has torch: ``forward.py [--broken] [--twice] [--fail]``."""

from __future__ import annotations

import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.o = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, *, x):
        # What happens between two modules is seen by the inputs of the second.
        mixed = torch.softmax(self.q(x), -1)
        return {"hidden": self.o(mixed * 1.5 if "--broken" in sys.argv else mixed), "cache": None}


class TinyLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attn, self.norm = Attention(), nn.LayerNorm(8)

    def forward(self, x):
        return self.norm(x + self.attn(x=x)["hidden"]).add_(1)


class TinyModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.layers = nn.Embedding(16, 8), nn.ModuleList([TinyLayer(), TinyLayer()])

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return (x.bfloat16(), [x])


if __name__ == "__main__":
    torch.manual_seed(0)
    models = [TinyModel(), TinyModel()] if "--twice" in sys.argv else [TinyModel()]
    for model in models:
        for _ in range(3):
            _, (x,) = model(torch.arange(12).reshape(2, 6))
            nn.functional.mse_loss(x, torch.zeros_like(x)).backward()
    if "--fail" in sys.argv:
        sys.exit(7)
