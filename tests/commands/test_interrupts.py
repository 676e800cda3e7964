"""Interrupts that come while a library is in the middle of something."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from npu_overlays.commands.console import Lines
from npu_overlays.errors import ConfigError, Problem
from npu_overlays.interrupts import Interrupted, undisguised


@pytest.fixture
def afterwards() -> Iterator[ExitStack]:
    """Give what closes at the end of a test what its archive could not: left to Python, it fails once more."""
    with ExitStack() as stack:
        yield stack


def interrupted_in_a_zip(path: Path, afterwards: ExitStack) -> None:
    """Be asked to end while a file is written into an archive, which then cannot be closed."""
    with zipfile.ZipFile(path, "w") as archive:
        afterwards.callback(archive.close)
        file = archive.open("name", "w")
        afterwards.callback(file.close)
        raise Interrupted(signal.SIGTERM)


def refused(path: Path, afterwards: ExitStack) -> None:
    try:
        interrupted_in_a_zip(path, afterwards)
    except ValueError as error:
        raise ConfigError(Problem(where="a", what="refused", fix="b")) from error


def test_zipfile_hides_an_interrupt(tmp_path: Path, afterwards: ExitStack) -> None:
    with pytest.raises(ValueError, match="writing handle"):
        interrupted_in_a_zip(tmp_path / "a.zip", afterwards)


def test_what_hid_an_interrupt_gives_it_back(tmp_path: Path, afterwards: ExitStack) -> None:
    with pytest.raises(Interrupted) as raised, undisguised():
        refused(tmp_path / "a.zip", afterwards)
    assert raised.value.exit_code == 143


@pytest.mark.parametrize(("known", "said"), [("", "nothing was written"), ("half is there", "half is there")])
def test_an_interrupt_says_what_the_user_finds(known: str, said: str) -> None:
    with pytest.raises(Interrupted) as raised, undisguised("nothing was written"):
        raise Interrupted(signal.SIGTERM, known)
    assert raised.value.state == said


def test_a_class_that_is_being_made_hides_no_interrupt() -> None:
    class Named:
        def __set_name__(self, owner: type, name: str) -> None:
            raise Interrupted(signal.SIGTERM)

    # Up to Python 3.11 it comes out as a RuntimeError.
    with pytest.raises(Interrupted), undisguised():
        type("Owner", (), {"named": Named()})


def test_progress_that_was_interrupted_before_its_thread_ran_ends_as_any(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: threading.Thread) -> None:
        raise Interrupted(signal.SIGTERM)

    lines = Lines(print)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(Interrupted):
            lines.step("merging")
    lines.stop()


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(KeyError), undisguised():
        raise KeyError("name")


def ended(finaliser: str, body: str) -> subprocess.CompletedProcess[str]:
    """Run a process that a signal interrupts, and which has an object with this finaliser."""
    code = f"""
import os, signal, time
from npu_overlays.interrupts import Interrupted, interruptible

def ask():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.1)

class Held:
    def __del__(self):
        {finaliser}

try:
    with interruptible():
        held = Held()
        {body}
        time.sleep(20)
        print("went on")
except Interrupted as interrupted:
    print("interrupted", interrupted.number)
"""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


@pytest.mark.parametrize(
    ("finaliser", "body"),
    [("ask()", "del held"), ("raise ValueError", "ask()")],
    ids=["an interrupt in a finaliser", "a finaliser that fails afterwards"],
)
def test_finalisers_neither_swallow_an_interrupt_nor_speak_of_it(finaliser: str, body: str) -> None:
    done = ended(finaliser, body)
    assert (done.stdout, done.stderr) == ("interrupted 15\n", "")
