"""The checks: each a function from a context to rows. The table below is the only list of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from npu_doctor.checks import (
    devices,
    driver,
    engine,
    environment,
    hccl,
    imports,
    install,
    memory,
    origin,
    published,
    sources,
    stack,
)
from npu_doctor.context import Context
from npu_doctor.model import Row

Check = Callable[[Context], Iterator[Row]]

CHECKS: tuple[Check, ...] = (
    published.tables,
    stack.presence,
    stack.pins,
    stack.absent,
    driver.driver,
    driver.firmware,
    install.cpu_torch,
    install.engine_torch,
    install.development_pin,
    install.required,
    install.requirements,
    install.limits,
    install.cann_modules,
    install.engine_version,
    sources.submodules,
    sources.symbols,
    sources.attributes,
    sources.flash_attention,
    environment.cann,
    environment.nnal,
    environment.nnal_version,
    environment.preload,
    imports.triton,
    imports.cuda,
    imports.forbidden,
    imports.megatron,
    memory.expandable_segments,
    memory.dynamic_segments,
    memory.allocator,
    memory.sleep_mode,
    memory.sleep_frees,
    engine.nz_format,
    engine.expert_exchange,
    engine.old_engine,
    engine.deterministic,
    hccl.ports,
    hccl.ports_in_use,
    hccl.toolkit_parts,
    hccl.connect_timeout,
    origin.stray,
    origin.placeholders,
    origin.owners,
    origin.duplicates,
    origin.outside,
    # These wait for commands that run meanwhile.
    install.chip,
    devices.nodes,
    devices.smi,
    devices.processes,
    devices.unaccounted,
    imports.real_imports,
    devices.ray,
)
