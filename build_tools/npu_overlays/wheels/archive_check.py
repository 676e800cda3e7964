"""Archive check: a wheel → where its archive, RECORD, name and metadata differ from a build's.

Someone who changes these can rewrite RECORD to fit; nothing else in a wheel verifies them.
"""

from __future__ import annotations

import configparser
import csv
import io
from collections.abc import Iterator, Mapping
from itertools import chain

from packaging.tags import parse_tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from npu_overlays.errors import Problem, listing
from npu_overlays.sources.archive_files import unaccounted
from npu_overlays.wheels.bill_of_materials import bill_name
from npu_overlays.wheels.wheel_reader import WheelContents, record_digest

COMMANDS = "entry_points.txt"
_HEADER = {"Wheel-Version", "Generator", "Root-Is-Purelib", "Tag"}
_CHECKED = {"RECORD", "WHEEL"}


def check_record(wheel: WheelContents) -> Iterator[Problem]:
    """Yield files that RECORD lacks, has too many, or gives another digest or size."""
    own = f"{wheel.info}/RECORD"
    held = {path: recorded(content) for path, content in wheel.members.items()}
    for what in record_faults(held, own, wheel.members.get(own, b"")):
        yield wheel.problem("RECORD", what)


def recorded(content: bytes) -> list[str]:
    """Return the digest and the size of a file as a row of RECORD states them."""
    return [record_digest(content), str(len(content))]


def record_faults(held: Mapping[str, list[str]], own: str, record: bytes) -> Iterator[str]:
    """Yield what is wrong with a RECORD.

    Args:
        held: every file of the wheel by its path, as `recorded`.
        own: the path of RECORD, which has no digest of itself.
        record: its content.
    """
    rows = _rows(record)
    for path in sorted(held.keys() | rows.keys()):
        if path not in rows:
            yield f"does not list {path}"
        elif path not in held:
            yield f"lists {path}, which the wheel does not hold"
        elif path != own and rows[path] != held[path]:
            yield f"gives another digest or size than {path} has"


def _rows(record: bytes) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in csv.reader(io.StringIO(record.decode())) if row}


def check_tags(wheel: WheelContents) -> Iterator[Problem]:
    """Yield a problem where the file's name claims other Pythons and platforms than WHEEL."""
    header = wheel.header
    tags = set(chain.from_iterable(parse_tag(str(text)) for text in header.get_all("Tag", [])))
    try:
        named = parse_wheel_filename(wheel.file.name)[3]
    except InvalidWheelFilename:
        return  # `check_names` reports that
    if tags != named:
        yield wheel.problem("WHEEL", f"says it is for {', '.join(sorted(map(str, tags)))}, its name says otherwise")


def check_names(wheel: WheelContents) -> Iterator[Problem]:
    """Yield a problem where file name, metadata folder and metadata do not name the same distribution."""
    own = (canonicalize_name(wheel.name), wheel.version)
    try:
        name, version, _, _ = parse_wheel_filename(wheel.file.name)
    except InvalidWheelFilename as error:
        yield wheel.problem("its name", str(error))
        return
    if (name, str(version)) != own:
        yield wheel.problem("METADATA", f"says {wheel.name} {wheel.version}, the file's name {name} {version}")
    folder = wheel.info.removesuffix(".dist-info").partition("-")
    if (canonicalize_name(folder[0]), folder[2]) != own:
        yield wheel.problem(wheel.info, f"does not belong to {wheel.name} {wheel.version}")


def check_archive(wheel: WheelContents) -> Iterator[Problem]:
    """Yield a problem where the archive holds bytes that belong to no file: no installer reads them, others may."""
    if count := unaccounted(wheel.file):
        yield wheel.problem("its archive", f"{abs(count)} bytes of it do not belong to one file each")


def check_header(wheel: WheelContents) -> Iterator[Problem]:
    """Yield fields of WHEEL that no build writes, and one that sends pure Python to the folder of compiled files."""
    header = wheel.header
    if {*header.keys()} - _HEADER or str(header.get_payload()).strip():
        yield wheel.problem("WHEEL", f"says more than {listing(sorted(_HEADER))}")
    if header.get_all("Wheel-Version") != ["1.0"]:
        yield wheel.problem("WHEEL", "is not of version 1.0")
    homes = {"true"} if wheel.file.name.endswith("-any.whl") else {"true", "false"}
    if {*header.get_all("Root-Is-Purelib", [""])} - homes:
        yield wheel.problem("WHEEL", f"contradicts Root-Is-Purelib: {' or '.join(sorted(homes))}")


def check_commands(wheel: WheelContents) -> Iterator[Problem]:
    """Yield a problem where entry points cannot be read, so that no installer makes commands of them."""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    try:
        parser.read_string(wheel.members.get(f"{wheel.info}/{COMMANDS}", b"").decode())
    except (configparser.Error, UnicodeDecodeError) as error:
        yield wheel.problem(COMMANDS, f"cannot be read: {' '.join(str(error).split())}")


def check_companion(wheel: WheelContents) -> Iterator[Problem]:
    """Yield metadata that no companion has, such as entry points: it offers upstream's name alone."""
    own = {"METADATA", "WHEEL", "RECORD", f"sboms/{bill_name(wheel.name)}"}
    if other := sorted(_metadata(wheel) - own):
        yield wheel.problem(wheel.info, f"holds what no companion does: {listing(other)}")


def unproven(wheel: WheelContents) -> tuple[str, ...]:
    """Return the metadata files that only RECORD verifies; METADATA is one, since the SBOM has only parts of it."""
    return tuple(sorted(_metadata(wheel) - _CHECKED - {f"sboms/{bill_name(wheel.name)}"}))


def _metadata(wheel: WheelContents) -> set[str]:
    folder = f"{wheel.info}/"
    return {path.removeprefix(folder) for path in wheel.members if path.startswith(folder)}
