"""Merge cache: an overlay → the parts of its wheels, merged once for the same inputs.

Merging, checking the result and writing its metadata take most of a build. The result depends only on the inputs that a
statement names, on upstream's bytes, and on the versions of Python, ruff and zlib. So one file of the cache
(``merged/<id>-<overlay>-<inputs>``) holds it: the files that are not upstream's, deflated; the places of these and of
upstream's in the wheels; and hatchling's metadata. Like the file of upstream's members, it carries its own digest.
Upstream's bytes are still fetched and checked.
"""

from __future__ import annotations

import base64
import hashlib
import os
import sys
import zlib
from collections.abc import Container, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from npu_overlays.files import canonical_json
from npu_overlays.overlay.inputs import Input, input_files, inputs_digest, layer_files
from npu_overlays.pipeline.build_version import build_of, wheel_inputs
from npu_overlays.pipeline.loader import Loaded
from npu_overlays.pipeline.upstream import acquire
from npu_overlays.progress import step
from npu_overlays.sources.acquisition import sources_of
from npu_overlays.sources.cache import cache_root
from npu_overlays.sources.cache_trust import check
from npu_overlays.sources.deflated_members import (
    DeflatedMember,
    forget_older,
    keep,
    kept_members,
    kept_merged,
    packed,
    unpacked,
    upstream_members,
)
from npu_overlays.sources.tree import Source
from npu_overlays.wheels.assembly import Kit, WheelFile, WheelPair

# For front ends, which do not pass our options on.
VARIABLE = "NPU_OVERLAYS_ANEW"
# Packages whose versions decide bytes, beside hatchling, whose version is among the inputs.
_WITH = ("packaging", "ruff")


def kits(loaded: Loaded, *, anew: bool = False) -> WheelPair:
    """Return the parts of an overlay's wheels; raises `OverlayError`.

    Args:
        loaded: the overlay, and what belongs to it.
        anew: whether to ignore the cache, as with ``$NPU_OVERLAYS_ANEW``.
    """
    found = None if anew or os.environ.get(VARIABLE) else _found(loaded, input_files(loaded.overlay))
    return found or _made(loaded)


def _key(loaded: Loaded, inputs: tuple[Input, ...]) -> str:
    """Return a digest of everything that decides the wheels' bytes, apart from upstream's bytes."""
    digest = inputs_digest(inputs)
    value = {
        "inputs": wheel_inputs(loaded, digest),
        "build": build_of(loaded, digest),
        "python": [sys.implementation.name, sys.version],
        "with": {name: version(name) for name in _WITH},
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
    }
    return hashlib.sha256(canonical_json(value)).hexdigest()


def _found(loaded: Loaded, inputs: tuple[Input, ...]) -> WheelPair | None:
    """Return the result of an earlier merge of the same inputs; None if no usable one exists."""
    key = _key(loaded, inputs)
    pin = loaded.overlay.pin
    if not any(_file(one, loaded, key).is_file() for one in sources_of(pin, loaded.mode)):
        return None
    # Which files it holds is enough where the cache has them deflated.
    tree = acquire(loaded.overlay, loaded.mode, loaded.clone, read=False)
    kept = kept_members(tree.source, pin, cache_root())
    theirs = upstream_members(acquire(loaded.overlay, loaded.mode, loaded.clone), pin) if kept is None else kept
    file = _file(tree.source, loaded, key)
    check(cache_root(), file)
    with suppress(OSError, ValueError, KeyError):
        said, own = unpacked(file.read_bytes())
        step(f"taking {loaded.overlay.distribution} {said['version']} as it was merged before")
        members = {**{one.sha256: one for one in theirs.values()}, **own}
        wheel, companion = (_kit(one, members) for one in said["wheels"])
        return WheelPair(
            wheel=wheel,
            companion=companion,
            version=said["version"],
            record=said["record"],
            inputs=inputs,
            notices=tuple(said["notices"]),
        )
    return None


def _made(loaded: Loaded) -> WheelPair:
    """Merge the inputs; cache the result, unless an input is edited meanwhile."""
    from npu_overlays.pipeline.preparation import prepare  # noqa: PLC0415  # what was merged before needs no merging
    from npu_overlays.wheels import hatchling_archives  # noqa: PLC0415  # nor hatchling, which takes a fifth of a second

    prepared = prepare(loaded)
    step(f"writing {loaded.overlay.distribution} {prepared.version}")
    made = hatchling_archives.kits(prepared)
    if _changed_meanwhile(loaded):
        return made
    key = _key(loaded, made.inputs)
    # Those that came from the cache of upstream's files, which would take long to be read and checked once more.
    known = {file.member.sha256 for file in made.wheel.files if file.member}
    own: dict[str, DeflatedMember] = {}
    wheels = [_facts(one, known, own) for one in (made.wheel, made.companion)]
    said = {"version": made.version, "record": made.record, "wheels": wheels, "notices": list(made.notices)}
    file = _file(prepared.tree.upstream.source, loaded, key)
    keep(cache_root(), file, packed(said, own))
    forget_older(file)
    return made


def _changed_meanwhile(loaded: Loaded) -> bool:
    """Return whether an input may have changed since the overlay was read: its digest is computed later."""
    try:
        for layer in loaded.overlay.chain:
            if any(file.stat().st_ctime_ns >= loaded.overlay.read_at for _, file in layer_files(layer)):
                return True
    except OSError:
        return True
    return False


def _file(source: Source, loaded: Loaded, key: str) -> Path:
    return kept_merged(cache_root(), source.sha256 or source.commit, loaded.name, key)


def _facts(kit: Kit, known: Container[str], own: dict[str, DeflatedMember]) -> dict[str, Any]:
    """Return the JSON of a kit, without its files' bytes; members that are not known are added to `own`."""
    files = []
    for file in kit.files:
        if file.packed.sha256 not in known:
            own[file.packed.sha256] = file.packed
        files.append([file.place, file.executable, file.packed.sha256])
    return {"name": kit.name, "metadata": base64.b85encode(kit.metadata).decode(), "files": files}


def _kit(said: Mapping[str, Any], members: Mapping[str, DeflatedMember]) -> Kit:
    """Return a kit from its JSON; raises `KeyError` if a member is not known any more."""
    files = []
    for place, executable, digest in said["files"]:
        files.append(WheelFile(place=place, executable=executable, member=members[digest]))
    return Kit(name=said["name"], metadata=base64.b85decode(said["metadata"]), files=files)
