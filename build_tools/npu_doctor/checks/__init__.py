"""The checks: each a function from a context to rows. The table below is the only list of them.

Their names are in reports, where programs look for them: they stay wherever the code goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from npu_doctor.checks import (
    devices,
    driver,
    engine,
    environment,
    hccl,
    imports,
    install,
    interfaces,
    memory,
    mindspeed,
    ownership,
    published,
    requirements,
    stack,
)
from npu_doctor.context import Context
from npu_doctor.model import Row

Check = Callable[[Context], Iterator[Row]]

CHECKS: Mapping[str, Check] = {
    "published.tables": published.tables,
    "stack.presence": stack.presence,
    "stack.pins": stack.pins,
    "stack.absent": stack.absent,
    "driver.driver": driver.driver,
    "driver.firmware": driver.firmware,
    "install.cpu_torch": install.cpu_torch,
    "install.engine_torch": install.engine_torch,
    "install.development_pin": requirements.development_pin,
    "install.required": requirements.required,
    "install.requirements": requirements.requirements,
    "install.bounds": requirements.bounds,
    "install.limits": requirements.limits,
    "install.cann_modules": install.cann_modules,
    "install.engine_version": install.engine_version,
    "sources.submodules": interfaces.submodules,
    "sources.symbols": interfaces.symbols,
    "sources.attributes": interfaces.attributes,
    "sources.flash_attention": interfaces.flash_attention,
    "environment.cann": environment.cann,
    "environment.nnal": environment.nnal,
    "environment.nnal_version": environment.nnal_version,
    "environment.preload": environment.preload,
    "imports.triton": imports.triton,
    "imports.cuda": imports.cuda,
    "imports.forbidden": imports.forbidden,
    "imports.megatron": imports.megatron,
    "imports.order": mindspeed.order,
    "memory.expandable_segments": memory.expandable_segments,
    "memory.dynamic_segments": memory.dynamic_segments,
    "memory.allocator": memory.allocator,
    "memory.sleep_mode": memory.sleep_mode,
    "memory.sleep_frees": memory.sleep_frees,
    "engine.nz_format": engine.nz_format,
    "engine.expert_exchange": engine.expert_exchange,
    "engine.old_engine": engine.old_engine,
    "engine.deterministic": engine.deterministic,
    "hccl.ports": hccl.ports,
    "hccl.ports_in_use": hccl.ports_in_use,
    "hccl.toolkit_parts": hccl.toolkit_parts,
    "hccl.connect_timeout": hccl.connect_timeout,
    "origin.stray": ownership.stray,
    "origin.placeholders": ownership.placeholders,
    "origin.owners": ownership.owners,
    "origin.duplicates": ownership.duplicates,
    "origin.untold": ownership.untold,
    "origin.outside": ownership.outside,
    "origin.lost": ownership.lost,
    # These wait for commands that run meanwhile.
    "install.chip": install.chip,
    "devices.nodes": devices.nodes,
    "devices.smi": devices.smi,
    "devices.processes": devices.processes,
    "devices.unaccounted": devices.unaccounted,
    "imports.real_imports": imports.real_imports,
    "imports.repatch": mindspeed.repatch,
    "devices.ray": devices.ray,
}
