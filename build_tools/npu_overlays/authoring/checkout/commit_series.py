"""Commit series: an overlay and its upstream → the commits from one to the other, one for each unit."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from npu_overlays.authoring.checkout.units import Unit, about, only, units_of
from npu_overlays.errors import MergeError
from npu_overlays.merge.apply import apply_part
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.progress import step
from npu_overlays.sources.tree import PatchedTree
from npu_summary.plurals import plural

OPERATION = "Overlay-Operation"
TARGET = "Overlay-Target"
FILE = "Overlay-File"
_WIDTH = 72
_MORE = " …"
# What `git am` takes from the beginning of a subject.
_DROPPED = re.compile(r"re:|\[|:", re.IGNORECASE)
# In a mail, a line of the body that looks like the beginning of a diff would end the message, and one that looks like a
# header would be one.
_READ = re.compile(r"^(?=---|diff |Index: |>?From |(?:From|Subject|Date):|\[PATCH\])", re.IGNORECASE)


def message(units: Sequence[Unit]) -> str:
    """Return the message of a commit: the reasons, and in trailers the action, its targets, and the overlay's file."""
    first = units[0]
    subject = f"{_leaf(first)}: {_line(first.reason.why)}"
    paragraphs = [_shortened(subject)]
    if len(units) > 1 or paragraphs[0] != subject:
        paragraphs += dict.fromkeys(_wrapped(one.reason.why) for one in units)
    paragraphs.append("\n".join(_trailers(units)))
    return "\n\n".join(paragraphs) + "\n"


def _leaf(unit: Unit) -> str:
    """Return the symbol or the file name without its path, or with it where `git am` would drop the bare name."""
    name = unit.name
    leaf = name.partition(":")[2] if ":" in name and not name.endswith(":*") else name.rpartition("/")[2]
    return name if _DROPPED.match(f"{leaf}:") else leaf


def _shortened(subject: str) -> str:
    short = textwrap.shorten(subject, _WIDTH, placeholder=_MORE)
    # Not everybody puts spaces between words.
    return short if len(short) > _WIDTH // 2 or short == subject else subject[: _WIDTH - len(_MORE)].rstrip() + _MORE


def _line(text: str) -> str:
    return " ".join(text.split())


def _wrapped(text: str) -> str:
    lines = textwrap.wrap(_line(text), _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(_READ.sub(" ", line) for line in lines)


def _trailers(units: Sequence[Unit]) -> Iterator[str]:
    for unit in units:
        yield f"{OPERATION}: {unit.action}"
        for target in unit.targets:
            yield f"{TARGET}: {target}"
        yield f"{FILE}: {unit.file}"
        for name, value in unit.fields.items():
            yield f"{name}: {value}"


@dataclass(frozen=True, kw_only=True)
class OverlayCommit:
    """One step from upstream to what an overlay gives."""

    # What it applies: one unit, or several whose earlier ones cannot be applied without the last.
    units: tuple[Unit, ...]
    # The files it changes, with their new content; None where it deletes one.
    changes: Mapping[str, bytes | None] = field(repr=False)
    executable: frozenset[str] = frozenset()  # those of them that are executable afterwards

    @property
    def message(self) -> str:
        """Its message."""
        return message(self.units)


def series(
    subject: AppliedInput, chosen: Sequence[Unit] | None = None, *, notices: bool = True
) -> tuple[OverlayCommit, ...]:
    """Return one commit for each unit of an overlay, or for the chosen ones, in the order of a build.

    `notices` is whether comments mark the changed places, as in a wheel. Raises `MergeError` where a unit does not fit.
    """
    units = units_of(subject.content) if chosen is None else tuple(chosen)
    step(f"making commits of {plural(len(units), 'change')}")
    state = PatchedTree(upstream=subject.tree)
    commits: list[OverlayCommit] = []
    waiting: list[Unit] = []
    for number, unit in enumerate(units):
        waiting.append(unit)
        # A unit that needs a later one, as a wrapper that names a new parameter, is committed with that.
        after = _applied(subject, units[: number + 1], waiting, notices=notices)
        if after is None:
            continue
        changes = {path: content for path, content in after.changed.items() if _differs(path, state, after)}
        if changes:
            executable = frozenset(filter(after.is_executable, changes))
            commits.append(OverlayCommit(units=tuple(waiting), changes=changes, executable=executable))
        executable = (state.executable - after.changed.keys()) | after.executable
        state = replace(state, changed={**state.changed, **after.changed}, executable=executable)
        waiting = []
    if waiting:
        apply_part(only(subject.content, units), subject.tree, absent=subject.absent, notices=notices)
        raise AssertionError(waiting)  # pragma: no cover  # the line above raises what the last step did
    return tuple(commits)


def _applied(
    subject: AppliedInput, units: Sequence[Unit], latest: Sequence[Unit], *, notices: bool
) -> PatchedTree | None:
    """Return the files that the latest units change, as all units leave them; None if these cannot be applied."""
    paths = frozenset[str]().union(*(unit.paths for unit in latest))
    try:
        part = about(only(subject.content, units), paths)
        tree = apply_part(part, subject.tree, absent=subject.absent, notices=notices)
    except MergeError:
        return None
    changed = {path: content for path, content in tree.changed.items() if path in paths}
    return PatchedTree(upstream=subject.tree, changed=changed, executable=tree.executable & paths)


def _differs(path: str, one: PatchedTree, other: PatchedTree) -> bool:
    return (one.after(path), one.is_executable(path)) != (other.after(path), other.is_executable(path))
