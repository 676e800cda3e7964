"""Builds that are stopped at any moment: a word, the right exit code, and nothing left behind by the next one."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from npu_overlays.files import PREFIX
from support.wheels import contents, record_problems_below

from .refusals import out
from .sample import Sample

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)

# Of several at once, whose every build takes five times as long here; fifty were tried as well.
MOMENTS = 12

# Of coverage.py, which tells of an interrupt that meets it while it writes, and whose files are cut short by a kill.
UNMEASURED = dict.fromkeys(("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"))


@pytest.fixture
def sample(locked: Sample, tmp_path: Path) -> Sample:
    """Return a copy of the locked sample, of whose upstreams nothing was fetched yet."""
    return locked.copy(tmp_path, fetched=False)


def temporary(sample: Sample) -> Path:
    folder = sample.folder / "temporary"
    folder.mkdir(exist_ok=True)
    return folder


def stopped(
    sample: Sample, number: signal.Signals, after: float | None, *options: str
) -> subprocess.CompletedProcess[str]:
    """Start a build, send it a signal some time after its first lines ran, and return how it ended.

    None as the time is the moment at which it has begun to write.
    """
    where = ("--overlays", str(sample.overlays), "--out", "out")
    command = [sys.executable, "-m", "npu_overlays", "build", *where, *options]
    # Every other one merges, although that was done before: else most would be over by then.
    anew = "1" if after is None or int(after * 1000) % 2 else ""
    with (
        listening_to_interrupts(),
        subprocess.Popen(
            command,
            cwd=sample.folder,
            env=sample.environment.variables(TMPDIR=str(temporary(sample)), NPU_OVERLAYS_ANEW=anew, **UNMEASURED),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        while not _catches(process.pid):
            time.sleep(0.01)
        # Not the file by which Python's tempfile tries whether the folder can be written to: a killed one leaves it.
        while after is None and not any(temporary(sample).glob(f"{PREFIX}*")):
            time.sleep(0.001)
        time.sleep(after or 0)
        process.send_signal(number)
        said, told = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, said, told)


@contextmanager
def listening_to_interrupts() -> Iterator[None]:
    """Let what is started here be interrupted, also where this run was started in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _catches(process: int) -> bool:
    """Return whether a process has a handler for SIGTERM, as Linux tells it."""
    status = Path(f"/proc/{process}/status").read_text("utf-8")
    caught = next((line for line in status.splitlines() if line.startswith("SigCgt")), "SigCgt: 0").split()[1]
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def left(sample: Sample, wheels: Path) -> Iterator[str]:
    """Yield what does not belong there, in the folder of wheels and in that for temporary files."""
    known = contents(wheels)
    if out(sample).is_dir():
        for path in out(sample).iterdir():
            if path.is_dir() or known.get(path.name) != path.read_bytes():
                yield str(path)
    yield from map(str, temporary(sample).iterdir())
    tmp = sample.environment.cache / "tmp"
    yield from map(str, tmp.iterdir() if tmp.is_dir() else ())


def stop_and_build(
    sample: Sample, wheels: Path, moments: Sequence[tuple[signal.Signals, float | None]], *options: str
) -> list[int]:
    """Stop builds at these moments, then build, and see that all is as if none had been stopped."""
    codes = []
    for number, after in moments:
        done = stopped(sample, number, after, *options)
        codes.append(done.returncode)
        assert "Traceback" not in done.stderr
        if number != signal.SIGKILL:
            # What has said its last word may still be ended the ordinary way.
            assert done.returncode == 128 + number or done.stdout, (done.returncode, done.stderr)
            assert done.stdout or done.stderr.splitlines()[-1].startswith("interrupted"), done.stderr
        if out(sample).is_dir() and done.stdout:
            for file in out(sample).glob("[!.]*"):
                file.unlink()
    sample.environment.ok(
        "build", "--force", "--overlays", sample.overlays, "--out", out(sample), TMPDIR=str(temporary(sample))
    )
    assert list(left(sample, wheels)) == []
    assert {path.name for path in out(sample).iterdir()} == {path.name for path in wheels.iterdir()}
    assert record_problems_below(out(sample)) == []
    return codes


def duration(sample: Sample, *options: str) -> float:
    """Return how long a whole build takes here and now."""
    start = time.monotonic()
    sample.environment.ok("build", "--overlays", sample.overlays, "--out", sample.folder / "timed", *options)
    return time.monotonic() - start


def test_a_stopped_build_says_a_word_and_leaves_nothing(sample: Sample, wheels: Path) -> None:
    codes = stop_and_build(sample, wheels, [(number, None) for number in SIGNALS])
    assert codes == [130, 143, -9]


def test_what_was_written_is_said_to_be_nothing(sample: Sample) -> None:
    done = stopped(sample, signal.SIGTERM, 0)
    assert done.returncode == 143
    assert done.stderr in ("interrupted\n", f"interrupted: nothing was written to {out(sample)}\n")


@pytest.mark.thorough
def test_builds_stopped_at_fifty_random_moments_leave_nothing(sample: Sample, wheels: Path) -> None:
    whole = duration(sample)
    # Not for a secret: the moments of a failure can be had again.
    chance = random.Random(50)  # noqa: S311
    for _ in range(5):
        moments = [(chance.choice(SIGNALS), chance.uniform(0, whole)) for _ in range(10)]
        stop_and_build(sample, wheels, moments)


@pytest.mark.thorough
def test_builds_of_several_at_once_stopped_at_random_moments_leave_nothing(sample: Sample, wheels: Path) -> None:
    whole = duration(sample, "--jobs", "2")
    chance = random.Random(12)  # noqa: S311  # likewise
    moments = [(chance.choice(SIGNALS), chance.uniform(0, whole)) for _ in range(MOMENTS)]
    stop_and_build(sample, wheels, moments, "--jobs", "2")
    assert processes_of(sample) == []


def processes_of(sample: Sample) -> list[str]:
    """Return what still runs of what was started with the sample's folder for temporary files."""
    folder = str(temporary(sample)).encode()
    return [entry.name for entry in Path("/proc").iterdir() if entry.name.isdecimal() and folder in _environment(entry)]


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:  # somebody else's, or gone by now
        return b""
