"""`index`: folders of wheels and source distributions → a folder that pip and uv install from."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from npu_overlays.commands.command import Command
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import index_notes
from npu_overlays.commands.options import add_json, folder
from npu_overlays.errors import Problem, UsageError
from npu_overlays.interrupts import undisguised

if TYPE_CHECKING:
    from npu_overlays.publish.index_constraints import ConstraintsUpdate
    from npu_overlays.publish.index_update import IndexRequest, UpdatedIndex

_DESCRIPTION = """\
Put wheels and source distributions on a package index: a folder of files that
any web server can give out, for pip and uv to install from. What is there
already stays there, also what others wrote; a file that has not changed is not
read again; either all of it is written or nothing. Statements of wheels and
constraints of stacks are copied along; constraints that pin an older build
than the index does only with --replace.

A version that should not be chosen any more is yanked: installers pass over it
unless it is asked for exactly. Do not yank a companion, or uv refuses the
wheel that requires it, too.

examples:
  npu-overlays index wheels/                  into index/
  npu-overlays index wheels/ sdists/ --out public/simple
  npu-overlays index --yank verl-npu==0.9.1+npu.1.adb6e6f2 --reason "slow"
  python -m http.server --directory index     then, elsewhere:
  pip install --index-url http://127.0.0.1:8000/ --no-deps npu-doctor
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for, and whether the report is JSON."""

    request: IndexRequest
    json: bool


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", type=folder, nargs="*", metavar="FOLDER", help="wheels and source distributions")
    parser.add_argument("--out", type=folder, default="index", metavar="DIR", help="the index (default: index)")
    text = "a version that is not to be chosen any more; may be given several times"
    parser.add_argument("--yank", action="append", default=[], metavar="NAME==VERSION", help=text)
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, which installers show")
    parser.add_argument("--unyank", action="append", default=[], metavar="NAME==VERSION", help="one that is again")
    text = "accept other bytes under the name of a file that is on the index, and older pins"
    parser.add_argument("--replace", action="store_true", help=text)
    add_json(parser)


def _read(parsed: argparse.Namespace) -> Options:
    from npu_overlays.publish.availability import Yank  # noqa: PLC0415  # read for the help of all commands, and needed for one
    from npu_overlays.publish.index_update import IndexRequest  # noqa: PLC0415  # likewise

    problems = list(_contradictions(parsed))
    wanted = {"--yank": (parsed.yank, parsed.reason), "--unyank": (parsed.unyank, None)}
    yanks = [
        Yank(project=canonicalize_name(named.name), version=_version(named), reason=reason)
        for option, (texts, reason) in wanted.items()
        for text in texts
        if (named := _pinned(option, text, problems))
    ]
    if problems:
        raise UsageError(problems)
    request = IndexRequest(folders=tuple(parsed.folders), out=parsed.out, yanks=tuple(yanks), replace=parsed.replace)
    return Options(request=request, json=parsed.json)


def _contradictions(parsed: argparse.Namespace) -> Iterator[Problem]:
    if not (parsed.folders or parsed.yank or parsed.unyank):
        fix = "name the folder of the wheels: npu-overlays index wheels/"
        yield Problem(where="npu-overlays index", what="there is nothing to do", fix=fix)
    if bool(parsed.yank) != bool(parsed.reason):
        what = "--yank without --reason" if parsed.yank else "--reason without --yank"
        yield Problem(where="npu-overlays index", what=what, fix="say both: installers show the reason")


def _pinned(option: str, text: str, problems: list[Problem]) -> Requirement | None:
    """Return a name with one exact version; else add what is wrong to `problems`."""
    try:
        named = Requirement(text)
        (wanted,) = named.specifier
        if wanted.operator == "==" and Version(wanted.version) and text.replace(" ", "") == f"{named.name}{wanted}":
            return named
    except (InvalidRequirement, ValueError):
        pass
    fix = "write a name and one version: verl-npu==0.9.1+npu.1.adb6e6f2"
    problems.append(Problem(where=option, what=f"{text!r} is not NAME==VERSION", fix=fix))
    return None


def _version(named: Requirement) -> Version:
    (wanted,) = named.specifier
    return Version(wanted.version)


def _run(options: Options, console: Console) -> int:
    from npu_overlays.publish.index_update import update_index  # noqa: PLC0415  # as above

    with undisguised(f"the index in {options.request.out} is as it was"):
        updated = update_index(options.request)
    if options.json:
        console.json(_as_json(options.request, updated))
        return 0
    for text in index_notes(updated):
        console.notice(text)
    console.line(f"{options.request.out}", style="green")
    console.line(f"  {len(updated.added)} added, {updated.unchanged} unchanged: {', '.join(updated.projects)}")
    for line in (line for one in updated.constraints for line in _repinned(one)):
        console.line(f"  {line}")
    for yank in options.request.yanks:
        console.line(f"  {yank.name} is {'not yanked' if yank.reason is None else f'yanked: {yank.reason}'}")
    return 0


def _repinned(one: ConstraintsUpdate) -> Iterator[str]:
    """Yield what became of the constraints of a stack, where anything did."""
    if one.after != one.before:
        yield f"{one.name} {'is changed:' if one.before else 'is new'}"
    if one.before:
        yield from (f"  - {line}" for line in one.removed)
        yield from (f"  + {line}" for line in one.added)


def _as_json(request: IndexRequest, updated: UpdatedIndex) -> dict[str, object]:
    return {
        "index": str(request.out),
        "projects": list(updated.projects),
        "added": list(updated.added),
        "unchanged": updated.unchanged,
        "dropped": list(updated.dropped),
        "removed": list(updated.removed),
        "constraints": {
            one.name: {"added": list(one.added), "removed": list(one.removed)}
            for one in updated.constraints
            if one.after != one.before
        },
        "not_taken": {str(file): list(pins) for one in updated.constraints for file, pins in one.refused},
        "warnings": list(updated.warnings),
        "yanked": {yank.name: yank.reason for yank in request.yanks if yank.reason is not None},
        "unyanked": [yank.name for yank in request.yanks if yank.reason is None],
    }


COMMAND = Command(
    name="index",
    summary="write an index of wheels that pip and uv install from",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    read=_read,
    run=_run,
)
