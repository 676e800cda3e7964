"""The Ascend software on a machine: version files and ``npu-smi`` output in, plain values out."""

# Paths are the strings of sys.path and of the environment, thousands of them.
# ruff: noqa: PTH120

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property

from .system import Answer, System

INSTALL = "/usr/local/Ascend"
_TOOLKITS = (f"{INSTALL}/ascend-toolkit/latest", f"{INSTALL}/cann", f"{INSTALL}/latest")
_POINTER = "/etc/Ascend/ascend_cann_install.info"
_CELL = re.compile(r"\|([^|]*)")
_MEMORY = re.compile(r"([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*$")
_SMI_VERSION = re.compile(r"npu-smi\s+\S+\s+Version:\s*([^\s|]+)")
_SMI_SECONDS = 20
_FEWEST_CELLS = 3


@dataclass(frozen=True, kw_only=True)
class Device:
    """One chip of ``npu-smi info``; memory in MB."""

    npu: str
    name: str
    health: str
    used: int = 0
    total: int = 0


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process of ``npu-smi info``; memory in MB."""

    npu: str
    pid: str
    name: str
    memory: int


@dataclass(frozen=True)
class Ascend:
    """What the machine says of its Ascend software; every value is empty where it cannot be read.

    Args:
        system: the machine.
    """

    system: System

    @cached_property
    def home(self) -> str:
        """The toolkit's folder: what set_env.sh exported, else where it usually lies."""
        named = self.system.value("ASCEND_HOME_PATH") or self.system.value("ASCEND_TOOLKIT_HOME")
        pointer = pairs(self.system.text(_POINTER)).get("Toolkit_InstallPath", "")
        places = [named] if named else [pointer, *_TOOLKITS]
        return next((place for place in places if place and self.system.is_dir(place)), "")

    @cached_property
    def toolkit(self) -> dict[str, str]:
        """The toolkit's ``ascend_toolkit_install.info``."""
        if not self.home:
            return {}
        folders = [
            self.home,
            *(f"{self.home}/{name}" for name in self.system.names(self.home) if name.endswith("-linux")),
        ]
        files = [f"{folder}/ascend_toolkit_install.info" for folder in reversed(folders)]
        return next((found for file in files if (found := pairs(self.system.text(file)))), {})

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
        """The driver's version, ``25.3.rc1``."""
        return self.driver.get("package_version") or self.driver.get("Version", "") or self.smi_version

    @cached_property
    def firmware(self) -> str:
        """The firmware's version; containers often do not see it."""
        return pairs(self.system.text(f"{INSTALL}/firmware/version.info")).get("Version", "")

    @cached_property
    def nnal(self) -> str:
        """The version of the transformer boost library."""
        home = self.system.value("ATB_HOME_PATH")
        above = os.path.dirname(os.path.dirname(home.rstrip("/"))) if home else ""
        places = [home, above] if home else [f"{INSTALL}/nnal/atb/latest"]
        for place in filter(None, places):
            content = self.system.text(f"{place}/version.info") or ""
            if found := re.search(r"Ascend-cann-atb\s*:\s*([^\s:]+)", content):
                return found[1]
        return ""

    @cached_property
    def smi(self) -> Answer:
        """What ``npu-smi info`` says."""
        return self.system.run(["npu-smi", "info"], timeout=_SMI_SECONDS)

    @property
    def smi_version(self) -> str:
        """The version ``npu-smi`` gives of itself, which is the driver's."""
        found = _SMI_VERSION.search(self.smi.out)
        return found[1] if found else ""

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """The chips ``npu-smi`` lists."""
        found: list[Device] = []
        for cells in self._tables[0]:
            first = cells[0].split()
            if len(first) > 1 and first[0].isdecimal() and cells[1].isalpha():
                found.append(Device(npu=first[0], name=first[1], health=cells[1]))
            elif found and not found[-1].total and ":" in cells[1] and (memory := _MEMORY.search(cells[2])):
                last = found.pop()
                used, total = int(memory[1]), int(memory[2])
                found.append(Device(npu=last.npu, name=last.name, health=last.health, used=used, total=total))
        return tuple(found)

    @cached_property
    def processes(self) -> tuple[Process, ...]:
        """The processes ``npu-smi`` lists."""
        rows = [cells for cells in self._tables[1] if cells[1].isdecimal() and cells[-1].isdecimal()]
        return tuple(
            Process(npu=(cells[0].split() or ["?"])[0], pid=cells[1], name=cells[2], memory=int(cells[-1][:9]))
            for cells in rows
        )

    @cached_property
    def _tables(self) -> tuple[list[list[str]], list[list[str]]]:
        """The cells of the table of chips and of that of processes."""
        chips, _, processes = self.smi.out.partition("Process id")
        return _cells(chips), _cells(processes)


def _cells(table: str) -> list[list[str]]:
    rows = [[cell.strip() for cell in _CELL.findall(line)[:-1]] for line in table.splitlines() if line.startswith("|")]
    return [row for row in rows if len(row) >= _FEWEST_CELLS]


def pairs(content: str | None) -> dict[str, str]:
    """Return the ``key=value`` lines of a version file; what is none is passed over."""
    lines = (line.partition("=") for line in (content or "").splitlines() if not line.lstrip().startswith("#"))
    return {key.strip(): value.strip().strip('"') for key, equals, value in lines if equals and key.strip()}
