"""Thousands of small wheels, put on an index, and then one more; in CPU time, as the disk is not ours."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from figures import Figure
from measurements import Contender, Measurement, interleaved, seconds

from npu_overlays.commands.invocation import collect_seldom
from npu_overlays.publish.index_update import IndexRequest, update_index

FEW, MANY = 500, 5000
_OF_A_PROJECT = 100
_ABOUT = "Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def measure(work: Path, repeats: int, told: Callable[[str], None]) -> Iterator[Figure]:
    """Yield what an index costs for few wheels and for many, and one wheel more."""
    collect_seldom()  # as the command does
    shops = {count: _Shop(work / str(count), count) for count in (FEW, MANY)}
    whole = {f"index of {count}": Contender(run=shop.run, before=shop.anew) for count, shop in shops.items()}
    more = Contender(run=shops[MANY].run, before=shops[MANY].one_more)
    samples = interleaved({**whole, "one more": more}, repeats, told=told)
    few, many, one = (seconds(taken) for taken in samples.values())
    detail = f"{many:.2f} s of CPU"
    yield Figure(what=f"index of {MANY} wheels", value=many, unit="s", goal=10, detail=detail)
    yield Figure(
        what=f"one wheel more on an index of {MANY}", value=one, unit="s", goal=1, detail=f"{one:.2f} s of CPU"
    )
    growth = many / MANY / (few / FEW)
    detail = f"{few / FEW * 1000:.2f} ms, {many / MANY * 1000:.2f} ms"
    what = f"cost of a wheel on an index, {MANY} against {FEW}"
    yield Figure(what=what, value=growth, unit="×", goal=1.2, detail=detail)


class _Shop:
    """A folder of wheels and the index of it."""

    def __init__(self, folder: Path, count: int) -> None:
        self._wheels, self._out = folder / "wheels", folder / "index-0"
        self._count = self._indexes = 0
        self._wheels.mkdir(parents=True)
        for _ in range(count):
            self.one_more()

    def one_more(self) -> None:
        """Write a wheel of the project whose turn it is."""
        project, version = divmod(self._count, _OF_A_PROJECT)
        self._count += 1
        info = f"project{project}-1.{version}.dist-info"
        metadata = f"Metadata-Version: 2.1\nName: project{project}\nVersion: 1.{version}\nRequires-Python: >=3.10\n"
        with zipfile.ZipFile(self._wheels / f"project{project}-1.{version}-py3-none-any.whl", "w") as archive:
            archive.writestr(f"project{project}.py", f"VERSION = {version}\n" * 50)
            archive.writestr(f"{info}/METADATA", metadata)
            archive.writestr(f"{info}/WHEEL", _ABOUT)
            archive.writestr(f"{info}/RECORD", "")

    def anew(self) -> None:
        """Let the next index be a new one.

        The old ones stay: where thousands of files were just deleted, ext4 takes seconds to find numbers for new ones.
        """
        self._indexes += 1
        self._out = self._out.with_name(f"index-{self._indexes}")

    def run(self) -> Measurement:
        """Bring the index up to date, and return what that cost."""
        start = time.process_time()
        update_index(IndexRequest(folders=(self._wheels,), out=self._out))
        return Measurement(seconds=time.process_time() - start)
