"""Values are made whole, by keyword, compare by field, and stay as they are."""

from __future__ import annotations

import pytest

from npu_summary.frozen import Frozen


class Spot(Frozen):
    root: str
    depth: int = 0

    @property
    def name(self) -> str:
        return f"{self.root}/{self.depth}"


class Other(Frozen):
    root: str
    depth: int = 0


def test_a_value_has_its_fields_in_order_and_its_defaults() -> None:
    place = Spot(depth=2, root="a")
    assert (place.name, list(vars(place)), repr(place)) == ("a/2", ["root", "depth"], "Spot(root='a', depth=2)")
    assert Spot(root="a").depth == 0


def test_values_are_equal_by_field_and_of_one_class() -> None:
    assert Spot(root="a") == Spot(root="a", depth=0)
    assert Spot(root="a") != Spot(root="b")
    assert Spot(root="a") != Other(root="a")
    assert len({Spot(root="a"), Spot(root="a"), Spot(root="b")}) == 2


def test_a_value_does_not_change_and_is_made_of_its_fields() -> None:
    place = Spot(root="a")
    with pytest.raises(AttributeError, match="root of a Spot cannot become 'b'"):
        place.root = "b"  # type: ignore[misc]  # which is the point
    for wrong in ({}, {"root": "a", "deep": 1}):
        with pytest.raises(TypeError, match="Spot takes root, depth, not"):
            Spot(**wrong)  # type: ignore[arg-type]
    assert place == Spot(root="a")
