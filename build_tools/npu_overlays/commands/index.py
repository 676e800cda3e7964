"""`index`: folders of wheels and source distributions → a folder that pip and uv install from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from npu_overlays.commands.command import flag, json_option, list_option, option, path_option, text_option, whole_path
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import index_notes
from npu_overlays.errors import Problem, UsageError
from npu_overlays.interrupts import undisguised

if TYPE_CHECKING:
    from npu_overlays.publish.index_constraints import ConstraintsUpdate
    from npu_overlays.publish.index_update import IndexRequest, UpdatedIndex

SUMMARY = "write an index of wheels that pip and uv install from"
DESCRIPTION = """\
Put wheels and source distributions on a package index: a folder of files that
any web server can serve, for pip and uv to install from. What is there stays
there, including files that others wrote; a file that has not changed is not
read again; either everything is written or nothing. Statements of wheels and
constraints of stacks are copied too; constraints that pin an older build than
the index does are copied only with --replace. The command does not compare the
files in a wheel with its RECORD: run `verify-wheel` first.

Yank a version that installers should no longer choose: they skip it unless a
user names it exactly. Do not yank a companion, or uv also refuses the wheel
that requires it.

examples:
  npu-overlays index wheels/                  into index/
  npu-overlays index wheels/ sdists/ --out public/simple
  npu-overlays index --yank verl-npu==0.9.1+npu.1.adb6e6f2 --reason "slow"
  python -m http.server --directory index     then, elsewhere:
  pip install --index-url http://127.0.0.1:8000/ --no-deps npu-doctor
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is to change on the index."""

    folders: list[Path] = option(type=whole_path, nargs="*", metavar="FOLDER", help="wheels and source distributions")
    out: Path = path_option("--out", "DIR", "the index (default: index)", default="index")
    yank: list[str] = list_option(
        "--yank", "NAME==VERSION", "a version that installers should not choose any more; may be given more than once"
    )
    reason: str = text_option("--reason", "TEXT", "why; installers show it")
    unyank: list[str] = list_option("--unyank", "NAME==VERSION", "a version that they may choose again")
    replace: bool = flag("--replace", "accept other bytes under the name of a file on the index, and older pins")
    json: bool = json_option()


def _request(options: Options) -> IndexRequest:
    """Return what is asked of the index; raises `UsageError` with everything that is wrong with it."""
    from npu_overlays.publish.availability import Yank  # noqa: PLC0415  # read for the help of all commands, and needed for one
    from npu_overlays.publish.index_update import IndexRequest  # noqa: PLC0415  # likewise

    problems = list(_contradictions(options))
    yanks = []
    for name, texts, reason in (("--yank", options.yank, options.reason), ("--unyank", options.unyank, None)):
        for text in texts:
            if named := _pinned(name, text, problems):
                yanks.append(Yank(project=named[0], version=named[1], reason=reason))
    UsageError.raise_for(problems)
    folders = tuple(options.folders)
    return IndexRequest(folders=folders, out=options.out, yanks=tuple(yanks), replace=options.replace)


def _contradictions(options: Options) -> Iterator[Problem]:
    if not (options.folders or options.yank or options.unyank):
        fix = "name the folder of the wheels: npu-overlays index wheels/"
        yield Problem(where="npu-overlays index", what="there is nothing to do", fix=fix)
    if bool(options.yank) != bool(options.reason):
        what = "--yank without --reason" if options.yank else "--reason without --yank"
        yield Problem(where="npu-overlays index", what=what, fix="give both: installers show the reason")


def _pinned(name: str, text: str, problems: list[Problem]) -> tuple[str, Version] | None:
    """Return a project and one exact version of it; else add what is wrong to `problems`."""
    try:
        named = Requirement(text)
        (wanted,) = named.specifier
        if wanted.operator == "==" and text.replace(" ", "") == f"{named.name}{wanted}":
            return canonicalize_name(named.name), Version(wanted.version)
    except (InvalidRequirement, ValueError):
        pass
    fix = "write a name and one version: verl-npu==0.9.1+npu.1.adb6e6f2"
    problems.append(Problem(where=name, what=f"{text!r} is not NAME==VERSION", fix=fix))
    return None


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    from npu_overlays.publish.index_update import update_index  # noqa: PLC0415  # as above

    request = _request(options)
    with undisguised(f"the index in {options.out} is as it was"):
        updated = update_index(request)
    if options.json:
        console.json(_as_json(request, updated))
        return 0
    console.notices(index_notes(updated))
    console.line(f"{options.out}", style="green")
    console.line(f"  {len(updated.added)} added, {updated.unchanged} unchanged: {', '.join(updated.projects)}")
    for one in updated.constraints:
        for line in _repinned(one):
            console.line(f"  {line}")
    for yank in request.yanks:
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
