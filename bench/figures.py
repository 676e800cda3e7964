"""Figures: measurements with their goals → a line each, or JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the result.

    Args:
        what: was measured.
        value: a ratio, or megabytes.
        unit: of the value.
        goal: the value is to be at most this.
        detail: the medians behind it.
    """

    what: str
    value: float
    unit: str
    goal: float
    detail: str

    @property
    def verdict(self) -> str:
        """Whether the goal is met."""
        return "met" if self.value <= self.goal else "missed"

    def __str__(self) -> str:
        measured, goal = f"{self.value:.2f} {self.unit}", f"≤ {self.goal:g} {self.unit}"
        return f"{self.what}: {measured}, goal {goal}: {self.verdict} ({self.detail})"


def as_json(figures: list[Figure]) -> list[dict[str, object]]:
    """Return the figures with their verdicts."""
    return [{**asdict(one), "verdict": one.verdict} for one in figures]
