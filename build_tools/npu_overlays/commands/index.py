"""`index`: folders of wheels and source distributions → a folder that pip and uv install from."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from npu_overlays.commands.command import Command, add_json, folder
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import index_notes
from npu_overlays.errors import Problem, UsageError
from npu_overlays.interrupts import undisguised

if TYPE_CHECKING:
    from npu_overlays.publish.index_constraints import ConstraintsUpdate
    from npu_overlays.publish.index_update import IndexRequest, UpdatedIndex

_DESCRIPTION = """\
Put wheels and source distributions on a package index: a folder of files that
any web server can serve, for pip and uv to install from. What is there stays
there, including files that others wrote; a file that has not changed is not
read again; either everything is written or nothing. Statements of wheels and
constraints of stacks are copied too; constraints that pin an older build than
the index does are copied only with --replace.

Yank a version that should not be chosen any more: installers skip it unless it
is asked for exactly. Do not yank a companion, or uv also refuses the wheel that
requires it.

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
    text = "a version that installers should not choose any more; may be given several times"
    parser.add_argument("--yank", action="append", default=[], metavar="NAME==VERSION", help=text)
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; installers show it")
    text = "a version that they may choose again"
    parser.add_argument("--unyank", action="append", default=[], metavar="NAME==VERSION", help=text)
    text = "accept other bytes under the name of a file on the index, and older pins"
    parser.add_argument("--replace", action="store_true", help=text)
    add_json(parser)


def _check(parsed: argparse.Namespace) -> None:
    """Collect what is asked of the index; raises `UsageError` with everything that is wrong with it."""
    from npu_overlays.publish.availability import Yank  # noqa: PLC0415  # read for the help of all commands, and needed for one
    from npu_overlays.publish.index_update import IndexRequest  # noqa: PLC0415  # likewise

    problems = list(_contradictions(parsed))
    yanks = []
    for option, texts, reason in (("--yank", parsed.yank, parsed.reason), ("--unyank", parsed.unyank, None)):
        for text in texts:
            if named := _pinned(option, text, problems):
                project = canonicalize_name(named.name)
                yanks.append(Yank(project=project, version=_version(named), reason=reason))
    if problems:
        raise UsageError(problems)
    folders = tuple(parsed.folders)
    parsed.request = IndexRequest(folders=folders, out=parsed.out, yanks=tuple(yanks), replace=parsed.replace)


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
    console.notices(index_notes(updated))
    console.line(f"{options.request.out}", style="green")
    console.line(f"  {len(updated.added)} added, {updated.unchanged} unchanged: {', '.join(updated.projects)}")
    for one in updated.constraints:
        for line in _repinned(one):
            console.line(f"  {line}")
    for yank in options.request.yanks:
        console.line(f"  {yank.name} is {'not yanked' if yank.reason is None else f'yanked: {yank.reason}'}")
    return 0


def _repinned(one: ConstraintsUpdate) -> Iterator[str]:
    """Yield how the constraints of a stack have changed, if they have."""
    if one.after != one.before:
        yield f"{one.name} {'is changed:' if one.before else 'is new'}"
    if one.before:
        yield from (f"  - {line}" for line in one.removed)
        yield from (f"  + {line}" for line in one.added)


def _as_json(request: IndexRequest, updated: UpdatedIndex) -> dict[str, object]:
    constraints, refused = {}, {}
    for one in updated.constraints:
        if one.after != one.before:
            constraints[one.name] = {"added": list(one.added), "removed": list(one.removed)}
        for file, pins in one.refused:
            refused[str(file)] = list(pins)
    return {
        "index": str(request.out),
        "projects": list(updated.projects),
        "added": list(updated.added),
        "unchanged": updated.unchanged,
        "dropped": list(updated.dropped),
        "removed": list(updated.removed),
        "constraints": constraints,
        "not_taken": refused,
        "warnings": list(updated.warnings),
        "yanked": {yank.name: yank.reason for yank in request.yanks if yank.reason is not None},
        "unyanked": [yank.name for yank in request.yanks if yank.reason is None],
    }


COMMAND = Command(
    name="index",
    summary="write an index of wheels that pip and uv install from",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    check=_check,
    options=Options,
    run=_run,
)
