"""The Ascend software on a machine: version files and the output of ``npu-smi`` → plain values."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

from npu_doctor.commands import CommandAnswer, Started
from npu_doctor.system import System

INSTALL = "/usr/local/Ascend"
_TOOLKITS = (f"{INSTALL}/ascend-toolkit/latest", f"{INSTALL}/cann", f"{INSTALL}/latest")
_POINTER = "/etc/Ascend/ascend_cann_install.info"
_SMI_SECONDS = 20

_CELL = re.compile(r"\|([^|]*)")
_MEMORY = re.compile(r"([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*$")
_VERSION = re.compile(r"npu-smi\s+\S+\s+Version:\s*([^\s|]+)")
_PROCESSES = "Process id"
_FEWEST_CELLS = 3


@dataclass(frozen=True)
class Ascend:
    """The machine's Ascend software; a value that cannot be read is empty."""

    system: System  # the machine

    @cached_property
    def home(self) -> str:
        """The toolkit's folder: what set_env.sh exported, else where it usually lies."""
        named = self.system.value("ASCEND_HOME_PATH") or self.system.value("ASCEND_TOOLKIT_HOME")
        pointer = pairs(self.system.text(_POINTER)).get("Toolkit_InstallPath", "")
        places = [named] if named else [pointer, *_TOOLKITS]
        return next((place for place in places if place and self.system.is_folder(place)), "")

    @cached_property
    def toolkit(self) -> dict[str, str]:
        """The toolkit's ``ascend_toolkit_install.info``."""
        if not self.home:
            return {}
        processors = [name for name in self.system.names(self.home) if name.endswith("-linux")]
        for below in (*reversed(processors), "."):
            if found := pairs(self.system.text(f"{self.home}/{below}/ascend_toolkit_install.info")):
                return found
        return {}

    @cached_property
    def components(self) -> dict[str, str]:
        """Running versions by toolkit component (runtime, compiler, hccl, …), from ``version.cfg``."""
        found = pairs(self.system.text(f"{self.home}/version.cfg") if self.home else None)
        suffix = "_running_version"
        return {key.removesuffix(suffix): value.strip("[]") for key, value in found.items() if key.endswith(suffix)}

    @property
    def cann(self) -> str:
        """The toolkit's version, ``8.3.RC1``."""
        named = self.toolkit.get("version", "")
        return named or self.components.get("toolkit", "").rpartition(":")[2]

    @cached_property
    def driver(self) -> dict[str, str]:
        """The driver's ``version.info``."""
        return pairs(self.system.text(f"{INSTALL}/driver/version.info"))

    @property
    def hdk(self) -> str:
        """The driver's version, ``25.3.rc1``: as its file says, else as ``npu-smi`` does."""
        named = self.driver.get("package_version") or self.driver.get("Version")
        found = None if named else _VERSION.search(self.smi.out)
        return named or (found[1] if found else "")

    @cached_property
    def firmware(self) -> str:
        """The firmware's version; containers often do not see it."""
        return pairs(self.system.text(f"{INSTALL}/firmware/version.info")).get("Version", "")

    @cached_property
    def nnal(self) -> str:
        """The version of the transformer boost library."""
        home = self.system.value("ATB_HOME_PATH")
        above = "/".join(home.rstrip("/").split("/")[:-2])
        places = [home, above] if home else [f"{INSTALL}/nnal/atb/latest"]
        for place in filter(None, places):
            content = self.system.text(f"{place}/version.info") or ""
            if found := re.search(r"Ascend-cann-atb\s*:\s*([^\s:]+)", content):
                return found[1]
        return ""

    @cached_property
    def started(self) -> Started:
        """``npu-smi info``, which takes seconds on a machine with many chips."""
        return self.system.start(["npu-smi", "info"], timeout=_SMI_SECONDS)

    @cached_property
    def smi(self) -> CommandAnswer:
        """What ``npu-smi info`` says."""
        return self.started.answer()

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """The chips. Each has two lines: the NPU with its name and health, then the chip with its memory."""
        found: list[Device] = []
        for cells in _cells(self.smi.out.partition(_PROCESSES)[0]):
            first = cells[0].split() or [""]
            if len(first) > 1 and first[0].isdecimal() and cells[1].isalpha():
                found.append(Device(npu=first[0], chip="0", name=first[1], health=cells[1]))
            elif found and not found[-1].total and ":" in cells[1] and (memory := _MEMORY.search(cells[2])):
                used, total = int(memory[1]), int(memory[2])
                found[-1] = replace(found[-1], chip=first[0] or "0", used=used, total=total)
        return tuple(found)

    @cached_property
    def processes(self) -> tuple[Process, ...]:
        """The processes, those of other containers too where the driver tells."""
        found = []
        for cells in _cells(self.smi.out.partition(_PROCESSES)[2]):
            if cells[1].isdecimal() and cells[-1].isdecimal():
                npu, chip, *_ = [*cells[0].split(), "?", "0"]
                chip = "0" if chip == "?" else chip
                found.append(Process(npu=npu, chip=chip, pid=cells[1], name=cells[2], memory=int(cells[-1][:9])))
        return tuple(found)


def pairs(content: str | None) -> dict[str, str]:
    """Return the ``key=value`` lines of a version file; what is none is passed over."""
    lines = (line.partition("=") for line in (content or "").splitlines() if not line.lstrip().startswith("#"))
    return {key.strip(): value.strip().strip('"') for key, equals, value in lines if equals and key.strip()}


@dataclass(frozen=True, kw_only=True)
class Device:
    """One chip; memory in MB, 0 where it is not told."""

    npu: str
    chip: str
    name: str
    health: str
    used: int = 0
    total: int = 0


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process on a chip; memory in MB."""

    npu: str
    chip: str
    pid: str
    name: str
    memory: int


def _cells(table: str) -> list[list[str]]:
    rows = [_CELL.findall(line)[:-1] for line in table.splitlines() if line.startswith("|")]
    return [list(map(str.strip, row)) for row in rows if len(row) >= _FEWEST_CELLS]
