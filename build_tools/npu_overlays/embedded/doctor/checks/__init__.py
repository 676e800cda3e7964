"""The checks: each a function from a context to rows. The table below is the only list of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..context import Context
from ..model import Row
from . import components, engine, imports, install, memory, origin

Check = Callable[[Context], Iterator[Row]]

CHECKS: tuple[Check, ...] = (
    components.tables,
    components.presence,
    components.stack,
    components.absent,
    components.driver,
    components.firmware,
    install.cpu_torch,
    install.engine_torch,
    install.development_pin,
    install.requirements,
    install.limits,
    install.cann_modules,
    install.submodules,
    install.engine_version,
    install.chip,
    imports.cann_environment,
    imports.nnal_environment,
    imports.real_imports,
    imports.nnal,
    imports.triton,
    imports.cuda,
    imports.symbols,
    imports.flash_attention,
    imports.preload,
    imports.forbidden,
    imports.megatron,
    memory.expandable_segments,
    memory.dynamic_segments,
    memory.allocator,
    memory.sleep_mode,
    memory.sleep_frees,
    memory.processes,
    engine.nz_format,
    engine.expert_exchange,
    engine.ports,
    engine.toolkit_parts,
    engine.connect_timeout,
    engine.old_engine,
    engine.ray,
    engine.devices,
    engine.deterministic,
    origin.stray,
    origin.placeholders,
    origin.owners,
    origin.duplicates,
    origin.outside,
)
