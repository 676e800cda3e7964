"""Values in the find of an edit that are others now: the edit puts the new ones in where it repeats them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_overlays.authoring.port.changed_values import with_values
from npu_overlays.authoring.port.renamed_words import UnprovenError
from npu_overlays.overlay.operations import Edit

from .test_adaptation import put
from .test_renamed_names import CORE, edited, of, written

BEFORE = """\
def f(x, rate=0.1):
    y = drop(x, 0.1, mode="fast")
    limit = 8
    for part in y:
        drop(part, 0.5)
    return y
"""
NOW = put(BEFORE, "x, 0.1", "x, 0.2", '"fast"', '"safe"', "= 8", "= 16")


@pytest.mark.parametrize(
    ("find", "put_in", "expected"),
    [
        ("drop(x, 0.1", "drop(x + y, 0.1", ("drop(x, 0.2", "drop(x + y, 0.2")),
        ('mode="fast")', 'mode="fast", npu=True)', ('mode="safe")', 'mode="safe", npu=True)')),
        ("limit = 8", "limit = 8\n    other = 2", ("limit = 16", "limit = 16\n    other = 2")),
        ("y = drop(x, 0.1,", "y = drop(x, 0.1, n=1,", ("y = drop(x, 0.2,", "y = drop(x, 0.2, n=1,")),
        ('drop(x, 0.1, mode="fast")', 'drop(x, 0.1, mode="fast")()', ('drop(x, 0.2, mode="safe")',) * 2),
    ],
)
def test_an_edit_repeats_the_new_value(find: str, put_in: str, expected: tuple[str, str]) -> None:
    made, values = with_values(Edit(find=find, replace=put_in), BEFORE, NOW)
    assert (made.find, made.replace.removesuffix("()")) == expected
    assert values


@pytest.mark.parametrize(
    ("find", "put_in"),
    [
        ("limit = 8", "limit = 4"),
        ("limit = 8", "limit = 8 * 8"),
        ("limit = 8", "other = 8"),
        ("limit = 8", "limit = 1 + 8"),
        ("limit = 8", "limit = 8 + 1"),
        ("limit = 8", "limit = 4; other = 8"),
        ("drop(x, 0.1", "npu.drop(x, 0.1"),
        ("drop(x, 0.1", "drop(0.1, x"),
        ("drop(x, 0.1", "drop(x, y, 0.1"),
        ("drop(x, 0.1", "drop(x, -0.1"),
        ("drop(x, 0.1", "drop(x, rate=0.1"),
        ("drop(x, 0.1", "drop(x)"),
        ('mode="fast"', 'kind="fast"'),
    ],
)
def test_an_edit_that_puts_in_another_value_asks(find: str, put_in: str) -> None:
    with pytest.raises(UnprovenError, match=r"is `.*` now, and it puts in another value"):
        with_values(Edit(find=find, replace=put_in), BEFORE, NOW)


@pytest.mark.parametrize(
    "now",
    [
        BEFORE,
        put(NOW, "limit", "most"),
        put(NOW, "limit = 16", "limit = 8 + 8"),
        put(NOW, "    limit = 16\n", ""),
        put(NOW, "    limit = 16\n", "", "    return y", "    return y\n    limit = 16"),
        put(NOW, "16", "size"),
        put(NOW, "16", "'16'"),
    ],
)
def test_where_more_than_a_value_changed_the_edit_stays(now: str) -> None:
    edit = Edit(find="limit = 8", replace="limit = 8 + 0")
    assert with_values(edit, BEFORE, now) == (edit, {})


@pytest.mark.parametrize(
    ("now", "values"), [("a(x)\nb(2)\n", {"1": "2"}), ("if x:\n    b(2)\n", {"1": "2"}), ("if y:\n    b(2)\n", {})]
)
def test_a_value_under_another_condition_is_that_of_another_statement(now: str, values: dict[str, str]) -> None:
    before = now.replace("2", "1").replace("y", "x").replace("a(x)", "a(y)")
    assert with_values(Edit(find="b(1)", replace="b(1, x)"), before, now)[1] == values


def test_a_formatted_text_is_no_value() -> None:
    edit = Edit(find='f"{x}"', replace='f"{x}", 1')
    assert with_values(edit, 'y = f"{x}"\n', 'y = f"{z}"\n') == (edit, {})


def test_a_value_that_changed_in_one_of_two_places_asks() -> None:
    with pytest.raises(UnprovenError, match="not in every place"):
        with_values(Edit(find="f(1, 1)", replace="f(1, 1, 2)"), "f(1, 1)\n", "f(1, 3)\n")
    twice = Edit(find="f(1)", replace="f(1, 2)", count=2)
    for now in ("a(f(1))\nb(f(3))\n", "a(f(3))\nb(f(1))\n"):
        assert with_values(twice, "a(f(1))\nb(f(1))\n", now) == (twice, {})


@given(st.integers(0, 9), st.integers(10, 99), st.sampled_from(["f({}, x)", "x = {}", "x = f(k={})", "if x < {}: y()"]))
def test_a_followed_value_equals_changing_it_by_hand(old: int, new: int, line: str) -> None:
    edit = Edit(find=line.format(old), replace=f"{line.format(old)}; z()", count=1)
    before, now = (f"def g(x):\n    a()\n    {line.format(value)}\n    b()\n" for value in (old, new))
    made, values = with_values(edit, before, now)
    assert (made.find, made.replace) == (line.format(new), f"{line.format(new)}; z()")
    assert values == {str(old): str(new)}


@pytest.mark.parametrize(("put_in", "proposal"), [("heads // 2) + kv", "follow"), ("heads // 4)", "")])
def test_the_verdict_on_an_edit_shows_the_new_value(tmp_path: Path, put_in: str, proposal: str) -> None:
    before, after = (put(CORE, "x, self.groups)", f"x, heads // {value})") for value in (2, 3))
    before, after = (put(one, "(self, x):", "(self, x, heads=1, kv=0):") for one in (before, after))
    overlay = put(edited("heads // 2)", put_in), "(self, x)", "(self, x, heads=1, kv=0)")
    found = of(tmp_path, overlay, before, after)
    assert (found.kind, found.proposal) == ("find gone", proposal)
    if proposal:
        assert found.change == "`2` is `3` now"
        assert written(found)[1:] == ["heads // 3)", "heads // 3) + kv"]
    else:
        assert found.unknown == "`2` is `3` now, and it puts in another value, or the same elsewhere"
