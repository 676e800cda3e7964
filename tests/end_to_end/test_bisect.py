"""`bisect`, run: the fewest operations that make a command fail; and what it makes of parts that cannot run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_overlays.checkout.reducing import smallest
from support.environment import Done
from support.overlays import edit

from .sample import Sample

CORE = "src/lib/core.py"


def bisected(sample: Sample, *command: str, options: Sequence[str] = ()) -> Done:
    return sample.environment.cli("bisect", sample.lib_name, *options, "--overlays", sample.overlays, "--", *command)


def found(sample: Sample, *command: str) -> list[str]:
    done = bisected(sample, *command, options=["--json"])
    assert done.code == 0, done.err
    return [target for unit in done.json()["units"] for target in unit["targets"]]


def test_one_operation_is_found_with_its_reason_and_what_the_command_says(locked: Sample) -> None:
    done = bisected(locked, "python", "-c", "from lib.core import scale; assert scale(1) == 2, 'not two'")
    assert done.code == 0, done.err
    assert "fails with 1 operation alone" in done.out
    assert f"edited    {CORE}:scale  [{locked.lib_name}/tree/{CORE}]" in done.out
    assert "Three is right here." in done.out
    assert "AssertionError: not two" in done.out


def test_two_that_fail_only_together_are_found(locked: Sample) -> None:
    script = 'grep -q "value \\* 3" src/lib/core.py && grep -q four src/lib/notes.txt && exit 1; exit 0'
    assert sorted(found(locked, "sh", "-c", script)) == [f"{CORE}:scale", "src/lib/notes.txt"]


def test_what_an_operation_needs_is_applied_with_it(sample: Sample) -> None:
    core = sample.lib_overlay / "tree" / CORE
    edit(core, "import functools\n", "import functools\n\nfrom lib.npu import NAME\n")
    edit(core, 'return "npu"', "return NAME")
    code = "from lib.core import Engine; e = Engine(); assert not hasattr(e, 'device') or e.device() != 'npu'"
    assert sorted(found(sample, "python", "-c", code)) == [f"{CORE}:Engine.device", "src/lib/npu.py"]


def test_the_folder_is_told_and_is_the_working_folder(locked: Sample) -> None:
    script = (
        f'test "$PWD" = "$NPU_OVERLAYS_CHECKOUT" || exit 127; ! test -e src/lib/npu.sh || ! test -x {CORE[:8]}npu.sh'
    )
    assert found(locked, "sh", "-c", script) == ["src/lib/npu.sh"]


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("exit 0", "does not fail with the whole overlay"),
        ("exit 125", "cannot tell, with the whole overlay"),
        ("echo never; exit 1", "fails on upstream itself, without any operation: never"),
        ("exit 127", "sh: cannot be run: exit code 127"),
    ],
)
def test_a_command_that_tells_nothing_is_refused(locked: Sample, script: str, text: str) -> None:
    done = bisected(locked, "sh", "-c", script)
    assert done.code == 2
    assert text in " ".join(done.err.split())


def test_a_command_that_is_not_there_is_refused(locked: Sample) -> None:
    done = bisected(locked, "no-such-command")
    assert done.code == 2
    assert "no-such-command: cannot be run: No such file or directory" in done.err


@given(st.integers(1, 40), st.data())
def test_a_smallest_part_fails_and_none_of_it_can_be_left_out(size: int, data: st.DataObject) -> None:
    causes = [data.draw(st.sets(st.integers(0, size - 1), min_size=1)) for _ in range(data.draw(st.integers(1, 3)))]

    def fails(part: Sequence[int]) -> bool:
        assert part
        return any(cause <= set(part) for cause in causes)

    part = smallest(range(size), fails)
    assert set(part) in causes
    assert part == sorted(part)
