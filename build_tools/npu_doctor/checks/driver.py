"""Driver and firmware against the toolkit, by the versions that their files require of each other."""

from __future__ import annotations

from collections.abc import Iterator

from npu_doctor import versions
from npu_doctor.context import Context
from npu_doctor.model import Level, Row

SOURCE = "compatible_version in ascend_toolkit_install.info and in driver/version.info"
_FIRMWARE = "compatible_version_fw in /usr/local/Ascend/driver/version.info"
_FAMILY = 11  # V100R001C23, the part of an inner version that names a release


def driver(context: Context) -> Iterator[Row]:
    """Yield whether toolkit and driver name each other in their own files, the widest published range there is."""
    together = named(context)
    if together is None:
        return
    yield Row(
        component="driver with toolkit",
        level="matched" if together else "broken",
        found=context.ascend.driver.get("Innerversion", "")[:_FAMILY],
        expected=context.ascend.toolkit.get("compatible_version", ""),
        fix="" if together else "install the driver of the row of the toolkit, or a toolkit of the driver's time",
        see=(SOURCE,),
    )


def named(context: Context) -> bool | None:
    """Return whether the files of toolkit and driver name each other; None where one cannot be read."""
    inner = context.ascend.driver.get("Innerversion", "")[:_FAMILY]
    listed = context.ascend.toolkit.get("compatible_version", "")
    own = context.ascend.toolkit.get("innerversion", "")[:_FAMILY]
    if not inner or not listed:
        return None
    return f"[{inner}]" in listed or f"[{own}]" in context.ascend.driver.get("compatible_version", "")


def firmware(context: Context) -> Iterator[Row]:
    """Yield whether the firmware lies in the range that the driver's file gives."""
    found = context.ascend.firmware
    limits = context.ascend.driver.get("compatible_version_fw", "").strip("[]").split(",")
    if not found or len(limits) != len(("lowest", "highest")):
        return
    inside = versions.allows(f">={limits[0].strip()},<={limits[1].strip()}", found)
    level: Level = "unknown" if inside is None else "matched" if inside else "broken"
    fix = "" if inside else f"install the firmware of the driver {context.ascend.hdk}"
    expected = " to ".join(limits)
    yield Row(component="firmware", level=level, found=found, expected=expected, fix=fix, see=(_FIRMWARE,))
