"""Constraints on an index: what they pin there, and what is refused before anything is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from npu_doctor.knowledge import load
from npu_overlays.wheels.constraints import constraints_text

from .conftest import Shop

STACK = load().stacks[0]
NAME = f"constraints-{STACK.name}.txt"
FIRST, SECOND = "1.0+npu.1.gabcdef0", "1.0+npu.2.g0123456"


def text(version: str) -> str:
    """Return the constraints of a stack that pin a wheel of ours."""
    return constraints_text(STACK, load(), {STACK.overlays[0]: [f"app-npu=={version}"]})


def folder(shop: Shop, version: str) -> Path:
    """Return a folder with a wheel of ours and the constraints that pin it."""
    wheel = shop.wheel("app_npu", version)
    place = shop.environment.folder / version
    place.mkdir()
    wheel.rename(place / wheel.name)
    (place / NAME).write_text(text(version))
    return place


@pytest.mark.parametrize("together", [True, False])
def test_older_pins_take_the_place_of_newer_ones_only_where_that_is_asked_for(shop: Shop, *, together: bool) -> None:
    first, second = folder(shop, FIRST), folder(shop, SECOND)
    if together:
        shop.indexed(first, second)
    else:
        assert shop.indexed(first)["constraints"][NAME]["removed"] == []
        assert shop.indexed(second)["constraints"] == {
            NAME: {"added": [f"app-npu=={SECOND}"], "removed": [f"app-npu=={FIRST}"]}
        }
    told = shop.indexed(first)
    assert (told["constraints"], told["not_taken"]) == ({}, {str(first / NAME): [f"app-npu=={FIRST}"]})
    done = shop.index(first)
    assert f"{first / NAME}: not taken, older than what the index pins: app-npu=={FIRST}" in done.err
    assert shop.files()[NAME].decode() == text(SECOND)
    done = shop.index("--replace", first)
    assert [line.strip() for line in done.out.splitlines()[-3:]] == [
        *(f"{NAME} is changed:", f"- app-npu=={SECOND}", f"+ app-npu=={FIRST}")
    ]
    assert shop.files()[NAME].decode() == text(FIRST)


def test_from_which_bytes_of_upstream_a_wheel_was_made_has_no_order(shop: Shop) -> None:
    git, archive = (folder(shop, f"1.0+npu.1.{kind}abcdef0") for kind in "ga")
    shop.indexed(git)
    assert shop.indexed(archive)["not_taken"] == {}
    assert shop.indexed(git)["not_taken"] == {}


def cut(file: Path) -> None:
    """Leave the first half of the lines."""
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[: len(lines) // 2]))


def put_folder(file: Path) -> None:
    """Put a folder in the place of a file."""
    file.unlink()
    file.mkdir()


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (cut, f"differs from what npu-overlays writes for the stack {STACK.name}"),
    "cut-in-a-line": (lambda file: file.write_text("# of app@1:\napp-npu=="), "its last line has no end"),
    "emptied": (lambda file: file.write_text(""), "is empty"),
    "not-utf-8": (lambda file: file.write_bytes(b"\xff\n"), "is not UTF-8"),
    "folder": (put_folder, "cannot be read: Is a directory"),
    "not-held": (
        lambda file: file.write_text(text("1.0+npu.3.gabcdef0")),
        f"pins app-npu==1.0+npu.3.gabcdef0, which is neither on the index nor given: of app-npu the index has {FIRST}",
    ),
    "of-none": (
        lambda file: file.with_name("constraints-y.txt").write_text("# of app@1:\nwhat==1\nno pin\n"),
        "of what the index has none",
    ),
    "no-pin": (
        lambda file: file.with_name("constraints-y.txt").write_text("# of app@1:\nno pin\n"),
        "'no pin' is no requirement",
    ),
}


@pytest.mark.parametrize(("spoil", "what"), SPOILT.values(), ids=SPOILT)
def test_constraints_that_are_not_whole_are_refused_and_nothing_is_written(
    shop: Shop, spoil: Callable[[Path], object], what: str
) -> None:
    shop.indexed(place := folder(shop, FIRST))
    files = shop.files()
    shop.wheel("app_npu", SECOND).rename(place / f"app_npu-{SECOND}-py3-none-any.whl")
    spoil(place / NAME)
    shop.wheel("broken").write_bytes(b"")
    done = shop.index(place, shop.wheels)
    assert (done.code, what in done.err, "broken-1.0" in done.err) == (6, True, True), done.err
    assert shop.files() == files


def test_pins_of_wheels_that_the_index_holds_already_are_taken_alone(shop: Shop) -> None:
    shop.indexed(place := folder(shop, FIRST))
    (place / f"app_npu-{FIRST}-py3-none-any.whl").unlink()
    shop.wheel("other").rename(place / "other-1.0-py3-none-any.whl")
    (shop.out / NAME).unlink()
    assert shop.indexed(place)["constraints"].keys() == {NAME}
    (shop.out / "app-npu" / f"app_npu-{FIRST}-py3-none-any.whl").unlink()
    done = shop.index(place)
    assert (done.code, "is neither on the index nor given" in done.err) == (6, True), done.err


def test_pins_of_a_wheel_that_is_refused_are_no_mistake(shop: Shop) -> None:
    place = folder(shop, FIRST)
    wheel = place / f"app_npu-{FIRST}-py3-none-any.whl"
    wheel.write_bytes(b"no archive")
    problems = json.loads(shop.index(place, "--json").err)["problems"]
    assert [one["where"] for one in problems] == [str(wheel)]


def test_damaged_constraints_on_the_index_are_named_and_left(shop: Shop) -> None:
    place = folder(shop, FIRST)
    shop.out.mkdir()
    (shop.out / NAME).write_bytes(b"\xff")
    done = shop.index(place)
    assert (done.code, f"{shop.out / NAME}: is not UTF-8" in done.err) == (6, True), done.err
    assert shop.files() == {NAME: b"\xff"}
