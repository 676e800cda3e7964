"""What ``npu-smi info`` prints → its version, the chips and the processes on them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_CELL = re.compile(r"\|([^|]*)")
_MEMORY = re.compile(r"([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*$")
_VERSION = re.compile(r"npu-smi\s+\S+\s+Version:\s*([^\s|]+)")
_PROCESSES = "Process id"
_FEWEST_CELLS = 3


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


def read_version(output: str) -> str:
    """Return the version ``npu-smi`` gives of itself, which is the driver's."""
    found = _VERSION.search(output)
    return found[1] if found else ""


def read_devices(output: str) -> tuple[Device, ...]:
    """Return the chips. Each has two lines: the NPU with its name and health, then the chip with its memory."""
    found: list[Device] = []
    for cells in _cells(output.partition(_PROCESSES)[0]):
        first = cells[0].split() or [""]
        if len(first) > 1 and first[0].isdecimal() and cells[1].isalpha():
            found.append(Device(npu=first[0], chip="0", name=first[1], health=cells[1]))
        elif found and not found[-1].total and ":" in cells[1] and (memory := _MEMORY.search(cells[2])):
            used, total = int(memory[1]), int(memory[2])
            found[-1] = replace(found[-1], chip=first[0] or "0", used=used, total=total)
    return tuple(found)


def read_processes(output: str) -> tuple[Process, ...]:
    """Return the processes, those of other containers too where the driver tells."""
    rows = [row for row in _cells(output.partition(_PROCESSES)[2]) if row[1].isdecimal() and row[-1].isdecimal()]
    found = []
    for cells in rows:
        npu, chip, *_ = [*cells[0].split(), "?", "0"]
        chip = "0" if chip == "?" else chip
        found.append(Process(npu=npu, chip=chip, pid=cells[1], name=cells[2], memory=int(cells[-1][:9])))
    return tuple(found)


def _cells(table: str) -> list[list[str]]:
    rows = [[cell.strip() for cell in _CELL.findall(line)[:-1]] for line in table.splitlines() if line.startswith("|")]
    return [row for row in rows if len(row) >= _FEWEST_CELLS]
