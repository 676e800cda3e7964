"""The Ascend software on a machine: version files and the output of ``npu-smi`` → plain values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from npu_doctor.commands import Answer, Started
from npu_doctor.smi import Device, Process, read_devices, read_processes, read_version
from npu_doctor.system import System

INSTALL = "/usr/local/Ascend"
_TOOLKITS = (f"{INSTALL}/ascend-toolkit/latest", f"{INSTALL}/cann", f"{INSTALL}/latest")
_POINTER = "/etc/Ascend/ascend_cann_install.info"
_SMI_SECONDS = 20


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
        return next((place for place in places if place and self.system.is_folder(place)), "")

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
        return self.driver.get("package_version") or self.driver.get("Version", "") or read_version(self.smi.out)

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
    def smi(self) -> Answer:
        """What ``npu-smi info`` says."""
        return self.started.answer()

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """The chips ``npu-smi`` lists."""
        return read_devices(self.smi.out)

    @cached_property
    def processes(self) -> tuple[Process, ...]:
        """The processes ``npu-smi`` lists."""
        return read_processes(self.smi.out)


def pairs(content: str | None) -> dict[str, str]:
    """Return the ``key=value`` lines of a version file; what is none is passed over."""
    lines = (line.partition("=") for line in (content or "").splitlines() if not line.lstrip().startswith("#"))
    return {key.strip(): value.strip().strip('"') for key, equals, value in lines if equals and key.strip()}
