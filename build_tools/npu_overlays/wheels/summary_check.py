"""Summary check: a patched wheel → where its summary, manifest or diff contradict its files."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from npu_overlays import git
from npu_overlays.errors import Problem
from npu_overlays.overlay.compiled import BINARY, names
from npu_overlays.paths import unsafe
from npu_overlays.process import ProcessError
from npu_overlays.wheels.wheel_reader import WheelContents
from npu_summary.changes import Changes, Unreadable, parse_manifest


def disagreements(wheel: WheelContents, package: str, record: Changes) -> Iterator[Problem]:
    """Yield every statement about its files that a wheel contradicts.

    Args:
        wheel: a patched one.
        package: name of its summary package.
        record: the content of its ``changes.json``, whose names are all safe.
    """
    yield from _manifest(wheel, package)
    yield from _summary(wheel, record)
    yield from _diff(wheel, package, record)
    yield from _compiled(wheel, record)


def unsafe_names(wheel: WheelContents, record: Changes) -> Iterator[Problem]:
    """Yield the names in a summary that are not paths below a folder.

    They come from outside, and files are written under these names to check the diff.
    """
    paths = chain.from_iterable((one["path"], one["installed"]) for one in record["files"])
    reasons = [(path, unsafe(path)) for path in paths if path]
    companion = record["companion"]
    if companion:
        reasons.append((companion, "is no name" if "/" in companion else unsafe(companion)))
    for path, reason in reasons:
        if reason:
            yield wheel.problem("changes.json", f"names a file `{path}` that {reason}")


def _manifest(wheel: WheelContents, package: str) -> Iterator[Problem]:
    """Yield files whose digest in the manifest is not that of the file in the wheel."""
    own = f"{package}/manifest.json"
    try:
        listed = parse_manifest(wheel.members.get(own, b""))["files"]
    except Unreadable as error:
        yield wheel.problem("manifest.json", f"is missing or not a manifest: {error}")
        return
    actual = {path: hashlib.sha256(data).hexdigest() for path, data in wheel.content.items() if path != own}
    for path in sorted(listed.keys() | actual.keys()):
        if listed.get(path) != actual.get(path):
            yield wheel.problem("manifest.json", f"does not fit {path}")


def _summary(wheel: WheelContents, record: Changes) -> Iterator[Problem]:
    """Yield changed files whose digest is not the one in the summary."""
    held = wheel.content
    for one in record["files"]:
        place = one["installed"]
        content = held.get(place) if place else None
        actual = None if content is None else hashlib.sha256(content).hexdigest()
        if place and actual != one["after"]:
            yield wheel.problem("changes.json", f"says that {place} is something else than the wheel holds")


def _diff(wheel: WheelContents, package: str, record: Changes) -> Iterator[Problem]:
    """Yield changed files that the diff, reverted by git, does not turn into upstream's."""
    shipped, held = [one for one in record["files"] if one["installed"]], wheel.content
    with tempfile.TemporaryDirectory(prefix="npu-overlays-diff-") as folder:
        for one in shipped:
            if (content := held.get(one["installed"])) is not None:
                path = Path(folder, one["path"])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        diff = wheel.members.get(f"{package}/changes.diff", b"")
        # What changes nothing has an empty diff, which git refuses.
        if not shipped and not diff:
            return
        try:
            git.apply(diff, Path(folder), "--reverse", *(f"--include={one['path']}" for one in shipped))
        except ProcessError as error:
            yield wheel.problem("changes.diff", f"cannot be taken back: {error}")
            return
        for one in shipped:
            path = Path(folder, one["path"])
            before = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
            if before != one["before"]:
                yield wheel.problem("changes.diff", f"taken back does not give upstream's {one['path']}")


def _compiled(wheel: WheelContents, record: Changes) -> Iterator[Problem]:
    """Yield compiled files of a wheel that claims to be for any platform, but for those its overlay names."""
    if not wheel.file.name.endswith("-any.whl"):
        return
    for path in sorted(filter(BINARY.search, wheel.content)):
        if not any(names(glob, path) for glob in record["not_built"]):
            yield wheel.problem(path, "is compiled for one platform, and the wheel claims to be for any")
