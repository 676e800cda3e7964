"""Agreement: a patched wheel → where its summary, its manifest or its diff say something else than its files are."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from npu_overlays import git
from npu_overlays.errors import Problem
from npu_overlays.overlay.compiled import BINARY, names
from npu_overlays.paths import unsafe
from npu_overlays.process import ProcessError
from npu_overlays.wheels.contents import WheelContents
from npu_summary.changes import Changes, Unreadable, parse_manifest


def disagreements(wheel: WheelContents, package: str, record: Changes) -> Iterator[Problem]:
    """Yield what a wheel says of its files that is not so.

    Args:
        wheel: a patched one.
        package: name of its summary package.
        record: the content of its ``changes.json``, every name in which is safe.
    """
    yield from _manifest(wheel, package)
    yield from _summary(wheel, record)
    yield from _diff(wheel, package, record)
    yield from _compiled(wheel, record)


def unsafe_names(wheel: WheelContents, record: Changes) -> Iterator[Problem]:
    """Yield the names in a summary that are no paths below a folder.

    Whoever made the wheel has written them, and files are made under these names to look at its diff.
    """
    for path, reason in _leading_out(record):
        yield wheel.problem("changes.json", f"names a file `{path}` that {reason}")


def _leading_out(record: Changes) -> Iterator[tuple[str, str]]:
    files = [path for one in record["files"] for path in (one["path"], one["installed"])]
    companion = record["companion"]
    yield from ((path, reason) for path in files if path and (reason := unsafe(path)))
    if companion and (reason := "is no name" if "/" in companion else unsafe(companion)):
        yield companion, reason


def _manifest(wheel: WheelContents, package: str) -> Iterator[Problem]:
    """Yield files of which the manifest says something else than the wheel holds."""
    own = f"{package}/manifest.json"
    try:
        listed = parse_manifest(wheel.members.get(own, b""))["files"]
    except Unreadable as error:
        yield wheel.problem("manifest.json", f"is missing or not a manifest: {error}")
        return
    actual = {path: hashlib.sha256(data).hexdigest() for path, data in wheel.content.items() if path != own}
    for path in sorted(path for path in listed.keys() | actual.keys() if listed.get(path) != actual.get(path)):
        yield wheel.problem("manifest.json", f"does not fit {path}")


def _summary(wheel: WheelContents, record: Changes) -> Iterator[Problem]:
    """Yield changed files that are not what the summary says came out."""
    held = wheel.content
    for one in record["files"]:
        place = one["installed"]
        content = held.get(place) if place else None
        actual = None if content is None else hashlib.sha256(content).hexdigest()
        if place and actual != one["after"]:
            yield wheel.problem("changes.json", f"says that {place} is something else than the wheel holds")


def _diff(wheel: WheelContents, package: str, record: Changes) -> Iterator[Problem]:
    """Yield changed files that the diff, taken back, does not turn into upstream's.

    The inverse is done by git, as a reader of the diff would do it.
    """
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
    for path in sorted(path for path in wheel.content if BINARY.search(path)):
        if not any(names(glob, path) for glob in record["not_built"]):
            yield wheel.problem(path, "is compiled for one platform, and the wheel claims to be for any")
