"""Interrupts that come while a library is in the middle of something."""

from __future__ import annotations

import signal
import zipfile
from pathlib import Path

import pytest

from npu_overlays.errors import ConfigError, Problem
from npu_overlays.interrupts import Interrupted, undisguised


def interrupted_in_a_zip(path: Path) -> None:
    """Be asked to end while a file is written into an archive, which then cannot be closed."""
    with zipfile.ZipFile(path, "w") as archive:
        file = archive.open("name", "w")
        try:
            raise Interrupted(signal.SIGTERM)
        finally:
            assert not file.closed


def refused(path: Path) -> None:
    try:
        interrupted_in_a_zip(path)
    except ValueError as error:
        raise ConfigError(Problem(where="a", what="refused", fix="b")) from error


def test_zipfile_hides_an_interrupt(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="writing handle"):
        interrupted_in_a_zip(tmp_path / "a.zip")


def test_what_hid_an_interrupt_gives_it_back(tmp_path: Path) -> None:
    with pytest.raises(Interrupted) as raised, undisguised():
        refused(tmp_path / "a.zip")
    assert raised.value.exit_code == 143


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(KeyError), undisguised():
        raise KeyError("name")
