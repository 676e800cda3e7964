"""What goes wrong in the engine: precision and an engine that is not there; and a reproducible run's variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from npu_doctor import files, versions
from npu_doctor.context import Context
from npu_doctor.model import Level, Row

_EXCHANGE = "flashinfer_all2allv"


def nz_format(context: Context) -> Iterator[Row]:
    """Yield whether vllm-ascend keeps weights in a format that training cannot update."""
    folder = context.folder("vllm_ascend")
    if not folder:
        return
    value = context.system.value("VLLM_ASCEND_ENABLE_NZ")
    known = files.mentions(f"{folder}/envs.py", "VLLM_ASCEND_ENABLE_NZ")
    newer = versions.allows(">=0.11.0rc0", versions.public(context.version("vllm_ascend"))) is True
    well = value == "0" or not (known or newer)
    expected = "0" if known or newer else "nothing: this vllm-ascend has no such switch"
    yield context.judge(26, "VLLM_ASCEND_ENABLE_NZ", well, value or "not set", expected)


def expert_exchange(context: Context) -> Iterator[Row]:
    """Yield whether the exchange of experts that server mode needs has been chosen; the mode itself cannot be seen."""
    version = versions.public(context.version("vllm_ascend"))
    if not version:
        return
    affected = versions.allows(">=0.11.0rc0,<0.12", version) is True
    value = context.system.value("VLLM_ALL2ALL_BACKEND")
    engine = context.packages.locate("vllm")
    # The names that a vllm knows stand in its envs.py.
    strange = value and engine and not files.mentions(f"{engine.folder}/envs.py", value)
    found = f"{value}, which vllm {context.version('vllm')} does not know" if strange else value or "not set"
    level: Level = "compatible" if strange or (affected and value != _EXCHANGE) else "matched"
    expected = f"{_EXCHANGE} for dp+ep+tp in server mode" if affected else "nothing for this vllm-ascend"
    yield context.judge(27, "VLLM_ALL2ALL_BACKEND", level, found, expected)


def old_engine(context: Context) -> Iterator[Row]:
    """Yield whether a variable of the quick start for GPUs chooses an engine that is not there."""
    value = context.system.value("VLLM_ATTENTION_BACKEND")
    if not value and not context.has("vllm"):
        return
    yield context.judge(31, "VLLM_ATTENTION_BACKEND", value.upper() != "XFORMERS", value or "not set", "not set")


def deterministic(context: Context) -> Iterator[Row]:
    """Yield whether the variables of a reproducible run are set; only when asked for."""
    if not context.deterministic:
        return
    profile = context.settings["deterministic"]
    for name, wanted in profile["variables"].items():
        value = context.system.value(name)
        row = Row(component=name, level="matched", found=value or "not set", expected=wanted, see=(profile["source"],))
        if value.lower() != wanted.lower():
            why = f"two runs differ; also needed: {profile['also']}"
            after = " (after sourcing NNAL's set_env.sh)" if name.startswith("ATB_") else ""
            row = replace(row, level="broken", why=why, fix=f"export {name}={wanted}{after}")
        yield row
