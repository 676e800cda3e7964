"""Closure: a wheel → what lies in its archive and its metadata folder and cannot be as built, and what may not be.

Whoever changes these can write RECORD to fit, and nothing else in the wheel speaks of them.
"""

from __future__ import annotations

import configparser
from collections.abc import Iterator
from email.parser import HeaderParser

from npu_overlays.errors import Problem, listing
from npu_overlays.sources.archive_files import unaccounted
from npu_overlays.wheels.bill import bill_name
from npu_overlays.wheels.contents import WheelContents

COMMANDS = "entry_points.txt"
_HEADER = {"Wheel-Version", "Generator", "Root-Is-Purelib", "Tag"}
_CHECKED = {"RECORD", "WHEEL"}


def check_archive(wheel: WheelContents) -> Iterator[Problem]:
    """Yield whether the archive holds bytes that belong to no file: no installer reads them, somebody else may."""
    if count := unaccounted(wheel.file):
        yield wheel.problem("its archive", f"{abs(count)} bytes of it do not belong to one file each")


def check_header(wheel: WheelContents) -> Iterator[Problem]:
    """Yield where WHEEL says what no build writes, or sends pure Python to where compiled files belong."""
    header = HeaderParser().parsestr(wheel.members.get(f"{wheel.info}/WHEEL", b"").decode(errors="replace"))
    if {*header.keys()} - _HEADER or str(header.get_payload()).strip():
        yield wheel.problem("WHEEL", f"says more than {listing(sorted(_HEADER))}")
    if header.get_all("Wheel-Version") != ["1.0"]:
        yield wheel.problem("WHEEL", "is not of version 1.0")
    homes = {"true"} if wheel.file.name.endswith("-any.whl") else {"true", "false"}
    if {*header.get_all("Root-Is-Purelib", [""])} - homes:
        yield wheel.problem("WHEEL", f"says otherwise than Root-Is-Purelib: {' or '.join(sorted(homes))}")


def check_commands(wheel: WheelContents) -> Iterator[Problem]:
    """Yield why entry points cannot be read: no installer makes commands of them."""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    try:
        parser.read_string(wheel.members.get(f"{wheel.info}/{COMMANDS}", b"").decode())
    except (configparser.Error, UnicodeDecodeError) as error:
        yield wheel.problem(COMMANDS, f"cannot be read: {' '.join(str(error).split())}")


def check_companion(wheel: WheelContents) -> Iterator[Problem]:
    """Yield metadata that no companion has, such as entry points: it offers nothing of upstream's but its name."""
    own = {"METADATA", "WHEEL", "RECORD", f"sboms/{bill_name(wheel.name)}"}
    if other := sorted(_metadata(wheel) - own):
        yield wheel.problem(wheel.info, f"holds what no companion does: {listing(other)}")


def unproven(wheel: WheelContents) -> tuple[str, ...]:
    """Return the metadata of which RECORD alone says that they are as built; of METADATA, what stands in no bill."""
    return tuple(sorted(_metadata(wheel) - _CHECKED - {f"sboms/{bill_name(wheel.name)}"}))


def _metadata(wheel: WheelContents) -> set[str]:
    folder = f"{wheel.info}/"
    return {path.removeprefix(folder) for path in wheel.members if path.startswith(folder)}
