"""Notes: overlays, records of builds, updates of an index → the text and JSON that several commands report of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from npu_summary.changes import Changes
from npu_summary.outline import count
from npu_summary.plurals import plural

_SUBJECT = re.compile(r"`[^`]+`")
_OWNER = re.compile(r"(?<=:)\w+(?=\.)")
# Names of one cause.
_SHOWN = 2
if TYPE_CHECKING:
    from npu_overlays.authoring.checkout.units import Unit
    from npu_overlays.publish.index_update import UpdatedIndex
    from npu_overlays.sources.pin import Pin


def count_of(record: Changes) -> str:
    """Return how many changes a wheel's summary shows."""
    files = record["files"]
    return f"{plural(sum(map(count, files)), 'change')} in {plural(len(files), 'file')}"


def units_as_json(units: Iterable[Unit]) -> list[dict[str, object]]:
    """Return operations, patches and added files of an overlay as JSON."""
    return [
        {"operation": unit.action, "targets": unit.targets, "file": unit.file, "why": unit.reason.why} for unit in units
    ]


def archives_as_json(pin: Pin) -> list[dict[str, str]]:
    """Return the archives of a pin as JSON."""
    return [{"file": one.file, "sha256": one.sha256} for one in pin.archives]


def pinned(pin: Pin) -> str:
    """Return the archive that a pin without a commit names."""
    return f"{pin.archives[0].file}, sha256 {pin.archives[0].sha256}"


def source_notes(record: Changes, argument: str, *, verb: str) -> Iterator[str]:
    """Yield, where the source is not the commit itself, what that means for the wheel, and what to do about it.

    Args:
        record: the content of ``changes.json``.
        argument: what names the overlay on a command line.
        verb: ``built``, or ``would be built`` where nothing is written.
    """
    upstream, name = record["upstream"], record["overlay"]["name"]
    if upstream["source"]["kind"] == "git" or not upstream["commit"]:
        return  # a release alone is pinned, and no other source could be read
    yield f"{name}: {verb} from the release archive {upstream['source'].get('archive')}, not from git"
    if upstream["missing"]:
        yield f"{name}: {_lacks(record, argument)}"
    elif upstream["compared"]:
        yield f"{name}: it holds every file of the commit, so nothing is lost"
    else:
        yield (
            f"{name}: the archive has the pinned sha256, and was not compared with the commit; where the repository can"
            f" be reached, `npu-overlays lock --source git {argument}` compares them"
        )


def _lacks(record: Changes, argument: str) -> str:
    missing, left_out = record["upstream"]["missing"], record["not_applied"]
    tops = ", ".join(sorted({path.partition("/")[0] for path in missing}))
    text = f"it lacks {plural(len(missing), 'file')} of the commit, in {tops}"
    if left_out:
        verb = "is" if len(left_out) == 1 else "are"
        text += f", so {plural(len(left_out), 'operation')} on them {verb} left out"
    again = f"npu-overlays build --source git {argument}"
    return f"{text}; the rest is whole. To have those too, where the repository can be reached: {again}"


def folded(notices: Iterable[str]) -> Iterator[str]:
    """Yield notices in their order; those that differ in a name alone become one, which lists the names."""
    groups: dict[tuple[str, ...], tuple[str, str, list[str]]] = {}
    for notice in dict.fromkeys(notices):
        found = _SUBJECT.search(notice)
        subject = found[0] if found else notice
        before, _, after = notice.partition(subject)
        owner = _OWNER.search(subject)  # its name may stand in the cause, too
        same = before, after.replace(owner[0], "") if owner else after, *([] if found else [notice])
        groups.setdefault(same, (before, after, []))[-1].append(subject)
    for before, after, subjects in groups.values():
        yield f"{before}{_listed(subjects)}{after}"


def _listed(names: list[str]) -> str:
    shown = names if len(names) <= _SHOWN + 1 else [*names[:_SHOWN], f"{len(names) - _SHOWN} more"]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def index_notes(updated: UpdatedIndex) -> Iterator[str]:
    """Yield what an update took off an index, what it did not take, and what keeps wheels from being installed."""
    for name in updated.dropped:
        yield f"{name}: listed, but not there any more; it was taken off the list"
    for name in updated.removed:
        yield f"{name}: of other bytes than lie there now; it was removed, and none was given in its place"
    for one in updated.constraints:
        for file, pins in one.refused:
            yield f"{file}: not taken, older than what the index pins: {', '.join(pins)} (`index --replace` takes it)"
    yield from updated.warnings
