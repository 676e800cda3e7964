"""The devices: whether they are all there, whom their memory belongs to, and how many of them Ray will see."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npu_doctor import files
from npu_doctor.ascend import Device
from npu_doctor.context import Context
from npu_doctor.model import Level, Row

_DEVICE = re.compile(r"davinci([0-9]+)")
_SHARE = 10  # percent of a chip that another process may hold before a run is at risk
_IDLE = 6_000  # MB that a chip shows as used when nobody uses it; 3,400 is usual
_SMALLEST = 32_768  # MB of a chip whose memory npu-smi does not tell
_RAY_PATTERN = re.compile(r"glob\(\s*['\"]/dev/davinci\?['\"]")  # of a Ray that sees /dev/davinci0 to 9
_ONE_DIGIT = 10
_CONTAINER = ("/.dockerenv", "/run/.containerenv")
_MOUNTED = (
    "start the container with --device for /dev/davinci*, davinci_manager, devmm_svm and hisi_hdc and with "
    "/usr/local/dcmi, /usr/local/bin/npu-smi and /usr/local/Ascend/driver mounted; a folder that is empty in the "
    "container is not there on the host"
)
_INSTALLED = "install the driver on this machine and put the user into the group of /dev/davinci* (HwHiAiUser)"


def nodes(context: Context) -> Iterator[Row]:
    """Yield whether the device files and the driver can be used, as a container has to be told."""
    if not (context.has("torch_npu") or context.ascend.home or context.ascend.driver):
        return
    numbered = _device_names(context)
    missing, closed = [] if numbered else ["/dev/davinci0…"], []
    for path in map("/dev/{}".format, (*numbered, *context.settings["devices"])):
        if not context.system.exists(path):
            missing.append(path)
        elif not context.system.usable(path):
            closed.append(path)
    missing += [path for path in context.settings["mounts"] if not _is_mounted(context, path)]
    found = []
    if missing:
        found.append(f"missing: {', '.join(missing)}")
    if closed:
        found.append(f"not for this user: {', '.join(closed)}")
    told = "; ".join(found) or f"{len(numbered)} devices and the driver"
    fix = _MOUNTED if any(map(context.system.exists, _CONTAINER)) else f"{_INSTALLED}; in a container: {_MOUNTED}"
    yield context.judge(33, "devices and driver", not found, told, "all there", fix=fix)


def _device_names(context: Context) -> list[str]:
    return [name for name in context.system.names("/dev") if _DEVICE.fullmatch(name)]


def _is_mounted(context: Context, path: str) -> bool:
    """Return whether a path is there; what a container mounts and the host lacks becomes an empty folder."""
    return context.system.is_file(path) or (not path.endswith(".info") and bool(context.system.names(path)))


def smi(context: Context) -> Iterator[Row]:
    """Yield the chips that ``npu-smi`` reports, or the processes that hold the devices if it reports none."""
    if not (context.has("torch_npu") or context.ascend.home or context.ascend.driver):
        return
    answer, chips = context.ascend.smi, context.ascend.devices
    ill = [f"NPU {chip.npu} {chip.health}" for chip in chips if chip.health != "OK"]
    said = next((line.strip(" |+") for line in (answer.out + answer.err).splitlines() if line.strip(" |+-")), "nothing")
    failed = answer.code != 0 or "dcmi" in said
    level: Level = "matched" if chips and not ill and not failed else "broken"
    names = ", ".join(sorted({chip.name for chip in chips}))
    found = "; ".join(ill) or (f"{len(chips)} chips: {names}" if chips and not failed else answer.problem or said[:200])
    if answer.code is None or (not chips and not failed):
        level = "unknown"
    holders = _holders(context) if level == "broken" else []
    found += f"; held by {', '.join(holders[:4])}" if holders else ""
    yield context.judge(33, "npu-smi info", level, found, "every chip OK")


def _holders(context: Context) -> list[str]:
    """Return the processes that have a device open, as far as this user may see."""
    found = []
    for pid in filter(str.isdecimal, context.system.names("/proc")):
        folder = f"/proc/{pid}/fd"
        targets = (context.system.link(f"{folder}/{name}") for name in context.system.names(folder))
        if any(target.startswith("/dev/davinci") for target in targets):
            found.append(f"{(context.system.text(f'/proc/{pid}/comm') or '?').strip()} (pid {pid})")
    return found


def _chips(context: Context) -> list[Device]:
    """Return the chips a run would take: all, or those that ASCEND_RT_VISIBLE_DEVICES names by their place."""
    chips, said = list(context.ascend.devices), context.system.value("ASCEND_RT_VISIBLE_DEVICES")
    wanted: set[int] = set()
    for part in said.split(","):
        if named := re.fullmatch(r"([0-9]{1,3})(?:-([0-9]{1,3}))?", part.strip()):
            wanted.update(range(int(named[1]), int(named[2] or named[1]) + 1))
    return [chip for place, chip in enumerate(chips) if place in wanted] if wanted else chips


def processes(context: Context) -> Iterator[Row]:
    """Yield whether other processes hold the memory of the chips a run would take."""
    used = {(chip.npu, chip.chip): chip.total or _SMALLEST for chip in _chips(context)}
    running = [one for one in context.ascend.processes if (one.npu, one.chip) in used]
    heavy = [one for one in running if one.memory * 100 >= _SHARE * used[one.npu, one.chip]]
    if used:
        shown = [f"NPU {one.npu}: {one.name} (pid {one.pid}) {one.memory} MB" for one in (heavy or running)[:4]]
        level: Level = "broken" if heavy else "compatible" if running else "matched"
        # npu-smi tells the pids of the host, which a container does not have.
        here = [one.pid for one in heavy or running if context.system.exists(f"/proc/{one.pid}")]
        stop = (
            f"stop it: kill {' '.join(here[:8])}" if here else "it is no process of this container: stop it on the host"
        )
        fix = f"{stop}, or leave the device out of ASCEND_RT_VISIBLE_DEVICES"
        found = "; ".join(shown) or "no processes"
        yield context.judge(25, "memory of the devices", level, found, "no other process", fix=fix)


def unaccounted(context: Context) -> Iterator[Row]:
    """Yield whether memory is held that no listed process accounts for."""
    used = [chip for chip in _chips(context) if chip.total]
    held = {(chip.npu, chip.chip): chip.used for chip in used}
    for one in context.ascend.processes:
        if (one.npu, one.chip) in held:
            held[one.npu, one.chip] -= one.memory
    if not used:
        return
    lost = [chip for chip in used if held[chip.npu, chip.chip] > max(_IDLE, chip.total * _SHARE // 100)]
    shown: list[str] = []
    resets: list[str] = []
    for chip in lost[:4]:
        shown.append(f"NPU {chip.npu}: {held[chip.npu, chip.chip]} of {chip.total} MB")
        resets.append(f"npu-smi set -t reset -i {chip.npu} -c {chip.chip}")
    found = "; ".join(shown) or f"at most {max(held.values())} MB"
    fix = f"stop what runs in other containers, or, where nothing does, reset the chip: {'; '.join(resets)}"
    expected = f"under {_IDLE} MB, what an idle chip shows"
    yield context.judge(25, "memory that no process accounts for", not lost, found, expected, fix=fix)


def ray(context: Context) -> Iterator[Row]:
    """Yield how many devices Ray will see: it asks acl, and counts files where that fails."""
    folder = context.folder("ray")
    if not folder:
        return
    there, tried = len(_device_names(context)), context.imported.get("acl")
    wanted = len(_chips(context)) or there
    told = tried.facts.get("devices", "") if tried else ""
    asked = bool(told) or (tried is None and context.has("acl"))
    if asked:
        seen, found = int(told or wanted), f"{told} through acl" if told else "acl is there, not tried"
    else:
        seen = _device_count(folder, there)
        reason = tried.error or tried.facts.get("problem", "") if tried else "not on the path"
        found = f"{seen} of {there} in /dev, since acl cannot be asked: {reason}"
    level: Level = "broken" if seen < max(wanted, 1) else "matched" if asked else "compatible"
    yield context.judge(32, "devices seen by Ray", level, found, f"{wanted or 'all'} through acl")


def _device_count(folder: str, there: int) -> int:
    """Return how many devices this Ray finds by their files."""
    said = files.text(f"{folder}/_private/accelerators/npu.py")
    if said is None:
        return 0  # a Ray that knows no NPU
    return min(there, _ONE_DIGIT) if _RAY_PATTERN.search(said) else there
