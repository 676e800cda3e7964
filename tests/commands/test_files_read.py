"""What a build reads of overlays, their locks and stacks, counted by the interpreter itself."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from end_to_end.sample import Sample, make_sample, open_sample
from environments.once import once

COUNTING = """
import collections, json, os, sys
opened = collections.Counter()
def count(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and arguments[0].endswith((".lock", ".toml", ".json")):
        opened["/".join(arguments[0].split(os.sep)[-2:])] += 1
sys.addaudithook(count)
from npu_overlays.cli import main
code = main(sys.argv[1:])
json.dump(opened, sys.stderr)
sys.exit(code)
"""


@pytest.fixture
def sample(shared: Path, tmp_path: Path) -> Sample:
    """Return a copy of the sample the end-to-end tests build."""
    return open_sample(once(shared, "sample", make_sample)).copy(tmp_path)


def opened(sample: Sample, *arguments: str) -> Counter[str]:
    """Return how often a command opens each configuration and lock."""
    done = sample.environment.python("-c", COUNTING, *arguments, "--overlays", sample.overlays)
    return Counter(json.loads(done.err.splitlines()[-1]))


@pytest.mark.parametrize("command", [("build", "--json", "--force"), ("check", "--json")])
def test_each_file_is_read_once_and_once_more_for_the_digest(sample: Sample, command: tuple[str, ...]) -> None:
    found = opened(sample, *command, sample.lib_name)
    # Of lib itself what is read is also what the digest is made of; app is only what lib is paired with.
    assert {name: found[f"{sample.lib_name}/{name}"] for name in ("pyproject.toml", "overlay.lock")} == {
        "pyproject.toml": 2,
        "overlay.lock": 2,
    }
    assert found[f"{sample.app_name}/pyproject.toml"] == 1
    assert found["stacks/pair.json"] == 1


def test_of_overlays_built_together_each_is_read_once(sample: Sample) -> None:
    found = opened(sample, "check", "--all", "--json")
    assert max(found[f"{name}/overlay.lock"] for name in (sample.lib_name, sample.app_name)) == 2
    assert found["stacks/pair.json"] == 1


def test_lock_reads_the_lock_that_is_there_once(sample: Sample) -> None:
    found = opened(sample, "lock", sample.lib_name)
    # Read, held against what is to be written, and part of the digest.
    assert found[f"{sample.lib_name}/overlay.lock"] == 3
    assert found[f"{sample.lib_name}/pyproject.toml"] == 2
