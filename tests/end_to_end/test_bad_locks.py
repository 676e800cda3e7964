"""Locks that are damaged, or that the source does not keep."""

from __future__ import annotations

import re
import shlex

import pytest

from support.overlays import edit

from .refusals import build, refused
from .sample import Sample


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("", "", "is missing"),
        ("lock-version = 4", "lock-version = 99", "has lock-version 99"),
        ("lock-version = 4", "<<<<<<< HEAD", "not valid TOML"),
        ("[metadata]", "[metadatum]", "is damaged: it has no 'version'"),
        ('version = "1.2.3"', "version = 3", "is damaged: 3 is not a text"),
        ('version = "1.2.3"', 'version = "new"', "is damaged: Invalid version: 'new'"),
        ('readme = "README.md"', 'unheard = "of"', "is damaged: "),
        ("compared = true", "compered = true", "is damaged: it has no 'compared'"),
        ('symbol = "LIMIT"', "symbol = 1", "is damaged: 1 is not a text"),
        ("[metadata.fields]", "[metadata.field]", "is damaged: "),
        ("reads", "rides", "is damaged: "),
        ('commit = "', 'commit = "0', "was made for 0"),
    ],
)
def test_a_damaged_lock_says_how_to_make_it_anew(sample: Sample, old: str, new: str, text: str) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    if old:
        edit(lock, old, new)
    else:
        lock.unlink()
    refused(sample, build(sample), 3, f"{lock}: {text}", f"npu-overlays lock {sample.lib_name}")


@pytest.mark.parametrize("named", [("other place/NAME",), ("NAME", "--overlays", "other place")])
def test_a_printed_command_runs_where_it_is_printed(sample: Sample, named: tuple[str, ...]) -> None:
    sample.overlays.rename(sample.folder / "other place")
    lock = sample.folder / "other place" / sample.lib_name / "overlay.lock"
    lock.unlink()
    done = sample.environment.cli("build", *(word.replace("NAME", sample.lib_name) for word in named))
    (command,) = re.findall("run `npu-overlays (.*)`", done.err)
    sample.environment.ok(*shlex.split(command))
    assert lock.is_file()


def test_an_empty_or_truncated_lock_is_damaged(sample: Sample) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    content = lock.read_bytes()
    for damaged in (b"", content[:200], b"\xff\xfe" + content):
        lock.write_bytes(damaged)
        refused(sample, build(sample), 3, f"npu-overlays lock {sample.lib_name}")


def test_changed_contracts_are_told_by_symbol_all_at_once(sample: Sample) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    lines = lock.read_text().splitlines()
    changed = [f'{line[:-2]}z"' if line.startswith(("body", "signature")) else line for line in lines]
    lock.write_text("\n".join(changed))
    refused(
        sample,
        build(sample),
        5,
        "upstream's signature, body of `Engine.stop` in src/lib/core.py is no longer what this was written for",
        "upstream's signature, body of `Engine.obsolete`",
        "upstream's body of `LIMIT`",
        "upstream's signature of `Engine.start`",
        "adapt the operation",
    )


def test_a_changed_body_of_a_wrapped_function_is_only_a_notice(sample: Sample) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    before, start, after = lock.read_text().partition('symbol = "Engine.start"')
    lock.write_text(before + start + after.replace('body = "', 'body = "z', 1))
    done = sample.environment.ok("check", sample.lib_name, "--overlays", sample.overlays)
    assert "the body of the wrapped `Engine.start` changed upstream" in done.err


def test_an_operation_without_contract_and_a_contract_without_operation_are_refused(sample: Sample) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    edit(lock, 'symbol = "LIMIT"', 'symbol = "LIMITS"')
    refused(sample, build(sample), 5, "`LIMIT` of src/lib/core.py is not in", "holds a contract for `LIMITS`")


def test_what_does_not_fit_is_said_before_the_lock_is_compared(sample: Sample) -> None:
    edit(sample.lib_overlay / "overlay.lock", 'symbol = "LIMIT"', 'symbol = "LIMITS"')
    edit(sample.lib_overlay / "tree/src/lib/core.py", "def scale(", "def scales(")
    done = build(sample)
    refused(sample, done, 5, "no `scales`")
    assert done.err.count("error: ") == 1


def test_a_lock_that_cannot_be_written_is_left_alone(sample: Sample) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    lock.unlink()
    lock.mkdir()
    before = sorted(sample.lib_overlay.iterdir())
    done = sample.environment.cli("lock", sample.lib_name, "--overlays", sample.overlays)
    refused(sample, done, 6, str(lock), "cannot be written")
    assert sorted(path for path in sample.lib_overlay.iterdir() if path.name != "README.md") == [
        path for path in before if path.name != "README.md"
    ]
