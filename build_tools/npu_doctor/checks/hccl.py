"""What goes wrong between processes and machines: ports, parts of different versions, timeouts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npu_doctor.context import Context
from npu_doctor.model import Level, Row

_HOST, _NPU, _BASE = "HCCL_HOST_SOCKET_PORT_RANGE", "HCCL_NPU_SOCKET_PORT_RANGE", "HCCL_IF_BASE_PORT"
_PORTS = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_LAST_PORT = 65535
_FIRST_HOST_PORT, _HOST_PORTS = 60000, 16  # what HCCL takes on the host unless told otherwise
_NPU_PORT = 16666
_SHORTEST, _LONGEST = 120, 7200  # what HCCL accepts, in seconds


def ports(context: Context) -> Iterator[Row]:
    """Yield whether HCCL may choose its ports, as processes that share a device need."""
    if not context.has("torch_npu"):
        return
    for name in (_HOST, _NPU):
        value = context.system.value(name)
        room = value == "auto" or len(_port_set(value)) > 1  # for two processes
        level: Level = "matched" if room else "broken" if value else "compatible"
        yield context.judge(28, name, level, value or "not set", "auto, or a range of ports")


def _port_set(value: str) -> set[int]:
    """Return the ports of a list of ports and rising ranges of them; none where it is no such list."""
    found: set[int] = set()
    for part in value.split(","):
        match = _PORTS.fullmatch(part.strip())
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 0 < low <= high <= _LAST_PORT:
            return set()
        found.update(range(low, high + 1))
    return found


def ports_in_use(context: Context) -> Iterator[Row]:
    """Yield whether somebody on this machine listens where HCCL would."""
    listening = context.system.listening()
    if listening is None or not context.has("torch_npu"):
        return
    base = context.system.value(_BASE)
    first = int(base) if re.fullmatch(r"[0-9]{1,5}", base) else _FIRST_HOST_PORT
    for name, usual in ((_HOST, set(range(first, first + _HOST_PORTS))), (_NPU, {_NPU_PORT})):
        value = context.system.value(name)
        wanted = _port_set(value) or (set() if value == "auto" else usual)
        taken = sorted(wanted & listening)
        # From a range HCCL takes what is free; without one it wants these very ports.
        level: Level = "matched" if not taken or (value and len(taken) < len(wanted)) else "broken"
        if level == "broken" and name == _NPU:
            level = "compatible"  # the NPU's own network has ports of its own
        shown = ", ".join(map(str, taken[:4])) or "none"
        fix = f"export {name}=auto, or stop who listens there: ss -ltnp 'sport = :{taken[0]}'" if taken else ""
        yield context.judge(28, f"ports of {name} in use", level, shown, "none of those HCCL takes", fix=fix)


def toolkit_parts(context: Context) -> Iterator[Row]:
    """Yield whether all parts of the toolkit are of one version; that of other machines is for --ray to compare."""
    parts = context.ascend.components
    if not parts:
        return
    by_version: dict[str, list[str]] = {}
    for name, version in parts.items():
        by_version.setdefault(version, []).append(name)
    found = "; ".join(f"{version}: {', '.join(sorted(names))}" for version, names in sorted(by_version.items()))
    yield context.judge(29, "parts of CANN", len(by_version) == 1, found, "one version, the same on every machine")


def connect_timeout(context: Context) -> Iterator[Row]:
    """Yield whether HCCL waits long enough for slow machines."""
    if not context.has("torch_npu"):
        return
    value = context.system.value("HCCL_CONNECT_TIMEOUT")
    inside = bool(re.fullmatch(r"[0-9]{1,9}", value)) and _SHORTEST <= int(value) <= _LONGEST
    level: Level = (
        "broken" if value and not inside else "matched" if inside and int(value) > _SHORTEST else "compatible"
    )
    expected = f"an integer over {_SHORTEST} and up to {_LONGEST}"
    yield context.judge(30, "HCCL_CONNECT_TIMEOUT", level, value or "not set (120)", expected)
