"""An index whose writer is killed: what is listed is there and whole, and the next run ends what was begun."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from npu_overlays.publish.index_update import IndexRequest, update_index

from .conftest import Shop

WHEELS = 150
KILLS = 8


def listed_and_wrong(shop: Shop) -> tuple[int, list[str]]:
    """Return how many files the index lists, and those of them that are not there as the page says."""
    # What a killed one leaves is hidden, and the next one removes it.
    files = {name: content for name, content in shop.files().items() if not name.startswith(".npu-overlays-")}
    count, wrong = 0, []
    for name, content in files.items():
        project, _, page = name.partition("/")
        if page != "index.json":
            continue
        for one in json.loads(content)["files"]:
            count += 1
            there = files.get(f"{project}/{one['filename']}", b"")
            if hashlib.sha256(there).hexdigest() != one["hashes"]["sha256"]:
                wrong.append(one["filename"])
    return count, wrong


@pytest.mark.slow
def test_killed_at_any_moment_it_lists_nothing_that_is_not_there(shop: Shop) -> None:
    for number in range(WHEELS):
        shop.wheel(f"app{number % 5}", f"1.{number}")
    command = [sys.executable, "-m", "npu_overlays", "index", str(shop.wheels), "--out", str(shop.out)]
    began = time.monotonic()
    subprocess.run(command, env=shop.environment.variables(), check=True, capture_output=True)
    whole, took = shop.files(), time.monotonic() - began
    for number in range(KILLS):
        if number % 2 == 0:
            subprocess.run(["rm", "-rf", str(shop.out)], check=True)
        process = subprocess.Popen(command, env=shop.environment.variables(), stderr=subprocess.DEVNULL)
        time.sleep(took * (number + 1) / KILLS)
        process.kill()
        process.wait()
        _, wrong = listed_and_wrong(shop)
        assert wrong == []
    shop.indexed()
    assert listed_and_wrong(shop) == (WHEELS, [])
    assert shop.files() == whole


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("moves", range(10))
def test_killed_between_two_files_the_next_run_writes_what_an_unharmed_one_would(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    shop.wheel("app", "1.0")
    shop.indexed()
    shop.wheel("app", "1.1")
    shop.wheel("lib", "1.0")
    left = iter(range(moves))
    replace = Path.replace

    def killed(self: Path, target: Path) -> Path:
        if next(left, None) is None:
            raise Killed
        return replace(self, target)

    request = IndexRequest(folders=(shop.wheels,), out=shop.out)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(Killed):
            update_index(request)
    update_index(request)
    after = shop.files()
    shutil.rmtree(shop.out)
    shop.indexed()
    assert after == shop.files()
