"""Plurals: a number and a noun → both, in English."""

from __future__ import annotations


def plural(number: int, noun: str, many: str = "") -> str:
    """Return a number and what it counts; several take an ``s`` behind the noun, where `many` says no other form."""
    return f"{number} {noun if number == 1 else many or f'{noun}s'}"
