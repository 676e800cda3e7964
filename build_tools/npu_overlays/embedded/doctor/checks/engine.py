"""What goes wrong when a run starts: precision, HCCL, the engine, Ray, devices; and a reproducible run's variables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .. import source, versions
from ..context import Context
from ..model import Level, Row

_PORTS = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_DEVICE = re.compile(r"davinci([0-9]+)")
_LAST_PORT = 65535
_SHORTEST, _LONGEST = 120, 7200  # what HCCL accepts, in seconds
_ONE_DIGIT = 10  # Ray's own way of counting sees /dev/davinci0 to 9


def nz_format(context: Context) -> Iterator[Row]:
    """Yield whether vllm-ascend keeps weights in a format that training cannot update."""
    plugin = context.packages.locate("vllm_ascend")
    if plugin is None or not plugin.folder:
        return
    value = context.system.value("VLLM_ASCEND_ENABLE_NZ")
    known = any(source.mentions(path, "VLLM_ASCEND_ENABLE_NZ") for path in [f"{plugin.folder}/envs.py"])
    newer = versions.allows(">=0.11.0rc0", versions.public(context.version("vllm_ascend"))) is True
    level: Level = "broken" if (known or newer) and value != "0" else "matched"
    expected = "0" if known or newer else "nothing: this vllm-ascend has no such switch"
    yield context.judge(26, "VLLM_ASCEND_ENABLE_NZ", level, value or "not set", expected)


def expert_exchange(context: Context) -> Iterator[Row]:
    """Yield whether the exchange of experts that server mode needs has been chosen; the mode itself cannot be seen."""
    version = versions.public(context.version("vllm_ascend"))
    if not version:
        return
    affected = versions.allows(">=0.11.0rc0,<0.12", version) is True
    value = context.system.value("VLLM_ALL2ALL_BACKEND")
    level: Level = "compatible" if affected and value != "flashinfer_all2allv" else "matched"
    expected = "flashinfer_all2allv for dp+ep+tp in server mode" if affected else "nothing for this vllm-ascend"
    yield context.judge(27, "VLLM_ALL2ALL_BACKEND", level, value or "not set", expected)


def ports(context: Context) -> Iterator[Row]:
    """Yield whether HCCL may choose its ports, as processes that share a device need."""
    if not context.has("torch_npu"):
        return
    for name in ("HCCL_HOST_SOCKET_PORT_RANGE", "HCCL_NPU_SOCKET_PORT_RANGE"):
        value = context.system.value(name)
        level: Level = "matched" if value == "auto" or _ranges(value) else "broken" if value else "compatible"
        yield context.judge(28, name, level, value or "not set", "auto, or a range of ports")


def _ranges(value: str) -> bool:
    """Return whether a value is a list of ports and rising ranges of them with room for two processes."""
    matches = [_PORTS.fullmatch(part.strip()) for part in value.split(",")]
    found = [(int(match[1]), int(match[2] or match[1])) for match in matches if match]
    rising = all(0 < low <= high <= _LAST_PORT for low, high in found)
    return len(found) == len(matches) and rising and sum(high - low + 1 for low, high in found) > 1


def toolkit_parts(context: Context) -> Iterator[Row]:
    """Yield whether all parts of the toolkit are of one version; that of other machines is for --ray to compare."""
    parts = context.ascend.components
    if not parts:
        return
    by_version: dict[str, list[str]] = {}
    for name, version in parts.items():
        by_version.setdefault(version, []).append(name)
    found = "; ".join(f"{version}: {', '.join(sorted(names))}" for version, names in sorted(by_version.items()))
    level: Level = "matched" if len(by_version) == 1 else "broken"
    yield context.judge(29, "parts of CANN", level, found, "one version, the same on every machine")


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


def old_engine(context: Context) -> Iterator[Row]:
    """Yield whether a variable of the quick start for GPUs chooses an engine that is not there."""
    value = context.system.value("VLLM_ATTENTION_BACKEND")
    if not value and not context.has("vllm"):
        return
    level: Level = "broken" if value.upper() == "XFORMERS" else "matched"
    yield context.judge(31, "VLLM_ATTENTION_BACKEND", level, value or "not set", "not set")


def ray(context: Context) -> Iterator[Row]:
    """Yield whether Ray will see the devices: through acl, or by counting files, which ends at ten."""
    if not context.has("ray"):
        return
    count = len(_devices(context))
    tried = context.imported.get("acl")
    there = context.has("acl") and (tried is None or tried.ok)
    found = (
        "acl can be imported"
        if there
        else f"acl cannot be imported{f': {tried.error}' if tried else ''}; {count} devices"
    )
    level: Level = "matched" if there else "broken"
    if not there and 0 < count <= _ONE_DIGIT:
        level = "compatible"  # counting the files works for as many
    yield context.judge(32, "devices seen by Ray", level, found, "acl importable where `ray start` runs")


def _devices(context: Context) -> list[str]:
    return [name for name in context.system.names("/dev") if _DEVICE.fullmatch(name)]


def devices(context: Context) -> Iterator[Row]:
    """Yield whether devices and driver are there, mounted into the container where this is one."""
    if not (context.has("torch_npu") or context.ascend.home or context.ascend.driver):
        return
    missing = [] if _devices(context) else ["/dev/davinci0…"]
    missing += [f"/dev/{name}" for name in context.settings["devices"] if not context.system.exists(f"/dev/{name}")]
    missing += [path for path in context.settings["mounts"] if not context.system.exists(path)]
    found = f"missing: {', '.join(missing)}" if missing else f"{len(_devices(context))} devices and the driver"
    yield context.judge(33, "devices and driver", "broken" if missing else "matched", found, "all there")
    yield _smi(context)


def _smi(context: Context) -> Row:
    answer = context.ascend.smi
    chips = context.ascend.devices
    ill = [f"NPU {chip.npu} {chip.health}" for chip in chips if chip.health != "OK"]
    said = next((line.strip(" |+") for line in (answer.out + answer.err).splitlines() if line.strip(" |+-")), "nothing")
    failed = answer.code != 0 or "dcmi" in said
    level: Level = "matched" if chips and not ill and not failed else "broken"
    names = ", ".join(sorted({chip.name for chip in chips}))
    found = "; ".join(ill) or (f"{len(chips)} chips: {names}" if chips and not failed else answer.problem or said[:200])
    if answer.code is None or (not chips and not failed):
        level = "unknown"
    return context.judge(33, "npu-smi info", level, found, "every chip OK")


def deterministic(context: Context) -> Iterator[Row]:
    """Yield whether the variables of a reproducible run are set; only when asked for."""
    if not context.deterministic:
        return
    profile = context.settings["deterministic"]
    for name, wanted in profile["variables"].items():
        value = context.system.value(name)
        right = value.lower() == wanted.lower()
        yield Row(
            component=name,
            level="matched" if right else "broken",
            found=value or "not set",
            expected=wanted,
            why="" if right else f"two runs differ; also needed: {profile['also']}",
            fix=""
            if right
            else f"export {name}={wanted}" + (" (after sourcing NNAL's set_env.sh)" if name.startswith("ATB_") else ""),
            see=(profile["source"],),
        )
