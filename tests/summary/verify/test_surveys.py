"""Files are hashed one after the other, and by several threads where each of them is waited for."""

from __future__ import annotations

import hashlib
import threading
import time
from pathlib import Path

import pytest

from npu_summary.stores import Folder
from npu_summary.verify.surveys import digests

MANY = 60
ABSENT = "absent.py"


class Watched(Folder):
    """A folder that takes its time for every file, and notes which threads read."""

    def __init__(self, root: str, latency: float) -> None:
        super().__init__(root)
        self.latency = latency
        self.readers: set[int] = set()

    def read(self, path: str) -> bytes:
        self.readers.add(threading.get_ident())
        time.sleep(self.latency)
        return super().read(path)


@pytest.mark.parametrize("latency", [0, 0.002])
def test_digests_are_the_same_however_long_a_file_takes(tmp_path: Path, latency: float) -> None:
    contents = {f"m{number}.py": b"VALUE = %d\n" % number for number in range(MANY)}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    store = Watched(str(tmp_path), latency)
    found = digests(store, [*contents, ABSENT])
    assert list(found) == [*contents, ABSENT]
    assert isinstance(found.pop(ABSENT), FileNotFoundError)
    assert found == {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    if latency:  # how long nothing takes is the machine's affair
        assert len(store.readers) > 1
